"""A dialogue with an utterance moved or put in, or shuffled, and a symbol at each place that may be right."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch_geometric.data import Data

from graphdep.data._layout import Part, cut_some, join, num_cut, special, words
from graphdep.data.encoded_utterance import EncodedUtterance
from graphdep.data.node_table import NodeType
from graphdep.vocab.vocab import Tokens

MANIPULATIONS = ("insertion", "deletion", "search")
"""Each symbol's mark is its place here, counted from 1."""
_SHARE = 4  # an utterance has at most this part of the nodes

Marked = list[tuple[Part, int]]


def insertion_data(
    turns: Sequence[EncodedUtterance], target: int, tokens: Tokens, *, max_length: int = 256
) -> Data:
    r"""A dialogue without one of its utterances, which stands behind it: where was it?

    .. math::
        [\text{CLS}]\ [\text{INS}]\ u_1\ [\text{EOU}]\ [\text{INS}] \dots u_n\ [\text{EOU}]\ [\text{INS}]\
        [\text{SEP}]\ t\ [\text{SEP}]

    Node tables are those of :func:`~graphdep.data.selection_data`, the utterances counted as they stand here.
    The symbols [INS], [DEL] and [SRCH] are no pieces of a vocabulary: each is the piece of [EOU] with a mark
    of its own (1, 2 and 3), whose vector an encoder adds (:meth:`graphdep.nn.models.TextEncoder.add_marks`).

    No utterance is left out, for labels count them. Where the example would be longer than :obj:`max_length`,
    and where an utterance has more than a quarter of that, utterances lose their last words, all having the
    same room. The public code leaves whole utterances out in its search, so that a label may be of another
    place.

    Args:
        turns: The utterances, the target among them, none without words.
        target: The number of the target.
        tokens: Ids of the special nodes.
        max_length: The largest number of nodes. (default: :obj:`256`)

    Shapes:
        - the node table and ``cut_words`` of :func:`~graphdep.data.selection_data`
        - ``mark``: :math:`(|\mathcal{V}|)`, long
        - ``mark_target``: :math:`(|\mathcal{V}|)`, float, 1 at the symbol that is the answer, else 0

    Raises:
        ValueError: If there are fewer than two utterances, no target, or not a piece's room for each.
    """
    _check(turns, target, 2)
    turns, cut = _fitted(turns, max_length, 2 + len(turns) + len(turns))
    rest = [turn for number, turn in enumerate(turns) if number != target]
    last = len(rest) - 1
    parts: Marked = [(special(tokens.cls_id, NodeType.CLS, 0, 0), 0)]
    for number, turn in enumerate(rest):
        parts += [_symbol(tokens, number, 1), *_turn(turn, number, tokens)]
    parts += [_symbol(tokens, last, 1), (special(tokens.sep_id, NodeType.SEP, last, 0), 0)]
    return _joined([*parts, *_second(turns[target], len(rest), tokens)], 1, target, cut)


def deletion_data(
    turns: Sequence[EncodedUtterance],
    foreign: EncodedUtterance,
    place: int,
    tokens: Tokens,
    *,
    max_length: int = 256,
) -> Data:
    r"""A dialogue with an utterance of another one in it: which does not belong there?

    .. math::
        [\text{CLS}]\ [\text{DEL}]\ u_1\ [\text{EOU}] \dots [\text{DEL}]\ u_n\ [\text{EOU}]\ [\text{SEP}]

    Args:
        turns: The utterances, none without words.
        foreign: The other one.
        place: The number of the utterance that it stands before; theirs for behind all.
        tokens, max_length: As in :func:`insertion_data`.

    Shapes:
        - as in :func:`insertion_data`

    Raises:
        ValueError: As there; one utterance suffices.
    """
    _check(turns, place, 1, behind=True)
    turns, cut = _fitted([*turns[:place], foreign, *turns[place:]], max_length, 2 + 2 * (len(turns) + 1))
    parts: Marked = [(special(tokens.cls_id, NodeType.CLS, 0, 0), 0)]
    for number, turn in enumerate(turns):
        parts += [_symbol(tokens, number, 2), *_turn(turn, number, tokens)]
    end = (special(tokens.sep_id, NodeType.SEP, len(turns) - 1, 0), 0)
    return _joined([*parts, end], 2, place, cut)


