"""Examples of further training objectives, made from training pairs."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import torch
from torch.utils.data import Dataset
from torch_geometric.data import Batch, Data

from graphdep.data.encoded import (
    deletion_data,
    fitting,
    insertion_data,
    most_turns,
    search_data,
    selection_data,
)
from graphdep.data.node_table import EncodedUtterance, NodeType
from graphdep.datasets.base.rows import Draw
from graphdep.datasets.selection.dataset import SelectionDataset
from graphdep.vocab.vocab import Tokens


class Dialogue(NamedTuple):
    """The utterances of a pair that have words.

    Args:
        context: The utterances before the response.
        response: The candidate, a list of one utterance, or empty if it has no words.
        right: Whether it is a true response.
        whole: The context including utterances without words.
    """

    context: list[EncodedUtterance]
    response: list[EncodedUtterance]
    right: bool
    whole: Sequence[EncodedUtterance]

    @classmethod
    def of(cls, context: Sequence[EncodedUtterance], response: EncodedUtterance, right: bool) -> Dialogue:
        with_words = [turn for turn in context if turn.num_words]
        return cls(with_words, [response] if response.num_words else [], right, context)

    @property
    def turns(self) -> list[EncodedUtterance]:
        """The real dialogue: the context, and the response if it is a true one."""
        return [*self.context, *(self.response if self.right else [])]


class Objective(ABC):
    """Base class of further training objectives, which make examples from training pairs.

    All examples of a batch have the same keys. ``kind`` is the objective of an example: 0 for response
    selection, other numbers are defined by the subclass.
    """

    @abstractmethod
    def examples(self, pair: Data, dialogue: Dialogue, other: Dialogue, draw: Draw) -> list[Data]:
        """The pair, changed or unchanged, followed by the examples that are made from it.

        Args:
            pair: The example of the dataset.
            dialogue: Its utterances.
            other: The utterances of a pair of another pool with another first utterance, if there is one,
                else of the same pair.
            draw: Random generator, seeded by seed, epoch and number of the pair.
        """


def as_kind(data: Data, kind: int, y: float = 0.0) -> Data:
    """An example with the keys of pairs: a label, and a number that is of no pool."""
    data.kind = torch.tensor([kind])
    if "y" not in data:
        data.y = torch.tensor([y])
    if "group" not in data:
        data.group = torch.tensor([-1])
    return data


_TRIES = 20  # to find a pair of another dialogue
Key = tuple[int, int]


class ObjectivePairs(Dataset):
    """The pairs of a training split, each as a list of the pair and the examples of an objective.

    Draws depend on seed, epoch and number of the pair only (``pairs[epoch, number]``), not on batches,
    workers or earlier epochs.

    Args:
        pairs: The pairs.
        objective: Makes the examples.
        seed: Seed.
    """

    def __init__(self, pairs: SelectionDataset, objective: Objective, seed: int) -> None:
        self.pairs, self.objective, self.seed = pairs, objective, seed
        self.groups = pairs.groups()
        self.labels = pairs.labels()

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, key: Key) -> list[Data]:
        return self.__getitems__([key])[0]

    def __getitems__(self, keys: Sequence[Key]) -> list[list[Data]]:
        numbers = [number for _, number in keys]
        draws = [Draw(random.Random(f"{self.seed} {epoch} {number}")) for epoch, number in keys]
        others = self._others(numbers, draws)
        turns = self.pairs.encoded([*numbers, *others])
        dialogues = [
            Dialogue.of(context, response, bool(self.labels[number]))
            for number, (context, response) in zip([*numbers, *others], turns)
        ]
        pairs = self.pairs.__getitems__(numbers)
        columns = zip(pairs, dialogues[: len(keys)], dialogues[len(keys) :], draws)
        return [self.objective.examples(*column) for column in columns]

    def _others(self, numbers: Sequence[int], draws: Sequence[Draw]) -> list[int]:
        """For each pair a drawn pair of another pool with another first utterance, or if none was found the
        pair itself.

        Pools of one dialogue have the same first utterance, and must not be mixed. If ``max_turns`` truncates
        contexts, the first remaining utterance is compared.
        """
        others, own = [*numbers], self.pairs.openings(numbers)
        left = [*range(len(numbers))]
        for _ in range(_TRIES):
            drawn = [draws[place].pick(range(len(self.pairs))) for place in left]
            fits = [
                self.groups[other] != self.groups[numbers[place]] and _differ(opening, own[place])
                for place, other, opening in zip(left, drawn, self.pairs.openings(drawn))
            ]
            for place, other, fit in zip(left, drawn, fits):
                others[place] = other if fit else others[place]
            left = [place for place, fit in zip(left, fits) if not fit]
            if not left:
                break
        return others

    @staticmethod
    def collate(examples: Sequence[Sequence[Data]]) -> Batch:
        """All examples of a batch, pair by pair."""
        return Batch.from_data_list([*chain.from_iterable(examples)])


def _differ(one: int | None, other: int | None) -> bool:
    """Whether two dialogues begin with different utterances; false for an empty context."""
    return one is None or other is None or one != other


class DialogueAugmentation(Objective):
    r"""Dialogue augmentation: a true pair gives further pairs, in which the dialogue ends earlier.

    It follows `"Improving Contextual Language Models for Response Retrieval in Multi-Turn Conversation"
    <https://doi.org/10.1145/3397271.3401255>`_ (SS-DA). In a context of :math:`n` utterances, each
    :math:`u_{c}` with :math:`1 < c \le n` is a true response to :math:`u_1 \dots u_{c-1}`. Of these responses
    :obj:`cuts` with words are drawn without replacement; contexts keep blank turns, since turns alternate
    between speakers. Each has a negative pair with the same context, whose response is an utterance of a
    dialogue with another first utterance. Thus half of the pairs remain true, and no negative pair is a true
    pair of either dialogue; other dialogues are not checked. All examples are of kind 0.

    If the pools of a corpus are already the beginnings of its dialogues, as in ``dailydialog-selection`` and
    ``ubuntu-irc``, the further true pairs are in the corpus, and only the negative responses are new.

    The abstract of the paper says that dialogues are cut at different points to get more pairs. The number of
    pairs per dialogue and the source of negatives in the paper are unknown.

    Args:
        tokens: Ids of the special nodes.
        max_length: The largest number of nodes of an example.
        cuts: Number of further true pairs per true pair. (default: :obj:`1`)
    """

    def __init__(self, tokens: Tokens, max_length: int, cuts: int = 1) -> None:
        self.tokens, self.max_length, self.cuts = tokens, max_length, cuts

    def examples(self, pair: Data, dialogue: Dialogue, other: Dialogue, draw: Draw) -> list[Data]:
        made, context = [as_kind(pair, 0)], dialogue.context
        own = {id(turn) for turn in [*context, *dialogue.response]}
        foreign = [turn for turn in other.turns if id(turn) not in own]
        if not dialogue.right or not foreign:
            return made
        # Blank turns are kept, since turns alternate between speakers.
        whole = dialogue.whole
        _, *later = [number for number, turn in enumerate(whole) if turn.num_words] or [0]
        for cut in draw.shuffled(later)[: self.cuts]:
            for response, y in ((whole[cut], 1.0), (draw.pick(foreign), 0.0)):
                made.append(as_kind(self._pair(whole[:cut], response, y), 0))
        return made

    def _pair(self, context: Sequence[EncodedUtterance], response: EncodedUtterance, y: float) -> Data:
        return selection_data(context, response, self.tokens, max_length=self.max_length, y=y)


FORMS = ("extra", "same")
IGNORED = -100
"""Target of a node without prediction."""


class OrderRestoration(Objective):
    r"""Utterance order restoration: predicts the original positions of the shuffled utterances of a context.

    It follows `"Structural Pre-training for Dialogue Comprehension" <https://arxiv.org/abs/2105.10956>`_
    (SPIDER). The context is truncated before it is shuffled. Each [EOU] predicts the original position of its
    utterance, from 0; of more than :obj:`places` utterances only the last ones in the original order are
    predicted, with positions counted from the first of these.

    With ``form="extra"`` a true pair gives one more example (kind 1), and response selection is learned from
    unshuffled contexts. With ``form="same"``, as in the public code, every pair is shuffled, and response
    selection is learned from it. The public code also shuffles evaluation data, and predicts the utterances
    that are last after shuffling.

    Args:
        tokens: Ids of the special nodes.
        max_length: The largest number of nodes of an example.
        form: ``"extra"`` or ``"same"``. (default: ``"extra"``)
        places: The largest number of predicted utterances. (default: :obj:`20`)
    """

    def __init__(self, tokens: Tokens, max_length: int, form: str = "extra", places: int = 20) -> None:
        self.tokens, self.max_length, self.form, self.places = tokens, max_length, form, places

    def examples(self, pair: Data, dialogue: Dialogue, other: Dialogue, draw: Draw) -> list[Data]:
        pair.order_target = torch.full_like(pair.input_ids, IGNORED)
        first = as_kind(pair, 0)
        if not dialogue.response or not (self.form == "same" or dialogue.right):
            return [first]
        context, response = fitting(dialogue.context, dialogue.response[0], self.max_length)
        if len(context) < 2:
            return [first]
        order = draw.shuffled(range(len(context)))
        made = self._shuffled(context, response, order)
        if self.form == "extra":
            return [first, as_kind(made, 1)]
        made.y, made.group, made.cut_words = pair.y, pair.group, pair.cut_words
        return [as_kind(made, 0)]

    def _shuffled(
        self, context: Sequence[EncodedUtterance], response: EncodedUtterance, order: Sequence[int]
    ) -> Data:
        shuffled = [context[number] for number in order]
        data = selection_data(shuffled, response, self.tokens, max_length=self.max_length)
        first = max(0, len(order) - self.places)
        asked = [number - first if number >= first else IGNORED for number in order]
        data.order_target = torch.full_like(data.input_ids, IGNORED)
        data.order_target[data.node_type == NodeType.EOU] = torch.tensor(asked)
        return data


class UtteranceManipulation(Objective):
    r"""Insertion, deletion and search: a true pair of at least two utterances gives three more examples.

    They follow `"Do Response Selection Models Really Know What's Next? Utterance Manipulation Strategies for
    Multi-turn Response Selection" <https://arxiv.org/abs/2009.04703>`_ (UMS). Context and response of the
    pair are a dialogue, and each example is a drawn window of consecutive utterances:

    - insertion (kind 1), with at most :obj:`turns` utterances: one is moved to the end, and its original
      position is predicted.
    - deletion (kind 2), with at most ``turns - 1`` utterances: an utterance of another dialogue is inserted
      before one of them, and is predicted. The example is missing if there is no utterance with other words.
    - search (kind 3), with at most :obj:`turns` utterances: all but the last are shuffled, and the one that
      was before the last is predicted.

    A negative pair gives no examples, since it is not a dialogue. The public code differs: it changes the
    list of utterances of the pair in place. The window of deletion is then a part of the window of insertion,
    search has the rest of it, and from the second epoch on the pair of response selection itself has only the
    remaining utterances (three of eight), with the response after an utterance that it did not follow. The
    code never draws the last window of a longer dialogue. It draws the other utterance from dialogues of more
    than two utterances, which may include the pair's own dialogue.

    Args:
        tokens: Ids of the special nodes.
        max_length: The largest number of nodes of an example.
        turns: The largest number of utterances of an example. (default: :obj:`5`)
    """

    def __init__(self, tokens: Tokens, max_length: int, turns: int = 5) -> None:
        self.tokens, self.max_length = tokens, max_length
        self.turns = min(turns, most_turns(max_length))

    def examples(self, pair: Data, dialogue: Dialogue, other: Dialogue, draw: Draw) -> list[Data]:
        pair.mark, pair.mark_target = torch.zeros_like(pair.input_ids), torch.zeros(pair.num_nodes)
        made = [as_kind(pair, 0)]
        turns = dialogue.turns
        if not dialogue.right or len(turns) < 2 or self.turns < 2:
            return made
        made.append(as_kind(self._insertion(turns, draw), 1))
        deletion = self._deletion(turns, other, draw)
        if deletion is not None:
            made.append(as_kind(deletion, 2))
        return [*made, as_kind(self._search(turns, draw), 3)]

    def _insertion(self, turns: list[EncodedUtterance], draw: Draw) -> Data:
        window = _window(turns, self.turns, draw)
        target = draw.pick(range(len(window)))
        return insertion_data(window, target, self.tokens, max_length=self.max_length)

    def _deletion(self, turns: list[EncodedUtterance], other: Dialogue, draw: Draw) -> Data | None:
        window = _window(turns, self.turns - 1, draw)
        place = draw.pick(range(len(window)))
        own = {id(turn) for turn in turns}
        foreign = [turn for turn in other.turns if id(turn) not in own]
        if not foreign:
            return None
        return deletion_data(window, draw.pick(foreign), place, self.tokens, max_length=self.max_length)

    def _search(self, turns: list[EncodedUtterance], draw: Draw) -> Data:
        window = _window(turns, self.turns, draw)
        order = draw.shuffled(range(len(window) - 1))
        return search_data(window, order, self.tokens, max_length=self.max_length)


def _window(turns: list[EncodedUtterance], size: int, draw: Draw) -> list[EncodedUtterance]:
    """A uniformly drawn window of consecutive utterances."""
    start = draw.pick(range(max(1, len(turns) - size + 1)))
    return turns[start : start + size]
