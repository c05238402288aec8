"""``graphdep submit``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from graphdep.cli import options as o
from graphdep.cli.output import print_json, say_loading
from graphdep.cli.own_edges import import_edges
from graphdep.io.files import find_checkpoint
from graphdep.io.process import plain_console


def submit(
    checkpoint: Annotated[
        list[str],
        typer.Option(
            metavar="FILE",
            help="Folder of a run on cola, sst2, mrpc, stsb, mnli, qnli, rte or qqp, or its best.ckpt; once "
            "a task, which TASK=FILE may name.",
        ),
    ],
    output: Annotated[Path, typer.Option(metavar="DIR", help="A new folder; written whole or not at all.")],
    root: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Folder of GLUE (raw/, processed/, cache/). [default: where each model was trained, if the "
            "test files are there, or datasets/glue]",
        ),
    ] = None,
    raw_from: o.RawFrom = None,
    parser: o.ModelParser = None,
    edges: o.ModelEdges = None,
    fill: Annotated[
        bool,
        typer.Option(
            "--fill",
            help="Fill the files of tasks without a checkpoint with a constant: the leaderboard takes all or "
            "none.",
        ),
    ] = False,
    batch_size: Annotated[int, typer.Option(min=1, metavar="N", help="Examples a batch.")] = 64,
    json: o.Json = False,
) -> None:
    """Answer GLUE's test sets with trained models, as the files that its leaderboard takes.

    The folder gets CoLA.tsv, SST-2.tsv, MRPC.tsv, STS-B.tsv, MNLI-m.tsv, MNLI-mm.tsv, AX.tsv, QNLI.tsv,
    RTE.tsv and QQP.tsv, as far as there are checkpoints for them, WNLI.tsv with a constant, and
    submission.zip of them all. The leaderboard takes all eleven only; those that are missing are named. A
    model of MNLI answers three files.

    The test files are read below `raw/` of the root, in the layout of GLUE's download. The leaderboard
    knows an answer by its index, so each row of a test file must have its own number, from 0.

    Examples:
        graphdep submit --checkpoint runs/cola_... --checkpoint runs/mnli_... --output submission --fill

        graphdep submit --checkpoint runs/rte_.../best.ckpt --raw-from glue_data --output submission
    """
    given = [_task_and_file(text) for text in checkpoint]
    say_loading()
    from graphdep.tasks.sentences.glue_submission import (
        ARCHIVE,
        FILES,
        check_checkpoints,
        check_new_folder,
        check_test_files,
        constant_answers,
        glue_root,
        predict_glue,
        tasks_of,
        write_submission,
    )

    if edges is not None:
        from graphdep.transforms import resolve

        resolve(import_edges(edges))  # known from now on, to the checkpoints that name it
    check_new_folder(output)
    checkpoints = tasks_of(given)
    check_checkpoints(checkpoints)
    say = plain_console(stderr=True)
    places: dict[str, dict[str, Any]] = {}
    for name, path in checkpoints.items():
        places[name] = {"root": root or glue_root(path, name), "raw_from": raw_from}
        check_test_files([name], **places[name])
    for folder in dict.fromkeys(str(place["root"]) for place in places.values() if root is None):
        say.print(f"test files of {folder}", soft_wrap=True)
    answers: dict[str, list[str]] = {}
    for name, path in checkpoints.items():
        answers |= predict_glue(path, name, batch_size=batch_size, parser=parser, **places[name])
    missing = [file for file, about in FILES.items() if file not in answers and about.task is not None]
    constant = [file for file, about in FILES.items() if about.task is None] + (missing if fill else [])
    answers |= {file: constant_answers(file) for file in constant}
    write_submission(output, {file: answers[file] for file in FILES if file in answers})
    if json:
        sizes = {file: len(answers[file]) for file in FILES if file in answers}
        paths = {"output": str(output), "archive": str(output / ARCHIVE)}
        print_json({**paths, "rows": sizes, "missing": missing, "constant": constant})
    say.print(f"{len(answers)} files -> {output / ARCHIVE}", soft_wrap=True)
    if missing:
        names = ", ".join(missing)
        what = (
            "filled with a constant" if fill else "missing, so that the leaderboard refuses it (see --fill)"
        )
        say.print(f"without a checkpoint, and {what}: {names}", soft_wrap=True)


def _task_and_file(text: str) -> tuple[str | None, Path]:
    """The task, where it is named, and the checkpoint; ``glue-sst2`` and ``glue-mrpc`` are ``sst2`` and
    ``mrpc``.
    """
    name, equals, path = text.partition("=")
    if not equals or Path(text).exists() or not re.fullmatch(r"\s*[a-z0-9-]+\s*", name):
        return None, find_checkpoint(text)
    return name.strip().removeprefix("glue-"), find_checkpoint(path)
