"""Universal Dependencies treebanks: sentences with gold trees."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Unpack

from graphdep.datasets.base.parsed_dataset import Example, ParsedDataset
from graphdep.datasets.base.parsed_options import ParsedOptions
from graphdep.datasets.base.seen_files import seen_files
from graphdep.io import read_conllu
from graphdep.sentence import Sentence


class UDTreebank(ParsedDataset):
    """The sentences of a treebank of `"Universal Dependencies v2" <https://aclanthology.org/2020.lrec-1.497/>`_
    with their gold trees, one example a sentence.

    A split is the file ``<name>-ud-<split>.conllu`` of the treebank's folder, or several where
    the treebank cuts it up (``<name>-ud-train-a.conllu``). There is no parser and no ``y``.

    Args:
        root: Folder of one treebank. (default: ``"datasets/ud"``)
        split: ``"train"``, ``"val"`` (the treebank's dev) or ``"test"``. (default: ``"train"``)
        options: Further ones, see :class:`ParsedOptions`. :obj:`arcs` is ``"basic"`` for the columns HEAD and
            DEPREL, or ``"enhanced"`` for DEPS. Where a treebank has no training split and only trees matter,
            pass an empty :class:`~graphdep.Vocab` as :obj:`vocab`.

    Raises:
        FileNotFoundError: If there is no file for the split; the message says where to get it.
        ValueError: If an option is wrong, or the folder holds several treebanks.
        graphdep.ConlluError: If a file is damaged, with file, line and value.

    Example:
        >>> from graphdep.datasets import UDTreebank
        >>> dataset = UDTreebank("datasets/mini/ud", split="val")
        >>> len(dataset), sorted(dataset[0].keys())[:3]
        (2, ['arc_index', 'arc_type', 'deprel'])
    """

    shared_options = ParsedOptions
    corpus = "UD treebank"
    published = "https://universaldependencies.org"

    def __init__(
        self,
        root: str | os.PathLike[str] = "datasets/ud",
        split: str = "train",
        **options: Unpack[ParsedOptions],
    ) -> None:
        arcs = options.get("arcs", "basic")
        if arcs not in ("basic", "enhanced"):
            raise ValueError(f"'arcs' must be 'basic' or 'enhanced' (got {arcs!r})")
        others: dict[str, Any] = {**options}
        to_data_options = {"root": others.pop("root_node", True)}
        super().__init__(root, split, to_data_options=to_data_options, **others)

    def raw_files(self, folder: Path, split: str) -> list[Path]:
        found = seen_files(folder, self.raw_file_pattern(split))
        if len({path.name.partition("-ud-")[0] for path in found}) > 1:
            names = ", ".join(path.name for path in found)
            raise ValueError(f"{folder} holds several treebanks ({names}): give each its own 'root'")
        return found

    def raw_file_pattern(self, split: str) -> str:
        return f"*-ud-{'dev' if split == 'val' else split}*.conllu"

    def options(self) -> dict[str, Any]:
        return {"parser": "gold"}

    def read(self, folder: Path, split: str) -> list[Sentence]:
        return [sentence for path in self.raw_files(folder, split) for sentence in read_conllu(path)]

    def examples(self, split: str, limit: int | None) -> list[Example]:
        return [Example([sentence]) for sentence in self.read(Path(self.raw_dir), split)[:limit]]
