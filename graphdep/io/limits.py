"""Limits of numbers from users or files, and checks of arguments."""

from __future__ import annotations

import difflib
import os
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence, Sized
from numbers import Integral
from types import MappingProxyType
from typing import Any, TypeVar

from graphdep.io.extras import is_installed
from graphdep.io.files import brief, has_half_character

T = TypeVar("T")

MAX_WORDS = 10_000
"""Default limit of words in a text: without syntax every word sees every other."""

MAX_PAGE_WORDS = 1_000
"""Largest number of words on a page with edges or attention, where any two may have a line."""
MAX_MAP_WORDS = 150
"""Largest number of words in a heat map, where any two have a legible cell."""
MAX_DEPTH = 1_000
"""Largest depth of constituents: human trees have a few dozen levels."""
MAX_ROWS = 5_000_000
"""Largest number of rows in a file whose rows may need no space in it."""
MAX_EXPANDED = 2**29
"""Largest unpacked size of a ``.spacy`` file, and of all short cells of a Parquet file, in bytes."""
MAX_TABLE = 2**26
"""Largest unpacked size of the texts of a small Parquet file in bytes."""

_LAYERS = (1, 1_000)
_CHANNELS = (1, 16_384)
_EXAMPLES = 100_000_000
_SEED = (0, 2**32 - 1)  # NumPy's largest seed
_FLOAT = 3e38  # the range of float32

LIMITS: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        # Data.
        "limit_train": (1, _EXAMPLES),
        "limit_eval": (1, _EXAMPLES),
        "limit_generate": (0, _EXAMPLES),
        "max_words": (1, 1_000_000),
        "max_turns": (1, 10_000),
        "max_length": (1, 100_000),
        "min_freq": (1, _EXAMPLES),
        "relation_min_freq": (1, _EXAMPLES),
        "pieces": (261, 1_000_000),  # at least the special symbols and bytes
        "pool_size": (2, 1_000_000),
        "short_context": (1, 10_000),
        "manipulated_turns": (2, 10_000),
        "cuts": (0, 10_000),
        "order_places": (2, 10_000),
        "sentences": (1, 10_000_000),
        "val_fraction": (0, 1),
        "parse_errors": (0, 1),
        "share_masked": (0, 1),
        # Edges.
        "max_distance": (0, 10_000),
        "window": (0, 10_000),
        "max_sum": (0, 10_000),
        # Models.
        "dependent_places": (1, 1_000),
        "hidden_channels": _CHANNELS,
        "head_channels": _CHANNELS,
        "relation_dim": _CHANNELS,
        "meta_channels": _CHANNELS,
        "match_channels": _CHANNELS,
        "image_words": (5, 1_000),
        "image_turns": (1, 1_000),
        "ff_channels": (1, 65_536),
        "heads": (1, 1_024),
        "num_layers": _LAYERS,
        "context_layers": _LAYERS,
        "decoder_layers": _LAYERS,
        "sia_layer": _LAYERS,
        "sia_layers": _LAYERS,
        "mlp_layers": _LAYERS,
        "freeze_layers": (0, 1_000),
        "dropout": (0, 1),
        # Training.
        "seed": _SEED,
        "val_seed": _SEED,
        "max_epochs": (1, 1_000_000),
        "val_every": (1, 1_000_000),
        "log_every": (1, 1_000_000),
        "patience": (1, 1_000_000),
        "batch_size": (1, 1_000_000),
        "batch_tokens": (1, _EXAMPLES),
        "batch_pieces": (1, _EXAMPLES),
        "lr": (0, _FLOAT),
        "head_lr": (0, _FLOAT),
        "layer_decay": (0, 1),
        "insertion_weight": (0, _FLOAT),
        "deletion_weight": (0, _FLOAT),
        "search_weight": (0, _FLOAT),
        "order_weight": (0, _FLOAT),
        "backbone_weight": (0, _FLOAT),
        "warmup_steps": (1, _EXAMPLES),
        "weight_decay": (0, _FLOAT),
        "scaffold": (0, _FLOAT),
        "clip": (0, _FLOAT),
        "num_workers": (0, 4 * (os.cpu_count() or 1)),
        "devices": (1, 1_000),
        "nodes": (1, 100_000),
        # Decoding.
        "beams": (1, 10_000),
        "num_return": (1, 10_000),
        "min_length": (0, 100_000),
        "length_penalty": (0, _FLOAT),
        "no_repeat_ngram": (0, 100_000),
        "temperature": (1e-6, _FLOAT),
        "top_k": (0, _EXAMPLES),
        "top_p": (0, 1),
        # Command line and calls.
        "seeds": (1, 1_000),
        "workers": (1, 1_024),
        "samples": (1, 10_000_000),
        "raters": (1, 1_000),
    }
)
LARGEST_COUNT = 2**22
"""Largest number in the configuration of a pretrained encoder, except its number of layers."""


