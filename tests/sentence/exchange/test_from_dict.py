from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stanza.utils.conll import CoNLL

from graphdep import Sentence

SHE_SINGS = Sentence(["She", "sings"], [2, 0], ["nsubj", "root"])
WORDS = [{"text": "She", "head": 2, "deprel": "nsubj"}, {"text": "sings", "head": 0, "deprel": "root"}]


@given(data=st.data())
def test_the_columns_of_a_sentence_through_json(data, sentences):
    sentence = data.draw(sentences(multiroot=True))
    plain = json.loads(json.dumps(dataclasses.asdict(sentence)))
    assert Sentence.from_dict(plain) == sentence
    assert Sentence.from_dict([plain, plain]) == [sentence, sentence]


@pytest.mark.parametrize("words", ["form", "words", "tokens"])
def test_names_of_columns(words):
    given = {
        words: ["She", "sings"],
        "head": ["2", "0"],
        "deprel": ["nsubj", "root"],
        "idx": "7",
        "deps": None,
    }
    assert Sentence.from_dict(given) == SHE_SINGS
    made = Sentence.from_dict({**given, "lemmas": ["she", None], "text": "She  sings", "upos": [None, ""]})
    assert (made.lemma, made.upos, made.comments) == (["she", "_"], None, ["# text = She sings"])


def test_numbers_of_numpy_and_texts_of_arcs():
    made = Sentence.from_dict(
        {"form": ["a", "b"], "head": np.array([2, 0]), "deprel": ["x", "root"], "deps": ["2:x|0:root", "_"]}
    )
    assert made.head == [2, 0]
    assert type(made.head[0]) is int
    assert made.deps == [[("2", "x"), ("0", "root")], []]


def test_words():
    assert Sentence.from_dict(WORDS) == SHE_SINGS
    assert Sentence.from_dict([WORDS, WORDS]) == [SHE_SINGS, SHE_SINGS]
    assert Sentence.from_dict([]) == []


def test_what_stanza_makes_of_a_document():
    text = "1-2\tdu\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n1\tde\tde\tADP\t_\t_\t3\tcase\t_\t_\n"
    text += "2\tle\tle\tDET\t_\tGender=Masc\t3\tdet\t_\t_\n3\tlit\tlit\tNOUN\t_\t_\t0\troot\t_\t_\n"
    plain = json.loads(json.dumps(CoNLL.conll2doc(input_str=text).to_dict()))
    [made] = Sentence.from_dict(plain)
    assert made.head == [3, 3, 0]
    assert made.feats == ["_", "Gender=Masc", "_"]
    assert [row[:2] for row in made.multiword] == [("1-2", "du")]


def test_labels_of_clear_are_converted():
    clear = {"words": ["Sing", "it"], "head": [0, 1], "deprel": ["ROOT", "dobj"]}
    assert Sentence.from_dict(clear).deprel == ["root", "obj"]
    assert Sentence.from_dict(clear, clear="keep").deprel == ["ROOT", "dobj"]


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ("She sings", TypeError, "from_dict takes a mapping"),
        (7, TypeError, "from_dict takes a mapping"),
        ([7], TypeError, "from_dict takes a mapping"),
        ({"words": ["a"], "head": [0]}, ValueError, "no 'deprel' among the keys"),
        ({"words": "a b", "head": [0], "deprel": ["root"]}, ValueError, "'form' must be a list"),
        ({"words": ["a"], "head": [None], "deprel": ["root"]}, ValueError, "word 1: 'head' must be a whole"),
        ({"words": ["a"], "head": [True], "deprel": ["root"]}, ValueError, "word 1: 'head' must be a whole"),
        ({"words": ["a"], "head": ["x"], "deprel": ["root"]}, ValueError, "word 1: 'head' must be a whole"),
        ({"words": [1], "head": [0], "deprel": ["root"]}, ValueError, "word 1: 'form' must be text"),
        (
            {"words": ["a"], "head": [0], "deprel": ["root"], "deps": [7]},
            ValueError,
            "word 1: 'deps' must be",
        ),
        (
            {"words": ["a"], "head": [0], "deprel": ["root"], "comments": "# x"},
            ValueError,
            "'comments' must be a list .got str '# x'",
        ),
        (
            {"words": ["a"], "head": [0], "deprel": ["root"], "multiword": 1},
            ValueError,
            "'multiword' must be a list",
        ),
        ({"words": ["a", "b"], "head": [0, 0], "deprel": ["root"] * 2}, ValueError, "more than one root"),
        (
            [{"text": "a", "head": 9, "deprel": "x"}],
            ValueError,
            "sentence 0:1: word 1: head 9 is out of range",
        ),
    ],
)
def test_errors(given, error, message):
    with pytest.raises(error, match=message):
        Sentence.from_dict(given)


def test_several_roots_if_asked_for():
    roots = {"words": ["a", "b"], "head": [0, 0], "deprel": ["root"] * 2}
    assert Sentence.from_dict(roots, multiroot=True).multiroot
    assert Sentence.from_dict({**roots, "multiroot": True}).head == [0, 0]
    assert not Sentence.from_dict({**roots, "head": [0, 1]}, multiroot=True).multiroot


def test_what_is_none_is_not_there():
    plain = {"words": ["a"], "head": [0], "deprel": ["root"]}
    none = dict.fromkeys(("multiword", "empty", "comments", "deps"))
    assert Sentence.from_dict(plain | none) == Sentence.from_dict(plain)
