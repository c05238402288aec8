"""Sentences of English EWT: words and trees of the treebank, and PropBank's skeletons of the same text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from graphdep.datasets.labels.propbank.propbank_skeletons import SkeletonSentence, read_skeletons
from graphdep.io import parse_ptb, read_conllu
from graphdep.sentence import Sentence

SKELETON, TREEBANK = ".gold_skel", ".conllu"
_SENT_ID = re.compile(r"(?P<genre>[^-]+)-(?P<document>.+)-(?P<number>[0-9]{1,9})")


@dataclass(frozen=True)
class EWTSentence:
    """A sentence that both have.

    Args:
        tree: Words and tree.
        skeleton: Predicates and arguments, of as many tokens.
        path: The skeleton's file.
    """

    tree: Sentence
    skeleton: SkeletonSentence
    path: Path

    @cached_property
    def bracketed(self) -> Sentence:
        """The tree with the constituents of the skeleton, which has their brackets but not the words.

        Raises:
            PtbError: If the brackets are no tree.
        """
        words = (form.replace("(", "-LRB-").replace(")", "-RRB-") for form in self.tree.form)
        pieces = zip(self.skeleton.parse, self.skeleton.tags, words)
        text = " ".join(piece.replace("*", f" ({tag} {word}) ") for piece, tag, word in pieces)
        place = f"{self.path}:{self.skeleton.line}"
        return parse_ptb(text, name=place, sentences=[self.tree])[0]


@dataclass
class LeftOut:
    """What one of them has alone, or with another number of tokens.

    Args:
        names: A line a sentence: its ``sent_id``, and what is wrong.
        predicates: How many predicates these sentences have.
    """

    names: list[str] = field(default_factory=list)
    predicates: int = 0

    def add(self, name: str, words: int | None, skeleton: SkeletonSentence | None) -> None:
        """Notes a sentence of so many words, with a skeleton or without one."""
        treebank = "not in the treebank" if words is None else f"{words} words"
        tokens = "no skeleton" if skeleton is None else f"{len(skeleton)} tokens in the skeleton"
        self.names.append(f"{name} ({treebank}, {tokens})")
        self.predicates += 0 if skeleton is None else len(skeleton.predicates)


def read_ewt(treebank: Sequence[Path], skeletons: Sequence[Path]) -> tuple[list[EWTSentence], LeftOut]:
    """The sentences of some files of the treebank that have a skeleton of as many tokens, in their order, and
    what is left out.

    ``GENRE-DOCUMENT-NUMBER`` of a ``sent_id``, counted from 1, is sentence ``NUMBER - 1`` of
    ``DOCUMENT.xml.gold_skel``. Only documents that the treebank's files have are read.

    Raises:
        graphdep.ConlluError, ValueError: If a file is damaged, a sentence has no such ``sent_id`` or has that
            of another, with file and value.
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
    """The sentences with their ``sent_id``, and its three parts."""
    first: dict[str, str] = {}
    for path in treebank:
        for number, tree in enumerate(read_conllu(path), start=1):
            place, name = f"{path}: sentence {number}", _sent_id(tree)
            parts = _SENT_ID.fullmatch(name)
            if parts is None or int(parts["number"]) == 0:
                raise ValueError(f"{place}: sent_id must be GENRE-DOCUMENT-NUMBER, from 1 (got {name!r})")
            if name in first:
                raise ValueError(f"{place}: sent_id is that of another, {first[name]} (got {name!r})")
            first[name] = place
            yield name, parts["genre"], parts["document"], int(parts["number"]), tree


def _sent_id(tree: Sentence) -> str:
    for comment in tree.comments:
        key, _, value = comment.lstrip("#").partition("=")
        if key.strip() == "sent_id":
            return value.strip()
    return ""
