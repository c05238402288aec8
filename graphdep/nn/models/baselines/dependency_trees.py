"""Tree-LSTM and DT-RNN over dependency trees."""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from graphdep.io.limits import check_choice, check_count
from graphdep.nn.attention.layout import TensorContainer
from graphdep.nn.models.embedding import check_directions, word_embedding
from graphdep.nn.models.transformer import TextEncoder, root_nodes, word_mean
from graphdep.nn.prepared import kept, no_states


class TreeLevels(TensorContainer):
    r"""The nodes of each depth form a level, across the batch.

    The dependents of a level are exactly the level below it, so a step up or down needs no other states, and
    a batch takes as many steps as its deepest tree has levels. The last level has the ROOT nodes.

    Args:
        data: A node table with ROOT nodes.

    Attributes:
        order: The nodes of the trees, deepest level first: ``[nodes in trees]``.
        sizes: Number of nodes of each level, deepest first.
        governors: For each level but the last, the index of each node's governor in the next level.

    Raises:
        ValueError: If the data has no ROOT nodes, or a depth is not that of the governor plus one.
    """

    def __init__(self, data: Data) -> None:
        check_trees(data)
        depth, governor = data.depth, data.governor_index
        self.num_nodes = depth.numel()
        nodes = (depth >= 0).nonzero().view(-1)
        self.order = nodes[depth[nodes].argsort(descending=True, stable=True)]
        level = depth[self.order]
        count = torch.bincount(level)
        self.sizes: list[int] = count.flip(0).tolist()
        below = count.flip(0).cumsum(0).flip(0) - count  # number of nodes in deeper levels
        place = torch.empty_like(depth)
        place[self.order] = torch.arange(level.numel(), device=level.device) - below[level]
        self.governors = place[governor[self.order]].split(self.sizes)[:-1]

    @cached_property
    def families(self) -> list[tuple[Tensor, Tensor]]:
        """For each level but the last, the indices of governors in the next level, and the index of each
        node's governor among these.
        """
        return [governor.unique(return_inverse=True) for governor in self.governors]

    def split(self, x: Tensor) -> tuple[Tensor, ...]:
        """The rows of each level, deepest first; ``x`` has the rows of :attr:`order`."""
        return x.split(self.sizes)

    def join(self, levels: list[Tensor]) -> Tensor:
        """One row per node, in node order, from the rows of each level; zeros outside the trees."""
        x = torch.cat(levels)
        return x.new_zeros(self.num_nodes, x.size(-1)).index_copy_(0, self.order, x)


@kept
def tree_levels(data: Data) -> TreeLevels:
    """The levels of the trees of a batch."""
    return TreeLevels(data)


def sum_children(x: Tensor, governor: Tensor, size: int) -> Tensor:
    """The sum of the dependents' rows, for each of ``size`` governors."""
    return x.new_zeros(size, x.size(-1)).index_add_(0, governor, x)


def check_trees(data: Data) -> None:
    """Raises :class:`ValueError` unless trees have ROOT nodes and depths that fit their governors."""
    root_nodes(data)
    depth, governor = data.depth, data.governor_index
    wrong = ((depth > 0) & (depth[governor] != depth - 1)).nonzero().view(-1)
    if wrong.numel():
        node = int(wrong[0])
        above = int(governor[node])
        raise ValueError(
            f"node {node} of depth {int(depth[node])} has governor {above} of depth {int(depth[above])}: "
            "every tree needs a ROOT node, and each arc adds one to the depth"
        )


EXECUTIONS = ("level", "recursive")


