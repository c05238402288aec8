"""The dialogues in a corpus of response selection."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise, takewhile, zip_longest

import numpy as np

from graphdep.datasets.selection.selection_dataset import SelectionDataset
from graphdep.datasets.selection.store.tree_bytes import sentence_of
from graphdep.sentence import Sentence

Turns = tuple[int, ...]


def positive_dialogues(
    dataset: SelectionDataset, *, short_context: int = 3, trees: bool = False
) -> list[list[str | Sentence]]:
    """Contexts with their right responses as dialogues, for :class:`~graphdep.datasets.PostTrainingDataset`.

    Where a context and its response are the beginning of another one, as where each turn has a pool, only the
    longer dialogue is taken. Where two dialogues begin alike, as where several messages answer one, the
    second has only the last :obj:`short_context` utterances of what they share. So each response follows its
    short context once, and first utterances do not count many times.

    Args:
        dataset: A split, or a slice of it, with whole contexts (``max_turns=None``).
        short_context: That of the :class:`~graphdep.datasets.PostTrainingDataset`. (default: :obj:`3`)
        trees: Give trees, for edges that need them. Texts, which are the words with a space between, take
            less memory. (default: :obj:`False`)

    Returns:
        The dialogues, in no particular order but always the same. Equal utterances are one object. Utterances
        without words are left out; the dataset counts them.

    Raises:
        ValueError: If :obj:`short_context` is below 1, or the dataset has no right response.
    """
    if short_context < 1:
        raise ValueError(f"'short_context' must be at least 1 (got {short_context})")
    store, own = dataset._store, {*dataset.indices()}
    dialogues = {
        (*pair.context.tolist(), pair.response)
        for number, pair in store.each_pair()
        if pair.label and number in own
    }
    if not dialogues:
        raise ValueError(f"'dataset' has no right response (got {len(dataset)} pairs)")
    used = {turn for dialogue in dialogues for turn in dialogue}
    words, relations = list(store.words()), store.relations()

    def read(tree: tuple[np.ndarray, np.ndarray, np.ndarray]) -> str | Sentence | None:
        if trees:
            return sentence_of(tree, words, relations)
        return " ".join(words[number] for number in tree[0].tolist()) or None

    every = ((number, read(tree)) for number, tree in enumerate(store.each_tree()) if number in used)
    found = {number: turn for number, turn in every if turn is not None}
    with_words = {tuple(turn for turn in dialogue if turn in found) for dialogue in dialogues}
    return [[found[turn] for turn in dialogue] for dialogue in _distinct(with_words, short_context)]


def _distinct(dialogues: Iterable[Turns], short_context: int) -> list[Turns]:
    """Dialogues in which no window of ``short_context`` utterances and the next one is there twice."""
    # In this order a dialogue stands right before those that it is the beginning of, and shares with none
    # before it more than with the one right before it.
    ordered = sorted(dialogues)
    longest = [
        one for one, other in zip_longest(ordered, ordered[1:], fillvalue=()) if not _begins(one, other)
    ]
    pairs = pairwise([(), *longest])
    return [other[max(0, _shared(one, other) - short_context) :] for one, other in pairs]


def _begins(one: Turns, other: Turns) -> bool:
    return other[: len(one)] == one


def _shared(one: Turns, other: Turns) -> int:
    """How many first utterances two dialogues share."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other)))
