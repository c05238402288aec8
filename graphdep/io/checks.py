"""Checks of texts, lists and names that a user gives."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any

from graphdep.io.text import has_half_character


def check_name(place: str, name: str) -> None:
    """Raises :class:`ValueError` if the name of a class has a character that arrays and tables may lose:
    NumPy drops a NUL at the end, and two classes would be one.
    """
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in name):
        raise ValueError(f"{place!r} has a control character or half a character (got {shown(name)})")


def check_list(name: str, value: Any) -> None:
    """Raises :class:`TypeError` if it is a text or no sequence."""
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
        raise TypeError(f"{name!r} must be a list (got {shown(value)})")


def check_texts(name: str, texts: Any, what: str) -> None:
    """Raises an error that has the position of what is no text with a word; ``what`` is what a text is."""
    check_list(name, texts)
    for number, text in enumerate(texts):
        check_text(f"{name}[{number}]", text, what)


def check_text(place: str, text: Any, what: str) -> None:
    """Raises an error that has the ``place`` if it is no text with a word; ``what`` is what a text is."""
    if not isinstance(text, str):
        raise TypeError(f"{place!r} must be a string (got {shown(text)})")
    if not text.strip():
        raise ValueError(f"{place!r} is blank: a {what} has at least one word")
    if has_half_character(text):
        raise ValueError(f"{place!r} has half a character (got {shown(text)})")


def shown(value: object) -> str:
    """A value for a message, cut short."""
    text = " ".join(repr(value).split())
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:57] + '...'}"
