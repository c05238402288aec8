"""Dialogues for models that match each utterance with the response, and slow versions of their parts."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from graphdep.data import EncodedUtterance, selection_data
from graphdep.sentence import Sentence
from graphdep.vocab import RelationVocab, Vocab, VocabTokens

LETTERS = "abcdefghij"
VOCAB = Vocab(LETTERS)


def word_dialogue(context: Sequence[str], response: str, max_length: int = 256) -> Data:
    """An example as from a corpus, of texts whose words are separated by blanks; texts may be empty."""
    *before, last = [_encoded(text) for text in (*context, response)]
    return selection_data(before, last, VocabTokens(VOCAB), max_length=max_length)


def _encoded(text: str) -> EncodedUtterance:
    of = EncodedUtterance.of(_flat(text or "a"), VocabTokens(VOCAB), RelationVocab())
    return of if text else of.cut(0)


def random_dialogue(rng: random.Random, turns: int, most_words: int) -> tuple[list[str], str]:
    """Utterances of random lengths, and a response."""
    *context, response = [
        " ".join(rng.choices(LETTERS, k=rng.randint(1, most_words))) for _ in range(turns + 1)
    ]
    return context, response


def vectors_of(model: Any, text: str) -> Tensor:
    """The vectors of the last ``max_words`` words of a text, by the ``encoder`` of a model."""
    ids = torch.tensor([VOCAB.id_of(word) for word in text.split()])
    return model.encoder.words(ids)[-model.max_words :]


def gru_by_hand(gru: Any, x: Tensor) -> Tensor:
    """The states of a GRU of one layer over rows, step by step."""
    h = x.new_zeros(gru.hidden_size)
    states = []
    for row in x:
        xr, xz, xn = (gru.weight_ih_l0 @ row + gru.bias_ih_l0).chunk(3)
        hr, hz, hn = (gru.weight_hh_l0 @ h + gru.bias_hh_l0).chunk(3)
        z = torch.sigmoid(xz + hz)
        h = (1 - z) * torch.tanh(xn + torch.sigmoid(xr + hr) * hn) + z * h
        states.append(h)
    return torch.stack(states)


def matched_by_hand(images: Any, u: Tensor, r: Tensor, hu: Tensor, hr: Tensor) -> Tensor:
    """SMN's matching vector of an utterance and a response, computed place by place."""
    side = images.max_words
    image = u.new_zeros(2, side, side)
    for i, j in itertools.product(range(len(u)), range(len(r))):
        image[0, i, j] = u[i] @ r[j]
        image[1, i, j] = hu[i] @ images.form @ hr[j]
    cells = range((side - 2) // 3)
    pooled = []
    for row, column in itertools.product(cells, cells):
        window = itertools.product(range(3 * row, 3 * row + 3), range(3 * column, 3 * column + 3))
        features = [torch.relu(_convolved(images.conv, image, i, j)) for i, j in window]
        pooled.append(torch.stack(features).amax(dim=0))
    flat = torch.stack(pooled, dim=-1).flatten()
    vector = images.lin.weight @ flat + images.lin.bias
    return torch.tanh(vector) if images.tanh else vector


def _convolved(conv: Any, image: Tensor, row: int, column: int) -> Tensor:
    """The features of one place of an image, before ReLU."""
    sums: Tensor = conv.bias
    for down, right in itertools.product(range(3), range(3)):
        sums = sums + conv.weight[:, :, down, right] @ image[:, row + down, column + right]
    return sums


def attend(module: Any, query: Tensor, key: Tensor) -> Tensor:
    """The attentive module of DAM for two texts, word by word."""
    out = []
    for word in query:
        scores = torch.stack([_score(module, word, other) for other in key])
        weights = scores.exp() / scores.exp().sum()
        x = module.norm_attention(word + sum(w * other for w, other in zip(weights, key)))
        out.append(module.norm_out(x + module.lin_out(module.lin_in(x).clamp(min=0))))
    return torch.stack(out)


def _score(module: Any, word: Tensor, other: Tensor) -> Tensor:
    if module.lin_score is None:
        return word @ other / len(word) ** 0.5
    left, right = (module.lin_score(x).clamp(min=0) for x in (word, other))
    return left @ (module.diagonal * right) / len(word) ** 0.5


def _flat(text: str) -> Sentence:
    words = text.split()
    return Sentence(words, [0] + [1] * (len(words) - 1), ["root"] + ["dep"] * (len(words) - 1))
