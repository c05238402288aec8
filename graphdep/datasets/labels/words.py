"""Labelled words of a user: CoNLL-U, JSON lines, spaCy files."""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from graphdep.datasets.base.raw import LIST, Form, Forms, check_forms, check_width, read_lines, row_error
from graphdep.datasets.base.rows import (
    OBJECTS,
    TREE_COLUMNS,
    TextRow,
    check_keys,
    check_label,
    check_suffix,
    check_tree,
    read_text_rows,
    row_raw,
    row_words,
    taken,
)
from graphdep.io.files import placed
from graphdep.io.limits import check_name
from graphdep.io.trees import take_conllu
from graphdep.parsing.parser import WordLimit
from graphdep.sentence.exchange import token_heads
from graphdep.sentence.intake import Intake
from graphdep.sentence.sentence import Sentence, truncate

OUTSIDE = "O"
Span = tuple[int, int, str]
"""First word from 0, the word behind the last, label."""


def spans_of(labels: Sequence[str | None]) -> list[Span]:
    """The spans that labels stand for, from left to right.

    As CoNLL's scripts read them, an ``I-X`` that nothing of its label comes before begins a span, as ``B-X``
    would: no label is lost, and a model that leaves out ``B-X`` is not wrong for that alone.

    Args:
        labels: A label for each word; :obj:`None`, a word that is not scored, is in no span and ends the one
            before it.

    Example:
        >>> from graphdep.datasets.labels.words import spans_of
        >>> spans_of(["B-ARG0", "I-ARG0", None, "I-ARG1", "B-ARG1", "O"])
        [(0, 2, 'ARG0'), (3, 4, 'ARG1'), (4, 5, 'ARG1')]
    """
    spans: list[Span] = []
    before = ""  # the label of the span that the word before is in
    for word, label in enumerate(labels):
        if label is None or label == OUTSIDE:
            before = ""
            continue
        tag, name = label[:2], label[2:]
        if tag not in ("B-", "I-") or not name:
            raise ValueError(
                f"'labels' of spans must be O, B-LABEL or I-LABEL (got {label!r}, word {word + 1})"
            )
        if tag == "I-" and name == before:
            start, *_ = spans.pop()
            spans.append((start, word + 1, name))
        else:
            spans.append((word, word + 1, name))
        before = name
    return spans


def check_bio(labels: Sequence[str | None]) -> None:
    """Raises :class:`ValueError` unless the labels are spans to the letter (IOB2): each is ``O``, ``B-X`` or
    ``I-X``, and ``I-X`` stands right behind ``B-X`` or ``I-X``. The message has the word, from 1, and the
    label. :obj:`None`, a word that is not scored, ends the span before it.
    """
    spans_of(labels)
    before: str | None = None
    for word, label in enumerate(labels, 1):
        if label is not None and label.startswith("I-") and (before or "")[1:] != label[1:]:
            there = "nothing" if word == 1 else "a word without label" if before is None else repr(before)
            raise ValueError(
                f"word {word}: {label!r} must stand behind B-{label[2:]} or {label} (got {there})"
            )
        before = label


def bio_of(spans: Iterable[Span], length: int) -> list[str]:
    """The labels of ``length`` words that stand for some spans; :func:`spans_of` gives them back.

    Args:
        spans: The spans, in any order.
        length: The number of words.

    Example:
        >>> from graphdep.datasets.labels.words import bio_of
        >>> bio_of([(0, 2, "ARG0"), (3, 4, "ARG1")], 5)
        ['B-ARG0', 'I-ARG0', 'O', 'B-ARG1', 'O']
    """
    labels = [OUTSIDE] * length
    for start, end, label in spans:
        if not label or not 0 <= start < end <= length or {*labels[start:end]} != {OUTSIDE}:
            got = f"(got {(start, end, label)})"
            raise ValueError(f"'spans' must have labels and lie in {length} words, none in two {got}")
        labels[start:end] = [f"B-{label}", *[f"I-{label}"] * (end - start - 1)]
    return labels


def with_insides(labels: Iterable[str]) -> tuple[str, ...]:
    """Labels with ``I-X`` for each ``B-X``, since spans of one word in training may be longer elsewhere. All
    that are added stand behind the others, by name.

    Args:
        labels: The labels, none of them twice.

    Example:
        >>> from graphdep.datasets.labels.words import with_insides
        >>> with_insides(["O", "B-ARG0", "B-ARG1", "I-ARG0"])
        ('O', 'B-ARG0', 'B-ARG1', 'I-ARG0', 'I-ARG1')
    """
    known = tuple(labels)
    insides = {f"I-{label[2:]}" for label in known if label.startswith("B-")}
    return (*known, *sorted(insides.difference(known)))


