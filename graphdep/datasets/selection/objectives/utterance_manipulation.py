"""Insertion, deletion and search: what UMS learns beside the selection of responses."""

from __future__ import annotations

import torch
from torch_geometric.data import Data

from graphdep.data import EncodedUtterance
from graphdep.data.encoded import deletion_data, insertion_data, most_turns, search_data
from graphdep.datasets.base.draw import Draw
from graphdep.datasets.selection.objectives.dialogue import Dialogue
from graphdep.datasets.selection.objectives.objective import Objective, as_kind
from graphdep.vocab import Tokens


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
