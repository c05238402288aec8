from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from graphdep import RelationVocab
from graphdep.nn.attention import (
    AttentionLayout,
    GatedRelationScore,
    RelationKeyValue,
    RelationVectors,
    edge_attention,
)
from graphdep.nn.attention.relations import pick_rows

HEADS = 2
SIZE = 3


def double(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.double).requires_grad_()


def assert_equal(ours: Tensor, literal: Tensor, inputs: list[Tensor]) -> None:
    """Values, and gradients of what both are computed from."""
    torch.testing.assert_close(ours, literal, rtol=0, atol=1e-12)
    assert ours.shape == literal.shape
    grads = (torch.autograd.grad(x.sin().sum(), inputs, retain_graph=True) for x in (ours, literal))
    for a, b in zip(*grads):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-12)


# A table of one row is shorter than the vectors of a few edges, one of 50 rows is longer.
@given(nodes=st.integers(1, 4), edges=st.integers(0, 9), rows=st.sampled_from([1, 2, 50]), data=st.data())
def test_equals_a_vector_for_each_edge(nodes: int, edges: int, rows: int, data: st.DataObject) -> None:
    def draw(bound: int) -> Tensor:
        return torch.tensor(
            data.draw(st.lists(st.integers(0, bound - 1), min_size=edges, max_size=edges))
        ).long()

    torch.manual_seed(0)
    table, query, alpha = double(rows, SIZE), double(nodes, HEADS, SIZE), double(edges, HEADS)
    node, relation = draw(nodes), draw(rows)
    vectors = RelationVectors(table, relation, HEADS)
    every = table[relation][:, None].expand(-1, HEADS, -1)
    assert vectors.shape == every.shape
    assert torch.equal(vectors.expand(), every)
    assert_equal(vectors.dot(query, node), (query[node] * every).sum(-1), [table, query])
    literal = torch.zeros_like(query).index_add(0, node, alpha[:, :, None] * every)
    assert_equal(vectors.sum(alpha, node, nodes), literal, [table, alpha])


@pytest.mark.parametrize("backend", ["reference", "dense", "auto"])
@pytest.mark.parametrize(("clique", "rows"), [(False, 50), (True, 2)])
def test_attention_is_that_of_written_out_vectors(backend: str, clique: bool, rows: int) -> None:
    torch.manual_seed(1)
    edges = torch.tensor([[0, 1, 2, 3, 2], [1, 1, 0, 3, 3]])
    layout = AttentionLayout(edges, 5, clique=torch.tensor([0, 0, 0, -1, -1]) if clique else None)
    states, (key, value) = [double(5, HEADS, SIZE) for _ in range(3)], (double(rows, SIZE) for _ in range(2))
    relation = torch.randint(rows, (5,))
    scale = double(5, HEADS)

    def attend(as_table: bool) -> Tensor:
        own = [RelationVectors(table, relation, HEADS) for table in (key, value)]
        edge_key, edge_value = own if as_table else [x.expand() for x in own]
        terms = {"edge_key": edge_key, "edge_value": edge_value, "score_scale": scale}
        return edge_attention(*states, edges, layout=layout, backend=backend, **terms)

    assert_equal(attend(True), attend(False), [*states, key, value, scale])


def test_autocast_keeps_what_vectors_add_to_scores() -> None:
    vectors = RelationVectors(torch.randn(2, 64), torch.tensor([0, 1, 1]), HEADS)
    query, node = torch.randn(1, HEADS, 64), torch.tensor([0, 0, 0])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(vectors.dot(query, node), vectors.dot(query, node).float())
        assert vectors.dot(query.bfloat16(), node).dtype == torch.float32


def test_pick_rows() -> None:
    table, row = double(3, 2), torch.tensor([2, 0, 2])
    assert_equal(pick_rows(table, row), table[row], [table])


