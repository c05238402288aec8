"""What a model says of an example."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Answer:
    """What a model says of an example, for people.

    Args:
        kind: ``"classes"`` with their probabilities, ``"words"`` with the label and the probability of each
            word, ``"texts"`` that it responds with, a ``"ranking"`` with scores, or a ``"number"``.
        title: What it is.
        rows: Texts, each with a number, or :obj:`None` where there is none.

    Raises:
        ValueError: If :obj:`kind` is none of those.

    Example:
        >>> from graphdep.explorer import Answer
        >>> Answer("classes", "sentiment", (("positive", 0.9), ("negative", 0.1))).best
        'positive'
    """

    kind: str
    title: str
    rows: tuple[tuple[str, float | None], ...]

    def __post_init__(self) -> None:
        if self.kind not in ("classes", "words", "texts", "ranking", "number"):
            raise ValueError(
                f"'kind' must be 'classes', 'words', 'texts', 'ranking' or 'number' (got {self.kind!r})"
            )

    @property
    def best(self) -> str:
        """The text with the largest number, or else the first one."""
        return max(self.rows, key=lambda row: row[1] if row[1] is not None else 0.0)[0]
