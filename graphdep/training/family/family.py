"""What the runner asks of a family of tasks, and nothing else."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from graphdep.training.family.split_scores import SplitScores
from graphdep.training.family.structure_rows import StructureRows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from torch_geometric.data import Data
    from torch_geometric.transforms import BaseTransform

    from graphdep.datasets.base.rows import Label
    from graphdep.explorer.answer import Answer
    from graphdep.nn.pretrained import PretrainedEncoder
    from graphdep.parsing import Parser
    from graphdep.sentence import Sentence
    from graphdep.training.family.file_prediction import FilePrediction, FileRequest
    from graphdep.training.family.learning_task import LearningTask, Outputs
    from graphdep.training.family.parts import Parts
    from graphdep.training.family.published import Published
    from graphdep.training.family.splits import Splits
    from graphdep.training.family.task import Task
    from graphdep.training.family.train_config import TrainConfig
    from graphdep.vocab import RelationVocab, Vocab


class TaskFamily(ABC):
    """Tasks that share settings, models, loss and scores.

    A family sets :attr:`name`, :attr:`tasks` and :attr:`configs`, and writes :meth:`build` and :meth:`floor`;
    what else there is has a default. It becomes known by its line in :mod:`graphdep.tasks.registry`, or, in a
    package of its own, by an entry point of the group ``graphdep.families`` that names an instance.
    """

    name: ClassVar[str]
    """Its name in messages."""
    tasks: ClassVar[Mapping[str, Task]]
    """Its tasks by name."""
    configs: ClassVar[Mapping[str, type[TrainConfig]]]
    """The settings of its tasks, by their :attr:`~graphdep.training.family.task.Task.kind`."""
    of: ClassVar[str]
    """What its tasks are of, in the help of commands. (default: :attr:`name`)"""
    default_models: ClassVar[tuple[str, ...]] = ()
    """Rows of an ablation that names none."""
    gives: ClassVar[str] = "results"
    """What its checkpoints are for, in messages."""
    used_by: ClassVar[str] = "`graphdep evaluate`"
    """What uses its checkpoints, in messages."""
    predicted: ClassVar[str] = ""
    """What :meth:`predict_file` takes and where its predictions go, for the help of ``graphdep predict``."""
    published: ClassVar[Mapping[str, Published]] = {}
    """What papers report, by task."""
    columns: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """The scores of a table by task, the main one first. (default: those of the floor)"""
    floors: ClassVar[Mapping[str, str]] = {}
    """Further floors, such as what counting gets: the ending of their scores' names, and what each is."""
    frozen: ClassVar[str] = ""
    """What :meth:`floor_frozen` computes, to stand under tables."""
    structure: ClassVar[tuple[StructureRows, ...]] = ()
    """Rows that tell what structure is worth, by :func:`~graphdep.training.needs_structure`."""
    floor_reads: ClassVar[tuple[str, ...]] = ("train",)
    """Splits that :meth:`floor` needs beside the one that is scored."""
    files: ClassVar[tuple[str, ...]] = ()
    """What :meth:`extra_scores` and :meth:`finish` leave in the folder of a run."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" in vars(cls) and not hasattr(cls, "of"):
            cls.of = cls.name

    @abstractmethod
    def build(self, config: TrainConfig, parts: Parts) -> LearningTask:
        """Model, edges, loss and optimizer, not trained."""

    @abstractmethod
    def floor(self, task: LearningTask, splits: Splits, split: str, outputs: Outputs) -> dict[str, float]:
        """What no skill gets, by the names of the metrics: ``<split>_<metric>``, and for each of
        :attr:`floors` ``<split>_<metric>_<ending>``.
        """

    def predictor(self, task: str) -> str | None:
        """The class that answers for models of a task in Python, ``"package.module.Class"``.

        It is a :class:`~graphdep.training.runner.hub_model.HubModel`. (default: there is none)
        """
        return None

    def published_for(self, task: str, given: Mapping[str, Any]) -> Published | None:
        """A paper's figures that may stand beside those of a table with the given settings."""
        return self.published.get(task)

    def compared(self, task: str) -> str:
        """What comparisons of systems draw and swap, for people, where it is not :meth:`grouped`."""
        return "test examples"

    def grouped(self, task: str) -> str:
        """What the groups of :meth:`LearningTask.groups` are, for people; they are drawn if there are any."""
        return "groups of test examples"

    @classmethod
    def split_floors(cls, floor: Mapping[str, float]) -> dict[str, dict[str, float]]:
        """What :meth:`floor` gives, apart: scores by the names of the metrics, of ``"no skill"`` and of each
        further floor by what it is.
        """
        found: dict[str, dict[str, float]] = {"no skill": {}, **{about: {} for about in cls.floors.values()}}
        for name, value in floor.items():
            ending = next((ending for ending in cls.floors if name.endswith(f"_{ending}")), None)
            about = "no skill" if ending is None else cls.floors[ending]
            found[about][name if ending is None else name.removesuffix(f"_{ending}")] = value
        return {about: scores for about, scores in found.items() if scores}

    def floor_frozen(
        self, config: TrainConfig, splits: Splits, encoder: PretrainedEncoder
    ) -> dict[str, float]:
        """What a pretrained encoder gets before it is trained, by the names of the metrics, of all splits
        that are scored; :attr:`frozen` says how. Empty where there is no such floor.

        Args:
            config: The settings.
            splits: The data.
            encoder: The encoder, as it was loaded.
        """
        return {}

    def config(self, task: str) -> type[TrainConfig]:
        """The settings of one of its tasks."""
        return self.configs[self.tasks[task].kind]

    def load(
        self,
        config: TrainConfig,
        splits: tuple[str, ...],
        vocab: Vocab | None = None,
        pretrained: PretrainedEncoder | None = None,
        relations: RelationVocab | None = None,
        labels: Sequence[Label] | None = None,
    ) -> Splits:
        """Splits of the corpus; arguments as of :func:`~graphdep.training.load_splits`."""
        from graphdep.training.family.loading import load_corpus

        return load_corpus(config, splits, vocab, pretrained, relations, labels)

    def edges(self, config: TrainConfig) -> BaseTransform:
        """The tree control, the edges, and their types where the model needs and the edges lack them."""
        from graphdep.training.family.edges import with_trees

        return with_trees(config, [] if config.edges is None else self.own_edges(config, config.edges))

    def own_edges(self, config: TrainConfig, name: str) -> list[BaseTransform]:
        """The edges of a preset, for a tree that stands.

        Raises:
            ValueError: If the models have no use for them.
        """
        from graphdep.training.family.edges import preset_edges

        return [preset_edges(config, name)]

    def adapt(self, task: LearningTask, config: TrainConfig) -> None:
        """Gives a trained task the edges and ways to score of other settings.

        Raises:
            ValueError: If the model has no layers for them.
        """
        task.edges = self.edges(config)

    def extra_scores(
        self, task: LearningTask, splits: Splits, split: str, config: TrainConfig, folder: Path | None = None
    ) -> SplitScores:
        """Scores that outputs alone do not give, such as those of responses; files go to ``folder``."""
        return SplitScores()

    def tables(self, task: LearningTask, splits: Splits, split: str, outputs: Outputs) -> dict[str, Any]:
        """What a result has beside scores, by name: plain values, such as a row for each label."""
        return {}

    def readable(
        self, task: LearningTask, splits: Splits, split: str, outputs: Outputs
    ) -> dict[str, list[str]]:
        """What people read of a split beside the numbers of its ``predictions.csv``: columns by their names,
        such as the names of labels and the texts, of as many rows as :meth:`LearningTask.compared` gives.
        """
        return {}

    def example(
        self,
        task: LearningTask,
        config: TrainConfig,
        vocab: Vocab,
        relations: RelationVocab,
        texts: list[str],
        parser: Parser,
    ) -> tuple[Data, list[Sentence]]:
        """An example of raw texts as a trained model reads it, without edges, and the tree of each of its
        utterances.

        Args:
            task: The trained model.
            config, vocab, relations: What it was trained with.
            texts: The texts of one example, none of them blank.
            parser: Gives trees, or graphs where the settings have :obj:`arcs` other than ``"basic"``.

        Raises:
            ValueError: If the model takes another number of texts.
        """
        from graphdep.data import trees_data
        from graphdep.parsing import enhance
        from graphdep.parsing.parser import parse_joined
        from graphdep.training.family.pretrained import backbone_of

        trees, _ = parse_joined(parser, texts)
        arcs = getattr(config, "arcs", "basic")
        trees = trees if arcs == "basic" else enhance(trees, level=arcs)
        data = trees_data(
            trees,
            relations,
            vocab=vocab,
            tokens=backbone_of(task.model).tokens if config.pretrained else None,
            max_length=getattr(config, "max_length", None),
            arcs=arcs,
            phrases=config.phrases_read,
            segment=[*range(len(trees))],
        )
        return data, trees

    def answers(self, task: LearningTask, state: Any, batch: Data, trees: Sequence[Sentence]) -> list[Answer]:
        """What a trained model says of one example, for people, by default nothing.

        Args:
            task: The trained model.
            state: What its checkpoint knows beside the weights, a :class:`~graphdep.training.RunState`.
            batch: The example with its edges, as a batch on the device of the model.
            trees: The tree of each utterance.
        """
        return []

    def predict_file(self, task: LearningTask, request: FileRequest) -> FilePrediction:
        """A file with what a trained model predicts for it: ``graphdep predict``.

        Raises:
            ValueError: If the file does not fit, or nothing can be predicted for one.
        """
        raise ValueError(
            f"{request.checkpoint}: trained on the task {request.state.config.task!r}, which gives no "
            f"predictions for single texts or pairs but {self.gives}: see {self.used_by}"
        )

    def labels(self, splits: Splits) -> list[Label] | None:
        """The names of the classes by their numbers, for the checkpoint; :obj:`None` where there are none."""
        return None

    def known_labels(self, config: TrainConfig) -> bool:
        """Whether a trained model's classes are those of its checkpoint and not of its corpus."""
        return False

    def comparable(self, mine: Splits, other: Splits) -> bool:
        """Whether the predictions of two rows are of the same targets."""
        return mine is other

    def missing_split(self, config: TrainConfig, split: str) -> str:
        """Advice for settings that have no such split, to stand at the end of a message."""
        return ""

    def begin(  # noqa: B027
        self, task: LearningTask, config: TrainConfig
    ) -> None:
        """Called before training starts from random weights or those of an encoder."""

    def finish(  # noqa: B027
        self, task: LearningTask, folder: Path
    ) -> None:
        """Called with the best epoch's model before the result is written."""
