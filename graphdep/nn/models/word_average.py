"""The mean of the word vectors."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data

from graphdep.nn.models._utterances import root_nodes, utterance_of, word_mean, words_of
from graphdep.nn.models.node_embedding import NodeEmbedding
from graphdep.nn.models.text_encoder import TextEncoder
from graphdep.transforms.presets import count


class WordAverage(TextEncoder):
    r"""Represents an utterance by the mean of its word vectors, blind to their order and to the tree.

    The state of a word is its embedding, or with a :obj:`window` the mean over it and the words of its
    utterance around it; that of ROOT is the mean over the words of the utterance.

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of the node states. (default: :obj:`300`)
        window: Words on either side of a word that its state is a mean of, as well. (default: :obj:`0`)
        dropout: Dropout probability of the embeddings. (default: :obj:`0.0`)
        vectors: Pretrained word vectors ``[num_words, dim]``. (default: :obj:`None`)

    Shapes:
        - data: a node table with ROOT nodes; output :math:`(|\mathcal{V}|, C)`

    Raises:
        ValueError: If the data has no ROOT nodes, or :obj:`window` is no whole number from 0 on.

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
        window: int = 0,
        dropout: float = 0.0,
        vectors: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.hidden_channels, self.window = hidden_channels, count("window", window)
        self.embedding = NodeEmbedding(
            num_words, hidden_channels, max_positions=0, max_levels=0, vectors=vectors, dropout=dropout
        )

    def forward(self, data: Data) -> Tensor:
        x = self.embedding(data)
        root = x.index_copy(0, root_nodes(data), word_mean(data, x))
        return root if self.window == 0 else self._with_neighbours(data, root)

    def _with_neighbours(self, data: Data, x: Tensor) -> Tensor:
        words = words_of(data)
        states, utterance = x[words], utterance_of(data)[words]
        total, number = states.clone(), torch.ones_like(states[:, :1])
        longest = int(utterance.bincount().max()) if len(words) else 0
        for step in range(1, min(self.window, longest - 1) + 1):
            same = (utterance[step:] == utterance[:-step]).unsqueeze(-1).to(x.dtype)
            total[step:] += same * states[:-step]
            total[:-step] += same * states[step:]
            number[step:] += same
            number[:-step] += same
        return x.index_copy(0, words, total / number)

    def extra_repr(self) -> str:
        return f"window={self.window}"
