"""Stanza's pipelines as parsers."""

from __future__ import annotations

import dataclasses
import gc
import hashlib
import os
import re
import threading
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from graphdep.io.extras import check_extra
from graphdep.io.files import CHECKSUMS, LineError, file_digest, read_checksums
from graphdep.io.limits import check_least
from graphdep.parsing.parser import (
    Parsed,
    Parser,
    ParserUnavailableError,
    Words,
    chain_sentence,
    column,
    flat_sentence,
)
from graphdep.sentence.sentence import Sentence
from graphdep.sentence.tree import Constituent, Row


def files_digest(paths: Iterable[str | os.PathLike[str]]) -> str:
    """The first twelve digits of a SHA-256 of the contents of files."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(bytes.fromhex(_known_digest(path)))
    return digest.hexdigest()[:12]


def _known_digest(path: str | os.PathLike[str]) -> str:
    """The SHA-256 of a file, which is read again only if its size or time stamp changed."""
    stat = os.stat(path)
    return _digest_at(os.fspath(path), stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=256)
def _digest_at(path: str, size: int, mtime_ns: int) -> str:
    return file_digest(path)


def check_checksums(files: Iterable[Path]) -> None:
    """Compares model files with the ``SHA256SUMS`` of their folder, if there is one."""
    for path in files:
        if not (path.parent / CHECKSUMS).exists():
            continue
        try:
            known = read_checksums(path.parent / CHECKSUMS)
        except LineError as error:
            raise ParserUnavailableError(str(error)) from None
        if known.get(path.name) != _known_digest(path):
            wrong = "differs from its checksum" if path.name in known else "has no checksum"
            raise ParserUnavailableError(f"{path} {wrong} in {CHECKSUMS}: the file is damaged or was changed")


_ALONE = threading.RLock()  # the number of threads and the random state belong to the whole process


@contextmanager
def one_thread() -> Iterator[None]:
    """Runs models on one thread and keeps the caller's random state.

    The matrices are small: two threads are a sixth faster on an idle machine and many times slower on a busy
    one. Stanza's loaders draw random numbers; without this, a seed would give another model once parses are
    cached.
    """
    import torch

    with _ALONE:
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            with torch.random.fork_rng(devices=[]):
                yield
        finally:
            torch.set_num_threads(threads)


class RawToken(NamedTuple):
    """A token of a raw text.

    Attributes:
        start: Offset of its first character.
        stop: Offset after its last character.
        text: Its text from the tokenizer, or :obj:`None` for the characters of the raw text.
        words: The words of a multi-word token, else empty.
    """

    start: int
    stop: int
    text: str | None
    words: tuple[str, ...] = ()


def whole_words(sentences: Sequence[Sequence[RawToken]], text: str) -> list[list[RawToken]]:
    """Joins tokens that were cut inside a word of an English text, and their sentences.

    A tokenizer that saw few accents in training cuts ``cliché`` into ``clich`` and ``é``. No English word
    ends between two Latin letters of which one is not ASCII, nor before a combining mark. Punctuation at the
    end of a joined token becomes a token. Multi-word tokens are unchanged.

    Args:
        sentences: The tokens of each sentence, in the order of the text.
        text: The text.

    Example:
        >>> tokens = [[RawToken(0, 5, "clich"), RawToken(5, 6, "é"), RawToken(7, 12, "again")]]
        >>> [(token.start, token.stop) for token in whole_words(tokens, "cliché again")[0]]
        [(0, 6), (7, 12)]
    """
    whole: list[list[RawToken]] = []
    for sentence in sentences:
        for i, token in enumerate(sentence):
            if whole and _is_cut(whole[-1][-1], token, text):
                whole[-1][-1:] = _joined(whole[-1][-1], token, text)
            elif i == 0:
                whole.append([token])
            else:
                whole[-1].append(token)
    return whole


def _joined(before: RawToken, token: RawToken, text: str) -> list[RawToken]:
    end = token.stop
    while unicodedata.category(text[end - 1]).startswith("P"):
        end -= 1
    places = [(before.start, end), (end, token.stop)]
    return [RawToken(*place, "".join(text[slice(*place)].split())) for place in places if place[0] < place[1]]


def _is_cut(before: RawToken, token: RawToken, text: str) -> bool:
    if before.stop != token.start or before.words or token.words:
        return False
    end = before.stop - 1
    while end > before.start and unicodedata.combining(text[end]):
        end -= 1
    left, right = text[end], text[token.start]
    if unicodedata.combining(right):
        return True
    marked = end < before.stop - 1 or not (left.isascii() and right.isascii())
    return marked and _is_latin(left) and _is_latin(right)


def _is_latin(character: str) -> bool:
    return character.isalpha() and unicodedata.name(character, "").startswith("LATIN ")


_MAX_PIECE = 10_000
# Stanza searches URLs and addresses with patterns whose time grows with the square of such a run.
_MAX_RUN = 2_000
_LONG_RUN = re.compile(rf"[!-~]{{{_MAX_RUN + 1}}}")
_BREAKS = tuple(map(re.compile, (r"\n\s*\n", r"\n", r"\s")))


def text_pieces(text: str, max_characters: int = _MAX_PIECE) -> Iterator[tuple[int, str]]:
    """Yields ``(offset, piece)`` for the pieces of a text that are not blank.

    A text that is too long is cut after the last blank line that fits, else the last line break, else the
    last white space, else inside a word. Words of more than 2,000 ASCII characters are always cut.

    Args:
        text: The text.
        max_characters: The longest piece. (default: :obj:`10_000`)
    """
    start = 0
    while start < len(text):
        stop = _cut(text, start, min(start + max_characters, len(text)))
        piece = text[start:stop]
        if not piece.isspace():
            yield start, piece
        start = stop


def _cut(text: str, start: int, stop: int) -> int:
    if run := _LONG_RUN.search(text, start, stop):
        return run.start() if run.start() > start else start + _MAX_RUN
    if stop == len(text):
        return stop
    for pattern in _BREAKS:
        ends = [match.end() for match in pattern.finditer(text, start, stop)]
        if ends:
            return ends[-1]
    return stop


_ROOT = "ROOT"


def stanza_constituents(tree: Any) -> list[Constituent]:
    """The constituents of a ``Tree`` of stanza, without tags and ``ROOT``."""
    if tree is None:
        raise ValueError("no tree")
    found: list[Constituent] = []
    words = 0
    todo: list[tuple[Any, int]] = [(tree, -1)]  # a node that is to be closed has its place in found
    while todo:
        node, place = todo.pop()
        if place >= 0:
            label, start, _ = found[place]
            found[place] = (label, start, words)
        elif node.is_preterminal():
            words += 1
        else:
            todo.append((node, len(found)))
            found.append((node.label, words, words))
            todo += [(child, -1) for child in reversed(node.children)]
    return found[1:] if found and found[0][0] == _ROOT else found


# The tagger and the parser read a word character by character, so a longer one is truncated for them.
_MAX_CHARACTERS = 100
_GROUP_WORDS = 20_000
_OLDEST = (1, 15)  # older versions run code from a lemmatizer's file


class StanzaEngine:
    """Splits, tags and parses with one stanza pipeline.

    Splitting makes sentences with chain trees; tagging and parsing replaces the trees. Raw texts and given
    words thus share the second step, and keep their tokens.

    Args:
        load: Makes the pipeline; called when it is first needed.
        max_words: Sentences of more words keep their chain tree, since memory and time of the parser grow
            faster than the square of the number of words.
        constituents: Whether the pipeline has a constituency parser, which is then run, too.
            (default: :obj:`False`)
        join_cut_words: Whether to join words that the tokenizer cuts at an accent (:func:`whole_words`).
            (default: :obj:`False`)
    """

    def __init__(
        self,
        load: Callable[[], Any],
        max_words: int,
        *,
        constituents: bool = False,
        join_cut_words: bool = False,
    ) -> None:
        check_least("max_words", max_words, 1)
        self._load, self.max_words, self.constituents = load, max_words, constituents
        self.join_cut_words = join_cut_words

    @cached_property
    def pipeline(self) -> Any:
        """The stanza pipeline."""
        import stanza
        import torch

        from graphdep.parsing.stanza_shortcuts import take_shortcuts

        numbers = tuple(int(number) for number in re.findall(r"\d+", stanza.__version__)[:2])
        if numbers < _OLDEST:
            raise ParserUnavailableError(
                f"stanza {stanza.__version__} can run code from a model file: install "
                f"{'.'.join(map(str, _OLDEST))} or later (pip install -U stanza)"
            )
        # Models draw random weights before they read theirs.
        with torch.random.fork_rng(devices=[]):
            pipeline = self._load()
        take_shortcuts(pipeline)
        return pipeline

    def __getstate__(self) -> dict[str, Any]:
        # It has locks and large models: a copy loads its own when needed.
        return {key: value for key, value in self.__dict__.items() if key != "pipeline"}

    def parse(self, texts: Sequence[str]) -> list[Parsed]:
        """Parses raw texts."""
        with _no_collections():
            return self._annotate(self.split(texts))

    def parse_words(self, words: Sequence[Sequence[str]]) -> list[Parsed]:
        """Parses sentences whose words are given."""
        with _no_collections():
            return self._annotate([[Sentence.chain(sentence)] for sentence in words])

    def split(self, texts: Sequence[str]) -> list[list[Sentence]]:
        """Splits raw texts into sentences and words, with chain trees."""
        from stanza import Document

        places = [(i, offset, piece) for i, text in enumerate(texts) for offset, piece in text_pieces(text)]
        documents = [Document([], text=piece) for _, _, piece in places]
        tokens: list[list[list[RawToken]]] = [[] for _ in texts]
        for (i, offset, _), document in zip(places, self._process(documents, "tokenize,mwt")):
            found = [[_raw_token(token, offset) for token in s.tokens] for s in document.sentences]
            found = [sentence for sentence in found if sentence]
            tokens[i] += whole_words(found, texts[i]) if self.join_cut_words else found
        return [_drafts(sentences, text) for sentences, text in zip(tokens, texts)]

    def _annotate(self, texts: list[list[Sentence]]) -> list[Parsed]:
        short = (sentence for text in texts for sentence in text if len(sentence) <= self.max_words)
        parsed = (result for group in _groups(short) for result in self._annotate_group(group))
        return [
            Parsed.of(next(parsed) if len(s) <= self.max_words else self._too_long(s) for s in text)
            for text in texts
        ]

    def _annotate_group(self, drafts: list[Sentence]) -> list[tuple[Sentence, str | None]]:
        from stanza import Document

        words = [[{"id": (i,), "text": _shown(f)} for i, f in enumerate(s.form, start=1)] for s in drafts]
        processors = "pos,lemma,depparse" + ",constituency" * self.constituents
        document = self._process(Document(words), processors)
        return [self._annotated(draft, sentence) for draft, sentence in zip(drafts, document.sentences)]

    def _annotated(self, draft: Sentence, parsed: Any) -> tuple[Sentence, str | None]:
        sentence, reason = _annotated(draft, parsed.words)
        if not self.constituents:
            return sentence, reason
        try:
            found = stanza_constituents(parsed.constituency)
            return dataclasses.replace(sentence, constituents=found), reason
        except ValueError as error:
            reason = f"stanza returned no constituents: {error}"
            return flat_sentence(sentence, reason), reason

    def _process(self, documents: Any, processors: str) -> Any:
        with one_thread():
            return self.pipeline.process(documents, processors)

    def _too_long(self, draft: Sentence) -> tuple[Sentence, str | None]:
        reason = f"sentence of {len(draft)} words, the limit of the parser is {self.max_words}"
        chain = chain_sentence(draft.form, reason, draft)
        return flat_sentence(chain, reason) if self.constituents else chain, reason


@contextmanager
def _no_collections() -> Iterator[None]:
    """Switches Python's garbage collector off, which takes a fifth of the time: stanza makes many objects per
    word, which are all in use until the chunk is done.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _raw_token(token: Any, offset: int) -> RawToken:
    words = tuple(word.text for word in token.words) if len(token.words) > 1 else ()
    text = None if token.text == "<UNK>" else token.text
    return RawToken(offset + token.start_char, offset + token.end_char, text, words)


