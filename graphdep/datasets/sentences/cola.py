"""CoLA: sentences, acceptable or not."""

from __future__ import annotations

import os
from collections.abc import Callable

from graphdep.datasets.sentences.glue import GLUE
from graphdep.parsing import Parser
from graphdep.vocab import RelationVocab, Tokens, Vocab


class CoLA(GLUE):
    r"""The sentences of `"Neural Network Acceptability Judgments" <https://arxiv.org/abs/1805.12471>`_, a
    tree a sentence: :class:`GLUE` with ``name="cola"``.

    Args:
        root: Folder of GLUE. (default: ``"datasets/glue"``)
        split: ``"train"``, ``"val"`` or ``"test"``, see :class:`GLUE`. (default: ``"train"``)
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser. (default: ``"bundled"``)
        val_from: ``"train"`` or ``"dev"``, see :class:`GLUE`. (default: ``"train"``)
        raw_from, vocab, tokens, max_length, arcs, relations, min_freq, lower, limit, root_node, transform,
            pre_transform, pre_filter, log, force_reload: As in :class:`GLUE`.

    Shapes:
        - ``y``: :math:`(1)` long, the number of the label in :attr:`labels` (1 is acceptable); absent where
          the files have no labels

    Raises:
        FileNotFoundError, ValueError: As :class:`GLUE`.

    Example:
        >>> from graphdep.datasets import CoLA
        >>> dataset = CoLA("datasets/glue", split="train", parser="chain", limit=8)
        >>> len(dataset), dataset.num_classes
        (8, 2)
    """

    def __init__(
        self,
        root: str | os.PathLike[str] = "datasets/glue",
        split: str = "train",
        parser: str | Parser = "bundled",
        *,
        val_from: str = "train",
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
        super().__init__(
            root,
            "cola",
            split,
            parser,
            val_from=val_from,
            raw_from=raw_from,
            vocab=vocab,
            tokens=tokens,
            max_length=max_length,
            arcs=arcs,
            relations=relations,
            min_freq=min_freq,
            lower=lower,
            limit=limit,
            root_node=root_node,
            transform=transform,
            pre_transform=pre_transform,
            pre_filter=pre_filter,
            log=log,
            force_reload=force_reload,
        )

    def __repr__(self) -> str:
        return f"CoLA({len(self)})"
