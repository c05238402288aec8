"""Parsers that look parses up in files."""

from __future__ import annotations

import dataclasses
import hashlib
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

from graphdep.io.files import check_read_again, home_path
from graphdep.io.limits import check_choice
from graphdep.io.trees import read_ptb, read_trees
from graphdep.parsing.bundled import BundledParser
from graphdep.parsing.parser import ChainParser, Item, Parsed, Parser, Words
from graphdep.parsing.stanza import files_digest
from graphdep.sentence.conllu import format_conllu
from graphdep.sentence.ptb import plain_words
from graphdep.sentence.sentence import Sentence


class SentenceLookup:
    """Finds sentences of a file; returns the first of equal sentences, and raises for an unknown text.

    Args:
        sentences: The sentences.
        place: The file, for error messages.
        normal: Normalizes a text before it is compared.
    """

    def __init__(self, sentences: Sequence[Sentence], place: object, normal: Callable[[str], str]) -> None:
        self._sentences, self._place, self._normal = sentences, place, normal
        self._texts = [normal(sentence.text) for sentence in sentences]
        self._of_words: dict[Words, Sentence] = {}
        self._of_text: dict[str, int] = {}
        # Positions of pairs of adjacent sentences by their texts without spaces, since a text may have no
        # space between them.
        self._pairs: dict[str, list[int]] = {}
        for number, (sentence, text) in enumerate(zip(sentences, self._texts)):
            self._of_words.setdefault(tuple(sentence.form), sentence)
            self._of_text.setdefault(text, number)
        for number, (text, following) in enumerate(pairwise(self._texts)):
            self._pairs.setdefault((text + following).replace(" ", ""), []).append(number)
        self._sizes = sorted({*map(len, self._pairs)})

    def __call__(self, item: Item) -> list[Sentence]:
        """The sentences of a text, or the sentence with the given words."""
        if isinstance(item, str):
            return self._find(item)
        if item not in self._of_words:
            raise ValueError(f"no sentence of {self._place} has the words {' '.join(item)[:80]!r}")
        return [self._of_words[item]]

    def _find(self, text: str) -> list[Sentence]:
        given, text = text, self._normal(text)
        if not text:
            return []
        if text in self._of_text:
            return [self._sentences[self._of_text[text]]]
        packed = text.replace(" ", "")
        sizes = self._sizes[: bisect_right(self._sizes, len(packed))]
        for start in sorted(number for size in sizes for number in self._pairs.get(packed[:size], ())):
            stop = self._run_end(text, start)
            if stop is not None:
                return [*self._sentences[start:stop]]
        raise ValueError(f"no sentence or run of sentences of {self._place} has the text {given[:80]!r}")

    def _run_end(self, text: str, start: int) -> int | None:
        """The end of the sentences from ``start`` on that make up ``text``; :obj:`None` if they do not."""
        position = 0
        for number in range(start, len(self._texts)):
            if not text.startswith(self._texts[number], position):
                return None
            position += len(self._texts[number])
            if position == len(text):
                return number + 1
            position += text[position] == " "
        return None


class LookupParser(Parser):
    """Looks sentences up by their text or their words; an unknown text is an error, not a chain tree.

    Args:
        sentences: The sentences.
        place: Where they come from, for error messages.
        fingerprint: Identifies the trees. (default: a digest of the sentences)
        progress: Show progress; see :class:`Parser`. (default: :obj:`None`)
    """

    def __init__(
        self,
        sentences: Sequence[Sentence],
        place: object,
        fingerprint: str | None = None,
        *,
        progress: bool | None = None,
    ) -> None:
        super().__init__(progress=progress)
        if fingerprint is None:
            text = "\n".join(map(format_conllu, sentences))
            fingerprint = f"trees/{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()}"
        self.sentences, self._fingerprint = sentences, fingerprint
        self.gives_constituents = all(sentence.constituents is not None for sentence in sentences)
        self._look_up = SentenceLookup(sentences, place, _normal)

    @property
    def fingerprint(self) -> str:
        """Identifies the trees."""
        return self._fingerprint

    def parse_items(self, items: Sequence[Item]) -> list[Parsed]:
        """Looks inputs up."""
        return [Parsed(self._look_up(item)) for item in items]

    def parse_texts(self, texts: Sequence[str]) -> list[Parsed]:
        """Looks texts up."""
        return self.parse_items(texts)

    def parse_sentences(self, sentences: Sequence[Words]) -> list[Parsed]:
        """Looks sentences up by their words."""
        return self.parse_items(sentences)


