"""A sentence cut short that is still one tree."""

from __future__ import annotations

import dataclasses
from typing import TypeVar

from graphdep.sentence import RANGE_ID, Row, Sentence, parse_deps

T = TypeVar("T")


def truncate(sentence: Sentence, max_words: int) -> Sentence:
    """The first words of a sentence, with a tree over them.

    A word whose governor is cut moves to its nearest ancestor that is kept, and keeps its relation. Words
    without such an ancestor are there only where the root is cut: the first of them becomes the root, and
    the others depend on it.

    Enhanced arcs from what is cut are left out; a word that moved, or has none left, gets its arc in the
    tree. A multiword token that is cut in two and the ``# text`` comment are left out as well.

    Args:
        sentence: The sentence; one that is short enough is returned as it is.
        max_words: The number of words to keep.

    Raises:
        ValueError: If :obj:`max_words` is less than 1.
    """
    if max_words < 1:
        raise ValueError(f"'max_words' must be at least 1 (got {max_words})")
    if len(sentence) <= max_words:
        return sentence
    head, deprel = _cut_tree(sentence, max_words)
    empty = [row for row in sentence.empty if int(row[0].partition(".")[0]) <= max_words]
    kept = {str(word) for word in range(max_words + 1)} | {row[0] for row in empty}
    return dataclasses.replace(
        sentence,
        form=sentence.form[:max_words],
        head=head,
        deprel=deprel,
        lemma=_cut(sentence.lemma, max_words),
        upos=_cut(sentence.upos, max_words),
        xpos=_cut(sentence.xpos, max_words),
        feats=_cut(sentence.feats, max_words),
        misc=_cut(sentence.misc, max_words),
        deps=_cut_deps(sentence, head, deprel, kept),
        comments=[line for line in sentence.comments if not _is_text(line)],
        multiword=[row for row in sentence.multiword if _end(row) <= max_words],
        empty=[(*row[:8], _cut_column(row[8], kept), *row[9:]) for row in empty],
    )


def _cut_tree(sentence: Sentence, max_words: int) -> tuple[list[int], list[str]]:
    """The columns HEAD and DEPREL of the words that are kept."""
    moved = [_kept_ancestor(sentence.head, word, max_words) for word in range(1, max_words + 1)]
    deprel = sentence.deprel[:max_words]
    if 0 in sentence.head[:max_words]:
        root = sentence.head.index(0) + 1
    else:
        root = moved.index(0) + 1
        deprel[root - 1] = "root"
    head = [
        root if ancestor == 0 and word != root and sentence.head[word - 1] != 0 else ancestor
        for word, ancestor in enumerate(moved, start=1)
    ]
    return head, deprel


def _kept_ancestor(head: list[int], word: int, max_words: int) -> int:
    """The nearest ancestor among the first words; 0 if there is none."""
    ancestor = head[word - 1]
    while ancestor > max_words:
        ancestor = head[ancestor - 1]
    return ancestor


def _cut_deps(
    sentence: Sentence, head: list[int], deprel: list[str], kept: set[str]
) -> list[list[tuple[str, str]]] | None:
    if sentence.deps is None:
        return None
    cut = []
    for word, governor in enumerate(head):
        arcs = [arc for arc in sentence.deps[word] if arc[0] in kept]
        basic = (str(governor), deprel[word])
        if (governor != sentence.head[word] or not arcs) and basic not in arcs:
            arcs.append(basic)
        cut.append(arcs)
    return cut


def _cut_column(deps: str, kept: set[str]) -> str:
    """The column DEPS of an empty node."""
    return "|".join(f"{head}:{label}" for head, label in parse_deps(deps) if head in kept) or "_"


def _cut(column: list[T] | None, max_words: int) -> list[T] | None:
    return None if column is None else column[:max_words]


def _is_text(comment: str) -> bool:
    return comment.lstrip("#").partition("=")[0].strip() == "text"


def _end(row: Row) -> int:
    match = RANGE_ID.fullmatch(row[0])
    assert match is not None  # a Sentence has no other
    return int(match[2])
