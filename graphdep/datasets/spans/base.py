"""The base class of corpora of marked spans, and a user's own spans."""

from __future__ import annotations

import logging
import os
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Unpack

import torch
from torch import Tensor
from torch_geometric.data import Data

from graphdep.data.node_table import mark_words
from graphdep.datasets.base.drawn import DrawnVal
from graphdep.datasets.base.parsed import Example, digests
from graphdep.datasets.base.raw import OwnFiles
from graphdep.datasets.base.rows import UNKNOWN, check_suffix, learned_names
from graphdep.datasets.base.words import WordDataset, WordOptions, sentence_numbers
from graphdep.datasets.spans.formats import SPAN_ENDS, draw_negatives, read_rows, span_end_of
from graphdep.datasets.spans.rows import MAX_ARCS, SpanExample, span_key, span_rows
from graphdep.datasets.spans.texts import MarkedTree, ParsedSpans, parse_examples
from graphdep.io.files import place_error
from graphdep.io.limits import check_choice, check_least, plural
from graphdep.parsing.enhanced import enhance
from graphdep.parsing.parser import Parser
from graphdep.sentence.intake import Intake, is_own
from graphdep.vocab.vocab import Vocab


def mark_spans(data: Data, marks: Sequence[int]) -> Data:
    """Adds ``mark``, and ``lost``, the number of spans without remaining words, to ``data`` and returns it.

    Args:
        data: An example of one text, which may be truncated.
        marks: The mark of each word (:attr:`MarkedTree.marks`).
    """
    mark_words(data, marks)
    left = set(data.mark.tolist())
    data.lost = torch.tensor([sum(_has(marks, span) and not _has(left, span) for span in (1, 2))])
    return data


def _has(marks: Sequence[int] | set[int], span: int) -> bool:
    """Whether any mark belongs to the span."""
    return any(mark & span for mark in marks)


logger = logging.getLogger("graphdep.datasets")


