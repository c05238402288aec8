"""What parsers share that are asked for by name within some work: one file of parses, and silence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import NamedTuple


class Resolving(NamedTuple):
    """How parsers are resolved.

    Args:
        cache: The file of parses in place of that which is asked for; :obj:`None` for the latter.
        progress: Whether they, and the corpora that they parse, tell how far they are; :obj:`None` for their
            own choice.
    """

    cache: str | Path | None = None
    progress: bool | None = None


_within: ContextVar[Resolving] = ContextVar("resolving", default=Resolving())  # noqa: B039  # cannot be changed


def resolving_now() -> Resolving:
    """How parsers are resolved here."""
    return _within.get()


@contextmanager
def resolving(cache: str | Path | None = None, progress: bool | None = None) -> Iterator[None]:
    """Within it, named parsers that keep their parses keep them in :obj:`cache`, whatever file the corpus has
    for them: fits of one search so share them. See :class:`Resolving`.
    """
    token = _within.set(Resolving(cache, progress))
    try:
        yield
    finally:
        _within.reset(token)
