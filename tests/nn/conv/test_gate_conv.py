from __future__ import annotations

import random

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.data import Batch, Data

from graphdep import RelationVocab, to_data
from graphdep.nn.attention import AttentionLayout
from graphdep.nn.conv import AttentionConv, GATEConv
from graphdep.transforms import DependencyEdges, SelfLoops, resolve
from tests.kit.trees import SlowTree, random_sentence

SIZE, HEADS = 8, 4


def make(max_distance=1, **kwargs) -> GATEConv:
    torch.manual_seed(0)
    return GATEConv(SIZE, 3, HEADS, max_distance=max_distance, **kwargs).double()


def dialogue(seed: int, *lengths: int) -> Data:
    rng = random.Random(seed)
    relations = RelationVocab(["strange"])
    return to_data([random_sentence(rng, length) for length in lengths], relations=relations)


def states(data: Data) -> Tensor:
    return torch.randn(data.num_nodes, SIZE, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def literal(conv: GATEConv, x: Tensor, data: Data, limits: list[int]) -> Tensor:
    """As the formula has it: mask, softmax, divide by the distance, normalise again."""
    slow = SlowTree(data)
    distance = torch.full((x.size(0), x.size(0)), torch.inf, dtype=torch.float64)
    for i in range(x.size(0)):
        for j in range(x.size(0)):
            if (path := slow.path(i, j)) is not None:
                distance[i, j] = max(sum(path), 1)
    heads = []
    for h, limit in enumerate(limits):
        part = slice(h * conv.out_channels, (h + 1) * conv.out_channels)
        query, key, value = (
            F.linear(x, lin.weight[part], lin.bias[part])
            for lin in (conv.lin_query, conv.lin_key, conv.lin_value)
        )
        score = (query @ key.T / conv.out_channels**0.5).masked_fill(distance > limit, -torch.inf)
        weight = score.softmax(dim=-1) / distance
        heads.append(weight / weight.sum(dim=-1, keepdim=True) @ value)
    return torch.cat(heads, dim=1)


@pytest.mark.parametrize("max_distance", [1, 2, 4, [1, 2, 3, 8]])
def test_equals_the_formula(max_distance) -> None:
    conv = make(max_distance)
    limits = [max_distance] * HEADS if isinstance(max_distance, int) else max_distance
    examples = [dialogue(1, 6, 2), dialogue(2, 1), dialogue(3, 9, 1, 3)]
    edges = resolve("gate", max_distance=max(limits))
    batch = edges(Batch.from_data_list(examples))
    x = states(batch)
    out = conv(x, batch.edge_index, batch.edge_type)
    start = 0
    for example in examples:
        part = slice(start, start + example.num_nodes)
        expected = literal(conv, x[part], example, limits)
        torch.testing.assert_close(out[part], expected, rtol=0, atol=1e-6)  # distances in single precision
        alone = edges(example)
        torch.testing.assert_close(conv(x[part], alone.edge_index, alone.edge_type), out[part])
        start = part.stop


def test_distance_1_is_plain_attention_over_arcs_and_loops() -> None:
    conv, plain = make(), AttentionConv(SIZE, 3, HEADS).double()
    plain.load_state_dict(conv.state_dict())
    data = dialogue(1, 6, 2)
    near, arcs = resolve("gate")(data), (DependencyEdges("both") | SelfLoops())(data)
    assert torch.equal(near.edge_index, arcs.edge_index)
    x = states(data)
    out = conv(x, near.edge_index, near.edge_type)
    torch.testing.assert_close(out, plain(x, arcs.edge_index), rtol=0, atol=1e-12)


def test_too_far_pairs_have_no_weight() -> None:
    conv = make([1, 2, 1, 2])
    kinds = [RelationVocab.SELF, RelationVocab()["nsubj"], RelationVocab.path(1, 1), RelationVocab.NONE]
    edge_index = torch.stack([torch.arange(4), torch.zeros(4, dtype=torch.long)])
    x = torch.randn(4, SIZE, dtype=torch.float64)
    _, (_, alpha) = conv(x, edge_index, torch.tensor(kinds), return_attention_weights=True)
    assert torch.equal(alpha > 0, torch.tensor([[1, 1, 1, 1], [1, 1, 1, 1], [0, 1, 0, 1], [0, 0, 0, 0]]) > 0)
    nothing, _ = conv(x, edge_index, torch.zeros(4, dtype=torch.long), return_attention_weights=True)
    assert nothing.isfinite().all()


def test_distances_of_relations() -> None:
    conv, relations = make(), RelationVocab(["strange", "odd"])
    ids = torch.arange(len(relations))
    bias = conv._bias(ids)[:, 0]
    expected = []
    for name in map(relations.label, ids.tolist()):
        a, b = map(int, name[5:-1].split(",")) if name.startswith("path") else (0, 1)
        expected.append(a + b <= 1 and name != "[NONE]")
    assert (bias == 0).tolist() == expected


def test_saved_weights_are_those_of_plain_attention() -> None:
    assert make().state_dict().keys() == AttentionConv(SIZE, 3, HEADS).state_dict().keys()


def test_half_precision() -> None:
    data = resolve("gate", max_distance=2)(dialogue(1, 6, 2))
    conv, x = make([1, 2, 1, 2]).float(), states(data).float()
    expected = conv(x, data.edge_index, data.edge_type)
    out = conv.bfloat16()(x.bfloat16(), data.edge_index, data.edge_type)
    torch.testing.assert_close(out.float(), expected, rtol=0, atol=0.05)


def test_errors() -> None:
    message = "'max_distance' must be at least 1, one number or 4, one a head \\(got {}\\)"
    for wrong, shown in (
        (0, "0"),
        ([1, 2], "\\[1, 2\\]"),
        ([1, 0, 1, 1], "\\[1, 0, 1, 1\\]"),
        ([], "\\[\\]"),
    ):
        with pytest.raises(ValueError, match=message.format(shown)):
            make(wrong)
    conv, data = make(), resolve("gate")(dialogue(1, 3))
    x = states(data)
    for missing in ((), (None,)):
        with pytest.raises(ValueError, match="'edge_type' must hold one relation id an edge .*got None"):
            conv(x, data.edge_index, *missing)
    with pytest.raises(ValueError, match="'edge_type' must hold one relation id an edge"):
        conv(x, data.edge_index, data.edge_type[:-1])
    with pytest.raises(ValueError, match="the pairs of a clique have no distance"):
        conv(x, AttentionLayout.of(resolve("g2g", implicit=True)(data)))
    with pytest.raises(ValueError, match=f"'edge_type' holds relation -{int(data.edge_type.max())}, but"):
        conv(x, data.edge_index, -data.edge_type)