class SpanDataset(WordDataset):
    r"""Base class of corpora of marked spans: one ``Data`` per example, with one label.

    A subclass names the raw files of a split, :meth:`read` returns the examples as :class:`SpanExample`, and
    :attr:`said` has notes about the splits. The classes are those of the corpus or of the whole training
    split, sorted by name. A sentence of several examples is parsed once and counted once in the vocabulary.

    With :obj:`tokens`, :obj:`max_length` may remove all words of a span. Such an example is kept and counted
    (:obj:`lost`); it has no prediction and counts as wrong.

    Args:
        root: Folder of the corpus.
        split: ``"train"``, ``"val"`` or ``"test"``.
        parser: ``"gold"`` for the trees of the corpus; else a parser for its words, or the parser's name for
            :func:`graphdep.parsing.resolve_parser`.
        labels: See :class:`WordOptions`.
        options: Further options, see :class:`WordOptions`.

    Shapes:
        - ``y``: :math:`(1)`, long, the number of the label in :attr:`labels`; -1 for an unknown label; absent
          if the split has no labels
        - ``mark``: :math:`(|\mathcal{V}|)`, long: 1 for nodes of words in the first span, 2 in the second, 3
          in both, else 0
        - ``lost``: :math:`(1)`, long, the number of spans without remaining words
        - ``key_id``: :math:`(1)`, long, a digest of the tree path between two spans, or of the top word of a
          single span (:func:`span_key`), the same in all splits
        - ``example_id``: :math:`(1)`, long, the number of the example in its split
        - ``sentence``: :math:`(1)`, long, the number of the sentence, shared by adjacent examples with the
          same words
        - ``number``: :math:`(1)`, long, the number of the example in the corpus, if it has one
    """

    shared_options: ClassVar[type] = WordOptions
    num_spans: int
    """The number of spans of an example: one or two."""
    advice: ClassVar[str] = ""
    """Advice for examples of several sentences."""
    said: dict[str, str]
    """Notes about the splits that were read."""

    def __init__(
        self,
        root: str | os.PathLike[str],
        split: str,
        parser: str | Parser,
        *,
        root_node: bool = True,
        **options: Any,
    ) -> None:
        self.said = {}
        super().__init__(root, split, parser, root_node=root_node, **options)
        if lost := int((self.lost > 0).sum()):
            logger.warning(
                "%s (%s): 'max_length' %d removes all words of a span of %d examples, which count as wrong",
                *(self.corpus, self.split, self.max_length, lost),
            )

    def options(self) -> dict[str, Any]:
        return super().options() | {"key_arcs": MAX_ARCS}

    @abstractmethod
    def read(self, folder: Path, split: str) -> list[SpanExample]:
        """The examples of a split in ``folder``, checked."""

    def rows(self) -> list[SpanExample]:
        """The examples as read."""
        return self.read(Path(self.raw_dir), self.split)[: self.limit]

    def texts(self) -> list[tuple[str, ...]]:
        """The text of each example, with tags around the spans: ``<e1>Rain</e1> falls``."""
        return [(example.tagged,) for example in self.rows()]

    def examples(self, split: str, limit: int | None) -> list[Example]:
        found = self.read(Path(self.raw_dir), split)
        self.learn_labels(split, found)
        self._check_alike(found)
        found = found[:limit]
        if found and split == self.split:
            self.num_spans = len(found[0].spans)
        parsed = self._parsed(found)
        if split == self.split:
            self.said[split] = "; ".join(
                [
                    *filter(None, [self.said.get(split)]),
                    *parsed.notes(self.advice if split == "train" else ""),
                ]
            )
        trees = [marked.tree for marked in parsed.marked]
        graphs = trees if self.arcs == "basic" else enhance(trees, self.arcs, self.engine)
        numbers = {label: number for number, label in enumerate(self.labels)}
        own = [
            {"example_id": torch.tensor([number]), "sentence": sentence}
            for number, sentence in enumerate(sentence_numbers(found))
        ]
        return [
            Example(
                [graph],
                self._targets(example, marked, numbers) | more,
                given=[example.tagged, example.label],
            )
            for example, marked, graph, more in zip(found, parsed.marked, graphs, own)
        ]

    def _parsed(self, examples: Sequence[SpanExample]) -> ParsedSpans:
        given = [replace(example, tree=self._given_tree(example)) for example in examples]
        parsed = parse_examples(given, self._parser)
        self.parser_failures += parsed.failures
        return parsed

    def _targets(
        self, example: SpanExample, marked: MarkedTree, numbers: dict[Any, int]
    ) -> dict[str, Tensor]:
        """The example-level keys; ``numbers`` maps classes to numbers."""
        key = digests([span_key(marked.tree, marked.spans)])
        found = {"mark": torch.tensor(marked.marks), "key_id": key}
        if example.label is not None:
            found["y"] = torch.tensor([numbers.get(example.label, UNKNOWN)])
        if example.number is not None:
            found["number"] = torch.tensor([example.number])
        return found

    def classes(self, train: Sequence[SpanExample]) -> tuple[str, ...]:
        """The distinct labels of the training split, sorted by name."""
        labels = (example.label for example in train if example.label is not None)
        return tuple(learned_names(labels, train[0].place)) if train else ()

    def make_data(self, examples: list[Example], vocab: Vocab) -> Iterator[Data]:
        for data in super().make_data(examples, vocab):
            yield mark_spans(data, data.mark.tolist())

    def notes(self, examples: list[Example]) -> dict[str, Any]:
        return super().notes(examples) | {"num_spans": self.num_spans, "said": self.said.get(self.split, "")}

    def restore(self, notes: dict[str, Any]) -> None:
        super().restore(notes)
        self.num_spans, self.said = notes["num_spans"], {self.split: notes["said"]}

    def describe(self) -> dict[str, Any]:
        """As for every corpus, with the number of spans of an example, and the numbers of examples with an
        unknown label or a lost span.
        """
        own = self if self._indices is None else self.copy()
        unknown = int((own.y == UNKNOWN).sum()) if "y" in own._data else 0
        lost = int((own.lost > 0).sum())
        said = [
            *([self.said[self.split]] if self.said[self.split] else []),
            *([f"{plural(unknown, 'example')} {self.unknown_note()}"] if unknown else []),
            *([f"{plural(lost, 'example')} without words of a span, counted as wrong"] if lost else []),
        ]
        numbers = {"num_spans": self.num_spans, "unknown_labels": unknown, "lost_spans": lost}
        return super().describe() | numbers | ({"note": "; ".join(said)} if said else {})

    @staticmethod
    def _check_alike(found: Sequence[SpanExample]) -> None:
        for example in found[1:]:
            first = found[0]
            if len(example.spans) != len(first.spans):
                raise place_error(
                    example.place, f"{len(example.spans)} spans, but {len(first.spans)} at {first.place}"
                )
            if (example.label is None) != (first.label is None):
                which = ("no label", "one") if example.label is None else ("a label", "none")
                raise place_error(example.place, f"{which[0]}, but {which[1]} at {first.place}")


