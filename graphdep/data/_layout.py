"""Utterances and special tokens as the nodes of one example."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from graphdep.data.encoded_utterance import ROOT_DEPREL, EncodedUtterance, cut_phrases, depths
from graphdep.data.node_table import NodeType
from graphdep.vocab import RelationVocab

_WORD = int(NodeType.WORD)


class Part(NamedTuple):
    """The nodes of an utterance, or a special token, and what all of them have in common."""

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
    size = np.array([part.words.num_nodes for part in parts])
    counts = np.concatenate([part.words.counts for part in parts])
    number = np.arange(len(counts))
    place = np.arange(len(parts)).repeat(size)
    start = (size.cumsum() - size)[place]
    node_type, utterance, segment = shared[:, place]
    num_words = np.array([part.words.num_words for part in parts])
    is_word = (node_type == _WORD) & (number - start < num_words[place])
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
    governor, dependent, relation = _arcs([part.words for part in parts], size, head, deprel)
    return Data(
        num_nodes=table.size(1),
        input_ids=torch.from_numpy(np.concatenate([part.words.input_ids for part in parts])),
        position=torch.arange(table.size(1)),
        arc_index=torch.from_numpy(np.stack([first[governor], first[dependent]])),
        arc_type=torch.from_numpy(relation),
        **dict(zip(rows, table.unbind())),
        **_phrases([part.words for part in parts], size, first),
    )


def _phrases(
    utterances: Sequence[EncodedUtterance], size: np.ndarray, first: np.ndarray
) -> dict[str, Tensor]:
    """First and last word and the label of the constituents of all utterances, if any were read."""
    found = [
        utterance.phrases + np.array([[start], [start], [0]])
        for utterance, start in zip(utterances, (size.cumsum() - size).tolist())
        if utterance.phrases is not None
    ]
    if not found:
        return {}
    start, end, label = np.concatenate(found, axis=1)
    index = torch.from_numpy(np.stack([first[start], first[end]]))
    return {"phrase_index": index, "phrase_type": torch.from_numpy(label)}


def _arcs(
    utterances: Sequence[EncodedUtterance], size: np.ndarray, head: np.ndarray, deprel: np.ndarray
) -> np.ndarray:
    """Governor, dependent and relation of the arcs of all utterances, part by part."""
    number = np.arange(len(head))
    basic = np.stack([head, number, deprel])[:, head != number]
    if all(utterance.arcs is None for utterance in utterances):
        return basic
    arcs, start = [], 0
    for utterance, nodes in zip(utterances, size.tolist()):
        if utterance.arcs is None:
            arcs.append(basic[:, (start <= basic[1]) & (basic[1] < start + nodes)])
        else:
            arcs.append(utterance.arcs + np.array([[start], [start], [0]]))
        start += nodes
    return np.concatenate(arcs, axis=1)


def cut_some(utterance: EncodedUtterance, max_pieces: int) -> EncodedUtterance:
    """As :meth:`EncodedUtterance.cut`, but something is left of each utterance with words.

    That is the first pieces of its first word, where this alone (with the empty nodes that follow it) has
    more than there is room for.
    """
    cut = utterance.cut(max_pieces)
    if cut.num_words or not utterance.num_words:
        return cut
    # With the empty nodes that follow it, even a word that fits may have been cut.
    pieces = min(max_pieces, int(utterance.counts[0]))
    one_word = (np.array(column, dtype=np.int64) for column in ([pieces], [0], [ROOT_DEPREL]))
    phrases = None if utterance.phrases is None else cut_phrases(utterance.phrases, 0, 1)
    whole = EncodedUtterance(utterance.input_ids[:pieces], *one_word)
    return whole if phrases is None else dataclasses.replace(whole, phrases=phrases)


def num_cut(before: EncodedUtterance, after: EncodedUtterance) -> int:
    """Words of which something was cut. :func:`cut_some` leaves either whole words or a part of the first."""
    in_part = after.num_words == 1 and after.counts[0] < before.counts[0]
    return before.num_words - after.num_words + int(in_part)
