#!/usr/bin/env python
"""Figures of a checkout: lines, `raise`, tests, what a run executes, and base classes that families share.

Run: python .ci/measure.py [CHECKOUT] [--collect] [--no-run]
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

LONGEST = 900
"""Lines that a file may have."""
# One epoch on 80 pairs, from raw files on, so that reading, parsing and storing are seen, too.
ROWS = {"SICK_train.txt": 80, "SICK_trial.txt": 20, "SICK_test_annotated.txt": 20}
TRAIN = "train --task sick-e --model dt --root root --output run --max-epochs 1 --set accelerator=cpu"
# A file counts once one of its functions is called outside of an import.
TRACE = """
import json, sys, threading
package, arguments = sys.argv[1], sys.argv[2].split()
known, files = set(), set()
def importing(frame):
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(package):
            return True
        frame = frame.f_back
    return False
def seen(frame, event, _):
    code = frame.f_code
    if event == "call" and code not in known:
        function = code.co_flags & 1 and code.co_filename.startswith(package)
        if not function or not importing(frame.f_back):
            known.add(code)
            files.update([code.co_filename] if function else [])
from graphdep.cli import app
threading.setprofile(seen)
sys.setprofile(seen)
try:
    app(arguments, prog_name="graphdep")
except SystemExit as end:
    assert not end.code, end.code
sys.setprofile(None)
print(json.dumps([len(files), sum(name.partition(".")[0] == "graphdep" for name in sys.modules)]))
"""


def counts(files: Sequence[Path]) -> Counter[str]:
    """Lines by kind. Code is what is not blank, docstring, import or comment; blank lines of docstrings are
    subtracted twice, as in the figures of other libraries with which ours are compared.
    """
    found: Counter[str] = Counter(files=len(files))
    for path in files:
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines()
        found["lines"] += len(lines)
        found["long"] += len(lines) > LONGEST
        found["other"] += sum(not line.strip() or line.strip().startswith("#") for line in lines)
        for node in ast.walk(ast.parse(text)):
            named = isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
            if named and ast.get_docstring(node, clean=False) is not None:
                found["docstrings"] += _height(node.body[0])
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                found["other"] += _height(node)
            found["raise"] += isinstance(node, ast.Raise)
    found["code"] = found["lines"] - found["other"] - found["docstrings"]
    return found


def _height(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def hierarchies(package: Path) -> dict[str, set[str]]:
    """Families (folders of ``tasks``) by the class elsewhere that theirs derive from or tabulate."""
    bases: dict[str, set[str]] = {}
    home: dict[str, str] = {}
    tables: dict[str, set[str]] = defaultdict(set)
    for path in package.rglob("*.py"):
        parts = path.relative_to(package).parts
        family = parts[1] if parts[0] == "tasks" and len(parts) > 2 else ""
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                names = (ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases)
                bases[node.name], home[node.name] = {*names} - {node.name}, family
        for node in tree.body:
            for word in (
                re.findall(r"\w+", ast.unparse(node.annotation)) if isinstance(node, ast.AnnAssign) else ()
            ):
                tables[word] |= {family} - {""}

    def above(name: str) -> Iterator[str]:
        for base in bases[name] & bases.keys():
            yield from (base, *above(base))

    found: dict[str, set[str]] = defaultdict(
        set, {name: tables[name] for name in tables.keys() & bases.keys()}
    )
    for name, family in home.items():
        for base in above(name) if family else ():
            found[base].add(family)
    return {
        name: of for name, of in found.items() if of and not home[name] and not bases[name] & bases.keys()
    }


def executed(checkout: Path) -> list[int]:
    """Files of which a first run of one epoch calls a function, and the modules that it loads."""
    with tempfile.TemporaryDirectory() as folder:
        raw = Path(folder, "root", "raw")
        raw.mkdir(parents=True)
        for name, rows in ROWS.items():
            text = (checkout / "datasets" / "mini" / "raw" / name).read_text(encoding="utf-8")
            (raw / name).write_text("".join(text.splitlines(keepends=True)[: rows + 1]), encoding="utf-8")
        return list(
            json.loads(_python(checkout, folder, "-c", TRACE, f"{checkout}/graphdep/", TRAIN).split("\n")[-2])
        )


def _python(checkout: Path, folder: str | Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(checkout), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{arguments[:2]} failed: {done.stdout[-500:]}{done.stderr[-2000:]}")
    return done.stdout


def figures(checkout: Path, *, run: bool, collect: bool) -> Iterator[tuple[str, object]]:
    """What is counted, and how much of it there is."""
    examples, research = checkout / "examples", checkout / "examples" / "research"
    library = counts([*(checkout / "graphdep").rglob("*.py")])
    for kind in ("files", "lines", "code", "docstrings", "raise"):
        yield f"graphdep: {kind}", f"{library[kind]:,}"
    yield "graphdep: raise per 1,000 lines of code", round(1000 * library["raise"] / library["code"], 1)
    yield f"graphdep: files over {LONGEST} lines", library["long"]
    roots = hierarchies(checkout / "graphdep")
    families = len(set().union(*roots.values()))
    for least, shared in ((families - 1, f"{families - 1} of {families}"), (families // 2, "half of the")):
        names = sorted(name for name, of in roots.items() if len(of) >= least)
        yield f"hierarchies of {shared} families", f"{len(names)} ({', '.join(names)})"
    if run:
        files, modules = executed(checkout)
        yield "train: files executed, modules loaded", f"{files}, {modules}"
    for name, paths in (
        ("tests", [*(checkout / "tests").rglob("*.py")]),
        ("examples", [path for path in examples.rglob("*.py") if research not in path.parents]),
        ("examples/research", [*research.rglob("*.py")]),
    ):
        about = counts(paths)
        yield f"{name}: files, lines", f"{about['files']}, {about['lines']:,}"
    if collect:
        told = _python(
            checkout, checkout, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--collect-only", "tests"
        )
        yield "tests: collected", told.strip().split("\n")[-1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", nargs="?", type=Path, default=Path(__file__).parents[1])
    parser.add_argument("--collect", action="store_true", help="ask pytest for the number of tests: minutes")
    parser.add_argument("--no-run", action="store_true", help="train nothing")
    given = parser.parse_args()
    for name, value in figures(given.checkout.resolve(), run=not given.no_run, collect=given.collect):
        print(f"{name:40} {value}", flush=True)
