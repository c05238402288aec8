from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from graphdep import RelationVocab
from graphdep.nn.attention import RelationKeyValue, edge_attention

HEADS, SIZE, RELATIONS, NODES = 3, 4, 6, 5


def module(scaling: str = "paper") -> RelationKeyValue:
    torch.manual_seed(0)
    terms = RelationKeyValue(RELATIONS, HEADS, SIZE, scaling=scaling).double()
    nn.init.normal_(terms.key.weight)
    nn.init.normal_(terms.value.weight)
    return terms


def pairs() -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Query, key, value; all pairs of the nodes, and a relation each, some of them NONE."""
    generator = torch.Generator().manual_seed(1)
    q, k, v = torch.randn(3, NODES, HEADS, SIZE, generator=generator, dtype=torch.double)
    node = torch.arange(NODES)
    edge_index = torch.stack([node.repeat(NODES), node.repeat_interleave(NODES)])
    return q, k, v, edge_index, torch.randint(0, RELATIONS, (NODES**2,), generator=generator)


def literal(q: Tensor, k: Tensor, v: Tensor, r_k: Tensor, r_v: Tensor, scaling: str) -> Tensor:
    """The formulas as printed, with r_k and r_v [n, n, d] of the pairs in which i attends to j."""
    heads = []
    for h in range(HEADS):
        from_words, from_relations = q[:, h] @ k[:, h].T, torch.einsum("id,ijd->ij", q[:, h], r_k)
        if scaling == "paper":
            score = (from_words + from_relations) / SIZE**0.5
        else:
            score = from_words / SIZE**0.5 + from_relations
        alpha = score.softmax(dim=1)
        heads.append(alpha @ v[:, h] + torch.einsum("ij,ijd->id", alpha, r_v))
    return torch.stack(heads, dim=1)


@pytest.mark.parametrize("scaling", ["paper", "code"])
@pytest.mark.parametrize("backend", ["reference", "dense"])
def test_equals_the_formula(scaling: str, backend: str) -> None:
    terms = module(scaling)
    q, k, v, edge_index, edge_type = pairs()
    assert (edge_type == RelationVocab.NONE).any()
    r_k, r_v = (
        (table.weight[edge_type] * (edge_type != 0)[:, None]).view(NODES, NODES, SIZE)
        for table in (terms.key, terms.value)
    )
    expected = literal(q, k, v, r_k, r_v, scaling)
    added = terms(q.flatten(1), edge_index, edge_type)
    assert added.attn_bias is added.score_scale is None
    out = edge_attention(q, k, v, edge_index, **added._asdict(), backend=backend)
    torch.testing.assert_close(out, expected, rtol=0, atol=1e-12)
    leaves = [*terms.parameters()]
    for a, b in zip(
        torch.autograd.grad(out.sin().sum(), leaves), torch.autograd.grad(expected.sin().sum(), leaves)
    ):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-12)
        assert not a[RelationVocab.NONE].any()


@pytest.mark.parametrize("scaling", ["paper", "code"])
def test_a_vector_for_pairs_without_a_relation_adds_nothing(scaling: str) -> None:
    """The paper's tables have one; taken from all others and put into the bias of the values, it is gone."""
    q, k, v, edge_index, edge_type = pairs()
    full_k, full_v = torch.randn(2, RELATIONS, SIZE, dtype=torch.double)
    r_k, r_v = (table[edge_type].view(NODES, NODES, SIZE) for table in (full_k, full_v))
    expected = literal(q, k, v, r_k, r_v, scaling)
    terms = module(scaling)
    with torch.no_grad():
        terms.key.weight.copy_(full_k - full_k[RelationVocab.NONE])
        terms.value.weight.copy_(full_v - full_v[RelationVocab.NONE])
    added = terms(q.flatten(1), edge_index, edge_type)
    out = edge_attention(q, k, v + full_v[RelationVocab.NONE], edge_index, **added._asdict())
    torch.testing.assert_close(out, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("scaling", ["paper", "code"])
def test_it_starts_at_nothing_and_learns(scaling: str) -> None:
    terms = RelationKeyValue(RELATIONS, HEADS, SIZE, scaling=scaling).double()
    q, k, v, edge_index, edge_type = pairs()
    out = edge_attention(q, k, v, edge_index, **terms(q.flatten(1), edge_index, edge_type)._asdict())
    torch.testing.assert_close(out, edge_attention(q, k, v, edge_index), rtol=0, atol=1e-12)
    out.square().sum().backward()
    for table in (terms.key, terms.value):
        assert table.weight.grad[edge_type.unique()[1:]].all()


def test_reset_parameters() -> None:
    terms = module()
    for parameter in terms.parameters():
        nn.init.constant_(parameter, torch.nan)
    terms.reset_parameters()
    assert not any(bool(parameter.any()) for parameter in terms.parameters())


def test_a_random_start_is_drawn_as_berts() -> None:
    torch.manual_seed(0)
    terms = RelationKeyValue(300, HEADS, 200, start="random")
    for table in (terms.key, terms.value):
        assert 0.019 < float(table.weight.detach().std()) < 0.021
        nn.init.constant_(table.weight, torch.nan)
    terms.reset_parameters()
    assert all(bool(table.weight.isfinite().all()) for table in (terms.key, terms.value))
    assert not torch.equal(terms.key.weight, terms.value.weight)


def test_heads_share_the_vectors() -> None:
    *_, edge_index, edge_type = pairs()
    for scaling in ("paper", "code"):
        for added in module(scaling)(torch.zeros(NODES, 12), edge_index, edge_type)[2:]:
            assert added.expand().stride(1) == 0  # held once


def test_no_edges() -> None:
    nothing = torch.zeros(2, 0, dtype=torch.long)
    added = module()(torch.zeros(3, HEADS * SIZE), nothing, nothing[0])
    assert added.edge_key.shape == added.edge_value.shape == (0, HEADS, SIZE)


def test_errors_and_repr() -> None:
    with pytest.raises(ValueError, match=r"'scaling' must be one of paper, code \(got 'repo'\)"):
        RelationKeyValue(RELATIONS, HEADS, SIZE, scaling="repo")
    with pytest.raises(ValueError, match=r"'start' must be one of zero, random \(got 'one'\)"):
        RelationKeyValue(RELATIONS, HEADS, SIZE, start="one")
    *_, edge_index, edge_type = pairs()
    with pytest.raises(ValueError, match=r"one relation id an edge .*\[24\] and \[2, 25\]"):
        module()(torch.zeros(NODES, 12), edge_index, edge_type[1:])
    with pytest.raises(ValueError, match="'edge_type' holds relation 6, but there are 6"):
        module()(torch.zeros(NODES, 12), edge_index, edge_type + 1)
    assert str(module()) == "RelationKeyValue(6, heads=3, head_channels=4, scaling='paper', start='zero')"
