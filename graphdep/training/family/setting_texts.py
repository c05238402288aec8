"""What the docstrings of settings say of each, for people who ask at a command line."""

from __future__ import annotations

import inspect
import re
from typing import Any, NamedTuple

from graphdep.training.family.lookup import resolve_task
from graphdep.training.family.model_preset import resolve_model
from graphdep.training.family.train_config import TrainConfig

_ENTRY = re.compile(
    r"^    (?P<names>[a-z_]+(?:,\s+[a-z_]+)*): (?P<text>.*?)(?=^    [a-z_*]+[:,]|\Z)", re.M | re.S
)


class SettingText(NamedTuple):
    """A setting for people.

    Args:
        name: Its name.
        default: The value that it has with the model; ``"(must be given)"`` where it has none.
        meaning: What it is.
    """

    name: str
    default: Any
    meaning: str


def setting_texts(config: type[TrainConfig], task: str, model: str) -> list[SettingText]:
    """The settings of a task, in the order of the class, with what they are for a model.

    Args:
        config: The class of the task's settings.
        task: The task.
        model: Name of the model.

    Raises:
        ValueError: If there is no such task or model.

    Example:
        >>> from graphdep.training import TrainConfig
        >>> from graphdep.training.family.setting_texts import setting_texts
        >>> rows = setting_texts(TrainConfig.of_task("sst"), "sst", "dt")
        >>> [(row.default, row.meaning) for row in rows if row.name == "lr"]
        [(0.001, 'Learning rate, the highest where it changes.')]
    """
    values = {**config.defaults(), **resolve_task(task).defaults}
    values |= {**resolve_model(model, config.models).settings, "task": task, "model": model}
    meanings = documented(config)
    return [
        SettingText(name, values.get(name, "(must be given)"), meanings.get(name, ""))
        for name in config.field_types()
    ]


def documented(config: type) -> dict[str, str]:
    """What the docstrings of a class and its bases say of arguments, by name; the class' own word first, but
    that on an argument alone before that on several.
    """
    alone: dict[str, str] = {}
    several: dict[str, str] = {}
    for base in config.__mro__:
        for match in _ENTRY.finditer(_arguments(base)):
            names = re.split(r",\s+", match["names"])
            for name in names:
                (alone if len(names) == 1 else several).setdefault(name, _plain(match["text"]))
    return several | alone


def _arguments(cls: type) -> str:
    """The block of arguments in a docstring."""
    text = inspect.cleandoc(cls.__dict__.get("__doc__") or "")
    block = text.partition("\nArgs:\n")[2]
    return re.split(r"\n\n(?=\S)", block)[0] + "\n"


def _plain(text: str) -> str:
    """Words in place of the marks of a docstring, and without the default, which models change."""
    text = " ".join(text.split())
    text = re.sub(r"\s*\(default: .*?\)(?=$|\s|\.)", "", text)
    text = re.sub(r":\w+:`~?([^`]*)`", lambda match: match[1].rpartition(".")[2].strip(), text)
    return text.replace("``", "").strip()
