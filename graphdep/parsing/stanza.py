"""Stanza's models as a parser."""

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
    """Twelve hexadecimal digits that change when the content of any of the files does.

    A file is read again only if its size or its time stamp changed.
    """
    digest = hashlib.sha256()
    for path in paths:
        digest.update(bytes.fromhex(_known_digest(path)))
    return digest.hexdigest()[:12]


def _known_digest(path: str | os.PathLike[str]) -> str:
    """The SHA-256 of a file, which is read again only if its size or its time stamp changed."""
    stat = os.stat(path)
    return _digest_at(os.fspath(path), stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=256)
def _digest_at(path: str, size: int, mtime_ns: int) -> str:
    return file_digest(path)


def check_checksums(files: Iterable[Path]) -> None:
    """Compares model files with the ``SHA256SUMS`` of their folder; without one nothing is known of them."""
    for path in files:
        if not (path.parent / CHECKSUMS).exists():
            continue
        try:
            known = read_checksums(path.parent / CHECKSUMS)
        except LineError as error:
            raise ParserUnavailableError(str(error)) from None
        if known.get(path.name) != _known_digest(path):
            other = "is not the file of which it was written: it is damaged, or was changed"
            why = other if path.name in known else "has no line in it"
            raise ParserUnavailableError(f"{path} {why} ({CHECKSUMS} beside it)")


_ALONE = threading.RLock()  # how many threads there are, and random numbers, belong to the whole process


@contextmanager
def one_thread() -> Iterator[None]:
    """Runs models on one thread: their matrices are small, two threads gain a sixth on a quiet machine and
    lose many times that on a busy one, where they wait for each other. Stanza's loaders draw random numbers;
    the caller's stay as they are, else a seed would give another model once parses are cached.
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
        start: Its first character.
        stop: The character behind its last one.
        text: What the tokenizer calls it, or :obj:`None` for what stands in the text.
        words: The words of a multi-word token; empty for any other.
    """

    start: int
    stop: int
    text: str | None
    words: tuple[str, ...] = ()


def whole_words(sentences: Sequence[Sequence[RawToken]], text: str) -> list[list[RawToken]]:
    """Joins tokens that meet inside a word of an English text, with the sentences that they are in.

    A tokenizer that has seen few accents in training cuts ``cliché`` into ``clich`` and ``é``. No word of
    English ends between two Latin letters of which one is not of ASCII, nor before a combining mark. Signs
    that were in one token with the end of such a word become one of their own. Multi-word tokens stay as they
    are.

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
# Stanza looks for URLs and addresses with patterns whose time grows with the square of such a run.
_MAX_RUN = 2_000
_LONG_RUN = re.compile(rf"[!-~]{{{_MAX_RUN + 1}}}")
_BREAKS = tuple(map(re.compile, (r"\n\s*\n", r"\n", r"\s")))


def text_pieces(text: str, max_characters: int = _MAX_PIECE) -> Iterator[tuple[int, str]]:
    """Yields ``(offset, piece)`` for the parts of ``text`` that are not blank.

    A text that fits is one piece. Else it is cut behind the last blank line that fits, or the last line
    break, or the last white space, and inside a word only if there is none. Words of more than 2,000 ASCII
    characters are cut in any case.

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
    """The constituents of a ``Tree`` of stanza, whose words are below their tags, without ``ROOT``."""
    if tree is None:
        raise ValueError("no tree")
    found: list[Constituent] = []
    words = 0
    todo: list[tuple[Any, int]] = [(tree, -1)]  # with the place of those that are closed
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


# Of a longer word the tagger and the parser see the start only: they read it character by character.
_MAX_CHARACTERS = 100
_GROUP_WORDS = 20_000
_OLDEST = (1, 15)  # older ones run what a lemmatizer's file holds


