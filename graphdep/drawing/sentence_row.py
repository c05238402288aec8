"""A parsed sentence as a row of words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphdep.drawing.row import Row
from graphdep.drawing.text_width import runs_right_to_left

if TYPE_CHECKING:
    from graphdep.drawing.lane import Lane


def sentence_row(sentence: Any, lanes: tuple[Lane, ...] = (), *, root: bool = True, title: str = "") -> Row:
    """The words of a :class:`~graphdep.Sentence`, with its tree.

    Args:
        sentence: Has ``form``, ``head`` and ``deprel``.
        lanes: Sets of edges below it, over its nodes. (default: none)
        root: Show the artificial ROOT as the first node. (default: :obj:`True`)
        title: What stands on top. (default: none)
    """
    words = (*(["[ROOT]"] if root else []), *sentence.form)
    pairs = enumerate(zip(sentence.head, sentence.deprel))
    arcs = tuple((head - 1 + root, word + root, label) for word, (head, label) in pairs if head or root)
    special = frozenset([0] if root else [])
    return Row(words, arcs, lanes, special, title=title, rtl=runs_right_to_left(sentence.form))
