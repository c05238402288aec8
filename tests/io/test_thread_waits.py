from __future__ import annotations

import os
import subprocess
import sys

import pytest

NAMES = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, ["30000", "None"]),
        ({"GOMP_SPINCOUNT": "5"}, ["5", "None"]),
        ({"OMP_WAIT_POLICY": "PASSIVE"}, ["None", "PASSIVE"]),
    ],
)
def test_threads_sleep_after_a_while_unless_the_user_says_otherwise(given, expected):
    """It is set when the package is imported, before PyTorch is."""
    environment = {key: value for key, value in os.environ.items() if key not in NAMES} | given
    code = f"import graphdep, os, sys; print(*map(os.environ.get, {NAMES}), 'torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.stdout.split() == [*expected, "False"]