def test_shapes_that_do_not_fit_are_refused() -> None:
    states = [torch.randn(2, HEADS, SIZE) for _ in range(3)]
    edges = torch.tensor([[0, 1], [1, 0]])
    for wrong in (torch.randn(4, SIZE + 1), torch.randn(4, SIZE)):
        relation = torch.tensor([0, 1] if wrong.size(1) != SIZE else [0])
        with pytest.raises(ValueError, match=r"'edge_key' must be of shape \[2, 2, 3\]"):
            edge_attention(*states, edges, edge_key=RelationVectors(wrong, relation, HEADS))


# -- gate ------------------------------------------------------------------------------------------------


GATE_HEADS = 3
GATE_SIZE = 5
RELATIONS = 7


def module(gate: str | None, gate_state: str = "query", **kwargs) -> GatedRelationScore:
    torch.manual_seed(0)
    score = GatedRelationScore(
        GATE_SIZE, GATE_HEADS, RELATIONS, 4, gate=gate, gate_state=gate_state, **kwargs
    ).double()
    nn.init.normal_(score.lin_score)  # starts at zero without the gate
    return score


def graph() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """All pairs of five nodes, a random relation each, some of them NONE."""
    generator = torch.Generator().manual_seed(1)
    node = torch.arange(5)
    edge_index = torch.stack([node.repeat(5), node.repeat_interleave(5)])
    x = torch.randn(5, GATE_SIZE, generator=generator, dtype=torch.float64)
    return x, edge_index, torch.randint(0, RELATIONS, (25,), generator=generator)


def test_relations_may_be_shared() -> None:
    relation = nn.Embedding(RELATIONS, 4)
    scores = [GatedRelationScore(GATE_SIZE, GATE_HEADS, RELATIONS, 4, relation=relation) for _ in range(2)]
    assert scores[0].relation is scores[1].relation
    before = relation.weight.clone()
    scores[0].reset_parameters()  # a layer does not reset what others use, too
    assert torch.equal(relation.weight, before)


@pytest.mark.parametrize("gate", ["tanh", None])
@pytest.mark.parametrize("untyped", ["keep", "gate"])
def test_a_closed_start_changes_nothing_and_learns(gate: str | None, untyped: str) -> None:
    torch.manual_seed(0)
    score = GatedRelationScore(
        GATE_SIZE, GATE_HEADS, RELATIONS, gate=gate, untyped=untyped, start="closed"
    ).double()
    attn_bias, score_scale, *_ = score(*graph())
    assert not attn_bias.any()
    assert score_scale is None or torch.equal(score_scale, torch.ones_like(score_scale))
    s_e = torch.randn(25, GATE_HEADS, dtype=torch.float64)
    loss = (attn_bias + (s_e if score_scale is None else score_scale * s_e)).square().sum()
    first = score.lin_score if gate is None else score.gate_out
    (grad,) = torch.autograd.grad(loss, first)
    assert bool((grad != 0).all())


def test_the_sigmoid_cannot_start_closed() -> None:
    with pytest.raises(ValueError, match="start='closed' needs gate='tanh' or gate=None"):
        GatedRelationScore(GATE_SIZE, GATE_HEADS, RELATIONS, start="closed")
    with pytest.raises(ValueError, match=r"'start' must be one of random, torch, closed \(got 'open'\)"):
        GatedRelationScore(GATE_SIZE, GATE_HEADS, RELATIONS, start="open")


def like_torch(channels: int, heads: int, relations: int, size: int) -> dict[str, torch.Tensor]:
    """The parameters of one head after the other as a program has them that leaves all to PyTorch: an
    embedding of relations, and linear layers without bias for V_r, W_ge, W_gr and V_g.
    """
    linear = {"lin_score": (size, 1), "gate_node": (channels, size)}
    linear |= {"gate_relation": (size, size), "gate_out": (size, 1)}
    made = {
        name: torch.stack([nn.Linear(*sizes, bias=False).weight.detach().T for _ in range(heads)])
        for name, sizes in linear.items()
    }
    return {"own_relation.weight": nn.Embedding(relations, size).weight.detach(), **made}


