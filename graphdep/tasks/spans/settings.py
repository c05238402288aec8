"""Tasks on marked spans, their presets and settings."""

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
from graphdep.training.config import OF_TREES, ModelPreset, OwnTableConfig
from graphdep.training.encoder_config import WORD_MODELS, WordConfig
from graphdep.training.settings import OWN, setting
from graphdep.training.task import Task

_OVER = "over the examples of the split; a label that training does not have is wrong"
SPAN_METRICS: tuple[Metric, ...] = (
    replace(ACCURACY, signature=f"accuracy: share of right labels {_OVER} ({SCIKIT_LEARN})"),
    replace(WORD_F1, signature=f"f1: micro-averaged F1 of all labels but that of no finding, {_OVER}"),
    replace(
        WORD_MACRO_F1,
        signature="macro_f1: mean of the F1 of all labels, but that of no finding, that the split has or "
        f"that are predicted, {_OVER}",
    ),
)
EXACT: Metric = replace(
    SPAN_METRICS[0],
    name="exact",
    signature="exact: share of the examples that are right as a whole; as each has one label, it is accuracy "
    "under the name that it has where words are labelled",
)


OF_WAYS = f"of each way through the tree from one span to the other, of up to {MAX_ARCS} arcs"
OF_WORDS = "of each form of a span's top word"


@dataclass(frozen=True)
class Spans(Task):
    """A label for one or two marked spans of a sentence.

    Its dataset is a :class:`~graphdep.datasets.spans.base.SpanDataset`.

    Args:
        num_spans: Spans of an example, 1 or 2. (default: :obj:`2`)
        outside: The label that stands for no finding, which F1 leaves out. (default: :obj:`None`)
        main: The metrics that systems are compared by; the first decides which epoch is the best. They take
            codes of labels: 0 for no finding, from 1 on the others in the order of the classes. All of
            :data:`SPAN_METRICS` are reported beside them. (default: accuracy, and micro and macro F1)
        numbers: Codes by label, where metrics of the corpus know its labels by number, whatever classes there
            are. (default: none)
        **others: As in :class:`Task`.
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
            f"; floor: the most frequent class of training; look-up: the commonest label {self.looked_up}"
        )
        return {
            name: metric.signature.split("; floor:")[0] + floors for name, metric in self.reported.items()
        }

    @property
    def looked_up(self) -> str:
        """What the look-up floor has the commonest label of."""
        return OF_WAYS if self.num_spans > 1 else OF_WORDS

    def codes(self, labels: Sequence[Any], outside: str | None) -> tuple[int, ...]:
        """The codes of the classes.

        Args:
            labels: The classes by their numbers.
            outside: The one that stands for no finding; :obj:`None` for none.

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
    """A label for one or two marked spans of the user's own sentences: what the files are is said by the
    settings.

    Args:
        **others: As in :class:`Spans`.
    """

    kind: ClassVar[str] = "own-spans"

    @property
    def looked_up(self) -> str:
        return f"{super().looked_up}, or where there is one span, {OF_WORDS}"


# As codes are: that of no finding first.
_DIRECTED = [OTHER, *(label for label in LABELS if label != OTHER)]
_SEMEVAL = semeval2010_macro_f1(_DIRECTED)
_CODES = {label: code for code, label in enumerate(_DIRECTED)}
# A relation without direction is one whose direction is always right.
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
"""The scores of a table, the main one first."""


