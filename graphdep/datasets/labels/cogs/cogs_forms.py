"""The logical forms of COGS, in both notations, as trees of predicates and their arguments."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from graphdep.datasets.base.raw import row_error

CLAUSES = ("ccomp", "xcomp")
"""The roles whose arguments are predicates with arguments of their own."""
_PUNCTUATION = frozenset("( ) , = * . ;".split())
_UNARY = re.compile(r"(\S+) \( x _ ([0-9]{1,6}) \)")
_BINARY = re.compile(r"(\S+) \. (\S+(?: \. \S+)?) \( x _ ([0-9]{1,6}) , (?:x _ ([0-9]{1,6})|([^\s_()]+)) \)")


@dataclass(eq=False)
class Node:
    """A word of a logical form, and what fills its roles.

    Args:
        lemma: How the form writes it.
        word: Its place in the sentence, from 0, where the form says it. (default: :obj:`None`)
        roles: The roles and what fills them, in the form's order, which is that of the sentence.
            (default: none)
    """

    lemma: str
    word: int | None = None
    roles: list[tuple[str, Node]] = field(default_factory=list)


def variable_free(path: Path, line: int, text: str) -> Node:
    """The root of a form without variables, such as ``eat ( agent = * girl , theme = cake )``.

    The agent of an ``xcomp``, which the form repeats, is a node of its own.

    Args:
        path, line: Where it stands, for messages.
        text: The form; tokens are separated by spaces.

    Raises:
        ValueError: If it is no such form, with file, line and value.
    """
    return _VariableFree(path, line, text).root()


def original(path: Path, line: int, text: str) -> Node:
    """The root of a form with variables, such as ``* girl ( x _ 1 ) ; eat . agent ( x _ 2 , x _ 1 )``.

    The number of a variable is the place of its word. The root is the predicate that fills no role.

    Args:
        path, line: Where it stands, for messages.
        text: The form; tokens are separated by spaces.

    Raises:
        ValueError: If it is no such form, a variable has no word or two, or there is not one root, with file,
            line and value.
    """
    return _Original(path, line, text).root()


class _VariableFree:
    """Reads a form from left to right; what is open is a list, so nothing recurs."""

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
        if self.place < len(self.tokens):
            raise self.error(f"{self.tokens[self.place]!r} follows the end of the form")
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
        """The nodes that take the next role, after one was read: itself, or what is still open above it."""
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
        for word, node in self.nodes.items():
            if not node.lemma:
                raise self.error(f"no term has the word of x _ {word}")
        roots = [node for word, node in self.nodes.items() if word not in self.filled]
        if len(roots) != 1:
            names = ", ".join(node.lemma for node in roots) or "none"
            raise self.error(f"one predicate must fill no role (there are {len(roots)}: {names})")
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
            raise row_error(self.path, self.line, "no term of a logical form", whole)

    def node(self, word: str, lemma: str = "") -> Node:
        node = self.nodes.setdefault(int(word), Node(lemma, int(word)))
        if lemma and node.lemma and node.lemma != lemma:
            raise self.error(f"x _ {word} is {node.lemma!r} and {lemma!r}")
        node.lemma = node.lemma or lemma
        return node

    def error(self, message: str) -> ValueError:
        return row_error(self.path, self.line, message, self.text)
