"""How threads wait for each other."""

from __future__ import annotations

import os

_SPINS = "30000"


def bound_thread_waits() -> None:
    """Sets ``$GOMP_SPINCOUNT`` unless it or ``$OMP_WAIT_POLICY`` is set: threads that wait spin for a while,
    and then sleep.

    Those of PyTorch spin on by default. Where another process has a core that they want, the one that waits
    spins while the one that it waits for has no core, and a step takes ten times as long and more. Threads
    that sleep at once (``OMP_WAIT_POLICY=PASSIVE``) are best there, but a process that has the machine to
    itself then takes 2.3 times as long; so many spins cost it nothing
    (``examples/research/results/speed.md``). GNU's OpenMP, which PyTorch's builds for Linux have, reads this
    when PyTorch is loaded; where that was before, nothing changes in this process.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", _SPINS)
