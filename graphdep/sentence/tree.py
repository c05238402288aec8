"""Checks and operations on governors and constituents."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from graphdep.io.files import brief
from graphdep.io.limits import MAX_DEPTH

if TYPE_CHECKING:
    from graphdep.sentence import Sentence

PAGE = "docs/how-to/own-parse.md"
"""Page with the supported parses."""
# A multiword-token range ("3-4") or an empty node ("8.1"): its ten CoNLL-U columns as text.
Row = tuple[str, ...]
RANGE_ID = re.compile(r"([1-9][0-9]{0,8})-([1-9][0-9]{0,8})")
EMPTY_ID = re.compile(r"(0|[1-9][0-9]{0,8})\.([1-9][0-9]{0,8})")


def parse_deps(column: str) -> list[tuple[str, str]]:
    """The DEPS column as ``(head id, label)`` pairs; an item without a colon has an empty label."""
    if column == "_":
        return []
    return [(head, label) for head, _, label in (part.partition(":") for part in column.split("|"))]


def moved_copy(misc: str, number: Callable[[str], str | None]) -> str:
    """Column MISC of an empty node, with ``CopyOf=N`` updated after words moved.

    Args:
        misc: The column.
        number: The new ID of a word, by old ID; :obj:`None` if it is gone, which also removes ``CopyOf``.
    """
    parts = []
    for part in misc.split("|"):
        name, equals, word = part.partition("=")
        moved = number(word) if name == "CopyOf" and equals else None
        if name != "CopyOf" or moved is not None:
            parts.append(part if moved is None else f"CopyOf={moved}")
    return "|".join(parts) or "_"


class Fault(NamedTuple):
    """Why governors are not a tree.

    Args:
        kind: The reason, as a category.
        message: The fault of this sentence.
        word: The first word at fault, from 1.
    """

    kind: str
    message: str
    word: int = 1


def chain_columns(size: int) -> tuple[list[int], list[str]]:
    """Governors and labels of a chain: each word depends on the word before it, the first is the root."""
    return [*range(size)], ["root", *["dep"] * (size - 1)][:size]


def check_tree(head: Sequence[int], *, multiroot: bool = False) -> None:
    """Raises :class:`ValueError` unless ``head`` (1-based, 0 = root) is a tree. O(words), no recursion."""
    for word, governor in enumerate(head, start=1):
        if isinstance(governor, bool) or not isinstance(governor, int):
            raise ValueError(f"word {word}: head must be an integer (got {governor!r})")
    if fault := tree_fault(head, multiroot=multiroot):
        advice = " (allow it with multiroot=True)" if fault.kind == "several roots" else ""
        raise ValueError(fault.message + advice)


def tree_fault(head: Sequence[int], *, multiroot: bool = False) -> Fault | None:
    """Why whole numbers are not a tree; :obj:`None` if they are. O(words), no recursion."""
    fault = _fault(head, multiroot)
    if fault is None or fault.kind == "several roots" or _fault(_counted_from_one(head), False):
        return fault
    return Fault(FROM_ZERO, f"{fault.message}: heads count from 1, and 0 is the root", fault.word)


FROM_ZERO = "heads that count from 0"


def _counted_from_one(head: Sequence[int]) -> list[int]:
    """Converts governors that count from 0, where the root is -1 or its own governor."""
    return [0 if governor in (-1, word) else governor + 1 for word, governor in enumerate(head)]


def _fault(head: Sequence[int], multiroot: bool) -> Fault | None:
    for word, governor in enumerate(head, start=1):
        if not 0 <= governor <= len(head):
            message = f"word {word}: head {governor} is out of range 0..{len(head)}"
            kind = "no governor" if governor == -1 else "head outside of the sentence"
            return Fault(kind, message, word)
    if head and 0 not in head:
        return Fault("no root", "no root: no word has head 0")
    if cycle := next(cycles(head), None):
        word = cycle[0]
        message = f"word {word}: head {head[word - 1]} closes a cycle through words {cycle[:10]}"
        return Fault("cycle", message, word)
    roots = [word for word, governor in enumerate(head, start=1) if governor == 0]
    if len(roots) < 2 or multiroot:
        return None
    return Fault("several roots", f"words {roots[:10]} all have head 0: more than one root", roots[0])


def are_side_by_side(head: Sequence[int]) -> bool:
    """Whether governors are one tree or several, each over consecutive words, like the sentences of a text.
    O(words), no recursion.
    """
    if tree_fault(head, multiroot=True):
        return False
    root = [0] * (len(head) + 1)
    for start in range(1, len(head) + 1):
        path, word = [], start
        while not root[word] and head[word - 1]:
            path.append(word)
            word = head[word - 1]
        for visited in [*path, word]:
            root[visited] = root[word] or word
    return sum(before != after for before, after in pairwise(root)) == head.count(0)


def cycles(head: Sequence[int]) -> Iterator[list[int]]:
    """The words of each cycle; governors range from 0 to the number of words. O(words), no recursion."""
    safe = [True] + [False] * len(head)
    for start in range(1, len(head) + 1):
        path: list[int] = []
        on_path: set[int] = set()
        word = start
        while not safe[word]:
            if word in on_path:
                yield path[path.index(word) :]
                break
            path.append(word)
            on_path.add(word)
            word = head[word - 1]
        for visited in path:
            safe[visited] = True


# Label, first word and the word after the last one, counted from 0.
Constituent = tuple[str, int, int]
FLAT = "X"
"""PTB's label for unknown constituents: the only label of a sentence that could not be parsed."""
LABEL = re.compile(r"[^\s()]+")


