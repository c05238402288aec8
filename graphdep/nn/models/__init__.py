"""Encoders, heads and the papers' models."""

from graphdep.nn.models.classification_head import ClassificationHead
from graphdep.nn.models.dependency_transformer import DependencyTransformer
from graphdep.nn.models.lstm_encoder import LSTMEncoder
from graphdep.nn.models.node_embedding import NodeEmbedding
from graphdep.nn.models.relatedness_head import RelatednessHead
from graphdep.nn.models.sentence_model import SentenceModel
from graphdep.nn.models.sentence_pair_model import SentencePairModel
from graphdep.nn.models.text_encoder import TextEncoder
from graphdep.nn.models.transformer_layer import TransformerLayer
from graphdep.nn.models.tree_lstm import TreeLSTM
from graphdep.nn.models.tree_transformer import TreeTransformer
from graphdep.nn.models.word_average import WordAverage

__all__ = [
    "ClassificationHead",
    "DependencyTransformer",
    "LSTMEncoder",
    "NodeEmbedding",
    "RelatednessHead",
    "SentenceModel",
    "SentencePairModel",
    "TextEncoder",
    "TransformerLayer",
    "TreeLSTM",
    "TreeTransformer",
    "WordAverage",
]
