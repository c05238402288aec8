"""From settings to the model and the task of dialogues."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from graphdep.nn import conv as C
from graphdep.nn import models as M
from graphdep.tasks.dialogues.config import DialogueConfig


def build_dialogue_model(
    config: DialogueConfig, num_words: int, num_relations: int, vectors: Tensor | None = None
) -> M.DialogueModel:
    """Encoder and decoder, not trained."""
    encoder = build_context_encoder(config, num_words, num_relations, vectors)
    recurrent = {"hred": M.HREDDecoder, "hran": M.HRANDecoder}
    if config.encoder in recurrent:
        own = recurrent[config.encoder](encoder.embedding, encoder.hidden_channels, dropout=config.dropout)
        return M.DialogueModel(encoder, own)
    decoder = M.TransformerDecoder(
        encoder.embedding,
        encoder.hidden_channels,
        num_layers=config.decoder_layers,
        **_sizes(config),
        norm_first=config.norm_first,
    )
    return M.DialogueModel(encoder, decoder)


def build_context_encoder(
    config: DialogueConfig, num_words: int, num_relations: int, vectors: Tensor | None = None
) -> M.ContextEncoder:
    """The encoder alone, not trained."""
    common: dict[str, Any] = {"hidden_channels": config.hidden_channels, "vectors": vectors}
    if config.encoder in ("hred", "hran"):
        kind = M.HREDEncoder if config.encoder == "hred" else M.HRANEncoder
        return kind(num_words, dropout=config.dropout, **common)
    if config.encoder == "recosa":
        return M.ReCoSa(num_words, num_layers=config.context_layers, **_sizes(config), **common)
    words = _word_encoder(config, num_words, num_relations, common)
    if config.encoder != "dialogbert":
        return M.ContextTransformer(words)
    objectives = [name for name in ("mur", "duor") if getattr(config, name)]
    return M.DialogBERT(words, num_layers=config.context_layers, objectives=objectives, **_sizes(config))


def _word_encoder(
    config: DialogueConfig, num_words: int, num_relations: int, common: dict[str, Any]
) -> M.TextEncoder:
    position = config.position_embedding
    if config.encoder == "constituent":
        return M.ConstituentTransformer(
            num_words, num_layers=config.num_layers, position_embedding=position, **_sizes(config), **common
        )
    return M.GraphTransformer(
        num_words,
        _attention(config, num_relations),
        num_layers=config.num_layers,
        ff_channels=config.ff_channels,
        dropout=config.dropout,
        position_embedding=position,
        norm_first=config.norm_first,
        embedding_scale=config.embedding_scale,
        **common,
    )


def _attention(config: DialogueConfig, num_relations: int) -> Callable[[int], nn.Module]:
    """The attention of each layer by its number."""
    sizes = config.hidden_channels, config.hidden_channels // config.heads, config.heads

    def conv(layer: int) -> nn.Module:
        # LISA gives one layer a syntactic head; in the middle, as far as there is one.
        if config.encoder == "lisa" and layer == config.num_layers // 2:
            return C.LISAConv(*sizes, dropout=config.dropout)
        if config.encoder == "gate":
            return C.GATEConv(*sizes, max_distance=max(1, config.max_distance), dropout=config.dropout)
        return C.AttentionConv(*sizes, dropout=config.dropout)

    return conv


def _sizes(config: DialogueConfig) -> dict[str, Any]:
    return {"heads": config.heads, "ff_channels": config.ff_channels, "dropout": config.dropout}
