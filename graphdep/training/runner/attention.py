"""What a trained model attends to in texts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from torch import Tensor
from torch_geometric.data import Batch, Data

from graphdep.explorer.word_nodes import WordNodes
from graphdep.io.limits import check_texts
from graphdep.nn.conv import SIAConv
from graphdep.nn.models import FrozenEncoder, TreeTransformer
from graphdep.nn.models.transformer import TextEncoder
from graphdep.parsing import Parser, resolve_parser
from graphdep.sentence import Sentence
from graphdep.training.checkpoint import RunState, load_task
from graphdep.training.config import TrainConfig
from graphdep.training.estimator import check_weights, parser_to_use
from graphdep.training.family import family_of
from graphdep.training.learning_task import LearningTask
from graphdep.visualization import AttentionMap
from graphdep.visualization.weights import ATTENTION, Layer, attention_layers


def attention_map(
    checkpoint: str | os.PathLike[str], texts: str | Sequence[str], *, parser: str | Parser | None = None
) -> AttentionMap:
    """What the words of an example attend to in a trained model: the layers of its encoder over words, those
    of SIA behind them.

    Args:
        checkpoint: ``best.ckpt`` of a run of any task.
        texts: The example: a text; two where the model was trained on pairs; of dialogues the turns of a
            context; of response selection and post-training the turns of a context, and then the response.
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser; :obj:`None` for the
            checkpoint's if that is ``"bundled"``. (default: :obj:`None`)

    Raises:
        FileNotFoundError: If there is no such checkpoint.
        TypeError: If something is no text.
        ValueError: If the file is no checkpoint, its model has no attention between words, the texts are not
            as many as it takes or too long for it, or the parser has to be given.

    Example:
        >>> from graphdep import attention_map
        >>> shown = attention_map("best.ckpt", "It rains.")
        >>> shown.plot().savefig("attention.png")
        >>> shown.alpha.shape == (len(shown.layers), shown.heads, len(shown.words), len(shown.words))
        True
        >>> shown.without_special().words
        ['It', 'rains', '.']
    """
    task, state = load_task(checkpoint)
    check_weights(task.model, os.fspath(checkpoint))
    own = parser_to_use(checkpoint, state.config.parser, parser)
    return attention_of(task, state, texts, parser_for(state.config, own))


def parser_for(config: TrainConfig, name: str | Parser) -> Parser:
    """The parser that gives what the edges of a run read."""
    arcs = getattr(config, "arcs", "basic")
    return resolve_parser(name, arcs=arcs, constituents=config.reads_constituents)


def attention_of(
    task: LearningTask, state: RunState, texts: str | Sequence[str], parser: Parser
) -> AttentionMap:
    """As :func:`attention_map`, of a model that is loaded."""
    data, trees = example_of(task, state, texts, parser)
    batch: Data = task.edges(Batch.from_data_list([data]).to(task.device))
    layers = named_layers(task, state.config.model, batch)
    nodes = WordNodes.of(batch, [tree.form for tree in trees], state.relations)
    return AttentionMap.of(nodes.names, nodes.special, nodes.entry, layers)


def example_of(
    task: LearningTask, state: RunState, texts: str | Sequence[str], parser: Parser
) -> tuple[Data, list[Sentence]]:
    """The example that a model reads, without edges, and its trees.

    Raises:
        TypeError: If something is no text.
        ValueError: If the texts are not as many as the model takes, or too long for it.
    """
    texts = [texts] if isinstance(texts, str) else texts
    check_texts("texts", texts, "text")
    config = state.config
    data, trees = family_of(config.task).example(task, config, state.vocab, state.relations, [*texts], parser)
    cut = int(data.cut_words.sum()) if "cut_words" in data else 0
    if cut:
        raise ValueError(f"'texts' are too long for the model, which would not read {cut} of their words")
    return data, trees


def named_layers(task: LearningTask, model: str, batch: Data) -> list[tuple[str, Tensor, Tensor]]:
    """Name, pairs and weights of each layer over the words of an example with edges.

    Raises:
        ValueError: If there is none.
    """
    return _named(_layers_over_words(task, model, batch))


def _layers_over_words(task: LearningTask, name: str, data: Data) -> list[Layer]:
    """The layers of the encoder whose nodes are those of the data.

    Raises:
        ValueError: If there are none.
    """
    encoder: Any = task.model.encoder
    over_words = [module for module in encoder.modules() if isinstance(module, TextEncoder)]
    if any(isinstance(module, TreeTransformer) for module in over_words):
        raise ValueError(
            f"{name!r} attends within families of a tree, level by level, where a word is there as a "
            "governor and once more as a dependent: two words have no one weight to show"
        )
    if any(isinstance(module, FrozenEncoder) for module in over_words):
        raise ValueError(f"{name!r} has trained no attention: its encoder reads each text as it was loaded")
    known = {layer for module in over_words for layer in module.modules() if isinstance(layer, ATTENTION)}
    if not known:
        raise ValueError(f"{name!r} has no attention between words in its encoder: there is nothing to show")
    return [(layer, weights) for layer, weights in attention_layers(encoder, data) if layer in known]


def _named(layers: Sequence[Layer]) -> list[tuple[str, Tensor, Tensor]]:
    """Layers with names; those of SIA have numbers of their own."""
    named, count = [], {"layer": 0, "SIA": 0}
    for layer, (pairs, alpha) in layers:
        kind = "SIA" if isinstance(layer, SIAConv) else "layer"
        count[kind] += 1
        named.append((f"{kind} {count[kind]}", pairs, alpha))
    return named
