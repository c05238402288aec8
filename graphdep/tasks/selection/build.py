"""From settings to the model of response selection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import Tensor, nn
from torch_geometric.transforms import BaseTransform

from graphdep import transforms as T
from graphdep.nn import conv as C
from graphdep.nn import models as M
from graphdep.tasks.selection.config import SelectionConfig
from graphdep.tasks.selection.matching_build import build_matching_model
from graphdep.tasks.selection.matching_settings import MATCHING_ENCODERS
from graphdep.tasks.selection.objectives import objective_model
from graphdep.training.build import backbone_of
from graphdep.vocab import Tokens, Vocab, VocabTokens

if TYPE_CHECKING:
    from graphdep.nn.pretrained import PretrainedEncoder

_SEGMENTS = 2  # context and response


def build_selection_model(
    config: SelectionConfig,
    num_words: int,
    vectors: Tensor | None = None,
    pretrained: PretrainedEncoder | None = None,
) -> M.SelectionModel | M.MatchingModel:
    """Encoder, SIA where it is asked for, and the score; or a model that matches utterances with responses.

    Args:
        config: The settings.
        num_words: Size of the vocabulary of an encoder that is trained from scratch.
        vectors: Its word vectors. (default: :obj:`None`)
        pretrained: The encoder, where it is not. (default: :obj:`None`)
    """
    if config.encoder in MATCHING_ENCODERS:
        return build_matching_model(config, num_words, vectors)
    encoder = _scratch(config, num_words, vectors) if pretrained is None else pretrained
    if pretrained is not None and config.freeze_layers:
        pretrained.freeze(config.freeze_layers)
    if config.sia_edges is not None:
        depth: Any = encoder.num_layers
        if config.sia_layer is not None and config.sia_layer > depth:
            raise ValueError(
                f"'sia_layer' must be at most {depth}, the layers of the encoder (got {config.sia_layer})"
            )
        encoder = M.SIA(
            encoder,
            layer=config.sia_layer,
            edges=sia_edges(config),
            sia_layers=config.sia_layers,
            mask=config.sia_mask,
            block=config.sia_block,
            dropout=config.dropout,
        )
    options: dict[str, Any] = {"mlp_layers": config.mlp_layers, "readout": config.readout}
    return objective_model(config, encoder, {"dropout": config.dropout, **options})


def sia_edges(config: SelectionConfig) -> BaseTransform:
    """The edges of SIA's layers."""
    assert config.sia_edges is not None
    options = T.preset_options(config.sia_edges)
    given = [name for name in ("max_sum", "direction", "special") if name in options]
    own: dict[str, Any] = {name: getattr(config, name) for name in given}
    # The multiplicative mask looks at pairs one by one.
    return T.resolve(config.sia_edges, implicit=config.sia_mask != "multiplicative", **own)


def _scratch(config: SelectionConfig, num_words: int, vectors: Tensor | None) -> nn.Module:
    size, heads = config.hidden_channels, config.heads
    return M.GraphTransformer(
        num_words,
        lambda layer: C.AttentionConv(size, size // heads, heads, dropout=config.dropout),
        hidden_channels=size,
        num_layers=config.num_layers,
        ff_channels=config.ff_channels,
        dropout=config.dropout,
        position_embedding=config.position_embedding,
        norm_first=config.norm_first,
        segments=_SEGMENTS,
        max_positions=config.max_length,
        vectors=vectors,
    )


def tokens_of(model: nn.Module, vocab: Vocab) -> Tokens:
    """What gives words their ids for a model: its pretrained encoder's tokenizer, or the vocabulary."""
    return getattr(backbone_of(model), "tokens", None) or VocabTokens(vocab)
