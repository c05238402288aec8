"""Examples of each task as PyG ``Data``."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from graphdep.data.node_table import (
    COPIES,
    ROOT_DEPREL,
    EncodedUtterance,
    NodeType,
    cut_phrases,
    depths,
    to_data,
)
from graphdep.io.limits import check_between, check_choice, check_least
from graphdep.parsing.enhanced import check_arcs
from graphdep.sentence.sentence import Sentence
from graphdep.vocab.relations import RelationVocab
from graphdep.vocab.vocab import Tokens, Vocab

_WORD = int(NodeType.WORD)


class Part(NamedTuple):
    """The nodes of an utterance, or a special token, with their common values."""

    words: EncodedUtterance
    node_type: int
    utterance: int
    segment: int


def words(words: EncodedUtterance, utterance: int, segment: int) -> Part:
    """An utterance as a part."""
    return Part(words, _WORD, utterance, segment)


def special(token: int, node_type: NodeType, utterance: int, segment: int) -> Part:
    """A special token as a part."""
    return Part(_one_piece(token), int(node_type), utterance, segment)


@lru_cache(maxsize=64)
def _one_piece(token: int) -> EncodedUtterance:
    """A special token as an utterance; it is its own governor."""
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
    """First word, last word and label of the constituents of all utterances, if they were read."""
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
    """As :meth:`EncodedUtterance.cut`, but keeps a part of each utterance that has words.

    If the first word alone, with the empty nodes after it, has more pieces than fit, its first pieces are
    kept.
    """
    cut = utterance.cut(max_pieces)
    if cut.num_words or not utterance.num_words:
        return cut
    # The empty nodes after the first word may have removed it although the word fits.
    pieces = min(max_pieces, int(utterance.counts[0]))
    one_word = (np.array(column, dtype=np.int64) for column in ([pieces], [0], [ROOT_DEPREL]))
    phrases = None if utterance.phrases is None else cut_phrases(utterance.phrases, 0, 1)
    whole = EncodedUtterance(utterance.input_ids[:pieces], *one_word)
    return whole if phrases is None else dataclasses.replace(whole, phrases=phrases)


def num_cut(before: EncodedUtterance, after: EncodedUtterance) -> int:
    """Number of incomplete words. :func:`cut_some` keeps whole words or a part of the first word."""
    in_part = after.num_words == 1 and after.counts[0] < before.counts[0]
    return before.num_words - after.num_words + int(in_part)


def text_data(
    first: EncodedUtterance, second: EncodedUtterance | None = None, *, tokens: Tokens, max_length: int
) -> Data:
    r"""A text or a pair of texts as one example.

    The layout is that of "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding":

    .. math::
        [\text{CLS}]\ a\ [\text{SEP}] \quad \text{or} \quad [\text{CLS}]\ a\ [\text{SEP}]\ b\ [\text{SEP}]

    The node table is that of :func:`selection_data`: [CLS], :math:`a` and the first [SEP] are utterance and
    segment 0, :math:`b` and the last [SEP] utterance and segment 1. The arcs are those of the texts,
    :meth:`EncodedUtterance.of`: an enhanced graph can have several arcs per word, and empty nodes after the
    words of a text, with depth and :obj:`word` -1. Arcs of removed words are removed, too.

    A text longer than :obj:`max_length` loses its last words. In a pair the longer text is cut to the length
    of the other, then both; a part of each remains.

    Args:
        first: A text.
        second: The second text of a pair. (default: :obj:`None`)
        tokens: Ids of the special nodes.
        max_length: The largest number of nodes.

    Shapes:
        - ``cut_words``: :math:`(1, 2)`, long: number of words of the first and of the second text that are
          missing or incomplete
        - all others as in :func:`selection_data`

    Raises:
        ValueError: If :obj:`max_length` has no room for one piece of each text: below 3, or 5 for a pair.
    """
    texts = [first] if second is None else [first, second]
    least = 1 + 2 * len(texts)
    check_least("max_length", max_length, least)
    room = max_length - 1 - len(texts)
    kept = [cut_some(text, size) for text, size in zip(texts, _share(texts, room))]
    data = join(_parts(kept, tokens))
    data.cut_words = torch.tensor([[*map(num_cut, texts, kept), 0][:2]])
    return data


def _share(texts: list[EncodedUtterance], room: int) -> list[int]:
    """The number of pieces of each text that fit."""
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
    word: all its pieces share its place in the tree, see :func:`expand_pieces`. Root words and special
    nodes are their own governors; special nodes have depth and word -1. [CLS] belongs to the first utterance,
    [EOU] to its own, the first [SEP] to the last utterance of the context, the last [SEP] to the response,
    which is utterance :math:`M`. The response and the last [SEP] are segment 1, all nodes before them segment
    0.

    A context that is too long loses whole words from the left; an utterance without remaining words loses its
    [EOU], too, and utterances are numbered from the first remaining one. The response is cut only if it does
    not fit beside an empty context: it loses its last words, or the last pieces of its first word if that
    alone is too long. Trees stay trees, see :meth:`EncodedUtterance.cut`.

    Args:
        context: The utterances before the response, oldest first; the list and each utterance may be empty.
        response: The candidate.
        tokens: Ids of the special nodes.
        max_length: The largest number of nodes. (default: :obj:`256`)
        y: The label: 1 for a true response, else 0. (default: :obj:`None`)

    Shapes:
        - ``input_ids, node_type, governor_index, deprel, depth, utterance, word, position, segment``:
          :math:`(|\mathcal{V}|)`, long
        - ``arc_index``: :math:`(2, |\mathcal{A}|)`, governor -> dependent, between first pieces
        - ``arc_type``: :math:`(|\mathcal{A}|)`
        - ``cut_words``: :math:`(1, 2)`, long: number of words of the context and of the response that are
          missing or incomplete
        - ``y``: :math:`(1)`, float

    Raises:
        ValueError: If :obj:`max_length` is less than 4.
    """
    kept, kept_response = fitting(context, response, max_length)
    data = join(_selection_parts(kept, kept_response, tokens))
    cut = sum(u.num_words for u in context) - sum(u.num_words for u in kept)
    data.cut_words = torch.tensor([[cut, num_cut(response, kept_response)]])
    if y is not None:
        data.y = torch.tensor([float(y)])
    return data


