"""Model presets and the settings of a run."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import os
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from graphdep.io.extras import check_extra
from graphdep.io.files import atomic_path, check_read_again, home_path, place_error, placed
from graphdep.io.limits import check_choice, check_divides, check_encoder_name, no_choice
from graphdep.parsing.resolver import check_parser
from graphdep.training.settings import (
    CONTROL_TREES,
    DATA,
    NOISY_TREES,
    PARSED,
    TRAINING,
    Settings,
    check_trees,
    setting,
)
from graphdep.training.task import DEFAULT_TASK, Task, config_of, families, family_of, resolve_task
from graphdep.transforms.presets import check_edges, check_known, edge_names, is_own, preset_options, resolve
from graphdep.version import __version__

CONTROLS: dict[str, tuple[str, Mapping[str, object]]] = {
    "parser": ("on the parser's trees", {"trees": "parser"}),
    "gold": ("on the corpus' own trees", {"trees": "gold"}),
    "random": ("on random trees without labels", {"trees": "random"}),
    "random-labels": ("on random trees whose words keep their labels", {"trees": "random-labels"}),
    "chain": ("on chains without labels: the governor of a word is the previous word", {"trees": "chain"}),
    "reversed": ("on the parse in reversed word order", {"trees": "reversed"}),
    "rerooted": ("on the tree rooted at the marked word or first span (R-GAT)", {"trees": "rerooted"}),
    **{
        name: (f"on trees with {share:.0%} wrong arcs", {"trees": name})
        for name, share in NOISY_TREES.items()
    },
    **{
        name: (
            f"on the parser's trees with {NOISY_TREES[kept]:.0%} wrong arcs"
            if kept in NOISY_TREES
            else "on random trees whose words keep the parser's labels",
            {"trees": name},
        )
        for name, kept in PARSED.items()
    },
    "shuffled": ("with its words in random order", {"word_order": "shuffled"}),
    "unlabelled": ("with one label for all arcs", {"labels": False}),
}
"""Controls: suffixes of model names, after ``@``, with their descriptions and settings."""


@dataclass(frozen=True)
class ModelPreset:
    """A named row of a result table: settings of :class:`~graphdep.training.TrainConfig`.

    Args:
        summary: A short description.
        edges: Edge preset of :func:`graphdep.transforms.resolve`; :obj:`None` for a baseline without edges.
            (default: ``"dt"``)
        trees: Trees that the edges are built from. (default: ``"parser"``)
        overrides: Further settings. (default: none)

    Example:
        >>> from graphdep.training import ModelPreset, resolve_model
        >>> preset = ModelPreset("DT of one layer", edges="dt", overrides={"num_layers": 1})
        >>> preset.settings["num_layers"], resolve_model("dt").edges
        (1, 'dt')
    """

    summary: str
    edges: str | None = "dt"
    trees: str = "parser"
    overrides: Mapping[str, object] = field(default_factory=dict)

    @property
    def settings(self) -> dict[str, object]:
        return {"edges": self.edges, "trees": self.trees, **self.overrides}

    def control(self, name: str) -> ModelPreset:
        """The model with one of :data:`CONTROLS`."""
        about, settings = CONTROLS[name]
        own = {**self.overrides, **settings}
        trees = str(own.pop("trees", self.trees))
        if "arcs" in own and trees in CONTROL_TREES:
            own["arcs"] = "basic"  # control trees have no enhanced graph
            own.pop("engine", None)
        return dataclasses.replace(
            self, summary=f"control: {self.summary}, {about}", trees=trees, overrides=own
        )


def resolve_model(name: str, models: Mapping[str, ModelPreset] | None = None) -> ModelPreset:
    """The preset of a name such as ``"dt"``, or ``"dt@random"`` with one of :data:`CONTROLS`.

    Args:
        name: The name.
        models: The presets by name. (default: those of the default task)

    Raises:
        ValueError: If there is no such model or control.
    """
    models = config_of(None).models if models is None else models
    model, *controls = name.split("@")
    if model not in models:
        raise ValueError(no_choice("model", model, models, _elsewhere(model)))
    preset = models[model]
    for control in controls:
        if control not in CONTROLS:
            raise ValueError(no_choice("control", control, CONTROLS, f" in the model {name!r}"))
        preset = preset.control(control)
    _check_trees(name, controls)
    return preset


def _check_trees(name: str, controls: list[str]) -> None:
    """Raises :class:`ValueError` if controls name two kinds of trees."""
    kinds = [*dict.fromkeys(control for control in controls if "trees" in CONTROLS[control][1])]
    if len(kinds) > 1:
        hint = next(
            (f"; did you mean '@{one}'?" for one, kept in PARSED.items() if {*kinds} == {kept, "parser"}), ""
        )
        raise ValueError(f"a model has one kind of trees (got {' and '.join(kinds)} in {name!r}){hint}")


def _elsewhere(model: str) -> str:
    """Edges, or a model of another task, of that name, for a message."""
    found = [f"edges have that name: --edges {model}"] if model in edge_names() else []
    first = [(family, next(iter(family.tasks))) for family in families()]
    tasks = [task for family, task in first if model in family.config(task).models]
    found += [f"a model of --task {task}" for task in tasks[:1]]
    return f" ({'; '.join(found)})" if found else ""


_COMPLETE = ("transformer", "transformer-utterance", "relative")  # edges that do not depend on the tree
_ROOTLESS = ("tree", "gate")  # edges that do not depend on the root of the tree
# Places that are never taken from a checkpoint, or that name no file.
_UNNAMED = ("raw_from", "num_workers", "cuda_graphs", "accelerator")


class TrainConfig(Settings):
    """Settings of a run. Each kind of task has a subclass with further settings and the defaults of its
    paper, such as :class:`SentenceConfig` and :class:`DialogueConfig`.

    Use :meth:`of` to start from a model preset, :func:`parse_settings` to read ``key=value`` texts. Both
    choose the class by the task. ``graphdep settings --task NAME`` lists names, defaults and descriptions.

    Args:
        **settings: The settings by name.

    Raises:
        ValueError: If a value has the wrong type or is out of range; the message names key and value.

    Example:
        >>> from graphdep.training import TrainConfig
        >>> config = TrainConfig.of("dt", task="sst", hidden_channels=64, heads=4)
        >>> config.edges, config.hidden_channels, config.seed
        ('dt', 64, 0)
    """

    task: str = setting(..., "Task, such as sick-e.")
    model: str = setting(..., "Model preset, the name of the row in tables.")
    encoder: str = setting(
        "transformer",
        "Encoder: transformer, another one that is trained from scratch, or, for models whose names begin "
        "with bert, a pretrained encoder: a folder or a name on the Hugging Face hub.",
        panel=TRAINING,
        defines=True,
    )
    edges: str | None = setting(
        ...,
        f"Edges instead of the model's: {', '.join(edge_names())}, or your own as package.module:Name, which "
        "is imported (also from this folder); none for an encoder without edges.",
        panel=TRAINING,
        defines=True,
        free=True,
    )
    trees: str = setting(
        "parser",
        "Trees: the parser's, the corpus' own (gold), or a control: random; random-labels, whose words keep "
        "their labels; chain; reversed; rerooted, at the marked word or first span; noisy-20, with 20% wrong "
        "arcs (5, 10, 20, 30, 40, 60, 80 or 100%). Controls start from the corpus' own trees, if it has any; "
        "random-labels-parsed and noisy-5-parsed (10, 20) from the parser's.",
        choices=("parser", "gold", *CONTROL_TREES),
        defines=True,
        free=True,
    )
    labels: bool = setting(True, "Distinguish the labels of arcs, if the edges read them.", defines=True)
    word_order: str = setting(
        "text",
        "shuffled: a control with the positions of words in random order.",
        choices=("text", "shuffled"),
        defines=True,
        free=True,
    )
    max_distance: int = setting(
        ..., "Longest tree path that has a relation or along which a word attends.", defines=True
    )
    max_sum: int = setting(4, "Largest sum of depths in edges sia.", free=True)
    parser: str = setting(
        "bundled",
        "Parser: bundled[:FOLDER], stanza[:LANG], spacy:MODEL, corenlp, conllu:FILE or ptb:FILE.",
        panel=DATA,
        free=True,
    )
    relations: str = setting(
        "auto",
        "Labels of arcs that the model knows: ud, those of Universal Dependencies; learned, those of the "
        "training trees; auto, ud if at least 95% of the training arcs have such a label, else learned. With "
        "enhanced graphs auto and learned are both: ud and the labels in training. Other labels are read as "
        "their part before ':', or as dep.",
        choices=("auto", "ud", "learned"),
        panel=DATA,
    )
    root: str | None = setting(
        None,
        "Folder of the corpus (raw/, processed/, cache/); none for datasets/NAME.",
        panel=DATA,
        place=True,
    )
    raw_from: str | None = setting(
        None, "Folder of the corpus' raw files, which are copied into root.", panel=DATA, place=True
    )
    limit_train: int | None = setting(
        None,
        "Number of training examples, the only ones that are parsed: the first, or spread over the split for "
        "GLUE, roles and response selection. limit_eval limits validation and test, if a task has it.",
        panel=DATA,
    )
    min_freq: int = setting(..., "Rarer words are unknown.")
    vectors: str | None = setting(None, "GloVe text file with the initial word vectors.")
    vectors_scale: str = setting(
        "file",
        "file: vectors as in the file; unit: divided by their mean length, so that they are as long as "
        "random vectors (GloVe's are five times as long). Which is better depends on the task: compare both "
        "on validation data.",
        choices=("file", "unit"),
    )
    seed: int = setting(
        0, "Random seed of the weights, the order of the examples, dropout and random trees.", panel=TRAINING
    )
    max_epochs: int = setting(
        ...,
        "Largest number of epochs; see patience.",
        panel=TRAINING,
        flag="--epochs",
    )
    patience: int | None = setting(
        ...,
        "Stop after this many epochs without a better validation score; none for never. Epochs with exactly "
        "the score of no skill, such as an F1 of 0, do not count while the training loss falls.",
    )
    monitor: str = setting(
        "metric",
        "Choose the best epoch on the validation split by the task's first metric (metric), which tables "
        "report, or by the loss (loss). On a small split the metric chooses among similar epochs by chance; "
        "to stop when the loss stops falling, use loss with patience.",
        choices=("metric", "loss"),
    )
    val_every: int = setting(
        1,
        "Validate after every this many epochs, a divisor of max_epochs. Only validated epochs can be the "
        "best, and an interrupted run resumes from the last of them.",
    )
    keep: str = setting(
        "best",
        "Epoch to keep: the best by monitor (the first of equal ones), or the last, without early stopping, "
        "for validation splits on which every epoch is perfect.",
        choices=("best", "last"),
    )
    batch_size: int = setting(..., "Examples per batch.", panel=TRAINING, published=True, free=True)
    batch_tokens: int | None = setting(
        None,
        "Largest number of nodes and target tokens per batch, instead of batch_size.",
        published=True,
        free=True,
    )
    optimizer: str = setting(..., "Optimizer.", choices=("adagrad", "adam", "adamw", "sgd"), published=True)
    lr: float = setting(
        ..., "Learning rate; with a schedule, the highest.", above=0, panel=TRAINING, published=True
    )
    warmup_steps: int | None = setting(
        None,
        "Steps in which the learning rate rises linearly to lr, before it falls linearly to 0; none for a "
        "constant rate.",
        published=True,
    )
    weight_decay: float = setting(..., "L2 penalty.", published=True)
    clip: float | None = setting(None, "Largest norm of the gradient; none for no limit.", above=0)
    hidden_channels: int = setting(
        ..., "Size of the states of an encoder that is trained from scratch.", published=True
    )
    num_layers: int = setting(..., "Layers of an encoder that is trained from scratch.", published=True)
    heads: int = setting(
        ...,
        "Attention heads of an encoder that is trained from scratch, a divisor of hidden_channels.",
        published=True,
    )
    ff_channels: int = setting(
        ..., "Size of the feed-forward layers of an encoder that is trained from scratch.", published=True
    )
    dropout: float = setting(..., "Dropout probability.", below=1, published=True)
    position_embedding: bool = setting(True, "Embed the position of a word in its text.", defines=True)
    norm_first: bool = setting(
        False, "Pre-norm: normalise before each sublayer, and at the end.", published=True
    )
    precision: str = setting(
        "32-true",
        "Precision of training; tf32: float32 with products rounded on a GPU; auto: bf16 if it is faster on "
        "this machine, else tf32 on a GPU.",
        choices=("32-true", "tf32", "bf16-mixed", "16-mixed", "auto"),
        free=True,
    )
    num_workers: int | None = setting(
        None,
        "Processes that load data, at most four per core; by default none, or up to eight for CUDA graphs. "
        "Response selection, whose corpora are on disk, gains from some.",
        place=True,
    )
    cuda_graphs: bool = setting(
        True,
        "On a GPU, run each step as a CUDA graph, on batches padded to one of a few sizes.",
        place=True,
    )
    accelerator: str = setting(
        "auto",
        "Device: auto (a GPU if there is one), cpu or gpu.",
        panel=TRAINING,
        choices=("auto", "cpu", "gpu"),
        place=True,
    )

    kind: ClassVar[str]
    """The kind of task that has these settings."""
    family: ClassVar[str]
    """The kind of the first base class with one, whose models these settings share."""
    models: ClassVar[Mapping[str, ModelPreset]]
    encoders: ClassVar[Mapping[str, bool]]
    """Encoders by name, and whether each reads edges."""
    any_encoder: ClassVar[bool] = False
    """Whether other names are those of pretrained encoders, which read edges."""
    headed: ClassVar[tuple[str, ...]]
    """Encoders with attention heads, whose number must divide the channels."""
    of_words: ClassVar[tuple[str, ...]] = ()
    """Encoders that read neither edges nor trees."""
    edge_settings: ClassVar[tuple[str, ...]] = ("edges",)
    """Settings that name edges."""

    def __init_subclass__(cls, kind: str | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if kind is not None:
            cls.kind = kind
            cls.family = getattr(cls, "family", kind)

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.check()

    def check(self) -> None:
        """Raises :class:`ValueError` if settings contradict each other; subclasses add checks."""
        if not self.any_encoder:
            check_choice("encoder", self.encoder, self.encoders)
        for name in self.edge_settings:
            check_edges(name, getattr(self, name))
        if self.encoder in self.headed:
            check_divides("heads", self.heads, "hidden_channels", self.hidden_channels)
        check_divides("val_every", self.val_every, "max_epochs", self.max_epochs)
        self.check_read(("monitor",), "keep='best'", self.keep == "best")
        if (self.edges is None) == self.encoders.get(self.encoder, True):
            reading = ", ".join(f"encoder={name!r}" for name, reads in self.encoders.items() if reads)
            raise ValueError(
                f"'edges' must be given for {reading}, and for no other encoder (got edges={self.edges!r}, "
                f"encoder={self.encoder!r})"
            )
        resolve_model(self.model, self.models)
        check_trees(self.trees, self.task, self.spec.gold_trees)
        own = f"models that read the labels of arcs: edges={self.edges!r} do not depend on them"
        self.check_read(("labels",), own, self.labels or self.reads_labels)
        own = f"models that read trees: encoder={self.encoder!r} with edges={self.edges!r} does not"
        self.check_read(("trees",), own, self.trees not in CONTROL_TREES or self.reads_trees)
        if self.trees == "rerooted" and not self.marked:
            raise ValueError(
                f"'trees' cannot be 'rerooted': the examples of {self.task!r} have no marked word"
            )
        own = f"models that depend on the root: edges={self.edges!r} do not"
        self.check_read(("trees",), own, self.trees != "rerooted" or self.edges not in _ROOTLESS)
        ordered = self.edges is not None and (self.position_embedding or self.edges == "relative")
        self.check_read(("word_order",), "models that read positions", ordered)

    def check_read(self, names: Iterable[str], reader: str, read: bool) -> None:
        """Raises :class:`ValueError` if a setting that nothing reads is not the default, since two rows of a
        table could then be the same.
        """
        for name in () if read else names:
            if getattr(self, name) != self.default_of(name):
                raise ValueError(f"{name!r} is for {reader} (got {getattr(self, name)!r})")

    def check_option(self, name: str, option: str) -> None:
        """Raises :class:`ValueError` if a setting is not the default and the corpus lacks the option."""
        if getattr(self, name) != self.default_of(name) and not self.spec.takes(option):
            raise ValueError(f"{name!r} is not for task {self.task!r} (got {getattr(self, name)!r})")

    @property
    def task_family(self) -> Any:
        """The :class:`~graphdep.training.family.TaskFamily` of its task."""
        return family_of(self.task)

    @property
    def spec(self) -> Task:
        """Its task."""
        return resolve_task(self.task, vars(self))

    @property
    def pretrained(self) -> bool:
        """Whether the encoder is a pretrained one."""
        return False

    @property
    def most_pieces(self) -> int | None:
        """Largest number of nodes per batch; :obj:`None` for no limit."""
        return None

    @property
    def reads_constituents(self) -> bool:
        """Whether the edges read constituents."""
        return False

    @property
    def phrases_read(self) -> bool | str:
        """Whether the data have constituents; ``"tagged"`` if with the tags of words."""
        return self.reads_constituents

    @property
    def marked(self) -> bool:
        """Whether examples have a marked word or span."""
        return False

    @property
    def reads_labels(self) -> bool:
        """Whether the model depends on the labels of arcs."""
        return self.edges is not None and "labels" in preset_options(self.edges)

    @property
    def may_read_labels(self) -> bool:
        """Whether labels of the given trees can reach the model."""
        return self.labels and self.reads_trees and self.trees not in ("random", "chain")

    @property
    def reads_trees(self) -> bool:
        """Whether the model depends on the trees."""
        if self.edges is None:
            return self.encoder not in self.of_words
        edges = {getattr(self, name) for name in self.edge_settings}
        return not edges <= {*_COMPLETE, None} or bool(getattr(self, "level_embedding", False))

    @property
    def encoder_base(self) -> str | None:
        """Folder or name of the BERT model that a published checkpoint of the encoder belongs to."""
        return None

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits of the data."""
        return ("train", "val", "test")

    def dataset_options(self, split: str) -> dict[str, Any]:
        """Arguments of the dataset of a split, besides those of all corpora."""
        return {}

    @property
    def about_data(self) -> str:
        """Which examples and labels of the corpus the settings choose, for the title of a table."""
        return ""

    def signatures(self) -> dict[str, str]:
        """The exact definition of each metric of a result, by its name."""
        return self.spec.signatures

    def decoded(self) -> str:
        """How responses are generated, as text; empty if none are."""
        return ""

    def data_settings(self) -> dict[str, Any]:
        """All settings that the examples depend on; runs with the same ones share their data."""
        names = ("task", "root", "raw_from", "limit_train", "min_freq", "relations")
        own = {split: self.dataset_options(split) for split in self.splits}
        return {**{name: getattr(self, name) for name in names}, **own, "parser": self._parser}

    @property
    def parses_words(self) -> bool:
        """Whether the parser's trees replace those of the corpus."""
        return self.spec.gold_trees and (self.trees == "parser" or self.trees in PARSED)

    @property
    def _parser(self) -> str:
        """The source of the trees."""
        return "gold" if self.trees == "gold" else self.parser

    @classmethod
    def of_task(cls, task: str | None = None) -> type[TrainConfig]:
        """The class of a task's settings.

        Raises:
            ValueError: If there is no such task.
        """
        return config_of(task)

    @classmethod
    def of(cls, model: str | None = None, **settings: Any) -> TrainConfig:
        """The settings of a model preset, updated by ``settings``.

        Args:
            model: Model preset. (default: the paper's model)
            **settings: Further settings. ``task`` decides which there are and their defaults. (default task:
                ``"sick-e"``)

        Raises:
            ValueError: If there is no such task, model or setting, or a value is wrong.
        """
        own = cls.of_task(settings.get("task"))
        own.check_keys(settings)
        model = own.default_model() if model is None else model
        defaults = resolve_task(settings.get("task") or DEFAULT_TASK).defaults
        preset = resolve_model(model, own.models).settings
        if settings.get("arcs") == "basic":  # they need no engine
            preset.pop("engine", None)
        return own(**{"model": model, **defaults, **preset, **settings})

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> TrainConfig:
        """The settings of a file, except ``num_workers``, which depends on the machine.

        Raises:
            UnknownEdgesError: If they name edges that are not registered: nothing that a file names is
                imported.
            ValueError: See :meth:`of`.
        """
        own = cls.of_task(state.get("task"))
        own.check_keys(state)
        for name in own.edge_settings:
            if isinstance(state.get(name), str):
                check_known(state[name])
        return own(**{**state, "num_workers": None})

    @classmethod
    def default_model(cls) -> str:
        """The paper's model."""
        return str(cls.default_of("model"))

    def own_files(self) -> dict[str, Path]:
        """The user's files by split, if any."""
        return {}

    def check_sources(self) -> None:
        """Checks that files, parser and packages exist, without reading a corpus and without PyTorch.

        Raises:
            FileNotFoundError: If one of the user's files is missing.
            ValueError: If it lacks a column, or there is no such parser.
            ParserUnavailableError: If a parser's library or models are missing.
            ImportError: If the package of an extra is missing.
        """
        if self.pretrained:
            check_extra("a pretrained encoder", "pretrained")
            check_encoder_name(self.encoder_base or self.encoder, self.models)
        for name in ("root", "raw_from", "ud_from"):
            home_path(getattr(self, name, None) or "")
        files = {**self.own_files()}
        if vectors := getattr(self, "vectors", None):
            files["vectors"] = home_path(vectors)
        for name, path in files.items():
            check_read_again(path)
            if not path.is_file():
                raise FileNotFoundError(f"no file {path}, which is {name!r}")
        if self._parser != "gold":
            check_parser(self._parser, **self.parser_options())

    def parser_options(self) -> dict[str, Any]:
        """Arguments of :func:`~graphdep.parsing.resolve_parser` for the parts of a parse that are read."""
        return {"constituents": self.reads_constituents}

    def to_dict(self) -> dict[str, Any]:
        """The settings by name."""
        return self.model_dump()

    def replace(self, **settings: Any) -> TrainConfig:
        """A copy with some settings replaced."""
        return type(self)(**{**self.to_dict(), **settings})

    def named(self) -> dict[str, Any]:
        """Files, folders and parsers other than the defaults, which a checkpoint of another person must not
        choose.
        """
        names = ("parser", *(name for name in self.with_mark("place") if name not in _UNNAMED))
        given = {name: getattr(self, name) for name in names}
        usual = {"bundled"} if self.parser == "bundled" else set()
        return {n: value for n, value in given.items() if value != self.default_of(n) and value not in usual}

    def for_evaluation(self, settings: Mapping[str, Any]) -> TrainConfig:
        """A copy with some settings replaced on which the weights do not depend. ``raw_from`` and
        ``num_workers`` are those of ``settings``, or the defaults.

        Raises:
            ValueError: If the weights depend on a given setting.
        """
        self.check_keys(settings)
        for key in settings:
            if key not in (free := self.with_mark("place", "free", "late")):
                raise ValueError(
                    f"{key!r} cannot change after training; settings that can are {', '.join(free)}"
                )
        return self.replace(**{"raw_from": None, "num_workers": None, **settings})

    def differences(self, other: TrainConfig, ignore: Iterable[str] = ()) -> list[str]:
        """``key: mine != other's`` for all settings that differ, except places."""
        skipped = {*self._elsewhere(), *ignore}
        mine, others = self.to_dict(), other.to_dict()
        return [
            f"{key}: {mine[key]!r} != {others[key]!r}"
            for key in mine.keys() - skipped
            if mine[key] != others[key]
        ]

    def own_edges(self) -> dict[str, str]:
        """The settings that name edges of the user's own, and their identities: repr and a digest of code,
        options and output.
        """
        from graphdep.transforms.fingerprint import identity

        names = {setting: getattr(self, setting) for setting in self.edge_settings}
        return {setting: identity(resolve(name)) for setting, name in names.items() if name and is_own(name)}

    @property
    def label(self) -> str:
        """The model, and the settings in which it differs from the preset, as text."""
        own = resolve_model(self.model, self.models).settings
        changed = (
            name for name in ("edges", "trees", "labels") if getattr(self, name) != own.get(name, True)
        )
        return ", ".join([self.model, *(f"{name} {getattr(self, name)}" for name in changed)])

    def _elsewhere(self) -> set[str]:
        # The data's digest has the weights of a pretrained encoder, wherever they are.
        return {*self.with_mark("place"), *(("encoder", "base") if self.pretrained else ())}

    def digest(self, data: str = "") -> str:
        """Eight hexadecimal digits of all settings that the result depends on, and of ``data``'s digest."""
        skipped = self._elsewhere()
        state = {key: value for key, value in self.to_dict().items() if key not in skipped}
        # Unlike presets, two transforms of the user's may share a name.
        own = self.own_edges()
        parts = [state, data, own] if own else [state, data]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:8]


