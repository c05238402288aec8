"""Syntax-informed Transformers on PyTorch Geometric."""

from typing import TYPE_CHECKING, Any

from graphdep.data import NodeType, to_data
from graphdep.io import ConlluError
from graphdep.sentence import Sentence
from graphdep.vocab import RelationVocab, Vocab

if TYPE_CHECKING:
    from graphdep.sentence_encoder import SentenceEncoder

__version__ = "0.1.0"

__all__ = ["ConlluError", "NodeType", "RelationVocab", "Sentence", "SentenceEncoder", "Vocab", "to_data"]


def __getattr__(name: str) -> Any:
    # scikit-learn would double the time of `import graphdep`.
    if name == "SentenceEncoder":
        from graphdep.sentence_encoder import SentenceEncoder

        return SentenceEncoder
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
