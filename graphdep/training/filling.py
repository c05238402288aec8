"""Filler examples of a task, which pad its batches to a few sizes for CUDA graphs."""

from __future__ import annotations

import logging
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from graphdep.data.filler import IGNORED, Filler
from graphdep.parsing.resolver import resolve_parser

logger = logging.getLogger(__name__)

_TOKENS = "target_ids"


def wanted_filler(
    task: Any, splits: Any, config: Any, device: torch.device, split: str = "train"
) -> Filler | None:
    """The filler of a task on CUDA whose settings ask for CUDA graphs; if none can be made, the reason is
    logged.
    """
    if not config.cuda_graphs or device.type != "cuda":
        return None
    try:
        return task_filler(task, splits, config, split)
    except (AttributeError, IndexError, KeyError, ValueError) as error:
        logger.warning("batches run without CUDA graphs: no example can fill them (%s)", error)
        return None


def task_filler(task: Any, splits: Any, config: Any, split: str = "train") -> Filler:
    """Makes filler examples with the columns of the examples of a split; their targets are ignored.

    Args:
        task: The :class:`~graphdep.training.learning_task.LearningTask`.
        splits: The :class:`~graphdep.training.splits.Splits`.
        config: The settings.
        split: The split. (default: ``"train"``)

    Raises:
        ValueError: If no filler can be made.
    """
    if task.counts_fillers:
        raise ValueError("the loss counts all examples")
    like, parser = splits[split][0], resolve_parser("chain")
    texts = 1 if _TOKENS in like else int(like.segment.max()) + 1

    def make(words: int, tokens: int = 1) -> Data:
        shares = [words // texts + (number < words % texts) for number in range(texts)]
        given = [task.filler_text(max(1, share), like) for share in shares]
        data, _ = task.example(config, splits.vocab, splits.relations, given, parser)
        for key in like.keys():  # noqa: SIM118
            if key == "y" or key == _TOKENS or key not in data:
                data[key] = _ignored(like, key, words, tokens)
        return data

    return Filler(make, edges=task.edges, tokens=_TOKENS if _TOKENS in like else None)


def _ignored(like: Data, key: str, words: int, tokens: int) -> Any:
    """A column that examples made from texts lack."""
    value = like[key]
    if not isinstance(value, Tensor):
        return value
    if key == _TOKENS:
        return torch.full((tokens,), IGNORED)
    if key == "y":
        # For float targets, which have no value to ignore, the loss skips fillers.
        fill = 0 if value.is_floating_point() else IGNORED
        return torch.full_like(value, fill) if len(value) == 1 else value.new_full((words,), fill)
    if value.size(0) == 1:
        return value
    if key.endswith("_y") and key != "cut_y":  # cut_y has words beyond the length limit
        raise ValueError(f"their nodes have labels, {key!r}")
    return value[:0]
