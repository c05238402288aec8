"""Docstrings name papers in a form that readers and programs can follow: title, address, equations."""

from __future__ import annotations

import ast
import re
import runpy
from pathlib import Path

import pytest

from graphdep.nn import conv
from graphdep.transforms import PRESETS

ROOT = Path(__file__).parents[2]
FILES = sorted(path for room in ("nn", "transforms") for path in (ROOT / "graphdep" / room).rglob("*.py"))
SCRIPT = runpy.run_path(str(ROOT / "docs" / "generate" / "paper_table.py"))
Paper, papers_in, papers_of = SCRIPT["Paper"], SCRIPT["papers_in"], SCRIPT["papers_of"]

# No address of these is known.
WITHOUT_ADDRESS = {
    "Augmenting Transformers with Enhanced Dependency Structures by Treating Relations as New Words",
    # the first version of a paper that has one
    "Incorporate Directed Dependency Relation Graph into Transformer Block for Multi-turn Dialogue "
    "Generation",
}
ADDRESS = re.compile(
    r"https://(arxiv\.org/abs/\d{4}\.\d{4,5}|aclanthology\.org/[\w.-]+/|doi\.org/10\.\S+|pure\.ulster\.ac\.uk/\S+|"
    r"repository\.upenn\.edu/handle/[\d.]+/\d+)"
)
# It is a control, and no paper's.
OWN_PRESETS = {"transformer-utterance", "own-arcs"}


def docstrings() -> list[tuple[str, str]]:
    found = []
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and (text := ast.get_docstring(node)):
                found.append((f"{path.relative_to(ROOT).as_posix()}: {node.name}", text))
    return found


NAMED = [(place, paper) for place, text in docstrings() for paper in papers_in(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('From `"A Tale of Trees"\n    <https://a.b/c>`_ (Eq. 2-4).', [("https://a.b/c", (2, 3, 4))]),
        ('From `"A Tale of Trees" <https://a.b/c>`_ (Eq. 1, 3).', [("https://a.b/c", (1, 3))]),
        ('From `"A Tale of Trees" <https://a.b/c>`_ (Eq. 2, second line).', [("https://a.b/c", (2,))]),
        ('From "A Tale of Trees" by Ash and Elm, 1990 (Eq. 1).', [(None, (1,))]),
        ('From `"A Tale of Trees" <https://a.b/c>`_. Another sentence (Eq. 5).', [("https://a.b/c", ())]),
        ('From "A Tale of Trees" and `"A Tale of Trees" <x>`_ (Eq. 9).', [(None, ()), ("x", (9,))]),
        ('A "Phrase" or "two words", "a lower case one too", ``"Some Code It Is"``.', []),
        ('Shows:\n\n    >>> f("The sun shines brightly.")\n    ... "Or So They Say"', []),
    ],
)
def test_titles_addresses_and_equations_are_read(text, expected) -> None:
    assert papers_in(text) == [Paper("A Tale of Trees", *rest) for rest in expected]


def test_every_paper_has_an_address() -> None:
    assert len(NAMED) > 50
    assert not [
        (place, paper.title) for place, paper in NAMED if not (paper.url or paper.title in WITHOUT_ADDRESS)
    ]


def test_addresses_are_those_of_papers() -> None:
    wrong = [(place, paper.url) for place, paper in NAMED if paper.url and not ADDRESS.fullmatch(paper.url)]
    assert not wrong


def test_a_paper_has_one_title_and_one_address() -> None:
    pairs = {(paper.title, paper.url) for _, paper in NAMED}
    assert len({title.casefold() for title, _ in pairs}) == len(pairs)
    assert len({url for _, url in pairs if url}) == len([url for _, url in pairs if url])


def test_exceptions_are_needed() -> None:
    assert {paper.title for _, paper in NAMED if paper.url is None} == WITHOUT_ADDRESS


def test_every_conv_and_preset_names_its_paper() -> None:
    assert not [name for name in conv.__all__ if not papers_of(getattr(conv, name))]
    assert {name for name in PRESETS if not papers_of(PRESETS[name])} == OWN_PRESETS
