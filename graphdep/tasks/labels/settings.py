"""Tasks, models and settings of word labels."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import pairwise
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np

from graphdep.datasets.base.rows import CONTINUED, UNKNOWN
from graphdep.datasets.labels.bio import OUTSIDE, Span, spans_of
from graphdep.datasets.labels.own import check_given, check_word_file
from graphdep.datasets.labels.probe_corpus import DEFAULT_FUNCTION, PROBE_FUNCTIONS
from graphdep.datasets.labels.words import UPOS, Column, mark_column
from graphdep.io.limits import MAX_WORDS, check_choice
from graphdep.metrics.metric import Metric
from graphdep.metrics.scores import (
    EXACT,
    LABELS,
    NOTHING,
    SPAN,
    WITH_GAPS,
    WORD_ACCURACY,
    WORD_F1,
    WORD_MACRO_F1,
    label_table,
)
from graphdep.training.config import ModelPreset
from graphdep.training.encoder_config import WORD_MODELS, WordConfig
from graphdep.training.own_config import OF_TREES, OWN_TREES, OwnFilesConfig, on_own_trees
from graphdep.training.settings import setting
from graphdep.training.task import Task

SCHEMES = ("words", "bio")
SPAN_RULES = ("spans", "srl-eval")


class ScoredWords(NamedTuple):
    """The scored words of a split, each ``[N]``."""

    target: np.ndarray
    """Numbers of labels, including labels that training lacks
    (:func:`~graphdep.datasets.labels.base.label_number`).
    """
    example: np.ndarray
    """Numbers of examples."""
    group: np.ndarray
    """Numbers of groups of examples, which are scored as a whole by exact match."""
    place: np.ndarray
    """Positions of words in their examples."""


@dataclass(frozen=True)
class LabelScoring:
    """Scores labels of words, or spans in BIO.

    Args:
        labels: The labels by number.
        outside: The negative label, which F1 leaves out; it must be the first of :obj:`labels` or none of
            them. (default: :obj:`None`)
        scheme: ``"words"``, or ``"bio"`` for BIO labels of spans. (default: ``"words"``)
        rules: ``"spans"`` scores each span separately; ``"srl-eval"`` scores arguments like ``srl-eval.pl``
            of CoNLL-2005: a span ``C-X`` continues the last X before it (without one it is an X), all spans
            of an argument must be right, and ``V`` does not count. (default: ``"spans"``)

    Raises:
        ValueError: If the scheme or the rules are unknown, a label is not in BIO, or ``"srl-eval"`` is used
            without ``"bio"``.

    Example:
        >>> import numpy as np
        >>> from graphdep.tasks.labels.settings import LabelScoring, ScoredWords
        >>> scoring = LabelScoring(("O", "A", "B"), outside="O")
        >>> words = ScoredWords(np.array([0, 1, 2]), *np.zeros((3, 3), int))
        >>> scoring.scores(np.array([1, 1, 0]), words)["f1"]
        0.5
    """

    labels: tuple[Any, ...]
    outside: str | None = None
    scheme: str = "words"
    rules: str = "spans"

    def __post_init__(self) -> None:
        check_choice("scheme", self.scheme, SCHEMES)
        check_choice("rules", self.rules, SPAN_RULES)
        if self.rules != "spans" and self.scheme != "bio":
            raise ValueError(f"'rules' {self.rules!r} are for scheme='bio' (got scheme={self.scheme!r})")
        if self.scheme == "bio":
            spans_of([str(label) for label in self.labels])

    @property
    def names(self) -> tuple[str, ...]:
        """The labels of codes, counted from 1."""
        if self.scheme == "bio":
            names = {str(label)[2:] for label in self.labels if label != OUTSIDE}
            if self.rules == "srl-eval":
                names = {name.removeprefix(_GOES_ON) for name in names} - {_PREDICATE}
            return tuple(sorted(names))
        return tuple(str(label) for label in self.labels if label != self.outside)

    def scores(self, prediction: np.ndarray, words: ScoredWords) -> dict[str, float]:
        """Accuracy, micro and macro F1, and exact match of groups.

        Args:
            prediction: Predicted numbers of labels ``[N]``; -2 for none.
            words: The scored words.
        """
        found, there = self.codes(prediction, words), self.codes(words.target, words)
        scores = {metric.name: metric(found, there) for metric in (WORD_F1, WORD_MACRO_F1)}
        # Accuracy is that of single words for spans, too.
        scores["accuracy"] = WORD_ACCURACY(prediction, words.target)
        scores["exact"] = EXACT(*self.exact(prediction, words))
        return scores

    def exact(self, prediction: np.ndarray, words: ScoredWords) -> tuple[np.ndarray, np.ndarray]:
        """For each group 1 if all of its words, or spans, are right, else 0; and the targets, all 1."""
        groups, number = np.unique(words.group, return_inverse=True)
        found, there = self.codes(prediction, words), self.codes(words.target, words)
        if self.scheme == "bio":
            found = np.where(found == NOTHING, 0, found)  # no span is missing at a word without one
        wrong = np.bincount(number, weights=found != there, minlength=len(groups))
        return (wrong == 0).astype(np.int64), np.ones(len(groups), dtype=np.int64)

    def table(
        self, prediction: np.ndarray, words: ScoredWords, unknown: str = "(unknown)"
    ) -> list[dict[str, Any]]:
        """Counts, precision, recall and F1 of each target or predicted label, sorted by name; ``unknown`` is
        the name of all labels that training lacks, which count as one.
        """
        rows = label_table(self.codes(prediction, words), self.codes(words.target, words))
        names = (unknown, *self.names)
        named = [{**row, "label": names[max(0, int(row["label"]))]} for row in rows]
        return sorted(named, key=lambda row: str(row["label"]))

    def codes(self, numbers: np.ndarray, words: ScoredWords) -> np.ndarray:
        """A code for each word: 0 for the negative label, else that of its label, or for spans, at their
        first word, of label and length; -1 for labels that training lacks, -2 for no prediction.
        """
        if self.scheme == "words":
            first = 0 if self.labels and self.labels[0] == self.outside else 1
            return np.where(numbers < 0, np.where(numbers <= CONTINUED, UNKNOWN, numbers), numbers + first)
        return self._span_codes(numbers, words)

    def _span_codes(self, numbers: np.ndarray, words: ScoredWords) -> np.ndarray:
        codes = np.where(numbers == NOTHING, NOTHING, np.zeros_like(numbers))
        number = {name: place for place, name in enumerate(self.names, 1)}
        tags = [self._tag(n) for n in numbers.tolist()]
        examples: dict[int, list[Span]] = {}
        for start, end in _runs(words):
            spans = [(start + first, start + last, name) for first, last, name in spans_of(tags[start:end])]
            examples.setdefault(int(words.example[start]), []).extend(spans)
        for spans in examples.values():
            for name, pieces in self._joined(spans):
                if name in number:
                    codes[pieces[0][0]] = _span_code(number[name], pieces)
                elif name == _UNKNOWN_NAME:
                    codes[pieces[0][0]] = UNKNOWN
        return codes

    def _joined(self, spans: Iterable[Span]) -> list[tuple[str, list[tuple[int, int]]]]:
        """The scored units: label and bounds of their spans."""
        found: list[tuple[str, list[tuple[int, int]]]] = []
        last: dict[str, list[tuple[int, int]]] = {}
        for start, end, label in spans:
            goes_on = self.rules == "srl-eval" and label.startswith(_GOES_ON)
            name = label.removeprefix(_GOES_ON) if goes_on else label
            if goes_on and name in last:
                last[name].append((start, end))
            else:
                last[name] = [(start, end)]
                found.append((name, last[name]))
        return found

    def _tag(self, number: int) -> str | None:
        if number <= CONTINUED and self.rules == "srl-eval":
            tag = str(self.labels[CONTINUED - number])
            return f"{tag[:2]}{_GOES_ON}{tag[2:]}"
        if number == UNKNOWN or number <= CONTINUED:
            return _UNKNOWN_TAG
        return None if number < 0 else str(self.labels[number])


def _span_code(label: int, pieces: Sequence[tuple[int, int]]) -> int:
    """A reproducible code of the label and bounds of a unit."""
    (start, end), *more = pieces
    if not more:
        return label * SPAN + (end - start)
    offsets = [bound - start for piece in pieces for bound in piece]
    digest = int.from_bytes(blake2b(repr(offsets).encode(), digest_size=8).digest())
    return WITH_GAPS + digest % _DIGESTS * LABELS + label


_DIGESTS = 10**11  # small enough for codes that are exact as floats


_GOES_ON, _PREDICATE = "C-", "V"
_UNKNOWN_NAME = "\x00"  # no label has a control character
_UNKNOWN_TAG = f"I-{_UNKNOWN_NAME}"


def _runs(words: ScoredWords) -> list[tuple[int, int]]:
    """Start and end of each sequence of adjacent scored words."""
    if not len(words.place):
        return []
    apart = (np.diff(words.place) != 1) | (np.diff(words.example) != 0)
    bounds = [0, *(np.flatnonzero(apart) + 1).tolist(), len(words.place)]
    return list(pairwise(bounds))


def bio_tables(labels: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Allowed transitions ``[C, C]`` and first labels ``[C]``: ``I-X`` only after ``B-X`` or ``I-X``."""
    names = [str(label) for label in labels]
    goes_on = np.array([name.startswith("I-") for name in names])
    same = np.array([[a[2:] == b[2:] and a != OUTSIDE for b in names] for a in names])
    return ~goes_on[None, :] | same, ~goes_on


