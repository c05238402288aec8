"""What the corpora of labelled words share: trees, numbers of labels, marks, and what counting can see."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch_geometric.data import Data

from graphdep.data import mark_words
from graphdep.datasets.base.digest import digests
from graphdep.datasets.base.draw import spread_rows
from graphdep.datasets.base.parsed_dataset import Example
from graphdep.datasets.base.targets import UNKNOWN, UNSCORED
from graphdep.datasets.base.word_dataset import WordDataset, sentence_numbers
from graphdep.datasets.base.word_options import WordOptions
from graphdep.datasets.labels.labelled_words import LabelledWords
from graphdep.datasets.labels.relation_path import relation_paths
from graphdep.parsing import Parser
from graphdep.sentence import Sentence
from graphdep.vocab import Vocab


class LabelDataset(WordDataset):
    r"""Base of the corpora of labelled words: one ``Data`` an example, with a label for each word.

    A subclass says which raw files a split has, and :meth:`read` gives its examples as
    :class:`LabelledWords`. The classes are those of the training split, whole as it is, sorted by name.
    Sentences that several examples have in common, as predicates of one sentence do, are parsed once and
    counted once in the vocabulary.

    Args:
        root: Folder of the corpus.
        split: ``"train"``, ``"val"`` or ``"test"``, or another one of the corpus.
        parser: ``"gold"`` for the corpus' own trees; else a parser, or its name for
            :func:`graphdep.parsing.resolve_parser`, which parses the corpus' words.
        labels: See :class:`WordOptions`.
        options: Further ones, see :class:`WordOptions`.

    Shapes:
        - ``y``: :math:`(W)`, long, for each word the number of its label in :attr:`labels`; -1 for a label
          that is not among them, -100 for none
        - ``form_id``: :math:`(W)`, long, a digest of each word as it is written, the same in all splits
        - ``path_id``: :math:`(W)`, long, where some word of the corpus is marked: a digest of the way through
          the tree from it to each word (:func:`relation_paths`)
        - ``mark``: :math:`(|\mathcal{V}|)`, long, where some word is marked: 1 for its nodes, else 0
        - ``cut_y``: :math:`(K)`, long, with :obj:`tokens`: as ``y``, of the words at the end that
          :obj:`max_length` has cut away; nothing can be predicted for them, which is wrong
        - ``example_id``, ``group``: :math:`(1)`, long, the number of the example in its split, and one that
          those share that are right together or not at all
        - ``sentence``: :math:`(1)`, long, a number that examples of one sentence share: those that follow
          each other with the same words

    Raises:
        FileNotFoundError: If a raw file is missing; the message says where to get it.
        ValueError: If an option is wrong or a file is damaged, with file, line and value; if the training
            split has no label, or all of them are the same.
    """

    shared_options: ClassVar[type] = WordOptions
    marks: bool = False
    """Whether each example has a marked word."""
    spread: ClassVar[bool] = False
    """Whether ``limit`` takes examples from all parts of a split, and not its first ones."""
    outside: str | None = None
    """The label that stands for no finding; it is the first class."""
    scored_by: str = ""
    """What the labels are, for messages, such as ``" by their upos"``."""

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

    def words(self) -> list[list[str]]:
        """The words of each example, those too that :obj:`max_length` has cut away."""
        return [
            list(example.words)
            for example in self._limit(self.read(Path(self.raw_dir), self.split), self.limit)
        ]

    def examples(self, split: str, limit: int | None) -> list[Example]:
        found = self.read(Path(self.raw_dir), split)
        self.learn_labels(split, found)
        if found and all(label is None for example in found for label in example.labels):
            by = f" (is scored{self.scored_by})" if self.scored_by else ""
            raise found[0].error(f"no word of the split {split!r} has a label{by}")
        found = self._limit(found, limit)
        sentences = sentence_numbers(found)
        return [
            Example([tree], self.targets(example, tree, number) | {"sentence": sentences[number]})
            for number, (example, tree) in enumerate(zip(found, self.trees(found)))
        ]

    def _limit(self, found: list[LabelledWords], limit: int | None) -> list[LabelledWords]:
        if limit is None:
            return found
        return spread_rows(found, limit) if self.spread else found[:limit]

    def classes(self, train: Sequence[LabelledWords]) -> tuple[str, ...]:
        """The different labels of the training split by name, after that of no finding.

        Raises:
            ValueError: If there are fewer than two.
        """
        names = sorted({label for example in train for label in example.labels if label is not None})
        if len(names) < 2:
            what = f"all labels of the training split are {names[0]!r}" if names else "no word has a label"
            place = train[0].place if train else ""
            raise ValueError(f"{place}: {what}" if place else what)
        return tuple(sorted(names, key=lambda name: name != self.outside))

    def targets(self, example: LabelledWords, tree: Sentence, number: int) -> dict[str, Tensor]:
        """What is known of each word of an example."""
        numbers = {label: place for place, label in enumerate(self.labels)}
        y = [UNSCORED if label is None else numbers.get(label, UNKNOWN) for label in example.labels]
        group = number if example.group is None else example.group
        found = {"y": torch.tensor(y), "form_id": digests(example.words)}
        if self.marks:
            marked = [int(word == example.mark) for word in range(len(example))]
            found["mark"] = torch.tensor(marked)
            found["path_id"] = digests(relation_paths(tree, example.mark))
        return found | {"example_id": torch.tensor([number]), "group": torch.tensor([group])}

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
        """What stands for a word where labels are counted: ``"path"``, the way through the tree from the
        marked word, if some word of the split is marked, else ``"form"``.
        """
        return "path" if "mark" in self._data and bool(self._data.mark.any()) else "form"

    @property
    def follow_batch(self) -> list[str]:
        return [*super().follow_batch, *(["cut_y"] if "cut_y" in self._data else [])]

    def describe(self) -> dict[str, Any]:
        """As of every corpus, with the numbers of words that are scored and whose label is unknown, and of
        examples with a marked word.
        """
        y: Tensor = self.y
        y = torch.cat([y, self.cut_y]) if "cut_y" in self._data else y
        scored, unknown = int((y != UNSCORED).sum()), int((y == UNKNOWN).sum())
        note = f"{scored} of {y.numel()} words are scored{self.scored_by}"
        note += f", {unknown} with a label that training does not have, which are wrong" if unknown else ""
        own = {"scored_words": scored, "unknown_labels": unknown, "note": note}
        return super().describe() | own | ({"marked": self._num_marked()} if "mark" in self._data else {})

    def _num_marked(self) -> int:
        """In how many examples a word is marked."""
        sizes = [self._data.num_nodes] if self.slices is None else self.slices["mark"].diff().tolist()
        return sum(bool(marks.any()) for marks in self._data.mark.split(sizes))
