"""What is asked of a trained model: texts that are checked, and batches of them."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from rich.console import Console
from rich.progress import track
from torch import nn

from graphdep.io.limits import check_limit
from graphdep.io.text import has_half_character

if TYPE_CHECKING:
    from graphdep.training import TrainConfig

T = TypeVar("T")
# Of nodes in a batch at most: without syntax every word sees every other.
BATCH_PAIRS = 2**22
# What the checkpoints of each family of tasks are for.
_USES = {
    "sentence": (
        "sentence vectors",
        "graphdep.SentenceEncoder, graphdep.SequenceClassifier, `graphdep embed` and `graphdep predict`",
    ),
    "dialogue": ("responses", "graphdep.Responder and `graphdep generate`"),
    "selection": ("rankings", "graphdep.ResponseSelector and `graphdep rank`"),
    "post-training": ("an encoder", "its folder `encoder`, which graphdep.nn.pretrained.load_encoder takes"),
}


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


def check_family(checkpoint: str, config: TrainConfig, family: str, what: str | None = None) -> None:
    """Raises :class:`ValueError` if a checkpoint's task is not of the family that a class is for, and says
    what the checkpoint is for. What the class gives is named by ``what``, or else as usual of that family.
    """
    if config.family != family:
        raise ValueError(
            f"{checkpoint}: trained on the task {config.task!r}, which gives no "
            f"{what or _USES[family][0]} but {_USES[config.family][0]}: see {_USES[config.family][1]}"
        )


def check_name(place: str, name: str) -> None:
    """Raises :class:`ValueError` if the name of a class has a character that arrays and tables may lose:
    NumPy drops a NUL at the end, and two classes would be one.
    """
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in name):
        raise ValueError(f"{place!r} has a control character or half a character (got {shown(name)})")


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
    return iter(track(items, what, console=Console(stderr=True), disable=not shown))


def check_list(name: str, value: Any) -> None:
    """Raises :class:`TypeError` if it is a text or no sequence."""
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
        raise TypeError(f"{name!r} must be a list (got {shown(value)})")


def check_texts(name: str, texts: Any, what: str) -> None:
    """Raises an error that has the position of what is no text with a word; ``what`` is what a text is."""
    check_list(name, texts)
    for number, text in enumerate(texts):
        check_text(f"{name}[{number}]", text, what)


def check_text(place: str, text: Any, what: str) -> None:
    """Raises an error that has the ``place`` if it is no text with a word; ``what`` is what a text is."""
    if not isinstance(text, str):
        raise TypeError(f"{place!r} must be a string (got {shown(text)})")
    if not text.strip():
        raise ValueError(f"{place!r} is blank: a {what} has at least one word")
    if has_half_character(text):
        raise ValueError(f"{place!r} has half a character (got {shown(text)})")


def shown(value: object) -> str:
    """A value for a message, cut short."""
    text = " ".join(repr(value).split())
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:57] + '...'}"
