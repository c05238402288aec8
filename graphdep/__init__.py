"""Syntax-informed Transformers on PyTorch Geometric.

==========================  ==================================================================
:mod:`graphdep.parsing`     texts to trees: :class:`Sentence`
:func:`to_data`             trees to PyG ``Data``
:mod:`graphdep.transforms`  edges: who may attend to whom
:mod:`graphdep.nn`          message-passing layers and models that attend along them
:mod:`graphdep.datasets`    corpora as ``InMemoryDataset``
:mod:`graphdep.tasks`       what is learned from a corpus, in families
:mod:`graphdep.training`    runs, checkpoints, ablations, comparisons
==========================  ==================================================================

Trained models answer through :class:`SequenceClassifier`, :class:`WordLabeller`, :class:`SpanClassifier`,
:class:`SentenceEncoder`, :class:`Responder` and :class:`ResponseSelector`; :func:`load` finds out which.
"""

from typing import TYPE_CHECKING

from graphdep.io.lazy_imports import lazy_imports
from graphdep.io.process import bound_thread_waits as _bound_thread_waits
from graphdep.version import __version__ as __version__

if TYPE_CHECKING:
    from graphdep.data import NodeType, to_data
    from graphdep.io import ConlluError
    from graphdep.sentence import Sentence
    from graphdep.tasks.dialogues.predict import Responder
    from graphdep.tasks.labels.predict import WordLabeller
    from graphdep.tasks.selection.predict import ResponseSelector
    from graphdep.tasks.sentences.predict import SentenceEncoder, SequenceClassifier
    from graphdep.tasks.spans.predict import SpanClassifier
    from graphdep.training.hub import load
    from graphdep.visualization.attention import attention_map, explore
    from graphdep.visualization.explorer import draw
    from graphdep.vocab import RelationVocab, Vocab

__all__ = [
    "ConlluError",
    "NodeType",
    "RelationVocab",
    "Responder",
    "ResponseSelector",
    "Sentence",
    "SentenceEncoder",
    "SequenceClassifier",
    "SpanClassifier",
    "Vocab",
    "WordLabeller",
    "attention_map",
    "draw",
    "explore",
    "load",
    "to_data",
]

# PyTorch and PyTorch Geometric, which most of them need, take seconds to import.
__getattr__, _ = lazy_imports(__name__)
_bound_thread_waits()


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
