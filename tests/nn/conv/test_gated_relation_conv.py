from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from graphdep import RelationVocab
from graphdep.nn.attention import AttentionLayout
from graphdep.nn.conv import AttentionConv, GatedRelationConv

VARIANTS = [("sigmoid", "query"), ("sigmoid", "key"), ("tanh", "query"), ("tanh", "key"), (None, "query")]
SIZE, HEADS, RELATIONS, NODES = 8, 2, 9, 6


def make(gate: str | None = "sigmoid", gate_state: str = "query", **kwargs) -> GatedRelationConv:
    torch.manual_seed(0)
    options = {"num_relations": RELATIONS, "relation_dim": 5, "gate": gate, "gate_state": gate_state}
    conv = GatedRelationConv(SIZE, 4, HEADS, **options, **kwargs).double()
    nn.init.normal_(conv.score.lin_score)
    return conv


def sentence() -> tuple[Tensor, Tensor]:
    """Node states, and the relation matrix: i's relation to j, SELF on the diagonal, NONE for half."""
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(NODES, SIZE, generator=generator, dtype=torch.float64)
    types = torch.randint(2, RELATIONS, (NODES, NODES), generator=generator)
    types[torch.rand(NODES, NODES, generator=generator) < 0.5] = RelationVocab.NONE
    return x, types.fill_diagonal_(RelationVocab.SELF)


def literal(conv: GatedRelationConv, x: Tensor, types: Tensor) -> Tensor:
    """Eq. 1-3 as printed: a relation vector for every pair, ``[n, n, d_r]``, one head after the other."""
    score, r = conv.score, conv.score.relation.weight[types]
    heads = []
    for h in range(conv.heads):
        part = slice(h * conv.out_channels, (h + 1) * conv.out_channels)
        query, key, value = (
            F.linear(x, lin.weight[part], lin.bias[part])
            for lin in (conv.lin_query, conv.lin_key, conv.lin_value)
        )
        s_e = query @ key.T / conv.out_channels**0.5
        s_r = (r @ score.lin_score[:, h, None]).squeeze(-1)
        if score.gate is None:
            s = s_e + s_r
        else:
            node = x @ score.gate_node[h]
            node = node[:, None] if score.gate_state == "query" else node[None]
            g = ((node + r @ score.gate_relation[h]) @ score.gate_out[h, :, None]).squeeze(-1)
            g = g.sigmoid() if score.gate == "sigmoid" else g.tanh()
            s = (1 - g) * s_e + g * s_r
        s = torch.where(types == RelationVocab.NONE, s_e, s)  # no relation: gate 0
        heads.append(s.softmax(dim=-1) @ value)
    return torch.cat(heads, dim=1)


def edges(types: Tensor, explicit: bool) -> dict[str, Any]:
    """All pairs as edges; or the typed ones as edges and the sentence as a clique."""
    target, source = (torch.ones_like(types) if explicit else types).nonzero().t()
    graph = {"edge_index": torch.stack([source, target]), "edge_type": types[target, source]}
    clique = None if explicit else torch.zeros(NODES, dtype=torch.long)
    return graph | {"edge_index": AttentionLayout(graph["edge_index"], NODES, clique=clique)}


@pytest.mark.parametrize(("gate", "gate_state"), VARIANTS)
@pytest.mark.parametrize("explicit", [True, False], ids=["edges", "clique"])
@pytest.mark.parametrize(
    "backend", ["reference", "segment", pytest.param("scatter", marks=pytest.mark.scatter), "dense"]
)
def test_equals_the_formula(gate: str | None, gate_state: str, explicit: bool, backend: str) -> None:
    conv = make(gate, gate_state, backend=backend)
    x, types = sentence()
    x.requires_grad_()
    out, expected = conv(x, **edges(types, explicit)), literal(conv, x, types)
    torch.testing.assert_close(out, expected, rtol=0, atol=1e-12)
    leaves = {"x": x, **dict(conv.named_parameters())}
    grads = [torch.autograd.grad(y.sin().sum(), [*leaves.values()]) for y in (out, expected)]
    for name, a, b in zip(leaves, *grads):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-12, msg=lambda m, name=name: f"{name}: {m}")


def test_a_batch_equals_each_sentence_alone() -> None:
    conv = make()
    x, types = sentence()
    graph, other = edges(types, False), edges(types.T.contiguous(), False)
    edge_index = [graph["edge_index"].edge_index, other["edge_index"].edge_index + NODES]
    layout = AttentionLayout(
        torch.cat(edge_index, dim=1),
        2 * NODES,
        clique=torch.zeros(2 * NODES, dtype=torch.long),
        ptr=torch.tensor([0, NODES, 2 * NODES]),
        edge_type=torch.cat([graph["edge_type"], other["edge_type"]]),
    )
    out = conv(torch.cat([x, x.flip(0)]), layout)
    torch.testing.assert_close(out[:NODES], literal(conv, x, types), rtol=0, atol=1e-12)
    torch.testing.assert_close(out[NODES:], literal(conv, x.flip(0), types.T), rtol=0, atol=1e-12)


