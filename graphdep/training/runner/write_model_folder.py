"""A trained model as a folder of files that hold no code, as the Hugging Face hub has them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from graphdep.io import atomic_path
from graphdep.io.files import BEST, MODEL_CONFIG, MODEL_WEIGHTS, check_plain_file
from graphdep.training.family.learning_task import LearningTask
from graphdep.training.family.train_config import TrainConfig
from graphdep.training.runner.checkpoint import RunState
from graphdep.training.runner.model_card import model_card
from graphdep.training.runner.model_folder import CARD, FORMAT, PARTS, exported_files
from graphdep.training.runner.run_file import RUN_FILE, run_text
from graphdep.version import __version__

_NAMES = (MODEL_WEIGHTS, *PARTS.values(), RUN_FILE, CARD, MODEL_CONFIG)


def write_model_folder(
    folder: str | os.PathLike[str],
    task: LearningTask,
    state: RunState,
    result: Mapping[str, Any] | None = None,
    *,
    overwrite: bool = False,
) -> list[str]:
    """Writes ``config.json``, which has the SHA-256 of all other files, a model card ``README.md``,
    ``run.yaml``, ``vocab.json``, ``relations.json``, of a pretrained encoder ``encoder.json``, and last
    ``model.safetensors``: a folder that was written in part is refused.

    Paths in the settings lose their folders, which nobody else has. Files of an earlier export are replaced
    where nobody has changed them since.

    Args:
        folder: The folder.
        task: The trained task.
        state: What it was trained with.
        result: What ``graphdep train`` reports of the run, for the card. (default: :obj:`None`)
        overwrite: Replace other files of these names, too. (default: :obj:`False`)

    Returns:
        The names of the files.

    Raises:
        ValueError: If a file of one of these names was not written by an earlier export, or was changed since
            then, and :obj:`overwrite` is not set; or if the folder is that of a run.
    """
    from safetensors.torch import save

    target = Path(folder)
    _check_replaceable(target, overwrite)
    config = without_folders(state.config)
    own = {**state.state_dict(), "config": config.to_dict()}
    beside = {CARD: model_card(config, state, result).encode(), RUN_FILE: run_text(config).encode()}
    parts = {name: own.pop(part) for part, name in PARTS.items() if own[part] is not None}
    files = {name: _json(part) for name, part in parts.items()}
    # Tensors that share memory would be refused; each is written on its own. Not by safetensors, which writes
    # to a temporary file of its own name: a kill would leave it for good.
    files[MODEL_WEIGHTS] = save({name: x.detach().cpu().clone() for name, x in task.state_dict().items()})
    said: dict[str, Any] = {"library_name": "graphdep", "graphdep_version": __version__, "format": FORMAT}
    for key, written in (("files", files), ("beside", beside)):
        said[key] = {name: hashlib.sha256(content).hexdigest() for name, content in written.items()}
    target.mkdir(parents=True, exist_ok=True)
    # At no moment is there a file that config.json does not have as it is: a kill leaves a folder that is no
    # model, and can be exported to again.
    for name in _NAMES:
        (target / name).unlink(missing_ok=True)
    contents = {MODEL_CONFIG: _json({**said, "run": own}), **beside, **files}
    for name, content in contents.items():
        with atomic_path(target / name) as temporary:
            temporary.write_bytes(content)
    return [*contents]


def _check_replaceable(target: Path, overwrite: bool) -> None:
    if (target / BEST).exists():
        raise ValueError(f"{target} is the folder of a run, whose {BEST} is its model: choose another folder")
    own = exported_files(target)
    for name in _NAMES:
        check_plain_file(target / name)
        if os.path.lexists(target / name) and name not in own and not overwrite:
            raise ValueError(
                f"{target / name} is not as an export wrote it, and would be replaced: choose another "
                "folder, or --overwrite, in Python overwrite=True"
            )


def without_folders(config: TrainConfig) -> TrainConfig:
    """The settings with the names of files and folders alone: whoever gets them has others."""
    paths = {name: getattr(config, name) for name in config.places}
    paths["encoder"] = getattr(config, "encoder", None)
    own = {name: Path(value).name for name, value in paths.items() if isinstance(value, str)}
    folders = {name: value for name, value in own.items() if os.path.isabs(str(paths[name]))}
    return config.replace(**folders) if folders else config


def _json(value: Any) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + "\n").encode()
