from __future__ import annotations

import importlib
import math
from importlib.util import find_spec
from itertools import pairwise
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric import EdgeIndex

from graphdep.nn.attention import AttentionLayout, EdgeTerms, edge_attention
from graphdep.nn.attention.dispatch import auto_backend
from graphdep.nn.attention.edge_attention import _choose
from tests.kit.backends import DIFFERENTIABLE, assert_backends_equal, assert_close, random_states, run_backend
from tests.kit.slow import assert_same_gradients

BACKENDS = ("reference", "scatter", "dense", "auto")
INSTALLED = tuple(b for b in BACKENDS if b != "scatter" or find_spec("torch_scatter"))
TERMS = ("attn_bias", "score_scale", "edge_key", "edge_value")


def marked(*backends: str):
    marks = [pytest.mark.scatter] if "scatter" in backends else []
    return pytest.param(*backends, marks=marks, id="-".join(backends))


each_backend = pytest.mark.parametrize("backend", [marked(b) for b in BACKENDS])


def edges(*pairs: tuple[int, int]) -> torch.Tensor:
    return torch.tensor(pairs, dtype=torch.long).view(-1, 2).t().contiguous()


def case(num_nodes: int, edge_index, clique=None, ptr=None, terms=TERMS, seed: int = 0, **sizes) -> dict:
    generator = torch.Generator().manual_seed(seed)
    inputs = random_states(num_nodes, edge_index.size(1), terms=terms, generator=generator, **sizes)
    inputs["edge_index"] = edge_index
    inputs["clique"] = None if clique is None else torch.tensor(clique, dtype=torch.long)
    inputs["ptr"] = None if ptr is None else torch.tensor(ptr)
    return inputs


def complete(num_nodes: int, start: int = 0) -> torch.Tensor:
    node = torch.arange(start, start + num_nodes)
    return torch.stack([node.repeat(num_nodes), node.repeat_interleave(num_nodes)])


def star(num_nodes: int) -> torch.Tensor:
    return torch.stack([torch.arange(num_nodes), torch.zeros(num_nodes, dtype=torch.long)])


NONE = edges()
CASES = {
    "some rows empty": case(5, edges((1, 0), (2, 0), (0, 3), (3, 3))),
    "no terms": case(5, edges((1, 0), (2, 0), (0, 3), (3, 3)), terms=()),
    "bias": case(4, edges((1, 0), (2, 0), (0, 2)), terms=("attn_bias",)),
    "scale": case(4, edges((1, 0), (2, 0), (0, 2)), terms=("score_scale",)),
    "key and value": case(4, edges((1, 0), (2, 0), (0, 2)), terms=("edge_key", "edge_value")),
    "unsorted edges": case(6, edges((5, 4), (0, 1), (3, 4), (1, 0), (4, 5), (1, 1), (3, 3), (4, 3))),
    "complete": case(6, complete(6)),
    "one head, one channel": case(4, complete(4), heads=1, channels=1),
    "long row": case(300, star(300), terms=("attn_bias", "score_scale")),
    "clique": case(5, NONE, clique=[0, 0, 0, 0, 0]),
    "clique and edges": case(5, edges((1, 0), (4, 3), (2, 2)), clique=[0] * 5),
    "two cliques, repeated numbers": case(
        7, edges((1, 0), (6, 5)), clique=[0, 0, 1, 0, 0, 1, 1], ptr=[0, 3, 7]
    ),
    "interleaved cliques": case(7, edges((1, 0), (0, 6)), clique=[0, 1, 0, -1, 1, 0, 1]),
    "nodes in no clique": case(5, edges((0, 4)), clique=[-1, 3, 3, -1, -1]),
    "edges across cliques": case(6, edges((0, 3), (4, 1), (1, 2)), clique=[0, 0, 0, 1, 1, 1]),
    "edges across examples": case(6, edges((0, 3), (5, 1)), clique=[0] * 6, ptr=[0, 3, 6]),
    "blocks of many sizes": case(
        1 + 2 + 9 + 30, edges((0, 0), (2, 1), (11, 3)), clique=[0] + [1] * 2 + [2] * 9 + [3] * 30
    ),
    "empty example in the batch": case(4, edges((1, 0)), clique=[0, 0, 0, 0], ptr=[0, 2, 2, 4]),
    "empty graph": case(0, NONE),
    "empty graph with clique": case(0, NONE, clique=[], ptr=[0]),
    "one node": case(1, NONE),
    "one node with loop": case(1, edges((0, 0))),
    "one node in clique": case(1, NONE, clique=[0]),
    "no edges": case(4, NONE),
    "no edges in two examples": case(4, NONE, ptr=[0, 1, 4]),
}
each_case = pytest.mark.parametrize("name", CASES)
DTYPES = [torch.float64, torch.float32, torch.bfloat16]
each_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)


