"""The kernels on a GPU, or on the CPU under Triton's interpreter, for which the last test of this file asks.

The interpreter multiplies bfloat16 wrongly: that type is for the GPU alone.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from graphdep.nn.attention import AttentionLayout, edge_attention
from graphdep.nn.attention import tiles as tiles_module
from graphdep.nn.attention.fused import fused_attention as module
from tests.kit.backends import assert_backends_equal, assert_close, random_graph, random_states, run_backend

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = "cpu" if INTERPRETED else "cuda"
DTYPES = [torch.float32, torch.float16, *([] if INTERPRETED else [torch.bfloat16])]
TERMS = ("attn_bias", "score_scale", "edge_key", "edge_value")
# Rows of a tile, by which all blocks go to one kernel: with none, every block is a long one.
KERNELS = {"tile": 64, "flash": 0}
each_kernel = pytest.mark.parametrize("kernel", KERNELS)
each_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)
kernels = pytest.mark.kernels


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch):
    """Sends all blocks to one kernel."""

    def choose(kernel: str) -> None:
        monkeypatch.setattr(tiles_module, "_tile_rows", lambda size: KERNELS[kernel])

    return choose


def case(graph: dict, terms=TERMS, heads: int = 2, channels: int = 20, seed: int = 0) -> dict:
    sizes = (int(graph["ptr"][-1]), graph["edge_index"].size(1))
    generator = torch.Generator().manual_seed(seed)
    states = random_states(*sizes, heads=heads, channels=channels, terms=terms, generator=generator)
    inputs = {name: x.float() for name, x in states.items()} | graph
    return {name: x if x is None else x.to(DEVICE) for name, x in inputs.items()}


def layout_of(inputs: dict) -> AttentionLayout:
    return AttentionLayout(
        inputs["edge_index"], inputs["query"].size(0), clique=inputs["clique"], ptr=inputs["ptr"]
    )


# -- equality with the reference ---------------------------------------------------------------------------


@kernels
@settings(max_examples=25)
@given(
    sizes=st.lists(st.integers(1, 80), min_size=1, max_size=3),
    degree=st.floats(0.0, 4.0),
    graph=st.fixed_dictionaries({name: st.booleans() for name in ("clique", "hub", "shuffled")}),
    terms=st.sets(st.sampled_from(TERMS)),
    seed=st.integers(0, 100),
)
def test_equals_the_reference(sizes, degree, graph, terms, seed):
    inputs = case(random_graph(sizes, degree=degree, seed=seed, **graph), terms, heads=1, channels=8)
    assert_backends_equal(inputs, ("reference", "triton"))


@kernels
@each_dtype
@each_kernel
def test_equals_the_reference_for_any_size_of_head(only, kernel, dtype):
    only(kernel)
    graph = random_graph([9, 1, 5], shuffled=True, hub=True, clique=True)
    for channels in (20, 48, 50, 64):
        assert_backends_equal(case(graph, heads=1, channels=channels), ("reference", "triton"), dtype=dtype)


@kernels
@each_kernel
def test_equals_the_reference_with_any_term(only, kernel):
    only(kernel)
    for terms in ((), *((name,) for name in TERMS)):
        assert_backends_equal(case(random_graph([17, 5]), terms), ("reference", "triton"))


@kernels
@each_dtype
def test_equals_the_reference_beyond_a_tile(dtype):
    mixed = random_graph([5, 70, 90], degree=1.0, hub=True, shuffled=True)
    clique = random_graph([70, 5], clique=True)
    hub = random_graph([80], degree=0.5, hub=True)
    for graph in (mixed, clique, hub):
        inputs = case(graph, ("attn_bias", "score_scale"), heads=1)
        assert layout_of(inputs).tiles.flash.numel() > 0
        assert_backends_equal(inputs, ("reference", "triton"), dtype=dtype)


@kernels
@each_kernel
def test_rows_without_sources_get_zeros(only, kernel):
    only(kernel)
    graph = {"edge_index": torch.tensor([[1], [3]]), "clique": None, "ptr": torch.tensor([0, 20])}
    result = run_backend("triton", case(graph))
    assert [*result["output"].abs().sum((1, 2)).nonzero().view(-1)] == [3]
    assert all(bool(x.isfinite().all()) for x in result.values())


@kernels
@each_kernel
def test_terms_of_edges_that_no_byte_names_have_zero_gradients(only, kernel):
    """As those have that fill a batch up to a capacity."""
    only(kernel)
    inputs = case(random_graph([9, 3], shuffled=True), ("attn_bias", "score_scale"))
    tiles, states = layout_of(inputs).tiles, [inputs[name] for name in ("query", "key", "value")]
    terms = [inputs[name] for name in ("attn_bias", "score_scale")]
    grads = []
    for some in (terms, [torch.cat([x, x.new_ones(5, 2)]) for x in terms]):
        leaves = [x.clone().requires_grad_() for x in (*states, *some)]
        out, _ = module.fused_attention(*leaves[:3], tiles, *leaves[3:], 0.0, 0)
        grads.append(torch.autograd.grad(out.sin().sum(), leaves))
    for own, filled in zip(*grads):
        assert torch.equal(filled[: len(own)], own)
        assert not filled[len(own) :].any()


@kernels
@pytest.mark.parametrize("rows", [16, 64])
def test_fixed_rows_and_empty_tiles_change_nothing(rows):
    inputs = case(random_graph([9, 20, 3]), ("attn_bias", "score_scale"), heads=1)
    layout = layout_of(inputs)
    tiles = layout._tiles(rows)
    assert (tiles.flash.size(0) > 0) == (rows < 20)
    more = {name: getattr(tiles, name) for name in ("tile", "slot", "flash")}
    more = {name: F.pad(x, (0, 0) * (x.dim() - 1) + (0, 3)) for name, x in more.items()}
    results = []
    for given_tiles in (layout.tiles, replace(tiles, **more)):
        names = ("query", "key", "value", "attn_bias", "score_scale")
        leaves = [inputs[name].clone().requires_grad_() for name in names]
        out, _ = module.fused_attention(*leaves[:3], given_tiles, *leaves[3:], 0.0, 0)
        grads = torch.autograd.grad(out.sin().sum(), leaves)
        results.append({"output": out.detach()} | dict(zip(names, grads)))
    assert_close(results[1], results[0], 2e-5, f"{rows} rows")


@kernels
@each_kernel
def test_large_scores_stay_finite(only, kernel):
    only(kernel)
    for size in (1e4, -1e4):
        inputs = case(random_graph([9, 3]))
        inputs["attn_bias"] = inputs["attn_bias"] * size
        assert_backends_equal(inputs, ("reference", "triton"))


@kernels
@each_kernel
@each_dtype
def test_gradients_of_sharp_weights_are_no_noise(only, kernel, dtype):
    """Equal values: whatever the weights are, the output is the same, and the true gradients are zero."""
    only(kernel)
    inputs = case(random_graph([20], degree=8.0), terms=(), heads=1, channels=48)
    inputs["query"] = inputs["query"] * 100
    inputs["value"] = inputs["value"][:1].expand(20, -1, -1).contiguous()
    result = run_backend("triton", inputs, dtype)
    # As large as what the gradient of a score is multiplied with, times the rounding of 32 bits.
    assert float(result["grad query"].abs().max()) < 1e-4
    assert float(result["grad key"].abs().max()) < 1e-2


@kernels
@each_kernel
def test_states_may_be_views(only, kernel):
    only(kernel)
    inputs = case(random_graph([9, 3]))
    expected = run_backend("triton", inputs)
    joined = torch.stack([inputs[name] for name in ("query", "key", "value")], dim=1)
    views = inputs | dict(zip(("query", "key", "value"), joined.unbind(1)))
    torch.testing.assert_close(edge_attention(**views, backend="triton"), expected["output"])
    swapped = {name: inputs[name].mT.contiguous().mT for name in ("query", "key", "value")}
    assert not swapped["query"].is_contiguous()
    torch.testing.assert_close(edge_attention(**(inputs | swapped), backend="triton"), expected["output"])


@kernels
def test_two_runs_are_equal_to_the_bit():
    inputs = case(random_graph([30, 70, 90], degree=0.5, hub=True), heads=1)
    first, second = (run_backend("triton", inputs, torch.float16) for _ in range(2))
    assert all(torch.equal(first[name], second[name]) for name in first)


@kernels
def test_terms_of_higher_precision_do_not_change_the_type():
    inputs = case(random_graph([9]))
    states = {name: inputs[name].half() for name in ("query", "key", "value")}
    leaves = {name: inputs[name].requires_grad_() for name in TERMS}
    out = edge_attention(**(inputs | states | leaves), backend="triton")
    assert out.dtype == torch.float16
    grads = torch.autograd.grad(out.float().sin().sum(), [*leaves.values()])
    assert {grad.dtype for grad in grads} == {torch.float32}


# -- weights -----------------------------------------------------------------------------------------------


@kernels
@each_kernel
def test_weights_of_the_edges_and_their_gradients(only, kernel):
    only(kernel)
    grads = []
    for backend in ("reference", "triton"):
        inputs = case(random_graph([9, 20], shuffled=True))
        leaves = [inputs[name].clone().requires_grad_() for name in ("query", "key", "value", *TERMS)]
        inputs |= dict(zip(("query", "key", "value", *TERMS), leaves))
        out, (pairs, alpha) = edge_attention(**inputs, return_attention_weights=True, backend=backend)
        assert torch.equal(pairs, inputs["edge_index"])
        loss = (alpha * torch.arange(alpha.numel(), device=DEVICE).view_as(alpha).cos()).sum()
        grads.append(
            {"alpha": alpha.detach()} | dict(enumerate(torch.autograd.grad(loss + out.sum(), leaves)))
        )
    assert_close(grads[1], grads[0], 2e-5, kernel)


@kernels
def test_weights_of_cliques_and_before_dropout_come_with_all_pairs():
    inputs = case(random_graph([9], clique=True))
    _, (pairs, alpha) = edge_attention(**inputs, return_attention_weights=True, backend="triton")
    expected = edge_attention(**inputs, return_attention_weights=True, backend="reference")[1]
    assert torch.equal(pairs, expected[0])
    torch.testing.assert_close(alpha, expected[1])


# -- dropout -----------------------------------------------------------------------------------------------


def used_weights(inputs: dict, p: float, seed: int, **changes) -> torch.Tensor:
    """The weights that were used, by a value of each source that names it, ``[nodes, heads, nodes]``."""
    size = inputs["query"].size(0)
    value = torch.eye(size, device=DEVICE)[:, None].expand(-1, inputs["query"].size(1), -1).contiguous()
    pad = [0, size - inputs["query"].size(2)]
    states = {name: torch.nn.functional.pad(inputs[name], pad) for name in ("query", "key")}
    torch.manual_seed(seed)
    return edge_attention(**(inputs | states | {"value": value} | changes), dropout_p=p, backend="triton")


@kernels
@each_kernel
def test_dropout_drops_its_share_and_keeps_the_mean(only, kernel):
    only(kernel)
    inputs = case(random_graph([20], degree=20.0), (), channels=8)
    weight, p = used_weights(inputs, 0.0, 0), 0.25
    used = used_weights(inputs, p, 1)
    assert torch.equal(used_weights(inputs, p, 1), used)
    assert not torch.equal(used_weights(inputs, p, 2), used)
    dropped = used == 0
    torch.testing.assert_close(used[~dropped], (weight / (1 - p))[~dropped])
    for where in (dropped, dropped[:, 0], dropped[:, :, :7], dropped[5:9]):  # nowhere more than elsewhere
        share = float(where.double().mean())
        assert abs(share - p) < 5 * (p * (1 - p) / where.numel()) ** 0.5
    assert not torch.equal(dropped[:, 0], dropped[:, 1])


@kernels
def test_tile_and_flash_drop_the_same(only):
    inputs = case(random_graph([40], clique=True), (), channels=8)
    dropped = []
    for kernel in ("tile", "flash"):
        only(kernel)
        dropped.append(used_weights(inputs, 0.5, 3) == 0)
    assert torch.equal(*dropped)


@kernels
@each_kernel
def test_the_gradient_of_dropout_uses_the_mask_of_the_forward_pass(only, kernel):
    only(kernel)
    inputs = case(random_graph([13, 9], degree=6.0, shuffled=True), channels=22)
    del inputs["edge_key"], inputs["edge_value"]
    target, source = inputs["edge_index"].flip(0)
    weights = [used_weights(inputs, p, 4)[target, :, source] for p in (0.0, 0.4)]
    mask = (weights[1] > 0) / 0.6
    names = ("query", "key", "value", "attn_bias", "score_scale")
    grads = []
    for backend in ("reference", "triton"):
        leaves = {name: inputs[name].clone().requires_grad_() for name in names}
        torch.manual_seed(4)
        arguments = inputs | leaves
        if backend == "triton":
            out = edge_attention(**arguments, dropout_p=0.4, backend="triton")
        else:  # its weights, with the mask put on by hand
            _, (_, alpha) = edge_attention(**arguments, return_attention_weights=True, backend="reference")
            message = (alpha * mask)[:, :, None] * leaves["value"][source]
            out = torch.zeros_like(inputs["query"]).index_add(0, target, message)
        result = torch.autograd.grad(out.sin().sum(), [*leaves.values()])
        grads.append({"output": out.detach()} | dict(zip(names, result)))
    assert_close(grads[1], grads[0], 2e-5, kernel)


@kernels
@each_kernel
def test_dropout_of_everything(only, kernel):
    only(kernel)
    result = run_backend("triton", case(random_graph([9, 3])) | {"dropout_p": 1.0})
    assert all(not x.any() for x in result.values())


# -- torch.compile -----------------------------------------------------------------------------------------


def loss(query, key, value, bias, layout, p: float = 0.0) -> torch.Tensor:
    out = edge_attention(
        query, key, value, layout.edge_index, attn_bias=bias, layout=layout, dropout_p=p, backend="triton"
    )
    return out.sin().sum()


@kernels
# Dynamo itself makes one while it traces.
@pytest.mark.filterwarnings("ignore:.* should not be instantiated:DeprecationWarning")
def test_compile_passes_through():
    inputs = case(random_graph([9, 20], clique=True), ("attn_bias",))
    leaves = [inputs[name].requires_grad_() for name in ("query", "key", "value", "attn_bias")]
    layout = layout_of(inputs)
    assert layout.tiles.refusal(numbered=True) is None
    expected = torch.autograd.grad(loss(*leaves, layout), leaves)
    compiled = torch.compile(loss, backend="aot_eager", fullgraph=True)
    got = torch.autograd.grad(compiled(*leaves, layout), leaves)
    assert all(torch.equal(a, b) for a, b in zip(got, expected))
    assert bool(compiled(*leaves, layout, 0.5).isfinite())


# Dynamo itself makes one while it traces.
@pytest.mark.filterwarnings("ignore:.* should not be instantiated:DeprecationWarning")
def test_compile_traces_tiles_that_nobody_has_used(monkeypatch):
    """As a batch's are; its kernels here add up what they get, so that nothing but torch is needed."""

    def forward(query, key, value, *rest):
        return query + key + value, query.new_zeros(rest[-1], query.size(1)), query.new_zeros(query.shape[:2])

    def backward(grad_out, grad_alpha, *rest):
        return *(grad_out.clone() for _ in range(3)), *(grad_out.new_empty(0) for _ in range(2))

    monkeypatch.setattr(module, "_launch", lambda: SimpleNamespace(forward=forward, backward=backward))
    inputs = random_graph([9, 20])
    states = [torch.randn(29, 2, 4, requires_grad=True) for _ in range(3)]

    def call(query, key, value, tiles):
        return module.fused_attention(query, key, value, tiles, None, None, 0.0, 0)[0].sin().sum()

    results = []
    for function in (call, torch.compile(call, backend="aot_eager", fullgraph=True)):
        layout = AttentionLayout(inputs["edge_index"], 29, ptr=inputs["ptr"])
        results.append(torch.autograd.grad(function(*states, layout.tiles), states))
    assert all(torch.equal(a, b) for a, b in zip(*results))


