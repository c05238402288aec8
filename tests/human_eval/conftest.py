"""Files of responses, and sheets filled in."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest


def _write_replies(path: Path, replies: list[tuple[list[str], str]]) -> Path:
    lines = (json.dumps({"context": context, "response": response}) for context, response in replies)
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


def _read_csv(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_bytes().decode("utf-8-sig"), newline="")))


def _write_csv(path: Path, rows: list[dict[str, str]], delimiter: str = ",") -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)


@pytest.fixture
def write_replies():
    return _write_replies


@pytest.fixture
def read_csv():
    return _read_csv


@pytest.fixture
def write_csv():
    return _write_csv


@pytest.fixture
def systems(tmp_path: Path) -> dict[str, Path]:
    """Two systems' responses to six contexts, with everything that could hurt a sheet or a page."""
    hard = ['=1+1, "quoted"', "</script><b>&amp;", "the same", "", " two\nlines\t\x00", "你好 👩‍👧 \u2028é"]
    contexts = [[f"turn {i}", "+ more?", "<i>\nend</i>"] for i in range(6)]
    plain = ["'=no", "@you", "the same", "yes", "-", "'tis fine"]
    return {
        name: _write_replies(tmp_path / f"{name}.jsonl", list(zip(contexts, responses)))
        for name, responses in (("hard", hard), ("plain", plain))
    }
