"""Which trees runs may have in place of the parser's or the corpus' own."""

from __future__ import annotations

NOISY_TREES = {f"noisy-{percent}": percent / 100 for percent in (5, 10, 20, 30, 40, 60, 80, 100)}
"""Names of trees of which so many percent of the arcs are wrong, and the share."""
PARSED = {f"{name}-parsed": name for name in ("random-labels", "noisy-5", "noisy-10", "noisy-20")}
"""Controls that begin with the parser's trees where the corpus has its own, and what they do to them."""
CONTROL_TREES = ("random", "random-labels", "chain", "reversed", *NOISY_TREES, *PARSED)
"""Names of all of them."""


def check_trees(trees: str, task: str, gold: bool) -> None:
    """Raises :class:`ValueError` if trees begin with those of a corpus that has none of its own."""
    if trees == "gold" and not gold:
        raise ValueError(f"'trees' cannot be 'gold': the corpus of {task!r} has none of its own")
    if trees in PARSED and not gold:
        raise ValueError(
            f"'trees' cannot be {trees!r}: the corpus of {task!r} has none of its own, so that "
            f"{PARSED[trees]!r} begins with the parser's"
        )
