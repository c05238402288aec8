from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep import RelationVocab, Sentence
from graphdep.data import EncodedUtterance
from graphdep.sentence.sentence import truncate
from tests.kit.strategies import sentences

RELATIONS = RelationVocab()
COLUMNS = ("input_ids", "counts", "head", "deprel", "depth")


def assert_same(left: EncodedUtterance, right: EncodedUtterance) -> None:
    for name in COLUMNS:
        a, b = getattr(left, name), getattr(right, name)
        assert a.dtype == b.dtype == np.int64, name
        assert a.tolist() == b.tolist(), name


@given(sentences(multiroot=True))
def test_of_a_sentence(tokens, sentence):
    utterance = EncodedUtterance.of(sentence, tokens, RELATIONS)
    pieces = tokens.encode(sentence.form)
    assert utterance.input_ids.tolist() == [piece for ids in pieces for piece in ids]
    assert utterance.counts.tolist() == [len(ids) for ids in pieces]
    assert utterance.head.tolist() == [head - 1 if head else w for w, head in enumerate(sentence.head)]
    assert utterance.deprel.tolist() == [RELATIONS[label] for label in sentence.deprel]
    assert utterance.depth.tolist() == sentence.depth
    assert (utterance.num_words, utterance.num_pieces) == (len(sentence), sum(map(len, pieces)))


def test_of_nothing(tokens):
    utterance = EncodedUtterance.of(None, tokens, RELATIONS)
    assert (utterance.num_words, utterance.num_pieces) == (0, 0)
    assert all(getattr(utterance, name).dtype == np.int64 for name in COLUMNS)
    assert utterance.cut(0) is utterance


def test_depth_of_a_long_chain(tokens):
    chain = EncodedUtterance.of(Sentence.chain(["a"] * 5000), tokens, RELATIONS)
    assert chain.depth.tolist() == list(range(1, 5001))


@given(sentences(max_words=10, multiroot=True), st.integers(0, 24), st.sampled_from(["right", "left"]))
def test_cut_is_truncation_to_the_words_that_fit(tokens, sentence, max_pieces, side):
    utterance = EncodedUtterance.of(sentence, tokens, RELATIONS)
    cut = utterance.cut(max_pieces, side)
    counts = [*utterance.counts]
    while sum(counts) > max_pieces:
        counts.pop(-1 if side == "right" else 0)
    if len(counts) == len(sentence):
        assert cut is utterance
    else:
        kept = truncate(sentence, len(counts), side) if counts else None
        assert_same(cut, EncodedUtterance.of(kept, tokens, RELATIONS))


def test_cut_leaves_its_utterance_as_it_was(tokens):
    sentence = Sentence(["a", "b", "c"], [2, 3, 0], ["det", "nsubj", "root"])
    utterance = EncodedUtterance.of(sentence, tokens, RELATIONS)
    assert utterance.cut(3).deprel.tolist() == [RELATIONS["det"], RELATIONS["root"]]
    assert_same(utterance, EncodedUtterance.of(sentence, tokens, RELATIONS))


def test_the_new_root_has_the_relation_root_in_every_vocabulary(tokens):
    relations = RelationVocab(["strange"])
    sentence = Sentence(["a", "a"], [2, 0], ["strange", "root"])
    cut = EncodedUtterance.of(sentence, tokens, relations).cut(1)
    assert [relations.label(number) for number in cut.deprel] == ["root"]


def test_cut_errors(tokens):
    utterance = EncodedUtterance.of(Sentence.chain(["a"]), tokens, RELATIONS)
    with pytest.raises(ValueError, match=r"'max_pieces' must be at least 0 \(got -1\)"):
        utterance.cut(-1)
    with pytest.raises(ValueError, match=r"'side' must be one of right, left \(got 'top'\)"):
        utterance.cut(1, "top")


# -- enhanced graphs ---------------------------------------------------------------------------------------


def names(sentence: Sentence) -> list[str]:
    return [*map(str, range(1, len(sentence) + 1)), *(row[0] for row in sentence.empty)]


def named_arcs(utterance: EncodedUtterance, nodes: list[str]) -> list[tuple[str, str, int]]:
    return [(nodes[governor], nodes[dependent], label) for governor, dependent, label in utterance.arcs.T]


def expected_arcs(sentence: Sentence, kept: set[str]) -> list[tuple[str, str, int]]:
    columns = ["|".join(f"{head}:{label}" for head, label in pairs) for pairs in sentence.deps]
    columns += [row[8] for row in sentence.empty]
    parts = [(part, node) for column, node in zip(columns, names(sentence)) for part in column.split("|")]
    arcs = [(*part.split(":", 1), node) for part, node in parts if ":" in part]
    return [(head, node, RELATIONS[label]) for head, label, node in arcs if {head, node} <= kept]


