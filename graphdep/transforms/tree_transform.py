"""The base class of transforms that replace the parse."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform
from torch_geometric.utils import cumsum

from graphdep.transforms._hash import mix, seed_key
from graphdep.transforms._options import constructor_repr, refuse_keys
from graphdep.transforms._write import ends_of, write
from graphdep.transforms.nodes import Nodes
from graphdep.vocab import RelationVocab

LABELS = ("dep", "keep")


@dataclass(frozen=True, eq=False)
class WordTable:
    r"""The words of a batch in order, utterance by utterance; a word is named by its row.

    Args:
        nodes: The nodes.
        node: The first piece of each word: ``[W]``.
        start: Row of the first word of each word's utterance: ``[W]``.
        size: Number of words of its utterance: ``[W]``.
        governor: Row of its governor, its own for a root word: ``[W]``.
        deprel: Relation to its governor: ``[W]``.
    """

    nodes: Nodes
    node: Tensor
    start: Tensor
    size: Tensor
    governor: Tensor
    deprel: Tensor

    @classmethod
    def of(cls, nodes: Nodes) -> WordTable:
        """Reads the words that have a place in the tree."""
        node = (nodes.in_tree & (nodes["word"] >= 0)).nonzero().view(-1)
        node = node[nodes["word"][node].argsort(stable=True)]
        node = node[nodes.block[node].argsort(stable=True)]
        _, group, count = nodes.block[node].unique_consecutive(return_inverse=True, return_counts=True)
        row = torch.arange(node.numel(), device=node.device)
        row_of = torch.full_like(nodes.index, -1).index_copy(0, node, row)
        above = row_of[nodes.first[nodes["governor_index"][node]]]
        governor = torch.where(above < 0, row, above)
        return cls(nodes, node, cumsum(count)[group], count[group], governor, nodes["deprel"][node])

    @property
    def row(self) -> Tensor:
        """The rows themselves: ``[W]``."""
        return torch.arange(self.node.numel(), device=self.node.device)

    @property
    def place(self) -> Tensor:
        """Number of each word in its utterance: ``[W]``."""
        return self.row - self.start

    @property
    def old_root(self) -> Tensor:
        """Row of the first root word of each word's utterance: ``[W]``."""
        roots = torch.where(self.governor == self.row, self.row, self.row.numel())
        first = torch.full_like(roots, roots.numel()).scatter_reduce(0, self.start, roots, "amin")[self.start]
        if bool((first == roots.numel()).any()):
            raise ValueError("'governor_index' has a cycle: an utterance has no root word")
        return first

    def chance(self, seed: int) -> Tensor:
        """A random number for each word, of the seed and of the words of its utterance alone, wherever that
        stands: ``[W]``.
        """
        row = mix(self.place)
        if "input_ids" in self.nodes.data:
            row = mix(row ^ self.nodes["input_ids"][self.node])
        total = torch.zeros_like(row).index_add(0, self.start, row)
        return mix(mix(total ^ seed_key(total, seed))[self.start] ^ mix(self.place))

    def label(self, governor: Tensor, labels: str) -> Tensor:
        """Relations for a tree that is not the parse: none but *root* and *dep*, or the parse's."""
        if labels == "keep":
            return self.swap_root(governor)
        relations = RelationVocab()
        plain = torch.full_like(self.deprel, relations["dep"])
        return plain.masked_fill(governor == self.row, relations["root"])

    def swap_root(self, governor: Tensor) -> Tensor:
        """The relations, each with its word, but those of the old and of the new root word exchanged."""
        new_root = self.row[governor == self.row]
        old_root = self.old_root[new_root]
        deprel = self.deprel.index_copy(0, old_root, self.deprel[new_root])
        # A new root that was one of several roots keeps its relation, and so do the others.
        was_root = self.governor[new_root] == new_root
        deprel = deprel.index_copy(0, old_root[was_root], self.deprel[old_root[was_root]])
        fresh = torch.where(was_root, self.deprel[new_root], self.deprel[old_root])
        return deprel.index_copy(0, new_root, fresh)


class TreeTransform(BaseTransform):
    r"""Base class of transforms that give every utterance another tree over the same words.

    :obj:`governor_index`, :obj:`deprel`, :obj:`depth` and, where the data has them, :obj:`arc_index` and
    :obj:`arc_type` are written anew and agree; arcs of an enhanced graph are gone. All pieces of a word
    go with it. A root word depends on what the first root word depended on: ROOT, or itself.

    Raises:
        ValueError: If the data has edges or relation nodes, which would be those of the old tree.
    """

    @abstractmethod
    def tree(self, words: WordTable) -> tuple[Tensor, Tensor]:
        """Row of each word's new governor (its own for a root word), and its new relation."""

    def forward(self, data: Data) -> Data:
        refuse_keys(data, self, ("edge_index", "clique", "arc_node_index"))
        nodes = Nodes(data)
        words = WordTable.of(nodes)
        governor, deprel = self.tree(words)
        top = nodes.first[nodes["governor_index"][words.node]][words.old_root]
        own = top == words.node[words.old_root]
        is_root = governor == words.row
        above = torch.where(is_root & ~own, top, words.node[governor])
        columns = {"governor_index": above, "deprel": deprel, "depth": _depth(governor)}
        rows = {key: self._spread(nodes, words, key, column) for key, column in columns.items()}
        out = write(data, rows, nodes.ptr, nodes.ptr)
        return _write_arcs(out, words) if "arc_index" in data else out

    def _spread(self, nodes: Nodes, words: WordTable, key: str, column: Tensor) -> Tensor:
        """Gives the values of words to all of their pieces; other nodes keep theirs."""
        return nodes[key].index_copy(0, words.node, column)[nodes.first]

    def __repr__(self) -> str:
        return constructor_repr(self)


def _depth(governor: Tensor) -> Tensor:
    """Arcs from the artificial ROOT, by pointer jumping."""
    above = governor
    depth = (governor != torch.arange(governor.numel(), device=governor.device)).long()
    for _ in range(governor.numel().bit_length()):
        further = above[above]
        if torch.equal(further, above):
            break
        depth = depth + depth[above]
        above = further
    return depth + 1


def _write_arcs(out: Data, words: WordTable) -> Data:
    node = words.node.sort().values
    governor = out["governor_index"][node]
    node, governor = node[governor != node], governor[governor != node]
    arcs = {"arc_index": torch.stack([governor, node]), "arc_type": out["deprel"][node]}
    return write(out, arcs, ends_of(words.nodes, node), words.nodes.ptr)
