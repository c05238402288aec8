"""Pretrained Hugging Face encoders over the edges of a PyG batch."""

from graphdep.nn.pretrained.encoder import PretrainedEncoder
from graphdep.nn.pretrained.loading import (
    encoder_of_state,
    encoder_state,
    load_bert_fp,
    load_encoder,
    load_masked_word_head,
)

__all__ = [
    "PretrainedEncoder",
    "encoder_of_state",
    "encoder_state",
    "load_bert_fp",
    "load_encoder",
    "load_masked_word_head",
]
