"""Colours that colour-blind readers can tell apart, on white and on black."""

from __future__ import annotations

# Okabe and Ito's, and what each is where the ground is dark.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
INK, PALE, QUIET = "#2b2b2b", "#d9d9d9", "#6b7280"

STYLES: dict[str, str] = {
    "word": "currentColor",
    "special": QUIET,
    "again": QUIET,
    "arc": QUIET,
    "ground": "#ffffff",
    "label": COLOURS[0],
    "node": COLOURS[3],
    "title": "currentColor",
    "about": QUIET,
    **{f"edge-{number}": colour for number, colour in enumerate(COLOURS)},
}
"""The colour of each style on a white ground."""
