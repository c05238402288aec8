"""One parsed sentence: the CoNLL-U columns, validated to be a tree."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

# A multiword-token range ("3-4") or an empty node ("8.1"): its ten CoNLL-U columns as text.
Row = tuple[str, ...]
RANGE_ID = re.compile(r"([1-9][0-9]{0,8})-([1-9][0-9]{0,8})")
EMPTY_ID = re.compile(r"(0|[1-9][0-9]{0,8})\.([1-9][0-9]{0,8})")


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

    Raises:
        ValueError: If the sentence is empty, columns differ in length, a governor does not exist, there
            is no root, there are several roots (unless :obj:`multiroot`), the arcs form a cycle, or a
            range, an empty node or an enhanced arc names no word. The message has the word and the value.

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

    def __post_init__(self) -> None:
        self._check_columns()
        check_tree(self.head, multiroot=self.multiroot)
        self._check_ranges()
        self._check_deps(self._check_empty())

    def __len__(self) -> int:
        return len(self.form)

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


def parse_deps(column: str) -> list[tuple[str, str]]:
    """The DEPS column as ``(head id, label)`` pairs; a part without a colon has an empty label."""
    if column == "_":
        return []
    return [(head, label) for head, _, label in (part.partition(":") for part in column.split("|"))]


def moved_copy(misc: str, number: Callable[[str], str | None]) -> str:
    """The column MISC of an empty node, whose ``CopyOf=N`` names the word that it copies, after words moved.

    Args:
        misc: The column.
        number: The new ID of a word, by the old one; :obj:`None` if it is gone, as its copy's name then is.
    """
    parts = []
    for part in misc.split("|"):
        name, equals, word = part.partition("=")
        moved = number(word) if name == "CopyOf" and equals else None
        if name != "CopyOf" or moved is not None:
            parts.append(part if moved is None else f"CopyOf={moved}")
    return "|".join(parts) or "_"


def check_tree(head: Sequence[int], *, multiroot: bool = False) -> None:
    """Raises :class:`ValueError` unless ``head`` (1-based, 0 = root) is a tree. O(words), no recursion."""
    roots = []
    for word, governor in enumerate(head, start=1):
        if isinstance(governor, bool) or not isinstance(governor, int):
            raise ValueError(f"word {word}: head must be an integer (got {governor!r})")
        if not 0 <= governor <= len(head):
            raise ValueError(f"word {word}: head {governor} is out of range 0..{len(head)}")
        if governor == 0:
            roots.append(word)
    _check_cycle(head)
    # A graph without root has a cycle, so what is left to check is that there is just one.
    if len(roots) > 1 and not multiroot:
        raise ValueError(
            f"words {roots[:10]} all have head 0: more than one root (allow it with multiroot=True)"
        )


def _check_cycle(head: Sequence[int]) -> None:
    if head and 0 not in head:
        raise ValueError("no root: no word has head 0")
    safe = [True] + [False] * len(head)
    for start in range(1, len(head) + 1):
        path: list[int] = []
        on_path: set[int] = set()
        word = start
        while not safe[word]:
            if word in on_path:
                cycle = path[path.index(word) :]
                raise ValueError(
                    f"word {word}: head {head[word - 1]} closes a cycle through words {cycle[:10]}"
                )
            path.append(word)
            on_path.add(word)
            word = head[word - 1]
        for visited in path:
            safe[visited] = True
