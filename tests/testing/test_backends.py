from __future__ import annotations

import pytest
import torch
from torch import Tensor

from graphdep.testing import backends
from graphdep.testing.backends import assert_backends_equal, assert_close, random_states, run_backend

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
