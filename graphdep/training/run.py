"""One training run from settings to result, and the evaluation of its checkpoint."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import lightning as L
import torch
from lightning.fabric.plugins.environments import LightningEnvironment
from rich.console import Console
from torch import Tensor

import graphdep
from graphdep.io import atomic_path
from graphdep.tasks import DialogueTask, LearningTask, resolve_task
from graphdep.tasks.learning_task import Outputs, join_outputs
from graphdep.training.build import build_edges, build_task
from graphdep.training.checkpoint import AtomicCheckpointIO, RunState, load_task, read_checkpoint
from graphdep.training.dialogue_config import DialogueConfig
from graphdep.training.epoch_report import EpochReport
from graphdep.training.predictions import PREDICTIONS, write_predictions
from graphdep.training.responses import responses_name, score_responses
from graphdep.training.run_checkpoint import RunCheckpoint
from graphdep.training.scored import Scored, score_outputs
from graphdep.training.splits import SPLITS, Splits, load_splits
from graphdep.training.train_config import TrainConfig

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

RESULT = "result.json"
# What a report reads of a result; numbers may be whole.
_RESULT_KEYS = {
    "metrics": dict,
    "floor": dict,
    "seed": int,
    "checkpoint": str,
    "parameters": int,
    "reference": dict,
}
_RESULT_KEYS |= {"epochs": int, "seconds_per_epoch": (int, float)}  # type: ignore[dict-item]

logger = logging.getLogger("graphdep.training")


def run_folder(config: TrainConfig, splits: Splits, base: str | os.PathLike[str]) -> Path:
    """The folder below ``base`` that no run with other settings or other data has."""
    return Path(base) / f"{config.task}_{config.model}_seed{config.seed}_{config.digest(splits.digest())}"


def train(
    config: TrainConfig,
    folder: str | os.PathLike[str],
    *,
    splits: Splits | None = None,
    resume: bool = False,
    title: str | None = None,
    console: Console | None = None,
) -> dict[str, Any]:
    """Trains a model and scores its best epoch on the validation and the test split.

    Args:
        config: The settings.
        folder: Gets ``best.ckpt``, ``last.ckpt``, ``result.json``, ``predictions.csv`` of the test split, and
            of dialogues ``responses-val.jsonl`` and ``responses-test.jsonl``.
        splits: The data. (default: loaded as the settings say)
        resume: Go on where an earlier run in this folder stopped; the result is that of an uninterrupted
            one. A finished run is not repeated. (default: :obj:`False`)
        title: Name of the run in progress lines. (default: model and seed)
        console: Where progress goes. (default: stderr)

    Returns:
        The result, which is also written to ``result.json``: plain values.

    Raises:
        ValueError: If :obj:`resume` meets a run with other settings or data, another process trains in the
            folder, or the splits are not those of the settings.
        TrainingError: If the loss, or an output on the validation split, is not finite any more.
        OSError: If nothing can be written to the folder.
    """
    folder = Path(folder)
    with _alone_in(folder):
        return _train(config, folder, splits or load_splits(config), resume, title, console)


def _train(
    config: TrainConfig,
    folder: Path,
    splits: Splits,
    resume: bool,
    title: str | None,
    console: Console | None,
) -> dict[str, Any]:
    if splits.settings not in (None, config.data_settings()):
        raise ValueError(f"'splits' were made with other settings than 'config' has (got {splits.settings})")
    state, found, vectors = _new_state(config, splits)
    if resume and (finished := _finished(folder, state)) is not None:
        return finished
    L.seed_everything(config.seed, workers=True, verbose=False)
    task = _new_task(state, vectors)
    start = _resume_from(folder, state) if resume else None
    if not resume:
        _set_aside(folder)
    checkpoint = RunCheckpoint(folder, state, task.metrics[0], config.patience)
    report = EpochReport(title or f"{config.model} seed {config.seed}", checkpoint, console)
    with quiet():
        trainer = _trainer(config, folder, callbacks=[checkpoint, report])
        loaders = splits.loader("train", config, shuffle=True), splits.loader("val", config)
        with _interruptible():
            trainer.fit(task, *loaders, ckpt_path=start)
    result = _result(state, checkpoint, splits, found)
    _write_json(folder / RESULT, result)  # the last: a run with a result is a finished one
    return result


def evaluate(
    checkpoint: str | os.PathLike[str],
    split: str = "test",
    *,
    settings: dict[str, Any] | None = None,
    splits: Splits | None = None,
) -> dict[str, Any]:
    """Scores a checkpoint on a split: the same numbers as at the end of its training.

    Args:
        checkpoint: ``best.ckpt`` or ``last.ckpt`` of a run.
        split: ``"train"``, ``"val"`` or ``"test"``. (default: ``"test"``)
        settings: Settings that replace the checkpoint's, e.g. ``root``: those of places and data, of the
            edges, and of decoding, but none that the weights depend on. (default: none)
        splits: The data. (default: loaded as the settings say)

    Places and parser are the checkpoint's unless they are given: raw files are read there, and processed ones
    written.

    Raises:
        FileNotFoundError: If the checkpoint is missing.
        ValueError: If it is damaged or no checkpoint of graphdep's, :obj:`split` is unknown, or a setting
            cannot be another one than in training.
    """
    if split not in SPLITS:
        raise ValueError(f"'split' must be one of {', '.join(SPLITS)} (got {split!r})")
    task, state = load_task(checkpoint)
    config = state.config.for_evaluation(settings or {})
    task.edges = build_edges(config)
    splits = splits or load_splits(config, tuple(dict.fromkeys(("train", split))), state.vocab)
    scored = _score(task, splits, split, config)
    return {
        "task": config.task,
        "model": config.model,
        "seed": config.seed,
        "split": split,
        "metrics": scored.metrics,
        "floor": scored.floor,
        "reference": scored.reference,
        "signature": resolve_task(config.task).signatures,
        "parameters": count_parameters(task),
        "checkpoint": str(checkpoint),
    }


def count_parameters(task: LearningTask) -> int:
    """Numbers that are learnt."""
    return sum(parameter.numel() for parameter in task.parameters() if parameter.requires_grad)


def _new_state(config: TrainConfig, splits: Splits) -> tuple[RunState, float | None, Tensor | None]:
    vectors, found = None, None
    if config.vectors is not None:
        from graphdep.vectors import load_vectors

        vectors, found = load_vectors(config.vectors, splits.vocab, seed=config.seed)
    data = {"digest": splits.digest(), **splits.describe()}
    dim = None if vectors is None else vectors.size(1)
    return RunState(config, splits.vocab, splits.relations, data, dim), found, vectors


def _new_task(state: RunState, vectors: Tensor | None) -> LearningTask:
    return build_task(state.config, len(state.vocab), len(state.relations), vectors)


@contextlib.contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Makes the folder and holds its lock, which a kill frees as well."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".lock", "w") as lock:
        if fcntl is not None:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ValueError(f"{folder}: another process trains in this folder") from None
        yield


def _set_aside(folder: Path) -> None:
    """Moves what an earlier run left to a folder of its own (``previous``, ``previous-2``, ...): a new run
    that fails must not cost an old one.
    """
    # The last checkpoint first: whatever a kill leaves behind, no run goes on from another one's.
    left = ("last.ckpt", RESULT, PREDICTIONS, *map(responses_name, ("val", "test")), "best.ckpt")
    names = [name for name in left if (folder / name).exists()]
    if not names:
        return
    previous, number = folder / "previous", 1
    while previous.exists():
        number += 1
        previous = folder / f"previous-{number}"
    previous.mkdir()
    if "last.ckpt" in names and RESULT not in names:
        logger.warning(
            "%s: an unfinished run is set aside in %s; with resume (--resume) it would go on",
            *(folder, previous.name),
        )
    for name in names:
        os.replace(folder / name, previous / name)


def _resume_from(folder: Path, state: RunState) -> Path | None:
    path = folder / "last.ckpt"
    if not path.exists():
        return None
    try:
        earlier = RunState.from_state_dict(read_checkpoint(path)["graphdep"])
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{path}: damaged checkpoint ({error!r}); delete it to train this run again"
        ) from None
    _check_same(path, state, earlier.config, earlier.data["digest"], state.config.late)
    _check_best(folder)
    return path


def _finished(folder: Path, state: RunState) -> dict[str, Any] | None:
    path = folder / RESULT
    if not all((folder / name).exists() for name in (RESULT, PREDICTIONS, "best.ckpt")):
        return None
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
        config, digest = TrainConfig.from_dict(result["config"]), result["data"]["digest"]
        complete = all(isinstance(result[key], kind) for key, kind in _RESULT_KEYS.items())
    except (ValueError, KeyError, TypeError):
        complete = False
    if not complete:  # the checkpoints say where to go on, and the result is written anew
        logger.warning("%s is damaged or incomplete: the run goes on from its last checkpoint", path)
        return None
    _check_same(path, state, config, digest)
    _check_best(folder)
    # Asked for more epochs, a finished run goes on from its last one.
    return result if config.max_epochs == state.config.max_epochs else None


def _check_best(folder: Path) -> None:
    try:
        read_checkpoint(folder / "best.ckpt")
    except (FileNotFoundError, ValueError) as error:
        raise ValueError(
            f"{error}; delete last.ckpt and {RESULT} beside it to train this run again"
        ) from None


def _check_same(
    path: Path, state: RunState, config: TrainConfig, digest: str, ignore: tuple[str, ...] = ()
) -> None:
    # Where the learning rate falls to the last update, more epochs are another run from the first one on.
    falls = config.warmup_steps is not None
    different = state.config.differences(config, ignore=ignore if falls else [*ignore, "max_epochs"])
    if state.config.max_epochs < config.max_epochs and not falls:
        different.append(f"max_epochs: {state.config.max_epochs} < {config.max_epochs}")
    if state.data["digest"] != digest:
        different.append("the data (other pairs, parses or words)")
    if different:
        raise ValueError(f"{path} is of another run, which cannot be resumed: {'; '.join(sorted(different))}")


def _trainer(
    config: TrainConfig, folder: Path | None = None, callbacks: list[L.Callback] | None = None
) -> L.Trainer:
    return L.Trainer(
        accelerator=config.accelerator,
        devices=1,
        precision=cast(Any, config.precision),
        max_epochs=config.max_epochs,
        gradient_clip_val=config.clip,
        callbacks=callbacks,
        default_root_dir=folder,
        plugins=[AtomicCheckpointIO(), LightningEnvironment()],
        logger=False,
        enable_checkpointing=bool(callbacks),
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
    )


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C stays Ctrl-C: Lightning turns it into an exit, and ignores the next ones."""
    on_main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    except SystemExit:
        raise KeyboardInterrupt from None
    finally:
        if on_main:
            signal.signal(signal.SIGINT, handler)


