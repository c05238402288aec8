"""One example: words, one or two marked spans of them, and a label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from graphdep.io.limits import check_name, shown
from graphdep.sentence import Sentence

MAX_SPANS = 2


@dataclass(frozen=True)
class SpanExample:
    """The words of a sentence, one or two marked spans of them, and one label.

    Args:
        words: The words.
        spans: One span or two, each the number of its first word, from 0, and that behind its last one. Their
            order is kept: the label may say something of the first that it does not say of the second. Two
            spans may have words in common.
        label: The label; :obj:`None` for none. (default: :obj:`None`)
        tree: The corpus' own tree of these words. (default: :obj:`None`)
        place: Where it stands, ``FILE:LINE``, for messages. (default: ``""``)
        number: The corpus' own number of the example. (default: :obj:`None`)

    Raises:
        ValueError: If there is no word, no span or more than two, a span is empty or reaches beyond the
            sentence, the tree is of other words, or the label is empty or has a control character; the
            message has place and value.

    Example:
        >>> from graphdep.datasets.spans.span_example import SpanExample
        >>> SpanExample(["Smoking", "causes", "cancer"], [(0, 1), (2, 3)], "Cause-Effect").marks
        [1, 0, 2]
    """

    words: Sequence[str]
    spans: Sequence[tuple[int, int]]
    label: str | None = None
    tree: Sentence | None = None
    place: str = ""
    number: int | None = None

    def __post_init__(self) -> None:
        if not self.words:
            raise self.error("a sentence has at least one word")
        if wrong := wrong_spans(self.spans, len(self.words), "words"):
            raise self.error(wrong)
        if self.tree is not None and list(self.tree.form) != list(self.words):
            raise self.error("the tree has other words")
        if self.label is None:
            return
        if not isinstance(self.label, str) or not self.label.strip():
            raise self.error(f"the label must be a text (got {shown(self.label)})")
        check_name(f"{self.place}: label" if self.place else "label", self.label)

    def __len__(self) -> int:
        return len(self.words)

    @property
    def marks(self) -> list[int]:
        """A number for each word: 1 in the first span, 2 in the second, 3 in both, 0 in none."""
        marks = [0] * len(self.words)
        for number, (start, stop) in enumerate(self.spans):
            for word in range(start, stop):
                marks[word] += 1 << number
        return marks

    def error(self, message: str) -> ValueError:
        """An error that begins with the place of the example."""
        return ValueError(f"{self.place}: {message}" if self.place else message)


def wrong_spans(spans: Sequence[Any], size: int, what: str) -> str:
    """What is wrong with the spans of so many words or characters; nothing if they are right."""
    if not 1 <= len(spans) <= MAX_SPANS:
        return f"an example has one or two spans (got {len(spans)})"
    for number, span in enumerate(spans, 1):
        ends = list(span) if isinstance(span, Sequence) and not isinstance(span, str) else [span]
        if len(ends) != 2 or any(isinstance(end, bool) or not isinstance(end, int) for end in ends):
            return f"span {number} must be two whole numbers (got {shown(span)})"
        start, stop = ends
        if start >= stop:
            return f"span {number} is empty: its end is not behind its start (got {ends})"
        if start < 0 or stop > size:
            return f"span {number} reaches beyond the {size} {what} (got {ends})"
    return ""
