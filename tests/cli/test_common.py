"""Texts and files that commands read, and what happens when they are ended."""

from __future__ import annotations

import csv
import inspect
import io
import json
import math
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphdep
import graphdep.__main__
from graphdep.cli import common as module
from graphdep.cli import look, train, use
from graphdep.cli.common import signals_as_interrupts, stream_texts


def test_commands_with_a_checkpoint_say_that_they_load():
    commands = [
        found
        for part in (look, train, use)
        for name, found in inspect.getmembers(part, inspect.isfunction)
        if found.__module__ == part.__name__
        and name[0] != "_"
        and "checkpoint" in inspect.signature(found).parameters
    ]
    assert {"evaluate", "embed"} < {one.__name__ for one in commands}
    assert [one.__name__ for one in commands if "report_loading()" not in inspect.getsource(one)] == []


def slow(content: str) -> list[str]:
    """The lines, from the whole file at once."""
    whole = content.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    return [line.strip() for line in whole.split("\n") if line.strip()]


@given(st.text("ab ä犬🐕\ufeff\r\n\x0b\x85", max_size=40), st.integers(1, 9))
def test_reading_in_blocks_equals_reading_the_whole_file(tmp_path_factory, content, block):
    path = tmp_path_factory.getbasetemp() / "texts.txt"
    path.write_bytes(content.encode("utf-8"))
    before, module._BLOCK = module._BLOCK, block
    try:
        if slow(content):
            stream, total, *_ = stream_texts(str(path))
            assert list(stream) == slow(content)
            assert total == len(slow(content))
        else:
            with pytest.raises(ValueError, match="there is no text"):
                stream_texts(str(path))
    finally:
        module._BLOCK = before


@given(st.binary(max_size=12), st.integers(1, 9))
def test_where_a_file_is_not_utf8(tmp_path_factory, content, block):
    path = tmp_path_factory.getbasetemp() / "texts.txt"
    path.write_bytes(content + b"a\xff")
    with pytest.raises(UnicodeDecodeError) as wanted:
        (content + b"a\xff").decode("utf-8")
    before, module._BLOCK = module._BLOCK, block
    try:
        with pytest.raises(ValueError, match=f"not UTF-8 at byte {wanted.value.start}$"):
            list(stream_texts(str(path)).stream)
    finally:
        module._BLOCK = before


def test_a_large_file_is_not_kept_in_memory(tmp_path, monkeypatch):
    """Only the blocks of the requested texts are read."""
    path = tmp_path / "texts.txt"
    path.write_text("a text\n" * 1_000, encoding="utf-8")
    monkeypatch.setattr(module, "_BLOCK", 70)
    stream, total, *_ = stream_texts(str(path))
    assert total == 1_000
    blocks = []
    decoded = module._decoded

    def counted(file, name):
        for piece in decoded(file, name):
            blocks.append(piece)
            yield piece

    monkeypatch.setattr(module, "_decoded", counted)
    stream = stream_texts(str(path))[0]
    blocks.clear()
    assert [next(stream) for _ in range(25)] == ["a text"] * 25
    assert len(blocks) == 3


def test_stdin_and_a_pipe_are_read_once(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("a\n\n b \n"))
    stream, total, *_ = stream_texts("-")
    assert (list(stream), total) == (["a", "b"], None)
    monkeypatch.setattr(sys, "stdin", io.StringIO(" \n"))
    with pytest.raises(ValueError, match="there is no text in '-'"):
        list(stream_texts("-").stream)
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=("a dog\n",))
    writer.start()
    stream, total, *_ = stream_texts(str(tmp_path / "pipe"))
    assert (list(stream), total) == (["a dog"], None)
    writer.join()


def test_a_text_itself():
    stream, total, *_ = stream_texts(" a   dog\nbarks ")
    assert (list(stream), total) == (["a dog barks"], 1)


# A folder "a[" with files "b]...": together what rich takes for a closing tag that nothing opens.
ODD = "a[/b] [red]:dog:"
COLUMNS = ("--text-columns", "text", "--label-column", "label")
RUN = ("--task", "csv", "--train", f"{ODD}.csv", *COLUMNS, "--parser", "chain", "--root", "r")
SETS = {"hidden_channels": 8, "ff_channels": 8, "num_layers": 1, "heads": 2, "accelerator": "cpu"}


