"""Dropout with faster random numbers on a CPU."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

_STEPS = 2**15


class Dropout(nn.Dropout):
    r"""A faster :class:`torch.nn.Dropout` on a CPU, where drawing takes longer than most matrix products of a
    small model.

    .. math::
        y_i = \frac{m_i}{q} \, x_i, \qquad m_i = [u_i < 2^{15} q], \qquad
        q = \frac{\lfloor 2^{15} (1 - p) \rceil}{2^{15}}

    where the :math:`u_i` are 15 bits of random 64-bit numbers: an element is kept with probability :math:`1 -
    p` up to :math:`2^{-16}`, and the mean of :math:`y_i` is exactly :math:`x_i`. The numbers come from
    torch's generator, but differ from those of :class:`torch.nn.Dropout`. On other devices, under
    ``torch.compile`` and for tensors below 1,024 elements it equals :class:`torch.nn.Dropout`.

    Args:
        p: Probability to drop an element. (default: :obj:`0.5`)

    Shapes:
        - input, output: :math:`(*)`

    Raises:
        ValueError: If ``p`` is not between 0 and 1.

    Example:
        >>> import torch
        >>> from graphdep.nn.dropout import Dropout
        >>> dropout = Dropout(0.1)
        >>> bool((dropout(torch.ones(10_000)) > 0).float().mean().sub(0.9).abs() < 0.02)
        True
    """

    def forward(self, input: Tensor) -> Tensor:
        if not self.training or self.p == 0 or not _is_faster(input):
            return F.dropout(input, self.p, self.training)
        return input * scaled_mask(input, self.p)


def take_over_dropout(model: nn.Module) -> None:
    """Replaces every :class:`torch.nn.Dropout` of a model by :class:`Dropout`, in place."""
    for module in model.modules():
        if type(module) is nn.Dropout:
            module.__class__ = Dropout


def scaled_mask(like: Tensor, p: float) -> Tensor:
    """0 with probability :obj:`p`, else a factor that keeps the mean: :math:`m / q` of :class:`Dropout`, with
    the shape and type of :obj:`like`.
    """
    if p == 1.0:
        return torch.zeros_like(like)
    if not _is_faster(like):
        return torch.empty_like(like).bernoulli_(1 - p).div_(1 - p)
    kept = round(_STEPS * (1 - p))
    if kept == _STEPS:
        return torch.ones_like(like)
    parts = torch.empty((like.numel() + 3) // 4, dtype=torch.int64, device=like.device).random_(
        -(2**63), None
    )
    drawn = parts.view(torch.int16)[: like.numel()].view(like.shape).bitwise_and_(_STEPS - 1)
    # -1 for kept elements, else 0: a comparison takes longer than these three operations.
    keep = drawn.sub_(kept).bitwise_right_shift_(15)
    return keep.to(like.dtype).mul_(-_STEPS / max(kept, 1))


def _is_faster(tensor: Tensor) -> bool:
    return tensor.device.type == "cpu" and tensor.numel() >= 1024 and not torch.compiler.is_compiling()
