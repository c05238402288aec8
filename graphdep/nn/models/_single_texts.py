"""The texts of examples, read each on its own by a pretrained encoder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.utils import cumsum, scatter

from graphdep.data import NodeType
from graphdep.transforms import resolve

Pieces = tuple[int, ...]
_BATCH = 64
_COMPLETE = resolve("transformer", implicit=True)


def text_of(data: Data) -> tuple[Tensor, Tensor]:
    """The text of every node, a segment of an example, counted over the whole batch ``[num_nodes]``; and how
    many texts each example has.
    """
    batch = data.get("batch")
    example = torch.zeros_like(data.segment) if batch is None else batch
    count = 1 + scatter(data.segment, example, reduce="max")
    return cumsum(count)[example] + data.segment, count


def texts_of(data: Data) -> list[Pieces]:
    """The pieces of the words of each text, of an example or a batch."""
    text, count = text_of(data)
    words = (data.node_type == NodeType.WORD) & (data.word >= 0)
    sizes = torch.bincount(text[words], minlength=int(count.sum())).tolist()
    return [tuple(pieces.tolist()) for pieces in data.input_ids[words].split(sizes)]


def read_texts(encoder: Any, texts: Sequence[Pieces]) -> Iterator[tuple[int, Tensor]]:
    """The number of each text and the states of its nodes, [CLS] and [SEP] among them, on the CPU; short
    texts first. The encoder (:class:`~graphdep.nn.pretrained.PretrainedEncoder`) stays in its mode.
    """
    order = sorted(range(len(texts)), key=lambda row: len(texts[row]))
    training = encoder.training
    encoder.eval()
    try:
        for start in range(0, len(order), _BATCH):
            some = order[start : start + _BATCH]
            yield from zip(some, _read(encoder, [texts[row] for row in some]))
    finally:
        encoder.train(training)


def _read(encoder: Any, texts: list[Pieces]) -> tuple[Tensor, ...]:
    """The states of the nodes of each text."""
    tokens = encoder.tokens
    batch = Batch.from_data_list([_example([tokens.cls_id, *text, tokens.sep_id]) for text in texts])
    x = encoder(_COMPLETE(batch.to(encoder.model.device))).float().cpu()
    return x.split(batch.ptr.cpu().diff().tolist())


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
