"""The sentences of the package conllu as columns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from graphdep.sentence.conllu_lines import sentence_columns
from graphdep.sentence.exchange.found import Found, is_from, shown
from graphdep.sentence.exchange.word_lines import word_lines


def read_token_lists(parsed: Any, *, multiroot: bool) -> Found:
    """The sentences of some ``TokenList``, or the one of one.

    Raises:
        TypeError: If there is anything else.
        ConlluError: If a sentence is not valid.
    """
    single = is_token_list(parsed)
    found = [parsed] if single else list(parsed) if _may_hold_some(parsed) else [parsed]
    columns: list[dict[str, Any]] = []
    for number, tokens in enumerate(found):
        if not is_token_list(tokens):
            raise TypeError(
                f"from_conllu takes a TokenList of the package conllu, or several (got {shown(tokens)}); "
                "text is for graphdep.io.parse_conllu, a file for graphdep.io.read_conllu"
            )
        comments = (f"# {key}" + ("" if value is None else f" = {value}") for key, value in _metadata(tokens))
        lines = enumerate(word_lines(tokens, comments), start=1)
        columns += sentence_columns(lines, f"sentence {number}", multiroot=multiroot, max_words=None)
    return Found(columns, single)


def is_token_list(parsed: object) -> bool:
    """Whether something is a ``TokenList`` of the package conllu."""
    return is_from(parsed, "conllu", "TokenList")


def _may_hold_some(parsed: object) -> bool:
    return isinstance(parsed, Iterable) and not isinstance(parsed, str | bytes | dict)


def _metadata(tokens: Any) -> Iterable[tuple[str, str | None]]:
    return (tokens.metadata or {}).items()
