"""The papers' edges by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable

from torch_geometric.transforms import BaseTransform, Compose

from graphdep.transforms.complete_edges import CompleteEdges
from graphdep.transforms.dependency_edges import DependencyEdges
from graphdep.transforms.root_edges import RootEdges
from graphdep.transforms.self_loops import SelfLoops
from graphdep.transforms.tree_path_types import TreePathTypes


def transformer(*, scope: str = "example", materialize: bool = False) -> BaseTransform:
    """Complete graph over the example."""
    return CompleteEdges(scope, materialize=materialize)


def transformer_utterance(*, materialize: bool = False) -> BaseTransform:
    """Complete graph over each utterance: the control with DRA's scope."""
    return CompleteEdges("utterance", materialize=materialize)


def dra(*, root_scope: str = "utterance", pieces: str = "all") -> BaseTransform:
    """Governors attend to dependents, ROOT to its utterance (``root_scope="example"``: to the example)."""
    return DependencyEdges("governor", pieces=pieces) | RootEdges(root_scope) | SelfLoops(pieces=pieces)


def dt(
    *, max_distance: int = 2, scope: str = "utterance", self_type: bool = True, pieces: str = "all"
) -> BaseTransform:
    """Complete graph over each utterance (or example), pairs typed by arc labels and short paths."""
    types = TreePathTypes(max_distance, self_type=self_type, pieces=pieces)
    return Compose([CompleteEdges(scope), types])


PRESETS: dict[str, Callable[..., BaseTransform]] = {
    "transformer": transformer,
    "transformer-utterance": transformer_utterance,
    "dra": dra,
    "dt": dt,
}


def resolve(name_or_instance: str | BaseTransform, **kwargs: object) -> BaseTransform:
    r"""Returns a preset by name, or a transform as it is.

    Args:
        name_or_instance: A name in ``PRESETS`` or any transform.
        **kwargs: Options of the preset.

    Raises:
        ValueError: If there is no such preset or option (the message lists those there are), or if
            options are given for an instance.
    """
    if isinstance(name_or_instance, BaseTransform):
        if kwargs:
            raise ValueError(
                f"options {sorted(kwargs)} cannot be given with an instance ({name_or_instance})"
            )
        return name_or_instance
    preset = PRESETS.get(name_or_instance)
    if preset is None:
        raise ValueError(f"no preset {name_or_instance!r}; choose one of {', '.join(PRESETS)}")
    options = inspect.signature(preset).parameters
    unknown = sorted(kwargs.keys() - options.keys())
    if unknown:
        raise ValueError(
            f"preset {name_or_instance!r} has no option {unknown}; it takes {', '.join(options)}"
        )
    return preset(**kwargs)
