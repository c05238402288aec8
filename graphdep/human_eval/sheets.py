"""Blinded sheets with the responses of several systems to the same contexts, and scores of filled sheets."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from graphdep.human_eval.page import rating_page
from graphdep.io.files import (
    LineError,
    atomic_path,
    check_line,
    check_replaced,
    decoded_lines,
    guard,
    json_value,
    long_fields,
    open_to_read,
    unguard,
)
from graphdep.io.limits import check_between, check_least, check_limit, check_whole

COLUMNS = ("item", "context", "response", "grade", "rater", "key")
_Reply = tuple[list[str], str]  # turns of the context, and response


@dataclass(frozen=True)
class SystemScore:
    """The grades of a system, over all raters.

    Args:
        system: Name of the system.
        n: Number of grades.
        share_2, share_1, share_0: Shares of the grades 2 (fluent and relevant), 1 (fluent but irrelevant)
            and 0 (not fluent).
        mean: Mean grade.

    Example:
        >>> from graphdep.human_eval import SystemScore
        >>> score = SystemScore("dra", n=4, share_2=0.5, share_1=0.25, share_0=0.25, mean=1.25)
        >>> score.mean == 2 * score.share_2 + score.share_1
        True
    """

    system: str
    n: int
    share_2: float
    share_1: float
    share_0: float
    mean: float


@dataclass(frozen=True)
class HumanScores:
    """The grades of all systems, and the agreement of the raters.

    Args:
        systems: Scores of the systems, in the order of the key.
        kappa: Fleiss' kappa over the items that all raters graded; :obj:`None` if there are none, only one
            rater, or only one grade.
        kappa_items: Number of items that all raters graded.
        raters: Numbers of the raters, in the order of the files.
        missing: Number of items without a grade, by file.

    Example:
        >>> from pathlib import Path
        >>> from graphdep.human_eval import score_sheets, write_sheets
        >>> _ = Path("dra.jsonl").write_text('{"context": ["Hi !"], "response": "Hello ."}')
        >>> key, page, sheet = write_sheets({"dra": "dra.jsonl"}, "sheets", n=1, raters=1)
        >>> _ = sheet.write_text(sheet.read_text().replace(",,1,", ",2,1,"))  # the rater's grade: 2
        >>> score_sheets(key, [sheet]).systems
        (SystemScore(system='dra', n=1, share_2=1.0, share_1=0.0, share_0=0.0, mean=2.0),)
    """

    systems: tuple[SystemScore, ...]
    kappa: float | None
    kappa_items: int
    raters: tuple[int, ...]
    missing: dict[str, int]


def write_sheets(
    systems: Mapping[str, str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    n: int = 100,
    seed: int = 0,
    raters: int = 3,
    overwrite: bool = False,
) -> list[Path]:
    """Writes files for raters to grade responses without knowing the systems.

    As in "Incorporate Directed Dependency Relation Graph into Transformer Block for Multi-turn Dialogue
    Generation" (Table 2), every rater grades the responses of all systems to some random contexts: 2 is
    fluent and relevant, 1 fluent but irrelevant, 0 not fluent. Equal responses of two systems are two items.

    - ``raters/rater1.csv`` and so on: a sheet for each rater, with the same items in different orders. An
      apostrophe precedes text that a spreadsheet would read as a formula.
    - ``raters/rate.html``: a page for all raters, as an alternative to spreadsheets; it saves the same files.
    - ``key.json``: the system of each item, not for raters. The sheets contain its digest.

    Args:
        systems: Files by the name of the system: JSON lines ``{"context": ["...", ...], "response": "..."}``,
            all with the same contexts in the same order.
        output: The folder.
        n: Number of contexts. (default: :obj:`100`)
        seed: Seed for contexts and orders. (default: :obj:`0`)
        raters: Number of sheets. (default: :obj:`3`)
        overwrite: Replace existing sheets, even if filled in. (default: :obj:`False`)

    Returns:
        The files, the key first.

    Raises:
        ValueError: If a line is invalid, files have different contexts, an argument is out of range, or a
            file exists.
        OSError: If a file cannot be read or written.
    """
    check_limit("raters", raters)
    items = _draw(read_replies(systems), n, seed)
    entries = {name: {"system": s, "number": i, "response": r} for name, s, i, _, r in items}
    key = {"systems": list(systems), "seed": seed, "raters": raters, "items": entries}
    digest, count = _key_digest(key), range(1, raters + 1)
    orders = [np.random.default_rng([seed, rater]).permutation(len(items)).tolist() for rater in count]
    shown = [
        {"cells": _cells(name, context, r), "context": context, "response": r}
        for name, *_, context, r in items
    ]
    page = rating_page({"key": digest, "columns": COLUMNS, "items": shown, "orders": orders})
    texts = {"key.json": json.dumps(key, ensure_ascii=False, indent=1) + "\n", "raters/rate.html": page}
    for rater, order in zip(count, orders):
        file = io.StringIO("\ufeff")  # by which spreadsheets recognise UTF-8
        file.seek(1)
        csv.writer(file).writerows([COLUMNS, *([*shown[i]["cells"], "", rater, digest] for i in order)])
        texts[f"raters/rater{rater}.csv"] = file.getvalue()
    paths = [Path(output, name) for name in texts]
    check_replaced(output, texts, overwrite=overwrite)
    for path, text in zip(paths, texts.values()):
        with atomic_path(path) as temporary:
            temporary.write_text(text, encoding="utf-8", newline="")
    return paths


def score_sheets(
    key: str | os.PathLike[str], sheets: Sequence[str | os.PathLike[str]], *, allow_missing: bool = False
) -> HumanScores:
    r"""Scores filled sheets.

    Fleiss' kappa is from "Measuring Nominal Scale Agreement among Many Raters". With :math:`n_{ij}` raters
    out of :math:`R` who gave item :math:`i` of :math:`N` the grade :math:`j`:

    .. math::
        \kappa = \frac{\bar P - \bar P_e}{1 - \bar P_e}, \quad
        \bar P = \frac{1}{N} \sum_i \frac{\sum_j n_{ij}^2 - R}{R (R - 1)}, \quad
        \bar P_e = \sum_j \Big(\frac{1}{N R} \sum_i n_{ij}\Big)^2

    It treats grades as categories without an order, over the items that all raters graded.

    Args:
        key: ``key.json`` of the sheets.
        sheets: Filled sheets, one per rater: CSV with commas, semicolons or tabs, as spreadsheets write it.
            Numbers may be written differently, e.g. 7 for 007.
        allow_missing: Allow missing grades, and count them. (default: :obj:`False`)

    Raises:
        ValueError: If a file is damaged, a sheet belongs to another key, two sheets to one rater, an item is
            missing, unknown or duplicate, a response differs from that of its item, a grade is missing or
            not 0, 1 or 2, or a system has no grades.
        OSError: If a file cannot be read.
    """
    if not sheets:
        raise ValueError("'sheets' must have at least one file (got none)")
    content = _read_key(key)
    path_of: dict[int, str] = {}
    grades: dict[str, dict[str, int]] = {}
    for path in [os.fspath(sheet) for sheet in sheets]:
        rater, grades[path] = _read_sheet(path, content, allow_missing)
        if rater in path_of:
            raise ValueError(f"{path}: a second sheet of rater {rater}, after {path_of[rater]}")
        path_of[rater] = path
    scores = []
    for system in content["systems"]:
        own = [item for item, entry in content["items"].items() if entry["system"] == system]
        given = [of[item] for of in grades.values() for item in own if item in of]
        if not given:
            raise ValueError(f"the system {system!r} has no grades")
        two, one, zero = (given.count(grade) / len(given) for grade in (2, 1, 0))
        scores.append(SystemScore(system, len(given), two, one, zero, sum(given) / len(given)))
    by_all = set.intersection(*(set(of) for of in grades.values()))
    return HumanScores(
        systems=tuple(scores),
        kappa=_kappa([[of[item] for of in grades.values()] for item in by_all]),
        kappa_items=len(by_all),
        raters=tuple(path_of),
        missing={path: len(content["items"]) - len(of) for path, of in grades.items()},
    )


def _kappa(grades: list[list[int]]) -> float | None:
    """Fleiss' kappa, from the grades of all raters for each item."""
    counts = np.array([np.bincount(of_item, minlength=3) for of_item in grades]).reshape(-1, 3)
    raters = counts[:1].sum()
    if raters < 2 or np.count_nonzero(counts.sum(axis=0)) < 2:
        return None
    observed = ((counts**2).sum(axis=1) - raters).mean() / (raters * (raters - 1))
    expected = ((counts.sum(axis=0) / counts.sum()) ** 2).sum()
    return float((observed - expected) / (1 - expected))


