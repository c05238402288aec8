"""Rows with marked spans."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from graphdep.datasets.base.raw import LIST, Form, check_forms
from graphdep.datasets.base.rows import (
    OBJECTS,
    TREE,
    TREE_COLUMNS,
    TextRow,
    are_texts,
    check_keys,
    check_label,
    check_tree_words,
    row_raw,
    row_words,
    taken,
)
from graphdep.io.files import each, placed
from graphdep.io.limits import MAX_WORDS, plural, shown
from graphdep.parsing.parser import WordLimit
from graphdep.sentence.intake import Intake
from graphdep.sentence.sentence import Sentence
from graphdep.sentence.tree import Raw, are_side_by_side

MAX_ARCS = 4
"""A path of more arcs is ``far``."""


def span_key(tree: Sentence, spans: Sequence[tuple[int, int]]) -> str:
    """The tree path from the first span to the second, of at most four arcs, or the top word of a single
    span.

    A span is represented by its top word, the first of those nearest to the root. A path is a sequence of
    arcs, ``<label`` up to the governor and ``>label`` down to a dependent: ``<nsubj>obj`` leads from the
    subject of a verb to its object. A longer path, or one between two trees, is ``far``; a path to the same
    word is empty. It has no words, so it depends on the tree only.

    Args:
        tree: The tree.
        spans: One or two spans, start and end as word indices.

    Example:
        >>> from graphdep import Sentence
        >>> from graphdep.datasets.spans.rows import span_key
        >>> tree = Sentence(["A", "storm", "caused", "it"], [2, 3, 0, 3], ["det", "nsubj", "root", "obj"])
        >>> span_key(tree, [(0, 2), (3, 4)]), span_key(tree, [(3, 4), (0, 2)]), span_key(tree, [(0, 2)])
        ('<nsubj>obj', '<obj>nsubj', 'storm')
    """
    head = [governor - 1 for governor in tree.head]
    tops = [_top(head, range(*span)) for span in spans]
    if len(tops) == 1:
        return tree.form[tops[0]]
    first, second = (_upwards(head, top) for top in tops)
    above = set(second)
    shared = next((word for word in first if word in above), None)
    if shared is None:
        return "far"
    up, down = first[: first.index(shared)], second[: second.index(shared)]
    if len(up) + len(down) > MAX_ARCS:
        return "far"
    arcs = [f"<{tree.deprel[word]}" for word in up] + [f">{tree.deprel[word]}" for word in reversed(down)]
    return "".join(arcs)


def _top(head: Sequence[int], words: Sequence[int]) -> int:
    return min(words, key=lambda word: len(_upwards(head, word)))


def _upwards(head: Sequence[int], word: int) -> list[int]:
    """A word and its ancestors, up to the root."""
    found = []
    while word >= 0:
        found.append(word)
        word = head[word]
    return found


NONE = "none"
"""CoNLL04's class of two entities without relation."""
RELATIONS = (
    "Cause-Effect",
    "Component-Whole",
    "Content-Container",
    "Entity-Destination",
    "Entity-Origin",
    "Instrument-Agency",
    "Member-Collection",
    "Message-Topic",
    "Product-Producer",
)
OTHER = "Other"
LABELS = (*(f"{name}({ends})" for name in RELATIONS for ends in ("e1,e2", "e2,e1")), OTHER)
UNDIRECTED = (*RELATIONS, OTHER)


MAX_SPANS = 2
Range = tuple[int, int]


@dataclass(frozen=True)
class SpanExample:
    """The words of one or more sentences, one or two marked spans, and a label.

    Args:
        words: The words; for an unparsed text those between white space.
        spans: One or two spans, start and end as word indices, or as character offsets for a text. Their
            order matters, since the label may be directed; they may overlap.
        label: The label. (default: :obj:`None`)
        tree: The gold tree of the words; for several sentences with several roots. (default: :obj:`None`)
        place: ``FILE:LINE``, for messages. (default: ``""``)
        number: The number of the example in the corpus. (default: :obj:`None`)
        lengths: The number of words of each sentence; empty for one sentence. (default: empty)
        text: The text, if the parser makes the words. (default: :obj:`None`)

    Example:
        >>> from graphdep.datasets.spans.rows import SpanExample
        >>> SpanExample(["Smoking", "causes", "cancer"], [(0, 1), (2, 3)], "Cause-Effect").tagged
        '<e1>Smoking</e1> causes <e2>cancer</e2>'
    """

    words: Sequence[str]
    spans: Sequence[Range]
    label: str | None = None
    tree: Sentence | None = None
    place: str = ""
    number: int | None = None
    lengths: Sequence[int] = ()
    text: str | None = None

    @classmethod
    def of_text(
        cls,
        text: str,
        spans: Sequence[Range],
        label: str | None = None,
        *,
        place: str = "",
        number: int | None = None,
    ) -> SpanExample:
        """An example of a text, with spans as character offsets."""
        return cls(text.split(), spans, label, place=place, number=number, text=text)

    def __post_init__(self) -> None:
        with placed(self.place):
            if self.text is None:
                check_spans(self.spans, len(self.words), "word")
            else:
                check_ranges(self.spans, self.text)
        check_tree_words(self.place, self.words, self.tree)
        check_label(self.place, self.label)

    def __len__(self) -> int:
        return len(self.words)

    @property
    def sentences(self) -> list[Sequence[str]]:
        """The words of each sentence."""
        ends = [*accumulate(self.lengths, initial=0)] if self.lengths else [0, len(self)]
        return [self.words[start:stop] for start, stop in pairwise(ends)]

    @property
    def tagged(self) -> str:
        """The text with tags around the spans, for :func:`read_tags`; tags of overlapping spans overlap."""
        starts = [*accumulate((len(word) + 1 for word in self.words), initial=0)]
        text = " ".join(self.words) if self.text is None else self.text
        tags = []
        for number, (start, stop) in enumerate(self.spans, 1):
            ends = (start, stop) if self.text is not None else (starts[start], starts[stop] - 1)
            tags += [(ends[0], f"<e{number}>"), (ends[1], f"</e{number}>")]
        for place, tag in sorted(tags, reverse=True):
            text = text[:place] + tag + text[place:]
        return " ".join(text.split())

    def error(self, message: str) -> ValueError:
        """An error that begins with the place of the example."""
        return ValueError(f"{self.place}: {message}" if self.place else message)