class OwnSpans(OwnFiles, SpanDataset):
    r"""The user's own sentences, each with one or two marked spans and a label.

    A ``.jsonl`` or ``.json`` file has one object per line or a list of objects, and a ``.parquet`` file has
    one object per row:

    ====================  ====================================================================================
    ``words``             a list of words; ``spans`` then have indices of words
    ``sentences``         or a list of lists of words, one per sentence; word indices run through all of them
    ``text``              or a text, with the words and sentences of the parser; ``spans`` then have offsets
                          of characters
    ``spans``             one or two ``[start, end]``, from 0, the end not included: ``[[0, 2], [5, 6]]``
    ``label``             the label, a text
    ``head``, ``deprel``  with ``words``, the governor of each word (from 1, 0 for the root) and the relation
                          to it, which replace the parser's. Several roots with contiguous subtrees are
                          several sentences
    ====================  ====================================================================================

    Files in the layouts of TACRED, aspects, CoNLL04 and SciERC are recognised by their keys and described in
    the cards in ``datasets``. In files of entities and relations an example is a relation, or a pair of
    entities without a relation, labelled ``"none"``, according to :obj:`negatives`.

    In a ``.csv`` or ``.tsv`` file, and in an object without ``spans``, the spans are marked in the text:
    ``<e1>...</e1>`` and ``<e2>...</e2>``.

    A text has the words of the parser. A word is split at the border of a span, and its first part governs
    the others as ``goeswith``. If the parser's words do not spell the text, it is split at white space and
    borders. Both are counted, as are examples of several sentences, whose trees have several roots.

    The files are not copied; :obj:`root` has only processed examples and the cache of parses. The classes are
    those of the whole training file; a label that occurs elsewhere only is counted, and every prediction for
    it is wrong.

    Args:
        root: Folder for processed files. (default: ``"datasets/spans"``)
        split: ``"train"``, ``"val"`` or, with a file for it, ``"test"``. (default: ``"train"``)
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser; ``"gold"`` if all examples have
            trees. (default: ``"bundled"``)
        train: File with the training examples.
        val: File with the validation examples; :obj:`None` draws sentences from the training file.
            (default: :obj:`None`)
        test: File with the test examples; :obj:`None` for no such split. (default: :obj:`None`)
        text_column: Name of the column of texts. (default: ``"text"``)
        label_column: Name of the column of labels. (default: ``"label"``)
        negatives: In files of entities and relations, at most this number of pairs without a relation is
            drawn for each pair with a relation in the training split; other splits have all pairs. With 0 no
            split has pairs without a relation. (default: :obj:`0`)
        span_end: Whether the ends of TACRED's spans are the ``"last"`` words, or the words ``"behind"`` them;
            ``"auto"`` infers it from all files together. (default: ``"auto"``)
        val_fraction: The share of the sentences that is drawn for validation. (default: :obj:`0.1`)
        seed: Seed of the draws. (default: :obj:`0`)
        tree_scheme, bad_trees: Options ``scheme`` and ``bad_trees`` of :class:`~graphdep.sentence.Intake` for
            the trees in the files. (default: ``"auto"``, ``"error"``)
        keep_trees: Whether sentences keep the trees of the files; else all are parsed. (default: :obj:`True`)
        options: Further options, see :class:`~graphdep.datasets.base.words.WordOptions`, except
            :obj:`raw_from`.

    Shapes:
        - as for :class:`~graphdep.datasets.spans.base.SpanDataset`

    Raises:
        FileNotFoundError: If a file is missing.
        ValueError: If an option or a row is wrong: a span is outside of the sentence or has no word, a tag is
            not closed, there are both words and a text, or a tree is invalid; the message has file, line and
            value.

    Example:
        >>> from pathlib import Path
        >>> from graphdep.datasets import OwnSpans
        >>> rows = "<e1>Rain</e1> makes <e2>mud</e2>.,cause\n<e1>Mud</e1> is <e2>wet</e2>.,other\n"
        >>> _ = Path("relations.csv").write_text("text,label\n" + rows)
        >>> dataset = OwnSpans("datasets/spans", train="relations.csv", val="relations.csv", parser="chain")
        >>> dataset.labels, dataset[0].mark
        (('cause', 'other'), tensor([0, 1, 0, 2, 0]))
    """

    keeps_trees = True
    advice = " (--one-sentence true gives each text one tree)"

    def __init__(
        self,
        root: str | os.PathLike[str] = "datasets/spans",
        split: str = "train",
        parser: str | Parser = "bundled",
        *,
        train: str | os.PathLike[str],
        val: str | os.PathLike[str] | None = None,
        test: str | os.PathLike[str] | None = None,
        text_column: str = "text",
        label_column: str = "label",
        negatives: float = 0,
        span_end: str = "auto",
        val_fraction: float = 0.1,
        seed: int = 0,
        tree_scheme: str = "auto",
        bad_trees: str = "error",
        keep_trees: bool = True,
        **options: Unpack[WordOptions],
    ) -> None:
        self.take_files(train, val, test, options.get("raw_from"), tree_scheme, bad_trees, keep_trees)
        for name, path in self.files.items():
            check_suffix(name, path)
        if text_column == label_column:
            raise ValueError(f"'label_column' must be no column of texts (got {label_column!r})")
        check_least("negatives", negatives, 0)
        check_choice("span_end", span_end, SPAN_ENDS)
        self.span_end = span_end_of(self.files.values()) if span_end == "auto" else span_end
        self.text_column, self.label_column, self.negatives = text_column, label_column, negatives
        self.drawn_val = DrawnVal(val_fraction, seed)
        super().__init__(root, split, parser, **options)

    def options(self) -> dict[str, Any]:
        columns = [self.text_column, self.label_column]
        return super().options() | {
            "columns": columns,
            "negatives": [self.negatives, self.drawn_val.seed],
            "val": None if "val" in self.files else self.drawn_val,
            **({} if self.span_end is None else {"span_end": self.span_end}),
            **self.tree_options(),
        }

    def notes(self, examples: list[Example]) -> dict[str, Any]:
        return super().notes(examples) | {"taken": self.taken[self.split]}

    def restore(self, notes: dict[str, Any]) -> None:
        super().restore(notes)
        self.taken = {self.split: notes["taken"]}

    def describe(self) -> dict[str, Any]:
        """As for every corpus of marked spans, with the numbers of own trees and of changed trees."""
        more = {"own_trees": self.taken[self.split]["own_trees"], "span_end": self.span_end}
        found = {name: value for name, value in more.items() if value}
        return super().describe() | self.describe_trees() | found

    def take_in(self, path: Path, intake: Intake) -> tuple[list[SpanExample], list[str], bool]:
        rows, notes, paired = read_rows(path, self.text_column, self.label_column, self.span_end or "auto")
        found = span_rows(rows, self.text_column, self.label_column, intake=intake)
        self._check_alike(found)
        return found, [*notes], paired

    def read(self, folder: Path, split: str) -> list[SpanExample]:
        path = self.file(split)
        intake = self.intake(split)
        found, notes, paired = self.take_in(path, intake)
        self.keep_count(split, intake)
        said = [*notes]
        if split != "test" and "val" not in self.files:
            found, drawn = self.drawn_val.part(found, split)
            said.append(drawn)
        if paired and (split == "train" or not self.negatives):
            found, drawn = draw_negatives(found, self.negatives, self.drawn_val.seed)
            said.append(drawn)
        found = [replace(example, tree=self.given_tree(example.tree)) for example in found]
        trees = sum(is_own(example.tree) for example in found)
        self.taken[split]["own_trees"] = trees
        own = f"own parses: {trees} of {plural(len(found), 'example')}" if trees else ""
        self.said[split] = "; ".join(note for note in (*said, own, self.taken[split]["note"]) if note)
        return found
