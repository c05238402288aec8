"""What holds for the whole tree of files, so that the package is complete."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import pkgutil
import re
import sys
import tomllib
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

import graphdep

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "graphdep"
MODULES = sorted(p for p in PACKAGE.rglob("*.py"))
PACKAGES = [p for p in MODULES if p.name == "__init__.py" and p.read_text(encoding="utf-8").strip()]
PACKAGE_DATA = ("py.typed", "parsing/bundled/*", "visualization/page/*")


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_datasets_holds_data_only():
    # A module there would shadow Hugging Face's `datasets` for everybody who runs Python in this folder.
    assert not [name(p) for p in (ROOT / "datasets").rglob("*.py")]


def test_only_the_root_of_the_tests_is_a_package():
    assert [name(p) for p in (ROOT / "tests").rglob("__init__.py")] == ["tests/__init__.py"]


def test_every_folder_of_the_package_is_one():
    folders = {p.parent for p in MODULES}
    assert not [name(p) for p in folders if not (p / "__init__.py").is_file()]


def test_files_stay_short():
    lengths = {name(p): len(p.read_text(encoding="utf-8").splitlines()) for p in MODULES}
    assert not [f"{path} has {length} lines" for path, length in lengths.items() if length > 900]


def test_all_is_complete():
    assert not [f"{name(path)}: {wrong}" for path in PACKAGES for wrong in missing_in_all(path)]


def missing_in_all(path: Path) -> list[str]:
    """What the ``__all__`` of a package has twice or without a value, or lacks of the package's imports."""
    module = importlib.import_module(".".join(path.parent.relative_to(ROOT).parts))
    tree = ast.parse(path.read_text(encoding="utf-8"))
    if not hasattr(module, "__all__"):
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        return ["imports without __all__"] if imports else []
    # A lazy face has its imports under `if TYPE_CHECKING:`.
    nodes = [inner for node in tree.body for inner in (node.body if isinstance(node, ast.If) else [node])]
    imported = {
        alias.asname or alias.name
        for node in nodes
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("graphdep")
        for alias in node.names
    }
    twice = [n for n in {*module.__all__} if module.__all__.count(n) > 1]
    nothing = [n for n in module.__all__ if not hasattr(module, n)]
    lacking = imported - {*module.__all__, "lazy_imports"}
    return [*twice, *nothing, *sorted(n for n in lacking if not n.startswith("_"))]


def test_every_module_can_be_imported():
    for module in pkgutil.walk_packages([str(PACKAGE)], "graphdep."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def test_typed_and_versioned():
    assert (PACKAGE / "py.typed").is_file()
    assert importlib.metadata.version("graphdep") == graphdep.__version__
    entries = importlib.metadata.entry_points(group="console_scripts", name="graphdep")
    assert [entry.value for entry in entries] == ["graphdep.__main__:main"]


@cache
def imported() -> set[str]:
    """The distributions that the package imports."""
    nodes = [node for path in MODULES for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    found = {n.partition(".")[0] for n in names} - sys.stdlib_module_names - {"graphdep"}
    return {{"sklearn": "scikit-learn", "yaml": "pyyaml"}.get(n, n).replace("_", "-") for n in found}


@pytest.fixture(scope="module")
def declared() -> dict[str, set[str]]:
    """The distributions that the package asks for, and those of its extras by their names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lists = {"": project["dependencies"], **project["optional-dependencies"]}
    return {key: {re.match(r"[\w.-]+", r)[0].lower() for r in some} for key, some in lists.items()}


def test_what_is_imported_is_declared(declared):
    extras = {key: some for key, some in declared.items() if key != "dev"}
    assert not imported() - set().union(*extras.values())


def test_what_is_declared_is_imported(declared):
    assert not declared[""] - imported()


def test_whatever_is_no_code_is_shipped():
    files = [p for p in PACKAGE.rglob("*") if p.is_file() and p.suffix not in (".py", ".pyc")]
    names = [p.relative_to(PACKAGE).as_posix() for p in files]
    assert not [n for n in names if not any(fnmatch(n, glob) for glob in PACKAGE_DATA)]
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert all(f'"{glob}"' in settings for glob in PACKAGE_DATA)


def test_constraints_are_exact_and_portable():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert not [
        p for p in pins if not re.fullmatch(r'[a-z0-9.-]+==[0-9][0-9a-z.]*( ; python_version >= "3\.11")?', p)
    ]
    assert "torch==2.13.0" in pins


SITE = [p for p in (ROOT / "docs").rglob("*.md") if "_generated" not in p.parts]
DOCUMENTS = [
    *ROOT.glob("*.md"),
    *SITE,
    *(ROOT / "examples").rglob("*.md"),
    *(ROOT / "datasets").glob("*/*.md"),
]


def test_links_lead_somewhere():
    broken = []
    for document in DOCUMENTS:
        text = re.sub(r"^```.*?^```", "", document.read_text(encoding="utf-8"), flags=re.M | re.S)
        links = [link for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text) if "://" not in link]
        broken += [f"{name(document)}: {link}" for link in links if not (document.parent / link).exists()]
    assert not broken
