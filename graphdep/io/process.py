"""Processes and threads."""

from __future__ import annotations

import functools
import multiprocessing
import os
import threading
import time


def end_with_parent(number: int | None = None) -> None:
    """Ends this process when its parent process ends for any reason: a worker that waits for a job holds the
    pipe itself and would never notice.

    Args:
        number: Id of the parent process if it is not a :mod:`multiprocessing` parent; it may have ended
            already. Without an id such a process is not watched. (default: :obj:`None`)

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
    """Sets ``$GOMP_SPINCOUNT``, unless it or ``$OMP_WAIT_POLICY`` is set: waiting threads spin for a while
    and then sleep.

    PyTorch's waiting threads spin by default. If another process needs their core, they spin while the thread
    they wait for has no core, and a step takes at least ten times as long. Threads that sleep at once
    (``OMP_WAIT_POLICY=PASSIVE``) are best then, but a process that has the machine to itself then takes 2.3
    times as long; this spin count costs it nothing (``examples/research/results/speed.md``). GNU's OpenMP,
    used by PyTorch's builds for Linux, reads the variable when PyTorch is loaded; afterwards it has no effect
    in this process.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", _SPINS)
