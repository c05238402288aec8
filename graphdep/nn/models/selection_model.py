"""How well a response fits its context."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn.inits import reset
from torch_geometric.utils import scatter

from graphdep.data import NodeType
from graphdep.nn.dropout import Dropout
from graphdep.nn.models._utterances import example_of, words_of
from graphdep.nn.models.context_encoder import example_bounds

READOUTS = ("cls", "mean", "pair")
_FEATURES = {"cls": 1, "mean": 1, "pair": 4}
Loss = tuple[Tensor, int]
"""A mean, and over how many items."""


class SelectionModel(nn.Module):
    r"""An encoder and an MLP on the state of each example's [CLS] node, or on means of its words, from
    `"Improving Retrieval-based Dialogue System via Syntax-Informed Attention"
    <https://arxiv.org/abs/2303.06605>`_ (Eq. 2).

    .. math::
        g(c, r) = \sigma(\mathbf{W} \mathbf{T}_{[\mathrm{CLS}]} + b)

    The sigmoid is left to the loss: the output are logits. The paper calls this "a simple MLP"; more layers
    than that one are put before it, each with a tanh, as BERT's pooler is.

    With ``readout="mean"`` the mean over the nodes :math:`W` of words takes the place of
    :math:`\mathbf{T}_{[\mathrm{CLS}]}`, all pieces of context and response, without [CLS], [EOU] and [SEP]:

    .. math::
        g(c, r) = \sigma\Big(\mathbf{W} \frac{1}{|W|} \sum_{k \in W} \mathbf{T}_k + b\Big)

    It is no part of the paper. It is there since the [CLS] of an encoder that was made to compare means of
    words, such as MiniLM's, has to be learnt anew, for which a few thousand pairs do not do: the means of the
    encoder before its training then rank better than the state of [CLS] after it.

    With ``readout="pair"`` the means :math:`\mathbf{u}` of the words of the context and :math:`\mathbf{v}` of
    those of the response, which is the last utterance of an example, are compared as sentence encoders
    compare theirs (`InferSent <https://arxiv.org/abs/1705.02364>`_), which is no part of the paper either; a
    side without words is zeros:

    .. math::
        g(c, r) = \sigma\big(\mathbf{W} [\mathbf{u}; \mathbf{v}; |\mathbf{u} - \mathbf{v}|; \mathbf{u} \odot
        \mathbf{v}] + b\big)

    A mean over both texts at once does not tell them apart, so that how alike they are has to be learnt in
    the attention between them: MiniLM, after 8,000 pairs of DailyDialog once, has an R10@1 of .49 with
    ``"mean"`` and of .59 with ``"pair"`` (validation, one seed, standard errors of .02 and .04; the cosine of
    the means of both texts by themselves, before any training, has .66).

    Args:
        encoder: Gives node states; has :attr:`hidden_channels`.
        mlp_layers: Number of linear layers. (default: :obj:`1`, Eq. 2)
        dropout: Dropout probability of what the last linear layer reads. (default: :obj:`0.1`)
        readout: ``"cls"``, ``"mean"`` over words, or ``"pair"`` of means. (default: ``"cls"``, Eq. 2)

    Shapes:
        - data: a batch of :math:`B` examples, for ``"cls"`` with a CLS node each, or one example; output:
          :math:`(B)`

    Raises:
        ValueError: If :obj:`mlp_layers` is below 1, :obj:`readout` is unknown, or for ``"cls"`` an example
            has no CLS node or several.

    Example:
        >>> from graphdep.nn.models import SelectionModel
        >>> from graphdep.nn.pretrained import load_encoder
        >>> encoder = load_encoder("bert-base-uncased")
        >>> data = encoder.to_data([("Who sings ?", "She does ."), ("Who sings ?", "The bus is late .")])
        >>> SelectionModel(encoder)(data).shape
        torch.Size([2])
    """

    def __init__(
        self, encoder: nn.Module, *, mlp_layers: int = 1, dropout: float = 0.1, readout: str = "cls"
    ) -> None:
        super().__init__()
        if mlp_layers < 1:
            raise ValueError(f"'mlp_layers' must be at least 1 (got {mlp_layers})")
        if readout not in READOUTS:
            raise ValueError(f"'readout' must be one of {', '.join(READOUTS)} (got {readout!r})")
        self.readout = readout
        size: int = encoder.hidden_channels  # type: ignore[assignment]
        self.encoder = encoder
        sizes = [_FEATURES[readout] * size, *[size] * (mlp_layers - 1)]
        hidden = [module for pair in pairwise(sizes) for module in (nn.Linear(*pair), nn.Tanh())]
        self.mlp = nn.Sequential(*hidden, Dropout(dropout), nn.Linear(sizes[-1], 1))
        self._reset_mlp()  # the encoder comes with its weights

    def reset_parameters(self) -> None:
        """Draws everything anew, the MLP as BERT's layers are, added relations and terms too; pretrained
        weights stay.
        """
        reset(self.encoder)
        self._reset_mlp()

    def _reset_mlp(self) -> None:
        for module in self.mlp:
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=0.02)
                nn.init.zeros_(module.bias)

    def forward(self, data: Data) -> Tensor:
        return self.score(data, self.encoder(data))

    def score(self, data: Data, x: Tensor) -> Tensor:
        """The logits of examples, of the states of their nodes."""
        return self.mlp(self._read(data, x)).squeeze(-1)

    def _read(self, data: Data, x: Tensor) -> Tensor:
        if self.readout == "cls":
            return x.index_select(0, cls_nodes(data))
        words = words_of(data)
        if self.readout == "mean":
            return _word_means(data, x, words)
        response = _of_response(data)[words]
        u, v = (_word_means(data, x, words[side]) for side in (~response, response))
        return torch.cat([u, v, (u - v).abs(), u * v], dim=-1)

    def training_losses(self, data: Data) -> tuple[Tensor, dict[str, Loss]]:
        """The logits of the pairs of a training batch, and by its name each further loss that a model of
        other objectives has, with the number of items that it is the mean over; here there is none.
        """
        return self(data), {}

    def extra_repr(self) -> str:
        return f"readout={self.readout!r}"


def _of_response(data: Data) -> Tensor:
    """Which nodes are of the last utterance of their example: not those of segment 1, where segments are
    speakers.
    """
    example = example_of(data)
    last = scatter(data.utterance, example, dim_size=example_bounds(data).numel() - 1, reduce="max")
    return data.utterance == last[example]


def _word_means(data: Data, x: Tensor, words: Tensor) -> Tensor:
    """The mean over some nodes of every example; zeros where there are none."""
    example = example_of(data)[words]
    return scatter(x[words], example, dim_size=example_bounds(data).numel() - 1, reduce="mean")


@torch.compiler.disable  # reads values
def selected_pairs(data: Data, logits: Tensor) -> Tensor:
    """The logits of the pairs alone, where a batch has examples of other objectives, too (``kind`` not 0)."""
    return logits[data.kind == 0] if "kind" in data else logits


@torch.compiler.disable  # reads values
def cls_nodes(data: Data) -> Tensor:
    """The CLS node of every example.

    Raises:
        ValueError: If an example has none or several.
    """
    cls = (data.node_type == NodeType.CLS).nonzero().view(-1)
    count = torch.searchsorted(cls, example_bounds(data)).diff()
    if bool((count != 1).any()):
        example = int((count != 1).nonzero()[0])
        raise ValueError(f"an example has one CLS node (got {int(count[example])} in example {example})")
    return cls
