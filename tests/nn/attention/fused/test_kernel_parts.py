"""The text of the kernels obeys rules that the interpreter does not check."""

from __future__ import annotations

import ast
from pathlib import Path

from graphdep.nn.attention.fused import kernels

SOURCE = ast.parse(Path(kernels.__file__).read_text(encoding="utf-8"))


def calls(prefix: str) -> list[tuple[int, set[str]]]:
    """Line and keywords of every call of ``tl.<prefix>...``."""
    return [
        (node.lineno, {keyword.arg for keyword in node.keywords})
        for node in ast.walk(SOURCE)
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith(f"tl.{prefix}")
    ]


def test_all_kernels_stand_in_this_file():
    folder = Path(kernels.__file__).parent
    assert [path.name for path in folder.glob("*.py") if "tl.load" in path.read_text(encoding="utf-8")] == [
        "kernels.py"
    ]


def test_a_masked_load_says_what_it_gives_elsewhere():
    """The interpreter gives 0 there, a GPU anything."""
    found = calls("load")
    assert found
    assert not [line for line, keywords in found if "mask" in keywords and "other" not in keywords]


def test_every_number_has_one_writer():
    assert not calls("atomic")


def test_products_say_their_precision():
    """Else those of 32 bits have 10 on a GPU."""
    assert not [line for line, keywords in calls("dot") if "input_precision" not in keywords]
