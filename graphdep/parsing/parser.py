"""The base class of parsers, and what parsers share."""

from __future__ import annotations

import dataclasses
import logging
import pickle
import re
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count, islice
from unicodedata import name

from graphdep.io.limits import MAX_WORDS, check_choice, check_list, check_string, check_whole, shown
from graphdep.io.progress import Progress
from graphdep.sentence.intake import needs_tree, with_tree
from graphdep.sentence.sentence import Sentence, join_sentences, truncate
from graphdep.sentence.tree import FLAT


class ParserUnavailableError(RuntimeError):
    """A parser's library, model or server is missing; the message says what to do about it."""


Words = tuple[str, ...]
# A raw text, or the words of a sentence.
Item = str | Words
# A user may also give a tree.
Input = Item | Sentence
# Inputs that are parsed, and stored in the cache, together.
Chunk = list[Item]

_CHUNK_ITEMS = 256
_CHUNK_CHARACTERS = 100_000


def chunks(items: Iterable[Item]) -> Iterator[Chunk]:
    """Groups inputs into chunks of bounded size; a larger input is a chunk of its own."""
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
    """The sentences of one text, and why some of them are chain trees.

    Args:
        sentences: The sentences, in order.
        failure: Why the first of the chain trees is one. (default: :obj:`None`)
        final: Whether parsing again would give the same result. After an error such as a time-out it may not,
            so the result is not cached. (default: :obj:`True`)
    """

    sentences: list[Sentence]
    failure: str | None = None
    final: bool = True

    @classmethod
    def of(cls, results: Iterable[tuple[Sentence, str | None]]) -> Parsed:
        """The sentences of one text, each given with the reason why it is a chain tree, or :obj:`None`."""
        results = list(results)
        failure = next((failure for _, failure in results if failure), None)
        return cls([sentence for sentence, _ in results], failure)


def column(values: Sequence[str | None]) -> list[str] | None:
    """A column as :func:`~graphdep.io.read_conllu` returns it: :obj:`None` if it has no values."""
    return (
        [value or "_" for value in values] if any(value not in (None, "", "_") for value in values) else None
    )


def is_chain_tree(sentence: Sentence) -> bool:
    """Whether the tree is a :func:`chain_sentence`, since a parser failed."""
    return any(comment.startswith(_CHAIN_TREE) for comment in sentence.comments)


def chain_sentence(form: Sequence[str], reason: str, like: Sentence | None = None) -> Sentence:
    """:meth:`Sentence.chain` with the reason as a comment, and the other columns of ``like``."""
    chain = Sentence.chain(form)
    comments = [*(like.comments if like else []), f"{_CHAIN_TREE} {' '.join(reason.split())}"]
    if like is None:
        return dataclasses.replace(chain, comments=comments)
    return dataclasses.replace(like, head=chain.head, deprel=chain.deprel, comments=comments)


def flat_sentence(sentence: Sentence, reason: str) -> Sentence:
    """The sentence with one constituent ``X`` over all words, and the reason as a comment."""
    comments = [*sentence.comments, f"{_FLAT_TREE} {' '.join(reason.split())}"]
    return dataclasses.replace(sentence, comments=comments, constituents=[(FLAT, 0, len(sentence))])


# A word is a run of at most 100 letters and digits (StanzaEngine reads no more of a word). Chinese characters
# and kana, which are written without spaces, and all other visible characters count one by one.
ALONE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{ALONE}]|[^\W{ALONE}]{{1,100}}|[^\w\s]")


