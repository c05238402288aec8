"""Random words and random trees, with labels that depend on the tree only."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Unpack

from graphdep.datasets.base.words import WordOptions
from graphdep.datasets.labels.base import LabelDataset
from graphdep.datasets.labels.probe_corpus import (
    DEFAULT_FUNCTION,
    PROBE_FUNCTIONS,
    ProbeSizes,
    probe_sentences,
)
from graphdep.datasets.labels.words import LabelledWords
from graphdep.io.limits import check_choice, check_whole
from graphdep.parsing.parser import Parser


class Probes(LabelDataset):
    r"""A generated corpus of random words and random trees, in which the label of each word is a function of
    the tree only. A model can predict it only by reading the tree through its edges.

    Sentences, words, trees and marked words are drawn uniformly (:func:`probe_sentences`) and are the same
    for all functions with the same seed; all splits have the same distribution. There are no raw files.

    ============  ====================================================================  =======
    function      label of a word                                                       classes
    ============  ====================================================================  =======
    governor      class of its governor                                                 6
    relation      its relation to its governor                                          8
    depth         arcs up to ROOT, 1 to 6+                                              6
    path-2        groups of the relations of two arcs upwards                           4
    path-3        groups of the relations of three arcs upwards                         8
    subtree       number of words in its subtree, 1 to 5+                               5
    siblings      sides on which its governor has other dependents                      4
    clause        whether it is in the marked word's clause                             2
    ancestor      class of the lowest common ancestor of it and the marked word         6
    distance      arcs to the marked word, 1 to 6+                                      6
    next          class of the next word; depends on positions, not on the tree         6
    ============  ====================================================================  =======

    A clause is the subtree of the root word or of a word with relation *acl* or *advcl*, without the clauses
    in it. Words without a label (the root word has no governor) are not scored.

    Args:
        root: Folder for processed files. (default: ``"datasets/probes"``)
        split: ``"train"``, ``"val"`` or ``"test"``. (default: ``"train"``)
        parser: ``"gold"`` for the trees of the labels; another parser would parse meaningless words.
            (default: ``"gold"``)
        function: The function of the labels. (default: ``"governor"``)
        sentences: Number of training sentences; the other splits have a fifth each. (default: :obj:`5000`)
        min_words, max_words: The smallest and the largest number of words of a sentence. (default: :obj:`6`,
            :obj:`14`)
        num_words: Number of distinct words. (default: :obj:`60`)
        projective: Order the words of the same trees projectively, so that subtrees are constituents
            (:func:`probe_sentences`), for edges that read them, with ``constituents=True``.
            (default: :obj:`False`)
        seed: Seed of the draws. (default: :obj:`0`)
        options: Further options, see :class:`~graphdep.datasets.base.words.WordOptions`.

    Shapes:
        - as of :class:`~graphdep.datasets.labels.base.LabelDataset`

    Raises:
        ValueError: If an option is wrong; :obj:`raw_from` is not allowed, and :obj:`constituents` need
            projective trees.

    Example:
        >>> from graphdep.datasets import Probes
        >>> dataset = Probes("datasets/probes", "test", function="depth", sentences=100)
        >>> len(dataset), dataset.labels
        (20, ('1', '2', '3', '4', '5', '6+'))
    """

    corpus = "probes"
    published = "nowhere: it is generated"

    def __init__(
        self,
        root: str | os.PathLike[str] = "datasets/probes",
        split: str = "train",
        parser: str | Parser = "gold",
        *,
        function: str = DEFAULT_FUNCTION,
        sentences: int = 5000,
        min_words: int = 6,
        max_words: int = 14,
        num_words: int = 60,
        projective: bool = False,
        seed: int = 0,
        **options: Unpack[WordOptions],
    ) -> None:
        check_choice("function", function, PROBE_FUNCTIONS)
        check_whole("sentences", sentences)
        check_whole("seed", seed)
        files = options.get("raw_from")
        if files is not None:
            raise ValueError(f"'raw_from' is for corpora with files: this one is generated (got {files!r})")
        if not projective and parser == "gold" and options.get("constituents"):
            raise ValueError("'constituents' need projective=True, since other subtrees are not contiguous")
        self.projective = projective
        self.marks = PROBE_FUNCTIONS[function].needs_mark
        self.function, self.sentences, self.seed = function, sentences, seed
        self.sizes = ProbeSizes(min_words, max_words, num_words)
        self.scored_by = f" by their {function}"
        super().__init__(root, split, parser, **options)

    def options(self) -> dict[str, Any]:
        own: dict[str, Any] = {"function": self.function, "sentences": self.sentences, "seed": self.seed}
        if self.projective:  # left out by default: older files stay valid
            own["projective"] = True
        return super().options() | own | vars(self.sizes)

    def raw_files(self, folder: Path, split: str) -> list[Path]:
        return []

    def raw_file_pattern(self, split: str) -> str:
        return "no file"

    def download(self) -> None:
        """Does nothing: there are no raw files."""

    def read(self, folder: Path, split: str) -> list[LabelledWords]:
        function = PROBE_FUNCTIONS[self.function]
        count = self.sentences if split == "train" else -(-self.sentences // 5)
        seed, projective = f"{self.seed} {split}", self.projective
        drawn = islice(probe_sentences(self.sizes, seed, projective=projective), count)
        return [
            LabelledWords(
                tree.form,
                function.label(tree, mark),
                mark=mark if function.needs_mark else None,
                tree=tree,
                place=f"{self.corpus} ({split}): sentence {number}",
            )
            for number, (tree, mark) in enumerate(drawn, 1)
        ]

    def classes(self, train: Sequence[LabelledWords]) -> tuple[str, ...]:
        """All classes of the function, even if a small training split lacks some."""
        return PROBE_FUNCTIONS[self.function].classes
