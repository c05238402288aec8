"""Digests of everything that processed examples depend on, and of texts."""

from __future__ import annotations

import functools
import hashlib
import types
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

_FUNCTIONS = (types.FunctionType, types.MethodType, types.BuiltinFunctionType, functools.partial)
_CHUNK = 1 << 20
_PLAIN = (type(None), bool, int, float, complex, str, bytes)


def digest(value: object) -> str:
    """Sixteen hexadecimal digits that change with anything in ``value``; see :func:`describe`."""
    return hashlib.sha256(describe(value).encode()).hexdigest()[:16]


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    sha = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            sha.update(chunk)
    return sha.hexdigest()


def digests(texts: Iterable[str]) -> Tensor:
    """A number for each text, the same wherever it stands: ``[n]``, long."""
    found = (hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts)
    return torch.tensor([int.from_bytes(one, "big", signed=True) for one in found], dtype=torch.long)


def describe(value: Any) -> str:
    """Text that two values share only if they are equal: an object's class and all of its attributes.

    :func:`repr` would not do, since many transforms leave arguments out of theirs.

    Raises:
        ValueError: If the value is or holds a function, whose behaviour has no description.
    """
    if isinstance(value, _PLAIN):
        return repr(value)
    if isinstance(value, Tensor):
        content = value.detach().cpu().contiguous().flatten().tolist()
        return f"tensor({value.dtype}, {tuple(value.shape)}, {digest(content)})"
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__}({', '.join(map(describe, value))})"
    if isinstance(value, (set, frozenset)):
        return f"{type(value).__name__}({', '.join(sorted(map(describe, value)))})"
    if isinstance(value, dict):
        return f"dict({', '.join(f'{describe(key)}: {describe(item)}' for key, item in value.items())})"
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}"
    return _describe_object(value)


def _describe_object(value: Any) -> str:
    if isinstance(value, _FUNCTIONS):
        raise ValueError(
            f"{value!r} cannot be told from another function of that name, so processed files could be "
            "stale: use a transform object (a BaseTransform with its arguments as attributes) instead"
        )
    if hasattr(value, "__dict__"):
        return f"{describe(type(value))}{describe(vars(value))}"
    text = repr(value)
    if " at 0x" in text:
        raise ValueError(f"{text} shows an address instead of its arguments: processed files could be stale")
    return f"{describe(type(value))}{text}"
