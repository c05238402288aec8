"""Small mistakes that no test notices: lines of some folders, each changed in one place in a copy of the
package, and the tests that are nearest to it.

``results/mutants.csv`` has those that were not noticed and a judgement by hand: ``equivalent``, ``open`` or
``killed by`` a later test. What was tried is kept beside the copy: a run goes on where one ended.
"""

from __future__ import annotations

import argparse
import ast
import csv
import importlib
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from harness import ROOT, TABLE, start, wait

MUTANTS = TABLE.with_name("mutants.csv")
COLUMNS = ("file", "kind", "before", "after", "line", "judgement", "why")
NEAREST = ("transforms", "data", "metrics", "nn/attention", "nn/conv")  # folders of the package and of tests
SECONDS = 180  # of tests, on the CPU; more count as noticed
_SWAPS = [(ast.Lt, ast.GtE), (ast.LtE, ast.Gt), (ast.Eq, ast.NotEq), (ast.In, ast.NotIn), (ast.Is, ast.IsNot)]
_SWAPS += [(ast.Add, ast.Sub), (ast.Mult, ast.Div), (ast.BitAnd, ast.BitOr), (ast.And, ast.Or)]
SWAPS = {a: b for pair in _SWAPS for a, b in (pair, pair[::-1])} | {ast.FloorDiv: ast.Mult}
BOUNDS = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
_UNREAD = (ast.Raise, ast.Import, ast.ImportFrom, ast.JoinedStr, ast.arg)
_UNREAD_PARTS = ("decorator_list", "returns", "annotation")
Keys = Sequence[tuple[str, ...]]


class Mutant(NamedTuple):
    """A line before, a part after and which bytes it replaces; the first four stay when lines move."""

    file: str
    kind: str
    before: str
    after: str
    line: int
    start: int
    end: int


def mutants(file: str, source: str) -> Iterator[Mutant]:
    """All changes of a file, but of what only readers and checkers of types see."""
    lines = source.encode().splitlines(keepends=True)
    starts = [0, *accumulate(map(len, lines))]
    todo: list[ast.AST] = [ast.parse(source)]
    while todo:
        node = todo.pop()
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node, _UNREAD) or text or "TYPE_CHECKING" in ast.unparse(getattr(node, "test", [])):
            continue
        for kind, part, new in _changes(node):
            text = new if isinstance(new, str) else f"({ast.unparse(new)})"
            places = ((part.lineno, part.col_offset), (part.end_lineno, part.end_col_offset))
            before = lines[part.lineno - 1].decode().strip()
            yield Mutant(file, kind, before, text, part.lineno, *(starts[row - 1] + at for row, at in places))
        for name, value in ast.iter_fields(node):
            inside = value if isinstance(value, list) else [value]
            todo += [child for child in inside if isinstance(child, ast.AST) and name not in _UNREAD_PARTS]


def _changes(node: ast.AST) -> Iterator[tuple[str, ast.AST, ast.AST | str]]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for kind, swaps in (("comparison", SWAPS), ("boundary", BOUNDS)):
            if other := swaps.get(type(node.ops[0])):
                yield kind, node, ast.Compare(node.left, [other()], node.comparators)
    elif isinstance(node, ast.BinOp) and type(node.op) in SWAPS:
        yield "arithmetic", node, ast.BinOp(node.left, SWAPS[type(node.op)](), node.right)
    elif isinstance(node, ast.BoolOp):
        yield "comparison", node, ast.BoolOp(SWAPS[type(node.op)](), node.values)
    elif isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
        other = not node.value if isinstance(node.value, bool) else node.value + 1
        yield "constant", node, ast.Constant(other)
    elif isinstance(node, (ast.If, ast.While, ast.IfExp)):
        yield "condition", node.test, ast.UnaryOp(ast.Not(), node.test)
    elif isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr)):
        yield "removed", node, "pass"


def sample(seed: int, first: Keys = (), folders: Sequence[str] = NEAREST) -> list[Mutant]:
    """Those of some keys, and then a change of each other line, the folders in turn: as they are tried."""
    asked, turns = [], []
    unread = () if find_spec("triton") else ("kernels.py",)  # no test would run its lines
    for number, name in enumerate(folders):
        paths = [path for path in sorted((ROOT / "graphdep" / name).rglob("*.py")) if path.name not in unread]
        files = [(path.relative_to(ROOT).as_posix(), path) for path in paths]
        found = [mutant for file, path in files for mutant in mutants(file, path.read_text(encoding="utf-8"))]
        random.Random(f"{seed} {name}").shuffle(found)
        asked += [mutant for mutant in found if mutant[:4] in first]
        others = {(mutant.file, mutant.line): mutant for mutant in found if mutant not in asked}.values()
        turns += [(turn, number, mutant) for turn, mutant in enumerate(others)]
    return [*asked, *(mutant for *_, mutant in sorted(turns))]


