from __future__ import annotations

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data

from graphdep import NodeType, Sentence, to_data
from graphdep.data import mark_words
from graphdep.nn.models import SpanReadout
from graphdep.transforms import ChainTree, RandomTree, resolve
from tests.kit.strategies import marked_examples, marked_lists
from tests.kit.trees import SlowTree

modes, pieces = st.sampled_from(["mean", "top"]), st.sampled_from(["all", "first"])


def slow_top(slow: SlowTree, span: int) -> int | None:
    marks = slow.data.mark.tolist()
    words = [n for n in slow.tree.nodes if marks[n] & span and slow.kind[n] == NodeType.WORD]
    return min(words, key=lambda n: (slow.depth[n], n), default=None)


def slow_path(slow: SlowTree) -> set[int]:
    first, second = slow_top(slow, 1), slow_top(slow, 2)
    if first is None or second is None:
        return set()
    graph = slow.tree.to_undirected()
    if nx.has_path(graph, first, second):
        nodes = set(nx.shortest_path(graph, first, second))
    else:  # roots of their own
        nodes = {*slow.upwards(first), *slow.upwards(second)}
    return {node for node in nodes if slow.kind[node] == NodeType.WORD}


def slow_readout(data: Data, x: torch.Tensor, mode: str, path: bool, pieces: str) -> torch.Tensor:
    slow, marks = SlowTree(data), data.mark.tolist()
    parts = []
    for span in (1, 2):
        if mode == "mean":
            parts.append({n for n in range(slow.size) if marks[n] & span})
        else:
            parts.append({n for n in range(slow.size) if slow.first[n] == slow_top(slow, span)})
    if path:
        words = slow_path(slow)
        parts.append({n for n in range(slow.size) if slow.first[n] in words})
    if pieces == "first":
        parts = [{n for n in part if slow.first[n] == n} for part in parts]
    rows = [x[sorted(part)].mean(0) if part else x.new_zeros(x.size(1)) for part in parts]
    return torch.cat(rows)


@given(marked_examples(), modes, st.booleans(), pieces)
def test_against_networkx(data, mode, path, pieces):
    x = torch.randn(data.num_nodes, 3, generator=torch.Generator().manual_seed(0)).double()
    got = SpanReadout(mode=mode, path=path, pieces=pieces)(data, x)
    torch.testing.assert_close(got, slow_readout(data, x, mode, path, pieces)[None])


@settings(max_examples=15)
@given(marked_lists(), modes, st.booleans(), pieces)
def test_a_batch_is_its_examples(datas, mode, path, pieces):
    readout = SpanReadout(mode=mode, path=path, pieces=pieces)
    states = [torch.randn(data.num_nodes, 2).double() for data in datas]
    together = readout(Batch.from_data_list(datas), torch.cat(states))
    torch.testing.assert_close(together, torch.cat([readout(data, x) for data, x in zip(datas, states)]))
    assert together.shape == (len(datas), 2 * readout.num_parts)


TREE = Sentence(["the", "dog", "of", "Ann", "bites", "me"], [2, 5, 4, 2, 0, 5], ["dep"] * 4 + ["root", "dep"])


def test_the_tree_is_that_of_the_moment():
    data, x = mark_words(to_data([TREE]), [1, 0, 0, 0, 0, 2]), torch.arange(7.0)[:, None]
    readout = SpanReadout(path=True)
    assert readout(data, x).tolist() == [[1, 6, (1 + 2 + 5 + 6) / 4]]
    assert readout(ChainTree()(data), x).tolist() == [[1, 6, 3.5]]
    assert len({float(readout(RandomTree(seed)(data), x)[0, 2]) for seed in range(5)}) > 2
    # New nodes are none of the spans.
    dam = resolve("dam")(data)
    assert (
        readout(dam, torch.cat([x, torch.full((dam.num_nodes - 7, 1), 99.0)])).tolist()
        == readout(data, x).tolist()
    )


def test_one_span_and_gradients():
    data = mark_words(to_data([TREE]), [1, 1, 0, 0, 0, 0])
    x = torch.ones(7, 2, requires_grad=True)
    readout = SpanReadout(1, mode="top")
    assert readout.num_parts == 1
    readout(data, x).sum().backward()
    assert x.grad.sum(1).tolist() == [0, 0, 2, 0, 0, 0, 0]  # "dog" is above "the"


def test_errors():
    data, x = to_data([TREE]), torch.ones(7, 2)
    with pytest.raises(ValueError, match="the data has no 'mark'"):
        SpanReadout()(data, x)
    with pytest.raises(ValueError, match=r"'mark' must be at most 1 \(got 2\): more spans"):
        SpanReadout(1)(mark_words(data, [1, 2, 0, 0, 0, 0]), x)
    with pytest.raises(ValueError, match="'path' leads from one span to another"):
        SpanReadout(1, path=True)
    with pytest.raises(ValueError, match=r"'num_spans' must be one of 1, 2 \(got 3\)"):
        SpanReadout(3)
    with pytest.raises(ValueError, match="'num_spans' must be one of 1, 2"):
        SpanReadout(0)
    with pytest.raises(ValueError, match="'mode' must be one of mean, top"):
        SpanReadout(mode="max")
    assert repr(SpanReadout()) == "SpanReadout(2, mode='mean', path=False, pieces='all')"
