"""Tagged words as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

# Words with their tags.
Tagged = Sequence[tuple[str, str]]
PAD, UNKNOWN = 0, 1
_FIRST = 2
_MAX_CHARACTERS = 20


class SpanBatch(NamedTuple):
    """What the network reads of some sentences.

    Args:
        words, tags: Ids, ``[sentences, longest]``.
        forms: Row of each word in :obj:`characters`, ``[sentences, longest]``.
        characters: Ids of the characters of each different form, ``[forms, 22]``.
        lengths: Words of each sentence, ``[sentences]``.
    """

    words: Tensor
    tags: Tensor
    forms: Tensor
    characters: Tensor
    lengths: Tensor


class SpanInputs:
    """Ids of words, lower-cased, of tags and of characters; 0 is padding, 1 what is not known.

    Of a word of more than 20 characters the first and the last ten are read.

    Args:
        words, characters, tags: Those that are known, in the order of their ids.
    """

    def __init__(self, words: Sequence[str], characters: Sequence[str], tags: Sequence[str]) -> None:
        self.words, self.characters, self.tags = (
            {name: number for number, name in enumerate(names, start=_FIRST)}
            for names in (words, characters, tags)
        )

    def __call__(self, sentences: Sequence[Tagged]) -> SpanBatch:
        longest = max(map(len, sentences))
        words, tags, forms = (np.zeros((len(sentences), longest), dtype=np.int64) for _ in range(3))
        rows: dict[str, int] = {}
        for row, sentence in enumerate(sentences):
            for place, (word, tag) in enumerate(sentence):
                words[row, place] = self.words.get(word.lower(), UNKNOWN)
                tags[row, place] = self.tags.get(tag, UNKNOWN)
                forms[row, place] = rows.setdefault(word, len(rows))
        lengths = torch.tensor([len(sentence) for sentence in sentences])
        return SpanBatch(
            words=torch.from_numpy(words),
            tags=torch.from_numpy(tags),
            forms=torch.from_numpy(forms),
            characters=torch.from_numpy(self._spelling([*rows])),
            lengths=lengths,
        )

    def _spelling(self, forms: Sequence[str]) -> np.ndarray:
        # As wide for each batch, for padding counts in the convolution: a tree must not depend on its batch.
        spelling = np.zeros((len(forms), _MAX_CHARACTERS + 2), dtype=np.int64)
        for row, form in enumerate(forms):
            if len(form) > _MAX_CHARACTERS:
                form = form[: _MAX_CHARACTERS // 2] + form[-_MAX_CHARACTERS // 2 :]
            spelling[row, : len(form)] = [self.characters.get(one, UNKNOWN) for one in form]
        return spelling
