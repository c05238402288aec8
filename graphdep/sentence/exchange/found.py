"""What was found in the parse of another library."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Found:
    """The sentences of a parse.

    Args:
        columns: For each the arguments of :class:`~graphdep.Sentence`.
        single: Whether the parse was one of a sentence, and not of a text that may have several.
        labels: The relations that say which scheme it is of. (default: those of the sentences)
    """

    columns: list[dict[str, Any]]
    single: bool
    labels: frozenset[str] = field(default=frozenset())


def is_from(value: object, module: str, *names: str) -> bool:
    """Whether a value is of some classes of a library, which is not imported to ask."""
    return any(
        cls.__name__ in names and f"{cls.__module__}.".startswith(f"{module}.") for cls in type(value).__mro__
    )


def shown(value: object) -> str:
    """A value in a message: its type and how it begins."""
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:57] + '...'}"
