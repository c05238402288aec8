"""Every choice of a training run, flat and typed, so that a command line or a checkpoint can hold it."""

from __future__ import annotations

import dataclasses
import difflib
import hashlib
import json
import math
import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Union, get_args, get_origin, get_type_hints

from graphdep.training.model_presets import resolve_model
from graphdep.transforms import PRESETS

CHOICES: dict[str, tuple[str | None, ...]] = {
    "encoder": (
        "transformer",
        "word-average",
        "lstm",
        "bilstm",
        "tree-lstm",
        "bitree-lstm",
        "tree-transformer",
    ),
    "tree": (None, "random", "chain", "reversed"),
    "optimizer": ("adagrad", "adam", "adamw", "sgd"),
    "gate": (None, "sigmoid", "tanh"),
    "gate_state": ("query", "key"),
    "untyped": ("keep", "gate"),
    "precision": ("32-true", "bf16-mixed", "16-mixed"),
    "accelerator": ("auto", "cpu", "gpu"),
}
_AT_LEAST_0 = ("seed", "num_workers", "weight_decay", "max_distance", "max_sum")
_AT_LEAST_1: tuple[str, ...] = (
    "max_epochs",
    "limit_train",
    "batch_size",
    "patience",
    "hidden_channels",
    "num_layers",
    "heads",
)
_AT_LEAST_1 += ("relation_dim", "ff_channels", "head_channels", "min_freq")
# Where a run is computed and where its files lie, which is not what it computes.
PLACES = ("root", "raw_from", "num_workers", "accelerator")


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """All settings of a run; the defaults are those of "Integrating Dependency Tree into Self-attention for
    Sentence Representation" where it gives them.

    Use :meth:`of` to start from a model preset, :func:`parse_settings` to read ``key=value`` texts.

    Args:
        task: Task, e.g. ``"sick-e"``. (default: ``"sick-e"``)
        model: Name of the row: a model preset. (default: ``"dt"``)
        encoder: ``"transformer"``, over the edges, or a baseline that reads words or tree itself:
            ``"word-average"``, ``"lstm"``, ``"bilstm"``, ``"tree-lstm"``, ``"bitree-lstm"``,
            ``"tree-transformer"``. (default: ``"transformer"``)
        edges: Edge preset; :obj:`None` for a baseline. (default: ``"dt"``)
        tree: Control tree instead of the parse: ``"random"``, ``"chain"``, ``"reversed"``. (default:
            :obj:`None`)
        max_distance: Longest tree path that gets a relation: the infilling threshold. (default: :obj:`2`)
        labels: Tell labels of arcs apart. (default: :obj:`True`)
        directions: Tell a relation from its inverse. (default: :obj:`True`)
        max_sum: Largest sum of depths of ``edges="sia"``. (default: :obj:`4`)
        parser: Parser of :func:`graphdep.parsing.resolve_parser`. (default: ``"bundled"``)
        root: Folder of the corpus; :obj:`None` for the task's own. (default: :obj:`None`)
        raw_from: Folder with the corpus' raw files. (default: :obj:`None`)
        limit_train: Train on the first pairs only; acts before parsing. (default: :obj:`None`)
        min_freq: Words seen less often are unknown. (default: :obj:`1`)
        vectors: GloVe text file to start the word vectors from. (default: :obj:`None`)
        seed: Seed of the weights, the order of the pairs, dropout and random trees. (default: :obj:`0`)
        max_epochs: Epochs at most. (default: :obj:`30`)
        patience: Stop after so many epochs without a better validation score. (default: :obj:`6`)
        batch_size: Pairs a batch. (default: :obj:`32`)
        optimizer: ``"adagrad"``, ``"adam"``, ``"adamw"`` or ``"sgd"``. (default: ``"adagrad"``)
        lr: Learning rate. (default: :obj:`0.001`)
        weight_decay: L2 penalty. (default: :obj:`0.0`)
        hidden_channels, num_layers, heads, relation_dim, ff_channels, dropout, relation_attention, gate,
            gate_state, untyped, level_embedding, position_embedding, norm_first: Of
            :class:`~graphdep.nn.models.DependencyTransformer`. A baseline reads ``hidden_channels`` and
            ``dropout``, ``"tree-transformer"`` also ``heads`` and ``ff_channels``; the LSTMs have one layer.
        head_channels: Hidden size of the relatedness head of pairs. (default: :obj:`50`)
        precision: ``"32-true"``, ``"bf16-mixed"`` or ``"16-mixed"``. (default: ``"32-true"``)
        num_workers: Processes that load data; the corpora are in memory. (default: :obj:`0`)
        accelerator: ``"auto"`` (a GPU if there is one), ``"cpu"`` or ``"gpu"``. (default: ``"auto"``)

    Raises:
        ValueError: If a value has the wrong type or is outside its range; the message names key and value.
    """

    task: str = "sick-e"
    model: str = "dt"
    encoder: str = "transformer"
    edges: str | None = "dt"
    tree: str | None = None
    max_distance: int = 2
    labels: bool = True
    directions: bool = True
    max_sum: int = 4
    parser: str = "bundled"
    root: str | None = None
    raw_from: str | None = None
    limit_train: int | None = None
    min_freq: int = 1
    vectors: str | None = None
    seed: int = 0
    max_epochs: int = 30
    patience: int | None = 6
    batch_size: int = 32
    optimizer: str = "adagrad"
    lr: float = 1e-3
    weight_decay: float = 0.0
    hidden_channels: int = 300
    num_layers: int = 3
    heads: int = 6
    relation_dim: int = 30
    ff_channels: int = 300
    dropout: float = 0.0
    relation_attention: bool = True
    gate: str | None = "sigmoid"
    gate_state: str = "query"
    untyped: str = "keep"
    level_embedding: bool = True
    position_embedding: bool = True
    norm_first: bool = False
    head_channels: int = 50
    precision: str = "32-true"
    num_workers: int = 0
    accelerator: str = "auto"

    def __post_init__(self) -> None:
        for name, kind in field_types().items():
            _check_type(name, kind, getattr(self, name))
        for name, allowed in {**CHOICES, "edges": (*PRESETS, None)}.items():
            if getattr(self, name) not in allowed:
                choices = ", ".join(str(choice).lower() if choice is None else choice for choice in allowed)
                raise ValueError(f"{name!r} must be one of {choices} (got {getattr(self, name)!r})")
        for names, least in ((_AT_LEAST_0, 0), (_AT_LEAST_1, 1)):
            for name in names:
                value = getattr(self, name)
                if value is not None and not least <= value < math.inf:
                    raise ValueError(f"{name!r} must be at least {least} (got {value!r})")
        if self.seed >= 2**32:
            raise ValueError(f"'seed' must be below 2**32 (got {self.seed})")
        if not 0 < self.lr < 3e38:  # float32 ends there
            raise ValueError(f"'lr' must be above 0 and below 3e38 (got {self.lr!r})")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"'dropout' must be in 0 <= dropout < 1 (got {self.dropout!r})")
        if self.encoder in ("transformer", "tree-transformer") and self.hidden_channels % self.heads:
            raise ValueError(f"'heads' ({self.heads}) must divide 'hidden_channels' ({self.hidden_channels})")
        if (self.edges is None) != (self.encoder != "transformer"):
            raise ValueError(
                f"'edges' are for encoder='transformer' and for it alone (got edges={self.edges!r}, "
                f"encoder={self.encoder!r})"
            )
        resolve_model(self.model)

    @classmethod
    def of(cls, model: str = "dt", **settings: Any) -> TrainConfig:
        """The settings of a model preset, with ``settings`` over them.

        Raises:
            ValueError: If there is no such model or setting, or a value is wrong.
        """
        check_keys(settings)
        return cls(**{"model": model, **resolve_model(model).settings, **settings})

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> TrainConfig:
        check_keys(state)
        return cls(**state)

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    def replace(self, **settings: Any) -> TrainConfig:
        check_keys(settings)
        return dataclasses.replace(self, **settings)

    def differences(self, other: TrainConfig, ignore: Iterable[str] = ()) -> list[str]:
        """``key: mine != other's`` for what two runs compute differently, places aside."""
        skipped = {*PLACES, *ignore}
        mine, others = self.to_dict(), other.to_dict()
        return [
            f"{key}: {mine[key]!r} != {others[key]!r}"
            for key in mine.keys() - skipped
            if mine[key] != others[key]
        ]

    def digest(self, data: str = "") -> str:
        """Eight hexadecimal digits of everything that decides the result, and of ``data``'s digest."""
        state = {key: value for key, value in self.to_dict().items() if key not in PLACES}
        return hashlib.sha256(json.dumps([state, data], sort_keys=True).encode()).hexdigest()[:8]


