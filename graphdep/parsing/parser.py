"""What every parser shares: one call for many texts, nothing lost, a count of what failed."""

from __future__ import annotations

import logging
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, count
from typing import TYPE_CHECKING

from graphdep.parsing.errors import ParserUnavailableError
from graphdep.parsing.foreign_texts import foreign_texts
from graphdep.parsing.items import Chunk, Item, Words, chunks
from graphdep.parsing.parsed import Parsed, chain_sentence, flat_sentence
from graphdep.parsing.shards import Shards
from graphdep.sentence import Sentence

if TYPE_CHECKING:
    from rich.progress import Progress

logger = logging.getLogger("graphdep.parsing")

_PROGRESS_FROM = 64


class Parser(ABC):
    """A dependency parser for many texts at a time.

    A subclass parses one chunk of texts or of word lists; this class parses equal inputs once, shows a
    progress bar, and gives an input that the parser fails on a chain tree (:meth:`Sentence.chain`), with
    the reason in a ``# chain_tree =`` comment. Such inputs are counted in :attr:`failures`, and each call
    ends with a log line that says how many there were. Where the parser is one of English, a log line says
    so of texts that do not look English (:mod:`graphdep.parsing.foreign_texts`).

    Args:
        progress: Show progress on stderr (a bar on a terminal, else lines); :obj:`None` for it if there is
            some work to do. (default: :obj:`None`)

    Attributes:
        language: Code of the language, such as ``"en"`` or ``"zh"``; :obj:`None` where it is not known.
        gives_graphs: Whether its sentences may have enhanced graphs (:attr:`Sentence.deps`), so that nothing
            else needs to make them; a subclass of a parser that gives trees alone has to say so.
        gives_constituents: Whether each of its sentences has :attr:`Sentence.constituents`; those of an input
            that it fails on are flat, one constituent ``X`` over all words (``# flat_tree =``).
    """

    language: str | None = None
    gives_graphs: bool = True
    gives_constituents: bool = False

    def __init__(self, *, progress: bool | None = None) -> None:
        self.progress = progress
        self.failures = 0

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """Name, version, digest of the models, and every option that changes the output."""

    @property
    def fallback(self) -> str:
        """What an input gets that it fails on, for reports."""
        return "a chain tree and flat constituents" if self.gives_constituents else "a chain tree"

    @abstractmethod
    def parse_texts(self, texts: Sequence[str]) -> list[Parsed]:
        """Parses a chunk of texts; may raise anything, upon which each text is tried on its own."""

    @abstractmethod
    def parse_sentences(self, sentences: Sequence[Words]) -> list[Parsed]:
        """Parses a chunk of sentences whose words are given, and may raise likewise."""

    def known(self, items: Sequence[Item]) -> dict[Item, Parsed]:
        """Those of the inputs that need no parsing."""
        return {}

    def parse(self, texts: Sequence[str]) -> list[list[Sentence]]:
        """Splits raw texts into sentences and words, and parses them.

        Args:
            texts: The texts. An empty one, or one of white space alone, gives an empty list.

        Returns:
            Per text its sentences.

        Raises:
            ValueError: If ``texts`` is not a sequence of strings.
            ParserUnavailableError: If the parser cannot run at all.
        """
        _check_texts(texts)
        return [list(parsed.sentences) for parsed in self._run(list(texts))]

    def iter_parse(self, texts: Iterable[str], *, total: int | None = None) -> Iterator[list[Sentence]]:
        """:meth:`parse` for texts that do not fit into memory.

        They are cut into shards (256 texts, or 100,000 characters), of which few are in memory: one or two,
        and with processes or a cluster four for each process. Equal texts are parsed once a shard; with a
        cache around the parser (:class:`CachedParser`) once in all, but for shards that are under way
        together.

        Args:
            texts: The texts, as an iterator for instance; they are taken when they are needed.
            total: How many there are, to tell how far it is. (default: :obj:`None`, not known)

        Yields:
            Per text its sentences, in order.

        Raises:
            ValueError: If one is not a string, when its turn comes.
            ParserUnavailableError: If the parser cannot run at all.

        Example:
            >>> from graphdep.parsing import resolve_parser
            >>> texts = iter(["She sings .", "He hums ."])
            >>> for [sentence] in resolve_parser("chain").iter_parse(texts):
            ...     print(sentence.form)
            ['She', 'sings', '.']
            ['He', 'hums', '.']
        """
        if isinstance(texts, str):
            raise ValueError(f"'texts' must be strings (got {_shown(texts)})")
        return self._stream(texts, total)

    def parse_words(self, words: Sequence[Sequence[str]]) -> list[Sentence]:
        """Parses sentences whose words are given; ``form`` is exactly those words.

        Args:
            words: Per sentence its words.

        Returns:
            One sentence per list of words.

        Raises:
            ValueError: If a list is empty or a word is empty or not a string. The message has its number.
            ParserUnavailableError: If the parser cannot run at all.
        """
        _check_words(words)
        return [parsed.sentences[0] for parsed in self._run([tuple(sentence) for sentence in words])]

    def parse_chunks(self, parts: Iterable[Chunk]) -> Iterator[tuple[Chunk, list[Parsed]]]:
        """Gives chunks with their parses, in order, taking few more than it has given; some are empty."""
        for chunk in parts:
            yield chunk, self.parse_items(chunk) if chunk else []

    def parse_items(self, items: Sequence[Item]) -> list[Parsed]:
        """Parses a chunk; where that fails, input by input, with a chain tree for those that fail."""
        texts = [item for item in items if isinstance(item, str)]
        sentences = [item for item in items if not isinstance(item, str)]
        try:
            return self.parse_texts(texts) if texts else self.parse_sentences(sentences)
        except ParserUnavailableError:
            raise
        except Exception as error:  # whatever a third-party parser raises must not lose the other texts
            if len(items) > 1:
                return list(chain.from_iterable(self.parse_items([item]) for item in items))
            logger.debug("the parser failed", exc_info=True)
            reason = f"{type(error).__name__}: {error}"[:200]
            return [_fallback(items[0], reason, self.gives_constituents)]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.fingerprint!r})"

    def _run(self, inputs: Sequence[Item]) -> list[Parsed]:
        unique = list(dict.fromkeys(inputs))
        done = self.known(unique)
        todo = [item for item in unique if item not in done]
        known = len(done)
        with self._bar(len(todo)) as bar:
            task = bar.add_task("parsing", total=len(todo))
            for chunk, parsed in self.parse_chunks(chunks(todo)):
                done |= self._paired(chunk, parsed)
                bar.advance(task, len(chunk))
                self._say(len(done) - known, len(todo))
        results = [done[item] for item in inputs]
        reasons = [parsed.failure for parsed in results if parsed.failure]
        self._report(reasons[0] if reasons else "", len(reasons), len(results))
        if self.language == "en":
            _warn_of_foreign(unique)
        return results

    def _stream(self, texts: Iterable[str], total: int | None) -> Iterator[list[Sentence]]:
        shards = Shards(map(_checked, count(), texts), self.known)
        with self._bar(total or 0) as bar:
            task = bar.add_task("parsing", total=total)
            for chunk, parsed in self.parse_chunks(shards.todo()):
                results = shards.finish(self._paired(chunk, parsed))
                bar.advance(task, len(results))
                if chunk:
                    self._say(shards.given, total)
                yield from (list(parsed.sentences) for parsed in results)
        self._report(shards.reason, shards.failed, shards.given)
        if self.language == "en":
            _warn_of_foreign(shards.sample.texts)

    def _paired(self, items: Sequence[Item], parsed: Sequence[Parsed]) -> dict[Item, Parsed]:
        """The parse of each input; none may be taken for that of another."""
        if len(parsed) != len(items):
            raise RuntimeError(f"{self!r} gave {len(parsed)} parses of {len(items)} texts")
        return dict(zip(items, parsed))

    def _bar(self, total: int) -> Progress:
        shown = self.progress
        if shown is None:
            shown = total >= _PROGRESS_FROM and sys.stderr.isatty()
        # Here, since models and edges import this module, also where nothing is parsed and rich is not there.
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        from graphdep.io.process import plain_console

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        return Progress(*columns, console=plain_console(stderr=True), disable=not shown)

    def _say(self, done: int, total: int | None) -> None:
        """A line a chunk where no bar is shown: stderr is no terminal, or how many there are is not known."""
        wanted = (total or done) >= _PROGRESS_FROM if self.progress is None else self.progress
        if wanted and (total is None or not sys.stderr.isatty()):
            of = "" if total is None else f" of {total:,}"
            print(f"parsing: {done:,}{of} texts", file=sys.stderr, flush=True)

    def _report(self, reason: str, failed: int, total: int) -> None:
        self.failures += failed
        if failed:
            logger.warning(
                "%d of %d texts got %s instead of a parse (the first: %s)",
                failed,
                total,
                self.fallback,
                reason,
            )


