"""Sheets for raters: responses of several systems to the same contexts, blinded and shuffled."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from graphdep.human_eval.page import rating_page
from graphdep.human_eval.replies import read_replies
from graphdep.io.atomic import atomic_path
from graphdep.io.limits import check_limit

COLUMNS = ("item", "context", "response", "grade", "rater", "key")

# Half-width and full-width.
_FORMULA = frozenset("=+-@\uff1d\uff0b\uff0d\uff20")


@dataclass(frozen=True)
class Item:
    """A response to be graded.

    Args:
        id: Its name in the sheets, which does not tell the system.
        system: Whose response it is.
        number: The example, counted from 0.
        context: The turns before it, each on one line.
        response: The response, on one line.

    Example:
        >>> from pathlib import Path
        >>> from graphdep.human_eval import draw_items
        >>> _ = Path("dra.jsonl").write_text('{"context": ["Hi !"], "response": "Hello ."}')
        >>> draw_items({"dra": "dra.jsonl"}, n=1)
        [Item(id='r1', system='dra', number=0, context=('Hi !',), response='Hello .')]
    """

    id: str
    system: str
    number: int
    context: tuple[str, ...]
    response: str


def write_sheets(
    systems: Mapping[str, str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    n: int = 100,
    seed: int = 0,
    raters: int = 3,
) -> list[Path]:
    """Writes what raters need to grade the responses of systems without knowing whose they are.

    As in "Incorporate Directed Dependency Relation Graph into Transformer Block for Multi-turn Dialogue
    Generation" (Table 2), every rater grades the responses of all systems to some random contexts: 2 is
    fluent and relevant, 1 fluent but irrelevant, 0 not fluent. Equal responses of two systems are two items.

    - ``raters/rater1.csv`` and so on: a sheet a rater, with the same items in an order of its own. An
      apostrophe stands before what a spreadsheet would take for a formula.
    - ``raters/rate.html``: a page for all raters instead of a spreadsheet; it makes the same files.
    - ``key.json``: whose response each item is, not for raters. Its digest stands in the sheets.

    Args:
        systems: Files by the name of the system: JSON lines ``{"context": ["...", ...], "response": "..."}``,
            all with the same contexts in the same order.
        output: The folder.
        n: Contexts. (default: :obj:`100`)
        seed: Seed of contexts and orders. (default: :obj:`0`)
        raters: Sheets. (default: :obj:`3`)

    Returns:
        The files, the key first.

    Raises:
        ValueError: If a line is damaged, files do not have the same contexts, ``n`` is more than there are,
            an argument is too small or too large, or a file is there already: it may be filled in.
        OSError: If a file cannot be read or written.
    """
    check_limit("raters", raters)
    items = draw_items(systems, n, seed)
    orders = [
        np.random.default_rng([seed, rater]).permutation(len(items)).tolist()
        for rater in range(1, raters + 1)
    ]
    key = _key(items, list(systems), seed, raters)
    digest = key_digest(key)
    cells = [_cells(item) for item in items]
    page = rating_page(
        {
            "key": digest,
            "columns": COLUMNS,
            "items": [
                {"cells": cell, "context": item.context, "response": item.response}
                for cell, item in zip(cells, items)
            ],
            "orders": orders,
        }
    )
    folder = Path(output)
    texts = {
        folder / "key.json": json.dumps(key, ensure_ascii=False, indent=1) + "\n",
        folder / "raters" / "rate.html": page,
    }
    sheets = {
        folder / "raters" / f"rater{rater}.csv": [[*cells[i], "", str(rater), digest] for i in order]
        for rater, order in enumerate(orders, start=1)
    }
    _check_free([*texts, *sheets])
    try:
        for path, text in texts.items():
            with atomic_path(path) as temporary:
                temporary.write_text(text, encoding="utf-8", newline="\n")
        for path, rows in sheets.items():
            with atomic_path(path) as temporary:
                _write_csv(temporary, rows)
    except BaseException:
        # All of them or none: the next call would take the others for filled in.
        for path in (*texts, *sheets):
            path.unlink(missing_ok=True)
        raise
    return [*texts, *sheets]


def draw_items(systems: Mapping[str, str | os.PathLike[str]], n: int = 100, seed: int = 0) -> list[Item]:
    """All systems' responses to ``n`` contexts drawn at random, in a random order.

    Args:
        systems, n, seed: As in :func:`write_sheets`.
    """
    if n < 1 or seed < 0:
        raise ValueError(f"'n' must be at least 1 and 'seed' at least 0 (got {n} and {seed})")
    replies = read_replies(systems)
    total = len(next(iter(replies.values())))
    if n > total:
        raise ValueError(f"'n' must be at most {total}, the contexts that there are (got {n})")
    rng = np.random.default_rng(seed)
    numbers = rng.choice(total, n, replace=False).tolist()
    pairs = [(system, number) for number in numbers for system in replies]
    items = []
    for place, i in enumerate(rng.permutation(len(pairs)).tolist(), start=1):
        system, number = pairs[i]
        context, response = replies[system][number]
        # A letter first: spreadsheets make numbers of digits.
        name = f"r{place:0{len(str(len(pairs)))}}"
        shown = one_line(response) or "(empty response)"
        items.append(Item(name, system, number, tuple(map(one_line, context)), shown))
    return items


def one_line(text: str) -> str:
    """The text without control characters, and with single spaces."""
    return " ".join("".join(" " if unicodedata.category(c) == "Cc" else c for c in text).split())


def guard(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula: with an apostrophe where it would.

    That may be after a semicolon or a tab, too, where some spreadsheets begin another cell.
    """
    return "".join("'" + part if _is_formula(part) else part for part in _parts(cell))


def unguard(cell: str) -> str:
    """What a cell was before :func:`guard`."""
    return "".join(part[1:] if part[:1] == "'" and _is_formula(part) else part for part in _parts(cell))


def _parts(cell: str) -> list[str]:
    """What is before, between and after semicolons and tabs, and these."""
    return re.split("([;\t])", cell)


def _is_formula(part: str) -> bool:
    # Spreadsheets may skip what cannot be seen. Apostrophes are skipped: a guarded part must still be one.
    seen = (c for c in part if c != "'" and not c.isspace() and unicodedata.category(c) not in ("Cc", "Cf"))
    return next(seen, None) in _FORMULA


def key_digest(key: dict[str, Any]) -> str:
    """What the sheets have of a key. It starts with a letter, so that no spreadsheet makes it a number."""
    text = json.dumps(key, ensure_ascii=False, sort_keys=True)
    return "k" + hashlib.sha256(text.encode("utf-8")).hexdigest()[:12]


def _key(items: Sequence[Item], systems: list[str], seed: int, raters: int) -> dict[str, Any]:
    entries = {
        item.id: {"system": item.system, "number": item.number, "response": item.response} for item in items
    }
    return {"systems": systems, "seed": seed, "raters": raters, "items": entries}


def _cells(item: Item) -> list[str]:
    turns = (f"{number}: {turn}" for number, turn in enumerate(item.context, start=1))
    return [item.id, guard("\n".join(turns)), guard(item.response)]


def _check_free(paths: Sequence[Path]) -> None:
    for path in paths:
        if path.exists():
            raise ValueError(f"'output' has {path} already, maybe filled in: delete it or use another folder")


def _write_csv(path: Path, rows: Sequence[Sequence[str]]) -> None:
    # Spreadsheets know UTF-8 by its byte-order mark.
    with open(path, "w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *rows])