_MAIN: dict[str, tuple[Metric, ...]] = {
    "accuracy": (WORD_ACCURACY, WORD_MACRO_F1),
    "f1": (WORD_F1, WORD_MACRO_F1),
    "exact": (EXACT,),
}
_ALL = (WORD_ACCURACY, WORD_F1, WORD_MACRO_F1, EXACT)


@dataclass(frozen=True)
class WordLabels(Task):
    """Labels of all or some words of a sentence, perhaps relative to a marked word.

    Its dataset is a :class:`~graphdep.datasets.labels.base.LabelDataset`.

    Args:
        main: Metrics for the best epoch and for comparisons: ``"accuracy"`` or ``"f1"``, each with macro F1,
            or ``"exact"``, the exact match of groups of examples. All are reported. (default: ``"accuracy"``)
        outside: The negative label, which F1 leaves out. (default: :obj:`None`)
        marked: Whether each example has a marked word. (default: :obj:`False`)
        **others: See :class:`Task`.
    """

    main: str = field(default="accuracy", kw_only=True)
    outside: str | None = field(default=None, kw_only=True)
    marked: bool = field(default=False, kw_only=True)

    kind: ClassVar[str] = "labels"

    @property
    def metrics(self) -> tuple[Metric, ...]:
        return _MAIN[self.main]

    @property
    def needs_mark(self) -> bool:
        """Whether sentences without a marked word cannot be labelled."""
        return self.marked

    @property
    def looked_up(self) -> str:
        """The key of look-up, as text."""
        return "tree path of up to two arcs from the marked word" if self.marked else "word form"

    @property
    def signatures(self) -> dict[str, str]:
        floors = "; floor: the most frequent label in training; look-up: the most frequent label of each "
        floors += self.looked_up
        return {metric.name: metric.signature + floors for metric in _ALL}


