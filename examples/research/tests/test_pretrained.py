from __future__ import annotations

import json
import random
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("transformers")

SIZES = ["--batch-size", "3", "--batches", "2", "--rounds", "1", "--threads", "1", "--max-length", "60"]


def test_examples_have_the_length_asked_for(bench: ModuleType, encoder: str) -> None:
    loaded = bench.load_encoder(encoder)
    for length in range(bench.LEAST, 64):
        data = bench.make_example(length, loaded, random.Random(length))
        assert data.num_nodes == length
        assert data.cut_words.sum() == 0


def test_lengths(bench: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "lengths.txt"
    path.write_text("3\n20\n\n999\n")
    assert bench.read_lengths(path, 64) == [8, 20, 64]
    for text, message in (
        ("9\n-1\n", r"lengths.txt:2: not a length of at least 1: '-1'"),
        ("\n", "no lengths"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=message):
            bench.read_lengths(path, 64)
    lengths = bench.sample_lengths(2000, 256)
    assert (min(lengths), max(lengths)) == (8, 256)
    assert 55 < sorted(lengths)[1000] < 65


def test_a_run(
    bench: ModuleType, encoder: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench.side_by_side, "memory_in_a_process", lambda _, name, argv: len(name))
    bench.main(["--encoder", encoder, *SIZES, "--padded", "sdpa", "--sia", "--json"])
    outcome = json.loads(capsys.readouterr().out)
    assert outcome["largest_difference"]["sdpa"] < 1e-5
    assert set(outcome["words_per_second"]) == set(outcome["memory_mb"]) == {"packed", "sdpa", "sia"}
    assert all(rate > 0 for rate in outcome["words_per_second"].values())
    rates = outcome["words_per_second"]
    assert outcome["speedup"]["sdpa"] == pytest.approx(rates["packed"] / rates["sdpa"])
    assert outcome["sia_extra"] == pytest.approx(rates["packed"] / rates["sia"] - 1)
    assert outcome["padding"] > 1
    assert set(outcome["batchings"]) == {"random", "grouped", "equal"}
    assert outcome["batchings"]["random"]["speedup"] == outcome["speedup"]
    assert outcome["batchings"]["equal"]["padding"] == 1
    assert 1 <= outcome["batchings"]["grouped"]["padding"] < outcome["padding"]
    assert outcome["memory_mb"]["sdpa"] == 4


def test_memory_in_a_process(bench: ModuleType, encoder: str) -> None:
    used = bench.side_by_side.memory_in_a_process(bench.__file__, "packed", ["--encoder", encoder, *SIZES])
    assert 0 < used < 4000


def test_different_scores_are_an_error(
    bench: ModuleType, encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    args = bench.parse(["--encoder", encoder, *SIZES])
    batch = bench.make_batches(args, bench.load_encoder(encoder))[0]
    bench.side_by_side.check(bench.build, args, batch)
    whole = bench.padded_inputs
    monkeypatch.setattr(bench, "padded_inputs", lambda batch: whole(batch) | {"attention_mask": None})
    with pytest.raises(RuntimeError, match="the scores of packed and padded models differ"):
        bench.side_by_side.check(bench.build, args, batch)
