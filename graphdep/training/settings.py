"""How a setting is declared, read and checked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Literal, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from graphdep.io.files import brief
from graphdep.io.limits import LIMITS, check_above, check_limit, choices
from graphdep.training.task import config_of

SETTING_ALIASES: dict[str, str] = {
    "learning_rate": "lr",
    "epochs": "max_epochs",
    "num_epochs": "max_epochs",
    "num_train_epochs": "max_epochs",
    "per_device_train_batch_size": "batch_size",
    "train_batch_size": "batch_size",
    "bs": "batch_size",
    "model_name": "encoder",
    "model_name_or_path": "encoder",
    "pretrained": "encoder",
    "hidden_size": "hidden_channels",
    "hidden_dim": "hidden_channels",
    "d_model": "hidden_channels",
    "ffn_dim": "ff_channels",
    "intermediate_size": "ff_channels",
    "layers": "num_layers",
    "num_hidden_layers": "num_layers",
    "num_heads": "heads",
    "num_attention_heads": "heads",
    "wd": "weight_decay",
    "max_grad_norm": "clip",
    "gradient_clip_val": "clip",
    "max_seq_length": "max_length",
    "embeddings": "vectors",
    "glove": "vectors",
    "random_state": "seed",
    "device": "accelerator",
    "early_stopping": "patience",
}
"""The setting that each word stands for elsewhere."""


NOISY_TREES = {f"noisy-{percent}": percent / 100 for percent in (5, 10, 20, 30, 40, 60, 80, 100)}
"""Names of trees of which so many percent of the arcs are wrong, and the share."""
PARSED = {f"{name}-parsed": name for name in ("random-labels", "noisy-5", "noisy-10", "noisy-20")}
"""Controls that begin with the parser's trees where the corpus has its own, and what they do to them."""
CONTROL_TREES = ("random", "random-labels", "chain", "reversed", "rerooted", *NOISY_TREES, *PARSED)
"""Names of all of them."""


def check_trees(trees: str, task: str, gold: bool) -> None:
    """Raises :class:`ValueError` if trees begin with those of a corpus that has none of its own."""
    if trees in ("gold", *PARSED) and not gold:
        instead = f", so that {PARSED[trees]!r} begins with the parser's" if trees in PARSED else ""
        raise ValueError(f"'trees' cannot be {trees!r}: the corpus of {task!r} has none of its own{instead}")


DATA, OWN, TRAINING = "Data", "Files of your own", "Training"
"""Panels of the help of commands that have options for settings."""


def setting(
    default: Any = ...,
    help: str | None = None,
    *,
    choices: Iterable[str | None] | None = None,
    least: float | None = None,
    above: float | None = None,
    below: float | None = None,
    panel: str | None = None,
    flag: str | None = None,
    defines: bool | None = None,
    published: bool | None = None,
    free: bool | None = None,
    late: bool | None = None,
    place: bool | None = None,
) -> Any:
    """Returns a field of a :class:`Settings`.

    A subclass that declares the field again, by this or plainly (``lr: float = 0.1``), keeps all that it does
    not say otherwise, but for the default.

    Args:
        default: Its default. (default: none, it must be given)
        help: What it is, for the help of commands, ``graphdep settings`` and the documentation.
        choices: Its values, in the order of messages. (default: all that its type has)
        least: A least value that is higher than that of :data:`~graphdep.io.limits.LIMITS`.
        above, below: It is above the one, and below the other.
        panel: The panel of ``--help`` that shows it. (default: none; the option is there, not its help)
        flag: A second name of its option, e.g. ``"--epochs"``.
        defines: It makes a model the one that its name says; every row's name shows settings that change it.
        published: The paper's figures were made with it, too; beside other values they say nothing.
        free: The weights do not depend on it.
        late: It is read only after the training, and so is free.
        place: It says where a run is computed or where its files lie, which is not what it computes.
    """
    own = {
        "choices": None if choices is None else tuple(choices),
        "least": least,
        "above": above,
        "below": below,
        "panel": panel,
        "flag": flag,
        "defines": defines,
        "published": published,
        "free": free,
        "late": late,
        "place": place,
    }
    marks: Any = {name: value for name, value in own.items() if value is not None}
    return Field(default, description=help, json_schema_extra=marks)


