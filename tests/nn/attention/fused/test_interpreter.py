"""Runs the tests of the kernels under Triton's interpreter, in a process of their own: it has to be asked for
before triton is imported the first time.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]


@pytest.mark.triton
@pytest.mark.skipif(os.environ.get("TRITON_INTERPRET") == "1", reason="the interpreter is on already")
def test_the_kernels_pass_under_the_interpreter():
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    env |= {"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, "-m", "pytest", "-q", "-m", "kernels", "-p", "no:cacheprovider"]
    folder = Path(__file__).parent.relative_to(ROOT)
    done = subprocess.run([*command, str(folder)], cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    assert " passed" in done.stdout
