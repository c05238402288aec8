"""CoNLL04, SemEval-2010 task 8 and SemEval-2014 aspects."""

from __future__ import annotations

import logging
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, Unpack
from xml.parsers import expat

from graphdep.datasets.base.drawn import DrawnVal
from graphdep.datasets.base.raw import (
    LIST,
    NUMBER,
    TEXT,
    Form,
    blocks,
    check_forms,
    check_new,
    expect,
    like,
    one_of,
    read_json,
    read_lines,
    row_error,
)
from graphdep.datasets.base.words import WordOptions
from graphdep.datasets.spans.base import SpanDataset
from graphdep.datasets.spans.formats import (
    FURTHER,
    Reading,
    draw_negatives,
    names_words,
    sentence_pairs,
)
from graphdep.datasets.spans.rows import (
    LABELS,
    NONE,
    UNDIRECTED,
    SpanExample,
    check_ranges,
    read_tags,
)
from graphdep.io.files import placed
from graphdep.io.limits import check_choice, check_least
from graphdep.parsing.parser import Parser

logger = logging.getLogger("graphdep.datasets")

CONLL04_FILES = {"train": "conll04_train.json", "val": "conll04_dev.json", "test": "conll04_test.json"}


class CoNLL04(SpanDataset):
    r"""Pairs of entities and their relation, from `"A Linear Programming Formulation for Global Inference in
    Natural Language Tasks" <https://aclanthology.org/W04-2401/>`_ in SpERT's JSON layout, or any corpus in
    that layout.

    A file is a list of objects ``{"tokens": [...], "entities": [{"type", "start", "end"}, ...], "relations":
    [{"type", "head", "tail"}, ...]}``; the end of an entity is not included, and ``head`` and ``tail`` are
    indices of entities. An example is an ordered pair of entities of a sentence, the first one marked 1; the
    label is its relation, or ``"none"``, which is much more frequent.

    Args:
        root: Folder of the corpus. (default: ``"datasets/conll04"``)
        split: ``"train"``, ``"val"`` or ``"test"``. (default: ``"train"``)
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser. (default: ``"bundled"``)
        negatives: In the training split, at most this number of pairs without a relation is drawn for each
            pair with a relation; :obj:`None` keeps all. Other splits have all pairs. (default: :obj:`None`)
        val_fraction: The share of the training sentences that is drawn for validation if there is no
            ``conll04_dev.json``. (default: :obj:`0.1`)
        seed: Seed of the draws. (default: :obj:`0`)
        options: Further options, see :class:`~graphdep.datasets.base.words.WordOptions`.

    Shapes:
        - as of :class:`~graphdep.datasets.spans.base.SpanDataset`, with two spans

    Raises:
        FileNotFoundError: If a raw file is missing; the message says where to get it.
        ValueError: If an option is wrong or a file is damaged: an entity is outside of the sentence, or a
            relation has an unknown entity or the same entity twice; the message has file, sentence and value.

    Example:
        >>> from graphdep.datasets import CoNLL04
        >>> dataset = CoNLL04("datasets/conll04", negatives=1, parser="chain")
        >>> dataset.labels, dataset[0].mark
        (('Kill', 'Live_In', 'none'), tensor([0, 1, 0, 2, 0]))
    """

    corpus = "CoNLL04"
    published = "https://github.com/lavis-nlp/spert (its script fetches conll04_train.json and others)"
    own_trees = False

    def __init__(
        self,
        root: str | os.PathLike[str] = "datasets/conll04",
        split: str = "train",
        parser: str | Parser = "bundled",
        *,
        negatives: float | None = None,
        val_fraction: float = 0.1,
        seed: int = 0,
        **options: Unpack[WordOptions],
    ) -> None:
        check_least("negatives", negatives, 0)
        self.negatives, self.drawn_val = negatives, DrawnVal(val_fraction, seed)
        super().__init__(root, split, parser, **options)

    def raw_files(self, folder: Path, split: str) -> list[Path]:
        names = (CONLL04_FILES[split], CONLL04_FILES["train"]) if split == "val" else (CONLL04_FILES[split],)
        return [folder / name for name in names if (folder / name).is_file()][:1]

    def raw_file_pattern(self, split: str) -> str:
        return CONLL04_FILES[split]

    def options(self) -> dict[str, Any]:
        # With a dev file no sentences are drawn, but pairs may be.
        return super().options() | {"negatives": self.negatives, "val": self.drawn_val}

    def read(self, folder: Path, split: str) -> list[SpanExample]:
        path = self.raw_files(folder, split)[0]
        pairs, notes = read_conll04(path)
        if split != "test" and not (folder / CONLL04_FILES["val"]).is_file() and pairs:
            pairs, drawn = self.drawn_val.part(pairs, split)
            notes.append(drawn)
        if split == "train" and self.negatives is not None:
            pairs, drawn = draw_negatives(pairs, self.negatives, self.drawn_val.seed)
            notes.append(drawn)
        self.said[split] = "; ".join(filter(None, notes))
        return pairs

    def classes(self, train: Sequence[SpanExample]) -> tuple[str, ...]:
        # Other splits have pairs without relation even if the training split has none.
        return tuple(sorted({NONE, *super().classes(train)}))


