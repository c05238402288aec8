"""Constituents in the graph, against loops over the sentences that they are made of."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch

from graphdep import NodeType, Sentence, to_data
from graphdep.sentence.tree import parts
from graphdep.testing import assert_same_data
from graphdep.transforms import (
    ConstituentEdges,
    Nodes,
    PhraseNodes,
    Phrases,
    PhraseWordEdges,
    RandomBrackets,
    RightBrackets,
    SameConstituentEdges,
    SiblingEdges,
    resolve,
)
from graphdep.vocab import PhraseVocab, RelationVocab, Vocab
from tests.kit.strategies import constituents_of, phrase_examples, sentences
from tests.kit.trees import mothers

pieces = st.sampled_from(["all", "first"])


class Slow:
    """Nodes of words, phrases by number through the example, and what is directly in them."""

    def __init__(self, data, parsed, which: str = "all"):
        self.words: dict[tuple[int, int], list[int]] = {}
        for node, (u, w) in enumerate(zip(data.utterance.tolist(), data.word.tolist())):
            if w >= 0:
                self.words.setdefault((u, w), []).append(node)
        if which == "first":
            self.words = {key: nodes[:1] for key, nodes in self.words.items()}
        nodes = data.phrase_node_index.tolist() if "phrase_node_index" in data else [-1] * 10**4
        self.mother, self.spans, self.parts, self.tops, self.height = [], [], [], [], []
        self.node = []
        for u, sentence in enumerate(parsed):
            start = len(self.spans)
            inside, top = parts(sentence.constituents, len(sentence))
            self.mother += [m + start if m >= 0 else -1 for m in mothers(sentence.constituents)]
            for _, first, end in sentence.constituents:
                self.node.append(nodes[len(self.spans)])
                self.spans.append([(u, w) for w in range(first, end)])

            def named(part, u=u, start=start):
                return self.words[u, ~part] if part < 0 else [nodes[part + start]]

            self.parts += [[named(part) for part in mine] for mine in inside]
            self.tops.append([named(part) for part in top])
            heights: dict[int, int] = {}
            for number in reversed(range(len(inside))):
                heights[number] = 1 + max((heights[p] for p in inside[number] if p >= 0), default=0)
            self.height += [heights[number] for number in range(len(inside))]


def pairs(data) -> set[tuple[int, int]]:
    found = [*zip(*data.edge_index.tolist())]
    assert len(set(found)) == len(found)
    return set(found)


@given(phrase_examples())
def test_the_view(made):
    data, parsed = made
    slow, phrases = Slow(data, parsed), Phrases(Nodes(data))
    assert phrases.mother.tolist() == slow.mother
    assert phrases.height.tolist() == slow.height
    inside = [*zip(*(row.tolist() for row in phrases.inside))]
    expected = [
        (number, nodes[0])
        for key, nodes in slow.words.items()
        for number, span in enumerate(slow.spans)
        if key in span
    ]
    assert inside == sorted(expected, key=lambda pair: (pair[1], pair[0]))


@settings(max_examples=40)
@given(phrase_examples(), st.sampled_from(["both", "up", "down"]), pieces)
def test_constituent_edges(made, direction, which):
    data, parsed = PhraseNodes()(made[0]), made[1]
    slow = Slow(data, parsed, which)
    up = {(node, slow.node[whole]) for whole, mine in enumerate(slow.parts) for part in mine for node in part}
    down = {(target, source) for source, target in up}
    expected = {"up": up, "down": down, "both": up | down}[direction]
    assert pairs(ConstituentEdges(direction, pieces=which)(data)) == expected


@settings(max_examples=40)
@given(phrase_examples(), st.sampled_from(["both", "to_word", "to_phrase", "none"]), pieces)
def test_phrase_word_edges(made, direction, which):
    data, parsed = PhraseNodes()(made[0]), made[1]
    slow = Slow(data, parsed, which)
    up = {(n, slow.node[k]) for k, span in enumerate(slow.spans) for key in span for n in slow.words[key]}
    down = {(target, source) for source, target in up}
    expected = {"to_phrase": up, "to_word": down, "both": up | down, "none": set()}[direction]
    expected |= {(node, node) for node in slow.node}
    assert pairs(PhraseWordEdges(direction, pieces=which)(data)) == expected


@settings(max_examples=40)
@given(phrase_examples(), pieces)
def test_sibling_edges(made, which):
    data, parsed = PhraseNodes()(made[0]), made[1]
    slow = Slow(data, parsed, which)
    expected = {
        (source, target)
        for group in [*slow.parts, *slow.tops]
        for i, one in enumerate(group)
        for j, other in enumerate(group)
        for source in one
        for target in other
        if i != j
    }
    assert pairs(SiblingEdges(pieces=which)(data)) == expected


@settings(max_examples=40)
@given(phrase_examples(), st.none() | st.integers(1, 4), pieces)
def test_same_constituent_edges(made, max_height, which):
    data, parsed = made
    slow = Slow(data, parsed, which)
    expected = {
        (source, target)
        for number, span in enumerate(slow.spans)
        if max_height is None or slow.height[number] <= max_height
        for one in span
        for other in span
        for source in slow.words[one]
        for target in slow.words[other]
    }
    edges = SameConstituentEdges(max_height, pieces=which)
    assert pairs(edges(data)) == expected
    implicit = SameConstituentEdges(max_height, pieces=which, implicit=True)
    assert pairs((implicit - SiblingEdgesNone())(data)) == expected


class SiblingEdgesNone(SameConstituentEdges):
    """No edges: what is left of an implicit set without it is written out."""

    def build(self, nodes):
        found = super().build(nodes)
        return found - found


@settings(max_examples=25)
@given(st.data(), st.booleans(), st.booleans(), st.sampled_from(["utterance", "example"]))
def test_to_data_is_the_same_as_the_transform(data, root, words, positions):
    parsed = data.draw(st.lists(sentences(max_words=5), min_size=1, max_size=3))
    parsed = [dataclasses.replace(s, constituents=data.draw(constituents_of(len(s)))) for s in parsed]
    vocab = Vocab.build(s.form for s in parsed) if words else None
    options = {"root": root, "positions": positions, "vocab": vocab, "relations": RelationVocab()}
    options["segment"] = [k % 2 for k in range(len(parsed))]
    made = to_data(parsed, phrases=True, **options)
    spans = to_data(parsed, phrases="spans", **options)
    assert_same_data(made, PhraseNodes()(spans))
    assert PhraseNodes()(made) is not None
    plain = to_data(parsed, **options)
    assert set(spans.keys()) - set(plain.keys()) == {"phrase_index", "phrase_type"}


def test_what_phrase_nodes_have():
    sentence = Sentence.chain(["a", "b", "c"])
    sentence = dataclasses.replace(sentence, constituents=[("S", 0, 3), ("NP-SBJ", 1, 3), ("odd", 2, 3)])
    data = to_data([sentence, sentence], phrases=True, segment=[0, 1])
    phrases = PhraseVocab()
    assert [NodeType(kind).name for kind in data.node_type[8:].tolist()] == ["PHRASE"] * 6
    assert [phrases.label(k) for k in data.deprel[8:].tolist()] == ["S", "NP", "X"] * 2
    assert data.phrase_index.tolist() == [[1, 2, 3, 5, 6, 7], [3, 3, 3, 7, 7, 7]]
    assert data.phrase_node_index.tolist() == [*range(8, 14)] == data.governor_index[8:].tolist()
    assert data.position[8:].tolist() == [4, 5, 6, 7, 8, 9]
    assert data.segment[8:].tolist() == data.utterance[8:].tolist() == [0, 0, 0, 1, 1, 1]
    assert set(data.word[8:].tolist()) == set(data.depth[8:].tolist()) == {-1}
    bare = PhraseNodes("first", labels=False)(to_data([sentence], phrases="spans"))
    assert bare.deprel[4:].tolist() == [PhraseVocab.UNK] * 3
    assert bare.position[4:].tolist() == [1, 2, 3]


@settings(max_examples=40)
@given(phrase_examples(), st.integers(0, 5), st.sampled_from(["drop", "keep"]))
def test_controls_are_binary_trees(made, seed, labels):
    data, parsed = made
    for control in (RandomBrackets(seed, labels=labels), RightBrackets(labels=labels)):
        changed = control(data)
        slow = Slow(data, parsed)
        word_of = {nodes[0]: key for key, nodes in slow.words.items()}
        spans = [(word_of[a], word_of[b]) for a, b in zip(*changed.phrase_index.tolist())]
        kinds = changed.phrase_type.tolist()
        before = list(zip([slow.spans[k][0][0] for k in range(len(slow.spans))], data.phrase_type.tolist()))
        for u, sentence in enumerate(parsed):
            mine = [(a[1], b[1] + 1) for a, b in spans if a[0] == b[0] == u]
            whole = [("X", *span) for span in mine]
            checked = dataclasses.replace(sentence, constituents=whole)  # nested and in preorder
            inside, top = parts(checked.constituents, len(sentence))
            assert len(top) == 1
            assert all(len(one) == 2 for one in inside) or len(sentence) == 1
            assert len(mine) == max(1, len(sentence) - 1)
            if isinstance(control, RightBrackets):
                assert mine == ([(i, len(sentence)) for i in range(len(sentence) - 1)] or [(0, 1)])
            kept = [kind for k, kind in before if k == u] if labels == "keep" else []
            found = [kind for (a, _), kind in zip(spans, kinds) if a[0] == u]
            cycle = kept or [PhraseVocab.UNK]
            assert found == [cycle[k % len(cycle)] for k in range(len(found))]


def test_random_brackets_are_those_of_the_words_and_the_seed():
    words = Vocab.build([["a", "b", "c", "d", "e", "f"]])
    one = dataclasses.replace(Sentence.chain([*"abcdef"]), constituents=[])
    other = dataclasses.replace(one, constituents=[("S", 0, 6)], head=[2, 3, 4, 5, 6, 0])
    options = {"vocab": words, "root": False, "phrases": "spans"}
    first, second = to_data([one], **options), to_data([one, other], **options)
    spans = RandomBrackets(7)(first).phrase_index
    both = RandomBrackets(7)(second).phrase_index
    assert torch.equal(both[:, :5], spans)
    assert torch.equal(both[:, 5:] - 6, spans)
    seeds = {tuple(RandomBrackets(seed)(first).phrase_index.view(-1).tolist()) for seed in range(20)}
    assert len(seeds) > 10


def test_all_cuts_are_equally_likely():
    sentence = dataclasses.replace(Sentence.chain([*"abcd"]), constituents=[])
    data, datas = to_data([sentence], root=False, phrases="spans"), []
    for number in range(800):
        datas.append(data.clone())
        datas[-1].input_ids = torch.full((4,), number)
    batch = RandomBrackets()(Batch.from_data_list(datas))
    shapes = [str(one.phrase_index.tolist()) for one in batch.to_data_list()]
    # The middle cut makes one shape, each other one two of half its share.
    counts = sorted(shapes.count(shape) / 800 for shape in set(shapes))
    assert counts == pytest.approx([1 / 6, 1 / 6, 1 / 6, 1 / 6, 1 / 3], abs=0.04)


def test_the_presets(example):
    phrases = [("S", 0, 9), ("NP", 0, 2), ("VP", 2, 8)]
    example = dataclasses.replace(example, constituents=phrases)
    data = to_data([example], phrases="spans")
    seen = pairs(resolve("constituents")(data))
    words, nodes = {*range(10)}, [10, 11, 12]
    expected = {(a, b) for a in words for b in words} | {(n, n) for n in nodes}
    for node, (_, start, end) in zip(nodes, phrases):
        expected |= {(w, node) for w in range(start + 1, end + 1)} | {
            (node, w) for w in range(start + 1, end + 1)
        }
    assert seen == expected
    assert pairs(resolve("constituents")(to_data([example], phrases=True))) == expected
    parts_only = pairs(resolve("constituents", inside="parts", siblings=True)(data))
    assert {(11, 10), (10, 12), (11, 12), (1, 11), (8, 12), (9, 10)} <= parts_only
    assert (1, 10) not in parts_only
    assert resolve("constituents", labels=False)(data).deprel[10:].tolist() == [1, 1, 1]
    assert pairs(resolve("constituents", implicit=False, overview=("ROOT",))(data)) >= {(0, 10), (12, 0)}
    low = pairs(resolve("same-constituent", max_height=1)(data))
    assert {(1, 2), (3, 8), (0, 0), (9, 9), (9, 0)} <= low
    assert (2, 3) not in low
    high = pairs(resolve("same-constituent")(data))
    assert (2, 3) in high


def test_errors(example):
    with pytest.raises(ValueError, match="has no constituents, which 'phrases' are made of"):
        to_data([example], phrases=True)
    with pytest.raises(
        ValueError, match=r"'phrases' must be one of False, True, spans, tagged \(got 'nodes'\)"
    ):
        to_data([example], phrases="nodes")
    spans = to_data([dataclasses.replace(example, constituents=[])], phrases="spans")
    for edges in (ConstituentEdges(), PhraseWordEdges(), SiblingEdges()):
        with pytest.raises(ValueError, match=r"put PhraseNodes\(\) before these edges"):
            edges(spans)
    for other in (PhraseNodes(labels=False), PhraseNodes("zero"), resolve("constituents", labels=False)):
        with pytest.raises(ValueError, match="the data has phrase nodes already, which PhraseNodes"):
            other(PhraseNodes()(spans))
    with pytest.raises(ValueError, match="comes before phrase nodes: make the data with phrases='spans'"):
        RightBrackets()(PhraseNodes()(spans))
