"""A context and its candidates, as a raw file has them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from graphdep.parsing import Parser
from graphdep.parsing.parser import Item, parse_joined
from graphdep.sentence import Sentence, join_sentences

# The parts of an utterance: raw texts that a parser splits into words, or words that are given. Each is
# parsed on its own, and all of them are one tree. No part: an utterance without words.
Utterance = tuple[Item, ...]


@dataclass(frozen=True)
class Pool:
    """One context and the candidates for its response, in the order of the raw file.

    Args:
        context: Its utterances, oldest first.
        candidates: The responses.
        labels: 1 for a right response, else 0.
        counts: What a corpus counts in its pools, by name. (default: nothing)
    """

    context: tuple[Utterance, ...]
    candidates: tuple[Utterance, ...]
    labels: tuple[int, ...]
    counts: dict[str, int] = field(default_factory=dict)


def utterance(*parts: str) -> Utterance:
    """An utterance of raw texts; blank ones are left out."""
    return tuple(part for part in map(str.strip, parts) if part)


def given_words(*parts: str) -> Utterance:
    """An utterance of texts whose words are those that white space separates; blank ones are left out."""
    return tuple(words for part in parts if (words := tuple(part.split())))


def key_of(utterance: Utterance) -> bytes:
    """Sixteen bytes that tell utterances apart."""
    return hashlib.blake2b(json.dumps(utterance).encode("ascii"), digest_size=16).digest()


def parse_utterances(parser: Parser, utterances: Sequence[Utterance]) -> tuple[list[Sentence | None], int]:
    """The words of an utterance with their trees, :obj:`None` for one without words.

    Where an utterance has several sentences, each keeps its root, as in the parse of a whole text: depths, of
    which Eq. 4 of "Syntax-Informed Attention" is made, are those in the sentence.

    Returns:
        The trees, and how many parts have a chain instead of a parse.
    """
    parts = [part for utterance in utterances for part in utterance]
    texts, failures = parse_joined(parser, [part for part in parts if isinstance(part, str)], roots="all")
    before = parser.failures
    words = parser.parse_words([part for part in parts if not isinstance(part, str)])
    trees = {True: iter(texts), False: iter(words)}
    joined = [
        join_sentences([next(trees[isinstance(part, str)]) for part in utterance], roots="all")
        if utterance
        else None
        for utterance in utterances
    ]
    return joined, failures + parser.failures - before
