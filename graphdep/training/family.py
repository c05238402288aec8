"""What a family of tasks is."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from graphdep.parsing.parser import Parser, WordLimit

if TYPE_CHECKING:
    import numpy as np
    from torch_geometric.data import Data
    from torch_geometric.transforms import BaseTransform

    from graphdep.datasets.base.parsed import ParsedDataset
    from graphdep.datasets.base.rows import Label
    from graphdep.nn.pretrained import PretrainedEncoder
    from graphdep.parsing import Parser
    from graphdep.sentence import Sentence
    from graphdep.training.build import Parts
    from graphdep.training.config import TrainConfig
    from graphdep.training.encoder_config import WordConfig
    from graphdep.training.learning_task import LearningTask, Outputs
    from graphdep.training.splits import Splits
    from graphdep.training.task import Task
    from graphdep.visualization.side import Answer
    from graphdep.vocab import RelationVocab, Vocab


@dataclass(frozen=True)
class Published:
    """A paper's figures for one task.

    Args:
        source: Paper and table.
        metric: Which metric.
        rows: Figures of the models that we have, as fractions.
        examples: Sizes of the splits it was measured on; on other data the figures say nothing.
        others: Other systems that the paper lists, for orientation. (default: none)
        note: What to know before the figures are compared. (default: none)
        split: Which split they are of. (default: ``"test"``)
    """

    source: str
    metric: str
    rows: Mapping[str, float]
    examples: Mapping[str, int]
    others: Mapping[str, float] = field(default_factory=dict)
    note: str = ""
    split: str = "test"


@dataclass(frozen=True)
class StructureRows:
    """The rows that answer whether a task needs structure, by the names of models with controls.

    Args:
        plain: Words in their order, and no tree.
        trees: The same with the parser's trees.
        random: The same with random trees, that keep what words tell by their labels.
        shuffled: Words in random order. (default: :obj:`None`, none of the family's)
        unordered: Words without positions. (default: :obj:`None`)

    Example:
        >>> from graphdep.training.family import StructureRows
        >>> StructureRows("transformer", "dt", "dt@random-labels", "transformer@shuffled").rows
        ('transformer@shuffled', 'transformer', 'dt', 'dt@random-labels')
    """

    plain: str
    trees: str
    random: str
    shuffled: str | None = None
    unordered: str | None = None

    @property
    def rows(self) -> tuple[str, ...]:
        """All of them, from the least told on."""
        rows = (self.shuffled, self.unordered, self.plain, self.trees, self.random)
        return tuple(row for row in rows if row is not None)


@dataclass(frozen=True)
class SplitScores:
    """Scores by name, ``<split>_<metric>``.

    Args:
        metrics: What the model gets.
        floor: What no skill gets.
        reference: What the references of generated responses get.
        tables: What stands beside scores, by split, such as a row for each label.
    """

    metrics: dict[str, float] = field(default_factory=dict)
    floor: dict[str, float] = field(default_factory=dict)
    reference: dict[str, float] = field(default_factory=dict)
    tables: dict[str, Any] = field(default_factory=dict)

    def __or__(self, other: SplitScores) -> SplitScores:
        return SplitScores(
            self.metrics | other.metrics,
            self.floor | other.floor,
            self.reference | other.reference,
            self.tables | other.tables,
        )


@dataclass(frozen=True)
class FileRequest:
    """A file, or some lines of text, to predict something for.

    Args:
        source: The file.
        checkpoint: What the model is called in messages.
        state: What its checkpoint knows beside the weights, a :class:`~graphdep.training.RunState`.
        parser: Parser, or its name; :obj:`None` for the checkpoint's, if it may choose it. (default:
            :obj:`None`)
        text_columns: Names of the columns with texts, joined by commas. (default: :obj:`None`)
        batch_size: Examples a batch at most. (default: :obj:`64`)
        limit: Words of a text at most, and whether a longer one is cut.
        lines: Texts without columns, an example a line, of pairs with a tab between the two; then
            :obj:`source` is what they are called in messages, and may be no file. (default: :obj:`None`)
        output: Of :obj:`lines` the suffix of the new file: ``".csv"``, ``".tsv"`` or ``".jsonl"``. (default:
            ``".csv"``)
    """

    source: Path
    checkpoint: str
    state: Any
    parser: str | Parser | None = None
    text_columns: str | None = None
    batch_size: int = 64
    limit: WordLimit = WordLimit()  # noqa: RUF009  # cannot be changed
    lines: Sequence[str] | None = None
    output: str = ".csv"

    @property
    def kind(self) -> str:
        """The kind of the new file, by its suffix: as :obj:`source` is, and of :obj:`lines` a table."""
        return self.source.suffix.lower() if self.lines is None else self.output


@dataclass(frozen=True)
class FilePrediction:
    """A file with predictions.

    Args:
        text: The content of the new file, of the kind of the old one.
        summary: What was done as plain values.
        notes: What was done, for people; the last line is a summary.
    """

    text: str
    summary: Mapping[str, Any]
    notes: list[str] = field(default_factory=list)


T = TypeVar("T")


def label_columns(
    target: np.ndarray, prediction: np.ndarray, labels: Sequence[Any] | None
) -> dict[str, list[str]]:
    """Columns ``target_label`` and ``prediction_label`` of numbers of labels; none where there are no names.

    Args:
        target, prediction: Numbers ``[N]``; what is below 0 has no name.
        labels: The names by their numbers.
    """
    if not labels:
        return {}
    names = [*map(str, labels)]
    columns = {"target_label": target, "prediction_label": prediction}
    return {
        column: [names[int(number)] if number >= 0 else "" for number in numbers]
        for column, numbers in columns.items()
    }


def texts_of(read: Callable[[], list[T]]) -> list[T]:
    """What a dataset reads of its raw files; nothing where they are gone, and only what was made of them is
    left.
    """
    try:
        return read()
    except FileNotFoundError:
        return []


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
    """The settings of its tasks, by their :attr:`~graphdep.training.task.Task.kind`."""
    unit_name: ClassVar[str]
    """Unit that a task works on, such as ``"sentences"``, shown in ``--help``. (default: :attr:`name`)"""
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
        if "name" in vars(cls) and not hasattr(cls, "unit_name"):
            cls.unit_name = cls.name

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

        It is a :class:`~graphdep.training.hub.HubModel`. (default: there is none)
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
        from graphdep.training.splits import load_corpus

        return load_corpus(config, splits, vocab, pretrained, relations, labels)

    def edges(self, config: TrainConfig) -> BaseTransform:
        """The tree control, the edges, and their types where the model needs and the edges lack them.

        Raises:
            ValueError: If the model does not read what the edges carry, or they lack what it reads.
        """
        from graphdep.training.build import check_read, with_trees

        if config.edges is None:
            return with_trees(config, [])
        edges = self.own_edges(config, config.edges)
        check_read(self, config, edges)
        return with_trees(config, edges)

    def reads(self, config: TrainConfig) -> frozenset[str]:
        """What a model reads of edges beside their pairs, by the names in
        :mod:`graphdep.transforms.edge_set`: edges that carry more, or lack some of it, are refused.
        By default it reads pairs alone, written out or not.
        """
        from graphdep.nn.conv.attention_conv import AttentionConv

        return AttentionConv.reads

    def own_edges(self, config: TrainConfig, name: str) -> list[BaseTransform]:
        """The edges of a preset, for a tree that stands, and what is done to them."""
        from graphdep.training.build import preset_edges

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
        from graphdep.data.encoded import trees_data
        from graphdep.parsing.enhanced import enhance
        from graphdep.parsing.parser import parse_joined
        from graphdep.training.build import backbone_of

        trees, _ = parse_joined(parser, texts)
        arcs = getattr(config, "arcs", "basic")
        trees = trees if arcs == "basic" else enhance(trees, arcs, getattr(config, "engine", "rules"))
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


class WordFamily(TaskFamily):
    """Base of the families whose models read states of words, some of which may be marked, and whose classes
    are learned from the data; their settings are :class:`WordConfig`.
    """

    def own_edges(self, config: TrainConfig, name: str) -> list[BaseTransform]:
        from graphdep.training.build import preset_edges, pretrained_edges, with_types

        if not config.pretrained:
            return with_types(config, preset_edges(config, name))
        return with_types(config, pretrained_edges(cast("WordConfig", config)))

    def reads(self, config: TrainConfig) -> frozenset[str]:
        from graphdep.training.build import encoder_reads

        return encoder_reads(cast("WordConfig", config))

    def load(
        self,
        config: TrainConfig,
        splits: tuple[str, ...],
        vocab: Vocab | None = None,
        pretrained: PretrainedEncoder | None = None,
        relations: RelationVocab | None = None,
        labels: Sequence[Label] | None = None,
    ) -> Splits:
        found = super().load(config, splits, vocab, pretrained, relations, labels)
        limit = cast("WordConfig", config).limit_eval
        return found if limit is None else _limited(found, limit)

    def adapt(self, task: LearningTask, config: TrainConfig) -> None:
        from graphdep.training.build import backbone_of, check_nodes

        super().adapt(task, config)
        if config.pretrained:
            check_nodes(cast("WordConfig", config), backbone_of(task.model))

    def example(
        self,
        task: LearningTask,
        config: TrainConfig,
        vocab: Vocab,
        relations: RelationVocab,
        texts: list[str],
        parser: Parser,
    ) -> tuple[Data, list[Sentence]]:
        import torch

        if len(texts) != 1:
            raise ValueError(f"'texts' must be one text, as the model was trained on (got {len(texts)})")
        data, trees = super().example(task, config, vocab, relations, texts, parser)
        if cast("WordConfig", config).marked:
            data.mark = torch.zeros_like(data.word)  # a text marks nothing
        return data, trees

    def labels(self, splits: Splits) -> list[Label] | None:
        return splits.labels()

    def known_labels(self, config: TrainConfig) -> bool:
        return True

    def missing_split(self, config: TrainConfig, split: str) -> str:
        own = split in config.marks  # a file of one's own
        return f": give it (--{split} FILE)" if own else ""


def _limited(splits: Splits, limit: int) -> Splits:
    """The splits with so many examples each at most, those to train on aside."""
    from graphdep.datasets.base.rows import spread_rows

    datasets, notes = dict(splits.datasets), []
    for name in splits.datasets.keys() - {"train"}:
        whole = splits.in_memory(name)
        if limit < len(whole):
            # A copy has no more than these, for those who count in all that a split has.
            part = whole.index_select(spread_rows(range(len(whole)), limit)).copy()
            datasets[name] = cast("ParsedDataset", part)
            notes.append(f"{name}: {limit} of {len(whole)} examples, spread over the split (limit_eval)")
    return dataclasses.replace(splits, datasets=datasets, notes=tuple(sorted(notes)))


def build_task(config: TrainConfig, parts: Parts) -> LearningTask:
    """Model, edges, loss and optimizer of the settings, not trained."""
    return cast("LearningTask", config.task_family.build(config, parts))


def load_splits(
    config: TrainConfig,
    splits: tuple[str, ...] | None = None,
    vocab: Vocab | None = None,
    pretrained: PretrainedEncoder | None = None,
    relations: RelationVocab | None = None,
    labels: Sequence[Label] | None = None,
) -> Splits:
    """Loads and, the first time, parses splits of the task's corpus.

    Args:
        config: The settings.
        splits: Which. (default: all that the settings have)
        vocab: Vocabulary, e.g. a checkpoint's; :obj:`None` builds it from the training split. (default:
            :obj:`None`)
        pretrained: The encoder whose pieces the words have, e.g. a checkpoint's; :obj:`None` for the one that
            the settings name, if they do. (default: :obj:`None`)
        relations: Relations, e.g. a checkpoint's; :obj:`None` learns those of enhanced arcs from the training
            split. (default: :obj:`None`)
        labels: The classes of the user's own texts, e.g. a checkpoint's; :obj:`None` learns them from the
            training split. (default: :obj:`None`)

    Raises:
        ValueError: If the task is unknown, the model does not read what the edges carry, or a raw file is
            damaged.
        FileNotFoundError: If a raw file is missing.
    """
    family = config.task_family
    family.edges(config)  # a mismatch of edges and model is known before hours of parsing
    loaded: Splits = family.load(config, splits or config.splits, vocab, pretrained, relations, labels)
    return loaded