@dataclass(frozen=True)
class WordLimit:
    """The largest number of words per text, and whether longer texts are truncated or refused.

    Without syntax every word sees every other, so memory grows with the square of the number of words. The
    words of a raw text are estimated before it is parsed: a run of letters and digits counts as one word per
    100 characters, and every other visible character as one word. A text with much punctuation may therefore
    count as slightly longer than its parse.

    Args:
        max_words: The largest number of words per text. (default: :obj:`10_000`)
        truncate: Truncate a longer text instead of raising an error. (default: :obj:`False`)
    """

    max_words: int = MAX_WORDS
    truncate: bool = False

    def __post_init__(self) -> None:
        check_whole("max_words", self.max_words)
        check_choice("truncate", self.truncate, (True, False))

    def holds(self, text: str) -> bool:
        """Whether a text is within the limit."""
        return self._end(text) is None

    def check(self, text: str, place: str) -> None:
        """Raises :class:`ValueError`, beginning with ``place``, if a text is too long and not truncated."""
        self._check(self.truncate or self.holds(text), place)

    def text(self, text: str, place: str) -> str:
        """The text, truncated if necessary; raises as :meth:`check` does."""
        end = self._end(text)
        self._check(end is None or self.truncate, place)
        return text[:end]

    def tree(self, tree: Sentence, place: str) -> Sentence:
        """As :meth:`text`, for a parse, which may have more words than were estimated for its text."""
        self._check(len(tree) <= self.max_words or self.truncate, place)
        return truncate(tree, self.max_words)

    def input(self, value: Input, place: str) -> Input:
        """As :meth:`text`, for a text, the words of a sentence, or a tree."""
        if isinstance(value, str):
            return self.text(value, place)
        if isinstance(value, Sentence):
            return self.tree(value, place)
        self._check(len(value) <= self.max_words or self.truncate, place)
        return value[: self.max_words]

    def _end(self, text: str) -> int | None:
        """Where to truncate the text; :obj:`None` if it is within the limit."""
        if len(text) <= self.max_words:
            return None
        last_two = list(islice(_WORD.finditer(text), self.max_words - 1, self.max_words + 1))
        return last_two[0].end() if len(last_two) == 2 else None

    def _check(self, right: bool, place: str) -> None:
        if not right:
            raise ValueError(
                f"{place} has more than max_words={self.max_words} words: raise the limit, or set truncate"
            )


_SAMPLE_TEXTS, _SAMPLE_CHARACTERS = 1_000, 1_000


