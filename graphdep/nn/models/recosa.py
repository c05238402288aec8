"""Recurrent utterances, self-attention between them."""

from __future__ import annotations

from torch import Tensor
from torch_geometric.data import Data

from graphdep.nn.models._turn_transformer import TurnTransformer
from graphdep.nn.models._utterances import utterance_bounds
from graphdep.nn.models._word_rnn import WordRNN
from graphdep.nn.models.context_encoder import ContextEncoder
from graphdep.nn.models.memory import Memory
from graphdep.nn.models.node_embedding import NodeEmbedding


class ReCoSa(ContextEncoder):
    r"""Finds the relevant utterances by self-attention, from `"ReCoSa: Detecting the Relevant Contexts with
    Self-Attention for Multi-turn Dialogue Generation" <https://aclanthology.org/P19-1362/>`_.

    .. math::
        \mathbf{u}_i = \mathrm{RNN}(\mathbf{x}_{i,0}, \ldots, \mathbf{x}_{i,n_i}), \quad
        (\mathbf{h}_1, \ldots, \mathbf{h}_T) = \mathrm{Transformer}(\mathbf{u}_1 + \mathbf{p}_1, \ldots,
        \mathbf{u}_T + \mathbf{p}_T)

    with the last state of a network over the words, ROOT in front as a start symbol, and turn embeddings
    :math:`\mathbf{p}`. A row of the memory is an utterance.

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of word vectors and states. (default: :obj:`768`)
        num_layers: Blocks over the utterances. (default: :obj:`3`)
        heads: Attention heads a block; divides :obj:`hidden_channels`. (default: :obj:`16`)
        ff_channels: Size of the feed-forward layers. (default: :obj:`3072`)
        dropout: Dropout probability. (default: :obj:`0.1`)
        cell: ``"lstm"``, or ``"gru"``. (default: ``"lstm"``)
        word_layers: Layers of the network over the words. (default: :obj:`1`)
        turn_embedding: Tell the order of the utterances. (default: :obj:`True`)
        max_turns: Turns told apart. (default: :obj:`64`)
        vectors: Pretrained word vectors ``[num_words, dim]``. (default: :obj:`None`)

    Shapes:
        - data: a node table with ROOT nodes; output: a :class:`Memory` of one row an utterance

    Raises:
        ValueError: If :obj:`cell` is unknown, :obj:`heads` does not divide :obj:`hidden_channels`, or the
            data has no ROOT nodes.

    Example:
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.nn.models import ReCoSa
        >>> turns = [Sentence.chain(["Who", "sings", "?"]), Sentence.chain(["She", "does", "."])]
        >>> data = to_data(turns, vocab=Vocab.build(turn.form for turn in turns))
        >>> ReCoSa(num_words=11, hidden_channels=8, heads=2, ff_channels=8)(data)
        Memory(x=[2, 8], ptr=[2], group=None)
    """

    def __init__(
        self,
        num_words: int,
        *,
        hidden_channels: int = 768,
        num_layers: int = 3,
        heads: int = 16,
        ff_channels: int = 3072,
        dropout: float = 0.1,
        cell: str = "lstm",
        word_layers: int = 1,
        turn_embedding: bool = True,
        max_turns: int = 64,
        vectors: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.hidden_channels = hidden_channels
        self.embedding = NodeEmbedding(
            num_words, hidden_channels, max_positions=0, max_levels=0, vectors=vectors, dropout=dropout
        )
        self.words = WordRNN(
            hidden_channels, cell=cell, bidirectional=False, num_layers=word_layers, dropout=dropout
        )
        self.context = TurnTransformer(
            hidden_channels,
            num_layers=num_layers,
            heads=heads,
            ff_channels=ff_channels,
            dropout=dropout,
            max_turns=max_turns if turn_embedding else 0,
        )

    def forward(self, data: Data) -> Memory:
        _, _, utterances = self.words(data, self.embedding(data))
        ptr = utterance_bounds(data)
        return Memory(self.context(utterances, ptr), ptr)
