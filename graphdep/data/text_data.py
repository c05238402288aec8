"""A text or a pair of texts as one example."""

from __future__ import annotations

import torch
from torch_geometric.data import Data

from graphdep.data._layout import Part, cut_some, join, num_cut, special, words
from graphdep.data.encoded_utterance import EncodedUtterance
from graphdep.data.node_table import NodeType
from graphdep.vocab.vocab import Tokens


def text_data(
    first: EncodedUtterance, second: EncodedUtterance | None = None, *, tokens: Tokens, max_length: int
) -> Data:
    r"""A text or a pair of texts as one example.

    The layout is that of "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding":

    .. math::
        [\text{CLS}]\ a\ [\text{SEP}] \quad \text{or} \quad [\text{CLS}]\ a\ [\text{SEP}]\ b\ [\text{SEP}]

    The node table is that of :func:`selection_data`: [CLS], :math:`a` and the first [SEP] are utterance and
    segment 0, :math:`b` and the last [SEP] utterance and segment 1. The arcs are those of the texts,
    :meth:`EncodedUtterance.of`: with enhanced graphs there are several to a word, and empty nodes behind the
    words of a text, with depth and :obj:`word` -1. Arcs of what is cut go with it.

    What is longer than :obj:`max_length` loses its last words. Of a pair the longer text is cut until it is
    as long as the other, then both; something of each is left.

    Args:
        first: A text.
        second: The second text of a pair. (default: :obj:`None`)
        tokens: Ids of the special nodes.
        max_length: The largest number of nodes.

    Shapes:
        - ``cut_words``: :math:`(1, 2)`, long: words of the first and of the second text that are not there,
          or not as a whole
        - all others as in :func:`selection_data`

    Raises:
        ValueError: If :obj:`max_length` leaves no room for a piece of each text: less than 3, for a pair 5.
    """
    texts = [first] if second is None else [first, second]
    least = 1 + 2 * len(texts)
    if max_length < least:
        raise ValueError(f"'max_length' must be at least {least} (got {max_length})")
    room = max_length - 1 - len(texts)
    kept = [cut_some(text, size) for text, size in zip(texts, _share(texts, room))]
    data = join(_parts(kept, tokens))
    data.cut_words = torch.tensor([[*map(num_cut, texts, kept), 0][:2]])
    return data


def _share(texts: list[EncodedUtterance], room: int) -> list[int]:
    """How many pieces of each text there is room for."""
    if len(texts) == 1:
        return [room]
    first, second = (text.num_pieces for text in texts)
    half = room // 2
    return [max(room - half, room - second), max(half, room - first)]


def _parts(texts: list[EncodedUtterance], tokens: Tokens) -> list[Part]:
    parts = [special(tokens.cls_id, NodeType.CLS, 0, 0)]
    for number, text in enumerate(texts):
        parts += (words(text, number, number), special(tokens.sep_id, NodeType.SEP, number, number))
    return parts
