"""The brackets of the sentiment treebank: a grade for every phrase of a sentence."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from graphdep.datasets.base.raw import check_words, read_lines, row_error

NEUTRAL = 2
GRADES = 5
# As the Penn Treebank writes what else would be a bracket of the tree.
_ESCAPED = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}
_TOKEN = re.compile(r"[()]|[^ \t()]+")  # a word of the published files has a no-break space


class GradedPhrase(NamedTuple):
    """The words of a phrase.

    Args:
        words: Its words.
        grade: 0, very negative, to 4, very positive; 2 is neutral.
    """

    words: list[str]
    grade: int


class GradedTree(NamedTuple):
    """A sentence with a grade for every node of its tree.

    Args:
        words: Its words.
        nodes: Grade, first word and the word after the last one of each node, words too, in preorder.
    """

    words: list[str]
    nodes: list[tuple[int, int, int]]

    @property
    def grade(self) -> int:
        """The grade of the whole sentence."""
        return self.nodes[0][0]

    @property
    def phrases(self) -> list[GradedPhrase]:
        """The words of each node."""
        return [GradedPhrase(self.words[start:end], grade) for grade, start, end in self.nodes]


def read_sst_trees(path: Path) -> list[list[GradedPhrase]]:
    r"""The phrases of each sentence of a file, a tree a line: ``(3 (2 It) (4 (2 's) (4 lovely)))``.

    A phrase is a node of the tree. The whole sentence comes first, and each phrase before its parts, which
    go from left to right. Brackets and slashes are written as in the Penn Treebank (``-LRB-``, ``\/``) and
    are read as ``(`` and ``/``.

    Raises:
        ValueError: If a line is no such tree, with file, line and value.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from graphdep.datasets.sentences.sst_trees import read_sst_trees
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "train.txt")
        ...     _ = path.write_text("(3 (2 It) (4 works))")
        ...     [(" ".join(words), grade) for words, grade in read_sst_trees(path)[0]]
        [('It works', 3), ('It', 2), ('works', 4)]
    """
    return [tree.phrases for tree in read_graded_trees(path)]


def read_graded_trees(path: Path) -> list[GradedTree]:
    """The trees themselves, as :func:`read_sst_trees` reads them.

    Raises:
        ValueError: If a line is no such tree, with file, line and value.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from graphdep.datasets.sentences.sst_trees import read_graded_trees
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "train.txt")
        ...     _ = path.write_text("(3 (2 It) (4 works))")
        ...     read_graded_trees(path)
        [GradedTree(words=['It', 'works'], nodes=[(3, 0, 2), (2, 0, 1), (4, 1, 2)])]
    """
    return [_tree(path, line, text) for line, text in read_lines(path)]


def _tree(path: Path, line: int, text: str) -> GradedTree:
    """A tree, read from left to right, so that nothing recurs."""
    check_words(path, line, "sentence", text)
    words: list[str] = []
    spans: list[list[int]] = []  # grade, first word and the word after the last
    opened: list[int] = []
    leaves: set[int] = set()  # phrases that are a word
    tokens = iter(_TOKEN.findall(text))
    for token in tokens:
        if token == "(":
            if (not opened and spans) or (opened and opened[-1] in leaves):
                raise row_error(path, line, "a phrase beside the whole or beside a word", text)
            opened.append(len(spans))
            spans.append([_grade(path, line, next(tokens, ""), text), len(words), 0])
        elif not opened:
            raise row_error(path, line, f"{token!r} is outside of all phrases", text)
        elif token == ")":
            phrase = opened.pop()
            spans[phrase][2] = len(words)
            if spans[phrase][1] == len(words):
                raise row_error(path, line, "a phrase has no word", text)
        else:
            if spans[opened[-1]][1] != len(words) or opened[-1] in leaves or opened[-1] + 1 < len(spans):
                raise row_error(path, line, f"the word {token!r} is not alone in its phrase", text)
            leaves.add(opened[-1])
            words.append(_ESCAPED.get(token, token.replace("\\/", "/")))
    if opened or not spans:
        raise row_error(path, line, f"{len(opened)} brackets are never closed" if opened else "no tree", text)
    return GradedTree(words, [(grade, start, end) for grade, start, end in spans])


def _grade(path: Path, line: int, token: str, text: str) -> int:
    if token not in map(str, range(GRADES)):
        raise row_error(path, line, f"a grade must be 0, 1, 2, 3 or 4, and not {token!r}", text)
    return int(token)
