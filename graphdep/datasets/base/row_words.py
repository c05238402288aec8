"""Words, and perhaps a tree, in an object of a file of JSON lines."""

from __future__ import annotations

from graphdep.datasets.base.raw import row_error
from graphdep.datasets.base.text_rows import TextRow
from graphdep.sentence import Sentence

TREE = ("head", "deprel")
"""Keys of a tree: the governor of each word, from 1, 0 for the root, and its relation to it."""


def row_words(row: TextRow, max_words: int | None = None) -> list[str]:
    """The words of ``words``.

    Args:
        row: The object.
        max_words: More words are an error; :obj:`None` for no limit. (default: :obj:`None`)

    Raises:
        ValueError: If it is no list of texts that are not blank, or has too many, with file, line and value.
    """
    words = row.values["words"]
    if not isinstance(words, list) or not all(isinstance(word, str) and word.strip() for word in words):
        raise row_error(row.path, row.line, "'words' must be a list of words", repr(words))
    if not words:
        raise row_error(row.path, row.line, "a sentence has at least one word: 'words' is empty")
    if max_words is not None and len(words) > max_words:
        raise row_error(row.path, row.line, f"'words' has more than {max_words} words (got {len(words)})")
    return words


def row_tree(row: TextRow, words: list[str]) -> Sentence | None:
    """The tree of ``head`` and ``deprel``; :obj:`None` where neither is there.

    Raises:
        ValueError: If there is a part of one alone, or it is none, with file, line and value.
    """
    head, deprel = (row.values.get(name) for name in TREE)
    if head is None and deprel is None:
        return None
    if not isinstance(head, list) or not isinstance(deprel, list):
        raise row_error(row.path, row.line, "'head' and 'deprel' must both be lists", repr([head, deprel]))
    if not all(type(governor) is int for governor in head):
        raise row_error(row.path, row.line, "'head' must be numbers of words", repr(head))
    if not all(isinstance(label, str) and label.strip() for label in deprel):
        raise row_error(row.path, row.line, "'deprel' must be names of relations", repr(deprel))
    try:
        return Sentence(words, head, deprel)
    except ValueError as error:
        raise row_error(row.path, row.line, f"no tree: {error}", repr(head)) from None