def _drafts(sentences: list[list[RawToken]], text: str) -> list[Sentence]:
    if not sentences and text.strip():
        raise ValueError("stanza found no token in the text")
    ends = [*(sentence[0].start for sentence in sentences[1:]), len(text) + 1]
    return [_draft(sentence, text, end) for sentence, end in zip(sentences, ends)]


def _draft(tokens: list[RawToken], text: str, end: int) -> Sentence:
    """A sentence without its tree; ``end`` is where the next one starts."""
    form: list[str] = []
    misc: list[str] = []
    multiword: list[Row] = []
    following = [*(token.start for token in tokens[1:]), end]
    for token, next_start in zip(tokens, following):
        space = "SpaceAfter=No" if next_start == token.stop else "_"
        whole = text[token.start : token.stop] if token.text is None else token.text
        if token.words:
            numbers = f"{len(form) + 1}-{len(form) + len(token.words)}"
            multiword.append((numbers, whole, *["_"] * 7, space))
            misc += ["_"] * len(token.words)
            form += token.words
        else:
            misc.append(space)
            form.append(whole)
    line = " ".join(text[tokens[0].start : tokens[-1].stop].split())
    chain = Sentence.chain(form)
    return dataclasses.replace(chain, misc=column(misc), multiword=multiword, comments=[f"# text = {line}"])


