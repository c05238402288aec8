from __future__ import annotations

import torch

from graphdep.testing.random_graphs import random_graph


def test_edges_stay_in_their_example():
    graph = random_graph([3, 0, 5], degree=2.0)
    assert graph["ptr"].tolist() == [0, 3, 3, 8]
    assert graph["clique"] is None
    example = torch.bucketize(graph["edge_index"], graph["ptr"], right=True)
    assert torch.equal(example[0], example[1])


def test_edges_are_sorted_unless_shuffled():
    graph, other = (random_graph([6, 4], shuffled=shuffled) for shuffled in (False, True))
    key = graph["edge_index"][1] * 10 + graph["edge_index"][0]
    assert bool((key.diff() > 0).all())
    assert not torch.equal(graph["edge_index"], other["edge_index"])
    assert sorted(graph["edge_index"].t().tolist()) == sorted(other["edge_index"].t().tolist())


def test_a_hub_reads_all_and_one_is_read_by_all():
    source, target = random_graph([5], degree=0.0, hub=True)["edge_index"]
    assert sorted(source[target == 0].tolist()) == [0, 1, 2, 3, 4]
    assert sorted(target[source == 2].tolist()) == [0, 1, 2, 3, 4]


def test_some_nodes_are_in_no_clique():
    assert random_graph([8], clique=True)["clique"].tolist() == [-1, 0, 0, 0, 0, 0, 0, -1]
