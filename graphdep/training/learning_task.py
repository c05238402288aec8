"""Base classes of tasks: Lightning modules with model, loss, scores and predictions."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import lightning as L
import numpy as np
import torch
import torch.distributed as dist
from lightning.pytorch.strategies import SingleDeviceStrategy
from lightning.pytorch.utilities.model_helpers import is_overridden
from torch import Tensor, nn
from torch.utils.data import DistributedSampler, SequentialSampler
from torch_geometric.data import Batch, Data
from torch_geometric.transforms import BaseTransform

from graphdep.data.encoded import trees_data
from graphdep.data.filler import Filler
from graphdep.metrics.metric import Metric
from graphdep.nn.conv.attention_conv import AttentionConv
from graphdep.nn.graphed_step import Graphed, TrainingStep
from graphdep.nn.prepared import prepare
from graphdep.nn.static_batch import FlatBatch, Flattener
from graphdep.parsing.enhanced import enhance
from graphdep.parsing.parser import Parser, parse_joined
from graphdep.training.build import (
    BuildInputs,
    backbone_of,
    check_nodes,
    check_read,
    encoder_reads,
    preset_edges,
    pretrained_edges,
    with_trees,
    with_types,
)
from graphdep.training.family import FilePrediction, FileRequest, SplitScores
from graphdep.training.losses import LossSums
from graphdep.training.splits import SharedBatches, Splits, epoch_seed, load_corpus

if TYPE_CHECKING:
    from graphdep.datasets.base.rows import Label
    from graphdep.nn.pretrained import PretrainedEncoder
    from graphdep.sentence import Sentence
    from graphdep.visualization.side import Answer
    from graphdep.vocab import RelationVocab, Vocab


def graphs_of(trees: list[Sentence], config: Any) -> list[Sentence]:
    """The trees, or their enhanced graphs if the settings ask for those."""
    arcs = getattr(config, "arcs", "basic")
    return trees if arcs == "basic" else enhance(trees, arcs, config.engine)


def gather_rows(rows: tuple[Tensor, ...], number: Tensor | None) -> tuple[Tensor, ...]:
    """Gathers the rows of a whole split from all processes, in the order of the examples.

    A ``DistributedSampler`` repeats the first examples if their number is not a multiple of the number of
    processes. Every example counts once, by the rows of the first process that has it.

    Args:
        rows: The rows of this process: tensors with the same size in their first dimension, which may differ
            between processes.
        number: The example of each row in the split ``[num_rows]``. If :obj:`None` in any process, all rows
            of all processes are concatenated.
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
    r"""Combines the mean losses of all processes to the mean over all their items.

    .. math::
        \ell = \frac{\sum_r n_r \ell_r}{\sum_r n_r}

    DDP averages the gradients of :math:`R` processes, so each computes the gradient of
    :math:`R\, n_r \ell_r / \sum_r n_r`.

    Args:
        loss: The mean loss :math:`\ell_r` of this process.
        items: The number :math:`n_r` of its items; 0 if they do not count.
        examples: The number of its examples that count.

    Returns:
        The loss for the gradient, :math:`\ell`, and the number of examples of all processes.
    """
    own = loss.detach().double()
    total = torch.stack([own * items, own.new_tensor(items), own.new_tensor(examples)])
    dist.all_reduce(total)
    whole, number, together = total.tolist()
    share = dist.get_world_size() * items / max(number, 1.0)
    return loss * share, loss.new_tensor(whole / max(number, 1.0)), int(together)


def example_numbers(loader: Any, seen: list[Tensor]) -> Tensor | None:
    """The numbers in the split of the examples of a loader.

    Args:
        loader: The loader of this process.
        seen: Positions of examples in the order of the loader, from 0, batch by batch.

    Returns:
        All numbers in one tensor; :obj:`None` unless the loader always has the same order.
    """
    batches = getattr(loader, "batch_sampler", None)
    if not isinstance(getattr(batches, "sampler", None), SequentialSampler | DistributedSampler):
        return None
    assert batches is not None
    number = torch.tensor([*chain.from_iterable(batches)])
    return torch.cat([number[some] for some in seen]) if seen else number[:0]


Outputs = tuple[Tensor, ...]
MakeOptimizer = Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer]


class TrainingError(RuntimeError):
    """Training failed; the message has advice."""


