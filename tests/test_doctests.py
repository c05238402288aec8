"""The examples in the docstrings of the public classes run as they stand, in a folder with the files they name."""

from __future__ import annotations

import doctest
import importlib
import inspect
import shutil
from enum import Enum
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from graphdep.testing.tiny_encoder import write_tiny_encoder

ROOT = Path(__file__).parent.parent
PACKAGES = """graphdep graphdep.data graphdep.datasets graphdep.decoding graphdep.human_eval graphdep.metrics
graphdep.nn.attention graphdep.nn.conv graphdep.nn.models graphdep.nn.pretrained graphdep.parsing
graphdep.sentence graphdep.tasks graphdep.training graphdep.transforms graphdep.visualization
graphdep.vocab""".split()
# Models that are bases without a forward of their own say so with NotImplementedError, not with ABC.
BASES = ("ContextEncoder", "ResponseDecoder", "TextEncoder")
"""What an example needs beside graphdep, by a word that is in it."""
EXTRAS = {"load_encoder": "transformers", "bert-base-uncased": "transformers", "PieceVocab": "tokenizers"}


def public_classes() -> dict[str, type]:
    """The classes of every ``__all__`` by name, without errors, protocols and abstract bases."""
    modules = [importlib.import_module(name) for name in PACKAGES]
    values = [getattr(module, name) for module in modules for name in getattr(module, "__all__", ())]
    return {value.__name__: value for value in values if inspect.isclass(value) and not exempt(value)}


def exempt(cls: type) -> bool:
    """Whether a class is one that nobody makes: an error, a protocol, or a base that leaves methods open."""
    return (
        issubclass(cls, BaseException)
        or getattr(cls, "_is_protocol", False)
        or inspect.isabstract(cls)
        or cls.__name__ in BASES
    )
