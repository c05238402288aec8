"""Presets of models, and the settings of a run."""

from __future__ import annotations

import dataclasses
import difflib
import hashlib
import inspect
import json
import math
import re
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, get_type_hints

from graphdep.io.files import atomic_path
from graphdep.io.limits import LIMITS, check_encoder_name, check_limit, check_transformers
from graphdep.parsing.resolver import check_parser
from graphdep.training.settings import (
    CONTROL_TREES,
    NOISY_TREES,
    PARSED,
    USUAL_WORDS,
    MarkedNames,
    Metadata,
    check_trees,
    check_type,
    setting,
    typed_setting,
)
from graphdep.training.task import DEFAULT_TASK, Task, config_of, families, family_of, resolve_task
from graphdep.transforms.presets import check_known, edge_names, is_known, is_own, preset_options, resolve
from graphdep.version import __version__

CONTROLS: dict[str, tuple[str, Mapping[str, object]]] = {
    "parser": ("on the parser's trees", {"trees": "parser"}),
    "gold": ("on the corpus' own trees", {"trees": "gold"}),
    "random": ("on random trees without labels", {"trees": "random"}),
    "random-labels": ("on random trees whose words keep their labels", {"trees": "random-labels"}),
    "chain": ("on chains without labels, each word under the one before", {"trees": "chain"}),
    "reversed": ("with the parse laid over the words back to front", {"trees": "reversed"}),
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
        near = difflib.get_close_matches(model, models, n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else _elsewhere(model)
        raise ValueError(f"no model {model!r}{hint}; choose one of {', '.join(models)}")
    preset = models[model]
    for control in controls:
        if control not in CONTROLS:
            known = ", ".join(f"{model}@{known}" for known in CONTROLS)
            raise ValueError(f"no control {control!r} (got the model {name!r}); choose one of {known}")
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
    """Which other tasks have it."""
    for family in families():
        task = next(iter(family.tasks))
        if model in family.config(task).models:
            return f" (one of {family.name}: --task {task})"
    return ""


_TREES = ("parser", "gold", *CONTROL_TREES)
_COMPLETE = ("transformer", "transformer-utterance")  # edges that know no tree
# Two that an evaluation takes from no checkpoint, and one that names nothing.
_UNNAMED = ("raw_from", "num_workers", "accelerator")


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Settings of a run that all kinds of tasks share; each kind has a subclass with its own ones and with
    the defaults of its paper: :class:`SentenceConfig`, :class:`DialogueConfig`.

    Use :meth:`of` to start from a model preset, :func:`parse_settings` to read ``key=value`` texts. Both
    take the class from the task.

    Args:
        task: Task, e.g. ``"sick-e"``.
        model: Name of the row: a model preset.
        encoder: Which encoder; the edges are for those that read a graph.
        edges: Edge preset, or edges that :func:`graphdep.transforms.register_edges` knows; :obj:`None` for an
            encoder that reads words or tree itself.
        trees: Which trees: the ``"parser"``'s, the corpus' own (``"gold"``), or a control in place of the
            parse: ``"random"``, ``"random-labels"`` (words keep the label of their arc), ``"chain"``,
            ``"reversed"``, ``"noisy-20"`` (a fifth of the arcs wrong; 5, 10, 20, 30, 40, 60, 80 or 100
            percent). Where a corpus has its own trees these begin with them; ``"random-labels-parsed"`` and
            ``"noisy-5-parsed"`` (10, 20) with the parser's. (default: ``"parser"``)
        labels: Tell the labels of arcs apart, where the edges read them. (default: :obj:`True`)
        word_order: ``"shuffled"`` for a control whose words have their positions in random order. (default:
            ``"text"``)
        max_distance: Longest tree path that gets a relation, or that a word can look along.
        max_sum: Largest sum of depths of ``edges="sia"``. (default: :obj:`4`)
        parser: Parser of :func:`graphdep.parsing.resolve_parser`. (default: ``"bundled"``)
        root: Folder of the corpus; :obj:`None` for the task's own. (default: :obj:`None`)
        raw_from: Folder with the corpus' raw files. (default: :obj:`None`)
        limit_train: Train on so many examples only: the first, of GLUE and in response selection spread
            over the split; acts before parsing. (default: :obj:`None`)
        min_freq: Words seen less often are unknown.
        vectors: GloVe text file to start the word vectors from. (default: :obj:`None`)
        vectors_scale: ``"file"``: as they are there. ``"unit"``: divided by their mean length, which is then
            that of random ones, of positions, levels and marks. Those of GloVe are five times as long, and
            beside them a model sees words well and hardly where they stand. Which is better is a matter of
            the task, so try both on validation data: with one seed, a Transformer had .20 and, divided, .39
            on the roles of 5,000 predicates (validation F1 after 12 epochs), but .74 (five seeds) and .69 on
            the relations of SemEval-2010. (default: ``"file"``)
        seed: Seed of the weights, the order of the examples, dropout and random trees. (default: :obj:`0`)
        max_epochs: Epochs at most.
        patience: Stop after so many epochs without a better validation score; :obj:`None` for never. Epochs
            do not count that score exactly what no skill does, such as an F1 of 0, while the training loss
            falls below that of all epochs before.
        monitor: What is better of two epochs on the validation split: that with the better first metric of
            the task, ``"metric"``, or that with the smaller ``"loss"``. Of 500 examples a single one is .2
            points of accuracy, which so chooses among like epochs by chance and lets patience end a run whose
            loss still falls; but as a model becomes surer, its loss may rise where accuracy does, too. The
            first metric is what tables report: the default. A run that is
            to end when its loss stops falling has ``monitor=loss``, some :obj:`patience`, and more epochs
            than it needs. (default: ``"metric"``)
        val_every: Validate after every so many epochs, which must divide :obj:`max_epochs`: of a small part
            of a corpus an epoch may take less time than its validation split. Only these can be the best
            epoch, and an interrupted run goes on from the last of them. (default: :obj:`1`)
        keep: The epoch that the model is of: the ``"best"`` by :obj:`monitor`, the first of equal ones,
            or the ``"last"``, with which patience stops nothing: for validation splits that every epoch gets
            right. (default: ``"best"``)
        batch_size: Examples a batch.
        batch_tokens: Nodes and target tokens of a batch at most, instead of :obj:`batch_size` examples.
            (default: :obj:`None`)
        optimizer: ``"adagrad"``, ``"adam"``, ``"adamw"`` or ``"sgd"``.
        lr: Learning rate, the highest where it changes.
        warmup_steps: Updates in which the learning rate rises linearly to :obj:`lr`, to fall linearly to 0 at
            the end; :obj:`None` for a constant one. (default: :obj:`None`)
        weight_decay: L2 penalty.
        clip: Largest norm of the gradient; :obj:`None` for no limit. (default: :obj:`None`)
        hidden_channels: Size of the states of an encoder that is trained from nothing.
        num_layers: Its layers.
        heads: Its attention heads, which share the channels.
        ff_channels: Size of its feed-forward layers.
        dropout: Dropout probability.
        position_embedding: Tell it where in a text a word stands. (default: :obj:`True`)
        norm_first: Normalise before each part of a layer, and at the end. (default: :obj:`False`)
        precision: ``"32-true"``, ``"bf16-mixed"`` or ``"16-mixed"``; ``"auto"``: bf16 where this machine is
            faster in it, see :func:`~graphdep.training.build.settled`. (default: ``"32-true"``)
        num_workers: Processes that load data; most corpora are in memory and need none, those of response
            selection are on disk. At most four a core. (default: :obj:`0`)
        accelerator: ``"auto"`` (a GPU if there is one), ``"cpu"`` or ``"gpu"``. (default: ``"auto"``)

    Raises:
        ValueError: If a value has the wrong type or is outside its range; the message names key and value.

    Example:
        >>> from graphdep.training import TrainConfig
        >>> config = TrainConfig.of("dt", task="sst", hidden_channels=64, heads=4)
        >>> config.edges, config.hidden_channels, config.seed
        ('dt', 64, 0)
    """

    task: str
    model: str
    encoder: str = setting("transformer", defines=True)
    edges: str | None = setting(defines=True, free=True)
    trees: str = setting("parser", choices=_TREES, defines=True, free=True)
    labels: bool = setting(True, defines=True)
    word_order: str = setting("text", choices=("text", "shuffled"), defines=True, free=True)
    max_distance: int = setting(defines=True)
    max_sum: int = setting(4, free=True)
    parser: str = setting("bundled", free=True)
    root: str | None = setting(None, place=True)
    raw_from: str | None = setting(None, place=True)
    limit_train: int | None = None
    min_freq: int
    vectors: str | None = None
    vectors_scale: str = setting("file", choices=("file", "unit"))
    seed: int = 0
    max_epochs: int
    patience: int | None
    monitor: str = setting("metric", choices=("metric", "loss"))
    val_every: int = 1
    keep: str = setting("best", choices=("best", "last"))
    batch_size: int = setting(published=True, free=True)
    batch_tokens: int | None = setting(None, published=True, free=True)
    optimizer: str = setting(choices=("adagrad", "adam", "adamw", "sgd"), published=True)
    lr: float = setting(published=True)
    warmup_steps: int | None = setting(None, published=True)
    weight_decay: float = setting(published=True)
    clip: float | None = None
    hidden_channels: int = setting(published=True)
    num_layers: int = setting(published=True)
    heads: int = setting(published=True)
    ff_channels: int = setting(published=True)
    dropout: float = setting(published=True)
    position_embedding: bool = setting(True, defines=True)
    norm_first: bool = setting(False, published=True)
    precision: str = setting("32-true", choices=("32-true", "bf16-mixed", "16-mixed", "auto"), free=True)
    num_workers: int = setting(0, place=True)
    accelerator: str = setting("auto", choices=("auto", "cpu", "gpu"), place=True)

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
    # What the fields say of themselves, see `setting`.
    defining = MarkedNames("defines")
    published_with = MarkedNames("published")
    free = MarkedNames("free", "late")
    late = MarkedNames("late")
    places = MarkedNames("place")
    choices = Metadata[tuple[str | None, ...]]("choices")
    at_least = Metadata[float]("at_least")

    def __init_subclass__(cls, kind: str, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.kind = kind
        cls.family = getattr(cls, "family", kind)

    def __post_init__(self) -> None:
        for name, kind in self.field_types().items():
            check_type(name, kind, getattr(self, name))
        encoders = {} if self.any_encoder else {"encoder": tuple(self.encoders)}
        for name, allowed in {**encoders, **self.choices}.items():
            if getattr(self, name) not in allowed:
                choices = ", ".join(str(choice).lower() if choice is None else choice for choice in allowed)
                raise ValueError(f"{name!r} must be one of {choices} (got {getattr(self, name)!r})")
        for name in self.edge_settings:
            _check_edges(name, getattr(self, name))
        if not 0 < self.lr < 3e38:  # float32 ends there
            raise ValueError(f"'lr' must be above 0 and below 3e38 (got {self.lr!r})")
        if self.clip is not None and not 0 < self.clip < math.inf:
            raise ValueError(f"'clip' must be above 0 (got {self.clip!r})")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"'dropout' must be in 0 <= dropout < 1 (got {self.dropout!r})")
        at_least = self.at_least
        for name, value in self.to_dict().items():
            if name in LIMITS and isinstance(value, (int, float)):  # `pieces` may be a text
                check_limit(name, value, at_least.get(name))
        if self.encoder in self.headed and self.hidden_channels % self.heads:
            raise ValueError(f"'heads' ({self.heads}) must divide 'hidden_channels' ({self.hidden_channels})")
        if self.max_epochs % self.val_every:
            raise ValueError(f"'val_every' ({self.val_every}) must divide 'max_epochs' ({self.max_epochs})")
        if self.monitor != "metric" and self.keep != "best":
            raise ValueError(f"'monitor' is for keep='best' (got {self.monitor!r}, keep={self.keep!r})")
        if (self.edges is None) == self.encoders.get(self.encoder, True):
            reading = ", ".join(f"encoder={name!r}" for name, reads in self.encoders.items() if reads)
            raise ValueError(
                f"'edges' are for {reading} and for it alone (got edges={self.edges!r}, "
                f"encoder={self.encoder!r})"
            )
        resolve_model(self.model, self.models)
        check_trees(self.trees, self.task, self.spec.gold_trees)
        if not self.labels and not self.reads_labels:
            raise ValueError(
                f"'labels' is for models that read the labels of arcs: edges={self.edges!r} would be the "
                "same without (got False)"
            )
        if self.trees in CONTROL_TREES and not self.reads_trees:
            raise ValueError(
                f"'trees' is for models that read trees: encoder={self.encoder!r} with edges={self.edges!r} "
                f"would be the same (got {self.trees!r})"
            )
        if self.word_order != "text" and (self.edges is None or not self.position_embedding):
            raise ValueError(
                "'word_order' is for models that know the order by positions (got 'shuffled', "
                f"encoder={self.encoder!r}, position_embedding={self.position_embedding})"
            )

    @cached_property
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
    def reads_labels(self) -> bool:
        """Whether the model would be another one without the labels of arcs."""
        return self.edges is not None and "labels" in preset_options(self.edges)

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
        names = ("task", "root", "raw_from", "limit_train", "min_freq")
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
        return own(**{**state, "num_workers": 0})

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """The values of the settings that have one whatever the model is."""
        fields = dataclasses.fields(cls)
        return {field.name: field.default for field in fields if field.default is not dataclasses.MISSING}

    @classmethod
    def default_model(cls) -> str:
        """The paper's own model."""
        return str(next(field.default for field in dataclasses.fields(cls) if field.name == "model"))

    @classmethod
    def field_types(cls) -> dict[str, Any]:
        """The type of each setting."""
        types = get_type_hints(cls)
        return {field.name: types[field.name] for field in dataclasses.fields(cls)}

    @classmethod
    def check_keys(cls, keys: Iterable[str]) -> None:
        """Raises :class:`ValueError` that lists the known settings if a key is none of them."""
        known = [field.name for field in dataclasses.fields(cls)]
        for key in keys:
            if key not in known:
                near = (
                    [USUAL_WORDS[key]] if key in USUAL_WORDS else difflib.get_close_matches(key, known, n=1)
                )
                hint = f" (did you mean {near[0]!r}?)" if near else ""
                raise ValueError(f"unknown setting {key!r}{hint}; the settings are {', '.join(known)}")

    def own_files(self) -> dict[str, Path]:
        """The user's own files by split, where the settings name any."""
        names = ("train", "val", "test")
        given = {name: getattr(self, name) for name in names if name in self.__dataclass_fields__}
        return {name: Path(file).expanduser() for name, file in given.items() if file is not None}

    def check_sources(self) -> None:
        """Finds out what is missing, as far as that is told without reading a corpus, and without PyTorch.

        Raises:
            FileNotFoundError: If a file of one's own is.
            ValueError: If it lacks a column, or there is no such parser.
            ParserUnavailableError: If a parser's library or models are missing.
            ImportError: If the package of an extra is.
        """
        if self.pretrained:
            check_transformers()
            check_encoder_name(self.encoder_base or self.encoder)
        for name, path in self.own_files().items():
            if not path.is_file():
                raise FileNotFoundError(f"no file {path}, which is {name!r}")
        if self._parser != "gold":
            check_parser(self._parser, **self.parser_options())

    def parser_options(self) -> dict[str, Any]:
        """Arguments of :func:`~graphdep.parsing.resolve_parser` for what the model reads of a parse."""
        return {"constituents": self.reads_constituents}

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    def replace(self, **settings: Any) -> TrainConfig:
        self.check_keys(settings)
        return dataclasses.replace(self, **settings)

    def named(self) -> dict[str, Any]:
        """Files, folders and parsers other than the defaults, any of which may be a file, a download or a
        server of somebody else's choice.
        """
        usual: dict[str, tuple[Any, ...]] = {f.name: (f.default,) for f in dataclasses.fields(self)}
        usual["parser"] += ("bundled",)
        names = ("parser", *(name for name in self.places if name not in _UNNAMED))
        return {name: value for name in names if (value := getattr(self, name)) not in usual[name]}

    def for_evaluation(self, settings: Mapping[str, Any]) -> TrainConfig:
        """These settings with others in place of some that the weights do not depend on. ``raw_from`` and
        ``num_workers`` are those of ``settings``, or the defaults.

        Raises:
            ValueError: If the weights depend on one.
        """
        self.check_keys(settings)
        for key in settings:
            if key not in (*self.places, *self.free):
                free = ", ".join((*self.places, *self.free))
                raise ValueError(f"{key!r} is a setting of the training; free to choose are {free}")
        return self.replace(**{"raw_from": None, "num_workers": 0, **settings})

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
        return {*self.places, *(("encoder", "base") if self.pretrained else ())}

    def digest(self, data: str = "") -> str:
        """Eight hexadecimal digits of everything that decides the result, and of ``data``'s digest."""
        skipped = self._elsewhere()
        state = {key: value for key, value in self.to_dict().items() if key not in skipped}
        # A preset is what its name says; two transforms of one's own may share a name.
        own = self.own_edges()
        parts = [state, data, own] if own else [state, data]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:8]


def _check_edges(setting: str, name: str | None) -> None:
    if name is None or is_known(name) or name in edge_names():
        return
    raise ValueError(
        f"{setting!r} must be one of {', '.join(edge_names())}, none (got {name!r}); your own are known by "
        "graphdep.transforms.register_edges or --edges PACKAGE.MODULE:NAME"
    )


_ENTRY = re.compile(
    r"^    (?P<names>[a-z_]+(?:,\s+[a-z_]+)*): (?P<text>.*?)(?=^    [a-z_*]+[:,]|\Z)", re.M | re.S
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
    values = {**config.defaults(), **resolve_task(task).defaults}
    values |= {**resolve_model(model, config.models).settings, "task": task, "model": model}
    meanings = documented(config)
    return [
        SettingText(name, values.get(name, "(must be given)"), meanings.get(name, ""))
        for name in config.field_types()
    ]


def documented(config: type) -> dict[str, str]:
    """What the docstrings of a class and its bases say of arguments, by name; the class' own word first, but
    that on an argument alone before that on several.
    """
    alone: dict[str, str] = {}
    several: dict[str, str] = {}
    for base in config.__mro__:
        for match in _ENTRY.finditer(_arguments(base)):
            names = re.split(r",\s+", match["names"])
            for name in names:
                (alone if len(names) == 1 else several).setdefault(name, _plain(match["text"]))
    return several | alone


def _arguments(cls: type) -> str:
    """The block of arguments in a docstring."""
    text = inspect.cleandoc(cls.__dict__.get("__doc__") or "")
    block = text.partition("\nArgs:\n")[2]
    return re.split(r"\n\n(?=\S)", block)[0] + "\n"


def _plain(text: str) -> str:
    """Words in place of the marks of a docstring, and without the default, which models change."""
    text = " ".join(text.split())
    text = re.sub(r"\s*\(default: .*?\)(?=$|\s|\.)", "", text)
    text = re.sub(r":\w+:`~?([^`]*)`", lambda match: match[1].rpartition(".")[2].strip(), text)
    return text.replace("``", "").strip()


RUN_FILE = "run.yaml"
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
    usual = {**type(config).defaults(), **config.spec.defaults}
    usual |= resolve_model(config.model, config.models).settings
    settings = {name: value for name, value in config.to_dict().items() if name not in ("task", "model")}
    chosen = {name: value for name, value in settings.items() if name not in usual or usual[name] != value}
    others = {name: value for name, value in settings.items() if name not in chosen}
    parts = [
        f"# The settings of a run by graphdep {__version__}; it is repeated by: graphdep train --config "
        f"{name}",
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
    try:
        task = given.get("task", task)
        if not isinstance(task, str | None):
            raise ValueError(f"'task' must be the name of a task (got {task!r})")
        config = config_of(task)
        config.check_keys(given)
        types = config.field_types()
        return {name: typed_setting(name, types[name], value) for name, value in given.items()}
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def read_mapping(path: Path) -> dict[str, Any]:
    """The keys and values of a YAML file.

    Raises:
        ValueError: If it is none, not UTF-8, or a key is there twice; names the file.
        OSError: If it cannot be read.
    """
    import yaml

    class Loader(yaml.SafeLoader):
        """YAML's plain values, each key once."""

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
            seen = set()
            for key, _ in node.value:
                if not isinstance(key, yaml.ScalarNode):
                    raise ValueError(f"line {key.start_mark.line + 1}: a name must be a text")
                if key.value in seen:
                    raise ValueError(f"{key.value!r} is there twice, again in line {key.start_mark.line + 1}")
                seen.add(key.value)
            return dict(super().construct_mapping(node, deep))

    try:
        value = yaml.load(path.read_text(encoding="utf-8-sig"), Loader)  # a safe one
    except (yaml.YAMLError, ValueError) as error:
        raise ValueError(f"{path}: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise ValueError(f"{path}: nested too deep") from None
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise ValueError(f"{path}: no settings and their values (NAME: VALUE)")
    return value
