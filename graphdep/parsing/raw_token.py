"""Tokens with their places in a raw text, and those that a tokenizer has cut inside a word put together."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import NamedTuple


class RawToken(NamedTuple):
    """A token of a raw text.

    Attributes:
        start: Its first character.
        stop: The character behind its last one.
        text: What the tokenizer calls it, or :obj:`None` for what stands in the text.
        words: The words of a multi-word token; empty for any other.
    """

    start: int
    stop: int
    text: str | None
    words: tuple[str, ...] = ()


def whole_words(sentences: Sequence[Sequence[RawToken]], text: str) -> list[list[RawToken]]:
    """Joins tokens that meet inside a word of an English text, with the sentences that they are in.

    A tokenizer that has seen few accents in training cuts ``cliché`` into ``clich`` and ``é``. No word of
    English ends between two Latin letters of which one is not of ASCII, nor before a combining mark. Signs
    that were in one token with the end of such a word become one of their own. Multi-word tokens stay as they
    are.

    Args:
        sentences: The tokens of each sentence, in the order of the text.
        text: The text.

    Example:
        >>> tokens = [[RawToken(0, 5, "clich"), RawToken(5, 6, "é"), RawToken(7, 12, "again")]]
        >>> [(token.start, token.stop) for token in whole_words(tokens, "cliché again")[0]]
        [(0, 6), (7, 12)]
    """
    whole: list[list[RawToken]] = []
    for sentence in sentences:
        for i, token in enumerate(sentence):
            if whole and _is_cut(whole[-1][-1], token, text):
                whole[-1][-1:] = _joined(whole[-1][-1], token, text)
            elif i == 0:
                whole.append([token])
            else:
                whole[-1].append(token)
    return whole


def _joined(before: RawToken, token: RawToken, text: str) -> list[RawToken]:
    end = token.stop
    while unicodedata.category(text[end - 1]).startswith("P"):
        end -= 1
    places = [(before.start, end), (end, token.stop)]
    return [RawToken(*place, "".join(text[slice(*place)].split())) for place in places if place[0] < place[1]]


def _is_cut(before: RawToken, token: RawToken, text: str) -> bool:
    if before.stop != token.start or before.words or token.words:
        return False
    end = before.stop - 1
    while end > before.start and unicodedata.combining(text[end]):
        end -= 1
    left, right = text[end], text[token.start]
    if unicodedata.combining(right):
        return True
    marked = end < before.stop - 1 or not (left.isascii() and right.isascii())
    return marked and _is_latin(left) and _is_latin(right)


def _is_latin(character: str) -> bool:
    return character.isalpha() and unicodedata.name(character, "").startswith("LATIN ")
