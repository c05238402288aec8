"""The family of tasks on response selection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, cast

from graphdep.tasks.selection.config import SelectionConfig
from graphdep.tasks.selection.published import PAPER
from graphdep.tasks.selection.tasks import COLUMNS, TASKS
from graphdep.training.family.family import TaskFamily
from graphdep.training.family.published import Published
from graphdep.training.family.structure_rows import StructureRows
from graphdep.training.family.task import Task
from graphdep.training.family.train_config import TrainConfig

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from graphdep.nn.pretrained import PretrainedEncoder
    from graphdep.parsing import Parser
    from graphdep.sentence import Sentence
    from graphdep.tasks.selection.learning_task import SelectionTask
    from graphdep.training.family.learning_task import LearningTask, Outputs
    from graphdep.training.family.parts import Parts
    from graphdep.training.family.splits import Splits
    from graphdep.vocab import RelationVocab, Vocab


class SelectionFamily(TaskFamily):
    """The right response to a context, among candidates."""

    name = "selection"
    tasks: ClassVar[Mapping[str, Task]] = TASKS
    configs: ClassVar[Mapping[str, type[TrainConfig]]] = {"selection": SelectionConfig}
    default_models = ("bert", "bert-vanilla", "bert-intra", "bert-inter", "bert-sia")
    structure = (StructureRows("bert", "bert-sia", "bert-sia@random", "bert@shuffled"),)
    of = "response selection"
    gives = "rankings"
    used_by = "graphdep.ResponseSelector and `graphdep rank`"
    published: ClassVar[Mapping[str, Published]] = PAPER
    columns: ClassVar[Mapping[str, tuple[str, ...]]] = COLUMNS
    frozen = (
        "candidates ranked by the cosine of their vector and that of the context, means over the nodes of "
        "each text by the encoder before its training"
    )
    floor_reads = ()

    def predictor(self, task: str) -> str | None:
        return "graphdep.tasks.selection.selector.ResponseSelector"

    def build(self, config: TrainConfig, parts: Parts) -> SelectionTask:
        from graphdep.tasks.selection.build import build_selection_model
        from graphdep.tasks.selection.learning_task import SelectionTask
        from graphdep.training.family.optimizers import grouped_optimizer

        config = cast(SelectionConfig, config)
        model = build_selection_model(config, parts.num_words, parts.vectors, parts.pretrained)
        return SelectionTask(
            model,
            self.edges(config),
            grouped_optimizer(config, model),
            ties=config.ties,
            filter=config.filter,
            recall=config.recall,
            warmup_steps=config.warmup_steps,
            seed=config.seed,
        )

    def floor(self, task: LearningTask, splits: Splits, split: str, outputs: Outputs) -> dict[str, float]:
        return cast("SelectionTask", task).floor(outputs, split)

    def example(
        self,
        task: LearningTask,
        config: TrainConfig,
        vocab: Vocab,
        relations: RelationVocab,
        texts: list[str],
        parser: Parser,
    ) -> tuple[Data, list[Sentence]]:
        """The last turns of a context, and the response."""
        from graphdep.tasks.selection.build import tokens_of
        from graphdep.tasks.selection.read_pair import read_pair

        config = cast(SelectionConfig, config)
        tokens = tokens_of(cast("SelectionTask", task).model, vocab)
        return read_pair(texts, parser, tokens, relations, config.max_length, config.max_turns)

    def floor_frozen(
        self, config: TrainConfig, splits: Splits, encoder: PretrainedEncoder
    ) -> dict[str, float]:
        from graphdep.tasks.selection.frozen import cosine_scores

        config = cast(SelectionConfig, config)
        return {
            name: value
            for split in config.splits[1:]
            for name, value in cosine_scores(config, splits[split], split, encoder).items()
        }

    def adapt(self, task: LearningTask, config: TrainConfig) -> None:
        from graphdep.nn.models import SIA
        from graphdep.tasks.selection.build import sia_edges

        super().adapt(task, config)
        task, config = cast("SelectionTask", task), cast(SelectionConfig, config)
        task.ties, task.filter, task.recall = config.ties, config.filter, config.recall
        encoder = task.model.encoder
        if isinstance(encoder, SIA) != (config.sia_edges is not None):
            raise ValueError(
                f"'sia_edges' cannot be {config.sia_edges!r}: the model was trained "
                f"{'with' if config.sia_edges is None else 'without'} layers of SIA"
            )
        if isinstance(encoder, SIA):
            encoder.edges = sia_edges(config)
