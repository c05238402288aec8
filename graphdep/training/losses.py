"""Mean losses of an epoch, summed on the device."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor


class LossSums:
    r"""The mean losses of an epoch by name, :math:`\sum_b w_b \ell_b / \sum_b w_b` over its batches. The sums
    stay on the device, always in the same memory, until :meth:`read`.

    Example:
        >>> import torch
        >>> from graphdep.training.losses import LossSums
        >>> losses = LossSums()
        >>> for loss, examples in ((1.0, 3), (2.0, 1)):
        ...     losses.add("train_loss", torch.tensor(loss), examples)
        >>> losses.read()
        {'train_loss': 1.25}
    """

    def __init__(self) -> None:
        self.sums: dict[str, tuple[Tensor, Tensor]] = {}
        """The weighted sum of each loss, and the sum of its weights."""
        self._finite: Tensor | None = None

    def add(self, name: str, loss: Tensor, weight: int | Tensor) -> None:
        r"""Adds the loss :math:`\ell_b` of a batch.

        Args:
            name: Name of the loss.
            loss: The loss, a mean over items.
            weight: The number :math:`w_b` of items.
        """
        if name not in self.sums:
            dtype = torch.promote_types(loss.dtype, torch.float)
            self.sums[name] = loss.new_zeros((), dtype=dtype), loss.new_zeros((), dtype=torch.long)
        total, weights = self.sums[name]
        total.add_(loss.detach() * weight)
        weights.add_(weight)

    def watch(self, name: str) -> None:
        """Counts a batch in :attr:`finite` if the loss of this name has been finite in all batches so far."""
        total = self.sums[name][0]
        if self._finite is None:
            self._finite = torch.zeros_like(total, dtype=torch.long)
        # Infinities and NaN stay in a sum. torch.isfinite would launch two more kernels.
        self._finite.add_((total - total) == 0)

    @property
    def finite(self) -> int:
        """The number of batches before the first whose watched loss is not finite; synchronizes."""
        return 0 if self._finite is None else int(self._finite)

    def read(self) -> dict[str, float]:
        """The mean of each loss over the items of all processes, which must have added the same losses."""
        if not self.sums:
            return {}
        sums = torch.stack([part.double() for pair in self.sums.values() for part in pair])
        if dist.is_available() and dist.is_initialized():
            dist.all_reduce(sums)
        pairs = zip(self.sums, sums.view(-1, 2).tolist())
        return {name: total / weights if weights else 0.0 for name, (total, weights) in pairs}

    @property
    def tensors(self) -> list[Tensor]:
        """All sums."""
        pairs = [part for pair in self.sums.values() for part in pair]
        return pairs if self._finite is None else [*pairs, self._finite]

    def reset(self) -> None:
        """Sets all sums to 0."""
        for part in self.tensors:
            part.zero_()
