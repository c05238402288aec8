"""Prepositions of several words."""

from __future__ import annotations

from graphdep.parsing.enhancing.english import THREE_WORDS, TWO_WORDS, TWO_WORDS_WITH_HEAD
from graphdep.parsing.enhancing.working_tree import WorkingTree

_CLAUSES = (
    "conj", "xcomp", "ccomp", "acl", "advcl", "acl:relcl", "parataxis", "appos", "list", "root",
)  # fmt: skip
_SECONDS = frozenset(words[1] for words in TWO_WORDS | TWO_WORDS_WITH_HEAD | THREE_WORDS)


def long_prepositions(tree: WorkingTree) -> None:
    """Makes one expression of each: "out of our barn", "in front of us", "close to home".

    Its first word is ``case`` of the noun, the others are ``fixed``. Where a word of it was the noun's
    governor, the noun takes its place.
    """
    for second in range(2, len(tree.form)):
        if tree.form[second] in _SECONDS:
            _two_words(tree, second) or _two_words_with_head(tree, second) or _three_words(tree, second)


def _two_words(tree: WorkingTree, second: int) -> bool:
    words = [second - 1, second]
    first, noun = words[0], tree.head[second]
    found = (
        (tree.form[first], tree.form[second]) in TWO_WORDS
        and tree.head[first] == noun
        and tree.relation[first] in ("case", "advmod")
        and tree.relation[second] == "case"
        and not tree.children(first)
        and not tree.children(second)
    )
    if found:
        tree.fix(words, noun, "case")
    return found


def _two_words_with_head(tree: WorkingTree, second: int) -> bool:
    first, noun = second - 1, tree.head[second]
    found = (
        (tree.form[first], tree.form[second]) in TWO_WORDS_WITH_HEAD
        and tree.head[noun] == first
        and tree.relation[noun] in ("nmod", "obl")
        and tree.relation[second] == "case"
        and not tree.children(second)
    )
    if found:
        relation = tree.relation[first]
        tree.replace(first, noun, relation if relation in _CLAUSES else tree.relation[noun])
        tree.fix([first, second], noun, "case")
    return found


def _three_words(tree: WorkingTree, second: int) -> bool:
    words = [second - 1, second, second + 1]
    if tuple(tree.form[word] for word in words if word < len(tree.form)) not in THREE_WORDS:
        return False
    first, _, third = words
    noun = tree.head[third]
    found = (
        tree.head[noun] == second == tree.head[first]
        and tree.relation[noun] in ("nmod", "obl", "acl", "advcl")
        and tree.relation[first] == "case"
        and tree.relation[third] in ("case", "mark")
        and not tree.children(first)
        and not tree.children(third)
    )
    if found:
        function = tree.relation[third]
        tree.replace(second, noun, _relation(tree, second, noun))
        tree.fix(words, noun, function)
    return found


def _relation(tree: WorkingTree, second: int, noun: int) -> str:
    """The relation of the noun in its new place, which is a clause's where it is one."""
    old, own = tree.relation[second], tree.relation[noun]
    if own in ("nmod", "obl") or old not in ("nmod", "obl"):
        return old
    return "advcl" if tree.is_verb(tree.head[second]) else own
