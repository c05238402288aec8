"""COGS."""

from __future__ import annotations

import logging
import os
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import torch
from torch import Tensor

from graphdep.datasets.base.parsed import Example
from graphdep.datasets.base.raw import TEXT, read_table, row_error
from graphdep.datasets.base.rows import Draw
from graphdep.datasets.base.words import WordOptions
from graphdep.datasets.labels.base import LabelDataset
from graphdep.datasets.labels.bio import OUTSIDE
from graphdep.datasets.labels.words import LabelledWords
from graphdep.io.limits import check_choice
from graphdep.parsing.parser import Parser
from graphdep.sentence.sentence import Sentence

CLAUSES = ("ccomp", "xcomp")
"""Roles whose arguments are predicates."""
_PUNCTUATION = frozenset("( ) , = * . ;".split())
_UNARY = re.compile(r"(\S+) \( x _ ([0-9]{1,6}) \)")
_BINARY = re.compile(r"(\S+) \. (\S+(?: \. \S+)?) \( x _ ([0-9]{1,6}) , (?:x _ ([0-9]{1,6})|([^\s_()]+)) \)")


@dataclass(eq=False)
class Node:
    """A word of a logical form, with its roles.

    Args:
        lemma: Its spelling in the form.
        word: Its index in the sentence, if the form has it. (default: :obj:`None`)
        roles: The roles and their arguments, in the order of the form and of the sentence. (default: none)
    """

    lemma: str
    word: int | None = None
    roles: list[tuple[str, Node]] = field(default_factory=list)


def variable_free(path: Path, line: int, text: str) -> Node:
    """The root of a form without variables, such as ``eat ( agent = * girl , theme = cake )``.

    The agent of an ``xcomp``, which is repeated in the form, is a separate node.

    Args:
        path, line: Place of the form, for messages.
        text: The form; tokens are separated by spaces.
    """
    return _VariableFree(path, line, text).root()


def original(path: Path, line: int, text: str) -> Node:
    """The root of a form with variables, such as ``* girl ( x _ 1 ) ; eat . agent ( x _ 2 , x _ 1 )``.

    The number of a variable is the index of its word. The root is the predicate that is not an argument.

    Args:
        path, line: Place of the form, for messages.
        text: The form; tokens are separated by spaces.
    """
    return _Original(path, line, text).root()


