"""The base class of corpora with labels of words, UD tags, and a user's own labels."""

from __future__ import annotations

import dataclasses
import os
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Unpack

import torch
from torch import Tensor
from torch_geometric.data import Data

from graphdep.data.node_table import mark_words
from graphdep.datasets.base.drawn import DrawnVal
from graphdep.datasets.base.parsed import Example, digests
from graphdep.datasets.base.raw import OwnFiles
from graphdep.datasets.base.rows import CONTINUED, UNKNOWN, UNSCORED, learned_names, spread_rows
from graphdep.datasets.base.words import WordDataset, WordOptions, sentence_numbers
from graphdep.datasets.labels.bio import OUTSIDE, encoding_of, recoded, with_insides
from graphdep.datasets.labels.own import (
    OwnSentences,
    check_given,
    check_word_file,
    read_own_sentences,
)
from graphdep.datasets.labels.words import UPOS, Column, LabelledWords, mark_column
from graphdep.datasets.sentences import UDTreebank
from graphdep.io.files import placed
from graphdep.io.limits import MAX_WORDS, check_choice, plural
from graphdep.io.trees import read_conllu
from graphdep.parsing.parser import Parser, WordLimit
from graphdep.sentence.intake import Intake, is_own
from graphdep.sentence.sentence import Sentence
from graphdep.vocab.vocab import Vocab


def relation_paths(sentence: Sentence, start: int | None) -> list[str]:
    """The tree path of at most two arcs from a start word to each word, with the relation of each word.

    A path is a sequence of arcs, ``<label`` up to the governor and ``>label`` down to a dependent: ``>nsubj``
    is a subject of the word, ``<xcomp>nsubj`` a subject of its governor. A longer path is ``far``. The path
    is followed by the word's relation to its governor. A table of the most frequent label for each of these
    strings is a baseline.

    Args:
        sentence: The tree.
        start: Index of the start word, or :obj:`None` for the paths from each word to the governor of its
            governor.

    Example:
        >>> from graphdep import Sentence
        >>> from graphdep.datasets.labels.base import relation_paths
        >>> tree = Sentence(["She", "wants", "to", "sing"], [2, 0, 4, 2], ["nsubj", "root", "mark", "xcomp"])
        >>> relation_paths(tree, 3)
        ['<xcomp>nsubj nsubj', '<xcomp root', '>mark mark', ' xcomp']
    """
    head, deprel = [governor - 1 for governor in sentence.head], sentence.deprel
    if start is None:
        return [_upward(head, deprel, word) for word in range(len(head))]
    above, up = head[start], f"<{deprel[start]}"
    far_above = head[above] if above >= 0 else -1
    ways = []
    for word, governor in enumerate(head):
        own = deprel[word]
        if word == start:
            way = ""
        elif governor == start:
            way = f">{own}"
        elif word == above:
            way = up
        elif governor >= 0 and head[governor] == start:
            way = f">{deprel[governor]}>{own}"
        elif governor == above and above >= 0:
            way = f"{up}>{own}"
        elif word == far_above:
            way = f"{up}<{deprel[above]}"
        else:
            way = "far"
        ways.append(f"{way} {own}")
    return ways


def _upward(head: list[int], deprel: list[str], word: int) -> str:
    governor = head[word]
    return f"<{deprel[word]}" + (f"<{deprel[governor]}" if governor >= 0 else "")


def label_number(label: Any, numbers: Mapping[Any, int]) -> int:
    """The number of a label. An unknown label is -1, except that unknown ``B-C-X`` and ``I-C-X`` encode the
    number of ``B-X`` and ``I-X`` (:data:`~graphdep.datasets.base.rows.CONTINUED`).
    """
    text = str(label)
    if label not in numbers and text[1:4] == "-C-" and text[:2] + text[4:] in numbers:
        return CONTINUED - numbers[text[:2] + text[4:]]
    return numbers.get(label, UNKNOWN)


