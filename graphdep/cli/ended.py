"""A process that is asked to end does so as by Ctrl-C."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType

# What schedulers of jobs and `timeout` send, and a terminal that closes. Windows has the first alone.
_ASKED = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


@contextlib.contextmanager
def ended_as_by_ctrl_c() -> Iterator[list[int]]:
    """Within it SIGTERM and SIGHUP raise :class:`KeyboardInterrupt`, so that what is half-written goes and
    children end; gives the list of the signals that came. Those within a second of the first do nothing, as
    `timeout` sends two; later ones raise again, since some code drops what is raised in it. Who ignores one
    (``nohup``) or handles it is left alone, as are threads, which cannot have handlers.
    """
    came: list[int] = []
    times: list[float] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        came.append(number)
        times.append(time.monotonic())
        if len(came) == 1 or times[-1] > times[0] + 1:
            raise KeyboardInterrupt

    on_main = threading.current_thread() is threading.main_thread()
    own = [number for number in _ASKED if on_main and signal.getsignal(number) is signal.SIG_DFL]
    for number in own:
        signal.signal(number, interrupt)
    try:
        yield came
    finally:
        for number in own:
            signal.signal(number, signal.SIG_DFL)
