"""The files that GLUE's leaderboard takes, from trained models."""

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
from graphdep.parsing import Parser
from graphdep.training.estimator import (
    check_batch_size,
    check_family,
    check_weights,
    parser_to_use,
    resolve_device,
    tracked,
)

if TYPE_CHECKING:
    from graphdep.tasks.sentences.model import SentenceTask
    from graphdep.training.checkpoint import RunState

logger = logging.getLogger("graphdep")

ARCHIVE = "submission.zip"
_PROGRESS_FROM = 2000
_ROOT = "datasets/glue"


class SubmissionFile(NamedTuple):
    """A file of the leaderboard.

    Args:
        task: The checkpoint that it comes from, as named in :func:`predict_glue`; WNLI, whose development set
            contradicts its training set, has none and is a constant.
        name: Its corpus.
        split: The split of :class:`~graphdep.datasets.GLUE` that it answers.
        rows: Rows of the official test file.
        constant: What stands in for predictions: of classes the most frequent one, of a score the middle.
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
# Tasks whose labels are those of a corpus of GLUE, numbered alike.
_TASKS = {"sst2": ("glue-sst2", "sst2", "sst"), "mrpc": ("glue-mrpc", "mrpc")}


def check_checkpoints(checkpoints: Mapping[str, str | os.PathLike[str]]) -> None:
    """Finds out before the work whether each checkpoint is one of its task.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If a name is none of :obj:`NAMES`, or a file is no checkpoint of that task.
    """
    from graphdep.training.checkpoint import read_task  # here, since Lightning takes seconds to import

    for name, path in checkpoints.items():
        if name not in NAMES:
            raise ValueError(f"a checkpoint is for one of {', '.join(NAMES)} (got {name!r})")
        task, wanted = read_task(path), _TASKS.get(name, (name,))
        if task not in wanted:
            raise ValueError(
                f"{os.fspath(path)}: trained on the task {task!r}, but {name!r} takes a checkpoint of "
                f"{' or '.join(wanted)}"
            )


def tasks_of(given: Iterable[tuple[str | None, Path]]) -> dict[str, Path]:
    """Checkpoints by their tasks, those that are named or else those of their training.

    Raises:
        ValueError: If a task is there twice, or GLUE has no test for one.
    """
    from graphdep.training.checkpoint import read_task

    found: dict[str, Path] = {}
    for named, path in given:
        task = read_task(path) if named is None else named
        name = next((name for name, tasks in _TASKS.items() if named is None and task in tasks), task)
        if named is None and name not in NAMES:
            known = ", ".join(NAMES)
            raise ValueError(f"{path}: trained on the task {task!r}, but the leaderboard is of {known}")
        if name in found:
            raise ValueError(f"'--checkpoint' names {name!r} twice: {found[name]} and {path}")
        found[name] = path
    return found


def glue_root(checkpoint: str | os.PathLike[str], name: str) -> str:
    """The folder that a model was trained from, if the test files of its task are there in the layout of
    GLUE's download; else the usual folder. Only such files are ever read there.
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
    """Finds out before the work whether the test files of these tasks are there, as :func:`predict_glue` has
    them.

    Raises:
        FileNotFoundError: If one is missing; names the file and the folders.
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
                    f"{pattern} is not in {places}, and {file} answers it. It is published at "
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
    """A model's answers to the test sets of its task, by the leaderboard's file: of MNLI three.

    A test file of another size than the official one is answered all the same; a warning says so.

    Args:
        checkpoint: ``best.ckpt`` of a run on sentences.
        name: Which corpus it answers: ``"cola"``, ``"sst2"``, ``"mrpc"``, ``"stsb"``, ``"mnli"``, ``"qnli"``,
            ``"rte"`` or ``"qqp"``.
        root: Folder of GLUE, with the test files below ``raw/``. (default: ``"datasets/glue"``)
        raw_from: Folder of GLUE's download to copy the test files from. (default: :obj:`None`)
        parser: Parser, or its name; :obj:`None` for the checkpoint's if that is ``"bundled"``.
            (default: :obj:`None`)
        batch_size: Examples a batch. (default: :obj:`64`)
        device: Where the model runs; :obj:`None` for a GPU if there is one. (default: :obj:`None`)
        progress: Show progress on stderr; :obj:`None` for it if there is some work to do.
            (default: :obj:`None`)

    Raises:
        FileNotFoundError: If the checkpoint or a test file is missing.
        ValueError: If the checkpoint is not of that task, has diverged, or a test file is damaged: an answer
            is known by its place, so that each row must have its own number as index.
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
            batches = tracked(loader, file, progress, much=len(dataset) >= _PROGRESS_FROM)
            outputs = torch.cat([_outputs(task, batch) for batch in batches])
            if not outputs.isfinite().all():
                raise ValueError(
                    f"{os.fspath(checkpoint)}: gives outputs that are not finite for {file}: it has diverged "
                    "in training"
                )
            values = task.goal.predict(outputs).tolist()
            answers[file] = [_answer(value, dataset.labels) for value in values]
    return answers


def constant_answers(file: str) -> list[str]:
    """As many rows of one answer as the official test set has, for a task that there is no model of."""
    return [FILES[file].constant] * FILES[file].rows


def check_submission(output: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Raises :class:`ValueError` if a folder of that name cannot be made, or would lose what is there."""
    check_folder("output", output)
    check_replaced(output, [*FILES, ARCHIVE], overwrite=overwrite)
    path = Path(os.path.realpath(output))
    folder = next(place for place in (path, *path.parents) if place.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise ValueError(f"'output' cannot be made in {str(folder)!r} (got {os.fspath(output)!r})")


def write_submission(
    output: str | os.PathLike[str], answers: Mapping[str, Sequence[str]], *, overwrite: bool = False
) -> None:
    """Writes the leaderboard's files and ``submission.zip`` of them, each whole, the archive last.

    Every file has the header ``index<TAB>prediction``; rows count from 0. The same answers make the same
    bytes.

    Args:
        output: The folder.
        answers: The answers in the order of the test set, by file.
        overwrite: Replace another submission that is there. (default: :obj:`False`)

    Raises:
        ValueError: If one of the leaderboard's files is there, and :obj:`overwrite` is not set.
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
                # A date of its own: without one, the archive would have that of today.
                archive.writestr(zipfile.ZipInfo(file), content, zipfile.ZIP_DEFLATED)
        path.mkdir(exist_ok=True)
        for name in (*answers, ARCHIVE):
            os.replace(temporary / name, path / name)
        for name in {*FILES} - {*answers}:  # none of another submission stays beside these
            (path / name).unlink(missing_ok=True)


def _ids(task: SentenceTask, state: RunState) -> dict[str, Any]:
    """What turns texts into the model's ids, and the settings of the data that the model was trained with."""
    from graphdep.training.build import backbone_of

    own = state.config.dataset_options("test")
    ids = {"vocab": state.vocab} if state.pretrained is None else {"tokens": backbone_of(task.model).tokens}
    return {"relations": state.relations, **own, **ids}


@torch.inference_mode()
def _outputs(task: SentenceTask, batch: Any) -> torch.Tensor:
    return task(task.edges(batch.to(task.device))).float().cpu()


def _answer(value: float, labels: tuple[str, ...]) -> str:
    """The label of a number, or a score within its scale where there are no labels."""
    return labels[int(value)] if labels else f"{min(max(value, 0.0), float(MAX_SCORE)):.3f}"