class _VariableFree:
    """Reads a form from left to right, with a list of open nodes instead of recursion."""

    def __init__(self, path: Path, line: int, text: str) -> None:
        self.path, self.line, self.text = path, line, text
        self.tokens, self.place = text.split(), 0

    def root(self) -> Node:
        root = self.node()
        open_nodes = self.opened(root, [])
        while open_nodes:
            role = self.role()
            node = self.node()
            open_nodes[-1].roles.append((role, node))
            open_nodes = self.opened(node, open_nodes)
        if self.place != len(self.tokens):
            raise self.error(f"{self.next()!r} follows the end of the form")
        return root

    def node(self) -> Node:
        if self.next() == "*":  # the definite article
            self.place += 1
        return Node(self.name("a word"))

    def role(self) -> str:
        parts = [self.name("a role")]
        while self.next() == ".":
            self.place += 1
            parts.append(self.name("a role"))
        self.take("=")
        return ".".join(parts)

    def opened(self, node: Node, open_nodes: list[Node]) -> list[Node]:
        """The open nodes after a node was read; the last of them takes the next role."""
        if self.next() == "(":
            self.place += 1
            return [*open_nodes, node]
        while open_nodes and self.next() == ")":
            self.place += 1
            open_nodes = open_nodes[:-1]
        if open_nodes:
            self.take(",")
        return open_nodes

    def name(self, what: str) -> str:
        token = self.next()
        if not token or token in _PUNCTUATION:
            raise self.error(f"{what} is missing {self.where(token)}")
        self.place += 1
        return token

    def take(self, token: str) -> None:
        found = self.next()
        if found != token:
            raise self.error(f"{token!r} is missing {self.where(found)}")
        self.place += 1

    def next(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def where(self, token: str) -> str:
        return f"before {token!r}, token {self.place + 1} of the form" if token else "at the end of the form"

    def error(self, message: str) -> ValueError:
        return row_error(self.path, self.line, message, self.text)


class _Original:
    """Reads the terms of a form one by one."""

    def __init__(self, path: Path, line: int, text: str) -> None:
        self.path, self.line, self.text = path, line, text
        self.nodes: dict[int, Node] = {}
        self.filled: set[int] = set()

    def root(self) -> Node:
        for term in re.split(r" ; | AND ", self.text):
            self.add(term.removeprefix("* "), term)
        roots = [node for word, node in self.nodes.items() if word not in self.filled]
        if len(roots) != 1 or not all(node.lemma for node in self.nodes.values()):
            names = ", ".join(node.lemma or f"x _ {word}" for word, node in self.nodes.items())
            raise self.error(f"every x must have a word, and exactly one x no role (got {names})")
        return roots[0]

    def add(self, term: str, whole: str) -> None:
        unary, binary = _UNARY.fullmatch(term), _BINARY.fullmatch(term)
        if unary:
            self.node(unary[2], unary[1])
        elif binary:
            lemma, role, word, other, name = binary.groups()
            node = self.node(word, lemma)
            filler = Node(name) if name else self.node(other)
            if other:
                self.filled.add(int(other))
            node.roles.append((role.replace(" ", ""), filler))
        else:
            raise self.error(f"{whole!r} is not a term of a logical form")

    def node(self, word: str, lemma: str = "") -> Node:
        node = self.nodes.setdefault(int(word), Node(lemma, int(word)))
        if lemma and node.lemma and node.lemma != lemma:
            raise self.error(f"x _ {word} is {node.lemma!r} and {lemma!r}")
        node.lemma = node.lemma or lemma
        return node

    def error(self, message: str) -> ValueError:
        return row_error(self.path, self.line, message, self.text)


ARTICLES = frozenset(("a", "the"))
_FUNCTION_WORDS = ARTICLES | frozenset("was to that by .".split())
_IRREGULAR = {
    "break": "broke broken",
    "bring": "brought",
    "draw": "drew drawn",
    "eat": "ate eaten",
    "feed": "fed",
    "find": "found",
    "freeze": "froze frozen",
    "give": "gave given",
    "grow": "grew grown",
    "hear": "heard",
    "hold": "held",
    "know": "knew known",
    "mean": "meant",
    "run": "ran",
    "say": "said",
    "see": "saw seen",
    "sell": "sold",
    "send": "sent",
    "sleep": "slept",
    "slide": "slid",
    "think": "thought",
    "throw": "threw thrown",
}


class Predicate(NamedTuple):
    """A predicate, and the roles of its arguments by their words."""

    word: int
    roles: dict[int, str]


class MisfitError(ValueError):
    """A form does not match the words of its sentence."""


def predicates(words: Sequence[str], root: Node) -> list[Predicate]:
    """The predicates, nouns and names of a sentence, in the order of the form, with their arguments.

    Verbs, nouns and names have the same order in the form and the sentence, except that an ``xcomp`` repeats
    the agent of its governor. The n-th verb of the form is therefore the n-th verb of the sentence, likewise
    for nouns and names, even if words are repeated. A word after an article is a noun, and a capitalized word
    a name; other words are verbs, except function words and the prepositions of the form. This is checked:
    verbs must be forms of their lemmas, nouns and names must equal those of the form, no word may remain, and
    indices in the form must agree.

    Args:
        words: The words.
        root: The form, in either notation.
    """
    return _Aligned(words, root).found


class _Aligned:
    def __init__(self, words: Sequence[str], root: Node) -> None:
        self.words = words
        self.found: list[Predicate] = []
        self.seen: set[int] = set()
        kinds = list(_kinds(words, _prepositions(root)))
        self.verbs = iter([place for place, kind in enumerate(kinds) if kind == "verb"])
        self.nouns = iter([place for place, kind in enumerate(kinds) if kind == "noun"])
        self.walk(root)
        for place in (*self.verbs, *self.nouns):
            raise MisfitError(f"{words[place]!r} is not in the form")

    def walk(self, root: Node) -> None:
        """Visits the nodes in the order of the form, without recursion."""
        todo = [(self.add(root, is_verb=True), iter(root.roles))]
        while todo:
            predicate, roles = todo[-1]
            role, filler = next(roles, (None, root))
            if role is None:
                todo.pop()
                continue
            found = self.add(filler, is_verb=role in CLAUSES)
            predicate.roles[found.word] = role
            below = filler.roles
            if role == "xcomp":
                found.roles[self.agent(predicate)] = "agent"
                below = self.without_agent(filler, predicate)
            todo.append((found, iter(below)))

    def add(self, node: Node, *, is_verb: bool) -> Predicate:
        place = next(self.verbs if is_verb else self.nouns, None)
        if id(node) in self.seen or place is None:
            wrong = "fills two roles" if id(node) in self.seen else "has no word left"
            raise MisfitError(f"{node.lemma!r} {wrong}")
        self.seen.add(id(node))
        word = self.words[place]
        fits = is_form(word, node.lemma) if is_verb else word.lower() == node.lemma.lower()
        if not fits or node.word not in (None, place):
            raise MisfitError(f"{word!r} is not a form of {node.lemma!r}")
        self.found.append(Predicate(place, {}))
        return self.found[-1]

    def without_agent(self, verb: Node, governor: Predicate) -> list[tuple[str, Node]]:
        """The roles of an ``xcomp`` without its agent, which must be that of its governor."""
        agents = [node for role, node in verb.roles if role == "agent"]
        word = self.words[self.agent(governor)].lower()
        same = [node.lemma.lower() for node in agents] == [word]
        if not same or agents[0].word not in (None, self.agent(governor)):
            raise MisfitError(f"the agent of {verb.lemma!r} is not the {word!r} of its governor")
        return [(role, node) for role, node in verb.roles if role != "agent"]

    def agent(self, predicate: Predicate) -> int:
        agents = [place for place, role in predicate.roles.items() if role == "agent"]
        if not agents:
            raise MisfitError(f"{self.words[predicate.word]!r} has no agent before its xcomp")
        return agents[0]


def is_form(word: str, lemma: str) -> bool:
    """Whether a word is the infinitive, the past tense or the participle of a verb."""
    regular = {lemma, f"{lemma}ed", f"{lemma}{lemma[-1]}ed"}
    if lemma.endswith("e"):
        regular.add(f"{lemma}d")
    if lemma.endswith("y"):
        regular.add(f"{lemma[:-1]}ied")
    return word in regular or word in _IRREGULAR.get(lemma, "").split()


def _kinds(words: Sequence[str], prepositions: frozenset[str]) -> Iterator[str]:
    before = ""
    for word in words:
        lower = word.lower()
        if before in ARTICLES:
            yield "noun"
        elif lower in _FUNCTION_WORDS or lower in prepositions:
            yield "function"
        else:
            yield "noun" if word[0].isupper() else "verb"
        before = lower


def _prepositions(root: Node) -> frozenset[str]:
    found, seen, todo = set(), set(), [root]
    while todo:
        node = todo.pop()
        if id(node) not in seen:
            seen.add(id(node))
            todo += [filler for _, filler in node.roles]
            found |= {role.removeprefix("nmod.") for role, _ in node.roles if role.startswith("nmod.")}
    return frozenset(found)


logger = logging.getLogger("graphdep.datasets")

FORMS = ("variable-free", "original")
NOMINALS = ("modified", "all")
NO_ROLE = "O"
COLUMNS = dict.fromkeys(("sentence", "logical form", "type"), TEXT)
PRIMITIVE, IN_DISTRIBUTION = "primitive", "in_distribution"
NAMES = {"train": "train.tsv", "val": "dev.tsv", "test": "gen.tsv", "test-indist": "test.tsv"}
_PREFIX = "varfree-"
# Without dev.tsv, a tenth of the training sentences is drawn with this seed.
_TENTH, _SEED = 10, 20201001
_NAMED = 5


class COGS(LabelDataset):
    r"""The sentences of `"COGS: A Compositional Generalization Challenge Based on Semantic Interpretation"
    <https://aclanthology.org/2020.emnlp-main.731/>`_ as roles: one example per predicate, which is marked,
    with the role of each word as its label.

    Logical forms are read in both published notations. A predicate is a verb, or a noun with a prepositional
    phrase. Roles are ``agent``, ``theme`` and ``recipient``, ``ccomp`` and ``xcomp`` for the verb of a
    clause, ``nmod.in`` and the like; the head of a phrase has its role. All other words are ``"O"``. The
    predicates of a sentence are a ``group``; a correct group is a correct logical form, apart from
    definiteness, which is not predicted.

    The training split has 143 *primitives*, single words without roles. They are examples of one marked word
    with label ``"O"``, since some of these words occur nowhere else in training. A sentence that does not
    match its form has no example; such sentences are listed in a warning and by :meth:`describe`. The
    published files have none.

    =============== =========================================== ===================
    split           ``form="variable-free"``                    ``form="original"``
    =============== =========================================== ===================
    ``train``       ``varfree-train.tsv``                       ``train.tsv``
    ``val``         ``dev.tsv``, else a tenth of the training   likewise
    ``test``        ``varfree-gen.tsv``                         ``gen.tsv``
    ``test-indist`` ``test.tsv``                                ``test.tsv``
    =============== =========================================== ===================

    ``dev.tsv`` and ``test.tsv`` are published with variables and used for both forms, which have the same
    roles. Without ``dev.tsv``, a tenth of the ``in_distribution`` sentences is drawn from the training file
    with a fixed seed, with a warning.

    Args:
        root: Folder of the corpus. (default: ``"datasets/cogs"``)
        split: See above; ``"test"`` is the generalization set of 21 types. (default: ``"train"``)
        parser: A parser, or its name for :func:`graphdep.parsing.resolve_parser`; the corpus has no trees.
            (default: ``"bundled"``)
        form: The files to read, ``"variable-free"`` or ``"original"``. (default: ``"variable-free"``)
        nominals: Nouns and names with an example: ``"all"``, or only the ``"modified"`` ones. The latter has
            2.5 times fewer examples, but reveals which nouns are modified, so that an exact match is easier
            than one of the whole form. (default: ``"all"``)
        options: Further options, see :class:`~graphdep.datasets.base.words.WordOptions`. ``limit`` counts
            examples, so the last sentence may lack some predicates.

    Shapes:
        - as of :class:`~graphdep.datasets.labels.base.LabelDataset`
        - ``type_id``: :math:`(1)`, long, the number in :attr:`types` of the sentence's type

    Raises:
        FileNotFoundError: If a raw file is missing; the message says where to get it.
        ValueError: If an option is wrong or a row is damaged, with file, line and value.

    Example:
        >>> from graphdep.datasets import COGS
        >>> dataset = COGS("datasets/cogs", split="test", parser="chain")
        >>> data = dataset[0]
        >>> [dataset.labels[y] for y in data.y.tolist()], dataset.types[int(data.type_id)]
        (['O', 'agent', 'O', 'O', 'theme', 'O'], 'prim_to_subj_common')
    """

    corpus = "COGS"
    published = (
        "https://github.com/najoungkim/COGS, folder data, and without variables, for example, at "
        "https://github.com/ykyaol7/template_tuning, folder data/cogs (called varfree-train.tsv and "
        "varfree-gen.tsv here)"
    )
    splits = tuple(NAMES)
    own_trees = False
    marks = True
    outside = OUTSIDE
    scored_by = " by their role"
    types: tuple[str, ...]
    """The sentence types of the split, sorted by name, by their numbers."""

    def __init__(
        self,
        root: str | os.PathLike[str] = "datasets/cogs",
        split: str = "train",
        parser: str | Parser = "bundled",
        *,
        form: str = "variable-free",
        nominals: str = "all",
        **options: Unpack[WordOptions],
    ) -> None:
        check_choice("form", form, FORMS)
        check_choice("nominals", nominals, NOMINALS)
        self.form, self.nominals = form, nominals
        self._about: dict[str, dict[str, Any]] = {}
        super().__init__(root, split, parser, **options)
        self._warn()

    def options(self) -> dict[str, Any]:
        own = {"form": self.form, "nominals": self.nominals, "val": self._draws(Path(self.raw_dir))}
        return super().options() | own

    def raw_files(self, folder: Path, split: str) -> list[Path]:
        if split == "val" and self._draws(folder):
            split = "train"
        path = folder / self._name(split)
        return [path] if path.is_file() else []

    def raw_file_pattern(self, split: str) -> str:
        return self._name(split)

    def raw_file_name(self, split: str) -> str:
        return self._name(split) + (f" or {self._name('train')}" if split == "val" else "")

    def read(self, folder: Path, split: str) -> list[LabelledWords]:
        (path,) = self.raw_files(folder, split)
        rows = list(_read_rows(path))
        if split in ("train", "val") and self._draws(folder):
            rows = _drawn(rows, split)
        kinds = Counter(row.kind for row in rows)
        found, misfits = self._labelled(rows, sorted(kinds))
        self._about[split] = {
            "sentences": len(rows) - kinds[PRIMITIVE],
            "primitives": kinds[PRIMITIVE],
            "misfits": misfits,
            "types": sorted(kinds),
        }
        return found

    def targets(self, example: LabelledWords, tree: Sentence, number: int) -> dict[str, Tensor]:
        assert isinstance(example, _Typed)
        return super().targets(example, tree, number) | {"type_id": torch.tensor([example.type_id])}

    def notes(self, examples: list[Example]) -> dict[str, Any]:
        return super().notes(examples) | {"about": self._about[self.split]}

    def restore(self, notes: dict[str, Any]) -> None:
        super().restore(notes)
        self._about[self.split] = notes["about"]
        self.types = tuple(notes["about"]["types"])

    def describe(self) -> dict[str, Any]:
        """As for every corpus of labelled words, with the numbers of sentences, primitives and sentences that
        do not match their form.
        """
        about = self._about[self.split]
        described, misfits = super().describe(), about["misfits"]
        note = described["note"]
        if misfits:
            note += f"; {len(misfits)} sentences are left out, as {_some(misfits)}"
        counts = {"sentences": about["sentences"], "primitives": about["primitives"]}
        return described | counts | {"left_out_sentences": len(misfits), "note": note}

    def _labelled(self, rows: list[_Row], types: list[str]) -> tuple[list[LabelledWords], list[str]]:
        found: list[LabelledWords] = []
        misfits = []
        for row in rows:
            try:
                found += self._examples_of(row, types.index(row.kind))
            except MisfitError as error:
                misfits.append(f"{row.path.name}:{row.line}: {error}")
        return found, misfits

    def _examples_of(self, row: _Row, type_id: int) -> Iterator[LabelledWords]:
        place = f"{row.path}:{row.line}"
        if row.kind == PRIMITIVE:
            yield _Typed(row.words, [NO_ROLE] * len(row.words), 0, None, row.line, place, type_id)
            return
        reader = variable_free if row.path.name.startswith(_PREFIX) else original
        found = predicates(row.words, reader(row.path, row.line, row.form))
        for word, roles in found:
            if roles or self.nominals == "all":
                labels = [roles.get(other, NO_ROLE) for other in range(len(row.words))]
                yield _Typed(row.words, labels, word, None, row.line, place, type_id)

    def _draws(self, folder: Path) -> bool:
        """Whether the validation split is drawn from the training file."""
        return not (folder / self._name("val")).is_file()

    def _name(self, split: str) -> str:
        own = self.form == "variable-free" and split in ("train", "test")
        return _PREFIX * own + NAMES[split]

    def _warn(self) -> None:
        if self.split in ("train", "val") and self._draws(Path(self.raw_dir)):
            logger.warning(
                "COGS: %s has no dev.tsv, so 'val' is a tenth of the training sentences",
                self.raw_dir,
            )
        misfits = self._about[self.split]["misfits"]
        if misfits:
            logger.warning(
                "COGS (%s): %d sentences are left out: %s", self.split, len(misfits), _some(misfits)
            )


@dataclass(frozen=True)
class _Typed(LabelledWords):
    """An example, and the number of its sentence type."""

    type_id: int = 0


class _Row(NamedTuple):
    path: Path
    line: int
    words: list[str]
    form: str
    kind: str


def _read_rows(path: Path) -> Iterator[_Row]:
    for line, row in read_table(path, COLUMNS, header=False):
        text, form, kind = (value.strip() for value in row)
        yield _Row(path, line, text.split(), form, kind)


def _drawn(rows: list[_Row], split: str) -> list[_Row]:
    """The rows of a drawn split; exposure examples and primitives are always in train."""
    common = [number for number, row in enumerate(rows) if row.kind == IN_DISTRIBUTION]
    held_out = set(Draw(random.Random(_SEED)).shuffled(common)[: len(common) // _TENTH])
    return [row for number, row in enumerate(rows) if (number in held_out) == (split == "val")]


def _some(misfits: list[str]) -> str:
    more = len(misfits) - _NAMED
    return "; ".join(misfits[:_NAMED]) + (f"; and {more} others" if more > 0 else "")
