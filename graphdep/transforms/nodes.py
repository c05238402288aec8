"""What edge constructors read of a graph, on one ``Data`` and on a ``Batch`` alike."""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import cumsum

from graphdep.data import NodeType
from graphdep.transforms._node_table import check_table
from graphdep.transforms._options import choice
from graphdep.transforms._ranges import expand_ranges


class Nodes:
    r"""A view of the node table that knows examples, utterances, words and the tree.

    Everything is computed once, on first use, on the device of the data, so that the parts of a union
    share it.

    Args:
        data: One example or a batch of them, with the keys that :func:`graphdep.to_data` writes.

    Raises:
        ValueError: If the data is no ``Data``, a key that is asked for is missing, or the keys do not fit
            each other, as where PyG's ``subgraph`` or ``VirtualNode`` has changed the nodes under them.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import Nodes
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> nodes = Nodes(to_data([sentence]))
        >>> nodes.index[nodes.is_type(("WORD",))], nodes.parent
        (tensor([1, 2, 3, 4]), tensor([-1,  2,  0,  4,  2]))
    """

    def __init__(self, data: Data) -> None:
        if not isinstance(data, Data):
            raise ValueError(f"'data' must be a Data or a Batch of them (got {type(data).__name__})")
        check_table(data)
        self.data = data

    def __getitem__(self, key: str) -> Tensor:
        if key not in self.data:
            raise ValueError(f"the data has no {key!r} (it has {', '.join(sorted(self.data.keys()))})")
        return self.data[key]

    @cached_property
    def num_nodes(self) -> int:
        return self["node_type"].numel()

    @cached_property
    def index(self) -> Tensor:
        """Number of each node, counted through the batch: ``[N]``."""
        return torch.arange(self.num_nodes, device=self["node_type"].device)

    @cached_property
    def example(self) -> Tensor:
        """Number of each node's example in the batch: ``[N]``."""
        return self.data["batch"] if "batch" in self.data else torch.zeros_like(self.index)

    @cached_property
    def ptr(self) -> Tensor:
        """Where the nodes of each example start and end: ``[examples + 1]``."""
        if "ptr" in self.data:
            return self.data["ptr"]
        return cumsum(self.example.bincount(minlength=1))

    @cached_property
    def local(self) -> Tensor:
        """Number of each node inside its example: ``[N]``."""
        return self.index - self.ptr[self.example]

    @cached_property
    def block(self) -> Tensor:
        """A number for each (example, utterance), ascending with both: ``[N]``."""
        utterance = self["utterance"]
        return self.example * (utterance.max() + 1) + utterance

    @cached_property
    def mark(self) -> Tensor:
        """The mark of each node (:func:`~graphdep.data.node_table`): ``[N]``.

        Raises:
            ValueError: If the data has none, or not one for each node; or, on the CPU, one is below 0.
        """
        if "mark" not in self.data:
            raise ValueError("the data has no 'mark': call graphdep.data.node_table(data, marks)")
        mark = self.data["mark"]
        if mark.shape != (self.num_nodes,):
            raise ValueError(f"'mark' must be of shape [{self.num_nodes}] (got {[*mark.shape]})")
        if mark.is_floating_point():
            raise ValueError(f"'mark' must be whole numbers (got {mark.dtype})")
        if mark.device.type == "cpu" and bool((mark < 0).any()):  # elsewhere a look would stall the device
            raise ValueError(f"'mark' must be from 0 on (got {int(mark.min())})")
        return mark

    def is_type(self, names: tuple[str, ...]) -> Tensor:
        """Whether each node's type is among ``names``: ``[N]``."""
        wanted = torch.zeros(len(NodeType), dtype=torch.bool, device=self.index.device)
        wanted[[NodeType[name] for name in names]] = True
        return wanted[self["node_type"]]

    # -- words and their pieces ------------------------------------------------------------------------

    @cached_property
    def first(self) -> Tensor:
        """The first piece of each node's word, or of its empty node; any other node stands for itself:
        ``[N]``.
        """
        # An empty node has no number, but its pieces have the first of them as governor.
        empty = (self["node_type"] == NodeType.WORD) & (self["word"] < 0)
        if not bool(empty.any()):
            return self._first_of_words
        return torch.where(empty, self["governor_index"], self._first_of_words)

    @cached_property
    def _first_of_words(self) -> Tensor:
        word = self["word"]
        nodes = (word >= 0).nonzero().view(-1)
        word = word[nodes]
        if nodes.numel() == 0:
            return self.index
        key = self.block[nodes] * (word.max() + 1) + word
        if bool((key[1:] > key[:-1]).all()):
            return self.index
        group = key.unique(return_inverse=True)[1]
        lead = torch.full_like(nodes, self.num_nodes).scatter_reduce_(0, group, nodes, "amin")
        return self.index.scatter(0, nodes, lead[group])

    @cached_property
    def has_pieces(self) -> bool:
        """Whether some word has more than one node."""
        return self.first is not self.index and not torch.equal(self.first, self.index)

    def spread(self, source: Tensor, target: Tensor, pieces: str) -> tuple[Tensor, Tensor, Tensor | None]:
        """Replaces pairs of words, given by their first pieces, by the pairs of nodes that stand for them.

        Returns source, target and, unless nothing changed, the number of the pair that each came from.
        """
        if pieces == "first" or not self.has_pieces:
            return source, target, None
        order = self.first.argsort(stable=True)
        count = self.first.bincount(minlength=self.num_nodes)
        start = cumsum(count)[:-1]
        pair, target = expand_ranges(start[target], count[target])
        again, source = expand_ranges(start[source[pair]], count[source[pair]])
        return order[source], order[target[again]], pair[again]

    # -- the tree --------------------------------------------------------------------------------------

    @cached_property
    def in_tree(self) -> Tensor:
        """ROOT nodes and the first pieces of words that have a place in the tree: ``[N]``."""
        return (self["depth"] >= 0) & (self.first == self.index)

    @cached_property
    def parent(self) -> Tensor:
        """The governor of each node in the tree, -1 at the top and outside the trees: ``[N]``."""
        governor = self.first[self["governor_index"]]
        return torch.where(self.in_tree & (governor != self.index), governor, -1)


def check_pieces(pieces: str) -> str:
    """Returns ``pieces`` if it is ``"all"`` or ``"first"``, else raises :class:`ValueError`."""
    return choice("pieces", pieces, ("all", "first"))
