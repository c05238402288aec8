from __future__ import annotations

import importlib
import os
import subprocess
import sys

import pytest
import torch
from torch_geometric.transforms import BaseTransform, Compose, RandomJitter

from graphdep.transforms import (
    DependencyEdges,
    SelfLoops,
    SpanPathEdges,
    preset_options,
    register_edges,
)
from graphdep.transforms.fingerprint import identity, is_repeatable, same_edges
from tests.kit.edges import Ahead

pytestmark = pytest.mark.usefixtures("no_own_edges")


def test_an_identity_tells_apart_what_prints_alike():
    one, same, two = identity(Ahead(1)), identity(Ahead(1)), identity(Ahead(2))
    assert one == same != two
    assert {text.partition(" [")[0] for text in (one, two)} == {"Ahead()"}
    assert not same_edges(one, two)
    named = Compose([Ahead(1)])
    assert identity(named) != one
    assert same_edges(identity(named), one)
    # Another probe, or another way to read it, would part runs from what they have finished.
    assert identity(DependencyEdges("both")).endswith("[08a9c7e3]")


MINE = """
import torch
from graphdep.transforms import EdgeConstructor, EdgeSet
import pkg_mine_too
from pkg_mine_too import steps as taken
WIDTH, RULES, CACHE, index = 20, [lambda x: x], {}, 0

def near(nodes, width):
    return (nodes.index[:, None] - nodes.index).abs() <= width

class Near(EdgeConstructor):
    "Words that are near."
    scale = 1

    def __init__(self, width=None, deepest=99, inner=None):
        self.width, self.deepest, self.inner = width, deepest, inner

    def build(self, nodes):
        CACHE["seen"] = len(CACHE)  # a comment
        width = (self.width or WIDTH) * self.scale + taken() + pkg_mine_too.more() + RULES[0](0)
        same = nodes.example[:, None] == nodes.example
        return EdgeSet(nodes, *(near(nodes, width) & same).nonzero().T)

    def __repr__(self):
        return "Near()"

UNUSED = 1
"""
TOO = """
STEPS = 0
def steps():
    return STEPS
def more():
    return 0
"""


@pytest.fixture
def identity_of(tmp_path, monkeypatch):
    """The identity of edges in a module of the current folder, as in a process of its own."""
    monkeypatch.syspath_prepend(tmp_path)
    number = 0

    def made(code: str = MINE, too: str = TOO, options: str = "") -> str:
        nonlocal number
        number += 1
        folder = tmp_path / str(number)  # Python takes a file of the same size and second for the same
        folder.mkdir()
        monkeypatch.syspath_prepend(folder)
        for name, text in (("pkg_mine", code), ("pkg_mine_too", too)):
            (folder / f"{name}.py").write_text(text)
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        edges = eval(f"Near({options})", vars(importlib.import_module("pkg_mine")))
        told = identity(edges)
        assert identity(edges) == told  # though its module remembers something
        return told

    yield made
    for name in ("pkg_mine", "pkg_mine_too"):
        sys.modules.pop(name, None)


def test_edited_code_is_another_identity(identity_of):
    usual = identity_of()
    for old, new in (
        ("WIDTH, RULES, CACHE, index = 20", "WIDTH, RULES, CACHE, index = 45"),
        ("WIDTH, RULES, CACHE, index = 20", "WIDTH, RULES, CACHE, index = 200"),
        ("lambda x: x", "lambda x: 2 * x"),
        (".abs() <= width", ".abs() < width + 1"),
        ("scale = 1", "scale = 1.0"),
        ("return STEPS", "return -STEPS"),
        ("STEPS = 0", "STEPS = False"),
        ("def more():\n    return 0", "def more():\n    return 0 * 1"),
        ("deepest=99", "deepest=98"),
    ):
        assert old in MINE + TOO
        assert identity_of(MINE.replace(old, new), TOO.replace(old, new)) != usual, new


def test_what_does_nothing_is_no_part_of_an_identity(identity_of):
    usual = identity_of()
    for old, new in (
        ("# a comment", ""),
        ("Words that are near.", "Words."),
        ("UNUSED = 1", "UNUSED = 2"),
        ("CACHE, index = 20, [lambda x: x], {}, 0", "CACHE, index = 20, [lambda x: x], {}, 9"),
        ('return "Near()"', "return f'{\"Near\"}()'"),
        ("class Near", "\n\nclass Near"),
    ):
        assert old in MINE
        assert identity_of(MINE.replace(old, new)) == usual, new


