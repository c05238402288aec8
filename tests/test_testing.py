from __future__ import annotations

import copy

import pytest
import torch

from graphdep import Sentence, to_data
from graphdep.testing import assert_batch_law, assert_same_data
from graphdep.transforms import SelfLoops

DATAS = [to_data([Sentence.chain(["x"] * size)]) for size in (1, 3)]


def test_a_good_transform():
    assert assert_batch_law(SelfLoops(), DATAS).num_graphs == 2


def test_edges_set_the_plain_way_are_caught():
    def plain(data):
        data = copy.copy(data)
        data.edge_index = torch.arange(data.num_nodes).repeat(2, 1)
        return data

    with pytest.raises(AssertionError):
        assert_batch_law(plain, DATAS)


def test_a_transform_that_writes_to_its_input_is_caught():
    def greedy(data):
        data.depth += 1
        return data

    with pytest.raises(AssertionError, match="depth"):
        assert_batch_law(greedy, DATAS)


def test_a_transform_that_sees_the_batch_is_caught():
    def batchwise(data):
        data = copy.copy(data)
        data.depth = data.depth + data.num_nodes
        return data

    with pytest.raises(AssertionError, match="depth"):
        assert_batch_law(batchwise, DATAS)


def test_types_count():
    left, right = to_data([Sentence.chain(["x"])]), to_data([Sentence.chain(["x"])])
    right.depth = right.depth.int()
    with pytest.raises(AssertionError, match="depth"):
        assert_same_data(left, right)