@given(st.data())
def test_of_an_enhanced_graph(tokens, enhanced_sentences, data):
    sentence = data.draw(enhanced_sentences())
    utterance = EncodedUtterance.of(sentence, tokens, RELATIONS, arcs="enhanced")
    basic = EncodedUtterance.of(sentence, tokens, RELATIONS)
    words, nodes = len(sentence), names(sentence)
    assert (utterance.num_words, utterance.num_nodes) == (words, len(nodes))
    assert named_arcs(utterance, nodes) == expected_arcs(sentence, set(nodes))
    for name in ("counts", "head", "deprel", "depth"):
        assert getattr(utterance, name)[:words].tolist() == getattr(basic, name).tolist()
    assert utterance.head[words:].tolist() == [*range(words, len(nodes))]
    assert set(utterance.deprel[words:]) <= {RelationVocab.SELF}
    assert set(utterance.depth[words:]) <= {-1}
    pieces = tokens.encode([*sentence.form, *(row[1] for row in sentence.empty)])
    assert utterance.input_ids.tolist() == [piece for ids in pieces for piece in ids]


@given(sentences())
def test_a_sentence_without_enhanced_graph_has_the_arcs_of_its_tree(tokens, sentence):
    utterance = EncodedUtterance.of(sentence, tokens, RELATIONS, arcs="enhanced")
    assert utterance.arcs is None
    assert_same(utterance, EncodedUtterance.of(sentence, tokens, RELATIONS))


