"""The base class of corpora of labelled words and marked spans."""

from __future__ import annotations

import hashlib
import os
from abc import abstractmethod
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Protocol, cast

import torch
from torch import Tensor

from graphdep.datasets.base.parsed import Example, ParsedDataset, ParsedOptions, parser_options
from graphdep.datasets.base.rows import Label, some_of
from graphdep.io.files import home_path, place_error
from graphdep.io.limits import plural
from graphdep.parsing.enhanced import enhance, enhance_fingerprint
from graphdep.parsing.parser import Parser
from graphdep.parsing.resolver import resolve_parser
from graphdep.sentence.intake import needs_tree, with_tree
from graphdep.sentence.sentence import Sentence
from graphdep.vocab.vocab import Vocab


class WordOptions(ParsedOptions, total=False):
    """Options of every corpus of labelled words or marked spans: those of :class:`ParsedOptions`, and these.

    Args:
        labels: The classes, e.g. of a checkpoint; :obj:`None` for those of the corpus or, without a list, of
            the whole training split. (default: :obj:`None`)
    """

    labels: Sequence[Label] | None


class GivenWords(Protocol):
    """The words of an example, and its gold tree if it has one."""

    @property
    def words(self) -> Sequence[str]: ...
    @property
    def tree(self) -> Sentence | None: ...

    @property
    def place(self) -> str: ...


