"""Scores of a trained model on a split: at the end of its training, and from its checkpoint."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from rich.console import Console

from graphdep.training.family.by_task import family_of, load_splits
from graphdep.training.family.learning_task import LearningTask, Outputs, join_outputs
from graphdep.training.family.lookup import resolve_task
from graphdep.training.family.pretrained import backbone_of
from graphdep.training.family.split_scores import SplitScores
from graphdep.training.family.splits import SPLITS, Splits
from graphdep.training.family.train_config import TrainConfig
from graphdep.training.runner.batch_bar import ScoringBar
from graphdep.training.runner.checkpoint import RunState, load_task
from graphdep.training.runner.predictions import PREDICTIONS, write_predictions
from graphdep.training.runner.trainer import interruptible, make_trainer, quiet
from graphdep.transforms.presets import UnknownEdgesError


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
        split: ``"train"``, ``"val"`` or ``"test"``, or another test split of the task, such as MNLI's
            ``"test-mismatched"``. (default: ``"test"``)
        settings: Settings that replace the checkpoint's, e.g. ``root``: those of places and data, of the
            edges, and of decoding, but none that the weights depend on. (default: none)
        splits: The data. (default: loaded as the settings say)

    A checkpoint chooses no place: ``root``, ``raw_from``, the user's own files and ``num_workers`` are those
    of :obj:`settings` or the defaults, and so is a parser other than ``"bundled"``.

    Raises:
        FileNotFoundError: If the checkpoint is missing.
        ValueError: If it is damaged or no checkpoint of graphdep's, :obj:`split` is unknown, or a setting
            cannot be another one than in training; or if it was trained with places or a parser other than
            the defaults, which :obj:`settings` have to repeat or replace.
    """
    task, state = _load(checkpoint, (settings or {}).get("edges"))
    config = state.config.for_evaluation(settings or {})
    others = resolve_task(config.task).other_tests
    if split not in (*SPLITS, *others):
        raise ValueError(f"'split' must be one of {', '.join((*SPLITS, *others))} (got {split!r})")
    if ("test" if split in others else split) not in config.splits:
        advice = family_of(config.task).missing_split(config, split)
        raise ValueError(f"{checkpoint}: its settings have no split {split!r}{advice}")
    family_of(config.task).adapt(task, config)
    if splits is None:
        _check_named(checkpoint, state.config, settings or {})
        splits = _splits_of(task, state, config, split)
    scored = score_split(task, splits, split, config)
    return {
        "task": config.task,
        "model": config.model,
        "label": config.label,
        "seed": config.seed,
        "split": split,
        "metrics": scored.metrics,
        "floor": scored.floor,
        "reference": scored.reference,
        **({"tables": scored.tables} if scored.tables else {}),
        "signature": config.signatures(),
        "parameters": count_parameters(task),
        "checkpoint": str(checkpoint),
    }


def _load(checkpoint: str | os.PathLike[str], edges: str | None) -> tuple[LearningTask, RunState]:
    """The task; where the checkpoint's name for its edges is not known, :obj:`edges` have to be the same."""
    try:
        return load_task(checkpoint)
    except UnknownEdgesError:
        if edges is None:
            raise
    return load_task(checkpoint, edges)


def _check_named(checkpoint: str | os.PathLike[str], config: TrainConfig, given: Mapping[str, Any]) -> None:
    """Raises :class:`ValueError` if a checkpoint names places or a parser that nobody has given."""
    named = {name: value for name, value in config.named().items() if name not in given}
    if named:
        was = ", ".join(f"{name}={value!r}" for name, value in named.items())
        again = " ".join(_option(name, value) for name, value in named.items())
        raise ValueError(
            f"{os.fspath(checkpoint)}: trained with {was}; no file, folder or parser but 'bundled' is taken "
            f"from a checkpoint: if you trust these names, give them as 'settings' ({again})"
        )


def _option(name: str, value: str) -> str:
    """A setting as one types it; what cannot be shown as it is, is shown by its ``repr``."""
    value = value if value.isprintable() else repr(value)
    own = name in ("root", "parser")
    return f"--{name} {shlex.quote(value)}" if own else f"--set {shlex.quote(f'{name}={value}')}"


def _splits_of(task: LearningTask, state: RunState, config: TrainConfig, split: str) -> Splits:
    """A split, and what its floor is computed from, with the words that a model was trained on."""
    family = family_of(config.task)
    needed = tuple(dict.fromkeys((*family.floor_reads, split)))
    pretrained = backbone_of(task.model) if config.pretrained else None
    labels = state.labels if family.known_labels(config) else None
    return load_splits(config, needed, state.vocab, pretrained, state.relations, labels)


def count_parameters(task: LearningTask) -> int:
    """Numbers that are learnt."""
    return sum(parameter.numel() for parameter in task.parameters() if parameter.requires_grad)


def _predict(
    task: LearningTask, splits: Splits, split: str, config: TrainConfig, console: Console | None
) -> Outputs:
    """The outputs of a split, through the one way that training and evaluation share."""
    with quiet(), interruptible():
        trainer = make_trainer(config, callbacks=[ScoringBar(f"scoring {split}", console)])
        return join_outputs(cast(list, trainer.predict(task, splits.loader(split, config))))


def score_split(
    task: LearningTask,
    splits: Splits,
    split: str,
    config: TrainConfig,
    folder: Path | None = None,
    console: Console | None = None,
    outputs: Outputs = (),
) -> SplitScores:
    """All that is said of a split; what is worth keeping goes to ``folder``, and a bar to ``console``. The
    task's outputs are computed where there are none.
    """
    outputs = outputs or _predict(task, splits, split, config, console)
    family = family_of(config.task)
    tables = family.tables(task, splits, split, outputs)
    floor = family.floor(task, splits, split, outputs)
    scored = SplitScores(task.score(outputs, split), floor, tables={split: tables} if tables else {})
    scored = scored | family.extra_scores(task, splits, split, config, folder)
    if folder is not None and split == splits.compared:
        beside = family.readable(task, splits, split, outputs)
        write_predictions(folder / PREDICTIONS, *task.compared(outputs), task.groups(outputs), beside)
    return scored
