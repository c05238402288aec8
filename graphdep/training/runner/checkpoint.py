"""Checkpoints: written whole or not at all, read without running what is in them."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from lightning.fabric.plugins.io import TorchCheckpointIO
from torch import Tensor
from torch_geometric.transforms import BaseTransform

from graphdep.datasets.base.rows import Label
from graphdep.io import atomic_path
from graphdep.io.files import BEST as BEST
from graphdep.io.files import check_archive, find_checkpoint
from graphdep.io.limits import check_name, shown
from graphdep.training.family.by_task import build_task
from graphdep.training.family.learning_task import LearningTask
from graphdep.training.family.parts import Parts
from graphdep.training.family.train_config import TrainConfig
from graphdep.training.runner.given_edges import with_edges
from graphdep.training.runner.model_folder import read_model_folder
from graphdep.transforms.presets import UnknownEdgesError
from graphdep.vocab import RelationVocab, Vocab
from graphdep.vocab.pieces import vocab_from_state

FORMAT = "graphdep checkpoint 1"
_LARGEST_VECTOR = 16_384
_KEYS: dict[str, type | tuple[type, ...]] = {
    "format": str,
    "config": dict,
    "vocab": dict,
    "relations": dict,
    "data": dict,
    "vector_dim": (int, type(None)),
    "pretrained": (dict, type(None)),
    "labels": (list, type(None)),
    "own_edges": dict,
}


class AtomicCheckpointIO(TorchCheckpointIO):
    """Lightning's files, replaced in one step and loaded with ``weights_only=True``.

    Lightning's own way goes through a temporary folder, which may be on another disk, so that a kill can
    leave half a file.
    """

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None) -> None:
        if os.path.basename(path) == BEST:
            # Nothing goes on from it, and two thirds of it would be the optimizer's.
            checkpoint = {key: value for key, value in checkpoint.items() if key != "optimizer_states"}
        _save(checkpoint, path)

    def load_checkpoint(
        self, path: Any, map_location: Any = None, weights_only: bool | None = None
    ) -> dict[str, Any]:
        return read_checkpoint(path)


@dataclass(frozen=True)
class RunState:
    """What a checkpoint knows beside weights: settings, words, relations, data, and the size of given word
    vectors.

    Args:
        config: Settings of the run.
        vocab: Its words.
        relations: Its relations.
        data: Digest and sizes of what it was trained on.
        vector_dim: Size of the word vectors it started from. (default: :obj:`None`)
        pretrained: What a pretrained encoder is beside its weights
            (:func:`~graphdep.nn.pretrained.loading`), so that a checkpoint needs no other file.
            (default: :obj:`None`)
        labels: The names of its classes, by their numbers; :obj:`None` where there are none.
            (default: :obj:`None`)

    Raises:
        ValueError: If :obj:`labels` are no names of classes: of one kind, finite, different as texts, without
            control characters.
    """

    config: TrainConfig
    vocab: Vocab
    relations: RelationVocab
    data: dict[str, Any]
    vector_dim: int | None = None
    pretrained: dict[str, str] | None = None
    labels: list[Label] | None = None

    def __post_init__(self) -> None:
        _check_labels(self.labels or [])

    def state_dict(self) -> dict[str, Any]:
        """Plain values only."""
        return {
            "format": FORMAT,
            "config": self.config.to_dict(),
            "vocab": self.vocab.state_dict(),
            "relations": self.relations.state_dict(),
            "data": self.data,
            "vector_dim": self.vector_dim,
            "pretrained": self.pretrained,
            "labels": self.labels,
            "own_edges": self.config.own_edges(),
        }

    @classmethod
    def from_state_dict(cls, state: dict[str, Any]) -> RunState:
        return cls(
            TrainConfig.from_dict(state["config"]),
            vocab_from_state(state["vocab"]),
            RelationVocab.from_state_dict(state["relations"]),
            state["data"],
            state["vector_dim"],
            state["pretrained"],
            state["labels"],
        )

    @property
    def num_classes(self) -> int | None:
        """How many classes there are, where they have names."""
        return None if self.labels is None else len(self.labels)

    def build_task(self, weights: Mapping[str, Tensor] | None = None) -> LearningTask:
        """The task with random weights, to load a checkpoint's into; ``weights`` limit its size."""
        if self.vector_dim is not None and not 1 <= self.vector_dim <= _LARGEST_VECTOR:
            raise ValueError(f"'vector_dim' must be from 1 to {_LARGEST_VECTOR} (got {self.vector_dim})")
        vectors = None if self.vector_dim is None else torch.zeros(len(self.vocab), self.vector_dim)
        pretrained = None
        if self.config.pretrained != (self.pretrained is not None):
            raise ValueError("'pretrained' must be there for a pretrained encoder, and for no other")
        if self.pretrained is not None:
            from graphdep.nn.pretrained import encoder_of_state

            pretrained = encoder_of_state(self.pretrained, weights)
        sizes = len(self.vocab), len(self.relations)
        return build_task(self.config, Parts(*sizes, vectors, pretrained, self.num_classes, self.labels))


def save_task(path: str | os.PathLike[str], task: LearningTask, state: RunState) -> None:
    """Writes a trained task for :func:`load_task`, without what going on with its training would need."""
    _save({"graphdep": state.state_dict(), "state_dict": task.state_dict()}, path)


