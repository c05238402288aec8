from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from graphdep import RelationVocab, Sentence, to_data
from graphdep.nn.attention import AttentionLayout
from graphdep.nn.conv import GatedRelationConv, RelationKeyValueConv
from graphdep.transforms import resolve
from tests.kit.slow import assert_same_gradients, heads_of

VARIANTS = [("sigmoid", "query"), ("sigmoid", "key"), ("tanh", "query"), ("tanh", "key"), (None, "query")]
SIZE = 8
HEADS = 2
RELATIONS = 9
NODES = 6


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
    """Eq. 1-3 as printed."""
    values = [value for *_, value in heads_of(conv, x)]
    return torch.cat([s.softmax(-1) @ v for (s, *_), v in zip(scores(conv, x, types), values)], dim=1)


def scores(conv: GatedRelationConv, x: Tensor, types: Tensor) -> list[tuple[Tensor, ...]]:
    """Scores, gates, relation and self-attention scores of all pairs, one head after the other, from a
    relation vector for every pair, ``[n, n, d_r]``.
    """
    score = conv.score
    r = score.relation.weight[types] * (types != RelationVocab.NONE).unsqueeze(-1)
    heads = []
    for h, (query, key, _) in enumerate(heads_of(conv, x)):
        s_e = query @ key.T / conv.out_channels**0.5
        s_r = (r @ score.lin_score[:, h, None]).squeeze(-1)
        if score.gate is None:
            s, g = s_e + s_r, torch.zeros_like(s_e)
        else:
            node = x @ score.gate_node[h]
            node = node[:, None] if score.gate_state == "query" else node[None]
            g = ((node + r @ score.gate_relation[h]) @ score.gate_out[h, :, None]).squeeze(-1)
            g = g.sigmoid() if score.gate == "sigmoid" else g.tanh()
            s = (1 - g) * s_e + g * s_r
        if score.untyped == "keep":  # no relation: gate 0
            none = types == RelationVocab.NONE
            s, g = torch.where(none, s_e, s), g.masked_fill(none, 0)
        heads.append((s, g, s_r, s_e))
    return heads


def edges(types: Tensor, explicit: bool) -> dict[str, Any]:
    """All pairs as edges; or the typed ones as edges and the sentence as a clique."""
    target, source = (torch.ones_like(types) if explicit else types).nonzero().t()
    graph = {"edge_index": torch.stack([source, target]), "edge_type": types[target, source]}
    clique = None if explicit else torch.zeros(NODES, dtype=torch.long)
    return graph | {"edge_index": AttentionLayout(graph["edge_index"], NODES, clique=clique)}


@pytest.mark.parametrize(("gate", "gate_state"), VARIANTS)
@pytest.mark.parametrize("explicit", [True, False], ids=["edges", "clique"])
def test_equals_the_formula(gate: str | None, gate_state: str, explicit: bool) -> None:
    for backend in ("reference", "dense"):
        check_formula(make(gate, gate_state, backend=backend), explicit)


def check_formula(conv: GatedRelationConv, explicit: bool) -> None:
    x, types = sentence()
    x.requires_grad_()
    out, expected = conv(x, **edges(types, explicit)), literal(conv, x, types)
    torch.testing.assert_close(out, expected, rtol=0, atol=1e-12)
    assert_same_gradients(out, expected, [x, *conv.parameters()], atol=1e-12)


@pytest.mark.parametrize(("gate", "gate_state"), VARIANTS[:4])
@pytest.mark.parametrize("untyped", ["keep", "gate"])
def test_the_gate_of_every_pair(gate: str, gate_state: str, untyped: str) -> None:
    conv = make(gate, gate_state, untyped=untyped)
    x, types = sentence()
    out, (_, alpha), values = conv(x, **edges(types, True), return_attention_weights=True, return_gate=True)
    torch.testing.assert_close(out, literal(conv, x, types), rtol=0, atol=1e-12)
    source, target = values.edge_index
    assert torch.equal(values.edge_type, types[target, source])
    for h, (s, *expected) in enumerate(scores(conv, x, types)):
        torch.testing.assert_close(alpha[:, h], s.softmax(-1)[target, source], rtol=0, atol=1e-12)
        for found, wanted in zip(values[2:], expected):
            torch.testing.assert_close(found[:, h], wanted[target, source], rtol=0, atol=1e-12)
    assert bool(values.gated.all()) == (untyped == "gate")
    assert torch.equal(conv(x, **edges(types, True), return_gate=True)[0], out)
    with pytest.raises(ValueError, match="'return_gate' is for scores with a gate"):
        make(None)(x, **edges(types, True), return_gate=True)


