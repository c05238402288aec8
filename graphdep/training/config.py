"""Presets of models, and the settings of a run."""

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
from graphdep.io.files import atomic_path, check_read_again, home_path, placed
from graphdep.io.limits import check_choice, check_divides, check_encoder_name, no_choice
from graphdep.parsing.resolver import check_parser
from graphdep.sentence.intake import BAD_TREES, SCHEMES
from graphdep.training.settings import (
    CONTROL_TREES,
    DATA,
    NOISY_TREES,
    OWN,
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
    "chain": ("on chains without labels, each word under the one before", {"trees": "chain"}),
    "reversed": ("with the parse laid over the words back to front", {"trees": "reversed"}),
    "rerooted": ("with the tree hung from the marked word or first span (R-GAT)", {"trees": "rerooted"}),
    **{
        name: (f"on trees of which {share:.0%} of the arcs are wrong", {"trees": name})
        for name, share in NOISY_TREES.items()
    },
    **{
        name: (
            f"on the parser's trees, {NOISY_TREES[kept]:.0%} of their arcs made wrong"
            if kept in NOISY_TREES
            else "on random trees whose words keep the labels that the parser gave",
            {"trees": name},
        )
        for name, kept in PARSED.items()
    },
    "shuffled": ("with its words in random order", {"word_order": "shuffled"}),
    "unlabelled": ("with one label for all arcs", {"labels": False}),
}
"""What may stand behind the name of a model and an ``@``, and the settings that it is."""


@dataclass(frozen=True)
class ModelPreset:
    """A named row of a result table: settings of :class:`~graphdep.training.TrainConfig`.

    Args:
        summary: What the row is, in a few words.
        edges: Edge preset of :func:`graphdep.transforms.resolve`; :obj:`None` for a baseline that reads
            words or tree itself. (default: ``"dt"``)
        trees: Which trees the edges are built from. (default: ``"parser"``)
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
        if "arcs" in own and trees not in ("parser", "gold"):
            own["arcs"] = "basic"  # a tree that nobody parsed has no enhanced graph
            own.pop("engine", None)
        return dataclasses.replace(
            self, summary=f"control: {self.summary}, {about}", trees=trees, overrides=own
        )


def resolve_model(name: str, models: Mapping[str, ModelPreset] | None = None) -> ModelPreset:
    """The preset of that name, e.g. ``"dt"``, or ``"dt@random"`` for it with one of :data:`CONTROLS`.

    Args:
        name: Its name.
        models: Those there are. (default: those of the default task)

    Raises:
        ValueError: If there is none, or no such control; the message lists those there are.
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
    """Raises :class:`ValueError` if a model would have two kinds of trees, of which the last would count."""
    kinds = [*dict.fromkeys(control for control in controls if "trees" in CONTROLS[control][1])]
    if len(kinds) > 1:
        hint = next(
            (f"; did you mean '@{one}'?" for one, kept in PARSED.items() if {*kinds} == {kept, "parser"}), ""
        )
        raise ValueError(f"a model has one kind of trees (got {' and '.join(kinds)} in {name!r}){hint}")


def _elsewhere(model: str) -> str:
    """What else has that name: edges, or models of other tasks."""
    found = [f"edges have that name: --edges {model}"] if model in edge_names() else []
    first = [(family, next(iter(family.tasks))) for family in families()]
    tasks = [task for family, task in first if model in family.config(task).models]
    found += [f"a model of --task {task}" for task in tasks[:1]]
    return f" ({'; '.join(found)})" if found else ""


_COMPLETE = ("transformer", "transformer-utterance", "relative")  # edges that know no tree
_ROOTLESS = ("tree", "gate")  # edges that are the same whatever the root of the tree
# Two that an evaluation takes from no checkpoint, and two that name nothing.
_UNNAMED = ("raw_from", "num_workers", "cuda_graphs", "accelerator")