@dataclass(frozen=True)
class LinearSchedule:
    """Linear warm-up from 0 to the full learning rate, then linear decay to 0 at the end.

    Args:
        warmup_steps: Number of warm-up steps.
        total_steps: Number of all steps.
    """

    warmup_steps: int
    total_steps: int

    # SequentialLR of two LinearLR would accumulate rounding errors.
    def __call__(self, step: int) -> float:
        """The factor of the learning rate in a step, counted from 0."""
        # step + 1, since a first rate of 0 would waste a batch.
        if step < self.warmup_steps:
            return (step + 1) / self.warmup_steps
        return max(0.0, (self.total_steps - step) / max(1, self.total_steps - self.warmup_steps))


class LearningTask(L.LightningModule, ABC):
    """Base class of tasks. Edges are built from the trees batch by batch, unless batches have them already.

    A subclass sets :attr:`metrics` and defines :meth:`build`, which makes the task from settings;
    :meth:`loss` for training; :meth:`outputs` for scores and predictions; :meth:`score` and :meth:`compared`,
    given the outputs of a whole split; and :meth:`floor`, the scores without skill. ``trainer.fit`` scores
    the validation split after each epoch, ``trainer.test(task, loader)`` another split; metrics are logged as
    ``val_...`` and ``test_...``.

    If several processes share a split (DDP), each computes the scores of the whole split
    (:func:`~graphdep.training.learning_task.gather_rows`).

    Args:
        model: The model.
        edges: Transform that builds the edges of a batch, including the tree control.
        optimizer: Makes an optimizer from parameters. (default: AdaGrad with a learning rate of 1e-3)
        warmup_steps: Warm-up steps of :class:`LinearSchedule`; :obj:`None` for a constant learning rate.
            (default: :obj:`None`)
        clip: Largest norm of the gradients; :obj:`None` for no limit. (default: :obj:`None`)
        seed: Seed of dropout, combined with the number of the epoch, so that a resumed run gives the same
            result. (default: :obj:`0`)
    """

    metrics: tuple[Metric, ...]
    """The metrics of a split; the first selects the best epoch."""
    reads_columns: ClassVar[bool] = False
    """Whether :meth:`predict_file` reads columns of words without trees."""
    reads_spans: ClassVar[bool] = False
    """Whether :meth:`example` takes rows with marked spans."""
    graphs_outputs: ClassVar[bool] = True
    """Whether :meth:`outputs` can be captured as a CUDA graph."""

    def __init__(
        self,
        model: nn.Module,
        edges: BaseTransform,
        optimizer: MakeOptimizer | None = None,
        *,
        warmup_steps: int | None = None,
        clip: float | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__()
        # Lightning's automatic optimization takes longer than a step of a small model.
        self.automatic_optimization = False
        self.model, self.edges, self.seed = model, edges, seed
        self.make_optimizer, self.warmup_steps, self.clip = optimizer, warmup_steps, clip
        self.losses = LossSums()
        self.val_scores: dict[str, float] = {}
        self.val_outputs: Outputs = ()
        self._outputs: list[Outputs] = []
        self._examples: list[Tensor] = []
        self._seen = 0
        self._step: Callable[[Batch], Tensor] | None = None
        self.filler: Filler | None = None
        self._flatteners: dict[bool, Flattener] = {}
        self._forward: Graphed | None = None
        self._batch_idx = 0

    @classmethod
    @abstractmethod
    def build(cls, config: Any, parts: BuildInputs) -> Self:
        """A new task of the settings: model, edges, loss and optimizer."""

    @abstractmethod
    def loss(self, batch: Batch) -> Tensor:
        """The training loss of a batch."""

    @abstractmethod
    def outputs(self, batch: Batch) -> Outputs:
        """The outputs of a batch that scores are computed from: tensors with a row per example, or as in
        :meth:`rows`.
        """

    @abstractmethod
    def score(self, outputs: Outputs, prefix: str) -> dict[str, float]:
        """The metrics of a whole split by name, ``<prefix>_<metric>``."""

    @abstractmethod
    def compared(self, outputs: Outputs) -> tuple[np.ndarray, np.ndarray]:
        """Targets and predictions ``[N]`` of the metrics."""

    @abstractmethod
    def floor(self, splits: Splits, split: str, outputs: Outputs) -> dict[str, float]:
        """The scores without skill by name, ``<split>_<metric>``, and those of the family's further floors,
        ``<split>_<metric>_<ending>``.
        """

    def groups(self, outputs: Outputs) -> np.ndarray | None:
        """The group of each row of :meth:`compared` as a whole number ``[N]``, such as its sentence;
        :obj:`None` for independent rows, the default. Significance tests resample groups.
        """
        return None

    def digests(self, splits: Splits, split: str, outputs: Outputs) -> list[str]:
        """A digest of the example of each row of :meth:`compared`, independent of parser and tokenizer: only
        runs on the same examples are compared. By default a row is an example.
        """
        return splits.example_digests(split)

    def items(self, batch: Batch) -> float:
        """The number of items that :meth:`loss` is a mean over, by which processes that share a batch weight
        their losses. By default examples.
        """
        return batch.num_graphs

    @property
    def counts_fillers(self) -> bool:
        """Whether :meth:`loss` counts filler examples (:class:`~graphdep.data.filler.Filler`), so that
        batches must not be filled. By default it does.
        """
        return True

    def rows(self, batch: Batch) -> Tensor:
        """The example in the batch of each row of :meth:`outputs`; by default a row is an example."""
        return torch.arange(batch.num_graphs)

    @classmethod
    def predictor(cls, task: str) -> str | None:
        """The class for models of a task in Python, ``"package.module.Class"``, a
        :class:`~graphdep.training.hub.HubModel`; by default there is none.
        """
        return None

    @classmethod
    def load(
        cls,
        config: Any,
        splits: tuple[str, ...],
        vocab: Vocab | None = None,
        pretrained: PretrainedEncoder | None = None,
        relations: RelationVocab | None = None,
        labels: Sequence[Label] | None = None,
    ) -> Splits:
        """Splits of the corpus; see :func:`~graphdep.training.load_splits`."""
        return load_corpus(config, splits, vocab, pretrained, relations, labels)

    @classmethod
    def make_edges(cls, config: Any) -> BaseTransform:
        """The tree control, the edges, and their types if the model needs and the edges lack them.

        Raises:
            ValueError: If the edges do not fit the model.
        """
        if config.edges is None:
            return with_trees(config, [])
        edges = cls.own_edges(config, config.edges)
        check_read(cls, config, edges)
        return with_trees(config, edges)

    @classmethod
    def reads(cls, config: Any) -> frozenset[str]:
        """The data of edges that a model reads, by the names in :mod:`graphdep.transforms.edge_set`; edges
        that carry more or less are refused. By default pairs only, explicit or implicit.
        """
        return AttentionConv.reads

    @classmethod
    def own_edges(cls, config: Any, name: str) -> list[BaseTransform]:
        """The edges of a preset and the transforms after them, without tree control."""
        return [preset_edges(config, name)]

    @classmethod
    def comparable(cls, mine: Splits, other: Splits) -> bool:
        """Whether the predictions of two rows have the same targets; by default only with the same data."""
        return mine is other

    @classmethod
    def known_labels(cls, config: Any) -> bool:
        """Whether the classes of a trained model are those in its checkpoint, not those of the corpus."""
        return False

    @classmethod
    def floor_frozen(cls, config: Any, splits: Splits, encoder: PretrainedEncoder) -> dict[str, float]:
        """The scores of the frozen pretrained encoder on all scored splits, by name
        (:attr:`TaskFamily.frozen` describes the method); empty if there is no such floor.

        Args:
            config: The settings.
            splits: The data.
            encoder: The encoder as loaded.
        """
        return {}

    def adapt(self, config: Any, trained: Any) -> None:
        """Adopts the edges and scoring options of other settings than those of the training.

        Raises:
            ValueError: If the model has no layers for them.
        """
        self.edges = self.make_edges(config)
        check_nodes(config, trained, self.model)

    def extra_scores(
        self, splits: Splits, split: str, config: Any, folder: Path | None = None
    ) -> SplitScores:
        """Scores that need more than outputs, such as those of responses; files are written to ``folder``."""
        return SplitScores()

    def tables(self, splits: Splits, split: str, outputs: Outputs) -> dict[str, Any]:
        """Further tables of a result by name, as plain values, such as scores of each label."""
        return {}

    def readable(self, splits: Splits, split: str, outputs: Outputs) -> dict[str, list[str]]:
        """Columns of ``predictions.csv`` for human readers by name, such as labels and texts, with the rows
        of :meth:`compared`.
        """
        return {}

    def example(
        self, config: Any, vocab: Vocab, relations: RelationVocab, texts: list[str], parser: Parser
    ) -> tuple[Data, list[Sentence]]:
        """The model's input for raw texts, without edges, and the trees of its utterances.

        Args:
            config, vocab, relations: Those of the training.
            texts: The texts of one example, none of them blank.
            parser: The parser.

        Raises:
            ValueError: If the number of texts is wrong.
        """
        trees, _ = parse_joined(parser, texts)
        trees = graphs_of(trees, config)
        return self.encoded(trees, config, vocab, relations), trees

    def filler_text(self, words: int, like: Data) -> str:
        """A text of about this many words for a filler example; ``like`` is an example of the split."""
        return " ".join(["x"] * words)

    def encoded(self, trees: list[Sentence], config: Any, vocab: Vocab, relations: RelationVocab) -> Data:
        """The model's input for the trees of one example, one segment per text."""
        return trees_data(
            trees,
            relations,
            vocab=vocab,
            tokens=backbone_of(self.model).tokens if config.pretrained else None,
            max_length=getattr(config, "max_length", None),
            arcs=getattr(config, "arcs", "basic"),
            phrases=config.phrases_read,
            segment=[*range(len(trees))],
        )

    def answers(self, state: Any, batch: Data, trees: Sequence[Sentence]) -> list[Answer]:
        """The predictions of the trained model for one example, to be shown; by default none.

        Args:
            state: The :class:`~graphdep.training.checkpoint.RunState` of its checkpoint.
            batch: The example with its edges, as a batch on the device of the model.
            trees: The tree of each utterance.
        """
        return []

    def predict_file(self, request: FileRequest) -> FilePrediction:
        """The predictions for a file, for ``graphdep predict``.

        Raises:
            ValueError: If the file does not fit, or the task has no predictions for files.
        """
        config = request.state.config
        raise ValueError(
            f"{request.checkpoint}: trained on the task {config.task!r}, which gives "
            f"{config.task_family.gives}, not predictions for files: see {config.task_family.used_by}"
        )

    def begin(self, config: Any) -> None:
        """Called before a new training starts, but not before a resumed one."""

    def finish(self, folder: Path) -> None:
        """Called with the model of the best epoch before the result is written."""

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
        """Number of steps of the whole training."""
        updates = self.trainer.estimated_stepping_batches
        if updates > 0 and math.isfinite(updates):
            return int(updates)
        # With batch_tokens each epoch has another number of batches, which Lightning does not know.
        batches = cast(Any, self.trainer.train_dataloader).batch_sampler
        return int(batches.count(self.trainer.max_epochs))

    def flattener(self, device: torch.device, training: bool = False) -> Flattener | None:
        """The cached flattener of batches for a device, for training or scoring; :obj:`None` if batches are
        not filled, or outputs cannot be captured as a CUDA graph.
        """
        if self.filler is None or not (training or self.graphs_outputs):
            return None
        kept = self._flatteners.get(training)
        if kept is None or kept.filler is not self.filler or kept.device.type != device.type:
            kept = Flattener(self, device, filler=self.filler, rows=self.rows)
            self._flatteners[training] = kept
        return kept

    def on_before_batch_transfer(self, batch: Any, dataloader_idx: int) -> Any:
        if isinstance(batch, Exception):  # from a worker of the loader
            raise batch
        if isinstance(batch, FlatBatch):
            return batch
        batch = batch if getattr(batch, "_is_transformed", False) else self.edges(batch)
        if self.filler is not None:  # the step moves it to the device
            return batch
        # Computes all values that are read on the CPU, since reading them on a GPU would synchronize.
        return prepare(self, batch, self.device) if self.device.type != "cpu" else batch

    def transfer_batch_to_device(self, batch: Any, device: torch.device, dataloader_idx: int) -> Any:
        # A step moves filled batches to the device.
        if device.type == "cpu" or self.filler is not None:
            return batch
        if device.type != "cuda":
            return super().transfer_batch_to_device(batch, device, dataloader_idx)
        # From pinned memory the copy is asynchronous.
        return batch.pin_memory().to(device, non_blocking=True)

    def forward(self, batch: Batch) -> Tensor:
        """The model's output for a batch that has edges."""
        return self.model(batch)

    def setup(self, stage: str) -> None:
        # Steps of an earlier trainer have another optimizer, and weights in other memory.
        self._step = self._forward = None
        self.losses = LossSums()

    def on_train_epoch_start(self) -> None:
        # Each process has other examples and needs other dropout.
        torch.manual_seed(epoch_seed(self.seed + self.global_rank, self.current_epoch))
        self.losses.reset()

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """Takes a whole optimizer step and returns the loss."""
        if self._step is None:
            self._step = self.make_step()
        self._batch_idx = batch_idx
        loss = self._step(batch)
        loop = self.trainer.fit_loop.epoch_loop
        loop.manual_optimization.optim_step_progress.increment_ready()
        loop.manual_optimization.optim_step_progress.increment_completed()
        self._step_schedules("step", batch_idx + 1)
        return loss

    def on_train_epoch_end(self) -> None:
        self._step_schedules("epoch", self.current_epoch + 1)

    def _step_schedules(self, interval: str, number: int) -> None:
        """Steps the learning rate schedules of an interval, ``"step"`` or ``"epoch"``."""
        for schedule in self.trainer.lr_scheduler_configs:
            if schedule.interval == interval and number % schedule.frequency == 0:
                metric = self.trainer.callback_metrics.get(schedule.monitor or "")
                self.lr_scheduler_step(schedule.scheduler, metric if schedule.reduce_on_plateau else None)

    def make_step(self) -> Callable[[Batch], Tensor]:
        """A step of the trainer's optimizer, a CUDA graph if batches are filled."""
        trainer, (optimizer,) = self.trainer, self.trainer.optimizers
        callbacks = cast(Any, trainer).callbacks
        hooked = any(is_overridden(name, owner) for name in _HOOKS for owner in (*callbacks, self))
        plain = isinstance(trainer.strategy, SingleDeviceStrategy) and not hooked
        scaler = getattr(trainer.precision_plugin, "scaler", None)
        step: Any = (
            TrainingStep(self.counted_loss, optimizer, clip=self.clip, scaler=scaler)
            if plain
            else _HookedStep(self, optimizer, scaler)
        )
        if self.filler is None:
            return step
        return Graphed(
            step,
            self,
            optimizer,
            flatten=self.flattener(self.device, training=True),
            static=plain and scaler is None,
            state=lambda: self.losses.tensors,
        )

    def counted_loss(self, batch: Batch) -> Tensor:
        """The loss for the gradient, which is added to the losses of the epoch."""
        loss = self.loss(batch)
        whole, examples = loss, batch.num_graphs - batch.get("num_fillers", 0)
        if self._trainer is not None and self.trainer.world_size > 1:
            counts = self.counts(self._batch_idx)
            items = self.items(batch) if counts else 0
            loss, whole, examples = mean_of_processes(loss, items, counts * examples)
        if whole.device.type == "cpu" and not math.isfinite(whole.item()):
            raise self._not_finite(f"became {whole.item()}", self._batch_idx)
        self.log_loss("train_loss", whole, examples)
        self.losses.watch("train_loss")
        return loss

    def counts(self, batch_idx: int) -> bool:
        """Whether this process has examples in a training batch that count."""
        batches = getattr(self.trainer.train_dataloader, "batch_sampler", None)
        return not isinstance(batches, SharedBatches) or batches.counts(batch_idx)

    def log_loss(self, name: str, loss: Tensor, examples: int | Tensor) -> None:
        """Adds a loss to its mean over the examples of an epoch, of all processes."""
        self.losses.add(name, loss, examples)

    def on_train_batch_end(self, outputs: Any, batch: Batch, batch_idx: int) -> None:
        # Not at the end of the epoch, where callbacks, which read the losses, come first.
        if self.trainer.is_last_batch or self.trainer.fit_loop.epoch_loop.done:
            self._log_losses()

    def _log_losses(self) -> None:
        """Logs the mean losses of the epoch."""
        means = self.losses.read()
        if not math.isfinite(means.get("train_loss", 0.0)):
            raise self._not_finite("was not finite", self.losses.finite)
        for name, value in means.items():
            self.log(name, value, on_step=False, on_epoch=True, batch_size=1, sync_dist=True)

    def _not_finite(self, what: str, batch_idx: int) -> TrainingError:
        return TrainingError(
            f"the loss {what} in epoch {self.current_epoch + 1}, batch {batch_idx + 1}: "
            "try a smaller learning rate (--set lr=...) or precision=32-true"
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

    def _keep(self, batch: Batch | FlatBatch, batch_idx: int) -> None:
        self._outputs.append(self.predict_step(batch, batch_idx))
        self._examples.append(self._seen + self._rows(batch).cpu())
        self._seen += batch.num_graphs

    def _score_split(self, prefix: str, split: str, when: str, loader: Any) -> dict[str, float]:
        """Scores a split by the outputs kept, logs the scores and clears the outputs."""
        # Over the whole split: means over batches would differ, e.g. of correlations.
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
        # All processes have the same scores, which Lightning does not know.
        self.log_dict(scores, sync_dist=True)
        return scores

    def _rows(self, batch: Batch | FlatBatch) -> Tensor:
        if isinstance(batch, FlatBatch):
            return torch.tensor(batch.rows, dtype=torch.long)
        return self.rows(batch)

    def predict_step(self, batch: Batch | FlatBatch, batch_idx: int, dataloader_idx: int = 0) -> Outputs:
        """The outputs of a batch, on the CPU."""
        filled = isinstance(batch, FlatBatch) or self.filler is not None
        outputs = self._outputs_of_filled(batch) if filled else self.outputs(cast(Batch, batch))
        return tuple(
            output.float().cpu() if output.is_floating_point() else output.cpu() for output in outputs
        )

    def _outputs_of_filled(self, batch: Batch | FlatBatch) -> Outputs:
        flatten = self.flattener(self.device)
        if self._forward is None or (flatten is not None and self._forward.flatten is not flatten):
            self._forward = Graphed(self.outputs, self, flatten=flatten, static=flatten is not None)
        number = self._rows(batch).numel()
        return tuple(output[:number].clone() for output in self._forward(batch))

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["val_scores"] = dict(self.val_scores)


# Hooks of a step that Lightning calls in automatic optimization.
_HOOKS = ("on_before_zero_grad", "on_before_backward", "on_after_backward", "on_before_optimizer_step")


class _HookedStep(TrainingStep):
    """A step that calls the hooks of DDP and callbacks."""

    def __init__(self, task: LearningTask, optimizer: torch.optim.Optimizer, scaler: Any) -> None:
        super().__init__(task.counted_loss, optimizer, clip=task.clip, scaler=scaler)
        self.task = task

    def zero_grad(self) -> None:
        self._call("on_before_zero_grad")
        super().zero_grad()

    def backward(self, loss: Tensor) -> None:
        self.task.manual_backward(loss)  # also scales it

    def clip_grad(self) -> None:
        self._call("on_before_optimizer_step")
        super().clip_grad()

    def _call(self, hook: str) -> None:
        for callback in cast(Any, self.task.trainer).callbacks:
            getattr(callback, hook)(self.task.trainer, self.task, self.optimizer)
        getattr(self.task, hook)(self.optimizer)


def join_outputs(outputs: list[Outputs]) -> Outputs:
    """Concatenates the outputs of batches."""
    return tuple(torch.cat(parts) for parts in zip(*outputs))


class EncoderTask(LearningTask):
    """Base class of tasks whose model is a sentence encoder, from scratch or pretrained, with a head. Their
    settings are :class:`~graphdep.training.encoder_config.EncoderConfig`.
    """

    @classmethod
    def own_edges(cls, config: Any, name: str) -> list[BaseTransform]:
        edges = pretrained_edges(config) if config.pretrained else preset_edges(config, name)
        return with_types(config, edges)

    @classmethod
    def reads(cls, config: Any) -> frozenset[str]:
        return encoder_reads(config)

    @classmethod
    def comparable(cls, mine: Splits, other: Splits) -> bool:
        # Labels do not depend on trees and tokenizers.
        return mine.same_examples(other)


class WordTask(EncoderTask):
    """Base class of tasks whose models read the states of words, which may be marked, and whose classes come
    from the data. Their settings are :class:`~graphdep.training.encoder_config.WordConfig`.
    """

    @classmethod
    def load(cls, config: Any, splits: tuple[str, ...], *known: Any) -> Splits:
        found = super().load(config, splits, *known)
        return found if config.limit_eval is None else found.limited(config.limit_eval)

    @classmethod
    def known_labels(cls, config: Any) -> bool:
        return True

    def example(
        self, config: Any, vocab: Vocab, relations: RelationVocab, texts: list[str], parser: Parser
    ) -> tuple[Data, list[Sentence]]:
        if len(texts) != 1:
            raise ValueError(f"'texts' must be one text, as in training (got {len(texts)})")
        data, trees = super().example(config, vocab, relations, texts, parser)
        if config.marked:
            data.mark = torch.zeros_like(data.word)  # a text has no marks
        return data, trees
