"""Where punctuation hangs in a tree of Universal Dependencies."""

from __future__ import annotations

from graphdep.sentence.clear_tree import ClearTree

_CLOSING = {
    "(": ")",
    "[": "]",
    "{": "}",
    "-lrb-": "-rrb-",
    "“": "”",
    "‘": "’",
    "``": "''",
    '"': '"',
    "'": "'",
}


def attach_punctuation(tree: ClearTree) -> None:
    """Hangs each mark where https://universaldependencies.org/u/dep/punct.html wants it: at the end of the
    sentence from its root, around words from the highest of them, else from the lower one of the units on
    its two sides, as high as no arc crosses the mark.
    """
    marks = {word for word in tree.words if tree.label[word] == "punct"}
    leaves = sorted(word for word in marks if not tree.dependents(word))
    words = [word for word in tree.words if word not in marks]
    if not words:
        return
    pairs = _pairs(tree, leaves)
    first, last = _reach(tree, marks)
    for mark in leaves:
        governor = _inside(tree, *pairs[mark], words) if mark in pairs else 0
        if not governor and mark > words[-1]:
            governor = tree.root if tree.root not in marks else 0
        governor = governor or _beside(tree, mark, marks, first, last)
        if governor:
            tree.attach(mark, governor)


def _pairs(tree: ClearTree, marks: list[int]) -> dict[int, tuple[int, int]]:
    """Opening and closing marks, each with both ends of the pair."""
    pairs = {}
    opened: list[int] = []
    for mark in marks:
        number = next((n for n, o in enumerate(opened) if _CLOSING[tree.form[o]] == tree.form[mark]), None)
        if number is not None:
            pairs[opened[number]] = pairs[mark] = (opened[number], mark)
            del opened[number:]
        elif tree.form[mark] in _CLOSING:
            opened.append(mark)
    return pairs


def _inside(tree: ClearTree, start: int, end: int, words: list[int]) -> int:
    """The highest word between two marks; 0 if there is none."""
    between = [word for word in words if start < word < end]
    return next((word for word in between if not start < tree.head[word] < end), 0)


def _reach(tree: ClearTree, marks: set[int]) -> tuple[list[int], list[int]]:
    """The first and the last word under each word, punctuation apart."""
    first, last = [*range(len(tree.head))], [*range(len(tree.head))]
    for word in reversed(tree.from_above()):
        governor = tree.head[word]
        if word not in marks and governor:
            first[governor] = min(first[governor], first[word])
            last[governor] = max(last[governor], last[word])
    return first, last


def _beside(tree: ClearTree, mark: int, marks: set[int], first: list[int], last: list[int]) -> int:
    left = next((word for word in range(mark - 1, 0, -1) if word not in marks), 0)
    right = next((word for word in range(mark + 1, len(tree.head)) if word not in marks), 0)
    while left and 0 < tree.head[left] < mark and last[tree.head[left]] < mark:
        left = tree.head[left]
    while right and tree.head[right] > mark and first[tree.head[right]] > mark:
        right = tree.head[right]
    if right and 0 < tree.head[right] < mark:
        return right  # a unit that hangs from what is before the mark
    if left and (tree.head[left] > mark or tree.head[left] == 0):
        return left
    return right
