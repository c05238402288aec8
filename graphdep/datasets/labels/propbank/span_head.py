"""The word that stands for a span of a tree."""

from __future__ import annotations

from graphdep.sentence import Sentence


def span_head(tree: Sentence, start: int, end: int) -> int:
    """The word of a span that is nearest to the root, the first one where several are.

    Its governor is outside of the span. Where more than one word's is, as in spans that are no phrase of this
    tree, the others are lower in it or farther right.

    Args:
        tree: The tree.
        start: First word of the span, from 0.
        end: The word behind its last one.

    Raises:
        ValueError: If the span is empty or outside of the sentence.

    Example:
        >>> from graphdep import Sentence
        >>> from graphdep.datasets.labels.propbank.span_head import span_head
        >>> tree = Sentence(["The", "old", "man", "sings"], [3, 3, 4, 0], ["det", "amod", "nsubj", "root"])
        >>> span_head(tree, 0, 3)
        2
    """
    if not 0 <= start < end <= len(tree):
        raise ValueError(f"a span must lie in {len(tree)} words (got {start} to {end})")
    depth = tree.depth
    return min(range(start, end), key=depth.__getitem__)
