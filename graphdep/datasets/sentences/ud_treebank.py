"""Universal Dependencies treebanks: sentences with gold trees."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from graphdep.datasets.base.parsed_dataset import Example, ParsedDataset
from graphdep.io import read_conllu
from graphdep.sentence import Sentence
from graphdep.vocab import RelationVocab, Tokens, Vocab


class UDTreebank(ParsedDataset):
    """The sentences of a treebank of `"Universal Dependencies v2" <https://aclanthology.org/2020.lrec-1.497/>`_
    with their gold trees, one example a sentence.

    A split is the file ``<name>-ud-<split>.conllu`` of the treebank's folder, or several where
    the treebank cuts it up (``<name>-ud-train-a.conllu``). There is no parser and no ``y``.

    Args:
        root: Folder of one treebank. (default: ``"datasets/ud"``)
        split: ``"train"``, ``"val"`` (the treebank's dev) or ``"test"``. (default: ``"train"``)
        raw_from: Local folder that has the files. (default: :obj:`None`)
        vocab: Vocabulary; :obj:`None` builds it from the training split. Where a treebank has none and only
            trees matter, pass an empty :class:`~graphdep.Vocab`. (default: :obj:`None`)
        tokens: Ids of words' pieces, in place of a vocabulary. (default: :obj:`None`)
        max_length: With :obj:`tokens`, the largest number of nodes of an example. (default: :obj:`None`)
        arcs: ``"basic"`` or ``"enhanced"``: where ``arc_index`` comes from, the columns HEAD and DEPREL, or
            DEPS. (default: ``"basic"``)
        relations: Ids of relations; :obj:`None` for the fixed ones, and where :obj:`arcs` are enhanced for
            those learned from the training split as well. (default: :obj:`None`)
        min_freq: Words seen less often are unknown, where the vocabulary is built. (default: :obj:`1`)
        lower: Look words up in lower case, where the vocabulary is built. (default: :obj:`True`)
        limit: Use the first sentences of the split only. (default: :obj:`None`)
        root_node: Put a ROOT node before the words. (default: :obj:`True`)
        transform, pre_transform, pre_filter, log, force_reload: As in :class:`ParsedDataset`.

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

    corpus = "UD treebank"
    published = "https://universaldependencies.org"

    def __init__(
        self,
        root: str | os.PathLike[str] = "datasets/ud",
        split: str = "train",
        *,
        raw_from: str | os.PathLike[str] | None = None,
        vocab: Vocab | None = None,
        tokens: Tokens | None = None,
        max_length: int | None = None,
        arcs: str = "basic",
        relations: RelationVocab | None = None,
        min_freq: int = 1,
        lower: bool = True,
        limit: int | None = None,
        root_node: bool = True,
        transform: Callable | None = None,
        pre_transform: Callable | None = None,
        pre_filter: Callable | None = None,
        log: bool = True,
        force_reload: bool = False,
    ) -> None:
        if arcs not in ("basic", "enhanced"):
            raise ValueError(f"'arcs' must be 'basic' or 'enhanced' (got {arcs!r})")
        super().__init__(
            root,
            split,
            raw_from=raw_from,
            vocab=vocab,
            tokens=tokens,
            max_length=max_length,
            arcs=arcs,
            relations=relations,
            min_freq=min_freq,
            lower=lower,
            limit=limit,
            to_data_options={"root": root_node},
            transform=transform,
            pre_transform=pre_transform,
            pre_filter=pre_filter,
            log=log,
            force_reload=force_reload,
        )

    def raw_files(self, folder: Path, split: str) -> list[Path]:
        found = sorted(folder.glob(self.raw_file_pattern(split)))
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
