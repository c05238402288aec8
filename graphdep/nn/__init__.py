"""Layers and models, and the step that trains them."""

from typing import TYPE_CHECKING

from graphdep.io.lazy_imports import lazy_imports

if TYPE_CHECKING:
    from graphdep.nn.graphed_step import graphed

__all__ = ["graphed"]

__getattr__, __dir__ = lazy_imports(__name__)
