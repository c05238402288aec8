"""What gives words their ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Tokens(Protocol):
    """Ids of words and of the nodes between them; see :class:`~graphdep.vocab.VocabTokens` and
    :class:`~graphdep.vocab.SubwordTokens`.

    Attributes:
        cls_id: Id of [CLS], before an example.
        sep_id: Id of [SEP], after the context and after the response.
        eou_id: Id of [EOU], after each utterance of the context.
        fingerprint: Digest of all that the ids depend on.
    """

    cls_id: int
    sep_id: int
    eou_id: int
    fingerprint: str

    def encode(self, words: Sequence[str]) -> list[list[int]]:
        """The ids of each word's pieces, at least one a word; none of them is an id of the above."""
        ...
