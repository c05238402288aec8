"""Edges of your own in a checkpoint, which holds their names and a digest of what they do, but no code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch_geometric.transforms import BaseTransform

from graphdep.transforms import resolve
from graphdep.transforms._identity import identity, same_behaviour
from graphdep.transforms.registry import is_known, name_of


def with_edges(state: Mapping[str, Any], edges: str | BaseTransform | None) -> dict[str, Any]:
    """What a checkpoint holds, with the name that :obj:`edges` have here in place of the one of the training.

    Raises:
        ValueError: If they are not those of the training, or if those that are known here by the name in the
            checkpoint are not.
    """
    config, trained = dict(state["config"]), state.get("own_edges") or {}
    if edges is not None:
        name = name_of(edges)
        mine = identity(resolve(name))  # loads an entry point, which then is known
        same = [setting for setting, was in trained.items() if same_behaviour(mine, was)]
        if not same and name not in _names(config):
            were = " and ".join(trained.values()) or " and ".join(_names(config))
            raise ValueError(f"'edges' must be those of the training, {were[:200]!r} (got {mine!r})")
        config |= dict.fromkeys(same, name)
    for setting, was in trained.items():
        used = config.get(setting)
        if not isinstance(used, str) or not is_known(used):
            continue
        if not same_behaviour(mine := identity(resolve(used)), was):
            raise ValueError(
                f"edges {used[:200]!r} are not those of the training: {was[:200]!r} then, {mine!r} now"
            )
    return {**state, "config": config}


def _names(config: Mapping[str, Any]) -> list[str]:
    """The names of all edges in settings, whatever task they are of."""
    settings = {setting: name for setting, name in config.items() if setting.endswith("edges")}
    return [name for name in settings.values() if isinstance(name, str)]
