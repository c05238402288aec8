from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep import Sentence
from graphdep.sentence.exchange import _spaces


def test_without_spacy_it_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy.tokens", None)
    with pytest.raises(ImportError, match=r"to_spacy needs spaCy.*pip install 'graphdep\[spacy\]'"):
        Sentence.chain(["a"]).to_spacy()


def test_spaces():
    rows = [("1-2", "don't", *"_______", "SpaceAfter=No"), ("3-4", "du", *"_______", "_")]
    sentence = Sentence(["do", "n't", "de", "le", "!"], [0, 1, 1, 1, 1], ["root", *"abcd"], multiword=rows)
    assert _spaces(sentence) == [False, False, True, True, True]


@pytest.mark.spacy
@given(st.data())
def test_there_and_back(data):
    from tests.kit.strategies import sentences

    sentence = data.draw(sentences())
    [back] = Sentence.from_spacy(sentence.to_spacy())
    assert (back.form, back.head, back.deprel) == (sentence.form, sentence.head, sentence.deprel)


@pytest.mark.spacy
def test_columns_and_text():
    import spacy

    nlp = spacy.blank("en")
    sentence = Sentence(
        ["She", "sings", "!"],
        [2, 0, 2],
        ["nsubj", "root", "punct"],
        lemma=["she", "sing", "_"],
        upos=["PRON", "VERB", "PUNCT"],
        xpos=["PRP", "VBZ", "."],
        feats=["Case=Nom|Number=Sing", "_", "_"],
        misc=["_", "SpaceAfter=No", "_"],
    )
    doc = sentence.to_spacy(nlp.vocab)
    assert doc.text == "She sings! "
    assert doc.vocab is nlp.vocab
    assert [token.dep_ for token in doc] == ["nsubj", "ROOT", "punct"]
    [back] = Sentence.from_spacy(doc)
    assert back.misc == sentence.misc
    for name in ("lemma", "upos", "xpos", "feats"):
        assert getattr(back, name) == getattr(sentence, name)
    joined = spacy.tokens.Doc.from_docs([doc, doc])
    assert len(Sentence.from_spacy(joined)) == 2
