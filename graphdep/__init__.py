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

Trained models answer through :class:`SequenceClassifier`, :class:`WordLabeller`, :class:`SentenceEncoder`,
:class:`Responder` and :class:`ResponseSelector`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from graphdep.data import NodeType, to_data
from graphdep.io import ConlluError
from graphdep.io.moved_modules import find_moved_modules as _find_moved_modules
from graphdep.sentence import Sentence
from graphdep.version import __version__ as __version__
from graphdep.vocab import RelationVocab, Vocab

if TYPE_CHECKING:
    from graphdep.tasks.dialogues.responder import Responder
    from graphdep.tasks.labels.word_labeller import WordLabeller
    from graphdep.tasks.selection.selector import ResponseSelector
    from graphdep.tasks.sentences.classifier import SequenceClassifier
    from graphdep.tasks.sentences.encoder import SentenceEncoder
    from graphdep.training.runner.attention import attention_map

__all__ = [
    "ConlluError",
    "NodeType",
    "RelationVocab",
    "Responder",
    "ResponseSelector",
    "Sentence",
    "SentenceEncoder",
    "SequenceClassifier",
    "Vocab",
    "WordLabeller",
    "attention_map",
    "to_data",
]

# scikit-learn, which they need, would double the time of `import graphdep`.
_LAZY = {
    "Responder": "graphdep.tasks.dialogues.responder",
    "ResponseSelector": "graphdep.tasks.selection.selector",
    "SentenceEncoder": "graphdep.tasks.sentences.encoder",
    "SequenceClassifier": "graphdep.tasks.sentences.classifier",
    "WordLabeller": "graphdep.tasks.labels.word_labeller",
    "attention_map": "graphdep.training.runner.attention",
}


_find_moved_modules()


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
