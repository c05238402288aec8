"""Changed inputs for every reader: each gives a valid result or a documented error.

Run: python examples/research/campaigns/bad_input.py [--seed N] [--count N] [--minutes N] [--write]
``--count`` is of the slowest readers; fast ones get up to 24 times as many.
"""

from __future__ import annotations

import contextlib
import logging
import os
import random
import resource
import signal
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

from harness import BYTES, SECONDS, Bounds, Tally, main, timed
from readers import Reader, readers

MESSAGE = 2_000  # characters of an error, which may list names


class _TooLong(BaseException):
    pass


def run(bounds: Bounds, folder: Path) -> Iterator[Tally]:
    logging.getLogger("graphdep").setLevel(logging.CRITICAL)
    warnings.simplefilter("ignore")
    kinds = readers(folder)
    # In memory where there is such a folder: a million small files.
    own = tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else folder)
    try:
        for kind in filter(lambda kind: bounds.wants(kind.name), kinds):
            yield _reader(kind, bounds.part(len(kinds)), Path(own))
    finally:
        for path in sorted(Path(own).rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        os.rmdir(own)


def _reader(reader: Reader, bounds: Bounds, folder: Path) -> Tally:
    tally = Tally("bad input", reader.name, bounds.seed)
    with timed(tally):
        for number in range(bounds.count * reader.weight):
            if bounds.over():
                break
            tally.add(*_outcome(reader, bounds.random(reader.name, number), folder))
    return tally


def _outcome(reader: Reader, rng: random.Random, folder: Path) -> tuple[str, str]:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        with _at_most(SECONDS):
            reader.case(rng, folder)
    except reader.errors as error:
        if isinstance(error, UnicodeError) or not str(error):
            return "crashes", repr(error)[:300]
        if len(str(error)) > MESSAGE:
            return "losses", f"a message of {len(str(error)):,} characters: {str(error)[:250]}"
        outcome, about = "documented", ""
    except _TooLong:
        return "hangs", f"more than {SECONDS} s"
    except MemoryError as error:
        return "losses", repr(error)
    except AssertionError as error:
        return "losses", str(error)
    except Exception as error:
        return "crashes", f"{type(error).__name__}: {str(error)[:250]}"
    else:
        outcome, about = "valid", ""
    grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    return ("losses", f"{grown:,} bytes") if grown > BYTES else (outcome, about)


@contextlib.contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    def stop(number: int, frame: object) -> None:
        raise _TooLong

    # Of CPU: on a machine that is busy a minute is little, and no reader of a file waits for anything.
    handler = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, handler)


if __name__ == "__main__":
    main(__doc__ or "", run, count=8000, minutes=40, limited=True)
