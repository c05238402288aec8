"""What a pretrained encoder knows of texts before it is trained."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from graphdep.data import NodeType
from graphdep.transforms import resolve

if TYPE_CHECKING:
    from graphdep.nn.pretrained import PretrainedEncoder

POOLS = ("mean", "cls")
_BATCH = 64
_COMPLETE = resolve("transformer", implicit=True)


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
    rows = [[number.setdefault(text, len(number)) for text in _texts_of(data)] for data in examples]
    texts = [*number]
    order = sorted(range(len(texts)), key=lambda row: len(texts[row]))
    table = torch.zeros(len(texts), encoder.hidden_channels)
    training = encoder.training
    encoder.eval()
    try:
        for start in range(0, len(order), _BATCH):
            some = order[start : start + _BATCH]
            table[some] = _read(encoder, [texts[row] for row in some], pool)
    finally:
        encoder.train(training)
    return torch.nn.functional.normalize(table, dim=-1)[torch.tensor(rows)]


def _texts_of(data: Data) -> list[tuple[int, ...]]:
    """The pieces of the words of each text of an example."""
    words = (data.node_type == NodeType.WORD) & (data.word >= 0)
    segments = range(int(data.segment.max()) + 1)
    return [tuple(data.input_ids[words & (data.segment == part)].tolist()) for part in segments]


def _read(encoder: PretrainedEncoder, texts: Sequence[tuple[int, ...]], pool: str) -> Tensor:
    """A vector a text ``[num_texts, C]``."""
    tokens = encoder.tokens
    batch = Batch.from_data_list([_example([tokens.cls_id, *text, tokens.sep_id]) for text in texts])
    x = encoder(_COMPLETE(batch.to(encoder.model.device))).float().cpu()
    ptr = batch.ptr.cpu()
    if pool == "cls":
        return x[ptr[:-1]]
    return torch.stack([part.mean(dim=0) for part in x.split(ptr.diff().tolist())])


def _example(ids: list[int]) -> Data:
    """A text as one example, without edges."""
    nothing = torch.zeros(len(ids), dtype=torch.long)
    return Data(
        num_nodes=len(ids),
        input_ids=torch.tensor(ids),
        position=torch.arange(len(ids)),
        segment=nothing,
        node_type=torch.full_like(nothing, NodeType.WORD),
    )
