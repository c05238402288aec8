from __future__ import annotations

import networkx as nx
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphdep import NodeType, RelationVocab, Sentence, to_data
from graphdep.data import mark_words
from graphdep.testing import assert_batch_law, assert_same_data
from graphdep.transforms import RerootedTree, TreeDistanceEdges, TreePathTypes
from graphdep.transforms.fingerprint import identity
from tests.kit.strategies import marked_examples, marked_lists
from tests.kit.trees import SlowTree

labels = st.sampled_from(["keep", "inverse"])


@given(marked_examples(empty=False), labels)
def test_against_networkx(data, labels):
    slow, got = SlowTree(data), RerootedTree(labels=labels)(data)
    words = [node for node in slow.tree.nodes if slow.kind[node] == NodeType.WORD]
    marked = [node for node in words if int(data.mark[node]) & 1]
    if not marked:
        assert got.governor_index.tolist() == data.governor_index.tolist()
        return
    top = min(marked, key=lambda node: (slow.depth[node], node))
    graph = slow.tree.to_undirected().subgraph(words)
    above = dict(nx.bfs_predecessors(graph, top))
    old_root = next(word for word in slow.upwards(top)[::-1] if word in words)
    for word in words:
        old, new = data.governor_index[word], got.governor_index[word]
        deprel, was = int(got.deprel[word]), int(data.deprel[word])
        if word == top:
            assert deprel == int(data.deprel[old_root])
        elif word not in above:  # hangs from a root of its own
            assert (bool(old in (new, word)), deprel) == (True, was)
        else:
            assert new == above[word]
            if slow.first[int(old)] == above[word]:
                assert deprel == was
            else:  # turned: the arc was that of the word which is above now
                kept = data.deprel[above[word]]
                assert deprel == int(kept if labels == "keep" else RelationVocab.inverse(kept))
    alone = slow.first[int(data.governor_index[old_root])] == old_root
    own = got.governor_index[top] if not alone else torch.tensor(top)
    assert own == (data.governor_index[old_root] if not alone else top)


@given(marked_lists(), labels)
def test_law(datas, labels):
    assert_batch_law(RerootedTree(labels=labels), datas)


@given(marked_examples(root=False, multiroot=False, empty=False))
def test_inverse_labels_keep_the_types_of_arcs(data):
    types = TreePathTypes(1)
    before, after = (types(TreeDistanceEdges(1)(one)) for one in (data, RerootedTree(labels="inverse")(data)))
    assert torch.equal(before.edge_index, after.edge_index)
    assert torch.equal(before.edge_type, after.edge_type)


@given(marked_examples())
def test_twice_is_once(data):
    once = RerootedTree()(data)
    assert_same_data(RerootedTree()(once), once)


def test_depth_is_distance_from_the_span():
    tree = Sentence(["food", "that", "I", "liked"], [0, 4, 4, 1], ["root", "obj", "nsubj", "acl"])
    data = RerootedTree()(mark_words(to_data([tree]), [0, 0, 1, 0]))
    assert data.governor_index.tolist() == [0, 4, 4, 0, 3]
    assert data.depth.tolist() == [0, 3, 3, 1, 2]
    relations = RelationVocab()
    assert [relations.label(one) for one in data.deprel.tolist()] == ["[SELF]", "acl", "obj", "root", "nsubj"]
    assert data.arc_index.tolist() == [[4, 4, 0, 3], [1, 2, 3, 4]]


def test_identity_and_errors():
    assert len({identity(RerootedTree(labels=one)).rpartition(" ")[2] for one in ("keep", "inverse")}) == 2
    with pytest.raises(ValueError, match="'labels' must be one of keep, inverse"):
        RerootedTree(labels="dep")
    with pytest.raises(ValueError, match="the data has no 'mark'"):
        RerootedTree()(to_data([Sentence.chain(["a"])]))