def read_conll04(path: Path) -> tuple[list[SpanExample], list[str]]:
    """The ordered pairs of entities of a file, and notes about it.

    The first relation of an ordered pair is its label; further ones are counted.
    """
    content = read_json(path)
    check_forms(str(path), {"the file": content}, {"the file": LIST})
    sentences = [(f"{path}: sentence {number}", sentence) for number, sentence in enumerate(content, 1)]
    reading = Reading(by_word=names_words(sentences))
    pairs: list[SpanExample] = []
    for place, sentence in sentences:
        words, found = sentence_pairs(place, sentence, reading)
        check_forms(place, sentence, {"relations": LIST})
        pairs += [SpanExample(words, [first, second], label, place=place) for first, second, label in found]
    if further := reading.counts[FURTHER]:
        logger.warning("%s: %s: %d", path, FURTHER, further)
    return pairs, reading.notes()


TRAIN, TEST = "TRAIN_FILE.TXT", "TEST_FILE_FULL.TXT"
SIZES = {TRAIN: 8_000, TEST: 2_717}
_FOLDERS = {TRAIN: "SemEval2010_task8_training", TEST: "SemEval2010_task8_testing_keys"}
_ALL = "SemEval2010_task8_all_data"
_SENTENCE = re.compile(r'([0-9]{1,9})\t"(.*)"\s*')


