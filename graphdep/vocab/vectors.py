"""Pretrained word vectors from text files."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable
from pathlib import Path

import torch
from torch import Tensor

from graphdep.io.files import LineError, check_line, decoded, home_path
from graphdep.io.limits import check_choice
from graphdep.vocab.vocab import Vocab

logger = logging.getLogger("graphdep.vocab.vectors")

# Range of random vectors in Tree-LSTM for words without a vector.
_RANGE = 0.05
MISSING, SCALES = ("uniform", "zeros"), ("file", "unit")
_HEADER = re.compile(rb"[0-9]+ [0-9]+")
_NUMBER = re.compile(rb"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")  # neither nan nor 1_000


def load_vectors(
    path: str | os.PathLike[str],
    vocab: Vocab,
    *,
    missing: str = "uniform",
    seed: int = 0,
    truncated: bool = False,
    scale: str = "file",
) -> tuple[Tensor, float]:
    r"""Loads the vectors of a vocabulary's words from a text file, such as `"GloVe: Global Vectors for Word
    Representation" <https://aclanthology.org/D14-1162/>`_.

    A line is a word and its values, separated by single spaces; a first line with two whole numbers
    (word2vec, fastText) is skipped. The file is read line by line, and only words of the vocabulary are kept.
    A word that is not in the file takes the vector of its lower-case form, if there is one. The first of
    several lines for a word counts. Every line must have the right number of columns; values are only checked
    on lines that are used.

    Args:
        path: The file, UTF-8.
        vocab: The vocabulary.
        missing: Rows of words without a vector, including special ones: ``"uniform"`` draws from
            :math:`[-0.05, 0.05]` (like Tree-LSTM), ``"zeros"`` sets them to 0. (default: ``"uniform"``)
        seed: Random seed of ``missing="uniform"``. (default: :obj:`0`)
        truncated: Skip an incomplete last line with a warning instead of an error. (default: :obj:`False`)
        scale: ``"unit"`` divides the vectors from the file by their mean length, which is then 1, like that
            of random embeddings; ``"file"`` leaves them unchanged. (default: ``"file"``)

    Returns:
        The vectors, and the share of the vocabulary's words (without special ones) with a vector.

    Shapes:
        - vectors: :math:`(|\text{vocab}|, d)` float, with the file's :math:`d`

    Raises:
        ValueError: If an option is invalid or the file is damaged; the message has file, line and value.
        OSError: If the file cannot be read.
    """
    check_choice("missing", missing, MISSING)
    check_choice("scale", scale, SCALES)
    words = vocab.state_dict()["words"]
    known, channels = _scan(home_path(path), {*words, *map(str.lower, words)}, truncated)
    vectors = torch.zeros(len(vocab), channels)
    if missing == "uniform":
        vectors.uniform_(-_RANGE, _RANGE, generator=torch.Generator().manual_seed(seed))
    rows = []
    for word in words:
        vector = known.get(word, known.get(word.lower()))
        if vector is not None:
            vectors[vocab[word]] = vector
            rows.append(vocab[word])
    length = vectors[rows].norm(dim=1).mean() if rows else vectors.new_zeros(())
    if scale == "unit" and length > 0:
        vectors[rows] /= length
    return vectors, len(rows) / max(len(words), 1)


def words_with_vector(path: str | os.PathLike[str], words: Iterable[str]) -> set[str]:
    r"""The given words that have a vector in a file, or whose lower-case form has one, as in
    :func:`load_vectors`.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from graphdep.vocab.vectors import words_with_vector
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "vectors.txt")
        ...     _ = path.write_text("she 0.1 0.2\nsings 0.3 0.4\n")
        ...     sorted(words_with_vector(path, ["She", "sang", "sings"]))
        ['She', 'sings']
    """
    wanted = {*words}
    known, _ = _scan(home_path(path), wanted | {word.lower() for word in wanted}, truncated=False)
    return {word for word in wanted if word in known or word.lower() in known}


def _scan(path: Path, wanted: set[str], truncated: bool) -> tuple[dict[str, Tensor], int]:
    """The wanted words with their vectors, and the dimension."""
    known: dict[str, Tensor] = {}
    channels = 0
    with open(path, "rb") as file:
        for number, line in enumerate(file, start=1):
            fields = line.rstrip(b" \r\n")
            if number == 1 and _HEADER.fullmatch(fields):
                continue
            columns = fields.count(b" ")
            channels = channels or columns
            if columns < max(channels, 1):
                _check_cut(path, number, line, f"{columns} values instead of {channels or 'some'}", truncated)
                continue
            word = _word(path, number, fields, columns - channels)
            if word in wanted and word not in known:
                known[word] = _values(path, number, word, fields.rsplit(b" ", channels)[1:])
    check_line(channels, "no vector in the file", path, 1)
    return known, channels


def _check_cut(path: Path, number: int, line: bytes, message: str, truncated: bool) -> None:
    word = line.partition(b" ")[0].strip().decode("utf-8", errors="replace")
    if line.endswith(b"\n") or not truncated:
        if not line.endswith(b"\n"):
            message = f"the last line is incomplete (truncated=True skips it): {message}"
        raise LineError(message, path, number, word)
    logger.warning("%s:%d: skipped the incomplete last line (word %r)", path, number, word)


def _word(path: Path, number: int, fields: bytes, more: int) -> str:
    """The word of a line: its first field, or the first ``1 + more`` fields (". . ." in glove.840B)."""
    parts = fields.split(b" ", more + 1)[: more + 1]
    if any(_NUMBER.fullmatch(part) for part in parts[1:]):
        raise LineError(f"{more} values too many", path, number, parts[-1].decode(errors="replace"))
    return decoded(b" ".join(parts), path, number)


def _values(path: Path, number: int, word: str, fields: list[bytes]) -> Tensor:
    bad = [field for field in fields if not _NUMBER.fullmatch(field)]
    vector = torch.tensor([] if bad else [float(field) for field in fields])
    bad += [field for field, finite in zip(fields, vector.isfinite().tolist()) if not finite]
    if bad:
        value = bad[0].decode(errors="replace")
        raise LineError(f"a value of {word!r} is not a number, or out of range", path, number, value)
    return vector