class TreeLSTM(TextEncoder):
    r"""Child-sum Tree-LSTM over the dependency tree, from `"Improved Semantic Representations From
    Tree-Structured Long Short-Term Memory Networks" <https://aclanthology.org/P15-1150/>`_ (Eq. 2-8).

    .. math::
        \tilde{\mathbf{h}}_j &= \sum_{k \in C(j)} \mathbf{h}_k, \\
        [\mathbf{i}_j; \mathbf{o}_j; \mathbf{u}_j] &= [\sigma; \sigma; \tanh]
        (\mathbf{W}^{iou} \mathbf{x}_j + \mathbf{U}^{iou} \tilde{\mathbf{h}}_j + \mathbf{b}^{iou}), \\
        \mathbf{f}_{jk} &= \sigma(\mathbf{W}^f \mathbf{x}_j + \mathbf{U}^f \mathbf{h}_k + \mathbf{b}^f), \\
        \mathbf{c}_j &= \mathbf{i}_j \odot \mathbf{u}_j + \sum_k \mathbf{f}_{jk} \odot \mathbf{c}_k,
        \quad \mathbf{h}_j = \mathbf{o}_j \odot \tanh(\mathbf{c}_j)

    where :math:`C(j)` are the dependents of word :math:`j`. ROOT has no word: its state is
    :math:`\tilde{\mathbf{h}}`, the state of the root word (or the sum of several). Nodes outside the trees
    have zeros. Pretrained vectors keep their size. The authors' `code
    <https://github.com/stanfordnlp/treelstm>`_ has no :math:`\mathbf{o}` in its models of relatedness
    (:math:`\mathbf{h} = \tanh(\mathbf{c})`, consistent with the paper's 203,400 parameters); here there
    always is one.

    With :obj:`bidirectional` an LSTM also goes down from each governor :math:`g` to its dependents :math:`j`,
    as over the dependency trees of `"End-to-End Relation Extraction using LSTMs on Sequences and Tree
    Structures" <https://arxiv.org/abs/1601.00770>`_; a root word starts from zeros:

    .. math::
        [\mathbf{i}_j; \mathbf{o}_j; \mathbf{u}_j; \mathbf{f}_j] &= [\sigma; \sigma; \tanh; \sigma]
        (\mathbf{W}^{\downarrow} \mathbf{x}_j + \mathbf{U}^{\downarrow} \mathbf{h}^{\downarrow}_g +
        \mathbf{b}^{\downarrow}), \\
        \mathbf{c}^{\downarrow}_j &= \mathbf{i}_j \odot \mathbf{u}_j + \mathbf{f}_j \odot
        \mathbf{c}^{\downarrow}_g, \quad
        \mathbf{h}^{\downarrow}_j = \mathbf{o}_j \odot \tanh(\mathbf{c}^{\downarrow}_j)

    A word then has :math:`[\mathbf{h}_j; \mathbf{h}^{\downarrow}_j]`, half of the channels each; ROOT has the
    state of the root word and the mean of :math:`\mathbf{h}^{\downarrow}` over the words. This form is our
    own: `"Head-Lexicalized Bidirectional Tree LSTMs" <https://aclanthology.org/Q17-1012/>`_ goes down
    constituency trees, whose inner nodes have no words.

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of the node states, both directions together. (default: :obj:`300`)
        bidirectional: Also go down the tree. (default: :obj:`False`)
        execution: ``"level"``: all nodes of one depth at once, across the batch. ``"recursive"``: node by
            node, as in most public code. Both give the same result. (default: ``"level"``)
        dropout: Dropout probability of the embeddings. (default: :obj:`0.0`)
        vectors: Pretrained word vectors ``[num_words, dim]``. (default: :obj:`None`)

    Shapes:
        - data: a node table with ROOT nodes; output :math:`(|\mathcal{V}|, C)`

    Raises:
        ValueError: If :obj:`execution` is unknown, :obj:`hidden_channels` is odd for two directions, the data
            has no ROOT nodes, or its depths do not fit its governors.

    Example:
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.nn.models import TreeLSTM
        >>> vocab = Vocab(["She", "sings"])
        >>> data = to_data([Sentence(["She", "sings"], [2, 0], ["nsubj", "root"])], vocab=vocab)
        >>> TreeLSTM(len(vocab), hidden_channels=8, bidirectional=True)(data).shape
        torch.Size([3, 8])
    """

    def __init__(
        self,
        num_words: int,
        *,
        hidden_channels: int = 300,
        bidirectional: bool = False,
        execution: str = "level",
        dropout: float = 0.0,
        vectors: Tensor | None = None,
    ) -> None:
        super().__init__()
        check_choice("execution", execution, EXECUTIONS)
        check_directions(hidden_channels, bidirectional)
        self.hidden_channels, self.execution = hidden_channels, execution
        in_channels = hidden_channels if vectors is None else vectors.size(-1)
        self.embedding = word_embedding(num_words, in_channels, vectors, dropout)
        size = hidden_channels // 2 if bidirectional else hidden_channels
        self.up = _UpwardCell(in_channels, size)
        self.down = _DownwardCell(in_channels, size) if bidirectional else None

    def prepare_batch(self, data: Data, device: torch.device) -> None:
        if self.execution == "level":
            tree_levels(data)
        if self.down is not None:
            word_mean(data, no_states(data))

    def forward(self, data: Data) -> Tensor:
        run = _by_level if self.execution == "level" else _by_node
        up, down = run(data, self.embedding(data), self.up, self.down)
        if down is None:
            return up
        return torch.cat([up, down.index_copy(0, root_nodes(data), word_mean(data, down))], dim=-1)

    def extra_repr(self) -> str:
        return f"execution={self.execution!r}"