@dataclass(frozen=True)
class ParsedWordLabels(WordLabels):
    """Like :class:`WordLabels`, on a corpus without trees, which is parsed.

    Args:
        **others: See :class:`WordLabels`.
    """

    kind: ClassVar[str] = "parsed-labels"


@dataclass(frozen=True)
class OwnWordLabels(ParsedWordLabels):
    """Labels of words of the user's sentences, in files named by the settings.

    Args:
        **others: See :class:`WordLabels`.
    """

    kind: ClassVar[str] = "own-labels"

    @property
    def needs_mark(self) -> bool:
        return False

    @property
    def looked_up(self) -> str:
        return f"{super().looked_up}, or without marks in training of each word form"


_ROLES: dict[str, Any] = {"main": "f1", "outside": OUTSIDE, "marked": True, "gold_trees": True}

_COGS: dict[str, Any] = {
    "main": "exact",
    "outside": OUTSIDE,
    "marked": True,
    # Its test words occur in training once: with a larger min_freq all would be [UNK].
    "defaults": {"min_freq": 1},
}

TASKS: dict[str, Task] = {
    "up": WordLabels(
        "Universal PropBank", "graphdep.datasets:UniversalPropBank", "datasets/universal-propbank", **_ROLES
    ),
    "ud-tags": WordLabels("UD tags", "graphdep.datasets:UDTags", "datasets/ud", gold_trees=True),
    "agreement": WordLabels(
        "Agreement",
        "graphdep.datasets:Agreement",
        "datasets/agreement",
        # The validation split has the structures of training, on which many epochs are perfect.
        defaults={"keep": "last"},
        other_tests=("test-indist",),
        gold_trees=True,
    ),
    "cogs": ParsedWordLabels(
        "COGS", "graphdep.datasets:COGS", "datasets/cogs", other_tests=("test-indist",), **_COGS
    ),
    "probes": WordLabels("Probes", "graphdep.datasets:Probes", "datasets/probes", gold_trees=True),
    "propbank-ewt": WordLabels(
        "PropBank on EWT", "graphdep.datasets:PropBankEWT", "datasets/propbank-ewt", **_ROLES
    ),
    "labels": OwnWordLabels(
        "Own labels",
        "graphdep.datasets:OwnLabels",
        "datasets/labels",
        main="f1",
        outside=OUTSIDE,
        marked=True,
        gold_trees=True,
    ),
}
COLUMNS: dict[str, tuple[str, ...]] = {
    "agreement": ("test_accuracy", "val_accuracy"),
    "cogs": ("test_exact", "test_f1", "val_exact"),
    "labels": ("test_f1", "test_accuracy", "test_exact", "val_f1"),
    "probes": ("test_accuracy", "test_macro_f1"),
    "propbank-ewt": ("test_f1", "test_macro_f1", "test_exact", "val_f1"),
    "up": ("test_f1", "test_macro_f1", "test_exact", "val_f1"),
    "ud-tags": ("test_accuracy", "test_macro_f1", "val_accuracy"),
}
"""The scores in tables, the main one first."""


