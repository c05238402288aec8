"""How wide a text is, without the font that it will be drawn with."""

from __future__ import annotations

import unicodedata

# Shares of the height, of sans-serif fonts, rather too wide than too narrow.
_NARROW = dict.fromkeys("iljtfrI.,;:'|!()[]`- ", 0.36)
_WIDE = dict.fromkeys("mwMW@%&", 0.92)
_MEAN, _CAPITAL = 0.6, 0.74


def text_width(text: str, size: float) -> float:
    """The width in pixels, roughly, of a text that is ``size`` pixels high."""
    return size * sum(map(_share, text))


def _share(char: str) -> float:
    known = _NARROW.get(char) or _WIDE.get(char)
    if known:
        return known
    if unicodedata.combining(char) or unicodedata.category(char) in ("Cf", "Mn", "Me"):
        return 0.0
    if unicodedata.east_asian_width(char) in "WF":
        return 1.05
    return _CAPITAL if char.isupper() else _MEAN


def runs_right_to_left(texts: object) -> bool:
    """Whether most letters of some texts are of a script that runs from right to left."""
    kinds = [unicodedata.bidirectional(char) for text in list(texts)[:400] for char in str(text)]  # type: ignore[call-overload]
    right = sum(kind in ("R", "AL") for kind in kinds)
    return right > sum(kind == "L" for kind in kinds)
