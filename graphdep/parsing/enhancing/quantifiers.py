"""Quantificational modifiers and light nouns: "a bunch of friends", "both of the twins"."""

from __future__ import annotations

from graphdep.parsing.enhancing.english import LIGHT_NOUNS, PARTITIVES, QUANTITIES
from graphdep.parsing.enhancing.working_tree import WorkingTree


def quantifiers(tree: WorkingTree) -> None:
    """Makes such words modifiers, ``det:qmod``, of the noun behind "of", which takes their place."""
    for of in range(2, len(tree.form)):
        noun, first = tree.head[of], of - 1
        if (
            tree.form[of] == "of"
            and tree.relation[of] == "case"
            and tree.head[noun] == first
            and tree.relation[noun] == "nmod"
            and tree.is_noun(noun)
        ):
            words = _expression(tree, of, noun)
            if words:
                tree.replace(first, noun, tree.relation[first])
                tree.fix(words, noun, "det:qmod")


def _expression(tree: WorkingTree, of: int, noun: int) -> list[int]:
    """The words up to "of", or up to the determiner behind it; none if they are no such expression."""
    first, form = of - 1, tree.form[of - 1]
    article = of - 2
    if form in LIGHT_NOUNS and tree.form[article] in ("a", "an") and tree.head[article] == first:
        return [article, first, of]
    if form in QUANTITIES and not tree.children(noun, "det"):
        return [first, of]
    if form in PARTITIVES:
        return [first, of, *(word for word in tree.children(noun, "det") if word == of + 1)]
    return []