def _must_be(holds: bool, name: str, what: str, value: Any) -> None:
    if not holds:
        raise ValueError(f"{name!r} must be {what} (got {brief(value)})")


def check_limit(name: str, value: Any, least: float | None = None) -> None:
    """Raises :class:`ValueError`, with name and value, if a number is outside its limits.

    Args:
        name: Its key in :data:`LIMITS`.
        value: The number.
        least: A lower limit that replaces the table's. (default: :obj:`None`)
    """
    lowest, most = LIMITS[name]
    lowest = lowest if least is None else least
    check_least(name, value, lowest)
    _must_be(not value > most, name, f"at most {most}", value)


def check_whole(name: str, value: Any, least: float | None = None) -> None:
    """As :func:`check_limit`, and also raises if the value is not a whole number."""
    _must_be(isinstance(value, int) and not isinstance(value, bool), name, "a whole number", value)
    check_limit(name, value, least)


_SHORT = 5  # up to so many known names, all are listed instead of a hint
_LISTED = 40  # largest number of names in a message


def did_you_mean(value: Any, known: Iterable[Any]) -> str:
    """The end of a message about an unknown name: the known names that continue it, or else the name that is
    spelt most like it, ignoring case; empty if none is near.
    """
    names = {name.lower(): name for name in known if isinstance(name, str)}
    if not isinstance(value, str) or value in names.values():  # "none" where None is meant
        return ""
    value = value.lower()
    near = [] if value in names or not value else [name for name in names if name.startswith(f"{value}-")]
    near = near[:3] or difflib.get_close_matches(value, names, n=1)
    return f" (did you mean {' or '.join(repr(names[name]) for name in near)}?)" if near else ""


def no_choice(name: str, value: Any, known: Iterable[Any], about: str = "") -> str:
    """The message for an unknown value of the argument ``name``: with the nearest of more than five known
    values or, if none is near, all of them.

    Example:
        >>> from graphdep.io.limits import no_choice
        >>> no_choice("model", "DT", ["dt", "dra", "sia", "dam", "gate", "g2g"])
        "no model 'DT' (did you mean 'dt'?)"
        >>> no_choice("gate", "tan", ["tanh", "sigmoid"])
        "'gate' must be one of tanh, sigmoid (got 'tan')"
    """
    known = [*known]
    if len(known) > _SHORT and (hint := did_you_mean(value, known)):
        return f"no {name} {value!r}{about}{hint}"
    rest = f" and {len(known) - _LISTED} others" if len(known) > _LISTED else ""
    return f"{name!r} must be one of {', '.join(map(str, known[:_LISTED]))}{rest} (got {brief(value)}){about}"


def check_choice(name: str, value: T, known: Iterable[Any]) -> T:
    """Returns the value; raises :class:`ValueError`, with its name, if it is not a known one."""
    names = tuple(known)
    if value not in names:
        raise ValueError(no_choice(name, value, names))
    return value


