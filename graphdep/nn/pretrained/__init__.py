"""Pretrained Hugging Face encoders over the edges of a PyG batch."""

from graphdep.nn.pretrained.bert_fp import load_bert_fp
from graphdep.nn.pretrained.encoder_state import encoder_of_state, encoder_state
from graphdep.nn.pretrained.load_encoder import load_encoder
from graphdep.nn.pretrained.masked_words import load_masked_word_head
from graphdep.nn.pretrained.pretrained_encoder import PretrainedEncoder

__all__ = [
    "PretrainedEncoder",
    "encoder_of_state",
    "encoder_state",
    "load_bert_fp",
    "load_encoder",
    "load_masked_word_head",
]
