"""The two encoders of the Universal Sentence Encoder."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.utils import scatter

from graphdep.nn.attention import AttentionLayout
from graphdep.nn.conv import AttentionConv
from graphdep.nn.dropout import Dropout
from graphdep.nn.models._utterances import root_nodes, utterance_of, with_positions_in_utterance, words_of
from graphdep.nn.models.node_embedding import NodeEmbedding
from graphdep.nn.models.text_encoder import TextEncoder
from graphdep.nn.models.transformer_layer import TransformerLayer
from graphdep.transforms.presets import count

VARIANTS = ("transformer", "dan")


class UniversalEncoder(TextEncoder):
    r"""The encoders of `"Universal Sentence Encoder" <https://arxiv.org/abs/1803.11175>`_, trained here and
    not on its corpora: the architecture, not the published weights.

    ``variant="transformer"``: the encoder of a Transformer over the :math:`n` words of an utterance and their
    positions, and its states' sum over the root of their number, so that long texts do not win by length:

    .. math::
        \mathbf{s} = \frac{1}{\sqrt{n}} \sum_{w = 1}^{n} \mathbf{h}_w

    ``variant="dan"``, a deep averaging network: the mean over vectors of words and of pairs of neighbours,
    then layers of a feed-forward network with ReLU,

    .. math::
        \mathbf{s} = \mathrm{FFN} \Big(\frac{1}{2n - 1} \Big(\sum_{w = 1}^{n} \mathbf{e}_w + \sum_{w = 1}^{n -
        1} \mathbf{e}_{w, w + 1}\Big)\Big)

    where pairs share :obj:`buckets` vectors by a hash of their ids. ROOT has :math:`\mathbf{s}`; a word has
    its state in the Transformer, or its vector in the other.

    The paper trains one encoder on several tasks of unlabelled and labelled text; its sizes are larger (the
    result has 512 channels). Its text was not at hand: the sum over the root of the length is in the
    documents of the published module, the means over words and pairs in public descriptions; the number of
    layers, how pairs get their vectors and a square root in the second form, if there is one, we could not
    verify. Other nodes have zeros.

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of the node states. (default: :obj:`300`)
        variant: ``"transformer"`` or ``"dan"``. (default: ``"transformer"``)
        num_layers: Blocks of the Transformer, or layers of the network. (default: :obj:`3`)
        heads: Attention heads; divides :obj:`hidden_channels`. (default: :obj:`6`)
        ff_channels: Size of the Transformer's feed-forward layers. (default: :obj:`300`)
        buckets: Vectors of pairs. (default: :obj:`20_000`)
        max_positions: Positions told apart. (default: :obj:`512`)
        dropout: Dropout probability. (default: :obj:`0.0`)
        vectors: Pretrained word vectors ``[num_words, dim]``, projected where they have another size.
            (default: :obj:`None`)

    Shapes:
        - data: a node table with ROOT nodes; output :math:`(|\mathcal{V}|, C)`

    Raises:
        ValueError: If :obj:`variant` is unknown, a size is below 1 or no whole number, :obj:`heads` does not
            divide :obj:`hidden_channels` of a Transformer, or the data has no ROOT nodes.

    Example:
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.nn.models import UniversalEncoder
        >>> vocab = Vocab(["She", "sings"])
        >>> data = to_data([Sentence(["She", "sings"], [2, 0], ["nsubj", "root"])], vocab=vocab)
        >>> UniversalEncoder(len(vocab), hidden_channels=8, heads=2, ff_channels=8)(data).shape
        torch.Size([3, 8])
    """

    def __init__(
        self,
        num_words: int,
        *,
        hidden_channels: int = 300,
        variant: str = "transformer",
        num_layers: int = 3,
        heads: int = 6,
        ff_channels: int = 300,
        buckets: int = 20_000,
        max_positions: int = 512,
        dropout: float = 0.0,
        vectors: Tensor | None = None,
    ) -> None:
        super().__init__()
        if variant not in VARIANTS:
            raise ValueError(f"'variant' must be one of {', '.join(VARIANTS)} (got {variant!r})")
        sizes = {"hidden_channels": hidden_channels, "num_layers": num_layers, "ff_channels": ff_channels}
        for name, size in (sizes | {"buckets": buckets}).items():
            count(name, size, 1)
        count("max_positions", max_positions)
        attends = variant == "transformer"
        if attends and hidden_channels % count("heads", heads, 1):
            raise ValueError(f"'heads' ({heads}) must divide 'hidden_channels' ({hidden_channels})")
        self.hidden_channels, self.variant = hidden_channels, variant
        self.embedding = NodeEmbedding(
            num_words,
            hidden_channels,
            max_positions=max_positions if attends else 0,
            max_levels=0,
            vectors=vectors,
            dropout=dropout,
        )
        self.pair = None if attends else nn.Embedding(buckets, hidden_channels)
        self.dropout = Dropout(dropout)
        self.layers = nn.ModuleList(
            TransformerLayer(
                AttentionConv(hidden_channels, hidden_channels // heads, heads, dropout=dropout),
                hidden_channels,
                ff_channels,
                dropout=dropout,
            )
            if attends
            else nn.Linear(hidden_channels, hidden_channels)
            for _ in range(num_layers)
        )
        self._reset_pairs()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        self._reset_pairs()

    def _reset_pairs(self) -> None:
        if self.pair is not None:  # as words
            nn.init.normal_(self.pair.weight, std=self.hidden_channels**-0.5)

    def forward(self, data: Data) -> Tensor:
        words = words_of(data)
        roots, utterance = root_nodes(data), utterance_of(data)[words]
        length = torch.bincount(utterance, minlength=roots.numel()).unsqueeze(-1)
        x = self.embedding(with_positions_in_utterance(data)).index_select(0, words)
        if self.pair is None:
            layout = AttentionLayout(words.new_empty(2, 0), x.size(0), clique=utterance)
            for layer in self.layers:
                x = layer(x, layout)
            texts = scatter(x, utterance, dim_size=roots.numel(), reduce="sum")
            texts = texts / length.clamp(min=1).to(texts.dtype).sqrt()
        else:
            texts = self._averaged(x, data.input_ids[words], utterance, length)
        rows = torch.cat([x, texts.to(x.dtype)])
        table = x.new_zeros(data.node_type.numel(), self.hidden_channels)
        return table.index_copy(0, torch.cat([words, roots]), rows)

    def _averaged(self, x: Tensor, ids: Tensor, utterance: Tensor, length: Tensor) -> Tensor:
        assert self.pair is not None
        first = (utterance[1:] == utterance[:-1]).nonzero().view(-1)
        # Two odd factors, so that a pair and the same the other way round fall apart.
        bucket = (ids[first] * 1_000_003 + ids[first + 1] * 8_191) % self.pair.num_embeddings
        parts = torch.cat([x, self.dropout(self.pair(bucket))])
        of = torch.cat([utterance, utterance[first]])
        mean = scatter(parts, of, dim_size=length.size(0), reduce="sum") / (2 * length - 1).clamp(min=1)
        for layer in self.layers:
            mean = torch.relu(layer(mean))
        return torch.where(length > 0, mean, 0)

    def extra_repr(self) -> str:
        return f"variant={self.variant!r}"
