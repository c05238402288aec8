"""What a family of tasks is."""

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


@dataclass(frozen=True)
class Published:
    """A paper's table for one task.

    Args:
        source: Paper and table.
        scores: The scores of its columns, by their names in results: ``"val_perplexity"``.
        rows: Figures by model, in the order of the scores, percentages as fractions; :obj:`None` where the
            paper has none.
        examples: Sizes of the splits it was measured on; on other data the figures say nothing.
        others: The same of systems that no model here is, for orientation. (default: none)
        note: What to know before the figures are compared. (default: none)
        settings: Settings of the paper that are not the defaults here; a table with any others does not
            have the figures. (default: none)
    """

    source: str
    scores: tuple[str, ...]
    rows: Mapping[str, tuple[float | None, ...]]
    examples: Mapping[str, int]
    others: Mapping[str, tuple[float | None, ...]] = field(default_factory=dict)
    note: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)

    def figures(self, name: str) -> dict[str, float]:
        """By score, the figures of a model or another system; empty where the paper has none."""
        values = {**self.rows, **self.others}.get(name, ())
        return {score: value for score, value in zip(self.scores, values) if value is not None}


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
        ('transformer@shuffled', 'transformer', 'dt@chain', 'dt', 'dt@random-labels')
    """

    plain: str
    trees: str
    random: str
    shuffled: str | None = None
    unordered: str | None = None

    @property
    def chain(self) -> str:
        """The row with trees that know the order of words alone: each word hangs on the one before."""
        return f"{self.trees.partition('@')[0]}@chain"

    @property
    def rows(self) -> tuple[str, ...]:
        """All of them, from the least told on."""
        rows = (self.shuffled, self.unordered, self.plain, self.chain, self.trees, self.random)
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
        output: The suffix of the new file, such as ``".csv"``; empty for stdout. (default: ``""``)
        trees: The parses of :obj:`lines`, a sentence each, of a file of trees. (default: :obj:`None`)
    """

    source: Path
    checkpoint: str
    state: Any
    parser: str | Parser | None = None
    text_columns: str | None = None
    batch_size: int = 64
    limit: WordLimit = WordLimit()  # noqa: RUF009  # cannot be changed
    lines: Sequence[str] | None = None
    output: str = ""
    trees: Sequence[Sentence] | None = None

    @property
    def kind(self) -> str:
        """The kind of the new file, by its suffix: as :obj:`source` is, and of :obj:`lines` a table."""
        return self.source.suffix.lower() if self.lines is None else self.output or ".csv"


@dataclass(frozen=True)
class FilePrediction:
    """A file with predictions.

    Args:
        text: The content of the new file, of the kind of the old one.
        summary: What was done as plain values.
        notes: What was done, for people; the last line is a summary.
        taken: What has taken in the trees of the file, with its counts. (default: a fresh one)
    """

    text: str
    summary: Mapping[str, Any]
    notes: list[str] = field(default_factory=list)
    taken: Intake = field(default_factory=Intake)


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


@dataclass(repr=False, frozen=True, kw_only=True, eq=False)
class TaskFamily:
    """Tasks that share settings, model, loss and scores: what is known of them without PyTorch.

    What computes is the :class:`~graphdep.training.learning_task.LearningTask` that :attr:`learner` names. A
    family becomes known by its line in :mod:`graphdep.tasks.registry`, or, in a package of its own, by an
    entry point of the group ``graphdep.families`` that names it.

    Args:
        name: Its name in messages.
        tasks: Its tasks by name.
        configs: The settings of its tasks, by their :attr:`~graphdep.training.task.Task.kind`.
        learner: The class that learns its tasks, ``"package.module:Class"``, imported when it is needed.
        unit_name: Unit that a task works on, such as ``"sentences"``, shown in ``--help``. (default: its
            name)
        default_models: Rows of an ablation that names none.
        gives: What its checkpoints are for, in messages.
        used_by: What uses its checkpoints, in messages.
        predicted: What ``graphdep predict`` takes and where its predictions go, for its help; empty where
            nothing is predicted for a file.
        published: Tables of papers, by task.
        columns: The scores of a table by task, the main one first. (default: those of the floor)
        floors: Further floors, such as what counting gets: the ending of their scores' names, and what each
            is.
        frozen: What :meth:`LearningTask.floor_frozen` computes, to stand under tables.
        structure: Rows that tell what structure is worth, by :func:`~graphdep.training.needs_structure`.
        floor_reads: Splits that :meth:`LearningTask.floor` needs beside the one that is scored.
        files: What :meth:`LearningTask.extra_scores` and :meth:`LearningTask.finish` leave in the folder of a
            run.
        drawn: What comparisons of systems draw and swap, for people, where it is not :attr:`groups`.
        groups: What the groups of :meth:`LearningTask.groups` are, for people; they are drawn if there are
            any.

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
        """The :class:`~graphdep.training.learning_task.LearningTask` that learns its tasks, imported."""
        return resolve_name(self.learner)

    def config(self, task: str) -> type[TrainConfig]:
        """The settings of one of its tasks."""
        return self.configs[self.tasks[task].kind]

    def compared(self, task: str) -> str:
        """What comparisons of systems on a task draw and swap where it has no groups, for people."""
        whole = self.tasks[task].metrics[0].name == "exact"  # of groups, which are right or wrong as a whole
        return "groups of test examples" if whole else self.drawn

    def split_floors(self, floor: Mapping[str, float]) -> dict[str, dict[str, float]]:
        """What :meth:`LearningTask.floor` gives, apart: scores by the names of the metrics, of ``"no skill"``
        and of each further floor by what it is.
        """
        found: dict[str, dict[str, float]] = {"no skill": {}, **{about: {} for about in self.floors.values()}}
        for name, value in floor.items():
            ending = next((ending for ending in self.floors if name.endswith(f"_{ending}")), None)
            about = "no skill" if ending is None else self.floors[ending]
            found[about][name if ending is None else name.removesuffix(f"_{ending}")] = value
        return {about: scores for about, scores in found.items() if scores}

    def missing_split(self, config: TrainConfig, split: str) -> str:
        """Advice for settings that have no such split, to stand at the end of a message."""
        return f": give it (--{split} FILE)" if split in config.marks else ""  # a file of one's own


def build_task(config: TrainConfig, parts: BuildInputs) -> Any:
    """Model, edges, loss and optimizer of the settings, not trained."""
    task = config.task_family.task_class.build(config, parts)
    task.clip = config.clip  # also where a task of one's own takes no such argument
    return task


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
        relations: Relations, e.g. a checkpoint's; :obj:`None` chooses them as the settings say. (default:
            :obj:`None`)
        labels: The classes of the user's own texts, e.g. a checkpoint's; :obj:`None` learns them from the
            training split. (default: :obj:`None`)

    Raises:
        ValueError: If the task is unknown, the model does not read what the edges carry, or a raw file is
            damaged.
        FileNotFoundError: If a raw file is missing.
    """
    learner = config.task_family.task_class
    learner.make_edges(config)  # a mismatch of edges and model is known before hours of parsing
    found: Splits = learner.load(config, splits or config.splits, vocab, pretrained, relations, labels)
    return found
