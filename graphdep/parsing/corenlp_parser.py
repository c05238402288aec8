"""A CoreNLP server."""

from __future__ import annotations

import dataclasses
import os
import threading
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from graphdep.parsing.corenlp_graph import (
    basic_tree,
    enhanced_from_json,
    enhanced_from_protobuf,
    merged_copies,
)
from graphdep.parsing.errors import ParserUnavailableError
from graphdep.parsing.items import Words
from graphdep.parsing.parsed import Parsed, chain_sentence, column
from graphdep.parsing.parser import Parser
from graphdep.parsing.text_pieces import text_pieces
from graphdep.sentence import Sentence

_DEFAULT_ENDPOINT = "http://localhost:9000"
_REPRESENTATIONS = ("basic", "enhancedPlusPlus")
_ANNOTATORS = "tokenize,ssplit,pos,lemma,depparse"
_GIVEN_WORDS = {"tokenize.whitespace": "true", "ssplit.isOneSentence": "true"}
_MAX_IN_A_ROW = 3
# The server refuses more than 100,000 characters unless it was started otherwise.
_MAX_PIECE = 50_000


class CoreNLPParser(Parser):
    """A client of a CoreNLP server that runs already.

    The tree is the basic one; ``representation="enhancedPlusPlus"`` fills :attr:`Sentence.deps` as well.
    CoreNLP's copy nodes become empty nodes (``"3.1"`` is the first copy of word 3, with ``CopyOf=3``). The
    server's JSON gives a copy the number of its original; such a text is asked for a second time, in the
    server's protobuf format.

    Args:
        endpoint: URL of the server; :obj:`None` for ``$CORENLP_ENDPOINT``, else
            ``"http://localhost:9000"``. (default: :obj:`None`)
        representation: ``"basic"`` or ``"enhancedPlusPlus"``. (default: :obj:`"basic"`)
        timeout: Seconds to wait for an answer; :obj:`None` for ``$CORENLP_TIMEOUT``, else 60. A text that
            takes longer, or that the server fails on, gets a chain tree; three in a row are an error.
            (default: :obj:`None`)
        progress: Show a progress bar; see :class:`Parser`. (default: :obj:`None`)

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
        super().__init__(progress=progress)
        if representation not in _REPRESENTATIONS:
            raise ValueError(f"'representation' must be one of {_REPRESENTATIONS} (got {representation!r})")
        self.endpoint = (endpoint or os.environ.get("CORENLP_ENDPOINT") or _DEFAULT_ENDPOINT).rstrip("/")
        self.representation, self.timeout = representation, _seconds(timeout)
        self.gives_graphs = representation != "basic"
        self._in_a_row: set[str] = set()  # texts

    @property
    def fingerprint(self) -> str:
        """The endpoint, since a server does not tell its version, and the representation."""
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
        if pieces and not results:
            raise ValueError("CoreNLP found no sentence in the text")
        return _gathered(results)

    def _parse_words(self, words: Words) -> Parsed:
        results = self._request(" ".join("_".join(word.split()) or "_" for word in words), _GIVEN_WORDS)
        if len(results) != 1 or len(results[0][0]) != len(words):
            lengths = [len(sentence) for sentence, _ in results]
            raise ValueError(f"CoreNLP made sentences of {lengths} words from {len(words)} given words")
        sentence, failure = results[0]
        comments = [comment for comment in sentence.comments if not comment.startswith("# text =")]
        given = dataclasses.replace(sentence, form=list(words), misc=None, comments=comments)
        return Parsed([given], failure)

    def _request(self, text: str, properties: dict[str, str]) -> list[tuple[Sentence, str | None]]:
        answer = self._annotate(text, properties, "json")
        if not isinstance(answer, dict) or not isinstance(answer.get("sentences"), list):
            raise self._stranger()
        sentences = answer["sentences"]
        if not all(isinstance(sentence, dict) and sentence.get("tokens") for sentence in sentences):
            raise self._stranger()
        results = [_sentence(sentence) for sentence in sentences]
        if self.representation == "basic":
            return results
        if any("enhancedPlusPlusDependencies" not in sentence for sentence in sentences):
            raise ParserUnavailableError(
                f"the server at {self.endpoint} gives no enhanced++ graphs (enhancedPlusPlusDependencies)"
            )
        if any(merged_copies(sentence) for sentence in sentences):
            document = self._annotate(text, properties, "serialized")
            graphs = [s.enhancedPlusPlusDependencies for s in document.sentence]
            return [(enhanced_from_protobuf(s, g), failure) for (s, failure), g in zip(results, graphs)]
        return [(enhanced_from_json(s, j), failure) for (s, failure), j in zip(results, sentences)]

    def _annotate(self, text: str, properties: dict[str, str], output_format: str) -> Any:
        from stanza.server.client import AnnotationException, TimeoutException

        try:
            answer = self._client.annotate(text, properties=dict(properties), output_format=output_format)
        except TimeoutException as error:
            message = f"no answer from {self.endpoint} within {self.timeout} seconds"
            raise self._counted(TimeoutError(message), text) from error
        except AnnotationException as error:
            raise self._explained(error, text) from error
        except ValueError as error:
            raise self._stranger() from error
        self._in_a_row.clear()
        return answer

    def _counted(self, error: Exception, text: str) -> Exception:
        """The error of one text, or that of a server that fails again and again: a corpus of chains is no
        parse.
        """
        self._in_a_row.add(text)  # what fails in a chunk is tried again on its own
        if len(self._in_a_row) < _MAX_IN_A_ROW:
            return error
        advice = "is the server overloaded? Raise the option timeout, or $CORENLP_TIMEOUT"
        return ParserUnavailableError(f"{error}, {_MAX_IN_A_ROW} times in a row: {advice}")

    def _stranger(self) -> ParserUnavailableError:
        return ParserUnavailableError(f"what answers at {self.endpoint} is not a CoreNLP server")

    def _explained(self, error: Exception, text: str) -> Exception:
        """Tells a server that is not there from a text that the server cannot parse."""
        response = getattr(error.__cause__, "response", None)
        if response is None:
            start = "java -cp '*' edu.stanford.nlp.pipeline.StanfordCoreNLPServer -port 9000"
            return ParserUnavailableError(
                f"no CoreNLP server answers at {self.endpoint} ({_first_cause(error)}). Start one "
                f"in the folder of CoreNLP ({start}), or point $CORENLP_ENDPOINT or the option "
                "endpoint to one."
            )
        reason = f"HTTP status {response.status_code}: {str(error)[:200]}"
        if response.status_code in (401, 403, 404, 405):
            return ParserUnavailableError(
                f"{self.endpoint} is no CoreNLP server, or refuses access ({reason})"
            )
        if response.status_code == 429 or response.status_code >= 500:
            return self._counted(ValueError(reason), text)
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
    """What the operating system said: the libraries between quote one another at length."""
    while error.__context__ is not None and getattr(error, "errno", None) is None:
        error = error.__context__
    return error


def _gathered(results: list[tuple[Sentence, str | None]]) -> Parsed:
    failure = next((failure for _, failure in results if failure), None)
    return Parsed([sentence for sentence, _ in results], failure)


def _sentence(answer: dict[str, Any]) -> tuple[Sentence, str | None]:
    tokens = answer["tokens"]
    form = [token.get("originalText") or token["word"] for token in tokens]
    after = [token.get("after", " ") != "" for token in tokens]
    line = " ".join("".join(f + " " * space for f, space in zip(form, after)).split())
    draft = Sentence.chain(form)
    draft = dataclasses.replace(
        draft,
        lemma=column([token.get("lemma") for token in tokens]),
        xpos=column([token.get("pos") for token in tokens]),
        misc=column(["_" if space else "SpaceAfter=No" for space in after]),
        comments=[f"# text = {line}"],
    )
    try:
        head, deprel = basic_tree(form, answer["basicDependencies"])
        return dataclasses.replace(draft, head=head, deprel=deprel), None
    except ValueError as error:
        reason = f"CoreNLP gave no tree: {error}"
        return chain_sentence(form, reason, draft), reason
