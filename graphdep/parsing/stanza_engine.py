"""Texts and word lists through a stanza pipeline, with bounds on memory and time."""

from __future__ import annotations

import dataclasses
import gc
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from graphdep.parsing.errors import ParserUnavailableError
from graphdep.parsing.one_thread import one_thread
from graphdep.parsing.parsed import Parsed, chain_sentence, column, flat_sentence
from graphdep.parsing.raw_token import RawToken, whole_words
from graphdep.parsing.stanza_tree import stanza_constituents
from graphdep.parsing.text_pieces import text_pieces
from graphdep.sentence import Row, Sentence

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
        if max_words < 1:
            raise ValueError(f"'max_words' must be at least 1 (got {max_words})")
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
    if text.strip() and not sentences:
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
        "upos": column([word.upos for word in words]),
        "xpos": column([word.xpos for word in words]),
        "feats": column([word.feats for word in words]),
    }
    head, deprel = [word.head for word in words], [word.deprel for word in words]
    try:
        return dataclasses.replace(draft, head=head, deprel=deprel, **columns), None
    except ValueError as error:
        reason = f"stanza gave no tree: {error}"
        return chain_sentence(draft.form, reason, dataclasses.replace(draft, **columns)), reason


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
