"""Edges between the relation nodes of neighbouring arcs."""

from __future__ import annotations

from torch_geometric.utils import cumsum

from graphdep.transforms._ranges import expand_ranges
from graphdep.transforms.edge_constructor import EdgeConstructor
from graphdep.transforms.edge_set import EdgeSet
from graphdep.transforms.nodes import Nodes


class RelationLinks(EdgeConstructor):
    r"""Relation nodes whose arcs share a word attend to each other, each to itself included.

    .. math::
        \mathcal{E} = \{(k, l) : \{g_k, d_k\} \cap \{g_l, d_l\} \neq \emptyset\}

    where arc :math:`k` goes from governor :math:`g_k` to dependent :math:`d_k`. In "Augmenting Transformers
    with Enhanced Dependency Structures by Treating Relations as New Words" by Chen, Li and Huang a relation
    sees no other relation; this is the variant in which they exchange information along the tree.

    Raises:
        ValueError: If the data has no relation nodes.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import RelationLinks, RelationNodes
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> data = RelationNodes()(to_data([sentence], root=False))
        >>> RelationLinks()(data).edge_index
        tensor([[4, 6, 5, 6, 4, 5, 6],
                [4, 4, 5, 5, 6, 6, 6]])
    """

    def build(self, nodes: Nodes) -> EdgeSet:
        if "arc_node_index" not in nodes.data:
            raise ValueError("RelationLinks joins relation nodes: put RelationNodes() before it")
        word = nodes.first[nodes["arc_index"]].flatten()
        order = word.argsort(stable=True)
        relation = nodes["arc_node_index"].repeat(2)[order]  # those of each word in a row
        count = word.bincount(minlength=nodes.num_nodes)
        end, other = expand_ranges(cumsum(count)[:-1][word[order]], count[word[order]])
        return EdgeSet(nodes, relation[other], relation[end])
