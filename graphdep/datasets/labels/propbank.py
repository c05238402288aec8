"""PropBank on EWT, and Universal PropBank."""

from __future__ import annotations

import itertools
import logging
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Unpack

from graphdep.datasets.base.drawn import DrawnVal
from graphdep.datasets.base.parsed import Example
from graphdep.datasets.base.raw import (
    blocks,
    check_one,
    check_there,
    check_width,
    expect,
    read_lines,
    row_error,
    visible_files,
)
from graphdep.datasets.base.rows import drawn_part
from graphdep.datasets.base.words import WordOptions
from graphdep.datasets.labels.base import LabelDataset
from graphdep.datasets.labels.bio import OUTSIDE, Span, with_insides
from graphdep.datasets.labels.roles import (
    PREDICATE,
    Row,
    bracketed_spans,
    marked_rows,
    outer_spans,
    role_labels,
)
from graphdep.datasets.labels.words import LabelledWords
from graphdep.io.files import home_path, place_error
from graphdep.io.limits import check_choice
from graphdep.io.trees import parse_conllu, parse_ptb, read_conllu
from graphdep.parsing.parser import Parser
from graphdep.sentence.conllu import COLUMNS as CONLLU_COLUMNS
from graphdep.sentence.sentence import Sentence


def span_head(tree: Sentence, start: int, end: int) -> int:
    """The word of a span that is nearest to the root, the first one of several.

    Its governor is outside of the span. In a span that is not a phrase of the tree this may hold for several
    words; the others are then lower or farther right.

    Args:
        tree: The tree.
        start: Index of the first word.
        end: Index after the last word.

    Example:
        >>> from graphdep import Sentence
        >>> from graphdep.datasets.labels.propbank import span_head
        >>> tree = Sentence(["The", "old", "man", "sings"], [3, 3, 4, 0], ["det", "amod", "nsubj", "root"])
        >>> span_head(tree, 0, 3)
        2
    """
    depth = tree.depth
    return min(range(start, end), key=depth.__getitem__)


COLUMNS = ("document", "sentence", "token", "word", "POS", "parse", "lemma", "roleset")
_SENTENCE, _TOKEN, _POS, _PARSE, _ROLESET = 1, 2, 4, 5, 7
_NONE = "-"


@dataclass(frozen=True)
class SkeletonPredicate:
    """A predicate of a sentence, and the spans of its column.

    Args:
        word: Index of the token whose row has the roleset.
        line: The line of that row.
        roleset: Its sense, such as ``"give.01"``.
        spans: Disjoint spans from left to right, including those of the predicate: ``V``, and ``C-V`` for a
            separate part of it.
    """

    word: int
    line: int
    roleset: str
    spans: tuple[Span, ...]


@dataclass(frozen=True)
class SkeletonSentence:
    """A sentence of a skeleton.

    Args:
        number: Its number in the document, from 0.
        line: Its first line.
        tags: The part-of-speech tag of each token.
        parse: The part of the bracketed constituents at each token, unchanged.
        predicates: The predicates in the order of their columns.
    """

    number: int
    line: int
    tags: tuple[str, ...]
    parse: tuple[str, ...]
    predicates: tuple[SkeletonPredicate, ...]

    def __len__(self) -> int:
        return len(self.tags)


def read_skeletons(path: Path) -> list[SkeletonSentence]:
    """The sentences of a ``.gold_skel`` file.

    Blank lines separate sentences, and white space separates columns. After the first eight columns there is
    one per predicate of the sentence; the n-th of these belongs to the n-th row with a roleset.
    """
    sentences: list[SkeletonSentence] = []
    last = -1
    for block in blocks(read_lines(path)):
        rows = [(line, text.split()) for line, text in block]
        check_width(path, rows, len(rows[0][1]), len(COLUMNS))
        line, first = rows[0]
        for token, (at, row) in enumerate(rows):
            numbers = (row[_SENTENCE], row[_TOKEN])
            right = numbers == (first[_SENTENCE], str(token)) and first[_SENTENCE].isdecimal()
            message = f"sentence and token must be numbers, here {first[_SENTENCE]} and {token}"
            expect(right, path, at, message, " ".join(numbers))
        number = int(first[_SENTENCE])
        message = f"the sentence's number must be above {last}, that of the one before"
        expect(number > last, path, line, message, first[_SENTENCE])
        last = number
        tags, parse = (tuple(row[column] for _, row in rows) for column in (_POS, _PARSE))
        sentences.append(SkeletonSentence(number, line, tags, parse, _predicates(path, rows)))
    return sentences


