from __future__ import annotations

import pytest
import torch
from torch import nn

from graphdep import RelationVocab
from graphdep.nn.attention import GatedRelationScore

VARIANTS = [("sigmoid", "query"), ("sigmoid", "key"), ("tanh", "query"), ("tanh", "key"), (None, "query")]
HEADS, SIZE, RELATIONS = 3, 5, 7


def module(gate: str | None, gate_state: str = "query", **kwargs) -> GatedRelationScore:
    torch.manual_seed(0)
    score = GatedRelationScore(SIZE, HEADS, RELATIONS, 4, gate=gate, gate_state=gate_state, **kwargs).double()
    nn.init.normal_(score.lin_score)  # starts at zero without the gate
    return score


def graph() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """All pairs of five nodes, a random relation each, some of them NONE."""
    generator = torch.Generator().manual_seed(1)
    node = torch.arange(5)
    edge_index = torch.stack([node.repeat(5), node.repeat_interleave(5)])
    x = torch.randn(5, SIZE, generator=generator, dtype=torch.float64)
    return x, edge_index, torch.randint(0, RELATIONS, (25,), generator=generator)


def literal(
    score: GatedRelationScore, x: torch.Tensor, i: int, j: int, h: int, relation: int, s_e: torch.Tensor
):
    """Eq. 1-3 for one pair, in which i attends to j, and one head."""
    if relation == RelationVocab.NONE:
        return s_e
    r_ij = score.relation.weight[relation]
    s_r = r_ij @ score.lin_score[:, h]
    if score.gate is None:
        return s_e + s_r
    state = x[i] if score.gate_state == "query" else x[j]
    g_ij = (state @ score.gate_node[h] + r_ij @ score.gate_relation[h]) @ score.gate_out[h]
    g_ij = torch.sigmoid(g_ij) if score.gate == "sigmoid" else torch.tanh(g_ij)
    return (1 - g_ij) * s_e + g_ij * s_r


@pytest.mark.parametrize(("gate", "gate_state"), VARIANTS)
def test_equals_the_formula(gate: str | None, gate_state: str) -> None:
    score = module(gate, gate_state)
    x, edge_index, edge_type = graph()
    x.requires_grad_()
    attn_bias, score_scale, *_ = score(x, edge_index, edge_type)
    assert attn_bias.shape == (25, HEADS)
    assert (score_scale is None) == (gate is None)
    s_e = torch.randn(25, HEADS, dtype=torch.float64)
    got = attn_bias + (s_e if score_scale is None else score_scale * s_e)
    rows = zip(*edge_index.tolist(), edge_type.tolist(), s_e)
    expected = torch.stack(
        [torch.stack([literal(score, x, i, j, h, r, s[h]) for h in range(HEADS)]) for j, i, r, s in rows]
    )
    torch.testing.assert_close(got, expected, rtol=0, atol=1e-12)
    leaves = [*score.parameters()] + ([x] if gate else [])
    for a, b in zip(
        torch.autograd.grad(got.sin().sum(), leaves), torch.autograd.grad(expected.sin().sum(), leaves)
    ):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("gate", "gate_state"), VARIANTS)
def test_no_relation_no_score(gate: str | None, gate_state: str) -> None:
    score = module(gate, gate_state)
    x, edge_index, edge_type = graph()
    none = edge_type == RelationVocab.NONE
    assert none.any()
    assert not none.all()
    attn_bias, score_scale, *_ = score(x, edge_index, edge_type)
    assert torch.equal(attn_bias[none], torch.zeros_like(attn_bias[none]))
    assert score_scale is None or torch.equal(score_scale[none], torch.ones_like(score_scale[none]))
    loss = attn_bias.sum() + (0 if score_scale is None else score_scale.sin().sum())
    (grad,) = torch.autograd.grad(loss, score.relation.weight)
    assert torch.equal(grad[RelationVocab.NONE], torch.zeros(4, dtype=torch.float64))
    assert grad[RelationVocab.SELF].abs().min() > 0  # a node and itself are related


@pytest.mark.parametrize(("gate", "gate_state"), VARIANTS)
def test_heads_have_their_own_parameters(gate: str | None, gate_state: str) -> None:
    score = module(gate, gate_state)
    own = {"lin_score": 1} | (
        {} if gate is None else dict.fromkeys(("gate_node", "gate_relation", "gate_out"), 0)
    )
    attn_bias, score_scale, *_ = score(*graph())
    for h in range(HEADS):
        loss = attn_bias[:, h].sum() + (0 if score_scale is None else score_scale[:, h].sum())
        for (name, dim), grad in zip(
            own.items(), torch.autograd.grad(loss, [getattr(score, name) for name in own], retain_graph=True)
        ):
            reached = [bool(part.any()) for part in grad.unbind(dim)]
            assert reached == [k == h for k in range(HEADS)], name


