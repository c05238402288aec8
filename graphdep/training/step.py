"""One training step, and the losses of an epoch: nothing of it waits for the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn


class LossSums:
    r"""The mean losses of an epoch by name, :math:`\sum_b w_b \ell_b / \sum_b w_b` over its batches. The sums
    are kept where the losses are, always in the same memory, and read once by :meth:`read`.

    Example:
        >>> import torch
        >>> from graphdep.training.step import LossSums
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
            name: The name of the loss.
            loss: The loss, a mean.
            weight: The number :math:`w_b` of items that it is a mean over.
        """
        if name not in self.sums:
            self.sums[name] = loss.new_zeros((), dtype=_sum_dtype(loss)), loss.new_zeros((), dtype=torch.long)
        total, weights = self.sums[name]
        total.add_(loss.detach() * weight)
        weights.add_(weight)

    def watch(self, name: str) -> None:
        """Counts a batch in :attr:`finite` unless the loss of this name was not finite in it or before."""
        total = self.sums[name][0]
        if self._finite is None:
            self._finite = torch.zeros_like(total, dtype=torch.long)
        # An infinity or NaN stays in a sum. torch.isfinite launches two kernels more.
        self._finite.add_((total - total) == 0)

    @property
    def finite(self) -> int:
        """The number of batches before the first whose watched loss was not finite; reads the device."""
        return 0 if self._finite is None else int(self._finite)

    def read(self) -> dict[str, float]:
        """The mean of each loss, over the items of all processes, which must have added the same losses."""
        if not self.sums:
            return {}
        sums = torch.stack([part.double() for pair in self.sums.values() for part in pair])
        if dist.is_available() and dist.is_initialized():
            dist.all_reduce(sums)
        pairs = zip(self.sums, sums.view(-1, 2).tolist())
        return {name: total / weights if weights else 0.0 for name, (total, weights) in pairs}

    def reset(self) -> None:
        """Starts an epoch."""
        for part in (*(part for pair in self.sums.values() for part in pair), self._finite):
            if part is not None:
                part.zero_()


def _sum_dtype(loss: Tensor) -> torch.dtype:
    return torch.promote_types(loss.dtype, torch.float)


class TrainingStep:
    """A step of the training: gradients of a batch's loss, their clipping and the update of the weights.

    It calls nothing but PyTorch, and reads nothing from the device.

    Args:
        loss: The loss of a batch. It is called under the autocast of the caller; the other parts of the step
            are not.
        optimizer: The optimizer.
        clip: The most that the norm of all gradients together may be; :obj:`None` for any norm. (default:
            :obj:`None`)
        scaler: Scales a loss in half precision, whose gradients would vanish; reads the device.
            (default: :obj:`None`)

    Example:
        >>> import torch
        >>> from graphdep.training.step import TrainingStep
        >>> weight = torch.ones(1, requires_grad=True)
        >>> step = TrainingStep(lambda x: (weight * x).sum(), torch.optim.SGD([weight], lr=0.1), clip=1.0)
        >>> step(torch.tensor([3.0]))
        tensor(3.)
        >>> weight
        tensor([0.9000], requires_grad=True)
    """

    def __init__(
        self,
        loss: Callable[[Any], Tensor],
        optimizer: torch.optim.Optimizer,
        *,
        clip: float | None = None,
        scaler: torch.amp.GradScaler | None = None,
    ) -> None:
        self.loss, self.optimizer, self.clip, self.scaler = loss, optimizer, clip, scaler

    def __call__(self, batch: Any) -> Tensor:
        """Takes the step of a batch, and returns its loss."""
        self.zero_grad()
        loss = self.loss(batch)
        # Gradients have the types of what the forward pass made.
        with torch.autocast(loss.device.type, enabled=False):
            self.backward(loss)
            self.update()
        return loss.detach()

    def zero_grad(self) -> None:
        """Frees the gradients of the step before."""
        for weight in self.weights():  # optimizer.zero_grad() tells profilers, which takes longer
            weight.grad = None

    def backward(self, loss: Tensor) -> None:
        """Computes the gradients."""
        (loss if self.scaler is None else self.scaler.scale(loss)).backward()

    def update(self) -> None:
        """Clips the gradients, and updates the weights."""
        if self.scaler is not None:
            self.scaler.unscale_(self.optimizer)
        self.clip_grad()
        if self.scaler is None:
            self.optimizer.step()
        else:
            self.scaler.step(self.optimizer)
            self.scaler.update()

    def clip_grad(self) -> None:
        """Brings the norm of the gradients to :obj:`clip` at most."""
        if self.clip is not None:
            nn.utils.clip_grad_norm_(self.weights(), self.clip)

    def weights(self) -> list[Tensor]:
        """What the optimizer updates, to which callbacks may add."""
        return [weight for group in self.optimizer.param_groups for weight in group["params"]]