def check_count(name: str, value: int, least: int = 0) -> int:
    """Returns the value; raises :class:`ValueError`, with its name, unless it is an int >= ``least``."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    _must_be(whole and value >= least, name, f"a whole number of at least {least}", value)
    return value


def check_flag(name: str, value: bool) -> bool:
    """Returns the value; raises :class:`ValueError`, with its name, unless it is a bool."""
    _must_be(isinstance(value, bool), name, "True or False", value)
    return value


def check_above(name: str, value: Any, bound: float) -> None:
    """Raises :class:`ValueError`, with name and value, unless a number is above the bound, or is None."""
    _must_be(value is None or value > bound, name, f"above {bound}", value)


def check_least(name: str, value: Any, least: float) -> None:
    """Raises :class:`ValueError`, with name and value, unless a number is at least ``least``, or is None."""
    _must_be(value is None or value >= least, name, f"at least {least}", value)


def check_between(name: str, value: Any, least: float, most: float) -> None:
    """Raises :class:`ValueError`, with name and value, unless a number is within bounds, or is None."""
    _must_be(value is None or least <= value <= most, name, f"between {least} and {most}", value)


def check_share(name: str, value: float | None) -> None:
    """Raises :class:`ValueError`, with name and value, unless it is a probability or :obj:`None`."""
    check_between(name, value, 0, 1)


def check_divides(name: str, parts: int, whole: str, size: int) -> None:
    """Raises :class:`ValueError`, with names and values, unless ``parts`` divides a size."""
    if parts < 1 or size % parts:
        raise ValueError(f"{name!r} ({parts}) must divide {whole!r} ({size})")


def check_length(name: str, values: Sized, size: int, of: str) -> None:
    """Raises :class:`ValueError`, with its name, unless there are ``size`` values."""
    if len(values) != size:
        raise ValueError(f"{name!r} has {len(values)} entries for {size} {of}")


def check_shape(name: str, tensor: Any, *shape: int | str, dtype: Any = None) -> None:
    """Raises :class:`ValueError` unless a tensor has the shape, where a string stands for any size, and the
    dtype, if given.
    """
    same = len(tensor.shape) == len(shape) and all(
        isinstance(size, str) or size == found for size, found in zip(shape, tensor.shape, strict=True)
    )
    if not same or (dtype is not None and tensor.dtype != dtype):
        kind, found = ("of ", "") if dtype is None else (f"{dtype} of ", f"{tensor.dtype} of ")
        sizes = ", ".join(map(str, shape))
        raise ValueError(f"{name!r} must be {kind}shape [{sizes}] (got {found}{[*tensor.shape]})")


def check_name(place: str, name: str) -> None:
    """Raises :class:`ValueError` if the name of a class has a character that arrays and tables may lose:
    NumPy drops a final NUL, which could merge two classes.
    """
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in name):
        raise ValueError(f"{place!r} has a control character or half a character (got {shown(name)})")


def check_list(name: str, value: Any) -> None:
    """Raises :class:`TypeError` if the value is a string or not a sequence."""
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
        raise TypeError(f"{name!r} must be a list (got {shown(value)})")


def plain(value: Any) -> Any:
    """A NumPy number, e.g. from a parameter search, as a Python number, which a checkpoint can store."""
    return value.item() if getattr(value, "shape", None) == () else value


def listed(name: str, values: Any, size: int | None = None, what: str = "sentences") -> list[Any]:
    """A list, array or Series as a list of Python values.

    Raises:
        TypeError: If the value is none of these.
        ValueError: If its length is not ``size``, the number of ``what``.
    """
    values = values.tolist() if hasattr(values, "tolist") else values
    check_list(name, values)
    if size is not None and len(values) != size:
        raise ValueError(
            f"{name!r} must have {plural(size, 'value')}, one for each of the {what} (got {len(values)})"
        )
    return [plain(value) for value in values]


def check_some(name: str, values: Sized, what: str) -> None:
    """Raises :class:`ValueError`, with the name, if there are no values; ``what`` names one value."""
    if len(values) == 0:
        raise ValueError(f"{name!r} is empty: there must be at least one {what}")


def check_texts(name: str, texts: Any, what: str) -> None:
    """Raises an error with the position of a value that is not a text with a word; ``what`` names a text."""
    check_list(name, texts)
    for number, text in enumerate(texts):
        check_text(f"{name}[{number}]", text, what)


def check_string(place: str, value: Any) -> None:
    """Raises :class:`TypeError` with the ``place`` if the value is not a string."""
    if not isinstance(value, str):
        raise TypeError(f"{place!r} must be a string (got {shown(value)})")


def check_text(place: str, text: Any, what: str) -> None:
    """Raises an error with the ``place`` if the value is not a text with a word; ``what`` names a text."""
    check_string(place, text)
    if not text.strip():
        raise ValueError(f"{place!r} is blank: a {what} has at least one word")
    if has_half_character(text):
        raise ValueError(f"{place!r} has half a character (got {shown(text)})")


def check_words(place: str, words: Sequence[Any]) -> None:
    """Raises an error with the ``place`` unless a list without a tree contains words: strings without white
    space, since others may be texts.
    """
    for number, word in enumerate(words):
        check_text(f"{place}[{number}]", word, "word")
        if len(word.split()) > 1:
            raise ValueError(
                f"'{place}[{number}]' has white space, but a list of strings must contain words: pass a "
                f"text as string, a pair as tuple; words with white space need a tree (got {shown(word)})"
            )


# Similarity from 0 to 1: "marks", "label" and "Words" are close to a key, "keywords", "lang" and "id" not.
_NEAR = 0.8


def near_key(values: Iterable[str], read: Sequence[str], others: Sequence[str] = ()) -> str:
    """The message for a key that is misspelled but close to a known one; empty if there is none.

    Args:
        values: The given keys.
        read: The keys that are read.
        others: Further known keys, which are not read here. (default: none)
    """
    values = [*values]
    missing = [key for key in read if key not in values]
    for key in (key for key in values if key not in (*read, *others)):
        if near := difflib.get_close_matches(key.lower(), missing, n=1, cutoff=_NEAR):
            return f"unknown key {key!r} (did you mean {near[0]!r}?)"
    return ""


def shown(value: object) -> str:
    """A value for a message, shortened."""
    return f"{type(value).__name__} {' '.join(brief(value, 60).split())}"


def check_page_words(words: int, most: int) -> None:
    """Raises :class:`ValueError` if a page or a picture would have too many words."""
    _must_be(words <= most, "words", f"at most {most} to be shown together", words)


def check_encoder_name(name: str, models: Iterable[str] = ()) -> None:
    """Refuses impossible names of encoders, such as models, without contacting the Hugging Face hub."""
    if os.path.exists(name):
        return
    if (model := name.lower()) in models:
        raise ValueError(f"'encoder' {name!r} is not a folder but a model (did you mean model={model!r}?)")
    if re.fullmatch(r"[A-Z_]+", name):
        raise ValueError(
            f"'encoder' {name!r} is not a folder, but looks like a placeholder: give a folder or a name on "
            f'the Hugging Face hub such as sentence-transformers/all-MiniLM-L6-v2 (in a shell "${name}")'
        )
    if not re.fullmatch(r"(\w[\w.-]*/)?\w[\w.-]*", name, re.ASCII):
        raise ValueError(f"no folder {name!r}")


LOGGERS = ("none", "tensorboard", "wandb")
"""Destinations for the metrics of a run, besides its folder."""


def check_logger(name: str) -> None:
    """Raises an error unless the logger exists and its package is installed."""
    check_choice("logger", name, LOGGERS)
    if name != "none" and not is_installed(name):
        raise ImportError(f"the logger {name!r} needs its package: pip install {name}")


def plural(count: int, name: str) -> str:
    """A number with a noun, in the plural unless the number is one.

    Example:
        >>> from graphdep.io.limits import plural
        >>> plural(1, "row"), plural(0, "row"), plural(1200, "sentence")
        ('1 row', '0 rows', '1200 sentences')
    """
    return f"{count} {name}" if count == 1 else f"{count} {name}s"


def and_unparsed(said: str, failures: int, name: str = "text", *, parsed: int = 0) -> str:
    """Appends the numbers of parses and of chain trees to a report, each unless it is 0."""
    said += f", {parsed} parsed" if parsed else ""
    if not failures:
        return said
    return f"{said}, {plural(failures, name)} could not be parsed (each word below the one before)"
