"""Inputs given in Python: texts, word lists, and parses of any library, alone or in pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphdep.io.limits import check_some, check_text, check_words, listed, shown
from graphdep.parsing.parser import Input
from graphdep.sentence.intake import PARSES, Intake, is_own, is_parse, sentences_of
from graphdep.sentence.sentence import Sentence, join_sentences

ADVICE = "Sentence.from_dict(..., bad_trees='attach') repairs a tree"


def entries(name: str, values: Any, what: str) -> list[tuple[str, Any]]:
    """The entries of a list with their places, such as ``X[3]``; ``what`` names an entry.

    Raises:
        TypeError: If it is a parse, or no list.
        ValueError: If it is empty.
    """
    if is_parse(values):
        raise TypeError(f"{name!r} must be a list, even for a single {what} (got {shown(values)})")
    values = listed(name, values)
    check_some(name, values, what)
    return [(f"{name}[{number}]", value) for number, value in enumerate(values)]


def read_inputs(
    given: Sequence[tuple[str, Any]],
    intake: Intake | None = None,
    *,
    roots: str = "first",
    blank: bool = False,
) -> list[Input]:
    """Reads texts unchanged, words as tuples, and each parse as one tree; the parses share one intake.

    A parse of several sentences, or a list of parses, counts as one text; its sentences are joined by
    :func:`~graphdep.sentence.join_sentences`.

    Args:
        given: Place and value of each input: a text, a list of words, a parse, or a list of parses.
        intake: Converts and repairs parses. (default: a new one with its defaults)
        roots: As of :func:`~graphdep.sentence.join_sentences`; with ``"all"`` a sentence may have several
            roots. (default: ``"first"``)
        blank: Whether a text may be blank. (default: :obj:`False`)

    Raises:
        TypeError: If a value has another type; the message has the place.
        ValueError: If a text or word is blank, there is no word, or a parse is not a tree.
    """
    intake = Intake(advice=ADVICE) if intake is None else intake
    parses: list[tuple[str, Any]] = []
    made: list[Input | int] = []  # for a tree its number of parses
    for place, value in given:
        value = value.tolist() if hasattr(value, "tolist") else value
        several = isinstance(value, Sequence) and not isinstance(value, str | bytes) and not is_parse(value)
        if several:
            check_some(place, value, "word")
        if several and any(map(is_parse, value)):
            parses += [(f"{place}[{number}]", each) for number, each in enumerate(value)]
            made.append(len(value))
        elif several:
            check_words(place, value)
            made.append(tuple(map(str, value)))
        elif is_parse(value):
            parses.append((place, value))
            made.append(1)
        elif isinstance(value, str):
            if not blank:
                check_text(place, value, "text")
            made.append(value)
        else:
            raise TypeError(
                f"{place!r} must be a text, a list of words, or a parse: {PARSES} (got {shown(value)})"
            )
    found = iter(sentences_of(parses, intake, multiroot=roots == "all"))
    inputs: list[Input] = []
    for (place, _), value in zip(given, made):
        if isinstance(value, int):
            sentences = [sentence for _ in range(value) for sentence in next(found)]
            check_some(place, sentences, "sentence")
            inputs.append(_joined(place, sentences, roots))
        else:
            inputs.append(value)
    intake.say()
    return inputs


def _joined(place: str, sentences: list[Sentence], roots: str) -> Sentence:
    for sentence in sentences if roots == "first" else ():
        if (count := sentence.head.count(0)) > 1:
            raise ValueError(f"{place!r} must have one root per sentence (got {count} roots)")
    return join_sentences(sentences, roots=roots)


def read_examples(
    name: str,
    examples: Any,
    intake: Intake | None = None,
    *,
    roots: str = "first",
    blank: bool = False,
) -> list[tuple[Input, ...]]:
    """Reads single inputs as tuples of one, and pairs of inputs as tuples of two.

    A pair is a tuple, or a row of an array or data frame with two columns. A list is never a pair: a list of
    strings is the words of a sentence, without white space, and a list of parses a text of several sentences.

    Args:
        name: Name of the argument in messages.
        examples: A list, array or Series of inputs or tuples, or an array or data frame with two columns.
        intake, roots, blank: As of :func:`read_inputs`.

    Raises:
        TypeError, ValueError: As of :func:`read_inputs`, or if the shape is wrong.
    """
    values = examples.to_numpy() if hasattr(examples, "to_numpy") else examples
    shape: Sequence[int] = getattr(values, "shape", ())
    if len(shape) > 2 or (len(shape) == 2 and shape[1] != 2):
        raise ValueError(f"{name!r} must be texts, [n], or pairs of texts, [n, 2] (got shape {tuple(shape)})")
    rows = []
    for place, value in entries(name, values, "text"):
        row = tuple(value) if isinstance(value, tuple) or len(shape) == 2 else (value,)
        if len(row) not in (1, 2):
            raise ValueError(f"{place!r} must be a text or a pair of texts (got {len(row)} of them)")
        rows.append([(place if len(row) == 1 else f"{place}[{n}]", each) for n, each in enumerate(row)])
    inputs = iter(read_inputs([each for row in rows for each in row], intake, roots=roots, blank=blank))
    return [tuple(next(inputs) for _ in row) for row in rows]


def has_own_tree(inputs: Sequence[Input | None]) -> np.ndarray:
    """Whether the tree of each input is the user's and not a parser's, ``[n]``."""
    return np.array([*map(is_own, inputs)], dtype=bool)
