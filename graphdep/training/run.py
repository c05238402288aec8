"""One run: training, best checkpoint, scores, predictions."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import lightning as L
import sklearn.metrics  # noqa: F401 (so that its import does not count as time of the first validation)
import torch
from filelock import FileLock, Timeout
from lightning.pytorch.loggers import Logger
from lightning.pytorch.utilities.model_helpers import is_overridden
from rich.console import Console
from torch import Tensor

from graphdep.datasets.base.words import WordDataset
from graphdep.io.console import plain_console
from graphdep.io.files import BEST, LAST, atomic_path, remove_leftovers
from graphdep.io.progress import showing_progress
from graphdep.training.build import BuildInputs, backbone_of, load_pretrained, resolve_precision
from graphdep.training.checkpoint import RunCheckpoint, RunState, load_task, monitored, read_checkpoint
from graphdep.training.config import RESULT, RUN_FILE, RUN_HEAD, TrainConfig, write_run
from graphdep.training.evaluation import PREDICTIONS, count_parameters, read_predictions, score_split
from graphdep.training.family import SplitScores, build_task, load_splits
from graphdep.training.filling import wanted_filler
from graphdep.training.learning_task import LearningTask
from graphdep.training.splits import Splits
from graphdep.training.trainer import (
    METRICS,
    STEPS,
    BatchProgress,
    EpochReport,
    MetricsFile,
    Processes,
    interruptible,
    make_logger,
    make_trainer,
    quiet,
    read_metrics,
    why_early,
)
from graphdep.transforms.presets import UnknownEdgesError
from graphdep.version import __version__

if TYPE_CHECKING:
    from graphdep.nn.pretrained import PretrainedEncoder

_LOCK = ".lock"


class FolderInUseError(ValueError):
    """Another process trains in the folder of a run."""


@contextlib.contextmanager
def folder_lock(folder: Path, does: str = "trains") -> Iterator[None]:
    """Makes the folder and holds its lock, which is released even by a kill.

    Args:
        folder: The folder.
        does: What the process that holds the lock does, for the error. (default: ``"trains"``)

    Raises:
        FolderInUseError: If another process holds the lock.
        ValueError: If the lock file is a link.
        OSError: If the folder is not writable.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / _LOCK).is_symlink():
        raise ValueError(f"{folder / _LOCK} is a link, not the lock of a run")
    lock = FileLock(folder / _LOCK)
    try:
        lock.acquire(timeout=0.1, poll_interval=0.01)  # is_locked() may hold it for a moment
    except Timeout:
        raise FolderInUseError(f"{folder}: another process {does} in this folder") from None
    try:
        yield
    finally:
        lock.release()


# Hooks of callbacks that get the batches.
_BATCH_HOOKS = [f"on_{kind}_batch_{when}" for kind in ("train", "validation") for when in ("start", "end")]


def is_locked(folder: Path) -> bool:
    """Whether a process holds the lock of a folder."""
    if not (folder / _LOCK).exists():  # FileLock would create it
        return False
    try:
        with FileLock(folder / _LOCK, timeout=0):
            return False
    except Timeout:
        return True
    except OSError:  # a link, or a folder of another user
        return False


CURVES = "curves.png"
# Keys of a result that reports read.
_RESULT_KEYS = {
    "metrics": dict,
    "floor": dict,
    "seed": int,
    "checkpoint": str,
    "parameters": int,
    "reference": dict,
    "floor_frozen": dict,
    "own_edges": dict,
}
_RESULT_KEYS |= {"epochs": int, "seconds_per_epoch": (int, float)}  # type: ignore[dict-item]

# The last checkpoint first: after a kill no run must resume from that of another run.
_FILES = (LAST, RESULT, PREDICTIONS, METRICS, STEPS, CURVES, RUN_FILE)

logger = logging.getLogger("graphdep.training")


def run_folder(config: TrainConfig, splits: Splits, base: str | os.PathLike[str]) -> Path:
    """The subfolder of ``base`` for a run, whose name has a digest of its settings and data."""
    digest = resolve_precision(config).digest(splits.digest())
    return Path(base) / f"{config.task}_{config.model}_seed{config.seed}_{digest}"


