"""DT-RNN: a recursive network over dependency trees with a matrix for each place of a dependent."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from graphdep.nn.models._levels import TreeLevels, sum_children
from graphdep.nn.models.node_embedding import NodeEmbedding
from graphdep.nn.models.text_encoder import TextEncoder
from graphdep.transforms.presets import count

COUNTED_FROM = ("governor", "left")


class DependencyTreeRNN(TextEncoder):
    r"""DT-RNN, a recursive network over the dependency tree, from `"Grounded Compositional Semantics for
    Finding and Describing Images with Sentences" <https://aclanthology.org/Q14-1017/>`_ (section 3).

    .. math::
        \mathbf{h}_i = \tanh\Big(\frac{1}{\ell(i)} \Big(\mathbf{W}_v \mathbf{x}_i +
        \sum_{j \in C(i)} \ell(j)\, \mathbf{W}_{pos(i,j)} \mathbf{h}_j\Big)\Big)

    where :math:`C(i)` are the dependents of word :math:`i`, :math:`\ell(i)` is the number of words at and
    below it, and :math:`pos(i, j)` says that :math:`j` is the first, second, ... of the dependents to the
    left or to the right of :math:`i`: each such place has a matrix of its own, and there are no biases. The
    paper has as many places as its data need; here those beyond the last share its matrix, so that no tree
    is too wide. Of the dependents in UD's EWT .2% stand beyond the sixth place of their side.

    What is counted outwards from the governor, we have not found said; on the right, that is also the order
    of the words, on the left it is the other way round, and :obj:`places_from` has both. The paper does not
    say either where its matrices start: here where PyTorch's linear layers of as many channels do. That its
    nonlinearity is tanh we could not verify.

    ROOT has no word to add: its state is that of the root word (where a tree has several, their mean,
    weighted by :math:`\ell`). Nodes outside the trees have zeros. Pretrained vectors enter in their own size.

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of the node states. (default: :obj:`300`)
        dependent_places: Places with a matrix of their own on either side, so that there are twice as many.
            (default: :obj:`6`)
        places_from: ``"governor"``: the dependent next to the governor is the first of its side; ``"left"``:
            the leftmost is. (default: ``"governor"``)
        dropout: Dropout probability of the embeddings. (default: :obj:`0.0`)
        vectors: Pretrained word vectors ``[num_words, dim]``. (default: :obj:`None`)

    Shapes:
        - data: a node table with ROOT nodes; output :math:`(|\mathcal{V}|, C)`

    Raises:
        ValueError: If :obj:`places_from` is unknown, :obj:`dependent_places` is no whole number from 1 on,
            the data has no ROOT nodes, or its depths do not fit its governors.

    Example:
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.nn.models import DependencyTreeRNN
        >>> vocab = Vocab(["She", "sings"])
        >>> data = to_data([Sentence(["She", "sings"], [2, 0], ["nsubj", "root"])], vocab=vocab)
        >>> DependencyTreeRNN(len(vocab), hidden_channels=8)(data).shape
        torch.Size([3, 8])
    """

    def __init__(
        self,
        num_words: int,
        *,
        hidden_channels: int = 300,
        dependent_places: int = 6,
        places_from: str = "governor",
        dropout: float = 0.0,
        vectors: Tensor | None = None,
    ) -> None:
        super().__init__()
        if places_from not in COUNTED_FROM:
            raise ValueError(f"'places_from' must be one of {', '.join(COUNTED_FROM)} (got {places_from!r})")
        self.hidden_channels, self.places_from = hidden_channels, places_from
        self.dependent_places = count("dependent_places", dependent_places, at_least=1)
        in_channels = hidden_channels if vectors is None else vectors.size(-1)
        self.embedding = NodeEmbedding(
            num_words, in_channels, max_positions=0, max_levels=0, vectors=vectors, dropout=dropout
        )
        self.lin_word = nn.Linear(in_channels, hidden_channels, bias=False)
        self.place = nn.Parameter(torch.empty(2 * dependent_places, hidden_channels, hidden_channels))
        self._reset_places()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        self._reset_places()

    def _reset_places(self) -> None:
        bound = self.hidden_channels**-0.5
        nn.init.uniform_(self.place, -bound, bound)

    def forward(self, data: Data) -> Tensor:
        levels = TreeLevels(data)
        word = levels.split(self.lin_word(self.embedding(data).index_select(0, levels.order)))
        if len(word) == 1:  # ROOT nodes alone
            return word[0].new_zeros(levels.num_nodes, self.hidden_channels)
        place = levels.split(self._places_of(data.governor_index, levels.order))
        states = [torch.tanh(word[0])]
        weight = data.depth.new_ones(levels.sizes[0], 1)
        for level in range(1, len(word) - 1):
            governor, below = levels.governors[level - 1], weight
            weight = 1 + sum_children(below, governor, levels.sizes[level])
            total = word[level] + self._composed(below * states[-1], governor, place[level - 1], len(weight))
            states.append(torch.tanh(total / weight))
        return levels.join([*states, _weighted_mean(states[-1], weight, levels)])

    def _composed(self, x: Tensor, governor: Tensor, place: Tensor, size: int) -> Tensor:
        """For each of ``size`` governors the sum of its dependents' rows, each by the matrix of its place."""
        # One product for all places: rows side by side by their place. Only governors have such rows.
        inner, row = governor.unique(return_inverse=True)
        places = 2 * self.dependent_places
        slots = sum_children(x, row * places + place, inner.numel() * places)
        parts = slots.view(inner.numel(), -1) @ self.place.view(-1, self.hidden_channels)
        return parts.new_zeros(size, self.hidden_channels).index_copy_(0, inner, parts)

    def _places_of(self, governor: Tensor, node: Tensor) -> Tensor:
        """The matrix of each of some nodes, the left side's first; of no meaning for words under ROOT."""
        governor = governor[node]
        right = (node > governor).long()
        family = 2 * governor + right
        order = ((node - governor).abs() if self.places_from == "governor" else node).argsort()
        order = order[family[order].argsort(stable=True)]
        ranked = family[order]
        rank = torch.arange(node.numel(), device=node.device) - torch.searchsorted(ranked, ranked)
        return (right * self.dependent_places).index_add(0, order, rank.clamp(max=self.dependent_places - 1))

    def extra_repr(self) -> str:
        return f"dependent_places={self.dependent_places}, places_from={self.places_from!r}"


def _weighted_mean(x: Tensor, weight: Tensor, levels: TreeLevels) -> Tensor:
    """The states of the ROOT nodes from those of the root words; zeros where there are none."""
    governor, size = levels.governors[-1], levels.sizes[-1]
    return sum_children(weight * x, governor, size) / sum_children(weight, governor, size).clamp(min=1)
