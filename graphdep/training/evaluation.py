"""Scores and predictions of a trained model on a split."""

from __future__ import annotations

import csv
import math
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from graphdep.io.files import atomic_path, check_line
from graphdep.io.limits import check_choice, check_shape, check_some
from graphdep.training.build import backbone_of
from graphdep.training.checkpoint import RunState, check_scheme, load_task, trained_setting
from graphdep.training.config import TrainConfig
from graphdep.training.family import SplitScores, load_splits
from graphdep.training.filling import wanted_filler
from graphdep.training.learning_task import LearningTask, Outputs, join_outputs
from graphdep.training.own_config import OwnFilesConfig
from graphdep.training.splits import SPLITS, Splits
from graphdep.training.trainer import BatchProgress, check_accelerator, interruptible, make_trainer, quiet
from graphdep.transforms.presets import UnknownEdgesError

PREDICTIONS = "predictions.csv"
_HEADER = "example,target,prediction"
_OPTIONAL = ("group", "digest")
# The forms that repr() writes; float() also accepts 1_0 or digits of other scripts.
_WHOLE = re.compile(r"-?[0-9]{1,19}")
_FLOAT = re.compile(r"-?[0-9]+(?=[.e])(\.[0-9]+)?(e[+-]?[0-9]+)?")
_HEX = re.compile("[0-9a-f]{1,64}")
_INT64 = range(-(2**63), 2**63)


class Predictions(NamedTuple):
    """Targets and predictions of a whole split."""

    target: np.ndarray
    """``[N]``, whole numbers for classes, else floats."""
    prediction: np.ndarray
    """``[N]``, likewise."""
    group: np.ndarray | None = None
    """``[N]``, whole numbers: rows with equal numbers, such as the words of a sentence, are resampled
    together when systems are compared; :obj:`None` if rows are independent.
    """
    digest: tuple[str, ...] | None = None
    """Hex digits that identify the example of each row: a digest of its texts or words, marks and labels,
    whatever the parser and tokenizer; :obj:`None` if unknown.
    """


