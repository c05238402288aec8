"""What a pretrained encoder knows of texts before it is trained."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import scatter

from graphdep.data import NodeType
from graphdep.nn.models.transformer import read_texts, texts_of

if TYPE_CHECKING:
    from graphdep.nn.pretrained import PretrainedEncoder

POOLS = ("mean", "cls")


@torch.no_grad()
def frozen_vectors(encoder: PretrainedEncoder, examples: Iterable[Data], pool: str = "mean") -> Tensor:
    r"""The vectors of the texts of examples by an encoder as it is, of length 1.

    The encoder reads each text on its own, :math:`[\text{CLS}]\ x_1 \dots x_n\ [\text{SEP}]`, over all pairs
    of its nodes, and each different text once.

    Args:
        encoder: The encoder. It stays on its device and in its mode.
        examples: Examples of one or two segments, each a text: a sentence, a context or a response. What is
            cut of an example is not read here either.
        pool: ``"mean"`` over all nodes of the text, [CLS] and [SEP] among them, or the state of [CLS],
            ``"cls"``. (default: ``"mean"``)

    Shapes:
        - output: :math:`(N, T, C)`, :math:`T` texts an example, on the CPU

    Raises:
        ValueError: If :obj:`pool` is unknown.
    """
    if pool not in POOLS:
        raise ValueError(f"'pool' must be one of {', '.join(POOLS)} (got {pool!r})")
    number: dict[tuple[int, ...], int] = {}
    rows = [[number.setdefault(text, len(number)) for text in texts_of(data)] for data in examples]
    table = torch.zeros(len(number), encoder.hidden_channels)
    for row, x in read_texts(encoder, [*number]):
        table[row] = x[0] if pool == "cls" else x.mean(dim=0)
    return torch.nn.functional.normalize(table, dim=-1)[torch.tensor(rows)]


@torch.no_grad()
def frozen_words(encoder: PretrainedEncoder, examples: Iterable[Data]) -> list[Tensor]:
    r"""The states of the words of examples by an encoder as it is, each a mean over its pieces.

    The encoder reads each text as in :func:`frozen_vectors`; marks are no part of it.

    Args:
        encoder: The encoder. It stays on its device and in its mode.
        examples: Examples of one text.

    Returns:
        An example's :math:`(W, C)`, on the CPU; examples of equal texts share it.
    """
    number: dict[tuple[int, ...], int] = {}
    words: dict[int, Tensor] = {}
    rows = []
    for data in examples:
        (text,) = texts_of(data)
        rows.append(number.setdefault(text, len(number)))
        words[rows[-1]] = data.word[(data.node_type == NodeType.WORD) & (data.word >= 0)]
    found: dict[int, Tensor] = {}
    for row, x in read_texts(encoder, [*number]):
        found[row] = scatter(x[1:-1], words[row], dim=0, reduce="mean")
    return [found[row] for row in rows]