class ConlluParser(LookupParser):
    """Looks sentences up in a file of trees, by their text or their words.

    A text is one sentence of the file, or several adjacent ones. Any white space counts as one space. Of
    equal sentences the first is returned, and an unknown text is an error.

    Args:
        path: The file, in a format of :func:`~graphdep.io.read_trees`, such as CoNLL-U.
        multiroot: Accept sentences with more than one root. (default: :obj:`False`)
        max_words: The largest number of words of a sentence; :obj:`None` for no limit. (default:
            :obj:`10_000`)
        scheme, bad_trees: As of :class:`~graphdep.sentence.intake.Intake`. (default: ``"auto"``, ``"error"``)
        parser: Parses sentences of a file of brackets, and with ``bad_trees="parse"`` those with an invalid
            tree. (default: :obj:`None`)
        progress: Show progress; see :class:`Parser`. (default: :obj:`None`)

    Attributes:
        sentences: The sentences of the file.

    Raises:
        ValueError: If the file is not valid.
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
        scheme: str = "auto",
        bad_trees: str = "error",
        parser: Parser | None = None,
        progress: bool | None = None,
    ) -> None:
        self.path = path = home_path(path)
        check_read_again(path)
        sentences = read_trees(
            path, multiroot=multiroot, max_words=max_words, scheme=scheme, bad_trees=bad_trees, parser=parser
        )
        changed = "" if (scheme, bad_trees) == ("auto", "error") else f"/{scheme}/{bad_trees}"
        given = "" if parser is None else f"/{parser.fingerprint}"
        fingerprint = f"conllu/{files_digest([self.path])}{changed}{given}"
        super().__init__(sentences, path, fingerprint, progress=progress)


def _normal(text: str) -> str:
    return " ".join(text.split())


_DEPENDENCIES = {"bundled": BundledParser, "chain": ChainParser}


class PtbParser(Parser):
    """Looks sentences up in a file of Penn Treebank brackets, by their text or their words.

    Words, tags and :attr:`Sentence.constituents` are those of the file (:func:`~graphdep.io.read_ptb`);
    another parser makes the dependency trees of these words. A text is one sentence of the file, or several
    adjacent ones. White space is ignored, since brackets do not record it; quotes and escaped slashes and
    asterisks of the Treebank equal the plain characters. Of equal sentences the first is returned, and an
    unknown text is an error.

    Args:
        path: The file.
        dependencies: ``"bundled"`` (English), ``"chain"`` (no parse), or a :class:`Parser`.
            (default: ``"bundled"``)
        functions: Keep function tags and indices on labels. (default: :obj:`False`)
        progress: Show progress; see :class:`Parser`. (default: :obj:`None`)

    Raises:
        PtbError: If the file is not valid.
        OSError: If the file cannot be read.
        ValueError: If :obj:`dependencies` is unknown, or :obj:`functions` is not a bool.

    Example:
        >>> from pathlib import Path
        >>> from graphdep.parsing import PtbParser
        >>> _ = Path("trees.mrg").write_text("(ROOT (S (NP (PRP She)) (VP (VBZ sings))))")
        >>> [[sentence]] = PtbParser("trees.mrg", dependencies="chain").parse(["She sings"])
        >>> sentence.constituents
        [('S', 0, 2), ('NP', 0, 1), ('VP', 1, 2)]
    """

    gives_graphs = False
    gives_constituents = True

    def __init__(
        self,
        path: str | Path,
        *,
        dependencies: str | Parser = "bundled",
        functions: bool = False,
        progress: bool | None = None,
    ) -> None:
        super().__init__(progress=progress)
        if not isinstance(dependencies, Parser):
            check_choice("dependencies", dependencies, _DEPENDENCIES)
        check_choice("functions", functions, (True, False))
        self.path, self.functions = home_path(path), functions
        check_read_again(self.path)
        found = read_ptb(self.path, functions=functions)
        self._digest = files_digest([self.path])
        self._look_up = SentenceLookup(found, self.path, _without_spaces)
        self.dependencies: Parser = (
            dependencies if isinstance(dependencies, Parser) else _DEPENDENCIES[dependencies]()
        )

    @property
    def fingerprint(self) -> str:
        """Digest of the file, :obj:`functions`, and the fingerprint of the dependency parser."""
        kept = "/functions" if self.functions else ""
        return f"ptb/{self._digest}{kept}/{self.dependencies.fingerprint}"

    @property
    def fallback(self) -> str:
        """A chain tree alone; constituents come from the file."""
        return "a chain tree"

    def parse_items(self, items: Sequence[Item]) -> list[Parsed]:
        """Looks inputs up; an unknown text is an error, not a chain tree."""
        found = [self._look_up(item) for item in items]
        words: list[Item] = [*dict.fromkeys(tuple(sentence.form) for mine in found for sentence in mine)]
        trees = dict(zip(words, self.dependencies.parse_items(words)))
        return [_parsed(mine, [trees[tuple(sentence.form)] for sentence in mine]) for mine in found]

    def parse_texts(self, texts: Sequence[str]) -> list[Parsed]:
        """Looks texts up."""
        return self.parse_items(texts)

    def parse_sentences(self, sentences: Sequence[Words]) -> list[Parsed]:
        """Looks sentences up by their words."""
        return self.parse_items(sentences)


def _parsed(sentences: Sequence[Sentence], trees: Sequence[Parsed]) -> Parsed:
    whole = [
        dataclasses.replace(
            tree.sentences[0],
            xpos=sentence.xpos or tree.sentences[0].xpos,
            constituents=sentence.constituents,
        )
        for sentence, tree in zip(sentences, trees)
    ]
    failure = next((tree.failure for tree in trees if tree.failure), None)
    return Parsed(whole, failure, all(tree.final for tree in trees))


def _without_spaces(text: str) -> str:
    return plain_words("".join(text.split()))
