"""What encoders over binary trees of constituents share."""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor
from torch_geometric.data import Data

from graphdep.nn.models._binary_levels import BinaryLevels
from graphdep.nn.models._binary_trees import BinaryTrees, binary_trees, check_rule
from graphdep.nn.models.node_embedding import NodeEmbedding
from graphdep.nn.models.text_encoder import TextEncoder
from graphdep.transforms.presets import count


class ConstituentEncoder(TextEncoder):
    r"""Base of the encoders that go through the constituents of a text, two parts at a time.

    The constituents (``to_data(..., phrases="spans")``) are binarised as
    :func:`~graphdep.sentence.sentence` does it; those over the same words are one. A subclass defines
    :meth:`node_states`; all nodes of one depth are to be computed at once, over the whole batch. ROOT has the
    state of the node above all words. Nodes that are neither word nor ROOT have zeros, and so has the ROOT of
    an utterance without words.

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of the node states.
        in_channels: Size of the words' vectors, as :attr:`embedding` gives them. (default: that of
            :obj:`vectors`; :obj:`hidden_channels` without any)
        binarized: How constituents of more than two parts are binarised: ``"left"``, or from the ``"head"``,
            which the dependency tree gives. (default: ``"left"``)
        dropout: Dropout probability of the words' vectors. (default: :obj:`0.0`)
        vectors: Pretrained word vectors ``[num_words, dim]``. (default: :obj:`None`)

    Shapes:
        - data: a node table with ROOT nodes, ``phrase_index`` and ``phrase_type``; output
          :math:`(|\mathcal{V}|, C)`

    Raises:
        ValueError: If :obj:`binarized` is unknown, the data has no constituents, or no ROOT nodes.

    Example:
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.nn.models import RNTN, ConstituentEncoder
        >>> phrases = [("S", 0, 3), ("NP", 0, 2)]
        >>> tree = ["big", "dogs", "bark"], [2, 3, 0], ["amod", "nsubj", "root"]
        >>> vocab = Vocab(["dogs", "bark"])
        >>> data = to_data([Sentence(*tree, constituents=phrases)], vocab=vocab, phrases="spans")
        >>> encoder: ConstituentEncoder = RNTN(len(vocab), hidden_channels=8)
        >>> nodes, constituents = encoder.states(data)
        >>> nodes.shape, constituents.shape, bool((nodes[0] == constituents[0]).all())
        (torch.Size([4, 8]), torch.Size([2, 8]), True)
    """

    def __init__(
        self,
        num_words: int,
        *,
        hidden_channels: int,
        in_channels: int | None = None,
        binarized: str = "left",
        dropout: float = 0.0,
        vectors: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.hidden_channels = count("hidden_channels", hidden_channels, 1)
        self.binarized = check_rule(binarized)
        if in_channels is None:
            in_channels = hidden_channels if vectors is None else vectors.size(-1)
        self.in_channels = in_channels
        self.embedding = NodeEmbedding(
            num_words, in_channels, max_positions=0, max_levels=0, vectors=vectors, dropout=dropout
        )

    @abstractmethod
    def node_states(self, data: Data, trees: BinaryTrees, levels: BinaryLevels) -> Tensor:
        """The states of all nodes of the binary trees, ``[words + inner, C]``; there is one word at least."""

    def forward(self, data: Data) -> Tensor:
        return self.states(data)[0]

    def states(self, data: Data) -> tuple[Tensor, Tensor]:
        r"""The states of the nodes of the table, and those of its constituents, in their order:
        :math:`(|\mathcal{V}|, C)` and :math:`(|\mathcal{P}|, C)`.
        """
        trees = binary_trees(data, self.binarized)
        num_words = trees.word.numel()
        if num_words == 0:
            x = self.embedding(data).new_zeros(1)
            return x.new_zeros(data.node_type.numel(), self.hidden_channels), x.new_zeros(
                0, self.hidden_channels
            )
        x = self.node_states(data, trees, BinaryLevels(trees))
        node = torch.cat([trees.word, trees.root])
        rows = torch.cat([x[:num_words], x.index_select(0, trees.top)])
        table = x.new_zeros(data.node_type.numel(), x.size(-1)).index_copy(0, node, rows)
        return table, x.index_select(0, trees.phrase)

    def extra_repr(self) -> str:
        return f"binarized={self.binarized!r}"