PARSED_LABEL_MODELS: dict[str, ModelPreset] = {
    **WORD_MODELS,
    "bilstm-scaffold": ModelPreset(
        "bilstm-deep that also learns to predict the tree in training, and needs none in testing",
        edges=None,
        overrides={"encoder": "bilstm-deep", "scaffold": 1.0},
    ),
}
"""Models for corpora without trees."""
LABEL_MODELS: dict[str, ModelPreset] = {
    name: dataclasses.replace(preset, trees="gold") for name, preset in PARSED_LABEL_MODELS.items()
}
"""Models on the corpus' own trees, which share their data; ``model@parser`` uses the parser's."""


class LabelConfig(WordConfig, kind="labels"):
    """Settings of a run on labels of words. ``graphdep settings --task ud-tags`` lists them.

    Args:
        **settings: The settings of :class:`~graphdep.training.encoder_config.WordConfig`, of labels, and of
            single corpora; for the latter :obj:`None` is the default of the corpus.

    Raises:
        ValueError: If a value has the wrong type or is out of range; the message names key and value.
    """

    task: str = "ud-tags"
    key: str | None = setting(
        UPOS,
        "Label in ud-tags and in files of CoNLL-U and spaCy (upos if none): upos, xpos, deprel, lemma, "
        "feats, feats:KEY or misc:KEY. Words without it are not scored.",
        defines=True,
    )
    absent: str | None = setting(
        None,
        "Label of words without the key, which are then scored; for keys of some words only.",
        defines=True,
    )
    form: str | None = setting(None, "propbank-ewt: heads or spans; cogs: variable-free or original.")
    name: str | None = setting(None, "agreement: tense or question.")
    verbs: str | None = setting(None, "agreement: labelled verbs of the training split, all or main.")
    train_from: str | None = setting(
        None, "File to train on: train, or for agreement test, for universal propositions dev."
    )
    ud_from: str | None = setting(
        None, "propbank-ewt: folder of the treebank, if it is not in raw_from.", place=True
    )
    function: str | None = setting(None, "probes: function of the tree that gives the labels.")
    sentences: int | None = setting(None, "probes: number of training sentences.")
    projective: bool | None = setting(None, "probes: order the words so that each subtree is contiguous.")
    nominals: str | None = setting(None, "cogs: nouns and names that are marked in separate examples.")
    data_seed: int | None = setting(None, "Seed of generated data.")
    trees: str = setting(
        "gold",
        "Trees: the corpus' own (gold), the parser's, or a control. With gold no parser is used.",
    )
    crf: bool = setting(False, "Use a linear-chain CRF over the labels of a sentence.", defines=True)
    scaffold: float = setting(
        0.0,
        "Weight of a loss for predicting each word's governor and relation from its state in training, "
        "without trees in testing; 0 for none.",
        defines=True,
    )
    decode: str = setting(
        "argmax",
        "argmax: best label of each word; viterbi: best sequence that BIO allows, always used with crf.",
        choices=("argmax", "viterbi"),
        late=True,
    )
    rules: str = setting(
        "spans",
        "Scoring of BIO labels: each span separately (spans), or like srl-eval.pl of CoNLL-2005: C-X "
        "continues the X before it, and V does not count.",
        choices=SPAN_RULES,
        late=True,
    )

    models: ClassVar[Mapping[str, ModelPreset]] = LABEL_MODELS
    corpus_options: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "form": "form",
            "name": "name",
            "verbs": "verbs",
            "train_from": "train_from",
            "ud_from": "ud_from",
            "nominals": "nominals",
            "function": "function",
            "sentences": "sentences",
            "projective": "projective",
            "data_seed": "seed",  # not the seed of the run
        }
    )

    def check(self) -> None:
        super().check()
        for name in ("key", "absent"):
            self.check_option(name, name)
        self.check_read(("rules",), "labels of spans", self.label_scheme == "bio")
        self.check_read(("decode",), "labels of spans", self.label_scheme == "bio")
        self.check_read(("crf",), "tasks with a negative label", self.outside_label is not None)
        if self.crf and self.monitor == "loss":
            raise ValueError(
                "'monitor' cannot be 'loss' with 'crf': the validation loss is that of single words"
            )
        Column(self.key or UPOS, self.absent)

    @property
    def reads_trees(self) -> bool:
        return super().reads_trees or self.scaffold > 0

    @property
    def word_task(self) -> WordLabels:
        """The task."""
        task = self.spec
        assert isinstance(task, WordLabels)
        return task

    @property
    def has_key(self) -> bool:
        """Whether :obj:`key` chooses the labels."""
        return self.key is not None and self.word_task.takes("key")

    @property
    def reads_own_trees(self) -> bool:
        """Whether the trees in files are used instead of a parser's."""
        return self.word_task.gold_trees and not self.parses_words

    @property
    def outside_label(self) -> str | None:
        """The negative label."""
        return self.word_task.outside

    @property
    def marked(self) -> bool:
        if self.word_task.takes("function"):
            return PROBE_FUNCTIONS[self.function or DEFAULT_FUNCTION].needs_mark
        return self.word_task.marked

    @property
    def label_scheme(self) -> str:
        """``"bio"`` for BIO labels of spans, else ``"words"``."""
        return "bio" if self.form == "spans" else "words"

    @property
    def label(self) -> str:
        own = [f"key {self.key}"] if self.has_key else []
        given = ((name, getattr(self, name)) for name in ("form", "name", "function"))
        own += [f"{name} {value}" for name, value in given if value is not None]
        return ", ".join([super().label, *own])

    def dataset_options(self, split: str) -> dict[str, Any]:
        own = {"key": self.key or UPOS, "absent": self.absent} if self.word_task.takes("key") else {}
        return super().dataset_options(split) | own | {"parser": self._parser}

    def data_settings(self) -> dict[str, Any]:
        return super().data_settings() | {"parser": self._parser}

    def named(self) -> dict[str, Any]:
        read = self._parser != "gold"
        return {name: value for name, value in super().named().items() if read or name != "parser"}

    def signatures(self) -> dict[str, str]:
        read = self.reads_own_trees and self.trees not in ("random", "chain")  # without labels
        given = self.has_key and self.key == "deprel" and read
        note = "; models that read the labels of the treebank's arcs read the targets" if given else ""
        spans = exact = ""
        if self.label_scheme == "bio":
            spans = "; spans are right if first word, last word and label are"
            exact = "; all spans must be right"
        if self.rules == "srl-eval":
            spans += ", with C-X joined to X and without V, like srl-eval.pl of CoNLL-2005"
        elif self.form == "spans":
            spans += "; C-X is a separate label, which srl-eval.pl of CoNLL-2005 joins to X (rules)"
        own = {"f1": spans, "macro_f1": spans, "exact": exact}
        texts = super().signatures()
        return {name: f"{text}{own.get(name, '')}{note}" for name, text in texts.items()}

    @property
    def _parser(self) -> str:
        """The source of the trees, which controls may replace: the corpus' own, if any, unless parsed."""
        return "gold" if self.reads_own_trees else self.parser


