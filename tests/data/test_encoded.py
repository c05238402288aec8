from __future__ import annotations

import dataclasses
import random
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch
from torch_geometric.loader import DataLoader

from graphdep import NodeType, RelationVocab, Sentence, Vocab, to_data
from graphdep.data import EncodedUtterance, selection_data, text_data, trees_data
from graphdep.data.encoded import deletion_data, insertion_data, most_turns, search_data
from graphdep.sentence.sentence import truncate
from graphdep.testing import assert_same_data
from graphdep.vocab import PhraseVocab, VocabTokens
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


@settings(max_examples=40)
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


@settings(max_examples=40)
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


utterances = st.none() | sentences(max_words=8)


def encoded(tokens, sentence):
    return EncodedUtterance.of(sentence, tokens, RELATIONS)


@given(utterances)
def test_one_text(tokens, empty_rows, text):
    rows = empty_rows()
    rows.add(2, NodeType.CLS, 0, 0)
    rows.add_words(text, 0, 0)
    rows.add(3, NodeType.SEP, 0, 0)
    data = text_data(encoded(tokens, text), tokens=tokens, max_length=50)
    data.validate()
    rows.check(data)
    assert data.cut_words.tolist() == [[0, 0]]


def pair_rows(rows, first, second):
    rows.add(2, NodeType.CLS, 0, 0)
    for number, text in enumerate([first, second]):
        rows.add_words(text, number, number)
        rows.add(3, NodeType.SEP, number, number)
    return rows


@given(sentences(max_words=8), sentences(max_words=8), st.integers(9, 50))
def test_a_pair_in_little_room(tokens, empty_rows, first, second, max_length):
    data = text_data(encoded(tokens, first), encoded(tokens, second), tokens=tokens, max_length=max_length)
    cut = data.cut_words[0].tolist()
    kept = [truncate(text, len(text) - lost) for text, lost in zip((first, second), cut)]
    pair_rows(empty_rows(), *kept).check(data)
    assert data.num_nodes <= max_length
    sizes = [encoded(tokens, text).num_pieces for text in (first, second)]
    if sum(sizes) + 3 <= max_length:
        assert cut == [0, 0]
    # A text is cut only where it is longer than half of the room.
    half = (max_length - 3) // 2
    assert all(not lost or size > half for size, lost in zip(sizes, cut))
    if all(cut):  # nothing more would have fitted but a word of three pieces, in each half
        assert data.num_nodes >= max_length - 4


@given(st.integers(1, 12), st.integers(1, 12), st.integers(5, 30))
def test_the_longer_of_two_texts_is_cut_piece_by_piece(tokens, first, second, max_length):
    """Of two that are as long, the second: the first has the odd piece."""
    kept = [first, second]
    while sum(kept) + 3 > max_length:
        kept[0 if kept[0] > kept[1] else 1] -= 1
    texts = [encoded(tokens, Sentence.chain(["a"] * words)) for words in (first, second)]
    data = text_data(*texts, tokens=tokens, max_length=max_length)
    assert data.cut_words.tolist() == [[first - kept[0], second - kept[1]]]
    assert data.segment.tolist() == [0] * (kept[0] + 2) + [1] * (kept[1] + 1)


def test_something_is_left_of_each_text(tokens):
    word = encoded(tokens, Sentence.chain(["c", "a"]))
    data = text_data(word, word, tokens=tokens, max_length=5)
    assert data.input_ids.tolist() == [2, 990, 3, 990, 3]
    assert data.cut_words.tolist() == [[2, 2]]
    assert text_data(word, tokens=tokens, max_length=3).input_ids.tolist() == [2, 990, 3]


def test_errors(tokens):
    text = encoded(tokens, Sentence.chain(["a"]))
    with pytest.raises(ValueError, match=r"'max_length' must be at least 3 \(got 2\)"):
        text_data(text, tokens=tokens, max_length=2)
    with pytest.raises(ValueError, match=r"'max_length' must be at least 5 \(got 4\)"):
        text_data(text, text, tokens=tokens, max_length=4)


