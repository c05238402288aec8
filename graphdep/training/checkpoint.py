"""Checkpoints of runs and exported model folders."""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import lightning as L
import numpy as np
import torch
from lightning.fabric.plugins.io import TorchCheckpointIO
from lightning.pytorch.callbacks import Checkpoint
from torch import Tensor
from torch_geometric.transforms import BaseTransform

from graphdep.datasets.base.rows import Label
from graphdep.io.files import (
    BEST,
    LAST,
    MODEL_CONFIG,
    MODEL_WEIGHTS,
    atomic_path,
    check_archive,
    check_replaced,
    file_digest,
    find_checkpoint,
    placed,
)
from graphdep.io.limits import check_name, shown
from graphdep.metrics.metric import Metric
from graphdep.sentence.sentence import Sentence
from graphdep.training.build import BuildInputs
from graphdep.training.config import TrainConfig
from graphdep.training.family import build_task
from graphdep.training.learning_task import LearningTask, Outputs
from graphdep.transforms.fingerprint import identity, same_edges
from graphdep.transforms.presets import UnknownEdgesError, is_known, name_of, resolve
from graphdep.vocab.pieces import vocab_from_state
from graphdep.vocab.relations import RelationVocab, label_counts
from graphdep.vocab.vocab import Vocab

logger = logging.getLogger("graphdep.training")

_DIGITS = "; the digits are a digest of code, options and output"


def with_edges(state: Mapping[str, Any], edges: str | BaseTransform | None) -> dict[str, Any]:
    """The state of a checkpoint, with the edges' name of the training replaced by the name of :obj:`edges`.

    Raises:
        ValueError: If :obj:`edges`, or the edges registered under the name in the checkpoint, are not those
            of the training.
    """
    config, own = dict(state["config"]), state["own_edges"]
    trained = {setting: was for setting, was in own.items() if setting in config and _names_edges(setting)}
    if edges is not None:
        name = name_of(edges)
        mine = identity(resolve(name))  # also registers an entry point
        same = [setting for setting, was in trained.items() if same_edges(mine, was)]
        if not same and name not in _names(config):
            were = " and ".join(trained.values()) or " and ".join(_names(config))
            raise ValueError(f"'edges' must be those of the training, {were[:200]!r} (got {mine!r}{_DIGITS})")
        config |= dict.fromkeys(same, name)
    for setting, was in trained.items():
        named = config.get(setting)
        if not isinstance(named, str) or not is_known(named):
            continue
        if not same_edges(mine := identity(resolve(named)), was):
            raise ValueError(
                f"edges {named[:200]!r} are not those of the training: {was[:200]!r} then, {mine!r} now"
                + _DIGITS
            )
    return {**state, "config": config}


def _names(config: Mapping[str, Any]) -> list[str]:
    """The names of all edges in the settings of any task."""
    return [name for setting, name in config.items() if _names_edges(setting) and isinstance(name, str)]


def _names_edges(setting: object) -> bool:
    return str(setting).endswith("edges")


MODEL_FORMAT = "graphdep model 1"
CARD = "README.md"
PARTS = {"vocab": "vocab.json", "relations": "relations.json", "pretrained": "encoder.json"}
"""Parts of a checkpoint's state that are separate files of a model folder."""
# Vocabularies have some megabytes.
_LARGEST = 2**28


