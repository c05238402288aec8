"""A matching vector of each utterance and the response, from two matrices of similarities."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from graphdep.nn.models._turn_pairs import TurnPairs

_WINDOW = 3  # of convolution and pooling
_FILTERS = 8
LEAST_WORDS = 2 * _WINDOW - 1  # below it the pooling has nothing


class MatchImages(nn.Module):
    """SMN's: products of word vectors and a bilinear form of states as the two channels of an image, which a
    convolution with ReLU, max pooling and a layer with tanh make a vector of.

    Args:
        state_channels: Size of the states.
        match_channels: Size of the vectors.
        max_words: Rows and columns of an image; zeros behind the words.
    """

    def __init__(self, state_channels: int, match_channels: int, max_words: int) -> None:
        super().__init__()
        if max_words < LEAST_WORDS:
            raise ValueError(f"'max_words' must be at least {LEAST_WORDS} (got {max_words})")
        self.max_words = max_words
        self.form = nn.Parameter(torch.empty(state_channels, state_channels))
        self.conv = nn.Conv2d(2, _FILTERS, _WINDOW)
        side = (max_words - _WINDOW + 1) // _WINDOW
        self.lin = nn.Linear(_FILTERS * side * side, match_channels)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.orthogonal_(self.form)
        self.conv.reset_parameters()
        self.lin.reset_parameters()

    def forward(self, states: Tensor, pairs: TurnPairs) -> Tensor:
        """Matching vectors ``[pairs, match_channels]``; states are ``[texts, words, state_channels]``, zeros
        where there is no word.
        """
        images = torch.stack(
            [pairs.images(pairs.x, pairs.x), pairs.images(states @ self.form, states)], dim=1
        )
        images = padded_images(images, self.max_words)
        pooled = F.max_pool2d(torch.relu(self.conv(images)), _WINDOW)
        return torch.tanh(self.lin(pooled.flatten(1)))


def padded_images(images: Tensor, max_words: int) -> Tensor:
    """Images of ``max_words`` rows and columns, zeros behind the words of the batch."""
    missing = max_words - images.size(-1)
    return F.pad(images, (0, missing, 0, missing))
