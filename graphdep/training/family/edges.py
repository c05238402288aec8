"""From settings to edges."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from torch_geometric.data import Batch
from torch_geometric.transforms import BaseTransform, Compose

from graphdep import transforms as T
from graphdep.data import to_data
from graphdep.sentence import Sentence
from graphdep.training.family.train_config import TrainConfig
from graphdep.training.family.tree_controls import NOISY_TREES, PARSED
from graphdep.transforms.fingerprint import with_marks
from graphdep.vocab import RelationVocab, Vocab

EDGE_OPTIONS = ("max_distance", "max_sum", "labels", "directions")
"""Settings that are options of edge presets, too."""
_UTTERANCES = [Sentence(["a", "b"], [0, 1], ["root", "dep"], constituents=[("NP", 0, 2)])] * 2
_PROBE = to_data(_UTTERANCES, vocab=Vocab([]), relations=RelationVocab(), phrases="spans")
PROBE = with_marks(Batch.from_data_list([_PROBE]))
"""Two utterances of two words, in a batch as in training, with marks and constituents for edges that read
them: shows what edges are made of.
"""
_TREES: dict[str, Callable[[int], BaseTransform]] = {
    "random": lambda seed: T.RandomTree(seed),
    "random-labels": lambda seed: T.RandomTree(seed, labels="keep"),
    "chain": lambda seed: T.ChainTree(),
    "reversed": lambda seed: T.ReversedTree(),
    **{name: functools.partial(T.NoisyTree, share) for name, share in NOISY_TREES.items()},
}
_TREES |= {name: _TREES[kept] for name, kept in PARSED.items()}
# The same of constituents.
_BRACKETS: dict[str, Callable[[int], BaseTransform]] = {
    "random": lambda seed: T.RandomBrackets(seed),
    "random-labels": lambda seed: T.RandomBrackets(seed, labels="keep"),
    "chain": lambda seed: T.RightBrackets(),
}


def with_trees(config: TrainConfig, edges: list[BaseTransform]) -> BaseTransform:
    """The controls that replace word order and parse, where the settings name them, and then the edges."""
    parts = [*([_TREES[config.trees](config.seed)] if config.trees in _TREES else []), *edges]
    if config.reads_constituents and config.trees in _TREES:
        if config.trees not in _BRACKETS:
            raise ValueError(
                f"'trees' cannot be {config.trees!r} where edges read constituents: their controls are "
                f"{', '.join(_BRACKETS)}"
            )
        parts.insert(0, _BRACKETS[config.trees](config.seed))
    if config.word_order == "shuffled":
        parts.insert(0, T.ShuffledPositions(config.seed))
    return parts[0] if len(parts) == 1 else Compose(parts)


def node_options(config: Any, name: str, overview: str) -> dict[str, Any]:
    """Options of a preset about the nodes that it adds, as the settings have them.

    Args:
        config: The settings, an :class:`~graphdep.training.family.encoder_settings.EncoderSettings`.
        name: The preset.
        overview: The node type that stands for the whole text, whose nodes see those that are added.
    """
    options = {"overview": (overview,) if config.cls_links else (), "direction": config.links}
    options |= {"position": config.relation_position, "relation_links": config.relation_links}
    if name == "constituents":
        named = {"to_relation": "to_phrase", "dependent": "first"}
        options |= {key: named.get(options[key], options[key]) for key in ("direction", "position")}
    return {key: value for key, value in options.items() if key in T.preset_options(name)}


def added_nodes(edges: BaseTransform) -> bool:
    """Whether edges bring nodes of relations or phrases."""
    return edges(PROBE.clone()).num_nodes != PROBE.num_nodes


def preset_edges(config: TrainConfig, name: str) -> BaseTransform:
    """The edges of a preset with those of its options that are settings.

    Raises:
        ValueError: If the edges add nodes, which only some models have an embedding for.
    """
    taken = T.preset_options(name)
    # Directions are settings of sentences alone; elsewhere the preset's own hold.
    options: dict[str, Any] = {
        option: getattr(config, option)
        for option in EDGE_OPTIONS
        if option in taken and hasattr(config, option)
    }
    if not added_nodes(T.resolve(name, implicit=True, **options)):
        return T.resolve(name, implicit=True, **options)
    if not getattr(config, "takes_nodes", False):
        raise ValueError(f"edges {name!r} add nodes to the graph, which this model has no embedding for")
    return T.resolve(name, implicit=True, **options, **node_options(config, name, "ROOT"))