COLUMNS = ("upos", "xpos", "deprel", "lemma", "feats")
LISTS = ("feats", "misc")
"""Columns that are lists of ``Key=Value``."""


@dataclass(frozen=True)
class Column:
    """Where the labels of words stand: a column of CoNLL-U, or a key of FEATS or MISC.

    Args:
        key: ``"upos"``, ``"xpos"``, ``"deprel"``, ``"lemma"`` or ``"feats"``, or a key of one of two columns:
            ``"feats:Number"``, ``"misc:BeginSeg"``.
        absent: The label of a word that has none; :obj:`None` for no label, which is not scored. (default:
            :obj:`None`)
    """

    key: str
    absent: str | None = None

    def __post_init__(self) -> None:
        listed = self.name in LISTS and self.part
        if self.key not in COLUMNS and not listed:
            keys = ", ".join([*COLUMNS, *(f"{name}:KEY" for name in LISTS)])
            raise ValueError(f"'key' must be one of {keys} (got {self.key!r})")
        if self.absent is not None:
            if not self.absent.strip():
                raise ValueError(f"'absent' must be a label (got {self.absent!r})")
            check_name("absent", self.absent)

    @property
    def name(self) -> str:
        """The column."""
        return self.key.partition(":")[0]

    @property
    def part(self) -> str:
        """The key in the column; empty for the column as a whole."""
        return self.key.partition(":")[2]

    def labels(self, sentence: Sentence) -> list[str | None]:
        """The label of each word; :obj:`None` where it has none."""
        column: Sequence[str] = getattr(sentence, self.name) or ["_"] * len(sentence)
        found = [_values(cell).get(self.part) if self.part else cell for cell in column]
        return [self.absent if label in (None, "", "_") else label for label in found]

    def there(self, sentence: Sentence) -> list[bool]:
        """Whether each word has the key of FEATS or MISC, whatever its value."""
        column: Sequence[str] = getattr(sentence, self.name) or ["_"] * len(sentence)
        return [self.part in _values(cell) for cell in column]

    def write(self, sentence: Sentence, labels: Sequence[str | None]) -> Sentence:
        """The sentence with other labels; a word with the label :attr:`absent`, or :obj:`None`, has none."""
        for label in labels:
            lost = (label == "_" and self.absent != "_") or (self.part and "|" in (label or ""))
            if lost:
                raise ValueError(f"'key' {self.key!r} can hold no label {label!r}: _ is none, | ends one")
        cells = ["_" if label is None or label == self.absent else label for label in labels]
        if self.part:
            old: Sequence[str] = getattr(sentence, self.name) or ["_"] * len(sentence)
            cells = [self._with(*pair) for pair in zip(old, cells)]
        changed: dict[str, Any] = {self.name: cells}
        return dataclasses.replace(sentence, **changed)

    def classes(self, sentences: Sequence[Sentence]) -> tuple[str, ...]:
        """The different labels by name."""
        marked = Column(self.key)
        if all(label is None for sentence in sentences for label in marked.labels(sentence)):
            raise ValueError(
                f"'key' {self.key!r}: no word of the training split has it{self.hint(sentences)}"
            )
        found = {label for sentence in sentences for label in self.labels(sentence) if label is not None}
        if len(found) == 1:
            other = self.hint(sentences) if not self.part else ""
            raise ValueError(
                f"'key' {self.key!r}: all words of the training split that have it are {found.pop()!r}; with "
                f"absent=LABEL (--set absent=LABEL), words without it are scored as well{other}"
            )
        for label in found:
            check_name(f"key={self.key}", label)
        return tuple(sorted(found))

    def _with(self, cell: str, value: str) -> str:
        values = _values(cell) | {self.part: value}
        if value == "_":
            del values[self.part]
        parts = [key if value is None else f"{key}={value}" for key, value in values.items()]
        # The order of features is that of UD's format; MISC has none.
        return "|".join(sorted(parts, key=str.lower) if self.name == "feats" else parts) or "_"

    def hint(self, sentences: Sequence[Sentence]) -> str:
        """The keys that there are, to stand at the end of a message: of the column, or for a column without
        keys those of FEATS and MISC, which may have been meant.
        """
        if not self.part:
            found = [f"{name}:{key}" for name in reversed(LISTS) for key in _keys(name, sentences)]
            return f"; other labels are key=KEY (--set key=KEY), such as {_some(found)}" if found else ""
        known = _keys(self.name, sentences)
        if not known:
            return f": its column {self.name.upper()} has no key"
        near = difflib.get_close_matches(self.part, known, n=1)
        hint = f" (did you mean '{self.name}:{near[0]}'?)" if near else ""
        return f"{hint}; the keys of {self.name.upper()} are {_some(known)}"


