"""Sentences of one's own, with a label for each word."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Unpack

from graphdep.datasets.base.drawn_val import DrawnVal
from graphdep.datasets.base.own_files import OwnFiles
from graphdep.datasets.base.word_options import WordOptions
from graphdep.datasets.labels.bio import OUTSIDE, check_bio, with_insides
from graphdep.datasets.labels.column import Column, mark_column
from graphdep.datasets.labels.label_dataset import LabelDataset
from graphdep.datasets.labels.labelled_words import LabelledWords
from graphdep.datasets.labels.own.own_sentences import (
    KEYED_FILES,
    OwnSentences,
    check_label_file,
    read_own_sentences,
)
from graphdep.io.limits import MAX_WORDS, plural
from graphdep.parsing import Parser
from graphdep.parsing.parser import WordLimit

SCHEMES = ("words", "bio")


class OwnLabels(OwnFiles, LabelDataset):
    r"""The user's own sentences with a label for each word, or for some of them.

    =============================  ===========================================================================
    ``.jsonl``, ``.parquet``       a line or row is ``{"words": [...], "labels": [...]}``; ``null`` in
                                   ``labels`` is a word that is not scored. There may be a ``mark``, the
                                   number of one word, from 0, as which the labels see the sentence; and
                                   ``head`` and ``deprel``, of each word the number of its governor, from 1, 0
                                   for the root, and its relation to it
    ``.conllu``                    trees, and labels in the column that :obj:`key` names; the marked word of a
                                   sentence, where there is one, has the key :obj:`mark_key` in MISC or FEATS
    ``.tsv``, ``.txt``,            a word and its label a line, separated by a tab or blanks, and a blank line
    ``.conll``                     behind each sentence, as in CoNLL-2003; see
                                   :func:`~graphdep.datasets.labels.own.word_columns.read_word_columns`
    ``.spacy``                     a ``DocBin`` of documents with trees; labels in the column that :obj:`key`
                                   names, or with ``scheme="bio"`` the entities; needs the extra ``[spacy]``
    =============================  ===========================================================================

    The files are read where they are; below :obj:`root` are only processed examples and the cache of parses.
    Sentences that have a tree keep it, whatever :obj:`parser` is; it parses the others. The classes are
    learned from the training file, whole as it is; a label that it does not have is counted, and wrong
    whatever is predicted. Where no word of the training split is marked, ``path_id`` is that of no mark, and
    counting (:attr:`looks_up`) goes by the form of a word.

    Args:
        root: Folder of what is made of the files. (default: ``"datasets/labels"``)
        split: ``"train"``, ``"val"`` or, with a file for it, ``"test"``. (default: ``"train"``)
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser; ``"gold"`` where all sentences
            have trees. (default: ``"bundled"``)
        train: File with the training sentences.
        val: File with the sentences for validation; :obj:`None` draws sentences from the training file, each
            with all examples of it. (default: :obj:`None`)
        test: File with the sentences for testing; :obj:`None` for no such split. (default: :obj:`None`)
        key, absent: Of ``.conllu`` and ``.spacy``, see :class:`~graphdep.datasets.labels.column.Column`.
            (default: ``"upos"``, :obj:`None`)
        mark_key: Of ``.conllu``, the key of MISC or FEATS that the marked word has, whatever its value, such
            as ``"misc:Mark"`` for ``Mark=Yes``; one word a sentence at most, so that a sentence with two
            predicates is there twice. (default: :obj:`None`, no word is marked)
        scheme: ``"words"``, or ``"bio"`` for labels that say where spans begin and go on, which are then
            checked. (default: ``"words"``)
        outside: The label that stands for no finding, which F1 leaves out; it is the first class if there is
            one of that name. (default: ``"O"``)
        val_fraction: The share of the sentences that is drawn for validation. (default: :obj:`0.1`)
        seed: Of that draw. (default: :obj:`0`)
        max_words, truncate: Words of a sentence at most, and whether the first ones of a longer sentence are
            read, which else is an error. What is cut is counted. (default: :obj:`10_000`, :obj:`False`)
        options: Further ones, see :class:`~graphdep.datasets.base.word_options.WordOptions`, but
            :obj:`raw_from`: the files are read where they are.

    Shapes:
        - as of :class:`~graphdep.datasets.labels.label_dataset.LabelDataset`; ``mark`` is 0 everywhere where
          no word of an example is marked

    Raises:
        FileNotFoundError: If a file is missing.
        ValueError: If an option is wrong, or a sentence is: another number of labels than words, a label that
            is no text, two marks or one outside of the sentence, a tree that is none, with ``scheme="bio"``
            an ``I-X`` that nothing of X stands before; the message has file, line and value.
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
        key: str = "upos",
        absent: str | None = None,
        mark_key: str | None = None,
        scheme: str = "words",
        outside: str | None = OUTSIDE,
        val_fraction: float = 0.1,
        seed: int = 0,
        max_words: int = MAX_WORDS,
        truncate: bool = False,
        **options: Unpack[WordOptions],
    ) -> None:
        self.take_files(train, val, test, options.get("raw_from"))
        for name, path in self.files.items():
            check_label_file(name, path)
        if scheme not in SCHEMES:
            raise ValueError(f"'scheme' must be one of {', '.join(SCHEMES)} (got {scheme!r})")
        if scheme == "bio" and outside != OUTSIDE:
            raise ValueError(f"'outside' must be {OUTSIDE!r} where 'scheme' is 'bio' (got {outside!r})")
        self.column, self.scheme, self.outside = Column(key, absent), scheme, outside
        self.mark_column = None if mark_key is None else mark_column(mark_key)
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
        return super().options() | own

    def read(self, folder: Path, split: str) -> list[LabelledWords]:
        found, skipped = self._sentences(self.file(split))
        drawn = ""
        if split != "test" and "val" not in self.files:
            found, drawn = self.drawn_val.part(found, split)
        cut = [example.cut(self.word_limit) for example in found]
        self._said[split] = {
            "drawn": drawn,
            "own_trees": sum(example.tree is not None for example in cut),
            "marked": sum(example.mark is not None for example in cut),
            "skipped_lines": skipped,
            "truncated_words": sum(map(len, found)) - sum(map(len, cut)),
        }
        return cut

    def learn_labels(self, split: str, found: Sequence[LabelledWords]) -> None:
        if self.learns_labels and not self.labels:
            # All of the training file, with what is drawn from it for validation.
            whole = self._sentences(self.file("train")).examples
            self.labels = self.classes([example.cut(self.word_limit) for example in whole])

    def classes(self, train: Sequence[LabelledWords]) -> tuple[str, ...]:
        self._check_keys(train)
        names = super().classes(train)
        return with_insides(names) if self.scheme == "bio" else names

    def notes(self, examples: list[Any]) -> dict[str, Any]:
        return super().notes(examples) | {"said": self._said[self.split]}

    def restore(self, notes: dict[str, Any]) -> None:
        super().restore(notes)
        self._said = {self.split: notes["said"]}

    def describe(self) -> dict[str, Any]:
        """As of every corpus of labelled words; also ``own_trees``, the examples of the file (before
        :obj:`limit`) that have a tree of their own, ``skipped_lines``, those that are no rows, and
        ``truncated_words``.
        """
        said, described = dict(self._said[self.split]), super().describe()
        drawn, marked, unmarked = said.pop("drawn"), described["marked"], len(self) - described["marked"]
        notes = [
            described["note"],
            *([drawn] if drawn else []),
            *([f"{_have(said['own_trees'])} a tree of their own"] if said["own_trees"] else []),
            *([f"{_have(marked)} a marked word"] if marked else []),
            *([f"{_have(unmarked)} none, though others have"] if marked and unmarked else []),
            *([f"{plural(said['skipped_lines'], 'comment')} left out"] if said["skipped_lines"] else []),
            *([f"{plural(said['truncated_words'], 'word')} cut"] if said["truncated_words"] else []),
            *self._common_label(),
        ]
        return {**said, **described, "note": "; ".join(notes)}

    def _common_label(self) -> list[str]:
        """A note where the label of most words is not the one that F1 leaves out."""
        if self.split != "train" or self.scheme == "bio" or self.outside in (None, *self.labels):
            return []
        counts = self.y[self.y >= 0].bincount(minlength=len(self.labels))
        share, label = float(counts.max() / counts.sum().clamp(min=1)), self.labels[int(counts.argmax())]
        if share <= 0.5:
            return []
        return [
            f"{share:.0%} of the labels are {label!r}, which f1 counts as a finding: --set outside={label} "
            "leaves it out"
        ]

    def _check_keys(self, train: Sequence[LabelledWords]) -> None:
        """Raises :class:`ValueError`, with the keys that there are, if one that was given is nowhere."""
        trees = [example.tree for example in train if example.tree is not None]
        path = self.file("train")
        if (
            path.suffix.lower() in KEYED_FILES
            and trees
            and not (path.suffix == ".spacy" and self.scheme == "bio")
        ):
            try:
                self.column.classes(trees)
            except ValueError as error:
                raise ValueError(f"{path}: {error}") from None
        if self.mark_column is not None and not any(example.mark is not None for example in train):
            raise ValueError(
                f"{path}: 'mark_key' {self.mark_column.key!r}: no word has it{self.mark_column.hint(trees)}"
            )

    def _sentences(self, path: Path) -> OwnSentences:
        """All that a file has."""
        found = read_own_sentences(path, self.column, spans=self.scheme == "bio", mark=self.mark_column)
        if self.scheme == "bio":
            for example in found.examples:
                _check_bio(example)
        return found


def _have(count: int) -> str:
    return f"{plural(count, 'example')} {'has' if count == 1 else 'have'}"


def _check_bio(example: LabelledWords) -> None:
    try:
        check_bio(example.labels)
    except ValueError as error:
        raise example.error(str(error)) from None