def test_gates_start_half_open_unless_asked_for() -> None:
    torch.manual_seed(0)
    score = GatedRelationScore(300, 6, 200)
    assert score.gate_out.std().item() == pytest.approx(0.02, rel=0.1)
    assert score.relation.weight.norm(dim=1).mean().item() == pytest.approx(1, rel=0.1)
    assert score.lin_score.abs().max() <= (6 / sum(score.lin_score.shape)) ** 0.5


@pytest.mark.parametrize("gate", ["sigmoid", "tanh", None])
def test_a_start_of_pytorch_s_own(gate: str | None) -> None:
    torch.manual_seed(0)
    channels, heads, relations, size = 120, 40, 600, 30
    drawn = like_torch(channels, heads, relations, size)
    score = GatedRelationScore(channels, heads, relations, size, gate=gate, start="torch")
    for name, parameter in score.named_parameters():
        expected = drawn[name]
        assert parameter.numel() == expected.numel(), name
        # Equal in distribution: the deviation, and for linear layers the bounds, which 1,200 draws come near.
        assert parameter.std().item() == pytest.approx(expected.std().item(), rel=0.05), name
        assert abs(parameter.mean().item()) < 0.1 * expected.std().item(), name
        if name != "own_relation.weight":
            assert parameter.abs().max().item() == pytest.approx(expected.abs().max().item(), rel=0.02), name


def test_repr() -> None:
    assert str(module("tanh", "key")) == (
        "GatedRelationScore(5, heads=3, num_relations=7, relation_dim=4, gate='tanh', gate_state='key', "
        "untyped='keep', start='random')"
    )
    assert str(module(None)) == (
        "GatedRelationScore(5, heads=3, num_relations=7, relation_dim=4, gate=None, gate_state='query', "
        "untyped='keep', start='random')"
    )


def test_errors() -> None:
    with pytest.raises(ValueError, match="'gate' must be one of sigmoid, tanh, None \\(got 'relu'\\)"):
        GatedRelationScore(GATE_SIZE, GATE_HEADS, RELATIONS, gate="relu")
    with pytest.raises(ValueError, match="'gate_state' must be one of query, key \\(got 'value'\\)"):
        GatedRelationScore(GATE_SIZE, GATE_HEADS, RELATIONS, gate_state="value")
    with pytest.raises(ValueError, match="'relation' must be of shape \\[7, 30\\] \\(got \\[7, 4\\]\\)"):
        GatedRelationScore(GATE_SIZE, GATE_HEADS, RELATIONS, relation=nn.Embedding(7, 4))


# -- tables ----------------------------------------------------------------------------------------------


TABLES_HEADS = 3
TABLES_SIZE = 4
TABLES_RELATIONS = 6
NODES = 5


def module_tables(scaling: str = "paper") -> RelationKeyValue:
    torch.manual_seed(0)
    terms = RelationKeyValue(TABLES_RELATIONS, TABLES_HEADS, TABLES_SIZE, scaling=scaling).double()
    nn.init.normal_(terms.key.weight)
    nn.init.normal_(terms.value.weight)
    return terms