def _draw(replies: dict[str, list[_Reply]], n: int, seed: int) -> list[tuple[str, str, int, list[str], str]]:
    """The items in a random order: name, system, number of the example, context, response."""
    total = len(next(iter(replies.values())))
    check_between("n", n, 1, total)
    check_least("seed", seed, 0)
    rng = np.random.default_rng(seed)
    pairs = [(s, i) for i in rng.choice(total, n, replace=False).tolist() for s in replies]
    width, items = len(str(len(pairs))), []
    for place, (system, i) in enumerate((pairs[j] for j in rng.permutation(len(pairs))), start=1):
        context, response = replies[system][i]
        # Begins with a letter: spreadsheets turn digits into numbers.
        turns, shown = [_one_line(turn) for turn in context], _one_line(response) or "(empty response)"
        items.append((f"r{place:0{width}}", system, i, turns, shown))
    return items


def read_replies(systems: Mapping[str, str | os.PathLike[str]]) -> dict[str, list[_Reply]]:
    """The responses of all systems, in the order of the files."""
    if not systems or not all(name.strip() for name in systems):
        raise ValueError(f"'systems' must map names of systems to files (got {dict(systems)})")
    replies = {s: [_reply(path, i, x) for i, x in _lines(path)] for s, path in systems.items()}
    first = next(iter(systems))
    for name, path in systems.items():
        for line, (ours, own) in enumerate(zip_longest(replies[first], replies[name]), start=1):
            same = ours is not None and own is not None and ours[0] == own[0]
            other = f"another context than in {systems[first]}"
            check_line(same, other, path, line, str(own[0]) if own else "no line")
    return replies