class TrainConfig(Settings):
    """Settings of a run that all kinds of tasks share; each kind has a subclass with settings of its own and
    the defaults of its paper, such as :class:`SentenceConfig` and :class:`DialogueConfig`.

    Use :meth:`of` to start from a model preset, :func:`parse_settings` to read ``key=value`` texts. Both
    take the class from the task. ``graphdep settings --task NAME`` lists names, defaults and meanings.

    Args:
        **settings: The settings by name.

    Raises:
        ValueError: If a value has the wrong type or is outside its range; the message names key and value.

    Example:
        >>> from graphdep.training import TrainConfig
        >>> config = TrainConfig.of("dt", task="sst", hidden_channels=64, heads=4)
        >>> config.edges, config.hidden_channels, config.seed
        ('dt', 64, 0)
    """

    task: str = setting(..., "Task, such as sick-e.")
    model: str = setting(..., "Model preset, whose name the row of a table has.")
    encoder: str = setting(
        "transformer",
        "Encoder: transformer, another that is trained from scratch, or for models whose names begin with "
        "bert a pretrained encoder: a folder, or a name on the Hugging Face hub.",
        panel=TRAINING,
        defines=True,
    )
    edges: str | None = setting(
        ...,
        f"Edges in place of the model's own: {', '.join(edge_names())}, or your own: package.module:Name, "
        "which is imported, from this folder, too; none for an encoder that reads words or tree itself.",
        panel=TRAINING,
        defines=True,
        free=True,
    )
    trees: str = setting(
        "parser",
        "Trees: the parser's, the corpus' own (gold), or a control in place of the parse: random; "
        "random-labels, whose words keep the label of their arc; chain; reversed; rerooted, hung from the "
        "marked word or first span; noisy-20, a fifth of the arcs wrong (5, 10, 20, 30, 40, 60, 80 or 100 "
        "percent). Where a corpus has its own trees these begin with them; random-labels-parsed and "
        "noisy-5-parsed (10, 20) with the parser's.",
        choices=("parser", "gold", *CONTROL_TREES),
        defines=True,
        free=True,
    )
    labels: bool = setting(True, "Tell the labels of arcs apart, where the edges read them.", defines=True)
    word_order: str = setting(
        "text",
        "shuffled: a control whose words have their positions in random order.",
        choices=("text", "shuffled"),
        defines=True,
        free=True,
    )
    max_distance: int = setting(
        ..., "Longest tree path that gets a relation, or that a word can look along.", defines=True
    )
    max_sum: int = setting(4, "Largest sum of depths of edges sia.", free=True)
    parser: str = setting(
        "bundled",
        "Parser: bundled[:FOLDER], stanza[:LANG], spacy:MODEL, corenlp, conllu:FILE or ptb:FILE.",
        panel=DATA,
        free=True,
    )
    relations: str = setting(
        "auto",
        "Labels of arcs that the model knows: ud, the table of Universal Dependencies; learned, those of the "
        "training trees; auto, ud where at least 95% of the training's arcs have a label that is in it, else "
        "learned. Of graphs auto and learned are ud and the labels of training beside it. Other labels are "
        "read as their part before ':', or as dep.",
        choices=("auto", "ud", "learned"),
        panel=DATA,
    )
    root: str | None = setting(
        None,
        "Folder of the corpus (raw/, processed/, cache/); none for datasets/ and the corpus' name.",
        panel=DATA,
        place=True,
    )
    raw_from: str | None = setting(
        None, "Folder with the corpus' raw files; they are copied into the root.", panel=DATA, place=True
    )
    limit_train: int | None = setting(
        None,
        "Train on so many examples and parse no others: the first; of GLUE, roles and response selection "
        "spread over the split; validation and test stay whole (limit_eval is for those, if a task has it).",
        panel=DATA,
    )
    min_freq: int = setting(..., "Words seen less often are unknown.")
    vectors: str | None = setting(None, "GloVe text file to start the word vectors from.")
    vectors_scale: str = setting(
        "file",
        "file: vectors as they are there; unit: divided by their mean length, which is then that of random "
        "vectors. Those of GloVe are five times as long. Which is better differs from task to task: try both "
        "on validation data.",
        choices=("file", "unit"),
    )
    seed: int = setting(
        0, "Random seed of the weights, the order of the examples, dropout and random trees.", panel=TRAINING
    )
    max_epochs: int = setting(
        ...,
        "Epochs at most; fewer after patience of them without a better validation score.",
        panel=TRAINING,
        flag="--epochs",
    )
    patience: int | None = setting(
        ...,
        "Stop after so many epochs without a better validation score; none for never. Epochs do not count "
        "that score exactly what no skill does, such as an F1 of 0, while the training loss falls.",
    )
    monitor: str = setting(
        "metric",
        "The better of two epochs on the validation split has the better first metric of the task (metric), "
        "or the smaller loss (loss). The first metric is what tables report. A small split chooses among "
        "similar epochs by chance; a run that is to end when its loss stops falling has monitor=loss and "
        "some patience.",
        choices=("metric", "loss"),
    )
    val_every: int = setting(
        1,
        "Validate after every so many epochs, which must divide max_epochs. Only these can be the best "
        "epoch, and an interrupted run goes on from the last of them.",
    )
    keep: str = setting(
        "best",
        "The epoch that is kept: the best by monitor, the first of equal epochs, or the last, with which "
        "patience stops nothing: for validation splits that every epoch gets right.",
        choices=("best", "last"),
    )
    batch_size: int = setting(..., "Examples a batch.", panel=TRAINING, published=True, free=True)
    batch_tokens: int | None = setting(
        None,
        "Nodes and target tokens of a batch at most, in place of batch_size examples.",
        published=True,
        free=True,
    )
    optimizer: str = setting(..., "Optimizer.", choices=("adagrad", "adam", "adamw", "sgd"), published=True)
    lr: float = setting(
        ..., "Learning rate, the highest where it changes.", above=0, panel=TRAINING, published=True
    )
    warmup_steps: int | None = setting(
        None,
        "Updates in which the learning rate rises linearly to lr, to fall linearly to 0 at the end; none for "
        "a constant rate.",
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
        "Attention heads of an encoder that is trained from scratch; they share the channels.",
        published=True,
    )
    ff_channels: int = setting(
        ..., "Size of the feed-forward layers of an encoder that is trained from scratch.", published=True
    )
    dropout: float = setting(..., "Dropout probability.", below=1, published=True)
    position_embedding: bool = setting(True, "Embed the position of a word in its text.", defines=True)
    norm_first: bool = setting(
        False, "Normalise before each part of a layer, and at the end.", published=True
    )
    precision: str = setting(
        "32-true",
        "Precision of the training; tf32: float32, whose products a GPU rounds; auto: bf16 where this "
        "machine is faster in it, else tf32 on a GPU.",
        choices=("32-true", "tf32", "bf16-mixed", "16-mixed", "auto"),
        free=True,
    )
    num_workers: int | None = setting(
        None,
        "Processes that load data, at most four a core. By default none, or up to eight where batches are "
        "filled for CUDA graphs; corpora of response selection are on disk and gain from some.",
        place=True,
    )
    cuda_graphs: bool = setting(
        True,
        "On a GPU, run each step as a CUDA graph, on batches that are filled up to one of a few sizes.",
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
    """The kind of task whose settings these are."""
    family: ClassVar[str]
    """The kind of the first class that these inherit from: its models and uses are theirs, too."""
    models: ClassVar[Mapping[str, ModelPreset]]
    encoders: ClassVar[Mapping[str, bool]]
    """Encoders by name, and whether each reads edges."""
    any_encoder: ClassVar[bool] = False
    """Whether other names stand for pretrained encoders, which read edges."""
    headed: ClassVar[tuple[str, ...]]
    """Encoders whose heads share the channels."""
    of_words: ClassVar[tuple[str, ...]] = ()
    """Encoders without edges that read words alone, and no tree."""
    edge_settings: ClassVar[tuple[str, ...]] = ("edges",)
    """Settings that name edges: the papers', or your own."""

    def __init_subclass__(cls, kind: str | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if kind is not None:
            cls.kind = kind
            cls.family = getattr(cls, "family", kind)

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.check()

    def check(self) -> None:
        """Raises :class:`ValueError` where settings do not fit each other; subclasses add theirs."""
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
                f"'edges' are for {reading} and for it alone (got edges={self.edges!r}, "
                f"encoder={self.encoder!r})"
            )
        resolve_model(self.model, self.models)
        check_trees(self.trees, self.task, self.spec.gold_trees)
        own = f"models that read the labels of arcs: edges={self.edges!r} would be the same without"
        self.check_read(("labels",), own, self.labels or self.reads_labels)
        own = f"models that read trees: encoder={self.encoder!r} with edges={self.edges!r} would be the same"
        self.check_read(("trees",), own, self.trees not in CONTROL_TREES or self.reads_trees)
        if self.trees == "rerooted" and not self.marked:
            raise ValueError(
                f"'trees' cannot be 'rerooted': no word is marked in the examples of {self.task!r}"
            )
        own = f"models that know the root: edges={self.edges!r} would be the same"
        self.check_read(("trees",), own, self.trees != "rerooted" or self.edges not in _ROOTLESS)
        ordered = self.edges is not None and (self.position_embedding or self.edges == "relative")
        self.check_read(("word_order",), "models that know the order by positions", ordered)

    def check_read(self, names: Iterable[str], reader: str, read: bool) -> None:
        """Raises :class:`ValueError` if a setting that nothing reads has another value than the default: it
        would make two rows of a table that are the same.
        """
        for name in () if read else names:
            if getattr(self, name) != self.usual(name):
                raise ValueError(f"{name!r} is for {reader} (got {getattr(self, name)!r})")

    def check_option(self, name: str, option: str) -> None:
        """Raises :class:`ValueError` if a setting has another value than its default and the corpus lacks the
        option.
        """
        if getattr(self, name) != self.usual(name) and not self.spec.takes(option):
            raise ValueError(f"{name!r} is not for task {self.task!r} (got {getattr(self, name)!r})")

    @property
    def task_family(self) -> Any:
        """The :class:`~graphdep.training.family.TaskFamily` of its task."""
        return family_of(self.task)

    @property
    def spec(self) -> Task:
        """Its task."""
        task: Task = self.task_family.tasks[self.task]
        return task

    @property
    def pretrained(self) -> bool:
        """Whether the encoder is a pretrained one."""
        return False

    @property
    def most_pieces(self) -> int | None:
        """Nodes of a batch of :obj:`batch_size` examples at most; :obj:`None` for no limit."""
        return None

    @property
    def reads_constituents(self) -> bool:
        """Whether the edges read constituents, which the parser then has to give."""
        return False

    @property
    def phrases_read(self) -> bool | str:
        """What of constituents goes into the data: nothing, they, or ``"tagged"``, words' tags as well."""
        return self.reads_constituents

    @property
    def marked(self) -> bool:
        """Whether examples have a marked word or span."""
        return False

    @property
    def reads_labels(self) -> bool:
        """Whether the model would be another one without the labels of arcs."""
        return self.edges is not None and "labels" in preset_options(self.edges)

    @property
    def may_read_labels(self) -> bool:
        """Whether labels of the trees may reach the model: not where all are one, or no tree is read."""
        return self.labels and self.reads_trees and self.trees not in ("random", "chain")

    @property
    def reads_trees(self) -> bool:
        """Whether the model would be another one on other trees."""
        if self.edges is None:
            return self.encoder not in self.of_words
        edges = {getattr(self, name) for name in self.edge_settings}
        return not edges <= {*_COMPLETE, None} or bool(getattr(self, "level_embedding", False))

    @property
    def encoder_base(self) -> str | None:
        """Folder or name of the BERT that a published checkpoint of an encoder belongs to."""
        return None

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits that there are: for training, for validation, and mostly one for testing."""
        return ("train", "val", "test")

    def dataset_options(self, split: str) -> dict[str, Any]:
        """Arguments of a split of the task's dataset beside those that every corpus has."""
        return {}

    @property
    def about_data(self) -> str:
        """Which of a corpus' examples, and labels of them, all rows of a table have, for its title."""
        return ""

    def signatures(self) -> dict[str, str]:
        """What exactly each metric of a result is, by its name."""
        return self.spec.signatures

    def decoded(self) -> str:
        """How responses are made, for people; empty where there are none."""
        return ""

    def data_settings(self) -> dict[str, Any]:
        """All settings that the examples depend on: runs that share them share their data."""
        names = ("task", "root", "raw_from", "limit_train", "min_freq", "relations")
        own = {split: self.dataset_options(split) for split in self.splits}
        return {**{name: getattr(self, name) for name in names}, **own, "parser": self._parser}

    @property
    def _parser(self) -> str:
        """What gives the trees."""
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
        """The settings of a model preset, with ``settings`` over them.

        Args:
            model: Model preset. (default: the paper's own model)
            **settings: Further settings; ``task`` decides which there are, and may have defaults of its own.
                (default task: ``"sick-e"``)

        Raises:
            ValueError: If there is no such task, model or setting, or a value is wrong.
        """
        own = cls.of_task(settings.get("task"))
        own.check_keys(settings)
        model = own.default_model() if model is None else model
        defaults = resolve_task(settings.get("task") or DEFAULT_TASK).defaults
        preset = resolve_model(model, own.models).settings
        if settings.get("arcs") == "basic":  # no engine makes these
            preset.pop("engine", None)
        return own(**{"model": model, **defaults, **preset, **settings})

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> TrainConfig:
        """The settings that a file holds, but for ``num_workers``, which is a matter of the machine.

        Raises:
            UnknownEdgesError: If they name edges that this process does not know: nothing is imported for a
                file.
            ValueError: As :meth:`of`.
        """
        own = cls.of_task(state.get("task"))
        own.check_keys(state)
        for name in own.edge_settings:
            if isinstance(state.get(name), str):
                check_known(state[name])
        return own(**{**state, "num_workers": None})

    @classmethod
    def default_model(cls) -> str:
        """The paper's own model."""
        return str(cls.usual("model"))

    def own_files(self) -> dict[str, Path]:
        """The user's own files by split, where the settings name any."""
        return {}

    def check_sources(self) -> None:
        """Finds out what is missing, as far as that is told without reading a corpus, and without PyTorch.

        Raises:
            FileNotFoundError: If a file of one's own is.
            ValueError: If it lacks a column, or there is no such parser.
            ParserUnavailableError: If a parser's library or models are missing.
            ImportError: If the package of an extra is.
        """
        if self.pretrained:
            check_extra("a pretrained encoder", "pretrained")
            check_encoder_name(self.encoder_base or self.encoder, self.models)
        for name in ("root", "raw_from", "ud_from", "vectors"):
            home_path(getattr(self, name, None) or "")
        for name, path in self.own_files().items():
            check_read_again(path)
            if not path.is_file():
                raise FileNotFoundError(f"no file {path}, which is {name!r}")
        if self._parser != "gold":
            check_parser(self._parser, **self.parser_options())

    def parser_options(self) -> dict[str, Any]:
        """Arguments of :func:`~graphdep.parsing.resolve_parser` for what the model reads of a parse."""
        return {"constituents": self.reads_constituents}

    def to_dict(self) -> dict[str, Any]:
        """The settings by name."""
        return self.model_dump()

    def replace(self, **settings: Any) -> TrainConfig:
        """The same with other settings in place of some."""
        return type(self)(**{**self.to_dict(), **settings})

    def named(self) -> dict[str, Any]:
        """Files, folders and parsers other than the defaults, any of which may be a file, a download or a
        server of somebody else's choice.
        """
        names = ("parser", *(name for name in self.with_mark("place") if name not in _UNNAMED))
        given = {name: getattr(self, name) for name in names}
        usual = {"bundled"} if self.parser == "bundled" else set()
        return {n: value for n, value in given.items() if value != self.usual(n) and value not in usual}

    def for_evaluation(self, settings: Mapping[str, Any]) -> TrainConfig:
        """These settings with others in place of some that the weights do not depend on. ``raw_from`` and
        ``num_workers`` are those of ``settings``, or the defaults.

        Raises:
            ValueError: If the weights depend on one.
        """
        self.check_keys(settings)
        for key in settings:
            if key not in (free := self.with_mark("place", "free", "late")):
                raise ValueError(
                    f"{key!r} is a setting of the training; free to choose are {', '.join(free)}"
                )
        return self.replace(**{"raw_from": None, "num_workers": None, **settings})

    def differences(self, other: TrainConfig, ignore: Iterable[str] = ()) -> list[str]:
        """``key: mine != other's`` for what two runs compute differently, places aside."""
        skipped = {*self._elsewhere(), *ignore}
        mine, others = self.to_dict(), other.to_dict()
        return [
            f"{key}: {mine[key]!r} != {others[key]!r}"
            for key in mine.keys() - skipped
            if mine[key] != others[key]
        ]

    def own_edges(self) -> dict[str, str]:
        """The settings that name edges of your own, and what those are: how they print, and a digest of
        their code, their options and what they do.
        """
        from graphdep.transforms.fingerprint import identity

        names = {setting: getattr(self, setting) for setting in self.edge_settings}
        return {setting: identity(resolve(name)) for setting, name in names.items() if name and is_own(name)}

    @property
    def label(self) -> str:
        """The model, and what makes it another one than its name says, for people."""
        own = resolve_model(self.model, self.models).settings
        changed = (
            name for name in ("edges", "trees", "labels") if getattr(self, name) != own.get(name, True)
        )
        return ", ".join([self.model, *(f"{name} {getattr(self, name)}" for name in changed)])

    def _elsewhere(self) -> set[str]:
        # A pretrained encoder is its weights, which the data's digest has, wherever they lie.
        return {*self.with_mark("place"), *(("encoder", "base") if self.pretrained else ())}

    def digest(self, data: str = "") -> str:
        """Eight hexadecimal digits of everything that decides the result, and of ``data``'s digest."""
        skipped = self._elsewhere()
        state = {key: value for key, value in self.to_dict().items() if key not in skipped}
        # A preset is what its name says; two transforms of one's own may share a name.
        own = self.own_edges()
        parts = [state, data, own] if own else [state, data]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:8]


