"""Sentences that are found by their text or by their words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from graphdep.parsing.items import Item, Words
from graphdep.sentence import Sentence


class SentenceLookup:
    """Finds sentences of a file. The first of equal ones is taken, and an unknown text is an error.

    Args:
        sentences: The sentences.
        place: The file, for errors.
        normal: What of a text is compared.
    """

    def __init__(self, sentences: Sequence[Sentence], place: object, normal: Callable[[str], str]) -> None:
        self._sentences, self._place, self._normal = sentences, place, normal
        self._texts = [normal(sentence.text) for sentence in sentences]
        self._of_words: dict[Words, Sentence] = {}
        self._of_text: dict[str, int] = {}
        self._starts: dict[str, list[int]] = {}
        for number, (sentence, text) in enumerate(zip(sentences, self._texts)):
            self._of_words.setdefault(tuple(sentence.form), sentence)
            self._of_text.setdefault(text, number)
            self._starts.setdefault(text.partition(" ")[0], []).append(number)

    def __call__(self, item: Item) -> list[Sentence]:
        """The sentences of a text, or the one of some words.

        Raises:
            ValueError: If there are none.
        """
        if isinstance(item, str):
            return self._find(item)
        if item not in self._of_words:
            raise ValueError(f"no sentence of {self._place} has the words {_shown(' '.join(item))}")
        return [self._of_words[item]]

    def _find(self, text: str) -> list[Sentence]:
        shown, text = _shown(text), self._normal(text)
        if not text:
            return []
        if text in self._of_text:
            return [self._sentences[self._of_text[text]]]
        # All of them at last: a sentence may follow without a space, so that the first words differ.
        for start in [*self._starts.get(text.partition(" ")[0], []), *range(len(self._texts))]:
            stop = self._run_end(text, start)
            if stop is not None:
                return [*self._sentences[start:stop]]
        raise ValueError(f"no sentence or run of sentences of {self._place} has the text {shown}")

    def _run_end(self, text: str, start: int) -> int | None:
        """The end of the run of sentences from ``start`` on that makes up ``text``."""
        position = 0
        for number in range(start, len(self._texts)):
            if not text.startswith(self._texts[number], position):
                return None
            position += len(self._texts[number])
            if position == len(text):
                return number + 1
            position += text[position] == " "
        return None


def _shown(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")
