from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from tests.kit import backends
from tests.kit.backends import (
    assert_backends_equal,
    assert_close,
    no_waits,
    random_graph,
    random_states,
    run_backend,
)

EDGES = torch.tensor([[0, 1, 2], [1, 1, 0]])


def inputs() -> dict[str, Tensor]:
    return {**random_states(3, 3, generator=torch.Generator().manual_seed(0)), "edge_index": EDGES}


def test_equal_backends() -> None:
    results = assert_backends_equal(inputs(), ("reference", "dense"), dtype=torch.bfloat16)
    assert list(results) == ["reference", "dense"]
    names = ["query", "key", "value", "attn_bias", "score_scale", "edge_key", "edge_value"]
    assert list(results["dense"]) == ["output", *(f"grad {name}" for name in names)]


def test_random_states() -> None:
    shapes = {
        name: [*x.shape] for name, x in random_states(5, 2, heads=3, channels=4, terms=("attn_bias",)).items()
    }
    assert shapes == {"query": [5, 3, 4], "key": [5, 3, 4], "value": [5, 3, 4], "attn_bias": [2, 3]}


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda out: out + 1e-3, "wrong in torch.float32, against float64: output differs by 0.001"),
        (lambda out: out * 2, "wrong .*: output differs"),
        (lambda out: out + (out - out.detach()), "wrong .*: grad query differs"),
        (lambda out: out / 0, "wrong .*: output is not finite"),
        (lambda out: out.double(), "wrong: output is torch.float64, not torch.float32"),
        (lambda out: out[:2], "wrong .*: output has shape"),
    ],
)
def test_a_difference_is_found(spoil, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    attend = backends.edge_attention

    def spoiled(*args, backend: str, **kwargs) -> Tensor:
        out = attend(*args, backend="reference", **kwargs)
        return spoil(out) if backend == "wrong" else out

    monkeypatch.setattr(backends, "edge_attention", spoiled)
    assert_backends_equal(inputs(), ("right", "fine"))
    with pytest.raises(AssertionError, match=message):
        assert_backends_equal(inputs(), ("right", "wrong"))


def test_results_of_other_names_differ() -> None:
    result = run_backend("reference", inputs())
    with pytest.raises(AssertionError, match="'grad value'"):
        assert_close(result, {"output": result["output"]}, 1.0, "one against another")


def test_edges_stay_in_their_example():
    graph = random_graph([3, 0, 5], degree=2.0)
    assert graph["ptr"].tolist() == [0, 3, 3, 8]
    assert graph["clique"] is None
    example = torch.bucketize(graph["edge_index"], graph["ptr"], right=True)
    assert torch.equal(example[0], example[1])


def test_edges_are_sorted_unless_shuffled():
    graph, other = (random_graph([6, 4], shuffled=shuffled) for shuffled in (False, True))
    key = graph["edge_index"][1] * 10 + graph["edge_index"][0]
    assert bool((key.diff() > 0).all())
    assert not torch.equal(graph["edge_index"], other["edge_index"])
    assert sorted(graph["edge_index"].t().tolist()) == sorted(other["edge_index"].t().tolist())


def test_a_hub_reads_all_and_one_is_read_by_all():
    source, target = random_graph([5], degree=0.0, hub=True)["edge_index"]
    assert sorted(source[target == 0].tolist()) == [0, 1, 2, 3, 4]
    assert sorted(target[source == 2].tolist()) == [0, 1, 2, 3, 4]


def test_some_nodes_are_in_no_clique():
    assert random_graph([8], clique=True)["clique"].tolist() == [-1, 0, 0, 0, 0, 0, 0, -1]


X = torch.tensor([3.0, 1.0, 2.0])
WAITING: dict[str, Callable[[], object]] = {
    "a number": lambda: float(X.sum()),
    "a test": lambda: bool((X > 1).any()),
    "nonzero": lambda: X.nonzero(),
    "unique": lambda: X.unique(),
    "counts": lambda: X.long().bincount(),
    "a mask": lambda: X[X > 1],
    "values to a mask": lambda: X.clone().index_put_((X > 1,), torch.ones(2)),
    "repeats": lambda: X.repeat_interleave(X.long()),
    "equality": lambda: torch.equal(X, X),
}
GOING_ON: dict[str, Callable[[], object]] = {
    "arithmetic": lambda: (X * 2).sum(),
    "an index": lambda: X[torch.tensor([0, 2])],
    "repeats of known size": lambda: X.repeat_interleave(X.long(), output_size=6),
    "equal repeats": lambda: X.repeat_interleave(2),
    "one value to a mask": lambda: X.clone().masked_fill_(X > 1, 0.0),
    "where": lambda: X.where(X > 1, X),
}


@pytest.mark.parametrize("name", WAITING)
def test_waiting_operations_are_refused(name: str) -> None:
    with pytest.raises(RuntimeError, match="would wait for the GPU"), no_waits("cpu"):
        WAITING[name]()


@pytest.mark.parametrize("name", GOING_ON)
def test_other_operations_are_allowed(name: str) -> None:
    with no_waits("cpu"):
        GOING_ON[name]()


def test_a_backward_pass_is_seen() -> None:
    class Waiting(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * float(grad.sum())

    x = X.clone().requires_grad_()
    with pytest.raises(RuntimeError, match="would wait"), no_waits("cpu"):
        Waiting.apply(x).sum().backward()


@pytest.mark.cuda
def test_torch_has_its_own_check_on_a_gpu() -> None:
    x = X.cuda()
    with pytest.raises(RuntimeError, match="synchroniz"), no_waits("cuda"):
        float(x.sum())
    assert torch.cuda.get_sync_debug_mode() == 0