OF_TREES = ("tree_scheme", "bad_trees")
"""Settings of the trees in a user's files."""


class OwnFilesConfig(TrainConfig):
    """Settings of runs on files of the user's own, for the class of such a task to inherit from as well, as
    the last base.
    """

    train: str | None = setting(
        None,
        "Examples to train on: .csv or .tsv with a header, .jsonl, .json or .parquet; of words these, but "
        "for the first two, .spacy, CoNLL-U, or columns of words and labels or roles; of spans these, with "
        "<e1> and <e2> in the texts of the first two.",
        panel=OWN,
        place=True,
    )
    val: str | None = setting(
        None,
        "The same for validation; none for a share of the training file, which is drawn.",
        panel=OWN,
        place=True,
    )
    test: str | None = setting(None, "The same for testing; none for no test.", panel=OWN, place=True)
    val_fraction: float = setting(0.1, "Share of the training file that is drawn for validation.")
    val_seed: int = setting(0, "Seed of that draw, which so is the same for every seed.")
    tree_scheme: str = setting(
        "auto",
        "Labels of the trees in the files: auto converts those of spaCy's English models (CLEAR) to "
        "Universal Dependencies and takes all others as they are; as-is converts none; clear and ud1, "
        "version 1 of Universal Dependencies, convert.",
        panel=OWN,
        choices=SCHEMES,
    )
    bad_trees: str = setting(
        "error",
        "Sentences of the files whose governors are no tree: an error; attach further roots, a cycle and "
        "words with a governor outside of the sentence to the first root; parse them; or skip them.",
        panel=OWN,
        choices=BAD_TREES,
    )

    def check(self) -> None:
        super().check()
        if self.train is None:
            raise ValueError(f"task {self.task!r} needs 'train' (--train), which is not given")
        self.check_read(("raw_from",), f"corpora, not for task {self.task!r}", False)

    @property
    def splits(self) -> tuple[str, ...]:
        return ("train", "val") if self.test is None else super().splits

    def own_files(self) -> dict[str, Path]:
        given = {"train": self.train, "val": self.val, "test": self.test}
        return {name: home_path(file) for name, file in given.items() if file is not None}