def tests_of(file: str, root: Path) -> list[str]:
    """What is asked, one after the other: tests that name the module, and those of its folder."""
    folder = next(f"tests/{name}" for name in NEAREST if file.startswith(f"graphdep/{name}/"))
    module, name = file[:-3].replace("/", "."), f"test_{Path(file).stem}.py"
    tests = sorted((root / "tests").rglob("test_*.py"), key=lambda path: (path.name != name, path))
    own = [path for path in tests if path.name == name or module in path.read_text(encoding="utf-8")]
    return [*(path.relative_to(root).as_posix() for path in own if path.parent.name != "docs"), folder]


def copied(work: Path) -> Path:
    """A copy of the package and its tests, beside links to all else that tests read."""
    shutil.rmtree(copy := work / "copy", ignore_errors=True)
    copy.mkdir(parents=True)
    for path in ROOT.iterdir():
        if path.name in ("graphdep", "tests"):
            shutil.copytree(path, copy / path.name, ignore=shutil.ignore_patterns("__pycache__"))
        elif not path.name.startswith("."):
            (copy / path.name).symlink_to(path)
    return copy


def failing(tests: Sequence[str], copy: Path) -> str:
    """The first test in a copy that fails, empty for none."""
    log = copy.with_name("log")

    def ask() -> None:
        import pytest

        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
        os.chdir(copy)
        os.environ |= {"PYTHONPATH": str(copy), "OMP_NUM_THREADS": "1"}
        sys.path.insert(0, str(copy))
        quiet = "-x -q --tb=no -p no:cacheprovider -W ignore::pytest.PytestAssertRewriteWarning -m".split()
        sys.exit(int(pytest.main([*quiet, "not slow", *tests])))

    code = wait(start(ask, log), 5 * SECONDS)  # of the clock, where others work as well
    if code in (None, -signal.SIGXCPU, -signal.SIGKILL):
        return f"the time of {tests[0]}"
    said = log.read_text(encoding="utf-8", errors="replace")
    if failed := re.search(r"^(?:FAILED|ERROR|ImportError while loading) (\S+)", said, re.M):
        return failed[1]
    assert code in (0, 5), f"exit {code} of {tests}: {said[-2000:]}"  # 5: there are none
    return ""


def notices(mutant: Mutant, copy: Path) -> str:
    """The test that fails with a change, empty for none."""
    path = copy / mutant.file
    source, times = path.read_bytes(), (path.stat().st_atime, path.stat().st_mtime)
    try:
        path.write_bytes(source[: mutant.start] + mutant.after.encode() + source[mutant.end :])
        return next(filter(None, (failing([one], copy) for one in tests_of(mutant.file, copy))), "")
    finally:
        path.write_bytes(source)
        os.utime(path, times)  # which tells that compiled code is of this


def read_rows(table: Path) -> dict[tuple[str, ...], dict[str, str]]:
    """Those of the table, by what stays of them."""
    with open(table, encoding="utf-8", newline="") as file:
        return {tuple(row.values())[:4]: row for row in csv.DictReader(file)}


def add_row(mutant: Mutant, by: str, table: Path) -> None:
    """Adds what was not noticed, or says of a row by which test it is noticed now."""
    rows = read_rows(table)
    new = dict(zip(COLUMNS, (*mutant[:5], "open", "")))
    if not by or mutant[:4] in rows:
        rows.setdefault(mutant[:4], new).update({"judgement": f"killed by {by}"} if by else {})
    with open(table, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([COLUMNS, *([*rows[key].values()] for key in sorted(rows))])


def run(chosen: Sequence[Mutant], work: Path, minutes: float, table: Path, again: Keys = ()) -> list[str]:
    """Tries mutants until the time is over, and adds to the table; by which test each was noticed."""
    copy, end, found = copied(work), time.monotonic() + 60 * minutes, []
    with open(work / "tried.csv", "a+", encoding="utf-8", newline="") as file:
        file.seek(0)
        known = {tuple(row) for row in csv.reader(file)}.difference(again)
        for mutant in chosen:
            if mutant[:4] in known or time.monotonic() > end:
                continue
            found.append(notices(mutant, copy))
            add_row(mutant, found[-1], table)
            csv.writer(file).writerow(mutant[:4])
            file.flush()
            print(f"{mutant.file}:{mutant.line}", *mutant[1:4:2], found[-1] or "NOT NOTICED", flush=True)
    tests = sorted({by.partition("[")[0] for by in found if "::" in by})
    assert not (tests and failing(tests, copy)), f"one of {tests} fails without a change as well"
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=60, help="end after about so many (default: 60)")
    parser.add_argument(
        "--folders", nargs="+", choices=NEAREST, default=NEAREST, help="default: all, in turn"
    )
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir(), "graphdep-mutants"))
    given = parser.parse_args()
    for name in (
        "torch_geometric",
        "lightning",
        "transformers",
        "hypothesis.strategies",
        "pandas",
        "sklearn",
    ):
        importlib.import_module(name)  # here, or each child takes seconds for them

    opened = [key for key, row in read_rows(MUTANTS).items() if row["judgement"] == "open"]
    run(sample(given.seed, opened, given.folders), given.work, given.minutes, MUTANTS, again=opened)
