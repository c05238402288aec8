"""From settings to edges, model and task."""

from __future__ import annotations

import functools
import inspect

import torch
from torch import Tensor
from torch_geometric.transforms import BaseTransform, Compose

from graphdep import transforms as T
from graphdep.data import to_data
from graphdep.nn.models import DependencyTransformer, RelatednessHead, SentencePairModel
from graphdep.sentence import Sentence
from graphdep.tasks import PairTask, resolve_task
from graphdep.training.train_config import TrainConfig
from graphdep.vocab import RelationVocab

_OPTIMIZERS = {
    "adagrad": torch.optim.Adagrad,
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "sgd": torch.optim.SGD,
}


def build_edges(config: TrainConfig) -> BaseTransform:
    """The tree control, the edges, and their types where the model needs and the edges lack them.

    Raises:
        ValueError: If the edges add nodes, which the model has no embedding for.
    """
    options = inspect.signature(T.PRESETS[config.edges]).parameters.keys() & {"max_distance", "max_sum"}
    edges = T.resolve(config.edges, **{name: getattr(config, name) for name in options})
    probe = edges(_PROBE.clone())
    if probe.num_nodes != _PROBE.num_nodes:
        raise ValueError(
            f"edges {config.edges!r} add nodes to the graph, which this model has no embedding for"
        )
    parts = [edges]
    if config.relation_attention and "edge_type" not in probe:
        parts.append(T.TreePathTypes(config.max_distance))
    if config.tree is not None:
        parts.insert(0, _TREES[config.tree](config.seed))
    return Compose(parts) if len(parts) > 1 else edges


def build_model(
    config: TrainConfig, num_words: int, num_relations: int, vectors: Tensor | None = None
) -> SentencePairModel:
    """Encoder and head, not trained."""
    encoder = DependencyTransformer(
        num_words,
        num_relations,
        hidden_channels=config.hidden_channels,
        num_layers=config.num_layers,
        heads=config.heads,
        relation_dim=config.relation_dim,
        ff_channels=config.ff_channels,
        dropout=config.dropout,
        relation_attention=config.relation_attention,
        gate=config.gate,
        gate_state=config.gate_state,
        untyped=config.untyped,
        level_embedding=config.level_embedding,
        position_embedding=config.position_embedding,
        norm_first=config.norm_first,
        vectors=vectors,
    )
    classes = resolve_task(config.task).num_classes
    return SentencePairModel(encoder, RelatednessHead(config.hidden_channels, classes, config.head_channels))


def build_task(
    config: TrainConfig, num_words: int, num_relations: int, vectors: Tensor | None = None
) -> PairTask:
    """Model, edges, loss and optimizer."""
    optimizer = functools.partial(
        _OPTIMIZERS[config.optimizer], lr=config.lr, weight_decay=config.weight_decay
    )
    model = build_model(config, num_words, num_relations, vectors)
    return PairTask(model, build_edges(config), resolve_task(config.task).goal, optimizer, seed=config.seed)


_PROBE = to_data([Sentence(["a", "b"], [0, 1], ["root", "dep"])] * 2, relations=RelationVocab())
_TREES = {
    "random": lambda seed: T.RandomTree(seed),
    "chain": lambda seed: T.ChainTree(),
    "reversed": lambda seed: T.ReversedTree(),
}
