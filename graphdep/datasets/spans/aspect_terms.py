"""Sentences with aspect terms in the XML of SemEval-2014."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from graphdep.datasets.base.raw import row_error

_NUMBER = re.compile(r"[0-9]{1,7}")
_CHUNK = 1 << 16
# Those that expat knows itself; of others it asks Python, whose errors say neither file nor line.
_ENCODINGS = ("utf-8", "utf-16", "iso-8859-1", "us-ascii")


@dataclass(frozen=True)
class AspectTerm:
    """A term, where it stands in its text by characters, and its polarity."""

    line: int
    term: str
    start: int
    stop: int
    polarity: str


@dataclass
class AspectSentence:
    """A text with the terms in it; ``line`` is that of its element."""

    line: int
    text: str = ""
    terms: list[AspectTerm] = field(default_factory=list)


def read_aspect_terms(path: Path) -> list[AspectSentence]:
    """The sentences of a file: ``<sentences><sentence><text/><aspectTerms><aspectTerm term polarity from
    to/></aspectTerms></sentence></sentences>``. Other elements, such as ``aspectCategories``, are not read.

    Raises:
        ValueError: If the file is no XML, has a document type, which might name other files or blow up, or an
            encoding that is not read; if a sentence has no text, two of them or an element in it, or a term
            lacks an attribute; with file, line and value.
    """
    return _Reader(path).read()


class _Reader:
    """Gathers the sentences while expat reads, which knows the line, as a tree of elements does not."""

    def __init__(self, path: Path) -> None:
        self.path, self.sentences = path, list[AspectSentence]()
        self.above: list[str] = []
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.XmlDeclHandler = self._declared
        self.parser.StartDoctypeDeclHandler = self._doctype
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text

    def read(self) -> list[AspectSentence]:
        try:
            with self.path.open("rb") as file:
                while chunk := file.read(_CHUNK):
                    self.parser.Parse(chunk)
                self.parser.Parse(b"", True)
        except expat.ExpatError as error:
            raise row_error(self.path, error.lineno, f"no XML: {expat.ErrorString(error.code)}") from None
        if not self.sentences:
            raise row_error(self.path, 1, "no <sentence> in <sentences>")
        return self.sentences

    @property
    def line(self) -> int:
        return self.parser.CurrentLineNumber

    def _declared(self, version: str, encoding: str | None, standalone: int) -> None:
        if encoding is not None and encoding.lower() not in _ENCODINGS:
            raise row_error(
                self.path, self.line, f"the encoding is none of {', '.join(_ENCODINGS)}", encoding
            )

    def _doctype(self, name: str, *rest: object) -> NoReturn:
        raise row_error(self.path, self.line, "a document type, which no file of the corpus has", name)

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        self.above.append(name)
        match self.above:
            case ["sentences", "sentence"]:
                self.sentences.append(AspectSentence(self.line))
            case ["sentences", "sentence", "aspectTerms", "aspectTerm"]:
                self.sentences[-1].terms.append(self._term(attributes))
            case ["sentences", "sentence", "text"] if self.sentences[-1].text:
                raise row_error(self.path, self.line, "a second <text> of the sentence")
            case ["sentences", "sentence", "text", _, *_]:
                raise row_error(self.path, self.line, "an element within a <text>", name)
            case ["sentences"] | ["sentences", "sentence", *_]:
                pass
            case _:
                raise row_error(self.path, self.line, "no <sentence> in <sentences>", name)

    def _term(self, attributes: Mapping[str, str]) -> AspectTerm:
        for key in ("term", "polarity", "from", "to"):
            if key not in attributes:
                raise row_error(self.path, self.line, f"the term has no {key!r}", " ".join(attributes))
        for key in ("from", "to"):
            if not _NUMBER.fullmatch(attributes[key]):
                raise row_error(self.path, self.line, f"{key!r} must be a number", attributes[key])
        start, stop = int(attributes["from"]), int(attributes["to"])
        return AspectTerm(self.line, attributes["term"], start, stop, attributes["polarity"])

    def _text(self, text: str) -> None:
        if self.above == ["sentences", "sentence", "text"]:
            self.sentences[-1].text += text

    def _end(self, name: str) -> None:
        if self.above == ["sentences", "sentence"] and not self.sentences[-1].text.strip():
            raise row_error(self.path, self.sentences[-1].line, "the sentence has no text")
        self.above.pop()