@pytest.fixture
def odd(run):
    """Runs a command in a folder with odd file names; fails unless the command succeeds."""
    Path("a[").mkdir()
    rows = [("a fine film", "[/b]"), ("dull", "[red]x:dog:")] * 12
    with open(f"{ODD}.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *rows])
    Path(f"{ODD}.txt").write_text("it rains\n", encoding="utf-8")

    def call(*arguments):
        done = run(*arguments)
        assert done.exit_code == 0, done.stderr
        return done.stdout + done.stderr

    return call


@pytest.fixture
def sets():
    return [part for name, value in SETS.items() for part in ("--set", f"{name}={value}")]


def test_odd_names_in_parse_and_draw(odd):
    for command, suffix in (("parse", "conllu"), ("draw", "svg"), ("draw", "html")):
        output = f"{ODD} out.{suffix}"
        assert f"-> {output}" in odd(command, f"{ODD}.txt", "--parser", "chain", "--output", output)
        assert Path(output).is_file()


def test_odd_names_in_training_and_prediction(odd, sets):
    folder = f"{ODD} run"
    said = odd("train", *RUN, *sets, "--epochs", 1, "--output", folder)
    found = re.search(r"checkpoint: (.*)", said)[1]
    assert found.startswith(folder)
    model = ("--checkpoint", found, "--parser", "chain")
    for command, suffix in (("predict", "csv"), ("embed", "npy")):
        output, columns = f"{ODD} out.{suffix}", ("--text-columns", "text")
        assert f"-> {output}" in odd(command, *model, "--input", f"{ODD}.csv", *columns, "--output", output)
    text = "[/b] likes :dog:"
    for command, suffix, named in (("attention", "svg", [text]), ("explore", "html", [text])):
        output = f"{ODD} {command}.{suffix}"
        assert f"-> {output}" in odd(command, *model, *named, "--output", output)
    assert f"checkpoint: {found}" in odd(
        "evaluate", *model, "--split", "val", "--root", "r", "--set", f"train={ODD}.csv"
    )


def test_odd_names_of_rows_and_failures(odd, sets):
    rows = [{"name": "x[/b]:dog:", "model": "transformer"}, {"name": "[red]y", "model": "dt"}]
    Path("rows.yaml").write_text(json.dumps({"task": "csv", "rows": rows}), encoding="utf-8")
    given = [*RUN[2:], *sets, "--config", "rows.yaml", "--seeds", 1, "--epochs", 1]
    said = odd("ablate", *given, "--output", f"{ODD} table")
    assert "x[/b]:dog:" in said
    assert "[red]y" in said
    assert f"{ODD} table/table.md" in said


def test_odd_names_of_systems(odd):
    Path("a.jsonl").write_text(json.dumps({"context": ["hi"], "response": "ho"}) + "\n", encoding="utf-8")
    odd("human-eval", "sheet", "--system", "[/b]=a.jsonl", "--n", 1, "--raters", 1, "--output", ODD)
    sheet = Path(ODD, "raters", "rater1.csv")
    text = sheet.read_text(encoding="utf-8-sig")
    rows = list(csv.DictReader(text.splitlines()))
    with open(sheet, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows({**row, "grade": "2"} for row in rows)
    assert "[/b]" in odd("human-eval", "score", sheet, "--key", Path(ODD, "key.json"))


def test_only_one_function_makes_consoles():
    """Any other console would parse markup in paths and labels."""
    package = Path(graphdep.__file__).parent
    found = [
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if re.search(r"(?<!\w)(Plain)?Console\(|from rich import print", path.read_text("utf-8"))
    ]
    assert found == ["io/console.py"]


@pytest.fixture
def default():
    """SIGTERM with its default handler."""
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGTERM, before)


def test_the_first_signal_interrupts_and_a_second_one_at_once_does_nothing(default, monkeypatch):
    with signals_as_interrupts() as received:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        monkeypatch.setattr("graphdep.cli.common.time.monotonic", lambda: math.inf)
        with pytest.raises(KeyboardInterrupt):  # the first one was dropped by somebody
            signal.raise_signal(signal.SIGTERM)
    assert received == [signal.SIGTERM] * 3
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_an_ignored_signal_stays_ignored(default):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with signals_as_interrupts() as received:
        signal.raise_signal(signal.SIGTERM)
    assert received == []
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN


def test_threads_are_left_alone(default):
    found = []

    def inside() -> None:
        with signals_as_interrupts() as received:
            found.append((received, signal.getsignal(signal.SIGTERM)))

    thread = threading.Thread(target=inside)
    thread.start()
    thread.join()
    assert found == [([], signal.SIG_DFL)]


def test_ctrl_c_during_imports_is_no_traceback(monkeypatch, capsys):
    class Loading(ModuleType):
        @property
        def app(self):
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "graphdep.cli", Loading("graphdep.cli"))
    with pytest.raises(SystemExit, match="130"):
        graphdep.__main__.main()
    assert capsys.readouterr().err == "graphdep: interrupted\n"


@pytest.mark.skipif(sys.platform == "win32", reason="TerminateProcess cannot be caught")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_terminated_command_leaves_no_partial_output(tmp_path, number, code):
    """The command waits for a pipe, with a partial output."""
    folder = tmp_path / "out"
    folder.mkdir()
    command = ["parse", "-", "--parser", "chain", "--output", str(folder / "trees.conllu")]
    child = subprocess.Popen(
        [sys.executable, "-m", "graphdep", *command],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # In the background of a shell, this test and its children ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert child.stdin is not None
    child.stdin.write("A text of a few words .\n" * 600)  # more than a shard
    child.stdin.flush()
    end = time.monotonic() + 60
    while not list(folder.iterdir()):
        assert time.monotonic() < end
        assert child.poll() is None
        time.sleep(0.05)
    child.send_signal(number)
    _, said = child.communicate(timeout=60)
    assert child.returncode == code
    assert said.count("graphdep: interrupted") == said.count("run this command again\n") == 1
    assert "Traceback" not in said
    assert list(folder.iterdir()) == []
