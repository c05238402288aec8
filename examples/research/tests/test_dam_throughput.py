from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest
import torch

from graphdep import NodeType

pytest.importorskip("transformers")

SIZES = ["--batch-size", "3", "--batches", "2", "--rounds", "1", "--threads", "1", "--max-length", "30"]


def test_lengths(bench: ModuleType, encoder: str, tmp_path: Path) -> None:
    path = tmp_path / "lengths.txt"
    path.write_text("8\n20\n\n999\n")
    args = bench.parse(["--encoder", encoder, *SIZES, "--batch-size", "20", "--lengths", str(path)])
    (first, _) = bench.make_batches(args, bench.load_encoder(encoder))
    is_relation = first.node_type == NodeType.RELATION
    pieces = torch.zeros(20, dtype=torch.long).index_add(0, first.batch, (~is_relation).long())
    assert pieces.unique().tolist() == [8, 20, 30]
    assert torch.equal(first.ptr.diff(), pieces + (pieces - 3))  # a word, and no arc, for the root
    assert bench.num_words(first) == int((pieces - 2).sum())


def test_sentences(bench: ModuleType, tmp_path: Path) -> None:
    mini = bench.read_sentences(bench.parse(["--encoder", "none"]))
    assert len(mini) > 10
    assert all(mini)
    (tmp_path / "raw").mkdir()
    path = tmp_path / "raw" / "in_domain_train.tsv"
    args = bench.parse(["--encoder", "none", "--raw-from", str(tmp_path)])
    with pytest.raises(ValueError, match="no in_domain_train.tsv of CoLA"):
        bench.read_sentences(args)
    path.write_text("gj04\t1\t\tOur friends won't.\ngj04\t0\t*\tThey\n")
    assert bench.read_sentences(args) == [["Our", "friends", "won", "'", "t", "."], ["They"]]
    path.write_text("gj04\t1\n")
    with pytest.raises(ValueError, match=r"in_domain_train.tsv:1: only 2 columns"):
        bench.read_sentences(args)


def test_a_run(
    bench: ModuleType, encoder: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    used = {"packed": {"peak": 30, "activations": 10}, "sdpa": {"peak": 50, "activations": 30}}
    monkeypatch.setattr(bench.side_by_side, "memory_in_a_process", lambda _, name, argv: used[name])
    bench.main(["--encoder", encoder, *SIZES, "--padded", "sdpa", "--json"])
    caught = capsys.readouterr()
    outcome = json.loads(caught.out)
    assert outcome["largest_difference"]["sdpa"] < 1e-5
    rates = outcome["words_per_second"]
    assert set(rates) == {"packed", "sdpa"}
    assert all(rate > 0 for rate in rates.values())
    assert outcome["speedup"]["sdpa"] == pytest.approx(rates["packed"] / rates["sdpa"])
    assert outcome["memory_share"] == {"sdpa": 0.6}
    assert outcome["activation_share"] == {"sdpa": pytest.approx(1 / 3)}
    assert "MISS packed: 60% of the peak memory of sdpa (at most 50%)" in caught.err
    assert "ok   packed: 33% of the activations of sdpa (at most 50%)" in caught.err
    assert outcome["padding"] > 1


def test_memory_in_a_process(bench: ModuleType, encoder: str) -> None:
    used = bench.side_by_side.memory_in_a_process(bench.__file__, "packed", ["--encoder", encoder, *SIZES])
    assert 0 < used["peak"] < 4000
    assert used["activations"] < used["peak"]


def test_different_scores_are_an_error(
    bench: ModuleType, encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    args = bench.parse(["--encoder", encoder, *SIZES])
    batch = bench.make_batches(args, bench.load_encoder(encoder))[0]
    bench.side_by_side.check(bench.build, args, batch)
    mask = bench.additive_mask
    monkeypatch.setattr(bench, "additive_mask", lambda batch, longest: mask(batch, longest) * 0)
    with pytest.raises(RuntimeError, match="the scores of packed and padded models differ"):
        bench.side_by_side.check(bench.build, args, batch)