def wrong_spans(spans: Sequence[Any], size: int, what: str) -> str:
    """The error of spans in a text of the given size, or an empty text."""
    if not 1 <= len(spans) <= MAX_SPANS:
        return f"an example has one or two spans (got {len(spans)})"
    for number, span in enumerate(spans, 1):
        ends = list(span) if isinstance(span, Sequence) and not isinstance(span, str) else [span]
        if len(ends) != 2 or any(isinstance(end, bool) or not isinstance(end, int) for end in ends):
            return f"span {number} must be two whole numbers (got {shown(span)})"
        start, stop = ends
        if start >= stop:
            return f"span {number} is empty: its end must be after its start (got {ends})"
        if start < 0 or stop > size:
            return f"span {number} reaches beyond the {plural(size, what)} (got {ends})"
    return ""


def check_spans(spans: Sequence[Any], size: int, what: str) -> None:
    """Raises :class:`ValueError` if spans are wrong for a text of the given size."""
    wrong = wrong_spans(spans, size, what)
    if wrong:
        raise ValueError(wrong)


def check_ranges(spans: Sequence[Any], text: str) -> None:
    """Raises :class:`ValueError` if character spans are wrong for a text, or one has only white space."""
    check_spans(spans, len(text), "character")
    for number, span in enumerate(spans, 1):
        if not (inside := text[slice(*span)]).strip():
            raise ValueError(f"span {number} has no word (got {inside!r})")


def marks_of(spans: Sequence[Range], size: int) -> list[int]:
    """The mark of each word: 1 in the first span, 2 in the second, 3 in both, else 0."""
    marks = [0] * size
    for number, (start, stop) in enumerate(spans):
        for word in range(start, stop):
            marks[word] += 1 << number
    return marks


EXAMPLE_ROWS = (
    'a row is {"words": ["Rain", "makes", "mud"], "spans": [[0, 1], [2, 3]], "label": "cause"} or '
    '{"text": "<e1>Rain</e1> makes <e2>mud</e2>.", "label": "cause"}'
)
"""Examples of rows, for messages."""
# Also misspelled ones, and those of HTML.
_TAG = re.compile(r"(?:<|&lt;)\s*(/?)\s*e\s*([0-9]{1,3})\s*/?\s*(?:>|&gt;)", re.IGNORECASE)


def read_tags(text: str) -> tuple[str, list[Range]]:
    """A text without its tags ``<e1>...</e1>`` and ``<e2>...</e2>``, and the character spans in the tags."""
    plain, last = "", 0
    ends: dict[str, int] = {}
    for tag in _TAG.finditer(text):
        plain += text[last : tag.start()]
        last = tag.end()
        if tag[0] != (name := f"<{tag[1]}e{tag[2]}>"):
            escaped = "is escaped: it " if "&" in tag[0] else ""
            raise ValueError(f"the tag {tag[0]!r} {escaped}must be {name}")
        wrong = "is there twice" if tag[0] in ends else "closes what is not open"
        right = tag[0] not in ends and (not tag[1] or f"<e{tag[2]}>" in ends)
        if not right:
            raise ValueError(f"the tag {tag[0]} {wrong}")
        ends[tag[0]] = len(plain)
    plain += text[last:]
    opened = sorted(name for name in ends if "/" not in name)
    closed = [name.replace("<", "</") for name in opened]
    for start, end in zip(opened, closed):
        if end not in ends:
            raise ValueError(f"the tag {start} is not closed by {end}")
        if not plain[ends[start] : ends[end]].strip():
            raise ValueError(f"no word between {start} and {end}")
    if opened not in (["<e1>"], ["<e1>", "<e2>"]):
        wrong = "no tag <e1> in the text" if "<e1>" not in opened else "a tag other than <e1> and <e2>"
        raise ValueError(f"{wrong} (got {', '.join(ends) or 'none'})")
    return plain, [(ends[first], ends[last]) for first, last in zip(opened, closed)]


