"""The dialogues in a corpus of response selection."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

import numpy as np

from graphdep.datasets.selection_dataset import SelectionDataset
from graphdep.sentence import Sentence


def positive_dialogues(dataset: SelectionDataset, *, trees: bool = False) -> list[list[str | Sentence]]:
    """Contexts with their right responses as dialogues, for :class:`~graphdep.datasets.PostTrainingDataset`.

    Where a context and its response are the beginning of another one, as where each turn has a pool, only the
    longer dialogue is taken: else first utterances would count many times.

    Args:
        dataset: A split, or a slice of it, with whole contexts (``max_turns=None``).
        trees: Give trees, for edges that need them. Texts, which are the words with a space between, take
            less memory. (default: :obj:`False`)

    Returns:
        The dialogues, in no particular order but always the same. Equal utterances are one object. An
        utterance without words is ``""``.

    Raises:
        ValueError: If the dataset has no right response.
    """
    store, own = dataset._store, {*dataset.indices()}
    dialogues = _longest(
        (*pair.context.tolist(), pair.response)
        for number, pair in store.each_pair()
        if pair.label and number in own
    )
    if not dialogues:
        raise ValueError(f"'dataset' has no right response (got {len(dataset)} pairs)")
    used = {turn for dialogue in dialogues for turn in dialogue}
    words, relations = list(store.words()), store.relations()
    found = {
        number: _tree(tree, words, relations) if trees else _text(tree[0], words)
        for number, tree in enumerate(store.each_tree())
        if number in used
    }
    return [[found[turn] for turn in dialogue] for dialogue in dialogues]


def _longest(dialogues: Iterator[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Those that no other one begins with."""
    # In this order a dialogue stands right before those that it is the beginning of.
    ordered = sorted(set(dialogues))
    pairs = zip_longest(ordered, ordered[1:], fillvalue=())
    return [one for one, following in pairs if not _begins(one, following)]


def _begins(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return other[: len(one)] == one


def _text(numbers: np.ndarray, words: Sequence[str]) -> str:
    return " ".join(words[number] for number in numbers.tolist())


def _tree(
    tree: tuple[np.ndarray, np.ndarray, np.ndarray], words: Sequence[str], relations: Sequence[str]
) -> str | Sentence:
    forms, head, labels = (column.tolist() for column in tree)
    if not forms:
        return ""
    return Sentence(
        [words[number] for number in forms],
        head,
        [relations[number] for number in labels],
        multiroot=head.count(0) > 1,
    )