def _predict(task: LearningTask, splits: Splits, split: str, config: TrainConfig) -> Outputs:
    """The outputs of a split, through the one way that training and evaluation share."""
    with quiet():
        return join_outputs(cast(list, _trainer(config).predict(task, splits.loader(split, config))))


def _score(
    task: LearningTask, splits: Splits, split: str, config: TrainConfig, folder: Path | None = None
) -> Scored:
    """All that is said of a split; what is worth keeping goes to ``folder``."""
    outputs = _predict(task, splits, split, config)
    scored = score_outputs(task, splits, split, outputs)
    if isinstance(task, DialogueTask) and isinstance(config, DialogueConfig):
        scored = scored | score_responses(task, splits, split, config, folder)
    if folder is not None and split == "test":
        write_predictions(folder / PREDICTIONS, *task.compared(outputs))
    return scored


def _result(mine: RunState, run: RunCheckpoint, splits: Splits, found: float | None) -> dict[str, Any]:
    task, state = load_task(run.best_path)
    _check_same(run.best_path, mine, state.config, state.data["digest"], mine.config.late)
    config = mine.config
    scored = Scored()
    for split in ("val", "test"):
        scored = scored | _score(task, splits, split, config, run.folder)
    return {
        "task": config.task,
        "model": config.model,
        "seed": config.seed,
        "metrics": scored.metrics,
        "floor": scored.floor,
        "reference": scored.reference,
        "signature": resolve_task(config.task).signatures,
        "epochs": run.epochs,
        "best_epoch": run.best_epoch,
        "seconds_per_epoch": sum(run.seconds) / len(run.seconds),
        "parameters": count_parameters(task),
        "checkpoint": str(run.best_path),
        "vectors_found": found,
        "device": "cuda" if config.accelerator != "cpu" and torch.cuda.is_available() else "cpu",
        "data": state.data,
        "config": config.to_dict(),
        "versions": {"graphdep": graphdep.__version__, "torch": torch.__version__},
    }


def _write_json(path: Path, value: dict[str, Any]) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text(
            json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8"
        )


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without Lightning's notes about hardware and its tips; errors come through."""
    loggers = [logging.getLogger(name) for name in ("lightning.pytorch", "lightning.fabric")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            # The corpora are in memory: workers would cost more than they save.
            warnings.filterwarnings("ignore", message=".*does not have many workers.*")
            warnings.filterwarnings("ignore", message=".*GPU available but not used.*")
            # Batches by tokens hold every example (tested).
            warnings.filterwarnings("ignore", message=".*custom batch sampler.*")
            warnings.filterwarnings("ignore", message=".*isinstance.treespec, LeafSpec.*")
            yield
    finally:
        for logger, level in zip(loggers, levels):
            logger.setLevel(level)
