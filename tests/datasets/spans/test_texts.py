"""Texts in the words of a parser."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep import Sentence
from graphdep.datasets import OwnSpans
from graphdep.datasets.spans.rows import SpanExample
from graphdep.datasets.spans.texts import parse_examples, word_places
from graphdep.parsing import Parser
from graphdep.parsing.parser import Parsed
from graphdep.sentence import join_sentences


class KnownParser(Parser):
    """Returns known sentences for texts, and chains for words; records its calls."""

    def __init__(self, known: dict[str, list[Sentence]]) -> None:
        super().__init__(progress=False)
        self.sentences = known
        self.calls: list[list[str]] = []

    @property
    def fingerprint(self) -> str:
        return "known"

    def parse(self, texts: Sequence[str]) -> list[list[Sentence]]:
        self.calls.append([*texts])
        return super().parse(texts)

    def parse_texts(self, texts: Sequence[str]) -> list[Parsed]:
        return [Parsed(self.sentences[text]) for text in texts]

    def parse_sentences(self, sentences: Sequence[Sequence[str]]) -> list[Parsed]:
        return [Parsed([Sentence.chain(words)]) for words in sentences]


def chains(*sentences: str) -> list[Sentence]:
    return [Sentence.chain(words.split()) for words in sentences]


IM_HAUS = dataclasses.replace(*chains("Er ist in dem Haus ."), multiword=[("3-4", "im", *["_"] * 8)])
DONT = dataclasses.replace(*chains("I do n't"), multiword=[("2-3", "don't", *["_"] * 8)])
OLD_QUOTES = chains("`` Yes '' .")


@pytest.mark.parametrize(
    ("text", "parse", "ranges", "words", "spans", "cut", "unlike"),
    [
        ("Dr. Ann barks.", chains("Dr. Ann barks ."), [(4, 7)], "Dr. Ann barks .", [(1, 2)], 0, 0),
        ("Thestaff sings", chains("Thestaff sings"), [(3, 8)], "The staff sings", [(1, 2)], 1, 0),
        ("abcd", chains("abcd"), [(1, 2), (2, 3)], "a b c d", [(1, 2), (2, 3)], 1, 0),
        ("ab cd", chains("ab cd"), [(1, 4)], "a b c d", [(1, 3)], 2, 0),
        (
            "see https://x.org/a_b \U0001f44d\U0001f3fd \U0001f469\u200d\U0001f467 :)",
            chains("see https://x.org/a_b \U0001f44d\U0001f3fd \U0001f469\u200d\U0001f467 :)"),
            [(4, 21), (22, 24)],
            "see https://x.org/a_b \U0001f44d\U0001f3fd \U0001f469\u200d\U0001f467 :)",
            [(1, 2), (2, 3)],
            0,
            0,
        ),
        (
            "\u5979\u5728\u5317\u4eac\u5de5\u4f5c\u3002",
            chains("\u5979 \u5728 \u5317\u4eac \u5de5\u4f5c \u3002"),
            [(0, 1), (2, 4)],
            "\u5979 \u5728 \u5317\u4eac \u5de5\u4f5c \u3002",
            [(0, 1), (2, 3)],
            0,
            0,
        ),
        ("a\t b\u00a0\n c ", chains("a b", "c"), [(0, 6), (3, 8)], "a b c", [(0, 2), (1, 3)], 0, 0),
        ("Er ist im Haus.", [IM_HAUS], [(7, 9), (10, 14)], "Er ist in dem Haus .", [(2, 4), (4, 5)], 0, 0),
        ("Er ist im Haus.", [IM_HAUS], [(7, 8)], "Er ist i m Haus.", [(2, 3)], 0, 1),  # inside "im"
        ("I don't", [DONT], [(2, 4)], "I do n't", [(1, 2)], 0, 0),
        ("I don't", [DONT], [(2, 3)], "I d o n't", [(1, 2)], 1, 0),
        (
            "e\u0301te\u0301 \u0915\u094d\u200d\u0937 ta\u200cb",
            chains("e\u0301te\u0301 \u0915\u094d\u200d\u0937 ta\u200cb"),
            [(0, 1), (6, 8)],
            "e\u0301 te\u0301 \u0915\u094d\u200d\u0937 ta\u200cb",
            [(0, 1), (2, 3)],
            1,
            0,
        ),
        ("e\u0301a ta\u200cb", [], [(1, 2), (4, 6)], "e\u0301 a ta\u200c b", [(0, 1), (2, 3)], 0, 1),
        ('"Yes".', OLD_QUOTES, [(1, 4)], '" Yes ".', [(1, 2)], 0, 1),
        ("So it is", [], [(3, 5)], "So it is", [(1, 2)], 0, 1),
        ("So it is", chains("So it"), [(3, 5)], "So it is", [(1, 2)], 0, 1),
    ],
)
def test_words_are_those_of_the_parser(text, parse, ranges, words, spans, cut, unlike):
    found = parse_examples([SpanExample.of_text(text, ranges)], KnownParser({text: parse}))
    (marked,) = found.marked
    assert (marked.tree.form, marked.spans, marked.cut) == (words.split(), spans, cut)
    assert (found.parsed, found.unlike) == (1, unlike)
    roots = 1 if unlike else len(parse)
    assert marked.tree.head.count(0) == roots
    assert len(found.notes()) == (roots > 1) + bool(cut) + bool(unlike)


def spelled(words: str | Sequence[str]) -> str:
    return "".join("".join(words).split())


@given(st.data())
def test_the_words_of_a_span_spell_what_is_between_its_borders(data):
    """For any words of a parser and any marked characters, extended to whole letters."""
    text = data.draw(st.text("ab\u0301\u4e2d\U0001f44d '.\n", min_size=1, max_size=14).filter(str.strip))
    size = st.integers(0, len(text))
    span = st.tuples(size, size).map(sorted).filter(lambda s: text[slice(*s)].strip())
    ranges = data.draw(st.lists(span, min_size=1, max_size=2))
    borders = sorted(data.draw(st.sets(st.integers(1, len(text)), max_size=6)) | {0, len(text)})
    pieces = [spelled(text[a:b]) for a, b in pairwise(borders)]
    words = [piece for piece in pieces if piece]
    half = data.draw(st.integers(0, len(words)))
    parse = [Sentence.chain(part) for part in (words[:half], words[half:]) if part]
    found = parse_examples([SpanExample.of_text(text, ranges)], KnownParser({text: parse}))
    (marked,) = found.marked
    assert found.unlike == 0
    assert spelled(marked.tree.form) == spelled(text)
    letters = [match.span() for match in re.finditer("\\s|.\u0301*", text)]
    for (start, stop), (first, last) in zip(ranges, marked.spans):
        inside = [text[a:b] for a, b in letters if a < stop and start < b]
        assert spelled(marked.tree.form[first:last]) == spelled(inside)
        assert first < last
    whole = join_sentences(parse, roots="all")
    places = word_places(text, whole)
    assert [spelled(text[a:b]) for a, b in places] == whole.form


def test_examples_of_each_kind_are_parsed_at_once():
    own = Sentence(["It", "is"], [2, 0], ["nsubj", "root"])
    parser = KnownParser({"A b. C d.": chains("A b .", "C d ."), "e": chains("e")})
    examples = [
        SpanExample.of_text("A b. C d.", [(0, 1), (5, 6)]),
        SpanExample(["x", "y", "z"], [(2, 3)], lengths=[1, 2]),
        SpanExample(own.form, [(0, 1)], tree=own),
        SpanExample.of_text("e", [(0, 1)]),
        SpanExample.of_text("A b. C d.", [(2, 3), (5, 8)]),
    ]
    found = parse_examples(examples, parser)
    assert parser.calls == [["A b. C d.", "e", "A b. C d."]]
    assert [one.tree.head for one in found.marked] == [
        [0, 1, 2, 0, 4, 5],
        [0, 0, 2],
        [2, 0],
        [0],
        [0, 1, 2, 0, 4, 5],
    ]
    assert found.marked[4].marks == [0, 1, 0, 2, 2, 0]
    assert (found.parsed, found.failures) == (4, 0)
    assert found.notes() == ["3 of 5 examples with several sentences"]
    assert parse_examples(examples[2:3], None).marked[0].tree is own


def test_first_words_are_read():
    parser = KnownParser({"A b. C d": chains("A b .", "C d"), "A b": chains("A b")})
    examples = [
        SpanExample.of_text("A b. C d", [(0, 1), (5, 6)]),
        SpanExample(["x", "y", "z"], [(2, 3)], lengths=[1, 2]),
        SpanExample(["x", "y", "z"], [(1, 3)], tree=Sentence.chain(["x", "y", "z"])),
    ]
    first, second, third = parse_examples(examples, parser, 2).marked
    assert [one.tree.form for one in (first, second, third)] == [["A", "b"], ["x", "y"], ["x", "y"]]
    assert first.marks == [1, 0, 2]
    assert second.marks == [0, 0, 1]
    assert third.marks == [0, 1, 1]


TEXT = "Ann sings. Bob hums."
KNOWN = {TEXT: chains("Ann sings .", "Bob hums .")}
TWO_TREES = {"head": [2, 0, 2, 5, 0, 5], "deprel": ["nsubj", "root", "punct"] * 2}


def own(tmp_path: Path, parser, rows: list[dict]) -> OwnSpans:
    path = tmp_path / "train.jsonl"
    lines = [{"spans": [[0, 1], [3, 4]], **row, "label": str(n)} for n, row in enumerate([*rows, *rows])]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return OwnSpans(tmp_path / "root", parser=parser, train=path, val=path)


@pytest.mark.parametrize(
    ("row", "governors"),
    [
        ({"text": TEXT, "spans": [[0, 3], [11, 14]]}, [0, 0, 1, 2, 0, 4, 5]),
        ({"sentences": [["Ann", "sings", "."], ["Bob", "hums", "."]]}, [0, 0, 1, 2, 0, 4, 5]),
        ({"words": ["Ann", "sings", ".", "Bob", "hums", "."]}, [0, 0, 1, 2, 3, 4, 5]),
        ({"words": ["Ann", "sings", ".", "Bob", "hums", "."], **TWO_TREES}, [0, 2, 0, 2, 5, 0, 5]),
    ],
)
def test_a_tree_for_each_sentence(tmp_path, row, governors):
    dataset = own(tmp_path, KnownParser(KNOWN), [row])
    assert dataset[0].governor_index.tolist() == governors
    assert dataset[0].mark.tolist() == [0, 1, 0, 0, 2, 0, 0]
    note = dataset.describe().get("note", "")
    assert ("2 of 2 examples with several sentences" in note) == (governors.count(0) > 2)
    again = own(tmp_path, KnownParser(KNOWN), [row])  # from the processed file
    assert again.describe().get("note", "") == note
    assert dataset.texts()[0][0].startswith("<e1>Ann</e1> sings")


def test_examples_of_one_text_are_of_one_sentence(tmp_path):
    rows = [{"text": TEXT, "spans": [[0, 2]]}, {"text": TEXT, "spans": [[11, 14]]}]
    dataset = own(tmp_path, KnownParser(KNOWN), rows)
    assert dataset.sentence.tolist() == [0] * 4
    assert [len(data.mark) for data in dataset] == [8, 7, 8, 7]
