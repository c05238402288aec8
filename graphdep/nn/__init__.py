"""Layers, models, and their training step."""

from typing import TYPE_CHECKING

from graphdep.io.lazy_imports import lazy_imports

if TYPE_CHECKING:
    from graphdep.nn.graphed_step import graphed
    from graphdep.nn.prepared import prepare

__all__ = ["graphed", "prepare"]

__getattr__, __dir__ = lazy_imports(__name__)
