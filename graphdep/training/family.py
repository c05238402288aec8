"""Task families."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, TypeVar

from graphdep.parsing.parser import Parser, WordLimit
from graphdep.sentence.intake import Intake

if TYPE_CHECKING:
    import numpy as np

    from graphdep.datasets.base.rows import Label
    from graphdep.nn.pretrained import PretrainedEncoder
    from graphdep.sentence.sentence import Sentence
    from graphdep.training.build import BuildInputs
    from graphdep.training.config import TrainConfig
    from graphdep.training.splits import Splits
    from graphdep.training.task import Task
    from graphdep.vocab import RelationVocab, Vocab


LOOKUP = "lookup"
"""Suffix of the names of scores by look-up."""
BAG = "bag_of_words"
"""Suffix of the names of scores by a bag of words."""


@dataclass(frozen=True)
class Published:
    """A paper's table for one task.

    Args:
        source: Paper and table.
        scores: Names of its columns in results, such as ``"val_perplexity"``.
        rows: Figures by model, in the order of the scores, percentages as fractions; :obj:`None` for missing
            ones.
        examples: Sizes of its splits; the figures are shown only beside results on splits of these sizes.
        others: Figures of systems that graphdep does not have. (default: none)
        note: Remark on comparing the figures. (default: none)
        settings: The paper's settings that differ from the defaults; the figures are shown only beside
            results with these settings. (default: none)
    """

    source: str
    scores: tuple[str, ...]
    rows: Mapping[str, tuple[float | None, ...]]
    examples: Mapping[str, int]
    others: Mapping[str, tuple[float | None, ...]] = field(default_factory=dict)
    note: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)

    def figures(self, name: str) -> dict[str, float]:
        """The figures of a model or another system by score; empty if there are none."""
        values = {**self.rows, **self.others}.get(name, ())
        return {score: value for score, value in zip(self.scores, values) if value is not None}


@dataclass(frozen=True)
class StructureRows:
    """The models, with controls, that show whether a task needs structure.

    Args:
        plain: Without trees.
        trees: With the parser's trees.
        random: With random trees whose words keep their labels.
        shuffled: With words in random order. (default: :obj:`None`)
        unordered: Without positions. (default: :obj:`None`)

    Example:
        >>> from graphdep.training.family import StructureRows
        >>> StructureRows("transformer", "dt", "dt@random-labels", "transformer@shuffled").rows
        ('transformer@shuffled', 'transformer', 'dt@chain', 'dt', 'dt@random-labels')
    """

    plain: str
    trees: str
    random: str
    shuffled: str | None = None
    unordered: str | None = None

    @property
    def chain(self) -> str:
        """The model with chains, in which the governor of a word is the previous word."""
        return f"{self.trees.partition('@')[0]}@chain"

    @property
    def rows(self) -> tuple[str, ...]:
        """All models, from the least information to the most."""
        rows = (self.shuffled, self.unordered, self.plain, self.chain, self.trees, self.random)
        return tuple(row for row in rows if row is not None)


DT_STRUCTURE = (
    StructureRows("transformer", "dt", "dt@random-labels", "transformer@shuffled", "transformer-nopos"),
    StructureRows("bert", "bert-dt", "bert-dt@random-labels", "bert@shuffled"),
)


@dataclass(frozen=True)
class SplitScores:
    """Scores by name, ``<split>_<metric>``.

    Args:
        metrics: Scores of the model.
        floor: Scores without skill, and further floors.
        reference: Scores of the reference responses.
        tables: Further tables by split, such as scores of each label.
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
    """A file or lines of text to predict for.

    Args:
        source: The file.
        checkpoint: Name of the model in messages.
        state: Its :class:`~graphdep.training.checkpoint.RunState`.
        parser: Parser, or its name; :obj:`None` for the checkpoint's if it is ``"bundled"``. (default:
            :obj:`None`)
        text_columns: Names of the columns of texts, joined by commas. (default: :obj:`None`)
        batch_size: Largest number of examples per batch. (default: :obj:`64`)
        limit: Longest text in words, and whether longer texts are cut.
        lines: Texts without columns, one example per line, the texts of pairs separated by a tab;
            :obj:`source` is then only their name in messages. (default: :obj:`None`)
        output: Suffix of the new file, such as ``".csv"``; empty for stdout. (default: ``""``)
        trees: The parses of :obj:`lines` from a file of trees. (default: :obj:`None`)
    """

    source: Path
    checkpoint: str
    state: Any
    parser: str | Parser | None = None
    text_columns: str | None = None
    batch_size: int = 64
    limit: WordLimit = WordLimit()  # noqa: RUF009  # immutable
    lines: Sequence[str] | None = None
    output: str = ""
    trees: Sequence[Sentence] | None = None

    @property
    def kind(self) -> str:
        """Suffix of the new file: that of :obj:`source`; for :obj:`lines` :obj:`output` or ``".csv"``."""
        return self.source.suffix.lower() if self.lines is None else self.output or ".csv"