WORDS = VocabTokens(Vocab(list("abcdefgh")))


def enhanced(tokens, sentence):
    return EncodedUtterance.of(sentence, tokens, RELATIONS, arcs="enhanced")


@settings(max_examples=25)
@given(st.data())
def test_enhanced_arcs_are_those_of_to_data(enhanced_sentences, data):
    first, second = data.draw(enhanced_sentences()), data.draw(enhanced_sentences() | sentences())
    out = text_data(enhanced(WORDS, first), enhanced(WORDS, second), tokens=WORDS, max_length=100)
    out.validate()
    options = {"root": False, "arcs": "enhanced", "vocab": WORDS.vocab, "relations": RELATIONS}
    table = to_data([first, second], segment=[0, 1], **options)
    own = out.node_type == NodeType.WORD
    node = own.nonzero().view(-1)
    for key in ("input_ids", "node_type", "deprel", "depth", "utterance", "word", "segment"):
        assert out[key][own].equal(table[key]), key
    assert out.governor_index[own].equal(node[table.governor_index])
    assert out.arc_index.equal(node[table.arc_index])
    assert out.arc_type.equal(table.arc_type)
    assert not out.cut_words.any()


@settings(max_examples=25)
@given(st.data())
def test_enhanced_arcs_run_between_first_pieces(tokens, enhanced_sentences, data):
    sentence = data.draw(enhanced_sentences())
    utterance = enhanced(tokens, sentence)
    out = text_data(utterance, tokens=tokens, max_length=100)
    first = 1 + utterance.counts.cumsum() - utterance.counts
    assert out.arc_index.tolist() == first[utterance.arcs[:2]].tolist()
    assert out.arc_type.tolist() == utterance.arcs[2].tolist()
    assert out.num_nodes == utterance.num_pieces + 2


@settings(max_examples=25)
@given(st.data(), st.integers(5, 40))
def test_a_batch_of_enhanced_graphs_gives_the_examples_back(tokens, enhanced_sentences, data, max_length):
    texts = [enhanced(tokens, data.draw(enhanced_sentences())) for _ in range(3)]
    examples = [
        text_data(texts[0], texts[1], tokens=tokens, max_length=max_length),
        text_data(texts[2], tokens=tokens, max_length=max_length),
    ]
    batch = Batch.from_data_list(examples)
    for example, alone in zip(examples, batch.to_data_list()):
        example.validate()
        assert example.num_nodes <= max_length
        assert_same_data(alone, example)
    assert batch.batch[batch.arc_index[0]].equal(batch.batch[batch.arc_index[1]])


@settings(max_examples=40)
@given(st.data(), st.integers(5, 40))
def test_cut_enhanced_graphs(tokens, enhanced_sentences, data, max_length):
    first, second = (enhanced(tokens, data.draw(enhanced_sentences())) for _ in range(2))
    out = text_data(first, second, tokens=tokens, max_length=max_length)
    words = [len(set(out.word[(out.utterance == part) & (out.word >= 0)].tolist())) for part in (0, 1)]
    for text, kept, cut in zip((first, second), words, out.cut_words[0].tolist()):
        assert kept >= 1
        assert cut in (text.num_words - kept, text.num_words - kept + 1)  # of the first word a part is left
    assert bool((out.node_type[out.arc_index] == NodeType.WORD).all())


def test_the_first_word_is_left_where_its_empty_nodes_do_not_fit(tokens):
    row = ("1.1", "c", "_", "_", "_", "_", "_", "_", "1:conj:and", "_")
    sentence = Sentence(["a", "b"], [0, 1], ["root", "obj"], deps=[[("0", "root")], []], empty=[row])
    out = text_data(enhanced(tokens, sentence), tokens=tokens, max_length=5)
    assert out.input_ids.tolist() == [2, 970, 3]
    assert out.arc_index.shape == (2, 0)
    assert out.cut_words.tolist() == [[1, 0]]


