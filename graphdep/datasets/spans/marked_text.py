"""Texts with marks by characters, as words with marks by words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from graphdep.datasets.spans.span_example import wrong_spans
from graphdep.parsing.parser import ALONE

Range = tuple[int, int]
_TAG = re.compile(r"<(/?)e([0-9]{1,3})>")
# In the order in which they are tried. "don't" is "do" and "n't", "dog's" is "dog" and "'s", as in UD.
_WORD = re.compile(
    rf"""[{ALONE}]                                  # Chinese characters and kana have no spaces between words
    | n['\u2019]t\b
    | [^\W{ALONE}]+?(?=n['\u2019]t\b)
    | (?<=\w)['\u2019](?:s|m|d|re|ve|ll)\b
    | \d+(?:[.,:/]\d+)+(?!\w)                       # 1,000.50 and 12:30
    | (?:[^\W\d_{ALONE}]\.){{2,}}                   # e.g., U.S.
    | [^\W{ALONE}]+
    | ([^\w\s])\1*                                  # ... and --
    """,
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True)
class MarkedText:
    """The words of a text, and the ranges of words that its marks are on.

    Args:
        words: The words.
        spans: The number of each span's first word, from 0, and that behind its last one.
        inside: How many ends of spans are where the text would have no end of a word without them.
    """

    words: list[str]
    spans: list[Range]
    inside: int


def mark_text(text: str, ranges: Sequence[Range]) -> MarkedText:
    """Splits a text into words, so that each end of a span is the end of a word.

    A word is a run of letters and digits, of which *n't* and *'s, 'm, 'd, 're, 've, 'll* are words of their
    own; a number with points, commas, colons or slashes in it; an abbreviation like *e.g.*; a Chinese
    character or a kana; any other sign, equal ones in a row as one. All parsers thus get the same words, and
    no mark falls on a part of one.

    Args:
        text: The text.
        ranges: The spans by characters, end exclusive.

    Raises:
        ValueError: If a span has no word or reaches beyond the text, or there is none or more than two; the
            message has its number.

    Example:
        >>> from graphdep.datasets.spans.marked_text import mark_text
        >>> mark_text("The dog's bone.", [(4, 7), (10, 14)])
        MarkedText(words=['The', 'dog', "'s", 'bone', '.'], spans=[(1, 2), (3, 4)], inside=0)
    """
    if wrong := wrong_spans(ranges, len(text), "characters"):
        raise ValueError(wrong)
    ends = sorted({end for span in ranges for end in span})
    places = word_places(text, ends)
    spans = [_words_in(text, places, span, number) for number, span in enumerate(ranges, 1)]
    own = word_places(text)
    inside = sum(start < end < stop for end in ends for start, stop in own)
    return MarkedText([text[start:stop] for start, stop in places], spans, inside)


def with_tags(words: Sequence[str], spans: Sequence[Range]) -> str:
    """Words with tags around spans of them, so that :func:`read_tags` finds these; spans that overlap
    overlap.

    Example:
        >>> from graphdep.datasets.spans.marked_text import with_tags
        >>> with_tags(["Rain", "makes", "big", "floods"], [(0, 1), (2, 4)])
        '<e1>Rain</e1> makes <e2>big floods</e2>'
    """
    tagged = list(words)
    for number, (start, stop) in enumerate(spans, 1):
        tagged[start] = f"<e{number}>{tagged[start]}"
        tagged[stop - 1] = f"{tagged[stop - 1]}</e{number}>"
    return " ".join(tagged)


def word_places(text: str, borders: Sequence[int] = ()) -> list[Range]:
    """Where the words of a text begin and end; none of them is on both sides of a border."""
    plain = text
    if not text.isascii():  # to Python, vowel signs and accents of their own are no part of a word
        plain = "".join("a" if unicodedata.category(char)[0] == "M" else char for char in text)
    cuts = [0, *borders, len(text)]
    return [match.span() for start, stop in pairwise(cuts) for match in _WORD.finditer(plain, start, stop)]


def read_tags(text: str) -> tuple[str, list[Range]]:
    """A text without its tags ``<e1>...</e1>`` and ``<e2>...</e2>``, and what they enclose, by characters.

    Raises:
        ValueError: If there is no ``<e1>``, another number than 1 or 2, a tag twice, or one that does not
            open or does not close.
    """
    plain, last = "", 0
    ends: dict[str, int] = {}
    for tag in _TAG.finditer(text):
        plain += text[last : tag.start()]
        last = tag.end()
        if tag[0] in ends:
            raise ValueError(f"the tag {tag[0]} is there twice")
        if tag[1] and f"<e{tag[2]}>" not in ends:
            raise ValueError(f"the tag {tag[0]} closes what is not open")
        ends[tag[0]] = len(plain)
    plain += text[last:]
    opened = sorted(name for name in ends if "/" not in name)
    for name in opened:
        if name.replace("<", "</") not in ends:
            raise ValueError(f"the tag {name} does not close")
    if opened not in (["<e1>"], ["<e1>", "<e2>"]):
        found = ", ".join(opened) if opened else "none"
        raise ValueError(f"a text has <e1>, or <e1> and <e2> (got {found})")
    return plain, [(ends[name], ends[name.replace("<", "</")]) for name in opened]


def _words_in(text: str, places: Sequence[Range], span: Range, number: int) -> Range:
    inside = [word for word, (start, stop) in enumerate(places) if span[0] <= start and stop <= span[1]]
    if not inside:
        raise ValueError(f"span {number} has no word (got {text[slice(*span)]!r})")
    return inside[0], inside[-1] + 1