def run_on_other_edges(config: TrainConfig, folder: Path) -> Path | None:
    """A folder beside ``folder`` of a finished run with the same settings but other edges of the user's under
    the same names; :obj:`None` if ``folder`` exists.
    """
    if folder.exists() or not (own := config.own_edges()):
        return None
    settings = resolve_precision(config).to_dict()
    for path in sorted(folder.parent.glob(f"{folder.name.rpartition('_')[0]}_*/{RESULT}")):
        # Damage is reported when the run is resumed.
        with contextlib.suppress(OSError, ValueError, AttributeError):
            result = json.loads(path.read_text(encoding="utf-8"))
            if result.get("config") == settings and result.get("own_edges") not in (None, own):
                return path.parent
    return None


def train(
    config: TrainConfig,
    folder: str | os.PathLike[str],
    *,
    splits: Splits | None = None,
    resume: bool = False,
    title: str | None = None,
    console: Console | None = None,
    floor_frozen: Mapping[str, float] | None = None,
    callbacks: Sequence[L.Callback] = (),
    logger: str | Logger | None = None,
    log_every: int | None = None,
    devices: int = 1,
    nodes: int = 1,
    strategy: str = "auto",
) -> dict[str, Any]:
    """Trains a model and scores its best epoch on the validation split and the test split, if any.

    Args:
        config: The settings.
        folder: Folder for ``run.yaml`` (all settings), ``best.ckpt``, ``result.json``, ``metrics.csv`` and
            ``curves.png`` (values of every epoch), ``predictions.csv`` of the test split, or without one of
            the validation split, for dialogues ``responses-val.jsonl`` and ``responses-test.jsonl``, and
            ``last.ckpt``, which is removed at the end unless more epochs may help: the last validation was
            the best and the learning rate is constant. :func:`ablate` always removes it.
        splits: The data. (default: loaded by the settings)
        resume: Resume an interrupted run in this folder, with the same result as without interruption. A
            finished run is not repeated; with a larger ``max_epochs`` it continues from ``last.ckpt``, or
            starts again without one. (default: :obj:`False`)
        title: Name of the run in progress lines. (default: model and seed)
        console: Where progress is printed. (default: stderr)
        floor_frozen: Scores of the frozen encoder on these data, if known from another run. (default:
            computed if the settings ask for it)
        callbacks: Further Lightning callbacks. They get a :class:`~graphdep.tasks.LearningTask`, whose
            validation scores are logged as ``val_...``. Changes of weights, data or the number of epochs
            change the result, but not the name of the folder. Gradients are not accumulated over batches.
            (default: none)
        logger: ``"tensorboard"`` or ``"wandb"``, if installed, or a Lightning logger, for the values of
            epochs. (default: none)
        log_every: Number of steps after which loss and learning rate are written to ``steps.csv`` and the
            logger; :obj:`None` for never. (default: :obj:`None`)
        devices, nodes, strategy: Processes per machine, machines, and ``"ddp"``, to train one model in
            several processes (:class:`~graphdep.training.trainer.Processes`). They share each batch of
            ``batch_size`` examples: the result is that of one process except for rounding and dropout, which
            each process draws. The first process writes files and scores; the others run the same program,
            wait for it and return the same result. (default: :obj:`1`, :obj:`1`, ``"auto"``)

    Returns:
        The result as plain values, also written to ``result.json``.

    Raises:
        ValueError: If the run to resume has other settings or data, another process trains in the folder, the
            splits do not fit the settings, no label of ``val`` is one of ``train``, there is no GPU but the
            settings require one, or several processes have ``precision="auto"``, which each would decide for
            itself.
        TrainingError: If the loss or an output on the validation split is not finite.
        OSError: If the folder is not writable.
    """
    folder, processes = Path(folder), Processes(devices, nodes, strategy)
    processes.end_with_first()
    processes.check_config(config)
    progress = _Progress(title, console, tuple(callbacks), logger, log_every)
    splits = splits or load_splits(config)
    run = _run(config, folder, splits, resume, progress, floor_frozen, processes)
    return _result_of_first(folder) if run is None else run.result