@st.composite
def graphs(draw: st.DrawFn) -> dict:
    sizes = draw(st.lists(st.integers(0, 5), min_size=1, max_size=3))
    num_nodes = sum(sizes)
    node = st.integers(0, max(0, num_nodes - 1))
    pairs = draw(st.lists(st.tuples(node, node), max_size=12 if num_nodes else 0))
    clique = draw(st.none() | st.lists(st.integers(-1, 2), min_size=num_nodes, max_size=num_nodes))
    ptr = None if clique is None else [0, *torch.tensor(sizes).cumsum(0).tolist()]
    terms = draw(st.sets(st.sampled_from(TERMS)))
    return case(num_nodes, edges(*pairs), clique, ptr, terms, seed=draw(st.integers(0, 1000)))


def slow_pairs(inputs: dict) -> list[tuple[int, int, int | None]]:
    """(target, source, number of the edge or None): edges, then the pairs that only a clique has."""
    source, target = inputs["edge_index"].tolist()
    pairs: list[tuple[int, int, int | None]] = [(i, j, e) for e, (j, i) in enumerate(zip(source, target))]
    known = {(i, j) for i, j, _ in pairs}
    num_nodes = inputs["query"].size(0)
    bounds = [0, num_nodes] if inputs.get("ptr") is None else inputs["ptr"].tolist()
    for start, end in pairwise(bounds):
        for i in range(start, end):
            for j in range(start, end):
                same = inputs.get("clique") is not None and inputs["clique"][i] == inputs["clique"][j] >= 0
                if same and (i, j) not in known:
                    pairs.append((i, j, None))
    return pairs


def slow_attention(inputs: dict) -> tuple[torch.Tensor, dict[tuple[int, int], list[float]]]:
    """One target, one head, one score at a time; also the weights by (target, source)."""
    query, key, value = inputs["query"], inputs["key"], inputs["value"]
    out = [[value.new_zeros(value.size(2)) for _ in range(value.size(1))] for _ in range(value.size(0))]
    weights: dict[tuple[int, int], list[float]] = {}
    for i in range(query.size(0)):
        mine = [(j, e) for target, j, e in slow_pairs(inputs) if target == i]
        for h in range(query.size(1) if mine else 0):
            powers, messages = [], []
            for j, e in mine:
                k, v, scale, bias = key[j, h], value[j, h], 1.0, 0.0
                if e is not None:
                    k = k if inputs.get("edge_key") is None else k + inputs["edge_key"][e, h]
                    v = v if inputs.get("edge_value") is None else v + inputs["edge_value"][e, h]
                    scale = scale if inputs.get("score_scale") is None else inputs["score_scale"][e, h]
                    bias = bias if inputs.get("attn_bias") is None else inputs["attn_bias"][e, h]
                score = (
                    scale * sum(query[i, h, c] * k[c] for c in range(k.numel())) / math.sqrt(k.numel()) + bias
                )
                powers.append(score.exp())
                messages.append(v)
            out[i][h] = sum(p * v for p, v in zip(powers, messages)) / sum(powers)
            for (j, _), p in zip(mine, powers):
                weights.setdefault((i, j), []).append(float((p / sum(powers)).detach()))
    stacked = torch.stack([torch.stack(rows) for rows in out]) if out else value.clone()
    return stacked, weights


def slow_result(inputs: dict) -> dict[str, torch.Tensor]:
    """As ``run_backend`` gives it."""
    leaves = {n: inputs[n].clone().requires_grad_() for n in DIFFERENTIABLE if inputs.get(n) is not None}
    out = slow_attention(inputs | leaves)[0]
    weighting = torch.randn(out.shape, generator=torch.Generator().manual_seed(0)).to(out)
    grads = torch.autograd.grad(
        out + 0 * leaves["query"], [*leaves.values()], weighting, allow_unused=True, materialize_grads=True
    )
    return {"output": out.detach(), **{f"grad {name}": grad for name, grad in zip(leaves, grads)}}


@each_case
def test_backends_agree(name: str) -> None:
    for dtype in DTYPES:
        assert_backends_equal(CASES[name], INSTALLED, dtype=dtype)


@each_case
def test_equals_the_slow_loop(name: str) -> None:
    if name not in ("long row", "blocks of many sizes"):  # too slow
        expected = slow_result(CASES[name])
        for backend in INSTALLED:
            assert_close(run_backend(backend, CASES[name]), expected, 1e-10, backend)