def field_types() -> dict[str, Any]:
    """The type of each setting."""
    return get_type_hints(TrainConfig)


def check_keys(keys: Iterable[str]) -> None:
    """Raises :class:`ValueError` that lists the known settings if a key is none of them."""
    known = [field.name for field in dataclasses.fields(TrainConfig)]
    for key in keys:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise ValueError(f"unknown setting {key!r}{hint}; the settings are {', '.join(known)}")


def parse_settings(texts: Iterable[str]) -> dict[str, Any]:
    """Reads ``key=value`` texts by the types of the settings; ``none`` stands for no value.

    Raises:
        ValueError: If a text has no ``=``, a key is unknown or twice there, or a value does not fit its type.
    """
    settings: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        key = key.strip()
        if not equals:
            raise ValueError(f"a setting is written key=value (got {text!r})")
        check_keys([key])
        if key in settings:
            raise ValueError(f"setting {key!r} is given twice")
        settings[key] = _parse(key, field_types()[key], value.strip())
    return settings


_TRUTH = {
    "true": True,
    "yes": True,
    "on": True,
    "1": True,
    "false": False,
    "no": False,
    "off": False,
    "0": False,
}


def _parse(key: str, kind: Any, text: str) -> Any:
    base, optional = _base(kind)
    if optional and text.lower() in ("none", "null", ""):
        return None
    try:
        return _TRUTH[text.lower()] if base is bool else base(text)
    except (KeyError, ValueError):
        raise ValueError(f"{key!r} takes {_kind_name(base, optional)} (got {text!r})") from None


def _check_type(name: str, kind: Any, value: Any) -> None:
    base, optional = _base(kind)
    fits = isinstance(value, (int, float) if base is float else base) and isinstance(value, bool) == (
        base is bool
    )
    if not fits and not (optional and value is None):
        raise ValueError(f"{name!r} takes {_kind_name(base, optional)} (got {value!r})")


def _base(kind: Any) -> tuple[type, bool]:
    if get_origin(kind) in (Union, types.UnionType):
        return next(part for part in get_args(kind) if part is not type(None)), True
    return kind, False


def _kind_name(base: type, optional: bool) -> str:
    name = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}[base]
    return f"{name} or none" if optional else name
