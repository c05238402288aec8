from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from graphdep.nn.attention import AttentionLayout, RelationVectors, edge_attention
from graphdep.nn.attention.relations import pick_rows

HEADS, SIZE = 2, 3


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
@pytest.mark.parametrize("clique", [False, True])
@pytest.mark.parametrize("rows", [2, 50])
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