def _keys(name: str, sentences: Sequence[Sentence]) -> list[str]:
    """The keys of a list that have a value, the commonest first."""
    cells = (cell for sentence in sentences for cell in getattr(sentence, name) or ())
    counts = Counter(key for cell in cells for key, value in _values(cell).items() if value)
    return [key for key, _ in counts.most_common()]


def _some(names: Sequence[str]) -> str:
    others = f" and {len(names) - 20} others" if len(names) > 20 else ""
    return f"{', '.join(names[:20])}{others}"


def _values(cell: str) -> dict[str, str | None]:
    """The ``Key=Value`` of a cell, the first of equal keys; a part without ``=`` has no value."""
    values: dict[str, str | None] = {}
    for part in cell.split("|") if cell != "_" else ():
        key, equals, value = part.partition("=")
        values.setdefault(key, value if equals else None)
    return values


def mark_column(key: str) -> Column:
    """The column that marks words."""
    name, _, part = key.partition(":")
    if name not in LISTS or not part:
        keys = " or ".join(f"{known}:KEY" for known in LISTS)
        raise ValueError(f"'mark_key' must be {keys} (got {key!r})")
    return Column(key)


@dataclass(frozen=True)
class LabelledWords:
    """The words of a sentence, and a label for each of them or for some.

    Args:
        words: The words.
        labels: A label for each word; :obj:`None` for none, which is not scored.
        mark: The number of the marked word, from 0, such as the predicate whose roles the labels are.
            (default: :obj:`None`)
        tree: The corpus' own tree of these words. (default: :obj:`None`)
        group: Examples of one number are right as a whole or not at all, such as the predicates of one
            sentence; :obj:`None` for an example that stands alone. (default: :obj:`None`)
        place: Where it stands, ``FILE:LINE``, for messages. (default: ``""``)

    Example:
        >>> from graphdep.datasets.labels.words import LabelledWords
        >>> example = LabelledWords(["She", "sings", "songs"], ["ARG0", None, "ARG1"], mark=1)
        >>> len(example)
        3
    """

    words: Sequence[str]
    labels: Sequence[str | None]
    mark: int | None = None
    tree: Sentence | None = None
    group: int | None = None
    place: str = ""

    def __post_init__(self) -> None:
        size = len(self.words)
        if len(self.labels) != size:
            raise self.error(f"{len(self.labels)} labels for {size} words")
        check_tree(self.place, self.words, self.tree)
        if self.mark is not None and not 0 <= self.mark < size:
            raise self.error(f"the mark must be a number from 0 to {size - 1} (got {self.mark})")
        for label in self.labels:
            check_label(self.place, label)

    def __len__(self) -> int:
        return len(self.words)

    def cut(self, limit: WordLimit) -> LabelledWords:
        """The example with no more words than :obj:`limit` has: as it is, or its first words."""
        most, count = limit.max_words, len(self)
        if count <= most:
            return self
        if not limit.truncate:
            said = f"{count} words are more than max_words={most}"
            raise self.error(f"{said}: allow more, or read the first ones with truncate")
        if (self.mark or 0) >= most:
            raise self.error(f"the marked word {self.mark} is beyond max_words={most}: allow more")
        tree = None if self.tree is None else truncate(self.tree, most)
        changed: dict[str, Any] = {"words": self.words[:most], "labels": self.labels[:most], "tree": tree}
        return dataclasses.replace(self, **changed)

    def error(self, message: str) -> ValueError:
        """An error that begins with the place of the example."""
        return ValueError(f"{self.place}: {message}" if self.place else message)


_COLUMNS = {"lemma": "lemma_", "upos": "pos_", "xpos": "tag_", "feats": "morph"}
_ENTITIES = {"": None, "O": OUTSIDE}


def read_doc_bin(path: Path, column: Column | None) -> list[LabelledWords]:
    """The sentences of a ``.spacy`` file, as spaCy's ``DocBin`` writes them, with their trees if they are
    parsed. Tokens of white space are left out, with their dependents handed to their governor. A document
    that nobody has split into sentences is one.

    Args:
        path: The file. It is data, and no code in it is run.
        column: Where the labels are, in the columns that CoNLL-U would have; :obj:`None` for the entities,
            in BIO, where a word of which nothing is known is not scored.
    """
    found = []
    for number, document in enumerate(_documents(path), 1):
        parsed = document.has_annotation("DEP")
        for span in document.sents if document.has_annotation("SENT_START") else [document]:
            if tokens := [token for token in span if not token.is_space]:
                found.append(_labelled(tokens, column, parsed, f"{path}: document {number}"))
    return found


