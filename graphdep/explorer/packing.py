"""Pairs and weights as texts that take little room in a page."""

from __future__ import annotations

import base64
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

_STEPS = 65535  # of a weight between 0 and the largest one
_COARSE = 255


@dataclass(frozen=True)
class PackedPairs:
    """A set of pairs of nodes, row by row: the bits of a matrix, or row and column of each pair.

    Args:
        form: ``"bits"`` or ``"pairs"``.
        data: Base64 of bytes, the lowest bit first, or of little-endian 16-bit numbers.
        count: How many pairs there are.

    Example:
        >>> import torch
        >>> from graphdep.explorer.packing import pack_pairs
        >>> pack_pairs(torch.eye(3).bool())
        PackedPairs(form='bits', data='EQE=', count=3)
    """

    form: str
    data: str
    count: int


@dataclass(frozen=True)
class PackedWeights:
    """The weights of a layer.

    With ``top = 0`` there is one for each allowed pair and head, in steps of ``scale / 65535``. Else there
    are the ``top`` largest of each row and head, each with its column, in steps of ``scale / 255``; the
    others are left out.

    Args:
        heads: How many heads there are.
        scale: The largest weight.
        top: Weights a row, or 0 for all.
        values: Base64 of ``[heads, pairs]`` 16-bit numbers, or of ``[heads, rows, top]`` bytes.
        columns: Base64 of ``[heads, rows, top]`` 16-bit numbers. (default: none)

    Example:
        >>> import torch
        >>> from graphdep.explorer.packing import pack_weights
        >>> pack_weights(torch.eye(2)[None], torch.eye(2).bool(), room=100)
        PackedWeights(heads=1, scale=1.0, top=0, values='/////w==', columns='')
    """

    heads: int
    scale: float
    top: int
    values: str
    columns: str = ""


def pack_pairs(mask: Tensor) -> PackedPairs:
    """Packs a matrix of booleans ``[rows, columns]``, whichever way is the shorter."""
    count = int(mask.sum())
    if mask.numel() // 8 <= 4 * count:
        return PackedPairs(
            "bits", _text(np.packbits(mask.flatten().numpy(), bitorder="little").tobytes()), count
        )
    return PackedPairs("pairs", _text(mask.nonzero().numpy().astype("<u2").tobytes()), count)


def unpack_pairs(packed: PackedPairs, size: int) -> Tensor:
    """The matrix of booleans ``[size, size]`` that was packed."""
    data = base64.b64decode(packed.data)
    if packed.form == "bits":
        bits = np.unpackbits(np.frombuffer(data, "u1"), count=size * size, bitorder="little")
        return torch.from_numpy(bits.astype(bool)).view(size, size)
    matrix = torch.zeros(size, size, dtype=torch.bool)
    rows, columns = torch.from_numpy(np.frombuffer(data, "<u2").astype(np.int64)).view(-1, 2).t()
    matrix[rows, columns] = True
    return matrix


def pack_weights(alpha: Tensor, allowed: Tensor, room: int) -> PackedWeights:
    r"""Packs the weights of a layer.

    Args:
        alpha: Weights, not below 0.
        allowed: The pairs that may have a weight.
        room: Bytes that there are; where all weights take more, the largest ones of each row are kept.

    Shapes:
        - alpha: :math:`(H, N, N)`; allowed: :math:`(N, N)`
    """
    heads, rows, _ = alpha.shape
    scale = float(alpha.max()) if alpha.numel() else 0.0
    share = (alpha / scale if scale > 0 else alpha).double()
    count = int(allowed.sum())
    if 2 * heads * count <= room:
        steps = (share[:, allowed] * _STEPS).round().numpy().astype("<u2")
        return PackedWeights(heads, scale, 0, _text(steps.tobytes()))
    top = max(1, min(rows, room // max(1, 3 * heads * rows)))
    best = share.topk(top, dim=-1)
    steps = (best.values * _COARSE).round().numpy().astype("u1")
    columns = best.indices.numpy().astype("<u2")
    return PackedWeights(heads, scale, top, _text(steps.tobytes()), _text(columns.tobytes()))


def dense(pairs: Tensor, alpha: Tensor, size: int) -> tuple[Tensor, Tensor]:
    r"""The weights of a layer as matrices, and its pairs.

    Args:
        pairs: Source and target of each pair.
        alpha: The weight of each pair in each head.
        size: The number of nodes.

    Shapes:
        - pairs: :math:`(2, |\mathcal{E}|)`; alpha: :math:`(|\mathcal{E}|, H)`
        - outputs: :math:`(H, N, N)`, [head, target, source], and :math:`(N, N)`
    """
    source, target = pairs.cpu()
    matrix = torch.zeros(alpha.size(1), size, size)
    every = torch.arange(alpha.size(1))[:, None]
    matrix.index_put_((every, target, source), alpha.detach().t().float().cpu(), accumulate=True)
    allowed = torch.zeros(size, size, dtype=torch.bool)
    allowed[target, source] = True
    return matrix, allowed


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