@dataclass(frozen=True)
class FilePrediction:
    """A file with predictions.

    Args:
        text: Content of the new file, in the format of the old one.
        summary: Counts and scores as plain values.
        notes: The same as text; the last line is a summary.
        taken: The intake of the trees in the file, with its counts. (default: a new one)
    """

    text: str
    summary: Mapping[str, Any]
    notes: list[str] = field(default_factory=list)
    taken: Intake = field(default_factory=Intake)


T = TypeVar("T")


def label_columns(
    target: np.ndarray, prediction: np.ndarray, labels: Sequence[Any] | None, given: Sequence[Any] = ()
) -> dict[str, list[str]]:
    """Columns ``target_label`` and ``prediction_label``; none without names of labels.

    Args:
        target, prediction: Numbers of labels ``[N]``; numbers below 0 have no name.
        labels: Names by number.
        given: The targets by name, with those that training does not have. (default: the names)
    """
    if not labels:
        return {}
    names = [*map(str, labels)]
    columns = {"target_label": target, "prediction_label": prediction}
    found = {
        column: [names[int(number)] if number >= 0 else "" for number in numbers]
        for column, numbers in columns.items()
    }
    return found | ({"target_label": [*map(str, given)]} if given else {})


def read_if_present(read: Callable[[], list[T]]) -> list[T]:
    """The result of ``read``, which reads raw files; empty if they are missing and only processed files are
    left.
    """
    try:
        return read()
    except FileNotFoundError:
        return []