class ParsedLabelConfig(LabelConfig, kind="parsed-labels"):
    """Settings of a run on labels of words, on the parser's trees.

    Args:
        **settings: The settings of :class:`LabelConfig`.
    """

    task: str = "cogs"
    trees: str = "parser"

    models: ClassVar[Mapping[str, ModelPreset]] = PARSED_LABEL_MODELS


_FILES = ("train", "val", "test")


class OwnLabelConfig(ParsedLabelConfig, OwnFilesConfig, kind="own-labels"):
    """Settings of a run on labels of words of the user's sentences (:class:`graphdep.datasets.OwnLabels`).

    Args:
        **settings: The settings of :class:`LabelConfig` except ``raw_from``, and of the files.

    Raises:
        ValueError: If a setting is missing or invalid; the message names it.
    """

    task: str = "labels"
    key: str | None = None
    mark_key: str | None = setting(
        None,
        "Key of the marked word in CoNLL-U files, misc:KEY or feats:KEY with any value; at most one word per "
        "sentence.",
        defines=True,
    )
    scheme: str = setting(
        "words",
        "bio for BIO labels of spans (IOB1, BIOES and BILOU are converted to IOB2), else words.",
        choices=SCHEMES,
        defines=True,
    )
    outside: str | None = setting(
        OUTSIDE, "Negative label, which F1 leaves out; empty for none.", defines=True, verbatim=True
    )
    max_words: int = setting(
        MAX_WORDS, "Longest sentence in words; longer ones are an error, or cut with truncate.", free=True
    )
    truncate: bool = setting(False, "Cut longer sentences after max_words.", free=True)
    trees: str = setting("own", **OWN_TREES)

    models: ClassVar[Mapping[str, ModelPreset]] = on_own_trees(PARSED_LABEL_MODELS)

    def check(self) -> None:
        super().check()
        self.check_read(("data_seed",), "generated data", False)
        if self.mark_key is not None:
            mark_column(self.mark_key)
        given = {"key": self.key, "absent": self.absent, "mark_key": self.mark_key}
        check_given(self.own_files().values(), given)

    @property
    def outside_label(self) -> str | None:
        return self.outside

    @property
    def label_scheme(self) -> str:
        return self.scheme

    def check_sources(self) -> None:
        super().check_sources()
        for name, path in self.own_files().items():
            check_word_file(name, path)

    def dataset_options(self, split: str) -> dict[str, Any]:
        own = (*_FILES, "key", "mark_key", "scheme", "outside", "val_fraction", "max_words", "truncate")
        given = {name: getattr(self, name) for name in (*own, *OF_TREES)}
        given |= {"seed": self.val_seed, "keep_trees": not self.parses_words}
        return {**super().dataset_options(split), **given}

    @property
    def _parser(self) -> str:
        return "gold" if self.trees == "gold" else self.parser