class StanzaEngine:
    """Splits, tags and parses with one stanza pipeline.

    Splitting gives sentences with a chain for a tree; tagging and parsing then replaces the tree, so that
    raw texts and given words take the same way and keep their tokens.

    Args:
        load: Makes the pipeline; called when it is first needed, with a stanza that is not too old.
        max_words: Sentences of more words keep their chain, since the memory and time of the parser grow
            with the square of the words and more.
        constituents: Whether the pipeline has a parser of constituents, to run as well.
            (default: :obj:`False`)
        join_cut_words: Whether words that the tokenizer cuts at an accent are put together, as is right for
            English. (default: :obj:`False`)
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
                f"stanza {stanza.__version__} is installed, which can run code that is in a model file: "
                f"install {'.'.join(map(str, _OLDEST))} or later (pip install -U stanza)"
            )
        # Models draw their weights before they read them.
        with torch.random.fork_rng(devices=[]):
            pipeline = self._load()
        take_shortcuts(pipeline)
        return pipeline

    def __getstate__(self) -> dict[str, Any]:
        # It has locks and large models: a copy loads it where it is needed.
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
        """Splits raw texts into sentences and words; the trees are chains."""
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
        results = []
        for text in texts:
            sentences = [next(parsed) if len(s) <= self.max_words else self._too_long(s) for s in text]
            failure = next((failure for _, failure in sentences if failure), None)
            results.append(Parsed([sentence for sentence, _ in sentences], failure))
        return results

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
            reason = f"stanza gave no constituents: {error}"
            return flat_sentence(sentence, reason), reason

    def _process(self, documents: Any, processors: str) -> Any:
        with one_thread():
            return self.pipeline.process(documents, processors)

    def _too_long(self, draft: Sentence) -> tuple[Sentence, str | None]:
        reason = f"{len(draft)} words, more than max_words={self.max_words}"
        chain = chain_sentence(draft.form, reason, draft)
        return flat_sentence(chain, reason) if self.constituents else chain, reason


@contextmanager
def _no_collections() -> Iterator[None]:
    """Without Python's search for cycles of garbage, which takes a fifth of the time: stanza makes many
    objects for every word, and they are in use until the chunk is done.
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
        reason = f"stanza gave no tree: {error}"
        return chain_sentence(draft.form, reason, dataclasses.replace(draft, **columns)), reason


def _tag(value: str | None) -> str | None:
    """A tag; of a tagger whose treebank has none of the kind it is the padding of its vocabulary."""
    return None if value == "<PAD>" else value


def _lemma(word: Any, form: str) -> str:
    return form if word.lemma is None or word.lemma == word.text != form else word.lemma


def _shown(form: str) -> str:
    if len(form) <= _MAX_CHARACTERS and form.isprintable() and form and " " not in form:
        return form  # as nearly all are
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

    The models are loaded from stanza's folder when they are first needed, and downloaded into it if they
    are not there.

    Args:
        language: Stanza's code of the language, such as ``"en"`` or ``"zh"``. (default: :obj:`"en"`)
        directory: The folder of the models; :obj:`None` for stanza's own, which
            ``$STANZA_RESOURCES_DIR`` sets. (default: :obj:`None`)
        package: One of the language's packages, such as ``"gum"``. (default: :obj:`"default"`)
        download: Download models that are missing. (default: :obj:`True`)
        max_words: Sentences of more words get a chain tree. (default: :obj:`200`)
        constituents: Fill :attr:`Sentence.constituents` with stanza's parser of constituents, which a few
            languages have; sentences of more than :obj:`max_words` words get a flat tree.
            (default: :obj:`False`)
        use_gpu: Run on the GPU; :obj:`None` if there is one. (default: :obj:`None`)
        progress: Show a progress bar; see :class:`Parser`. (default: :obj:`None`)

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
                depparse_resolve_head_constraints=False,  # Python code that takes minutes on long sentences
                **folder,
            )
        except Exception as error:  # requests, stanza, zip and torch each raise their own
            raise ParserUnavailableError(self._advice(error)) from error

    def _advice(self, error: Exception) -> str:
        code = f"import stanza; stanza.download({self.language!r}, package={self.package!r})"
        return (
            f"stanza's models for {self.language!r} (package {self.package!r}) are not to be had "
            f"({type(error).__name__}: {str(error)[:200]}). Where there is a network, run: "
            f'python -c "{code}", and point $STANZA_RESOURCES_DIR or the option directory to the folder. '
            "The parsers 'bundled' (English) and 'bundled:<folder>' need no network."
        )
