"""Dependency trees of sentences in brackets, by head rules."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from graphdep.datasets.base.raw import row_error
from graphdep.sentence import Sentence

OPEN, CLOSE = "[", "]"
DETERMINERS = frozenset("the a an some any my your our her his its their".split())
PREPOSITIONS = frozenset(
    "above around at behind below beside between by for from in near of on over to under upon with".split()
)
RELATIVES = frozenset("that who whom which".split())
AUXILIARIES = frozenset("do does did don't doesn't didn't".split())
PUNCTUATION = frozenset(". ? !".split())


class Rule(NamedTuple):
    """How two parts make a constituent.

    Args:
        head: Which part has its head: 0 for the first, 1 for the second.
        label: The relation of the other part's head to it.
        kind: The kind of the constituent.
    """

    head: int
    label: str
    kind: str


RULES: dict[tuple[str, str], Rule] = {
    ("det", "word"): Rule(1, "det", "np"),
    ("prep", "np"): Rule(1, "case", "pp"),
    ("np", "pp"): Rule(0, "nmod", "np"),
    ("rel", "word"): Rule(1, "mark", "rc"),
    ("rel", "vp"): Rule(1, "mark", "rc"),
    ("rel", "clause"): Rule(1, "mark", "rc"),
    ("np", "rc"): Rule(0, "acl:relcl", "np"),
    ("word", "np"): Rule(0, "obj", "vp"),
    ("aux", "word"): Rule(1, "aux", "vp"),
    ("aux", "vp"): Rule(1, "aux", "vp"),
    ("np", "word"): Rule(1, "nsubj", "clause"),
    ("np", "vp"): Rule(1, "nsubj", "clause"),
    ("clause", "punct"): Rule(0, "punct", "clause"),
}
"""The head rules: two kinds of parts, and what they make.

A word alone is a ``det``, a ``prep``, a ``rel``, an ``aux`` or a ``punct`` if it is in the list of that kind,
and else a ``word``: a noun or a verb, which the constituents say. ``that`` is a relative pronoun.
"""


class Part(NamedTuple):
    """A word or a constituent: its kind, and its head, counted from 0."""

    kind: str
    head: int


def bracket_tree(path: Path, line: int, text: str) -> Sentence:
    """The tree of a sentence whose constituents are in brackets, which stand alone as words do.

    Constituents have two parts, and a constituent of one part is that part. :data:`RULES` says which part
    has the head and how the other one depends on it; relations are named as in Universal Dependencies, but
    for a relative pronoun, which is a ``mark`` whatever its role in its clause. Nothing but the brackets and
    the lists of function words is used.

    Args:
        path, line: Where it stands, for messages.
        text: The sentence with its brackets.

    Raises:
        ValueError: If brackets do not close or were never opened, a pair of them is empty or has more than
            two parts, no rule has two parts, or words stand outside of the brackets; with file, line and
            value.

    Example:
        >>> from pathlib import Path
        >>> from graphdep.datasets.labels.agreement.bracket_trees import bracket_tree
        >>> tree = bracket_tree(Path("a.txt"), 1, "[ [ [ the cooks ] sang ] . ]")
        >>> tree.form, tree.head, tree.deprel
        (['the', 'cooks', 'sang', '.'], [2, 3, 0, 3], ['det', 'nsubj', 'root', 'punct'])
    """
    return _Reader(path, line, text).tree()


def bracket_words(path: Path, line: int, text: str) -> list[str]:
    """The words of a sentence in brackets, whatever its constituents are.

    Raises:
        ValueError: If brackets do not close or were never opened, with file, line and value.
    """
    depth = 0
    for token in text.split():
        depth += (token == OPEN) - (token == CLOSE)
        if depth < 0:
            raise row_error(path, line, f"a {CLOSE!r} closes nothing", text)
    if depth:
        raise row_error(path, line, f"{depth} {OPEN!r} are never closed", text)
    return [token for token in text.split() if token not in (OPEN, CLOSE)]


class _Reader:
    """Reads brackets from left to right; a constituent becomes a part when it closes, so nothing recurs."""

    def __init__(self, path: Path, line: int, text: str) -> None:
        self.path, self.line, self.text = path, line, text
        self.words = bracket_words(path, line, text)
        self.head = [0] * len(self.words)
        self.deprel = ["root"] * len(self.words)

    def tree(self) -> Sentence:
        open_parts: list[list[Part]] = [[]]
        number = 0
        for token in self.text.split():
            if token == OPEN:
                open_parts.append([])
            elif token == CLOSE:
                parts = open_parts.pop()
                open_parts[-1].append(self.joined(parts))
            else:
                open_parts[-1].append(Part(_kind(token), number))
                number += 1
        (parts,) = open_parts
        if len(parts) != 1:
            raise self.error(f"{len(parts)} parts outside of all brackets instead of one sentence", self.text)
        return Sentence(self.words, self.head, self.deprel)

    def joined(self, parts: Sequence[Part]) -> Part:
        """The part that some parts in brackets make."""
        if len(parts) == 1:
            return parts[0]
        if len(parts) != 2:
            raise self.error(f"{len(parts)} parts in brackets instead of one or two", self.shown(parts))
        rule = RULES.get((parts[0].kind, parts[1].kind))
        if rule is None:
            raise self.error(f"no head rule for {parts[0].kind} and {parts[1].kind}", self.shown(parts))
        head, other = parts[rule.head].head, parts[1 - rule.head].head
        self.head[other], self.deprel[other] = head + 1, rule.label
        return Part(rule.kind, head)

    def shown(self, parts: Sequence[Part]) -> str:
        return " ".join(self.words[part.head] for part in parts) or f"{OPEN} {CLOSE}"

    def error(self, message: str, value: str) -> ValueError:
        return row_error(self.path, self.line, message, value)


_LISTS = {
    "det": DETERMINERS,
    "prep": PREPOSITIONS,
    "rel": RELATIVES,
    "aux": AUXILIARIES,
    "punct": PUNCTUATION,
}


def _kind(word: str) -> str:
    return next((kind for kind, words in _LISTS.items() if word.lower() in words), "word")
