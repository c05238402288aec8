"""The file of the responses to a split."""

from __future__ import annotations


def responses_name(split: str) -> str:
    """The file of a split's responses."""
    return f"responses-{split}.jsonl"
