"""A process that sees only the packages of some extras."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
# What is not allowed is not found: neither as a module nor as a distribution with a version.
BEFORE = """
import sys, warnings
warnings.simplefilter("ignore")

class Without:
    modules, distributions = frozenset({modules!r}), frozenset({distributions!r})

    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in self.modules else self.finder.find_spec(name, path, target)

    def find_distributions(self, *context):
        found = getattr(self.finder, "find_distributions", lambda *context: ())(*context)
        return (one for one in found if (one.name or "").lower().replace("_", "-") not in self.distributions)

    def __getattr__(self, name):
        return getattr(self.finder, name)

sys.meta_path[:] = map(Without, sys.meta_path)
"""


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@cache
def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def needed(extras: Iterable[str]) -> set[str]:
    """The distributions of an installation with some extras, by their requirements."""
    own = project()
    lines = own["dependencies"] + [line for extra in extras for line in own["optional-dependencies"][extra]]
    todo, found = [(Requirement(line), "") for line in lines], set()
    seen = set()
    while todo:
        requirement, within = todo.pop()
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": within}):
            continue
        name = normal(requirement.name)
        for extra in ("", *requirement.extras):
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            try:
                todo += [(Requirement(line), extra) for line in requires(name) or ()]
            except PackageNotFoundError:
                continue
            found.add(name)
    return found


def run_with(extras: Iterable[str], code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs code with only the packages of these extras."""
    allowed = {"graphdep", *needed(extras)}
    owners = {module: {*map(normal, names)} for module, names in packages_distributions().items()}
    modules = {module for module, names in owners.items() if not names & allowed}
    distributions = set().union(*owners.values()) - allowed
    before = BEFORE.format(modules=sorted(modules), distributions=sorted(distributions))
    (folder / "code.py").write_text(before + code, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, str(folder / "code.py")],
        capture_output=True,
        text=True,
        env=environment,
        cwd=folder,
        check=False,
    )