def _predicates(path: Path, rows: list[Row]) -> tuple[SkeletonPredicate, ...]:
    columns = range(len(COLUMNS), len(rows[0][1]))
    return tuple(
        SkeletonPredicate(*predicate, _spans(path, rows, column))
        for predicate, column in zip(marked_rows(path, rows, _ROLESET, (_NONE,), len(columns)), columns)
    )


def _spans(path: Path, rows: list[Row], column: int) -> tuple[Span, ...]:
    """The spans of a column, including those of the predicate; raises if they are nested."""
    spans = bracketed_spans(path, rows, column)
    outer = outer_spans(spans)
    if inner := [span for span in spans if span not in outer]:
        start, _, label = inner[0]
        message = f"column {column + 1} has a span {label} inside of another one"
        raise row_error(path, rows[start][0], message, rows[start][1][column])
    what = f"column {column + 1} has no span V, which is the predicate"
    expect(any(label == "V" for *_, label in spans), path, rows[0][0], what)
    return tuple(spans)


SKELETON, TREEBANK = ".gold_skel", ".conllu"
_SENT_ID = re.compile(r"(?P<genre>[^-]+)-(?P<document>.+)-(?P<number>[0-9]{1,9})")


@dataclass(frozen=True)
class EWTSentence:
    """A sentence with a skeleton.

    Args:
        tree: Words and tree.
        skeleton: Predicates and arguments, with the same number of tokens.
        path: The file of the skeleton.
    """

    tree: Sentence
    skeleton: SkeletonSentence
    path: Path

    @cached_property
    def bracketed(self) -> Sentence:
        """The tree with the constituents of the skeleton, whose brackets are filled with the words."""
        words = (form.replace("(", "-LRB-").replace(")", "-RRB-") for form in self.tree.form)
        pieces = zip(self.skeleton.parse, self.skeleton.tags, words)
        text = " ".join(piece.replace("*", f" ({tag} {word}) ") for piece, tag, word in pieces)
        place = f"{self.path}:{self.skeleton.line}"
        return parse_ptb(text, name=place, sentences=[self.tree])[0]


@dataclass
class LeftOut:
    """Sentences without a skeleton of the same number of tokens, and skeletons without a sentence.

    Args:
        names: One line per sentence: its ``sent_id``, and the reason.
        predicates: Number of predicates in these sentences.
    """

    names: list[str] = field(default_factory=list)
    predicates: int = 0

    def add(self, name: str, words: int | None, skeleton: SkeletonSentence | None) -> None:
        """Adds a sentence with its number of words, and its skeleton if there is one."""
        treebank = "not in the treebank" if words is None else f"{words} words"
        tokens = "no skeleton" if skeleton is None else f"{len(skeleton)} tokens in the skeleton"
        self.names.append(f"{name} ({treebank}, {tokens})")
        self.predicates += 0 if skeleton is None else len(skeleton.predicates)


def read_ewt(treebank: Sequence[Path], skeletons: Sequence[Path]) -> tuple[list[EWTSentence], LeftOut]:
    """The sentences of treebank files with a skeleton of the same number of tokens, in order, and those that
    are left out.

    ``sent_id`` ``GENRE-DOCUMENT-NUMBER``, counted from 1, is sentence ``NUMBER - 1`` of
    ``DOCUMENT.xml.gold_skel``. Only documents of the treebank files are read.
    """
    path_of = {path.name.removesuffix(SKELETON).removesuffix(".xml"): path for path in skeletons}
    documents: dict[str, dict[int, SkeletonSentence]] = {}
    genres: dict[str, str] = {}
    found, left_out = [], LeftOut()
    for name, genre, document, number, tree in _named(treebank):
        if document not in documents:
            path = path_of.get(document)
            some = read_skeletons(path) if path else []
            documents[document], genres[document] = {one.number: one for one in some}, genre
        skeleton = documents[document].pop(number - 1, None)
        if skeleton is None or len(skeleton) != len(tree):
            left_out.add(name, len(tree), skeleton)
        else:
            found.append(EWTSentence(tree, skeleton, path_of[document]))
    for document, rest in documents.items():
        for number, skeleton in rest.items():
            left_out.add(f"{genres[document]}-{document}-{number + 1:04}", None, skeleton)
    return found, left_out


