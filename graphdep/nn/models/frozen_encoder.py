"""A pretrained encoder that stays as it is, and gives each text a vector of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import scatter

from graphdep.nn.models._single_texts import Pieces, read_texts, text_of, texts_of
from graphdep.nn.models.text_encoder import TextEncoder


class FrozenEncoder(TextEncoder):
    r"""The vectors that a pretrained encoder has for texts, as features for a head: nothing of it is trained.

    The encoder reads each text on its own, :math:`[\text{CLS}]\ x_1 \dots x_n\ [\text{SEP}]`, over all pairs
    of its nodes and without dropout; the vector of a text is the mean of the last layer over its pieces:

    .. math::
        \mathbf{v} = \frac{1}{n} \sum_{k=1}^{n} \mathbf{h}^L_k

    A text without pieces has zeros. The state of every node is the vector of its text, so that
    :meth:`readout` gives a vector for each text of an example, unlike that of
    :class:`~graphdep.nn.pretrained.PretrainedEncoder`: it takes the place of an encoder of sentences in
    :class:`SentenceModel` and :class:`SentencePairModel`. Edges and positions of the data are not read.

    Args:
        encoder: A :class:`~graphdep.nn.pretrained.PretrainedEncoder`, which is taken out of training for
            good.

    Attributes:
        tokens, max_length: The encoder's.

    Shapes:
        - data: a node table as :func:`~graphdep.data.encoded` makes it, a text a segment; output
          :math:`(|\mathcal{V}|, C)`, of :meth:`readout` :math:`(\text{texts}, C)`

    Example:
        >>> from graphdep.nn.models import FrozenEncoder
        >>> from graphdep.nn.pretrained import load_encoder
        >>> encoder = load_encoder("bert-base-uncased")
        >>> batch = encoder.to_data([("It rains.", "The sun shines."), ("I do.", "You?")])
        >>> frozen = FrozenEncoder(encoder)
        >>> frozen.readout(batch, frozen(batch)).shape == (4, encoder.hidden_channels)
        True
    """

    known: Tensor

    def __init__(self, encoder: Any) -> None:
        super().__init__()
        self.encoder, self.hidden_channels = encoder.requires_grad_(False), encoder.hidden_channels
        self.tokens, self.max_length = encoder.tokens, encoder.max_length
        # Not of the state_dict: made anew of texts that others need not have.
        self.register_buffer("known", torch.zeros(0, self.hidden_channels), persistent=False)
        self._rows: dict[Pieces, int] = {}
        self.train(encoder.training)

    def remember(self, examples: Iterable[Data]) -> FrozenEncoder:
        """Reads the texts of examples, each different one once, and keeps their vectors, 4 bytes a channel:
        what they are then does not depend on the batches that the texts come in, nor takes time again.
        """
        texts = dict.fromkeys(text for data in examples for text in texts_of(data))
        new = [text for text in texts if text not in self._rows]
        self._rows |= zip(new, range(len(self._rows), len(self._rows) + len(new)))
        self.known = torch.cat([self.known, self._vectors(new)])
        return self

    def forward(self, data: Data) -> Tensor:
        texts = texts_of(data)
        new = [*dict.fromkeys(text for text in texts if text not in self._rows)]
        found = dict(zip(new, self._vectors(new)))
        rows = [found[text] if text in found else self.known[self._rows[text]] for text in texts]
        return torch.stack(rows).index_select(0, text_of(data)[0])

    def readout(self, data: Data, x: Tensor) -> Tensor:
        """The vector of each text, in their order."""
        text, count = text_of(data)
        node = torch.arange(text.numel(), device=text.device)
        return x.index_select(0, scatter(node, text, dim_size=int(count.sum()), reduce="min"))

    def check_texts(self, data: Data, number: int, rule: str) -> None:
        wrong = (text_of(data)[1] != number).nonzero().view(-1)
        if wrong.numel():
            example = int(wrong[0])
            raise ValueError(f"{rule} (got {int(text_of(data)[1][example])} in example {example})")

    def extra_repr(self) -> str:
        return f"texts={len(self._rows)}"

    def _vectors(self, texts: Sequence[Pieces]) -> Tensor:
        """The vectors of texts by the encoder, in full precision and fit for training, whoever asks."""
        device = self.known.device
        with torch.inference_mode(False), torch.no_grad(), torch.autocast(device.type, enabled=False):
            table = torch.zeros(len(texts), self.hidden_channels)
            for row, x in read_texts(self.encoder, texts):
                if len(x) > 2:
                    table[row] = x[1:-1].mean(dim=0)
            return table.to(device)