def _save(content: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """Writes an archive whole or not at all; a full disk is an :class:`OSError` that names the file, and an
    interruption stays one.
    """
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        try:
            torch.save(content, file)
        except RuntimeError as error:  # torch's own, of a position: why is in what it came from
            reason = error.__context__
            while reason is not None and not isinstance(reason, (OSError, KeyboardInterrupt)):
                reason = reason.__context__
            raise reason or error from None


def read_checkpoint(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The content of a checkpoint of graphdep's, of the best one in a run's folder, or of a folder that a
    model was saved to.

    Raises:
        FileNotFoundError: If there is no such file.
        TypeError: If it is no path.
        ValueError: If it is damaged, holds anything but plain values and tensors, or is not graphdep's. No
            code in it is run.
    """
    if not isinstance(path, str | os.PathLike):
        name = type(path).__name__
        raise TypeError(f"'checkpoint' must be a file, or a folder of save_pretrained (got {name})")
    path = find_checkpoint(path)
    checkpoint = read_model_folder(path) if path.is_dir() else _read_archive(path)
    state = checkpoint.get("graphdep") if isinstance(checkpoint, dict) else None
    if not isinstance(state, dict) or not isinstance(checkpoint.get("state_dict"), dict):
        raise ValueError(f"{path}: not a checkpoint of graphdep")
    # By shown(): a few bytes of nested lists can have a repr that no memory holds.
    if state.get("format") != FORMAT:
        kind = state.get("format")
        other = shown(kind) if isinstance(kind, str) else type(kind).__name__
        raise ValueError(f"{path}: a checkpoint of another version ({other}, not {FORMAT!r})")
    for key, kind in _KEYS.items():
        if not isinstance(state.get(key), kind):
            raise ValueError(f"{path}: damaged checkpoint: {key!r} is {type(state.get(key)).__name__}")
    if not all(isinstance(text, str) for part in state["own_edges"].items() for text in part):
        raise ValueError(f"{path}: damaged checkpoint: 'own_edges' must be texts by settings")
    try:
        _check_labels(state["labels"] or [])
    except ValueError as error:
        raise ValueError(f"{path}: damaged checkpoint: {error}") from None
    return checkpoint


def _read_archive(path: Path) -> Any:
    check_archive(path)
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged file makes torch raise anything, from EOFError to KeyError
        reason = str(error).strip().splitlines()
        raise ValueError(
            f"{path}: not a checkpoint, or damaged ({reason[0][:120] if reason else error!r})"
        ) from None


def _check_labels(labels: list[Any]) -> None:
    """Raises :class:`ValueError` if they are no names of classes, or two of them are one as texts."""
    seen: dict[str, int] = {}
    for number, label in enumerate(labels):
        place = f"labels[{number}]"
        if type(label) not in (str, int, float, bool) or type(label) is not type(labels[0]):
            first = f" as 'labels[0]', {shown(labels[0])}" if number else ""
            raise ValueError(
                f"{place!r} must be a text, a number or a truth value{first} (got {shown(label)})"
            )
        if isinstance(label, float) and not math.isfinite(label):
            raise ValueError(f"{place!r} must be finite (got {label!r})")
        if isinstance(label, str):
            check_name(place, label)
        first_with = seen.setdefault(str(label), number)
        if first_with != number:
            raise ValueError(f"{place!r} is 'labels[{first_with}]' once more (got {shown(label)})")


def _check_sizes(config: TrainConfig, weights: dict[str, Any]) -> None:
    """Raises :class:`ValueError` if the settings ask for more than the weights can be: building it would take
    the memory or the time before anything is compared.
    """
    sizes = {size for weight in weights.values() for size in getattr(weight, "shape", ())}
    for name, value in config.to_dict().items():
        if type(value) is not int or not name.endswith(("layers", "channels", "heads", "_dim")):
            continue
        if value > (len(weights) if name.endswith("layers") else max(4096, *sizes)):
            raise ValueError(f"{name!r} is {value}, which its weights do not have")


def read_task(path: str | os.PathLike[str]) -> str:
    """The name of the task that a checkpoint was trained on.

    Raises:
        FileNotFoundError, ValueError: As :func:`read_checkpoint`.
    """
    task = read_checkpoint(path)["graphdep"]["config"].get("task")
    if not isinstance(task, str):
        raise ValueError(f"{path}: damaged checkpoint: 'task' is {type(task).__name__}")
    return task


def load_task(
    path: str | os.PathLike[str], edges: str | BaseTransform | None = None
) -> tuple[LearningTask, RunState]:
    """The trained task in a checkpoint, and what it was trained with.

    A checkpoint names its edges, holds no code, and nothing is imported for a name in it. Edges of your own
    are known after :func:`graphdep.transforms.register_edges`, or are given as :obj:`edges`. They must do
    what they did in training, of which the checkpoint has a digest.

    Args:
        path: ``best.ckpt`` or ``last.ckpt`` of a run.
        edges: The edges that it was trained with, or their name, where the name in the checkpoint is not
            known here. (default: :obj:`None`)

    Raises:
        FileNotFoundError: If there is no such file.
        UnknownEdgesError: If its edges are not known here; a :class:`ValueError` that says what to do.
        ValueError: If it is no whole checkpoint of graphdep's, its parts do not fit together, or the edges
            are not those of the training.
    """
    checkpoint = read_checkpoint(path)
    try:
        known = with_edges(checkpoint["graphdep"], edges)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    try:
        state = RunState.from_state_dict(known)
        _check_sizes(state.config, checkpoint["state_dict"])
        task = state.build_task(checkpoint["state_dict"])
        task.load_state_dict(checkpoint["state_dict"])
    except UnknownEdgesError as error:
        raise UnknownEdgesError(f"{path}: {error}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RuntimeError) as error:
        raise ValueError(f"{path}: damaged checkpoint ({' '.join(str(error).split())[:200]})") from None
    return task.eval(), state
