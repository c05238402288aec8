"""PropBank's roles in the sentences of English EWT."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Unpack

from graphdep.datasets.base.parsed_dataset import Example
from graphdep.datasets.base.seen_files import seen_files
from graphdep.datasets.base.word_options import WordOptions
from graphdep.datasets.labels.bio import OUTSIDE, bio_of, with_insides
from graphdep.datasets.labels.label_dataset import LabelDataset
from graphdep.datasets.labels.labelled_words import LabelledWords
from graphdep.datasets.labels.propbank.ewt_sentences import SKELETON, TREEBANK, EWTSentence, LeftOut, read_ewt
from graphdep.datasets.labels.propbank.propbank_skeletons import SkeletonPredicate
from graphdep.datasets.labels.propbank.span_head import span_head
from graphdep.parsing import Parser

logger = logging.getLogger("graphdep.datasets")

FORMS = ("heads", "spans")
PREDICATE = ("V", "C-V")
"""Labels of the predicate itself and of a part of it that stands apart."""
_FEW = 3


class PropBankEWT(LabelDataset):
    r"""The roles of `"PropBank: Semantics of New Predicate Types" <https://aclanthology.org/L14-1011/>`_ in
    the sentences of the English Web Treebank, one example a predicate, which is the marked word.

    Skeletons without words come from PropBank's release, words and gold trees from UD English EWT, whose
    splits are taken. Sentence ``NUMBER`` of a document there is sentence ``NUMBER - 1`` here. A sentence
    without a skeleton of as many tokens is left out: :attr:`unmatched` names all of them,
    :meth:`describe` counts them and their predicates, and a log line says so.

    There are two forms of labels:

    ===========  =======================================================================================
    ``"heads"``  each argument's label at one word of it, that nearest to the root of the gold tree, the first
                 of several (:func:`~graphdep.datasets.labels.span_head.span_head`); ``O`` at all others
    ``"spans"``  BIO: ``B-ARG0`` at the first word of an argument, ``I-ARG0`` at further ones, ``O`` outside
    ===========  =======================================================================================

    Words of the predicate (PropBank's ``V`` and ``C-V``, as *pick* and *up*, and the word that has the
    roleset) have no label and are not scored, as in CoNLL-2005. All other labels are PropBank's: parts
    (``C-ARG1``) and references (``R-ARG0``) are labels of their own, and spans of a predicate never overlap.
    Roles of auxiliaries and light verbs (``take.LV``) are examples as all others.

    The heads of ``"heads"`` are placed by gold trees, whatever :obj:`parser` the examples have.

    Args:
        root: Folder of the corpus. (default: ``"datasets/propbank-ewt"``)
        split: ``"train"``, ``"val"`` (the treebank's dev) or ``"test"``. (default: ``"train"``)
        parser: ``"gold"`` for the treebank's own trees; else a parser, or its name for
            :func:`graphdep.parsing.resolve_parser`, which parses the treebank's words. (default: ``"gold"``)
        form: ``"heads"`` or ``"spans"``. (default: ``"heads"``)
        ud_from: Local folder with the treebank, where it is not below :obj:`raw_from` as well; both are
            searched with all of their folders. (default: :obj:`None`)
        options: Further ones, see :class:`~graphdep.datasets.base.word_options.WordOptions`. :obj:`limit`
            takes predicates from all parts of a split.

    Shapes:
        - as of :class:`~graphdep.datasets.labels.label_dataset.LabelDataset`

    Raises:
        FileNotFoundError: If skeletons or treebank are missing; the message says where to get them.
        ValueError: If an option is wrong, a file is there twice, or a file is damaged, with file, line and
            value.

    Example:
        >>> from graphdep.datasets import PropBankEWT
        >>> dataset = PropBankEWT("datasets/propbank-ewt", form="heads")
        >>> dataset.labels, dataset[0].y.tolist(), dataset[0].mark.tolist()
        (('O', 'ARG0', 'ARG1', 'ARGM-NEG'), [1, 0, 3, -100, 2, 0], [0, 0, 0, 0, 1, 0, 0])
    """

    corpus = "PropBank on EWT"
    published = (
        "https://github.com/propbank/propbank-release (data/google/ewt/**/*.gold_skel), words and trees at "
        "https://github.com/UniversalDependencies/UD_English-EWT"
    )
    marks = True
    outside = OUTSIDE
    spread = True
    unmatched: tuple[str, ...]
    """The sentences of the split that are left out, and why."""

    def __init__(
        self,
        root: str | os.PathLike[str] = "datasets/propbank-ewt",
        split: str = "train",
        parser: str | Parser = "gold",
        *,
        form: str = "heads",
        ud_from: str | os.PathLike[str] | None = None,
        **options: Unpack[WordOptions],
    ) -> None:
        if form not in FORMS:
            raise ValueError(f"'form' must be one of {', '.join(FORMS)} (got {form!r})")
        if ud_from is not None and options.get("raw_from") is None:
            raise ValueError(f"'ud_from' needs 'raw_from', the folder of skeletons (got {str(ud_from)!r})")
        self.form = form
        self.ud_from = None if ud_from is None else Path(ud_from).expanduser()
        self._left_out: dict[str, LeftOut] = {}
        super().__init__(root, split, parser, **options)

    def raw_files(self, folder: Path, split: str) -> list[Path]:
        treebank, skeletons = self._treebank(folder, split), _skeletons(folder)
        return [*treebank, *skeletons] if treebank and skeletons else []

    def raw_file_pattern(self, split: str) -> str:
        return f"en_ewt-ud-{'dev' if split == 'val' else split}*{TREEBANK}"

    def raw_file_name(self, split: str) -> str:
        folders = [folder for folder in (self.raw_from, Path(self.raw_dir)) if folder is not None]
        there = any(_skeletons(folder) for folder in folders)
        return self.raw_file_pattern(split) if there else f"*{SKELETON}"

    def raw_target(self, path: Path, split: str) -> Path:
        return Path(self.raw_dir, "propbank" if path.name.endswith(SKELETON) else "ud", path.name)

    def options(self) -> dict[str, Any]:
        return super().options() | {"form": self.form}

    def read(self, folder: Path, split: str) -> list[LabelledWords]:
        files = self.raw_files(folder, split)
        skeletons = [path for path in files if path.name.endswith(SKELETON)]
        treebank = [path for path in files if path.name.endswith(TREEBANK)]
        sentences, self._left_out[split] = read_ewt(treebank, skeletons)
        return [
            self._example(sentence, predicate)
            for sentence in sentences
            for predicate in sentence.skeleton.predicates
        ]

    def classes(self, train: Sequence[LabelledWords]) -> tuple[str, ...]:
        names = super().classes(train)
        return with_insides(names) if self.form == "spans" else names

    def notes(self, examples: list[Example]) -> dict[str, Any]:
        left_out = self._left_out[self.split]
        noted = {"unmatched": left_out.names, "unmatched_predicates": left_out.predicates}
        return super().notes(examples) | noted

    def restore(self, notes: dict[str, Any]) -> None:
        super().restore(notes)
        self.unmatched, self._unmatched_predicates = tuple(notes["unmatched"]), notes["unmatched_predicates"]
        if self.unmatched:
            rest = len(self.unmatched) - _FEW
            some = ", ".join(self.unmatched[:_FEW]) + (f" and {rest} others" if rest > 0 else "")
            logger.warning(
                "%s (%s): %d sentences with %d predicates are left out, as words and skeleton differ: %s",
                *(self.corpus, self.split, len(self.unmatched), self._unmatched_predicates, some),
            )

    def describe(self) -> dict[str, Any]:
        """As of every corpus of labelled words, with the numbers of sentences and predicates left out."""
        left_out = {
            "unmatched_sentences": len(self.unmatched),
            "unmatched_predicates": self._unmatched_predicates,
        }
        return super().describe() | left_out

    def _example(self, sentence: EWTSentence, predicate: SkeletonPredicate) -> LabelledWords:
        tree = sentence.bracketed if self.constituents and self._parser is None else sentence.tree
        place = f"{sentence.path}:{predicate.line}"
        arguments = [span for span in predicate.spans if span[2] not in PREDICATE]
        labels: list[str | None]
        if self.form == "spans":
            labels = [*bio_of(arguments, len(tree))]
        else:
            labels = [OUTSIDE] * len(tree)
            for start, end, label in arguments:
                labels[span_head(tree, start, end)] = label
        own = [range(start, end) for start, end, label in predicate.spans if label in PREDICATE]
        for word in (predicate.word, *(word for span in own for word in span)):
            labels[word] = None
        return LabelledWords(tree.form, labels, mark=predicate.word, tree=tree, place=place)

    def _treebank(self, folder: Path, split: str) -> list[Path]:
        source = self.ud_from if self.ud_from is not None and folder == self.raw_from else folder
        found = seen_files(source, f"**/{self.raw_file_pattern(split)}")
        if len({path.parent for path in found}) > 1:
            names = ", ".join(map(str, found))
            raise ValueError(f"{source} has several treebanks ({names}): name the folder of one of them")
        return found

    def _missing(self, split: str) -> str:
        return (
            f"{super()._missing(split)}. Where the treebank is in a folder of its own, pass that as "
            "ud_from=DIR besides (on the command line: --set ud_from=DIR)"
        )


def _skeletons(folder: Path) -> list[Path]:
    """The skeletons below a folder; of PropBank's whole release those of EWT."""
    found = seen_files(folder, f"**/*{SKELETON}")
    own = [path for path in found if "ewt" in path.relative_to(folder).parts] or found
    for name, count in Counter(path.name for path in own).items():
        if count > 1:
            twice = " and ".join(str(path) for path in own if path.name == name)
            raise ValueError(f"{folder} has {name} twice, {twice}: name a folder with one of them")
    return own
