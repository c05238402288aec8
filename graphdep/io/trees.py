"""Reading and writing files of trees."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Iterable, Iterator, Sequence

from graphdep.io.files import LineError, decoded_lines, open_to_read, placed, typed_path, without_control
from graphdep.io.formats import read_format, recognised
from graphdep.sentence.conllu import ConlluError, format_conllu, read_blocks
from graphdep.sentence.intake import Intake
from graphdep.sentence.ptb import Bracketed, PtbError, format_ptb, plain_words, read_brackets
from graphdep.sentence.sentence import Sentence
from graphdep.sentence.tree import Raw, WordParser


def read_conllu(
    path: str | os.PathLike[str],
    *,
    multiroot: bool = False,
    max_words: int | None = 10_000,
    scheme: str = "auto",
    bad_trees: str = "error",
    parser: WordParser | None = None,
) -> list[Sentence]:
    """Reads a CoNLL-U file, or a CoNLL-U Plus file, whose further columns go to MISC.

    Multiword ranges, empty nodes, comments and enhanced DEPS are kept, so that :func:`write_conllu` restores
    the file. A column with ``_`` everywhere becomes :obj:`None`.

    Args:
        path: A UTF-8 file, with or without a byte-order mark, with LF, CRLF or CR.
        multiroot: Accept sentences with more than one root. (default: :obj:`False`)
        max_words: Raise an error for a longer sentence, which nearly always lacks a blank line; :obj:`None`
            for no limit. (default: :obj:`10_000`)
        scheme, bad_trees, parser: As in :class:`~graphdep.sentence.intake.Intake`; changes are logged.

    Raises:
        ConlluError: If the file is empty or has an invalid sentence.
        OSError: If the file cannot be read.
    """
    intake = Intake(scheme, bad_trees, parser)
    sentences = take_conllu(path, intake, multiroot=multiroot, max_words=max_words)
    intake.say()
    return [sentence for sentence in sentences if sentence is not None]


def take_conllu(
    path: str | os.PathLike[str],
    intake: Intake,
    *,
    multiroot: bool = False,
    max_words: int | None = 10_000,
    control: bool = False,
) -> list[Sentence | None]:
    """:func:`read_conllu` with counts in ``intake``; :obj:`None` for a skipped sentence. With ``control``, a
    control character is read as a space, as in corpora of other formats.
    """
    lines = tree_lines(path)
    name, lines = recognised(without_control(lines, path) if control else lines)
    name = name if name == "conllu-plus" else "conllu"
    return take_lines(name, lines, str(path), intake, multiroot=multiroot, max_words=max_words)


def tree_lines(
    path: str | os.PathLike[str], error: type[LineError] = ConlluError
) -> Iterator[tuple[int, str]]:
    """The numbered lines of a file of trees, whose lines may end with LF, CRLF or CR."""
    with open_to_read(path) as file:
        lines = decoded_lines(file, str(path), error)
        yield from enumerate((part for _, line in lines for part in line.split("\r")), start=1)


def read_trees(
    path: str | os.PathLike[str],
    *,
    multiroot: bool = False,
    max_words: int | None = 10_000,
    scheme: str = "auto",
    bad_trees: str = "error",
    parser: WordParser | None = None,
    words: bool = False,
) -> list[Sentence]:
    """Reads a file of trees in any supported format, which is detected by content, not by name.

    CoNLL-U; CoNLL-U Plus, whose further columns go to MISC; Penn Treebank brackets; JSON or JSON Lines for
    :meth:`Sentence.from_dict`, including the output of CoreNLP, stanza (``to_dict()``) and spaCy
    (``to_json()``); CoreNLP's XML. Brackets have no governors, so they need a :obj:`parser`.

    Args:
        path: A UTF-8 file, with or without a byte-order mark, with LF, CRLF or CR.
        multiroot, max_words: As in :func:`read_conllu`.
        scheme, bad_trees, parser: As in :class:`~graphdep.sentence.intake.Intake`; changes are logged.
        words: Read only the words and their columns, and let :obj:`parser` parse each sentence; HEAD in
            CoNLL-U may then be ``_``. (default: :obj:`False`)

    Raises:
        ValueError: If the format is unknown, the file is damaged, has no sentence or ``_`` instead of words,
            with file and line; or :obj:`words` or brackets lack a :obj:`parser`.
        OSError: If the file cannot be read.

    Example:
        >>> from pathlib import Path
        >>> from graphdep.io import read_trees
        >>> row = '{"token": ["It", "rains"], "head": ["2", "0"], "deprel": ["expl", "root"]}'
        >>> _ = Path("rows.txt").write_text(row)
        >>> [sentence.head for sentence in read_trees("rows.txt")]
        [[2, 0]]
    """
    intake = Intake(scheme, bad_trees, parser)
    name, lines = recognised(tree_lines(path))
    sentences = take_lines(
        name, lines, str(path), intake, multiroot=multiroot, max_words=max_words, words=words
    )
    intake.say()
    return [sentence for sentence in sentences if sentence is not None]


def take_lines(
    name: str,
    lines: Iterable[tuple[int, str]],
    path: str,
    intake: Intake,
    *,
    multiroot: bool = False,
    max_words: int | None = 10_000,
    words: bool = False,
) -> list[Sentence | None]:
    """:func:`read_trees` for numbered lines in a format of :func:`~graphdep.io.formats.recognise`, with
    counts in :obj:`intake`; :obj:`None` for a skipped sentence.
    """
    headless = words or intake.bad_trees == "parse"
    found = read_format(name, lines, path, max_words=max_words, headless=headless)
    if words or name == "ptb":
        if intake.parser is None:
            what = "words are parsed" if words else "brackets have no governors: a parser gives them"
            raise ValueError(
                f"{path}: {what}, and none is given{'' if words else ' (or take ptb:FILE as one)'}"
            )
        trees = intake.parser.parse_words([raw.columns["form"] for raw in found.raws])
        return [_with_tree(raw, tree) for raw, tree in zip(found.raws, trees)]
    return intake.sentences(found.raws, multiroot=multiroot, labels=found.labels)


def _with_tree(raw: Raw, tree: Sentence) -> Sentence:
    """A parse with the other columns that a file has for the sentence."""
    own = {name: value for name, value in raw.columns.items() if name not in _TREE and value}
    said = [comment for comment in tree.comments if not comment.startswith("# text")]
    with placed(raw.place):
        return dataclasses.replace(tree, **{**own, "comments": [*raw.columns.get("comments", ()), *said]})


_TREE = ("head", "deprel", "multiroot")


def parse_conllu(
    text: str,
    *,
    name: str = "<string>",
    multiroot: bool = False,
    max_words: int | None = 10_000,
    scheme: str = "auto",
    bad_trees: str = "error",
    parser: WordParser | None = None,
) -> list[Sentence]:
    """:func:`read_conllu` for a string; ``name`` replaces the path in errors."""
    lines = enumerate(re.split(r"\r\n|\n|\r", text), start=1)
    raws = [*read_blocks(lines, name, max_words=max_words)]
    if not raws:
        raise ConlluError("no sentence in the file", name, 1)
    intake = Intake(scheme, bad_trees, parser)
    sentences = intake.sentences(raws, multiroot=multiroot)
    intake.say()
    return [sentence for sentence in sentences if sentence is not None]


def write_conllu(
    sentences: Iterable[Sentence], path: str | os.PathLike[str], *, overwrite: bool = False
) -> None:
    """Writes sentences as CoNLL-U, atomically.

    Raises:
        ValueError: If a value contains a tab or a line break, or the file is there and not empty, and
            :obj:`overwrite` is not set.
    """
    with (
        typed_path(path, overwrite=overwrite) as temporary,
        open(temporary, "w", encoding="utf-8", newline="\n") as file,
    ):
        for sentence in sentences:
            file.write(format_conllu(sentence) + "\n")


def read_ptb(
    path: str | os.PathLike[str], *, sentences: Sequence[Sentence] | None = None, functions: bool = False
) -> list[Sentence]:
    """Reads a file of brackets, ``(ROOT (S (NP (PRP I)) (VP (VBP see))))``.

    The outermost bracket is dropped if it has no label or ``ROOT``, ``TOP``, ``S1`` or ``VROOT``; labels end
    before ``-``, ``=`` and ``|`` (``NP-SBJ-1`` becomes ``NP``); traces with the tag ``-NONE-`` are dropped,
    with constituents that contain nothing else; ``-LRB-`` and similar escapes become brackets in words, but
    stay in tags.

    Args:
        path: A UTF-8 file; a tree may span several lines.
        sentences: The sentences of the trees, in order, which only get the constituents. Without them a
            sentence has the words, the tags as :attr:`Sentence.xpos`, and the tree of :meth:`Sentence.chain`,
            since brackets have no governors. (default: :obj:`None`)
        functions: Keep function tags and indices on labels. (default: :obj:`False`)

    Raises:
        PtbError: If there is no tree, brackets are unbalanced, a bracket has no label or no word, a word has
            no bracket and tag, or the words of a tree and its sentence differ (except in case and quotes).
        OSError: If the file cannot be read.
    """
    trees = [*read_brackets(tree_lines(path, PtbError), str(path), functions=functions)]
    return _joined(trees, sentences, str(path))


def parse_ptb(
    text: str,
    *,
    name: str = "<string>",
    sentences: Sequence[Sentence] | None = None,
    functions: bool = False,
) -> list[Sentence]:
    """:func:`read_ptb` for a string; ``name`` replaces the path in errors.

    Example:
        >>> from graphdep.io import parse_ptb
        >>> [sentence] = parse_ptb("(ROOT (S (NP-SBJ (PRP I)) (VP (VBP see) (NP (-NONE- *)))))")
        >>> sentence.constituents
        [('S', 0, 2), ('NP', 0, 1), ('VP', 1, 2)]
    """
    trees = [*read_brackets(enumerate(text.split("\n"), start=1), name, functions=functions)]
    return _joined(trees, sentences, name)


def write_ptb(
    sentences: Iterable[Sentence], path: str | os.PathLike[str], *, overwrite: bool = False
) -> None:
    """Writes the constituents of sentences as brackets, one tree per line, atomically.

    Raises:
        ValueError: If a sentence has no constituents, or a word cannot be written; the message has the number
            of the sentence. Or if the file is there and not empty, and :obj:`overwrite` is not set.
    """
    with (
        typed_path(path, overwrite=overwrite) as temporary,
        open(temporary, "w", encoding="utf-8", newline="\n") as file,
    ):
        for number, sentence in enumerate(sentences, start=1):
            try:
                file.write(format_ptb(sentence) + "\n")
            except ValueError as error:
                raise ValueError(f"sentence {number}: {error}") from None


def _joined(trees: list[Bracketed], sentences: Sequence[Sentence] | None, path: str) -> list[Sentence]:
    if not trees:
        raise PtbError("no tree", path, 1)
    if sentences is None:
        return [_chain(tree) for tree in trees]
    if len(trees) != len(sentences):
        line = trees[min(len(trees) - 1, len(sentences))].line
        raise PtbError(f"{len(trees)} trees for {len(sentences)} sentences", path, line)
    joined = []
    for number, (tree, sentence) in enumerate(zip(trees, sentences), start=1):
        if fault := _other_words(tree, sentence, number):
            raise PtbError(fault[0], path, tree.line, fault[1])
        joined.append(dataclasses.replace(sentence, constituents=tree.constituents))
    return joined


def _other_words(tree: Bracketed, sentence: Sentence, number: int) -> tuple[str, str] | None:
    """The difference between the words of a tree and those of its sentence, and the words concerned."""
    if len(tree.form) != len(sentence):
        words = " ".join(tree.form)
        return f"a tree of {len(tree.form)} words for sentence {number}, of {len(sentence)}", words
    for place, (one, other) in enumerate(zip(tree.form, sentence.form), start=1):
        if plain_words(one).casefold() != plain_words(other).casefold():
            what = f"word {place} of the tree of sentence {number} is not {other!r}, as in the sentence"
            return what, one
    return None


def _chain(tree: Bracketed) -> Sentence:
    tags = None if set(tree.tag) == {"_"} else tree.tag
    return dataclasses.replace(Sentence.chain(tree.form), xpos=tags, constituents=tree.constituents)
