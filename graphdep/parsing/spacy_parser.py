"""spaCy's models."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from graphdep.parsing.errors import ParserUnavailableError
from graphdep.parsing.items import Words
from graphdep.parsing.parsed import Parsed, chain_sentence, column
from graphdep.parsing.parser import Parser
from graphdep.sentence import Sentence

logger = logging.getLogger("graphdep.parsing")


class SpacyParser(Parser):
    """A spaCy model, installed as a package or given as a folder.

    The relations are the model's own. Those of spaCy's English models (``en_core_*``) are CLEAR labels
    (``dobj``, ``prep``, ``pobj``), not Universal Dependencies: a warning says so. spaCy's tokens that are
    white space are left out, with their dependents handed to their governor.

    Args:
        model: Name of the package or path of the folder.
        max_words: Sentences of more words get a chain tree; :obj:`None` for no limit.
            (default: :obj:`None`)
        progress: Show a progress bar; see :class:`Parser`. (default: :obj:`None`)

    Raises:
        ParserUnavailableError: If spaCy or the model is not installed, or the model has no parser.

    Example:
        >>> from graphdep.parsing import SpacyParser
        >>> [[sentence]] = SpacyParser("en_core_web_sm").parse(["She sings."])
        >>> sentence.form, sentence.head
        (['She', 'sings', '.'], [2, 0, 2])
    """

    gives_graphs = False

    def __init__(self, model: str, *, max_words: int | None = None, progress: bool | None = None) -> None:
        super().__init__(progress=progress)
        if max_words is not None and max_words < 1:
            raise ValueError(f"'max_words' must be at least 1 (got {max_words})")
        self.model, self.max_words = model, max_words
        self._spacy = _import_spacy()
        self._nlp = self._load()
        self.language = self._nlp.meta["lang"]

    @cached_property
    def fingerprint(self) -> str:
        """Names and versions of the model and of spaCy, and the longest sentence."""
        meta = self._nlp.meta
        name = f"spacy:{meta['lang']}_{meta['name']}-{meta['version']}"
        return f"{name}/spacy-{self._spacy.__version__}/max_words={self.max_words}"

    def parse_texts(self, texts: Sequence[str]) -> list[Parsed]:
        """Parses a chunk of texts."""
        return [self._parsed(document, list(document.sents)) for document in self._nlp.pipe(texts)]

    def parse_sentences(self, sentences: Sequence[Words]) -> list[Parsed]:
        """Parses a chunk of sentences whose words are given."""
        documents = []
        for words in sentences:
            document = self._spacy.tokens.Doc(self._nlp.vocab, words=list(words))
            for token in document:
                token.is_sent_start = token.i == 0
            documents.append(document)
        return [self._parsed(document, [document], text=False) for document in self._nlp.pipe(documents)]

    def _parsed(self, document: Any, spans: list[Any], text: bool = True) -> Parsed:
        # Given words are kept whatever they are; in a text, spaCy makes tokens of line breaks.
        tokens = [[token for token in span if not text or not token.is_space] for span in spans]
        results = [self._sentence(sentence, text) for sentence in tokens if sentence]
        failure = next((failure for _, failure in results if failure), None)
        return Parsed([sentence for sentence, _ in results], failure)

    def _sentence(self, tokens: list[Any], text: bool) -> tuple[Sentence, str | None]:
        chain = Sentence.chain([token.text for token in tokens])
        chain = _with_columns(chain, tokens, text)
        if self.max_words is not None and len(tokens) > self.max_words:
            reason = f"{len(tokens)} words, more than max_words={self.max_words}"
            return chain_sentence(chain.form, reason, chain), reason
        head = token_heads(tokens, one_root=text)
        labels = zip(head, (token.dep_ or "dep" for token in tokens))
        deprel = [
            "root" if governor == 0 else "dep" if label == "ROOT" else label for governor, label in labels
        ]
        try:
            return dataclasses.replace(chain, head=head, deprel=deprel), None
        except ValueError as error:
            reason = f"spaCy gave no tree: {error}"
            return chain_sentence(chain.form, reason, chain), reason

    def _load(self) -> Any:
        try:
            nlp = self._spacy.load(self.model)
        except (OSError, ValueError, ImportError) as error:
            command = f"python -m spacy download {self.model}"
            raise ParserUnavailableError(
                f"spaCy's model {self.model!r} is not installed ({str(error)[:200]}). "
                f"Where there is a network, run: {command}"
            ) from error
        if "parser" not in nlp.pipe_names:
            raise ParserUnavailableError(f"spaCy's model {self.model!r} has no parser, only {nlp.pipe_names}")
        if nlp.meta["lang"] == "en" and nlp.meta["name"].startswith("core_"):
            logger.warning(
                "the relations of spaCy's %s are CLEAR labels, not Universal Dependencies", self.model
            )
        return nlp


def _import_spacy() -> Any:
    try:
        import spacy
        import spacy.tokens
    except ImportError as error:
        advice = "pip install 'graphdep[spacy]', or use the parser 'bundled'"
        raise ParserUnavailableError(f"spaCy is not installed ({error}): {advice}") from error
    return spacy


def token_heads(tokens: list[Any], one_root: bool) -> list[int]:
    """The governor of each of some tokens of a sentence, from 1, 0 for a root; what is left out hands its
    dependents to its governor, and with ``one_root`` further roots depend on the first one.
    """
    number = {token.i: i for i, token in enumerate(tokens, start=1)}
    head = [number.get(_governor(token, number).i, 0) for token in tokens]
    head = [0 if governor == i else governor for i, governor in enumerate(head, start=1)]
    # Where white space was the root, its dependents have lost their governor.
    for other in [i for i, governor in enumerate(head) if governor == 0][1:] if one_root else []:
        head[other] = head.index(0) + 1
    return head


def _governor(token: Any, number: dict[int, int]) -> Any:
    """The governor, or the nearest one above that was not left out."""
    governor = token.head
    while governor.i not in number and governor.head.i != governor.i:
        governor = governor.head
    return governor


def _with_columns(chain: Sentence, tokens: list[Any], text: bool) -> Sentence:
    columns: dict[str, Any] = {
        "lemma": column([token.lemma_ for token in tokens]),
        "upos": column([token.pos_ for token in tokens]),
        "xpos": column([token.tag_ for token in tokens]),
        "feats": column([str(token.morph) for token in tokens]),
    }
    if text:
        columns["misc"] = column(["_" if _space_after(token) else "SpaceAfter=No" for token in tokens])
        line = "".join(token.text + (" " if _space_after(token) else "") for token in tokens)
        columns["comments"] = [f"# text = {' '.join(line.split())}"]
    return dataclasses.replace(chain, **columns)


def _space_after(token: Any) -> bool:
    last = token.i + 1 == len(token.doc)
    return bool(token.whitespace_) or last or token.doc[token.i + 1].is_space