class Settings(BaseModel):
    """Frozen, typed settings: a base of pydantic whose errors are a line that names setting and value.

    Raises:
        ValueError: If a setting is missing or unknown, has another type, or is none of its choices or outside
            of its limits (:data:`~graphdep.io.limits.LIMITS`).
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    marks: ClassVar[dict[str, dict[str, Any]]]
    """What each setting says of itself, by its name (:func:`setting`), ``"help"`` among it."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        cls.marks = {name: {} for name in cls.model_fields}
        # A field that is declared again says nothing but what it says otherwise.
        for base in reversed([base for base in cls.__mro__ if issubclass(base, Settings)]):
            for name, field in base.model_fields.items():
                own = field.json_schema_extra
                cls.marks[name].update(own if isinstance(own, dict) else {})
                if field.description is not None:
                    cls.marks[name]["help"] = field.description

    def __init__(self, **settings: Any) -> None:
        try:
            super().__init__(**settings)
        except ValidationError as error:
            raise ValueError(self._said(error)) from None

    @field_validator("*")
    @classmethod
    def _allowed(cls, value: Any, info: ValidationInfo) -> Any:
        name = str(info.field_name)
        own = cls.marks[name]
        choices = own.get("choices")
        if choices is not None and value not in choices:
            known = ", ".join("none" if choice is None else choice for choice in choices)
            raise ValueError(f"{name!r} must be one of {known} (got {brief(value)})")
        if name in LIMITS and isinstance(value, (int, float)):  # `pieces` may be a text
            check_limit(name, value, own.get("least"))
        above, below = own.get("above"), own.get("below")
        if above is not None:
            check_above(name, value, above)
        if None not in (value, below) and value >= below:
            raise ValueError(f"{name!r} must be below {below} (got {brief(value)})")
        return value

    @classmethod
    def _said(cls, error: ValidationError) -> str:
        """The first thing that is wrong."""
        first = error.errors(include_url=False)[0]
        name = str(first["loc"][0])
        if first["type"] == "extra_forbidden":
            return cls._unknown(name)
        if first["type"] == "missing":
            return f"setting {name!r} must be given"
        if first["type"] == "value_error":
            return str(first["ctx"]["error"])
        return cls._mismatch(name, first["input"])

    @classmethod
    def _mismatch(cls, name: str, value: Any) -> str:
        kinds = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
        annotation = cls.model_fields[name].annotation
        allowed = get_args(annotation) or (annotation,)
        kind = next(kinds[part] for part in allowed if part in kinds)
        return f"{name!r} takes {kind}{' or none' if type(None) in allowed else ''} (got {brief(value)})"

    @classmethod
    def _unknown(cls, name: str) -> str:
        known = [*cls.model_fields]
        if name in SETTING_ALIASES:
            known = [SETTING_ALIASES[name]]
        return (
            f"unknown setting {name!r}{choices(SETTING_ALIASES.get(name, name), known, 'the settings are')}"
        )

    @classmethod
    def check_keys(cls, keys: Iterable[str]) -> None:
        """Raises :class:`ValueError` that lists the known settings if a key is none of them."""
        for key in keys:
            if key not in cls.model_fields:
                raise ValueError(cls._unknown(key))

    @classmethod
    def read(cls, name: str, value: Any) -> Any:
        """A value of a file or a command line: a text stands for a value of the setting's type, ``none`` for
        no value.

        Raises:
            ValueError: If it does not fit the type.
        """
        annotation: Any = cls.model_fields[name].annotation
        allowed = get_args(annotation) or (annotation,)
        text = isinstance(value, str)
        value = value.strip() if text else value
        if text and type(None) in allowed and value.lower() in ("none", "null", ""):
            return None
        try:
            return TypeAdapter(annotation).validate_python(value, strict=not text or str in allowed)
        except ValidationError:
            raise ValueError(cls._mismatch(name, value)) from None

    @classmethod
    def with_mark(cls, *marks: Literal["defines", "published", "free", "late", "place"]) -> tuple[str, ...]:
        """The names of the settings that have one of some marks."""
        return tuple(name for name, own in cls.marks.items() if any(map(own.get, marks)))

    @classmethod
    def default_of(cls, name: str) -> Any:
        """A setting's default; :obj:`Ellipsis` where it must be given."""
        field = cls.model_fields[name]
        return ... if field.is_required() else field.default


def parse_settings(texts: Iterable[str], task: str | None = None) -> dict[str, Any]:
    """Reads ``key=value`` texts by the types of a task's settings; ``none`` stands for no value.

    Raises:
        ValueError: If a text has no ``=``, a key is unknown or twice there, or a value does not fit its type.
    """
    settings: dict[str, Any] = {}
    config = config_of(task)
    for text in texts:
        key, equals, value = text.partition("=")
        key = key.strip()
        if not equals:
            raise ValueError(f"a setting is written key=value (got {text!r})")
        config.check_keys([key])
        if key in settings:
            raise ValueError(f"setting {key!r} is given twice")
        settings[key] = config.read(key, value)
    return settings
