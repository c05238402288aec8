"""The settings of a run as a file that people read, write and repeat a run with: ``run.yaml``."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

from graphdep.io import atomic_path
from graphdep.training.family.lookup import config_of, resolve_task
from graphdep.training.family.model_preset import resolve_model
from graphdep.training.family.settings import typed_setting
from graphdep.training.family.train_config import TrainConfig
from graphdep.version import __version__

RUN_FILE = "run.yaml"
RESULT = "result.json"
"""The scores, written last: a run whose folder has this file has ended."""


def write_run(path: Path, config: TrainConfig) -> None:
    """Writes :func:`run_text`, whole or not at all.

    Args:
        path: The file.
        config: The settings.
    """
    with atomic_path(path) as temporary:
        temporary.write_text(run_text(config, path.name), encoding="utf-8")


def run_text(config: TrainConfig, name: str = RUN_FILE) -> str:
    """All settings of a run: first those that its model and its task do not already say, then the others, so
    that the file means the same when a default has become another one.

    Args:
        config: The settings.
        name: Name of the file. (default: ``"run.yaml"``)
    """
    usual = {**type(config).defaults(), **resolve_task(config.task).defaults}
    usual |= resolve_model(config.model, config.models).settings
    settings = {name: value for name, value in config.to_dict().items() if name not in ("task", "model")}
    chosen = {name: value for name, value in settings.items() if name not in usual or usual[name] != value}
    others = {name: value for name, value in settings.items() if name not in chosen}
    parts = [
        f"# The settings of a run by graphdep {__version__}; it is repeated by: graphdep train --config "
        f"{name}",
        "# Relative paths count from the folder in which that is called.",
        _dumped({"task": config.task, "model": config.model, **chosen}),
        "# As the model and the task have them:",
        _dumped(others),
    ]
    return "\n".join(part.rstrip("\n") for part in parts) + "\n"


def _dumped(settings: Mapping[str, Any]) -> str:
    import yaml

    return str(yaml.safe_dump(dict(settings), allow_unicode=True, sort_keys=False, width=math.inf))


def read_run(path: Path) -> dict[str, Any]:
    """The settings in a file, some or all, for ``TrainConfig.of(**read_run(path))``.

    A value may be written as on the command line, where YAML reads another type: ``1e-3`` is a text to it.
    Nothing is imported for a name of edges in it.

    Raises:
        ValueError: If it is no mapping of settings to values, one is there twice, unknown for the task, or of
            a wrong type; names the file.
        OSError: If it cannot be read.
    """
    return typed_settings(read_mapping(path), path)


def typed_settings(given: Mapping[str, Any], path: Path, task: str | None = None) -> dict[str, Any]:
    """Values of a file as the settings that they are.

    Raises:
        ValueError: If one is unknown or of a wrong type; names the file.
    """
    try:
        task = given.get("task", task)
        if not isinstance(task, str | None):
            raise ValueError(f"'task' must be the name of a task (got {task!r})")
        config = config_of(task)
        config.check_keys(given)
        types = config.field_types()
        return {name: typed_setting(name, types[name], value) for name, value in given.items()}
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def read_mapping(path: Path) -> dict[str, Any]:
    """The keys and values of a YAML file.

    Raises:
        ValueError: If it is none, not UTF-8, or a key is there twice; names the file.
        OSError: If it cannot be read.
    """
    import yaml

    class Loader(yaml.SafeLoader):
        """YAML's plain values, each key once."""

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
            seen = set()
            for key, _ in node.value:
                if not isinstance(key, yaml.ScalarNode):
                    raise ValueError(f"line {key.start_mark.line + 1}: a name must be a text")
                if key.value in seen:
                    raise ValueError(f"{key.value!r} is there twice, again in line {key.start_mark.line + 1}")
                seen.add(key.value)
            return dict(super().construct_mapping(node, deep))

    try:
        value = yaml.load(path.read_text(encoding="utf-8-sig"), Loader)  # a safe one
    except (yaml.YAMLError, ValueError) as error:
        raise ValueError(f"{path}: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise ValueError(f"{path}: nested too deep") from None
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise ValueError(f"{path}: no settings and their values (NAME: VALUE)")
    return value
