"""What is asked of the text of every kernel."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from graphdep.nn.attention import fused

FOLDER = Path(fused.__file__).parent
KERNELS = sorted(
    path for path in FOLDER.glob("*.py") if path.stem.startswith(("kernel", "tile", "flash", "csr"))
)


def calls(path: Path, prefix: str) -> list[tuple[int, set[str]]]:
    """Line and keywords of every call of ``tl.<prefix>...``."""
    return [
        (node.lineno, {keyword.arg for keyword in node.keywords})
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith(f"tl.{prefix}")
    ]


def test_every_kernel_is_read():
    assert [path.stem for path in KERNELS] == ["csr_kernel", "flash_kernel", "kernel_parts", "tile_kernel"]


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_a_masked_load_says_what_it_gives_elsewhere(path):
    """The interpreter gives 0 there, a GPU anything."""
    found = calls(path, "load")
    assert found
    assert not [line for line, keywords in found if "mask" in keywords and "other" not in keywords]


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_every_number_has_one_writer(path):
    assert not calls(path, "atomic")


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_products_say_their_precision(path):
    """Else those of 32 bits have 10 on a GPU."""
    assert not [line for line, keywords in calls(path, "dot") if "input_precision" not in keywords]
