"""The base class of parsers, its errors, and how texts become chunks."""

from __future__ import annotations

import dataclasses
import logging
import pickle
import re
import sys
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, count, islice
from unicodedata import name

from graphdep.io.extras import is_installed
from graphdep.io.limits import MAX_WORDS, check_choice, check_list, check_string, check_whole, shown
from graphdep.sentence.intake import needs_tree, with_tree
from graphdep.sentence.sentence import Sentence, join_sentences, truncate
from graphdep.sentence.tree import FLAT


class ParserUnavailableError(RuntimeError):
    """A parser's library, model or server is not there; the message says what to do about it."""


Words = tuple[str, ...]
# A raw text, or a sentence whose words are given.
Item = str | Words
# What a user may give in its place: a tree.
Input = Item | Sentence
Chunk = list[Item]

# A chunk is what is parsed, and stored in the cache, in one go.
_CHUNK_ITEMS = 256
_CHUNK_CHARACTERS = 100_000


def chunks(items: Iterable[Item]) -> Iterator[Chunk]:
    """Cuts into chunks of bounded size; a single huge input is a chunk of its own."""
    chunk: Chunk = []
    size = 0
    for item in items:
        length = len(item) if isinstance(item, str) else sum(len(word) + 1 for word in item)
        if chunk and (len(chunk) == _CHUNK_ITEMS or size + length > _CHUNK_CHARACTERS):
            yield chunk
            chunk, size = [], 0
        chunk.append(item)
        size += length
    if chunk:
        yield chunk


_CHAIN_TREE = "# chain_tree ="
_FLAT_TREE = "# flat_tree ="


@dataclass(frozen=True)
class Parsed:
    """The sentences of one text, and why some of them are chains, if they are.

    Args:
        sentences: The sentences, in order.
        failure: Why at least one sentence got a chain tree. (default: :obj:`None`)
        final: Whether parsing again would give the same; not so after an error such as a time-out, so
            that the result is not kept in a cache. (default: :obj:`True`)
    """

    sentences: list[Sentence]
    failure: str | None = None
    final: bool = True


def column(values: Sequence[str | None]) -> list[str] | None:
    """A column as :func:`~graphdep.io.read_conllu` gives it: :obj:`None` if it says nothing."""
    return (
        [value or "_" for value in values] if any(value not in (None, "", "_") for value in values) else None
    )


def is_chain_tree(sentence: Sentence) -> bool:
    """Whether a parser failed on the sentence (:func:`chain_sentence`)."""
    return any(comment.startswith(_CHAIN_TREE) for comment in sentence.comments)


def chain_sentence(form: Sequence[str], reason: str, like: Sentence | None = None) -> Sentence:
    """:meth:`Sentence.chain` with the reason as a comment, and the other columns of ``like`` if given."""
    chain = Sentence.chain(form)
    comments = [*(like.comments if like else []), f"{_CHAIN_TREE} {' '.join(reason.split())}"]
    if like is None:
        return dataclasses.replace(chain, comments=comments)
    return dataclasses.replace(like, head=chain.head, deprel=chain.deprel, comments=comments)


