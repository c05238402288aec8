from __future__ import annotations

import json
import sys
from math import isfinite
from pathlib import Path
from types import ModuleType

import pytest
import torch


def test_packed_and_padded_have_the_same_loss_and_gradients(bench: ModuleType) -> None:
    args = bench.parse(["--smoke", "--threads", "1", "--dropout", "0"])
    batch = bench.make_batches(args)[0]
    model = bench.build(args).double()
    for parameter in model.parameters():  # no bias at zero
        if parameter.dim() == 1:
            torch.nn.init.normal_(parameter)
    results = []
    for variant in (model, bench.PaddedModel(model)):
        loss = variant.losses(batch)["response"]
        results.append((loss, torch.autograd.grad(loss, list(model.parameters()))))
    (packed, grads), (padded, other_grads) = results
    assert torch.allclose(packed, padded, atol=1e-12)
    assert len(grads) > 30
    for (name, _), grad, other in zip(model.named_parameters(), grads, other_grads):
        assert torch.allclose(grad, other, atol=1e-10), name
        assert grad.any() or "lin_key.bias" in name, name  # a bias of the keys moves all scores alike


def test_lengths_are_those_of_dailydialog(bench: ModuleType) -> None:
    lengths = sys.modules["dialogue_lengths"].sample_lengths(4000)
    context = torch.tensor([sum(turns) + len(turns) for turns, _ in lengths]).double()
    response = torch.tensor([words for _, words in lengths]).double()
    assert abs(context.mean() - 45.9) < 2
    assert abs(response.mean() - 13.7) < 0.7
    assert (context.quantile(0.95) - 100).abs() < 6
    assert max(max(turns) for turns, _ in lengths) <= 50
    assert {len(turns) for turns, _ in lengths} == {1, 2, 3, 4}


def test_lengths_of_a_file(bench: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "dialogues.txt"
    path.write_text(f"a b c __eou__ {'d ' * 60}__eou__ e __eou__\nalone __eou__\n", encoding="utf-8")
    read = sys.modules["dialogue_lengths"].read_lengths
    assert read(path) == [([3], 50), ([3, 50], 1)]
    path.write_text("alone __eou__\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"dialogues\.txt: no dialogue"):
        read(path)


def test_words_are_counted_without_root_and_end(bench: ModuleType) -> None:
    batch = bench.make_batches(bench.parse(["--smoke", "--threads", "1"]))[0]
    lengths = sys.modules["dialogue_lengths"].sample_lengths(8)[:4]
    assert bench.num_words(batch) == sum(sum(context) + response for context, response in lengths)


def test_memory_of_a_process(bench: ModuleType) -> None:
    argv = ["--smoke", "--threads", "1"]
    used = bench.side_by_side.memory_in_a_process(bench.__file__, "packed", argv)
    assert set(used) == {"peak", "activations"}
    with pytest.raises(RuntimeError, match="of 'half' failed"):
        bench.side_by_side.memory_in_a_process(bench.__file__, "half", argv)


def test_it_runs(
    bench: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    peaks = {"packed": {"peak": 40.0, "activations": 0.0}, "padded": {"peak": 100.0, "activations": 60.0}}
    monkeypatch.setattr(bench.side_by_side, "memory_in_a_process", lambda _, name, argv: peaks[name])
    output = tmp_path / "throughput.json"
    bench.main(["--smoke", "--threads", "1", "--output", str(output)])
    printed, result = capsys.readouterr(), json.loads(output.read_text())
    assert result["machine"] in printed.out
    for name in ("packed", "padded"):
        assert len(result["all_words_per_second"][name]) == 2
        assert isfinite(result["words_per_second"][name])
        assert result["words_per_second"][name] > 0
    assert result["memory_share"] == {"peak": 0.4, "activations": None}
    assert "times the words a second (at least 2.5)" in printed.err
    assert "ok   packed: 0.40 of the peak memory" in printed.err
