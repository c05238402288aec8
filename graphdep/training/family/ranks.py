"""A split that several processes share: its rows from all of them."""

from __future__ import annotations

from itertools import chain
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.utils.data import DistributedSampler, SequentialSampler


def gather_rows(rows: tuple[Tensor, ...], number: Tensor | None) -> tuple[Tensor, ...]:
    """The rows of a whole split, the same in every process, from those that each process has.

    A ``DistributedSampler`` gives all processes equally many examples: where the split is not a multiple, the
    first ones are repeated. So each process says of which examples its rows are. Every example counts once,
    by the rows of the first process that has it, and the rows come in the order of the examples, as one
    process has them.

    Args:
        rows: What this process has: tensors with one size in their first dimension, which may be another one
            in each process.
        number: The example of each row in the split ``[num_rows]``; :obj:`None` in any process where that is
            not known: then all rows of all processes are taken, one process after the other.
    """
    parts: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(parts, (rows, number))
    parts = [part for part in parts if part[0]]  # a process may have no batch at all
    joined = tuple(torch.cat(columns) for columns in zip(*(columns for columns, _ in parts)))
    if any(numbers is None for _, numbers in parts):
        return joined
    numbers = torch.cat([numbers for _, numbers in parts])
    process = torch.cat([torch.full_like(numbers, place) for place, (_, numbers) in enumerate(parts)])
    first = torch.full((int(numbers.max()) + 1,), len(parts)).scatter_reduce(0, numbers, process, "amin")
    kept = (process == first[numbers]).nonzero().view(-1)
    kept = kept[numbers[kept].argsort(stable=True)]
    return tuple(column[kept] for column in joined)


def mean_of_processes(loss: Tensor, items: float, examples: int) -> tuple[Tensor, Tensor, int]:
    r"""A loss that is a mean over items, from those of all processes: as one process has it of all items.

    .. math::
        \ell = \frac{\sum_r n_r \ell_r}{\sum_r n_r}

    DDP averages the gradients of :math:`R` processes, so that each has to take those of
    :math:`R\, n_r \ell_r / \sum_r n_r`.

    Args:
        loss: The mean :math:`\ell_r` of this process.
        items: The number :math:`n_r` of its items; 0 where what it has does not count.
        examples: Its examples that count.

    Returns:
        What to take gradients of, :math:`\ell`, and the examples of all processes.
    """
    own = loss.detach().double()
    total = torch.stack([own * items, own.new_tensor(items), own.new_tensor(examples)])
    dist.all_reduce(total)
    whole, number, together = total.tolist()
    share = dist.get_world_size() * items / max(number, 1.0)
    return loss * share, loss.new_tensor(whole / max(number, 1.0)), int(together)


def example_numbers(loader: Any, seen: list[Tensor]) -> Tensor | None:
    """The numbers in the split of examples that were counted as a loader gave them.

    Args:
        loader: The loader of this process.
        seen: Numbers of examples in the order of the loader, from 0, batch by batch.

    Returns:
        All of them in one tensor; :obj:`None` unless the loader's order is one that it has each time.
    """
    batches = getattr(loader, "batch_sampler", None)
    if not isinstance(getattr(batches, "sampler", None), SequentialSampler | DistributedSampler):
        return None
    assert batches is not None
    number = torch.tensor([*chain.from_iterable(batches)])
    return torch.cat([number[some] for some in seen]) if seen else number[:0]
