"""One example: words, a label for each, and perhaps a mark on one of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from graphdep.io.limits import check_name, shown
from graphdep.parsing.parser import WordLimit
from graphdep.sentence import Sentence
from graphdep.sentence.sentence import truncate


@dataclass(frozen=True)
class LabelledWords:
    """The words of a sentence, and a label for each of them or for some.

    Args:
        words: The words.
        labels: A label for each word; :obj:`None` for none, which is not scored.
        mark: The number of the marked word, from 0, such as the predicate whose roles the labels are.
            (default: :obj:`None`)
        tree: The corpus' own tree of these words. (default: :obj:`None`)
        group: Examples of one number are right as a whole or not at all, such as the predicates of one
            sentence; :obj:`None` for an example that stands alone. (default: :obj:`None`)
        place: Where it stands, ``FILE:LINE``, for messages. (default: ``""``)

    Raises:
        ValueError: If there is no word, labels or tree are of another number of words, the mark is outside of
            the sentence, or a label is empty or has a control character; the message has place and value.

    Example:
        >>> from graphdep.datasets.labels.labelled_words import LabelledWords
        >>> example = LabelledWords(["She", "sings", "songs"], ["ARG0", None, "ARG1"], mark=1)
        >>> len(example)
        3
    """

    words: Sequence[str]
    labels: Sequence[str | None]
    mark: int | None = None
    tree: Sentence | None = None
    group: int | None = None
    place: str = ""

    def __post_init__(self) -> None:
        if not self.words:
            raise self.error("a sentence has at least one word")
        if len(self.labels) != len(self.words):
            raise self.error(f"{len(self.labels)} labels for {len(self.words)} words")
        if self.mark is not None and not 0 <= self.mark < len(self.words):
            raise self.error(f"the mark must be a number from 0 to {len(self.words) - 1} (got {self.mark})")
        if self.tree is not None and list(self.tree.form) != list(self.words):
            raise self.error("the tree has other words")
        for label in self.labels:
            if label is None:
                continue
            if not isinstance(label, str) or not label.strip():
                raise self.error(f"a label must be a text (got {shown(label)})")
            check_name(f"{self.place}: labels" if self.place else "labels", label)

    def __len__(self) -> int:
        return len(self.words)

    def cut(self, limit: WordLimit) -> LabelledWords:
        """The example with no more words than :obj:`limit` has: as it is, or its first words.

        Raises:
            ValueError: If it has more and is not to be cut, or the marked word would be.
        """
        most, count = limit.max_words, len(self)
        if count <= most:
            return self
        if not limit.truncate:
            raise self.error(
                f"{count} words, more than max_words={most}: allow more, or read the first ones with truncate"
            )
        if self.mark is not None and self.mark >= most:
            raise self.error(f"the marked word {self.mark} is beyond max_words={most}")
        tree = None if self.tree is None else truncate(self.tree, most)
        changed: dict[str, Any] = {"words": self.words[:most], "labels": self.labels[:most], "tree": tree}
        return dataclasses.replace(self, **changed)

    def error(self, message: str) -> ValueError:
        """An error that begins with the place of the example."""
        return ValueError(f"{self.place}: {message}" if self.place else message)
