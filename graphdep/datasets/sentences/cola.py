"""CoLA: sentences, acceptable or not."""

from __future__ import annotations

import os
from typing import Unpack

from graphdep.datasets.base.parsed_options import ParsedOptions
from graphdep.datasets.sentences.glue import GLUE
from graphdep.parsing import Parser


class CoLA(GLUE):
    r"""The sentences of `"Neural Network Acceptability Judgments" <https://arxiv.org/abs/1805.12471>`_, a
    tree a sentence: :class:`GLUE` with ``name="cola"``.

    Args:
        root: Folder of GLUE. (default: ``"datasets/glue"``)
        split: ``"train"``, ``"val"`` or ``"test"``, see :class:`GLUE`. (default: ``"train"``)
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser. (default: ``"bundled"``)
        val_from: ``"train"`` or ``"dev"``, see :class:`GLUE`. (default: ``"train"``)
        options: Further ones, see :class:`GLUE`.

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

    shared_options = ParsedOptions

    def __init__(
        self,
        root: str | os.PathLike[str] = "datasets/glue",
        split: str = "train",
        parser: str | Parser = "bundled",
        *,
        val_from: str = "train",
        **options: Unpack[ParsedOptions],
    ) -> None:
        super().__init__(root, "cola", split, parser, val_from=val_from, **options)

    def __repr__(self) -> str:
        return f"CoLA({len(self)})"