def _documents(path: Path) -> list[Any]:
    try:
        import spacy
        from spacy.tokens import DocBin
    except ImportError as error:
        raise ImportError(
            f"{path}: spaCy is not installed ({error}): pip install 'graphdep[spacy]'"
        ) from error
    try:
        return list(DocBin().from_disk(path).get_docs(spacy.blank("xx").vocab))
    except Exception as error:  # a damaged file makes it raise anything
        raise ValueError(f"{path}: no DocBin of spaCy, or damaged ({str(error)[:120]})") from None


def _labelled(tokens: list[Any], column: Column | None, parsed: bool, place: str) -> LabelledWords:
    words = [token.text for token in tokens]
    columns: Any = {
        name: [str(getattr(token, key)) or "_" for token in tokens] for name, key in _COLUMNS.items()
    }
    head = token_heads(tokens, one_root=True) if parsed else list(range(len(words)))
    relations = (token.dep_ if token.dep_ not in ("", "ROOT") else "dep" for token in tokens)
    deprel = [label if governor else "root" for governor, label in zip(head, relations)]
    with placed(place, "no tree: ", " ".join(words)):
        tree = Sentence(words, head, deprel, **columns)
    labels = column.labels(tree) if column else [_entity(token) for token in tokens]
    return LabelledWords(words, labels, tree=tree if parsed else None, place=place)


def _entity(token: Any) -> str | None:
    return _ENTITIES.get(token.ent_iob_, f"{token.ent_iob_}-{token.ent_type_}")


UNSCORED_CELL = "_"
"""In the place of a label, of a word that is not scored."""
_DOCUMENT = "-DOCSTART-"
_FILLED = Form(
    "a text: the first column is the word, the last its label, or _ for none", lambda text: text.strip() != ""
)
_WORD_AND_LABEL: Forms = {"word": _FILLED, "label": _FILLED}
_COMMENT = re.compile(r"#\s*(\S+\s*=|new(doc|par)\b)")
Line = tuple[int, list[str]]
"""Line number, columns; none where the sentence ends."""


def read_word_columns(path: Path) -> tuple[list[LabelledWords], int]:
    """The sentences of a file such as those of `CoNLL-2003 <https://aclanthology.org/W03-0419/>`_, and the
    number of lines that were left out.

    Columns are separated by a tab each if the first row has one, else by blanks. The first is the word, the
    last its label, and those between are not read; ``_`` in place of a label is a word that is not scored.
    One blank line or several separate sentences. Left out are lines whose first column is ``-DOCSTART-``,
    which end a sentence as well, and comments: lines that begin with ``#``, before the first word of a
    sentence, and are no row, or have the form ``# key = value``, ``# newdoc`` or ``# newpar``.
    """
    rows = [(line, text) for line, text in read_lines(path)]
    separator, width = _layout(path, rows)
    lines: list[Line] = []
    skipped = 0
    for line, text in rows:
        cells = _cells(text, separator)
        if not text.strip():
            lines.append((line, []))
        elif cells[0] == _DOCUMENT:
            lines.append((line, []))
            skipped += 1
        elif _is_comment(text, len(cells) == width, separator) and not (lines and lines[-1][1]):
            skipped += 1
        else:
            check_width(path, [(line, cells)], width)
            check_forms(f"{path}:{line}", {"word": cells[0], "label": cells[-1]}, _WORD_AND_LABEL)
            lines.append((line, cells))
    return [_sentence(path, sentence) for sentence in _sentences(lines)], skipped


def _layout(path: Path, rows: list[tuple[int, str]]) -> tuple[str, int]:
    """What separates the columns of the first row, and how many there are."""
    for line, text in rows:
        if not text.strip() or text.startswith((_DOCUMENT, "#")):
            continue
        separator = "\t" if "\t" in text else " "
        width = len(cells := _cells(text, separator))
        check_width(path, [(line, cells)], width, 2)
        return separator, width
    raise row_error(path, 1, "no sentence in the file")


def _cells(text: str, separator: str) -> list[str]:
    cells = [cell.strip(" ") for cell in text.split(separator)]
    return cells if separator == "\t" else [cell for cell in cells if cell] or [""]


def _is_comment(text: str, has_columns: bool, separator: str) -> bool:
    """Whether a line that begins with ``#`` is no row."""
    if not text.startswith("#"):
        return False
    return not has_columns or (separator == " " and _COMMENT.match(text) is not None)


