"""Complete graphs of equal size: PyTorch's fused attention on a view, without a copy."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def whole_attention(query: Tensor, key: Tensor, value: Tensor, nodes: int, dropout_p: float) -> Tensor:
    """Attention among each run of so many nodes; ``[num_nodes, heads, d]`` all."""
    q, k, v = (x.to(query.dtype).unflatten(0, (-1, nodes)).transpose(1, 2) for x in (query, key, value))
    with torch.autocast(query.device.type, enabled=False):  # as the other backends: states keep their dtype
        out = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout_p)
    return out.transpose(1, 2).flatten(0, 1)


def serves_whole(query: Tensor, dropout_p: float) -> bool:
    """Whether that is fused and not slower than padded blocks."""
    # On a CPU with dropout PyTorch writes all steps out.
    return dropout_p == 0 or query.is_cuda
