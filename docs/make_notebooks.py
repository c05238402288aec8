"""Writes the pages of docs/notebooks as notebooks of Jupyter, with what their cells print and show.

    make notebooks

A drawing is kept as a picture, since a code host shows no scripts. The tests run the page, and compare the
notebook with it.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import re
from pathlib import Path
from typing import Any

import run_blocks
from PIL import Image

NOTEBOOKS = run_blocks.ROOT / "docs" / "notebooks"
HEADER = re.compile(r"\A---\n.*?\n---\n", re.S)
LINK = re.compile(r"^\[This page as a notebook\]\(.*\)\n\n", re.M)
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def cells(text: str) -> list[tuple[str, str, str | None]]:
    """The cells of a page: ``markdown`` or ``code``, the source, and what the page shows below it."""
    found: list[tuple[str, str, str | None]] = []
    header = HEADER.match(text)
    end = header.end() if header else 0
    for block in run_blocks.blocks_of(text):
        found += _said(text[end : block.span[0]])
        found.append(("code", block.code.rstrip("\n"), block.output))
        end = block.span[1]
    return found + _said(text[end:])


def _said(text: str) -> list[tuple[str, str, str | None]]:
    text = LINK.sub("", text).strip("\n")
    return [("markdown", text, None)] if text else []


def notebook(page: Path) -> dict[str, Any]:
    """The page as a notebook; its cells are run in the current folder."""
    text = page.read_text(encoding="utf-8")
    run_blocks.prepare(text)
    names: dict[str, Any] = {"__name__": "page"}
    made, count = [], 0
    for number, (kind, source, _) in enumerate(cells(text), 1):
        cell = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": _lines(source)}
        if kind == "code":
            count += 1
            cell |= {"execution_count": count, "outputs": _run(source, names, count)}
        made.append(cell)
    return {"cells": made, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}


def _run(source: str, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    import torch

    torch.manual_seed(0)
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": _lines(printed.getvalue())})
    if value is not None:
        shown = {"data": _shown(value), "execution_count": count, "metadata": {}}
        outputs.append(shown | {"output_type": "execute_result"})
    return outputs


def _shown(value: Any) -> dict[str, Any]:
    data: dict[str, Any] = {"text/plain": [repr(value)]}
    if hasattr(value, "save"):
        data["image/png"] = base64.b64encode(_small(value.save("shown.png"))).decode()
    return data


def _small(path: Path) -> bytes:
    """The picture in few colours, without the name of the program that made it."""
    with Image.open(path) as picture:
        small = picture.convert("RGB").quantize(32)
    file = io.BytesIO()
    small.save(file, "png", optimize=True)
    return file.getvalue()


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def main() -> None:
    for page in sorted(NOTEBOOKS.glob("*.md")):
        with run_blocks.fresh_folder():
            made = notebook(page)
        text = json.dumps(made, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
        page.with_suffix(".ipynb").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