def test_options_are_a_part_of_an_identity(identity_of):
    options = [
        "",
        "20",
        "30",
        "70",
        "80",
        "deepest=5",
        "inner=torch.tensor([1])",
        "inner=near",
        "inner=steps",
    ]
    options += ["inner=[{'a': 1}]", "inner=[{'a': 2}]", "inner=Near(5)", "inner=Near(6)"]
    too = TOO.replace("def steps", "def steps_") + "steps = steps_\n"
    names = MINE + "from pkg_mine_too import steps\n"
    known = {given: identity_of(names, too, given) for given in options}
    assert len({*known.values()}) == len(options)


def test_code_that_moves_keeps_its_identity(identity_of, tmp_path):
    """To another folder, and to a module of another name in a package."""
    usual = identity_of()
    assert identity_of() == usual
    package = tmp_path / "1" / "pkg_mine_moved"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "edges.py").write_text(MINE)
    importlib.invalidate_caches()
    moved = importlib.import_module("pkg_mine_moved.edges")
    for name in ("pkg_mine_moved.edges", "pkg_mine_moved"):
        del sys.modules[name]
    assert identity(moved.Near()) == usual


def test_an_identity_is_that_of_another_process(identity_of, tmp_path):
    told = identity_of()
    code = "from pkg_mine import Near\nfrom graphdep.transforms.fingerprint import identity\n"
    code += "print(identity(Near()))"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [tmp_path / "1", *sys.path]))}
    env |= {"PYTHONWARNINGS": "ignore", "PYTHONHASHSEED": "7"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == told


def test_edges_with_a_longest_sentence_have_an_identity():
    class Short(BaseTransform):
        def forward(self, data):
            if data.num_nodes > 40:
                raise ValueError("too long")
            data.edge_index = torch.zeros(2, 0, dtype=torch.long)
            return data

    assert identity(Short()).startswith("Short() [")


def test_code_without_a_source_is_known_by_what_it_does():
    def made(step: object) -> BaseTransform:
        known = {"Ahead": Ahead, "__name__": "cells"}
        exec(f"class Compiled(Ahead):\n    def __init__(self):\n        super().__init__({step})", known)
        return known["Compiled"]()

    assert identity(made(1)) == identity(made("len([0])")) != identity(made(2))


def test_edges_that_read_marks_have_an_identity():
    options = [{}, {"pairs": "arcs"}, {"distance": 1}, {"loops": False}]
    known = [identity(SpanPathEdges(**own)).rpartition(" ")[2] for own in options]
    assert len({*known}) == len(options)
    register_edges("graphdep.transforms:SpanPathEdges", SpanPathEdges)
    assert preset_options("graphdep.transforms:SpanPathEdges") == ("pairs", "distance", "loops", "pieces")


class Drawn(BaseTransform):
    def forward(self, data):
        data.edge_index = torch.randint(data.num_nodes, (2, 5))
        data.weight = torch.rand(5)
        data.note = "no tensor"
        return data


def test_an_identity_neither_draws_nor_depends_on_the_run_s_random_numbers():
    torch.manual_seed(1)
    first, drawn = identity(Drawn()), torch.rand(3)
    torch.manual_seed(1)
    assert torch.equal(drawn, torch.rand(3))
    assert identity(Drawn()) == first


def test_an_address_in_memory_is_no_part_of_an_identity():
    class Held(Ahead):
        def __repr__(self) -> str:
            return f"Held({object()!r})"

    assert identity(Held()).startswith("Held(<object object>) [")


def test_a_transform_that_fails_is_said_to():
    class Failing(BaseTransform):
        def forward(self, data):
            raise KeyError("upos")

    with pytest.raises(ValueError, match=r"Failing\(\) fails on a batch of two examples: KeyError: 'upos'"):
        identity(Failing())


@pytest.mark.parametrize("edges", [SelfLoops(), Compose([SelfLoops() | SelfLoops("tops")]), Compose([])])
def test_edges_of_graphdep_repeat(edges):
    assert is_repeatable(edges)


@pytest.mark.parametrize("edges", [Ahead(), SelfLoops() | Ahead(), Compose([SelfLoops(), RandomJitter(1.0)])])
def test_edges_of_others_may_not(edges):
    assert not is_repeatable(edges)
