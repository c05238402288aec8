"""A bound on the words of a text, before and after it is parsed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice

from graphdep.io.limits import MAX_WORDS, check_whole
from graphdep.sentence import Sentence
from graphdep.sentence.sentence import truncate

# A word is a run of letters and digits, of which a hundred are looked at (StanzaEngine sees no more); Chinese
# characters and kana, which have no spaces between words, and all else that can be seen count one by one.
ALONE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{ALONE}]|[^\W{ALONE}]{{1,100}}|[^\w\s]")


@dataclass(frozen=True)
class WordLimit:
    """How many words of a text are read, and what becomes of a text with more.

    Memory grows with the square of the words, since without syntax every word sees every other. Nobody has
    split a raw text into words before it is parsed: what counts is runs of letters or digits, each hundred
    characters of one, and every other visible character. So a text with much punctuation may count as a
    little longer than its parse is.

    Args:
        max_words: Words of a text at most. (default: :obj:`10_000`)
        truncate: Read the first words of a longer text, instead of an error. (default: :obj:`False`)

    Raises:
        ValueError: If :obj:`max_words` is no whole number from 1 to 1,000,000, or :obj:`truncate` is no truth
            value.
    """

    max_words: int = MAX_WORDS
    truncate: bool = False

    def __post_init__(self) -> None:
        check_whole("max_words", self.max_words)
        if not isinstance(self.truncate, bool):
            raise ValueError(f"'truncate' must be True or False (got {self.truncate!r})")

    def holds(self, text: str) -> bool:
        """Whether a text has no more words."""
        return self._end(text) is None

    def check(self, text: str, place: str) -> None:
        """Raises :class:`ValueError` that begins with ``place`` if a text has more words and is not cut."""
        if not self.truncate and not self.holds(text):
            raise self._error(place)

    def text(self, text: str, place: str) -> str:
        """A text that has no more words: as it is, or cut after the last one that is read.

        Raises:
            ValueError: As :meth:`check`.
        """
        end = self._end(text)
        if end is not None and not self.truncate:
            raise self._error(place)
        return text[:end]

    def tree(self, tree: Sentence, place: str) -> Sentence:
        """As :meth:`text`, of a parse, which may have more words than its text counts."""
        if len(tree) > self.max_words and not self.truncate:
            raise self._error(place)
        return truncate(tree, self.max_words)

    def _end(self, text: str) -> int | None:
        """Where the last word that is read ends; :obj:`None` if there is none after it."""
        if len(text) <= self.max_words:
            return None
        last_two = list(islice(_WORD.finditer(text), self.max_words - 1, self.max_words + 1))
        return last_two[0].end() if len(last_two) == 2 else None

    def _error(self, place: str) -> ValueError:
        return ValueError(
            f"{place} has more than max_words={self.max_words} words: allow more, or read the first ones "
            "with truncate"
        )