@settings(max_examples=30)
@given(graphs())
def test_equals_the_slow_loop_on_any_graph(inputs: dict) -> None:
    expected = slow_result(inputs)
    pairs = [tuple(pair) for pair in inputs["edge_index"].t().tolist()]
    for backend in INSTALLED:
        if backend == "dense" and len(set(pairs)) < len(pairs):
            with pytest.raises(ValueError, match="repeated edges"):
                run_backend(backend, inputs)
        else:
            assert_close(run_backend(backend, inputs), expected, 1e-10, backend)


@each_backend
def test_repeated_edges_are_two_edges(backend: str) -> None:
    inputs = case(3, edges((1, 0), (1, 0), (2, 0), (0, 1)))
    for clique in (None, torch.tensor([0, -1, 0])):
        inputs["clique"] = clique
        if backend == "dense":
            with pytest.raises(ValueError, match="backend='dense' cannot serve repeated edges"):
                edge_attention(**inputs, backend=backend)
            with pytest.raises(ValueError, match="backend='dense' cannot serve repeated edges"):
                edge_attention(**inputs, backend=backend, return_attention_weights=True)
        else:
            assert_close(run_backend(backend, inputs), slow_result(inputs), 1e-12, backend)


@pytest.mark.parametrize("backend", INSTALLED)
def test_large_scores_stay_finite(backend: str) -> None:
    for dtype in DTYPES:
        check_large_scores_stay_finite(backend, dtype)


def check_large_scores_stay_finite(backend: str, dtype: torch.dtype) -> None:
    for size in (1e4, -1e4):
        check_large_scores(backend, dtype, size)
    inputs = CASES["clique and edges"] | {"attn_bias": CASES["clique and edges"]["attn_bias"] * 1e4}
    assert_backends_equal(inputs, ("reference", backend))


def check_large_scores(backend: str, dtype: torch.dtype, size: float) -> None:
    for name in ("some rows empty", "clique and edges", "unsorted edges"):
        inputs = CASES[name] | {"attn_bias": CASES[name]["attn_bias"] * size}
        assert all(bool(x.isfinite().all()) for x in run_backend(backend, inputs, dtype).values())
        inputs = CASES[name] | {"query": CASES[name]["query"] * size}
        assert all(bool(x.isfinite().all()) for x in run_backend(backend, inputs, dtype).values())
    two = edges((0, 0), (1, 0))
    bias = torch.tensor([[size], [0.0]], dtype=dtype)
    states = (
        torch.ones(2, 1, 1, dtype=dtype),
        torch.ones(2, 1, 1, dtype=dtype),
        torch.tensor([[[3.0]], [[5.0]]]),
    )
    out = edge_attention(states[0], states[1], states[2].to(dtype), two, attn_bias=bias, backend=backend)
    assert out.flatten().tolist() == ([3.0, 0.0] if size > 0 else [5.0, 0.0])


@pytest.mark.parametrize("backend", INSTALLED)
def test_many_sources_do_not_wear_the_weights_out(backend: str) -> None:
    for dtype in DTYPES:
        check_many_sources_do_not_wear_the_weights_out(backend, dtype)


def check_many_sources_do_not_wear_the_weights_out(backend: str, dtype: torch.dtype) -> None:
    # 2000 equal weights: a sum kept in bfloat16 stops at 256.
    states = [
        torch.zeros(2000, 1, 2, dtype=dtype),
        torch.zeros(2000, 1, 2, dtype=dtype),
        torch.ones(2000, 1, 2),
    ]
    out = edge_attention(states[0], states[1], states[2].to(dtype), star(2000), backend=backend)
    torch.testing.assert_close(out[0].double(), torch.ones(1, 2, dtype=torch.float64), rtol=0, atol=1e-2)


@each_backend
def test_inputs_need_not_be_contiguous(backend: str) -> None:
    for name in ("some rows empty", "clique and edges", "complete"):
        inputs = CASES[name]
        strided = dict(inputs)
        for key in DIFFERENTIABLE:
            strided[key] = inputs[key].transpose(0, 1).contiguous().transpose(0, 1)
            assert inputs[key].size(0) < 2 or not strided[key].is_contiguous()
        strided["edge_index"] = inputs["edge_index"].t().contiguous().t()
        assert_close(run_backend(backend, strided), run_backend(backend, inputs), 1e-12, backend)
    broadcast = CASES["complete"]["query"][:1].expand(6, -1, -1)
    out = edge_attention(broadcast, broadcast, broadcast, complete(6), backend=backend)
    torch.testing.assert_close(out, broadcast)


@each_backend
def test_inputs_stay_as_they_are(backend: str) -> None:
    inputs = CASES["edges across cliques"]
    before = {name: x.clone() for name, x in inputs.items() if x is not None}
    run_backend(backend, inputs)
    assert all(torch.equal(inputs[name], x) for name, x in before.items())


