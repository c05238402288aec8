"""Parses that are there already."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from graphdep.io import read_conllu
from graphdep.parsing.digest import files_digest
from graphdep.parsing.items import Item, Words
from graphdep.parsing.parsed import Parsed
from graphdep.parsing.parser import Parser
from graphdep.sentence import Sentence


class ConlluParser(Parser):
    """Looks sentences up in a CoNLL-U file, by their text or by their words.

    A text is one sentence of the file, or several that follow one another there. White space counts as one
    space, the first of equal sentences is taken, and an unknown text is an error: there is no parse for it.

    Args:
        path: The file.
        multiroot: Accept sentences with more than one root. (default: :obj:`False`)
        max_words: Refuse a file with a longer sentence; :obj:`None` for no limit. (default: :obj:`10_000`)
        progress: Show a progress bar; see :class:`Parser`. (default: :obj:`None`)

    Raises:
        ConlluError: If the file is not valid.
        OSError: If the file cannot be read.

    Example:
        >>> from graphdep import Sentence
        >>> from graphdep.io import write_conllu
        >>> from graphdep.parsing import ConlluParser
        >>> write_conllu([Sentence(["She", "sings"], [2, 0], ["nsubj", "root"])], "trees.conllu")
        >>> [[sentence]] = ConlluParser("trees.conllu").parse(["She sings"])
        >>> sentence.head, sentence.deprel
        ([2, 0], ['nsubj', 'root'])
    """

    def __init__(
        self,
        path: str | Path,
        *,
        multiroot: bool = False,
        max_words: int | None = 10_000,
        progress: bool | None = None,
    ) -> None:
        super().__init__(progress=progress)
        self.path = Path(path)
        self._sentences = read_conllu(self.path, multiroot=multiroot, max_words=max_words)
        self._digest = files_digest([self.path])
        self._texts = [_normal(sentence.text) for sentence in self._sentences]
        self._of_words: dict[Words, Sentence] = {}
        self._of_text: dict[str, int] = {}
        self._starts: dict[str, list[int]] = {}
        for number, (sentence, text) in enumerate(zip(self._sentences, self._texts)):
            self._of_words.setdefault(tuple(sentence.form), sentence)
            self._of_text.setdefault(text, number)
            self._starts.setdefault(text.partition(" ")[0], []).append(number)

    @property
    def fingerprint(self) -> str:
        """The digest of the file."""
        return f"conllu/{self._digest}"

    def parse_items(self, items: Sequence[Item]) -> list[Parsed]:
        """Looks inputs up; what is missing is an error, not a chain tree."""
        return [self._look_up(item) for item in items]

    def parse_texts(self, texts: Sequence[str]) -> list[Parsed]:
        """Looks texts up."""
        return self.parse_items(texts)

    def parse_sentences(self, sentences: Sequence[Words]) -> list[Parsed]:
        """Looks sentences up by their words."""
        return self.parse_items(sentences)

    def _look_up(self, item: Item) -> Parsed:
        if isinstance(item, str):
            return Parsed(self._find(item))
        if item not in self._of_words:
            raise ValueError(f"no sentence of {self.path} has the words {_shown(' '.join(item))}")
        return Parsed([self._of_words[item]])

    def _find(self, text: str) -> list[Sentence]:
        text = _normal(text)
        if not text:
            return []
        if text in self._of_text:
            return [self._sentences[self._of_text[text]]]
        # All of them at last: a sentence may follow without a space, so that the first words differ.
        for start in [*self._starts.get(text.partition(" ")[0], []), *range(len(self._texts))]:
            stop = self._run_end(text, start)
            if stop is not None:
                return self._sentences[start:stop]
        raise ValueError(f"no sentence or run of sentences of {self.path} has the text {_shown(text)}")

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


def _normal(text: str) -> str:
    return " ".join(text.split())


def _shown(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")