def read_model_folder(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """The content of a folder by :func:`~graphdep.training.hub.write_model_folder`, as that of a checkpoint.
    No code in it is run.

    Raises:
        FileNotFoundError: If a file is missing.
        ValueError: If it is not a model of graphdep, has another version, or a file has changed.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    place = Path(folder)
    said = _read(place / MODEL_CONFIG)
    if said.get("library_name") != "graphdep":
        raise ValueError(f"{place / MODEL_CONFIG}: not a model of graphdep")
    if said.get("format") != MODEL_FORMAT:
        raise ValueError(f"{place}: a model of another version (got {str(said.get('format'))[:40]!r})")
    files, run = said.get("files"), said.get("run")
    known = {MODEL_WEIGHTS, *PARTS.values()}
    if not isinstance(files, dict) or not isinstance(run, dict) or not {MODEL_WEIGHTS} <= {*files} <= known:
        raise ValueError(f"{place / MODEL_CONFIG}: damaged: invalid 'files' or 'run'")
    for name, digest in files.items():
        if file_digest(place / name) != digest:
            raise ValueError(f"{place / name}: damaged: its digest is not the one in {MODEL_CONFIG}")
    parts = {part: _read(place / name) if name in files else None for part, name in PARTS.items()}
    try:
        weights = load_file(place / MODEL_WEIGHTS)
    except (SafetensorError, ValueError, OSError) as error:
        raise ValueError(f"{place / MODEL_WEIGHTS}: damaged: {str(error)[:120]}") from None
    return {"graphdep": {**run, **parts}, "state_dict": weights}


def exported_files(folder: Path, config: Mapping[str, Any], data: str | None) -> set[str]:
    """The names of the files of an exported folder that are unchanged, by the digests in its ``config.json``;
    empty if the folder is not an export of these settings and data (their digest).
    """
    try:
        said = _read(folder / MODEL_CONFIG)
    except (OSError, ValueError):
        return set()
    if said.pop("digest", None) != values_digest(said):
        return set()
    if (said["run"]["config"], said["run"]["data"].get("digest")) != (config, data):
        return set()
    written = {**said["files"], **said["beside"]}
    kept = {name for name in written if (folder / name).is_file()}
    return {MODEL_CONFIG, *(name for name in kept if file_digest(folder / name) == written[name])}


def values_digest(values: Mapping[str, Any]) -> str:
    """Hexadecimal SHA-256 digest of values of JSON."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def _read(path: Path) -> dict[str, Any]:
    if path.stat().st_size > _LARGEST:
        raise ValueError(f"{path}: too large (got {path.stat().st_size} bytes)")
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
        return {**value}
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"{path}: no JSON object: {str(error)[:120]}") from None


def _mean(losses: np.ndarray, _: np.ndarray) -> float:
    return float(losses.mean())


LOSS = Metric("loss", _mean, None, "loss: the training loss on the split, without dropout", maximize=False)
"""The loss of a split, which every task family computes."""


def monitored(config: TrainConfig, task: LearningTask) -> Metric:
    """The validation metric for the best epoch and patience: the first of the task, or the loss with
    ``monitor="loss"``.
    """
    return LOSS if config.monitor == "loss" else task.metrics[0]


def monitored_score(metric: Metric, task: LearningTask) -> float:
    """The validation score of the last epoch.

    Raises:
        ValueError: If the task does not compute it, such as the loss of a task of another package.
    """
    scores = task.val_scores
    name = f"val_{metric.name}"
    if name not in scores:
        raise ValueError(f"'monitor' cannot be {metric.name!r}: the task scores {', '.join(scores)} alone")
    return scores[name]


CHECKPOINT_FORMAT = "graphdep checkpoint 2"
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
    """Reads checkpoints with ``weights_only=True`` and writes them atomically.

    Lightning writes to a temporary folder first, which may be on another disk, so that a kill can leave half
    a file.
    """

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None) -> None:
        if os.path.basename(path) == BEST:
            # Training never resumes from it, and the optimizer would be two thirds of the file.
            checkpoint = {key: value for key, value in checkpoint.items() if key != "optimizer_states"}
        _save(checkpoint, path)

    def load_checkpoint(
        self, path: Any, map_location: Any = None, weights_only: bool | None = None
    ) -> dict[str, Any]:
        return read_checkpoint(path)


@dataclass(frozen=True)
class RunState:
    """The content of a checkpoint besides weights.

    Args:
        config: Settings of the run.
        vocab: Its vocabulary.
        relations: Its relations.
        data: Digest and sizes of its data.
        vector_dim: Size of the initial word vectors. (default: :obj:`None`)
        pretrained: Configuration and tokenizer of a pretrained encoder
            (:func:`~graphdep.nn.pretrained.encoder_state`). (default: :obj:`None`)
        labels: Names of the classes by number. (default: :obj:`None`)

    Raises:
        ValueError: If :obj:`labels` are not of one type, finite, different as texts and free of control
            characters.
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
            "format": CHECKPOINT_FORMAT,
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
        """Number of classes, if they have names."""
        return None if self.labels is None else len(self.labels)

    def build_task(self, weights: Mapping[str, Tensor] | None = None) -> LearningTask:
        """The task with random weights; ``weights`` are the checkpoint's, which limit its size."""
        if self.vector_dim is not None and not 1 <= self.vector_dim <= _LARGEST_VECTOR:
            raise ValueError(f"'vector_dim' must be from 1 to {_LARGEST_VECTOR} (got {self.vector_dim})")
        vectors = None if self.vector_dim is None else torch.zeros(len(self.vocab), self.vector_dim)
        pretrained = None
        if self.config.pretrained != (self.pretrained is not None):
            raise ValueError("'pretrained' must be given if, and only if, the encoder is pretrained")
        if self.pretrained is not None:
            from graphdep.nn.pretrained.loading import encoder_of_state

            pretrained = encoder_of_state(self.pretrained, weights)
        sizes = len(self.vocab), len(self.relations)
        return build_task(
            self.config, BuildInputs(*sizes, vectors, pretrained, self.num_classes, self.labels)
        )


