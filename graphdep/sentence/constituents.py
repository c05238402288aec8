"""What constituents of a sentence may be, and how they lie in one another."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

# Label, first word and the word after the last one, counted from 0.
Constituent = tuple[str, int, int]
FLAT = "X"
"""PTB's label for what is not known: that of the one constituent of a sentence that could not be parsed."""
LABEL = re.compile(r"[^\s()]+")


def check_constituents(constituents: Sequence[Constituent], words: int) -> None:
    """Raises :class:`ValueError` unless constituents are nested, within the sentence and in preorder.

    A constituent stands before those in it and these from left to right; of two over the same words the upper
    one is first. O(constituents), no recursion. The message has the label and the span.

    Args:
        constituents: Label, first word and the word after the last one, counted from 0.
        words: Number of words of the sentence.
    """
    if not isinstance(constituents, list | tuple):
        raise ValueError(f"'constituents' must be a list of (label, start, end) (got {constituents!r:.80})")
    above: list[Constituent] = []
    last = 0
    for number, constituent in enumerate(constituents):
        label, start, end = _checked(number, constituent, words)
        while above and above[-1][2] <= start:
            above.pop()
        shown = f"constituent {label!r} ({start}, {end})"
        if start < last or (above and start == above[-1][1] and end > above[-1][2]):
            raise ValueError(
                f"{shown} is not in preorder: it stands after {_shown(constituents[number - 1])}"
            )
        if above and end > above[-1][2]:
            raise ValueError(f"{shown} crosses {_shown(above[-1])}")
        above.append((label, start, end))
        last = start


def _checked(number: int, constituent: Constituent, words: int) -> Constituent:
    if not isinstance(constituent, tuple) or len(constituent) != 3:
        raise ValueError(
            f"constituent {number} must be a tuple (label, start, end) (got {constituent!r:.80})"
        )
    label, start, end = constituent
    if not isinstance(label, str) or not LABEL.fullmatch(label):
        raise ValueError(
            f"constituent {number} must have a label without white space and brackets (got {label!r:.80})"
        )
    if any(isinstance(place, bool) or not isinstance(place, int) for place in (start, end)):
        raise ValueError(f"constituent {label!r} ({start!r}, {end!r}): start and end must be whole numbers")
    if not 0 <= start < end <= words:
        raise ValueError(f"constituent {label!r} ({start}, {end}) is empty or out of range 0..{words}")
    return label, start, end


def _shown(constituent: Constituent) -> str:
    label, start, end = constituent
    return f"{label!r} ({start}, {end})"


def mothers(constituents: Sequence[Constituent]) -> list[int]:
    """The number of the constituent that each lies in directly, -1 for those at the top."""
    found: list[int] = []
    above: list[int] = []
    for number, (_, start, _) in enumerate(constituents):
        while above and constituents[above[-1]][2] <= start:
            above.pop()
        found.append(above[-1] if above else -1)
        above.append(number)
    return found


def parts(constituents: Sequence[Constituent], words: int) -> tuple[list[list[int]], list[int]]:
    """What lies directly in each constituent and what lies in none, from left to right: the number of a
    constituent, or ``~word`` for a word.
    """
    inside: list[list[int]] = [[] for _ in constituents]
    top: list[int] = []
    above: list[int] = []
    following = 0
    for word in range(words + 1):
        while above and constituents[above[-1]][2] <= word:
            above.pop()
        while following < len(constituents) and constituents[following][1] == word:
            (inside[above[-1]] if above else top).append(following)
            above.append(following)
            following += 1
        if word < words:
            (inside[above[-1]] if above else top).append(~word)
    return inside, top


def cut_constituents(constituents: Sequence[Constituent], start: int, stop: int) -> list[Constituent]:
    """Those of the words ``start`` to ``stop - 1``, counted from the first of them; each loses the words that
    are cut, and goes with its last one.
    """
    cut = ((label, max(first, start) - start, min(end, stop) - start) for label, first, end in constituents)
    return [(label, first, end) for label, first, end in cut if first < end]


def shifted(constituents: Sequence[Constituent], words: int) -> Iterator[Constituent]:
    """The same so many words further on."""
    return ((label, start + words, end + words) for label, start, end in constituents)
