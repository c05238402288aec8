"""What is asked of a trained model: texts that are checked, and batches of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from rich.progress import track
from torch import nn

from graphdep.io.limits import check_limit
from graphdep.io.process import plain_console
from graphdep.parsing import Parser
from graphdep.training.family.by_task import family_of

if TYPE_CHECKING:
    from graphdep.training.family.train_config import TrainConfig

T = TypeVar("T")
# Of nodes in a batch at most: without syntax every word sees every other.
BATCH_PAIRS = 2**22


def batches_by_size(sizes: Sequence[int], batch_size: int) -> list[list[int]]:
    """Numbers of examples of like size, the largest first: where memory runs out, it does so at once.

    Args:
        sizes: The nodes of each example.
        batch_size: Examples a batch at most; fewer where they are large.
    """
    batches: list[list[int]] = []
    pairs = 0
    for number in sorted(range(len(sizes)), key=lambda number: -sizes[number]):
        own = sizes[number] ** 2
        if not batches or len(batches[-1]) == batch_size or pairs + own > BATCH_PAIRS:
            batches.append([])
            pairs = 0
        batches[-1].append(number)
        pairs += own
    return batches


def check_batch_size(batch_size: Any) -> None:
    """Raises :class:`ValueError` if it is no whole number above 0, or too large a one."""
    if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
        raise ValueError(f"'batch_size' must be a whole number of at least 1 (got {batch_size!r})")
    check_limit("batch_size", batch_size)


def check_family(checkpoint: str, config: TrainConfig, family: str, what: str) -> None:
    """Raises :class:`ValueError` if a checkpoint's task is not of the family that a class is for, and says
    what the checkpoint is for; ``what`` is what the class gives.
    """
    own = family_of(config.task)
    if own.name != family:
        raise ValueError(
            f"{checkpoint}: trained on the task {config.task!r}, which gives no "
            f"{what} but {own.gives}: see {own.used_by}"
        )


def resolve_device(device: str | torch.device | None) -> torch.device:
    """A device by its name; :obj:`None` stands for a GPU if there is one.

    Raises:
        ValueError: If there is none of that name.
    """
    if device is None:
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        return torch.device(device)
    except (RuntimeError, TypeError):
        raise ValueError(f"'device' must be a device such as 'cpu' or 'cuda' (got {device!r})") from None


def check_weights(model: nn.Module, checkpoint: str) -> None:
    """Raises :class:`ValueError` if a weight is not finite."""
    if not all(parameter.isfinite().all() for parameter in model.parameters()):
        raise ValueError(f"{checkpoint}: has diverged in training: its weights are not finite")


def tracked(items: Iterable[T], what: str, progress: bool | None, *, much: bool) -> Iterator[T]:
    """The items, with a bar on stderr: if :obj:`progress` says so, or where it is :obj:`None` on a terminal
    that has :obj:`much` to wait for.
    """
    shown = much and sys.stderr.isatty() if progress is None else progress
    return iter(track(items, what, console=plain_console(stderr=True), disable=not shown))


def parser_to_use(
    checkpoint: str | os.PathLike[str], trained_with: str, given: str | Parser | None
) -> str | Parser:
    """The parser that was given, or else the checkpoint's if that is ``"bundled"``.

    Raises:
        ValueError: If the checkpoint names another one, which may stand for a file or a download.
    """
    if given is None and trained_with != "bundled":
        raise ValueError(
            f"{os.fspath(checkpoint)}: trained with the parser {trained_with!r}; only 'bundled' is taken "
            "from a checkpoint: if you trust that name, give it as 'parser' (--parser)"
        )
    return trained_with if given is None else given