def _named(treebank: Sequence[Path]) -> Iterator[tuple[str, str, str, int, Sentence]]:
    """The sentences with the three parts of their ``sent_id``."""
    first: dict[str, str] = {}
    for path in treebank:
        for number, tree in enumerate(read_conllu(path), start=1):
            place, name = f"{path}: sentence {number}", _sent_id(tree)
            parts = _SENT_ID.fullmatch(name)
            if parts is None or int(parts["number"]) == 0 or name in first:
                other = f"; {first[name]} has it, too" if name in first else ""
                raise place_error(place, f"sent_id must be GENRE-DOCUMENT-NUMBER, at least 1{other}", name)
            first[name] = place
            yield name, parts["genre"], parts["document"], int(parts["number"]), tree


def _sent_id(tree: Sentence) -> str:
    for comment in tree.comments:
        key, _, value = comment.lstrip("#").partition("=")
        if key.strip() == "sent_id":
            return value.strip()
    return ""


logger = logging.getLogger("graphdep.datasets")

FORMS = ("heads", "spans")
_FEW = 3


class PropBankEWT(LabelDataset):
    r"""The roles of `"PropBank: Semantics of New Predicate Types" <https://aclanthology.org/L14-1011/>`_ in
    the sentences of the English Web Treebank, one example per predicate, which is the marked word.

    PropBank's release has skeletons without words; words, gold trees and splits are those of UD English EWT.
    Sentence ``NUMBER`` of a document in EWT is sentence ``NUMBER - 1`` in PropBank. A sentence without a
    skeleton of the same number of tokens is left out: :attr:`unmatched` names these sentences, and
    :meth:`describe` and a warning have their number.

    There are two forms of labels:

    ===========  =======================================================================================
    ``"heads"``  the label of an argument at its word nearest to the root of the gold tree, the first of
                 several (:func:`~graphdep.datasets.labels.propbank.span_head`); ``O`` at all others
    ``"spans"``  BIO: ``B-ARG0`` at the first word of an argument, ``I-ARG0`` at further words, ``O`` outside
    ===========  =======================================================================================

    Words of the predicate (PropBank's ``V`` and ``C-V``, such as *pick* and *up*, and the word with the
    roleset) have no label and are not scored, as in CoNLL-2005. All other labels are PropBank's, including
    parts (``C-ARG1``) and references (``R-ARG0``), and spans of a predicate do not overlap. Auxiliaries and
    light verbs (``take.LV``) are predicates, too.

    With any :obj:`parser`, form ``"heads"`` uses the heads of the gold trees.

    Args:
        root: Folder of the corpus. (default: ``"datasets/propbank-ewt"``)
        split: ``"train"``, ``"val"`` (the treebank's dev) or ``"test"``. (default: ``"train"``)
        parser: ``"gold"`` for the trees of the treebank; else a parser for its words, or the parser's name
            for :func:`graphdep.parsing.resolve_parser`. (default: ``"gold"``)
        form: ``"heads"`` or ``"spans"``. (default: ``"heads"``)
        ud_from: Local folder with the treebank, if it is not in :obj:`raw_from`; both folders are searched
            recursively. (default: :obj:`None`)
        options: Further options, see :class:`~graphdep.datasets.base.words.WordOptions`. :obj:`limit`
            selects predicates from the whole split.

    Shapes:
        - as of :class:`~graphdep.datasets.labels.base.LabelDataset`

    Raises:
        FileNotFoundError: If skeletons or treebank are missing; the message says where to get them.
        ValueError: If an option is wrong, or a file is duplicated or damaged, with file, line and value.

    Example:
        >>> from graphdep.datasets import PropBankEWT
        >>> dataset = PropBankEWT("datasets/propbank-ewt", form="heads")
        >>> dataset.labels, dataset[0].y.tolist(), dataset[0].mark.tolist()
        (('O', 'ARG0', 'ARG1', 'ARGM-NEG'), [1, 0, 3, -100, 2, 0], [0, 0, 0, 0, 1, 0, 0])
    """

    corpus = "PropBank on EWT"
    published = (
        "https://github.com/propbank/propbank-release (data/google/ewt/**/*.gold_skel), words and trees at "
        "https://github.com/UniversalDependencies/UD_English-EWT"
    )
    marks = True
    outside = OUTSIDE
    spread = True
    unmatched: tuple[str, ...]
    """The sentences of the split that are left out, with the reason."""

    def __init__(
        self,
        root: str | os.PathLike[str] = "datasets/propbank-ewt",
        split: str = "train",
        parser: str | Parser = "gold",
        *,
        form: str = "heads",
        ud_from: str | os.PathLike[str] | None = None,
        **options: Unpack[WordOptions],
    ) -> None:
        check_choice("form", form, FORMS)
        if ud_from is not None and options.get("raw_from") is None:
            raise ValueError(f"'ud_from' needs 'raw_from', the folder of skeletons (got {str(ud_from)!r})")
        self.form = form
        self.ud_from = None if ud_from is None else home_path(ud_from)
        self._left_out: dict[str, LeftOut] = {}
        super().__init__(root, split, parser, **options)

    def raw_files(self, folder: Path, split: str) -> list[Path]:
        treebank, skeletons = self._treebank(folder, split), _skeletons(folder)
        return [*treebank, *skeletons] if treebank and skeletons else []

    def raw_file_pattern(self, split: str) -> str:
        return f"en_ewt-ud-{'dev' if split == 'val' else split}*{TREEBANK}"

    def raw_file_name(self, split: str) -> str:
        folders = [folder for folder in (self.raw_from, Path(self.raw_dir)) if folder is not None]
        there = any(_skeletons(folder) for folder in folders)
        return self.raw_file_pattern(split) if there else f"*{SKELETON}"

    def raw_target(self, path: Path, split: str) -> Path:
        return Path(self.raw_dir, "propbank" if path.name.endswith(SKELETON) else "ud", path.name)

    def options(self) -> dict[str, Any]:
        return super().options() | {"form": self.form}

    def read(self, folder: Path, split: str) -> list[LabelledWords]:
        files = self.raw_files(folder, split)
        skeletons = [path for path in files if path.name.endswith(SKELETON)]
        treebank = [path for path in files if path.name.endswith(TREEBANK)]
        sentences, self._left_out[split] = read_ewt(treebank, skeletons)
        return [
            self._example(sentence, predicate)
            for sentence in sentences
            for predicate in sentence.skeleton.predicates
        ]

    def classes(self, train: Sequence[LabelledWords]) -> tuple[str, ...]:
        names = super().classes(train)
        return with_insides(names) if self.form == "spans" else names

    def notes(self, examples: list[Example]) -> dict[str, Any]:
        left_out = self._left_out[self.split]
        noted = {"unmatched": left_out.names, "unmatched_predicates": left_out.predicates}
        return super().notes(examples) | noted

    def restore(self, notes: dict[str, Any]) -> None:
        super().restore(notes)
        self.unmatched, self._unmatched_predicates = tuple(notes["unmatched"]), notes["unmatched_predicates"]
        if self.unmatched:
            rest = len(self.unmatched) - _FEW
            some = ", ".join(self.unmatched[:_FEW]) + (f" and {rest} others" if rest > 0 else "")
            logger.warning(
                "%s (%s): %d sentences with %d predicates are left out, as words and skeleton differ: %s",
                *(self.corpus, self.split, len(self.unmatched), self._unmatched_predicates, some),
            )

    def describe(self) -> dict[str, Any]:
        """As for every corpus of labelled words, with the numbers of sentences and predicates left out."""
        left_out = {
            "unmatched_sentences": len(self.unmatched),
            "unmatched_predicates": self._unmatched_predicates,
        }
        return super().describe() | left_out

    def _example(self, sentence: EWTSentence, predicate: SkeletonPredicate) -> LabelledWords:
        tree = sentence.bracketed if self.constituents and self._parser is None else sentence.tree
        place = f"{sentence.path}:{predicate.line}"
        labels = role_labels(predicate.spans, len(tree), predicate.word)
        if self.form == "heads":
            labels = [label and OUTSIDE for label in labels]
            for start, end, name in predicate.spans:
                if name not in PREDICATE:
                    labels[span_head(tree, start, end)] = name
        return LabelledWords(tree.form, labels, mark=predicate.word, tree=tree, place=place)

    def _treebank(self, folder: Path, split: str) -> list[Path]:
        source = self.ud_from if self.ud_from is not None and folder == self.raw_from else folder
        found = visible_files(source, f"**/{self.raw_file_pattern(split)}")
        if len({path.parent for path in found}) > 1:
            check_one(source, found, "treebanks", "name the folder of one of them")
        return found

    def _missing(self, split: str) -> str:
        return (
            f"{super()._missing(split)}. If the treebank is in another folder, pass that as "
            "ud_from=DIR besides (on the command line: --set ud_from=DIR)"
        )


