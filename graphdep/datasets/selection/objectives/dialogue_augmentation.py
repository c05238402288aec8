"""Earlier turns of a dialogue as further pairs: dialogue augmentation."""

from __future__ import annotations

from collections.abc import Sequence

from torch_geometric.data import Data

from graphdep.data import EncodedUtterance, selection_data
from graphdep.datasets.base.draw import Draw
from graphdep.datasets.selection.objectives.dialogue import Dialogue
from graphdep.datasets.selection.objectives.objective import Objective, as_kind
from graphdep.vocab import Tokens


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
