"""Submissions to GLUE's leaderboard."""

from __future__ import annotations

import logging
import os
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch_geometric.loader import DataLoader

from graphdep.datasets.glue import CORPORA, GLUE, MAX_SCORE, corpus_folder, part_files, part_pattern
from graphdep.io.files import check_folder, check_replaced, home_path, temporary_folder
from graphdep.io.progress import with_progress
from graphdep.parsing import Parser
from graphdep.training.estimator import (
    check_batch_size,
    check_family,
    check_weights,
    parser_to_use,
    resolve_device,
)

if TYPE_CHECKING:
    from graphdep.tasks.sentences.model import SentenceTask
    from graphdep.training.checkpoint import RunState

logger = logging.getLogger("graphdep")

ARCHIVE = "submission.zip"
_ROOT = "datasets/glue"


class SubmissionFile(NamedTuple):
    """A file of the leaderboard.

    Args:
        task: Task of its checkpoint (:func:`predict_glue`); :obj:`None` for WNLI, which is constant, since
            its development set contradicts its training set.
        name: Its corpus.
        split: The split of :class:`~graphdep.datasets.GLUE`.
        rows: Number of rows of the official test file.
        constant: A constant prediction: the most frequent class, or the middle of the scale.
    """

    task: str | None
    name: str
    split: str
    rows: int
    constant: str


FILES = {
    "CoLA.tsv": SubmissionFile("cola", "cola", "test", 1063, "1"),
    "SST-2.tsv": SubmissionFile("sst2", "sst2", "test", 1821, "1"),
    "MRPC.tsv": SubmissionFile("mrpc", "mrpc", "test", 1725, "1"),
    "STS-B.tsv": SubmissionFile("stsb", "stsb", "test", 1379, "2.500"),
    "MNLI-m.tsv": SubmissionFile("mnli", "mnli", "test", 9796, "entailment"),
    "MNLI-mm.tsv": SubmissionFile("mnli", "mnli", "test-mismatched", 9847, "entailment"),
    "QNLI.tsv": SubmissionFile("qnli", "qnli", "test", 5463, "entailment"),
    "RTE.tsv": SubmissionFile("rte", "rte", "test", 3000, "entailment"),
    "QQP.tsv": SubmissionFile("qqp", "qqp", "test", 390965, "0"),
    "AX.tsv": SubmissionFile("mnli", "ax", "test", 1104, "entailment"),
    "WNLI.tsv": SubmissionFile(None, "wnli", "test", 146, "0"),
}
NAMES = tuple(dict.fromkeys(file.task for file in FILES.values() if file.task is not None))
# Tasks with the same numbers of labels as a corpus of GLUE.
_TASKS = {"sst2": ("glue-sst2", "sst2", "sst"), "mrpc": ("glue-mrpc", "mrpc")}


def check_checkpoints(checkpoints: Mapping[str, str | os.PathLike[str]]) -> None:
    """Checks that each checkpoint belongs to its task.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If a name is not in :obj:`NAMES`, or a file is not a checkpoint of that task.
    """
    from graphdep.training.checkpoint import read_task  # here, since Lightning takes seconds to import

    for name, path in checkpoints.items():
        if name not in NAMES:
            raise ValueError(f"a checkpoint must be for one of {', '.join(NAMES)} (got {name!r})")
        task, wanted = read_task(path), _TASKS.get(name, (name,))
        if task not in wanted:
            raise ValueError(
                f"{os.fspath(path)}: trained on the task {task!r}, but {name!r} needs a checkpoint of "
                f"{' or '.join(wanted)}"
            )


def tasks_of(given: Iterable[tuple[str | None, Path]]) -> dict[str, Path]:
    """Checkpoints by task, the named one or that of the training.

    Raises:
        ValueError: If a task is repeated, or GLUE has no test set for it.
    """
    from graphdep.training.checkpoint import read_task

    found: dict[str, Path] = {}
    for named, path in given:
        task = read_task(path) if named is None else named
        name = next((name for name, tasks in _TASKS.items() if named is None and task in tasks), task)
        if named is None and name not in NAMES:
            known = ", ".join(NAMES)
            raise ValueError(f"{path}: trained on the task {task!r}, but the leaderboard has {known}")
        if name in found:
            raise ValueError(f"'--checkpoint' names {name!r} twice: {found[name]} and {path}")
        found[name] = path
    return found