def _skeletons(folder: Path) -> list[Path]:
    """The skeletons in a folder; in PropBank's whole release those of EWT."""
    found = visible_files(folder, f"**/*{SKELETON}")
    own = [path for path in found if "ewt" in path.relative_to(folder).parts] or found
    for name in dict.fromkeys(path.name for path in own):
        check_one(folder, [path for path in own if path.name == name], name, "name a folder with one of them")
    return own


NONE = ("_", "")
"""Cells without a value. Release 1.0 has empty cells in sentences without a predicate."""
HEADS = "UP:ARGHEADS"
_TREE, _SHORT = 10, 8
_ROLE = re.compile(r"(.+):([0-9]{1,9})")
"""Line number, columns."""


@dataclass(frozen=True)
class UPPredicate:
    """A predicate of a sentence.

    Args:
        word: Index of the word.
        line: Its line.
        roleset: Its sense, such as ``"give.01"``.
        labels: The role of each word of the sentence, ``"_"`` for none.
    """

    word: int
    line: int
    roleset: str
    labels: tuple[str, ...]


@dataclass(frozen=True)
class UPSentence:
    """A sentence with its predicates.

    Args:
        tree: Words and tree.
        predicates: The predicates from left to right.
        second_roles: Number of roles that are left out, as the word has another role of the same predicate.
    """

    tree: Sentence
    predicates: tuple[UPPredicate, ...]
    second_roles: int = 0

    @property
    def annotated(self) -> bool:
        """Whether it is annotated (no ``# propbank = no-up``)."""
        comments = (comment.lstrip("#").partition("=") for comment in self.tree.comments)
        return not any((key.strip(), value.strip()) == ("propbank", "no-up") for key, _, value in comments)


