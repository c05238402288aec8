"""A context and a response as one example."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch_geometric.data import Data

from graphdep.data._layout import Part, cut_some, join, num_cut, special, words
from graphdep.data.encoded_utterance import EncodedUtterance
from graphdep.data.node_table import NodeType
from graphdep.vocab.vocab import Tokens

# [CLS], two [SEP] and a piece of the response.
MIN_LENGTH = 4


def selection_data(
    context: Sequence[EncodedUtterance],
    response: EncodedUtterance,
    tokens: Tokens,
    *,
    max_length: int = 256,
    y: float | None = None,
) -> Data:
    r"""A context and a response candidate as one example.

    The layout is Eq. 1 of "Improving Retrieval-based Dialogue System via Syntax-Informed Attention":

    .. math::
        [\text{CLS}]\ u_1\ [\text{EOU}] \dots u_M\ [\text{EOU}]\ [\text{SEP}]\ r\ [\text{SEP}]

    The node table is that of :func:`graphdep.to_data` without ROOT nodes, with a node for each piece of a
    word: all pieces of a word have its place in the tree, see :func:`expand_pieces`. A root word and a
    special node are their own governors; special nodes have depth and word -1. [CLS] belongs to the first
    utterance, [EOU] to its own, the first [SEP] to the last of the context, the last [SEP] to the response,
    whose number is :math:`M`. The response and the last [SEP] are segment 1, all before them segment 0.

    What is longer than :obj:`max_length` loses whole words from the left of the context; an utterance that is
    emptied loses its [EOU], too, and utterances are numbered from the first that is left. The response is cut
    only where it does not fit beside an empty context: then it loses its last words, and a first word that is
    longer than the whole room its last pieces. Trees stay trees, see :meth:`EncodedUtterance.cut`.

    Args:
        context: The utterances before the response, oldest first; may be empty, and so may be each of them.
        response: The candidate.
        tokens: Ids of the special nodes.
        max_length: The largest number of nodes. (default: :obj:`256`)
        y: The label: 1 for a true response, else 0. (default: :obj:`None`)

    Shapes:
        - ``input_ids, node_type, governor_index, deprel, depth, utterance, word, position, segment``:
          :math:`(|\mathcal{V}|)`, long
        - ``arc_index``: :math:`(2, |\mathcal{A}|)`, governor -> dependent, between first pieces
        - ``arc_type``: :math:`(|\mathcal{A}|)`
        - ``cut_words``: :math:`(1, 2)`, long: words of the context and of the response that are not there,
          or not as a whole
        - ``y``: :math:`(1)`, float

    Raises:
        ValueError: If :obj:`max_length` is less than 4.
    """
    kept, kept_response = fitting(context, response, max_length)
    data = join(_parts(kept, kept_response, tokens))
    cut = sum(u.num_words for u in context) - sum(u.num_words for u in kept)
    data.cut_words = torch.tensor([[cut, num_cut(response, kept_response)]])
    if y is not None:
        data.y = torch.tensor([float(y)])
    return data


def fitting(
    context: Sequence[EncodedUtterance], response: EncodedUtterance, max_length: int
) -> tuple[list[EncodedUtterance], EncodedUtterance]:
    """What :func:`selection_data` keeps of a context and a response.

    Raises:
        ValueError: As there.
    """
    if max_length < MIN_LENGTH:
        raise ValueError(f"'max_length' must be at least {MIN_LENGTH} (got {max_length})")
    room = max_length - (MIN_LENGTH - 1)
    kept = cut_some(response, room)
    return _cut_context(context, room - kept.num_pieces if kept is response else 0), kept


def _cut_context(context: Sequence[EncodedUtterance], room: int) -> list[EncodedUtterance]:
    """The last words of a context that fit, with an [EOU] after each utterance."""
    kept: list[EncodedUtterance] = []
    for utterance in reversed(context):
        if utterance.num_pieces + 1 > room:
            rest = utterance.cut(max(room - 1, 0), "left")
            return [*([rest] * (rest.num_words > 0)), *reversed(kept)]
        kept.append(utterance)
        room -= utterance.num_pieces + 1
    return kept[::-1]


def _parts(context: Sequence[EncodedUtterance], response: EncodedUtterance, tokens: Tokens) -> list[Part]:
    parts = [special(tokens.cls_id, NodeType.CLS, 0, 0)]
    for number, utterance in enumerate(context):
        parts += (words(utterance, number, 0), special(tokens.eou_id, NodeType.EOU, number, 0))
    end = len(context)
    parts += (special(tokens.sep_id, NodeType.SEP, max(end - 1, 0), 0), words(response, end, 1))
    return [*parts, special(tokens.sep_id, NodeType.SEP, end, 1)]
