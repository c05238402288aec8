"""How a setting is declared and checked."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Iterable
from typing import Any, Generic, Literal, TypeVar, Union, get_args, get_origin

from graphdep.training.task import config_of

USUAL_WORDS: dict[str, str] = {
    "learning_rate": "lr",
    "epochs": "max_epochs",
    "num_epochs": "max_epochs",
    "num_train_epochs": "max_epochs",
    "per_device_train_batch_size": "batch_size",
    "train_batch_size": "batch_size",
    "bs": "batch_size",
    "model_name": "encoder",
    "model_name_or_path": "encoder",
    "pretrained": "encoder",
    "hidden_size": "hidden_channels",
    "hidden_dim": "hidden_channels",
    "d_model": "hidden_channels",
    "ffn_dim": "ff_channels",
    "intermediate_size": "ff_channels",
    "layers": "num_layers",
    "num_hidden_layers": "num_layers",
    "num_heads": "heads",
    "num_attention_heads": "heads",
    "wd": "weight_decay",
    "max_grad_norm": "clip",
    "gradient_clip_val": "clip",
    "max_seq_length": "max_length",
    "embeddings": "vectors",
    "glove": "vectors",
    "random_state": "seed",
    "device": "accelerator",
    "early_stopping": "patience",
}
"""The setting that each word stands for elsewhere."""


NOISY_TREES = {f"noisy-{percent}": percent / 100 for percent in (5, 10, 20, 30, 40, 60, 80, 100)}
"""Names of trees of which so many percent of the arcs are wrong, and the share."""
PARSED = {f"{name}-parsed": name for name in ("random-labels", "noisy-5", "noisy-10", "noisy-20")}
"""Controls that begin with the parser's trees where the corpus has its own, and what they do to them."""
CONTROL_TREES = ("random", "random-labels", "chain", "reversed", *NOISY_TREES, *PARSED)
"""Names of all of them."""


def check_trees(trees: str, task: str, gold: bool) -> None:
    """Raises :class:`ValueError` if trees begin with those of a corpus that has none of its own."""
    if trees == "gold" and not gold:
        raise ValueError(f"'trees' cannot be 'gold': the corpus of {task!r} has none of its own")
    if trees in PARSED and not gold:
        raise ValueError(
            f"'trees' cannot be {trees!r}: the corpus of {task!r} has none of its own, so that "
            f"{PARSED[trees]!r} begins with the parser's"
        )


T = TypeVar("T")
Mark = Literal["defines", "published", "free", "late", "place"]
_REQUIRED: Any = dataclasses.MISSING


def setting(
    default: T = _REQUIRED,
    *,
    choices: tuple[str | None, ...] | None = None,
    at_least: float | None = None,
    defines: bool | None = None,
    published: bool | None = None,
    free: bool | None = None,
    late: bool | None = None,
    place: bool | None = None,
) -> T:
    """Returns a field of a :class:`TrainConfig`.

    A subclass that declares the field again, by this or plainly (``lr: float = 0.1``), keeps all that it does
    not say otherwise, but for the default.

    Args:
        default: Its default. (default: none, it must be given)
        choices: Its values, in the order of messages. (default: all that its type has)
        at_least: A least value that is higher than that of :data:`~graphdep.io.limits.LIMITS`.
        defines: It makes a model the one that its name says; every row's name shows settings that change it.
        published: The paper's figures were made with it, too; beside other values they say nothing.
        free: The weights do not depend on it.
        late: It is read only after the training, and so is free.
        place: It says where a run is computed or where its files lie, which is not what it computes.
    """
    said = {
        "choices": choices,
        "at_least": at_least,
        "defines": defines,
        "published": published,
        "free": free,
        "late": late,
        "place": place,
    }
    metadata = {key: value for key, value in said.items() if value is not None}
    field: Any = dataclasses.field(default=default, metadata=metadata)
    return field


class MarkedNames:
    """The names of a class' settings that have one of some marks: an attribute of the class."""

    def __init__(self, *marks: Mark) -> None:
        self.marks = marks

    def __get__(self, instance: object, owner: type) -> tuple[str, ...]:
        return tuple(name for name, said in _said(owner).items() if any(map(said.get, self.marks)))


class Metadata(Generic[T]):
    """Choices or least values of a class' settings that have them, by name: an attribute of the class."""

    def __init__(self, key: Literal["choices", "at_least"]) -> None:
        self.key = key

    def __get__(self, instance: object, owner: type) -> dict[str, T]:
        return {name: said[self.key] for name, said in _said(owner).items() if self.key in said}


def _said(owner: Any) -> dict[str, dict[str, Any]]:
    """What each setting of a class says, in the order of the fields."""
    said: dict[str, dict[str, Any]] = {field.name: {} for field in dataclasses.fields(owner)}
    # A field that is declared again has no metadata but its own: the bases' come first.
    for base in filter(dataclasses.is_dataclass, reversed(owner.__mro__)):
        for field in dataclasses.fields(base):
            said[field.name].update(field.metadata)
    return said


def parse_settings(texts: Iterable[str], task: str | None = None) -> dict[str, Any]:
    """Reads ``key=value`` texts by the types of a task's settings; ``none`` stands for no value.

    Raises:
        ValueError: If a text has no ``=``, a key is unknown or twice there, or a value does not fit its type.
    """
    settings: dict[str, Any] = {}
    config = config_of(task)
    types = config.field_types()
    for text in texts:
        key, equals, value = text.partition("=")
        key = key.strip()
        if not equals:
            raise ValueError(f"a setting is written key=value (got {text!r})")
        config.check_keys([key])
        if key in settings:
            raise ValueError(f"setting {key!r} is given twice")
        settings[key] = _parse(key, types[key], value.strip())
    return settings


def typed_setting(key: str, kind: Any, value: Any) -> Any:
    """A value of a file as the setting that it is, which may be written as on the command line.

    Raises:
        ValueError: If it does not fit the type.
    """
    base, _ = _base(kind)
    if isinstance(value, str) and base is not str:
        return _parse(key, kind, value.strip())
    check_type(key, kind, value)
    return value


_TRUTH = {
    "true": True,
    "yes": True,
    "on": True,
    "1": True,
    "false": False,
    "no": False,
    "off": False,
    "0": False,
}


def _parse(key: str, kind: Any, text: str) -> Any:
    base, optional = _base(kind)
    if optional and text.lower() in ("none", "null", ""):
        return None
    try:
        return _TRUTH[text.lower()] if base is bool else base(text)
    except (KeyError, ValueError):
        raise ValueError(f"{key!r} takes {_kind_name(base, optional)} (got {text!r})") from None


def check_type(name: str, kind: Any, value: Any) -> None:
    """Raises :class:`ValueError` that names a setting whose value does not fit its type."""
    base, optional = _base(kind)
    fits = isinstance(value, (int, float) if base is float else base) and isinstance(value, bool) == (
        base is bool
    )
    if not fits and not (optional and value is None):
        raise ValueError(f"{name!r} takes {_kind_name(base, optional)} (got {value!r})")


def _base(kind: Any) -> tuple[type, bool]:
    if get_origin(kind) in (Union, types.UnionType):
        return next(part for part in get_args(kind) if part is not type(None)), True
    return kind, False


def _kind_name(base: type, optional: bool) -> str:
    name = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}[base]
    return f"{name} or none" if optional else name