def _annotated(draft: Sentence, words: Sequence[Any]) -> tuple[Sentence, str | None]:
    columns: dict[str, Any] = {
        "lemma": column([_lemma(word, form) for word, form in zip(words, draft.form)]),
        **{name: column([_tag(getattr(word, name)) for word in words]) for name in ("upos", "xpos", "feats")},
    }
    head, deprel = [word.head for word in words], [word.deprel for word in words]
    try:
        return dataclasses.replace(draft, head=head, deprel=deprel, **columns), None
    except ValueError as error:
        reason = f"stanza returned no tree: {error}"
        return chain_sentence(draft.form, reason, dataclasses.replace(draft, **columns)), reason


def _tag(value: str | None) -> str | None:
    """A tag; a tagger whose treebank has no such tags returns the padding of its vocabulary."""
    return None if value == "<PAD>" else value


def _lemma(word: Any, form: str) -> str:
    return form if word.lemma is None or word.lemma == word.text != form else word.lemma


def _shown(form: str) -> str:
    if len(form) <= _MAX_CHARACTERS and form.isprintable() and form and " " not in form:
        return form
    return " ".join(form.split())[:_MAX_CHARACTERS] or "_"


def _groups(sentences: Iterator[Sentence]) -> Iterator[list[Sentence]]:
    group: list[Sentence] = []
    words = 0
    for sentence in sentences:
        group.append(sentence)
        words += len(sentence)
        if words >= _GROUP_WORDS:
            yield group
            group, words = [], 0
    if group:
        yield group


