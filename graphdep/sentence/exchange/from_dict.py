"""Plain values, such as those of JSON, as columns of sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import index
from typing import Any, SupportsIndex

from graphdep.sentence.conllu_lines import sentence_columns
from graphdep.sentence.exchange.found import Found, shown
from graphdep.sentence.exchange.word_lines import without_lost_arcs, word_lines
from graphdep.sentence.tree import parse_deps

# The names that each column may have; the first is the argument of Sentence.
_COLUMNS = {
    "form": ("form", "words", "tokens"),
    "head": ("head", "heads"),
    "deprel": ("deprel", "deprels"),
    "lemma": ("lemma", "lemmas"),
    "upos": ("upos",),
    "xpos": ("xpos",),
    "feats": ("feats",),
    "misc": ("misc",),
}
_TAKES = (
    "from_dict takes a mapping with 'form' (or 'words', 'tokens'), 'head' and 'deprel', a list of words "
    "that are mappings with 'id', 'text', 'head' and 'deprel', or a list of these"
)


def read_dicts(parsed: Any, *, multiroot: bool) -> Found:
    """The sentence of a mapping or of a list of words, or several in a list.

    Raises:
        TypeError: If it is nothing of this kind.
        ValueError: If a column or a value is missing or wrong.
    """
    single = isinstance(parsed, Mapping) or is_words(parsed)
    sentences = [parsed] if single else parsed
    if not isinstance(sentences, Sequence) or isinstance(sentences, str | bytes):
        raise TypeError(f"{_TAKES} (got {shown(parsed)})")
    columns: list[dict[str, Any]] = []
    for number, sentence in enumerate(sentences):
        if isinstance(sentence, Mapping):
            columns.append(_columns(sentence, multiroot))
        elif is_words(sentence):
            lines = enumerate(without_lost_arcs(word_lines(sentence)), start=1)
            columns += sentence_columns(lines, f"sentence {number}", multiroot=multiroot, max_words=None)
        else:
            raise TypeError(f"{_TAKES} (got {shown(sentence)})")
    return Found(columns, single)


def is_words(value: object) -> bool:
    """Whether a value is a list of words, and not of sentences: a word has one governor."""
    return (
        isinstance(value, list | tuple)
        and bool(value)
        and all(
            isinstance(word, Mapping) and isinstance(word.get("head"), int | str | None) for word in value
        )
        and any("head" in word for word in value)
    )


def _columns(sentence: Mapping[str, Any], multiroot: bool) -> dict[str, Any]:
    found: dict[str, Any] = {
        name: next((sentence[key] for key in keys if sentence.get(key) is not None), None)
        for name, keys in _COLUMNS.items()
    }
    missing = [name for name in ("form", "head", "deprel") if found[name] is None]
    if missing:
        raise ValueError(f"no {missing[0]!r} among the keys {sorted(map(str, sentence))}: {_TAKES}")
    columns: dict[str, Any] = {name: _texts(name, values) for name, values in found.items()}
    columns["head"] = [_whole(word, value) for word, value in enumerate(found["head"], start=1)]
    if sentence.get("deps"):
        columns["deps"] = [_deps(word, value) for word, value in enumerate(sentence["deps"], start=1)]
    if sentence.get("constituents") is not None:
        columns["constituents"] = [
            tuple(each) if isinstance(each, list) else each for each in sentence["constituents"]
        ]
    columns["comments"] = _comments(sentence)
    for name in ("multiword", "empty"):
        columns[name] = [tuple(row) for row in _rows(name, sentence.get(name))]
    columns["multiroot"] = bool(sentence.get("multiroot", multiroot)) and columns["head"].count(0) > 1
    return columns


def _rows(name: str, values: Any) -> list[Any]:
    """A list that may be missing."""
    if values is None:
        return []
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ValueError(f"{name!r} must be a list (got {shown(values)})")
    return [*values]


def _texts(name: str, values: Any) -> list[str] | None:
    if values is None:
        return None
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ValueError(f"{name!r} must be a list with a value for each word (got {shown(values)})")
    if name == "head":
        return None
    texts = ["_" if value is None or value == "" else value for value in values]
    for word, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            raise ValueError(f"word {word}: {name!r} must be text (got {shown(text)})")
    return texts if name in ("form", "deprel") or set(texts) != {"_"} else None


def _whole(word: int, value: Any) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):  # NumPy's numbers are ones, too
        raise ValueError(f"word {word}: 'head' must be a whole number from 0 (got {shown(value)})")
    return index(value)


def _deps(word: int, value: Any) -> list[tuple[str, str]]:
    """``"2:nsubj|4:conj"``, or pairs of head and label."""
    if value is None:
        return []
    pairs = parse_deps(value) if isinstance(value, str) else value
    try:
        return [(str(head), str(label)) for head, label in pairs]
    except (TypeError, ValueError):
        raise ValueError(
            f"word {word}: 'deps' must be pairs of head and label (got {shown(value)})"
        ) from None


def _comments(sentence: Mapping[str, Any]) -> list[str]:
    comments = _rows("comments", sentence.get("comments"))
    text = sentence.get("text")
    return comments if comments or not isinstance(text, str) else [f"# text = {' '.join(text.split())}"]
