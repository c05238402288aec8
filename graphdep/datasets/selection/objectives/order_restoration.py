"""Contexts in another order, whose order is asked for."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch_geometric.data import Data

from graphdep.data import EncodedUtterance, NodeType, selection_data
from graphdep.data.encoded import fitting
from graphdep.datasets.base.draw import Draw
from graphdep.datasets.selection.objectives.dialogue import Dialogue
from graphdep.datasets.selection.objectives.objective import Objective, as_kind
from graphdep.vocab import Tokens

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