@kernels
def test_compile_knows_the_shapes():
    inputs = case(random_graph([9, 70]), ("attn_bias",))
    tiles = layout_of(inputs).tiles.tensors
    args = [inputs[name] for name in ("query", "key", "value", "attn_bias")]
    for weights in (0, inputs["edge_index"].size(1)):
        call = (*args, None, None, tiles, 0.0, weights)
        utils = ("test_schema", "test_faketensor")
        torch.library.opcheck(torch.ops.graphdep.fused_attention.default, call, test_utils=utils)


@kernels
def test_there_is_no_second_derivative():
    inputs = case(random_graph([5]), ())
    query = inputs["query"].requires_grad_()
    out = edge_attention(**(inputs | {"query": query}), backend="triton")
    with pytest.raises(RuntimeError, match="no second derivative: use backend='reference'"):
        torch.autograd.grad(out.sum(), query, create_graph=True)


@pytest.mark.cuda
@pytest.mark.triton
def test_nothing_waits_for_the_device():
    inputs = case(random_graph([30, 90], degree=2.0), ("attn_bias",))
    layout = layout_of(inputs)
    leaves = [inputs[name].requires_grad_() for name in ("query", "key", "value", "attn_bias")]
    loss(*leaves, layout, 0.1).backward()  # compiles
    torch.cuda.set_sync_debug_mode("error")
    try:
        loss(*leaves, layout, 0.1).backward()
    finally:
        torch.cuda.set_sync_debug_mode("default")