@settings(max_examples=25)
@given(st.data())
def test_selection_data_has_enhanced_arcs_too(enhanced_sentences, data):
    turns = [data.draw(enhanced_sentences()), data.draw(sentences()), data.draw(enhanced_sentences())]
    encoded = [enhanced(WORDS, turn) for turn in turns]
    out = selection_data(encoded[:2], encoded[2], WORDS, max_length=200)
    table = to_data(turns, root=False, arcs="enhanced", relations=RELATIONS)
    node = (out.node_type == NodeType.WORD).nonzero().view(-1)
    assert out.arc_index.equal(node[table.arc_index])
    assert torch.equal(out.arc_type, table.arc_type)


PHRASES = [("S", 0, 4), ("NP", 0, 2), ("VP", 2, 4), ("NP", 3, 4)]


@pytest.mark.parametrize("max_length", [20, 5, 4, 3])
def test_constituents_lose_the_words_that_are_cut(max_length):
    from graphdep.sentence.tree import cut_constituents

    sentence = Sentence([*"abcd"], [2, 0, 2, 3], ["x", "root", "x", "x"], constituents=PHRASES)
    tokens = VocabTokens(Vocab([*"abcd"]))
    text = EncodedUtterance.of(sentence, tokens, RelationVocab(), phrases=True)
    data = text_data(text, tokens=tokens, max_length=max_length)
    kept = min(4, max_length - 2)
    expected = cut_constituents(PHRASES, 0, kept)
    assert data.phrase_index.tolist() == [
        [1 + start for _, start, _ in expected],
        [end for _, _, end in expected],
    ]
    labels = PhraseVocab()
    assert data.phrase_type.tolist() == [labels[label] for label, *_ in expected]
    pair = text_data(text, text, tokens=tokens, max_length=20)
    assert pair.phrase_index.tolist() == [[1, 1, 3, 4, 6, 6, 8, 9], [4, 2, 4, 4, 9, 7, 9, 9]]


def test_no_constituents_are_no_key_and_none_that_are_known_an_error():
    tokens = VocabTokens(Vocab(["a"]))
    bare = Sentence.chain(["a"])
    assert "phrase_index" not in text_data(
        EncodedUtterance.of(bare, tokens, RelationVocab()), tokens=tokens, max_length=9
    )
    with pytest.raises(ValueError, match="the sentence 'a' has no constituents"):
        EncodedUtterance.of(bare, tokens, RelationVocab(), phrases=True)
    nothing = EncodedUtterance.of(None, tokens, RelationVocab(), phrases=True)
    assert text_data(nothing, tokens=tokens, max_length=9).phrase_index.shape == (2, 0)


short_utterances = st.none() | sentences(max_words=5)
contexts = st.lists(short_utterances, max_size=4)


def example(tokens, context, response, **options):
    return selection_data([encoded(tokens, u) for u in context], encoded(tokens, response), tokens, **options)


def num_words(*short_utterances):
    return sum(len(u) for u in short_utterances if u is not None)


@settings(max_examples=40)
@given(contexts, short_utterances)
def test_the_layout_row_by_row(tokens, selection_rows, context, response):
    data = example(tokens, context, response)
    data.validate()
    selection_rows(context, response).check(data)
    assert data.cut_words.tolist() == [[0, 0]]
    assert "y" not in data


def slow_cut(tokens, context, response, max_length):
    """Words dropped one by one: from the left of the context, then from the right of the response."""

    def size(sentence):
        return sum(map(len, tokens.encode(sentence.form))) if sentence else 0

    context = list(context)
    while context and 3 + sum(size(u) + 1 for u in context) + size(response) > max_length:
        left = num_words(context[0]) - 1
        context[:1] = [truncate(context[0], left, "left")] if left > 0 else []
    while response and 3 + size(response) > max_length and len(response) > 1:
        response = truncate(response, len(response) - 1)
    return context, response


