"""One parsed utterance as a few bytes a word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from graphdep.sentence import Sentence

# Little-endian on every machine; a column takes the first that its largest number fits in.
_WIDTHS = tuple(np.dtype(code) for code in ("<u1", "<u2", "<u4"))


def pack_tree(words: np.ndarray, head: np.ndarray, relations: np.ndarray) -> bytes:
    """Three columns of whole numbers, each with 1, 2 or 4 bytes a number; no words are no bytes.

    The first byte has the three widths, two bits each.

    Args:
        words: Number of each word in a lexicon.
        head: ID of each word's governor, from 1; 0 for a root.
        relations: Number of each word's relation.
    """
    if len(words) == 0:
        return b""
    widths = [_width(column) for column in (words, head, relations)]
    code = sum(width << (2 * place) for place, width in enumerate(widths))
    columns = zip((words, head, relations), widths)
    return bytes([code]) + b"".join(column.astype(_WIDTHS[width]).tobytes() for column, width in columns)


def unpack_tree(data: bytes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What :func:`pack_tree` packed: ``words, head, relations``.

    Raises:
        ValueError: If the first byte is none of :func:`pack_tree`, or the number of bytes does not fit to it.
    """
    if not data:
        empty = np.zeros(0, dtype=np.uint8)
        return empty, empty, empty
    codes = [data[0] >> (2 * place) & 3 for place in range(4)]
    if codes[3] or 3 in codes:
        raise ValueError(f"the first byte must have three widths (got {data[0]})")
    widths = [_WIDTHS[code] for code in codes[:3]]
    size, rest = divmod(len(data) - 1, sum(width.itemsize for width in widths))
    if rest or not size:
        raise ValueError(f"{len(data)} bytes are not one and the same number for every word")
    columns, start = [], 1
    for width in widths:
        columns.append(np.frombuffer(data, width, size, start))
        start += size * width.itemsize
    return columns[0], columns[1], columns[2]


def sentence_of(
    tree: tuple[np.ndarray, np.ndarray, np.ndarray],
    words: Mapping[int, str] | Sequence[str],
    relations: Sequence[str],
) -> Sentence | None:
    """The sentence of an unpacked tree; :obj:`None` where there are no words.

    Args:
        tree: What :func:`unpack_tree` gives.
        words: Words by their numbers.
        relations: Relations by their numbers.
    """
    numbers, head, labels = (column.tolist() for column in tree)
    if not numbers:
        return None
    form, deprel = [words[number] for number in numbers], [relations[number] for number in labels]
    return Sentence(form, head, deprel, multiroot=head.count(0) > 1)


def _width(column: np.ndarray) -> int:
    largest = int(column.max())
    return 0 if largest < 1 << 8 else 1 if largest < 1 << 16 else 2
