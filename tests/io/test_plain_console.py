from __future__ import annotations

import io
import os
import sys

import pytest
from rich.table import Table

from graphdep.io.console import plain_console

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
