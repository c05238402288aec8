"""What is checked of governors, and the parts of CoNLL-U that are more than a word."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

# A multiword-token range ("3-4") or an empty node ("8.1"): its ten CoNLL-U columns as text.
Row = tuple[str, ...]
RANGE_ID = re.compile(r"([1-9][0-9]{0,8})-([1-9][0-9]{0,8})")
EMPTY_ID = re.compile(r"(0|[1-9][0-9]{0,8})\.([1-9][0-9]{0,8})")


def parse_deps(column: str) -> list[tuple[str, str]]:
    """The DEPS column as ``(head id, label)`` pairs; a part without a colon has an empty label."""
    if column == "_":
        return []
    return [(head, label) for head, _, label in (part.partition(":") for part in column.split("|"))]


def moved_copy(misc: str, number: Callable[[str], str | None]) -> str:
    """The column MISC of an empty node, whose ``CopyOf=N`` names the word that it copies, after words moved.

    Args:
        misc: The column.
        number: The new ID of a word, by the old one; :obj:`None` if it is gone, as its copy's name then is.
    """
    parts = []
    for part in misc.split("|"):
        name, equals, word = part.partition("=")
        moved = number(word) if name == "CopyOf" and equals else None
        if name != "CopyOf" or moved is not None:
            parts.append(part if moved is None else f"CopyOf={moved}")
    return "|".join(parts) or "_"


def check_tree(head: Sequence[int], *, multiroot: bool = False) -> None:
    """Raises :class:`ValueError` unless ``head`` (1-based, 0 = root) is a tree. O(words), no recursion."""
    roots = []
    for word, governor in enumerate(head, start=1):
        if isinstance(governor, bool) or not isinstance(governor, int):
            raise ValueError(f"word {word}: head must be an integer (got {governor!r})")
        if not 0 <= governor <= len(head):
            raise ValueError(f"word {word}: head {governor} is out of range 0..{len(head)}")
        if governor == 0:
            roots.append(word)
    _check_cycle(head)
    # A graph without root has a cycle, so what is left to check is that there is just one.
    if len(roots) > 1 and not multiroot:
        raise ValueError(
            f"words {roots[:10]} all have head 0: more than one root (allow it with multiroot=True)"
        )


def _check_cycle(head: Sequence[int]) -> None:
    if head and 0 not in head:
        raise ValueError("no root: no word has head 0")
    safe = [True] + [False] * len(head)
    for start in range(1, len(head) + 1):
        path: list[int] = []
        on_path: set[int] = set()
        word = start
        while not safe[word]:
            if word in on_path:
                cycle = path[path.index(word) :]
                raise ValueError(
                    f"word {word}: head {head[word - 1]} closes a cycle through words {cycle[:10]}"
                )
            path.append(word)
            on_path.add(word)
            word = head[word - 1]
        for visited in path:
            safe[visited] = True
