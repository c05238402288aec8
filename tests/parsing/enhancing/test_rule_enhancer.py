"""What holds for the graphs of any tree."""

from __future__ import annotations

import dataclasses
import importlib.util
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphdep import Sentence
from graphdep.io import format_conllu, parse_conllu
from graphdep.parsing import enhance
from graphdep.parsing.enhancing import RuleEnhancer
from tests.kit.trees import random_sentence

LABELS = (
    "nsubj nsubj:pass csubj obj obl nmod nmod:poss conj cc case "
    "mark xcomp advcl acl acl:relcl advcl:relcl aux:pass "
    "cop det fixed advmod parataxis orphan root"
).split()
PLAIN = ("nsubj", "obj", "det", "amod", "advmod", "punct", "ccomp")
FORMS = "of in front out the a bunch lots both to and from who whose which where by walked way".split()
TAGS = ["NN", "VB", "VBN", "IN", "TO", "WRB", "JJ", "POS", "_"]


def random_parse(seed: int, words: int, labels: tuple[str, ...] = tuple(LABELS)) -> Sentence:
    source = random.Random(seed)
    shape = random_sentence(source, words, multiroot=True)
    return dataclasses.replace(
        shape,
        form=[source.choice(FORMS) for _ in range(words)],
        deprel=[source.choice(labels) for _ in range(words)],
        xpos=source.choice([None, [source.choice(TAGS) for _ in range(words)]]),
    )


seeds, sizes, levels = st.integers(0, 2**32), st.integers(1, 12), st.sampled_from(["enhanced", "enhanced++"])


@settings(max_examples=200, deadline=None)
@given(st.builds(random_parse, seeds, sizes), levels)
def test_every_word_is_reached_from_the_root_and_none_governs_itself(sentence, level):
    done = RuleEnhancer(level)(sentence)
    assert dataclasses.replace(done, deps=None, empty=[]) == sentence
    assert parse_conllu(format_conllu(done), multiroot=True)[0].deps == done.deps
    arcs = done.enhanced_arcs
    assert len(set(arcs)) == len(arcs)
    assert not [arc for arc in arcs if arc[0] == arc[1]]
    assert not any(node == "0" for _, node, _ in arcs)
    reached, waiting = {"0"}, ["0"]
    while waiting:
        head = waiting.pop()
        found = {node for governor, node, _ in arcs if governor == head} - reached
        reached |= found
        waiting += found
    assert reached == {str(node) for node in range(len(sentence) + 1)} | {row[0] for row in done.empty}


@settings(max_examples=50, deadline=None)
@given(st.builds(random_parse, seeds, sizes, st.just(PLAIN)))
def test_a_tree_in_which_nothing_is_to_be_enhanced_is_its_graph(sentence):
    done = RuleEnhancer("enhanced")(sentence)
    assert done.deps == [[(str(head), label)] for head, label in zip(sentence.head, sentence.deprel)]
    assert done.empty == []


@settings(max_examples=50, deadline=None)
@given(st.builds(random_parse, seeds, sizes), levels)
def test_the_same_graph_each_time(sentence, level):
    assert RuleEnhancer(level)(sentence) == RuleEnhancer(level)(sentence)


def test_long_chains_and_coordinations_take_no_recursion():
    for label in ("conj", "xcomp", "acl:relcl", "nmod"):
        words = 3000
        chain = Sentence(["a"] * words, list(range(words)), ["root", *[label] * (words - 1)])
        assert len(RuleEnhancer("enhanced++")(chain).deps) == words


def test_a_copy_is_an_empty_node_behind_its_word_or_where_it_is_left_out():
    tree = Sentence(
        ["Kim", "likes", "tea", "and", "Lee", "gin"],
        [2, 0, 2, 5, 2, 5],
        ["nsubj", "root", "obj", "cc", "conj", "orphan"],
        lemma=["Kim", "like", "tea", "and", "Lee", "gin"],
        xpos=["NNP", "VBZ", "NN", "CC", "NNP", "NN"],
    )
    (row,) = RuleEnhancer("enhanced")(tree).empty
    assert row == ("5.1", "likes", "like", "_", "VBZ", "_", "_", "_", "2:conj:and", "CopyOf=2")


def test_what_is_refused():
    row = ("1.1", "x", "_", "_", "_", "_", "_", "_", "_", "_")
    with pytest.raises(ValueError, match="the sentence has 1 empty nodes already"):
        RuleEnhancer("enhanced")(Sentence(["a"], [0], ["root"], empty=[row]))
    with pytest.raises(ValueError, match=r"'level' must be one of enhanced, enhanced\+\+ \(got 'ud'\)"):
        RuleEnhancer("ud")


@pytest.mark.skipif(importlib.util.find_spec("pybart") is None, reason="needs pybart-nlp")
@pytest.mark.parametrize("level", ["enhanced", "enhanced++"])
def test_both_engines_give_the_same_graph_where_both_know_the_rules(level):
    columns = (
        ["Kim", "wants", "to", "walk", "over", "the", "bridge", "and", "sit", "in", "front", "of", "us"],
        [2, 0, 4, 2, 7, 7, 4, 9, 4, 11, 9, 13, 11],
        "nsubj root mark xcomp case det obl cc conj case obl case nmod".split(),
    )
    tree = Sentence(*columns, xpos="NNP VBZ TO VB IN DT NN CC VB IN NN IN PRP".split())
    assert enhance([tree], level)[0].deps == enhance([tree], level, "pybart")[0].deps