class SemEval2010Task8(SpanDataset):
    r"""The sentences of `"SemEval-2010 Task 8: Multi-Way Classification of Semantic Relations between Pairs
    of Nominals" <https://aclanthology.org/S10-1006/>`_, each with two marked nominals and the relation
    between them.

    There are nine relations, each in two directions, and *Other*, without direction. The corpus has no trees,
    so the words are the parser's. The validation split is drawn from the training file.

    Args:
        root: Folder of the corpus. (default: ``"datasets/semeval2010"``)
        split: ``"train"``, ``"val"`` or ``"test"``. (default: ``"train"``)
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser. (default: ``"bundled"``)
        direction: Distinguish ``Cause-Effect(e1,e2)`` and ``Cause-Effect(e2,e1)``: 19 classes, else 10.
            (default: :obj:`True`)
        val_fraction: The share of the training file's sentences that is drawn for validation.
            (default: :obj:`0.1`)
        seed: Seed of that draw. (default: :obj:`0`)
        options: Further options, see :class:`~graphdep.datasets.base.words.WordOptions`.

    Shapes:
        - as of :class:`~graphdep.datasets.spans.base.SpanDataset`, with two spans
        - ``number``: :math:`(1)`, long, the sentence number in the files, as for official answers

    Raises:
        FileNotFoundError: If a raw file is missing; the message says where to get it.
        ValueError: If an option is wrong, or a sentence is damaged: a tag is missing or not closed, a label
            is unknown, a number occurs twice; the message has file, line and value.

    Example:
        >>> from graphdep.datasets import SemEval2010Task8
        >>> dataset = SemEval2010Task8("datasets/semeval2010", split="test", parser="chain")
        >>> dataset.labels[dataset[0].y], dataset[0].mark
        ('Cause-Effect(e1,e2)', tensor([0, 0, 0, 1, 0, 0, 2, 0]))
    """

    corpus = "SemEval-2010 Task 8"
    published = "https://semeval2.fbk.eu/semeval2.php?location=data (SemEval2010_task8_all_data)"
    own_trees = False

    def __init__(
        self,
        root: str | os.PathLike[str] = "datasets/semeval2010",
        split: str = "train",
        parser: str | Parser = "bundled",
        *,
        direction: bool = True,
        val_fraction: float = 0.1,
        seed: int = 0,
        **options: Unpack[WordOptions],
    ) -> None:
        self.direction, self.drawn_val = bool(direction), DrawnVal(val_fraction, seed)
        if options.get("labels") is None:
            options["labels"] = LABELS if direction else UNDIRECTED
        super().__init__(root, split, parser, **options)

    def raw_files(self, folder: Path, split: str) -> list[Path]:
        name = TEST if split == "test" else TRAIN
        inner = _FOLDERS[name]
        places = (folder, folder / inner, folder / _ALL / inner)
        return [place / name for place in places if (place / name).is_file()][:1]

    def raw_file_pattern(self, split: str) -> str:
        return TEST if split == "test" else TRAIN

    def options(self) -> dict[str, Any]:
        return super().options() | {"direction": self.direction, "val": self.drawn_val}

    def read(self, folder: Path, split: str) -> list[SpanExample]:
        path = self.raw_files(folder, split)[0]
        examples = read_semeval2010(path, direction=self.direction)
        if len(examples) != SIZES[path.name]:
            logger.warning(
                "%s: %s has %d sentences, the published file %d",
                *(self.corpus, path, len(examples), SIZES[path.name]),
            )
        if split != "test":
            examples, self.said[split] = self.drawn_val.part(examples, split)
        return examples


def read_semeval2010(path: Path, *, direction: bool = True) -> list[SpanExample]:
    """The sentences of a file.

    A sentence has three lines and a blank line: a number, a tab and the sentence in quotation marks; the
    label; and a comment, which is not read. The published files lack a space at seven tags (``The<e1>``).
    """
    examples: list[SpanExample] = []
    line_of: dict[str, int] = {}
    for (line, text), *below in blocks(read_lines(path)):
        match = _SENTENCE.fullmatch(text)
        if not match:
            raise row_error(path, line, "no number, tab and sentence in quotation marks", text)
        check_new(path, line, "number", match[1], line_of)
        at, label = below[0] if below else (line, "nothing below the sentence")
        check_forms(f"{path}:{line}", {"sentence": match[2]}, {"sentence": TEXT})
        check_forms(f"{path}:{at}", {"label": label.strip()}, {"label": _LABEL})
        for number, more in below[1:]:
            check_forms(f"{path}:{number}", {"line after a label": more}, {"line after a label": _COMMENT})
        with placed(f"{path}:{line}", "not two spans: ", match[2]):
            plain, ranges = read_tags(match[2])
            first, second = ranges
            check_ranges(ranges, plain)
        name = label.strip() if direction else label.strip().partition("(")[0]
        place = f"{path}:{line}"
        examples.append(SpanExample.of_text(plain, [first, second], name, place=place, number=int(match[1])))
    return examples


_LABEL = Form("one of the 19 labels", LABELS.__contains__)
_COMMENT = like("a comment or blank", "Comment:.*")


_CHUNK = 1 << 16
# Encodings of expat; for others it calls Python, whose errors have neither file nor line.
_ENCODINGS = ("utf-8", "utf-16", "iso-8859-1", "us-ascii")


