from __future__ import annotations

import csv
import os
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture
def options(bench: ModuleType, tmp_path: Path, encoder: str):
    return bench.Options(None, encoder, tmp_path, tiny=True, python=dict(os.environ))


def test_a_row_knows_whether_its_target_is_met(bench: ModuleType) -> None:
    assert [bench.Row("p", "w", 2.0, target).met for target in (2.0, 2.1, None)] == [True, False, None]
    assert [bench.Row("p", "w", 2.0, target, False).met for target in (2.0, 1.9)] == [True, False]


@pytest.mark.parametrize("part", ["layer", "bf16", "threads", "memory", "starting"])
def test_parts_that_need_no_corpus(bench: ModuleType, options, part: str) -> None:
    rows = list(bench.PARTS[part](options))
    assert rows
    assert all(row.part == part or part == "bf16" for row in rows)
    assert all(row.value > 0 for row in rows)


def test_one_table_and_a_csv(
    bench: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(options: object):
        yield bench.Row("b", "one", 0.4, 0.5, False)
        raise FileNotFoundError("no corpus")

    parts = {"a": lambda options: iter([bench.Row("a", "two", 1.2, 1.5, before=1.0)]), "b": fail}
    monkeypatch.setattr(bench, "PARTS", parts)
    output = tmp_path / "bench.csv"
    assert bench.main(["--only", "a", "b", "--encoder", "none", "--output", str(output)]) == 0
    printed = capsys.readouterr().out
    assert "| a | two | 1.20 | at least 1.5 | missed | 1 |" in printed
    assert "| b | one | 0.40 | at most 0.5 | met |  |" in printed
    assert "b: left out, FileNotFoundError: no corpus\n1 of 2 targets met\n" in printed
    with open(output, encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["verdict"] for line in lines] == ["missed", "met"]


def test_lengths_are_of_the_corpora(bench: ModuleType, options, tmp_path: Path) -> None:
    import ratio_rows

    (tmp_path / "dailydialog").mkdir()
    text = "Hi there ! __eou__ Oh . __eou__ What now ? __eou__\n"
    (tmp_path / "dailydialog" / "dialogues_test.txt").write_text(text, encoding="utf-8")
    given = bench.Options(tmp_path, None, tmp_path, tiny=True)
    # Turns of 3, 2 and 3 words, each with an end; a tenth more pieces than words, rounded.
    assert sorted(ratio_rows.piece_lengths(given, "dailydialog")) == [9, 13]
    with pytest.raises(FileNotFoundError, match="--raw-from"):
        ratio_rows.piece_lengths(given, "cola")
