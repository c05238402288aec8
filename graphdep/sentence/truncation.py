"""A sentence cut short that is still one tree."""

from __future__ import annotations

import dataclasses
from typing import TypeVar

import numpy as np

from graphdep.sentence.constituents import cut_constituents
from graphdep.sentence.sentence import Sentence
from graphdep.sentence.tree import RANGE_ID, Row, moved_copy, parse_deps

T = TypeVar("T")


def truncate(sentence: Sentence, max_words: int, side: str = "right") -> Sentence:
    """The first (or last) words of a sentence, with a tree over them.

    A word whose governor is cut moves to its nearest ancestor that is kept, and keeps its relation. Words
    without such an ancestor are there only where the root is cut: the first of them becomes the root, and
    the others depend on it.

    Enhanced arcs from what is cut are left out; a word that moved, or has none left, gets its arc in the
    tree. A multiword token that is cut in two, an empty node that follows a word that is cut and the
    ``# text`` comment are left out as well. A constituent loses the words that are cut.

    Args:
        sentence: The sentence; one that is short enough is returned as it is.
        max_words: The number of words to keep.
        side: Cut the words at the ``"right"`` end, or at the ``"left"``. (default: ``"right"``)

    Raises:
        ValueError: If :obj:`max_words` is less than 1 or :obj:`side` is unknown.
    """
    check_side(side)
    if max_words < 1:
        raise ValueError(f"'max_words' must be at least 1 (got {max_words})")
    if len(sentence) <= max_words:
        return sentence
    start = 0 if side == "right" else len(sentence) - max_words
    kept = slice(start, start + max_words)
    head, deprel = _cut_columns(sentence, kept)
    number = _new_ids(sentence, kept)
    return dataclasses.replace(
        sentence,
        form=sentence.form[kept],
        head=head,
        deprel=deprel,
        lemma=_cut(sentence.lemma, kept),
        upos=_cut(sentence.upos, kept),
        xpos=_cut(sentence.xpos, kept),
        feats=_cut(sentence.feats, kept),
        misc=_cut(sentence.misc, kept),
        deps=_cut_deps(sentence, kept, head, deprel, number),
        comments=[line for line in sentence.comments if not _is_text(line)],
        multiword=[row for row in (_cut_range(row, number) for row in sentence.multiword) if row],
        empty=[
            (number[row[0]], *row[1:8], _cut_column(row[8], number), moved_copy(row[9], number.get))
            for row in sentence.empty
            if row[0] in number
        ],
        constituents=None
        if sentence.constituents is None
        else cut_constituents(sentence.constituents, kept.start, kept.stop),
    )


def cut_tree(head: np.ndarray, start: int, stop: int) -> tuple[np.ndarray, int | None]:
    r"""The tree over the words ``start`` to ``stop - 1`` of a sentence; see :func:`truncate`.

    By pointer jumping, so that long chains are no trouble.

    Args:
        head: Number of each word's governor, from 0; a root word has its own number.
        start: The first word that is kept.
        stop: The first word after those that are kept.

    Returns:
        The governors of the words that are kept, counted from the first of them, and the number of the word
        that has become the root, if any.

    Shapes:
        - ``head``: :math:`(\text{words})`, int64
    """
    word = np.arange(len(head))
    up = np.where((start <= word) & (word < stop), word, head)  # leads out of what is cut
    for _ in range(len(head).bit_length()):
        up = up[up]
    moved = up[head[start:stop]] - start
    orphan = (moved < 0) | (moved >= stop - start)
    if not orphan.any():
        return moved, None
    roots = (head[start:stop] == word[start:stop]).nonzero()[0]
    root = int(roots[0] if roots.size else orphan.argmax())
    moved[orphan] = root
    return moved, None if roots.size else root


def check_side(side: str) -> None:
    """Raises :class:`ValueError` unless ``side`` is ``"right"`` or ``"left"``."""
    if side not in ("right", "left"):
        raise ValueError(f"'side' must be 'right' or 'left' (got {side!r})")


def _cut_columns(sentence: Sentence, kept: slice) -> tuple[list[int], list[str]]:
    """The columns HEAD and DEPREL of the words that are kept."""
    head = np.array(sentence.head) - 1
    head, root = cut_tree(np.where(head < 0, np.arange(len(head)), head), kept.start, kept.stop)
    deprel = sentence.deprel[kept]
    if root is not None:
        deprel[root] = "root"
    column = np.where(head == np.arange(len(head)), 0, head + 1)
    return column.tolist(), deprel


def _new_ids(sentence: Sentence, kept: slice) -> dict[str, str]:
    """The new ID of the artificial root and of each word and empty node that is kept, by the old one."""
    number = {str(word): str(word - kept.start) for word in range(kept.start + 1, kept.stop + 1)} | {"0": "0"}
    for row in sentence.empty:
        word, _, place = row[0].partition(".")
        if word in number and not (word == "0" and kept.start):  # of the words before it, none is cut
            number[row[0]] = f"{number[word]}.{place}"
    return number


def _cut_deps(
    sentence: Sentence, kept: slice, head: list[int], deprel: list[str], number: dict[str, str]
) -> list[list[tuple[str, str]]] | None:
    if sentence.deps is None:
        return None
    cut = []
    for word, governor in enumerate(head):
        before = sentence.head[kept][word]
        arcs = [(number[arc[0]], arc[1]) for arc in sentence.deps[kept][word] if arc[0] in number]
        basic = (str(governor), deprel[word])
        moved = number.get(str(before)) != str(governor)
        if (moved or not arcs) and basic not in arcs:
            arcs.append(basic)
        cut.append(arcs)
    return cut


def _cut_column(deps: str, number: dict[str, str]) -> str:
    """The column DEPS of an empty node."""
    return "|".join(f"{number[head]}:{label}" for head, label in parse_deps(deps) if head in number) or "_"


def _cut(column: list[T] | None, kept: slice) -> list[T] | None:
    return None if column is None else column[kept]


def _is_text(comment: str) -> bool:
    return comment.lstrip("#").partition("=")[0].strip() == "text"


def _cut_range(row: Row, number: dict[str, str]) -> Row | None:
    """A multiword token, if all of its words are kept."""
    match = RANGE_ID.fullmatch(row[0])
    assert match is not None  # a Sentence has no other
    if match[1] not in number or match[2] not in number:
        return None
    return (f"{number[match[1]]}-{number[match[2]]}", *row[1:])