def labels_of(state: Any, trees: Iterable[Sentence]) -> Counter[str]:
    """The number of arcs with each label, in the trees or graphs that a model reads."""
    return label_counts(trees, getattr(state.config, "arcs", "basic"))


def check_scheme(name: str, state: Any, labels: Counter[str], parsed: bool) -> None:
    """Logs a warning if trees have labels that were unknown in training, which the model reads as ``dep``.

    Args:
        name: Name of the model in messages, such as its file.
        state: Its :class:`RunState`.
        labels: The number of arcs with each label.
        parsed: Whether a parser made the trees.

    Raises:
        ValueError: If more than half of the arcs have such a label.
    """
    config, relations = state.config, state.relations
    # With relations="ud" training may have read them as dep, too.
    by_trees = getattr(config, "relations", None) == "auto"
    if not (relations.used is not None or by_trees) or not getattr(config, "may_read_labels", True):
        return
    unknown = relations.unknown(labels).total()
    if 2 * unknown <= labels.total():
        if unknown:
            logger.warning("%s: %s", name, relations.note(labels))
        return
    scheme = "Universal Dependencies"
    if relations.used is not None:
        scheme = f"such as {', '.join([*relations.learned, *relations.used][:3])}"
    if not parsed:
        advice = f"give trees with the labels of its training ({scheme}), or train on trees like these"
    else:
        advice = f"give a parser with the labels of its training ({scheme}) as 'parser' (--parser), or "
        own = config.trees in ("gold", "own")
        advice += "train on parsed trees" + (" (--set trees=parser)" if own else "")
    raise ValueError(
        f"{name}: the labels of the trees are not those of its training: {relations.note(labels)}; {advice}"
    )


def save_task(
    path: str | os.PathLike[str], task: LearningTask, state: RunState, *, overwrite: bool = False
) -> None:
    """Writes a trained task for :func:`load_task`, without the state of the optimizer.

    Raises:
        ValueError: If another file would be replaced and :obj:`overwrite` is not set.
    """
    file = Path(path)
    check_replaced(file.parent, [file.name], [file.name] if _is_saved(file) else [], overwrite=overwrite)
    _save({"graphdep": state.state_dict(), "state_dict": task.state_dict()}, path, typed=True)


def _is_saved(path: Path) -> bool:
    """Whether a file was written by :func:`save_task`, rather than by a run."""
    try:
        return _read_archive(path).keys() == {"graphdep", "state_dict"}
    except (OSError, ValueError, AttributeError):
        return False


def trained_setting(state: RunState, name: str) -> str:
    """The value of a setting; for ``"auto"`` the value found in the training files, which files to predict
    for may be too short to show.
    """
    value: str = getattr(state.config, name, "auto")
    if value == "auto":
        value = (getattr(state, "data", None) or {}).get(name, {}).get("train", "auto")
    return value


def _save(content: dict[str, Any], path: str | os.PathLike[str], *, typed: bool = False) -> None:
    """Writes an archive atomically; a full disk raises an :class:`OSError` that names the file."""
    with atomic_path(path, typed=typed) as temporary, open(temporary, "wb") as file:
        try:
            torch.save(content, file)
        except RuntimeError as error:  # torch names a position in the file; the cause is in the context
            reason = error.__context__
            while reason is not None and not isinstance(reason, (OSError, KeyboardInterrupt)):
                reason = reason.__context__
            raise reason or error from None