def flat_sentence(sentence: Sentence, reason: str) -> Sentence:
    """The sentence with one constituent ``X`` over all of its words, and the reason as a comment."""
    comments = [*sentence.comments, f"{_FLAT_TREE} {' '.join(reason.split())}"]
    return dataclasses.replace(sentence, comments=comments, constituents=[(FLAT, 0, len(sentence))])


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
    """

    max_words: int = MAX_WORDS
    truncate: bool = False

    def __post_init__(self) -> None:
        check_whole("max_words", self.max_words)
        check_choice("truncate", self.truncate, (True, False))

    def holds(self, text: str) -> bool:
        """Whether a text has no more words."""
        return self._end(text) is None

    def check(self, text: str, place: str) -> None:
        """Raises :class:`ValueError` that begins with ``place`` if a text has more words and is not cut."""
        self._check(self.truncate or self.holds(text), place)

    def text(self, text: str, place: str) -> str:
        """A text that has no more words: as it is, or cut after the last one that is read; else an error as
        of :meth:`check`.
        """
        end = self._end(text)
        self._check(end is None or self.truncate, place)
        return text[:end]

    def tree(self, tree: Sentence, place: str) -> Sentence:
        """As :meth:`text`, of a parse, which may have more words than its text counts."""
        self._check(len(tree) <= self.max_words or self.truncate, place)
        return truncate(tree, self.max_words)

    def input(self, one: Input, place: str) -> Input:
        """As :meth:`text`, of a text, of words or of a tree."""
        if isinstance(one, str):
            return self.text(one, place)
        if isinstance(one, Sentence):
            return self.tree(one, place)
        self._check(len(one) <= self.max_words or self.truncate, place)
        return one[: self.max_words]

    def _end(self, text: str) -> int | None:
        """Where the last word that is read ends; :obj:`None` if there is none after it."""
        if len(text) <= self.max_words:
            return None
        last_two = list(islice(_WORD.finditer(text), self.max_words - 1, self.max_words + 1))
        return last_two[0].end() if len(last_two) == 2 else None

    def _check(self, right: bool, place: str) -> None:
        if not right:
            said = f"{place} has more than max_words={self.max_words} words"
            raise ValueError(f"{said}: allow more, or read the first ones with truncate")


_MOST, _CHARACTERS = 1_000, 1_000


class TextSample:
    """Evenly spread texts of a stream, at most a thousand, and of each its first thousand characters.

    Every :math:`2^k`-th text is kept, with the least :math:`k` by which they are no more.

    Example:
        >>> from graphdep.parsing.parser import TextSample
        >>> sample = TextSample()
        >>> sample.add(map(str, range(5000)))
        >>> sample.texts[:3], len(sample.texts)
        (['0', '8', '16'], 625)
    """

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._seen, self._step = 0, 1

    def add(self, items: Iterable[Item]) -> None:
        """Goes on with the next texts, or sentences in words."""
        for item in items:
            if self._seen % self._step == 0:
                text = item if isinstance(item, str) else " ".join(item)
                self.texts.append(text[:_CHARACTERS])
            self._seen += 1
            if len(self.texts) > _MOST:
                self.texts, self._step = self.texts[::2], 2 * self._step


# Frequent function words of languages with Latin letters. Left out is what is an English word or abbreviation
# as well (die, hat, was, est, un) and what stands in names (de, la, van, der, da): names are no evidence.
_FOREIGN = frozenset(
    """
    das dem eine einen einem einer ich ist sind nicht und auf für wir ihr auch nur wenn weil dass oder aber
    sich werden wurde haben habe hatte kann noch nach bei über wie diese dieser dieses zum zur wird
    het een niet zijn ik je wij jullie voor naar ook maar deze dit heeft hebben wordt werden bij uit zich nog
    och att jag inte som för ett på också eller jeg ikke og har det blev från sig efter
    ekki ég sem við það eru þetta
    une dans pas qui que avec sont nous vous ils elles je cette mais où être avoir leur leurs aux
    c'est j'ai n'est qu'il d'un d'une s'est
    una por para como más pero está están muy esto esta este todo también porque cuando
    és amb perquè els dels però
    é não mais muito você ele ela isso são também foi uma
    è che gli sono questo questa anche più perché della delle nel alla
    este sunt și pentru în această
    jest nie się że jak czy są przez dla tego który która
    je jsem není že jsou jako tak která jsme sú som aj ktorý
    nije što kao samo koji koja jer tudi ampak
    egy és hogy nem volt csak
    ja ei että oli hän minä mutta kuin myös olen ovat
    kui mis olen
    bir bu için ile çok değil ama daha gibi olarak
    yra kad kaip iš kas
    untuk dengan tidak itu adalah saya akan pada juga bisa dari
    mga ng ako
    của và là không một các những được trong người tôi này
    kwa katika hii lakini
    dhe të në një është nuk
    agus tá yn oedd
    """.split()
)
# Without those that other languages have as well (a, in, is, was, for, to).
_ENGLISH = frozenset(
    """
    the of and that it with his they this have from were when your can there which their said if will each
    about how them then she many some these would into more her him see could been its who now did get you my
    our not what but be don't i'm it's that's didn't can't
    """.split()
)
_LETTERS = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_SAMPLE, _SAMPLE_CHARACTERS = 1_000, 1_000  # texts that are looked at, and of each
_LEAST_WORDS = 0.03  # of a text that are function words of another language
_LEAST_SHARE = 0.1  # of them that look foreign, for a warning


def looks_foreign(text: str) -> bool:
    """Whether a text looks like one that is not English.

    It does if more than a fifth of its letters, and at least two, are not Latin; or if it has at least two
    different function words of other languages, and they are three in a hundred of its words or more, and
    more than twice as many as those of English. What has neither, such as a short text, a list of names or of
    numbers, does not.

    Example:
        >>> from graphdep.parsing.parser import looks_foreign
        >>> looks_foreign("Das ist nicht gut."), looks_foreign("Das Boot"), looks_foreign("很好")
        (True, False, True)
    """
    letters = [character for character in text if character.isalpha()]
    other = sum(not _is_latin(character) for character in letters)
    if other >= 2 and other > len(letters) / 5:
        return True
    words = [word.lower().replace("’", "'") for word in _LETTERS.findall(text)]
    foreign = [word for word in words if word in _FOREIGN]
    if len(set(foreign)) < 2 or len(foreign) < _LEAST_WORDS * len(words):
        return False
    return len(foreign) > 2 * sum(word in _ENGLISH for word in words)


def foreign_texts(texts: Sequence[str | Sequence[str]]) -> list[str]:
    """Texts, or sentences in words, that look foreign, of at most a thousand, evenly spread, and of each the
    first thousand characters: none if they are fewer than a tenth, and all if they look so together, as
    headlines do, which have few function words each.
    """
    looked = texts[:: -(-len(texts) // _SAMPLE)] if texts else []
    starts = [(text if isinstance(text, str) else " ".join(text))[:_SAMPLE_CHARACTERS] for text in looked]
    found = [text for text in starts if looks_foreign(text)]
    if len(found) >= _LEAST_SHARE * len(starts):
        return found
    return starts if looks_foreign(" ".join(starts)) else []


def _is_latin(character: str) -> bool:
    return character < "\u0250" or name(character, "").startswith(("LATIN", "MODIFIER", "FULLWIDTH LATIN"))


class Shards:
    """Cuts a stream into shards, and gives the parses of each when they are there.

    Args:
        texts: The stream. Of it a shard is read when it is asked for.
        known: Which texts of a shard need no parsing.

    Attributes:
        sample: Texts of the stream.
        given: Texts whose parses have been given.
        failed: How many of them the parser failed on.
        reason: Why it failed on the first.
    """

    def __init__(self, texts: Iterable[str], known: Callable[[Sequence[Item]], dict[Item, Parsed]]) -> None:
        self.sample, self.given, self.failed, self.reason = TextSample(), 0, 0, ""
        self._texts, self._known = texts, known
        self._waiting: deque[tuple[Chunk, dict[Item, Parsed]]] = deque()

    def todo(self) -> Iterator[Chunk]:
        """What is to be parsed of each shard, each text once; nothing of one that is known."""
        for shard in chunks(self._texts):
            unique = list(dict.fromkeys(shard))
            self.sample.add(unique)
            known = self._known(unique)
            self._waiting.append((shard, known))
            yield [item for item in unique if item not in known]

    def finish(self, parses: dict[Item, Parsed]) -> list[Parsed]:
        """The parses of the first shard that is under way, with those of what was to be parsed of it."""
        shard, done = self._waiting.popleft()
        done.update(parses)
        results = [done[item] for item in shard]
        reasons = [parsed.failure for parsed in results if parsed.failure]
        self.reason = self.reason or (reasons[0] if reasons else "")
        self.given, self.failed = self.given + len(results), self.failed + len(reasons)
        return results


logger = logging.getLogger("graphdep.parsing")

_PROGRESS_FROM = 64


class Parser(ABC):
    """A dependency parser for many texts at a time.

    A subclass parses one chunk of texts or of word lists; this class parses equal inputs once, shows a
    progress bar, and gives an input that the parser fails on a chain tree (:meth:`Sentence.chain`), with
    the reason in a ``# chain_tree =`` comment. Such inputs are counted in :attr:`failures`, and each call
    ends with a log line that says how many there were. Where the parser is one of English, a log line says
    so of texts that do not look English (:mod:`graphdep.parsing.parser`).

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
            TypeError: If ``texts`` is not a sequence of strings.
            ParserUnavailableError: If the parser cannot run at all.
        """
        check_list("texts", texts)
        texts = [_checked(number, text) for number, text in enumerate(texts)]
        return [list(parsed.sentences) for parsed in self._run(texts)]

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
            TypeError: If one is not a string, when its turn comes.
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
            raise TypeError(f"'texts' must be strings (got {shown(texts)})")
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
        with self._bar(len(todo)) as advance:
            for chunk, parsed in self.parse_chunks(chunks(todo)):
                done |= self._paired(chunk, parsed)
                advance(len(chunk))
                self._say(len(done) - known, len(todo))
        results = [done[item] for item in inputs]
        reasons = [parsed.failure for parsed in results if parsed.failure]
        self._report(reasons[0] if reasons else "", len(reasons), len(results))
        if self.language == "en":
            _warn_of_foreign(unique)
        return results

    def _stream(self, texts: Iterable[str], total: int | None) -> Iterator[list[Sentence]]:
        shards = Shards(map(_checked, count(), texts), self.known)
        with self._bar(total) as advance:
            for chunk, parsed in self.parse_chunks(shards.todo()):
                results = shards.finish(self._paired(chunk, parsed))
                advance(len(results))
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

    @contextmanager
    def _bar(self, total: int | None) -> Iterator[Callable[[int], None]]:
        """A bar, where it is wanted and rich is there; gives what moves it on."""
        shown = self.progress
        if shown is None:
            shown = (total or 0) >= _PROGRESS_FROM and sys.stderr.isatty()
        if not shown or not is_installed("rich"):
            yield lambda _: None
            return
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        from graphdep.io.console import plain_console

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=plain_console(stderr=True)) as bar:
            task = bar.add_task("parsing", total=total)
            yield lambda done: bar.advance(task, done)

    def _say(self, done: int, total: int | None) -> None:
        """A line a chunk where no bar is shown: stderr is no terminal, how many there are is not known, or
        rich is not there.
        """
        wanted = (total or done) >= _PROGRESS_FROM if self.progress is None else self.progress
        if wanted and (total is None or not sys.stderr.isatty() or not is_installed("rich")):
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


def _checked(number: int, text: str) -> str:
    check_string(f"texts[{number}]", text)
    return text


def _check_words(words: Sequence[Sequence[str]]) -> None:
    check_list("words", words)
    for number, sentence in enumerate(words):
        check_list(f"words[{number}]", sentence)
        for position, word in enumerate(sentence):
            check_string(f"words[{number}][{position}]", word)
        if not sentence or not all(sentence):
            raise ValueError(f"'words[{number}]' is empty, or has an empty word (got {shown(sentence)})")


class AroundParser(Parser):
    """A parser that gives what another one gives, in a way of its own.

    Args:
        parser: The other one.
    """

    def __init__(self, parser: Parser) -> None:
        super().__init__(progress=parser.progress)
        self.parser, self.language, self.gives_graphs = parser, parser.language, parser.gives_graphs
        self.gives_constituents = parser.gives_constituents

    @property
    def fingerprint(self) -> str:
        """The parser's fingerprint."""
        return self.parser.fingerprint

    @property
    def fallback(self) -> str:
        """What the parser gives an input that it fails on."""
        return self.parser.fallback

    def known(self, items: Sequence[Item]) -> dict[Item, Parsed]:
        """What the parser knows."""
        return self.parser.known(items)

    def parse_texts(self, texts: Sequence[str]) -> list[Parsed]:
        """Parses a chunk of texts."""
        return self.parser.parse_texts(texts)

    def parse_sentences(self, sentences: Sequence[Words]) -> list[Parsed]:
        """Parses a chunk of sentences whose words are given."""
        return self.parser.parse_sentences(sentences)

    def _pickled(self) -> bytes:
        """The parser, to be sent to other processes."""
        try:
            return pickle.dumps(self.parser)
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            name = type(self.parser).__name__
            raise ValueError(f"'parser' cannot be copied to other processes: {name} ({error})") from error


