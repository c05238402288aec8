"""A trained model as a folder of files that hold no code, as the Hugging Face hub has them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from graphdep.io import atomic_path
from graphdep.io.archive import MODEL_CONFIG, MODEL_WEIGHTS
from graphdep.training.family.learning_task import LearningTask
from graphdep.training.family.train_config import TrainConfig
from graphdep.training.runner.checkpoint import RunState
from graphdep.training.runner.model_card import model_card
from graphdep.training.runner.model_folder import CARD, FORMAT, PARTS, digest_of
from graphdep.training.runner.run_file import RUN_FILE, write_run
from graphdep.version import __version__


def write_model_folder(
    folder: str | os.PathLike[str],
    task: LearningTask,
    state: RunState,
    result: Mapping[str, Any] | None = None,
) -> None:
    """Writes ``model.safetensors``, ``vocab.json``, ``relations.json``, of a pretrained encoder
    ``encoder.json``, ``run.yaml``, a model card ``README.md``, and last ``config.json``, which has the
    SHA-256 of the files that the model is read from: a folder that was written in part is refused.

    Paths in the settings lose their folders, which nobody else has.

    Args:
        folder: The folder.
        task: The trained task.
        state: What it was trained with.
        result: What ``graphdep train`` reports of the run, for the card. (default: :obj:`None`)
    """
    from safetensors.torch import save

    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    (target / MODEL_CONFIG).unlink(missing_ok=True)
    config = without_folders(state.config)
    own = {**state.state_dict(), "config": config.to_dict()}
    # Tensors that share memory would be refused; each is written on its own. Not by safetensors, which writes
    # to a temporary file of its own name: a kill would leave it for good.
    weights = save({name: x.detach().cpu().clone() for name, x in task.state_dict().items()})
    with atomic_path(target / MODEL_WEIGHTS) as temporary:
        temporary.write_bytes(weights)
    del weights  # as large as the model
    files = [MODEL_WEIGHTS]
    for part, name in PARTS.items():
        (target / name).unlink(missing_ok=True)
        if own[part] is not None:
            _write(target / name, _json(own.pop(part)))
            files.append(name)
    write_run(target / RUN_FILE, config)
    _write(target / CARD, model_card(config, state, result))
    digests = {name: digest_of(target / name) for name in files}
    said = {"library_name": "graphdep", "graphdep_version": __version__, "format": FORMAT, "files": digests}
    _write(target / MODEL_CONFIG, _json({**said, "run": own}))


def without_folders(config: TrainConfig) -> TrainConfig:
    """The settings with the names of files and folders alone: whoever gets them has others."""
    paths = {name: getattr(config, name) for name in config.places}
    paths["encoder"] = getattr(config, "encoder", None)
    own = {name: Path(value).name for name, value in paths.items() if isinstance(value, str)}
    folders = {name: value for name, value in own.items() if os.path.isabs(str(paths[name]))}
    return config.replace(**folders) if folders else config


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _write(path: Path, text: str) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