class LabelDataset(WordDataset):
    r"""Base class of corpora of labelled words: one ``Data`` per example, with a label for each word.

    A subclass names the raw files of a split, and :meth:`read` returns the examples as
    :class:`LabelledWords`. The classes are those of the whole training split, sorted by name. A sentence of
    several examples, such as several predicates, is parsed once and counted once in the vocabulary.

    Args:
        root: Folder of the corpus.
        split: ``"train"``, ``"val"`` or ``"test"``, or another split of the corpus.
        parser: ``"gold"`` for the trees of the corpus; else a parser for its words, or the parser's name for
            :func:`graphdep.parsing.resolve_parser`.
        labels: See :class:`WordOptions`.
        options: Further options, see :class:`WordOptions`.

    Shapes:
        - ``y``: :math:`(W)`, long, the number of each word's label in :attr:`labels`
          (:func:`label_number`); -100 without a label
        - ``form_id``: :math:`(W)`, long, a digest of the form of each word, the same in all splits
        - ``path_id``: :math:`(W)`, long, if the corpus has marked words: a digest of the tree path from the
          marked word to each word (:func:`relation_paths`)
        - ``mark``: :math:`(|\mathcal{V}|)`, long, if the corpus has marked words: 1 for nodes of the marked
          word, else 0
        - ``cut_y``: :math:`(K)`, long, with :obj:`tokens`: as ``y``, for the last words, which
          :obj:`max_length` has removed and which count as wrong
        - ``example_id``, ``group``: :math:`(1)`, long, the number of the example in its split, and the number
          of its group, which is scored as correct if all of its examples are
        - ``sentence``: :math:`(1)`, long, the number of the sentence, shared by adjacent examples with the
          same words
    """

    shared_options: ClassVar[type] = WordOptions
    marks: bool = False
    """Whether each example has a marked word."""
    spread: ClassVar[bool] = False
    """Whether ``limit`` selects examples from the whole split instead of the first ones."""
    outside: str | None = None
    """The label of words that are in no span or role; it is the first class."""
    scored_by: str = ""
    """The kind of the labels, for messages, such as ``" by their upos"``."""

    def __init__(
        self,
        root: str | os.PathLike[str],
        split: str,
        parser: str | Parser,
        *,
        root_node: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(root, split, parser, root_node=root_node, **options)

    @abstractmethod
    def read(self, folder: Path, split: str) -> list[LabelledWords]:
        """The examples of a split in ``folder``, checked."""

    def rows(self) -> list[LabelledWords]:
        """The examples as read, with words that :obj:`max_length` has removed."""
        return self._limit(self.read(Path(self.raw_dir), self.split), self.limit)

    def examples(self, split: str, limit: int | None) -> list[Example]:
        found = self.read(Path(self.raw_dir), split)
        self.learn_labels(split, found)
        if found and all(label is None for example in found for label in example.labels):
            by = f" (is scored{self.scored_by})" if self.scored_by else ""
            raise found[0].error(f"no word of the split {split!r} has a label{by}")
        found = self._limit(found, limit)
        sentences = sentence_numbers(found)
        trees = (self._with_constituents(*pair) for pair in zip(found, self.trees(found)))
        return [
            Example(
                [tree],
                self.targets(example, tree, number) | {"sentence": sentences[number]},
                given=[[*example.words], [*example.labels], example.mark],
            )
            for number, (example, tree) in enumerate(zip(found, trees))
        ]

    def _with_constituents(self, example: LabelledWords, tree: Sentence) -> Sentence:
        own = example.constituents
        return tree if own is None else dataclasses.replace(tree, constituents=[*own])

    def _limit(self, found: list[LabelledWords], limit: int | None) -> list[LabelledWords]:
        if limit is None:
            return found
        return spread_rows(found, limit) if self.spread else found[:limit]

    def classes(self, train: Sequence[LabelledWords]) -> tuple[str, ...]:
        """The distinct labels of the training split: :attr:`outside` first, the others sorted by name."""
        labels = (label for example in train for label in example.labels if label is not None)
        names = learned_names(labels, train[0].place if train else "")
        return tuple(sorted(names, key=lambda name: name != self.outside))

    def targets(self, example: LabelledWords, tree: Sentence, number: int) -> dict[str, Tensor]:
        """The word-level keys of an example."""
        numbers = {label: place for place, label in enumerate(self.labels)}
        y = [UNSCORED if label is None else label_number(label, numbers) for label in example.labels]
        group = number if example.group is None else example.group
        found = {"y": torch.tensor(y), "form_id": digests(example.words)}
        if self.marks:
            marked = [int(word == example.mark) for word in range(len(example))]
            found["mark"] = torch.tensor(marked)
            found["path_id"] = digests(relation_paths(tree, example.mark))
        return found | {"example_id": torch.tensor([number]), "group": torch.tensor([group])}

    def _depends_on(self) -> dict[str, Any]:
        return super()._depends_on() | {"numbers": CONTINUED}

    def make_data(self, examples: list[Example], vocab: Vocab) -> Iterator[Data]:
        for data in super().make_data(examples, vocab):
            if "mark" in data:
                mark_words(data, data.mark.tolist())
            yield self._without_cut_words(data)

    def _without_cut_words(self, data: Data) -> Data:
        if self.tokens is None:
            return data
        left, y = int(data.word.max()) + 1, data.y
        data.cut_y = y[left:]
        for key in ("y", "form_id", "path_id"):
            if key in data:
                data[key] = data[key][:left]
        return data

    @property
    def looks_up(self) -> str:
        """The key of the baseline of most frequent labels: ``"path"``, the tree path from the marked word, if
        the split has marked words, else ``"form"``.
        """
        return "path" if "mark" in self._data and bool(self._data.mark.any()) else "form"

    @property
    def follow_batch(self) -> list[str]:
        return [*super().follow_batch, *(["cut_y"] if "cut_y" in self._data else [])]

    def describe(self) -> dict[str, Any]:
        """As for every corpus, with the numbers of scored words, unknown labels and marked examples."""
        y: Tensor = self.y
        y = torch.cat([y, self.cut_y]) if "cut_y" in self._data else y
        scored, unknown = int((y != UNSCORED).sum()), int(((y < 0) & (y != UNSCORED)).sum())
        note = f"{scored} of {y.numel()} words are scored{self.scored_by}"
        note += f", {unknown} {self.unknown_note()}" if unknown else ""
        own = {"scored_words": scored, "unknown_labels": unknown, "note": note}
        return super().describe() | own | ({"marked": self._num_marked()} if "mark" in self._data else {})

    def _num_marked(self) -> int:
        """The number of examples with a marked word."""
        sizes = [self._data.num_nodes] if self.slices is None else self.slices["mark"].diff().tolist()
        return sum(bool(marks.any()) for marks in self._data.mark.split(sizes))


class UDTags(LabelDataset):
    r"""The sentences of a treebank with a label for each word, from a column or a key of a column.

    The classes are those of the whole training file, sorted by name.

    Args:
        root: Folder of one treebank. (default: ``"datasets/ud"``)
        split: ``"train"``, ``"val"`` (the treebank's dev) or ``"test"``. (default: ``"train"``)
        parser: ``"gold"`` for the trees of the treebank; else a parser for its words, or the parser's name
            for :func:`graphdep.parsing.resolve_parser`. (default: ``"gold"``)
        key, absent: As for :class:`~graphdep.datasets.labels.words.Column`. (default: ``"upos"``,
            :obj:`None`)
        options: Further options, see :class:`~graphdep.datasets.base.words.WordOptions`.

    Shapes:
        - as of :class:`~graphdep.datasets.labels.base.LabelDataset`

    Raises:
        FileNotFoundError, ConlluError: As :class:`~graphdep.datasets.UDTreebank`.
        ValueError: As :class:`~graphdep.datasets.UDTreebank`, or if no word of the training file has a label,
            or all have the same; the message has the existing keys.

    Example:
        >>> from graphdep.datasets import UDTags
        >>> dataset = UDTags("datasets/mini/ud", key="upos")
        >>> dataset.labels[:3], dataset[0].y.shape
        (('ADJ', 'ADP', 'AUX'), torch.Size([7]))
    """

    corpus = UDTreebank.corpus
    published = UDTreebank.published
    raw_files = UDTreebank.raw_files
    raw_file_pattern = UDTreebank.raw_file_pattern

    def __init__(
        self,
        root: str | os.PathLike[str] = "datasets/ud",
        split: str = "train",
        parser: str | Parser = "gold",
        *,
        key: str = "upos",
        absent: str | None = None,
        **options: Unpack[WordOptions],
    ) -> None:
        self.column = Column(key, absent)
        self.scored_by = f" by their {key}"
        super().__init__(root, split, parser, **options)

    def options(self) -> dict[str, Any]:
        return super().options() | {"key": self.column.key, "absent": self.column.absent}

    def read(self, folder: Path, split: str) -> list[LabelledWords]:
        return [
            LabelledWords(sentence.form, self.column.labels(sentence), tree=sentence, place=place)
            for path in self.raw_files(folder, split)
            for place, sentence in _numbered(path)
        ]

    def classes(self, train: Sequence[LabelledWords]) -> tuple[str, ...]:
        return self.column.classes([example.tree for example in train if example.tree is not None])

    def describe(self) -> dict[str, Any]:
        return super().describe() | {"key": self.column.key}


def _numbered(path: Path) -> list[tuple[str, Sentence]]:
    return [(f"{path}: sentence {number}", one) for number, one in enumerate(read_conllu(path), 1)]


SCHEMES = ("words", "bio")


class OwnLabels(OwnFiles, LabelDataset):
    r"""The user's own sentences with a label for each word, or for some of them.

    ====================  ===================================================================================
    ``.jsonl``,           each line or row is ``{"words": [...], "labels": [...]}``; a word with label
    ``.parquet``          ``null`` is not scored. Optional keys are ``mark``, the index of a word to which the
                          labels refer (from 0), and ``head`` and ``deprel``, the governor of each word (from
                          1, 0 for the root) and the relation to it
    ``.spacy``            a ``DocBin`` of documents with trees; labels in column :obj:`key`, or the entities
                          with ``scheme="bio"``; needs the extra ``[spacy]``
    CoNLL-U               trees, and labels in column :obj:`key`; the marked word of a sentence, if any, has
                          the key :obj:`mark_key` in MISC or FEATS
    CoNLL-2008, 2009      one example per predicate, which is the marked word; labels are its roles, at the
                          heads of arguments, and :obj:`outside` at other words; trees are read
    CoNLL-2012, 2005,     one example per predicate, which is the marked word; labels are its roles as spans
    PropBank              (IOB2, for ``scheme="bio"``), and words of the predicate are not scored;
                          constituents are read, and the parser makes the trees
    columns               one word and its label per line, separated by a tab or blanks, and a blank line
                          after each sentence, as in CoNLL-2003
                          (:func:`~graphdep.datasets.labels.own.read_columns`)
    ====================  ===================================================================================

    The first two are recognised by the suffix, the others by their content.

    The files are not copied; :obj:`root` has only processed examples and the cache of parses. A sentence with
    a tree keeps it with any :obj:`parser`, unless :obj:`keep_trees` is :obj:`False`. The classes are those of
    the whole training file; a label that occurs elsewhere only is counted, and every prediction for it is
    wrong. Without marked words in the training split, the baseline of most frequent labels (:attr:`looks_up`)
    reads forms instead of paths.

    Args:
        root: Folder for processed files. (default: ``"datasets/labels"``)
        split: ``"train"``, ``"val"`` or, with a file for it, ``"test"``. (default: ``"train"``)
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser; ``"gold"`` if all sentences
            have trees. (default: ``"bundled"``)
        train: File with the training sentences.
        val: File with the validation sentences; :obj:`None` draws sentences, with all of their examples, from
            the training file. (default: :obj:`None`)
        test: File with the test sentences; :obj:`None` for no such split. (default: :obj:`None`)
        key, absent: For CoNLL-U and ``.spacy``, see :class:`~graphdep.datasets.labels.words.Column`.
            (default: ``"upos"``, :obj:`None`)
        mark_key: For CoNLL-U, the key in MISC or FEATS, with any value, of the marked word, such as
            ``"misc:Mark"`` for ``Mark=Yes``. At most one word per sentence has it: repeat a sentence with two
            predicates. (default: :obj:`None`, no marked words)
        scheme: ``"words"``, or ``"bio"`` for labels of spans in IOB2, IOB1, BIOES or BILOU, which are
            converted to IOB2 (:func:`~graphdep.datasets.labels.bio.recoded`). (default: ``"words"``)
        outside: The label of words that are in no span or role, which F1 ignores; it is the first class if
            it occurs. (default: ``"O"``)
        val_fraction: The share of the sentences that is drawn for validation. (default: :obj:`0.1`)
        seed: Seed of that draw. (default: :obj:`0`)
        max_words, truncate: The largest number of words of a sentence, and whether longer sentences are
            truncated, and counted, instead of an error. (default: :obj:`10_000`, :obj:`False`)
        tree_scheme, bad_trees: Options ``scheme`` and ``bad_trees`` of :class:`~graphdep.sentence.Intake` for
            the trees in the files. (default: ``"auto"``, ``"error"``)
        keep_trees: Whether sentences keep the trees and constituents of the files; else all are parsed.
            (default: :obj:`True`)
        options: Further options, see :class:`~graphdep.datasets.base.words.WordOptions`, except
            :obj:`raw_from`.

    Shapes:
        - as for :class:`~graphdep.datasets.labels.base.LabelDataset`; ``mark`` is 0 everywhere in an example
          without a marked word

    Raises:
        FileNotFoundError: If a file is missing.
        ValueError: If an option is wrong or used by no file, or a sentence is wrong: the numbers of
            labels and words differ, a label is not a text, there are two marks or one outside of the
            sentence, a tree is invalid, or with ``scheme="bio"`` a label cannot occur in its place; the
            message has file, line and value.
        ImportError: If spaCy is needed and is not installed.

    Example:
        >>> from pathlib import Path
        >>> from graphdep.datasets import OwnLabels
        >>> rows = "Ann B-PER\nsings O\n\nBob B-PER\nDow I-PER\nsleeps O\n"
        >>> _ = Path("names.conll").write_text(rows)
        >>> dataset = OwnLabels(train="names.conll", val="names.conll", scheme="bio", parser="chain")
        >>> dataset.labels, dataset[1].y
        (('O', 'B-PER', 'I-PER'), tensor([1, 2, 0]))
    """

    marks = True
    keeps_trees = True

    def __init__(
        self,
        root: str | os.PathLike[str] = "datasets/labels",
        split: str = "train",
        parser: str | Parser = "bundled",
        *,
        train: str | os.PathLike[str],
        val: str | os.PathLike[str] | None = None,
        test: str | os.PathLike[str] | None = None,
        key: str | None = None,
        absent: str | None = None,
        mark_key: str | None = None,
        scheme: str = "words",
        outside: str | None = OUTSIDE,
        val_fraction: float = 0.1,
        seed: int = 0,
        max_words: int = MAX_WORDS,
        truncate: bool = False,
        tree_scheme: str = "auto",
        bad_trees: str = "error",
        keep_trees: bool = True,
        **options: Unpack[WordOptions],
    ) -> None:
        self.take_files(train, val, test, options.get("raw_from"), tree_scheme, bad_trees, keep_trees)
        for name, path in self.files.items():
            check_word_file(name, path)
        check_choice("scheme", scheme, SCHEMES)
        if scheme == "bio" and outside != OUTSIDE:
            raise ValueError(f"'outside' must be {OUTSIDE!r} where 'scheme' is 'bio' (got {outside!r})")
        self.column, self.scheme, self.outside = Column(key or UPOS, absent), scheme, outside
        self.mark_column = None if mark_key is None else mark_column(mark_key)
        check_given(self.files.values(), {"key": key, "absent": absent, "mark_key": mark_key})
        self.drawn_val, self.word_limit = DrawnVal(val_fraction, seed), WordLimit(max_words, truncate)
        self._said: dict[str, dict[str, Any]] = {}
        super().__init__(root, split, parser, **options)

    def options(self) -> dict[str, Any]:
        own: dict[str, Any] = {"key": self.column.key, "absent": self.column.absent, "scheme": self.scheme}
        own |= {"outside": self.outside, "val": None if "val" in self.files else self.drawn_val}
        if self.mark_column is not None:
            own["mark_key"] = self.mark_column.key
        limit = self.word_limit
        if limit.truncate or limit.max_words != MAX_WORDS:
            own["words"] = limit
        return super().options() | own | self.tree_options()

    def read(self, folder: Path, split: str) -> list[LabelledWords]:
        intake = self.intake(split)
        own = self.take_in(self.file(split), intake)
        self.keep_count(split, intake)
        found, drawn = own.examples, ""
        if split != "test" and "val" not in self.files:
            found, drawn = self.drawn_val.part(found, split)
        cut = [example.cut(self.word_limit) for example in found]
        if not self.keep_trees:
            cut = [
                dataclasses.replace(example, tree=self.given_tree(example.tree), constituents=None)
                for example in cut
            ]
        self._said[split] = {
            "drawn": drawn,
            "own_trees": sum(is_own(example.tree) for example in cut),
            "marked": sum(example.mark is not None for example in cut),
            **({"key": self.column.key} if own.keyed else {}),
            "left_out": own.counts,
            "changes": own.notes,
            "truncated_words": sum(map(len, found)) - sum(map(len, cut)),
        }
        return cut

    def learn_labels(self, split: str, found: Sequence[LabelledWords]) -> None:
        if self.learns_labels and not self.labels:
            # The whole training file, including the validation examples.
            whole = self.take_in(self.file("train"), self.intake("train"))
            self._keyed = whole.keyed
            self.labels = self.classes([example.cut(self.word_limit) for example in whole.examples])

    def classes(self, train: Sequence[LabelledWords]) -> tuple[str, ...]:
        self._check_keys(train)
        names = super().classes(train)
        return with_insides(names) if self.scheme == "bio" else names

    def notes(self, examples: list[Any]) -> dict[str, Any]:
        return super().notes(examples) | {"said": self._said[self.split], "taken": self.taken[self.split]}

    def restore(self, notes: dict[str, Any]) -> None:
        super().restore(notes)
        self._said, self.taken = {self.split: notes["said"]}, {self.split: notes["taken"]}

    def describe(self) -> dict[str, Any]:
        """As for every corpus of labelled words; also ``own_trees``, the number of examples in the file
        (before :obj:`limit`) with own trees, ``key``, the column of the labels, ``left_out``, counts of lines
        and other parts that are in no example, ``changes``, a text about everything that was left out,
        converted or repaired, and ``truncated_words``.
        """
        said, described = dict(self._said[self.split]), super().describe()
        drawn, marked, unmarked = said.pop("drawn"), described["marked"], len(self) - described["marked"]
        notes = [
            described["note"],
            *([drawn] if drawn else []),
            *([f"{_have(said['own_trees'])} a tree of their own"] if said["own_trees"] else []),
            *([trees] if (trees := self.taken[self.split]["note"]) else []),
            *([f"{_have(marked)} a marked word"] if marked else []),
            *([f"{_have(unmarked)} none, though others have"] if marked and unmarked else []),
            *said["changes"],
            *([f"{plural(said['truncated_words'], 'word')} cut"] if said["truncated_words"] else []),
            *self._common_label(),
        ]
        return {**said, **described, **self.describe_trees(), "note": "; ".join(notes)}

    def _common_label(self) -> list[str]:
        """A note if the label of most words is not :attr:`outside`, which F1 ignores."""
        if self.split != "train" or self.scheme == "bio" or self.outside in (None, *self.labels):
            return []
        counts = self.y[self.y >= 0].bincount(minlength=len(self.labels))
        share, label = float(counts.max() / counts.sum().clamp(min=1)), self.labels[int(counts.argmax())]
        if share <= 0.5:
            return []
        return [
            f"{share:.0%} of the labels are {label!r}, which f1 scores like any other label: "
            f"--set outside={label} leaves it out"
        ]

    def _check_keys(self, train: Sequence[LabelledWords]) -> None:
        """Raises :class:`ValueError`, listing the existing keys, if a given key does not occur."""
        trees = [example.tree for example in train if example.tree is not None]
        path = self.file("train")
        if trees and self._keyed:
            with placed(str(path)):
                self.column.classes(trees)
        if self.mark_column is not None and not any(example.mark is not None for example in train):
            raise ValueError(
                f"{path}: 'mark_key' {self.mark_column.key!r}: no word has it{self.mark_column.hint(trees)}"
            )

    def take_in(self, path: Path, intake: Intake) -> OwnSentences:
        spans = self.scheme == "bio"
        found = read_own_sentences(
            path,
            self.column,
            intake,
            spans=spans,
            mark=self.mark_column,
            outside=self.outside or OUTSIDE,
            constituents=bool(self.constituents or self.bracketed),
        )
        return _in_iob2(found) if spans else found


def _in_iob2(found: OwnSentences) -> OwnSentences:
    """The sentences of a file with labels converted to IOB2."""
    encoding = encoding_of([example.labels for example in found.examples])
    examples = []
    for example in found.examples:
        with placed(example.place):
            examples.append(dataclasses.replace(example, labels=recoded(example.labels, encoding)))
    if encoding == "IOB2":
        return found
    count = sum((label or "").startswith("B-") for example in examples for label in example.labels)
    notes = [*found.notes, f"{plural(count, 'span')} converted from {encoding} to IOB2"]
    return dataclasses.replace(found, examples=examples, notes=notes)


def _have(count: int) -> str:
    return f"{plural(count, 'example')} {'has' if count == 1 else 'have'}"
