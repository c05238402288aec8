"""What holds for the whole tree of files, so that a name leads to its file and the package is complete."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import inspect
import pkgutil
import re
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

import graphdep

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "graphdep"
MODULES = sorted(p for p in PACKAGE.rglob("*.py"))
PACKAGES = [p for p in MODULES if p.name == "__init__.py" and p.read_text(encoding="utf-8").strip()]
# Folders in which the name of an exported class gives the name of its file.
ONE_CLASS_A_FILE = ("transforms", "nn/attention", "nn/conv", "nn/models", "datasets")
# Names that are one word where they come from.
ONE_WORD = {
    "CoLA": "cola",
    "ReCoSa": "recosa",
    "ECommerce": "ecommerce",
    "CoNLL04": "conll04",
    "SemEval2010Task8": "semeval2010_task8",
    "PropBankEWT": "propbank_ewt",
    "UniversalPropBank": "universal_propbank",
    "SemEval2014Aspects": "semeval2014_aspects",
}
PACKAGE_DATA = ("py.typed", "parsing/bundled/*", "explorer/page/*")


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def snake_case(camel: str) -> str:
    if camel in ONE_WORD:
        return ONE_WORD[camel]
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", camel)
    return re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", words).lower()


def exported(package: str) -> list[tuple[str, Path]]:
    """The classes that a package exports, without errors, each with its file."""
    module = importlib.import_module(f"graphdep.{package.replace('/', '.')}")
    values = [getattr(module, n) for n in module.__all__]
    classes = [v for v in values if inspect.isclass(v) and not issubclass(v, BaseException)]
    return [(cls.__name__, Path(inspect.getfile(cls))) for cls in classes]


def test_datasets_holds_data_only():
    # A module there would shadow Hugging Face's `datasets` for everybody who runs Python in this folder.
    assert not [name(p) for p in (ROOT / "datasets").rglob("*.py")]


def test_only_the_root_of_the_tests_is_a_package():
    assert [name(p) for p in (ROOT / "tests").rglob("__init__.py")] == ["tests/__init__.py"]


def test_every_folder_of_the_package_is_one():
    folders = {p.parent for p in MODULES}
    assert not [name(p) for p in folders if not (p / "__init__.py").is_file()]


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_files_stay_short(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 500


@pytest.mark.parametrize("package", ONE_CLASS_A_FILE)
def test_an_exported_class_has_a_file_that_bears_its_name(package):
    classes = exported(package)
    assert len({path for _, path in classes}) == len(classes)
    # AttentionLayout may stand in attention/layout.py
    assert not [cls for cls, path in classes if not f"_{snake_case(cls)}".endswith(f"_{path.stem}")]


@pytest.mark.parametrize("path", PACKAGES, ids=name)
def test_all_is_complete(path):
    module = importlib.import_module(".".join(path.parent.relative_to(ROOT).parts))
    if not hasattr(module, "__all__"):
        assert not [
            node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.ImportFrom)
        ]
        return
    assert len(set(module.__all__)) == len(module.__all__)
    assert not [n for n in module.__all__ if not hasattr(module, n)]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    # A lazy face has its imports under `if TYPE_CHECKING:`.
    nodes = [inner for node in tree.body for inner in (node.body if isinstance(node, ast.If) else [node])]
    imported = {
        alias.asname or alias.name
        for node in nodes
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("graphdep")
        for alias in node.names
    }
    imported -= {*module.__all__, "lazy_face"}
    assert not sorted(n for n in imported if not n.startswith("_"))


def test_every_module_can_be_imported():
    for module in pkgutil.walk_packages([str(PACKAGE)], "graphdep."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def test_typed_and_versioned():
    assert (PACKAGE / "py.typed").is_file()
    assert importlib.metadata.version("graphdep") == graphdep.__version__
    entries = importlib.metadata.entry_points(group="console_scripts", name="graphdep")
    assert [entry.value for entry in entries] == ["graphdep.cli:app"]


def imported(modules: list[Path]) -> set[str]:
    """The distributions that some modules import."""
    nodes = [node for path in modules for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
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
    assert not imported(MODULES) - set().union(*extras.values())


def test_what_is_declared_is_imported(declared):
    assert not declared[""] - imported(MODULES)


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


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_links_lead_somewhere(document):
    text = re.sub(r"^```.*?^```", "", document.read_text(encoding="utf-8"), flags=re.M | re.S)
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text)
    local = [link for link in links if "://" not in link]
    assert not [link for link in local if not (document.parent / link).exists()]
