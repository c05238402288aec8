"""SemEval-2014 Task 4: the polarity of aspects of reviews."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any, Unpack

from graphdep.datasets.base.drawn_val import DrawnVal
from graphdep.datasets.base.raw import check_words, row_error
from graphdep.datasets.base.word_options import WordOptions
from graphdep.datasets.spans.aspect_terms import read_aspect_terms
from graphdep.datasets.spans.marked_text import mark_text
from graphdep.datasets.spans.span_dataset import SpanDataset
from graphdep.datasets.spans.span_example import SpanExample
from graphdep.parsing import Parser

POLARITIES = ("conflict", "negative", "neutral", "positive")
FILES = {
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
    <https://aclanthology.org/S14-2004/>`_, each with what its review says of it.

    An example is a sentence with one marked aspect term; sentences without one give none and are counted. The
    files have character offsets: a word in whose inside a term begins or ends is cut there, and counted.

    Args:
        root: Folder of the corpus. (default: ``"datasets/semeval2014-aspects"``)
        split: ``"train"``, ``"val"`` or ``"test"``. (default: ``"train"``)
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser. (default: ``"bundled"``)
        domain: ``"restaurants"`` or ``"laptops"``. (default: ``"restaurants"``)
        polarities: 4, or 3 as in most papers: terms whose polarity is *conflict* are left out, and counted.
            (default: :obj:`4`)
        val_fraction: The share of the training sentences that is drawn for validation where there is no file
            for it, as published there is none. (default: :obj:`0.1`)
        seed: Of that draw. (default: :obj:`0`)
        options: Further ones, see :class:`~graphdep.datasets.base.word_options.WordOptions`.

    Shapes:
        - as of :class:`~graphdep.datasets.spans.span_dataset.SpanDataset`, with one span

    Raises:
        FileNotFoundError: If a raw file is missing; the message says where to get it.
        ValueError: If an option is wrong or a file is damaged: a term that does not stand where it is said to
            stand, an unknown polarity, XML that is none or has a document type; the message has file, line
            and value.

    Example:
        >>> from graphdep.datasets import SemEval2014Aspects
        >>> dataset = SemEval2014Aspects("datasets/semeval2014-aspects", polarities=3, parser="chain")
        >>> dataset.labels, dataset[0].mark
        (('negative', 'neutral', 'positive'), tensor([0, 0, 1, 1, 0, 0, 0]))
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
        if domain not in FILES:
            raise ValueError(f"'domain' must be one of {', '.join(FILES)} (got {domain!r})")
        if polarities not in (3, 4):
            raise ValueError(f"'polarities' must be 3 or 4 (got {polarities})")
        self.domain, self.polarities = domain, polarities
        self.drawn_val = DrawnVal(val_fraction, seed)
        if options.get("labels") is None:
            options["labels"] = POLARITIES[-polarities:]
        super().__init__(root, split, parser, **options)

    def raw_files(self, folder: Path, split: str) -> list[Path]:
        names = FILES[self.domain]
        wanted = names[split] + (names["train"] if split == "val" else ())
        places = [place / name for name in wanted for place in (folder, folder / _GOLD)]
        return [path for path in places if path.is_file()][:1]

    def raw_file_pattern(self, split: str) -> str:
        return FILES[self.domain][split][0]

    def options(self) -> dict[str, Any]:
        own = {"domain": self.domain, "polarities": self.polarities, "val": self.drawn_val}
        return super().options() | own

    def read(self, folder: Path, split: str) -> list[SpanExample]:
        path = self.raw_files(folder, split)[0]
        found, notes = self._read_file(path)
        if split != "test" and path.name not in FILES[self.domain]["val"] and not self._has_val(folder):
            found, drawn = self.drawn_val.part(found, split)
            notes.append(drawn)
        self.said[split] = "; ".join(notes)
        return found

    def _has_val(self, folder: Path) -> bool:
        return any((folder / name).is_file() for name in FILES[self.domain]["val"])

    def _read_file(self, path: Path) -> tuple[list[SpanExample], list[str]]:
        examples, count = [], Counter[str]()
        for sentence in read_aspect_terms(path):
            check_words(path, sentence.line, "the text", sentence.text)
            count["sentences without a term"] += not sentence.terms
            for term in sentence.terms:
                place = f"{path}:{term.line}"
                if term.polarity not in POLARITIES:
                    raise row_error(path, term.line, "no polarity", term.polarity)
                if sentence.text[term.start : term.stop] != term.term:
                    there = sentence.text[term.start : term.stop]
                    message = f"the term does not stand from {term.start} to {term.stop}, where {there!r} is"
                    raise row_error(path, term.line, message, term.term)
                if term.polarity == "conflict" and self.polarities == 3:
                    count["terms of conflicting polarity left out"] += 1
                    continue
                try:
                    marked = mark_text(sentence.text, [(term.start, term.stop)])
                except ValueError as error:
                    raise row_error(path, term.line, str(error)) from None
                count["words cut at a mark"] += marked.inside
                examples.append(SpanExample(marked.words, marked.spans, term.polarity, place=place))
        return examples, [f"{number} {what} in {path.name}" for what, number in count.items() if number]
