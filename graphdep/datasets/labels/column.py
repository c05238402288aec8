"""Labels of words in the columns of CoNLL-U."""

from __future__ import annotations

import dataclasses
import difflib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from graphdep.io.limits import check_name
from graphdep.sentence import Sentence

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

    Raises:
        ValueError: If there is no such column.
    """

    key: str
    absent: str | None = None

    def __post_init__(self) -> None:
        listed = self.name in LISTS and self.part
        if self.key not in COLUMNS and not listed:
            keys = ", ".join(f"{name}:KEY" for name in LISTS)
            raise ValueError(f"'key' must be one of {', '.join(COLUMNS)}, {keys} (got {self.key!r})")
        if self.absent is not None:
            check_name("absent", self.absent)
            if not self.absent.strip():
                raise ValueError(f"'absent' must be a label (got {self.absent!r})")

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
        """The sentence with other labels; a word with the label :attr:`absent`, or :obj:`None`, has none.

        Raises:
            ValueError: If a label is ``_``, which stands for none, or one for a key of a list has a ``|``.
        """
        if "_" in labels and self.absent != "_":
            raise ValueError(f"'key' {self.key!r} can hold no label '_', which stands for none")
        cells = ["_" if label is None or label == self.absent else label for label in labels]
        if self.part:
            old: Sequence[str] = getattr(sentence, self.name) or ["_"] * len(sentence)
            cells = [self._with(*pair) for pair in zip(old, cells)]
        changed: dict[str, Any] = {self.name: cells}
        return dataclasses.replace(sentence, **changed)

    def classes(self, sentences: Sequence[Sentence]) -> tuple[str, ...]:
        """The different labels by name.

        Raises:
            ValueError: If no word has one, all have the same, or one has a control character; the message has
                the keys that there are.
        """
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
        if "|" in value:
            raise ValueError(f"'key' {self.key!r} can hold no label with a '|' (got {value!r})")
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
    """The column that marks words.

    Raises:
        ValueError: If it is no key of FEATS or MISC.
    """
    name, _, part = key.partition(":")
    if name not in LISTS or not part:
        keys = " or ".join(f"{name}:KEY" for name in LISTS)
        raise ValueError(f"'mark_key' must be {keys} (got {key!r})")
    return Column(key)