@each_dtype
@pytest.mark.parametrize("name", ["unsorted edges", "interleaved cliques"])
def test_weights_come_with_their_pairs(dtype: torch.dtype, name: str) -> None:
    for backend in INSTALLED:
        check_weights(backend, dtype, name)


def check_weights(backend: str, dtype: torch.dtype, name: str) -> None:
    inputs = {key: x.to(dtype) if key in DIFFERENTIABLE else x for key, x in CASES[name].items()}
    out, (pairs, alpha) = edge_attention(**inputs, return_attention_weights=True, backend=backend)
    exact = {key: x.double() if key in DIFFERENTIABLE else x for key, x in inputs.items()}
    expected, weights = slow_attention(exact)
    tolerance = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 4e-2}[dtype]
    torch.testing.assert_close(out.double(), expected, rtol=tolerance, atol=tolerance)
    num_edges = inputs["edge_index"].size(1)
    assert torch.equal(pairs[:, :num_edges], inputs["edge_index"])
    assert sorted(pairs.t().tolist()) == sorted([j, i] for i, j in weights)
    assert alpha.shape == (pairs.size(1), 2)
    wanted = torch.tensor([weights[i, j] for j, i in pairs.t().tolist()], dtype=torch.float64)
    torch.testing.assert_close(alpha.double(), wanted, rtol=0, atol=tolerance)
    sums = torch.zeros(out.size(0), 2, dtype=torch.float64).index_add(0, pairs[1], alpha.double())
    has_source = torch.isin(torch.arange(out.size(0)), pairs[1]).double()[:, None].expand(-1, 2)
    torch.testing.assert_close(sums, has_source, rtol=0, atol=tolerance)


def test_gradients_flow_through_the_weights() -> None:
    grads = []
    for backend in INSTALLED:
        inputs = dict(CASES["some rows empty"])
        leaves = [inputs[name].clone().requires_grad_() for name in DIFFERENTIABLE]
        inputs |= dict(zip(DIFFERENTIABLE, leaves))
        out, (_, alpha) = edge_attention(**inputs, return_attention_weights=True, backend=backend)
        loss = (alpha * torch.arange(alpha.numel()).view_as(alpha)).sum() + out.sin().sum()
        grads.append(torch.autograd.grad(loss, leaves))
    for other in grads[1:]:
        for a, b in zip(other, grads[0]):
            torch.testing.assert_close(a, b, rtol=0, atol=1e-12)


@each_backend
@pytest.mark.parametrize("graph", ["edges", "clique"])
def test_dropout_drops_weights_and_rescales_the_others(backend: str, graph: str) -> None:
    # A value per source that names it: the output is the row of weights that was used.
    size, p = 40, 0.25
    torch.manual_seed(0)
    query, key = torch.randn(2, size, 1, size)
    value = torch.eye(size).view(size, 1, size)
    pairs = (
        {"edge_index": complete(size)}
        if graph == "edges"
        else {"edge_index": NONE, "clique": torch.zeros(size).long()}
    )
    used = edge_attention(query, key, value, **pairs, dropout_p=p, backend=backend)
    weight = edge_attention(query, key, value, **pairs, backend=backend)
    dropped = used == 0
    torch.testing.assert_close(used[~dropped], (weight / (1 - p))[~dropped])
    assert abs(float(dropped.double().mean()) - p) < 4 * math.sqrt(p * (1 - p) / size**2)
    mean = torch.stack(
        [edge_attention(query, key, value, **pairs, dropout_p=p, backend=backend) for _ in range(50)]
    )
    torch.testing.assert_close(mean.mean(0), weight, rtol=0, atol=0.2)


@each_backend
@pytest.mark.parametrize("name", ["some rows empty", "clique and edges"])
def test_dropout_of_nothing_and_of_everything(backend: str, name: str) -> None:
    inputs = CASES[name]
    assert torch.equal(
        edge_attention(**inputs, dropout_p=0.0, backend=backend), edge_attention(**inputs, backend=backend)
    )
    result = run_backend(backend, inputs | {"dropout_p": 1.0})
    assert all(torch.equal(x, torch.zeros_like(x)) for x in result.values())


@each_backend
@pytest.mark.parametrize("name", ["some rows empty", "clique and edges"])
def test_weights_are_returned_before_dropout(backend: str, name: str) -> None:
    inputs = CASES[name]
    torch.manual_seed(0)
    out, (pairs, alpha) = edge_attention(
        **inputs, dropout_p=0.5, return_attention_weights=True, backend=backend
    )
    without, (same_pairs, same_alpha) = edge_attention(
        **inputs, return_attention_weights=True, backend=backend
    )
    assert torch.equal(pairs, same_pairs)
    torch.testing.assert_close(alpha, same_alpha, rtol=0, atol=1e-12)
    assert not torch.allclose(out, without)


