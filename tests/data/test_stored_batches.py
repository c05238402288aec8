from __future__ import annotations

import copy
import pickle

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader as GraphLoader

from graphdep import Vocab, to_data
from graphdep.data import StoredBatches, mark_words, stored_batches
from graphdep.datasets.labels.probe_corpus import ProbeSizes, probe_sentences
from graphdep.testing import assert_same_batch
from graphdep.transforms import DependencyEdges, RelationNodes
from graphdep.transforms.edge_set import Compose
from tests.kit.stored import Stored

VOCAB = Vocab([f"w{word}" for word in range(60)])


def examples(count: int, seed: int = 0, *, tells_nodes: bool = False) -> list[Data]:
    found = []
    for number, (tree, place) in zip(range(count), probe_sentences(ProbeSizes(1, 9, 20), str(seed))):
        data = mark_words(to_data([tree], vocab=VOCAB), [word == place for word in range(len(tree))])
        data.y, data.target_ids = torch.tensor([number / 7]), torch.arange(number % 3)
        if tells_nodes:
            data.num_nodes = int(data.node_type.numel())
        found.append(data)
    return found


def assert_same(mine: Batch, other: Batch) -> None:
    assert (type(mine), str(mine), mine.num_graphs) == (type(other), str(other), other.num_graphs)
    assert set(mine.keys()) == set(other.keys())
    for key in other.keys():  # noqa: SIM118
        if isinstance(other[key], torch.Tensor):
            assert mine[key].dtype == other[key].dtype, key
            assert torch.equal(mine[key], other[key]), key
        else:
            assert mine[key] == other[key], key
    for name in ("_slice_dict", "_inc_dict"):
        left, right = getattr(mine, name), getattr(other, name)
        assert left.keys() == right.keys()
        assert all(torch.equal(left[key], right[key]) for key in right), name
    for left, right in zip(mine.to_data_list(), other.to_data_list()):
        assert str(left) == str(right)
        tensors = (key for key in right.keys() if isinstance(right[key], torch.Tensor))  # noqa: SIM118
        assert all(torch.equal(left[key], right[key]) for key in tensors)


@settings(max_examples=12)
@given(
    st.integers(2, 8),
    st.integers(0, 20),
    st.booleans(),
    st.lists(st.integers(0, 1000), min_size=1, max_size=9),
    st.booleans(),
)
def test_batches_are_those_of_pyg(count, seed, tells_nodes, drawn, part):
    dataset = Stored(examples(count, seed, tells_nodes=tells_nodes))
    dataset = dataset[list(range(count - 1, 0, -1))] if part else dataset
    numbers = [number % len(dataset) for number in drawn]
    follow = ["target_ids", "y"]
    cut = StoredBatches(dataset, follow)
    assert_same(cut(numbers), Batch.from_data_list([dataset[n] for n in numbers], follow))
    assert_same(pickle.loads(pickle.dumps(cut))(numbers), cut(numbers))


@pytest.mark.parametrize("workers", [0, 1])
def test_in_a_loader(workers):
    dataset = Stored(examples(10))
    cut = torch.utils.data.DataLoader(
        range(10), batch_size=4, collate_fn=StoredBatches(dataset), num_workers=workers
    )
    for mine, other in zip(cut, GraphLoader(dataset, batch_size=4), strict=True):
        assert_same(mine, other)


@pytest.mark.parametrize("tells_nodes", [False, True])
@pytest.mark.parametrize("part", [False, True])
def test_added_nodes_and_edges_are_made_once(part, tells_nodes, monkeypatch):
    """That every transform may be made so is a law: tests/transforms/test_laws.py."""
    monkeypatch.setattr(stored_batches, "_TRIAL_CHUNK", 3)
    monkeypatch.setattr(stored_batches, "_CHUNK", 3)
    dataset = Stored(examples(8, tells_nodes=tells_nodes))
    dataset = dataset[[5, 0, 7, 2]] if part else dataset
    follow, calls = ["target_ids", "governor_index"], []
    edges = Compose([RelationNodes(), DependencyEdges()])
    plain = StoredBatches(dataset, follow)
    cut = plain.transformed(lambda batch: calls.append(batch.num_graphs) or edges(batch))
    assert calls == ([3, 1] if part else [3, 3, 2])
    assert (plain.is_transformed, cut.is_transformed) == (False, True)
    for numbers in ([1], [3, 0, 3], [2, 1, 0]):
        mine, other = cut(numbers), edges(Batch.from_data_list([dataset[n] for n in numbers], follow))
        assert (mine._is_transformed, mine.num_nodes) == (True, other.num_nodes)
        assert_same_batch(mine, other)
        assert_same_batch(pickle.loads(pickle.dumps(mine)), other)
    assert len(calls) == (2 if part else 3)


def test_what_takes_too_much_memory_is_not_stored(monkeypatch):
    monkeypatch.setattr(stored_batches, "_TRIAL_CHUNK", 3)
    monkeypatch.setattr(stored_batches, "_CHUNK", 3)
    plain, calls = StoredBatches(Stored(examples(9))), []

    def edges(batch):
        calls.append(batch)
        return DependencyEdges()(batch)

    whole = sum(column.nbytes for column in plain.transformed(edges).columns.values())
    assert plain.transformed(edges, 2 * whole) is not None
    calls.clear()
    assert plain.transformed(edges, whole // 2) is None
    assert len(calls) == 1  # the first examples tell


def test_a_batch_is_no_view_of_the_storage():
    dataset = Stored(examples(3))
    before = copy.deepcopy(dataset._data.input_ids)
    StoredBatches(dataset)([0, 1, 2]).input_ids.zero_()
    assert torch.equal(dataset._data.input_ids, before)


class Own(Stored):
    def get(self, idx):
        return super().get(idx)


class OwnData(Data):
    def __inc__(self, key, value, *args):
        return 0


def test_what_cannot_be_cut():
    plain = examples(3)
    assert StoredBatches.serves(Stored(plain))
    named = [copy.copy(data) for data in plain]
    for data in named:
        data.name = "x"
    counted = [copy.copy(data) for data in plain]
    for data in counted:
        data.word_batch = data.word
    other = [OwnData(**data.to_dict()) for data in plain]
    single = Stored(plain[:1])
    for dataset in (plain, Stored(plain, lambda data: data), Own(plain), Stored(named), Stored(counted)):
        assert not StoredBatches.serves(dataset)
    for dataset in (Stored(other), single):
        assert not StoredBatches.serves(dataset)
        with pytest.raises(ValueError, match="'dataset' must be in memory, without a transform"):
            StoredBatches(dataset)


def test_a_number_that_is_none():
    with pytest.raises(IndexError):
        StoredBatches(Stored(examples(3)))([3])
