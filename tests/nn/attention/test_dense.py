from __future__ import annotations

import pytest
import torch
from torch.autograd import gradcheck

from graphdep.nn.attention import AttentionLayout, edge_attention
from tests.kit.backends import random_states

# Two blocks of different size in one bucket (padding), a clique that two edges overlap, a row with no pair.
EDGES = torch.tensor([[1, 0, 4, 6], [0, 2, 3, 6]])
CLIQUE = torch.tensor([0, 0, -1, 0, 0, 1, -1, -1])
PTR = torch.tensor([0, 3, 8])
TERMS = ("attn_bias", "score_scale")


@pytest.mark.parametrize(("clique", "terms"), [(None, TERMS), (CLIQUE, TERMS), (CLIQUE, ())])
def test_gradients_under_dropout(clique, terms: tuple[str, ...]) -> None:
    """Without dropout they are those of the other backends."""
    inputs = random_states(8, 4, heads=1, channels=2, terms=terms, generator=torch.Generator().manual_seed(1))
    layout = AttentionLayout(EDGES, 8, clique=clique, ptr=PTR)

    def attend(*tensors: torch.Tensor) -> torch.Tensor:
        torch.manual_seed(0)  # the same weights are dropped every time
        named = dict(zip(inputs, tensors))
        return edge_attention(**named, edge_index=EDGES, layout=layout, dropout_p=0.5, backend="dense")

    assert gradcheck(attend, [x.requires_grad_() for x in inputs.values()])


def test_gradients_with_weights() -> None:
    inputs = random_states(8, 4, heads=1, channels=2, generator=torch.Generator().manual_seed(1))

    def attend(*tensors: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        named = dict(zip(inputs, tensors))
        out, (_, alpha) = edge_attention(
            **named, edge_index=EDGES, return_attention_weights=True, backend="dense"
        )
        return out, alpha

    assert gradcheck(attend, [x.requires_grad_() for x in inputs.values()])


@pytest.mark.parametrize("needed", ["query", "key", "value", *TERMS])
def test_gradients_of_one_input_alone(needed: str) -> None:
    inputs = random_states(8, 4, terms=TERMS)
    grads = {}
    for backend in ("reference", "dense"):
        leaf = inputs[needed].clone().requires_grad_()
        out = edge_attention(
            **(inputs | {needed: leaf}), edge_index=EDGES, clique=CLIQUE, ptr=PTR, backend=backend
        )
        (grads[backend],) = torch.autograd.grad(out.sin().sum(), leaf)
    torch.testing.assert_close(grads["dense"], grads["reference"], rtol=0, atol=1e-12)


def test_the_backward_pass_can_run_twice() -> None:
    inputs = {name: x.requires_grad_() for name, x in random_states(8, 4, terms=TERMS).items()}
    out, (_, alpha) = edge_attention(
        **inputs, edge_index=EDGES, return_attention_weights=True, backend="dense"
    )
    loss = out.sin().sum() + alpha.square().sum()
    first = torch.autograd.grad(loss, [*inputs.values()], retain_graph=True)
    second = torch.autograd.grad(loss, [*inputs.values()])
    assert all(torch.equal(a, b) for a, b in zip(first, second))


def test_second_derivatives_are_refused() -> None:
    inputs = {name: x.requires_grad_() for name, x in random_states(8, 4, terms=TERMS).items()}
    out = edge_attention(**inputs, edge_index=EDGES, clique=CLIQUE, ptr=PTR, backend="dense")
    for loss in (out.sum(), out.sin().sum()):  # the gradient of the first needs no graph of its own
        with pytest.raises(RuntimeError, match="no second derivative: use backend='reference'"):
            torch.autograd.grad(loss, inputs["query"], create_graph=True)


def test_autocast_changes_neither_result_nor_gradients() -> None:
    inputs = {name: x.float().requires_grad_() for name, x in random_states(8, 4, terms=TERMS).items()}

    def attend() -> list[torch.Tensor]:
        out = edge_attention(**inputs, edge_index=EDGES, clique=CLIQUE, ptr=PTR, backend="dense")
        return [out, *torch.autograd.grad(out.sin().sum(), [*inputs.values()])]

    plain = attend()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        cast = attend()
    assert all(torch.equal(a, b) for a, b in zip(plain, cast))
