"""Texts that cannot be written to a file."""

from __future__ import annotations


def has_half_character(text: str) -> bool:
    """Whether a text has half of a surrogate pair, which JSON can hold and UTF-8 cannot."""
    return any("\ud800" <= character <= "\udfff" for character in text)