class Trained(NamedTuple):
    """The result of a run, and task and state of its best epoch, which are not loaded if the run was finished
    before.
    """

    result: dict[str, Any]
    task: LearningTask | None = None
    state: RunState | None = None


def train_model(
    config: TrainConfig,
    folder: Path,
    splits: Splits,
    console: Console | None = None,
    callbacks: Sequence[L.Callback] = (),
) -> Trained:
    """Like :func:`train` in one process without resuming; also returns the task of the best epoch."""
    progress = _Progress(console=console, callbacks=tuple(callbacks))
    run = _run(config, folder, splits, False, progress, None, Processes())
    assert run is not None  # the process is the first
    (folder / LAST).unlink(missing_ok=True)  # it is not resumed
    return run


class _Progress(NamedTuple):
    """Where and how progress is reported; see :func:`train`."""

    title: str | None = None
    console: Console | None = None
    callbacks: tuple[L.Callback, ...] = ()
    logger: str | Logger | None = None
    log_every: int | None = None


def _run(
    config: TrainConfig,
    folder: Path,
    splits: Splits,
    resume: bool,
    progress: _Progress,
    floor_frozen: Mapping[str, float] | None,
    processes: Processes,
) -> Trained | None:
    """Calls :func:`_train` with the lock of the folder."""
    with processes.together(), folder_lock(folder) if processes.first else contextlib.nullcontext():
        if processes.first:
            _sweep(folder, config.task_family.files)
        console = progress.console if processes.first else plain_console(quiet=True)
        console = console or plain_console(stderr=True)
        title = progress.title or f"{config.label} seed {config.seed}"
        progress = progress._replace(console=console, title=title)
        with showing_progress(console, title):
            return _train(config, folder, splits, resume, progress, floor_frozen, processes)


def _train(
    config: TrainConfig,
    folder: Path,
    splits: Splits,
    resume: bool,
    progress: _Progress,
    floor_frozen: Mapping[str, float] | None,
    processes: Processes,
) -> Trained | None:
    """Trains and scores; :obj:`None` in processes other than the first."""
    first, several = processes.first, processes.count > 1
    if splits.settings not in (None, config.data_settings()):
        raise ValueError(f"'splits' were made with other settings than 'config' (got {splits.settings})")
    asked, config = config.precision, resolve_precision(config)
    config.own_edges()  # edges without an identity fail here, not at the first checkpoint
    pretrained = load_pretrained(config) if config.pretrained else None
    state, found, vectors = _new_state(config, splits, pretrained)
    if resume and (finished := _finished(folder, state)) is not None:
        if first and progress.console is not None:
            progress.console.print(f"{progress.title}  already finished", markup=False, soft_wrap=True)
        return Trained(finished)
    if floor_frozen is None:
        floor_frozen = _floor_frozen(config, splits, pretrained) if first else {}
    L.seed_everything(config.seed, workers=True, verbose=False)
    task = _new_task(state, vectors, pretrained)
    start, done = _resume_from(folder, state) if resume else (None, 0)
    if start is None and first:
        _set_aside(folder, config.task_family.files, resume, config.val_every)
    metric = monitored(config, task)
    floor = partial(_val_floor, splits, metric.name)
    checkpoint = RunCheckpoint(folder, state, metric, config.patience, config.keep, floor, config.val_every)
    report = EpochReport(progress.title or "", checkpoint, progress.console)
    if state.data["relations"] and config.may_read_labels:
        report.say(f"relations: {state.data['relations']}")
    if asked == "auto":
        report.say(f"precision={config.precision} (auto)")
    values = MetricsFile(folder, checkpoint, progress.log_every)
    if first:
        write_run(folder / RUN_FILE, config)
    with quiet():
        logger = make_logger(progress.logger, folder, config, report.title) if first else None
        callbacks = [checkpoint, BatchProgress(), report, *([values] if first else []), *progress.callbacks]
        trainer = make_trainer(config, folder, callbacks, logger, processes)
        device = trainer.strategy.root_device
        task.filler = None if several else wanted_filler(task, splits, config, device)
        # Callbacks that get batches need them unflattened.
        hooked = any(
            is_overridden(hook, callback) for callback in progress.callbacks for hook in _BATCH_HOOKS
        )
        flatten = [None if hooked else task.flattener(device, training) for training in (True, False)]
        train_loader = splits.loader(
            "train", config, task.edges, shuffle=True, shared=several, flatten=flatten[0]
        )
        # With workers, or batches without length, Lightning prefetches before it sets the epoch: after a
        # resume these would be batches of the first epoch.
        cast(Any, train_loader.batch_sampler).sampler.set_epoch(done)
        loaders = train_loader, splits.loader("val", config, task.edges, shared=several, flatten=flatten[1])
        with interruptible():
            trainer.fit(task, *loaders, ckpt_path=start)
    if not first:
        return None
    best, kept = load_task(checkpoint.best_path)
    _check_same(
        *(checkpoint.best_path, state, kept.config, kept.data["digest"], kept.config.own_edges()),
        ignore=config.with_mark("late"),
    )
    best.finish(folder)
    if not _validates_saved_weights(config, task, progress):
        checkpoint.best_outputs = ()
    unseen = [name for name in config.splits[1:] if name != "val" or not checkpoint.best_outputs]
    if unseen:
        report.say(f"scoring {', '.join(f'{len(splits[name])} examples of {name}' for name in unseen)}")
    _draw_curves(folder / CURVES, values, checkpoint, report.title)
    result = _result(best, config, kept.data, checkpoint, splits, found, floor_frozen)
    _write_json(folder / RESULT, result)  # last, since it marks the run as finished
    if not _can_continue(config, checkpoint):
        checkpoint.last_path.unlink(missing_ok=True)
    best.trainer = None  # which holds the data
    return Trained(result, best, kept)


