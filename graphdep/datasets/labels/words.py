"""Labelled words, and the columns of their labels."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from graphdep.datasets.base.rows import check_label, check_tree_words
from graphdep.io.limits import check_name, did_you_mean, no_choice
from graphdep.parsing.parser import WordLimit
from graphdep.sentence.sentence import Sentence, truncate
from graphdep.sentence.tree import Constituent, cut_constituents

COLUMNS = ("upos", "xpos", "deprel", "lemma", "feats")
UPOS = "upos"
"""The default column of labels."""
LISTS = ("feats", "misc")
"""Columns that are lists of ``Key=Value``."""


@dataclass(frozen=True)
class Column:
    """The labels of words in CoNLL-U: a column, or a key in FEATS or MISC.

    Args:
        key: ``"upos"``, ``"xpos"``, ``"deprel"``, ``"lemma"`` or ``"feats"``, or a key such as
            ``"feats:Number"`` or ``"misc:BeginSeg"``.
        absent: The label of a word without the key; with :obj:`None` it is not scored. (default: :obj:`None`)
    """

    key: str
    absent: str | None = None

    def __post_init__(self) -> None:
        listed = self.name in LISTS and self.part
        if self.key not in COLUMNS and not listed:
            keys = [*COLUMNS, *(f"{name}:KEY" for name in LISTS)]
            raise ValueError(no_choice("key", self.key, keys))
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
        """The key in the column; empty for the whole column."""
        return self.key.partition(":")[2]

    def labels(self, sentence: Sentence) -> list[str | None]:
        """The label of each word, or :obj:`None`."""
        column: Sequence[str] = getattr(sentence, self.name) or ["_"] * len(sentence)
        found = [_values(cell).get(self.part) if self.part else cell for cell in column]
        return [self.absent if label in (None, "", "_") else label for label in found]

    def there(self, sentence: Sentence) -> list[bool]:
        """Whether each word has the key in FEATS or MISC, with any value."""
        column: Sequence[str] = getattr(sentence, self.name) or ["_"] * len(sentence)
        return [self.part in _values(cell) for cell in column]

    def write(self, sentence: Sentence, labels: Sequence[str | None]) -> Sentence:
        """The sentence with other labels; the label :attr:`absent`, or :obj:`None`, is not written."""
        for label in labels:
            lost = (label == "_" and self.absent != "_") or (self.part and "|" in (label or ""))
            if lost:
                raise ValueError(f"'key' {self.key!r}: no label can be {label!r}: _ is none, | ends a label")
        cells = ["_" if label is None or label == self.absent else label for label in labels]
        if self.part:
            old: Sequence[str] = getattr(sentence, self.name) or ["_"] * len(sentence)
            cells = [self._with(*pair) for pair in zip(old, cells)]
        changed: dict[str, Any] = {self.name: cells}
        return dataclasses.replace(sentence, **changed)

    def classes(self, sentences: Sequence[Sentence]) -> tuple[str, ...]:
        """The distinct labels, sorted by name."""
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
        """The existing keys of the column, for the end of a message; for a column without keys those of FEATS
        and MISC.
        """
        if not self.part:
            found = [f"{name}:{key}" for name in reversed(LISTS) for key in _keys(name, sentences)]
            return f"; other labels are key=KEY (--set key=KEY), such as {_some(found)}" if found else ""
        known = _keys(self.name, sentences)
        if not known:
            return f": its column {self.name.upper()} has no key"
        keys = (f"{self.name}:{key}" for key in known)
        hint = did_you_mean(self.part, known) and did_you_mean(self.key, keys)
        return hint or f"; the keys of {self.name.upper()} are {_some(known)}"


def _keys(name: str, sentences: Sequence[Sentence]) -> list[str]:
    """The keys with a value in lists of ``Key=Value``, the most frequent first."""
    cells = (cell for sentence in sentences for cell in getattr(sentence, name) or ())
    counts = Counter(key for cell in cells for key, value in _values(cell).items() if value)
    return [key for key, _ in counts.most_common()]


def _some(names: Sequence[str]) -> str:
    others = f" and {len(names) - 20} others" if len(names) > 20 else ""
    return f"{', '.join(names[:20])}{others}"


def _values(cell: str) -> dict[str, str | None]:
    """The keys and values of a cell, the first of equal keys; a part without ``=`` has no value."""
    values: dict[str, str | None] = {}
    for part in cell.split("|") if cell != "_" else ():
        key, equals, value = part.partition("=")
        values.setdefault(key, value if equals else None)
    return values


def mark_column(key: str) -> Column:
    """The column with the key of marked words."""
    name, _, part = key.partition(":")
    if name not in LISTS or not part:
        keys = " or ".join(f"{known}:KEY" for known in LISTS)
        raise ValueError(f"'mark_key' must be {keys} (got {key!r})")
    return Column(key)


def marked_word(tree: Sentence, column: Column, place: str) -> int | None:
    """The index of the word with a key, or :obj:`None`."""
    marked = [word for word, there in enumerate(column.there(tree)) if there]
    if len(marked) > 1:
        words = ", ".join(tree.form[word] for word in marked)
        message = f"{len(marked)} words have {column.key!r}, but one may: repeat the sentence for each"
        raise ValueError(f"{place}: {message} (got {words})")
    return marked[0] if marked else None


@dataclass(frozen=True)
class LabelledWords:
    """The words of a sentence, and a label for each word or for some words.

    Args:
        words: The words.
        labels: A label for each word; a word with :obj:`None` is not scored.
        mark: Index of the marked word, such as the predicate of roles. (default: :obj:`None`)
        tree: The gold tree of the words. (default: :obj:`None`)
        group: Number of a group that is scored as correct if all of its examples are, such as the predicates
            of one sentence; :obj:`None` for a separate example. (default: :obj:`None`)
        place: ``FILE:LINE``, for messages. (default: ``""``)
        constituents: The gold constituents, if there is no tree. (default: :obj:`None`)

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
    constituents: Sequence[Constituent] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        size = len(self.words)
        if len(self.labels) != size:
            raise self.error(f"{len(self.labels)} labels for {size} words")
        check_tree_words(self.place, self.words, self.tree)
        if self.mark is not None and not 0 <= self.mark < size:
            raise self.error(f"the mark must be a number from 0 to {size - 1} (got {self.mark})")
        for label in self.labels:
            check_label(self.place, label)

    def __len__(self) -> int:
        return len(self.words)

    def cut(self, limit: WordLimit) -> LabelledWords:
        """The example, truncated to :obj:`limit` if necessary."""
        most, count = limit.max_words, len(self)
        if count <= most:
            return self
        if not limit.truncate:
            said = f"{count} words are more than max_words={most}"
            raise self.error(f"{said}: raise the limit, or set truncate")
        if (self.mark or 0) >= most:
            raise self.error(f"the marked word {self.mark} is beyond max_words={most}: raise the limit")
        tree = None if self.tree is None else truncate(self.tree, most)
        own = self.constituents
        changed: dict[str, Any] = {
            "words": self.words[:most],
            "labels": self.labels[:most],
            "tree": tree,
            "constituents": None if own is None else cut_constituents(own, 0, most),
        }
        return dataclasses.replace(self, **changed)

    def error(self, message: str) -> ValueError:
        """An error that begins with the place of the example."""
        return ValueError(f"{self.place}: {message}" if self.place else message)
