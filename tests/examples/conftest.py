"""Scripts of ``examples/`` run in this process."""

from __future__ import annotations

import io
import runpy
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from subprocess import CompletedProcess

import pytest
import torch


@pytest.fixture
def scripts() -> Path:
    """The folder of the scripts."""
    return Path(__file__).parents[2] / "examples"


@pytest.fixture
def example(scripts: Path) -> Iterator[Callable[..., CompletedProcess[str]]]:
    """Runs a script by its name, with arguments, in this process: in one of its own most of the time would go
    into imports. Fails where it ends with another code than ``returncode``.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield partial(_run, scripts)
    torch.set_num_threads(threads)


def _run(folder: Path, name: str, *arguments: object, returncode: int = 0) -> CompletedProcess[str]:
    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", [name, *map(str, arguments)])
        patch.syspath_prepend(str(folder))
        try:
            runpy.run_path(str(folder / name), run_name="__main__")
        except SystemExit as stop:
            code = stop.code or 0
    if not isinstance(code, int):  # a message
        err.write(str(code))
        code = 1
    assert code == returncode, err.getvalue()
    return CompletedProcess(name, code, out.getvalue(), err.getvalue())
