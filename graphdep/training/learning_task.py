"""What a task is: the Lightning module that learns it, and all that is asked of it."""

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
    """The trees, or the enhanced graphs that a model of the settings reads."""
    arcs = getattr(config, "arcs", "basic")
    return trees if arcs == "basic" else enhance(trees, arcs, config.engine)


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
    """Base of the tasks. Edges are derived from the trees, batch by batch unless the batches have them.

    A subclass sets :attr:`metrics` and defines :meth:`build`, which makes the task of settings, :meth:`loss`
    for training, :meth:`outputs` for everything else, :meth:`score` and :meth:`compared` over the outputs of
    a whole split, and :meth:`floor`, what no skill gets; everything else has a default. ``trainer.fit``
    scores the validation split after each epoch, ``trainer.test(task, loader)`` any other: metrics are logged
    as ``val_...`` and ``test_...``.

    Where several processes share a split (DDP), its scores are those of the whole split in each of them: see
    :func:`~graphdep.training.learning_task.gather_rows`.

    Args:
        model: The model.
        edges: Transform that builds the batch's edges, the tree control included.
        optimizer: Makes an optimizer of parameters. (default: AdaGrad with a learning rate of 1e-3)
        warmup_steps: Updates of :class:`LinearSchedule`'s rise; :obj:`None` for a constant learning rate.
            (default: :obj:`None`)
        clip: The most that the norm of the gradients may be; :obj:`None` for any norm. (default:
            :obj:`None`)
        seed: With the number of the epoch it decides that epoch's dropout, so that a resumed run goes on
            exactly as an uninterrupted one. (default: :obj:`0`)
    """

    metrics: tuple[Metric, ...]
    """The metrics of a split; the first decides which epoch is the best."""
    reads_columns: ClassVar[bool] = False
    """Whether :meth:`predict_file` reads columns of words that are no trees."""
    reads_spans: ClassVar[bool] = False
    """Whether :meth:`example` takes rows with marked spans."""
    graphs_outputs: ClassVar[bool] = True
    """Whether :meth:`outputs` can be a CUDA graph."""

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
        # Lightning's own loop over a step takes longer than the step of a small model.
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
        """The task of the settings: model, edges, loss and optimizer, not trained."""

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

    @abstractmethod
    def floor(self, splits: Splits, split: str, outputs: Outputs) -> dict[str, float]:
        """What no skill gets, by the names of the metrics: ``<split>_<metric>``, and for each of the family's
        further floors ``<split>_<metric>_<ending>``.
        """

    def groups(self, outputs: Outputs) -> np.ndarray | None:
        """What of :meth:`compared` belongs together, as the words of a sentence do: a whole number each
        ``[N]``. Tests between systems draw these groups. :obj:`None` where each stands for itself, which is
        the default.
        """
        return None

    def digests(self, splits: Splits, split: str, outputs: Outputs) -> list[str]:
        """What tells apart the example of each row of :meth:`compared`, whatever parses and reads it: runs on
        other examples are not compared. By default a row is an example.
        """
        return splits.example_digests(split)

    def items(self, batch: Batch) -> float:
        """Over how many items :meth:`loss` is a mean, which is what processes that share a batch weigh their
        parts by. By default examples.
        """
        return batch.num_graphs

    @property
    def counts_fillers(self) -> bool:
        """Whether :meth:`loss` counts examples that fill a batch (:class:`~graphdep.data.filler.Filler`):
        then batches are not filled. By default it does.
        """
        return True

    def rows(self, batch: Batch) -> Tensor:
        """The example, counted within the batch, of each row of :meth:`outputs`: by default a row an
        example.
        """
        return torch.arange(batch.num_graphs)

    @classmethod
    def predictor(cls, task: str) -> str | None:
        """The class that answers for models of a task in Python, ``"package.module.Class"``.

        It is a :class:`~graphdep.training.hub.HubModel`. (default: there is none)
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
        """Splits of the corpus; arguments as of :func:`~graphdep.training.load_splits`."""
        return load_corpus(config, splits, vocab, pretrained, relations, labels)

    @classmethod
    def make_edges(cls, config: Any) -> BaseTransform:
        """The tree control, the edges, and their types where the model needs and the edges lack them.

        Raises:
            ValueError: If the model does not read what the edges carry, or they lack what it reads.
        """
        if config.edges is None:
            return with_trees(config, [])
        edges = cls.own_edges(config, config.edges)
        check_read(cls, config, edges)
        return with_trees(config, edges)

    @classmethod
    def reads(cls, config: Any) -> frozenset[str]:
        """What a model reads of edges beside their pairs, by the names in
        :mod:`graphdep.transforms.edge_set`: edges that carry more, or lack some of it, are refused.
        By default it reads pairs alone, written out or not.
        """
        return AttentionConv.reads

    @classmethod
    def own_edges(cls, config: Any, name: str) -> list[BaseTransform]:
        """The edges of a preset, for a tree that stands, and what is done to them."""
        return [preset_edges(config, name)]

    @classmethod
    def comparable(cls, mine: Splits, other: Splits) -> bool:
        """Whether the predictions of two rows are of the same targets: by default of the same numbers of the
        same examples, as no other words or pieces give.
        """
        return mine is other

    @classmethod
    def known_labels(cls, config: Any) -> bool:
        """Whether a trained model's classes are those of its checkpoint and not of its corpus."""
        return False

    @classmethod
    def floor_frozen(cls, config: Any, splits: Splits, encoder: PretrainedEncoder) -> dict[str, float]:
        """What a pretrained encoder gets before it is trained, by the names of the metrics, of all splits
        that are scored; :attr:`TaskFamily.frozen` says how. Empty where there is no such floor.

        Args:
            config: The settings.
            splits: The data.
            encoder: The encoder, as it was loaded.
        """
        return {}

    def adapt(self, config: Any, trained: Any) -> None:
        """Takes the edges and ways to score of other settings than those of the training.

        Raises:
            ValueError: If the model has no layers for them.
        """
        self.edges = self.make_edges(config)
        check_nodes(config, trained, self.model)

    def extra_scores(
        self, splits: Splits, split: str, config: Any, folder: Path | None = None
    ) -> SplitScores:
        """Scores that outputs alone do not give, such as those of responses; files go to ``folder``."""
        return SplitScores()

    def tables(self, splits: Splits, split: str, outputs: Outputs) -> dict[str, Any]:
        """What a result has beside scores, by name: plain values, such as a row for each label."""
        return {}

    def readable(self, splits: Splits, split: str, outputs: Outputs) -> dict[str, list[str]]:
        """What people read of a split beside the numbers of its ``predictions.csv``: columns by their names,
        such as the names of labels and the texts, of as many rows as :meth:`compared` gives.
        """
        return {}

    def example(
        self, config: Any, vocab: Vocab, relations: RelationVocab, texts: list[str], parser: Parser
    ) -> tuple[Data, list[Sentence]]:
        """An example of raw texts as the trained model reads it, without edges, and the tree of each of its
        utterances.

        Args:
            config, vocab, relations: What it was trained with.
            texts: The texts of one example, none of them blank.
            parser: Gives trees, or graphs where the settings have :obj:`arcs` other than ``"basic"``.

        Raises:
            ValueError: If the model takes another number of texts.
        """
        trees, _ = parse_joined(parser, texts)
        trees = graphs_of(trees, config)
        return self.encoded(trees, config, vocab, relations), trees

    def filler_text(self, words: int, like: Data) -> str:
        """A text of about so many words, for an example that fills a batch with examples like another."""
        return " ".join(["x"] * words)

    def encoded(self, trees: list[Sentence], config: Any, vocab: Vocab, relations: RelationVocab) -> Data:
        """The trees of one example as the model reads them, a segment a text."""
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
        """What the trained model says of one example, for people, by default nothing.

        Args:
            state: What its checkpoint knows beside the weights, a :class:`~graphdep.training.RunState`.
            batch: The example with its edges, as a batch on the device of the model.
            trees: The tree of each utterance.
        """
        return []

    def predict_file(self, request: FileRequest) -> FilePrediction:
        """A file with what the trained model predicts for it: ``graphdep predict``.

        Raises:
            ValueError: If the file does not fit, or nothing can be predicted for one.
        """
        config = request.state.config
        raise ValueError(
            f"{request.checkpoint}: trained on the task {config.task!r}, which gives no predictions for "
            f"single texts or pairs but {config.task_family.gives}: see {config.task_family.used_by}"
        )

    def begin(self, config: Any) -> None:
        """Called before training starts from random weights or those of an encoder."""

    def finish(self, folder: Path) -> None:
        """Called with the best epoch's model before the result is written."""

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

    def flattener(self, device: torch.device, training: bool = False) -> Flattener | None:
        """Flattens batches for a model on a device, to train on or to score; the same one each time.
        :obj:`None` where batches are not filled, or the outputs of filled ones are no graphs.
        """
        if self.filler is None or not (training or self.graphs_outputs):
            return None
        kept = self._flatteners.get(training)
        if kept is None or kept.filler is not self.filler or kept.device.type != device.type:
            kept = Flattener(self, device, filler=self.filler, rows=self.rows)
            self._flatteners[training] = kept
        return kept

    def on_before_batch_transfer(self, batch: Any, dataloader_idx: int) -> Any:
        if isinstance(batch, Exception):  # of a loader's worker
            raise batch
        if isinstance(batch, FlatBatch):
            return batch
        batch = batch if getattr(batch, "_is_transformed", False) else self.edges(batch)
        if self.filler is not None:  # it goes to the device with the step
            return batch
        # On its way to a GPU with all values that are read, each of which would wait for the GPU there.
        return prepare(self, batch, self.device) if self.device.type != "cpu" else batch

    def transfer_batch_to_device(self, batch: Any, device: torch.device, dataloader_idx: int) -> Any:
        # On the CPU it was made, and to a GPU a filled batch goes with its step.
        if device.type == "cpu" or self.filler is not None:
            return batch
        if device.type != "cuda":
            return super().transfer_batch_to_device(batch, device, dataloader_idx)
        # From pinned memory the batch is copied while the GPU goes on, and nothing waits.
        return batch.pin_memory().to(device, non_blocking=True)

    def forward(self, batch: Batch) -> Tensor:
        """The model's output for a batch that has edges."""
        return self.model(batch)

    def setup(self, stage: str) -> None:
        # Those of an earlier trainer were of another optimizer, and of weights that have moved since.
        self._step = self._forward = None
        self.losses = LossSums()

    def on_train_epoch_start(self) -> None:
        # Further processes have further examples, and so a dropout of their own.
        torch.manual_seed(epoch_seed(self.seed + self.global_rank, self.current_epoch))
        self.losses.reset()

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """Takes the whole step, and returns the loss."""
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
        """Takes a step of the learning rates that change after each batch, or after each epoch."""
        for schedule in self.trainer.lr_scheduler_configs:
            if schedule.interval == interval and number % schedule.frequency == 0:
                metric = self.trainer.callback_metrics.get(schedule.monitor or "")
                self.lr_scheduler_step(schedule.scheduler, metric if schedule.reduce_on_plateau else None)

    def make_step(self) -> Callable[[Batch], Tensor]:
        """The step of the trainer's optimizer, which is a CUDA graph where batches are filled."""
        trainer, (optimizer,) = self.trainer, self.trainer.optimizers
        callbacks = cast(Any, trainer).callbacks
        told = any(is_overridden(name, owner) for name in _HOOKS for owner in (*callbacks, self))
        alone = isinstance(trainer.strategy, SingleDeviceStrategy)
        scaler = getattr(trainer.precision_plugin, "scaler", None)
        able = alone and not told
        step: Any = (
            TrainingStep(self.counted_loss, optimizer, clip=self.clip, scaler=scaler)
            if able
            else _ToldStep(self, optimizer, scaler)
        )
        if self.filler is None:
            return step
        return Graphed(
            step,
            self,
            optimizer,
            flatten=self.flattener(self.device, training=True),
            static=able and scaler is None,
            state=lambda: self.losses.tensors,
        )

    def counted_loss(self, batch: Batch) -> Tensor:
        """The loss to take gradients of, which is added to those of the epoch."""
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
        """Whether this process has examples of its own in a batch of the training."""
        batches = getattr(self.trainer.train_dataloader, "batch_sampler", None)
        return not isinstance(batches, SharedBatches) or batches.counts(batch_idx)

    def log_loss(self, name: str, loss: Tensor, examples: int | Tensor) -> None:
        """Logs the mean of a loss over the examples of an epoch, those of all processes."""
        self.losses.add(name, loss, examples)

    def on_train_batch_end(self, outputs: Any, batch: Batch, batch_idx: int) -> None:
        # Callbacks read the losses at the end of the epoch, where their turn comes before this module's.
        if self.trainer.is_last_batch or self.trainer.fit_loop.epoch_loop.done:
            self._tell_losses()

    def _tell_losses(self) -> None:
        """Logs the losses of the epoch, which are read once, here."""
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


