"""The README's Python blocks run as they stand, each in a namespace of its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
BLOCKS = [
    (README.count("\n", 0, match.start(1)), match[1])
    for match in re.finditer(r"^```python\n(.*?)^```", README, flags=re.M | re.S)
]


@pytest.mark.parametrize(("line", "code"), BLOCKS, ids=[f"line {line + 1}" for line, _ in BLOCKS])
def test_code_block(line, code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile("\n" * line + code, "README.md", "exec"), {"__name__": "readme"})


def test_there_are_blocks_and_a_place_for_results():
    assert len(BLOCKS) >= 2
    assert README.count("```python") == len(BLOCKS)
    assert README.index("<!-- results:begin -->") < README.index("<!-- results:end -->")