# -- what is refused ---------------------------------------------------------------------------------------


@kernels
def test_what_cannot_be_served_is_named():
    def attend(graph=None, **changes):
        edge_attention(**(case(graph or random_graph([5])) | changes), backend="triton")

    with pytest.raises(ValueError, match="backend='triton' serves float32, float16 and bfloat16 .*float64"):
        inputs = case(random_graph([5]), ())
        attend(**{name: x.double() for name, x in inputs.items() if name in ("query", "key", "value")})
    with pytest.raises(
        ValueError, match=r"backend='triton' serves at most 128 channels per head \(got 130\)"
    ):
        edge_attention(**case(random_graph([5]), channels=130), backend="triton")
    twice = {"edge_index": torch.zeros(2, 2).long(), "clique": torch.zeros(3).long()}
    with pytest.raises(ValueError, match="backend='triton' cannot serve repeated edges: coalesce"):
        attend(twice | {"ptr": torch.tensor([0, 3])})
    star = torch.stack([torch.arange(300), torch.zeros(300).long()])
    many = {"edge_index": star, "clique": torch.zeros(300).long(), "ptr": torch.tensor([0, 300])}
    with pytest.raises(ValueError, match="cannot serve more than 254 edges with terms or weights in one row"):
        attend(many)


@pytest.mark.parametrize(
    ("installed", "interpreted", "reason"),
    [
        (False, False, "needs triton, .*pip install.* and a CUDA device"),
        (True, False, r"needs a CUDA device \(got cpu\)"),
    ],
)
def test_what_is_missing_is_named(monkeypatch, installed, interpreted, reason):
    monkeypatch.setattr(module, "INSTALLED", installed)
    monkeypatch.setattr(module, "INTERPRETED", interpreted)
    for nodes in (0, 3):  # also where there is nothing to do
        states = [torch.zeros(nodes, 1, 4)] * 3
        with pytest.raises(ValueError, match=f"backend='triton' {reason}"):
            edge_attention(*states, torch.zeros(2, 0, dtype=torch.long), backend="triton")


def test_auto_does_not_take_it_on_the_cpu(monkeypatch):
    called = []
    edge = importlib.import_module("graphdep.nn.attention.edge_attention")
    monkeypatch.setattr(edge, "fused_attention", lambda *_: called.append(1))
    states = torch.ones(3, 1, 4)
    edge_attention(states, states, states, torch.tensor([[0, 1], [1, 2]]))
    assert not called


# -- interpreter -----------------------------------------------------------------------------------------


ROOT = Path(__file__).parents[4]


@pytest.mark.triton
@pytest.mark.skipif(os.environ.get("TRITON_INTERPRET") == "1", reason="the interpreter is on already")
def test_the_kernels_pass_under_the_interpreter():
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    env |= {"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, "-m", "pytest", "-q", "-m", "kernels", "-p", "no:cacheprovider"]
    folder = Path(__file__).parent.relative_to(ROOT)
    command += [str(folder), "tests/nn/test_graphed_step.py"]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    assert " passed" in done.stdout
