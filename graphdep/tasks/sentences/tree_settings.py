"""What settings say of encoders that go through trees, and of labels of their nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from graphdep.training.settings import setting
from graphdep.training.task import resolve_task

_OF_BRANCHES = ("heads", "ff_channels", "form", "position_codes")
CONSTITUENT_ENCODERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "tree-lstm-ct": ("leaf", "binarized"),
        "rntn": ("leaf", "binarized"),
        "bitree-lstm-ct": ("binarized",),
        "tree-transformer-ct": _OF_BRANCHES,
        "dc-treelstm": ("cell", "meta_channels", "binarized"),
        "taghypertreelstm": ("cell", "meta_channels", "binarized"),
    }
)
"""Encoders over constituents, and which of the settings below each reads."""
TREE_ENCODERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        **CONSTITUENT_ENCODERS,
        "tree-transformer-dt": _OF_BRANCHES,
        "use": ("variant", "num_layers", "heads", "ff_channels"),
    }
)
"""The same with those over words and dependency trees that have such settings."""
TAG_ENCODERS = ("taghypertreelstm",)
"""Encoders that read the words' tags."""
_OF_ENCODERS = ("leaf", "binarized", "form", "position_codes", "cell", "meta_channels", "variant")
TREE_HEADED = ("tree-transformer-ct", "tree-transformer-dt", "use")
"""Those whose heads share the channels."""
LABELLED = "SST of the layouts 'sentence' or 'trees'"


@dataclass(frozen=True, kw_only=True)
class TreeSettings:
    """Settings of the encoders that other papers compare with, for a :class:`TrainConfig` to inherit from as
    well; :func:`~graphdep.tasks.sentences.tree_build.build_tree_encoder` builds them.

    Args:
        binarized: Of encoders over constituents of two parts: how those of more are binarised, ``"left"`` or
            from the ``"head"`` (:func:`graphdep.sentence.sentence`). (default: ``"left"``)
        leaf: Of encoders ``"tree-lstm-ct"`` and ``"rntn"``: words as in the ``"paper"`` or as in its
            ``"code"``. (default: ``"paper"``)
        form, position_codes: Of encoders ``"tree-transformer-dt"`` and ``"tree-transformer-ct"``: the block
            as in the ``"paper"`` or as in its ``"code"``, and whether places of parts are told apart
            (:class:`~graphdep.nn.models.DependencyTreeTransformer`). (default: ``"paper"``, :obj:`False`)
        cell: Of encoders ``"dc-treelstm"`` and ``"taghypertreelstm"``: both networks are an ``"lstm"`` or a
            recursive ``"rnn"``, the two forms that their papers give. (default: ``"lstm"``)
        meta_channels: Of the same: size of the network that makes the composition. (default: :obj:`50`)
        variant: Of encoder ``"use"``: ``"transformer"`` or ``"dan"``, the two of its paper
            (:class:`~graphdep.nn.models.UniversalEncoder`). (default: ``"transformer"``)
        node_labels: Of ``sst`` and ``sst-trees``, for encoders over constituents: train on the treebank's own
            trees and the labels of all their nodes (``SST(trees=True)``). (default: :obj:`False`)
    """

    binarized: str = setting("left", choices=("left", "head"), defines=True)
    leaf: str = setting("paper", choices=("paper", "code"), defines=True)
    form: str = setting("paper", choices=("paper", "code"), defines=True)
    position_codes: bool = setting(False, defines=True)
    cell: str = setting("lstm", choices=("lstm", "rnn"), defines=True)
    meta_channels: int = setting(50, defines=True)
    variant: str = setting("transformer", choices=("transformer", "dan"), defines=True)
    node_labels: bool = False

    if TYPE_CHECKING:  # of the other base
        encoder: str
        task: str
        trees: str
        phrases: bool

    @property
    def over_constituents(self) -> bool:
        """Whether the encoder goes through constituents."""
        return self.encoder in CONSTITUENT_ENCODERS

    def check_node_labels(self) -> None:
        """Raises :class:`ValueError` where there are no labels of nodes, or nothing reads them."""
        if not self.node_labels:
            return
        if resolve_task(self.task).options.get("layout") not in ("sentence", "trees"):
            raise ValueError(f"'node_labels' is for {LABELLED}, and not for {self.task!r} (got True)")
        if not self.over_constituents:
            readers = ", ".join(CONSTITUENT_ENCODERS)
            raise ValueError(f"'node_labels' is for encoders {readers} (got encoder={self.encoder!r})")
        if self.phrases:
            raise ValueError("'phrases' and 'node_labels' are both True: one trains on what the other labels")
        if self.trees != "parser":
            raise ValueError(f"'node_labels' are of the treebank's own trees (got trees={self.trees!r})")

    def tree_data(self) -> dict[str, Any]:
        """Arguments of a split's dataset."""
        return {"layout": "trees", "trees": True} if self.node_labels else {}

    def tree_readers(self) -> Iterator[tuple[tuple[str, ...], str, bool]]:
        """Settings, what reads them, and whether that is there."""
        for name in _OF_ENCODERS:
            readers = [encoder for encoder, read in TREE_ENCODERS.items() if name in read]
            yield (name,), f"encoders {', '.join(readers)}", self.encoder in readers
