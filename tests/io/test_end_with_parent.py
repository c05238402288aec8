from __future__ import annotations

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
    [("kill", START), ("terminate", OTHER.replace("{late}", "0")), ("kill", OTHER.replace("{late}", "2"))],
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
