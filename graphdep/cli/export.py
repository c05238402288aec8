"""``graphdep export``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from graphdep.cli import options as o
from graphdep.cli.output import print_json, say_loading
from graphdep.cli.own_edges import import_edges
from graphdep.io.files import find_checkpoint


def export(
    checkpoint: Annotated[
        Path, typer.Option(metavar="FILE", help="Folder of a run of any task, or its best.ckpt.")
    ],
    output: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Gets the files; those of an earlier export are replaced.")
    ],
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace other files of the same names, too.")
    ] = False,
    push: Annotated[
        str | None,
        typer.Option(metavar="OWNER/NAME", help="Also upload it to the Hugging Face hub, under that name."),
    ] = None,
    private: Annotated[bool, typer.Option(help="With --push: for yourself alone.")] = False,
    edges: o.ModelEdges = None,
    json: o.Json = False,
) -> None:
    """Write a trained model as a folder for others: safetensors, JSON, a model card; no code, no pickle.

    Every command that takes a checkpoint takes the folder, and so does `graphdep.load` in Python.

    Examples:
        graphdep export --checkpoint runs/... --output model
        graphdep export --checkpoint runs/... --output model --push ann/roles-dt
    """
    if private and push is None:
        raise ValueError("--private is for --push")
    if output.exists() and not output.is_dir():
        raise ValueError(f"'output' must be a folder (got {str(output)!r})")
    checkpoint = find_checkpoint(checkpoint)
    if output.resolve() == (checkpoint if checkpoint.is_dir() else checkpoint.parent).resolve():
        raise ValueError(f"'output' must be another folder than that of the run (got {str(output)!r})")
    say_loading()
    from graphdep.training import load_task
    from graphdep.training.hub import result_beside, write_model_folder

    task, state = load_task(checkpoint, edges and import_edges(edges))
    files = write_model_folder(output, task, state, result_beside(checkpoint), overwrite=overwrite)
    address = None
    if push is not None:
        from huggingface_hub import HfApi

        api = HfApi()
        name = api.create_repo(push, private=private, exist_ok=True).repo_id
        print(f"uploads to {name}: {', '.join(files)}", file=sys.stderr)
        # The folder may have files that are nobody else's.
        address = str(api.upload_folder(repo_id=name, folder_path=output, allow_patterns=files))
    if json:
        print_json({"checkpoint": str(checkpoint), "output": str(output), "pushed": address})
        return
    print(address or output)