class SpanConfig(WordConfig, kind="spans"):
    """Settings of a run on marked spans. ``graphdep settings --task semeval2010`` lists them.

    Args:
        **settings: Those of :class:`~graphdep.training.encoder_config.WordConfig`, of spans, and of single
            corpora; an option of a corpus at :obj:`None` is the corpus' own default.

    Raises:
        ValueError: If a value has the wrong type or is outside its range; the message names key and value.
    """

    task: str = "semeval2010"
    model: str = "dt"
    encoder: str = setting(
        "transformer",
        "Encoder: transformer, lisa, gate or g2g over the edges; word-average, lstm, bilstm, bilstm-deep or "
        "bigru over words; bilstm-labels over words and the labels of their arcs; tree-lstm, bitree-lstm, "
        "tree-transformer or dt-rnn over the dependency tree; for models whose names begin with bert a "
        "pretrained encoder: a folder, or a name on the Hugging Face hub.",
    )
    direction: bool | None = setting(None, "Of semeval2010: labels have the direction of the relation.")
    domain: str | None = setting(None, "Of aspects: domain of the reviews.")
    polarities: int | None = setting(None, "Of aspects: number of polarities.")
    negatives: float | None = setting(
        None, "Of pairs of entities: those without relation to train on for each pair with one."
    )
    val_fraction: float | None = setting(None, "Share of the training file that is drawn for validation.")
    val_seed: int | None = setting(None, "Seed of all that is drawn from the corpus.")
    readout: str = setting(
        "mean",
        "Mean of a span's words, or its top word, the nearest to the root, stands for the span.",
        choices=("mean", "top"),
        defines=True,
    )
    path: bool = setting(
        False,
        "Also read the mean over the words on the way through the tree between two spans.",
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
            "val_seed": "seed",  # that of a run is another one
        }
    )

    def check(self) -> None:
        super().check()
        self.check_read(("path",), "tasks of two spans an example", self.num_spans > 1)

    @property
    def span_task(self) -> Spans:
        """The task."""
        task = self.spec
        assert isinstance(task, Spans)
        return task

    @property
    def num_spans(self) -> int:
        """Spans of an example: 1 or 2."""
        return self.span_task.num_spans

    @property
    def marked(self) -> bool:
        return True

    @property
    def outside_label(self) -> str | None:
        """The label that stands for no finding."""
        return self.span_task.outside

    @property
    def label(self) -> str:
        given = ((name, getattr(self, name)) for name in ("direction", "domain", "polarities", "negatives"))
        return ", ".join([super().label, *(f"{name} {value}" for name, value in given if value is not None)])

    def signatures(self) -> dict[str, str]:
        told = super().signatures()
        if self.direction is False:
            undirected = "; labels have no direction, so that none is wrong"
            told = {name: text + undirected for name, text in told.items()}
        return told


_FILES = ("train", "val", "test")


class OwnSpanConfig(SpanConfig, OwnTableConfig, kind="own-spans"):
    """Settings of a run on the user's own marked spans, see :class:`graphdep.datasets.OwnSpans`.

    Args:
        **settings: Those of :class:`SpanConfig` but ``raw_from``, and of the files.

    Raises:
        ValueError: If a setting is missing or wrong; the message names it.
    """

    task: str = "spans"
    outside: str | None = setting(
        None, "Label that stands for no finding, which F1 leaves out.", defines=True
    )
    span_end: str = setting(
        "auto",
        "Of TACRED's layout: the ends of spans are their last words (last), or behind these; auto takes "
        "what all files together tell.",
        panel=OWN,
        choices=SPAN_ENDS,
    )
    val_fraction: float = 0.1
    val_seed: int = 0
    trees: str = setting(
        "parser",
        "Trees: sentences that have a tree keep it, and the parser parses the others (parser), or all have "
        "one (gold); or a control in place of the trees.",
    )

    @property
    def outside_label(self) -> str | None:
        return self.outside

    def check_sources(self) -> None:
        super().check_sources()
        for name, path in self.own_files().items():
            check_suffix(name, path)
            check_first_row(path, self.text_columns or "text", self.label_column or "label")

    def dataset_options(self, split: str) -> dict[str, Any]:
        files = {name: getattr(self, name) for name in (*_FILES, *OF_TREES, "span_end")}
        named = {"text_column": self.text_columns, "label_column": self.label_column}
        given = {name: value for name, value in named.items() if value is not None}
        return super().dataset_options(split) | files | given
