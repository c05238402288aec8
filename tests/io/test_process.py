from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from graphdep.io.process import end_with_parent

OTHER = """
import subprocess, sys
import os
work = "from graphdep.io.process import end_with_parent; import sys, time"
work += f"; print('ready', flush=True); time.sleep({late}); end_with_parent({os.getpid()}); time.sleep(600)"
child = subprocess.Popen([sys.executable, "-c", work], stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
sys.stdin.read()
"""
START = """
import multiprocessing, sys, time
from graphdep.io.process import end_with_parent

def work(pipe):
    end_with_parent()
    pipe.send("ready")
    pipe.recv()  # for which there will be nothing, ever

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    pipe, other = context.Pipe()
    process = context.Process(target=work, args=(other,))
    process.start()
    pipe.recv()
    print(process.pid, flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize(
    ("how", "starts"),
    [("kill", START), ("terminate", OTHER.replace("{late}", "0.5"))],
)
def test_a_process_ends_with_the_one_that_started_it(tmp_path, how, starts):
    script = tmp_path / "start.py"
    script.write_text(starts, encoding="utf-8")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    started = subprocess.Popen([sys.executable, str(script)], text=True, **pipes)
    own = Path(f"/proc/{int(started.stdout.readline())}")
    assert own.exists()
    getattr(started, how)()
    started.communicate()
    end = time.monotonic() + 60
    while own.exists() and time.monotonic() < end:
        time.sleep(0.1)
    assert not own.exists()


def test_a_process_that_nobody_started_goes_on():
    end_with_parent()


NAMES = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")


def test_threads_sleep_after_a_while_unless_the_user_says_otherwise():
    """It is set when the package is imported, before PyTorch is."""
    for given, expected in [
        ({}, ["30000", "None"]),
        ({"GOMP_SPINCOUNT": "5"}, ["5", "None"]),
        ({"OMP_WAIT_POLICY": "PASSIVE"}, ["None", "PASSIVE"]),
    ]:
        environment = {key: value for key, value in os.environ.items() if key not in NAMES} | given
        code = f"import graphdep, os, sys; print(*map(os.environ.get, {NAMES}), 'torch' in sys.modules)"
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
        assert done.stdout.split() == [*expected, "False"]
