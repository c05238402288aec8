"""What a trained model attends to in texts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from graphdep.data import NodeType
from graphdep.io.checks import check_texts
from graphdep.nn.conv import SIAConv
from graphdep.nn.models import FrozenEncoder, TreeTransformer
from graphdep.nn.models.text_encoder import TextEncoder
from graphdep.parsing import Parser, resolve_parser
from graphdep.sentence import Sentence
from graphdep.training.family.by_task import family_of
from graphdep.training.family.learning_task import LearningTask
from graphdep.training.runner.checkpoint import RunState, load_task
from graphdep.training.runner.predictor import check_weights, parser_to_use
from graphdep.visualization import AttentionMap
from graphdep.visualization.weights import ATTENTION, Layer, attention_layers
from graphdep.vocab import RelationVocab


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
    arcs = getattr(state.config, "arcs", "basic")
    return attention_of(task, state, texts, resolve_parser(own, arcs=arcs))


def attention_of(
    task: LearningTask, state: RunState, texts: str | Sequence[str], parser: Parser
) -> AttentionMap:
    """As :func:`attention_map`, of a model that is loaded."""
    texts = [texts] if isinstance(texts, str) else texts
    check_texts("texts", texts, "text")
    config = state.config
    data, trees = family_of(config.task).example(task, config, state.vocab, state.relations, [*texts], parser)
    cut = int(data.cut_words.sum()) if "cut_words" in data else 0
    if cut:
        raise ValueError(f"'texts' are too long for the model, which would not read {cut} of their words")
    batch: Data = task.edges(Batch.from_data_list([data]).to(task.device))
    layers = _layers_over_words(task, config.model, batch)
    return AttentionMap.of(*_words_of(batch, trees, state.relations), _named(layers))


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


def _words_of(
    data: Data, trees: Sequence[Sentence], relations: RelationVocab
) -> tuple[list[str], list[bool], Tensor]:
    """Words and names of special nodes, which are special, and the entry of each node."""
    names: list[str] = []
    special: list[bool] = []
    entry: list[int] = []
    previous: tuple[int, ...] | None = None
    columns = (data.node_type, data.utterance, data.word, data.governor_index, data.deprel)
    for kind, utterance, word, governor, deprel in zip(*(column.tolist() for column in columns)):
        # The pieces of an empty node have its first one for a governor.
        own = (utterance, word, governor if word < 0 else -1) if kind == NodeType.WORD else None
        if own is None or own != previous:
            special.append(own is None or word < 0)
            names.append(_name(kind, trees[utterance].form[word] if word >= 0 else None, relations, deprel))
        entry.append(len(names) - 1)
        previous = own
    return names, special, torch.tensor(entry)


def _name(kind: int, form: str | None, relations: RelationVocab, deprel: int) -> str:
    if form is not None:
        return form
    if kind == NodeType.RELATION:
        return f"[{relations.label(deprel)}]"
    return "[EMPTY]" if kind == NodeType.WORD else f"[{NodeType(kind).name}]"
