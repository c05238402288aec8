"""Tasks, models and settings of marked spans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, ClassVar

from graphdep.datasets.base.rows import check_suffix
from graphdep.datasets.spans.formats import SPAN_ENDS, check_first_row
from graphdep.datasets.spans.rows import LABELS, MAX_ARCS, NONE, OTHER, RELATIONS
from graphdep.metrics.metric import Metric
from graphdep.metrics.scores import ACCURACY, SCIKIT_LEARN, WORD_F1, WORD_MACRO_F1, semeval2010_macro_f1
from graphdep.training.config import ModelPreset
from graphdep.training.encoder_config import WORD_MODELS, WordConfig
from graphdep.training.own_config import OF_TREES, OWN_TREES, OwnTableConfig, on_own_trees
from graphdep.training.settings import OWN, setting
from graphdep.training.task import Task

_OVER = "over the examples of the split; labels that training lacks are wrong"
SPAN_METRICS: tuple[Metric, ...] = (
    replace(ACCURACY, signature=f"accuracy: share of correct labels {_OVER} ({SCIKIT_LEARN})"),
    replace(WORD_F1, signature=f"f1: micro-averaged F1 of all labels but the negative one, {_OVER}"),
    replace(
        WORD_MACRO_F1,
        signature="macro_f1: mean F1 of all target or predicted labels but the negative one, " + _OVER,
    ),
)
EXACT: Metric = replace(
    SPAN_METRICS[0],
    name="exact",
    signature="exact: share of correct examples; with one label per example the same as accuracy",
)


OF_WAYS = f"of each tree path of up to {MAX_ARCS} arcs between the spans"
OF_WORDS = "of each form of a span's top word"


@dataclass(frozen=True)
class Spans(Task):
    """Labels of one or two marked spans of a sentence.

    Its dataset is a :class:`~graphdep.datasets.spans.base.SpanDataset`.

    Args:
        num_spans: Number of spans in an example, 1 or 2. (default: :obj:`2`)
        outside: The negative label, which F1 leaves out. (default: :obj:`None`)
        main: Metrics for comparisons; the first selects the best epoch. They take codes of labels: 0 for the
            negative label, from 1 on for the others in the order of the classes. All of
            :data:`SPAN_METRICS` are also reported. (default: accuracy, micro and macro F1)
        numbers: Codes by label, for metrics with fixed codes. (default: none)
        **others: See :class:`Task`.
    """

    num_spans: int = field(default=2, kw_only=True)
    outside: str | None = field(default=None, kw_only=True)
    main: tuple[Metric, ...] = field(default=SPAN_METRICS, kw_only=True)
    numbers: Mapping[str, int] = field(default_factory=dict, kw_only=True)

    kind: ClassVar[str] = "spans"

    @property
    def metrics(self) -> tuple[Metric, ...]:
        return self.main

    @property
    def reported(self) -> dict[str, Metric]:
        """All metrics by name."""
        return {metric.name: metric for metric in (*SPAN_METRICS, *self.main, EXACT)}

    @property
    def signatures(self) -> dict[str, str]:
        floors = (
            f"; floor: the most frequent label in training; look-up: the most frequent label {self.looked_up}"
            "; bag of words: logistic regression on TF-IDF of words or pieces, counted once more for each "
            "span that has them (scikit-learn)"
        )
        return {
            name: metric.signature.split("; floor:")[0] + floors for name, metric in self.reported.items()
        }

    @property
    def looked_up(self) -> str:
        """The key of look-up, as text."""
        return OF_WAYS if self.num_spans > 1 else OF_WORDS

    def codes(self, labels: Sequence[Any], outside: str | None) -> tuple[int, ...]:
        """The codes of the classes.

        Args:
            labels: The classes by number.
            outside: The negative label, if any.

        Raises:
            ValueError: If none of the labels is :obj:`outside`.
        """
        if self.numbers:
            return tuple(self.numbers[label] for label in labels)
        if outside is not None and outside not in labels:
            known = ", ".join(map(str, labels))
            raise ValueError(f"'outside' must be one of the labels of training, {known} (got {outside!r})")
        found = [label for label in labels if label != outside]
        return tuple(0 if label == outside else 1 + found.index(label) for label in labels)


@dataclass(frozen=True)
class OwnMarkedSpans(Spans):
    """Labels of one or two marked spans of the user's sentences, in files named by the settings.

    Args:
        **others: See :class:`Spans`.
    """

    kind: ClassVar[str] = "own-spans"

    def settled(self, settings: Mapping[str, Any]) -> Task:
        outside = settings.get("outside")
        return self if outside is None else replace(self, outside=outside, main=_BY_F1)

    @property
    def looked_up(self) -> str:
        return f"{super().looked_up}, or with one span {OF_WORDS}"


# In the order of codes, the negative label first.
_DIRECTED = [OTHER, *(label for label in LABELS if label != OTHER)]
_SEMEVAL = semeval2010_macro_f1(_DIRECTED)
_CODES = {label: code for code, label in enumerate(_DIRECTED)}
# Relations without direction have the code of their first direction.
_CODES |= {name: _CODES[f"{name}(e1,e2)"] for name in RELATIONS}
_BY_F1 = (SPAN_METRICS[1], SPAN_METRICS[2], SPAN_METRICS[0])

TASKS: dict[str, Task] = {
    "semeval2010": Spans(
        "SemEval-2010 Task 8",
        "graphdep.datasets:SemEval2010Task8",
        "datasets/semeval2010",
        outside=OTHER,
        main=(_SEMEVAL, *SPAN_METRICS[:2]),
        numbers=_CODES,
    ),
    "conll04": Spans("CoNLL04", "graphdep.datasets:CoNLL04", "datasets/conll04", outside=NONE, main=_BY_F1),
    "aspects": Spans(
        "SemEval-2014 aspects",
        "graphdep.datasets:SemEval2014Aspects",
        "datasets/semeval2014-aspects",
        num_spans=1,
    ),
    "spans": OwnMarkedSpans("Own spans", "graphdep.datasets:OwnSpans", "datasets/spans", gold_trees=True),
}
COLUMNS: dict[str, tuple[str, ...]] = {
    "conll04": ("test_f1", "test_macro_f1", "test_accuracy", "val_f1"),
    "aspects": ("test_accuracy", "test_macro_f1", "val_accuracy"),
    "spans": ("test_accuracy", "test_macro_f1", "test_f1", "val_accuracy"),
    "semeval2010": ("test_macro_f1", "test_f1", "test_accuracy", "val_macro_f1"),
}
"""The scores in tables, the main one first."""


class SpanConfig(WordConfig, kind="spans"):
    """Settings of a run on marked spans. ``graphdep settings --task semeval2010`` lists them.

    Args:
        **settings: The settings of :class:`~graphdep.training.encoder_config.WordConfig`, of spans, and of
            single corpora; for the latter :obj:`None` is the default of the corpus.

    Raises:
        ValueError: If a value has the wrong type or is out of range; the message names key and value.
    """

    task: str = "semeval2010"
    direction: bool | None = setting(None, "semeval2010: labels include the direction of the relation.")
    domain: str | None = setting(None, "aspects: domain of the reviews.")
    polarities: int | None = setting(None, "aspects: number of polarities.")
    negatives: float | None = setting(
        None, "Pairs of entities: number of training pairs without relation per pair with one."
    )
    val_fraction: float | None = setting(None, "Random share of the training file for validation.")
    val_seed: int | None = setting(None, "Seed of random choices from the corpus.")
    readout: str = setting(
        "mean",
        "State of a span: mean of its words, or its top word, the nearest to the root.",
        choices=("mean", "top"),
        defines=True,
    )
    path: bool = setting(
        False,
        "Also read the mean over the words on the tree path between two spans.",
        defines=True,
    )
    word_state: str = "mean"
    trees: str = "parser"

    models: ClassVar[Mapping[str, ModelPreset]] = WORD_MODELS
    corpus_options: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "direction": "direction",
            "domain": "domain",
            "polarities": "polarities",
            "negatives": "negatives",
            "val_fraction": "val_fraction",
            "val_seed": "seed",  # not the seed of the run
        }
    )

    def check(self) -> None:
        super().check()
        self.check_read(("path",), "tasks with two spans per example", self.num_spans > 1)

    @property
    def span_task(self) -> Spans:
        """The task."""
        task = self.spec
        assert isinstance(task, Spans)
        return task

    @property
    def num_spans(self) -> int:
        """Number of spans in an example, 1 or 2."""
        return self.span_task.num_spans

    @property
    def outside_label(self) -> str | None:
        """The negative label."""
        return self.span_task.outside

    @property
    def label(self) -> str:
        given = ((name, getattr(self, name)) for name in ("direction", "domain", "polarities", "negatives"))
        return ", ".join([super().label, *(f"{name} {value}" for name, value in given if value is not None)])

    def signatures(self) -> dict[str, str]:
        undirected = "; labels have no direction" if self.direction is False else ""
        return {name: text + undirected for name, text in super().signatures().items()}


_FILES = ("train", "val", "test")


class OwnSpanConfig(SpanConfig, OwnTableConfig, kind="own-spans"):
    """Settings of a run on the user's marked spans (:class:`graphdep.datasets.OwnSpans`).

    Args:
        **settings: The settings of :class:`SpanConfig` except ``raw_from``, and of the files.

    Raises:
        ValueError: If a setting is missing or invalid; the message names it.
    """

    task: str = "spans"
    outside: str | None = setting(
        None,
        "Negative label, which F1 leaves out; with it, F1 selects the best epoch. Empty for none.",
        defines=True,
        verbatim=True,
    )
    span_end: str = setting(
        "auto",
        "TACRED's layout: ends of spans are their last words (last) or the words after them (behind); auto "
        "decides by all files together.",
        panel=OWN,
        choices=SPAN_ENDS,
    )
    val_fraction: float = 0.1
    val_seed: int = 0
    trees: str = setting("own", **OWN_TREES)

    models: ClassVar[Mapping[str, ModelPreset]] = on_own_trees(WORD_MODELS)

    def check_sources(self) -> None:
        super().check_sources()
        for name, path in self.own_files().items():
            check_suffix(name, path)
            check_first_row(path, self.text_columns or "text", self.label_column or "label")

    def dataset_options(self, split: str) -> dict[str, Any]:
        files = {name: getattr(self, name) for name in (*_FILES, *OF_TREES, "span_end")}
        named = {"text_column": self.text_columns, "label_column": self.label_column}
        given = {name: value for name, value in named.items() if value is not None}
        more = super().dataset_options(split) | {"keep_trees": not self.parses_words}
        return more | files | given