def _can_continue(config: TrainConfig, run: RunCheckpoint) -> bool:
    """Whether more epochs may improve a finished run and can be added."""
    return config.warmup_steps is None and run.best_epoch == config.max_epochs


def _validates_saved_weights(config: TrainConfig, task: LearningTask, progress: _Progress) -> bool:
    """Whether outputs in a validation are exactly those of the saved weights."""
    # Callbacks may change weights, and cached states of a frozen encoder differ in the last digits.
    own = type(task).configure_callbacks is not L.LightningModule.configure_callbacks
    return not (progress.callbacks or own or getattr(config, "frozen", False))


def _result_of_first(folder: Path) -> dict[str, Any]:
    """The result that the first process has written."""
    path = folder / RESULT
    if not path.exists():
        raise FileNotFoundError(f"no file {path}: processes that train together must see the same folders")
    result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return result | {"checkpoint": str(folder / BEST)}


def _draw_curves(path: Path, values: MetricsFile, run: RunCheckpoint, title: str) -> None:
    # A run that was resumed after its last epoch has no values in memory.
    epochs = values.epochs or read_metrics(path.with_name(METRICS))
    from graphdep.visualization.plots import plot_curves

    figure = plot_curves(epochs, metric=run.metric.name, best_epoch=run.best_epoch, title=title)
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=100, format="png")


def _val_floor(splits: Splits, metric: str, task: LearningTask) -> float | None:
    """The score of no skill on the validation split."""
    found = task.floor(splits, "val", task.val_outputs)
    return found.get(f"val_{metric}")


def _new_state(
    config: TrainConfig, splits: Splits, pretrained: PretrainedEncoder | None
) -> tuple[RunState, float | None, Tensor | None]:
    if isinstance(val := splits["val"], WordDataset):
        val.check_labels()
    vectors, found, known = None, None, None
    if config.vectors is not None:
        from graphdep.vocab.vectors import load_vectors

        scale = config.vectors_scale
        vectors, found = load_vectors(config.vectors, splits.vocab, seed=config.seed, scale=scale)
    data = {"digest": splits.digest(), **splits.describe()}
    dim = None if vectors is None else vectors.size(1)
    if pretrained is not None:
        from graphdep.nn.pretrained.loading import encoder_state

        known = encoder_state(pretrained)
    labels = splits.labels()
    return RunState(config, splits.vocab, splits.relations, data, dim, known, labels), found, vectors


