"""Which word pieces of an example are hidden, and what stands in their place."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

IGNORED = -100
"""Target of a node that is not asked for: :func:`torch.nn.functional.cross_entropy` leaves it out."""
# Of the pieces that are asked for: hidden, and hidden or replaced.
_HIDDEN, _CHANGED = 0.8, 0.9


@dataclass(frozen=True)
class Masking:
    r"""Masked words of "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding"
    (section 3.1).

    Each piece of a word is asked for with the probability :obj:`share`, whatever happens to the other pieces
    of its word. Of those that are, 80% become [MASK], 10% become a random piece, and 10% stay as they are.

    Args:
        mask_id: Id of [MASK].
        replacements: Ids of the pieces that may stand for another one; special ones do not belong there.
        share: Probability of a piece. (default: :obj:`0.15`)

    Raises:
        ValueError: If :obj:`share` is no probability, or there are no replacements.

    Example:
        >>> import random
        >>> import torch
        >>> from graphdep.datasets import Masking
        >>> masking = Masking(mask_id=4, replacements=range(10, 50), share=1.0)
        >>> ids, target = masking(torch.arange(10, 16), torch.arange(1, 4), random.Random(0))
        >>> ids.shape, target
        (torch.Size([6]), tensor([  10,   11,   12, -100, -100, -100]))
    """

    mask_id: int
    replacements: Sequence[int] = field(repr=False)
    share: float = 0.15

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise ValueError(f"'share' must be in 0 < share <= 1 (got {self.share})")
        if not self.replacements:
            raise ValueError("'replacements' is empty: a random piece is one of them")
        object.__setattr__(self, "replacements", tuple(self.replacements))  # so that it has a hash

    @classmethod
    def of_tokenizer(cls, tokenizer: Any, share: float = 0.15) -> Masking:
        """With the [MASK] and the pieces of a Hugging Face tokenizer.

        Raises:
            ValueError: If it has no [MASK].
        """
        if tokenizer.mask_token_id is None:
            raise ValueError(f"'tokenizer' has no mask token (got {type(tokenizer).__name__})")
        special = {*tokenizer.all_special_ids, *tokenizer.added_tokens_decoder}
        return cls(tokenizer.mask_token_id, [i for i in range(len(tokenizer)) if i not in special], share)

    def __call__(self, input_ids: Tensor, words: Tensor, source: random.Random) -> tuple[Tensor, Tensor]:
        r"""The ids with pieces hidden, and what they were.

        Args:
            input_ids: The ids.
            words: Which nodes are pieces of words; no other one is asked for.
            source: Chance; one draw a piece, and one more where it is replaced.

        Shapes:
            - input_ids, words: :math:`(|\mathcal{V}|)`, long and bool
            - outputs: :math:`(|\mathcal{V}|)`, long; targets are ``-100`` where nothing is asked for
        """
        ids = input_ids.tolist()
        target = [IGNORED] * len(ids)
        for node in words.nonzero().flatten().tolist():
            chance = source.random() / self.share
            if chance >= 1:
                continue
            target[node] = ids[node]
            if chance < _HIDDEN:
                ids[node] = self.mask_id
            elif chance < _CHANGED:
                ids[node] = self.replacements[int(source.random() * len(self.replacements))]
        return torch.tensor(ids, dtype=torch.long), torch.tensor(target, dtype=torch.long)
