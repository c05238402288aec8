"""Layouts of other corpora give the same examples as our own layout."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from graphdep.datasets import OwnSpans
from graphdep.datasets.spans.corpora import read_conll04
from graphdep.datasets.spans.formats import read_rows, span_end_of
from graphdep.datasets.spans.rows import span_rows
from graphdep.sentence.intake import Intake

WORDS = ["Ann", "Lee", "lives", "in", "Bern", "."]
HEAD = [3, 1, 0, 5, 3, 3]
DEPREL = ["nsubj", "flat", "ROOT", "case", "nmod", "punct"]
ARCS = [[label, head, word] for word, (head, label) in enumerate(zip(HEAD, DEPREL), 1)]
ENDS = {"subj_start": 0, "subj_end": 1, "obj_start": 4, "obj_end": 4}
TACRED = {
    "id": "a1",
    "relation": "per:city",
    "token": WORDS,
    **ENDS,
    "stanford_head": [str(head) for head in HEAD],
    "stanford_deprel": DEPREL,
    "stanford_pos": ["NNP", "NNP", "VBZ", "IN", "NNP", "."],
}
ASPECTS = {
    "token": WORDS,
    "head": HEAD,
    "deprel": DEPREL,
    "pos": TACRED["stanford_pos"],
    "aspects": [
        {"term": ["Ann", "Lee"], "from": 0, "to": 2, "polarity": "neutral"},
        {"term": ["Rome"], "from": 4, "to": 5, "polarity": "positive"},
        {"term": ["gone"], "from": 6, "to": 7, "polarity": "positive"},
    ],
}
TERMS = {
    "sentence": "Ann Lee lives in Bern.",
    "tokens": WORDS,
    "tags": TACRED["stanford_pos"],
    "dependencies": ARCS,
    "aspect_sentiment": [["Ann Lee", "neutral"], ["bern", "positive"]],
    "from_to": [[0, 2], [4, 5]],
}
TAGGED = {
    "words": WORDS,
    "bilou": ["B-Peop", "L-Peop", "O", "O", "U-Loc", "O"],
    "relations": [{"type": "Live_In", "head": 0, "tail": 1}],
}
ENTITIES = [{"type": "Peop", "start": 0, "end": 2}, {"type": "Loc", "start": 4, "end": 5}]
DOCUMENT = {
    "doc_key": "d1",
    "sentences": [["Hello", "."], WORDS, ["She", "sings"], ["Alone"]],
    "ner": [[], [[2, 3, "Peop"], [6, 6, "Loc"]], [[8, 8, "Peop"]], []],
    "relations": [[], [[2, 3, 6, 6, "Live_In"], [2, 3, 6, 6, "Born_In"]], [[8, 8, 2, 3, "Same"]], []],
    "clusters": [[[2, 3], [8, 8]]],
}
LAST = "'subj_end' and 'obj_end' are the last words of their spans (span_end=last)"
BOTH = ([(0, 2), (4, 5)], [(4, 5), (0, 2)])


def written(path: Path, content: object) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def lines(*objects: object) -> str:
    return "".join(json.dumps(one) + "\n" for one in objects)


def read(path: Path, span_end: str = "auto"):
    """The examples and the notes of a file."""
    found = read_rows(path, "text", "label", span_end)
    return span_rows(found.rows, "text", "label", intake=Intake()), list(found.notes)


def shown(examples) -> list[tuple]:
    return [([tuple(span) for span in one.spans], one.label) for one in examples]


@pytest.mark.parametrize(
    "content", [[TACRED, TACRED], lines(TACRED, TACRED), json.dumps([TACRED, TACRED], indent=1)]
)
@pytest.mark.parametrize("suffix", ["json", "jsonl"])
def test_objects_are_a_list_or_lines_with_any_suffix(tmp_path, content, suffix):
    examples, notes = read(written(tmp_path / f"x.{suffix}", content))
    assert shown(examples) == [([(0, 2), (4, 5)], "per:city")] * 2
    assert [one.place.rpartition(":")[2] for one in examples] == ["1", "2"]
    assert notes == [LAST]


@pytest.mark.parametrize(
    ("content", "expected", "notes"),
    [
        ([TACRED], [([(0, 2), (4, 5)], "per:city")], [LAST]),
        (
            [ASPECTS, {**ASPECTS, "aspects": []}],
            [([(0, 2)], "neutral"), ([(4, 5)], "positive")],
            [
                "sentences without an aspect: 1",
                "aspects that differ from the words that they mark: 1",
                "aspects without words, left out: 1",
            ],
        ),
        ([TERMS], [([(0, 2)], "neutral"), ([(4, 5)], "positive")], []),
        (
            [{**TERMS, "dependencies": None, "predicted_heads": HEAD, "predicted_dependencies": DEPREL}],
            [([(0, 2)], "neutral"), ([(4, 5)], "positive")],
            [],
        ),
    ],
)
def test_rows_with_trees(tmp_path, content, expected, notes):
    examples, said = read(written(tmp_path / "x.json", content))
    assert shown(examples) == expected
    assert sorted(said) == sorted(notes)
    for one in examples:
        assert (one.words, one.tree.head, one.tree.deprel) == (WORDS, HEAD, DEPREL)


def test_a_word_with_several_governors(tmp_path):
    """The first governor that is connected to the root; a word without one is an error."""
    more = [["x", 5, 1], *ARCS, ["y", 1, 5]]
    [first, _], _ = read(written(tmp_path / "x.json", [TERMS | {"dependencies": more}]))
    assert first.tree.head == [5, *HEAD[1:]]
    assert first.tree.deps[0] == [("5", "x"), ("3", "nsubj")]
    assert sum(map(len, first.tree.deps)) == 8
    circle = [["x", 2, 1], *ARCS[1:], ["nsubj", 3, 1]]
    [first, _], _ = read(written(tmp_path / "y.json", [TERMS | {"dependencies": circle}]))
    assert (first.tree.head, first.tree.deprel) == (HEAD, DEPREL)
    lost = written(tmp_path / "z.json", [TERMS | {"dependencies": ARCS[1:]}])
    with pytest.raises(ValueError, match=r"z.json:1: .*head -1 is out of range"):
        read(lost)


@pytest.mark.parametrize(
    "sentence",
    [
        TAGGED,
        {**TAGGED, "entities": ENTITIES},
        {"tokens": WORDS, "tags": TAGGED["bilou"], "relations": [{"type": "Live_In", "head": 1, "tail": 4}]},
        {"tokens": WORDS, "tags": ["B-P", "I-P", "O", "O", "B-L", "O"], "relations": TAGGED["relations"]},
        {"tokens": WORDS, "tags": ["B-P", "E-P", "O", "O", "S-L", "O"], "relations": TAGGED["relations"]},
    ],
)
def test_entities_and_tags(tmp_path, sentence):
    path = written(tmp_path / "x.json", [sentence, {**sentence, "relations": []}])
    expected = [*zip(BOTH, ("Live_In", "none")), *zip(BOTH, ("none", "none"))]
    examples, _ = read_conll04(path)
    assert shown(examples) == expected
    assert shown(read(path)[0]) == expected


def test_documents(tmp_path):
    examples, notes = read(written(tmp_path / "x.json", lines(DOCUMENT, DOCUMENT)))
    across = [*WORDS, "She", "sings"]
    expected = [
        (WORDS, BOTH[0], "Live_In"),
        (WORDS, BOTH[1], "none"),
        (across, [(6, 7), (0, 2)], "Same"),
    ]
    assert [(list(one.words), *own) for one, own in zip(examples, shown(examples))] == expected * 2
    assert {tuple(map(len, one.sentences)) for one in examples if list(one.words) == across} == {(6, 2)}
    assert notes == [
        "clusters, not read: 2",
        "further relations of the same entities, left out: 2",
        "sentences with fewer than two entities, without example: 4",
        "relations across sentences: 2",
    ]


@pytest.mark.parametrize(("negatives", "train", "val"), [(0, 4, 2), (0.5, 6, 4), (100, 8, 4)])
def test_pairs_without_relation(tmp_path, parser, negatives, train, val):
    relations = [[], [[2, 3, 6, 6, "Live_In"]], [], []]
    other = {**DOCUMENT, "relations": relations}
    named = {**DOCUMENT, "relations": [[], [[6, 6, 2, 3, "Home_Of"]], [], []]}
    files = {
        "train": written(tmp_path / "train.json", lines(other, other, named, named)),
        "val": written(tmp_path / "val.json", lines(other, named)),
    }
    sets = [
        OwnSpans(tmp_path / "root", split, parser, negatives=negatives, **files) for split in ("train", "val")
    ]
    assert [len(data) for data in sets] == [train, val]
    assert [data.labels for data in sets] == [("Home_Of", "Live_In", *(["none"] if negatives else []))] * 2
    drawn = f"{train - 4} of 4 pairs without relation, drawn with seed 0"
    left_out = "pairs without relation, left out (negatives): 4"
    assert (drawn if negatives else left_out) in sets[0].describe()["note"]


OBJECTS = {
    'unknown layout: the keys are dep, form; a row is {"words": ["Rain", ': {
        "form": ["a"],
        "dep": ["root"],
    },
    "'subj_end' must be a whole number (got 'nothing')": {**TACRED, "subj_end": None},
    "span 2 reaches beyond the 6 words": {**TACRED, "obj_end": 7},
    "span 1 is empty": {**TACRED, "subj_end": -1},
    "'token' must be a list of 1 to": {**TACRED, "token": ["a", " "]},
    "no tree: no 'deprel'": {**TACRED, "stanford_deprel": None},
    "an example without a label": {**TACRED, "relation": None},
    "'aspects' must be a list (got 'Ann')": {**ASPECTS, "aspects": "Ann"},
    "aspect 0: 'to' must be a whole number": {**ASPECTS, "aspects": [{"from": 0}]},
    "1 aspect, but 2 spans in 'from_to'": {**TERMS, "aspect_sentiment": [["Ann", "neutral"]]},
    "'dependencies' must be a list of [label, governor, word]": {**TERMS, "dependencies": [["x", 9, 1]]},
    "the tags must be a list of 6 texts": {**TAGGED, "bilou": ["O"]},
    "'labels' of spans must be O": {**TAGGED, "bilou": ["X-a", *TAGGED["bilou"][1:]]},
    "relation 0: 'tail' must be a word of one of 2 entities": {
        **TAGGED,
        "relations": [{"type": "A", "head": 0, "tail": 3}],
    },
    "relation 0: 'type' must be the name of a relation (got 'none')": {
        **TAGGED,
        "relations": [{"type": "none", "head": 0, "tail": 1}],
    },
    "'sentences' must be a list of lists of words": {**DOCUMENT, "sentences": [[]]},
    "'ner' must be a list for each of 4 sentences": {**DOCUMENT, "ner": []},
    "'relations' must be a list for each of 4 sentences, of lists of 4 numbers below 11 and a name": {
        **DOCUMENT,
        "relations": [[[0, 99, 1, 1, "A"]], [], [], []],
    },
    "sentence 1: relation 0: 'name' must be the name of a relation": {
        **DOCUMENT,
        "relations": [[[0, 0, 1, 1, 3]], [], [], []],
    },
}


@pytest.mark.parametrize("message", OBJECTS)
def test_refusals(tmp_path, message):
    path = written(tmp_path / "x.json", [OBJECTS[message]])
    with pytest.raises(ValueError) as found:
        read(path)
    assert str(found.value).startswith(f"{path}:1: ")
    assert message in str(found.value)


EITHER = {**TACRED, "subj_end": 2, "obj_end": 5}
BEHIND = {**EITHER, "obj_start": 4, "obj_end": 6}


@pytest.mark.parametrize(
    ("files", "decided"),
    [
        ([[TACRED]], "last"),
        ([[EITHER]], "last"),  # fewer than 200
        ([[EITHER] * 200], "behind"),
        ([[EITHER] * 100, [EITHER] * 100], "behind"),
        ([[EITHER] * 200 + [TACRED]], "last"),
        ([[BEHIND]], "behind"),
        ([[EITHER] * 200, [TACRED]], "last"),
        ([[EITHER], [BEHIND]], "behind"),
        ([[ASPECTS]], None),
    ],
)
def test_ends_of_spans_are_those_of_all_files(tmp_path, files, decided):
    paths = [written(tmp_path / f"{number}.json", rows) for number, rows in enumerate(files)]
    assert span_end_of(paths) == decided
    if decided:
        further = 1 if decided == "last" else 0
        found = [one.spans[0][1] for path in paths for one in read(path, decided)[0]]
        assert found == [row["subj_end"] + further for rows in files for row in rows]


def test_given_ends_of_spans(tmp_path, parser):
    rows = [EITHER, {**EITHER, "relation": "per:other"}]
    train, test = written(tmp_path / "a.json", rows), written(tmp_path / "b.json", [TACRED])
    files = {"train": train, "val": train, "test": test}
    told = OwnSpans(tmp_path / "r", "train", parser, train=train, val=train, span_end="behind")
    auto = OwnSpans(tmp_path / "r", "train", parser, **files)
    assert (told.describe()["span_end"], told[0].mark.tolist().count(1)) == ("behind", 2)
    assert "behind the last words of their spans, as in Hugging Face's copy" in told.describe()["note"]
    assert (auto.span_end, auto[0].mark.tolist().count(1)) == ("last", 3)
    with pytest.raises(ValueError, match=r"b.json:1: span 2 is empty.*\(span_end=behind\)"):
        OwnSpans(tmp_path / "r", "test", parser, **files, span_end="behind")


def test_words_of_white_space(tmp_path):
    document = {
        "sentences": [["a", " ", "b"], []],
        "ner": [[[0, 0, "X"], [2, 2, "X"]], []],
        "relations": [[], []],
    }
    examples, notes = read(written(tmp_path / "x.json", [document]))
    assert [(one.words, one.spans[0]) for one in examples] == [
        (["a", "_", "b"], [0, 1]),
        (["a", "_", "b"], [2, 3]),
    ]
    assert "words of white space, read as _: 1" in notes


def test_a_file_without_examples(tmp_path):
    path = written(tmp_path / "x.json", [{**ASPECTS, "aspects": []}])
    with pytest.raises(ValueError, match=r"x.json: no example: sentences without an aspect: 1"):
        read(path)
