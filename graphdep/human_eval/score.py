"""What raters said: filled sheets read back and checked, the table of systems and the raters' agreement."""

from __future__ import annotations

import csv
import io
import json
import logging
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from graphdep.human_eval.errors import line_error
from graphdep.human_eval.sheet import COLUMNS, key_digest, unguard
from graphdep.io.csv_limit import long_fields

Path = str | os.PathLike[str]
_GRADES = (0, 1, 2)
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?")


logger = logging.getLogger("graphdep.human_eval")


@dataclass(frozen=True)
class SystemScore:
    """The grades of a system, those of all raters together.

    Args:
        system: Its name.
        n: Grades.
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
    """What raters said about all systems.

    Args:
        systems: Their scores, in the order of the key.
        kappa: Fleiss' kappa; :obj:`None` with one rater, without an item that all graded, if all those
            grades are the same one, or without statsmodels.
        kappa_items: Items that all raters graded.
        raters: Their numbers, in the order of the files.
        missing: Items without a grade, by the name of the file.

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


@dataclass(frozen=True)
class _Sheet:
    path: str
    rater: int
    grades: dict[str, int]  # by item, those that there are


def score_sheets(key: Path, sheets: Sequence[Path], *, allow_missing: bool = False) -> HumanScores:
    r"""Scores filled sheets.

    Fleiss' kappa is from "Measuring Nominal Scale Agreement among Many Raters". With :math:`n_{ij}` raters
    out of :math:`R` who gave item :math:`i` of :math:`N` the grade :math:`j`:

    .. math::
        \kappa = \frac{\bar P - \bar P_e}{1 - \bar P_e}, \quad
        \bar P = \frac{1}{N} \sum_i \frac{\sum_j n_{ij}^2 - R}{R (R - 1)}, \quad
        \bar P_e = \sum_j \Big(\frac{1}{N R} \sum_i n_{ij}\Big)^2

    It takes grades for names, without an order, and is over the items that all raters graded.

    Args:
        key: ``key.json`` of the sheets.
        sheets: Filled sheets, one a rater. CSV with commas, semicolons or tabs, as spreadsheets write it;
            a number is the same one if it is written differently, as 7 is 007.
        allow_missing: Go on without the grades that are missing, and count them. (default: :obj:`False`)

    Raises:
        ValueError: If a file is damaged, a sheet is of another key, two are of one rater, an item is absent,
            unknown or there twice, a response is not its item's, a grade is missing or none of 0, 1 and 2,
            or a system has no grade at all.
        OSError: If a file cannot be read.
    """
    if not sheets:
        raise ValueError("'sheets' must have at least one file (got none)")
    content = _read_key(key)
    read = [_read_sheet(path, content, allow_missing) for path in sheets]
    _check_raters(read)
    kappa, items = _kappa(read)
    return HumanScores(
        systems=tuple(_system_score(system, content, read) for system in content["systems"]),
        kappa=kappa,
        kappa_items=items,
        raters=tuple(sheet.rater for sheet in read),
        missing={sheet.path: len(content["items"]) - len(sheet.grades) for sheet in read},
    )


def _system_score(system: str, key: dict[str, Any], sheets: Sequence[_Sheet]) -> SystemScore:
    own = [item for item, entry in key["items"].items() if entry["system"] == system]
    grades = [sheet.grades[item] for sheet in sheets for item in own if item in sheet.grades]
    if not grades:
        raise ValueError(f"the system {system!r} has no grade at all")
    share = {grade: grades.count(grade) / len(grades) for grade in (2, 1, 0)}
    return SystemScore(system, len(grades), share[2], share[1], share[0], sum(grades) / len(grades))


def _kappa(sheets: Sequence[_Sheet]) -> tuple[float | None, int]:
    """Fleiss' kappa, and over how many items."""
    by_all = set(sheets[0].grades).intersection(*(sheet.grades for sheet in sheets))
    counts = np.array([np.bincount([s.grades[item] for s in sheets], minlength=3) for item in sorted(by_all)])
    if len(sheets) < 2 or not by_all or np.count_nonzero(counts.sum(axis=0)) < 2:
        return None, len(by_all)
    try:
        from statsmodels.stats.inter_rater import fleiss_kappa
    except ImportError:  # the table does not need it
        logger.warning("Fleiss' kappa needs statsmodels: pip install 'graphdep[agreement]'")
        return None, len(by_all)
    return float(fleiss_kappa(counts)), len(by_all)


def _check_raters(sheets: Sequence[_Sheet]) -> None:
    seen: dict[int, str] = {}
    for sheet in sheets:
        if sheet.rater in seen:
            raise ValueError(f"{sheet.path}: the sheet of rater {sheet.rater}, as {seen[sheet.rater]} is")
        seen[sheet.rater] = sheet.path