def _floor_frozen(
    config: TrainConfig, splits: Splits, pretrained: PretrainedEncoder | None
) -> dict[str, float]:
    """The scores of the frozen encoder."""
    if pretrained is None or not getattr(config, "floor_frozen", False):
        return {}
    own = pretrained.model.device
    cuda = config.accelerator != "cpu" and torch.cuda.is_available()
    try:
        encoder = pretrained.to("cuda" if cuda else own)
        return config.task_family.task_class.floor_frozen(config, splits, encoder)
    finally:
        pretrained.to(own)


def _new_task(state: RunState, vectors: Tensor | None, pretrained: PretrainedEncoder | None) -> LearningTask:
    sizes = len(state.vocab), len(state.relations)
    task = build_task(state.config, BuildInputs(*sizes, vectors, pretrained, state.num_classes, state.labels))
    task.begin(state.config)
    return task.train()  # a pretrained encoder may be in evaluation mode


def _sweep(folder: Path, files: tuple[str, ...]) -> None:
    """Removes temporary files of killed runs, which may have gigabytes."""
    for name in (*_FILES, *files, BEST):
        remove_leftovers(folder, name)


def _set_aside(folder: Path, files: tuple[str, ...], resume: bool, val_every: int) -> None:
    """Moves the files of an earlier run to a subfolder, so that a new run cannot lose them."""
    names = [name for name in (*_FILES, *files, "best.ckpt") if (folder / name).exists()]
    if not names:
        return
    if {*names} <= {RUN_FILE, STEPS, METRICS} and _is_run(folder) and _epochs(folder) <= val_every:
        for name in names:  # the run was killed before its first checkpoint
            (folder / name).unlink()
        return
    previous, number = folder / "previous", 1
    while previous.exists():
        number += 1
        previous = folder / f"previous-{number}"
    previous.mkdir()
    if LAST in names and RESULT not in names:
        logger.warning(
            "%s: an unfinished run is moved to %s; resume (--resume) would continue it",
            *(folder, previous),
        )
    elif resume:
        logger.warning(
            "%s: no last.ckpt to resume from, a new run starts%s; moved to %s: %s",
            folder,
            " (train keeps it after a run only if the last epoch was the best, ablate never)"
            if RESULT in names
            else "",
            *(previous, ", ".join(names)),
        )
    elif RESULT in names:
        logger.warning(
            "%s: the finished run is moved to %s; resume (--resume) would keep a finished run with the same "
            "settings",
            *(folder, previous),
        )
    elif not _is_run(folder):
        logger.warning("%s: moved to %s: %s", folder, previous, ", ".join(names))
    for name in names:
        os.replace(folder / name, previous / name)


def _is_run(folder: Path) -> bool:
    """Whether the folder has settings written by a run."""
    path = folder / RUN_FILE
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(RUN_HEAD)) == RUN_HEAD.encode()


def _epochs(folder: Path) -> int:
    """The number of epochs with values, which are written before their checkpoint."""
    try:
        return len(read_metrics(folder / METRICS))
    except ValueError:  # damaged files are never deleted
        return sys.maxsize


def _resume_from(folder: Path, state: RunState) -> tuple[Path | None, int]:
    """The checkpoint to resume from, if there is one, and its number of epochs."""
    path = folder / LAST
    if not path.exists():
        return None, 0
    content = read_checkpoint(path)["graphdep"]
    try:
        earlier, epochs = RunState.from_state_dict(content), int(content["epoch"])
    except UnknownEdgesError as error:
        raise _of_another_run(path, error) from None
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{path}: damaged checkpoint ({error!r}); delete it to train this run again"
        ) from None
    edges = content["own_edges"]
    _check_same(path, state, earlier.config, earlier.data["digest"], edges, state.config.with_mark("late"))
    _check_best(folder)
    return path, epochs