def test_relations_may_be_shared_between_layers() -> None:
    relation = nn.Embedding(RELATIONS, 5)
    convs = [make(relation=relation) for _ in range(2)]
    assert convs[0].score.relation is convs[1].score.relation is relation
    assert not any("relation.weight" in key for conv in convs for key in conv.state_dict())
    assert "score.own_relation.weight" in make().state_dict()


def test_untyped_pairs_may_go_through_the_gate() -> None:
    """Eq. 2-3 with r = 0 for pairs of relation NONE."""
    for explicit in (True, False):
        check_formula(make(untyped="gate"), explicit)


def test_errors() -> None:
    conv = make()
    x, types = sentence()
    graph = edges(types, True)
    with pytest.raises(
        ValueError, match="'edge_type' must hold one relation id per edge .*\\[35\\] and \\[2, 36\\]"
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


# -- tables ----------------------------------------------------------------------------------------------


TABLES_RELATIONS = len(RelationVocab())
ONE = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])


def make_tables(**options) -> RelationKeyValueConv:
    torch.manual_seed(0)
    conv = RelationKeyValueConv(SIZE, 4, HEADS, num_relations=TABLES_RELATIONS, **options).double()
    for table in (conv.relation.key, conv.relation.value):
        nn.init.normal_(table.weight)
    return conv


def states(count: int) -> Tensor:
    return torch.randn(count, SIZE, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def literal_tables(conv: RelationKeyValueConv, x: Tensor, pairs: dict[tuple[int, int], int]) -> Tensor:
    """The formula, head by head and pair by pair; ``pairs`` has the relation of (i, j)."""
    d, rows = conv.out_channels, []
    for i in range(len(x)):
        heads = []
        for q, k, v in heads_of(conv, x):
            seen = [(j, kind) for (target, j), kind in pairs.items() if target == i]
            key = [conv.relation.key.weight[kind] * (kind != 0) for _, kind in seen]
            value = [conv.relation.value.weight[kind] * (kind != 0) for _, kind in seen]
            own = torch.stack([q[i] @ k[j] for j, _ in seen]) / d**0.5
            of_arc = torch.stack([q[i] @ r for r in key])
            of_arc = of_arc / d**0.5 if conv.scaling == "paper" else of_arc
            alpha = (own + of_arc).softmax(0)
            heads.append(sum(a * (v[j] + r) for a, (j, _), r in zip(alpha, seen, value)))
        rows.append(torch.cat(heads))
    return torch.stack(rows)


@pytest.mark.parametrize("implicit", [False, True])
@pytest.mark.parametrize("scaling", ["paper", "code"])
def test_equals_the_formula_of_tables(scaling: str, implicit: bool) -> None:
    conv, written = make_tables(scaling=scaling), resolve("g2g")(to_data([ONE]))
    x = states(written.num_nodes).requires_grad_()
    pairs = {(i, j): kind for j, i, kind in zip(*written.edge_index.tolist(), written.edge_type.tolist())}
    out = conv(x, AttentionLayout.of(resolve("g2g", implicit=implicit)(to_data([ONE]))))
    expected = literal_tables(conv, x, pairs)
    torch.testing.assert_close(out, expected, rtol=0, atol=1e-12)
    assert_same_gradients(out, expected, [x, *conv.parameters()], atol=1e-12)


def test_reset_and_repr() -> None:
    conv = make_tables(scaling="code", start="zero")
    shown = (
        f"RelationKeyValueConv(8, 4, heads=2, num_relations={TABLES_RELATIONS}, scaling='code', start='zero')"
    )
    assert repr(conv) == shown
    conv.reset_parameters()
    assert not conv.relation.key.weight.any()
    fresh = RelationKeyValueConv(SIZE, 4, HEADS, num_relations=TABLES_RELATIONS)
    assert 0.015 < fresh.relation.value.weight.std().item() < 0.025
