"""Maps marked spans of texts to the words of a parser."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from graphdep.datasets.spans.rows import Range, SpanExample, marks_of
from graphdep.io.limits import plural
from graphdep.parsing.parser import Parser, WordLimit
from graphdep.sentence.intake import needs_tree, with_tree
from graphdep.sentence.sentence import Sentence, join_sentences, split_words, truncate


class MarkedTree(NamedTuple):
    """The tree of an example, and its spans.

    Args:
        tree: The tree; for several sentences with several roots.
        spans: Spans of words. A truncated span is after the last word of the tree.
        cut: Number of words that are split at the border of a span. (default: :obj:`0`)
    """

    tree: Sentence
    spans: Sequence[Range]
    cut: int = 0

    @property
    def marks(self) -> list[int]:
        """The mark of each word (:func:`~graphdep.datasets.spans.rows.marks_of`)."""
        return marks_of(self.spans, max(len(self.tree), *(stop for _, stop in self.spans)))


@dataclass(frozen=True)
class ParsedSpans:
    """Examples with their trees.

    Args:
        marked: One tree per example.
        parsed: Number of parsed examples.
        failures: Number of chain trees instead of parses.
        unlike: Number of texts that are split at white space.
    """

    marked: list[MarkedTree]
    parsed: int
    failures: int
    unlike: int

    def notes(self, advice: str = "") -> list[str]:
        """Notes about sentences, with advice for examples of several, and words."""
        several = sum(tree.head.count(0) > 1 for tree, *_ in self.marked)
        cut = sum(one.cut for one in self.marked)
        many = f"of {plural(len(self.marked), 'example')}"
        return [
            *([f"{several} {many} with several sentences{advice}"] if several else []),
            *([f"{plural(cut, 'word')} of the parser cut at the border of a span"] if cut else []),
            *([f"{self.unlike} {many} cut at white space: the parser's words differ"] if self.unlike else []),
        ]


def parse_examples(
    examples: Sequence[SpanExample], parser: Parser | None, max_words: int | None = None
) -> ParsedSpans:
    """The tree of each example, its own or the parser's, which parses all texts together.

    The words of a text are those of the parser, with a tree for each sentence. A word is split at the border
    of a span (:func:`~graphdep.sentence.sentence.split_words`), but a letter is not separated from its
    combining marks and joiners, which all belong to the span. If the parser's words do not spell the text, or
    a border is inside a multiword token that its words do not spell, the text is split at white space and
    borders and parsed as one sentence.

    Args:
        examples: The examples.
        parser: The parser; :obj:`None` if all examples have trees.
        max_words: The largest number of words; :obj:`None` for all. (default: :obj:`None`)

    Example:
        >>> from graphdep.datasets.spans.rows import SpanExample
        >>> from graphdep.datasets.spans.texts import parse_examples
        >>> from graphdep.parsing import resolve_parser
        >>> example = SpanExample.of_text("Dr. Ann's dog barks. It bites.", [(4, 7), (21, 23)])
        >>> [marked] = parse_examples([example], resolve_parser("bundled")).marked
        >>> marked.tree.form, marked.spans, marked.tree.head.count(0)
        (['Dr.', 'Ann', "'s", 'dog', 'barks', '.', 'It', 'bites', '.'], [(1, 2), (6, 7)], 2)
    """
    made = {
        number: MarkedTree(truncate(example.tree, max_words or len(example)), example.spans)
        for number, example in enumerate(examples)
        if example.tree is not None and not needs_tree(example.tree)
    }
    parsed = len(examples) - len(made)
    if parser is None or not parsed:
        return ParsedSpans([made[number] for number in range(len(examples))], 0, 0, 0)
    before = parser.failures
    texts = {
        number: _start(example.text, max_words)
        for number, example in enumerate(examples)
        if number not in made and example.text is not None
    }
    for (number, text), sentences in zip(texts.items(), parser.parse([*texts.values()])):
        if marked := _in_words(text, sentences, _whole_letters(text, examples[number].spans)):
            made[number] = marked
    given: dict[int, tuple[list[list[str]], Sequence[Range]]] = {}
    for number, example in enumerate(examples):
        if number in texts and number not in made:
            text = texts[number]
            words, spans = _at_white_space(text, _whole_letters(text, example.spans))
            given[number] = [words], spans
        elif number not in made:
            given[number] = first_words(example.sentences, max_words or len(example)), example.spans
    trees = iter(parser.parse_words([words for lists, _ in given.values() for words in lists]))
    for number, (lists, ranges) in given.items():
        tree = join_sentences([next(trees) for _ in lists], roots="all")
        own = examples[number].tree
        made[number] = MarkedTree(with_tree(own and truncate(own, len(tree)), tree), ranges)
    if max_words is not None:  # a parse may have more words than its text counts
        made = {number: one._replace(tree=truncate(one.tree, max_words)) for number, one in made.items()}
    marked_trees = [made[number] for number in range(len(examples))]
    return ParsedSpans(marked_trees, parsed, parser.failures - before, len(given.keys() & texts.keys()))


def _start(text: str, max_words: int | None) -> str:
    return text if max_words is None else WordLimit(max_words, truncate=True).text(text, "")


def first_words(sentences: Sequence[Sequence[str]], max_words: int) -> list[list[str]]:
    """The first words of several sentences, up to a limit."""
    first = []
    for words in sentences:
        first.append(list(words[:max_words]))
        max_words -= len(words)
        if max_words <= 0:
            break
    return first


def _in_words(text: str, sentences: Sequence[Sentence], ranges: Sequence[Range]) -> MarkedTree | None:
    """The parse of a text with spans of words; :obj:`None` if the words do not spell the text."""
    tree = join_sentences(sentences, roots="all") if sentences else None
    places = None if tree is None else word_places(text, tree)
    if tree is None or places is None:
        return None
    parts = [_parts(text, place, ranges) for place in places]
    shared = {place for place, following in pairwise(places) if place == following}
    if any(len(own) > 1 and place in shared for place, own in zip(places, parts)):
        return None
    forms = [
        [_form(text, part) for part in own] if len(own) > 1 else [form] for form, own in zip(tree.form, parts)
    ]
    spans = _words_in([part for own in parts for part in own], ranges)
    cut = sum(len(own) > 1 for own in parts)
    return MarkedTree(split_words(tree, forms) if cut else tree, spans, cut)


def _at_white_space(text: str, ranges: Sequence[Range]) -> tuple[list[str], list[Range]]:
    parts = _parts(text, (0, len(text)), ranges)
    places = [
        (start + match.start(), start + match.end())
        for start, stop in parts
        for match in _SEEN.finditer(text[start:stop])
    ]
    return [text[start:stop] for start, stop in places], _words_in(places, ranges)


_SEEN = re.compile(r"\S+")


def word_places(text: str, sentence: Sentence) -> list[Range] | None:
    """Start and end of each word in a text; :obj:`None` if the words do not spell the text.

    White space is ignored. The words of a multiword token have the token's place, unless they spell it.

    Example:
        >>> from graphdep import Sentence
        >>> from graphdep.datasets.spans.texts import word_places
        >>> word_places("She  sings.", Sentence.chain(["She", "sings", "."]))
        [(0, 3), (5, 10), (10, 11)]
        >>> word_places("She sings.", Sentence.chain(["She", "sang", "."])) is None
        True
    """
    seen = [number for number, sign in enumerate(text) if not sign.isspace()]
    signs = "".join(text[number] for number in seen)
    places: list[Range] = []
    at = 0
    for token, words in _tokens(sentence):
        spelled = "".join(token.split())
        if not spelled or not signs.startswith(spelled, at):
            return None
        places += [(seen[at], seen[at + len(spelled) - 1] + 1)] * words
        at += len(spelled)
    return places if at == len(signs) else None


def _tokens(sentence: Sentence) -> Iterator[tuple[str, int]]:
    """The tokens and their numbers of words; a multiword token that its words spell is split into these."""
    ranges = {}
    for row in sentence.multiword:
        first, last = map(int, row[0].split("-"))
        if "".join(sentence.form[first - 1 : last]) != row[1]:
            ranges[first] = (row[1], last - first + 1)
    word = 1
    while word <= len(sentence):
        token, words = ranges.get(word, (sentence.form[word - 1], 1))
        yield token, words
        word += words


def _parts(text: str, place: Range, ranges: Sequence[Range]) -> list[Range]:
    """A place split at the borders of spans, without parts of white space."""
    start, stop = place
    borders = sorted({end for span in ranges for end in span if start < end < stop})
    return [part for part in pairwise([start, *borders, stop]) if text[slice(*part)].strip()]


_JOINERS = "\u200c\u200d"


def _whole_letters(text: str, ranges: Sequence[Range]) -> list[Range]:
    """Ranges extended to whole letters, with combining marks and joiners."""

    def within(end: int) -> bool:
        if not 0 < end < len(text) or text[end - 1].isspace():
            return False
        joined = text[end - 1] == _JOINERS[1] or text[end] in _JOINERS
        return joined or unicodedata.category(text[end]).startswith("M")

    whole = []
    for start, stop in ranges:
        while within(start):
            start -= 1
        while within(stop):
            stop += 1
        whole.append((start, stop))
    return whole


def _form(text: str, part: Range) -> str:
    return " ".join(text[slice(*part)].split())


def _words_in(places: Sequence[Range], ranges: Sequence[Range]) -> list[Range]:
    """Spans of words for spans of characters; a truncated span is after the last word."""
    spans = []
    for start, stop in ranges:
        inside = [word for word, place in enumerate(places) if start <= place[0] and place[1] <= stop]
        first, last = (inside[0], inside[-1]) if inside else (len(places), len(places))
        spans.append((first, last + 1))
    return spans