class SettingText(NamedTuple):
    """The description of a setting.

    Args:
        name: Its name.
        default: Its value in the model preset; ``"(must be given)"`` if it has none.
        meaning: Its help text.
    """

    name: str
    default: Any
    meaning: str


def setting_texts(config: type[TrainConfig], task: str, model: str) -> list[SettingText]:
    """The settings of a task, in the order of the class, with their values for a model.

    Args:
        config: The class of the task's settings.
        task: The task.
        model: Name of the model.

    Raises:
        ValueError: If there is no such task or model.

    Example:
        >>> from graphdep.training import TrainConfig
        >>> from graphdep.training.config import setting_texts
        >>> rows = setting_texts(TrainConfig.of_task("sst"), "sst", "dt")
        >>> [(row.default, row.meaning) for row in rows if row.name == "lr"]
        [(0.001, 'Learning rate; with a schedule, the highest.')]
    """
    values = {**resolve_task(task).defaults, **resolve_model(model, config.models).settings}
    values |= {"task": task, "model": model}
    rows = []
    for name, own in config.marks.items():
        usual = values.get(name, config.default_of(name))
        rows.append(SettingText(name, "(must be given)" if usual is ... else usual, own.get("help", "")))
    return rows


RUN_FILE = "run.yaml"
RUN_HEAD = "# The settings of a run by graphdep"
"""How the file begins, so that files by other programs are recognized."""
RESULT = "result.json"
"""The scores, written last: a run whose folder has this file is finished."""


