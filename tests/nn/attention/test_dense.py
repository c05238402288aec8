from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd import gradcheck
from torch_geometric.utils import cumsum

from graphdep.nn.attention import AttentionLayout, edge_attention, packed_attention
from graphdep.nn.attention.dense import PackedLayout
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


# -- packed ----------------------------------------------------------------------------------------------


SIZES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=6)


def states(num_rows: int, dtype: torch.dtype = torch.float64, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(num_rows, 3, 4, dtype=torch.float64, generator=generator).to(dtype)


def make(sizes: list[tuple[int, int]], dtype: torch.dtype = torch.float64) -> tuple[Tensor, ...]:
    query_ptr, key_ptr = (cumsum(torch.tensor([pair[i] for pair in sizes])) for i in range(2))
    q, k, v = (states(int(ptr[-1]), dtype, seed) for seed, ptr in enumerate((query_ptr, key_ptr, key_ptr)))
    return q, k, v, query_ptr, key_ptr


def slow(
    query: Tensor, key: Tensor, value: Tensor, query_ptr: Tensor, key_ptr: Tensor, *, causal: bool = False
) -> Tensor:
    """One query of one head after the other."""
    out = torch.zeros_like(query)
    bounds = [*zip(query_ptr.tolist(), query_ptr[1:].tolist(), key_ptr.tolist(), key_ptr[1:].tolist())]
    for first, last, start, end in bounds:
        for i in range(first, last):
            until = start + i - first + 1 if causal else end
            for h in range(query.size(1)):
                if until > start:
                    score = key[start:until, h] @ query[i, h] / query.size(-1) ** 0.5
                    out[i, h] = score.softmax(0) @ value[start:until, h]
    return out


@settings(max_examples=25)
@given(SIZES, st.booleans(), st.sampled_from(["cpu", "cuda"]))
def test_equals_one_query_after_the_other(sizes: list[tuple[int, int]], causal: bool, device: str) -> None:
    if causal:
        sizes = [(queries, queries) for queries, _ in sizes]
    q, k, v, *ptr = make(sizes)
    results = []
    for attend in (packed_attention, slow):
        leaves = [x.clone().requires_grad_() for x in (q, k, v)]
        bounds = ptr if attend is slow else [PackedLayout(*ptr, device=device)]
        out = attend(*leaves, *bounds, causal=causal)
        out = out + 0 * torch.cat(leaves).sum()  # where nothing sees anything, there is no gradient otherwise
        grads = torch.autograd.grad(out, leaves, states(q.size(0), seed=9))
        results.append((out, *grads))
    for got, expected in zip(*results):
        assert torch.allclose(got, expected, atol=1e-12)


@pytest.mark.parametrize("causal", [False, True])
def test_bfloat16(causal: bool) -> None:
    q, k, v, *ptr = make([(5, 5), (1, 1), (9, 9), (6, 6)], torch.bfloat16)
    out = packed_attention(q, k, v, tuple(ptr), causal=causal)
    assert out.dtype == torch.bfloat16
    expected = slow(q.double(), k.double(), v.double(), *ptr, causal=causal)
    assert torch.allclose(out.double(), expected, atol=3e-2)


def test_similar_examples_share_a_block() -> None:
    """Padding stays below a factor of 2 on each side, and a batch makes only a few blocks."""
    generator = torch.Generator().manual_seed(0)
    sizes = torch.randint(1, 60, (2, 200), generator=generator)
    layout = PackedLayout(*(cumsum(row) for row in sizes))
    assert len(layout.blocks) <= 49
    places = sum(examples * queries * keys for (examples, queries, keys) in (b.shape for b in layout.blocks))
    assert places <= 2.5 * int((sizes[0] * sizes[1]).sum())


def test_dropout_drops_weights() -> None:
    q, k, _, *ptr = make([(40, 40), (40, 40)])
    torch.manual_seed(0)
    out = packed_attention(q, k, torch.ones_like(k), tuple(ptr), dropout_p=0.5)
    assert out.std() > 0.05
    assert abs(float(out.mean()) - 1) < 0.1


def test_a_layout_can_be_shared() -> None:
    q, k, v, *ptr = make([(2, 3), (4, 1)])
    layout = PackedLayout(*ptr)
    assert repr(layout) == "PackedLayout(6 queries, 4 keys, blocks=2)"
    assert torch.equal(packed_attention(q, k, v, layout), packed_attention(q, k, v, tuple(ptr)))
    with pytest.raises(ValueError, match=r"6 queries and 4 keys \(got 6 and 3\)"):
        packed_attention(q, k[:3], v[:3], layout)
    with pytest.raises(TypeError):  # a layout and bounds, which need not agree
        packed_attention(q, k, v, *ptr, layout=layout)


def test_wrong_input() -> None:
    q, k, v, *ptr = make([(2, 3)])
    with pytest.raises(ValueError, match=r"'value' must be of shape \[3, 3, 4\] \(got \[2, 3, 4\]\)"):
        packed_attention(q, k, v[:2], tuple(ptr))
    with pytest.raises(ValueError, match="as many keys as queries"):
        packed_attention(q, k, v, tuple(ptr), causal=True)
    with pytest.raises(ValueError, match=r"'key_ptr' must be of shape \[2\] \(got \[3\]\)"):
        packed_attention(q, k, v, (ptr[0], torch.tensor([0, 1, 3])))
    with pytest.raises(ValueError, match=r"'dropout_p' must be between 0 and 1 \(got 2\)"):
        packed_attention(q, k, v, tuple(ptr), dropout_p=2)


def test_a_gpu_has_one_block_whose_sizes_are_powers_of_two() -> None:
    ptr, keys = cumsum(torch.tensor([1, 9, 40])), cumsum(torch.tensor([2, 3, 4]))
    (block,) = PackedLayout(ptr, keys, device="cuda").blocks
    assert block.shape == (3, 64, 16)
    assert block.mask is not None  # as in any other batch of these sizes
    assert block.mask.sum() == 2 + 3 + 4
    assert len(PackedLayout(ptr, ptr).blocks) == 3