def _read_key(path: Path) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            key = json.load(file)
        _check_key(key)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{os.fspath(path)}: damaged, or no key of sheets: {error}") from None
    return key


def _check_key(key: Any) -> None:
    for name, of_type, what in (
        ("systems", list, "a list"),
        ("seed", int, "a whole number"),
        ("raters", int, "a whole number"),
        ("items", dict, "an object"),
    ):
        if not isinstance(key, dict) or name not in key:
            raise ValueError(f"no object with {name!r}")
        if type(key[name]) is not of_type:  # a bool is an int
            raise ValueError(f"{name!r} must be {what} (got {repr(key[name])[:80]})")
    if key["raters"] < 1:
        raise ValueError(f"'raters' must be at least 1 (got {key['raters']})")
    if not key["items"]:
        raise ValueError("'items' must have at least one item (got none)")
    for item, entry in key["items"].items():
        for name in ("system", "response"):
            if not isinstance(entry, dict) or not isinstance(entry.get(name), str):
                raise ValueError(f"'items.{item}' must have a string {name!r} (got {repr(entry)[:80]})")
    systems = {entry["system"] for entry in key["items"].values()}
    if not all(isinstance(name, str) for name in key["systems"]) or sorted(key["systems"]) != sorted(systems):
        raise ValueError(f"'systems' must be those of the items (got {repr(key['systems'])[:80]})")


def _read_sheet(path: Path, key: dict[str, Any], allow_missing: bool) -> _Sheet:
    digest, numbers = key_digest(key), [str(rater) for rater in range(1, key["raters"] + 1)]
    grades: dict[str, int] = {}
    lines: dict[str, int] = {}
    for line, (item, _, response, grade, rater, of_key) in _rows(path):
        item, grade, rater, of_key = (cell.strip() for cell in (item, grade, rater, of_key))
        if of_key != digest:
            raise line_error(path, line, f"the sheet is not of this key, which is {digest}", of_key)
        number = next((number for number in numbers if _same(rater, number)), None)
        if number is None:
            raise line_error(path, line, f"the rater must be one of {', '.join(numbers)}", rater)
        numbers = [number]
        if item not in key["items"]:
            raise line_error(path, line, "the key has no such item", item)
        if item in lines:
            raise line_error(path, line, f"the item is in line {lines[item]} already", item)
        lines[item] = line
        if not _same(unguard(response), key["items"][item]["response"]):
            raise line_error(path, line, f"this is not the response of item {item}", response)
        value = next((value for value in _GRADES if _same(grade, str(value))), None)
        if value is not None:
            grades[item] = value
        elif grade:
            raise line_error(path, line, "the grade must be 0, 1 or 2", grade)
        elif not allow_missing:
            raise line_error(path, line, f"item {item} has no grade (--allow-missing goes on without)")
    absent = [item for item in key["items"] if item not in lines]
    if absent:
        shown = ", ".join(absent[:5]) + (", ..." if len(absent) > 5 else "")
        raise ValueError(f"{os.fspath(path)}: {len(absent)} of the key's items are not there: {shown}")
    return _Sheet(os.fspath(path), int(numbers[0]), grades)


def _same(cell: str, text: str) -> bool:
    """Whether a cell has a text, or the same number: a spreadsheet makes 7 of 007, and 2.0 of 2."""
    if cell == text:
        return True
    return bool(_NUMBER.fullmatch(cell) and _NUMBER.fullmatch(text)) and Decimal(cell) == Decimal(text)


def _rows(path: Path) -> list[tuple[int, list[str]]]:
    """The rows below the header, each with the line on which it starts."""
    with open(path, "rb") as file:
        content = file.read().removeprefix(b"\xef\xbb\xbf")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = len(re.split(rb"\r\n|\r|\n", content[: error.start]))
        raise line_error(
            path, line, "not UTF-8: save it as 'CSV UTF-8'", content[error.start : error.start + 4]
        ) from None
    header = io.StringIO(text, newline="").readline().rstrip("\r\n")
    delimiter = next(
        (d for d in ",;\t" if tuple(next(csv.reader([header], delimiter=d), ())) == COLUMNS), None
    )
    if delimiter is None:
        raise line_error(path, 1, f"the header must be {','.join(COLUMNS)}", header)
    reader, line = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True), 1
    rows = []
    try:
        with long_fields():
            for row in reader:
                if line > 1 and any(row):  # spreadsheets may leave rows without anything at the end
                    if len(row) != len(COLUMNS):
                        raise line_error(path, line, f"{len(row)} columns instead of {len(COLUMNS)}", row[0])
                    rows.append((line, row))
                line = reader.line_num + 1
    except csv.Error as error:
        raise line_error(path, line, f"no CSV: {error}") from None
    return rows