def glue_root(checkpoint: str | os.PathLike[str], name: str) -> str:
    """The ``root`` of a model's training, if it has the test files of its task in the layout of GLUE's
    download; else the default folder. Only such files are read there.
    """
    from graphdep.training.checkpoint import read_checkpoint

    root = read_checkpoint(checkpoint)["graphdep"]["config"].get("root")
    files = [about for about in FILES.values() if about.task == name]
    if isinstance(root, str) and all(
        part_files(home_path(root) / "raw" / CORPORA[about.name].folder, about.name, about.split)
        for about in files
    ):
        return root
    return _ROOT


def check_test_files(
    names: Iterable[str],
    *,
    root: str | os.PathLike[str] = _ROOT,
    raw_from: str | os.PathLike[str] | None = None,
) -> None:
    """Checks that the test files of tasks exist; for arguments see :func:`predict_glue`.

    Raises:
        FileNotFoundError: If a file is missing; names the file and the folders.
    """
    wanted = {*names}
    for file, about in FILES.items():
        if about.task in wanted:
            corpus = CORPORA[about.name]
            folders = [home_path(root) / "raw" / corpus.folder]
            folders += [] if raw_from is None else [corpus_folder(raw_from, about.name)]
            if not any(part_files(folder, about.name, about.split) for folder in folders):
                pattern = part_pattern(about.name, about.split)
                places = " nor in ".join(repr(str(folder)) for folder in folders)
                raise FileNotFoundError(
                    f"{file} needs {pattern}, which is not in {places}. It is published at "
                    f"{corpus.published}. Unpack it anywhere and pass that folder as raw_from=DIR (on the "
                    "command line: --raw-from DIR)"
                )


def predict_glue(
    checkpoint: str | os.PathLike[str],
    name: str,
    *,
    root: str | os.PathLike[str] = "datasets/glue",
    raw_from: str | os.PathLike[str] | None = None,
    parser: str | Parser | None = None,
    batch_size: int = 64,
    device: str | torch.device | None = None,
    progress: bool | None = None,
) -> dict[str, list[str]]:
    """Predictions of a model for the test sets of its task, by file of the leaderboard (three for MNLI).

    If the size of a test file differs from the official one, a warning is logged.

    Args:
        checkpoint: ``best.ckpt`` of a run on sentences.
        name: Name of the task: ``"cola"``, ``"sst2"``, ``"mrpc"``, ``"stsb"``, ``"mnli"``, ``"qnli"``,
            ``"rte"`` or ``"qqp"``.
        root: Folder of GLUE with the test files in ``raw/``. (default: ``"datasets/glue"``)
        raw_from: Folder of GLUE's download to copy the test files from. (default: :obj:`None`)
        parser: Parser, or its name; :obj:`None` for the checkpoint's if it is ``"bundled"``. (default:
            :obj:`None`)
        batch_size: Examples per batch. (default: :obj:`64`)
        device: Device of the model; :obj:`None` for a GPU if there is one. (default: :obj:`None`)
        progress: Show progress on stderr; :obj:`None` for only if there is much work. (default:
            :obj:`None`)

    Raises:
        FileNotFoundError: If the checkpoint or a test file is missing.
        ValueError: If the checkpoint is not of this task, has diverged, or a test file is damaged: the index
            of each row must be its number.
    """
    check_batch_size(batch_size)
    check_checkpoints({name: checkpoint})
    from graphdep.tasks.sentences.model import SentenceTask
    from graphdep.training.checkpoint import check_scheme, load_task

    task, state = load_task(checkpoint)
    check_family(os.fspath(checkpoint), state.config, "sentence", "sentence vectors")
    assert isinstance(task, SentenceTask)
    check_weights(task.model, os.fspath(checkpoint))
    task = task.to(resolve_device(device))
    options = {**_ids(task, state), "root": root, "raw_from": raw_from, "val_from": "dev"}
    options["parser"] = parser_to_use(checkpoint, state.config.parser, parser)
    answers = {}
    for file, about in FILES.items():
        if about.task == name:
            dataset = GLUE(name=about.name, split=about.split, **options)
            check_scheme(os.fspath(checkpoint), state, dataset.arc_labels, parsed=True)
            if len(dataset) != about.rows:
                logger.warning(
                    "%s: %d rows, but the official test set has %d", file, len(dataset), about.rows
                )
            loader = DataLoader(dataset, batch_size=batch_size, follow_batch=dataset.follow_batch)
            batches = with_progress(loader, file, shown=progress is not False)
            outputs = torch.cat([_outputs(task, batch) for batch in batches])
            if not outputs.isfinite().all():
                raise ValueError(
                    f"{os.fspath(checkpoint)}: outputs for {file} are not finite: it has diverged in training"
                )
            values = task.goal.predict(outputs).tolist()
            answers[file] = [_answer(value, dataset.labels) for value in values]
    return answers