@each_backend
def test_one_layout_serves_many_calls(backend: str) -> None:
    inputs = dict(CASES["two cliques, repeated numbers"])
    graph = {name: inputs.pop(name) for name in ("edge_index", "clique", "ptr")}
    layout = AttentionLayout(graph["edge_index"], 7, clique=graph["clique"], ptr=graph["ptr"])
    for heads in (2, 3, 2):
        inputs = random_states(7, 2, heads=heads)
        expected = edge_attention(**inputs, **graph, backend=backend)
        shared = edge_attention(**inputs, edge_index=graph["edge_index"], layout=layout, backend=backend)
        assert torch.equal(shared, expected)


@each_backend
def test_terms_of_higher_precision_do_not_change_the_type(backend: str) -> None:
    inputs = {name: x.bfloat16() for name, x in random_states(4, 3, terms=()).items()}
    terms = {name: x.float() for name, x in random_states(4, 3).items() if name in TERMS}
    leaves = {name: x.requires_grad_() for name, x in (inputs | terms).items()}
    for clique in (None, torch.zeros(4, dtype=torch.long)):
        out = edge_attention(
            **leaves, edge_index=edges((1, 0), (2, 0), (3, 2)), clique=clique, backend=backend
        )
        assert out.dtype == torch.bfloat16
        grads = torch.autograd.grad(out.float().square().sum(), [*leaves.values()])
        assert [grad.dtype for grad in grads] == [x.dtype for x in leaves.values()]


@each_backend
def test_a_small_bias_beside_large_scores_counts_in_half_precision(backend: str) -> None:
    """Scores of 32 are a quarter apart there; a bias of 0.1 moves a weight of 0.5 to 0.525 all the same."""
    states = {name: torch.full((2, 1, 4), 4.0, dtype=torch.bfloat16) for name in ("query", "key")}
    value = torch.tensor([0.0, 1.0], dtype=torch.bfloat16).view(2, 1, 1).expand(2, 1, 4).contiguous()
    bias = torch.tensor([0.0, 0.1, 0.0, 0.0]).view(4, 1)
    pairs = edges((0, 0), (1, 0), (0, 1), (1, 1))
    out = edge_attention(**states, value=value, edge_index=pairs, attn_bias=bias, backend=backend)
    assert out[0].float().mean() == pytest.approx(0.525, abs=0.004)
    assert out[1].float().mean() == 0.5


@each_backend
def test_an_edge_key_counts_in_half_precision(backend: str) -> None:
    """256 and 257 are one number there, but scores: the other edge gets e times the weight."""
    states = {"query": torch.full((2, 1, 4), 2.0), "key": torch.zeros(2, 1, 4), "value": torch.eye(2)}
    states["value"] = states["value"].view(2, 1, 2).repeat(1, 1, 2)
    edge_key = torch.tensor([[128.0, 64, 32, 32], [128, 64, 64, 1]]).view(2, 1, 4)
    given = {name: x.bfloat16() for name, x in {**states, "edge_key": edge_key}.items()}
    out = edge_attention(**given, edge_index=edges((0, 0), (1, 0)), backend=backend)
    assert out[0, 0, 1].item() == pytest.approx(1 / (1 + math.exp(-1)), abs=0.004)


def test_auto_computes_no_block_that_is_nearly_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = []
    module = importlib.import_module("graphdep.nn.attention.edge_attention")
    for name in ("dense_attention", "reference_attention"):
        attend = getattr(module, name)
        spy = lambda *args, attend=attend, name=name: (chosen.append(name), attend(*args))[1]  # noqa: E731
        monkeypatch.setattr(module, name, spy)
    chain = torch.stack([torch.arange(299), torch.arange(1, 300)])
    run_backend("auto", case(300, chain))
    for edge_index in (complete(6), torch.cat([complete(6)] * 2, dim=1)):  # full, repeated
        run_backend("auto", case(6, edge_index))
    run_backend("auto", case(300, NONE, clique=[0] * 300))
    assert chosen == ["reference_attention", "dense_attention", "reference_attention", "dense_attention"]


@each_backend
def test_an_edge_index_object_is_accepted(backend: str) -> None:
    inputs = CASES["some rows empty"]
    expected = edge_attention(**inputs, backend=backend)
    typed = EdgeIndex(inputs["edge_index"], sparse_size=(5, 5))
    out = edge_attention(**(inputs | {"edge_index": typed}), backend=backend)
    torch.testing.assert_close(out, expected)
    assert type(out) is torch.Tensor


