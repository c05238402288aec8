"""The Lightning module of a task, and its batches."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, cast

import lightning as L
import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.utils.data import BatchSampler, DistributedSampler, Sampler, SequentialSampler
from torch_geometric.data import Batch
from torch_geometric.transforms import BaseTransform

from graphdep.metrics.metric import Metric
from graphdep.nn.attention.layout import attach_layout


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


class SharedBatches(Sampler[list[int]]):
    """The part of each batch that this process has: of a batch's examples every ``n``-th one, where there are
    ``n`` processes. Alone, or before they have met, a process has them all.

    Together they so have the batches of one process. One for which nothing is left, of a batch with fewer
    examples than processes, gets the first example, which then does not count (:meth:`counts`): all must
    take the same number of steps.

    Args:
        batches: The batches of one process.

    Example:
        >>> from torch.utils.data import BatchSampler
        >>> from graphdep.training.learning_task import SharedBatches
        >>> [*SharedBatches(BatchSampler(range(5), batch_size=2, drop_last=False))]
        [[0, 1], [2, 3], [4]]
    """

    def __init__(self, batches: BatchSampler | Sampler[list[int]]) -> None:
        self.batches = batches
        self._idle: set[int] = set()

    @property
    def sampler(self) -> Any:
        """The order of the examples, which Lightning tells the epoch."""
        return self.batches.sampler  # type: ignore[union-attr]

    def counts(self, number: int) -> bool:
        """Whether what this process had of a batch was its own."""
        return number not in self._idle

    def count(self, epochs: int) -> int:
        """The number of batches of all epochs, as of batches by tokens."""
        return int(self.batches.count(epochs))  # type: ignore[union-attr]

    def __iter__(self) -> Iterator[list[int]]:
        self._idle = set()
        many = dist.is_available() and dist.is_initialized()
        rank, count = (dist.get_rank(), dist.get_world_size()) if many else (0, 1)
        for number, batch in enumerate(self.batches):
            if len(batch) <= rank:
                self._idle.add(number)
            yield batch[rank::count] or batch[:1]

    def __len__(self) -> int:
        return len(self.batches)  # type: ignore[arg-type]


class TokenBatchSampler(Sampler[list[int]]):
    """Batches of examples in the order of a sampler, each with at most :obj:`max_tokens` tokens.

    An example that is larger than that is a batch of its own. How many batches there are depends on the
    order, and each epoch has its own. So this has no length: by that of the first epoch Lightning would end
    all epochs, and drop examples.

    Args:
        sampler: Gives the order of the examples; with ``set_epoch``, that of an epoch.
        sizes: Tokens of each example, ``[num_examples]``.
        max_tokens: Tokens a batch at most.
        max_examples: Examples a batch at most. (default: any number)

    Raises:
        ValueError: If a limit is below 1.
    """

    def __init__(
        self, sampler: Sampler[int], sizes: Tensor, max_tokens: int, max_examples: int | None = None
    ) -> None:
        for name, limit in (("max_tokens", max_tokens), ("max_examples", max_examples)):
            if limit is not None and limit < 1:
                raise ValueError(f"{name!r} must be at least 1 (got {limit})")
        self.sampler, self.sizes, self.max_tokens = sampler, sizes.tolist(), max_tokens
        self.max_examples = max_examples or len(self.sizes) or 1

    def __iter__(self) -> Iterator[list[int]]:
        batch: list[int] = []
        tokens = 0
        for example in self.sampler:
            full = len(batch) == self.max_examples
            if batch and (full or tokens + self.sizes[example] > self.max_tokens):
                yield batch
                batch, tokens = [], 0
            batch.append(example)
            tokens += self.sizes[example]
        if batch:
            yield batch

    def count(self, epochs: int) -> int:
        """The number of batches of all epochs."""
        set_epoch, now = getattr(self.sampler, "set_epoch", None), getattr(self.sampler, "epoch", 0)
        if set_epoch is None:
            return epochs * sum(1 for _ in self)
        total = 0
        for epoch in range(epochs):
            set_epoch(epoch)
            total += sum(1 for _ in self)
        set_epoch(now)
        return total

    def __repr__(self) -> str:
        limits = f"max_tokens={self.max_tokens}, max_examples={self.max_examples}"
        return f"{type(self).__name__}({len(self.sizes)} examples, {limits})"


Outputs = tuple[Tensor, ...]
MakeOptimizer = Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer]


class TrainingError(RuntimeError):
    """Training cannot go on, and the message says what may help."""


@dataclass(frozen=True)
class LinearSchedule:
    """A learning rate that rises linearly from 0 to its full value, and then falls linearly to 0 at the end.

    Args:
        warmup_steps: Updates until the full value.
        total_steps: Updates in all.
    """

    warmup_steps: int
    total_steps: int

    # SequentialLR of two LinearLR multiplies step by step, and so differs in the last digits from this.
    def __call__(self, step: int) -> float:
        """The factor of update ``step``, which counts from 0."""
        # The first update has a share, too: a rate of 0 would waste its batch.
        if step < self.warmup_steps:
            return (step + 1) / self.warmup_steps
        return max(0.0, (self.total_steps - step) / max(1, self.total_steps - self.warmup_steps))


class LearningTask(L.LightningModule, ABC):
    """Base of the tasks. Edges are derived batch by batch, on the device of the batch; they are never stored.

    A subclass sets :attr:`metrics` and defines :meth:`loss` for training, :meth:`outputs` for everything
    else, and :meth:`score` over the outputs of a whole split. ``trainer.fit`` scores the validation split
    after each epoch, ``trainer.test(task, loader)`` any other: metrics are logged as ``val_...`` and
    ``test_...``.

    Where several processes share a split (DDP), its scores are those of the whole split in each of them: see
    :func:`~graphdep.training.learning_task.gather_rows`.

    Args:
        model: The model.
        edges: Transform that builds the batch's edges, the tree control included.
        optimizer: Makes an optimizer of parameters. (default: AdaGrad with a learning rate of 1e-3)
        warmup_steps: Updates of :class:`LinearSchedule`'s rise; :obj:`None` for a constant learning rate.
            (default: :obj:`None`)
        seed: With the number of the epoch it decides that epoch's dropout, so that a resumed run goes on
            exactly as an uninterrupted one. (default: :obj:`0`)
    """

    metrics: tuple[Metric, ...]
    """The metrics of a split; the first decides which epoch is the best."""

    def __init__(
        self,
        model: nn.Module,
        edges: BaseTransform,
        optimizer: MakeOptimizer | None = None,
        *,
        warmup_steps: int | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.model, self.edges, self.seed = model, edges, seed
        self.make_optimizer, self.warmup_steps = optimizer, warmup_steps
        self.val_scores: dict[str, float] = {}
        self.val_outputs: Outputs = ()
        self._outputs: list[Outputs] = []
        self._examples: list[Tensor] = []
        self._seen = 0

    @abstractmethod
    def loss(self, batch: Batch) -> Tensor:
        """What training makes small."""

    @abstractmethod
    def outputs(self, batch: Batch) -> Outputs:
        """What a batch's scores need: tensors of a row an example, or as :meth:`rows` says."""

    @abstractmethod
    def score(self, outputs: Outputs, prefix: str) -> dict[str, float]:
        """The metrics of a whole split by name, ``<prefix>_<metric>``."""

    @abstractmethod
    def compared(self, outputs: Outputs) -> tuple[np.ndarray, np.ndarray]:
        """Targets and predictions ``[N]`` that the metrics compare."""

    def groups(self, outputs: Outputs) -> np.ndarray | None:
        """What of :meth:`compared` belongs together, as the words of a sentence do: a whole number each
        ``[N]``. Tests between systems draw these groups. :obj:`None` where each stands for itself, which is
        the default.
        """
        return None

    def items(self, batch: Batch) -> float:
        """Over how many items :meth:`loss` is a mean, which is what processes that share a batch weigh their
        parts by. By default examples.
        """
        return batch.num_graphs

    def rows(self, batch: Batch) -> Tensor:
        """The example, counted within the batch, of each row of :meth:`outputs`: by default a row an
        example.
        """
        return torch.arange(batch.num_graphs)

    def configure_optimizers(self) -> Any:
        if self.make_optimizer is None:
            return torch.optim.Adagrad(self.parameters(), lr=1e-3)
        optimizer = self.make_optimizer(self.parameters())
        if self.warmup_steps is None:
            return optimizer
        schedule = LinearSchedule(self.warmup_steps, self._updates())
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: schedule(step))
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}

    def _updates(self) -> int:
        """Updates of the whole training."""
        updates = self.trainer.estimated_stepping_batches
        if updates > 0 and math.isfinite(updates):
            return int(updates)
        # Batches by tokens are another number in each epoch, which Lightning does not know.
        batches = cast(Any, self.trainer.train_dataloader).batch_sampler
        return int(batches.count(self.trainer.max_epochs))

    def on_before_batch_transfer(self, batch: Batch, dataloader_idx: int) -> Batch:
        batch = self.edges(batch)
        has_pairs = batch.edge_index is not None or "clique" in batch
        # On its way to a GPU with the layout, which would wait for the GPU there many times.
        return attach_layout(batch, self.device) if has_pairs and self.device.type != "cpu" else batch

    def transfer_batch_to_device(self, batch: Batch, device: torch.device, dataloader_idx: int) -> Batch:
        if device.type != "cuda":
            return super().transfer_batch_to_device(batch, device, dataloader_idx)
        # From pinned memory the batch is copied while the GPU goes on, and nothing waits.
        return batch.pin_memory().to(device, non_blocking=True)

    def forward(self, batch: Batch) -> Tensor:
        """The model's output for a batch that has edges."""
        return self.model(batch)

    def on_train_epoch_start(self) -> None:
        # Further processes have further examples, and so a dropout of their own.
        torch.manual_seed(epoch_seed(self.seed + self.global_rank, self.current_epoch))

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        loss = self.loss(batch)
        whole, examples = loss, batch.num_graphs
        if self._trainer is not None and self.trainer.world_size > 1:
            batches = getattr(self.trainer.train_dataloader, "batch_sampler", None)
            counts = not isinstance(batches, SharedBatches) or batches.counts(batch_idx)
            items = self.items(batch) if counts else 0
            loss, whole, examples = mean_of_processes(loss, items, counts * examples)
        if not torch.isfinite(whole):
            raise TrainingError(
                f"the loss became {whole.item()} in epoch {self.current_epoch + 1}, batch {batch_idx + 1}: "
                "try a smaller learning rate (--set lr=...) or precision=32-true"
            )
        self.log_loss("train_loss", whole, examples)
        return loss

    def log_loss(self, name: str, loss: Tensor, examples: int) -> None:
        """Logs the mean of a loss over the examples of an epoch, those of all processes."""
        self.log(
            name,
            loss.detach(),
            on_step=False,
            on_epoch=True,
            batch_size=examples,
            sync_dist=True,
        )

    def on_validation_epoch_start(self) -> None:
        self._start_split()

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        self._keep(batch, batch_idx)

    def on_validation_epoch_end(self) -> None:
        when = f" in epoch {self.current_epoch + 1}"
        self.val_scores = self._score_split("val", "validation", when, self.trainer.val_dataloaders)

    def on_test_epoch_start(self) -> None:
        self._start_split()

    def test_step(self, batch: Batch, batch_idx: int) -> None:
        self._keep(batch, batch_idx)

    def on_test_epoch_end(self) -> None:
        self._score_split("test", "test", "", self.trainer.test_dataloaders)

    def _start_split(self) -> None:
        self._outputs, self._examples, self._seen = [], [], 0

    def _keep(self, batch: Batch, batch_idx: int) -> None:
        self._outputs.append(self.predict_step(batch, batch_idx))
        self._examples.append(self._seen + self.rows(batch).cpu())
        self._seen += batch.num_graphs

    def _score_split(self, prefix: str, split: str, when: str, loader: Any) -> dict[str, float]:
        """Scores and logs what was kept of a split, and forgets it."""
        # Over the whole split: a mean of correlations, or of uneven batches, would be another number.
        outputs = join_outputs(self._outputs)
        if self.trainer.world_size > 1:
            outputs = gather_rows(outputs, example_numbers(loader, self._examples))
        self._start_split()
        advice = "try a smaller learning rate (--set lr=...) or precision=32-true"
        if not all(output.isfinite().all() for output in outputs):
            raise TrainingError(f"outputs on the {split} split are not finite{when}: {advice}")
        if prefix == "val":
            self.val_outputs = outputs
        scores = self.score(outputs, prefix)
        for name, value in scores.items():
            if not math.isfinite(value):
                raise TrainingError(f"{name} became {value}{when}: {advice}")
        # All processes have the same scores by now, which Lightning does not know.
        self.log_dict(scores, sync_dist=True)
        return scores

    def predict_step(self, batch: Batch, batch_idx: int, dataloader_idx: int = 0) -> Outputs:
        """The outputs of a batch, on the CPU."""
        return tuple(
            output.float().cpu() if output.is_floating_point() else output.cpu()
            for output in self.outputs(batch)
        )

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["val_scores"] = dict(self.val_scores)


def join_outputs(outputs: list[Outputs]) -> Outputs:
    """The outputs of a split, from those of its batches."""
    return tuple(torch.cat(parts) for parts in zip(*outputs))


def epoch_seed(seed: int, epoch: int) -> int:
    """A seed of its own for each epoch, as if no other had been run before."""
    generator = torch.Generator().manual_seed(seed)
    return int(torch.randint(2**62, (epoch + 1,), generator=generator)[-1])