@settings(max_examples=40)
@given(contexts, short_utterances, st.integers(6, 40))
def test_truncation_word_by_word(tokens, selection_rows, context, response, max_length):
    data = example(tokens, context, response, max_length=max_length)
    kept, kept_response = slow_cut(tokens, context, response, max_length)
    selection_rows(kept, kept_response).check(data)
    cut, cut_response = data.cut_words[0].tolist()
    assert cut == num_words(*context) - num_words(*kept)
    assert cut_response == num_words(response) - num_words(kept_response)
    # What the rule promises, in words of its own.
    assert data.num_nodes <= max_length
    assert not cut_response or not kept
    words = {(u, w) for u, w in zip(data.utterance.tolist(), data.word.tolist()) if w >= 0}
    assert len(words) + cut + cut_response == num_words(*context, response)


def test_empty_turns_keep_their_end_where_it_fits(tokens):
    data = example(tokens, [Sentence.chain(["a"]), None], None, max_length=4)
    assert data.input_ids.tolist() == [2, 4, 3, 3]
    assert data.utterance.tolist() == [0, 0, 0, 1]
    assert data.cut_words.tolist() == [[1, 0]]


def test_a_first_word_longer_than_the_room_is_cut_in_two(tokens):
    response = Sentence(["c", "a"], [2, 0], ["nsubj", "root"])
    data = example(tokens, [Sentence.chain(["a"])], response, max_length=5)
    assert data.input_ids.tolist() == [2, 3, 990, 991, 3]
    assert data.governor_index.tolist() == [0, 1, 2, 2, 4]
    assert data.depth.tolist() == [-1, -1, 1, 1, -1]
    assert RELATIONS.label(int(data.deprel[2])) == "root"
    assert data.cut_words.tolist() == [[1, 2]]  # the first word is not there as a whole


def test_the_label_and_lengths_that_leave_no_room(tokens):
    assert example(tokens, [], None, y=1).y.tolist() == [1.0]
    assert example(tokens, [], None, y=0).y.dtype == torch.float
    assert example(tokens, [], None, max_length=4).num_nodes == 3
    with pytest.raises(ValueError, match=r"'max_length' must be at least 4 \(got 3\)"):
        example(tokens, [], None, max_length=3)


def test_examples_share_no_memory_with_their_utterances(tokens):
    response = encoded(tokens, Sentence.chain(["a", "b"]))
    before = selection_data([], response, tokens).to_dict()
    data = selection_data([], response, tokens)
    for value in data.to_dict().values():
        if isinstance(value, torch.Tensor):
            value.fill_(7)
    after = selection_data([], response, tokens).to_dict()
    assert all(torch.equal(torch.as_tensor(before[key]), torch.as_tensor(after[key])) for key in before)


def test_examples_go_through_a_loader(tokens):
    examples = [example(tokens, [Sentence.chain(["b"] * n)], None, y=n % 2) for n in range(1, 4)]
    (batch,) = DataLoader(examples, batch_size=3)
    assert batch.y.tolist() == [1.0, 0.0, 1.0]
    assert batch.cut_words.tolist() == [[0, 0]] * 3
    assert batch.governor_index.max() == batch.num_nodes - 1


TURN_WORDS = [f"w{number}" for number in range(20)]
TOKENS = VocabTokens(Vocab(TURN_WORDS))
SYMBOLS = {1: "[INS]", 2: "[DEL]", 3: "[SRCH]"}
SPECIAL = {NodeType.CLS: "[CLS]", NodeType.SEP: "[SEP]", NodeType.EOU: "[EOU]"}

dialogues = st.lists(st.lists(st.sampled_from(TURN_WORDS), min_size=1, max_size=4), min_size=2, max_size=6)


def turns_of(dialogue):
    trees = [Sentence.chain(turn) for turn in dialogue]
    return [EncodedUtterance.of(tree, TOKENS, RELATIONS) for tree in trees]


def read(data):
    """The nodes as people write them, and the number of the symbol that is the answer."""
    word_of = {TOKENS.encode([word])[0][0]: word for word in TURN_WORDS}
    names = [
        SYMBOLS[mark] if mark else SPECIAL.get(NodeType(kind)) or word_of[piece]
        for piece, kind, mark in zip(*(data[key].tolist() for key in ("input_ids", "node_type", "mark")))
    ]
    symbols = [target for target, mark in zip(data.mark_target.tolist(), data.mark.tolist()) if mark]
    assert data.mark_target.sum() == 1
    return names, symbols.index(1.0)