def test_errors_name_the_argument() -> None:
    inputs = {**random_states(3, 2), "edge_index": edges((0, 1), (2, 1))}

    def attend(**changes: object) -> None:
        edge_attention(**(inputs | changes))

    with pytest.raises(ValueError, match="backend='triton' needs"):
        attend(backend="triton")
    with pytest.raises(ValueError, match="'backend' must be one of auto, .* \\(got 'flash'\\)"):
        attend(backend="flash")
    for backend in ("triton", "flash"):  # also where there is nothing to do
        with pytest.raises(ValueError, match="backend"):
            edge_attention(**CASES["empty graph"], backend=backend)
    for name in ("key", "value"):
        with pytest.raises(ValueError, match=f"'{name}' must be of shape .*\\(got \\[3, 2, 5\\]"):
            attend(**{name: torch.zeros(3, 2, 5)})
    with pytest.raises(ValueError, match="'query' must be of shape \\[3, heads, d\\] \\(got \\[3, 8\\]"):
        attend(query=torch.zeros(3, 8), key=torch.zeros(3, 8), value=torch.zeros(3, 8))
    for name, shape in (
        ("attn_bias", [2, 2]),
        ("score_scale", [2, 2]),
        ("edge_key", [2, 2, 4]),
        ("edge_value", [2, 2, 4]),
    ):
        with pytest.raises(ValueError, match=f"'{name}' must be of shape .* \\(got \\[2\\]\\)") as error:
            attend(**{name: torch.zeros(2)})
        assert str(shape) in str(error.value)
    for p in (-0.1, 1.5, math.nan):
        with pytest.raises(ValueError, match="'dropout_p' must be between 0 and 1"):
            attend(dropout_p=p)
    for wrong in (
        torch.zeros(3, 2).long(),
        torch.zeros(2, 2),
        torch.zeros(2, 2, dtype=torch.int32),
        torch.zeros(2).long(),
    ):
        with pytest.raises(ValueError, match="'edge_index' must be torch.int64 of shape \\[2, num_edges\\]"):
            attend(edge_index=wrong)
    for node in (3, -1):
        with pytest.raises(ValueError, match=f"'edge_index' names node {node}, but there are 3 nodes"):
            attend(edge_index=torch.tensor([[0, node], [1, 1]]))
    for wrong in (torch.zeros(4).long(), torch.zeros(3, 1).long(), torch.zeros(3), torch.zeros(3).bool()):
        with pytest.raises(ValueError, match="'clique' must be torch.int64 of shape \\[3\\]"):
            attend(clique=wrong)
    for wrong in (torch.tensor([0.0, 3.0]), torch.zeros(1, 1).long()):
        with pytest.raises(ValueError, match="'ptr' must be torch.int64 of shape \\[num_examples \\+ 1\\]"):
            attend(clique=torch.zeros(3).long(), ptr=wrong)
    for ptr in ([0, 2], [1, 3], [0, 4], [0, 2, 1, 3]):
        with pytest.raises(ValueError, match="'ptr' must ascend from 0 to the 3 nodes"):
            attend(clique=torch.zeros(3).long(), ptr=torch.tensor(ptr))
    with pytest.raises(ValueError, match="'query' must be of shape \\[4, heads, d\\]"):
        attend(layout=AttentionLayout(inputs["edge_index"], 4))


