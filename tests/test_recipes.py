"""The recipes of docs/how-to/add-a-part.md work on a copy of the package; the map names files that exist."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "how-to" / "add-a-part.md").read_text(encoding="utf-8")
MAP = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
RESEARCH = ROOT / "examples" / "research"  # README.md there says what it holds
RECIPES = {
    title: re.findall(r"^```(python|diff)\n(.*?)^```", text, flags=re.M | re.S)
    for title, text in re.findall(r"^## Add an? (.*?)\n(.*?)(?=^## |\Z)", PAGE, flags=re.M | re.S)
}
# Asked of the copy as of all code: the tests of a file that have one of these in their names.
GUARDS = {
    "tests/test_structure.py": ("test",),
    "tests/cli/test_startup.py": ("alone", "completion"),
    "tests/test_layout.py": ("all_is_complete", "every_folder", "stay_short"),
    "tests/test_doctests.py": ("GrandparentEdges", "LinearBiasConv", "Headlines", "every_public_class"),
}


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


def test_the_map_names_files_that_are_there():
    named = re.findall(r"`([\w/]+(?:\.py|/))`", MAP)
    assert len(named) > 30
    places = (ROOT / "graphdep", ROOT, ROOT / "tests")
    family = {"settings.py", "family.py", "model.py", "predict.py", "train.py", "use.py", "look.py"}
    assert not [name for name in named if name not in family and not any((p / name).exists() for p in places)]
    tasks = [path for path in (ROOT / "graphdep" / "tasks").iterdir() if (path / "family.py").is_file()]
    assert all((path / name).is_file() for path in tasks for name in ("settings.py", "model.py"))


def test_contributing_is_short():
    assert len((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split()) <= 800


def test_there_are_five_recipes():
    assert [*RECIPES] == ["edge constructor", "conv", "corpus", "model", "task"]
    for title, blocks in RECIPES.items():
        targets = targets_of(blocks)
        assert sum(target.startswith("tests/") for target in targets) == 1, title
        assert any(kind == "diff" for kind, _ in blocks), title


def test_a_task_takes_eighty_lines():
    lines = [line for _, block in RECIPES["task"] for line in block.splitlines()]
    assert sum(bool(line.strip()) for line in lines) <= 80


@pytest.mark.slow
def test_the_recipes_pass_their_tests_and_those_of_all_code(copy):
    own = [path for blocks in RECIPES.values() for path in targets_of(blocks) if path.startswith("tests/")]
    chosen = [Path(path).name for path in own]
    chosen += [f"{Path(path).name} and {word}" for path, words in GUARDS.items() for word in words]
    names = " or ".join(f"({words})" for words in chosen)
    out = run(copy, "pytest", "-q", "-p", "no:cacheprovider", "-k", names, *own, *GUARDS)
    assert int(re.search(r"(\d+) passed", out)[1]) > 20


@pytest.mark.slow
def test_the_recipes_are_formatted(copy):
    written = [path for blocks in RECIPES.values() for path in targets_of(blocks)]
    run(copy, "ruff", "check", "--no-cache", *written)
    run(copy, "ruff", "format", "--check", "--no-cache", *written)
