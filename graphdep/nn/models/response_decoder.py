"""What all decoders of dialogues share."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from graphdep.nn.models.memory import Memory
from graphdep.nn.models.node_embedding import NodeEmbedding
from graphdep.vocab import ROOT_ID


class ResponseDecoder(nn.Module):
    r"""Base of the decoders of dialogues: from an encoded context to the logits of a response's tokens.

    A subclass sets :attr:`hidden_channels`, the encoder's too, and :attr:`embedding`, which it shares with
    the encoder and does not reset. Teacher forcing (:meth:`forward`) and decoding step by step
    (:meth:`start`, :meth:`step`, :meth:`select`) give the same logits. The first token follows on ``[ROOT]``.

    Shapes:
        - target_ids: :math:`(\sum T)`, packed; target_ptr: :math:`(B + 1)`; output:
          :math:`(\sum T, |\mathcal{W}|)`
        - tokens: :math:`(E, W)`, for :math:`W` hypotheses of each of :math:`E` examples
    """

    hidden_channels: int
    embedding: NodeEmbedding

    def forward(self, memory: Memory, target_ids: Tensor, target_ptr: Tensor) -> Tensor:
        """Logits of every target token, given those before it."""
        raise NotImplementedError

    def start(self, memory: Memory) -> Any:
        """What the first step needs: one hypothesis without any token for each example."""
        raise NotImplementedError

    def step(self, state: Any, tokens: Tensor) -> tuple[Tensor, Any]:
        """Logits ``[E, W, num_words]`` of what follows on the ``tokens``, and the state after them."""
        raise NotImplementedError

    def select(self, state: Any, example: Tensor, beam: Tensor) -> Any:
        """The state of some examples only and of some of their hypotheses, in any order.

        Args:
            state: What :meth:`step` gave.
            example: Examples to keep ``[E']``.
            beam: Hypotheses of each of them ``[E', W']``.
        """
        raise NotImplementedError


def previous_ids(target_ids: Tensor, target_ptr: Tensor) -> Tensor:
    """The token before each target token ``[sum T]``: ``[ROOT]`` before the first of an example."""
    first = target_ptr[:-1][target_ptr.diff() > 0]
    return target_ids.roll(1).index_fill(0, first, ROOT_ID)


def take_beams(x: Tensor, example: Tensor, beam: Tensor) -> Tensor:
    """Hypotheses ``[E', W', ...]`` of ``x`` ``[E, W, ...]``."""
    return x[example[:, None], beam]