def read_up(path: Path) -> list[UPSentence]:
    """The sentences of a file, in one of three layouts, which are recognised by the columns.

    =====================  =================================================================================
    ten or more columns    CoNLL-U, the roleset, and a column of labels for each predicate of the sentence
    eight or more          CoNLL-U without DEPS and MISC, ``Y`` at predicates, the roleset, and the columns of
                           labels (the other languages of release 1.0)
    ``global.columns``     CoNLL-U Plus with columns ``UP:PRED`` and ``UP:ARGHEADS`` (release 2.0, merged with
                           its treebank), whose cells are ``LABEL:WORD|LABEL:WORD``; the first of two roles of
                           a word counts
    =====================  =================================================================================
    """
    rows = [(line, text.split("\t")) for line, text in read_lines(path)]
    names = _global_columns(path, rows)
    short = not names and _is_short(rows)
    kept = _SHORT if short else _TREE
    tree_rows = ("\t".join(_tree_row(row, kept)) for _, row in rows)
    trees = parse_conllu("\n".join(tree_rows), name=str(path))
    blocks = [list(block) for filled, block in itertools.groupby(rows, key=_is_filled) if filled]
    words = [[row for row in block if row[1][0].isdecimal()] for block in blocks]
    if names:
        found = [_listed(path, tree, block, names) for tree, block in zip(trees, words, strict=True)]
    else:
        roleset = _TREE - short
        found = [_columns(path, tree, block, roleset) for tree, block in zip(trees, words, strict=True)]
    return found


def _is_filled(row: Row) -> bool:
    return len(row[1]) > 1 or row[1][0].strip(" ") != ""


def _global_columns(path: Path, rows: Sequence[Row]) -> list[str]:
    """The names of the columns if they are in the first line."""
    line, row = rows[0]
    key, _, value = "\t".join(row).lstrip("#").partition("=")
    names = value.split() if row[0].startswith("#") and key.strip() == "global.columns" else []
    if names and [name.lower() for name in names[:_TREE]] != list(CONLLU_COLUMNS):
        raise row_error(
            path,
            line,
            "the columns of CoNLL-U must come first: merge the file with its treebank (UP's merge_ud_up.py)",
            value.strip(),
        )
    if names:
        check_there(path, line, names, ("UP:PRED", HEADS))
    return names


