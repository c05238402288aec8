"""What stands for marked spans where their labels are counted."""

from __future__ import annotations

from collections.abc import Sequence

from graphdep.sentence import Sentence

MAX_ARCS = 4
"""A way of more arcs is far."""


def span_key(tree: Sentence, spans: Sequence[tuple[int, int]]) -> str:
    """The way through the tree from the first span to the second, of at most four arcs; of a span that is
    alone, its top word.

    A span is its top word, the one nearest to the root, the first of several. A way is written as its arcs,
    ``<label`` for one up to the governor and ``>label`` for one down to a dependent: ``<nsubj>obj`` leads
    from a verb's subject to its object. One of more arcs is ``far``, and so is one between two trees; one to
    the same word has no arc. The way has no words, so that it is what the tree alone says.

    Args:
        tree: The tree.
        spans: One span or two, each the number of its first word, from 0, and that behind its last one.

    Example:
        >>> from graphdep import Sentence
        >>> from graphdep.datasets.spans.span_key import span_key
        >>> tree = Sentence(["A", "storm", "caused", "it"], [2, 3, 0, 3], ["det", "nsubj", "root", "obj"])
        >>> span_key(tree, [(0, 2), (3, 4)]), span_key(tree, [(3, 4), (0, 2)]), span_key(tree, [(0, 2)])
        ('<nsubj>obj', '<obj>nsubj', 'storm')
    """
    head = [governor - 1 for governor in tree.head]
    tops = [_top(head, range(*span)) for span in spans]
    if len(tops) == 1:
        return tree.form[tops[0]]
    first, second = (_upwards(head, top) for top in tops)
    above = set(second)
    shared = next((word for word in first if word in above), None)
    if shared is None:
        return "far"
    up, down = first[: first.index(shared)], second[: second.index(shared)]
    if len(up) + len(down) > MAX_ARCS:
        return "far"
    arcs = [f"<{tree.deprel[word]}" for word in up] + [f">{tree.deprel[word]}" for word in reversed(down)]
    return "".join(arcs)


def _top(head: Sequence[int], words: Sequence[int]) -> int:
    return min(words, key=lambda word: len(_upwards(head, word)))


def _upwards(head: Sequence[int], word: int) -> list[int]:
    """A word and all above it, up to a root."""
    found = []
    while word >= 0:
        found.append(word)
        word = head[word]
    return found
