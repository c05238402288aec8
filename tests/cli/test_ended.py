from __future__ import annotations

import math
import signal
import subprocess
import sys
import threading
import time

import pytest

from graphdep.cli.common import ended_as_by_ctrl_c


@pytest.fixture
def default():
    """SIGTERM as a process starts with it."""
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGTERM, before)


def test_the_first_signal_interrupts_and_what_comes_with_it_does_nothing(default, monkeypatch):
    with ended_as_by_ctrl_c() as came:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        monkeypatch.setattr("graphdep.cli.common.time.monotonic", lambda: math.inf)
        with pytest.raises(KeyboardInterrupt):  # the first one was dropped by somebody
            signal.raise_signal(signal.SIGTERM)
    assert came == [signal.SIGTERM] * 3
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_who_ignores_a_signal_goes_on_ignoring_it(default):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with ended_as_by_ctrl_c() as came:
        signal.raise_signal(signal.SIGTERM)
    assert came == []
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN


def test_a_thread_is_left_alone(default):
    found = []

    def inside() -> None:
        with ended_as_by_ctrl_c() as came:
            found.append((came, signal.getsignal(signal.SIGTERM)))

    thread = threading.Thread(target=inside)
    thread.start()
    thread.join()
    assert found == [([], signal.SIG_DFL)]


@pytest.mark.skipif(sys.platform == "win32", reason="TerminateProcess cannot be caught")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_command_that_is_asked_to_end_leaves_nothing_half_written(tmp_path, number, code):
    """It reads texts from a pipe that stays open, with its output begun."""
    folder = tmp_path / "out"
    folder.mkdir()
    command = ["parse", "-", "--parser", "chain", "--output", str(folder / "trees.conllu")]
    child = subprocess.Popen(
        [sys.executable, "-m", "graphdep", *command],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell that has put this test into the background has it ignore Ctrl-C, and so its children.
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
    assert said.count("graphdep: interrupted") == 1
    assert "Traceback" not in said
    assert list(folder.iterdir()) == []