def _finished(folder: Path, state: RunState) -> dict[str, Any] | None:
    path = folder / RESULT
    if not all((folder / name).exists() for name in (RESULT, "best.ckpt", PREDICTIONS)):
        return None
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
        config, digest = TrainConfig.from_dict(result["config"]), result["data"]["digest"]
        complete = all(isinstance(result[key], kind) for key, kind in _RESULT_KEYS.items())
    except UnknownEdgesError as error:
        raise _of_another_run(path, error) from None
    except (ValueError, KeyError, TypeError):
        complete = False
    if not complete:  # the run resumes from its checkpoint and writes the result again
        how = "resumes from its last checkpoint" if (folder / LAST).exists() else "is repeated"
        logger.warning("%s is damaged or incomplete: the run %s", path, how)
        return None
    _check_same(path, state, config, digest, result["own_edges"])
    _check_best(folder)
    result["checkpoint"] = str(folder / BEST)  # the folder may have been renamed
    # With more max_epochs a finished run continues.
    return result if config.max_epochs == state.config.max_epochs else None


def _check_best(folder: Path) -> None:
    try:
        read_checkpoint(folder / "best.ckpt")
    except (FileNotFoundError, ValueError) as error:
        raise ValueError(
            f"{error}; delete last.ckpt and {RESULT} beside it to train this run again"
        ) from None


def _check_same(
    path: Path,
    state: RunState,
    config: TrainConfig,
    digest: str,
    edges: Mapping[str, str],
    ignore: tuple[str, ...] = (),
) -> None:
    # A learning rate that falls to 0 at the last step depends on max_epochs.
    falls = config.warmup_steps is not None
    different = state.config.differences(config, ignore=ignore if falls else [*ignore, "max_epochs"])
    if state.config.max_epochs < config.max_epochs and not falls:
        different.append(f"max_epochs: {state.config.max_epochs} < {config.max_epochs}")
    if (mine := state.config.own_edges()) != edges:  # even if the names are the same
        different.append(f"own edges: {mine} != {edges}")
    if state.data["digest"] != digest:
        different.append("the data (other examples, parses, words or labels) or the encoder")
    if different:
        raise _of_another_run(path, "; ".join(sorted(different)))


def _of_another_run(path: Path, why: object) -> ValueError:
    return ValueError(f"{path} belongs to another run, which cannot be resumed: {why}")


def _result(
    task: LearningTask,
    config: TrainConfig,
    data: dict[str, Any],
    run: RunCheckpoint,
    splits: Splits,
    found: float | None,
    floor_frozen: Mapping[str, float],
) -> dict[str, Any]:
    scored = SplitScores()
    for split in config.splits[1:]:
        seen = run.best_outputs if split == "val" else ()
        scored = scored | score_split(task, splits, split, config, run.folder, seen)
    predicted = read_predictions(run.folder / PREDICTIONS)
    return {
        "task": config.task,
        "model": config.model,
        "label": config.label,
        "seed": config.seed,
        "metrics": scored.metrics,
        "floor": scored.floor,
        "floor_frozen": dict(floor_frozen),
        "reference": scored.reference,
        **({"tables": scored.tables} if scored.tables else {}),
        "signature": config.signatures(),
        "epochs": run.epochs,
        "best_epoch": run.best_epoch,
        "tied_epochs": run.ties,
        "stopped": why_early(run),
        "seconds_per_epoch": sum(run.seconds) / len(run.seconds),
        "seconds_per_validation": sum(run.val_seconds) / max(1, len(run.val_seconds)),
        "parameters": count_parameters(task),
        **({"encoder_sizes": _encoder_sizes(task)} if config.pretrained else {}),
        "checkpoint": str(run.best_path),
        "vectors_found": found,
        "device": "cuda" if config.accelerator != "cpu" and torch.cuda.is_available() else "cpu",
        "predictions": len(predicted.target),
        "compared": splits.compared,
        "data": data,
        "config": config.to_dict(),
        "own_edges": config.own_edges(),
        "versions": {"graphdep": __version__, "torch": torch.__version__},
    }


def _encoder_sizes(task: LearningTask) -> dict[str, int]:
    """Sizes of a pretrained encoder, which replace the settings of these names."""
    backbone = backbone_of(task.model)
    return {name: getattr(backbone, name) for name in ("hidden_channels", "num_layers", "heads")}


def _write_json(path: Path, value: dict[str, Any]) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text(
            json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8"
        )