def search_data(
    turns: Sequence[EncodedUtterance], order: Sequence[int], tokens: Tokens, *, max_length: int = 256
) -> Data:
    r"""The utterances before the last in another order, and the last: which did it follow?

    .. math::
        [\text{CLS}]\ [\text{SRCH}]\ u_{o_1}\ [\text{EOU}] \dots [\text{SRCH}]\ u_{o_n}\ [\text{EOU}]\
        [\text{SEP}]\ t\ [\text{SEP}]

    Args:
        turns: The utterances, the target last, none without words.
        order: The numbers of the others, in the order in which they shall stand.
        tokens, max_length: As in :func:`insertion_data`.

    Shapes:
        - as in :func:`insertion_data`

    Raises:
        ValueError: As there, or if :obj:`order` does not have each of them once.
    """
    _check(turns, 0, 2)
    if sorted(order) != [*range(len(turns) - 1)]:
        raise ValueError(f"'order' must have each number below {len(turns) - 1} once (got {[*order]})")
    turns, cut = _fitted(turns, max_length, 3 + 2 * (len(turns) - 1))
    parts: Marked = [(special(tokens.cls_id, NodeType.CLS, 0, 0), 0)]
    for place, number in enumerate(order):
        parts += [_symbol(tokens, place, 3), *_turn(turns[number], place, tokens)]
    parts += [(special(tokens.sep_id, NodeType.SEP, len(order) - 1, 0), 0)]
    answer = [*order].index(len(order) - 1)
    return _joined([*parts, *_second(turns[-1], len(order), tokens)], 3, answer, cut)


def _check(turns: Sequence[EncodedUtterance], number: int, least: int, behind: bool = False) -> None:
    if len(turns) < least or not all(turn.num_words for turn in turns):
        raise ValueError(f"'turns' must be at least {least} with words (got {len(turns)})")
    if not 0 <= number < len(turns) + behind:
        raise ValueError(f"there is no place {number}: they are 0 to {len(turns) - 1 + behind}")


def most_turns(max_length: int) -> int:
    """How many utterances always fit, a piece each, whatever is done with them."""
    return max(0, (max_length - 5) // 3)


def _fitted(
    turns: Sequence[EncodedUtterance], max_length: int, symbols: int
) -> tuple[list[EncodedUtterance], int]:
    """Utterances that fit beside so many symbols, and how many words it took."""
    room = (max_length - symbols) // len(turns)
    if room < 1:
        raise ValueError(
            f"'max_length' must be at least {symbols + len(turns)} for {len(turns)} utterances "
            f"(got {max_length})"
        )
    kept = [cut_some(turn, max(1, max_length // _SHARE)) for turn in turns]
    if sum(turn.num_pieces for turn in kept) + symbols > max_length:
        kept = [cut_some(turn, room) for turn in kept]
    return kept, sum(map(num_cut, turns, kept))


def _symbol(tokens: Tokens, utterance: int, mark: int) -> tuple[Part, int]:
    return special(tokens.eou_id, NodeType.EOU, utterance, 0), mark


def _turn(turn: EncodedUtterance, utterance: int, tokens: Tokens) -> Marked:
    return [(words(turn, utterance, 0), 0), (special(tokens.eou_id, NodeType.EOU, utterance, 0), 0)]


def _second(turn: EncodedUtterance, utterance: int, tokens: Tokens) -> Marked:
    return [(words(turn, utterance, 1), 0), (special(tokens.sep_id, NodeType.SEP, utterance, 1), 0)]


def _joined(parts: Marked, mark: int, answer: int, cut: int) -> Data:
    data = join([part for part, _ in parts])
    sizes = [part.words.num_pieces for part, _ in parts]
    data.mark = torch.from_numpy(np.repeat([number for _, number in parts], sizes))
    data.mark_target = torch.zeros(data.num_nodes)
    data.mark_target[(data.mark == mark).nonzero().view(-1)[answer]] = 1.0
    data.cut_words = torch.tensor([[cut, 0]])
    return data
