"""Universal PropBank: roles at the heads of arguments, in the trees of a treebank of any language."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

from graphdep.datasets.base.draw import check_seed, drawn_part
from graphdep.datasets.base.parsed_dataset import Example
from graphdep.datasets.base.seen_files import seen_files
from graphdep.datasets.base.word_options import WordOptions
from graphdep.datasets.labels.bio import OUTSIDE
from graphdep.datasets.labels.label_dataset import LabelDataset
from graphdep.datasets.labels.labelled_words import LabelledWords
from graphdep.datasets.labels.propbank.up_sentences import UPPredicate, UPSentence, read_up
from graphdep.parsing import Parser
from graphdep.sentence import Sentence

logger = logging.getLogger("graphdep.datasets")

TRAIN_FROM = ("train", "dev")
_PREDICATE = ("V", "C-V")


@dataclass(frozen=True)
class _Counts:
    """What of a file is in no example."""

    unannotated_sentences: int
    second_roles: int


class UniversalPropBank(LabelDataset):
    r"""The roles of `"Universal Proposition Bank 2.0" <https://aclanthology.org/2022.lrec-1.181/>`_ or of its
    first release, for one language, one example a predicate, which is the marked word.

    A split is the file ``<name>-up-<split>.conllu`` (or ``.conllup``) of a language's folder, in a layout
    that :func:`~graphdep.datasets.labels.propbank.up_sentences.read_up` knows. Labels are those of the
    file, at the heads of arguments; ``O`` at all other words. The predicate's own words (its row, ``V`` and
    ``C-V``) have no label and are not scored.

    The largest training files are not at hand everywhere. With ``train_from="dev"`` the dev file is both the
    training split and, by sentences that are drawn from it, the one for validation; sentences of the same
    words are in one of them.

    Args:
        root: Folder of one language. (default: ``"datasets/universal-propbank"``)
        split: ``"train"``, ``"val"`` (the file's dev) or ``"test"``. (default: ``"train"``)
        parser: ``"gold"`` for the files' own trees; else a parser, or its name for
            :func:`graphdep.parsing.resolve_parser`, which parses the files' words. (default: ``"gold"``)
        train_from: ``"train"``, or ``"dev"`` to train on the dev file. (default: ``"train"``)
        val_fraction: With ``train_from="dev"``, the share of sentences that is drawn for validation.
            (default: :obj:`0.1`)
        seed: Of that draw. (default: :obj:`0`)
        options: Further ones, see :class:`~graphdep.datasets.base.word_options.WordOptions`. :obj:`limit`
            takes predicates from all parts of a split.

    Shapes:
        - as of :class:`~graphdep.datasets.labels.label_dataset.LabelDataset`

    Raises:
        FileNotFoundError: If there is no file for the split; the message says where to get it.
        ValueError: If an option is wrong, the folder holds several languages, or a file is damaged, with
            file, line and value.

    Example:
        >>> from graphdep.datasets import UniversalPropBank
        >>> dataset = UniversalPropBank("datasets/universal-propbank", "test", train_from="dev")
        >>> dataset.labels, dataset[0].y.tolist(), dataset[0].mark.tolist()
        (('O', 'ARG0', 'ARG1', 'ARGM-NEG'), [1, 0, 3, -100, 2, 0], [0, 0, 0, 0, 1, 0, 0])
    """

    corpus = "Universal PropBank"
    published = (
        "https://universalpropositions.github.io, a folder for each language in the repositories of "
        "https://github.com/UniversalPropositions"
    )
    marks = True
    outside = OUTSIDE
    spread = True

    def __init__(
        self,
        root: str | os.PathLike[str] = "datasets/universal-propbank",
        split: str = "train",
        parser: str | Parser = "gold",
        *,
        train_from: str = "train",
        val_fraction: float = 0.1,
        seed: int = 0,
        **options: Unpack[WordOptions],
    ) -> None:
        if train_from not in TRAIN_FROM:
            raise ValueError(f"'train_from' must be one of {', '.join(TRAIN_FROM)} (got {train_from!r})")
        if not 0 < val_fraction < 1:
            raise ValueError(f"'val_fraction' must be between 0 and 1 (got {val_fraction})")
        self.train_from, self.val_fraction, self.seed = train_from, val_fraction, check_seed(seed)
        self._counts: dict[str, _Counts] = {}
        super().__init__(root, split, parser, **options)

    def raw_files(self, folder: Path, split: str) -> list[Path]:
        found = seen_files(folder, self.raw_file_pattern(split))
        if len({path.name.partition("-up-")[0] for path in found}) > 1:
            names = ", ".join(path.name for path in found)
            raise ValueError(f"{folder} holds several languages ({names}): give each its own 'root'")
        return found

    def raw_file_pattern(self, split: str) -> str:
        name = self.train_from if split == "train" else "dev" if split == "val" else split
        return f"*-up-{name}*.conllu*"

    def options(self) -> dict[str, Any]:
        drawn = [self.val_fraction, self.seed] if self.train_from == "dev" else None
        return super().options() | {"train_from": self.train_from, "val": drawn}

    def read(self, folder: Path, split: str) -> list[LabelledWords]:
        found = [(path, one) for path in self.raw_files(folder, split) for one in read_up(path)]
        if self.train_from == "dev" and split != "test":
            drawn = self._drawn(folder, split, [one for _, one in found if one.predicates])
            found = [
                (path, one) for path, one in found if (tuple(one.tree.form) in drawn) == (split == "val")
            ]
        self._counts[split] = _Counts(
            sum(not one.annotated for _, one in found), sum(one.second_roles for _, one in found)
        )
        return [_example(path, one.tree, predicate) for path, one in found for predicate in one.predicates]

    def notes(self, examples: list[Example]) -> dict[str, Any]:
        return super().notes(examples) | vars(self._counts[self.split])

    def restore(self, notes: dict[str, Any]) -> None:
        super().restore(notes)
        self._left_out = _Counts(notes["unannotated_sentences"], notes["second_roles"])
        if self._left_out.second_roles:
            logger.warning(
                "%s (%s): %d roles are left out, as their words have another one of the same predicate",
                *(self.corpus, self.split, self._left_out.second_roles),
            )

    def describe(self) -> dict[str, Any]:
        """As of every corpus of labelled words, with the sentences that the file says to be without
        annotation, which give no example, and the roles that are left out.
        """
        return super().describe() | vars(self._left_out)

    def _drawn(self, folder: Path, split: str, sentences: list[UPSentence]) -> set[tuple[str, ...]]:
        """The sentences that are drawn for validation, as their words."""
        forms = list(dict.fromkeys(tuple(one.tree.form) for one in sentences))
        if len(forms) < 2:
            files = " and ".join(str(path) for path in self.raw_files(folder, split))
            raise ValueError(
                f"{files}: 'val' cannot be drawn from {len(forms)} different sentences with predicates"
            )
        return {forms[number] for number in drawn_part(len(forms), self.val_fraction, self.seed)}

    def _missing(self, split: str) -> str:
        message = super()._missing(split)
        if self.train_from == "dev" or split != "train":
            return message
        return (
            f"{message}. With train_from='dev' (on the command line: --set train_from=dev) the dev file is "
            "trained on, and 'val' is drawn from it"
        )


def _example(path: Path, tree: Sentence, predicate: UPPredicate) -> LabelledWords:
    named = [OUTSIDE if label == "_" else label for label in predicate.labels]
    labels = [None if label in _PREDICATE else label for label in named]
    labels[predicate.word] = None
    place = f"{path}:{predicate.line}"
    return LabelledWords(tree.form, labels, mark=predicate.word, tree=tree, place=place)