@dataclass(frozen=True)
class AspectTerm:
    """A term, its offsets in the text, and its polarity."""

    line: int
    term: str
    start: int
    stop: int
    polarity: str


@dataclass
class AspectSentence:
    """A text with its terms, and the line of its element."""

    line: int
    text: str = ""
    terms: list[AspectTerm] = field(default_factory=list)


def read_aspect_terms(path: Path) -> list[AspectSentence]:
    """The sentences of a file: ``<sentences><sentence><text/><aspectTerms><aspectTerm term polarity from
    to/></aspectTerms></sentence></sentences>``. Other elements, such as ``aspectCategories``, are ignored.
    """
    return _Reader(path).read()


POLARITIES = ("conflict", "negative", "neutral", "positive")
_TERM = {"term": TEXT, "polarity": one_of(*POLARITIES), "from": NUMBER, "to": NUMBER}


class _Reader:
    """Collects the sentences with expat, which knows line numbers, in contrast to an element tree."""

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
        expect(bool(self.sentences), self.path, 1, "no <sentence> in <sentences>")
        return self.sentences

    @property
    def line(self) -> int:
        return self.parser.CurrentLineNumber

    def _declared(self, version: str, encoding: str | None, standalone: int) -> None:
        if encoding is not None and encoding.lower() not in _ENCODINGS:
            raise row_error(
                self.path, self.line, f"the encoding is not one of {', '.join(_ENCODINGS)}", encoding
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
            case ["sentences"]:
                pass
            case ["sentences", "sentence", "text"] if not self.sentences[-1].text:
                pass
            case ["sentences", "sentence", other, *_] if other != "text":
                pass
            case _:
                raise row_error(
                    self.path,
                    self.line,
                    f"<{name}> in {''.join(f'<{one}>' for one in self.above[:-1]) or 'the file'}",
                )

    def _term(self, attributes: Mapping[str, str]) -> AspectTerm:
        check_forms(f"{self.path}:{self.line}", attributes, _TERM)
        start, stop = int(attributes["from"]), int(attributes["to"])
        return AspectTerm(self.line, attributes["term"], start, stop, attributes["polarity"])

    def _text(self, text: str) -> None:
        if self.above == ["sentences", "sentence", "text"]:
            self.sentences[-1].text += text

    def _end(self, name: str) -> None:
        if self.above == ["sentences", "sentence"]:
            sentence = self.sentences[-1]
            check_forms(f"{self.path}:{sentence.line}", {"text": sentence.text}, {"text": TEXT})
        self.above.pop()


ASPECT_FILES = {
    "restaurants": {
        "train": ("Restaurants_Train_v2.xml", "Restaurants_Train.xml"),
        "val": ("Restaurants_Val.xml",),
        "test": ("Restaurants_Test_Gold.xml",),
    },
    "laptops": {
        "train": ("Laptop_Train_v2.xml", "Laptops_Train_v2.xml", "Laptops_Train.xml"),
        "val": ("Laptops_Val.xml",),
        "test": ("Laptops_Test_Gold.xml",),
    },
}
_GOLD = "ABSA_Gold_TestData"  # as the archive of the test files has it


class SemEval2014Aspects(SpanDataset):
    r"""The aspect terms of `"SemEval-2014 Task 4: Aspect Based Sentiment Analysis"
    <https://aclanthology.org/S14-2004/>`_, each with its polarity in the review.

    An example is a sentence with one marked aspect term; sentences without terms are counted. The files have
    character offsets: a word of the parser in which a term begins or ends is split there, and counted.

    Args:
        root: Folder of the corpus. (default: ``"datasets/semeval2014-aspects"``)
        split: ``"train"``, ``"val"`` or ``"test"``. (default: ``"train"``)
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser. (default: ``"bundled"``)
        domain: ``"restaurants"`` or ``"laptops"``. (default: ``"restaurants"``)
        polarities: 4, or 3 as in most papers, without terms of polarity *conflict*, which are counted.
            (default: :obj:`4`)
        val_fraction: The share of the training sentences that is drawn for validation if there is no file for
            it; none is published. (default: :obj:`0.1`)
        seed: Seed of that draw. (default: :obj:`0`)
        options: Further options, see :class:`~graphdep.datasets.base.words.WordOptions`.

    Shapes:
        - as of :class:`~graphdep.datasets.spans.base.SpanDataset`, with one span

    Raises:
        FileNotFoundError: If a raw file is missing; the message says where to get it.
        ValueError: If an option is wrong or a file is damaged: a term is not at its offsets, a polarity is
            unknown, or the XML is invalid or has a document type; the message has file, line and value.

    Example:
        >>> from graphdep.datasets import SemEval2014Aspects
        >>> dataset = SemEval2014Aspects("datasets/semeval2014-aspects", polarities=3, parser="chain")
        >>> dataset.labels, dataset[0].mark
        (('negative', 'neutral', 'positive'), tensor([0, 0, 1, 1, 0, 0]))
    """

    corpus = "SemEval-2014 Task 4"
    published = "https://alt.qcri.org/semeval2014/task4 (data and tools)"
    own_trees = False

    def __init__(
        self,
        root: str | os.PathLike[str] = "datasets/semeval2014-aspects",
        split: str = "train",
        parser: str | Parser = "bundled",
        *,
        domain: str = "restaurants",
        polarities: int = 4,
        val_fraction: float = 0.1,
        seed: int = 0,
        **options: Unpack[WordOptions],
    ) -> None:
        check_choice("domain", domain, ASPECT_FILES)
        check_choice("polarities", polarities, (3, 4))
        self.domain, self.polarities = domain, polarities
        self.drawn_val = DrawnVal(val_fraction, seed)
        if options.get("labels") is None:
            options["labels"] = POLARITIES[-polarities:]
        super().__init__(root, split, parser, **options)

    def raw_files(self, folder: Path, split: str) -> list[Path]:
        names = ASPECT_FILES[self.domain]
        wanted = names[split] + (names["train"] if split == "val" else ())
        places = [place / name for name in wanted for place in (folder, folder / _GOLD)]
        return [path for path in places if path.is_file()][:1]

    def raw_file_pattern(self, split: str) -> str:
        return ASPECT_FILES[self.domain][split][0]

    def options(self) -> dict[str, Any]:
        own = {"domain": self.domain, "polarities": self.polarities, "val": self.drawn_val}
        return super().options() | own

    def read(self, folder: Path, split: str) -> list[SpanExample]:
        path = self.raw_files(folder, split)[0]
        found, notes = self._read_file(path)
        if (
            split != "test"
            and path.name not in ASPECT_FILES[self.domain]["val"]
            and not self._has_val(folder)
        ):
            found, drawn = self.drawn_val.part(found, split)
            notes.append(drawn)
        self.said[split] = "; ".join(filter(None, notes))
        return found

    def _has_val(self, folder: Path) -> bool:
        return any((folder / name).is_file() for name in ASPECT_FILES[self.domain]["val"])

    def _read_file(self, path: Path) -> tuple[list[SpanExample], list[str]]:
        examples, count = [], Counter[str]()
        for sentence in read_aspect_terms(path):
            count["sentences without a term"] += not sentence.terms
            for term in sentence.terms:
                place = f"{path}:{term.line}"
                there = sentence.text[term.start : term.stop]
                if there != term.term:
                    raise row_error(
                        path,
                        term.line,
                        f"the term is not at {term.start} to {term.stop}, where {there!r} is",
                        term.term,
                    )
                if term.polarity == "conflict" and self.polarities == 3:
                    count["terms of conflicting polarity left out"] += 1
                    continue
                ranges = [(term.start, term.stop)]
                examples.append(SpanExample.of_text(sentence.text, ranges, term.polarity, place=place))
        return examples, [f"{number} {what} in {path.name}" for what, number in count.items() if number]