def _is_short(rows: Sequence[Row]) -> bool:
    """Whether the ninth column has ``Y`` at predicates instead of DEPS."""
    cells = {row[_SHORT] for _, row in rows if len(row) > _SHORT and not row[0].startswith("#")}
    return "Y" in cells and cells <= {"Y", "_"}


def _tree_row(row: list[str], kept: int) -> list[str]:
    """The columns of CoNLL-U; comments, blank lines and rows that are too short are unchanged."""
    if row[0].startswith("#") or len(row) < kept:
        return row
    return [*row[:kept], *["_"] * (_TREE - kept)]


def _columns(path: Path, tree: Sentence, rows: list[Row], roleset: int) -> UPSentence:
    width = len(rows[0][1])
    check_width(path, rows, width, roleset + 1)
    columns = range(roleset + 1, width)
    # Without a predicate there may be an empty column.
    if all(row[column] in NONE for _, row in rows for column in (roleset, *columns)):
        return UPSentence(tree, ())
    marked = marked_rows(path, rows, roleset, NONE, len(columns))
    predicates = (
        UPPredicate(*predicate, tuple(row[column] or "_" for _, row in rows))
        for predicate, column in zip(marked, columns)
    )
    return UPSentence(tree, tuple(predicates))


def _listed(path: Path, tree: Sentence, rows: list[Row], names: list[str]) -> UPSentence:
    predicates, second = [], 0
    for word, (line, row) in enumerate(rows):
        check_width(path, [(line, row)], len(names))
        roleset, cell = row[names.index("UP:PRED")], row[names.index(HEADS)]
        if roleset in NONE:
            expect(cell in NONE, path, line, "arguments of a word that is not a predicate", cell)
            continue
        labels = ["_"] * len(tree)
        for role in cell.split("|") if cell not in NONE else ():
            match = _ROLE.fullmatch(role)
            label, number = (match[1], int(match[2])) if match else ("", 0)
            if label in NONE or not 0 < number <= len(tree):
                raise row_error(path, line, f"{HEADS} must be LABEL:WORD of {len(tree)} words", role)
            if labels[number - 1] == "_":
                labels[number - 1] = label
            else:
                second += 1
        predicates.append(UPPredicate(word, line, roleset, tuple(labels)))
    return UPSentence(tree, tuple(predicates), second)


TRAIN_FROM = ("train", "dev")


@dataclass(frozen=True)
class _Counts:
    """Counts of sentences and roles that are in no example."""

    unannotated_sentences: int
    second_roles: int


