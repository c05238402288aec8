"""The first thing that a user of PyG writes: a preset, then ``conv(x, data.edge_index)``."""

from __future__ import annotations

import copy
import io
import pickle
import random
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data, InMemoryDataset
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GATConv, TransformerConv

from graphdep import RelationVocab, to_data
from graphdep.nn.attention import AttentionLayout, edge_attention
from graphdep.nn.conv import (
    AttentionConv,
    DAMConv,
    DRAConv,
    GATEConv,
    GatedRelationConv,
    LISAConv,
    SIAConv,
)
from graphdep.transforms import PRESETS, CompleteEdges, TreePathTypes, resolve
from tests.kit.trees import attended, random_sentence

Call = Callable[[nn.Module, Tensor, Data], Tensor]
RELATIONS = len(RelationVocab())
CONVS: dict[str, Callable[[], nn.Module]] = {
    "transformer": lambda: AttentionConv(8, 4, heads=2),
    "transformer-utterance": lambda: AttentionConv(8, 4, heads=2),
    "tree": lambda: AttentionConv(8, 4, heads=2),
    "dra": lambda: DRAConv(8, 4, heads=2),
    "sia": lambda: SIAConv(8, 4, heads=2),
    "sia-intra": lambda: SIAConv(8, 4, heads=2),
    "sia-inter": lambda: SIAConv(8, 4, heads=2),
    "dam": lambda: DAMConv(8, 4, heads=2),
    "dt": lambda: GatedRelationConv(8, 4, heads=2, num_relations=RELATIONS),
    "dt-related": lambda: GatedRelationConv(8, 4, heads=2, num_relations=RELATIONS),
    "own-arcs": lambda: GatedRelationConv(8, 4, heads=2, num_relations=RELATIONS),
    "g2g": lambda: GatedRelationConv(8, 4, heads=2, num_relations=RELATIONS),
    "relative": lambda: GatedRelationConv(8, 4, heads=2, num_relations=RELATIONS),
    "lisa": lambda: AttentionConv(8, 4, heads=1),
    "lisa-complete": lambda: LISAConv(8, 4, heads=2),
    "gate": lambda: GATEConv(8, 4, heads=2),
}
each_preset = pytest.mark.parametrize("name", PRESETS)


def make(name: str) -> nn.Module:
    torch.manual_seed(0)
    conv = CONVS[name]().double()
    for parameter in conv.parameters():  # no parameter at zero, or a path through it would not show
        nn.init.normal_(parameter, std=0.5)
    return conv


def examples() -> list[Data]:
    rng = random.Random(0)
    return [to_data([random_sentence(rng, words) for words in sizes]) for sizes in ((5, 3), (1, 4))]


