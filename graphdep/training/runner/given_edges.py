"""Edges of your own in a checkpoint, which holds their names and a digest of them, but no code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch_geometric.transforms import BaseTransform

from graphdep.transforms import resolve
from graphdep.transforms.fingerprint import identity, same_edges
from graphdep.transforms.presets import is_known, name_of

_DIGITS = "; the digits are of code, options and what they do"


def with_edges(state: Mapping[str, Any], edges: str | BaseTransform | None) -> dict[str, Any]:
    """What a checkpoint holds, with the name that :obj:`edges` have here in place of the one of the training.

    Raises:
        ValueError: If they are not those of the training, or if those that are known here by the name in the
            checkpoint are not.
    """
    config, own = dict(state["config"]), state["own_edges"]
    trained = {setting: was for setting, was in own.items() if setting in config and _names_edges(setting)}
    if edges is not None:
        name = name_of(edges)
        mine = identity(resolve(name))  # loads an entry point, which then is known
        same = [setting for setting, was in trained.items() if same_edges(mine, was)]
        if not same and name not in _names(config):
            were = " and ".join(trained.values()) or " and ".join(_names(config))
            raise ValueError(f"'edges' must be those of the training, {were[:200]!r} (got {mine!r}{_DIGITS})")
        config |= dict.fromkeys(same, name)
    for setting, was in trained.items():
        named = config.get(setting)
        if not isinstance(named, str) or not is_known(named):
            continue
        if not same_edges(mine := identity(resolve(named)), was):
            raise ValueError(
                f"edges {named[:200]!r} are not those of the training: {was[:200]!r} then, {mine!r} now"
                + _DIGITS
            )
    return {**state, "config": config}


def _names(config: Mapping[str, Any]) -> list[str]:
    """The names of all edges in settings, whatever task they are of."""
    return [name for setting, name in config.items() if _names_edges(setting) and isinstance(name, str)]


def _names_edges(setting: object) -> bool:
    return str(setting).endswith("edges")
