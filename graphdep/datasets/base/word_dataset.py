"""What corpora have in common that give words: their own trees or a parser's, and learned classes."""

from __future__ import annotations

import hashlib
import os
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor

from graphdep.datasets.base.parsed_dataset import Example, ParsedDataset
from graphdep.datasets.base.text_rows import Label
from graphdep.parsing import Parser, enhance, enhance_fingerprint, resolve_parser
from graphdep.sentence import Sentence
from graphdep.vocab import Vocab


class GivenWords(Protocol):
    """The words of an example, and its own tree if it has one."""

    @property
    def words(self) -> Sequence[str]: ...
    @property
    def tree(self) -> Sentence | None: ...

    def error(self, message: str) -> ValueError:
        """An error that begins with the place of the example."""
        ...


class WordDataset(ParsedDataset):
    """Base of the corpora that give words and classes, and perhaps trees.

    A subclass reads its examples (:meth:`read`) and sees to it that :attr:`labels` are learned before they
    are numbered (:meth:`learn_labels`). Sentences that several examples have in common are parsed once and
    counted once in the vocabulary.

    Args:
        root: Folder of the corpus.
        split: ``"train"``, ``"val"`` or ``"test"``, or another one of the corpus.
        parser: ``"gold"`` for the corpus' own trees; else a parser, or its name for
            :func:`graphdep.parsing.resolve_parser`, which parses the corpus' words.
        labels: The classes; :obj:`None` learns them from the training split. (default: :obj:`None`)
        root_node: Whether there is a ROOT node before the words. (default: :obj:`True`)
        options: Further ones, see :class:`ParsedOptions`.
    """

    labels: tuple[Label, ...]
    """The classes by their numbers."""
    own_trees: ClassVar[bool] = True
    """Whether the corpus has trees of its own."""
    keeps_trees: ClassVar[bool] = False
    """Whether an example's own tree is taken whatever the parser, which parses the others."""

    def __init__(
        self,
        root: str | os.PathLike[str],
        split: str,
        parser: str | Parser,
        *,
        labels: Sequence[Label] | None = None,
        root_node: bool = True,
        **options: Any,
    ) -> None:
        self.learns_labels = labels is None
        self.labels = () if labels is None else _checked(labels)
        if labels is None:
            self.train_is_for = "the labels are learned from it unless 'labels' are given"
        reads = {"arcs": options.get("arcs", "basic"), "constituents": options.get("constituents", False)}
        self._parser = self._resolve(root, parser, reads)
        super().__init__(root, split, to_data_options={"root": root_node}, **options)

    def _resolve(
        self, root: str | os.PathLike[str], parser: str | Parser, reads: dict[str, Any]
    ) -> Parser | None:
        if parser == "gold":
            if not self.own_trees:
                raise ValueError(f"'parser' cannot be 'gold': {self.corpus} has no trees of its own")
            return None
        cache = Path(root).expanduser() / "cache" / "parses.sqlite"
        return resolve_parser(parser, cache=cache, **reads)

    def __getstate__(self) -> dict[str, Any]:
        # Models and a database do not travel to the workers of a DataLoader.
        return {key: value for key, value in self.__dict__.items() if key != "_parser"}

    @abstractmethod
    def classes(self, train: Sequence[Any]) -> tuple[str, ...]:
        """The classes that the examples of the training split have."""

    @property
    def num_classes(self) -> int:
        """The number of classes, whatever the split holds."""
        return len(self.labels)

    def learn_labels(self, split: str, found: Sequence[Any]) -> None:
        """Learns the classes, unless they are known, from the training split, whole as it is.

        Args:
            split: The split that was read.
            found: All that it has.

        Raises:
            ValueError: If the training split has no example, or too few classes.
        """
        if self.learns_labels and not self.labels:
            folder = Path(self.raw_dir)
            train = found if split == "train" else self.read(folder, "train")
            self._check_some(len(train), folder, "train")
            self.labels = self.classes(train)

    def options(self) -> dict[str, Any]:
        parser = "gold" if self._parser is None else self._parser.fingerprint
        enhanced = {} if self.arcs == "basic" else {"enhance": enhance_fingerprint(self.arcs)}
        labels = None if self.learns_labels else self.labels
        return {"parser": parser, **enhanced, "labels": labels, "sentence": True}

    def trees(self, examples: Sequence[GivenWords]) -> list[Sentence]:
        """The tree of each example, one for all that have the same words."""
        given = [self._given_tree(example) for example in examples]
        parsed = iter(self._parse([e.words for e, tree in zip(examples, given) if tree is None]))
        trees = [next(parsed) if tree is None else tree for tree in given]
        return trees if self.arcs == "basic" else enhance(trees, level=self.arcs)

    def _given_tree(self, example: GivenWords) -> Sentence | None:
        if self._parser is None and example.tree is None:
            raise example.error("the sentence has no tree of its own, which parser='gold' asks for")
        return example.tree if self._parser is None or self.keeps_trees else None

    def _parse(self, words: Sequence[Sequence[str]]) -> list[Sentence]:
        if self._parser is None or not words:
            return []
        before = self._parser.failures
        trees = self._parser.parse_words(words)
        self.parser_failures += self._parser.failures - before
        return trees

    def make_vocab(self, examples: list[Example]) -> Vocab:
        # Each sentence once: one of five examples would make its words five times as frequent.
        forms = {tuple(sentence.form) for example in examples for sentence in example.sentences}
        return Vocab.build(sorted(forms), min_freq=self.min_freq, lower=self.lower)

    def notes(self, examples: list[Example]) -> dict[str, Any]:
        return {"labels": list(self.labels)}

    def restore(self, notes: dict[str, Any]) -> None:
        self.labels = tuple(notes["labels"])

    def update_digest(self, sha: hashlib._Hash) -> None:
        super().update_digest(sha)
        sha.update(repr(self.labels).encode())  # what the numbers of learned classes stand for


def sentence_numbers(examples: Sequence[GivenWords]) -> list[Tensor]:
    """The number of each example's sentence ``[1]``: that of the example before it if the words are the same.

    Trees do not matter, so that rows with other parses have the same numbers.
    """
    numbers, before = [0], None
    for example in examples:
        words = list(example.words)
        numbers.append(numbers[-1] + (before is not None and words != before))
        before = words
    return [torch.tensor([number]) for number in numbers[1:]]


def _checked(labels: Sequence[Label]) -> tuple[Label, ...]:
    """Raises :class:`ValueError` unless there are labels, and none of them twice."""
    if isinstance(labels, str) or not labels or len(set(labels)) < len(labels):
        raise ValueError(f"'labels' must be a list of labels, none of them twice (got {labels!r})")
    return tuple(labels)