@dataclass(repr=False, frozen=True, kw_only=True, eq=False)
class TaskFamily:
    """Tasks that share settings, model, loss and scores, described without PyTorch.

    The computations are those of the :class:`~graphdep.training.learning_task.LearningTask` named by
    :attr:`learner`. A family is registered by a line in :mod:`graphdep.tasks.registry`, or by an entry point
    of the group ``graphdep.families`` in another package.

    Args:
        name: Its name in messages.
        tasks: Its tasks by name.
        configs: The settings of its tasks by :attr:`~graphdep.training.task.Task.kind`.
        learner: The class of its tasks, ``"package.module:Class"``, imported when needed.
        unit_name: Name of the inputs in ``--help``, such as ``"sentences"``. (default: its name)
        default_models: Default rows of an ablation.
        gives: The outputs of its models, in messages.
        used_by: What uses its checkpoints, in messages.
        predicted: Inputs and outputs of ``graphdep predict`` for its help; empty if it cannot predict for
            files.
        published: Tables of papers by task.
        columns: The scores in tables by task, the main one first. (default: those of the floor)
        floors: Further floors, such as counting: suffix of their scores' names to description.
        frozen: Description of :meth:`LearningTask.floor_frozen`, printed under tables.
        structure: Models of :func:`~graphdep.training.needs_structure`.
        floor_reads: Splits that :meth:`LearningTask.floor` needs besides the scored one.
        files: Files that :meth:`LearningTask.extra_scores` and :meth:`LearningTask.finish` write into the
            folder of a run.
        drawn: Description of the units that significance tests resample if there are no groups.
        groups: Description of the groups of :meth:`LearningTask.groups`, which are resampled otherwise.

    Example:
        >>> from graphdep.tasks import family_of
        >>> family = family_of("sst")
        >>> family.name, family.config("sst").__name__, family.task_class.__name__
        ('sentence', 'SentenceConfig', 'SentenceTask')
    """

    name: str
    tasks: Mapping[str, Task]
    configs: Mapping[str, type[TrainConfig]]
    learner: str
    unit_name: str = ""
    default_models: tuple[str, ...] = ()
    gives: str = "results"
    used_by: str = "`graphdep evaluate`"
    predicted: str = ""
    published: Mapping[str, tuple[Published, ...]] = field(default_factory=dict)
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    floors: Mapping[str, str] = field(default_factory=dict)
    frozen: str = ""
    structure: tuple[StructureRows, ...] = ()
    floor_reads: tuple[str, ...] = ("train",)
    files: tuple[str, ...] = ()
    drawn: str = "test examples"
    groups: str = "groups of test examples"

    def __repr__(self) -> str:
        return f"TaskFamily({self.name!r})"

    def __post_init__(self) -> None:
        object.__setattr__(self, "unit_name", self.unit_name or self.name)

    @property
    def task_class(self) -> Any:
        """The :class:`~graphdep.training.learning_task.LearningTask` of its tasks, imported."""
        return resolve_name(self.learner)

    def config(self, task: str) -> type[TrainConfig]:
        """The settings of one of its tasks."""
        return self.configs[self.tasks[task].kind]

    def compared(self, task: str) -> str:
        """Description of the units that significance tests on a task resample if it has no groups."""
        whole = self.tasks[task].metrics[0].name == "exact"  # a metric of whole groups
        return "groups of test examples" if whole else self.drawn

    def shown(self, task: str, settings: Mapping[str, Any]) -> tuple[str, ...]:
        """:attr:`columns` of a task, the main score of the settings first."""
        usual, main = (of.metrics[0].name for of in (self.tasks[task], self.tasks[task].settled(settings)))
        swapped = {usual: main, main: usual}
        parts = (name.partition("_") for name in self.columns.get(task, ()))
        return tuple(f"{split}_{swapped.get(name, name)}" for split, _, name in parts)

    def split_floors(self, floor: Mapping[str, float]) -> dict[str, dict[str, float]]:
        """The result of :meth:`LearningTask.floor` split into ``"no skill"`` and each further floor by its
        description: name of the metric to score.
        """
        found: dict[str, dict[str, float]] = {"no skill": {}, **{about: {} for about in self.floors.values()}}
        for name, value in floor.items():
            ending = next((ending for ending in self.floors if name.endswith(f"_{ending}")), None)
            about = "no skill" if ending is None else self.floors[ending]
            found[about][name if ending is None else name.removesuffix(f"_{ending}")] = value
        return {about: scores for about, scores in found.items() if scores}

    def missing_split(self, config: TrainConfig, split: str) -> str:
        """Advice if the settings have no such split, the end of a message."""
        return f": give it (--{split} FILE)" if split in config.marks else ""  # a file of the user's


def build_task(config: TrainConfig, parts: BuildInputs) -> Any:
    """A new task of the settings: model, edges, loss and optimizer."""
    task = config.task_family.task_class.build(config, parts)
    task.clip = config.clip  # for tasks of other packages, whose build may ignore it
    return task


def load_splits(
    config: TrainConfig,
    splits: tuple[str, ...] | None = None,
    vocab: Vocab | None = None,
    pretrained: PretrainedEncoder | None = None,
    relations: RelationVocab | None = None,
    labels: Sequence[Label] | None = None,
) -> Splits:
    """Loads splits of the task's corpus, and parses them the first time.

    Args:
        config: The settings.
        splits: Names of splits. (default: all splits of the settings)
        vocab: Vocabulary, e.g. a checkpoint's; :obj:`None` builds it from the training split. (default:
            :obj:`None`)
        pretrained: Encoder with the tokenizer, e.g. a checkpoint's; :obj:`None` for that of the settings, if
            any. (default: :obj:`None`)
        relations: Relations, e.g. a checkpoint's; :obj:`None` for those by the settings. (default:
            :obj:`None`)
        labels: Classes, e.g. a checkpoint's; :obj:`None` for those of the training split. (default:
            :obj:`None`)

    Raises:
        ValueError: If the task is unknown, the edges do not fit the model, or a raw file is damaged.
        FileNotFoundError: If a raw file is missing.
    """
    learner = config.task_family.task_class
    learner.make_edges(config)  # edges that do not fit the model should fail before hours of parsing
    found: Splits = learner.load(config, splits or config.splits, vocab, pretrained, relations, labels)
    return found
