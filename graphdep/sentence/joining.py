"""Several sentences as one tree."""

from __future__ import annotations

import re
from collections.abc import Sequence

from graphdep.sentence.constituents import Constituent, shifted
from graphdep.sentence.sentence import Sentence
from graphdep.sentence.tree import Row, moved_copy, parse_deps

ROOTS = ("first", "all")
Deps = list[tuple[str, str]]


def join_sentences(sentences: Sequence[Sentence], *, roots: str = "first") -> Sentence:
    """One tree over the words of several: every later root depends on the first root as ``parataxis``, or
    with ``roots="all"`` stays a root, so that every word keeps its depth.

    It keeps a text one unit where the corpus says that it is one and the parser saw several sentences.
    Constituents stay those of the sentences, side by side. A single sentence is returned as it is.

    Raises:
        ValueError: If there is no sentence, or :obj:`roots` is unknown.
    """
    check_roots(roots)
    if not sentences:
        raise ValueError("'sentences' is empty: there is nothing to join")
    if len(sentences) == 1:
        return sentences[0]
    joined = _Joined(sentences[0].head.index(0) + 1 if roots == "first" else 0)
    for sentence in sentences:
        joined.add(sentence)
    return Sentence(
        joined.form,
        joined.head,
        joined.deprel,
        deps=joined.deps if any(s.deps is not None for s in sentences) else None,
        comments=[f"# text = {' '.join(s.text for s in sentences)}"],
        multiword=joined.multiword,
        empty=joined.empty,
        lemma=_column(sentences, "lemma"),
        upos=_column(sentences, "upos"),
        xpos=_column(sentences, "xpos"),
        feats=_column(sentences, "feats"),
        misc=_column(sentences, "misc"),
        multiroot=joined.head.count(0) > 1,
        constituents=joined.constituents if any(s.constituents is not None for s in sentences) else None,
    )


def check_roots(roots: str) -> None:
    """Raises :class:`ValueError` if no roots are called so."""
    if roots not in ROOTS:
        raise ValueError(f"'roots' must be 'first' or 'all' (got {roots!r})")


class _Joined:
    """The words so far; ``root`` is the ID of the only root, or 0 where all stay roots."""

    def __init__(self, root: int) -> None:
        self.root = root
        self.form: list[str] = []
        self.head: list[int] = []
        self.deprel: list[str] = []
        self.deps: list[Deps] = []
        self.multiword: list[Row] = []
        self.empty: list[Row] = []
        self.constituents: list[Constituent] = []

    def add(self, sentence: Sentence) -> None:
        start = len(self.form)
        self.form += sentence.form
        self.constituents += shifted(sentence.constituents or (), start)
        for head, deprel in zip(sentence.head, sentence.deprel):
            attached = head == 0 and self.root > 0 and len(self.head) + 1 != self.root
            self.head.append(self.root if attached else head + start * (head > 0))
            self.deprel.append("parataxis" if attached else deprel)
        basic = [[(str(head), deprel)] for head, deprel in zip(sentence.head, sentence.deprel)]
        self.deps += [self._moved(deps, start) for deps in sentence.deps or basic]
        self.multiword += [(_shift(row[0], start), *row[1:]) for row in sentence.multiword]
        self.empty += [self._moved_empty(row, start) for row in sentence.empty]

    def _moved(self, deps: Deps, start: int) -> Deps:
        if start == 0:
            return deps
        return [
            (str(self.root), "parataxis" if self.root else label)
            if head == "0"
            else (_shift(head, start), label)
            for head, label in deps
        ]

    def _moved_empty(self, row: Row, start: int) -> Row:
        misc = moved_copy(row[9], lambda word: _shift(word, start))
        moved = "|".join(f"{head}:{label}" for head, label in self._moved(parse_deps(row[8]), start))
        return (_shift(row[0], start), *row[1:8], moved or "_", misc)


def _shift(word: str, start: int) -> str:
    """``start`` added to the word numbers of an ID: ``3``, ``3-4``, ``3.1``."""
    return re.sub(r"(?<![.0-9])[0-9]+", lambda number: str(int(number[0]) + start), word)


def _column(sentences: Sequence[Sentence], name: str) -> list[str] | None:
    columns = [getattr(sentence, name) for sentence in sentences]
    if all(column is None for column in columns):
        return None
    return [value for s, column in zip(sentences, columns) for value in column or ["_"] * len(s)]