def write_run(path: Path, config: TrainConfig) -> None:
    """Writes :func:`run_text` atomically.

    Args:
        path: The file.
        config: The settings.
    """
    with atomic_path(path) as temporary:
        temporary.write_text(run_text(config, path.name), encoding="utf-8")


def run_text(config: TrainConfig, name: str = RUN_FILE) -> str:
    """All settings of a run: first those that differ from the defaults of its model and task, then the
    others, so that the file keeps its meaning if a default changes.

    Args:
        config: The settings.
        name: Name of the file. (default: ``"run.yaml"``)
    """
    usual = {name: config.default_of(name) for name in config.marks}
    usual |= config.spec.defaults
    usual |= resolve_model(config.model, config.models).settings
    settings = {name: value for name, value in config.to_dict().items() if name not in ("task", "model")}
    chosen = {name: value for name, value in settings.items() if usual[name] != value}
    others = {name: value for name, value in settings.items() if name not in chosen}
    parts = [
        f"{RUN_HEAD} {__version__}; repeat it by: graphdep train --config {name}",
        "# Relative paths start in the folder of that call.",
        _dumped({"task": config.task, "model": config.model, **chosen}),
        "# Defaults of the model and the task:",
        _dumped(others),
    ]
    return "\n".join(part.rstrip("\n") for part in parts) + "\n"