@given(st.data(), st.integers(0, 30), st.sampled_from(["right", "left"]))
def test_cut_keeps_the_arcs_with_both_ends(tokens, enhanced_sentences, data, max_pieces, side):
    sentence = data.draw(enhanced_sentences())
    utterance = EncodedUtterance.of(sentence, tokens, RELATIONS, arcs="enhanced")
    cut = utterance.cut(max_pieces, side)
    words, kept = len(sentence), cut.num_words
    if kept == words:
        assert cut is utterance
        assert cut.num_pieces <= max_pieces
        return
    own = range(kept) if side == "right" else range(words - kept, words)
    nodes = [name for name in names(sentence) if max(int(name.split(".")[0]) - 1, 0) in own]
    assert cut.num_nodes == len(nodes)
    assert named_arcs(cut, nodes) == expected_arcs(sentence, set(nodes))
    # As many words as there is room for, with the empty nodes that follow them.
    number = {name: node for node, name in enumerate(names(sentence))}
    assert cut.counts.tolist() == [utterance.counts[number[name]] for name in nodes]
    next_word = {kept} if side == "right" else {words - kept - 1}
    more = [name for name in number if max(int(name.split(".")[0]) - 1, 0) in {*own, *next_word}]
    assert cut.num_pieces <= max_pieces < sum(utterance.counts[number[name]] for name in more)
    # The tree is that of the cut sentence, and what is cut again is as if cut at once.
    if kept:
        short = EncodedUtterance.of(truncate(sentence, kept, side), tokens, RELATIONS, arcs="enhanced")
        assert_same(cut, short)
    again, once = cut.cut(max_pieces // 2, side), utterance.cut(max_pieces // 2, side)
    assert_same(again, once)
    assert again.arcs.tolist() == once.arcs.tolist()


def test_an_empty_node_goes_with_its_word(tokens):
    row = ("1.1", "b", "_", "_", "_", "_", "_", "_", "2:conj:and", "_")
    deps = [[("2", "obj"), ("1.1", "obj")], [("0", "root")], [("1.1", "obl:in"), ("3", "acl")]]
    sentence = Sentence(["a", "a", "a"], [2, 0, 2], ["obj", "root", "obl"], deps=deps, empty=[row])
    utterance = EncodedUtterance.of(sentence, tokens, RELATIONS, arcs="enhanced")
    label = RELATIONS.label
    assert [(g, d, label(r)) for g, d, r in utterance.arcs.T] == [
        (1, 0, "obj"), (3, 0, "obj"), (3, 2, "obl"), (2, 2, "acl"), (1, 3, "conj")
    ]  # fmt: skip
    assert utterance.cut(4).input_ids.tolist() == [970, 970, 980, 981]
    assert [(g, d, label(r)) for g, d, r in utterance.cut(4).arcs.T] == [
        (1, 0, "obj"), (2, 0, "obj"), (1, 2, "conj")
    ]  # fmt: skip
    assert utterance.cut(4, "left").input_ids.tolist() == [970, 970]
    assert [(g, d, label(r)) for g, d, r in utterance.cut(4, "left").arcs.T] == [(1, 1, "acl")]
    assert utterance.cut(2).num_nodes == 0  # the first word and its empty node have three pieces


COPIED = Sentence(
    # "Sue flew from Rome and to Oslo": the enhanced++ graph has a second "flew" that goes to Oslo.
    ["a", "b", "c", "a", "b", "c", "a"],
    [2, 0, 4, 2, 7, 7, 2],
    ["nsubj", "root", "case", "obl", "cc", "case", "obl"],
    deps=[
        [("2", "nsubj"), ("2.1", "nsubj")],
        [("0", "root")],
        [("4", "case")],
        [("2", "obl:from")],
        [("2.1", "cc")],
        [("7", "case")],
        [("2.1", "obl:to"), ("5.1", "dep")],
    ],
    empty=[
        ("2.1", "b", "_", "_", "_", "_", "_", "_", "2:conj:and", "SpaceAfter=No|CopyOf=2"),
        ("5.1", "c", "_", "_", "_", "_", "_", "_", "2.1:parataxis", "_"),
    ],
)


def test_copies_of_words_add_no_text(tokens):
    utterance = EncodedUtterance.of(COPIED, tokens, RELATIONS, arcs="enhanced")
    plain = EncodedUtterance.of(COPIED, tokens, RELATIONS)
    assert (utterance.num_words, utterance.num_nodes) == (7, 8)
    assert utterance.input_ids.tolist() == [*plain.input_ids, *tokens.encode(["c"])[0]]
    assert utterance.anchor.tolist() == [4]
    label = RELATIONS.label
    assert [(int(g), int(d), label(r)) for g, d, r in utterance.arcs.T] == [
        (1, 0, "nsubj"), (3, 2, "case"), (1, 3, "obl"), (1, 4, "cc"), (6, 5, "case"), (1, 6, "obl"),
        (7, 6, "dep"), (1, 7, "parataxis"),
    ]  # fmt: skip
    short = utterance.cut(4)  # a, b and a part of no word
    assert short.num_nodes == 2
    assert [(int(g), int(d), label(r)) for g, d, r in short.arcs.T] == [(1, 0, "nsubj")]


def test_copies_as_nodes(tokens):
    utterance = EncodedUtterance.of(COPIED, tokens, RELATIONS, arcs="enhanced", copies="node")
    assert named_arcs(utterance, names(COPIED)) == expected_arcs(COPIED, set(names(COPIED)))
    assert utterance.num_nodes == 9


def with_copies(sentence: Sentence, seed: int) -> Sentence:
    """Some of the empty nodes are copies, also of what is no word."""
    source = random.Random(seed)
    columns = [
        "_",
        "CopyOf=-1",
        "CopyOf=99",
        "CopyOf=x",
        *(f"A=b|CopyOf={i + 1}" for i in range(len(sentence))),
    ]
    return replace(sentence, empty=[(*row[:9], source.choice(columns)) for row in sentence.empty])


@given(st.data(), st.integers(0, 2**32))
def test_arcs_of_copies_are_those_of_the_words(tokens, enhanced_sentences, data, seed):
    sentence = with_copies(data.draw(enhanced_sentences()), seed)
    utterance = EncodedUtterance.of(sentence, tokens, RELATIONS, arcs="enhanced")
    word = {str(i + 1): str(i + 1) for i in range(len(sentence))}
    for row in sentence.empty:
        of = row[9].rpartition("CopyOf=")[2]
        word[row[0]] = of if of in map(str, range(1, len(sentence) + 1)) else row[0]
    kept = [name for name in names(sentence) if word[name] == name]
    expected = []
    for head, node, label in expected_arcs(sentence, set(word)):
        arc = (word[head], word[node], label)
        if head != node and arc[0] == arc[1]:
            continue
        if len(kept) == len(word) or arc not in expected:
            expected.append(arc)
    assert utterance.num_nodes == len(kept)
    got = named_arcs(utterance, kept)
    # Labels with one id may be two.
    assert (got if len(kept) == len(word) else [*dict.fromkeys(got)]) == expected
    pieces = tokens.encode([*sentence.form, *(row[1] for row in sentence.empty if row[0] in kept)])
    assert utterance.input_ids.tolist() == [piece for ids in pieces for piece in ids]


def test_unknown_copies(tokens):
    with pytest.raises(ValueError, match=r"'copies' must be one of word, node \(got 'text'\)"):
        EncodedUtterance.of(COPIED, tokens, RELATIONS, copies="text")


def test_unknown_arcs(tokens):
    with pytest.raises(ValueError, match=r"'arcs' must be one of basic, enhanced \(got 'deps'\)"):
        EncodedUtterance.of(Sentence.chain(["a"]), tokens, RELATIONS, arcs="deps")