def _warn_of_foreign(items: Sequence[Item]) -> None:
    """A parser of English gives a tree to anything."""
    if found := foreign_texts(items):
        logger.warning(
            "%s not look English (the first: %r), and this parser knows English alone: there are "
            "stanza:LANGUAGE, spacy:MODEL, bundled:FOLDER, and conllu:FILE for parses of your own",
            "1 text does" if len(found) == 1 else f"{len(found)} texts do",
            found[0][:60],
        )


def _fallback(item: Item, reason: str, flat: bool) -> Parsed:
    """The chain tree of one input, split at white space if it is a text."""
    words = item.split() if isinstance(item, str) else item
    sentences = [chain_sentence(words, reason)] if words else []
    if flat:
        sentences = [flat_sentence(sentence, reason) for sentence in sentences]
    return Parsed(sentences, reason, final=False)


def _check_texts(texts: Sequence[str]) -> None:
    if isinstance(texts, str) or not isinstance(texts, Sequence):
        raise ValueError(f"'texts' must be a sequence of strings (got {_shown(texts)})")
    for number, text in enumerate(texts):
        _checked(number, text)


def _checked(number: int, text: str) -> str:
    if not isinstance(text, str):
        raise ValueError(f"'texts[{number}]' must be a string (got {_shown(text)})")
    return text


def _check_words(words: Sequence[Sequence[str]]) -> None:
    if isinstance(words, str) or not isinstance(words, Sequence):
        raise ValueError(f"'words' must be a sequence of lists of words (got {_shown(words)})")
    for number, sentence in enumerate(words):
        if isinstance(sentence, str) or not isinstance(sentence, Sequence):
            raise ValueError(f"'words[{number}]' must be a list of words (got {_shown(sentence)})")
        if len(sentence) == 0:
            raise ValueError(f"'words[{number}]' is empty: a sentence has at least one word")
        for position, word in enumerate(sentence):
            if not isinstance(word, str) or not word:
                place = f"'words[{number}][{position}]'"
                raise ValueError(f"{place} must be a word of at least one character (got {_shown(word)})")


def _shown(value: object) -> str:
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:57] + '...'}"
