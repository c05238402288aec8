"""Examples that further objectives make of training pairs."""

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
        context: Those before the response.
        response: The candidate, a list of one utterance, or of none if it has no words.
        right: Whether it is a right response.
        whole: The context with the utterances that have no words, which are turns of somebody, too.
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
        """What was really said: the context, and the response if it is a right one."""
        return [*self.context, *(self.response if self.right else [])]


class Objective(ABC):
    """Base of what makes examples of further objectives, of the pairs of a training split.

    All examples of a batch have the same keys. ``kind`` says what an example is for: 0 for the selection of
    responses, other numbers as the subclass has them.
    """

    @abstractmethod
    def examples(self, pair: Data, dialogue: Dialogue, other: Dialogue, draw: Draw) -> list[Data]:
        """The pair, changed or as it is, and after it what is made of it.

        Args:
            pair: The example that the dataset gives.
            dialogue: Its utterances.
            other: Those of a pair of another pool that begins with another utterance, where there is one;
                else the same.
            draw: Chance, which seed, epoch and number of the pair decide.
        """


def as_kind(data: Data, kind: int, y: float = 0.0) -> Data:
    """An example with what the pairs of a dataset have: a label and the number of a pool, here of none."""
    data.kind = torch.tensor([kind])
    if "y" not in data:
        data.y = torch.tensor([y])
    if "group" not in data:
        data.group = torch.tensor([-1])
    return data


_TRIES = 20  # to find a pair of another dialogue
Key = tuple[int, int]


class ObjectivePairs(Dataset):
    """The pairs of a training split, each a list: the pair, and what an objective makes of it.

    All that is drawn depends on seed, epoch and number of the pair alone: ``pairs[epoch, number]``. So it is
    the same whatever the batches, the workers of a loader and the epochs before.

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
        """For each pair one of another pool, whose dialogue begins with another utterance; where its chance
        finds none, the pair itself.

        Corpora whose pools are the beginnings of dialogues have many of each: what one says further on is not
        foreign to it. Where the dataset cuts contexts (``max_turns``), the first utterance left tells.
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
        """All examples of a batch, those of one pair after those of the other."""
        return Batch.from_data_list([*chain.from_iterable(examples)])


def _differ(one: int | None, other: int | None) -> bool:
    """Whether two dialogues begin with different utterances; an empty context tells nothing."""
    return one is None or other is None or one != other


class DialogueAugmentation(Objective):
    r"""Dialogue augmentation: a right pair gives further pairs, its dialogue being cut off earlier.

    It is that of `"Improving Contextual Language Models for Response Retrieval in Multi-Turn Conversation"
    <https://doi.org/10.1145/3397271.3401255>`_ (SS-DA). Of a context of :math:`n` utterances :math:`u_{c}`
    with :math:`1 < c \le n` may be a right response to :math:`u_1 \dots u_{c-1}`; :obj:`cuts` of these are
    drawn, each once, of those that have words; blank turns between them stay, so that each speaker stays who
    it is. With each goes a wrong pair of the same context, whose response is an utterance of a dialogue that
    begins otherwise, so that half of the pairs stay right and no wrong one is a right one of either dialogue.
    A third dialogue that has the same context and goes on with that utterance is not looked for. All count as
    the pairs of the corpus do (kind 0).

    Where the pools of a corpus are the beginnings of its dialogues already, as in ``dailydialog-selection``
    and ``ubuntu-irc``, each further right pair is one that the corpus has, and wrong responses alone are new.

    The paper's abstract says that dialogues are cut off at different points to have more pairs. How many
    there are of each, and where their wrong responses are from, is not known here.

    Args:
        tokens: Ids of the special nodes.
        max_length: Nodes of an example at most.
        cuts: Further right pairs of a right pair; 0 for none. (default: :obj:`1`)
    """

    def __init__(self, tokens: Tokens, max_length: int, cuts: int = 1) -> None:
        self.tokens, self.max_length, self.cuts = tokens, max_length, cuts

    def examples(self, pair: Data, dialogue: Dialogue, other: Dialogue, draw: Draw) -> list[Data]:
        made, context = [as_kind(pair, 0)], dialogue.context
        own = {id(turn) for turn in [*context, *dialogue.response]}
        foreign = [turn for turn in other.turns if id(turn) not in own]
        if not dialogue.right or not foreign:
            return made
        # Blank turns stay in, or who speaks would be another one than in the pair itself.
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
"""Target of a node that is not asked for."""


class OrderRestoration(Objective):
    r"""Utterance order restoration: the context of a pair with its utterances shuffled; which was which?

    It is that of `"Structural Pre-training for Dialogue Comprehension" <https://arxiv.org/abs/2105.10956>`_
    (SPIDER). The context is cut first, as that of the pair is, so that what is left is what is asked for.
    Each [EOU] is asked for the number that its utterance had, from 0; of more than :obj:`places` utterances,
    only the last ones are, and numbers are counted from the first of these.

    With ``form="extra"`` a right pair gives one more example (kind 1), and the selection of responses is
    learnt from contexts as they were. With ``form="same"``, as in the public code, every pair is shuffled
    itself, and the selection is learnt from that; the code also shuffles what it evaluates on, which is not
    done here. The public code asks for the utterances that stand last after shuffling.

    Args:
        tokens: Ids of the special nodes.
        max_length: Nodes of an example at most.
        form: ``"extra"`` or ``"same"``. (default: ``"extra"``)
        places: Utterances that are asked for at most. (default: :obj:`20`)
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
    r"""Insertion, deletion and search: a right pair of at least two utterances gives three more examples.

    They are those of `"Do Response Selection Models Really Know What's Next? Utterance Manipulation
    Strategies for Multi-turn Response Selection" <https://arxiv.org/abs/2009.04703>`_ (UMS). The pair's
    context and response are a dialogue; each example is of consecutive utterances of it, the window being
    drawn where there are more than it takes:

    - insertion (kind 1), of at most :obj:`turns`: one is taken out and stands behind the others; where was
      it?
    - deletion (kind 2), of at most one fewer: before one of them stands an utterance of another dialogue;
      which is it? There is no such example where none with other words was found.
    - search (kind 3), of at most :obj:`turns`: those before the last are shuffled; which did it follow?

    A wrong pair gives none: nobody said its response there. What the public code does otherwise: it works on
    the list of utterances that the pair itself has, and what it cuts and takes out of that stays out. So the
    window of deletion is cut from that of insertion, search has what deletion left, and from the second epoch
    on the pair of the selection itself, too, has the few utterances that were left (of eight three), and its
    response behind some that it did not follow. It never takes the last window of a longer dialogue, and
    takes the other utterance from dialogues of more than two, which may be the same one as the context of the
    wrong response.

    Args:
        tokens: Ids of the special nodes.
        max_length: Nodes of an example at most.
        turns: Utterances of an example at most. (default: :obj:`5`)
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
        options = self.tokens, self.max_length
        return deletion_data(window, draw.pick(foreign), place, options[0], max_length=options[1])

    def _search(self, turns: list[EncodedUtterance], draw: Draw) -> Data:
        window = _window(turns, self.turns, draw)
        order = draw.shuffled(range(len(window) - 1))
        return search_data(window, order, self.tokens, max_length=self.max_length)


def _window(turns: list[EncodedUtterance], size: int, draw: Draw) -> list[EncodedUtterance]:
    """Consecutive utterances, each window being as likely as the others."""
    start = draw.pick(range(max(1, len(turns) - size + 1)))
    return turns[start : start + size]
