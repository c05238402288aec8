"""No process outlives the one that started it."""

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
        >>> from graphdep.io.end_with_parent import end_with_parent
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
