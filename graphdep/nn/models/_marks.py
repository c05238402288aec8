"""What marks on words add to the input of an encoder."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.data import Data


def make_marks(there: nn.Embedding | None, number: int, channels: int) -> nn.Embedding:
    """An embedding of marks, whose first vector is zeros and stays so.

    Raises:
        ValueError: If there is one already, or :obj:`number` is below 2.
    """
    if there is not None:
        raise ValueError(f"the encoder has an embedding of marks already: {there}")
    if number < 2:
        raise ValueError(f"'number' must be at least 2: no mark, and one (got {number})")
    marks = nn.Embedding(number, channels, padding_idx=0)
    reset_marks(marks)
    return marks


def reset_marks(marks: nn.Embedding) -> None:
    """Draws the vectors of marks; that of no mark is zeros."""
    nn.init.normal_(marks.weight, std=marks.embedding_dim**-0.5)
    with torch.no_grad():
        marks.weight[0].zero_()


def marks_of(data: Data, marks: nn.Embedding) -> Tensor:
    """The vectors of the marks of all nodes: ``[N, C]``.

    Raises:
        ValueError: If the data has no ``mark`` or not one a node, or one that has no vector.
    """
    if "mark" not in data:
        raise ValueError("the data has no 'mark': call graphdep.data.node_table(data, marks)")
    mark = data.mark
    if mark.shape != data.input_ids.shape:
        raise ValueError(f"'mark' must be of shape {[*data.input_ids.shape]} (got {[*mark.shape]})")
    # Elsewhere a look would stall the device, and in a compiled model break its graph.
    if mark.device.type == "cpu" and mark.numel() and not torch.compiler.is_compiling():
        low, high = (int(x) for x in mark.aminmax())
        if low < 0 or high >= marks.num_embeddings:
            wrong = low if low < 0 else high
            raise ValueError(f"'mark' must be from 0 to {marks.num_embeddings - 1} (got {wrong})")
    return marks(mark)
