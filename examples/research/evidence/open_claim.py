"""A claim that no design here decides, and why."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class OpenClaim:
    """What a paper says and no :class:`Claim` stands for: it would be missed in a table that only has those.

    Args:
        text: The claim, in words.
        source: Where it is made: paper and table.
        published: The figures there, in words.
        why: Why no design decides it, or what is known without one.

    Raises:
        ValueError: If one of them is no text or empty.

    Example:
        >>> from evidence import OpenClaim
        >>> OpenClaim(text="People like it", source="Table 2", published="+.12", why="no annotators").why
        'no annotators'
    """

    text: str
    source: str
    published: str
    why: str

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not isinstance(value, str) or not value.strip():
                raise ValueError(f"an open claim's {name!r} must be a text (got {value!r})")


def read_open_claims(folder: str | os.PathLike[str]) -> list[OpenClaim]:
    """Reads the ``*.toml`` of a folder: each has a ``source`` and ``[[claims]]`` with what else there is.

    Raises:
        ValueError: If a file has something else; names the file.
        FileNotFoundError: If there is none.
    """
    paths = sorted(Path(folder).glob("*.toml"))
    if not paths:
        raise FileNotFoundError(f"{os.fspath(folder)}: no open claims (*.toml)")
    found = []
    for path in paths:
        try:
            values = tomllib.loads(path.read_text(encoding="utf-8"))
            if {*values} != {"source", "claims"}:
                raise ValueError(f"the file must have 'source' and 'claims' (got {', '.join(values)})")
            for claim in values["claims"]:
                place = claim.get("source", "")
                source = f"{values['source']}, {place}" if place else values["source"]
                found.append(OpenClaim(**{**claim, "source": source}))
        except (ValueError, TypeError) as error:
            raise ValueError(f"{path}: {error}") from None
    return found
