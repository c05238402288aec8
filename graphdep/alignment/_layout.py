"""Utterances and special tokens as the nodes of one example."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from torch_geometric.data import Data

from graphdep.alignment.encoded_utterance import ROOT_DEPREL, EncodedUtterance, depths
from graphdep.data import NodeType
from graphdep.vocab import RelationVocab

_WORD = int(NodeType.WORD)


class Part(NamedTuple):
    """The words of an utterance, or a special token, and what all nodes of it have in common."""

    words: EncodedUtterance
    node_type: int
    utterance: int
    segment: int


def words(words: EncodedUtterance, utterance: int, segment: int) -> Part:
    return Part(words, _WORD, utterance, segment)


def special(token: int, node_type: NodeType, utterance: int, segment: int) -> Part:
    return Part(_one_piece(token), int(node_type), utterance, segment)


@lru_cache(maxsize=64)
def _one_piece(token: int) -> EncodedUtterance:
    """A special token: it is its own governor."""
    columns = ([token], [1], [0], [RelationVocab.SELF])
    return EncodedUtterance(*(np.array(column, dtype=np.int64) for column in columns))


def join(parts: Sequence[Part]) -> Data:
    """The node table of one example, computed over words and then repeated for their pieces."""
    shared = np.array([part[1:] for part in parts], dtype=np.int64).T
    size = np.array([part.words.num_words for part in parts])
    counts = np.concatenate([part.words.counts for part in parts])
    number = np.arange(len(counts))
    place = np.arange(len(parts)).repeat(size)
    start = (size.cumsum() - size)[place]
    node_type, utterance, segment = shared[:, place]
    is_word = node_type == _WORD
    head = np.concatenate([part.words.head for part in parts]) + start
    deprel = np.concatenate([part.words.deprel for part in parts])
    first = counts.cumsum() - counts
    rows = {
        "node_type": node_type,
        "governor_index": first[head],
        "deprel": deprel,
        "depth": np.where(is_word, depths(head), -1),
        "utterance": utterance,
        "word": np.where(is_word, number - start, -1),
        "segment": segment,
    }
    table = torch.from_numpy(np.stack([*rows.values()])[:, number.repeat(counts)])
    arcs = head != number
    return Data(
        num_nodes=table.size(1),
        input_ids=torch.from_numpy(np.concatenate([part.words.input_ids for part in parts])),
        position=torch.arange(table.size(1)),
        arc_index=torch.from_numpy(np.stack([first[head[arcs]], first[arcs]])),
        arc_type=torch.from_numpy(deprel[arcs]),
        **dict(zip(rows, table.unbind())),
    )


def cut_some(utterance: EncodedUtterance, max_pieces: int) -> EncodedUtterance:
    """As :meth:`EncodedUtterance.cut`, but something is left of each utterance with words.

    That is the first pieces of its first word, where this alone has more than there is room for.
    """
    cut = utterance.cut(max_pieces)
    if cut.num_words or not utterance.num_words:
        return cut
    columns = ([max_pieces], [0], [ROOT_DEPREL])
    one_word = (np.array(column, dtype=np.int64) for column in columns)
    return EncodedUtterance(utterance.input_ids[:max_pieces], *one_word)


def num_cut(before: EncodedUtterance, after: EncodedUtterance) -> int:
    """Words of which something was cut. :func:`cut_some` leaves either whole words or a part of the first."""
    in_part = after.num_words == 1 and after.counts[0] < before.counts[0]
    return before.num_words - after.num_words + int(in_part)
