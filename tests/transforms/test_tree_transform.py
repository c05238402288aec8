from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphdep import NodeType, RelationVocab, Sentence, to_data
from graphdep.data import EncodedUtterance, selection_data
from graphdep.testing import assert_batch_law, assert_same_data
from graphdep.transforms import ChainTree, NoisyTree, RandomTree, RelationNodes, ReversedTree, SelfLoops
from tests.kit.strategies import example_lists, examples, sentences
from tests.kit.trees import SlowTree

KEEP = [ChainTree(labels="keep"), RandomTree(0, labels="keep"), RandomTree(7, labels="keep")]
NOISY = [NoisyTree(0.5), NoisyTree(1.0, seed=7)]
transforms = st.sampled_from([ChainTree(), ReversedTree(), RandomTree(0), RandomTree(7), *KEEP, *NOISY])


def parse_of(data, utterance, relations):
    """Reads a sentence back from the node table."""
    slow = SlowTree(data)
    words = [i for i in sorted(slow.tree) if slow.utterance[i] == utterance and data.word[i] >= 0]
    place = {node: k for k, node in enumerate(words, start=1)}
    head = [place.get(int(data.governor_index[i]), 0) if data.governor_index[i] != i else 0 for i in words]
    deprel = [relations.label(int(data.deprel[i])) for i in words]
    return Sentence(["x"] * len(words), head, deprel, multiroot=True)


@given(st.lists(sentences(multiroot=True), min_size=1, max_size=3), st.booleans(), transforms)
def test_the_node_table_is_that_of_a_sentence_with_the_new_tree(parsed, root, transform):
    relations = RelationVocab()
    got = transform(to_data(parsed, root=root))
    again = to_data([parse_of(got, u, relations) for u in range(len(parsed))], root=root)
    assert_same_data(got, again)


@given(examples(), transforms)
def test_pieces_and_other_nodes(data, transform):
    got, old = transform(data), SlowTree(data)
    new = SlowTree(got)
    assert new.first == old.first
    assert set(new.tree) == set(old.tree)
    for node in range(old.size):
        first = old.first[node]
        for key in ("governor_index", "deprel", "depth"):
            assert got[key][node] == got[key][first]
        if first not in old.tree or data.word[node] < 0:
            assert got.governor_index[node] == data.governor_index[node]
            assert got.deprel[node] == data.deprel[node]
            assert got.depth[node] == data.depth[node]
        else:
            path = new.upwards(first)
            assert got.depth[node] == len(path) - (new.kind[path[-1]] == NodeType.ROOT)
    arcs = [(int(got.governor_index[i]), i, int(got.deprel[i])) for i in sorted(new.tree)]
    arcs = [arc for arc in arcs if arc[0] != arc[1]]
    assert list(zip(*got.arc_index.tolist(), got.arc_type.tolist())) == arcs


@given(example_lists(), transforms)
def test_law_without_arcs(datas, transform):
    for data in datas:
        del data["arc_index"], data["arc_type"]
    batch = assert_batch_law(transform, datas)
    assert "arc_index" not in batch


@given(sentences(multiroot=True), st.sampled_from([ChainTree(), RandomTree(0), RandomTree(7)]))
def test_no_label_of_the_parse_is_left(sentence, transform):
    relations = RelationVocab()
    new = transform(to_data([sentence]))
    words = new.word >= 0
    expected = torch.where(new.depth == 1, relations["root"], relations["dep"])
    assert torch.equal(new.deprel[words], expected[words])


@given(sentences(multiroot=True), st.sampled_from(KEEP))
def test_relations_stay_but_for_the_roots(sentence, transform):
    old = to_data([sentence])
    new = transform(old)
    was_root, is_root = sentence.head.index(0) + 1, int((new.depth == 1).nonzero()[0])
    expected = old.deprel.clone()
    if sentence.head[is_root - 1] != 0:
        expected[[was_root, is_root]] = old.deprel[[is_root, was_root]]
    assert torch.equal(new.deprel, expected)
    assert int((new.depth == 1).sum()) == 1


class _Pieces:
    """Words of one to three pieces."""

    cls_id, sep_id, eou_id, fingerprint = 2, 3, 4, "pieces"

    def encode(self, words):
        return [[5 + ord(word)] * (1 + ord(word) % 3) for word in words]


def _dialogue(trees):
    relations = RelationVocab()
    *context, response = [EncodedUtterance.of(tree, _Pieces(), relations) for tree in trees]
    return selection_data(context, response, _Pieces())


@given(st.lists(st.none() | sentences(multiroot=True), min_size=1, max_size=4), transforms)
def test_a_context_and_its_response_in_pieces(parsed, transform):
    """The new trees are those that the words have without pieces and special nodes, in pieces."""
    relations = RelationVocab()
    trees = []
    for sentence in parsed:
        if sentence is not None:
            data = to_data([sentence], root=False)
            data.input_ids = torch.tensor([5 + ord(word) for word in sentence.form])
            new = parse_of(transform(data), 0, relations)
            sentence = Sentence(sentence.form, new.head, new.deprel, multiroot=True)
        trees.append(sentence)
    assert_same_data(transform(_dialogue(parsed)), _dialogue(trees))


def test_edges_would_go_stale(example):
    for first in (SelfLoops(), RelationNodes()):
        with pytest.raises(ValueError, match="ChainTree would leave .* stale: put it before"):
            ChainTree()(first(to_data([example])))


def test_cycle(monkeypatch):
    monkeypatch.setattr("graphdep.transforms.nodes.check_table", lambda data: None)  # as on a GPU
    data = to_data([Sentence.chain(["x", "y"])], root=False)
    data.governor_index = torch.tensor([1, 0])
    with pytest.raises(ValueError, match="'governor_index' has a cycle"):
        ReversedTree()(data)
