"""A recurrent network over utterances that a recurrent network has read."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from graphdep.nn.models._sequences import run_over
from graphdep.nn.models._utterances import utterance_bounds
from graphdep.nn.models._word_rnn import WordRNN
from graphdep.nn.models.context_encoder import ContextEncoder
from graphdep.nn.models.memory import Memory
from graphdep.nn.models.node_embedding import NodeEmbedding


class HREDEncoder(ContextEncoder):
    r"""The encoder of the hierarchical recurrent encoder-decoder (HRED), from `"Building End-To-End Dialogue
    Systems Using Generative Hierarchical Neural Network Models" <https://arxiv.org/abs/1507.04808>`_.

    .. math::
        \mathbf{u}_i = \mathrm{GRU}_{\mathrm{word}}(\mathbf{x}_{i,0}, \ldots, \mathbf{x}_{i,n_i}), \quad
        \mathbf{c} = \mathrm{GRU}_{\mathrm{context}}(\mathbf{u}_1, \ldots, \mathbf{u}_T)

    with the last state of each; ROOT comes before the words as a start symbol. A row of the memory is a whole
    context.

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of word vectors and states. (default: :obj:`768`)
        num_layers: Layers of each network. (default: :obj:`1`)
        bidirectional: Read words in both directions, each with half of the channels. (default: :obj:`False`)
        dropout: Dropout probability of the embeddings and between layers. (default: :obj:`0.1`)
        vectors: Pretrained word vectors ``[num_words, dim]``. (default: :obj:`None`)

    Shapes:
        - data: a node table with ROOT nodes; output: a :class:`Memory` of one row an example

    Raises:
        ValueError: If :obj:`hidden_channels` is below 1 or odd for two directions, or the data has no ROOT
            nodes.

    Example:
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.nn.models import HREDEncoder
        >>> turns = [Sentence.chain(["Who", "sings", "?"]), Sentence.chain(["She", "does", "."])]
        >>> data = to_data(turns, vocab=Vocab.build(turn.form for turn in turns))
        >>> HREDEncoder(num_words=11, hidden_channels=8)(data)
        Memory(x=[1, 8], ptr=[2], group=None)
    """

    def __init__(
        self,
        num_words: int,
        *,
        hidden_channels: int = 768,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.1,
        vectors: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.hidden_channels = hidden_channels
        self.embedding = NodeEmbedding(
            num_words, hidden_channels, max_positions=0, max_levels=0, vectors=vectors, dropout=dropout
        )
        self.words = WordRNN(
            hidden_channels, cell="gru", bidirectional=bidirectional, num_layers=num_layers, dropout=dropout
        )
        self.context = nn.GRU(
            hidden_channels, hidden_channels, num_layers, dropout=dropout if num_layers > 1 else 0.0
        )

    def forward(self, data: Data) -> Memory:
        _, _, utterances = self.words(data, self.embedding(data))
        turns = utterance_bounds(data).diff()
        _, last = run_over(self.context, utterances, turns)
        return Memory(last[-1], torch.arange(turns.numel() + 1, device=last.device))