# Hooks of a step that Lightning calls where it optimizes by itself.
_HOOKS = ("on_before_zero_grad", "on_before_backward", "on_after_backward", "on_before_optimizer_step")


class _ToldStep(TrainingStep):
    """A step of a task that calls what DDP and callbacks wait for."""

    def __init__(self, task: LearningTask, optimizer: torch.optim.Optimizer, scaler: Any) -> None:
        super().__init__(task.counted_loss, optimizer, clip=task.clip, scaler=scaler)
        self.task = task

    def zero_grad(self) -> None:
        self._tell("on_before_zero_grad")
        super().zero_grad()

    def backward(self, loss: Tensor) -> None:
        self.task.manual_backward(loss)  # which scales it

    def clip_grad(self) -> None:
        self._tell("on_before_optimizer_step")
        super().clip_grad()

    def _tell(self, hook: str) -> None:
        for callback in cast(Any, self.task.trainer).callbacks:
            getattr(callback, hook)(self.task.trainer, self.task, self.optimizer)
        getattr(self.task, hook)(self.optimizer)


def join_outputs(outputs: list[Outputs]) -> Outputs:
    """The outputs of a split, from those of its batches."""
    return tuple(torch.cat(parts) for parts in zip(*outputs))


class EncoderTask(LearningTask):
    """Base of the tasks whose model is an encoder of sentences, from nothing or pretrained, and a head: their
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
        # Other trees, and pieces in place of words, leave the labels as they are.
        return mine.same_examples(other)


class WordTask(EncoderTask):
    """Base of the tasks whose models read states of words, some of which may be marked, and whose classes are
    learned from the data: their settings are :class:`~graphdep.training.encoder_config.WordConfig`.
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
            raise ValueError(f"'texts' must be one text, as the model was trained on (got {len(texts)})")
        data, trees = super().example(config, vocab, relations, texts, parser)
        if config.marked:
            data.mark = torch.zeros_like(data.word)  # a text marks nothing
        return data, trees