class UniversalPropBank(LabelDataset):
    r"""The roles of `"Universal Proposition Bank 2.0" <https://aclanthology.org/2022.lrec-1.181/>`_ or of its
    first release, for one language, one example per predicate, which is the marked word.

    A split is the file ``<name>-up-<split>.conllu`` (or ``.conllup``) in the folder of a language, in a
    layout of :func:`~graphdep.datasets.labels.propbank.read_up`. Labels are those of the file, at the heads
    of arguments, and ``O`` at all other words. Words of the predicate (its row, ``V`` and ``C-V``) have no
    label and are not scored.

    If the training file, which is large, is missing, ``train_from="dev"`` draws the training and the
    validation split from the dev file; equal sentences are in the same split.

    Args:
        root: Folder of one language. (default: ``"datasets/universal-propbank"``)
        split: ``"train"``, ``"val"`` (the file's dev) or ``"test"``. (default: ``"train"``)
        parser: ``"gold"`` for the trees in the files; else a parser for their words, or the parser's name for
            :func:`graphdep.parsing.resolve_parser`. (default: ``"gold"``)
        train_from: ``"train"``, or ``"dev"`` to train on the dev file. (default: ``"train"``)
        val_fraction: With ``train_from="dev"``, the share of sentences that is drawn for validation.
            (default: :obj:`0.1`)
        seed: Seed of that draw. (default: :obj:`0`)
        options: Further options, see :class:`~graphdep.datasets.base.words.WordOptions`. :obj:`limit`
            selects predicates from the whole split.

    Shapes:
        - as of :class:`~graphdep.datasets.labels.base.LabelDataset`

    Raises:
        FileNotFoundError: If there is no file for the split; the message says where to get it.
        ValueError: If an option is wrong, the folder holds several languages, or a file is damaged, with
            file, line and value.

    Example:
        >>> from graphdep.datasets import UniversalPropBank
        >>> dataset = UniversalPropBank("datasets/universal-propbank", "test", train_from="dev")
        >>> dataset.labels, dataset[0].y.tolist(), dataset[0].mark.tolist()
        (('O', 'ARG0', 'ARG1', 'ARGM-NEG'), [1, 0, 3, -100, 2, 0], [0, 0, 0, 0, 1, 0, 0])
    """

    corpus = "Universal PropBank"
    published = (
        "https://universalpropositions.github.io, a folder for each language in the repositories of "
        "https://github.com/UniversalPropositions"
    )
    marks = True
    outside = OUTSIDE
    spread = True

    def __init__(
        self,
        root: str | os.PathLike[str] = "datasets/universal-propbank",
        split: str = "train",
        parser: str | Parser = "gold",
        *,
        train_from: str = "train",
        val_fraction: float = 0.1,
        seed: int = 0,
        **options: Unpack[WordOptions],
    ) -> None:
        check_choice("train_from", train_from, TRAIN_FROM)
        DrawnVal(val_fraction, seed)  # checks them
        self.train_from, self.val_fraction, self.seed = train_from, val_fraction, seed
        self._counts: dict[str, _Counts] = {}
        super().__init__(root, split, parser, **options)

    def raw_files(self, folder: Path, split: str) -> list[Path]:
        return visible_files(folder, self.raw_file_pattern(split), before="-up-")

    def raw_file_pattern(self, split: str) -> str:
        name = self.train_from if split == "train" else "dev" if split == "val" else split
        return f"*-up-{name}*.conllu*"

    def options(self) -> dict[str, Any]:
        drawn = [self.val_fraction, self.seed] if self.train_from == "dev" else None
        return super().options() | {"train_from": self.train_from, "val": drawn}

    def read(self, folder: Path, split: str) -> list[LabelledWords]:
        found = [(path, one) for path in self.raw_files(folder, split) for one in read_up(path)]
        if self.train_from == "dev" and split != "test":
            drawn = self._drawn(folder, split, [one for _, one in found if one.predicates])
            found = [
                (path, one) for path, one in found if (tuple(one.tree.form) in drawn) == (split == "val")
            ]
        self._counts[split] = _Counts(
            sum(not one.annotated for _, one in found), sum(one.second_roles for _, one in found)
        )
        return [_example(path, one.tree, predicate) for path, one in found for predicate in one.predicates]

    def notes(self, examples: list[Example]) -> dict[str, Any]:
        return super().notes(examples) | vars(self._counts[self.split])

    def restore(self, notes: dict[str, Any]) -> None:
        super().restore(notes)
        self._left_out = _Counts(notes["unannotated_sentences"], notes["second_roles"])
        if self._left_out.second_roles:
            logger.warning(
                "%s (%s): %d roles are left out, as their words have another one of the same predicate",
                *(self.corpus, self.split, self._left_out.second_roles),
            )

    def describe(self) -> dict[str, Any]:
        """As for every corpus of labelled words, with the numbers of sentences without annotation, which have
        no example, and of roles that are left out.
        """
        return super().describe() | vars(self._left_out)

    def _drawn(self, folder: Path, split: str, sentences: list[UPSentence]) -> set[tuple[str, ...]]:
        """The words of the sentences that are drawn for validation."""
        forms = list(dict.fromkeys(tuple(one.tree.form) for one in sentences))
        files = " and ".join(str(path) for path in self.raw_files(folder, split))
        part = drawn_part(len(forms), self.val_fraction, self.seed, files, "sentences with predicates", "")
        return {forms[number] for number in part}

    def _missing(self, split: str) -> str:
        message = super()._missing(split)
        if self.train_from == "dev" or split != "train":
            return message
        return (
            f"{message}. With train_from='dev' (on the command line: --set train_from=dev) the dev file is "
            "trained on, and 'val' is drawn from it"
        )


def _example(path: Path, tree: Sentence, predicate: UPPredicate) -> LabelledWords:
    named = [OUTSIDE if label == "_" else label for label in predicate.labels]
    labels = [None if label in PREDICATE else label for label in named]
    labels[predicate.word] = None
    place = f"{path}:{predicate.line}"
    return LabelledWords(tree.form, labels, mark=predicate.word, tree=tree, place=place)
