"""PyTorch on one thread, and with random numbers that stay as they are."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_ALONE = threading.RLock()  # how many threads there are, and random numbers, belong to the whole process


@contextmanager
def one_thread() -> Iterator[None]:
    """Runs models on one thread: their matrices are small, two threads gain a sixth on a quiet machine and
    lose many times that on a busy one, where they wait for each other. Stanza's loaders draw random numbers;
    the caller's stay as they are, else a seed would give another model once parses are cached.
    """
    import torch

    with _ALONE:
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            with torch.random.fork_rng(devices=[]):
                yield
        finally:
            torch.set_num_threads(threads)