def _sentences(lines: list[Line]) -> Iterator[list[Line]]:
    for filled, rows in groupby(lines, key=lambda row: bool(row[1])):
        if filled:
            yield list(rows)


def _sentence(path: Path, rows: list[Line]) -> LabelledWords:
    labels = [None if cells[-1] == UNSCORED_CELL else cells[-1] for _, cells in rows]
    return LabelledWords([cells[0] for _, cells in rows], labels, place=f"{path}:{rows[0][0]}")


COLUMN_FILES = (".tsv", ".txt", ".conll")
KEYED_FILES = (".conllu", ".spacy")
"""Files in which a key says where the labels are."""
SUFFIXES = (*OBJECTS, *KEYED_FILES, *COLUMN_FILES)


KEYS = ("words", "labels", "mark", *TREE_COLUMNS)
"""Keys of an object of a ``.jsonl`` file."""


class OwnSentences(NamedTuple):
    """What a file has.

    Args:
        examples: Its sentences.
        skipped: Lines that were left out, such as comments between the rows.
    """

    examples: list[LabelledWords]
    skipped: int = 0


def read_own_sentences(
    path: Path,
    column: Column,
    *,
    spans: bool = False,
    mark: Column | None = None,
    intake: Intake | None = None,
) -> OwnSentences:
    """The sentences of a file, as :class:`~graphdep.datasets.labels.base.OwnLabels` describes them.

    Args:
        path: The file; its suffix says what it is.
        column: Where labels are in ``.conllu`` and ``.spacy``.
        spans: Of ``.spacy``, read the entities in place of :obj:`column`. (default: :obj:`False`)
        mark: Of ``.conllu``, the key that the marked word has. (default: none, no word is marked)
        intake: What takes in the trees. (default: a fresh :class:`~graphdep.sentence.Intake`)
    """
    check_suffix("path", path, SUFFIXES)
    intake = Intake() if intake is None else intake
    suffix = path.suffix.lower()
    if suffix in OBJECTS:
        return OwnSentences(_of_objects(read_text_rows(path, ["words", "labels"]), intake))
    if suffix == ".conllu":
        placed = zip(sentence_places(path), take_conllu(path, intake, max_words=None))
        return OwnSentences([_of_tree(place, tree, column, mark) for place, tree in placed if tree])
    if suffix == ".spacy":
        return OwnSentences(read_doc_bin(path, None if spans else column))
    return OwnSentences(*read_word_columns(path))


def row_mark(row: TextRow, words: list[str]) -> int | None:
    """The number of the marked word, from 0, of ``mark``; :obj:`None` where there is none."""
    if row.values.get("mark") is None:
        return None
    numbers = range(len(words))
    what = f"the number of one word, from 0 to {numbers[-1]}"
    return row.value("mark", Form(what, lambda mark: type(mark) is int and mark in numbers))


def sentence_places(path: Path) -> list[str]:
    """``FILE:LINE`` of the first line of each sentence of a CoNLL-U file that is no comment."""
    blocks = groupby(read_lines(path, control=" "), key=lambda row: row[1].strip(" ") == "")
    rows = ([line for line, text in own if not text.startswith("#")] for blank, own in blocks if not blank)
    return [f"{path}:{lines[0]}" for lines in rows if lines]


def _of_tree(place: str, tree: Sentence, column: Column, mark: Column | None) -> LabelledWords:
    marked = None if mark is None else marked_word(tree, mark, place)
    return LabelledWords(tree.form, column.labels(tree), mark=marked, tree=tree, place=place)


def marked_word(tree: Sentence, column: Column, place: str) -> int | None:
    """The number of the word that has a key, from 0; :obj:`None` where none has it."""
    marked = [word for word, there in enumerate(column.there(tree)) if there]
    if len(marked) > 1:
        words = ", ".join(tree.form[word] for word in marked)
        message = (
            f"{len(marked)} words have {column.key!r}, which marks one: write the sentence once for each"
        )
        raise ValueError(f"{place}: {message} (got {words})")
    return marked[0] if marked else None


def _of_objects(rows: list[TextRow], intake: Intake) -> list[LabelledWords]:
    for row in rows:
        check_keys(row, KEYS)
    words = [row_words(row) for row in rows]
    trees, stay = taken(list(map(row_raw, rows, words)), intake)
    return [
        LabelledWords(own, row.value("labels", LIST), mark=row_mark(row, own), tree=tree, place=row.place)
        for row, own, tree, stays in zip(rows, words, trees, stay)
        if stays
    ]
