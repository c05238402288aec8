"""CONTRIBUTING.md is true: its tree is that of the folders, and its recipes work on a copy of the package."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
# Folders that tools and users make, and those whose files speak for themselves.
LEFT_OUT = ("__pycache__", "raw", "processed", "cache")
RESEARCH = ROOT / "examples" / "research"  # README.md there says what it holds
RECIPES = {
    title: re.findall(r"^```(python|diff)\n(.*?)^```", text, flags=re.M | re.S)
    for title, text in re.findall(r"^## Add an? (.*?)\n(.*?)(?=^## |\Z)", PAGE, flags=re.M | re.S)
}
# Asked of the copy as of all code: the tests of a file that have one of these in their names.
GUARDS = {
    "tests/test_structure.py": ("test",),
    "tests/cli/test_startup.py": ("alone", "version", "completion"),
    "tests/test_layout.py": ("all_is_complete", "every_folder", "stay_short"),
    "tests/test_doctests.py": ("GrandparentEdges", "LinearBiasConv", "Headlines", "every_public_class"),
}


def drawn_folders() -> list[str]:
    """The paths of the tree that is drawn on the page."""
    lines = re.search(r"^```text\n(.*?)^```", PAGE, flags=re.M | re.S)[1].splitlines()
    paths: list[str] = []
    above: list[str] = []
    for line in lines:
        name = line.split()[0]
        assert name.endswith("/"), line
        assert len(line.split()) > 1, f"{name} has no description"
        depth = (len(line) - len(line.lstrip())) // 2
        above = [*above[:depth], name.rstrip("/")]
        paths.append("/".join(above))
    return paths


def folders_below(root: Path) -> list[str]:
    paths = [path for path in root.rglob("*") if path.is_dir() and path.name not in LEFT_OUT]
    paths = [path for path in paths if RESEARCH not in path.parents]
    return [root.name, *(path.relative_to(root.parent).as_posix() for path in paths)]


def target_of(kind: str, block: str) -> str:
    pattern = r"# (\S+\.py)\n" if kind == "python" else r"--- a/(\S+)\n\+\+\+ b/\1\n@@\n"
    match = re.match(pattern, block)
    assert match, f"a block names no file: {block[:60]!r}"
    return match[1]


def targets_of(blocks: list[tuple[str, str]]) -> list[str]:
    return [target_of(kind, block) for kind, block in blocks]


def write_block(kind: str, block: str, root: Path) -> None:
    """Does to the copy what a block says: a whole file, or changes of one."""
    path = root / target_of(kind, block)
    if kind == "python":
        assert not path.exists(), f"{path} is there already"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.partition("\n")[2], encoding="utf-8")
        return
    text = path.read_text(encoding="utf-8")
    for hunk in block.split("@@\n")[1:]:
        lines = hunk.splitlines(keepends=True)
        old, new = ("".join(line[1:] for line in lines if line[0] in signs) for signs in (" -", " +"))
        assert text.count(old) == 1, f"{path} has {text.count(old)} times:\n{old}"
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package with all recipes, the tests of the recipes, and those of the whole."""
    root = tmp_path_factory.mktemp("copy")
    shutil.copytree(
        ROOT / "graphdep", root / "graphdep", ignore=shutil.ignore_patterns("__pycache__", "*.pt")
    )
    for name in ("pyproject.toml", "README.md", "constraints.txt"):
        shutil.copy(ROOT / name, root / name)
    shutil.copytree(
        ROOT / "tests" / "kit", root / "tests" / "kit", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(ROOT / "tests" / "__init__.py", root / "tests")
    for name in GUARDS:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, root / name)
    for blocks in RECIPES.values():
        for kind, block in blocks:
            write_block(kind, block, root)
    return root


def run(root: Path, *command: str) -> str:
    # The copy comes before the package that is installed.
    env = {**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}
    env = {name: value for name, value in env.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=root, env=env, capture_output=True, text=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_tree_is_that_of_the_folders():
    parts = ("graphdep", "examples")
    drawn = drawn_folders()
    assert len(set(drawn)) == len(drawn)
    found = [path for part in parts for path in folders_below(ROOT / part)]
    assert sorted(p for p in drawn if p.split("/")[0] in parts) == sorted(found)
    others = sorted(p for p in drawn if p.split("/")[0] not in parts)
    assert [p for p in others if not p.startswith("docs/")] == ["datasets", "docs", "tests"]
    assert all((ROOT / p).is_dir() for p in others)


def test_the_tree_goes_from_the_ground_up():
    """A folder stands below those that it may import from, as tests/test_structure.py has them."""
    floor = runpy.run_path(str(ROOT / "tests" / "test_structure.py"))["FLOOR"]
    drawn = drawn_folders()
    above = {path.rpartition("/")[0] for path in drawn}
    rooms = [path.replace("/", ".") for path in drawn if path not in above]
    while nested := [room for room in rooms if "." in room and room not in floor]:
        rooms = [room.rpartition(".")[0] if room in nested else room for room in rooms]
    floors = [floor[room] for room in rooms if room in floor]
    assert len(floors) > 20
    assert floors == sorted(floors)


def test_there_are_five_recipes():
    assert [*RECIPES] == ["edge constructor", "conv", "corpus", "model", "family"]
    for title, blocks in RECIPES.items():
        targets = targets_of(blocks)
        assert sum(target.startswith("tests/") for target in targets) == 1, title
        assert any(kind == "diff" for kind, _ in blocks), title


def test_the_recipes_pass_their_tests_and_those_of_all_code(copy):
    own = [path for blocks in RECIPES.values() for path in targets_of(blocks) if path.startswith("tests/")]
    chosen = [Path(path).name for path in own]
    chosen += [f"{Path(path).name} and {word}" for path, words in GUARDS.items() for word in words]
    names = " or ".join(f"({words})" for words in chosen)
    out = run(copy, "pytest", "-q", "-p", "no:cacheprovider", "-k", names, *own, *GUARDS)
    assert int(re.search(r"(\d+) passed", out)[1]) > 20


def test_the_recipes_are_formatted(copy):
    written = [path for blocks in RECIPES.values() for path in targets_of(blocks)]
    run(copy, "ruff", "check", "--no-cache", *written)
    run(copy, "ruff", "format", "--check", "--no-cache", *written)
