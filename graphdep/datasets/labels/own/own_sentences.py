"""Files of the user's own with a label for each word, whatever their format."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from graphdep.datasets.base.raw import read_lines, row_error
from graphdep.datasets.base.row_keys import check_keys
from graphdep.datasets.base.row_words import TREE, row_tree, row_words
from graphdep.datasets.base.text_rows import OBJECTS, TextRow, read_text_rows
from graphdep.datasets.labels.column import Column
from graphdep.datasets.labels.labelled_words import LabelledWords
from graphdep.datasets.labels.own.doc_bin import read_doc_bin
from graphdep.datasets.labels.own.word_columns import read_word_columns
from graphdep.io import read_conllu
from graphdep.sentence import Sentence

COLUMN_FILES = (".tsv", ".txt", ".conll")
KEYED_FILES = (".conllu", ".spacy")
"""Files in which a key says where the labels are."""
SUFFIXES = (*OBJECTS, *KEYED_FILES, *COLUMN_FILES)


KEYS = ("words", "labels", "mark", *TREE)
"""Keys of an object of a ``.jsonl`` file."""


class OwnSentences(NamedTuple):
    """What a file has.

    Args:
        examples: Its sentences.
        skipped: Lines that were left out, such as comments between the rows.
    """

    examples: list[LabelledWords]
    skipped: int = 0


def check_label_file(name: str, path: Path) -> None:
    """Raises :class:`ValueError` if the name of a file says none of the known formats."""
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(f"{name!r} must end in {', '.join(SUFFIXES)} (got {str(path)!r})")


def read_own_sentences(
    path: Path, column: Column, *, spans: bool = False, mark: Column | None = None
) -> OwnSentences:
    """The sentences of a file, as :class:`~graphdep.datasets.labels.own.own_labels.OwnLabels` describes them.

    Args:
        path: The file; its suffix says what it is.
        column: Where labels are in ``.conllu`` and ``.spacy``.
        spans: Of ``.spacy``, read the entities in place of :obj:`column`. (default: :obj:`False`)
        mark: Of ``.conllu``, the key that the marked word has. (default: none, no word is marked)

    Raises:
        ValueError: If something is wrong with the file, with file, line and value.
        OSError: If it cannot be read.
        ImportError: If spaCy is needed and is not there.
    """
    check_label_file("path", path)
    suffix = path.suffix.lower()
    if suffix in OBJECTS:
        return OwnSentences([_of_object(row) for row in read_text_rows(path, ["words", "labels"])])
    if suffix == ".conllu":
        placed = zip(sentence_places(path), _trees(path))
        return OwnSentences([_of_tree(*pair, column, mark) for pair in placed])
    if suffix == ".spacy":
        return OwnSentences(read_doc_bin(path, None if spans else column))
    return OwnSentences(*read_word_columns(path))


def row_mark(row: TextRow, words: list[str]) -> int | None:
    """The number of the marked word, from 0, of ``mark``; :obj:`None` where there is none.

    Raises:
        ValueError: If it is no number of one word, with file, line and value.
    """
    mark: Any = row.values.get("mark")
    if mark is None:
        return None
    if type(mark) is not int:
        raise row_error(row.path, row.line, "'mark' must be the number of one word, from 0", repr(mark))
    if not 0 <= mark < len(words):
        raise row_error(row.path, row.line, f"'mark' must be from 0 to {len(words) - 1}", str(mark))
    return mark


def sentence_places(path: Path) -> list[str]:
    """``FILE:LINE`` of the first line of each sentence of a CoNLL-U file that is no comment."""
    blocks = groupby(read_lines(path, control=" "), key=lambda row: row[1].strip(" ") == "")
    rows = ([line for line, text in own if not text.startswith("#")] for blank, own in blocks if not blank)
    return [f"{path}:{lines[0]}" for lines in rows if lines]


def _trees(path: Path) -> list[Sentence]:
    return read_conllu(path, max_words=None)


def _of_tree(place: str, tree: Sentence, column: Column, mark: Column | None) -> LabelledWords:
    marked = None if mark is None else marked_word(tree, mark, place)
    return LabelledWords(tree.form, column.labels(tree), mark=marked, tree=tree, place=place)


def marked_word(tree: Sentence, column: Column, place: str) -> int | None:
    """The number of the word that has a key, from 0; :obj:`None` where none has it.

    Raises:
        ValueError: If several have it; the message begins with ``place``.
    """
    marked = [word for word, there in enumerate(column.there(tree)) if there]
    if len(marked) > 1:
        words = ", ".join(tree.form[word] for word in marked)
        raise ValueError(
            f"{place}: {len(marked)} words have {column.key!r}, which marks one: write the sentence once for "
            f"each (got {words})"
        )
    return marked[0] if marked else None


def _of_object(row: TextRow) -> LabelledWords:
    check_keys(row, KEYS)
    words, labels = row_words(row), row.values["labels"]
    if not isinstance(labels, list):
        raise row_error(row.path, row.line, "'labels' must be a list", repr(labels))
    place = f"{row.path}:{row.line}"
    return LabelledWords(words, labels, mark=row_mark(row, words), tree=row_tree(row, words), place=place)
