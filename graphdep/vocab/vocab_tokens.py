"""Ids of words from a vocabulary of our own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from graphdep.vocab.pieces import PieceVocab
from graphdep.vocab.words import CLS_ID, EOU_ID, SEP_ID, Vocab


class VocabTokens:
    """The ids of a :class:`~graphdep.Vocab` (one a word) or of a :class:`~graphdep.vocab.pieces.PieceVocab`.

    A word such as ``[SEP]`` in a text is a word as any other and never gets the special id.

    Args:
        vocab: The vocabulary.

    Example:
        >>> from graphdep import Vocab
        >>> from graphdep.vocab import VocabTokens
        >>> tokens = VocabTokens(Vocab(["She", "sings"]))
        >>> tokens.encode(["She", "sings", "[SEP]"]), tokens.cls_id, tokens.sep_id, tokens.eou_id
        ([[5], [6], [0]], 2, 3, 4)
    """

    def __init__(self, vocab: Vocab) -> None:
        self.vocab = vocab
        self.cls_id, self.sep_id, self.eou_id = CLS_ID, SEP_ID, EOU_ID
        state = json.dumps(vocab.state_dict(), sort_keys=True)
        self.fingerprint = hashlib.sha256(state.encode()).hexdigest()[:16]

    def encode(self, words: Sequence[str]) -> list[list[int]]:
        """The ids of each word's pieces."""
        if isinstance(self.vocab, PieceVocab):
            return [self.vocab.encode(word) for word in words]
        return [[self.vocab.id_of(word)] for word in words]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.vocab!r})"
