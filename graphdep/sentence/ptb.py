"""Penn Treebank brackets: writing and reading trees."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from graphdep.io.files import LineError
from graphdep.io.limits import MAX_DEPTH
from graphdep.sentence.tree import LABEL, Constituent, known_constituents, parts

if TYPE_CHECKING:
    from graphdep.sentence import Sentence


# Labels of the outermost bracket, which carry no information.
_ROOTS = ("", "ROOT", "TOP", "S1", "VROOT")
_TRACE = "-NONE-"
_ESCAPES = {"(": "-LRB-", ")": "-RRB-"}
_ESCAPED = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}
_PLAIN = {"``": '"', "''": '"', "“": '"', "”": '"', "‘": "'", "’": "'", "`": "'", r"\/": "/", r"\*": "*"}
_SIGNS = re.compile("|".join(map(re.escape, _PLAIN)))  # double signs before single ones
_PARTS = re.compile(r"[()]|[^ \t\r\n()]+")  # a word may contain other white space
_BRACKETS = re.compile("|".join(_ESCAPED))
_SPACE = re.compile(r"\s")


class PtbError(LineError):
    """Brackets that are not a tree, or not the tree of a sentence."""


class Bracketed(NamedTuple):
    """The tree of one sentence.

    Args:
        form: The words.
        tag: The tag of each word.
        constituents: As in :attr:`graphdep.Sentence.constituents`.
        line: The line of its first bracket.
    """

    form: list[str]
    tag: list[str]
    constituents: list[Constituent]
    line: int


def format_ptb(sentence: Sentence) -> str:
    """The constituents of a sentence as brackets in one line, without a line break.

    The outermost bracket is ``ROOT``; the bracket of a word has its XPOS as label (``_`` if missing or
    empty); round brackets in words and tags become ``-LRB-`` and ``-RRB-``. A word that is itself such an
    escape is read back as the bracket.

    Raises:
        ValueError: If the sentence has no constituents, or a word or tag contains white space or would be
            read as a trace (``-NONE-``).
    """
    for word, (form, tag) in enumerate(zip(sentence.form, sentence.xpos or sentence.form), start=1):
        space, trace = _SPACE.search(form + tag), sentence.xpos and tag == _TRACE
        if space or trace:
            why = f"white space in {form!r} or {tag!r}" if space else f"its tag {tag!r} is that of a trace"
            raise ValueError(f"word {word} cannot be written as brackets: {why}")
    return _format(sentence)


def comment_ptb(sentence: Sentence) -> str:
    """As :func:`format_ptb`, for any words: white space in words becomes ``_``."""
    return _format(sentence)


def _format(sentence: Sentence) -> str:
    constituents = known_constituents(sentence, " to write")
    tags = sentence.xpos or ["_"] * len(sentence)
    inside, top = parts(constituents, len(sentence))
    text = ["(ROOT"]
    todo = [*reversed(top)]
    close = len(constituents)  # marks a closing bracket
    while todo:
        what = todo.pop()
        if what == close:
            text.append(")")
        elif what < 0:
            tag = _escaped(tags[~what]) or "_"
            text.append(f" ({tag} {_escaped(sentence.form[~what])})")
        else:
            text.append(f" ({constituents[what][0]}")
            todo += [close, *reversed(inside[what])]
    return "".join([*text, ")"])


def plain_words(text: str) -> str:
    """Normalises a text for comparison with brackets: Treebank quotes and escapes and typographic quotes
    become plain characters.
    """
    return _SIGNS.sub(lambda sign: _PLAIN[sign[0]], text)


def _escaped(word: str) -> str:
    for bracket, name in _ESCAPES.items():
        word = word.replace(bracket, name)
    return _SPACE.sub("_", word)


def read_brackets(
    lines: Iterable[tuple[int, str]], path: str, *, functions: bool = False, traces: bool = False
) -> Iterator[Bracketed]:
    """The trees in numbered lines, one by one; a tree may span several lines, and a line several trees.

    Args:
        lines: Number and text of each line.
        path: The file, for errors.
        functions: Keep function tags and indices; else ``NP-SBJ-1`` becomes ``NP``. (default: :obj:`False`)
        traces: Keep words with the tag ``-NONE-``; otherwise they are dropped, with constituents that contain
            nothing else. (default: :obj:`False`)

    Raises:
        PtbError: If brackets are unbalanced, a bracket has no label or no word, a word has no bracket of its
            own, or a tree has no words.
    """
    tree = _Tree(path, functions, traces)
    for number, line in lines:
        line = line.removeprefix("\ufeff") if number == 1 else line
        for part in _PARTS.findall(line):
            tree.take(part, number)
            if tree.done:
                yield tree.bracketed()
                tree = _Tree(path, functions, traces)
    tree.check(not tree.open, "the tree that begins here is not closed", tree.line)


def begins_tree(text: str) -> bool | None:
    """Whether a text, such as the first lines of a file, begins with the brackets of a tree (which may be
    damaged later) rather than with prose in brackets; :obj:`None` if more text is needed.
    """
    tree, deepest = _Tree("", True, True), 0

    def sure() -> bool:
        return len(tree.form) > 1 or (len(tree.form) == 1 and deepest > 2)

    for part in _PARTS.findall(text):
        if tree.done:
            if part not in "()":
                return False
            break
        try:
            tree.take(part, 1)
        except PtbError:
            return sure()
        deepest = max(deepest, len(tree.open))
    if not tree.done:
        return sure() or None
    # For a single word: (NP (NN rain)), but not (see (figure 3)).
    labels = "".join([*tree.tag, *(found[0] for found in tree.found if found)])
    return sure() or (deepest > 1 and labels == labels.upper())


class _OpenBracket:
    """A bracket that is still open."""

    __slots__ = ("label", "line", "number", "start", "taken", "word")

    def __init__(self, line: int, number: int, start: int) -> None:
        self.line, self.number, self.start = line, number, start
        self.label: str | None = None
        self.word: str | None = None
        self.taken = 0  # number of inner brackets


class _Tree:
    """A tree while it is read, without recursion."""

    def __init__(self, path: str, functions: bool, traces: bool) -> None:
        self.path, self.functions, self.traces = path, functions, traces
        self.open: list[_OpenBracket] = []
        self.form: list[str] = []
        self.tag: list[str] = []
        self.found: list[Constituent | None] = []  # in preorder; None for other brackets
        self.line = 0
        self.done = False

    def take(self, part: str, line: int) -> None:
        if part == "(":
            self._begin(line)
            return
        what = "a closing bracket without an opening one" if part == ")" else "a word outside of brackets"
        self.check(self.open, what, line, part)
        if part == ")":
            self._end(line)
        elif self.open[-1].label is None and not self.open[-1].taken:
            self.open[-1].label = part
        else:
            alone = self.open[-1].word is None and not self.open[-1].taken
            self.check(alone, "a word without a bracket and a tag of its own", line, part)
            self.open[-1].word = part

    def _begin(self, line: int) -> None:
        self.line = self.line or line
        if self.open:
            above = self.open[-1]
            self.check(above.word is None, "a bracket after a word without one", line, above.word or "")
            named = above.label is not None or len(self.open) == 1
            self.check(named, "a bracket without a label", line)
            above.taken += 1
        self.check(len(self.open) < MAX_DEPTH, f"more than {MAX_DEPTH} brackets inside one another", line)
        self.open.append(_OpenBracket(line, len(self.found), len(self.form)))
        self.found.append(None)

    def _end(self, line: int) -> None:
        bracket = self.open.pop()
        self.done = not self.open
        outermost = bracket.taken and self.done
        self.check(bracket.label is not None or outermost, "a bracket without a label", line)
        label = bracket.label or ""
        if bracket.word is not None:
            if self.traces or label != _TRACE:
                self.form.append(_BRACKETS.sub(lambda name: _ESCAPED[name[0]], bracket.word))
                self.tag.append(label)
            return
        self.check(bracket.taken, "a constituent without words", line, label)
        if bracket.start < len(self.form) and (self.open or label not in _ROOTS):
            # White space that does not separate, such as a no-break space.
            self.check(LABEL.fullmatch(label), "a label with white space", line, label)
            self.found[bracket.number] = (self._cut(label), bracket.start, len(self.form))

    def check(self, right: object, message: str, line: int, value: str = "") -> None:
        if not right:
            raise PtbError(message, self.path, line, value)

    def _cut(self, label: str) -> str:
        return label if self.functions else re.split("[-=|]", label, maxsplit=1)[0] or label

    def bracketed(self) -> Bracketed:
        self.check(self.form, "a tree without words", self.line)
        return Bracketed(self.form, self.tag, [c for c in self.found if c is not None], self.line)
