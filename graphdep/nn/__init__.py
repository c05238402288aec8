"""Layers and models."""

from graphdep.nn.prepare import prepare

__all__ = ["prepare"]
