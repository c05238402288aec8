"""The parse of one text, with what went wrong."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from graphdep.sentence import FLAT, Sentence

_CHAIN_TREE = "# chain_tree ="
_FLAT_TREE = "# flat_tree ="


@dataclass(frozen=True)
class Parsed:
    """The sentences of one text, and why some of them are chains, if they are.

    Args:
        sentences: The sentences, in order.
        failure: Why at least one sentence got a chain tree. (default: :obj:`None`)
        final: Whether parsing again would give the same; not so after an error such as a time-out, so
            that the result is not kept in a cache. (default: :obj:`True`)
    """

    sentences: list[Sentence]
    failure: str | None = None
    final: bool = True


def column(values: Sequence[str | None]) -> list[str] | None:
    """A column as :func:`~graphdep.io.read_conllu` gives it: :obj:`None` if it says nothing."""
    return (
        [value or "_" for value in values] if any(value not in (None, "", "_") for value in values) else None
    )


def is_chain_tree(sentence: Sentence) -> bool:
    """Whether a parser failed on the sentence (:func:`chain_sentence`)."""
    return any(comment.startswith(_CHAIN_TREE) for comment in sentence.comments)


def chain_sentence(form: Sequence[str], reason: str, like: Sentence | None = None) -> Sentence:
    """:meth:`Sentence.chain` with the reason as a comment, and the other columns of ``like`` if given."""
    chain = Sentence.chain(form)
    comments = [*(like.comments if like else []), f"{_CHAIN_TREE} {' '.join(reason.split())}"]
    if like is None:
        return dataclasses.replace(chain, comments=comments)
    return dataclasses.replace(like, head=chain.head, deprel=chain.deprel, comments=comments)


def flat_sentence(sentence: Sentence, reason: str) -> Sentence:
    """The sentence with one constituent ``X`` over all of its words, and the reason as a comment."""
    comments = [*sentence.comments, f"{_FLAT_TREE} {' '.join(reason.split())}"]
    return dataclasses.replace(sentence, comments=comments, constituents=[(FLAT, 0, len(sentence))])