class OwnTableConfig(OwnFilesConfig):
    """The same for files with columns."""

    text_columns: str | None = setting(
        None,
        "Column with the texts, or the two columns of pairs, with a comma between them.",
        panel=OWN,
        free=True,
    )
    label_column: str | None = setting(
        None,
        "Column with the labels. outside is the label of spans that stands for no finding, which f1 leaves "
        "out.",
        panel=OWN,
        free=True,
    )


class SettingText(NamedTuple):
    """A setting for people.

    Args:
        name: Its name.
        default: The value that it has with the model; ``"(must be given)"`` where it has none.
        meaning: What it is.
    """

    name: str
    default: Any
    meaning: str


def setting_texts(config: type[TrainConfig], task: str, model: str) -> list[SettingText]:
    """The settings of a task, in the order of the class, with what they are for a model.

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
        [(0.001, 'Learning rate, the highest where it changes.')]
    """
    values = {**resolve_task(task).defaults, **resolve_model(model, config.models).settings}
    values |= {"task": task, "model": model}
    rows = []
    for name, own in config.marks.items():
        usual = values.get(name, config.usual(name))
        rows.append(SettingText(name, "(must be given)" if usual is ... else usual, own.get("help", "")))
    return rows


RUN_FILE = "run.yaml"
RUN_HEAD = "# The settings of a run by graphdep"
"""How the file begins, by which it is known from one that somebody else wrote."""
RESULT = "result.json"
"""The scores, written last: a run whose folder has this file has ended."""


