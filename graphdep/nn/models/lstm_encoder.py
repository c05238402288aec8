"""LSTM and bidirectional LSTM over the words in their order."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_sequence, unpack_sequence
from torch_geometric.data import Data

from graphdep.data import NodeType
from graphdep.nn.models._utterances import root_nodes, utterance_of
from graphdep.nn.models.node_embedding import NodeEmbedding
from graphdep.nn.models.text_encoder import TextEncoder


class LSTMEncoder(TextEncoder):
    r"""An LSTM over the words of each utterance: the sequential baseline of `"Improved Semantic
    Representations From Tree-Structured Long Short-Term Memory Networks"
    <https://aclanthology.org/P15-1150/>`_.

    The state of a word is the LSTM's at that word; ROOT has the last state of the top layer. If
    :obj:`bidirectional`, each direction has half of the channels, and ROOT has the forward state at the last
    word, then the backward state at the first. Nodes that are neither word nor ROOT have zeros. Pretrained
    vectors enter in their own size.

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of the node states, both directions together. (default: :obj:`300`)
        bidirectional: Also read from the last word to the first. (default: :obj:`False`)
        num_layers: Number of layers. (default: :obj:`1`)
        dropout: Dropout probability of the embeddings and between layers. (default: :obj:`0.0`)
        vectors: Pretrained word vectors ``[num_words, dim]``. (default: :obj:`None`)

    Shapes:
        - data: a node table with ROOT nodes; output :math:`(|\mathcal{V}|, C)`

    Raises:
        ValueError: If :obj:`hidden_channels` is below 1, or odd for two directions, or the data has no
            ROOT nodes.

    Example:
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.nn.models import LSTMEncoder
        >>> vocab = Vocab(["She", "sings"])
        >>> data = to_data([Sentence(["She", "sings"], [2, 0], ["nsubj", "root"])], vocab=vocab)
        >>> LSTMEncoder(len(vocab), hidden_channels=8)(data).shape
        torch.Size([3, 8])
    """

    def __init__(
        self,
        num_words: int,
        *,
        hidden_channels: int = 300,
        bidirectional: bool = False,
        num_layers: int = 1,
        dropout: float = 0.0,
        vectors: Tensor | None = None,
    ) -> None:
        super().__init__()
        if hidden_channels < 1:
            raise ValueError(f"'hidden_channels' must be at least 1 (got {hidden_channels})")
        if bidirectional and hidden_channels % 2:
            raise ValueError(f"'hidden_channels' must be even for two directions (got {hidden_channels})")
        self.hidden_channels = hidden_channels
        in_channels = hidden_channels if vectors is None else vectors.size(-1)
        self.embedding = NodeEmbedding(
            num_words, in_channels, max_positions=0, max_levels=0, vectors=vectors, dropout=dropout
        )
        self.lstm = nn.LSTM(
            in_channels,
            hidden_channels // 2 if bidirectional else hidden_channels,
            num_layers,
            dropout=dropout if num_layers > 1 else 0.0,
            bidirectional=bidirectional,
        )

    def forward(self, data: Data) -> Tensor:
        root = root_nodes(data)
        words = (data.node_type == NodeType.WORD).nonzero().view(-1)
        utterance, length = utterance_of(data)[words].unique_consecutive(return_counts=True)
        embedded = self.embedding(data)
        if words.numel() == 0:
            return embedded.new_zeros(embedded.size(0), self.hidden_channels)
        sequences = embedded[words].split(length.tolist())
        out, (last, _) = self.lstm(pack_sequence(sequences, enforce_sorted=False))
        states = torch.cat(unpack_sequence(out))
        directions = 1 + self.lstm.bidirectional
        x = states.new_zeros(data.num_nodes, self.hidden_channels).index_copy(0, words, states)
        return x.index_copy(0, root[utterance], torch.cat([*last[-directions:]], dim=-1))