class WordDataset(ParsedDataset):
    """Base class of corpora of words with classes, and perhaps trees.

    A subclass reads its examples (:meth:`read`) and learns :attr:`labels` before it numbers them
    (:meth:`learn_labels`). A sentence of several examples is parsed once and counted once in the vocabulary.

    Args:
        root: Folder of the corpus.
        split: ``"train"``, ``"val"`` or ``"test"``, or another split of the corpus.
        parser: ``"gold"`` for the trees of the corpus; else a parser for its words, or the parser's name for
            :func:`graphdep.parsing.resolve_parser`.
        labels: The classes; :obj:`None` learns them from the training split. (default: :obj:`None`)
        root_node: Add a ROOT node before the words. (default: :obj:`True`)
        options: Further options, see :class:`ParsedOptions`.
    """

    labels: tuple[Label, ...]
    """The classes by their numbers."""
    unknown: list[Any]
    """The labels of the split that are no classes."""
    own_trees: ClassVar[bool] = True
    """Whether the corpus has gold trees."""
    keeps_trees: ClassVar[bool] = False
    """Whether an example's gold tree is used with any parser, which parses the others."""

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
        self._parser = self._resolve(root, parser, parser_options(options))
        self.is_parsed = self._parser is not None  # copies have no parser
        super().__init__(root, split, to_data_options={"root": root_node}, **options)

    def _resolve(
        self, root: str | os.PathLike[str], parser: str | Parser, reads: dict[str, Any]
    ) -> Parser | None:
        if parser == "gold":
            if not self.own_trees:
                raise ValueError(f"'parser' cannot be 'gold': {self.corpus} has no gold trees")
            return None
        cache = home_path(root) / "cache" / "parses.sqlite"
        return resolve_parser(parser, cache=cache, **reads)

    @abstractmethod
    def classes(self, train: Sequence[Any]) -> tuple[str, ...]:
        """The classes of the training examples."""

    @property
    def num_classes(self) -> int:
        """The number of classes, independent of the split."""
        return len(self.labels)

    def learn_labels(self, split: str, found: Sequence[Any]) -> None:
        """Learns the classes from the whole training split, unless they are known.

        Args:
            split: The split that was read.
            found: All of its examples.
        """
        if self.learns_labels and not self.labels:
            folder = Path(self.raw_dir)
            train = found if split == "train" else self.read(folder, "train")
            self._check_some(len(train), folder, "train")
            self.labels = self.classes(train)

    def options(self) -> dict[str, Any]:
        parser = "gold" if self._parser is None else self._parser.fingerprint
        enhanced = {} if self.arcs == "basic" else {"enhance": enhance_fingerprint(self.engine)}
        labels = None if self.learns_labels else self.labels
        return {"parser": parser, **enhanced, "labels": labels, "sentence": True, "unknown": True}

    def trees(self, examples: Sequence[GivenWords]) -> list[Sentence]:
        """The tree of each example; examples with the same words share it."""
        given = [self._given_tree(example) for example in examples]
        parsed = iter(self._parse([e.words for e, tree in zip(examples, given) if needs_tree(tree)]))
        trees = [
            with_tree(tree, next(parsed)) if needs_tree(tree) else cast(Sentence, tree) for tree in given
        ]
        return trees if self.arcs == "basic" else enhance(trees, self.arcs, self.engine)

    def _given_tree(self, example: GivenWords) -> Sentence | None:
        tree = example.tree
        if self._parser is None and needs_tree(tree):
            raise place_error(example.place, "the sentence has no gold tree, which parser='gold' requires")
        if self._parser is not None and not self.keeps_trees:
            return None
        lacks = self.constituents and not needs_tree(tree) and cast(Sentence, tree).constituents is None
        if lacks and getattr(example, "constituents", None) is None:
            raise place_error(
                example.place,
                "the tree has no constituents, which the model reads: give 'constituents', or have the words "
                "parsed (--set trees=parser)",
            )
        return tree

    def _parse(self, words: Sequence[Sequence[str]]) -> list[Sentence]:
        if self._parser is None or not words:
            return []
        before = self._parser.failures
        trees = self._parser.parse_words(words)
        self.parser_failures += self._parser.failures - before
        return trees

    def make_vocab(self, examples: list[Example]) -> Vocab:
        # Each sentence counts once, even if it has five examples.
        forms = {tuple(sentence.form) for example in examples for sentence in example.sentences}
        return Vocab.build(sorted(forms), min_freq=self.min_freq, lower=self.lower)

    def notes(self, examples: list[Example]) -> dict[str, Any]:
        given = (one.given[1] for one in examples)  # a label, or one for each word
        labels = chain.from_iterable(own if isinstance(own, list) else [own] for own in given)
        return {"labels": list(self.labels), "unknown": sorted({*labels} - {*self.labels, None}, key=str)}

    def restore(self, notes: dict[str, Any]) -> None:
        self.labels, self.unknown = tuple(notes["labels"]), notes["unknown"]

    def check_labels(self) -> None:
        """Raises :class:`ValueError` if all labels of the split are unknown."""
        own: Any = self if self._indices is None else self.copy()
        if self.unknown and not bool((own.y >= 0).any()):
            raise ValueError(f"no label of {self.split} is a label of train (got {some_of(self.unknown)})")

    def unknown_note(self) -> str:
        """The labels that training does not have, by name."""
        labels = plural(len(self.unknown), "label")
        wrong = "counted as wrong, in macro_f1 as one label with F1 0"
        return f"with {labels} that training does not have ({some_of(self.unknown)}), {wrong}"

    @property
    def unknown_name(self) -> str:
        """The name of these labels in tables."""
        return f"(unknown: {some_of(self.unknown)})"

    def update_digest(self, sha: hashlib._Hash) -> None:
        super().update_digest(sha)
        sha.update(repr(self.labels).encode())  # the meaning of the class numbers


def sentence_numbers(examples: Sequence[GivenWords]) -> list[Tensor]:
    """The number of each example's sentence, ``[1]``; adjacent examples with the same words share it, even if
    their trees differ.
    """
    numbers, before = [0], None
    for example in examples:
        words = list(example.words)
        numbers.append(numbers[-1] + (before is not None and words != before))
        before = words
    return [torch.tensor([number]) for number in numbers[1:]]


def _checked(labels: Sequence[Label]) -> tuple[Label, ...]:
    """Raises :class:`ValueError` unless the labels are distinct."""
    if isinstance(labels, str) or not labels or len(set(labels)) != len(labels):
        raise ValueError(f"'labels' must be a list of distinct labels (got {labels!r})")
    return tuple(labels)
