"""Files of a user's labelled words: rows, CoNLL-U, spaCy's DocBin, and columns of labels or roles."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from graphdep.datasets.base.raw import LIST, Form, Forms, check_forms, check_width, read_lines, row_error
from graphdep.datasets.base.rows import (
    OBJECTS,
    TREE_COLUMNS,
    TextRow,
    check_keys,
    read_text_rows,
    row_raw,
    row_words,
    taken,
)
from graphdep.datasets.labels.bio import OUTSIDE, spans_of
from graphdep.datasets.labels.roles import (
    PREDICATE,
    DependencyLayout,
    Layout,
    Row,
    bracketed_cells,
    bracketed_spans,
    own_words,
    read_head_roles,
    read_span_roles,
    role_layout,
    sentences_of,
)
from graphdep.datasets.labels.words import Column, LabelledWords, marked_word
from graphdep.io.extras import check_extra
from graphdep.io.files import each, place_error
from graphdep.io.formats import check_words_there, recognise
from graphdep.io.limits import MAX_EXPANDED, plural
from graphdep.io.trees import take_conllu, tree_lines
from graphdep.sentence.exchange import read_spacy, word_columns
from graphdep.sentence.intake import Intake
from graphdep.sentence.sentence import Sentence
from graphdep.sentence.tree import Raw

ROWS, SPACY, CONLLU, ROLES, WORDS = "rows", "spaCy", "CoNLL-U", "roles", "words"
"""Kinds of files."""
KEYED = (CONLLU, SPACY)
"""Kinds of files in which a key selects the labels."""
_OF_SUFFIX = {**dict.fromkeys(OBJECTS, ROWS), ".spacy": SPACY}
NO_COLUMNS = (".csv", ".xml")
"""Suffixes of other formats, which are not read here."""


def check_word_file(name: str, path: Path) -> None:
    """Raises :class:`ValueError` if the suffix of a file belongs to another format."""
    if path.suffix.lower() in NO_COLUMNS:
        raise ValueError(
            f"{name!r} must be a .jsonl, .json, .parquet or .spacy file, or CoNLL-U or columns of words, "
            f"which may have any other suffix (got {str(path)!r})"
        )


def kind_of(path: Path) -> str:
    """The kind of a file, by its suffix (rows, spaCy) or its first sentence."""
    kind = _first_kind(path)
    if kind == WORDS and role_layout(read_columns(path).sentences) is not None:
        return ROLES
    return kind


def _first_kind(path: Path) -> str:
    """As :func:`kind_of`, except that columns of roles are columns of words."""
    return _OF_SUFFIX.get(path.suffix.lower()) or (CONLLU if _is_conllu(path) else WORDS)


def _is_conllu(path: Path) -> bool:
    if path.suffix.lower() == ".conllu":
        return True
    return recognise(text for _, text in tree_lines(path)) in ("conllu", "conllu-plus")


def check_given(files: Iterable[Path], given: Mapping[str, object]) -> None:
    """Raises :class:`ValueError` if an option is given that none of the existing files uses.

    Args:
        files: The files.
        given: ``key``, ``absent`` and ``mark_key``; :obj:`None` if not given.
    """
    there = {name: value for name, value in given.items() if value is not None}
    asked = [(path, _kind_if_known(path)) for path in files] if there else []
    for name, value in there.items():
        kinds = (CONLLU,) if name == "mark_key" else KEYED
        if asked and not any(kind in (*kinds, None) for _, kind in asked):
            path, kind = asked[0]
            raise ValueError(
                f"{name!r} is for files of {' and '.join(kinds)}: {path} is one of {kind} (got {value!r})"
            )


def _kind_if_known(path: Path) -> str | None:
    """The kind of a file; :obj:`None` if it is missing and its suffix does not tell."""
    suffix = path.suffix.lower()
    return kind_of(path) if path.is_file() else CONLLU if suffix == ".conllu" else _OF_SUFFIX.get(suffix)


def read_doc_bin(path: Path, column: Column | None, intake: Intake) -> list[LabelledWords]:
    """The sentences of a ``.spacy`` file (spaCy's ``DocBin``), with their trees if they are parsed.

    White-space tokens are removed, and their dependents attached to their governor. A document without
    sentence boundaries is one sentence.

    Args:
        path: The file; it has data only, and no code from it is run.
        column: The column of the labels, as in CoNLL-U; :obj:`None` for the entities in BIO, where a word
            with unknown annotation is not scored.
        intake: Converts and repairs the trees.
    """
    sentences: list[tuple[list[Any], Raw | None, str]] = []
    relations: set[str] = set()
    documents = _documents(path)
    with _undamaged(path):
        for number, document in enumerate(documents, 1):
            place = f"{path}: document {number}"
            spans = document.sents if document.has_annotation("SENT_START") else [document]
            tokens = [own for span in spans if (own := [token for token in span if not token.is_space])]
            if document.has_annotation("DEP"):
                found = read_spacy(document)
                relations |= found.labels
                sentences += [(own, raw._replace(place=place), place) for own, raw in zip(tokens, found.raws)]
            else:
                sentences += [(own, None, place) for own in tokens]
    trees = iter(intake.sentences([raw for _, raw, _ in sentences if raw is not None], labels=relations))
    examples = []
    for words, raw, place in sentences:
        tree = None if raw is None else next(trees)
        if raw is None or tree is not None:
            with _undamaged(path):
                labels = _column_labels(words, tree, column) if column else [*map(_entity, words)]
                texts = [word.text for word in words]
            examples.append(LabelledWords(texts, labels, tree=tree, place=place))
    return examples


def _documents(path: Path) -> list[Any]:
    check_extra(f"{path}: a DocBin", "spacy")
    import spacy
    from spacy.tokens import DocBin

    with _undamaged(path):
        _check_unpacked(path)
        return list(DocBin().from_disk(path).get_docs(spacy.blank("xx").vocab))


@contextmanager
def _undamaged(path: Path) -> Iterator[None]:
    """Converts errors of a damaged file, for which spaCy raises anything, even on access to a value."""
    try:
        yield
    except ValueError as error:
        if str(error).startswith(str(path)):
            raise
        raise _damaged(path, error) from None
    except FileNotFoundError:
        raise
    except Exception as error:
        raise _damaged(path, error) from None


def _damaged(path: Path, error: Exception) -> ValueError:
    return place_error(str(path), f"no DocBin of spaCy, or damaged ({str(error)[:120]})")


def _check_unpacked(path: Path) -> None:
    """Raises :class:`ValueError` if a small file would fill the memory."""
    size, unpack = 0, zlib.decompressobj()
    with open(path, "rb") as file:
        while rest := file.read(2**16):
            while rest:
                size += len(unpack.decompress(rest, 2**20))
                rest = unpack.unconsumed_tail
                if size > MAX_EXPANDED:
                    why = f"more than {MAX_EXPANDED >> 20} MiB when unpacked: split it into several files"
                    raise place_error(str(path), why)


def _column_labels(tokens: list[Any], tree: Sentence | None, column: Column) -> list[str | None]:
    if tree is not None:
        return column.labels(tree)
    columns = word_columns(tokens, text=False)
    chain = Sentence.chain(columns["form"])
    return column.labels(chain) if column.name == "deprel" else column.labels(_with(chain, columns))


def _with(sentence: Sentence, columns: dict[str, Any]) -> Sentence:
    return Sentence(head=sentence.head, deprel=sentence.deprel, **columns)


_ENTITIES = {"": None, "O": OUTSIDE}


def _entity(token: Any) -> str | None:
    return _ENTITIES.get(token.ent_iob_, f"{token.ent_iob_}-{token.ent_type_}")


UNSCORED_CELL = "_"
"""Stands for a missing label of a word, which is not scored."""
_DOCUMENT = "-DOCSTART-"
_FILLED = Form(
    "a text: the first column is the word, the last its label, or _ for none", lambda text: text.strip() != ""
)
_WORD_AND_LABEL: Forms = {"word": _FILLED, "label": _FILLED}
_COMMENT = re.compile(r"#\s*(\S+\s*=|new(doc|par)\b|(begin|end) document\b)")
_NAMES = re.compile(r"#\s*ID\tFORM\b")


@dataclass(frozen=True)
class ColumnFile:
    """The rows of a file of columns.

    Args:
        path: The file.
        separator: Separator of columns: a tab, or a blank for one or more blanks.
        rows: Line number and columns; no columns at the end of a sentence.
        skipped: Number of lines that are left out.
    """

    path: Path
    separator: str
    rows: list[Row]
    skipped: int

    @property
    def sentences(self) -> list[list[Row]]:
        """The rows of each sentence."""
        return sentences_of(self.rows)


def read_columns(path: Path) -> ColumnFile:
    """The rows of a file of columns, separated by single tabs if the first row has one, else by blanks.

    Blank lines separate sentences. Lines whose first column is ``-DOCSTART-`` are left out and also end a
    sentence. Comments are left out: lines before the first word of a sentence that begin with ``#`` and have
    another number of columns than the first row, or the form ``# key = value``, ``# newdoc``, ``# newpar``,
    ``#begin document`` or ``#end document``.
    """
    lines = list(read_lines(path))
    separator, width = _first_row(path, lines)
    rows: list[Row] = []
    skipped = 0
    for line, text in lines:
        cells = _cells(text, separator)
        if not text.strip():
            rows.append((line, []))
        elif text.split()[0] == _DOCUMENT:
            rows.append((line, []))
            skipped += 1
        elif _is_comment(text, len(cells) == width, separator) and not (rows and rows[-1][1]):
            skipped += 1
        elif text.strip() == "#end document":
            rows.append((line, []))
            skipped += 1
        else:
            rows.append((line, cells))
    return ColumnFile(path, separator, rows, skipped)


def _first_row(path: Path, lines: list[tuple[int, str]]) -> tuple[str, int]:
    """The separator of the first row, and its number of columns."""
    for _, text in lines:
        if text.strip() and not text.startswith((_DOCUMENT, "#")):
            separator = "\t" if "\t" in text else " "
            return separator, len(_cells(text, separator))
    raise row_error(path, 1, "no sentence in the file")


def _cells(text: str, separator: str) -> list[str]:
    cells = [cell.strip(" ") for cell in text.split(separator)]
    return cells if separator == "\t" else [cell for cell in cells if cell] or [""]


def _is_comment(text: str, has_columns: bool, separator: str) -> bool:
    """Whether a line that begins with ``#`` is a comment."""
    if not text.startswith("#"):
        return False
    return not has_columns or (_COMMENT if separator == " " else _NAMES).match(text) is not None


KEYS = ("words", "labels", "mark", *TREE_COLUMNS)
"""Keys of an object of a ``.jsonl`` file."""


@dataclass
class OwnSentences:
    """The content of a file.

    Args:
        kind: The kind of the file.
        examples: Its sentences, or the predicates of a file of roles.
        counts: Counts of lines and other parts that are in no example, by their kind.
        columns: In a file of columns, the line of the first word and the column of the labels of each
            example.
        layout: The layout of roles.
        keyed: Whether a key selects the labels.
        notes: Texts about what was left out, converted or repaired.
    """

    kind: str
    examples: list[LabelledWords]
    counts: dict[str, int] = field(default_factory=dict)
    columns: list[tuple[int, int]] = field(default_factory=list)
    layout: Layout | None = None
    keyed: bool = False
    notes: list[str] = field(default_factory=list)


def read_own_sentences(
    path: Path,
    column: Column,
    intake: Intake,
    *,
    spans: bool = False,
    mark: Column | None = None,
    outside: str = OUTSIDE,
    constituents: bool = False,
    labelled: bool = True,
) -> OwnSentences:
    """The sentences of a file, see :class:`~graphdep.datasets.labels.base.OwnLabels`.

    Args:
        path: The file.
        column: The labels in CoNLL-U and ``.spacy``.
        intake: Converts and repairs the trees.
        spans: In ``.spacy``, read the entities instead of :obj:`column`. (default: :obj:`False`)
        mark: In CoNLL-U, the key of the marked word. (default: no marked words)
        outside: In CoNLL-2008 and 2009, the label of words without a role. (default: ``"O"``)
        constituents: In CoNLL-2012 and 2005, read the bracketed constituents. (default: :obj:`False`)
        labelled: In columns, whether the last one has labels, which are otherwise optional and not read.
            (default: :obj:`True`)
    """
    check_word_file("path", path)
    kind = _first_kind(path)
    if kind == ROWS:
        return OwnSentences(kind, _of_objects(read_text_rows(path, ["words", "labels"]), intake))
    if kind == SPACY:
        found = read_doc_bin(path, None if spans else column, intake)
        return OwnSentences(kind, found, keyed=not spans)
    if kind == CONLLU:
        trees = take_conllu(path, intake, max_words=None, control=True)
        places = zip(sentence_places(path), trees, strict=True)
        found = [_of_tree(place, tree, column, mark) for place, tree in places if tree is not None]
        return OwnSentences(kind, found, keyed=True)
    return _of_columns(path, intake, outside, constituents, labelled)


def _of_columns(path: Path, intake: Intake, outside: str, constituents: bool, labelled: bool) -> OwnSentences:
    file = read_columns(path)
    sentences = file.sentences
    counts = {"comments": file.skipped}
    notes = [f"{plural(file.skipped, 'comment')} left out"] if file.skipped else []
    layout = role_layout(sentences)
    word = 0 if layout is None else layout.word
    check_words_there(path, ([row[word] for _, row in rows if word < len(row)] for rows in sentences))
    if layout is None:
        columns = [(rows[0][0], max(1, len(rows[0][1]) - 1)) for rows in sentences]
        found = read_word_columns(file, labelled=labelled)
        _check_not_counted(found)
        return OwnSentences(WORDS, found, counts, columns, notes=notes)
    if isinstance(layout, DependencyLayout):
        roles = read_head_roles(path, sentences, layout, intake, outside)
    else:
        roles = read_span_roles(path, sentences, layout, constituents)
    counts |= {"sentences_without_predicate": roles.without, "inner_roles": roles.inner}
    notes = [f"roles of {layout.name}", *notes]
    if roles.without:
        notes.append(f"{plural(roles.without, 'sentence')} without a predicate left out")
    if roles.inner:
        notes.append(f"{plural(roles.inner, 'role')} inside of another one of the same predicate left out")
    return OwnSentences(ROLES, roles.examples, counts, roles.columns, layout, notes=notes)


def _check_not_counted(examples: list[LabelledWords]) -> None:
    """Raises :class:`ValueError` if the first column has the numbers of words instead of the words."""
    words = [example.words for example in examples]
    if max(map(len, words)) > 1 and all(own == [*map(str, range(1, len(own) + 1))] for own in words):
        raise place_error(
            examples[0].place,
            "the first column counts words, as in CoNLL-U, which has 10 columns with tabs between them: a "
            "first line such as '# global.columns = ID FORM XPOS HEAD DEPREL' names others",
        )


def read_word_columns(file: ColumnFile, *, labelled: bool = True) -> list[LabelledWords]:
    """The sentences of a file as in `CoNLL-2003 <https://aclanthology.org/W03-0419/>`_: the first column is
    the word, the last one the label; others are not read. A word with label ``_`` is not scored.

    Args:
        file: The file.
        labelled: Whether to read the label in the last column. (default: :obj:`True`)
    """
    sentences = file.sentences
    width = len(sentences[0][0][1])

    def read(rows: list[Row]) -> LabelledWords:
        check_width(file.path, rows, width, 2 if labelled else 1)
        for line, cells in rows:
            check_forms(f"{file.path}:{line}", {"word": cells[0], "label": cells[-1]}, _WORD_AND_LABEL)
        labels = [None if cells[-1] == UNSCORED_CELL or not labelled else cells[-1] for _, cells in rows]
        words = [cells[0] for _, cells in rows]
        return LabelledWords(words, labels, place=f"{file.path}:{rows[0][0]}")

    return each(read, sentences)


def with_labels(path: Path, found: OwnSentences, labels: Sequence[Sequence[str | None]], outside: str) -> str:
    """The text of a file of columns with other labels, or with labels added to a file of words.

    Args:
        path: The file.
        found: Its content.
        labels: The labels of each example's words; :obj:`None` for no label.
        outside: In CoNLL-2008 and 2009, the label of words without a role.
    """
    texts = dict(read_lines(path))
    tabs = any("\t" in text for text in texts.values())
    for example, (first, column), own in zip(found.examples, found.columns, labels):
        lines = range(first, first + len(example))
        if found.layout is None:
            cells = [UNSCORED_CELL if label is None else label for label in own]
        elif isinstance(found.layout, DependencyLayout):
            cells = ["_" if label in (None, outside) else str(label) for label in own]
        else:
            rows = [(line, _cells(texts[line], "\t" if tabs else " ")) for line in lines]
            cells = _span_cells(path, rows, column, own)
        for line, cell in zip(lines, cells):
            texts[line] = _with_cell(texts[line], "\t" if tabs else " ", column, cell)
    return "".join(f"{text}\n" for text in texts.values())


def _span_cells(path: Path, rows: list[Row], column: int, labels: Sequence[str | None]) -> list[str]:
    """The cells of a column of roles; the spans of the predicate itself are kept."""
    own = [span for span in bracketed_spans(path, rows, column) if span[2] in PREDICATE]
    words = own_words(own)
    arguments = spans_of([None if word in words else label for word, label in enumerate(labels)])
    return bracketed_cells([*arguments, *own], len(rows))


def _with_cell(text: str, separator: str, column: int, cell: str) -> str:
    """A row with a cell that replaces a column, or is added at the end."""
    if separator == "\t":
        cells = text.split("\t")
        return "\t".join([*cells[:column], cell, *cells[column + 1 :]])
    places = [*re.finditer("[^ ]+", text)]
    if column == len(places):
        return f"{text.rstrip(' ')} {cell}"
    start, end = places[column].span()
    return f"{text[:start]}{cell}{text[end:]}"


def row_mark(row: TextRow, words: list[str]) -> int | None:
    """The index of the marked word (key ``mark``), or :obj:`None`."""
    if row.values.get("mark") is None:
        return None
    numbers = range(len(words))
    what = f"the number of one word, from 0 to {numbers[-1]}"
    return row.value("mark", Form(what, lambda mark: type(mark) is int and mark in numbers))


def sentence_places(path: Path) -> list[str]:
    """``FILE:LINE`` of the first word of each sentence in a CoNLL-U file."""
    blocks = groupby(tree_lines(path), key=lambda row: row[1].strip(" ") == "")
    rows = ([line for line, text in own if not text.startswith("#")] for blank, own in blocks if not blank)
    return [f"{path}:{lines[0]}" for lines in rows if lines]


def _of_tree(place: str, tree: Sentence, column: Column, mark: Column | None) -> LabelledWords:
    marked = None if mark is None else marked_word(tree, mark, place)
    return LabelledWords(tree.form, column.labels(tree), mark=marked, tree=tree, place=place)


def _of_objects(rows: list[TextRow], intake: Intake) -> list[LabelledWords]:
    found = each(_of_object, rows)
    trees, stay = taken([raw for _, raw in found], intake)
    return [replace(one, tree=tree) for (one, _), tree, stays in zip(found, trees, stay) if stays]


def _of_object(row: TextRow) -> tuple[LabelledWords, Raw | None]:
    check_keys(row, KEYS)
    words = row_words(row)
    labels, mark = row.value("labels", LIST), row_mark(row, words)
    return LabelledWords(words, labels, mark=mark, place=row.place), row_raw(row, words)
