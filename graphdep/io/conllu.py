"""CoNLL-U files, with path, line and value in every error."""

from __future__ import annotations

import os
from collections.abc import Iterable

from graphdep.io.atomic import atomic_path
from graphdep.io.decoding import decoded_lines
from graphdep.sentence import Sentence
from graphdep.sentence.conllu_lines import COLUMNS, ConlluError, format_conllu, sentence_columns

__all__ = ["COLUMNS", "ConlluError", "format_conllu", "parse_conllu", "read_conllu", "write_conllu"]


def read_conllu(
    path: str | os.PathLike[str], *, multiroot: bool = False, max_words: int | None = 10_000
) -> list[Sentence]:
    """Reads a CoNLL-U file.

    Multiword ranges, empty nodes, comments and enhanced DEPS are kept, so that :func:`write_conllu` gives
    the file back. A column that holds nothing but ``_`` becomes :obj:`None`.

    Args:
        path: A UTF-8 file; a byte-order mark and CRLF are accepted.
        multiroot: Accept sentences with more than one root. (default: :obj:`False`)
        max_words: Refuse a longer sentence, which is nearly always a missing blank line;
            :obj:`None` for no limit. (default: :obj:`10_000`)

    Raises:
        ConlluError: If the file is empty or anything in it is not a valid sentence.
        OSError: If the file cannot be read.
    """
    with open(path, "rb") as file:
        lines = decoded_lines(file, str(path), ConlluError)
        columns = sentence_columns(lines, str(path), multiroot=multiroot, max_words=max_words)
        sentences = [Sentence(**each) for each in columns]
    if not sentences:
        raise ConlluError("no sentence in the file", str(path), 1)
    return sentences


def parse_conllu(
    text: str, *, name: str = "<string>", multiroot: bool = False, max_words: int | None = 10_000
) -> list[Sentence]:
    """:func:`read_conllu` for a string; ``name`` stands for the path in errors."""
    lines = enumerate((line.removesuffix("\r") for line in text.split("\n")), start=1)
    columns = sentence_columns(lines, name, multiroot=multiroot, max_words=max_words)
    sentences = [Sentence(**each) for each in columns]
    if not sentences:
        raise ConlluError("no sentence in the text", name, 1)
    return sentences


def write_conllu(sentences: Iterable[Sentence], path: str | os.PathLike[str]) -> None:
    """Writes sentences as CoNLL-U, whole or not at all.

    Raises:
        ValueError: If a value cannot be written because it holds a tab or a line break.
    """
    with atomic_path(path) as temporary, open(temporary, "w", encoding="utf-8", newline="\n") as file:
        for sentence in sentences:
            file.write(format_conllu(sentence) + "\n")