def states(data: Data) -> Tensor:
    return torch.randn(data.num_nodes, 8, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def snippet(conv: nn.Module, x: Tensor, data: Data) -> Tensor:
    """What the documentation of the convs shows."""
    columns = [data[key] for key in ("edge_type", "edge_mark") if key in data]
    return conv(x, data.edge_index, *columns)


def literal(conv: nn.Module, x: Tensor, data: Data) -> Tensor:
    """Node by node and head by head, over the pairs of the slow reading of the data."""
    query, key, value = (
        lin(x).view(-1, conv.heads, conv.out_channels)
        for lin in (conv.lin_query, conv.lin_key, conv.lin_value)
    )
    pairs = attended(data)
    marked = set()
    if "edge_mark" in data:
        marked = {pair for pair, mark in zip(pairs, data.edge_mark.tolist()) if mark}
    out = torch.zeros_like(value)
    for target in range(data.num_nodes):
        for head in range(conv.heads):
            read = [pair for pair in pairs if pair[1] == target]
            if marked and head >= conv.heads - conv.syntactic_heads:
                read = [pair for pair in read if pair in marked]
            if not read:
                continue
            score = [query[target, head] @ key[source, head] / conv.out_channels**0.5 for source, _ in read]
            if isinstance(conv, GatedRelationConv):
                score = [_gated(conv, head, x[target], s, pairs[pair]) for s, pair in zip(score, read)]
            weight = torch.stack(score).softmax(0)  # GATE at distance 1 is plain attention
            out[target, head] = sum(w * value[source, head] for w, (source, _) in zip(weight, read))
    return out.flatten(1)


def _gated(conv: GatedRelationConv, head: int, x: Tensor, score: Tensor, relation: int) -> Tensor:
    if relation == RelationVocab.NONE:
        return score
    part, r = conv.score, conv.score.relation.weight[relation]
    gate = ((x @ part.gate_node[head] + r @ part.gate_relation[head]) @ part.gate_out[head]).sigmoid()
    return (1 - gate) * score + gate * (r @ part.lin_score[:, head])


@each_preset
def test_one_example(name: str) -> None:
    conv = make(name)
    for example in examples():
        data = resolve(name)(example)
        x = states(data)
        expected = literal(conv, x, data)
        torch.testing.assert_close(snippet(conv, x, data), expected)
        torch.testing.assert_close(conv(x, AttentionLayout.of(data)), expected)
        implicit = resolve(name, implicit=True)(example)
        torch.testing.assert_close(conv(x, AttentionLayout.of(implicit)), expected)


@each_preset
def test_a_batch_is_each_alone(name: str) -> None:
    for batch_first in (True, False) if name in ("dt", "dam", "lisa-complete") else (True,):
        check_batch(name, batch_first)


def check_batch(name: str, batch_first: bool) -> None:
    conv = make(name)
    alone = [resolve(name)(example) for example in examples()]
    batch = resolve(name)(Batch.from_data_list(examples())) if batch_first else Batch.from_data_list(alone)
    parts = [states(data) for data in alone]
    expected = torch.cat([snippet(conv, x, data) for x, data in zip(parts, alone)])
    x = torch.cat(parts)
    torch.testing.assert_close(snippet(conv, x, batch), expected)
    torch.testing.assert_close(conv(x, AttentionLayout.of(batch)), expected)
    implicit = resolve(name, implicit=True)
    batch = Batch.from_data_list([implicit(example) for example in examples()])
    if batch_first:
        batch = implicit(Batch.from_data_list(examples()))
    torch.testing.assert_close(conv(x, AttentionLayout.of(batch)), expected)


def test_implicit_edges_are_refused() -> None:
    name = "dt"
    data = resolve(name, implicit=True)(examples()[0])
    for conv in (CONVS[name](), *(CONVS[other]() for other in ("transformer", "sia", "dra"))):
        with pytest.raises(ValueError, match="'edge_index' is None: .*Pass AttentionLayout.of\\(data\\)"):
            conv(states(data).float(), data.edge_index)
    with pytest.raises(ValueError, match="'edge_index' is None"):
        SIAConv(8, 4, mask="multiplicative")(states(data).float(), data.edge_index)
    with pytest.raises(ValueError, match="integer tensors"):
        GATConv(8, 4)(states(data).float(), data.edge_index)


class Stored(InMemoryDataset):
    """Examples that went through the one big tensor of a dataset."""

    def __init__(self, data_list: list[Data]) -> None:
        super().__init__()
        self.data, self.slices = self.collate(data_list)


def _saved(data: Data) -> Data:
    file = io.BytesIO()
    torch.save(data, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


def _workers(data: Data) -> Data:
    return next(iter(DataLoader([data], batch_size=1, num_workers=1))).to_data_list()[0]


TRIPS: dict[str, Callable[[Data], Data]] = {
    "clone": lambda data: data.clone(),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda data: pickle.loads(pickle.dumps(data)),
    "save": _saved,
    "to": lambda data: data.to("cpu").contiguous(),
    "device": lambda data: data.to("meta"),
    "dict": lambda data: Data.from_dict(data.to_dict()),
    "batch": lambda data: Batch.from_data_list([data, data])[1],
    "dataset": lambda data: Stored([data, data])[1],
    "workers": _workers,
}


@pytest.mark.filterwarnings("ignore:It is not recommended to directly access the internal storage")
@pytest.mark.parametrize("trip", TRIPS)
def test_implicit_edges_stay_what_they_are(trip: str) -> None:
    for name in ("dt", "lisa-complete") if trip != "workers" else ("lisa-complete",):
        check_trip(name, trip)


def check_trip(name: str, trip: str) -> None:
    data = resolve(name, implicit=True)(examples()[0])
    back = TRIPS[trip](data)
    assert back.edge_index is None
    assert {"clique", "edge_index_explicit"} <= set(back.keys())
    if trip != "device":
        expected, got = AttentionLayout.of(data), AttentionLayout.of(back)
        assert torch.equal(got.pairs, expected.pairs)
        for column in ("edge_type", "edge_mark"):
            left, right = getattr(got, column), getattr(expected, column)
            assert left is right is None or torch.equal(left, right)


def test_what_pyg_reads_of_complete_edges() -> None:
    for data in (resolve(name)(examples()[0]) for name in ("transformer", "dt", "g2g", "lisa-complete")):
        assert data.num_edges == attended(data).__len__() > data.num_nodes
        assert not data.has_isolated_nodes()
        assert data.has_self_loops()
        assert data.validate()
    batch = resolve("transformer")(Batch.from_data_list(examples()))
    own = AttentionConv(8, 4, heads=2).double()
    peer = TransformerConv(8, 4, heads=2, root_weight=False).double()
    peer.load_state_dict(own.state_dict(), strict=False)
    x = states(batch)
    torch.testing.assert_close(peer(x, batch.edge_index), own(x, batch.edge_index))
    gat, out = GATConv(8, 4, heads=2).double(), []
    for data, part in zip(batch.to_data_list(), x.split(batch.ptr.diff().tolist())):
        every = torch.ones(data.num_nodes, data.num_nodes).nonzero().t()
        out.append(gat(part, every))
    torch.testing.assert_close(gat(x, batch.edge_index), torch.cat(out))


def test_attention_over_both_forms_in_one_call() -> None:
    data = TreePathTypes(2)(CompleteEdges("utterance", implicit=True)(examples()[0]))
    query = torch.randn(data.num_nodes, 2, 4)
    layout = AttentionLayout.of(data)
    out = edge_attention(query, query, query, layout.edge_index, clique=data.clique)
    torch.testing.assert_close(out, edge_attention(query, query, query, layout.pairs))
