"""The ways through a tree from one word to all others, as counting sees them."""

from __future__ import annotations

from graphdep.sentence import Sentence


def relation_paths(sentence: Sentence, start: int | None) -> list[str]:
    """For each word the way to it through the tree, from one word, of at most two arcs, and its own relation.

    A way is written as its arcs, ``<label`` for one up to the governor and ``>label`` for one down to a
    dependent: ``>nsubj`` is a subject of the word, ``<xcomp>nsubj`` one of its governor. What is farther away
    has ``far``. Behind it stands the word's relation to its own governor. It is all that a table of
    commonest labels is given, and that it gets with it is a floor.

    Args:
        sentence: The tree.
        start: The word that the ways begin at, from 0; :obj:`None` for none, and then the ways are those from
            the word to its governor's governor.

    Example:
        >>> from graphdep import Sentence
        >>> from graphdep.datasets.labels.relation_path import relation_paths
        >>> tree = Sentence(["She", "wants", "to", "sing"], [2, 0, 4, 2], ["nsubj", "root", "mark", "xcomp"])
        >>> relation_paths(tree, 3)
        ['<xcomp>nsubj nsubj', '<xcomp root', '>mark mark', ' xcomp']
    """
    head, deprel = [governor - 1 for governor in sentence.head], sentence.deprel
    if start is None:
        return [_upward(head, deprel, word) for word in range(len(head))]
    above, up = head[start], f"<{deprel[start]}"
    far_above = head[above] if above >= 0 else -1
    ways = []
    for word, governor in enumerate(head):
        own = deprel[word]
        if word == start:
            way = ""
        elif governor == start:
            way = f">{own}"
        elif word == above:
            way = up
        elif governor >= 0 and head[governor] == start:
            way = f">{deprel[governor]}>{own}"
        elif governor == above and above >= 0:
            way = f"{up}>{own}"
        elif word == far_above:
            way = f"{up}<{deprel[above]}"
        else:
            way = "far"
        ways.append(f"{way} {own}")
    return ways


def _upward(head: list[int], deprel: list[str], word: int) -> str:
    governor = head[word]
    return f"<{deprel[word]}" + (f"<{deprel[governor]}" if governor >= 0 else "")
