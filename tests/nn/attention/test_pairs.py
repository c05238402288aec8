"""The backend of torch-scatter, where its kernels have cases that PyTorch's have not."""

from __future__ import annotations

import pytest
import torch

from graphdep.nn.attention import edge_attention
from tests.kit.backends import assert_backends_equal, random_states

# Node 4 reads nothing, 5 is read by nobody, 0 reads 1 twice.
EDGES = torch.tensor([[1, 1, 3, 0, 2, 2, 4, 1], [0, 0, 1, 2, 2, 3, 3, 5]])
PERMUTED = [3, 0, 7, 5, 1, 6, 2, 4]
pytestmark = pytest.mark.scatter


def graph(**changes) -> dict:
    generator = torch.Generator().manual_seed(0)
    return {**random_states(6, 8, generator=generator), "edge_index": EDGES, **changes}


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("clique", [None, torch.tensor([0, 0, -1, 1, 1, -1])], ids=["edges", "clique"])
@pytest.mark.parametrize("edges", [EDGES, EDGES[:, PERMUTED]], ids=["sorted", "permuted"])
def test_equals_the_reference(dtype: torch.dtype, clique: torch.Tensor | None, edges: torch.Tensor) -> None:
    assert_backends_equal(graph(clique=clique, edge_index=edges), ("reference", "scatter"), dtype=dtype)


def test_first_derivatives() -> None:
    inputs = graph() | random_states(6, 8, heads=1, channels=2, generator=torch.Generator().manual_seed(0))
    names = [name for name in inputs if name != "edge_index"]

    def attend(*given: torch.Tensor) -> torch.Tensor:
        return edge_attention(**dict(zip(names, given)), edge_index=EDGES, backend="scatter")

    assert torch.autograd.gradcheck(attend, tuple(inputs[name].requires_grad_() for name in names))


def test_rows_without_a_pair() -> None:
    out, (_, alpha) = edge_attention(**graph(), backend="scatter", return_attention_weights=True)
    assert out[4].abs().sum() == 0
    assert torch.isfinite(out).all()
    assert torch.allclose(
        torch.zeros(6, 2).double().index_add(0, EDGES[1], alpha)[:4], torch.ones(4, 2).double()
    )


def test_without_pairs_gradients_are_zeros() -> None:
    states = [x.requires_grad_() for x in random_states(3, 0, terms=()).values()]
    out = edge_attention(*states, EDGES[:, :0], backend="scatter")
    assert out.equal(torch.zeros(3, 2, 4).double())
    assert all(grad.eq(0).all() for grad in torch.autograd.grad(out.sum(), states))


def test_large_scores_do_not_overflow() -> None:
    inputs = graph()
    inputs["attn_bias"] = inputs["attn_bias"] * 1e4
    assert_backends_equal(inputs, ("reference", "scatter"))
