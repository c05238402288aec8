"""What an encoder of dialogues hands to a decoder."""

from __future__ import annotations

from dataclasses import dataclass, fields

from torch import Tensor


@dataclass(frozen=True, repr=False)
class Memory:
    """Encoded contexts, packed: the rows of one example after those of the other, without padding.

    A row may be a node, a word, an utterance or a whole context; the encoder decides.

    Args:
        x: States ``[num_rows, channels]``.
        ptr: Where the rows of each example start and end: ``[num_examples + 1]``.
        group: Number of each row's utterance inside its example, ascending, ``[num_rows]``; :obj:`None` where
            a row is more than a word or node. (default: :obj:`None`)

    Example:
        >>> import torch
        >>> from graphdep.nn.models import Memory
        >>> memory = Memory(torch.randn(5, 8), ptr=torch.tensor([0, 2, 5]))
        >>> memory, memory.num_examples
        (Memory(x=[5, 8], ptr=[3], group=None), 2)
    """

    x: Tensor
    ptr: Tensor
    group: Tensor | None = None

    @property
    def num_examples(self) -> int:
        return self.ptr.numel() - 1

    def __repr__(self) -> str:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        shapes = (f"{name}={None if x is None else [*x.shape]}" for name, x in values.items())
        return f"{type(self).__name__}({', '.join(shapes)})"