def read_checkpoint(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The content of a checkpoint, of the best checkpoint in the folder of a run, or of an exported model
    folder. No code in it is run.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is damaged, is not graphdep's, or has anything but plain values and tensors.
    """
    path = find_checkpoint(path)
    checkpoint = read_model_folder(path) if path.is_dir() else _read_archive(path)
    with placed(os.fspath(path)):
        _check_parts(checkpoint)
    return cast("dict[str, Any]", checkpoint)


def _check_parts(checkpoint: Any) -> None:
    """Raises :class:`ValueError` if a part of a checkpoint is missing or has another type."""
    state = checkpoint.get("graphdep") if isinstance(checkpoint, dict) else None
    if not isinstance(state, dict) or not isinstance(checkpoint.get("state_dict"), dict):
        raise ValueError("not a checkpoint of graphdep")
    # shown(), since the repr of a few bytes of nested lists can exceed the memory.
    if (kind := state.get("format")) != CHECKPOINT_FORMAT:
        other = shown(kind) if isinstance(kind, str) else type(kind).__name__
        raise ValueError(f"a checkpoint of another version ({other}, not {CHECKPOINT_FORMAT!r})")
    with placed("damaged checkpoint"):
        for key, types in _KEYS.items():
            if key not in state:
                raise ValueError(f"no {key!r}")
            if not isinstance(state[key], types):
                raise ValueError(f"{key!r} is {type(state[key]).__name__}")
        if not all(isinstance(text, str) for part in state["own_edges"].items() for text in part):
            raise ValueError("'own_edges' must map texts to texts")
        _check_labels(state["labels"] or [])


def _read_archive(path: Path) -> Any:
    check_archive(path)
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises anything from EOFError to KeyError for a damaged file
        reason = str(error).strip().splitlines()
        raise ValueError(
            f"{path}: not a checkpoint, or damaged ({reason[0][:120] if reason else error!r})"
        ) from None


def _check_labels(labels: list[Any]) -> None:
    """Raises :class:`ValueError` unless they are names of classes, all different as texts."""
    seen: dict[str, int] = {}
    for number, label in enumerate(labels):
        place = f"labels[{number}]"
        if type(label) not in (str, int, float, bool) or type(label) is not type(labels[0]):
            first = f" as 'labels[0]', {shown(labels[0])}" if number else ""
            raise ValueError(f"{place!r} must be a text, a number or a boolean{first} (got {shown(label)})")
        if isinstance(label, float) and not math.isfinite(label):
            raise ValueError(f"{place!r} must be finite (got {label!r})")
        if isinstance(label, str):
            check_name(place, label)
        first_with = seen.setdefault(str(label), number)
        if first_with != number:
            raise ValueError(f"{place!r} repeats 'labels[{first_with}]' (got {shown(label)})")


def _check_sizes(config: TrainConfig, weights: dict[str, Any]) -> None:
    """Raises :class:`ValueError` if sizes in the settings exceed those of the weights: a model of such sizes
    might not fit the memory.
    """
    sizes = {size for weight in weights.values() for size in getattr(weight, "shape", ())}
    for name, value in config.to_dict().items():
        if type(value) is not int or not name.endswith(("layers", "channels", "heads", "_dim")):
            continue
        if value > (len(weights) if name.endswith("layers") else max(4096, *sizes)):
            raise ValueError(f"{name!r} is {value}, but the weights are smaller")


def read_task(path: str | os.PathLike[str]) -> str:
    """The name of a checkpoint's task."""
    return str(read_checkpoint(path)["graphdep"]["config"].get("task"))


def load_task(
    path: str | os.PathLike[str], edges: str | BaseTransform | None = None
) -> tuple[LearningTask, RunState]:
    """The trained task in a checkpoint, and its :class:`RunState`.

    A checkpoint has only the name of its edges; no code in it is run, and nothing it names is imported.
    Register edges of your own (:func:`graphdep.transforms.register_edges`) or give them as :obj:`edges`. They
    must have the digest in the checkpoint, which depends on their code, options and output.

    Args:
        path: ``best.ckpt`` or ``last.ckpt`` of a run.
        edges: The edges of the training, or their name, if the name in the checkpoint is unknown here.
            (default: :obj:`None`)

    Raises:
        FileNotFoundError: If there is no such file.
        UnknownEdgesError: If its edges are unknown here, a :class:`ValueError`.
        ValueError: If it is damaged or not graphdep's, or the edges are not those of the training.
    """
    checkpoint = read_checkpoint(path)
    with placed(os.fspath(path)):
        known = with_edges(checkpoint["graphdep"], edges)
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


# A loss falls if it decreases by this share: the order of examples changes its last digits.
_FALL = 1e-4


class RunCheckpoint(Checkpoint):
    """Writes ``best.ckpt`` and ``last.ckpt`` of a run, and stops it when :obj:`patience` is used up.

    Both are written after a validation, the best first: whenever a run is killed, it resumes from
    ``last.ckpt`` and repeats the epochs after it exactly.

    Args:
        folder: Folder of the run.
        state: Content of the checkpoints besides weights.
        metric: Metric for the best epoch; of equal epochs the first is the best.
        patience: Stop after this many epochs without a better one; :obj:`None` for never. (default:
            :obj:`None`)
        keep: ``"best"``, or ``"last"`` for the last epoch as ``best.ckpt``. (default: ``"best"``)
        floor: Gives the score of no skill on the validation split, or :obj:`None` if there is none. Epochs
            with exactly that score, such as the first ones on a small corpus, in which a model gives all
            words one label, do not count for :obj:`patience` while the training loss falls. (default:
            :obj:`None`)
        val_every: Number of epochs between validations. (default: :obj:`1`)
    """

    def __init__(
        self,
        folder: Path,
        state: RunState,
        metric: Metric,
        patience: int | None = None,
        keep: str = "best",
        floor: Callable[[LearningTask], float | None] | None = None,
        val_every: int = 1,
    ) -> None:
        self.folder, self.state, self.metric, self.patience = folder, state, metric, patience
        self.keep, self.best, self.floor = keep, cast("float | None", None), floor
        self.val_every = val_every
        self.best_epoch = self.epochs = self.waited = self.ties = 0
        self.lowest_loss = math.inf
        self._no_skill: tuple[float | None, ...] = ()  # the floor, once computed
        self.best_scores: dict[str, float] = {}
        self.best_outputs: Outputs = ()  # on the validation split, if this process ran that epoch
        self.seconds: list[float] = []
        self.val_seconds: list[float] = []
        self._start = 0.0

    @property
    def best_path(self) -> Path:
        return self.folder / "best.ckpt"

    @property
    def last_path(self) -> Path:
        return self.folder / LAST

    def keeps(self, value: float) -> bool:
        """Whether an epoch with this validation score becomes ``best.ckpt``."""
        return self.keep == "last" or self.metric.is_better(value, self.best)

    @property
    def stopped_early(self) -> bool:
        """Whether patience is used up."""
        return self.patience is not None and self.waited >= self.patience

    def state_dict(self) -> dict[str, Any]:
        names = ("best", "best_epoch", "epochs", "best_scores", "seconds", "val_seconds", "waited", "ties")
        return {name: getattr(self, name) for name in (*names, "lowest_loss")}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        for name, value in state_dict.items():
            setattr(self, name, value)

    def on_save_checkpoint(
        self, trainer: L.Trainer, pl_module: L.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        checkpoint["graphdep"] = self.state.state_dict() | {"scores": self.best_scores, "epoch": self.epochs}

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self._stop_if_done(trainer)  # the run may have been killed after its last epoch

    def on_train_epoch_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self._start = time.perf_counter()

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        if trainer.is_last_batch:
            self.seconds.append(self._lap())

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self.val_seconds.append(self._lap())

    def _lap(self) -> float:
        start, self._start = self._start, time.perf_counter()
        return self._start - start

    def validated(self, trainer: L.Trainer) -> bool:
        """Whether the current epoch is validated."""
        return (trainer.current_epoch + 1) % self.val_every == 0

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self.epochs = trainer.current_epoch + 1
        if not self.validated(trainer):
            return
        scores = cast(LearningTask, pl_module).val_scores
        value = monitored_score(self.metric, cast(LearningTask, pl_module))
        self._wait(value, float(trainer.callback_metrics["train_loss"]), cast(LearningTask, pl_module))
        if self.keeps(value):
            self.best, self.best_epoch, self.best_scores, self.ties = value, self.epochs, scores, 0
            alone = trainer.world_size == 1  # several processes order examples differently
            self.best_outputs = cast(LearningTask, pl_module).val_outputs if alone else ()
            trainer.save_checkpoint(self.best_path)
        else:
            self.ties += value == self.best
        trainer.save_checkpoint(self.last_path)
        self._stop_if_done(trainer)

    def _wait(self, value: float, loss: float, task: LearningTask) -> None:
        """Counts epochs for patience."""
        falls = loss < (1 - _FALL) * self.lowest_loss
        self.lowest_loss = min(loss, self.lowest_loss)
        if self.keeps(value):
            self.waited = 0
        elif not (falls and self._without_skill(value, task)):
            self.waited += self.val_every

    def _without_skill(self, value: float, task: LearningTask) -> bool:
        if self.floor is None or self.patience is None:
            return False
        self._no_skill = self._no_skill or (self.floor(task),)
        floor = self._no_skill[0]
        return floor is not None and math.isclose(value, floor, abs_tol=1e-9)

    def _stop_if_done(self, trainer: L.Trainer) -> None:
        if self.stopped_early:
            trainer.should_stop = True
