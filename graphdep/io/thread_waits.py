"""How threads wait for each other."""

from __future__ import annotations

import os


def let_threads_sleep() -> None:
    """Sets ``$OMP_WAIT_POLICY`` to ``PASSIVE`` unless it is set: threads that wait then sleep.

    Those of PyTorch spin by default. Where another process has a core that they want, the one that waits
    spins while the one that it waits for has no core, and a step takes ten times as long and more
    (``examples/results/speed.md``). OpenMP reads this when PyTorch is loaded; where that was before, nothing
    changes in this process.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