def constant_answers(file: str) -> list[str]:
    """Constant predictions for the official test set, for a task without a model."""
    return [FILES[file].constant] * FILES[file].rows


def check_submission(output: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Raises :class:`ValueError` if the folder cannot be made, or files in it would be replaced."""
    check_folder("output", output)
    check_replaced(output, [*FILES, ARCHIVE], overwrite=overwrite)
    path = Path(os.path.realpath(output))
    folder = next(place for place in (path, *path.parents) if place.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise ValueError(f"'output' cannot be made in {str(folder)!r} (got {os.fspath(output)!r})")


def write_submission(
    output: str | os.PathLike[str], answers: Mapping[str, Sequence[str]], *, overwrite: bool = False
) -> None:
    """Writes the leaderboard's files and ``submission.zip`` atomically, the archive last.

    Every file has the header ``index<TAB>prediction``; rows count from 0. Equal predictions give equal bytes.

    Args:
        output: The folder.
        answers: Predictions in the order of the test set, by file.
        overwrite: Replace another submission in the folder. (default: :obj:`False`)

    Raises:
        ValueError: If one of the files exists and :obj:`overwrite` is not set.
    """
    check_submission(output, overwrite=overwrite)
    path = Path(os.path.realpath(output))
    path.parent.mkdir(parents=True, exist_ok=True)
    with temporary_folder(path.name, path.parent) as temporary:
        with zipfile.ZipFile(temporary / ARCHIVE, "w", zipfile.ZIP_DEFLATED) as archive:
            for file, rows in answers.items():
                lines = ["index\tprediction", *(f"{number}\t{row}" for number, row in enumerate(rows))]
                content = "".join(line + "\n" for line in lines).encode()
                (temporary / file).write_bytes(content)
                # ZipInfo has a constant date instead of today's.
                archive.writestr(zipfile.ZipInfo(file), content, zipfile.ZIP_DEFLATED)
        path.mkdir(exist_ok=True)
        for name in (*answers, ARCHIVE):
            os.replace(temporary / name, path / name)
        for name in {*FILES} - {*answers}:  # files of another submission
            (path / name).unlink(missing_ok=True)


def _ids(task: SentenceTask, state: RunState) -> dict[str, Any]:
    """Arguments of a dataset: vocabulary or tokenizer of the model, and data settings of its training."""
    from graphdep.training.build import backbone_of

    own = state.config.dataset_options("test")
    ids = {"vocab": state.vocab} if state.pretrained is None else {"tokens": backbone_of(task.model).tokens}
    return {"relations": state.relations, **own, **ids}


@torch.inference_mode()
def _outputs(task: SentenceTask, batch: Any) -> torch.Tensor:
    return task(task.edges(batch.to(task.device))).float().cpu()


def _answer(value: float, labels: tuple[str, ...]) -> str:
    """The label of a class, or a score clipped to its scale."""
    return labels[int(value)] if labels else f"{min(max(value, 0.0), float(MAX_SCORE)):.3f}"
