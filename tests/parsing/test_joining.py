from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep import Sentence
from graphdep.io import format_conllu, parse_conllu
from graphdep.parsing import Parser
from graphdep.parsing.parser import Parsed, chain_sentence, parse_joined
from graphdep.sentence import join_sentences

FIRST = """# text = It ran.
1\tIt\tit\tPRON\t_\t_\t2\tnsubj\t2:nsubj\t_
2\tran\trun\tVERB\t_\t_\t0\troot\t0:root\tSpaceAfter=No
3\t.\t.\tPUNCT\t_\t_\t2\tpunct\t2:punct\t_
"""
SECOND = """# text = Don't and I do
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tDo\tdo\tVERB\t_\t_\t0\troot\t0:root\t_
2\tn't\tnot\tPART\t_\t_\t1\tadvmod\t1:advmod|1.1:advmod\t_
2.1\tgo\tgo\tVERB\t_\t_\t_\t_\t0:root|1:conj\t_
3\tI\tI\tPRON\t_\t_\t1\tdep\t2.1:nsubj\t_
"""


class Bars(Parser):
    """Chains, one sentence per ``|``; fails on ``FAIL``."""

    @property
    def fingerprint(self) -> str:
        return "bars"

    def parse_texts(self, texts):
        if "FAIL" in " ".join(texts):
            raise RuntimeError("no parse")
        return [Parsed([Sentence.chain(part.split()) for part in text.split("|")]) for text in texts]

    def parse_sentences(self, sentences):
        raise NotImplementedError


@pytest.fixture
def parser() -> Bars:
    return Bars(progress=False)


def test_join_sentences_moves_every_column():
    second = SECOND.replace("|1.1:advmod", "|2.1:advmod")
    joined = join_sentences([parse_conllu(FIRST)[0], parse_conllu(second)[0]])
    assert joined.form == ["It", "ran", ".", "Do", "n't", "I"]
    assert joined.head == [2, 0, 2, 2, 4, 4]
    assert joined.deprel == ["nsubj", "root", "punct", "parataxis", "advmod", "dep"]
    assert joined.deps[3:] == [[("2", "parataxis")], [("4", "advmod"), ("5.1", "advmod")], [("5.1", "nsubj")]]
    assert joined.multiword[0][0] == "4-5"
    assert joined.empty[0][0] == "5.1"
    assert joined.empty[0][8] == "2:parataxis|4:conj"
    assert joined.misc == ["_", "SpaceAfter=No", "_", "_", "_", "_"]
    assert joined.text == "It ran. Don't and I do"
    assert parse_conllu(format_conllu(joined)) == [joined]


def test_join_sentences_can_keep_every_root():
    second = SECOND.replace("|1.1:advmod", "|2.1:advmod")
    joined = join_sentences([parse_conllu(FIRST)[0], parse_conllu(second)[0]], roots="all")
    assert joined.head == [2, 0, 2, 0, 4, 4]
    assert joined.deprel == ["nsubj", "root", "punct", "root", "advmod", "dep"]
    assert joined.deps[3] == [("0", "root")]
    assert joined.empty[0][8] == "0:root|4:conj"
    assert joined.depth == [2, 1, 2, 1, 2, 2]
    assert join_sentences([joined, joined], roots="all").depth == joined.depth * 2
    with pytest.raises(ValueError, match="'roots' must be one of first, all"):
        join_sentences([joined, joined], roots="none")


def test_join_sentences_fills_columns_that_one_lacks():
    joined = join_sentences([parse_conllu(FIRST)[0], Sentence.chain(["Go", "on"])])
    assert joined.upos == ["PRON", "VERB", "PUNCT", "_", "_"]
    assert joined.deps[3:] == [[("2", "parataxis")], [("4", "dep")]]


def test_join_sentences_of_one_and_none():
    sentence = Sentence.chain(["a"])
    assert join_sentences([sentence]) is sentence
    with pytest.raises(ValueError, match="'sentences' must be at least 1"):
        join_sentences([])


def test_join_sentences_joins_several_roots():
    two_roots = Sentence(["a", "b"], [0, 0], ["root", "root"], multiroot=True)
    assert join_sentences([two_roots, two_roots]).head == [0, 1, 1, 1]


@given(st.lists(st.integers(1, 6), min_size=1, max_size=5))
def test_join_sentences_keeps_arcs(lengths):
    sentences = [Sentence.chain([f"w{i}" for i in range(length)]) for length in lengths]
    joined = join_sentences(sentences)
    assert joined.form == [form for s in sentences for form in s.form]
    assert joined.head.count(0) == 1
    assert joined.deprel.count("parataxis") == len(lengths) - 1
    arcs = sum(len(s) - 1 for s in sentences)
    assert joined.deprel.count("dep") == arcs
    assert len(joined) == arcs + len(lengths)


def test_one_tree_a_text(parser):
    trees, failures = parse_joined(parser, ["a b | c", "FAIL d", "e"])
    assert [tree.form for tree in trees] == [["a", "b", "c"], ["FAIL", "d"], ["e"]]
    assert (trees[0].deprel[2], failures) == ("parataxis", 1)
    assert parse_joined(parser, ["e"])[1] == 0


def test_a_text_without_words_is_a_chain(parser, monkeypatch):
    monkeypatch.setattr(parser, "parse_texts", lambda texts: [Parsed([]) for _ in texts])
    trees, failures = parse_joined(parser, ["\u200b x"])
    assert (trees, failures) == ([chain_sentence(["\u200b", "x"], "no sentence in it")], 1)


def test_a_copy_names_its_word_after_joining():
    row = ("3.1", "_", "_", "_", "_", "_", "_", "_", "2:conj", "X=1|CopyOf=3")
    deps = [[("2", "a")], [("0", "root")], [("2", "b")]]
    second = Sentence(["a", "b", "c"], [2, 0, 2], ["a", "root", "b"], deps=deps, empty=[row])
    joined = join_sentences([Sentence(["x", "y"], [0, 1], ["root", "obj"]), second])
    assert joined.empty[0][0] == "5.1"
    assert joined.empty[0][9] == "X=1|CopyOf=5"