def fitting(
    context: Sequence[EncodedUtterance], response: EncodedUtterance, max_length: int
) -> tuple[list[EncodedUtterance], EncodedUtterance]:
    """The parts of a context and a response that :func:`selection_data` keeps.

    Raises:
        ValueError: As :func:`selection_data`.
    """
    check_least("max_length", max_length, MIN_LENGTH)
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


def _selection_parts(
    context: Sequence[EncodedUtterance], response: EncodedUtterance, tokens: Tokens
) -> list[Part]:
    parts = [special(tokens.cls_id, NodeType.CLS, 0, 0)]
    for number, utterance in enumerate(context):
        parts += (words(utterance, number, 0), special(tokens.eou_id, NodeType.EOU, number, 0))
    end = len(context)
    parts += (special(tokens.sep_id, NodeType.SEP, max(end - 1, 0), 0), words(response, end, 1))
    return [*parts, special(tokens.sep_id, NodeType.SEP, end, 1)]


MANIPULATIONS = ("insertion", "deletion", "search")
"""The mark of each symbol is its position here, counted from 1."""
_MAX_SHARE = 4  # an utterance has at most 1/4 of the nodes

Marked = list[tuple[Part, int]]


def insertion_data(
    turns: Sequence[EncodedUtterance], target: int, tokens: Tokens, *, max_length: int = 256
) -> Data:
    r"""A dialogue with one utterance moved to its end: where does it belong?

    .. math::
        [\text{CLS}]\ [\text{INS}]\ u_1\ [\text{EOU}]\ [\text{INS}] \dots u_n\ [\text{EOU}]\ [\text{INS}]\
        [\text{SEP}]\ t\ [\text{SEP}]

    Node tables are those of :func:`~graphdep.data.encoded`, with utterances numbered as they appear here. The
    symbols [INS], [DEL] and [SRCH] are not in the vocabulary: each is the piece of [EOU] with a mark (1, 2
    and 3), whose vector an encoder adds (:meth:`graphdep.nn.models.TextEncoder.add_marks`).

    No utterance is left out, since labels refer to places. If the example would be longer than
    :obj:`max_length`, or an utterance longer than a quarter of it, utterances lose their last words; all have
    the same limit. The public code leaves out whole utterances in its search task, which can shift the label
    to another place.

    Args:
        turns: The utterances including the target, all with words.
        target: The number of the target.
        tokens: Ids of the special nodes.
        max_length: The largest number of nodes. (default: :obj:`256`)

    Shapes:
        - the node table and ``cut_words`` of :func:`~graphdep.data.encoded`
        - ``mark``: :math:`(|\mathcal{V}|)`, long
        - ``mark_target``: :math:`(|\mathcal{V}|)`, float, 1 at the symbol of the answer, else 0

    Raises:
        ValueError: If there are fewer than two utterances, no target, or no room for one piece of each.
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
    r"""A dialogue with an inserted utterance of another dialogue: which one does not belong?

    .. math::
        [\text{CLS}]\ [\text{DEL}]\ u_1\ [\text{EOU}] \dots [\text{DEL}]\ u_n\ [\text{EOU}]\ [\text{SEP}]

    Args:
        turns: The utterances, all with words.
        foreign: The inserted utterance.
        place: Index of the utterance before which it is inserted; ``len(turns)`` for the end.
        tokens, max_length: As in :func:`insertion_data`.

    Shapes:
        - as in :func:`insertion_data`

    Raises:
        ValueError: As :func:`insertion_data`, but one utterance is enough.
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
    r"""The last utterance after a shuffled context: which utterance did it follow?

    .. math::
        [\text{CLS}]\ [\text{SRCH}]\ u_{o_1}\ [\text{EOU}] \dots [\text{SRCH}]\ u_{o_n}\ [\text{EOU}]\
        [\text{SEP}]\ t\ [\text{SEP}]

    Args:
        turns: The utterances, the target last, all with words.
        order: The numbers of the other utterances, in their new order.
        tokens, max_length: As in :func:`insertion_data`.

    Shapes:
        - as in :func:`insertion_data`

    Raises:
        ValueError: As :func:`insertion_data`, or if :obj:`order` is not a permutation of them.
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
    check_between("place", number, 0, len(turns) - 1 + behind)


def most_turns(max_length: int) -> int:
    """The number of utterances that always fit, with one piece each, in every task."""
    return max(0, (max_length - 5) // 3)


def _fitted(
    turns: Sequence[EncodedUtterance], max_length: int, symbols: int
) -> tuple[list[EncodedUtterance], int]:
    """Utterances that fit beside this many symbols, and the number of words that were cut."""
    check_least("max_length", max_length, symbols + len(turns))
    room = (max_length - symbols) // len(turns)
    kept = [cut_some(turn, max(1, max_length // _MAX_SHARE)) for turn in turns]
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


# Options that the layout of text_data() determines.
_FIXED_OPTIONS = ("segment", "root")


def trees_data(
    trees: Sequence[Sentence],
    relations: RelationVocab,
    *,
    vocab: Vocab | None = None,
    tokens: Tokens | None = None,
    max_length: int | None = None,
    arcs: str = "basic",
    copies: str = "word",
    phrases: bool | str = False,
    **options: Any,
) -> Data:
    r"""Parsed texts as one example: with :obj:`tokens` as :func:`text_data` does, the input of pretrained
    encoders; else as :func:`graphdep.to_data` does.

    Args:
        trees: The tree of each text; with :obj:`tokens`, one or two texts.
        relations: Ids of relations.
        vocab: Ids of words, if there are no :obj:`tokens`. (default: :obj:`None`)
        tokens: Ids of word pieces. (default: :obj:`None`)
        max_length: With :obj:`tokens`, the largest number of nodes; :obj:`None` cuts nothing. Not read
            without :obj:`tokens`. (default: :obj:`None`)
        arcs: ``"basic"``; or ``"enhanced"`` or ``"enhanced++"`` for the arcs of :attr:`Sentence.deps`, from
            the parser that made them. (default: ``"basic"``)
        copies: With :obj:`tokens`, the copies of words in enhanced graphs: ``"word"`` moves their arcs to the
            word itself, ``"node"`` makes them nodes (:meth:`EncodedUtterance.of`). Without :obj:`tokens` they
            are always nodes. (default: ``"word"``)
        phrases: Read :attr:`Sentence.constituents` into :obj:`phrase_index` and :obj:`phrase_type`, without
            nodes, which the edges ``"constituents"`` add; ``"tagged"`` also writes :obj:`tag`, without
            :obj:`tokens` only. (default: :obj:`False`)
        **options: Further arguments of :func:`graphdep.to_data`. With :obj:`tokens` only :obj:`segment` and
            :obj:`root` are allowed, and not read: an example has the segments of a pair and no ROOT nodes.

    Shapes:
        - all keys as in :func:`text_data` or :func:`graphdep.to_data`

    Raises:
        ValueError: If :obj:`arcs` or :obj:`copies` is unknown, :obj:`tokens` are given with an option that
            does not apply, there is no text, or with :obj:`tokens` more than two; and as :func:`text_data`
            and :func:`graphdep.to_data`.
    """
    check_arcs(arcs)
    check_choice("copies", copies, COPIES)
    graph = "basic" if arcs == "basic" else "enhanced"  # the levels differ in the sentences only
    if tokens is None:
        return to_data(
            trees,
            vocab=vocab,
            relations=relations,
            arcs=graph,
            phrases="spans" if phrases is True else phrases,
            **options,
        )
    unread = sorted(options.keys() - set(_FIXED_OPTIONS))
    if unread:
        raise ValueError(f"{unread[0]!r} is not for 'tokens' (got {options[unread[0]]!r})")
    check_between("trees", len(trees), 1, 2)
    texts = [
        EncodedUtterance.of(tree, tokens, relations, graph, copies=copies, phrases=bool(phrases))
        for tree in trees
    ]
    return text_data(*texts, tokens=tokens, max_length=sys.maxsize if max_length is None else max_length)