def test_auto_says_once_why_it_is_slow_on_a_gpu(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    module = importlib.import_module("graphdep.nn.attention.edge_attention")
    module._warn_slow.cache_clear()
    monkeypatch.setattr(module, "missing", lambda device: f"needs triton (got {device.type})")
    monkeypatch.setattr(module, "HAS_SCATTER", False)
    layout = AttentionLayout(edges((0, 1), (1, 0)), 2)
    states = SimpleNamespace(is_cuda=True, device=torch.device("cuda"))
    assert {module._choose("auto", layout, states, False) for _ in range(2)} == {"reference"}
    (record,) = caplog.records
    assert record.getMessage().endswith("without the fused kernels: backend='triton' needs triton")


def test_scatter_without_torch_scatter_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module(
        "graphdep.nn.attention.edge_attention"
    )  # the name is the function's, too
    monkeypatch.setattr(module, "HAS_SCATTER", False)
    with pytest.raises(
        ValueError, match="backend='scatter' needs torch-scatter, .*'reference' gives the same"
    ):
        edge_attention(**CASES["complete"], backend="scatter")
    edge_attention(**CASES["complete"], backend="reference")


def test_a_layout_whose_tensors_were_written_into_is_refused():
    x, edge_index = torch.randn(3, 1, 2), torch.tensor([[0, 1], [1, 2]])
    layout = AttentionLayout(edge_index, 3)
    edge_attention(x, x, x, edge_index, layout=layout)
    moved = layout.clone()
    edge_index.copy_(edge_index.flip(0).clone())
    with pytest.raises(ValueError, match="was changed in place after its AttentionLayout was made"):
        edge_attention(x, x, x, edge_index, layout=layout)
    edge_attention(x, x, x, moved.edge_index, layout=moved)  # which has tensors of its own


@pytest.mark.parametrize("other", [[[1, 0], [1, 2]], [[0], [1]]])
def test_a_layout_of_other_edges_is_refused(other):
    x, edge_index = torch.randn(3, 1, 2), torch.tensor([[0, 1], [1, 2]])
    layout = AttentionLayout(edge_index, 3)
    edge_attention(x, x, x, edge_index.clone(), layout=layout)  # the same edges, if other tensors
    with pytest.raises(ValueError, match="'layout' has 2 edges that are not the . of 'edge_index'"):
        edge_attention(x, x, x, torch.tensor(other), layout=layout)


def test_auto_gathers_small_cliques_of_a_long_block():
    """Cliques of ten in a chain that joins them all: the block has a hundred times as many pairs."""
    n = 1000
    links = torch.arange(0, n - 10, 10)
    layout = AttentionLayout(torch.stack([links, links + 10]), n, clique=torch.arange(n) // 10)
    assert layout.num_pairs == layout.num_edges + 10 * n
    assert layout.area >= n * n
    x = torch.randn(n, 1, 2)
    assert _choose("auto", layout, x, False) == "reference"
    found = edge_attention(x, x, x, layout.edge_index, layout=layout)
    dense = edge_attention(x, x, x, layout.edge_index, layout=layout, backend="dense")
    torch.testing.assert_close(found, dense)


def test_products_that_are_too_large_for_float16_stay_where_they_are():
    """Two examples in one padded block, whose queries and keys do not fit each other."""
    q, k = torch.full((5, 1, 64), 0.1), torch.full((5, 1, 64), 0.1)
    k[:2], q[2:] = 100.0, 100.0
    v = torch.randn(5, 1, 64)
    edge_index = torch.tensor([[0, 1, 2, 3, 4, 2], [1, 0, 3, 2, 2, 4]])
    half = [x.half() for x in (q, k, v)]
    found = edge_attention(*half, edge_index, backend="dense")
    assert found.isfinite().all()
    torch.testing.assert_close(found.float(), edge_attention(q, k, v, edge_index), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("backend", ["reference", "dense", "auto"])
def test_states_keep_their_dtype_under_autocast(backend):
    x, clique = torch.randn(6, 1, 4), torch.arange(6) // 3
    none = torch.empty(2, 0, dtype=torch.long)
    with torch.autocast("cpu", torch.bfloat16):
        assert edge_attention(x, x, x, none, clique=clique, backend=backend).dtype == torch.float32


@each_backend
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_weights_of_16_bits_leave_no_gradient_where_there_is_none(backend, dtype):
    """All values are equal, so that no query can change what comes out."""
    torch.manual_seed(0)
    query, key = (torch.randn(7, 2, 8, dtype=dtype).requires_grad_() for _ in range(2))
    value = torch.ones(7, 2, 8, dtype=dtype)
    target, source = torch.rand(7, 7).lt(0.6).logical_or(torch.eye(7)).nonzero().t()
    out = edge_attention(query, key, value, torch.stack([source, target]), backend=backend)
    for grad in torch.autograd.grad(out.sum(), [query, key]):
        assert grad.abs().max() < 1e-4


@each_backend
def test_large_states_of_float16(backend):
    """Products of 300 and 300 are more than it can hold; their mean by the root of the channels is not."""
    query, key = (torch.full((2, 1, 64), number, dtype=torch.float16) for number in (300.0, 300.0))
    key[:, :, 1:] = 0.0
    value = torch.tensor([0.0, 1.0], dtype=torch.float16).view(2, 1, 1).expand(2, 1, 64).contiguous()
    edge_key = torch.zeros(3, 1, 64, dtype=torch.float16)
    edge_key[0, :, 0] = 300.0
    pairs = edges((0, 0), (1, 0), (1, 1))
    out = edge_attention(query, key, value, pairs, edge_key=edge_key, backend=backend)
    assert out[:, 0, 0].tolist() == [0.0, 1.0]


def test_a_layout_in_the_place_of_edges():
    x, edge_index = torch.randn(3, 1, 2), edges((0, 1), (1, 2))
    layout = AttentionLayout(edge_index, 3)
    assert torch.equal(edge_attention(x, x, x, layout), edge_attention(x, x, x, edge_index))
    with pytest.raises(ValueError, match="'edge_index' is a layout: leave out 'layout'"):
        edge_attention(x, x, x, layout, layout=layout)


# -- terms -----------------------------------------------------------------------------------------------


def test_they_are_the_keywords_of_edge_attention():
    generator = torch.Generator().manual_seed(0)
    q, k, v = torch.randn(3, 4, 2, 5, generator=generator, dtype=torch.double)
    edges = torch.tensor([[0, 1, 2, 3], [1, 1, 0, 2]])
    plain = edge_attention(q, k, v, edges)
    assert torch.equal(edge_attention(q, k, v, edges, **EdgeTerms()._asdict()), plain)
    bias, scale = torch.randn(2, 4, 2, generator=generator, dtype=torch.double)
    key, value = torch.randn(2, 4, 2, 5, generator=generator, dtype=torch.double)
    out = edge_attention(q, k, v, edges, **EdgeTerms(bias, scale, key, value)._asdict())
    options = {"attn_bias": bias, "score_scale": scale, "edge_key": key, "edge_value": value}
    assert torch.equal(out, edge_attention(q, k, v, edges, **options))
    assert not torch.allclose(out, plain)


# -- dispatch --------------------------------------------------------------------------------------------


CHOICES = [
    ({"area": 480, "pairs": 10}, "dense"),
    ({"area": 481, "pairs": 10}, "reference"),
    ({"area": 480, "pairs": 10, "repeated": True}, "reference"),
    ({"area": 481, "pairs": 10, "scatter": True}, "reference"),
    ({"area": 481, "pairs": 10, "scatter": True, "on_cuda": True}, "scatter"),
    ({"area": 480, "pairs": 10, "scatter": True, "on_cuda": True}, "dense"),
    ({"area": 0, "pairs": 0}, "dense"),
]


def test_the_backend_without_kernels_goes_by_density() -> None:
    for facts, backend in CHOICES:
        known = {"repeated": False, "on_cuda": False, "scatter": False}
        assert auto_backend(**known | facts) == backend, facts


# -- whole -----------------------------------------------------------------------------------------------


WHOLE_NONE = torch.empty(2, 0, dtype=torch.long)


def complete_whole(blocks: int, nodes: int) -> torch.Tensor:
    """All pairs within each block, written out."""
    start, i, j = torch.meshgrid(*map(torch.arange, (blocks, nodes, nodes)), indexing="ij")
    return torch.stack([(start * nodes + j).flatten(), (start * nodes + i).flatten()])


@pytest.mark.parametrize("implicit", [True, False])
@pytest.mark.parametrize(("blocks", "nodes"), [(1, 1), (3, 5), (2, 40)])
def test_complete_graphs_of_equal_size_are_views(
    monkeypatch: pytest.MonkeyPatch, implicit: bool, blocks: int, nodes: int
) -> None:
    clique = torch.arange(blocks).repeat_interleave(nodes) if implicit else None
    edges = WHOLE_NONE if implicit else complete_whole(blocks, nodes)
    layout = AttentionLayout(edges, blocks * nodes, clique=clique)
    assert layout.full_block == nodes
    states = [torch.randn(blocks * nodes, 2, 3, dtype=torch.double).requires_grad_() for _ in range(3)]
    expected = edge_attention(*states, edges, layout=layout, backend="reference")
    module = importlib.import_module("graphdep.nn.attention.edge_attention")
    monkeypatch.delattr(module, "dense_attention")  # it is not asked
    out = edge_attention(*states, edges, layout=layout, backend="dense")
    torch.testing.assert_close(out, expected, rtol=0, atol=1e-12)
    assert_same_gradients(out, expected, states, atol=1e-12)


@pytest.mark.parametrize(
    "layout",
    [
        AttentionLayout(WHOLE_NONE, 0, clique=torch.empty(0, dtype=torch.long)),
        AttentionLayout(WHOLE_NONE, 4, clique=torch.tensor([0, 0, 0, 1])),  # of two sizes
        AttentionLayout(WHOLE_NONE, 2, clique=torch.tensor([0, -1])),  # a node that sees nothing
        AttentionLayout(WHOLE_NONE, 4, clique=torch.tensor([0, 1, 0, 1])),  # two cliques in one block
        AttentionLayout(torch.tensor([[0, 1], [1, 0]]), 2),  # nobody sees itself
        AttentionLayout(torch.tensor([[0, 1, 0, 0], [1, 0, 0, 0]]), 2),  # an edge twice
    ],
)
def test_others_are_not(layout: AttentionLayout) -> None:
    assert layout.full_block is None


def test_dropout_on_a_cpu_is_that_of_padded_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("graphdep.nn.attention.edge_attention")
    monkeypatch.delattr(module, "full_attention")
    states = [torch.randn(4, 1, 2) for _ in range(3)]
    clique = torch.tensor([0, 0, 1, 1])
    assert edge_attention(*states, WHOLE_NONE, clique=clique, dropout_p=0.5, backend="dense").shape == (
        4,
        1,
        2,
    )
