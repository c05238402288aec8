"""Which options a dataset has, and the refusal of all others."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ClassVar, Self


class KnownOptions:
    """The part of a dataset that refuses options which it does not have, before anything is read or written.

    A constructor spells the dataset's own options and passes ``**options`` on to the base. What may be in
    them is said by :attr:`shared_options`, for people, for type checkers, and here.

    Raises:
        TypeError: If an option is unknown; the message names it, the dataset and the options that there are.
    """

    shared_options: ClassVar[type]
    """A :class:`~typing.TypedDict` of the options that a base takes for all the datasets below it."""

    def __new__(cls, *args: Any, **options: Any) -> Self:
        names = option_names(cls)
        for name in options:
            if name not in names:
                raise TypeError(
                    f"{cls.__name__}.__init__() got an unexpected keyword argument {name!r}: it takes "
                    f"{', '.join(names)}"
                )
        return super().__new__(cls)


def option_names(make: Callable[..., Any]) -> tuple[str, ...]:
    """All that a dataset takes by name, its own options first; of any other callable, its arguments."""
    if not (isinstance(make, type) and issubclass(make, KnownOptions)):
        return tuple(inspect.signature(make).parameters)
    names: dict[str, None] = {}
    for base in make.__mro__:
        if "__init__" not in vars(base):
            continue
        _, *parameters = inspect.signature(vars(base)["__init__"]).parameters.values()
        names |= {p.name: None for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
        if not any(p.kind is p.VAR_KEYWORD for p in parameters):
            break  # nothing is passed on
        if "shared_options" in vars(base):
            names |= dict.fromkeys(vars(base)["shared_options"].__annotations__)
            break
    return tuple(names)
