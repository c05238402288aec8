"""The family of tasks on response selection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, cast

from graphdep.tasks.selection.settings import COLUMNS, PAPER, TASKS, SelectionConfig
from graphdep.training.config import TrainConfig
from graphdep.training.family import Published, StructureRows, TaskFamily
from graphdep.training.task import Task

if TYPE_CHECKING:
    from torch_geometric.data import Data
    from torch_geometric.transforms import BaseTransform

    from graphdep.datasets.base.rows import Label
    from graphdep.datasets.selection.dataset import SelectionDataset
    from graphdep.nn.models import SelectionModel
    from graphdep.nn.pretrained import PretrainedEncoder
    from graphdep.parsing import Parser
    from graphdep.sentence import Sentence
    from graphdep.tasks.selection.model import SelectionTask
    from graphdep.training.build import Parts
    from graphdep.training.learning_task import LearningTask, Outputs
    from graphdep.training.splits import Splits
    from graphdep.visualization.side import Answer
    from graphdep.vocab import RelationVocab, Vocab


class SelectionFamily(TaskFamily):
    """The right response to a context, among candidates."""

    name = "selection"
    tasks: ClassVar[Mapping[str, Task]] = TASKS
    configs: ClassVar[Mapping[str, type[TrainConfig]]] = {"selection": SelectionConfig}
    default_models = ("bert", "bert-vanilla", "bert-intra", "bert-inter", "bert-sia")
    structure = (StructureRows("bert", "bert-sia", "bert-sia@random", "bert@shuffled"),)
    unit_name = "response selection"
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
        return "graphdep.tasks.selection.predict.ResponseSelector"

    def build(self, config: TrainConfig, parts: Parts) -> SelectionTask:
        from graphdep.tasks.selection.model import ObjectiveTask, SelectionTask, build_selection_model
        from graphdep.training.build import grouped_optimizer

        config = cast(SelectionConfig, config)
        model = build_selection_model(config, parts.num_words, parts.vectors, parts.pretrained)
        options: dict[str, Any] = {
            "ties": config.ties,
            "filter": config.filter,
            "recall": config.recall,
            "warmup_steps": config.warmup_steps,
            "seed": config.seed,
        }
        edges, optimizer = self.edges(config), grouped_optimizer(config, model)
        if config.objective is None:
            return SelectionTask(model, edges, optimizer, **options)
        model = cast("SelectionModel", model)  # the settings refuse an objective over others
        return ObjectiveTask(model, edges, optimizer, weights=config.weights, **options)

    def load(
        self,
        config: TrainConfig,
        splits: tuple[str, ...],
        vocab: Vocab | None = None,
        pretrained: PretrainedEncoder | None = None,
        relations: RelationVocab | None = None,
        labels: Sequence[Label] | None = None,
    ) -> Splits:
        """Splits of the corpus, which every objective makes its own examples of."""
        from graphdep.tasks.selection.model import SelectionSplits

        found = super().load(config, splits, vocab, pretrained, relations, labels)
        return SelectionSplits(**vars(found))

    def edges(self, config: TrainConfig) -> BaseTransform:
        """As of every family, and the marks that the model of an objective reads."""
        from torch_geometric.transforms import Compose

        from graphdep.tasks.selection.model import check_sia_edges, objective_edges

        config = cast(SelectionConfig, config)
        check_sia_edges(config)
        edges, further = super().edges(config), objective_edges(config)
        return Compose([edges, *further]) if further else edges

    def reads(self, config: TrainConfig) -> frozenset[str]:
        from graphdep.tasks.selection.model import sia_edges
        from graphdep.transforms.carried import carried
        from graphdep.transforms.edge_set import CLS

        config = cast(SelectionConfig, config)
        if config.readout != "cls" or (config.sia_edges and CLS in carried(sia_edges(config))):
            return super().reads(config)
        return super().reads(config) | {CLS}

    def comparable(self, mine: Splits, other: Splits) -> bool:
        """Models of words and of pieces rank the same pools: those whose candidates are right and wrong in
        the same places, and of whose texts ten are the same.
        """
        if mine is other:
            return True
        one, two = (cast("SelectionDataset", splits[splits.compared]) for splits in (mine, other))
        ours, theirs = ((data.labels().tolist(), data.groups().tolist()) for data in (one, two))
        if ours != theirs:
            return False
        spread = range(0, len(one), max(1, len(one) // 10))
        return all(one.sentences(number) == two.sentences(number) for number in spread)

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
        from graphdep.tasks.selection.model import read_pair, tokens_of

        config = cast(SelectionConfig, config)
        tokens = tokens_of(cast("SelectionTask", task).model, vocab)
        return read_pair(texts, parser, tokens, relations, config.max_length, config.max_turns)

    def answers(self, task: LearningTask, state: Any, batch: Data, trees: Sequence[Sentence]) -> list[Answer]:
        """How well the response fits."""
        from graphdep.visualization.side import Answer

        score = float(cast("SelectionTask", task).model(batch).double().sigmoid()[0])
        return [Answer("ranking", "how well the response fits", ((trees[-1].text, score),))]

    def floor_frozen(
        self, config: TrainConfig, splits: Splits, encoder: PretrainedEncoder
    ) -> dict[str, float]:
        from graphdep.tasks.selection.model import cosine_scores

        config = cast(SelectionConfig, config)
        return {
            name: value
            for split in config.splits[1:]
            for name, value in cosine_scores(config, splits[split], split, encoder).items()
        }

    def adapt(self, task: LearningTask, config: TrainConfig) -> None:
        from graphdep.nn.models import SIA
        from graphdep.tasks.selection.model import sia_edges

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
