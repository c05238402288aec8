"""Syntax-informed Transformers on PyTorch Geometric."""

from graphdep.data import NodeType, to_data
from graphdep.io import ConlluError
from graphdep.sentence import Sentence
from graphdep.vocab import RelationVocab, Vocab

__version__ = "0.1.0"

__all__ = ["ConlluError", "NodeType", "RelationVocab", "Sentence", "Vocab", "to_data"]
