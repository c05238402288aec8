"""From settings to edges, model and task."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch_geometric.transforms import BaseTransform, Compose

from graphdep import transforms as T
from graphdep.data import to_data
from graphdep.nn import models as M
from graphdep.sentence import Sentence
from graphdep.tasks import (
    DialogueTask,
    LearningTask,
    PostTrainingTask,
    SelectionTask,
    Sentences,
    SentenceTask,
    resolve_task,
)
from graphdep.tasks.dialogues.build import build_dialogue_model
from graphdep.tasks.dialogues.config import DialogueConfig
from graphdep.tasks.post_training.config import PostTrainingConfig
from graphdep.tasks.selection.build import build_selection_model, sia_edges
from graphdep.tasks.selection.config import SelectionConfig
from graphdep.tasks.sentences.config import SentenceConfig
from graphdep.tasks.sentences.pretrained import adds_nodes, build_pretrained_model, resolve_edges
from graphdep.training.family.pretrained import backbone_of
from graphdep.training.family.pretrained_settings import parameter_groups
from graphdep.training.family.train_config import TrainConfig
from graphdep.vocab import RelationVocab

if TYPE_CHECKING:
    from graphdep.nn.pretrained import PretrainedEncoder

_OPTIMIZERS = {
    "adagrad": torch.optim.Adagrad,
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "sgd": torch.optim.SGD,
}
# Baselines: each takes num_words, hidden_channels, dropout and vectors.
_BASELINES: dict[str, Callable[..., M.TextEncoder]] = {
    "word-average": M.WordAverage,
    "lstm": M.LSTMEncoder,
    "bilstm": functools.partial(M.LSTMEncoder, bidirectional=True),
    "tree-lstm": M.TreeLSTM,
    "bitree-lstm": functools.partial(M.TreeLSTM, bidirectional=True),
    "tree-transformer": M.TreeTransformer,
}
_EDGE_OPTIONS = ("max_distance", "max_sum", "labels", "directions")


def build_edges(config: TrainConfig) -> BaseTransform:
    """The tree control, the edges, and their types where the model needs and the edges lack them.

    Raises:
        ValueError: If the edges add nodes, which the model has no embedding for.
    """
    parts: list[BaseTransform] = [] if config.tree is None else [_TREES[config.tree](config.seed)]
    if config.edges is not None:
        parts += _edges(config, config.edges)
    return parts[0] if len(parts) == 1 else Compose(parts)


def _edges(config: TrainConfig, name: str) -> list[BaseTransform]:
    if isinstance(config, SentenceConfig) and config.pretrained:
        return _with_types(config, resolve_edges(config))
    taken = inspect.signature(T.PRESETS[name]).parameters
    # Labels and directions are settings of sentences alone; elsewhere the preset's own hold.
    options = [option for option in _EDGE_OPTIONS if option in taken and hasattr(config, option)]
    edges = T.resolve(name, implicit=True, **{option: getattr(config, option) for option in options})
    probe = edges(_PROBE.clone())
    if probe.num_nodes != _PROBE.num_nodes:
        raise ValueError(f"edges {name!r} add nodes to the graph, which this model has no embedding for")
    if isinstance(config, DialogueConfig) and config.parse_errors:
        if not isinstance(edges, T.EdgeConstructor) or "clique" in probe:
            raise ValueError(f"'parse_errors' needs edges that are a plain set of pairs (got edges={name!r})")
        edges = T.RewiredEdges(edges, config.parse_errors, config.seed)
    return _with_types(config, edges) if isinstance(config, SentenceConfig) else [edges]


def _with_types(config: SentenceConfig, edges: BaseTransform) -> list[BaseTransform]:
    """The edges, and their types where the model needs and the edges lack them."""
    if not config.relation_attention or "edge_type" in edges(_PROBE.clone()):
        return [edges]
    types: list[BaseTransform] = [edges, T.TreePathTypes(config.max_distance)]
    if not (config.labels and config.directions):
        types.append(T.MergeTypes(labels=config.labels, directions=config.directions))
    return types


def build_model(
    config: SentenceConfig,
    num_words: int,
    num_relations: int,
    vectors: Tensor | None = None,
    *,
    num_classes: int,
) -> M.SentenceModel | M.SentencePairModel:
    """Encoder and head, not trained."""
    encoder = build_encoder(config, num_words, num_relations, vectors)
    if config.num_texts == 1:
        head: nn.Module = M.ClassificationHead(encoder.hidden_channels, num_classes, config.dropout)
        return M.SentenceModel(encoder, head)
    head = M.RelatednessHead(encoder.hidden_channels, num_classes, config.head_channels)
    return M.SentencePairModel(encoder, head)


def build_encoder(
    config: SentenceConfig, num_words: int, num_relations: int, vectors: Tensor | None = None
) -> M.TextEncoder:
    """The encoder alone, not trained."""
    common: dict[str, Any] = {
        "hidden_channels": config.hidden_channels,
        "dropout": config.dropout,
        "vectors": vectors,
    }
    if config.encoder != "transformer":
        sizes = {"heads": config.heads, "ff_channels": config.ff_channels}
        own = sizes if config.encoder == "tree-transformer" else {}
        return _BASELINES[config.encoder](num_words, **common, **own)
    return M.DependencyTransformer(
        num_words,
        num_relations,
        num_layers=config.num_layers,
        heads=config.heads,
        relation_dim=config.relation_dim,
        ff_channels=config.ff_channels,
        relation_attention=config.relation_attention,
        gate=config.gate,
        gate_state=config.gate_state,
        untyped=config.untyped,
        level_embedding=config.level_embedding,
        position_embedding=config.position_embedding,
        norm_first=config.norm_first,
        **common,
    )


def build_task(
    config: TrainConfig,
    num_words: int,
    num_relations: int,
    vectors: Tensor | None = None,
    pretrained: PretrainedEncoder | None = None,
    num_classes: int | None = None,
) -> LearningTask:
    """Model, edges, loss and optimizer.

    Args:
        config: The settings.
        num_words, num_relations: Sizes of the vocabularies.
        vectors: Word vectors to start from. (default: :obj:`None`)
        pretrained: The encoder, where it has weights already. (default: :obj:`None`)
        num_classes: Size of the output, where the task does not know it. (default: the task's)
    """
    optimizer = _optimizer(config)
    if isinstance(config, SelectionConfig):
        return _selection_task(config, num_words, vectors, pretrained, optimizer)
    sizes = num_words, num_relations, vectors
    shared: dict[str, Any] = {"warmup_steps": config.warmup_steps, "seed": config.seed}
    if isinstance(config, PostTrainingConfig):
        assert pretrained is not None
        return PostTrainingTask(M.PostTrainingModel(pretrained), build_edges(config), optimizer, **shared)
    if isinstance(config, DialogueConfig):
        return DialogueTask(build_dialogue_model(config, *sizes), build_edges(config), optimizer, **shared)
    task = resolve_task(config.task)
    assert isinstance(config, SentenceConfig)
    assert isinstance(task, Sentences)
    classes = num_classes or task.num_classes
    if pretrained is None:
        model = build_model(config, *sizes, num_classes=classes)
    else:
        model = build_pretrained_model(config, classes, num_relations, pretrained)
        optimizer = _grouped(optimizer, model, config)
    return SentenceTask(model, build_edges(config), task.goal, optimizer, **shared)


def _optimizer(config: TrainConfig) -> Callable[..., torch.optim.Optimizer]:
    options: dict[str, Any] = {"lr": config.lr, "weight_decay": config.weight_decay}
    # One pass over the weights in place of a dozen, which is much of a small pretrained encoder's step on a
    # CPU. Lightning does not clip the gradients of such an optimizer in mixed precision.
    if config.optimizer in ("adam", "adamw") and (config.clip is None or config.precision == "32-true"):
        options["fused"] = True
    return functools.partial(_OPTIMIZERS[config.optimizer], **options)


def apply_settings(task: LearningTask, config: TrainConfig) -> None:
    """Gives a trained task other edges and ways to score.

    Raises:
        ValueError: If the model has no layers for them.
    """
    task.edges = build_edges(config)
    if isinstance(config, SentenceConfig) and config.pretrained:
        nodes = adds_nodes(resolve_edges(config))
        if nodes != (backbone_of(task.model).relations is not None):
            raise ValueError(
                f"'edges' cannot be {config.edges!r}: the model was trained "
                f"{'without' if nodes else 'with'} relation nodes"
            )
    if isinstance(task, SelectionTask) and isinstance(config, SelectionConfig):
        task.ties, task.filter, task.recall = config.ties, config.filter, config.recall
        encoder = task.model.encoder
        if isinstance(encoder, M.SIA) != (config.sia_edges is not None):
            raise ValueError(
                f"'sia_edges' cannot be {config.sia_edges!r}: the model was trained "
                f"{'with' if config.sia_edges is None else 'without'} layers of SIA"
            )
        if isinstance(encoder, M.SIA):
            encoder.edges = sia_edges(config)


def _selection_task(
    config: SelectionConfig,
    num_words: int,
    vectors: Tensor | None,
    pretrained: PretrainedEncoder | None,
    optimizer: Callable[..., torch.optim.Optimizer],
) -> SelectionTask:
    model = build_selection_model(config, num_words, vectors, pretrained)
    return SelectionTask(
        model,
        build_edges(config),
        _grouped(optimizer, model, config),
        ties=config.ties,
        filter=config.filter,
        recall=config.recall,
        warmup_steps=config.warmup_steps,
        seed=config.seed,
    )


def _grouped(
    optimizer: Callable[..., torch.optim.Optimizer],
    model: nn.Module,
    config: SelectionConfig | SentenceConfig,
) -> Callable[..., torch.optim.Optimizer]:
    """An optimizer of the model's own groups of parameters, in place of all of them alike."""
    return lambda parameters: optimizer(parameter_groups(model, backbone_of(model), config))


_PROBE = to_data([Sentence(["a", "b"], [0, 1], ["root", "dep"])] * 2, relations=RelationVocab())
_TREES: dict[str, Callable[[int], BaseTransform]] = {
    "random": lambda seed: T.RandomTree(seed),
    "chain": lambda seed: T.ChainTree(),
    "reversed": lambda seed: T.ReversedTree(),
}