def _dumped(settings: Mapping[str, Any]) -> str:
    import yaml

    return str(yaml.safe_dump(dict(settings), allow_unicode=True, sort_keys=False, width=math.inf))


def read_run(path: Path) -> dict[str, Any]:
    """The settings in a file, some or all, for ``TrainConfig.of(**read_run(path))``.

    Values may be written as on the command line, such as ``1e-3``, which is a text in YAML. Nothing that the
    file names is imported.

    Raises:
        ValueError: If it is not a mapping, or a setting is repeated, unknown for the task, or has a wrong
            type; names the file.
        OSError: If it cannot be read.
    """
    return typed_settings(read_mapping(path), path)


def typed_settings(given: Mapping[str, Any], path: Path, task: str | None = None) -> dict[str, Any]:
    """Converts the values of a file to the types of their settings.

    Raises:
        ValueError: If a setting is unknown or has a wrong type; names the file.
    """
    with placed(os.fspath(path)):
        name = given.get("task", task)
        config = config_of(None if name is None else str(name))
        config.check_keys(given)
        return {name: config.read(name, value) for name, value in given.items()}


def read_mapping(path: Path) -> dict[str, Any]:
    """The keys and values of a YAML file.

    Raises:
        ValueError: If it is not a YAML mapping, not UTF-8, or has a repeated key; names the file.
        OSError: If it cannot be read.
    """
    import yaml

    class Loader(yaml.SafeLoader):
        """Plain values without repeated keys and aliases, ten of which can expand to a million values."""

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                event = self.peek_event()
                line = event.start_mark.line + 1
                raise ValueError(f"line {line} has the alias '*{event.anchor}': write its value instead")
            return super().compose_node(parent, index)

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
            seen = set()
            for key, _ in node.value:
                if str(key.value) in seen:
                    raise ValueError(f"{key.value!r} is repeated in line {key.start_mark.line + 1}")
                seen.add(str(key.value))
            return dict(super().construct_mapping(node, deep))

    check_read_again(path)
    try:
        value = yaml.load(path.read_text(encoding="utf-8-sig"), Loader)  # a safe one
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise place_error(str(path), " ".join(str(error).split())) from None
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise ValueError(f"{path}: must have settings as NAME: VALUE")
    return value
