"""Old names of modules, which lead to the new ones for one release."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
import types
import warnings
from collections.abc import Sequence

MOVED = {
    "graphdep.alignment": ("graphdep.data", "graphdep.vocab"),
    "graphdep.detokenize": ("graphdep.vocab.detokenize",),
    "graphdep.datasets.sick": ("graphdep.datasets.sentences.sick",),
    "graphdep.glue_submission": ("graphdep.tasks.sentences.glue_submission",),
    "graphdep.piece_vocab": ("graphdep.vocab.pieces",),
    "graphdep.responder": ("graphdep.tasks.dialogues.responder",),
    "graphdep.response_selector": ("graphdep.tasks.selection.selector",),
    "graphdep.sentence_encoder": ("graphdep.tasks.sentences.encoder",),
    "graphdep.sequence_classifier": ("graphdep.tasks.sentences.classifier",),
    "graphdep.tasks.goal": ("graphdep.tasks.sentences.goal",),
    "graphdep.tasks.learning_task": ("graphdep.training.family.learning_task",),
    "graphdep.training.build_selection": ("graphdep.tasks.selection.build",),
    "graphdep.training.responses": ("graphdep.tasks.dialogues.responses",),
    "graphdep.truncation": ("graphdep.sentence.truncation",),
    "graphdep.vectors": ("graphdep.vocab.vectors",),
}
"""Each old name and the modules that have what it had."""


class MovedModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds a module by its old name, with a :class:`DeprecationWarning` that says where it is."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        return importlib.machinery.ModuleSpec(fullname, self) if fullname in MOVED else None

    def exec_module(self, module: types.ModuleType) -> None:
        old, new = module.__name__, MOVED[module.__name__]
        warnings.warn(f"{old} is now {' and '.join(new)}", DeprecationWarning, stacklevel=2)
        for name in new:
            found = importlib.import_module(name)
            module.__dict__.update({key: value for key, value in vars(found).items() if key[:2] != "__"})


def find_moved_modules() -> None:
    """Lets ``import`` find the old names; calling it again changes nothing."""
    if not any(isinstance(finder, MovedModules) for finder in sys.meta_path):
        sys.meta_path.append(MovedModules())
