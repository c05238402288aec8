"""Numbers of things, for people."""

from __future__ import annotations


def plural(count: int, name: str) -> str:
    """A number and what it is of, in the plural unless it is one.

    Example:
        >>> from graphdep.io.plural import plural
        >>> plural(1, "row"), plural(0, "row"), plural(1200, "sentence")
        ('1 row', '0 rows', '1200 sentences')
    """
    return f"{count} {name}" if count == 1 else f"{count} {name}s"