def _reply(path: str | os.PathLike[str], line: int, text: str) -> _Reply:
    row = json_value(text, f"{path}:{line}")
    context, response = (row.get("context"), row.get("response")) if isinstance(row, dict) else (None, None)
    texts: list[Any] = [*context, response] if isinstance(context, list) and context else [None]
    needed = "'context', a non-empty list of strings, and 'response', a string"
    check_line(
        all(isinstance(turn, str) for turn in texts), f"must be an object with {needed}", path, line, text
    )
    return texts[:-1], texts[-1]


def _lines(path: str | os.PathLike[str]) -> list[tuple[int, str]]:
    with open_to_read(path) as file:
        lines = list(decoded_lines(file, path))
    check_line(lines, "the file is empty", path, 1)
    return lines


def _read_key(path: str | os.PathLike[str]) -> dict[str, Any]:
    try:
        with open_to_read(path) as file:
            key = json.loads(file.read())
        check_whole("raters", key["raters"])
        entries = [(entry["system"], entry["response"]) for entry in key["items"].values()]
        if not entries or {system for system, _ in entries} != set(key["systems"]):
            raise ValueError("'systems' differ from those of the items")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ValueError(f"{os.fspath(path)}: damaged, or not a key of sheets: {error}") from None
    return key


def _read_sheet(path: str, key: dict[str, Any], allow_missing: bool) -> tuple[int, dict[str, int]]:
    """The rater of a sheet, and its grades by item."""
    digest, numbers = _key_digest(key), [str(rater) for rater in range(1, key["raters"] + 1)]
    grades: dict[str, int] = {}
    lines: dict[str, int] = {}
    for line, (item, _, response, grade, rater, of_key) in _rows(path):
        check_line(of_key == digest, f"the sheet belongs to another key than {digest}", path, line, of_key)
        numbers = [number for number in numbers if _same(rater, number)]
        check_line(numbers, "the rater must be in the key, and the same in all rows", path, line, rater)
        known = f"is already in line {lines[item]}" if item in lines else "is not in the key"
        check_line(item in key["items"] and item not in lines, f"the item {known}", path, line, item)
        lines[item] = line
        same = _same(unguard(response), key["items"][item]["response"])
        check_line(same, f"the response differs from that of item {item}", path, line, response)
        value = next((value for value in (0, 1, 2) if _same(grade, str(value))), None)
        check_line(value is not None or not grade, "the grade must be 0, 1 or 2", path, line, grade)
        missing = f"item {item} has no grade (--allow-missing allows this)"
        check_line(grade or allow_missing, missing, path, line)
        if value is not None:
            grades[item] = value
    absent = [item for item in key["items"] if item not in lines]
    if absent:
        raise ValueError(f"{path}: missing items of the key ({len(absent)}): {', '.join(absent)[:80]}")
    return int(numbers[0]), grades


def _rows(path: str) -> list[tuple[int, list[str]]]:
    """The rows below the header, with stripped cells, and the last line of each."""
    lines = "\n".join(line for _, line in _lines(path)).replace("\r", "\n").split("\n")
    header = lines[0].replace('"', "")
    delimiter = next((d for d in ",;\t" if tuple(header.split(d)) == COLUMNS), None)
    check_line(delimiter, f"the header must be {','.join(COLUMNS)}", path, 1, header)
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=delimiter or ",", strict=True)
    try:
        with long_fields():  # spreadsheets may add empty rows at the end
            rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader if any(row)][1:]
    except csv.Error as error:
        raise LineError(f"invalid CSV: {error}", path, reader.line_num) from None
    for line, row in rows:
        count = len(row)
        check_line(count == len(COLUMNS), f"{count} columns instead of {len(COLUMNS)}", path, line, row[0])
    return rows


def _same(cell: str, text: str) -> bool:
    """Whether two cells have the same text or number: spreadsheets turn 007 into 7, and 2 into 2.0."""
    try:
        return cell == text or float(cell) == float(text)
    except ValueError:
        return False


def _cells(name: str, context: list[str], response: str) -> list[str]:
    turns = "\n".join(f"{number}: {turn}" for number, turn in enumerate(context, start=1))
    return [name, guard(turns), guard(response)]


def _one_line(text: str) -> str:
    """The text without control characters, and with single spaces."""
    return " ".join("".join(" " if unicodedata.category(c) == "Cc" else c for c in text).split())


def _key_digest(key: dict[str, Any]) -> str:
    """The digest of a key in its sheets. It begins with a letter, so that spreadsheets keep it as text."""
    text = json.dumps(key, ensure_ascii=False, sort_keys=True)
    return "k" + hashlib.sha256(text.encode("utf-8")).hexdigest()[:12]
