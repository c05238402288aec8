"""The mean of the word vectors."""

from __future__ import annotations

from torch import Tensor
from torch_geometric.data import Data

from graphdep.nn.models._utterances import root_nodes, word_mean
from graphdep.nn.models.node_embedding import NodeEmbedding
from graphdep.nn.models.text_encoder import TextEncoder


class WordAverage(TextEncoder):
    r"""Represents an utterance by the mean of its word vectors, blind to their order and to the tree.

    The state of a word is its embedding, that of ROOT the mean over the words of the utterance.

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of the node states. (default: :obj:`300`)
        dropout: Dropout probability of the embeddings. (default: :obj:`0.0`)
        vectors: Pretrained word vectors ``[num_words, dim]``. (default: :obj:`None`)

    Shapes:
        - data: a node table with ROOT nodes; output :math:`(|\mathcal{V}|, C)`

    Raises:
        ValueError: If the data has no ROOT nodes.

    Example:
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.nn.models import WordAverage
        >>> vocab = Vocab(["She", "sings"])
        >>> data = to_data([Sentence(["She", "sings"], [2, 0], ["nsubj", "root"])], vocab=vocab)
        >>> WordAverage(len(vocab), hidden_channels=8)(data).shape
        torch.Size([3, 8])
    """

    def __init__(
        self,
        num_words: int,
        *,
        hidden_channels: int = 300,
        dropout: float = 0.0,
        vectors: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.hidden_channels = hidden_channels
        self.embedding = NodeEmbedding(
            num_words, hidden_channels, max_positions=0, max_levels=0, vectors=vectors, dropout=dropout
        )

    def forward(self, data: Data) -> Tensor:
        x = self.embedding(data)
        return x.index_copy(0, root_nodes(data), word_mean(data, x))
