"""The universal tags and their ids."""

from __future__ import annotations

UPOS = """ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X""".split()
"""The tags of Universal Dependencies; ids follow this order, from 1 on."""
_IDS = {tag: number for number, tag in enumerate(UPOS, start=1)}


def tag_id(tag: str) -> int:
    """The id of a tag; that of ``X`` for one that is not known."""
    return _IDS.get(tag, _IDS["X"])