def span_rows(
    rows: Sequence[TextRow],
    text_column: str,
    label_column: str | None = None,
    max_words: int | None = MAX_WORDS,
    *,
    intake: Intake,
) -> list[SpanExample]:
    """The examples of rows, in the layouts of :class:`~graphdep.datasets.OwnSpans`.

    Args:
        rows: The rows.
        text_column: Name of the column of texts.
        label_column: Name of the column of labels; :obj:`None` reads no labels. (default: :obj:`None`)
        max_words: The largest number of words of a sentence; :obj:`None` for no limit.
            (default: :obj:`10_000`)
        intake: Converts and repairs the trees.
    """
    found = each(lambda row: _span_row(row, text_column, label_column, max_words), rows)
    trees, stay = taken([raw for _, raw in found], intake)
    return [
        one if tree is None else dataclasses.replace(one, tree=tree)
        for (one, _), tree, stays in zip(found, trees, stay)
        if stays
    ]


def _several_trees(raw: Raw | None) -> Raw | None:
    """Several roots are allowed if each governs the words of one sentence."""
    if raw is None or raw.columns["head"].count(0) < 2 or not are_side_by_side(raw.columns["head"]):
        return raw
    return raw._replace(columns={**raw.columns, "multiroot": True})


def is_lines(path: Path) -> bool:
    """Whether a file has objects instead of cells."""
    return path.suffix.lower() in OBJECTS


def _span_row(
    row: TextRow, text_column: str, label_column: str | None, max_words: int | None
) -> tuple[SpanExample, Raw | None]:
    """The example of a row, and its own tree."""
    if is_lines(row.path):
        check_keys(
            row,
            [*_WORDS, text_column, "spans", *([label_column] if label_column else []), *TREE_COLUMNS],
            ["label", "sentence"],
        )
        label = None if label_column is None else row.values[label_column]
        example = _of_object(row, text_column, label, max_words)
        return example, _several_trees(row_raw(row, list(example.words)))
    label = None if label_column is None else row.label(label_column)
    return _of_tags(row, text_column, label, max_words), None


def _of_tags(row: TextRow, text_column: str, label: Any, max_words: int | None) -> SpanExample:
    text = row.text(text_column)
    with placed(row.place, value=text):
        plain, ranges = read_tags(text)
    check_forms(row.place, {text_column: plain}, {text_column: _text_form(max_words)})
    return SpanExample.of_text(plain, ranges, label, place=row.place)


def _of_object(row: TextRow, text_column: str, label: Any, max_words: int | None) -> SpanExample:
    has = [name for name in (*_WORDS, text_column) if row.values.get(name) is not None]
    own = [name for name in (*TREE, "edges") if row.values.get(name) is not None]
    takes = {"words": own, "sentences": ["edges"]}
    if len(has) != 1 or not {*own} <= {*takes.get(has[0], ())}:
        there = " and ".join(map(repr, [*has, *own])) or "neither"
        raise row.error(
            f"'words', 'sentences' or {text_column!r} must be there, 'head' and 'deprel' with 'words', "
            f"'edges' without {text_column!r} (got {there})"
        )
    if "spans" not in row.values:
        if not _TAG.search(row.text(text_column)):
            raise row.error(f"no 'spans', and no <e1>...</e1> in {text_column!r}; {EXAMPLE_ROWS}")
        return _of_tags(row, text_column, label, max_words)
    spans = row.value("spans", LIST)
    if has == ["words"]:
        words = row_words(row, max_words)
        return SpanExample(words, spans, label, place=row.place)
    if has == ["sentences"]:
        sentences = row.value("sentences", _sentences_form(max_words))
        words = [word for sentence in sentences for word in sentence]
        return SpanExample(words, spans, label, place=row.place, lengths=[*map(len, sentences)])
    # White space at the ends is kept, since spans count it.
    text = row.value(text_column, _text_form(max_words))
    with placed("", value=text):
        return SpanExample.of_text(text, spans, label, place=row.place)


_WORDS = ("words", "sentences")


def _sentences_form(max_words: int | None) -> Form:
    most = math.inf if max_words is None else max_words
    limit = "" if max_words is None else f", of {max_words} words at most"

    def holds(sentences: Any) -> bool:
        listed = isinstance(sentences, list) and sentences != []
        return listed and all(map(are_texts, sentences)) and sum(map(len, sentences)) <= most

    return Form(f"a list of lists of words, none of them blank{limit}", holds)


def _text_form(max_words: int | None) -> Form:
    limit = None if max_words is None else WordLimit(max_words)
    what = "a text with at least one word" if max_words is None else f"a text of 1 to {max_words} words"

    def holds(text: Any) -> bool:
        return isinstance(text, str) and text.strip() != "" and (limit is None or limit.holds(text))

    return Form(what, holds)
