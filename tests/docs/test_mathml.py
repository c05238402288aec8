"""Every formula of the docstrings can be drawn."""

from __future__ import annotations

import re
import runpy
import textwrap
from pathlib import Path

import pytest

pytestmark = pytest.mark.docs
ROOT = Path(__file__).parents[2]


def formulas() -> list[str]:
    found = []
    for path in (ROOT / "graphdep").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        found += [" ".join(one.split()) for one in re.findall(r":math:`([^`]*)`", text)]
        blocks = re.finditer(r"^( *)\.\. math::\n\n?((?:\1 +.*\n|\n)+)", text, re.M)
        found += [textwrap.dedent(one[2]).strip() for one in blocks]
    return found


def test_all_of_them() -> None:
    to_mathml = runpy.run_path(str(ROOT / "docs" / "extensions" / "mathml.py"))["to_mathml"]
    assert len(formulas()) > 400
    for one in formulas():
        assert to_mathml(one, block=True).startswith("<math")


def test_what_cannot_be_read_is_named() -> None:
    to_mathml = runpy.run_path(str(ROOT / "docs" / "extensions" / "mathml.py"))["to_mathml"]
    with pytest.raises(ValueError, match=r"no MathML of '\\\\unknown"):
        to_mathml(r"\unknown x", block=False)