def write_predictions(
    path: str | os.PathLike[str],
    target: np.ndarray,
    prediction: np.ndarray,
    group: np.ndarray | None = None,
    digest: Sequence[str] | None = None,
    beside: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Writes one line per example, ``example,target,prediction``, optionally ``group`` and ``digest``, and
    then columns for human readers, such as labels and texts. The file is written atomically.

    Examples count from 0. Numbers are read back exactly. Line breaks in texts become spaces.

    Args:
        path: The file.
        target, prediction, group, digest: See :class:`Predictions`.
        beside: Columns for human readers by name, which are not read back. (default: none)

    Raises:
        ValueError: If they are not vectors of one size > 0, a value is not a finite int64 or float64, a group
            is not a whole number, or a digest is not hexadecimal.
    """
    check_shape("target", target, "examples")
    check_some("target", target, "example")
    check_shape("prediction", prediction, target.size)
    for name, values in (("target", target), ("prediction", prediction)):
        if not _is_exact(values):
            raise ValueError(
                f"'{name}' must be finite numbers that int64 or float64 holds (got {values.dtype} {values})"
            )
    columns: dict[str, Sequence[Any]] = {"target": target.tolist(), "prediction": prediction.tolist()}
    if group is not None:
        check_shape("group", group, target.size)
        if group.dtype.kind not in "iu" or not _is_exact(group):
            raise ValueError(f"'group' must be whole numbers that int64 holds (got {group.dtype} {group})")
        columns["group"] = group.tolist()
    if digest is not None:
        if len(digest) != target.size:
            raise ValueError(f"'digest' must have {target.size} rows, as 'target' has (got {len(digest)})")
        if wrong := next((text for text in digest if not _HEX.fullmatch(text)), None):
            raise ValueError(f"'digest' must be hex digits (got {wrong!r})")
        columns["digest"] = digest
    texts = {name: [" ".join(text.split()) for text in column] for name, column in (beside or {}).items()}
    with atomic_path(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["example", *columns, *texts])
        writer.writerows(zip(range(len(target)), *columns.values(), *texts.values(), strict=True))


def read_predictions(path: str | os.PathLike[str]) -> Predictions:
    """Reads a file by :func:`write_predictions`.

    Columns of whole numbers become int64, others float64. Groups and digests are optional.

    Raises:
        ValueError: If the file is invalid; names the file and the line.
        OSError: If it cannot be read.
    """
    # Invalid UTF-8 is replaced: the check of its line finds it.
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        lines = file.read().split("\n")
    message = f"the header must begin with {_HEADER!r}"
    check_line(f"{lines[0]},".startswith(f"{_HEADER},"), message, path, 1, lines[0])
    names, known = ["target", "prediction"], _HEADER
    for name in _OPTIONAL:
        if f"{lines[0]},".startswith(f"{known},{name},"):
            names, known = [*names, name], f"{known},{name}"
    cut = lines.pop()
    check_line(not cut, "the file is cut: its last line has no line break", path, len(lines) + 1, cut)
    check_line(lines[1:], "no example after the header", path, 1)
    # Quotes, NUL bytes, long cells and empty lines, which csv.reader accepts, are errors here.
    more = lines[0] != known
    rows = [_row(path, number, line, names, more) for number, line in enumerate(lines[1:], start=2)]
    columns = dict(zip(names, zip(*rows)))
    digest = columns.pop("digest", None)
    return Predictions(**{name: _array(column) for name, column in columns.items()}, digest=digest)


def check_same_examples(paths: Sequence[str | os.PathLike[str]], runs: Sequence[Predictions]) -> None:
    """Raises :class:`ValueError` unless runs are on the same examples; names two files and the first row in
    which they differ.
    """
    names = [os.fspath(path) for path in paths]
    columns = [np.array(run.digest or ()) for run in runs]
    for name, run, digest in zip(names, runs, columns):
        if not digest.size:
            raise ValueError(
                f"{name}: no column 'digest', which identifies the examples: the file is from an older "
                "graphdep; repeat this run"
            )
        if len(run.target) != len(runs[0].target):
            raise ValueError(f"{name} has {len(run.target)} examples, but {names[0]} has {len(columns[0])}")
        (different,) = np.nonzero((digest != columns[0]) | (run.target != runs[0].target))
        if different.size:
            i = different[0]
            what, mine, other = ("target", run.target[i], runs[0].target[i])
            if mine == other:
                what, mine, other = ("digest", digest[i], columns[0][i])
            raise ValueError(
                f"{name}: example {i} has the {what} {mine}, but in {names[0]} it is {other}: these are not "
                "the same examples"
            )


def shared_groups(predictions: Sequence[Predictions]) -> np.ndarray | None:
    """The groups of runs on the same examples, from the runs with groups.

    Raises:
        ValueError: If two runs have different groups.
    """
    groups = [found.group for found in predictions if found.group is not None]
    for other in groups[1:]:
        (different,) = np.nonzero(other != groups[0])
        if different.size:
            i = different[0]
            raise ValueError(
                f"example {i} is in group {groups[0][i]} in one run and in {other[i]} in another: these are "
                "not the same examples"
            )
    return groups[0] if groups else None


def _is_exact(values: np.ndarray) -> bool:
    if values.dtype.kind in "iu":
        return int(values.max()) in _INT64
    return values.dtype.kind == "f" and values.dtype.itemsize <= 8 and bool(np.isfinite(values).all())


def _row(
    path: str | os.PathLike[str], number: int, line: str, names: list[str], more: bool
) -> tuple[Any, ...]:
    """The numbers of a line; texts with quotes may follow."""
    cells = line.split(",", len(names) + 1) if more else line.split(",")
    wanted = len(names) + 1 + more
    check_line(len(cells) == wanted, f"{len(cells)} columns instead of {wanted}", path, number, line)
    check_line(cells[0] == str(number - 2), f"expected example {number - 2}", path, number, cells[0])
    return tuple(_cell(path, number, name, cell) for name, cell in zip(names, cells[1:]))


def _cell(path: str | os.PathLike[str], number: int, name: str, text: str) -> float | str:
    if name != "digest":
        return _number(path, number, name, text)
    check_line(_HEX.fullmatch(text), "the digest is not hexadecimal", path, number, text)
    return text


def _number(path: str | os.PathLike[str], number: int, name: str, text: str) -> float:
    if _WHOLE.fullmatch(text) and int(text) in _INT64:
        return int(text)
    check_line(name != "group", "the group is not a whole number", path, number, text)
    value = float(text) if _FLOAT.fullmatch(text) else math.nan
    check_line(math.isfinite(value), f"the {name} is not a finite number", path, number, text)
    return value


def _array(column: tuple[float, ...]) -> np.ndarray:
    whole = all(isinstance(value, int) for value in column)
    return np.array(column, dtype=np.int64 if whole else np.float64)


def evaluate(
    checkpoint: str | os.PathLike[str],
    split: str = "test",
    *,
    settings: dict[str, Any] | None = None,
    splits: Splits | None = None,
) -> dict[str, Any]:
    """Scores a checkpoint on a split, with the same result as at the end of its training.

    Args:
        checkpoint: ``best.ckpt`` or ``last.ckpt`` of a run.
        split: ``"train"``, ``"val"`` or ``"test"``, or another test split of the task, such as MNLI's
            ``"test-mismatched"``. (default: ``"test"``)
        settings: Settings that replace the checkpoint's, on which the weights do not depend: places such as
            ``root``, data, edges and decoding. (default: none)
        splits: The data. (default: loaded by the settings)

    Places are never taken from a checkpoint: ``root``, ``raw_from``, the user's files, ``num_workers`` and
    parsers other than ``"bundled"`` are those of :obj:`settings` or the defaults. Of the user's files the one
    of the split is enough; floors also need ``train``.

    Raises:
        FileNotFoundError: If the checkpoint is missing.
        ValueError: If it is damaged or not graphdep's, :obj:`split` is unknown, a setting cannot change after
            training, or the training had places or a parser other than the defaults, which :obj:`settings`
            must repeat or replace.
    """
    task, state = _load(checkpoint, (settings or {}).get("edges"))
    config = state.config.for_evaluation(settings or {})
    check_accelerator(config)
    others = config.spec.other_tests
    check_choice("split", split, (*SPLITS, *others))
    if ("test" if split in others else split) not in config.splits:
        advice = config.task_family.missing_split(config, split)
        raise ValueError(f"{checkpoint}: its settings have no split {split!r}{advice}")
    task.adapt(config, state.config)
    if splits is None:
        _check_named(checkpoint, state.config, settings or {}, split)
        splits = _splits_of(task, state, config, settings or {}, split)
    check_scheme(os.fspath(checkpoint), state, splits[split].arc_labels, parsed=False)
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
        "data": splits.describe(),
        "config": config.to_dict(),
        "checkpoint": str(checkpoint),
    }


def _load(checkpoint: str | os.PathLike[str], edges: str | None) -> tuple[LearningTask, RunState]:
    """The task and its state; ``edges`` are those of the training, if their name in it is unknown here."""
    try:
        return load_task(checkpoint)
    except UnknownEdgesError:
        if edges is None:
            raise
    return load_task(checkpoint, edges)


def _check_named(
    checkpoint: str | os.PathLike[str], config: TrainConfig, given: Mapping[str, Any], split: str
) -> None:
    """Raises :class:`ValueError` if a checkpoint names places or a parser that the user has not given and
    that scoring the split needs.
    """
    unread = {*SPLITS} - {*_needed(config, given, split)}
    named = {name: value for name, value in config.named().items() if name not in {*given, *unread}}
    if named:
        again = " ".join(_option(name, value) for name, value in named.items())
        raise ValueError(
            f"{os.fspath(checkpoint)}: also needs {again}: files, folders and parsers named in a checkpoint "
            "are used only if you name them"
        )


def _option(name: str, value: str) -> str:
    """A setting as a command-line option; unprintable values by their ``repr``."""
    return f"--{name.replace('_', '-')} {shlex.quote(value if value.isprintable() else repr(value))}"


def _needed(config: TrainConfig, given: Mapping[str, Any], split: str) -> tuple[str, ...]:
    """A split and the splits that its floor needs; without a floor if the user has not given its file."""
    own = isinstance(config, OwnFilesConfig) and "train" not in given
    alone = own and split != "train" and (given.get(split) or getattr(config, split)) is not None
    return (split,) if alone else tuple(dict.fromkeys((*config.task_family.floor_reads, split)))


def _splits_of(
    task: LearningTask, state: RunState, config: TrainConfig, given: Mapping[str, Any], split: str
) -> Splits:
    """The splits that scoring a split needs, with the vocabularies of a trained model."""
    needed = _needed(config, given, split)
    if isinstance(config, OwnFilesConfig) and "train" not in needed:
        # No other file of the checkpoint's is opened.
        config = config.replace(**{name: getattr(config, split) for name in SPLITS if name not in given})
    pretrained = backbone_of(task.model) if config.pretrained else None
    labels = state.labels if task.known_labels(config) else None
    for name in ("tree_scheme", "span_end"):
        if getattr(config, name, None) == "auto":
            config = config.replace(**{name: trained_setting(state, name)})
    return load_splits(config, needed, state.vocab, pretrained, state.relations, labels)


def count_parameters(task: LearningTask) -> int:
    """Number of trained parameters."""
    return sum(parameter.numel() for parameter in task.parameters() if parameter.requires_grad)


def _predict(task: LearningTask, splits: Splits, split: str, config: TrainConfig) -> Outputs:
    """The outputs on a split, the same way for training and evaluation."""
    with quiet(), interruptible():
        trainer = make_trainer(config, callbacks=[BatchProgress(f"scoring {split}")])
        device = trainer.strategy.root_device
        task.filler = wanted_filler(task, splits, config, device, split)
        loader = splits.loader(split, config, task.edges, flatten=task.flattener(device))
        return join_outputs(cast(list, trainer.predict(task, loader)))


def score_split(
    task: LearningTask,
    splits: Splits,
    split: str,
    config: TrainConfig,
    folder: Path | None = None,
    outputs: Outputs = (),
) -> SplitScores:
    """All scores of a split. Predictions are written to ``folder``; ``outputs`` are computed unless
    given.
    """
    outputs = outputs or _predict(task, splits, split, config)
    tables = task.tables(splits, split, outputs)
    floor = {}
    if splits.datasets.keys() >= {*config.task_family.floor_reads}:
        floor = task.floor(splits, split, outputs)
    scored = SplitScores(task.score(outputs, split), floor, tables={split: tables} if tables else {})
    scored = scored | task.extra_scores(splits, split, config, folder)
    if folder is not None and split == splits.compared:
        write_predictions(
            folder / PREDICTIONS,
            *task.compared(outputs),
            task.groups(outputs),
            task.digests(splits, split, outputs),
            task.readable(splits, split, outputs),
        )
    return scored
