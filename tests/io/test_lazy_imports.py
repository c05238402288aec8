from __future__ import annotations

import importlib
import io
import os
import pkgutil
import sys

import pytest
from rich.table import Table

import graphdep
from graphdep.io.console import plain_console
from graphdep.io.lazy_imports import lazy_imports

FACE = """
from typing import TYPE_CHECKING
from graphdep.io.lazy_imports import lazy_imports
if TYPE_CHECKING:
    from math import pi
    from lazy_example.one import ONE, Uno
__all__ = ["ONE", "Uno", "pi"]
__getattr__, __dir__ = lazy_imports(__name__)
"""


@pytest.fixture
def example(tmp_path, monkeypatch):
    folder = tmp_path / "lazy_example"
    (folder / "inner").mkdir(parents=True)
    (folder / "__init__.py").write_text(FACE)
    (folder / "one.py").write_text("ONE = 1\nclass Uno: pass\n")
    (folder / "inner" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("lazy_example")
    for name in [name for name in sys.modules if name.partition(".")[0] == "lazy_example"]:
        del sys.modules[name]


def test_a_name_imports_its_file(example):
    assert "lazy_example.one" not in sys.modules
    assert {"ONE", "Uno", "pi"} <= {*dir(example)}
    assert "lazy_example.one" not in sys.modules
    assert example.ONE == 1
    assert "lazy_example.one" in sys.modules
    assert vars(example)["ONE"] == 1  # asked for once


def test_all_ways_to_a_name(example):
    from lazy_example import Uno

    names: dict[str, object] = {}
    exec("from lazy_example import *", names)
    assert names["Uno"] is Uno is example.one.Uno
    assert names["pi"] == pytest.approx(3.14, abs=0.01)


def test_modules_are_there_without_an_import_of_their_own(example):
    assert example.inner.__name__ == "lazy_example.inner"


def test_a_wrong_name_is_named(example):
    for name in ["Due", "__wrapped__", "two"]:
        with pytest.raises(AttributeError, match=f"module 'lazy_example' has no attribute '{name}'"):
            getattr(example, name)
        with pytest.raises(ImportError, match=name):
            exec(f"from lazy_example import {name}")


def test_without_its_source_it_says_so(example, monkeypatch):
    monkeypatch.setattr(type(example.__spec__.loader), "get_source", lambda self, name: None)
    with pytest.raises(ImportError, match="lazy_example cannot be imported without its source"):
        lazy_imports("lazy_example")


def lazy_packages() -> list[str]:
    names = ["graphdep", *(m.name for m in pkgutil.walk_packages(graphdep.__path__, "graphdep.") if m.ispkg)]
    modules = map(importlib.import_module, names)
    return [module.__name__ for module in modules if hasattr(module, "lazy_imports")]


def test_no_name_is_that_of_a_module_beside_it():
    """Which an import of the module would put in the place of the name."""
    for package in lazy_packages():
        module = importlib.import_module(package)
        beside = {found.name for found in pkgutil.iter_modules(module.__path__)}
        assert not beside & {*module.__all__}


def test_the_package_as_before():
    assert dir(graphdep) == sorted([*graphdep.__all__, "__version__"])
    with pytest.raises(AttributeError, match="module 'graphdep' has no attribute 'Sentences'"):
        _ = graphdep.Sentences
    assert graphdep.vocab.RelationVocab is graphdep.RelationVocab


ODD = "a[/b] [bold]c[/] :dog: 'x' 1.5"


def closed_pipe():
    read, write = os.pipe()
    os.close(read)
    return os.fdopen(write, "w")


def test_texts_cells_and_titles_are_printed_as_they_are():
    file = io.StringIO()
    console = plain_console(file=file, width=200)
    table = Table(ODD, title=ODD)
    table.add_row(ODD)
    console.print(table)
    console.print(ODD, style="dim", soft_wrap=True)
    console.rule(ODD)
    assert file.getvalue().count(ODD) == 5


def test_results_that_nobody_reads_are_an_error():
    """Which a command takes for a reader that has enough; rich would end the process with 1."""
    file = closed_pipe()
    console = plain_console(file=file)
    with pytest.raises(BrokenPipeError):
        console.print("x")
    with pytest.raises(BrokenPipeError):
        file.close()


def test_progress_that_nobody_reads_is_no_error(monkeypatch):
    file = closed_pipe()
    monkeypatch.setattr(sys, "stderr", file)
    console = plain_console(stderr=True)
    console.print("x")
    console.print("y")
    assert console.quiet
    file.close()