@pytest.mark.parametrize("gate_state", ["query", "key"])
def test_whose_state_the_gate_reads(gate_state: str) -> None:
    score = module("sigmoid", gate_state)
    x = graph()[0].requires_grad_()
    attn_bias, *_ = score(x, torch.tensor([[3], [1]]), torch.tensor([2]))  # node 1 attends to node 3
    (grad,) = torch.autograd.grad(attn_bias.sum(), x)
    assert grad.any(dim=1).nonzero().flatten().tolist() == ([1] if gate_state == "query" else [3])


@pytest.mark.parametrize("gate", ["sigmoid", "tanh", None])
def test_reset_parameters(gate: str | None) -> None:
    score = module(gate)
    for parameter in score.parameters():
        nn.init.constant_(parameter, torch.nan)
    score.reset_parameters()
    assert all(bool(parameter.isfinite().all()) for parameter in score.parameters())


def test_relations_may_be_shared() -> None:
    relation = nn.Embedding(RELATIONS, 4)
    scores = [GatedRelationScore(SIZE, HEADS, RELATIONS, 4, relation=relation) for _ in range(2)]
    assert scores[0].relation is scores[1].relation
    before = relation.weight.clone()
    scores[0].reset_parameters()  # a layer does not reset what others use, too
    assert torch.equal(relation.weight, before)


def test_no_edges() -> None:
    attn_bias, score_scale, *rest = module("sigmoid")(
        torch.zeros(3, SIZE).double(), torch.zeros(2, 0).long(), torch.zeros(0).long()
    )
    assert attn_bias.shape == score_scale.shape == (0, HEADS)
    assert rest == [None, None]


@pytest.mark.parametrize("gate", ["tanh", None])
@pytest.mark.parametrize("untyped", ["keep", "gate"])
def test_a_closed_start_changes_nothing_and_learns(gate: str | None, untyped: str) -> None:
    torch.manual_seed(0)
    score = GatedRelationScore(SIZE, HEADS, RELATIONS, gate=gate, untyped=untyped, start="closed").double()
    attn_bias, score_scale, *_ = score(*graph())
    assert not attn_bias.any()
    assert score_scale is None or torch.equal(score_scale, torch.ones_like(score_scale))
    s_e = torch.randn(25, HEADS, dtype=torch.float64)
    loss = (attn_bias + (s_e if score_scale is None else score_scale * s_e)).square().sum()
    first = score.lin_score if gate is None else score.gate_out
    (grad,) = torch.autograd.grad(loss, first)
    assert bool((grad != 0).all())


def test_the_sigmoid_cannot_start_closed() -> None:
    with pytest.raises(ValueError, match="start='closed' needs gate='tanh' or gate=None"):
        GatedRelationScore(SIZE, HEADS, RELATIONS, start="closed")
    with pytest.raises(ValueError, match=r"'start' must be one of random, torch, closed \(got 'open'\)"):
        GatedRelationScore(SIZE, HEADS, RELATIONS, start="open")


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


def test_the_start_is_narrow_unless_asked_for() -> None:
    def draw(**options: str) -> GatedRelationScore:
        torch.manual_seed(0)
        return GatedRelationScore(300, 6, 200, **options)

    plain, named, wide = draw(), draw(start="random"), draw(start="torch")
    for a, b in zip(plain.parameters(), named.parameters()):
        assert torch.equal(a, b)
    scores = [(score.relation.weight @ score.lin_score).std().item() for score in (plain, wide)]
    assert scores[1] > 2 * scores[0]
    gates = [
        torch.einsum("hcr,hr->ch", score.gate_node, score.gate_out).std().item() for score in (plain, wide)
    ]
    assert gates[1] > 2 * gates[0]


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
        GatedRelationScore(SIZE, HEADS, RELATIONS, gate="relu")
    with pytest.raises(ValueError, match="'gate_state' must be one of query, key \\(got 'value'\\)"):
        GatedRelationScore(SIZE, HEADS, RELATIONS, gate_state="value")
    with pytest.raises(ValueError, match="'relation' must be of shape \\[7, 30\\] \\(got \\[7, 4\\]\\)"):
        GatedRelationScore(SIZE, HEADS, RELATIONS, relation=nn.Embedding(7, 4))