def check_constituents(constituents: Sequence[Constituent], words: int) -> None:
    """Raises :class:`ValueError` unless constituents are nested, within the sentence and in preorder.

    A parent stands before its children, siblings from left to right; of two constituents over the same words,
    the upper one is first. O(constituents), no recursion. The message has the label and the span.

    Args:
        constituents: Label, first word and the word after the last one, counted from 0.
        words: Number of words of the sentence.
    """
    if not isinstance(constituents, list | tuple):
        raise ValueError(f"'constituents' must be a list of (label, start, end) (got {brief(constituents)})")
    above: list[Constituent] = []
    last = 0
    for number, constituent in enumerate(constituents):
        wrong = _bad_constituent(number, constituent, words)
        if not wrong:
            label, start, end = constituent
            while above and above[-1][2] <= start:
                above.pop()
            if start < last or (above and start == above[-1][1] and end > above[-1][2]):
                before = "{!r} ({}, {})".format(*constituents[number - 1])
                wrong = f"constituent {label!r} ({start}, {end}) is not in preorder: it stands after {before}"
            elif above and end > above[-1][2]:
                wrong = "constituent {!r} ({}, {}) crosses {!r} ({}, {})".format(*constituent, *above[-1])
            elif len(above) == MAX_DEPTH:
                wrong = (
                    f"constituent {label!r} ({start}, {end}) is inside of more than {MAX_DEPTH - 1} others"
                )
            above.append(constituent)
            last = start
        if wrong:
            raise ValueError(wrong)


def _bad_constituent(number: int, constituent: Constituent, words: int) -> str | None:
    if not isinstance(constituent, tuple) or len(constituent) != 3:
        return f"constituent {number} must be a tuple (label, start, end) (got {brief(constituent)})"
    label, start, end = constituent
    if not isinstance(label, str) or not LABEL.fullmatch(label):
        return f"constituent {number} must have a label without white space and brackets (got {brief(label)})"
    if any(isinstance(place, bool) or not isinstance(place, int) for place in (start, end)):
        return f"constituent {label!r} ({start!r}, {end!r}): start and end must be whole numbers"
    if not 0 <= start < end <= words:
        return f"constituent {label!r} ({start}, {end}) is empty or out of range 0..{words}"
    return None


def known_constituents(sentence: Sentence, advice: str = "") -> list[Constituent]:
    """The constituents of a sentence; raises :class:`ValueError` if they are unknown."""
    if sentence.constituents is None:
        raise ValueError(f"the sentence {sentence.text[:60]!r} has no constituents{advice}")
    return sentence.constituents


def parts(constituents: Sequence[Constituent], words: int) -> tuple[list[list[int]], list[int]]:
    """The children of each constituent and the items outside all constituents, from left to right: a
    constituent's number, or ``~word`` for a word.
    """
    inside: list[list[int]] = [[] for _ in constituents]
    top: list[int] = []
    above: list[int] = []
    following = 0
    for word in range(words + 1):
        while above and constituents[above[-1]][2] <= word:
            above.pop()
        while following < len(constituents) and constituents[following][1] == word:
            (inside[above[-1]] if above else top).append(following)
            above.append(following)
            following += 1
        if word < words:
            (inside[above[-1]] if above else top).append(~word)
    return inside, top


def cut_constituents(constituents: Sequence[Constituent], start: int, stop: int) -> list[Constituent]:
    """The constituents of the words ``start`` to ``stop - 1``, numbered from ``start``; each loses its
    removed words, and is removed with its last one.
    """
    cut = ((label, max(first, start) - start, min(end, stop) - start) for label, first, end in constituents)
    return [(label, first, end) for label, first, end in cut if first < end]


def shifted(constituents: Sequence[Constituent], words: int) -> Iterator[Constituent]:
    """The constituents, moved to the right by ``words`` words."""
    return ((label, start + words, end + words) for label, start, end in constituents)


class Raw(NamedTuple):
    """A sentence as read, whose governors may not be a tree.

    Args:
        columns: The arguments of :class:`~graphdep.Sentence`.
        place: Its position, such as ``FILE:LINE``, for messages. (default: ``""``)
        lines: In a CoNLL-U file, the line of each word; :obj:`place` is then the file. (default: none)
    """

    columns: dict[str, Any]
    place: str = ""
    lines: Sequence[int] = ()


class WordParser(Protocol):
    """The interface of :class:`~graphdep.parsing.Parser` that parses given words."""

    def parse_words(self, words: Sequence[Sequence[str]]) -> list[Sentence]:
        """A tree for each list of words."""


@dataclass(frozen=True)
class Found:
    """The sentences of a parse.

    Args:
        raws: The sentences as read.
        single: Whether the parse is of one sentence, not of a text, which may have several.
        labels: The relations that determine the scheme. (default: those of the sentences)
    """

    raws: list[Raw]
    single: bool
    labels: frozenset[str] = field(default=frozenset())


def is_from(value: object, module: str, *names: str) -> bool:
    """Whether a value is an instance of a library's classes, without importing the library."""
    return any(
        cls.__name__ in names and f"{cls.__module__}.".startswith(f"{module}.") for cls in type(value).__mro__
    )
