"""Stanza's documents as columns of sentences."""

from __future__ import annotations

from typing import Any

from graphdep.sentence.conllu_lines import sentence_columns
from graphdep.sentence.exchange.found import Found, is_from, shown
from graphdep.sentence.exchange.word_lines import without_lost_arcs


def read_stanza(parsed: Any, *, multiroot: bool) -> Found:
    """The sentences of a ``Document``, or the one of a ``Sentence``.

    Raises:
        TypeError: If it is neither.
        ValueError: If it is not parsed, or no tree.
    """
    if not is_stanza(parsed):
        raise TypeError(f"from_stanza takes a Document or a Sentence of stanza (got {shown(parsed)})")
    single = is_from(parsed, "stanza", "Sentence")
    columns: list[dict[str, Any]] = []
    for number, sentence in enumerate([parsed] if single else parsed.sentences):
        if any(word.head is None for word in sentence.words):
            raise ValueError(
                f"stanza's sentence {str(sentence.text)[:60]!r} has no parse: its pipeline needs 'depparse'"
            )
        lines = enumerate(without_lost_arcs(f"{sentence:C-o}".split("\n")), start=1)
        columns += sentence_columns(lines, f"sentence {number}", multiroot=multiroot, max_words=None)
    return Found(columns, single)


def is_stanza(parsed: object) -> bool:
    """Whether something is stanza's ``Document`` or ``Sentence``."""
    return is_from(parsed, "stanza", "Document", "Sentence")