@pytest.mark.parametrize(("gate", "gate_state"), VARIANTS)
def test_without_relations_it_is_plain_attention(gate: str | None, gate_state: str) -> None:
    conv, plain = make(gate, gate_state), AttentionConv(SIZE, 4, HEADS).double()
    plain.load_state_dict({k: v for k, v in conv.state_dict().items() if not k.startswith("score.")})
    x, types = sentence()
    graph = edges(torch.zeros_like(types), True)
    torch.testing.assert_close(conv(x, **graph), plain(x, graph["edge_index"]), rtol=0, atol=1e-12)
    nothing = torch.zeros(2, 0, dtype=torch.long)
    clique = AttentionLayout(nothing, NODES, clique=torch.zeros(NODES, dtype=torch.long))
    torch.testing.assert_close(conv(x, clique, nothing[0]), plain(x, graph["edge_index"]), rtol=0, atol=1e-12)


def test_direction() -> None:
    """The type stands on the edge source j -> target i, and i reads it."""
    conv = make()
    x, _ = sentence()
    edge_index = torch.tensor([[1, 2, 0, 2], [0, 0, 1, 1]])
    before = conv(x, edge_index, torch.tensor([3, 0, 4, 0]))
    after = conv(x, edge_index, torch.tensor([5, 0, 4, 0]))  # the relation of 0 to 1
    changed = (before != after).any(dim=1)
    assert changed.tolist() == [True, False, False, False, False, False]


def test_relations_may_be_shared_between_layers() -> None:
    relation = nn.Embedding(RELATIONS, 5)
    convs = [make(relation=relation) for _ in range(2)]
    assert convs[0].score.relation is convs[1].score.relation is relation
    assert not any("relation.weight" in key for conv in convs for key in conv.state_dict())
    assert "score.own_relation.weight" in make().state_dict()


def test_untyped_pairs_may_go_through_the_gate() -> None:
    """Eq. 2-3 with r = 0 for pairs of relation NONE, written out."""
    conv = make(untyped="gate")
    x, types = sentence()
    keep = conv.score
    heads, size = conv.heads, conv.out_channels
    query, key, value = (
        lin(x).view(-1, heads, size) for lin in (conv.lin_query, conv.lin_key, conv.lin_value)
    )
    rows = []
    for i in range(x.size(0)):
        for h in range(heads):
            scores = []
            for j in range(x.size(0)):
                kind = int(types[i, j])
                r = keep.relation.weight[kind] * (kind != 0)
                gate = ((x[i] @ keep.gate_node[h] + r @ keep.gate_relation[h]) @ keep.gate_out[h]).sigmoid()
                own = query[i, h] @ key[j, h] / size**0.5
                scores.append((1 - gate) * own + gate * (r @ keep.lin_score[:, h]))
            rows.append(torch.stack(scores).softmax(0) @ value[:, h])
    for explicit in (True, False):
        out = conv(x, **edges(types, explicit))
        torch.testing.assert_close(out, torch.stack(rows).view(x.size(0), -1))


def test_errors() -> None:
    conv = make()
    x, types = sentence()
    graph = edges(types, True)
    with pytest.raises(
        ValueError, match="'edge_type' must hold one relation id an edge .*\\[35\\] and \\[2, 36\\]"
    ):
        conv(x, graph["edge_index"], graph["edge_type"][:-1])
    for number in (RELATIONS, -1):
        with pytest.raises(
            ValueError, match=f"'edge_type' holds relation {number}, but there are {RELATIONS}"
        ):
            conv(x, graph["edge_index"], torch.full((36,), number))
    for untyped in ("keep", "gate"):
        for explicit in (True, False):
            one, graph = make(untyped=untyped), edges(types, explicit)
            count = graph["edge_index"].num_edges
            with pytest.raises(ValueError, match="'edge_type' must hold one relation id .* \\(got None\\)"):
                one(x, **{**graph, "edge_type": None})
            with pytest.raises(ValueError, match=f"'edge_type' must hold .*shapes \\[{count - 1}\\] and "):
                one(x, **{**graph, "edge_type": graph["edge_type"][1:]})
    with pytest.raises(ValueError, match="'gate' must be"):
        make(gate="relu")
