"""Texts and values as the settings that they are: ``key=value`` by the types of a task's settings."""

from __future__ import annotations

import types
from collections.abc import Iterable
from typing import Any, Union, get_args, get_origin

from graphdep.training.family.lookup import config_of


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
