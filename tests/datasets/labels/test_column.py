from __future__ import annotations

import dataclasses

import pytest

from graphdep import Sentence
from graphdep.datasets.labels.words import Column
from graphdep.io import format_conllu
from graphdep.io.trees import parse_conllu

SENTENCE = Sentence(
    ["A", "dog", "barks"],
    [2, 3, 0],
    ["det", "nsubj", "root"],
    lemma=["a", "dog", "bark"],
    upos=["DET", "NOUN", "VERB"],
    xpos=["_", "NN", "VBZ"],
    feats=["_", "Number=Sing", "Number=Sing|Person=3"],
    misc=["Begin=Yes", "SpaceAfter=No|Sense=a=b", "Flag|Sense=|Begin=No"],
)


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("upos", ["DET", "NOUN", "VERB"]),
        ("xpos", [None, "NN", "VBZ"]),
        ("lemma", ["a", "dog", "bark"]),
        ("deprel", ["det", "nsubj", "root"]),
        ("feats", [None, "Number=Sing", "Number=Sing|Person=3"]),
        ("feats:Number", [None, "Sing", "Sing"]),
        ("feats:Person", [None, None, "3"]),
        ("misc:Begin", ["Yes", None, "No"]),
        ("misc:Sense", [None, "a=b", None]),
        ("misc:Flag", [None, None, None]),
        ("misc:flag", [None, None, None]),
    ],
)
def test_labels(key, expected):
    assert Column(key).labels(SENTENCE) == expected
    filled = ["none" if label is None else label for label in expected]
    assert Column(key, absent="none").labels(SENTENCE) == filled


def test_a_column_that_is_not_there():
    bare = Sentence(["a", "b"], [0, 1], ["root", "dep"])
    assert Column("upos").labels(bare) == Column("misc:Begin").labels(bare) == [None, None]


@pytest.mark.parametrize("key", ["", "form", "head", "misc", "misc:", "upos:X", "xpos:", "deps", "UPOS"])
def test_wrong_columns(key):
    message = r"'key' must be one of upos, xpos, deprel, lemma, feats, feats:KEY, misc:KEY \(got "
    with pytest.raises(ValueError, match=message):
        Column(key)


def test_wrong_labels_of_the_others():
    with pytest.raises(ValueError, match=r"'absent'.*control"):
        Column("upos", "a\0")


@pytest.mark.parametrize(
    ("key", "absent", "column", "expected"),
    [
        ("upos", None, "upos", ["X", "Y", "Z"]),
        ("upos", "Y", "upos", ["X", "_", "Z"]),
        ("feats:Case", None, "feats", ["Case=X", "Case=Y|Number=Sing", "Case=Z|Number=Sing|Person=3"]),
        ("feats:Number", "Z", "feats", ["Number=X", "Number=Y", "Person=3"]),
        ("misc:Begin", "X", "misc", ["_", "SpaceAfter=No|Sense=a=b|Begin=Y", "Flag|Sense=|Begin=Z"]),
    ],
)
def test_labels_are_written_and_all_else_stays(key, absent, column, expected):
    written = Column(key, absent).write(SENTENCE, ["X", "Y", "Z"])
    assert getattr(written, column) == expected
    assert dataclasses.replace(written, **{column: getattr(SENTENCE, column)}) == SENTENCE
    assert parse_conllu(format_conllu(written)) == [written]
    assert Column(key, absent).labels(written) == ["X", "Y", "Z"]


@pytest.mark.parametrize("key", ["upos", "misc:Begin"])
def test_a_label_that_stands_for_none_is_not_written(key):
    with pytest.raises(ValueError, match=f"'key' '{key}' can hold no label '_': _ is none"):
        Column(key).write(SENTENCE, ["X", "_", "Z"])
    assert Column(key, "_").write(SENTENCE, ["X", "_", "Z"]) == Column(key).write(SENTENCE, ["X", None, "Z"])


def test_classes_are_sorted_by_name():
    assert Column("misc:Begin").classes([SENTENCE]) == ("No", "Yes")
    assert Column("upos").classes([SENTENCE, SENTENCE]) == ("DET", "NOUN", "VERB")
    assert Column("misc:Begin", "Maybe").classes([SENTENCE]) == ("Maybe", "No", "Yes")


@pytest.mark.parametrize(
    ("key", "absent", "message"),
    [
        (
            "misc:Beginn",
            None,
            r"'misc:Beginn': no word .* has it \(did you mean 'misc:Begin'\?\); the keys of ",
        ),
        ("misc:Zzz", None, "has it; the keys of MISC are Begin, SpaceAfter, Sense"),
        ("misc:Zzz", "No", "no word of the training split has it; the keys"),
        ("feats:Sense", None, "the keys of FEATS are Number, Person"),
        ("feats:Number", None, r"that have it are 'Sing'; with absent=LABEL \(--set absent=LABEL\)"),
        ("feats:Number", "Sing", "that have it are 'Sing'"),
    ],
)
def test_keys_without_classes(key, absent, message):
    with pytest.raises(ValueError, match=message):
        Column(key, absent).classes([SENTENCE])


def test_columns_without_classes():
    bare = Sentence(["a", "b"], [0, 1], ["root", "dep"])
    with pytest.raises(ValueError, match="'key' 'xpos': no word of the training split has it$"):
        Column("xpos").classes([bare])
    with pytest.raises(ValueError, match="its column MISC has no key"):
        Column("misc:A").classes([bare])
    with pytest.raises(ValueError, match="control character"):
        Column("lemma").classes([dataclasses.replace(bare, lemma=["a\x85", "b"])])
