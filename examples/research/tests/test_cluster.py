from __future__ import annotations

import pytest

from graphdep.parsing import resolve_parser


def test_rates_of_one_and_several_processes(bench, tmp_path, capsys, monkeypatch):
    """With a parser that costs nothing, and without Dask, whose rows the tests of its parser stand for."""
    monkeypatch.setattr(bench, "resolve_parser", lambda name, **options: resolve_parser("chain"))
    monkeypatch.setattr(bench, "find_spec", lambda name: None)
    (tmp_path / "texts.txt").write_text("".join(f"the dog {n}\n" for n in range(300)), encoding="utf-8")
    bench.main(["--texts", str(tmp_path / "texts.txt"), "--most", "290"])
    out = capsys.readouterr().out
    assert "; 870 words" in out
    assert "| one process | " in out
    assert "| --workers 2 | " in out
    assert "words a CPU second, " in out


def test_a_single_shard_says_nothing(bench, tmp_path, capsys):
    (tmp_path / "texts.txt").write_text("a dog\n" * 1_000, encoding="utf-8")
    with pytest.raises(SystemExit):
        bench.main(["--texts", str(tmp_path / "texts.txt")])
    assert "must have more than one shard" in capsys.readouterr().err
