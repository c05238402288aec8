"""From settings to a pretrained encoder with syntax in it, and to the edges it attends along."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from torch import nn
from torch_geometric.transforms import BaseTransform

from graphdep import transforms as T
from graphdep.data import EncodedUtterance, NodeType, text_data
from graphdep.nn import attention as A
from graphdep.nn import models as M
from graphdep.sentence import Sentence
from graphdep.tasks.sentences.config import SentenceConfig
from graphdep.vocab import RelationVocab, Vocab, VocabTokens

if TYPE_CHECKING:
    from graphdep.nn.pretrained import PretrainedEncoder


def build_pretrained_model(
    config: SentenceConfig, num_classes: int, num_relations: int, encoder: PretrainedEncoder
) -> M.SentenceModel:
    """The encoder with what the settings add to its layers, and a classifier of [CLS], not trained.

    Args:
        config: The settings.
        num_classes: Size of the output.
        num_relations: Number of relation ids.
        encoder: The encoder, with its weights. It is changed in place.
    """
    # First, so that all models of a seed have the same classifier: they then differ by their syntax alone.
    head = M.ClassificationHead(encoder.hidden_channels, num_classes, config.dropout, std=0.02)
    if adds_nodes(resolve_edges(config)):
        encoder.add_relations(
            M.RelationEmbedding(
                num_relations, encoder.embedding_channels, type_embedding=config.type_embedding
            )
        )
    if config.relation_attention:
        encoder.add_terms(_terms(config, num_relations, encoder))
    if config.freeze_layers:
        encoder.freeze(config.freeze_layers)
    return M.SentenceModel(encoder, head)


def resolve_edges(config: SentenceConfig) -> BaseTransform:
    """The edges of the settings over the nodes of a pretrained encoder: both texts of a pair see each other
    where the preset leaves it open, and [CLS], which is classified, sees all words.

    Raises:
        ValueError: If [CLS] does not see all words, and cannot be made to.
    """
    assert config.edges is not None
    options = inspect.signature(T.PRESETS[config.edges]).parameters
    own = {k: v for k, v in _options(config).items() if k in options}
    edges = T.resolve(config.edges, implicit=True, **own)
    if _cls_sees_all(edges):
        return edges
    if not isinstance(edges, T.EdgeConstructor):
        raise ValueError(
            f"edges {config.edges!r} keep words from [CLS], which a pretrained encoder is read from"
        )
    return edges | T.SpecialEdges()


def _options(config: SentenceConfig) -> dict[str, Any]:
    """Values of the presets' options, by their names there."""
    names = ("max_distance", "max_sum", "labels", "directions", "relation_links")
    options: dict[str, Any] = {name: getattr(config, name) for name in names}
    options |= {"scope": "example", "overview": ("CLS",) if config.cls_links else ()}
    if config.pieces is not None:
        options["pieces"] = config.pieces
    if config.edges == "dam":
        options |= {"direction": config.links, "position": config.relation_position}
    return options


def _terms(config: SentenceConfig, num_relations: int, encoder: PretrainedEncoder) -> Callable[[], nn.Module]:
    """Makes the relation terms of one layer after another."""
    size, heads = encoder.hidden_channels, encoder.heads
    unchanged = config.relation_start == "unchanged"
    if config.relation_terms == "key-value":
        start = "zero" if unchanged else "random"
        return lambda: A.RelationKeyValue(
            num_relations, heads, size // heads, scaling=config.scaling, start=start
        )
    made: list[A.GatedRelationScore] = []

    def make() -> nn.Module:
        made.append(
            A.GatedRelationScore(
                size,
                heads,
                num_relations,
                config.relation_dim,
                gate=config.gate,
                gate_state=config.gate_state,
                untyped=config.untyped,
                relation=made[0].relation if made else None,  # all layers share the vectors
                start="closed" if unchanged and config.gate != "sigmoid" else "random",
            )
        )
        return made[-1]

    return make


def _probe(edges: BaseTransform) -> Any:
    """A pair of texts of two words each, with the edges."""
    tokens, relations = VocabTokens(Vocab([])), RelationVocab()
    text = EncodedUtterance.of(Sentence(["a", "b"], [0, 1], ["root", "dep"]), tokens, relations)
    return edges(text_data(text, text, tokens=tokens, max_length=16))


def adds_nodes(edges: BaseTransform) -> bool:
    """Whether edges bring relation nodes."""
    return bool((_probe(edges).node_type == NodeType.RELATION).any())


def _cls_sees_all(edges: BaseTransform) -> bool:
    data = _probe(edges)
    (cls,) = (data.node_type == NodeType.CLS).nonzero()
    seen = data.node_type != NodeType.WORD  # what is no word need not be seen
    source, target = A.AttentionLayout.of(data).pairs
    seen[source[target == cls]] = True
    return bool(seen.all())