def write_run(path: Path, config: TrainConfig) -> None:
    """Writes :func:`run_text`, whole or not at all.

    Args:
        path: The file.
        config: The settings.
    """
    with atomic_path(path) as temporary:
        temporary.write_text(run_text(config, path.name), encoding="utf-8")


def run_text(config: TrainConfig, name: str = RUN_FILE) -> str:
    """All settings of a run: first those that its model and its task do not already say, then the others, so
    that the file means the same when a default has become another one.

    Args:
        config: The settings.
        name: Name of the file. (default: ``"run.yaml"``)
    """
    usual = {name: config.usual(name) for name in config.marks}
    usual |= config.spec.defaults
    usual |= resolve_model(config.model, config.models).settings
    settings = {name: value for name, value in config.to_dict().items() if name not in ("task", "model")}
    chosen = {name: value for name, value in settings.items() if usual[name] != value}
    others = {name: value for name, value in settings.items() if name not in chosen}
    parts = [
        f"{RUN_HEAD} {__version__}; it is repeated by: graphdep train --config {name}",
        "# Relative paths count from the folder in which that is called.",
        _dumped({"task": config.task, "model": config.model, **chosen}),
        "# As the model and the task have them:",
        _dumped(others),
    ]
    return "\n".join(part.rstrip("\n") for part in parts) + "\n"