def pairs() -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Query, key, value; all pairs of the nodes, and a relation each, some of them NONE."""
    generator = torch.Generator().manual_seed(1)
    q, k, v = torch.randn(3, NODES, TABLES_HEADS, TABLES_SIZE, generator=generator, dtype=torch.double)
    node = torch.arange(NODES)
    edge_index = torch.stack([node.repeat(NODES), node.repeat_interleave(NODES)])
    return q, k, v, edge_index, torch.randint(0, TABLES_RELATIONS, (NODES**2,), generator=generator)


def literal_tables(q: Tensor, k: Tensor, v: Tensor, r_k: Tensor, r_v: Tensor, scaling: str) -> Tensor:
    """The formulas as printed, with r_k and r_v [n, n, d] of the pairs in which i attends to j."""
    heads = []
    for h in range(TABLES_HEADS):
        from_words, from_relations = q[:, h] @ k[:, h].T, torch.einsum("id,ijd->ij", q[:, h], r_k)
        if scaling == "paper":
            score = (from_words + from_relations) / TABLES_SIZE**0.5
        else:
            score = from_words / TABLES_SIZE**0.5 + from_relations
        alpha = score.softmax(dim=1)
        heads.append(alpha @ v[:, h] + torch.einsum("ij,ijd->id", alpha, r_v))
    return torch.stack(heads, dim=1)


@pytest.mark.parametrize("scaling", ["paper", "code"])
def test_a_vector_for_pairs_without_a_relation_adds_nothing(scaling: str) -> None:
    """The paper's tables have one; taken from all others and put into the bias of the values, it is gone."""
    q, k, v, edge_index, edge_type = pairs()
    full_k, full_v = torch.randn(2, TABLES_RELATIONS, TABLES_SIZE, dtype=torch.double)
    r_k, r_v = (table[edge_type].view(NODES, NODES, TABLES_SIZE) for table in (full_k, full_v))
    expected = literal_tables(q, k, v, r_k, r_v, scaling)
    terms = module_tables(scaling)
    with torch.no_grad():
        terms.key.weight.copy_(full_k - full_k[RelationVocab.NONE])
        terms.value.weight.copy_(full_v - full_v[RelationVocab.NONE])
    added = terms(q.flatten(1), edge_index, edge_type)
    out = edge_attention(q, k, v + full_v[RelationVocab.NONE], edge_index, **added._asdict())
    torch.testing.assert_close(out, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("scaling", ["paper", "code"])
def test_it_starts_at_nothing_and_learns(scaling: str) -> None:
    terms = RelationKeyValue(TABLES_RELATIONS, TABLES_HEADS, TABLES_SIZE, scaling=scaling).double()
    q, k, v, edge_index, edge_type = pairs()
    out = edge_attention(q, k, v, edge_index, **terms(q.flatten(1), edge_index, edge_type)._asdict())
    torch.testing.assert_close(out, edge_attention(q, k, v, edge_index), rtol=0, atol=1e-12)
    out.square().sum().backward()
    for table in (terms.key, terms.value):
        assert table.weight.grad[edge_type.unique()[1:]].all()


def test_a_random_start_is_drawn_as_berts() -> None:
    torch.manual_seed(0)
    terms = RelationKeyValue(300, TABLES_HEADS, 200, start="random")
    for table in (terms.key, terms.value):
        assert 0.019 < float(table.weight.detach().std()) < 0.021
        nn.init.constant_(table.weight, torch.nan)
    terms.reset_parameters()
    assert all(bool(table.weight.isfinite().all()) for table in (terms.key, terms.value))
    assert not torch.equal(terms.key.weight, terms.value.weight)


def test_heads_share_the_vectors() -> None:
    *_, edge_index, edge_type = pairs()
    for scaling in ("paper", "code"):
        for added in module_tables(scaling)(torch.zeros(NODES, 12), edge_index, edge_type)[2:]:
            assert added.expand().stride(1) == 0  # held once


def test_errors_and_repr() -> None:
    with pytest.raises(ValueError, match=r"'scaling' must be one of paper, code \(got 'repo'\)"):
        RelationKeyValue(TABLES_RELATIONS, TABLES_HEADS, TABLES_SIZE, scaling="repo")
    with pytest.raises(ValueError, match=r"'start' must be one of zero, random \(got 'one'\)"):
        RelationKeyValue(TABLES_RELATIONS, TABLES_HEADS, TABLES_SIZE, start="one")
    *_, edge_index, edge_type = pairs()
    with pytest.raises(ValueError, match=r"one relation id per edge .*\[24\] and \[2, 25\]"):
        module_tables()(torch.zeros(NODES, 12), edge_index, edge_type[1:])
    with pytest.raises(ValueError, match="'edge_type' holds relation 6, but there are 6"):
        module_tables()(torch.zeros(NODES, 12), edge_index, edge_type + 1)
    assert (
        str(module_tables()) == "RelationKeyValue(6, heads=3, head_channels=4, scaling='paper', start='zero')"
    )
