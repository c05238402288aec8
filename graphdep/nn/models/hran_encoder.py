"""Words read in both directions, for a decoder that attends to words and utterances."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data

from graphdep.nn.models._word_rnn import WordRNN
from graphdep.nn.models.context_encoder import ContextEncoder, example_bounds
from graphdep.nn.models.memory import Memory
from graphdep.nn.models.node_embedding import NodeEmbedding


class HRANEncoder(ContextEncoder):
    r"""The word encoder of the hierarchical recurrent attention network (HRAN), from `"Hierarchical Recurrent
    Attention Network for Response Generation" <https://arxiv.org/abs/1701.07149>`_.

    .. math::
        \mathbf{h}_{i,j} = [\overrightarrow{\mathrm{GRU}}(\mathbf{x}_{i,0}, \ldots, \mathbf{x}_{i,j});
        \overleftarrow{\mathrm{GRU}}(\mathbf{x}_{i,n_i}, \ldots, \mathbf{x}_{i,j})]

    The rest of the network, attention to words, a network over utterances and attention to these, depends on
    the state of the decoder and so is its part. A row of the memory is a word, or the ROOT node before the
    words, which is a start symbol; its group is its utterance.

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of word vectors and of states, both directions together. (default: :obj:`768`)
        num_layers: Number of layers. (default: :obj:`1`)
        dropout: Dropout probability of the embeddings and between layers. (default: :obj:`0.1`)
        vectors: Pretrained word vectors ``[num_words, dim]``. (default: :obj:`None`)

    Shapes:
        - data: a node table with ROOT nodes; output: a :class:`Memory` of one row a word or ROOT

    Raises:
        ValueError: If :obj:`hidden_channels` is below 1 or odd, or the data has no ROOT nodes.

    Example:
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.nn.models import HRANEncoder
        >>> turns = [Sentence.chain(["Who", "sings", "?"]), Sentence.chain(["She", "does", "."])]
        >>> data = to_data(turns, vocab=Vocab.build(turn.form for turn in turns))
        >>> HRANEncoder(num_words=11, hidden_channels=8)(data)
        Memory(x=[8, 8], ptr=[2], group=[8])
    """

    def __init__(
        self,
        num_words: int,
        *,
        hidden_channels: int = 768,
        num_layers: int = 1,
        dropout: float = 0.1,
        vectors: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.hidden_channels = hidden_channels
        self.embedding = NodeEmbedding(
            num_words, hidden_channels, max_positions=0, max_levels=0, vectors=vectors, dropout=dropout
        )
        self.words = WordRNN(
            hidden_channels, cell="gru", bidirectional=True, num_layers=num_layers, dropout=dropout
        )

    def forward(self, data: Data) -> Memory:
        nodes, states, _ = self.words(data, self.embedding(data))
        return Memory(states, torch.searchsorted(nodes, example_bounds(data)), data.utterance[nodes])