class TextSample:
    """Evenly spread texts of a stream, at most 1,000, each cut to its first 1,000 characters.

    Every :math:`2^k`-th text is kept, with the smallest :math:`k` that suffices.

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
        """Samples from the next texts of the stream."""
        for item in items:
            if self._seen % self._step == 0:
                text = item if isinstance(item, str) else " ".join(item)
                self.texts.append(text[:_SAMPLE_CHARACTERS])
            self._seen += 1
            if len(self.texts) > _SAMPLE_TEXTS:
                self.texts, self._step = self.texts[::2], 2 * self._step


# Frequent function words of languages in Latin script, without English words and abbreviations (die, hat,
# was) and without parts of names (de, la, van, der, da), which are no evidence.
_FOREIGN = frozenset(
    """
    das dem ein eine einen einem einer ich ist sind nicht und auf für wir ihr auch nur wenn weil dass oder
    aber sich werden wurde haben habe hatte kann noch nach bei über wie diese dieser dieses zum zur wird es
    sie ihn wo vom beim sehr hier schon mir mich dich uns seine ihre gibt bist seit durch jetzt kein keine
    gegen ohne immer
    het een niet zijn ik je wij jullie voor naar ook maar deze dit heeft hebben wordt bij uit zich nog dat te
    ze aan geen moet veel zoals
    och att jag inte som för ett på också eller jeg ikke og har det blev från sig efter av kan ska hon til
    fra hvor hvad hvem ikkje
    ekki ég sem við það eru þetta
    un une des les est dans pas qui que avec sont nous vous ils elle elles cette mais où être avoir leur
    leurs aux sur c'est j'ai n'est qu'il d'un d'une s'est
    una los sus del por para como más pero está están muy esto esta este todo también porque cuando
    és amb perquè els dels però
    é não mais muito você ele ela isso são também foi uma pela pelo seu sua
    è il di che gli sono questo questa anche più perché della delle nel nella dei alla suo hanno stato
    este sunt și pentru în această
    jest nie się że jak czy są przez dla tego który która oraz jego
    je jsem není že jsou jako tak která jsme sú som aj ktorý byl bude kde kdy kdo kto
    nije što kao samo koji koja jer tudi ampak
    az egy és hogy meg nem volt csak
    ja ei että oli hän minä mutta kuin myös olen ovat
    kui mis olen
    bir bu için ile çok değil ama daha gibi olarak
    yra kad kaip iš kas
    untuk dengan tidak itu adalah saya akan pada juga bisa dari siapa oleh telah
    mga ako
    của và là không một các những được trong người tôi này
    kwa katika hii lakini
    dhe të në një është nuk
    agus tá yn oedd
    """.split()
)
# Without words of other languages (a, in, is, was, for, to).
_ENGLISH = frozenset(
    """
    the of and that it with his they this have from were when your can there which their said if will each
    about how them then she many some these would into more her him see could been its who now did get you my
    our not what but be don't i'm it's that's didn't can't
    """.split()
)
_LETTERS = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_LEAST_WORDS = 0.03  # share of these words among the words of a foreign text
_LEAST_ACCENTED = 4  # different words with accents in a text without foreign function words
_LEAST_TEXTS = 0.1  # share of texts that look foreign, below which only those that surely do count


def looks_foreign(text: str, *, surely: bool = False) -> bool:
    """Whether a text does not look English.

    It looks foreign if more than a fifth of its letters, and at least two, are not Latin; or if it has a
    function word of another language and a second one or a word with an accent, or four words with accents,
    and these are at least 3% of its words and more than twice as frequent as function words of English.
    Words with a capital may be names: of these only the first word of the text counts, and not alone.
    ``surely`` asks for more: half of its letters, or two function words of another language and none of
    English.

    Example:
        >>> from graphdep.parsing.parser import looks_foreign
        >>> looks_foreign("Das ist gut."), looks_foreign("Ng left São Paulo."), looks_foreign("很好")
        (True, False, True)
    """
    if surely and text.isascii() and len(_FOREIGN.intersection(text.split())) < 2:  # fast for English
        return False
    letters = [character for character in text if character.isalpha()]
    other = sum(not _is_latin(character) for character in letters)
    if other >= 2 and other > len(letters) / (2 if surely else 5):
        return True
    words = _LETTERS.findall(text.replace("’", "'"))
    small = {word for word in words if word[0].islower()}
    function = small & _FOREIGN
    accented = {word for word in small - function if not word.isascii()}
    first = {word.lower() for word in words[:1]} & _FOREIGN
    if not (function and len(function | accented | first) > 1) and len(accented) < _LEAST_ACCENTED:
        return False
    foreign = sum(word in function or word in accented for word in words) + len(first - function)
    english = sum(word.lower() in _ENGLISH for word in words)
    if surely and (english or len(function) < 2):
        return False
    return foreign >= max(_LEAST_WORDS * len(words), 1 + 2 * english)


def foreign_texts(texts: Sequence[Item]) -> list[str]:
    """Texts of a :class:`TextSample` that look foreign; if they are less than a tenth, all texts that surely
    do, since an English text may quote.

    Headlines have few function words each: if all texts together look foreign, all are returned.
    """
    sample = TextSample()
    sample.add(texts)
    found = [text for text in sample.texts if looks_foreign(text)]
    if len(found) >= _LEAST_TEXTS * len(sample.texts):
        return found
    if looks_foreign(" ".join(sample.texts)):
        return sample.texts
    every = (text if isinstance(text, str) else " ".join(text) for text in texts)
    return [text for text in every if looks_foreign(text[:_SAMPLE_CHARACTERS], surely=True)]


def _is_latin(character: str) -> bool:
    return character < "\u0250" or name(character, "").startswith(("LATIN", "MODIFIER", "FULLWIDTH LATIN"))


class Shards:
    """Cuts a stream into shards and collects the parses of each.

    Args:
        texts: The stream; a shard is read when it is needed.
        known: Returns parses of texts that need no parsing.

    Attributes:
        sample: A sample of the texts.
        given: Number of texts whose parses were returned.
        failed: How many of them the parser failed on.
        reason: Why it failed on the first of these.
    """

    def __init__(self, texts: Iterable[str], known: Callable[[Sequence[Item]], dict[Item, Parsed]]) -> None:
        self.sample, self.given, self.failed, self.reason = TextSample(), 0, 0, ""
        self._texts, self._known = texts, known
        self._waiting: deque[tuple[Chunk, dict[Item, Parsed]]] = deque()

    def todo(self) -> Iterator[Chunk]:
        """The texts of each shard that must be parsed, without repetition."""
        for shard in chunks(self._texts):
            unique = list(dict.fromkeys(shard))
            self.sample.add(unique)
            known = self._known(unique)
            self._waiting.append((shard, known))
            yield [item for item in unique if item not in known]

    def finish(self, parses: dict[Item, Parsed]) -> list[Parsed]:
        """All parses of the oldest shard in progress, given those of its :meth:`todo`."""
        shard, done = self._waiting.popleft()
        done.update(parses)
        results = [done[item] for item in shard]
        reasons = [parsed.failure for parsed in results if parsed.failure]
        self.reason = self.reason or (reasons[0] if reasons else "")
        self.given, self.failed = self.given + len(results), self.failed + len(reasons)
        return results


logger = logging.getLogger("graphdep.parsing")

_AT_ONCE = 64  # texts whose bar is shown before the first is parsed


class Parser(ABC):
    """A dependency parser for many texts at a time.

    A subclass parses one chunk of texts or of word lists. This class parses equal inputs once and shows
    progress. An input on which the parser fails gets a chain tree (:meth:`Sentence.chain`) with the
    reason in a ``# chain_tree =`` comment; such inputs are counted in :attr:`failures`, and each call logs
    their number. A parser of English also logs how many texts do not look English.

    Args:
        progress: Show progress on stderr, as a bar on a terminal and else as lines; with :obj:`None` the bar
            waits two seconds unless there are at least 64 texts. (default: :obj:`None`)

    Attributes:
        language: Code of the language, such as ``"en"`` or ``"zh"``; :obj:`None` if unknown.
        gives_graphs: Whether its sentences may have enhanced graphs (:attr:`Sentence.deps`). A subclass that
            returns trees alone sets it to :obj:`False`.
        gives_constituents: Whether all of its sentences have :attr:`Sentence.constituents`. On failure the
            sentence gets one constituent ``X`` over all words (``# flat_tree =``).
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
        """Name, version, digest of the model files, and every option that changes the output."""

    @property
    def fallback(self) -> str:
        """What an input gets on failure, for messages."""
        return "a chain tree and flat constituents" if self.gives_constituents else "a chain tree"

    @abstractmethod
    def parse_texts(self, texts: Sequence[str]) -> list[Parsed]:
        """Parses a chunk of texts. It may raise any error; each text is then tried on its own."""

    @abstractmethod
    def parse_sentences(self, sentences: Sequence[Words]) -> list[Parsed]:
        """Parses a chunk of sentences whose words are given; may raise as :meth:`parse_texts`."""

    def known(self, items: Sequence[Item]) -> dict[Item, Parsed]:
        """Parses of inputs that need no parsing, such as cached ones."""
        return {}

    def parse(self, texts: Sequence[str]) -> list[list[Sentence]]:
        """Splits raw texts into sentences and words, and parses them.

        Args:
            texts: The texts. A blank text gives an empty list.

        Returns:
            The sentences of each text.

        Raises:
            TypeError: If ``texts`` is not a sequence of strings.
            ParserUnavailableError: If the parser cannot run at all.
        """
        check_list("texts", texts)
        texts = [_checked(number, text) for number, text in enumerate(texts)]
        return [list(parsed.sentences) for parsed in self._run(texts)]

    def iter_parse(self, texts: Iterable[str], *, total: int | None = None) -> Iterator[list[Sentence]]:
        """:meth:`parse` for texts that do not fit into memory.

        Texts are parsed in shards (256 texts, or 100,000 characters). One or two shards are in memory at a
        time; with several processes or a cluster, four per process. Equal texts are parsed once per shard;
        with a cache (:class:`CachedParser`) once in total, except in shards that are parsed concurrently.

        Args:
            texts: The texts, for example a generator.
            total: Number of texts, for the progress. (default: :obj:`None`, unknown)

        Yields:
            The sentences of each text, in order.

        Raises:
            TypeError: When a text is reached that is not a string.
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
            words: The words of each sentence.

        Returns:
            One sentence per list of words.

        Raises:
            TypeError: If a word is not a string.
            ValueError: If a list or a word is empty; the message has the number of the list.
            ParserUnavailableError: If the parser cannot run at all.
        """
        _check_words(words)
        return [parsed.sentences[0] for parsed in self._run([tuple(sentence) for sentence in words])]

    def parse_chunks(self, parts: Iterable[Chunk]) -> Iterator[tuple[Chunk, list[Parsed]]]:
        """Yields chunks with their parses, in order, reading only a few chunks ahead; chunks may be empty."""
        for chunk in parts:
            yield chunk, self.parse_items(chunk) if chunk else []

    def parse_items(self, items: Sequence[Item]) -> list[Parsed]:
        """Parses a chunk. If that fails, parses its inputs one by one; those that fail get a chain tree."""
        texts = [item for item in items if isinstance(item, str)]
        sentences = [item for item in items if not isinstance(item, str)]
        try:
            return self.parse_texts(texts) if texts else self.parse_sentences(sentences)
        except ParserUnavailableError:
            raise
        except Exception as error:  # an error of a third-party parser must not lose the other texts
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
        with self._bar(len(todo)) as progress:
            for chunk, parsed in self.parse_chunks(chunks(todo)):
                done |= self._paired(chunk, parsed)
                progress.advance(len(chunk))
        results = [done[item] for item in inputs]
        reasons = [parsed.failure for parsed in results if parsed.failure]
        self._count_failures(reasons[0] if reasons else "", len(reasons), len(results))
        if self.language == "en":
            _warn_of_foreign(unique)
        return results

    def _stream(self, texts: Iterable[str], total: int | None) -> Iterator[list[Sentence]]:
        shards = Shards(map(_checked, count(), texts), self.known)
        with self._bar(total) as progress:
            for chunk, parsed in self.parse_chunks(shards.todo()):
                results = shards.finish(self._paired(chunk, parsed))
                progress.advance(len(results))
                yield from (list(parsed.sentences) for parsed in results)
        self._count_failures(shards.reason, shards.failed, shards.given)
        if self.language == "en":
            _warn_of_foreign(shards.sample.texts)

    def _paired(self, items: Sequence[Item], parsed: Sequence[Parsed]) -> dict[Item, Parsed]:
        """The parse of each input; raises if their numbers differ."""
        if len(parsed) != len(items):
            raise RuntimeError(f"{self!r} returned {len(parsed)} parses for {len(items)} texts")
        return dict(zip(items, parsed))

    def _bar(self, total: int | None) -> Progress:
        much = bool(self.progress) or (total or 0) >= _AT_ONCE
        what = "parsing texts" if total is None else f"parsing {total:,} texts"
        return Progress(what, total, shown=self.progress is not False, at_once=much)

    def _count_failures(self, reason: str, failed: int, total: int) -> None:
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
    if found := foreign_texts(items):
        logger.warning(
            "%s not look English (the first: %r), and this parser knows English alone: use stanza:LANGUAGE, "
            "spacy:MODEL or bundled:FOLDER, or your own parses with conllu:FILE",
            "1 text does" if len(found) == 1 else f"{len(found)} texts do",
            found[0][:60],
        )


def _fallback(item: Item, reason: str, flat: bool) -> Parsed:
    """The chain tree of one input; a text is split at white space."""
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


class ParserWrapper(Parser):
    """A parser that gets its parses from another one.

    Args:
        parser: The wrapped parser.
    """

    def __init__(self, parser: Parser) -> None:
        super().__init__(progress=parser.progress)
        self.parser, self.language, self.gives_graphs = parser, parser.language, parser.gives_graphs
        self.gives_constituents = parser.gives_constituents

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the wrapped parser."""
        return self.parser.fingerprint

    @property
    def fallback(self) -> str:
        """As of the wrapped parser."""
        return self.parser.fallback

    def known(self, items: Sequence[Item]) -> dict[Item, Parsed]:
        """As of the wrapped parser."""
        return self.parser.known(items)

    def parse_texts(self, texts: Sequence[str]) -> list[Parsed]:
        """Parses a chunk of texts."""
        return self.parser.parse_texts(texts)

    def parse_sentences(self, sentences: Sequence[Words]) -> list[Parsed]:
        """Parses a chunk of sentences whose words are given."""
        return self.parser.parse_sentences(sentences)

    def _pickled(self) -> bytes:
        """The wrapped parser, to be sent to other processes."""
        try:
            return pickle.dumps(self.parser)
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            name = type(self.parser).__name__
            raise ValueError(f"'parser' cannot be copied to other processes: {name} ({error})") from error


class OneSentenceParser(ParserWrapper):
    """Gives each text one tree: if the wrapped parser finds several sentences, such as one that ends at
    ``Mr.``, their words are parsed again as one sentence.
    """

    @property
    def fingerprint(self) -> str:
        """That of the wrapped parser, marked."""
        return f"{self.parser.fingerprint}/one-sentence"

    def known(self, items: Sequence[Item]) -> dict[Item, Parsed]:
        """As of the wrapped parser, without texts of several sentences."""
        found = self.parser.known(items)
        return {item: parsed for item, parsed in found.items() if len(parsed.sentences) < 2}

    def parse_texts(self, texts: Sequence[str]) -> list[Parsed]:
        """Parses a chunk of texts."""
        found = self.parser.parse_texts(texts)
        several = {n: join_sentences(p.sentences) for n, p in enumerate(found) if len(p.sentences) > 1}
        words = [tuple(joined.form) for joined in several.values()]
        again = self.parser.parse_sentences(words) if words else []
        for (number, joined), parsed in zip(several.items(), again):
            own = {name: getattr(joined, name) for name in ("comments", "multiword", "misc")}
            [tree] = parsed.sentences
            found[number] = dataclasses.replace(parsed, sentences=[dataclasses.replace(tree, **own)])
        return found


class ChainParser(Parser):
    """Splits a text at white space and makes each word depend on the word before it.

    For models without trees and for controls. Its chains do not count as failures.
    """

    gives_graphs = False

    @property
    def fingerprint(self) -> str:
        """A constant."""
        return "chain/1"

    def parse_texts(self, texts: Sequence[str]) -> list[Parsed]:
        """A chain for each text; none for a blank text."""
        return [Parsed([Sentence.chain(words)] if (words := text.split()) else []) for text in texts]

    def parse_sentences(self, sentences: Sequence[Words]) -> list[Parsed]:
        """A chain for each list of words."""
        return [Parsed([Sentence.chain(list(words))]) for words in sentences]


def _has_tree(value: Input) -> bool:
    return isinstance(value, Sentence) and not needs_tree(value)


def parse_joined(
    parser: Parser | Callable[[], Parser], inputs: Sequence[Input], *, roots: str = "first"
) -> tuple[list[Sentence], int]:
    """Makes one tree per input.

    The sentences of a text are joined (:func:`join_sentences`), and words are parsed as one sentence. A tree
    is kept; a sentence that has arcs but no tree gets one. A text in which the parser finds no word is split
    at white space and gets a chain tree.

    Args:
        parser: The parser, or a function that returns it; called only if there is something to parse.
        inputs: Texts that are not blank, words, and trees.
        roots: As in :func:`join_sentences`. (default: ``"first"``)

    Returns:
        The trees, and how many of them are chains instead of parses.
    """
    texts = [value for value in inputs if isinstance(value, str)]
    words = [
        value.form if isinstance(value, Sentence) else value
        for value in inputs
        if not isinstance(value, str) and not _has_tree(value)
    ]
    if not texts and not words:
        return [value for value in inputs if isinstance(value, Sentence)], 0
    parser = parser if isinstance(parser, Parser) else parser()
    before = parser.failures
    parses = parser.parse(texts) if texts else []
    joined = (
        join_sentences(parse, roots=roots) if parse else chain_sentence(text.split(), "no sentence in it")
        for text, parse in zip(texts, parses)
    )
    parsed = iter(parser.parse_words(words) if words else [])
    trees = []
    for value in inputs:
        if isinstance(value, Sentence):
            trees.append(value if _has_tree(value) else with_tree(value, next(parsed)))
        else:
            trees.append(next(joined if isinstance(value, str) else parsed))
    return trees, parser.failures - before + sum(not parse for parse in parses)
