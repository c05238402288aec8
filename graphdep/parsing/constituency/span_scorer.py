"""Scores of the labels of spans."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from graphdep.parsing.constituency.chart import span_ends
from graphdep.parsing.constituency.span_inputs import PAD, UNKNOWN, SpanBatch


class SpanScorer(nn.Module):
    r"""Scores each label of each span of words, and that the span is no constituent: a BiLSTM over words,
    tags and spelling, as in `"A Minimal Span-Based Neural Constituency Parser"
    <https://arxiv.org/abs/1705.03919>`_.

    A word is its learned vector, a frozen one, the maximum of a convolution over its characters, and the
    vector of its tag. With :math:`\mathbf{p}_i` for the gap before word :math:`i`, made of the forward states
    before it and the backward states after it,

    .. math::
        \mathbf{s}_{ij} = \mathbf{W}\, \mathrm{relu}\left(\mathrm{norm}(\mathbf{A} \mathbf{p}_i
        + \mathbf{B} \mathbf{p}_j)\right) + \mathbf{b}

    Only its prediction is here: without dropout, and without a loss.

    Args:
        config: Sizes: ``word``, ``glove``, ``char``, ``char_out``, ``tag``, ``layers``, ``hidden`` of each
            direction, ``span``. Others are not read.
        words: Words that are known, with a learned vector, a frozen one, or both.
        known: How many of them, the first ones, have a learned vector.
        characters, tags: How many of them are known.
        labels: How many labels there are.

    Shapes:
        - **input:** a :class:`SpanBatch`
        - **output:** :math:`(\text{sentences}, n (n + 1) / 2, 1 + \text{labels})`, the spans in the order of
          :func:`~graphdep.parsing.constituency.chart.span_starts`, no constituent first
    """

    def __init__(
        self, config: Mapping[str, int], *, words: int, known: int, characters: int, tags: int, labels: int
    ) -> None:
        super().__init__()
        self.known, self.hidden = known, config["hidden"]
        self.word = nn.Embedding(known + 2, config["word"], padding_idx=PAD)
        self.glove = nn.Embedding(words + 2, config["glove"], padding_idx=PAD)
        self.char = nn.Embedding(characters + 2, config["char"], padding_idx=PAD)
        self.conv = nn.Conv1d(config["char"], config["char_out"], 3, padding=1)
        self.tag = nn.Embedding(tags + 2, config["tag"], padding_idx=PAD)
        size = config["word"] + config["glove"] + config["char_out"] + config["tag"]
        self.ends = nn.Parameter(torch.zeros(2, size))  # before the first word and after the last one
        self.layers = nn.ModuleList()
        for _ in range(config["layers"]):
            self.layers.append(nn.LSTM(size, self.hidden, bidirectional=True, batch_first=True))
            size = 2 * self.hidden
        self.start, self.end = nn.Linear(size, config["span"]), nn.Linear(size, config["span"], bias=False)
        self.norm = nn.LayerNorm(config["span"])
        self.out = nn.Linear(config["span"], labels + 1)

    def forward(self, batch: SpanBatch) -> Tensor:
        states = self._words(batch)
        sizes = batch.lengths + 2
        for layer in self.layers:
            packed = nn.utils.rnn.pack_padded_sequence(states, sizes, batch_first=True, enforce_sorted=False)
            states, _ = nn.utils.rnn.pad_packed_sequence(layer(packed)[0], batch_first=True)
        gaps = torch.cat([states[:, :-1, : self.hidden], states[:, 1:, self.hidden :]], -1)
        starts, ends = span_ends(batch.words.size(1))
        return self.out(self.norm(self.start(gaps)[:, starts] + self.end(gaps)[:, ends]).relu())

    def _words(self, batch: SpanBatch) -> Tensor:
        """Vectors of the words between those of both ends: ``[sentences, longest + 2, size]``."""
        spelling = self.conv(self.char(batch.characters).transpose(1, 2)).amax(-1).relu()
        learned = torch.where(batch.words < self.known + 2, batch.words, UNKNOWN)
        parts = (self.word(learned), self.glove(batch.words), spelling[batch.forms], self.tag(batch.tags))
        words = torch.cat(parts, -1)
        states = words.new_zeros(words.size(0), words.size(1) + 2, words.size(2))
        states[:, 0] = self.ends[0]
        states[:, 1:-1] = words
        states[torch.arange(len(states)), batch.lengths + 1] = self.ends[1]
        return states