class ChainParser(Parser):
    """Cuts a text at white space and makes each word depend on the one before it.

    For what does not look at trees, and for controls. Its chains are what was asked for, and are not counted
    as failures.
    """

    gives_graphs = False

    @property
    def fingerprint(self) -> str:
        """The same always: there is nothing to choose."""
        return "chain/1"

    def parse_texts(self, texts: Sequence[str]) -> list[Parsed]:
        """A chain a text; none for a text of white space."""
        return [Parsed([Sentence.chain(words)] if (words := text.split()) else []) for text in texts]

    def parse_sentences(self, sentences: Sequence[Words]) -> list[Parsed]:
        """A chain for each list of words."""
        return [Parsed([Sentence.chain(list(words))]) for words in sentences]


def _words_of(one: Input) -> Words:
    assert not isinstance(one, str)
    return tuple(one.form) if isinstance(one, Sentence) else one


def parse_joined(
    parser: Parser | Callable[[], Parser], inputs: Sequence[Input], *, roots: str = "first"
) -> tuple[list[Sentence], int]:
    """One tree an input: of a text also where the parser sees several sentences (:func:`join_sentences`), of
    words their parse; a tree stays as it is, but that of a sentence that has its arcs alone.

    A text that the parser finds no word in has a chain for a tree, cut at white space.

    Args:
        parser: The parser, or a function that gives it where there is something to parse.
        inputs: Texts, none of them blank, words, and trees.
        roots: As in :func:`join_sentences`. (default: ``"first"``)

    Returns:
        The trees, and how many are chains instead of parses.
    """
    texts = [one for one in inputs if isinstance(one, str)]
    own = [one if isinstance(one, Sentence) else None for one in inputs]
    asked = [not isinstance(one, str) and needs_tree(tree) for one, tree in zip(inputs, own)]
    words = [_words_of(one) for one, is_asked in zip(inputs, asked) if is_asked]
    if not texts and not words:
        return [tree for tree in own if tree is not None], 0
    parser = parser if isinstance(parser, Parser) else parser()
    before = parser.failures
    parses = parser.parse(texts) if texts else []
    joined = (
        join_sentences(parse, roots=roots) if parse else chain_sentence(text.split(), "no sentence in it")
        for text, parse in zip(texts, parses)
    )
    parsed = iter(parser.parse_words(words) if words else [])
    trees = [
        with_tree(tree, next(parsed)) if is_asked else next(joined) if tree is None else tree
        for tree, is_asked in zip(own, asked)
    ]
    return trees, parser.failures - before + sum(not parse for parse in parses)
