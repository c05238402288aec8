"""Each utterance of a context beside the response: words of a batch of dialogues as padded texts."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch_geometric.data import Data

from graphdep.nn.models._utterances import example_of, words_of
from graphdep.nn.models.context_encoder import example_bounds


class TurnPairs(NamedTuple):
    """Texts of a batch, and which of them are matched with each other.

    Args:
        x: Vectors of the words of each text, zeros behind its last: ``[texts, words, C]``.
        length: Words of each text, at least one: ``[texts]``.
        turn: The text of the utterance of each pair: ``[pairs]``.
        response: The text of its response: ``[pairs]``.
        example: The example that it is of: ``[pairs]``, ascending.
        place: Which of the utterances of its example it is, 0 the first: ``[pairs]``.
        counts: Utterances of each example: ``[examples]``.
        response_of: The text of the response of each example: ``[examples]``.
    """

    x: Tensor
    length: Tensor
    turn: Tensor
    response: Tensor
    example: Tensor
    place: Tensor
    counts: Tensor
    response_of: Tensor

    @property
    def mask(self) -> Tensor:
        """Where words are: ``[texts, words]``."""
        return torch.arange(self.x.size(1), device=self.x.device) < self.length.unsqueeze(-1)

    @property
    def num_turns(self) -> int:
        """Utterances of the longest example, at least 1."""
        return max(1, int(self.counts.max()))

    def images(self, x: Tensor, y: Tensor) -> Tensor:
        """Products of all words of the utterance and of the response: ``[pairs, words, words]``, zeros where
        :obj:`x` and :obj:`y` of :attr:`x`'s shape are.
        """
        return x.index_select(0, self.turn) @ y.index_select(0, self.response).transpose(1, 2)

    def dense(self, values: Tensor, turns: int) -> Tensor:
        """Values of pairs as ``[examples, turns, ...]``, zeros behind the last utterance of each."""
        out = values.new_zeros(self.counts.numel(), turns, *values.shape[1:])
        return out.index_put((self.example, self.place), values)


@torch.compiler.disable  # reads values
def turn_pairs(data: Data, x: Tensor, max_words: int) -> TurnPairs:
    """The utterances of each context, those without words left out, and the response, each with its last
    ``max_words`` words. A response without words is one word, whose vector is zeros.

    Args:
        data: Examples of :func:`~graphdep.data.encoded`, one or a batch.
        x: Vectors of the nodes.
        max_words: Words of a text at most.

    Raises:
        ValueError: If an example has no response, or several.
    """
    nodes, num_examples = words_of(data), example_bounds(data).numel() - 1
    example, utterance = example_of(data)[nodes], data.utterance[nodes]
    words, is_response = x.index_select(0, nodes), data.segment[nodes] == 1
    empty = _empty_responses(data, example[is_response], num_examples)
    turns = int(data.utterance.max()) + 1
    key = torch.cat([example * turns + utterance, empty * turns + turns - 1])
    # Words stand in the order of their texts: only a response that was added moves, to its example's end.
    key, order = key.sort(stable=True)
    words = torch.cat([words, words.new_zeros(empty.numel(), words.size(-1))])[order]
    is_response = torch.cat([is_response, torch.ones_like(empty, dtype=torch.bool)])[order]
    example = torch.cat([example, empty])[order]
    _, text, length = key.unique_consecutive(return_inverse=True, return_counts=True)
    first = length.cumsum(0) - length
    place = torch.arange(key.numel(), device=key.device) - first[text]
    place = place - (length - max_words).clamp(min=0)[text]
    length = length.clamp(max=max_words)
    kept = place >= 0
    padded = x.new_zeros(length.numel(), int(length.max()) if length.numel() else 0, x.size(-1))
    padded = padded.index_put((text[kept], place[kept]), words[kept])
    return _paired(padded, length, example[first], is_response[first], num_examples)


def _empty_responses(data: Data, examples: Tensor, num_examples: int) -> Tensor:
    """The examples whose response has nodes but no word, as a message of blanks has; ``examples`` are those
    of the words of responses.
    """
    there = torch.bincount(example_of(data)[data.segment == 1], minlength=num_examples)
    worded = torch.bincount(examples, minlength=num_examples)
    return ((there > 0) & (worded == 0)).nonzero().view(-1)


def _paired(x: Tensor, length: Tensor, example: Tensor, is_response: Tensor, num_examples: int) -> TurnPairs:
    response = is_response.nonzero().view(-1)
    found = torch.bincount(example[response], minlength=num_examples)
    if bool((found != 1).any()):
        number = int((found != 1).nonzero()[0])
        raise ValueError(f"an example has one response (got {int(found[number])} in {number})")
    turn = (~is_response).nonzero().view(-1)
    counts = torch.bincount(example[turn], minlength=num_examples)
    place = torch.arange(turn.numel(), device=turn.device) - (counts.cumsum(0) - counts)[example[turn]]
    return TurnPairs(x, length, turn, response[example[turn]], example[turn], place, counts, response)


def last_turns(pairs: TurnPairs, most: int) -> TurnPairs:
    """Without the utterances before the last ``most`` of each example, and without their texts."""
    place = pairs.place - (pairs.counts - most).clamp(min=0)[pairs.example]
    kept = place >= 0
    read = torch.zeros_like(pairs.length, dtype=torch.bool)
    read[torch.cat([pairs.turn[kept], pairs.response_of])] = True
    number = read.cumsum(0) - 1
    return TurnPairs(
        x=pairs.x[read],
        length=pairs.length[read],
        turn=number[pairs.turn[kept]],
        response=number[pairs.response[kept]],
        example=pairs.example[kept],
        place=place[kept],
        counts=pairs.counts.clamp(max=most),
        response_of=number[pairs.response_of],
    )


def gru_states(gru: nn.GRU, x: Tensor, length: Tensor) -> Tensor:
    """States of a GRU over the words of each text, zeros behind the last: ``[texts, words, C]``."""
    packed = pack_padded_sequence(x, length.cpu(), batch_first=True, enforce_sorted=False)
    return pad_packed_sequence(gru(packed)[0], batch_first=True, total_length=x.size(1))[0]


def last_states(states: Tensor, length: Tensor) -> Tensor:
    """The states of the last word of each text: ``[texts, C]``."""
    return states[torch.arange(length.numel(), device=length.device), length - 1]