class StanzaParser(Parser):
    """Stanza's published pipeline for a language: tokenizer, tagger, lemmatizer and parser.

    The models are loaded from stanza's folder when they are first needed; missing models are downloaded.

    Args:
        language: Stanza's code of the language, such as ``"en"`` or ``"zh"``. (default: :obj:`"en"`)
        directory: The folder of the models; :obj:`None` for stanza's own, which
            ``$STANZA_RESOURCES_DIR`` sets. (default: :obj:`None`)
        package: One of the language's packages, such as ``"gum"``. (default: :obj:`"default"`)
        download: Download models that are missing. (default: :obj:`True`)
        max_words: Sentences of more words get a chain tree. (default: :obj:`200`)
        constituents: Fill :attr:`Sentence.constituents` with stanza's constituency parser, which exists for
            a few languages; sentences of more than :obj:`max_words` words get a flat tree.
            (default: :obj:`False`)
        use_gpu: Run on the GPU; :obj:`None` if there is one. (default: :obj:`None`)
        progress: Show progress; see :class:`Parser`. (default: :obj:`None`)

    Example:
        >>> from graphdep.parsing import StanzaParser
        >>> parser = StanzaParser("de", download=False)  # loads nothing yet
        >>> parser.language
        'de'
    """

    gives_graphs = False

    def __init__(
        self,
        language: str = "en",
        *,
        directory: str | Path | None = None,
        package: str = "default",
        download: bool = True,
        max_words: int = 200,
        constituents: bool = False,
        use_gpu: bool | None = None,
        progress: bool | None = None,
    ) -> None:
        check_extra("a parser of stanza", "parse", error=ParserUnavailableError)
        super().__init__(progress=progress)
        self.language, self.package, self.download = language, package, download
        self.directory, self.use_gpu = directory, use_gpu
        self.gives_constituents = constituents
        self._engine = StanzaEngine(self._load, max_words, constituents=constituents)

    @property
    def fingerprint(self) -> str:
        """Language, package, stanza's version, the digest of the model files, and the longest sentence."""
        config = self._engine.pipeline.config
        files = {value for key, value in config.items() if key.endswith("_path") and isinstance(value, str)}
        digest = files_digest(sorted(file for file in files if os.path.isfile(file)))
        name = f"stanza:{self.language}/{self.package}/stanza-{version('stanza')}"
        also = "/constituents" if self.gives_constituents else ""
        return f"{name}/{digest}/max_words={self._engine.max_words}{also}"

    def parse_texts(self, texts: Sequence[str]) -> list[Parsed]:
        """Parses a chunk of texts."""
        return self._engine.parse(texts)

    def parse_sentences(self, sentences: Sequence[Words]) -> list[Parsed]:
        """Parses a chunk of sentences whose words are given."""
        return self._engine.parse_words(sentences)

    def __repr__(self) -> str:
        # The fingerprint would load the models.
        return f"{type(self).__name__}({self.language!r}, package={self.package!r})"

    def _load(self) -> Any:
        import stanza

        folder = {} if self.directory is None else {"dir": str(self.directory)}
        also = ",constituency" if self.gives_constituents else ""
        method = stanza.DownloadMethod.REUSE_RESOURCES if self.download else None
        try:
            return stanza.Pipeline(
                self.language,
                package=self.package,
                processors=f"tokenize,pos,lemma,depparse{also}",  # stanza adds mwt where the language has it
                download_method=method,
                use_gpu=self.use_gpu,
                verbose=False,
                depparse_batch_size=500,
                depparse_resolve_head_constraints=False,  # takes minutes on long sentences
                **folder,
            )
        except Exception as error:  # requests, stanza, zipfile and torch raise different errors
            raise ParserUnavailableError(self._advice(error)) from error

    def _advice(self, error: Exception) -> str:
        code = f"import stanza; stanza.download({self.language!r}, package={self.package!r})"
        wrong = f"could not be loaded ({type(error).__name__}: {str(error)[:200]})"
        if isinstance(error, OSError) and error.errno is None:  # of requests, or no file of models
            wrong = f"are not on this machine{' and could not be downloaded' * self.download}"
        return (
            f"stanza's models for {self.language!r} (package {self.package!r}) {wrong}. With a network, run: "
            f'python -c "{code}", and set $STANZA_RESOURCES_DIR, or `directory=` in Python, to the folder. '
            "The parsers 'bundled' (English) and 'bundled:<folder>' need no network."
        )
