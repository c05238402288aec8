"""Declaration, parsing and validation of settings."""

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
from graphdep.io.limits import LIMITS, check_above, check_limit, no_choice
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
"""Names of settings in other libraries, and the names here."""


NOISY_TREES = {f"noisy-{percent}": percent / 100 for percent in (5, 10, 20, 30, 40, 60, 80, 100)}
"""Controls with wrong arcs, and the share of wrong arcs."""
PARSED = {f"{name}-parsed": name for name in ("random-labels", "noisy-5", "noisy-10", "noisy-20")}
"""Controls that change the parser's trees even if the corpus has trees, and the same controls otherwise."""
CONTROL_TREES = ("random", "random-labels", "chain", "reversed", "rerooted", *NOISY_TREES, *PARSED)
"""All controls of trees."""


def check_trees(trees: str, task: str, gold: bool) -> None:
    """Raises :class:`ValueError` if trees need a corpus with trees (``gold``) and it has none."""
    if trees in ("gold", *PARSED) and not gold:
        advice = f"; {PARSED[trees]!r} changes the parser's trees" if trees in PARSED else ""
        raise ValueError(f"'trees' cannot be {trees!r}: the corpus of {task!r} has no trees{advice}")


DATA, OWN, TRAINING = "Data", "Files of your own", "Training"
"""Panels of settings in ``--help``."""


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
    verbatim: bool | None = None,
) -> Any:
    """Declares a field of a :class:`Settings`.

    A subclass that declares the field again, with or without this function (``lr: float = 0.1``), inherits
    all arguments that it does not give, except the default.

    Args:
        default: Default value. (default: none, the setting is required)
        help: Description for ``--help``, ``graphdep settings`` and the documentation.
        choices: Allowed values, in the order of messages. (default: all values of its type)
        least: Smallest value, if higher than in :data:`~graphdep.io.limits.LIMITS`.
        above, below: Exclusive bounds.
        panel: Panel of ``--help``. (default: none, the option is not shown)
        flag: A second name of its option, e.g. ``"--epochs"``.
        defines: It is part of what the name of a model means; tables show changes in the name of the row.
        published: Figures of papers are shown only beside results with the paper's value.
        free: The weights do not depend on it.
        late: It is used only after training, and so is free.
        place: It says where a run is computed or where files are, and does not affect the result.
        verbatim: ``none`` is a value, such as a label, and only an empty text is :obj:`None`.
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
        "verbatim": verbatim,
    }
    marks: Any = {name: value for name, value in own.items() if value is not None}
    return Field(default, description=help, json_schema_extra=marks)


class Settings(BaseModel):
    """Frozen, typed settings: a pydantic model with errors of one line that name setting and value.

    Raises:
        ValueError: If a setting is missing or unknown, or its value has another type, is not one of its
            choices or is out of its limits (:data:`~graphdep.io.limits.LIMITS`).
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    marks: ClassVar[dict[str, dict[str, Any]]]
    """Arguments of :func:`setting`, including ``"help"``, by name of the setting."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        cls.marks = {name: {} for name in cls.model_fields}
        # A field that is declared again overrides only what it gives.
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
            raise ValueError(self._message(error)) from None

    @field_validator("*")
    @classmethod
    def _allowed(cls, value: Any, info: ValidationInfo) -> Any:
        name = str(info.field_name)
        own = cls.marks[name]
        choices = own.get("choices")
        if choices is not None and value not in choices:
            known = ("none" if choice is None else choice for choice in choices)
            raise ValueError(no_choice(name, value, known))
        if name in LIMITS and isinstance(value, (int, float)):  # `pieces` may be a text
            check_limit(name, value, own.get("least"))
        above, below = own.get("above"), own.get("below")
        if above is not None:
            check_above(name, value, above)
        if None not in (value, below) and value >= below:
            raise ValueError(f"{name!r} must be below {below} (got {brief(value)})")
        return value

    @classmethod
    def _message(cls, error: ValidationError) -> str:
        """The first error."""
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
        if name in SETTING_ALIASES:
            return f"no setting {name!r} (did you mean {SETTING_ALIASES[name]!r}?)"
        return no_choice("setting", name, cls.model_fields)

    @classmethod
    def check_keys(cls, keys: Iterable[str]) -> None:
        """Raises :class:`ValueError` if a key is not a setting."""
        for key in keys:
            if key not in cls.model_fields:
                raise ValueError(cls._unknown(key))

    @classmethod
    def read(cls, name: str, value: Any) -> Any:
        """Converts a value of a file or command line to the type of a setting; ``none`` becomes :obj:`None`.

        Raises:
            ValueError: If it does not fit the type.
        """
        annotation: Any = cls.model_fields[name].annotation
        allowed = get_args(annotation) or (annotation,)
        text = isinstance(value, str)
        value = value.strip() if text else value
        nothing = ("",) if cls.marks[name].get("verbatim") else ("none", "null", "")
        if text and type(None) in allowed and value.lower() in nothing:
            return None
        try:
            return TypeAdapter(annotation).validate_python(value, strict=not text or str in allowed)
        except ValidationError:
            raise ValueError(cls._mismatch(name, value)) from None

    @classmethod
    def with_mark(cls, *marks: Literal["defines", "published", "free", "late", "place"]) -> tuple[str, ...]:
        """The names of the settings with at least one of the marks."""
        return tuple(name for name, own in cls.marks.items() if any(map(own.get, marks)))

    @classmethod
    def default_of(cls, name: str) -> Any:
        """The default of a setting; :obj:`Ellipsis` if it is required."""
        field = cls.model_fields[name]
        return ... if field.is_required() else field.default


def parse_settings(texts: Iterable[str], task: str | None = None) -> dict[str, Any]:
    """Parses ``key=value`` texts as settings of a task; ``none`` becomes :obj:`None`.

    Raises:
        ValueError: If a text has no ``=``, a key is unknown or repeated, or a value does not fit its type.
    """
    settings: dict[str, Any] = {}
    config = config_of(task)
    for text in texts:
        key, equals, value = text.partition("=")
        key = key.strip()
        if not equals:
            raise ValueError(f"a setting must have the form key=value (got {text!r})")
        config.check_keys([key])
        if key in settings:
            raise ValueError(f"setting {key!r} is given twice")
        settings[key] = config.read(key, value)
    return settings
