"""Processes and threads."""

from __future__ import annotations

import functools
import multiprocessing
import os
import threading
import time


def end_with_parent(number: int | None = None) -> None:
    """Ends this process, whatever it is doing, when the one that started it is gone, however: a worker that
    waits for the next job holds the pipe itself, and would never hear of it.

    Args:
        number: The process that started this one, where nobody of :mod:`multiprocessing` did; it may be gone
            already. Without it nothing happens then. (default: :obj:`None`)

    Example:
        >>> from graphdep.io.process import end_with_parent
        >>> end_with_parent()
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_wait, args=(parent,), daemon=True).start()
    elif number is not None:
        _watch_once(number)


def _wait(parent: multiprocessing.process.BaseProcess) -> None:
    parent.join()
    os._exit(1)


@functools.cache
def _watch_once(parent: int) -> None:
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


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
