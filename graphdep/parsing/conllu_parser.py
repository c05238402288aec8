"""Parses that are there already."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from graphdep.io import read_conllu
from graphdep.parsing.digest import files_digest
from graphdep.parsing.items import Item, Words
from graphdep.parsing.parsed import Parsed
from graphdep.parsing.parser import Parser
from graphdep.parsing.sentence_lookup import SentenceLookup


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
        sentences = read_conllu(self.path, multiroot=multiroot, max_words=max_words)
        self.gives_constituents = all(sentence.constituents is not None for sentence in sentences)
        self._digest = files_digest([self.path])
        self._look_up = SentenceLookup(sentences, self.path, _normal)

    @property
    def fingerprint(self) -> str:
        """The digest of the file."""
        return f"conllu/{self._digest}"

    def parse_items(self, items: Sequence[Item]) -> list[Parsed]:
        """Looks inputs up; what is missing is an error, not a chain tree."""
        return [Parsed(self._look_up(item)) for item in items]

    def parse_texts(self, texts: Sequence[str]) -> list[Parsed]:
        """Looks texts up."""
        return self.parse_items(texts)

    def parse_sentences(self, sentences: Sequence[Words]) -> list[Parsed]:
        """Looks sentences up by their words."""
        return self.parse_items(sentences)


def _normal(text: str) -> str:
    return " ".join(text.split())
