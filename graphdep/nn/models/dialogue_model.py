"""An encoder of contexts and a decoder of responses."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.data import Data

from graphdep.decoding import DecodeConfig, Hypothesis, generate
from graphdep.nn.models.context_encoder import ContextEncoder, example_bounds
from graphdep.nn.models.memory import Memory
from graphdep.nn.models.response_decoder import ResponseDecoder


class DialogueModel(nn.Module):
    r"""Encodes a context and gives its response.

    Args:
        encoder: Gives the rows that the decoder reads.
        decoder: Shares the encoder's word vectors: it is made with ``encoder.embedding``.

    Shapes:
        - data: a batch of contexts with the node table and ``target_ids``, made with
          ``DataLoader(..., follow_batch=["target_ids"])``; output: logits :math:`(\sum T, |\mathcal{W}|)`

    Raises:
        ValueError: If :obj:`decoder` has another embedding or size than :obj:`encoder`, the data has no
            ``target_ids``, or a batch was made without ``follow_batch``.

    Example:
        >>> import torch
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.nn.models import DialogueModel, HREDDecoder, HREDEncoder
        >>> encoder = HREDEncoder(num_words=7, hidden_channels=8)
        >>> data = to_data([Sentence.chain(["Who", "?"])], vocab=Vocab(["She", "sings"]))
        >>> data.target_ids = torch.tensor([5, 6, 4])  # She sings [EOU]
        >>> DialogueModel(encoder, HREDDecoder(encoder.embedding, 8))(data).shape
        torch.Size([3, 7])
    """

    def __init__(self, encoder: ContextEncoder, decoder: ResponseDecoder) -> None:
        super().__init__()
        if decoder.embedding is not encoder.embedding:
            raise ValueError(
                "'decoder' must share the embedding of 'encoder': make it with encoder.embedding"
            )
        sizes = encoder.hidden_channels, decoder.hidden_channels
        if sizes[0] != sizes[1]:
            raise ValueError(
                f"'decoder' must have the 'hidden_channels' of 'encoder', {sizes[0]} (got {sizes[1]})"
            )
        self.encoder, self.decoder = encoder, decoder

    def reset_parameters(self) -> None:
        self.encoder.reset_parameters()
        self.decoder.reset_parameters()  # type: ignore[operator]

    def forward(self, data: Data) -> Tensor:
        bounds = target_bounds(data)
        return self.decoder(self.encoder(data), data.target_ids, bounds)

    def token_losses(self, data: Data) -> Tensor:
        r"""Negative log-likelihood of every target token :math:`(\sum T)`, ``[EOU]`` included."""
        return F.cross_entropy(_precise(self(data)), data.target_ids, reduction="none")

    def losses(self, data: Data) -> dict[str, Tensor]:
        """What training minimises the sum of: ``"response"``, the mean negative log-likelihood of the batch's
        target tokens, and in training the encoder's own objectives.
        """
        bounds = target_bounds(data)
        memory: Memory = self.encoder(data)
        logits = self.decoder(memory, data.target_ids, bounds)
        losses = {"response": F.cross_entropy(_precise(logits), data.target_ids)}
        return losses | self.encoder.auxiliary(data, memory) if self.training else losses

    def generate(
        self, data: Data, config: DecodeConfig, *, generator: torch.Generator | None = None
    ) -> list[list[Hypothesis]]:
        """Responses to every context, without dropout; see :func:`graphdep.decoding.decoding`.

        Draws depend on the seed and the words of the context, not on the rest of the batch. Afterwards every
        module is in the mode, training or evaluation, that it was in.
        """
        ids, bounds = data.input_ids.cpu(), example_bounds(data).tolist()
        keys = [zlib.crc32(ids[a:b].numpy().tobytes()) for a, b in pairwise(bounds)]
        with torch.no_grad(), _evaluating(self):
            return generate(self.decoder, self.encoder(data), config, keys=keys, generator=generator)


def target_bounds(data: Data) -> Tensor:
    """Where the target tokens of each example start and end ``[num_examples + 1]``.

    Raises:
        ValueError: If there are none, or the batch does not know their bounds.
    """
    if "target_ids" not in data:
        raise ValueError("the data has no 'target_ids': it is a context without its response")
    ptr = data.get("target_ids_ptr")
    if ptr is not None:
        return ptr
    if example_bounds(data).numel() != 2:
        raise ValueError(
            "the batch has no 'target_ids_ptr': make it with DataLoader(..., follow_batch=['target_ids'])"
        )
    return torch.tensor([0, data.target_ids.numel()], device=data.target_ids.device)


@contextmanager
def _evaluating(model: nn.Module) -> Iterator[None]:
    """Evaluation mode; afterwards each module, e.g. a frozen encoder, is in its own mode again."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training


def _precise(logits: Tensor) -> Tensor:
    """In float32 at least: sums over a vocabulary do not stand bfloat16."""
    return logits.to(torch.promote_types(logits.dtype, torch.float32))
