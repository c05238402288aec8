"""A pair as the dialogue that further examples are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from graphdep.data import EncodedUtterance


class Dialogue(NamedTuple):
    """The utterances of a pair that have words.

    Args:
        context: Those before the response.
        response: The candidate, a list of one utterance, or of none if it has no words.
        right: Whether it is a right response.
        whole: The context with the utterances that have no words, which are turns of somebody, too.
    """

    context: list[EncodedUtterance]
    response: list[EncodedUtterance]
    right: bool
    whole: Sequence[EncodedUtterance]

    @classmethod
    def of(cls, context: Sequence[EncodedUtterance], response: EncodedUtterance, right: bool) -> Dialogue:
        with_words = [turn for turn in context if turn.num_words]
        return cls(with_words, [response] if response.num_words else [], right, context)

    @property
    def turns(self) -> list[EncodedUtterance]:
        """What was really said: the context, and the response if it is a right one."""
        return [*self.context, *(self.response if self.right else [])]