def _dumped(settings: Mapping[str, Any]) -> str:
    import yaml

    return str(yaml.safe_dump(dict(settings), allow_unicode=True, sort_keys=False, width=math.inf))


def read_run(path: Path) -> dict[str, Any]:
    """The settings in a file, some or all, for ``TrainConfig.of(**read_run(path))``.

    A value may be written as on the command line, where YAML reads another type: ``1e-3`` is a text to it.
    Nothing is imported for a name of edges in it.

    Raises:
        ValueError: If it is no mapping of settings to values, one is there twice, unknown for the task, or of
            a wrong type; names the file.
        OSError: If it cannot be read.
    """
    return typed_settings(read_mapping(path), path)


def typed_settings(given: Mapping[str, Any], path: Path, task: str | None = None) -> dict[str, Any]:
    """Values of a file as the settings that they are.

    Raises:
        ValueError: If one is unknown or of a wrong type; names the file.
    """
    with placed(os.fspath(path)):
        name = given.get("task", task)
        config = config_of(None if name is None else str(name))
        config.check_keys(given)
        return {name: config.read(name, value) for name, value in given.items()}


def read_mapping(path: Path) -> dict[str, Any]:
    """The keys and values of a YAML file.

    Raises:
        ValueError: If it is none, not UTF-8, or a key is there twice; names the file.
        OSError: If it cannot be read.
    """
    import yaml

    class Loader(yaml.SafeLoader):
        """YAML's plain values, each key once; no aliases, ten of which may stand for a million values."""

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                event = self.peek_event()
                line = event.start_mark.line + 1
                raise ValueError(f"line {line} has the alias '*{event.anchor}': write the value out")
            return super().compose_node(parent, index)

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
            seen = set()
            for key, _ in node.value:
                if str(key.value) in seen:
                    raise ValueError(f"{key.value!r} is there twice, again in line {key.start_mark.line + 1}")
                seen.add(str(key.value))
            return dict(super().construct_mapping(node, deep))

    check_read_again(path)
    try:
        value = yaml.load(path.read_text(encoding="utf-8-sig"), Loader)  # a safe one
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ValueError(f"{path}: {' '.join(str(error).split())}") from None
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise ValueError(f"{path}: no settings and their values (NAME: VALUE)")
    return value
