from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from graphdep.nn.attention import AttentionLayout, edge_attention
from graphdep.nn.attention import segment as segment_reductions
from graphdep.nn.attention.segment import ScatterReductions, SegmentReductions, segment_attention
from tests.kit.backends import assert_backends_equal, random_states

# Node 4 reads nothing, 5 is read by nobody, 0 reads 1 twice.
EDGES = torch.tensor([[1, 1, 3, 0, 2, 2, 4, 1], [0, 0, 1, 2, 2, 3, 3, 5]])


def graph(**changes) -> dict:
    generator = torch.Generator().manual_seed(0)
    return {**random_states(6, 8, generator=generator), "edge_index": EDGES, **changes}


@pytest.fixture(params=["index_add", "segment_reduce"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """What the CPU does, and on the CPU what other devices do."""
    if request.param == "segment_reduce":
        monkeypatch.setattr("graphdep.nn.attention.segment.adds_in_order", lambda rows: False)
    return request.param


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("clique", [None, torch.tensor([0, 0, -1, 1, 1, -1])], ids=["edges", "clique"])
def test_both_ways_equal_the_reference(way: str, dtype: torch.dtype, clique: torch.Tensor | None) -> None:
    assert_backends_equal(graph(clique=clique), ("reference", "segment"), dtype=dtype)


def test_first_and_second_derivatives(way: str) -> None:
    inputs = graph() | random_states(6, 8, heads=1, channels=2, generator=torch.Generator().manual_seed(0))
    names = [name for name in inputs if name != "edge_index"]

    def attend(*given: torch.Tensor) -> torch.Tensor:
        return edge_attention(**dict(zip(names, given)), edge_index=EDGES, backend="segment")

    given = tuple(inputs[name].requires_grad_() for name in names)
    assert torch.autograd.gradcheck(attend, given)
    assert torch.autograd.gradgradcheck(attend, given, fast_mode=True)


def test_rows_without_a_pair(way: str) -> None:
    out, (_, alpha) = edge_attention(**graph(), backend="segment", return_attention_weights=True)
    assert out[4].abs().sum() == 0
    assert torch.isfinite(out).all()
    assert torch.allclose(
        torch.zeros(6, 2).double().index_add(0, EDGES[1], alpha)[:4], torch.ones(4, 2).double()
    )
    none = {**random_states(3, 0, terms=()), "edge_index": EDGES[:, :0]}
    assert edge_attention(**none, backend="segment").equal(torch.zeros(3, 2, 4).double())


def test_large_scores_do_not_overflow(way: str) -> None:
    inputs = graph()
    inputs["attn_bias"] = inputs["attn_bias"] * 1e4
    assert_backends_equal(inputs, ("reference", "segment"))


def test_twice_the_same_to_the_bit(way: str) -> None:
    generator = torch.Generator().manual_seed(1)
    edges = torch.randint(200, (2, 5000), generator=generator)
    inputs = random_states(200, 0, terms=(), generator=generator)
    found = []
    for _ in range(2):
        given = [x.float().requires_grad_() for x in inputs.values()]
        out = edge_attention(*given, edges, backend="segment")
        found.append([out, *torch.autograd.grad(out.sin().sum(), given)])
    assert all(first.equal(second) for first, second in zip(*found))


@pytest.mark.scatter
def test_torch_scatter_gives_the_same() -> None:
    layout = AttentionLayout(EDGES, 6)
    states = list(random_states(6, 0, terms=()).values())
    own, other = (segment_attention(*states, layout, None, None, None, 0.0, way) for way in (False, True))
    for mine, its in zip(own, other):
        torch.testing.assert_close(mine, its, rtol=0, atol=1e-12)


# -- reductions ------------------------------------------------------------------------------------------


@st.composite
def runs(draw: st.DrawFn) -> tuple[Tensor, list[int]]:
    """Rows ``[R, 2, 3]`` of whole numbers, and how many each run has."""
    sizes = draw(st.lists(st.integers(0, 4), min_size=1, max_size=6))
    seed = draw(st.integers(0, 9))
    rows = torch.randint(-9, 9, (sum(sizes), 2, 3), generator=torch.Generator().manual_seed(seed))
    return rows.double(), sizes


def reductions(sizes: list[int]) -> SegmentReductions:
    size = torch.tensor(sizes)
    rowptr = torch.cat([torch.zeros(1, dtype=torch.long), size.cumsum(0)])
    return SegmentReductions(torch.arange(len(sizes)).repeat_interleave(size), rowptr)


def check(by: SegmentReductions | ScatterReductions, rows: Tensor, sizes: list[int], empty: float) -> None:
    parts = rows.split(sizes)
    rows = rows.clone().requires_grad_()
    assert by.sum(rows).equal(torch.stack([part.sum(0) for part in parts]))
    greatest = [part.amax(0) if len(part) else torch.full((2, 3), empty).double() for part in parts]
    assert by.max(rows.detach()).equal(torch.stack(greatest))
    spread = by.spread(by.sum(rows))
    assert spread.equal(torch.cat([part.sum(0).expand_as(part) for part in parts]))
    (grad,) = torch.autograd.grad(spread.sum(), rows)  # a row is in as many sums as its run has rows
    assert grad.equal(torch.cat([torch.full_like(part, len(part)) for part in parts]))


@given(runs())
def test_runs_reduce_as_in_a_loop(drawn: tuple[Tensor, list[int]]) -> None:
    rows, sizes = drawn
    check(reductions(sizes), rows, sizes, float("-inf"))


@given(runs())
def test_where_index_add_adds_in_any_order(drawn: tuple[Tensor, list[int]]) -> None:
    rows, sizes = drawn
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segment_reductions, "adds_in_order", lambda rows: False)
        check(reductions(sizes), rows, sizes, float("-inf"))


@pytest.mark.scatter
@given(runs())
def test_torch_scatter_reduces_alike(drawn: tuple[Tensor, list[int]]) -> None:
    rows, sizes = drawn
    check(ScatterReductions(*reductions(sizes)), rows, sizes, 0.0)
