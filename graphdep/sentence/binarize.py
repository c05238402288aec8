"""Constituents of two parts each."""

from __future__ import annotations

from collections.abc import Sequence

from graphdep.sentence.constituent_heads import part_heads
from graphdep.sentence.constituents import Constituent, parts
from graphdep.sentence.sentence import Sentence

RULES = ("left", "head")
UNARY = ("collapse", "keep")


def binarize(sentence: Sentence, rule: str = "left", *, unary: str = "collapse") -> list[Constituent]:
    r"""The constituents of a sentence so that each has two parts, or is over one word: what a Tree-LSTM of
    two children and an RNTN need.

    A constituent :math:`L` of parts :math:`p_1 \ldots p_n`, constituents or words, becomes for ``"left"``

    .. math::
        (L\ (@L\ \ldots (@L\ p_1\ p_2)\ \ldots\ p_{n-1})\ p_n)

    and for ``"head"`` the head :math:`p_h` takes first the parts to its right, from the nearest on, then
    those to its left: :math:`(L\ p_1\ (@L\ \ldots (@L\ (@L\ p_h\ p_{h+1})\ \ldots\ p_n)))`. The head is the
    part with the word that governs the others in the sentence's own dependency tree
    (:func:`~graphdep.sentence.constituent_heads`).

    What lies in no constituent, or several at the top, is first put into one with the label ``ROOT``, so that
    there is one tree over all words; a sentence of one word may have none.

    Args:
        sentence: A sentence with constituents.
        rule: ``"left"`` or ``"head"``. (default: ``"left"``)
        unary: ``"collapse"`` makes of several constituents over the same words the topmost one; ``"keep"``
            keeps them, each with one part. (default: ``"collapse"``)

    Returns:
        Label, start and end of each in preorder, as :attr:`Sentence.constituents`; the labels of those that
        are new begin with ``@``.

    Raises:
        ValueError: If an option is unknown, or the sentence has no constituents.

    Example:
        >>> from graphdep.io import parse_ptb
        >>> from graphdep.sentence import binarize
        >>> [sentence] = parse_ptb("(NP (DT the) (JJ big) (NN dog))")
        >>> binarize(sentence)
        [('NP', 0, 3), ('@NP', 0, 2)]
    """
    if rule not in RULES:
        raise ValueError(f"'rule' must be one of {RULES} (got {rule!r})")
    if unary not in UNARY:
        raise ValueError(f"'unary' must be one of {UNARY} (got {unary!r})")
    if sentence.constituents is None:
        raise ValueError(f"the sentence {sentence.text[:60]!r} has no constituents to binarize")
    whole = _one_tree(sentence.constituents, len(sentence))
    if unary == "collapse":
        whole = [c for number, c in enumerate(whole) if not number or c[1:] != whole[number - 1][1:]]
    inside, _ = parts(whole, len(sentence))
    heads = part_heads(sentence, whole, inside) if rule == "head" else None
    found = []
    for number, constituent in enumerate(whole):
        found.append(constituent)
        if len(inside[number]) > 2:
            spans = [whole[part][1:] if part >= 0 else (~part, ~part + 1) for part in inside[number]]
            found += _new(constituent[0], spans, len(spans) - 1 if heads is None else heads[number], rule)
    return sorted(found, key=lambda c: (c[1], -c[2]))  # stable: of the same words, the upper one stays first


def _one_tree(constituents: Sequence[Constituent], words: int) -> list[Constituent]:
    covered = bool(constituents) and constituents[0][1:] == (0, words)
    return [*constituents] if covered or words == 1 else [("ROOT", 0, words), *constituents]


def _new(label: str, spans: Sequence[tuple[int, int]], head: int, rule: str) -> list[Constituent]:
    """Those between a constituent and its parts, the upper ones first."""
    first, last = spans[0][0], spans[-1][1]
    if rule == "left":
        ends = [(first, end) for _, end in spans[-2:0:-1]]
    else:
        alone = head == len(spans) - 1  # nothing to its right, with which it would be the first
        ends = [(start, last) for start, _ in spans[1 : head + (not alone)]]
        ends += [(spans[head][0], end) for _, end in spans[-2:head:-1]]
    return [(f"@{label}", *span) for span in ends]