@given(dialogues, st.data())
def test_insertion_as_it_is_written_down(dialogue, data):
    target = data.draw(st.integers(0, len(dialogue) - 1))
    found = insertion_data(turns_of(dialogue), target, TOKENS)
    found.validate()
    expected = ["[CLS]", "[INS]"]
    for turn in dialogue[:target] + dialogue[target + 1 :]:
        expected += [*turn, "[EOU]", "[INS]"]
    assert read(found) == ([*expected, "[SEP]", *dialogue[target], "[SEP]"], target)
    second = len(dialogue[target]) + 1
    assert found.segment.tolist() == [0] * (found.num_nodes - second) + [1] * second
    assert int(found.utterance.max()) == len(dialogue) - 1


@given(dialogues, st.data())
def test_deletion_as_it_is_written_down(dialogue, data):
    place = data.draw(st.integers(0, len(dialogue)))
    foreign = data.draw(st.lists(st.sampled_from(TURN_WORDS), min_size=1, max_size=3))
    found = deletion_data(turns_of(dialogue), turns_of([foreign])[0], place, TOKENS)
    found.validate()
    expected = ["[CLS]"]
    for turn in [*dialogue[:place], foreign, *dialogue[place:]]:
        expected += ["[DEL]", *turn, "[EOU]"]
    assert read(found) == ([*expected, "[SEP]"], place)
    assert not found.segment.any()


@given(dialogues, st.data())
def test_search_as_it_is_written_down(dialogue, data):
    order = data.draw(st.permutations(range(len(dialogue) - 1)))
    found = search_data(turns_of(dialogue), order, TOKENS)
    found.validate()
    expected = ["[CLS]"]
    for number in order:
        expected += ["[SRCH]", *dialogue[number], "[EOU]"]
    before = order.index(len(dialogue) - 2)
    assert read(found) == ([*expected, "[SEP]", *dialogue[-1], "[SEP]"], before)


@given(dialogues, st.integers(11, 60))
def test_no_utterance_is_lost_and_none_too_long(dialogue, max_length):
    turns = turns_of(dialogue[: most_turns(max_length)])
    if len(turns) < 2:
        return
    made = [
        insertion_data(turns, 0, TOKENS, max_length=max_length),
        deletion_data(turns, turns[0], 1, TOKENS, max_length=max_length),
        search_data(turns, [*range(len(turns) - 1)], TOKENS, max_length=max_length),
    ]
    for data, count in zip(made, (len(turns), len(turns) + 1, len(turns))):
        assert data.num_nodes <= max_length
        assert data.utterance.unique().tolist() == [*range(count)]
        words = {(u, w) for u, w in zip(data.utterance.tolist(), data.word.tolist()) if w >= 0}
        of = [*turns, *([turns[0]] if count > len(turns) else [])]
        assert len(words) + int(data.cut_words.sum()) == sum(turn.num_words for turn in of)
        _, answer = read(data)
        assert 0 <= answer < count


def test_an_utterance_has_a_quarter_of_the_nodes():
    turns = turns_of([TURN_WORDS, TURN_WORDS[:1]])
    data = search_data(turns, [0], TOKENS, max_length=40)
    assert int((data.utterance == 0).sum()) == 1 + 1 + 10 + 1 + 1  # [CLS] [SRCH] ... [EOU] [SEP]
    assert data.cut_words.tolist() == [[10, 0]]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda turns: insertion_data(turns[:1], 0, TOKENS), "'turns' must be at least 2 with words"),
        (lambda turns: insertion_data(turns, 2, TOKENS), "'place' must be between 0 and 1 .got 2"),
        (lambda turns: deletion_data(turns, turns[0], 3, TOKENS), "'place' must be between 0 and 2 .got 3"),
        (lambda turns: search_data(turns, [1], TOKENS), "'order' must have each number below 1 once"),
        (lambda turns: search_data(turns, [0], TOKENS, max_length=6), "'max_length' must be at least 7"),
    ],
)
def test_wrong_arguments_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make(turns_of([["w1"], ["w2"]]))


