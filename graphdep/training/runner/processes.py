"""Several processes that train one model."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch.distributed as dist
from lightning.fabric.plugins.environments import (
    LightningEnvironment,
    SLURMEnvironment,
    TorchElasticEnvironment,
)
from lightning.pytorch.strategies import DDPStrategy

from graphdep.io.limits import check_whole
from graphdep.io.process import end_with_parent

# The others wait while the first one scores, however long that takes.
_PATIENCE = timedelta(days=30)
_STRATEGIES = ("auto", "ddp")
_STARTED_BY = "GRAPHDEP_STARTED_BY"


@dataclass(frozen=True)
class Processes:
    """How many processes train one model, each on a device of its own, and which of them this is.

    On one machine the first process starts the others, which run the same command. Over several machines a
    launcher starts them all, ``torchrun`` or Slurm's ``srun``, or one command a machine with Lightning's
    ``MASTER_ADDR``, ``MASTER_PORT`` and ``NODE_RANK``.

    Args:
        devices: Processes a machine. (default: :obj:`1`)
        nodes: Machines. (default: :obj:`1`)
        strategy: ``"auto"`` or ``"ddp"``, which several processes have in any case: each computes the
            gradients of a part of every batch, and all have their sum. (default: ``"auto"``)

    Raises:
        ValueError: If a number is below 1, there is no such strategy, or it is for several and there is one.

    Example:
        >>> from graphdep.training.runner.processes import Processes
        >>> Processes().first, Processes(devices=2, nodes=4).count
        (True, 8)
    """

    devices: int = 1
    nodes: int = 1
    strategy: str = "auto"

    def __post_init__(self) -> None:
        check_whole("devices", self.devices)
        check_whole("nodes", self.nodes)
        if self.strategy not in _STRATEGIES:
            raise ValueError(f"'strategy' must be one of {', '.join(_STRATEGIES)} (got {self.strategy!r})")

    @property
    def count(self) -> int:
        return self.devices * self.nodes

    @property
    def rank(self) -> int:
        """The number of this process, as its launcher says it: known before they have met."""
        if self.count == 1:
            return 0
        for launcher in (TorchElasticEnvironment, SLURMEnvironment):
            if launcher.detect():
                return launcher().global_rank()
        return LightningEnvironment().node_rank() * self.devices + LightningEnvironment().local_rank()

    def check_precision(self, precision: str) -> None:
        """Raises :class:`ValueError` where each process would find out for itself what is fast."""
        if self.count > 1 and precision == "auto":
            raise ValueError(
                f"'precision' must be said where {self.count} processes train, such as 32-true or "
                "bf16-mixed (got 'auto')"
            )

    def end_with_first(self) -> None:
        """Lets this process end, whatever it is doing, when the one that started it is gone, or was before
        this one knew: one that waits for others to meet would wait for days. A launcher ends its processes
        itself.
        """
        if self.count == 1 or TorchElasticEnvironment.detect() or SLURMEnvironment.detect():
            return
        if LightningEnvironment().local_rank() == 0:
            os.environ[_STARTED_BY] = str(os.getpid())  # for those that it starts
        elif _STARTED_BY in os.environ:
            end_with_parent(int(os.environ[_STARTED_BY]))

    @property
    def first(self) -> bool:
        """Whether this process writes the files and tells how far the run is."""
        return self.rank == 0

    def trainer_options(self) -> dict[str, Any]:
        """What Lightning's trainer has to know. Batches are parted by
        :class:`~graphdep.training.family.shared_batches.SharedBatches`.
        """
        if self.count == 1:
            return {"devices": 1, "plugins": [LightningEnvironment()]}
        # A batch may have no arc of some kind, whose parameters then have no gradient.
        strategy = DDPStrategy(find_unused_parameters=True, timeout=_PATIENCE)
        shared = {"strategy": strategy, "use_distributed_sampler": False}
        return {"devices": self.devices, "num_nodes": self.nodes, **shared}

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """All processes that have met leave this when the last one is done: what comes next is of all of
        them. One with an error leaves at once, since others may wait for it where they never come here.
        """
        yield
        if self.count > 1 and dist.is_initialized():
            dist.barrier()
