"""What a setting is, said once: at its field."""

from __future__ import annotations

import dataclasses
from typing import Any, Generic, Literal, TypeVar

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


class Marked:
    """The names of a class' settings that have one of some marks: an attribute of the class."""

    def __init__(self, *marks: Mark) -> None:
        self.marks = marks

    def __get__(self, instance: object, owner: type) -> tuple[str, ...]:
        return tuple(name for name, said in _said(owner).items() if any(map(said.get, self.marks)))


class Told(Generic[T]):
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