class _UpwardCell(nn.Module):
    """Eq. 2-8; the terms of the input come first, since they need no states."""

    def __init__(self, in_channels: int, channels: int) -> None:
        super().__init__()
        self.lin_x = nn.Linear(in_channels, 4 * channels)
        self.lin_iou = nn.Linear(channels, 3 * channels, bias=False)
        self.lin_f = nn.Linear(channels, channels, bias=False)

    @property
    def channels(self) -> int:
        return self.lin_f.in_features

    def inputs(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The terms of the words in i, o, u and in f."""
        iou, f = self.lin_x(x).split([3 * self.channels, self.channels], dim=-1)
        return iou, f

    def level(self, iou: Tensor, f: Tensor, h: Tensor, c: Tensor, governor: Tensor) -> tuple[Tensor, Tensor]:
        """The states of a level from those of the level below."""
        total = sum_children(h, governor, iou.size(0))
        forget = torch.sigmoid(f.index_select(0, governor) + self.lin_f(h))
        return self.combine(iou + self.lin_iou(total), sum_children(forget * c, governor, iou.size(0)))

    def node(self, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        """The state of one node ``[1, channels]`` from those of its dependents."""
        iou, f = self.inputs(x)
        kept = torch.sigmoid(f + self.lin_f(h)) * c
        return self.combine(iou + self.lin_iou(h.sum(dim=0, keepdim=True)), kept.sum(dim=0, keepdim=True))

    def combine(self, iou: Tensor, kept: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The states from the gate inputs and from the memory that the dependents keep."""
        gates, u = iou.split([2 * self.channels, self.channels], dim=-1)
        i, o = torch.sigmoid(gates).chunk(2, dim=-1)
        c = i * torch.tanh(u) if kept is None else torch.addcmul(kept, i, torch.tanh(u))
        return o * torch.tanh(c), c


class _DownwardCell(nn.Module):
    """An LSTM cell whose previous state is that of the governor."""

    def __init__(self, in_channels: int, channels: int) -> None:
        super().__init__()
        self.lin_x = nn.Linear(in_channels, 4 * channels)
        self.lin_h = nn.Linear(channels, 4 * channels, bias=False)

    def forward(self, gates: Tensor, h: Tensor | None, c: Tensor | None) -> tuple[Tensor, Tensor]:
        """The states of nodes from the input terms and the states of their governors, if any."""
        gates = gates if h is None else gates + self.lin_h(h)
        i, o, u, f = gates.chunk(4, dim=-1)
        written = torch.sigmoid(i) * torch.tanh(u)
        c = written if c is None else written + torch.sigmoid(f) * c
        return torch.sigmoid(o) * torch.tanh(c), c


States = tuple[Tensor, Tensor | None]


def _by_level(data: Data, x: Tensor, up: _UpwardCell, down: _DownwardCell | None) -> States:
    levels = tree_levels(data)
    x = x.index_select(0, levels.order)
    below = _levels_up(levels, x, up)
    above = None if down is None else levels.join(_levels_down(levels, x, down))
    return levels.join(below), above


def _levels_up(levels: TreeLevels, x: Tensor, cell: _UpwardCell) -> list[Tensor]:
    if len(levels.sizes) == 1:  # ROOT nodes alone
        return [x.new_zeros(levels.sizes[0], cell.channels)]
    # Split once: the backward pass of every single slice would allocate a gradient of full size.
    iou, f = (levels.split(term) for term in cell.inputs(x))
    h, c = cell.combine(iou[0])
    states = [h]
    for level in range(1, len(levels.sizes) - 1):
        h, c = cell.level(iou[level], f[level], h, c, levels.governors[level - 1])
        states.append(h)
    return [*states, sum_children(h, levels.governors[-1], levels.sizes[-1])]


def _levels_down(levels: TreeLevels, x: Tensor, cell: _DownwardCell) -> list[Tensor]:
    gates = levels.split(cell.lin_x(x))
    if len(gates) == 1:
        return [x.new_zeros(levels.sizes[0], gates[0].size(-1) // 4)]
    h, c = cell(gates[-2], None, None)
    states = [torch.zeros_like(gates[-1][:, : h.size(-1)]), h]
    for level in range(len(levels.sizes) - 3, -1, -1):
        governor = levels.governors[level]
        h, c = cell(gates[level], h.index_select(0, governor), c.index_select(0, governor))
        states.append(h)
    return states[::-1]


def _by_node(data: Data, x: Tensor, up: _UpwardCell, down: _DownwardCell | None) -> States:
    check_trees(data)
    inputs = x.split(1)
    h_up = [x.new_zeros(1, up.channels)] * len(inputs)
    h_down = list(h_up)
    for tree in _trees(data):
        _tree_up(tree, inputs, up, h_up)
        if down is not None:
            _tree_down(tree, inputs, down, h_down)
    return torch.cat(h_up), None if down is None else torch.cat(h_down)


def _trees(data: Data) -> list[dict[int, list[int]]]:
    """The nodes of each utterance, governors first, each with its dependents.

    In reverse, dependents come first, which replaces the recursion of other code: for a sentence of a few
    hundred words it would exceed Python's recursion limit.
    """
    children: list[list[int]] = [[] for _ in range(data.num_nodes)]
    for node, governor in enumerate(data.governor_index.tolist()):
        if governor != node:
            children[governor].append(node)
    trees = []
    for root in root_nodes(data).tolist():
        nodes = [root]
        for node in nodes:  # grows in the loop
            nodes += children[node]
        trees.append({node: children[node] for node in nodes})
    return trees


def _tree_up(
    tree: dict[int, list[int]], inputs: tuple[Tensor, ...], cell: _UpwardCell, states: list[Tensor]
) -> None:
    memory: dict[int, Tensor] = {}
    *words, root = reversed(tree)
    none = states[root]
    for node in words:
        below = tree[node]
        h = torch.cat([states[child] for child in below]) if below else none
        c = torch.cat([memory[child] for child in below]) if below else none
        states[node], memory[node] = cell.node(inputs[node], h, c)
    if words:
        states[root] = torch.cat([states[child] for child in tree[root]]).sum(dim=0, keepdim=True)


def _tree_down(
    tree: dict[int, list[int]], inputs: tuple[Tensor, ...], cell: _DownwardCell, states: list[Tensor]
) -> None:
    memory: dict[int, Tensor | None] = {}
    for governor, below in tree.items():
        # ROOT is not a word and has no memory to pass on.
        h = states[governor] if governor in memory else None
        for node in below:
            states[node], memory[node] = cell(cell.lin_x(inputs[node]), h, memory.get(governor))


COUNTED_FROM = ("governor", "left")


class DependencyTreeRNN(TextEncoder):
    r"""DT-RNN, a recursive network over the dependency tree, from `"Grounded Compositional Semantics for
    Finding and Describing Images with Sentences" <https://aclanthology.org/Q14-1017/>`_ (section 3).

    .. math::
        \mathbf{h}_i = \tanh\Big(\frac{1}{\ell(i)} \Big(\mathbf{W}_v \mathbf{x}_i +
        \sum_{j \in C(i)} \ell(j)\, \mathbf{W}_{pos(i,j)} \mathbf{h}_j\Big)\Big)

    where :math:`C(i)` are the dependents of word :math:`i`, :math:`\ell(i)` is the number of words in its
    subtree, and :math:`pos(i, j)` is the place of :math:`j` among the dependents to the left or to the right
    of :math:`i`: each place has its own matrix, without biases. The paper has as many places as its data
    need; here later places share the last matrix, so that no tree is too wide. In UD's EWT, .2% of the
    dependents are beyond the sixth place of their side.

    We found no statement that places count outwards from the governor; to the right this is also word order,
    to the left it is the reverse, and :obj:`places_from` has both. The paper does not give the initialization
    either: here it is that of PyTorch's linear layers of that size. We could not verify that the nonlinearity
    is tanh.

    ROOT has no word: its state is that of the root word (or the mean of several, weighted by :math:`\ell`).
    Nodes outside the trees have zeros. Pretrained vectors keep their size.

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of the node states. (default: :obj:`300`)
        dependent_places: Number of places with their own matrix on each side. (default: :obj:`6`)
        places_from: The first place of a side: ``"governor"``: the dependent next to the governor;
            ``"left"``: the leftmost one. (default: ``"governor"``)
        dropout: Dropout probability of the embeddings. (default: :obj:`0.0`)
        vectors: Pretrained word vectors ``[num_words, dim]``. (default: :obj:`None`)

    Shapes:
        - data: a node table with ROOT nodes; output :math:`(|\mathcal{V}|, C)`

    Raises:
        ValueError: If :obj:`places_from` is unknown, :obj:`dependent_places` is not a whole number >= 1, the
            data has no ROOT nodes, or its depths do not fit its governors.

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
        check_choice("places_from", places_from, COUNTED_FROM)
        self.hidden_channels, self.places_from = hidden_channels, places_from
        self.dependent_places = check_count("dependent_places", dependent_places, least=1)
        in_channels = hidden_channels if vectors is None else vectors.size(-1)
        self.embedding = word_embedding(num_words, in_channels, vectors, dropout)
        self.lin_word = nn.Linear(in_channels, hidden_channels, bias=False)
        self.place = nn.Parameter(torch.empty(2 * dependent_places, hidden_channels, hidden_channels))
        self._reset_places()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        self._reset_places()

    def _reset_places(self) -> None:
        bound = self.hidden_channels**-0.5
        nn.init.uniform_(self.place, -bound, bound)

    def prepare_batch(self, data: Data, device: torch.device) -> None:
        _ = tree_levels(data).families

    def forward(self, data: Data) -> Tensor:
        levels = tree_levels(data)
        word = levels.split(self.lin_word(self.embedding(data).index_select(0, levels.order)))
        if len(word) == 1:  # ROOT nodes alone
            return word[0].new_zeros(levels.num_nodes, self.hidden_channels)
        place = levels.split(self._places_of(data.governor_index, levels.order))
        states = [torch.tanh(word[0])]
        weight = data.depth.new_ones(levels.sizes[0], 1)
        for level in range(1, len(word) - 1):
            governor, below = levels.governors[level - 1], weight
            weight = 1 + sum_children(below, governor, levels.sizes[level])
            family = levels.families[level - 1]
            total = word[level] + self._composed(below * states[-1], family, place[level - 1], len(weight))
            states.append(torch.tanh(total / weight))
        return levels.join([*states, _weighted_mean(states[-1], weight, levels)])

    def _composed(self, x: Tensor, family: tuple[Tensor, Tensor], place: Tensor, size: int) -> Tensor:
        """Sums the dependents' rows for ``size`` governors, each row times the matrix of its place."""
        # One product for all places: rows are concatenated by place. Only governors have such rows.
        inner, row = family
        places = 2 * self.dependent_places
        slots = sum_children(x, row * places + place, inner.numel() * places)
        parts = slots.view(inner.numel(), -1) @ self.place.view(-1, self.hidden_channels)
        return parts.new_zeros(size, self.hidden_channels).index_copy_(0, inner, parts)

    def _places_of(self, governor: Tensor, node: Tensor) -> Tensor:
        """The matrix of each given node, left side first; meaningless for words under ROOT."""
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
    """The states of the ROOT nodes from those of the root words; zeros without any."""
    governor, size = levels.governors[-1], levels.sizes[-1]
    return sum_children(weight * x, governor, size) / sum_children(weight, governor, size).clamp(min=1)
