"""No process outlives the one that started it."""

from __future__ import annotations

import multiprocessing
import os
import threading


def end_with_parent() -> None:
    """Ends this process, whatever it is doing, when the one that started it is gone, however: a worker that
    waits for the next job holds the pipe itself, and would never hear of it. Where nobody of
    :mod:`multiprocessing` started this process, nothing happens.

    Example:
        >>> from graphdep.io.end_with_parent import end_with_parent
        >>> end_with_parent()
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_wait, args=(parent,), daemon=True).start()


def _wait(parent: multiprocessing.process.BaseProcess) -> None:
    parent.join()
    os._exit(1)
