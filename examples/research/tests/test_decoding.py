from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
import torch

FOLDER = Path(__file__).parents[1] / "benchmarks"
MODULES = ("decoding", "dra_throughput", "dialogue_lengths", "attention")


@pytest.fixture(scope="module")
def bench() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        threads = torch.get_num_threads()
        yield import_module("decoding")
        torch.set_num_threads(threads)
        for name in MODULES:
            sys.modules.pop(name, None)


def test_responses_have_the_lengths_laid_down(bench: ModuleType) -> None:
    args = bench.parse(["--smoke", "--threads", "1"])
    lengths = bench.sample_lengths(5)
    dialogues = bench.make_dialogues(lengths, args.num_words)
    words = torch.tensor([2, 0, 7, 12, 20])
    config = bench.DecodeConfig(strategy="beam", beams=3, num_return=3, max_length=12)
    model = bench.build(args).eval()
    answers = bench.respond_to_all("batched", model, dialogues, words, config)
    found = [{(len(h.ids), h.finished) for h in results} for results in answers]
    # There is but one response without a word: the rest of that beam goes on.
    assert (0, True) in found[1]
    assert [found[i] for i in (0, 2, 3, 4)] == [{(2, True)}, {(7, True)}, {(12, False)}, {(12, False)}]
    assert bench.differences(answers, answers) == 0
    assert bench.differences(answers, answers[::-1]) > 0


def test_it_runs(bench: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "decoding.json"
    bench.main(["--smoke", "--threads", "1", "--output", str(output)])
    printed, result = capsys.readouterr(), json.loads(output.read_text())
    assert result["machine"] in printed.out
    assert result["different"] == 0
    assert [len(times) for times in result["all_seconds"].values()] == [2, 2]
    assert "ok   contexts with different responses: 0" in printed.err