VOCAB = Vocab("abc")
TREE = Sentence(["a", "b", "c"], [2, 0, 2], ["nsubj", "root", "obj"])
GRAPH = dataclasses.replace(TREE, deps=[[("2", "nsubj"), ("3", "ref")], [("0", "root")], [("2", "obj")]])


@settings(max_examples=25)
@given(st.lists(sentences(max_words=5), min_size=1, max_size=3))
def test_without_tokens_it_is_the_node_table(trees):
    data = trees_data(trees, RELATIONS, vocab=VOCAB, max_length=1, segment=[*range(len(trees))], root=False)
    expected = to_data(trees, vocab=VOCAB, relations=RELATIONS, segment=[*range(len(trees))], root=False)
    assert_same_data(data, expected)


@settings(max_examples=25)
@given(st.lists(sentences(max_words=5), min_size=1, max_size=2), st.none() | st.integers(5, 20))
def test_with_tokens_it_is_the_input_of_an_encoder(tokens, trees, max_length):
    data = trees_data(trees, RELATIONS, tokens=tokens, max_length=max_length, segment=[0, 1], root=True)
    encoded = [EncodedUtterance.of(tree, tokens, RELATIONS) for tree in trees]
    assert_same_data(data, text_data(*encoded, tokens=tokens, max_length=max_length or 100))


@pytest.mark.parametrize("arcs", ["basic", "enhanced", "enhanced++"])
def test_arcs(tokens, arcs):
    for options, count in (({"vocab": VOCAB}, 3), ({"tokens": tokens}, 2)):  # with the arc from ROOT, or not
        data = trees_data([GRAPH], RELATIONS, arcs=arcs, **options)
        assert data.arc_index.size(1) == count + (arcs != "basic")
        assert trees_data([TREE], RELATIONS, arcs=arcs, **options).arc_index.size(1) == count


def test_copies(tokens):
    copy = ("2.1", "b", "_", "_", "_", "_", "_", "_", "2:conj:and", "CopyOf=2")
    deps = [[("2", "nsubj")], [("0", "root")], [("2.1", "obj")]]
    graph = dataclasses.replace(TREE, deps=deps, empty=[copy])
    plain = trees_data([TREE], RELATIONS, tokens=tokens)
    word, node = (
        trees_data([graph], RELATIONS, tokens=tokens, arcs="enhanced++", copies=copies)
        for copies in ("word", "node")
    )
    assert (word.num_nodes, word.arc_index.size(1)) == (plain.num_nodes, 2)  # none of a word and itself
    assert node.num_nodes > plain.num_nodes
    assert node.arc_index.size(1) == 3


def test_trees_data_errors(tokens):
    for options in ({}, {"tokens": tokens}):
        with pytest.raises(ValueError, match=r"'arcs' must be one of basic, enhanced, .*\(got 'more'\)"):
            trees_data([TREE], RELATIONS, arcs="more", **options)
    for count in (0, 3):
        with pytest.raises(ValueError, match=rf"'trees' must be between 1 and 2 \(got {count}\)"):
            trees_data([TREE] * count, RELATIONS, tokens=tokens)
    for name, value in (("positions", "example"), ("y", None), ("max_lenght", 3)):
        with pytest.raises(ValueError, match=rf"'{name}' is not for 'tokens' \(got {value!r}\)"):
            trees_data([TREE], RELATIONS, tokens=tokens, **{name: value})
    with pytest.raises(ValueError, match=r"'max_length' must be at least 3 \(got 2\)"):
        trees_data([TREE], RELATIONS, tokens=tokens, max_length=2)
    with pytest.raises(ValueError, match=r"'copies' must be one of word, node"):
        trees_data([TREE], RELATIONS, tokens=tokens, copies="none")
    with pytest.raises(ValueError, match="'sentences' is empty"):
        trees_data([], RELATIONS)
