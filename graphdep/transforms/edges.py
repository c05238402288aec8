"""Word edges: along the tree, by depth and distance, complete, marked, and through relation nodes."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Iterable

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform
from torch_geometric.utils import cumsum

from graphdep.data.node_table import NodeType
from graphdep.io.limits import check_choice, check_count
from graphdep.transforms.edge_set import (
    CLIQUES,
    CLS,
    CLS_ALL,
    MARKS,
    NODES,
    ROOT,
    EdgeConstructor,
    EdgeSet,
    EdgeTransform,
    euler_tour,
    near_pairs,
)
from graphdep.transforms.nodes import Nodes, check_pieces, contains, expand_ranges, insert_nodes, write_edges
from graphdep.transforms.options import constructor_repr, node_type_names, refuse_keys, require_key


class AncestorEdges(EdgeConstructor):
    r"""Each word attends to its ancestors: the intra-sentence mask of `"Improving Retrieval-based Dialogue
    System via Syntax-Informed Attention" <https://arxiv.org/abs/2303.06605>`_ (Eq. 3).

    .. math::
        \mathcal{E} = \{(j, i) : j \in A_i\} \quad (\texttt{towards="descendant"})

    The paper's abstract says "between tokens and corresponding dependents" instead, the other direction;
    :obj:`towards` selects either or both.

    ROOT, if present, is an ancestor of all words of its utterance. A word is not its own ancestor: for
    :math:`i = j` in Eq. 3 use :class:`SelfLoops`.

    Args:
        towards: Where information flows: ``"descendant"`` gives ancestor -> word (the word attends to its
            ancestors), ``"ancestor"`` gives word -> ancestor (it attends to its descendants), ``"both"``
            both. (default: ``"descendant"``)
        pieces: See :class:`EdgeConstructor`. (default: ``"all"``)

    Raises:
        ValueError: If an option is invalid, or the governors of the data form a cycle.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import AncestorEdges
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> AncestorEdges()(to_data([sentence], root=False)).edge_index
        tensor([[1, 1, 3, 1],
                [0, 2, 2, 3]])
    """

    def __init__(self, towards: str = "descendant", *, pieces: str = "all") -> None:
        self.towards = check_choice("towards", towards, ("descendant", "ancestor", "both"))
        self.pieces = check_pieces(pieces)

    @property
    def carries(self) -> frozenset[str]:
        return frozenset() if self.towards == "descendant" else frozenset({ROOT})

    def build(self, nodes: Nodes) -> EdgeSet:
        enter, leave, order = euler_tour(nodes)
        # The descendants of a node are entered between its entering and its leaving.
        ancestor, place = expand_ranges(enter + 1, leave - enter - 1)
        ancestor, word, _ = nodes.piece_pairs(ancestor, order[place], self.pieces)
        if self.towards == "descendant":
            return EdgeSet(nodes, ancestor, word)
        if self.towards == "ancestor":
            return EdgeSet(nodes, word, ancestor)
        return EdgeSet(nodes, torch.cat([ancestor, word]), torch.cat([word, ancestor]))


class CompleteEdges(EdgeConstructor):
    r"""All nodes of an utterance or of an example attend to one another, as in `"Attention Is All You Need"
    <https://arxiv.org/abs/1706.03762>`_.

    All pairs are explicit, so any layer can read them. With ``implicit=True`` the data has the node key
    :obj:`clique` instead, whose memory is linear in the nodes; see :class:`EdgeConstructor`. Attention gives
    the same result for both.

    Args:
        scope: ``"utterance"`` or ``"example"``. (default: ``"example"``)
        node_types: Types of the nodes that take part, as :class:`~graphdep.NodeType` or by name.
            (default: all)
        implicit: Write :obj:`clique` instead of :obj:`edge_index`. (default: :obj:`False`)

    Raises:
        ValueError: If an option is invalid.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import CompleteEdges
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> CompleteEdges()(to_data([sentence])).edge_index.shape
        torch.Size([2, 25])
        >>> CompleteEdges(implicit=True)(to_data([sentence])).clique
        tensor([0, 0, 0, 0, 0])
    """

    def __init__(
        self,
        scope: str = "example",
        *,
        node_types: Iterable[NodeType | str] = tuple(NodeType),
        implicit: bool = False,
    ) -> None:
        self.scope = check_choice("scope", scope, ("utterance", "example"))
        self.node_types = node_type_names(node_types)
        self.implicit = bool(implicit)

    @property
    def carries(self) -> frozenset[str]:
        cls = {"CLS", "WORD"} <= {*self.node_types}
        there = {
            ROOT: {"ROOT", "WORD"} <= {*self.node_types},
            CLS: cls,
            CLS_ALL: cls and self.scope == "example",
            CLIQUES: self.implicit,
        }
        return frozenset(kind for kind, is_there in there.items() if is_there)

    def build(self, nodes: Nodes) -> EdgeSet:
        number = nodes["utterance"] if self.scope == "utterance" else torch.zeros_like(nodes.index)
        if len(self.node_types) < len(NodeType):
            number = torch.where(nodes.is_type(self.node_types), number, -1)
        edges = EdgeSet(nodes, nodes.index[:0], nodes.index[:0], number)
        return edges if self.implicit else edges.materialize()


class _ArcEdges(EdgeConstructor):
    """Base class of edges along arcs."""

    def __init__(self, towards: str, pieces: str) -> None:
        self.towards = check_choice("towards", towards, ("governor", "dependent", "both"))
        self.pieces = check_pieces(pieces)

    @property
    def carries(self) -> frozenset[str]:
        return frozenset() if self.towards == "dependent" else frozenset({ROOT})

    @abstractmethod
    def arcs(self, nodes: Nodes) -> tuple[Tensor, Tensor]:
        """The governor and the dependent of each arc."""

    def build(self, nodes: Nodes) -> EdgeSet:
        governor, dependent = self.arcs(nodes)
        governor, dependent, _ = nodes.piece_pairs(governor, dependent, self.pieces)
        if self.towards == "governor":
            return EdgeSet(nodes, dependent, governor)
        if self.towards == "dependent":
            return EdgeSet(nodes, governor, dependent)
        return EdgeSet(nodes, torch.cat([governor, dependent]), torch.cat([dependent, governor]))


class DependencyEdges(_ArcEdges):
    r"""Edges along dependency arcs, as in `"Modeling Compositionality with Dependency Graph for Dialogue
    Generation" <https://aclanthology.org/2022.suki-1.2/>`_ (Eq. 2, second line).

    .. math::
        \mathcal{E} = \{(d, g) : g \text{ governs } d\} \quad (\texttt{towards="governor"})

    A root word that is its own governor has no arc.

    Args:
        towards: Where information flows: ``"governor"`` gives dependent -> governor (the governor attends
            to its dependents, as in DRA), ``"dependent"`` gives governor -> dependent (as in LISA),
            ``"both"`` both. (default: ``"governor"``)
        pieces: See :class:`EdgeConstructor`. (default: ``"all"``)

    Raises:
        ValueError: If an option is invalid.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import DependencyEdges
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> DependencyEdges("governor")(to_data([sentence], root=False)).edge_index
        tensor([[0, 3, 2],
                [1, 1, 3]])
    """

    def __init__(self, towards: str = "governor", *, pieces: str = "all") -> None:
        super().__init__(towards, pieces)

    def arcs(self, nodes: Nodes) -> tuple[Tensor, Tensor]:
        dependent = (nodes.parent >= 0).nonzero().view(-1)
        return nodes.parent[dependent], dependent


class OwnEdges(_ArcEdges):
    r"""Edges along the arcs in :obj:`arc_index`: a custom graph or an enhanced graph.

    Data files store such arcs as ``edges``, :attr:`Sentence.deps <graphdep.Sentence>` holds them, and
    ``arcs="enhanced"`` of :func:`graphdep.to_data` reads them. :class:`ArcTypes` adds the labels of the arcs.

    Args:
        towards: ``"governor"`` lets the source of an arc attend to its target, ``"dependent"`` the target to
            the source, ``"both"`` both. (default: ``"both"``)
        pieces: See :class:`EdgeConstructor`. (default: ``"all"``)

    Shapes:
        - ``edge_index``: :math:`(2, |\mathcal{A}|)`, twice as many for ``"both"``; fewer if several arcs join
          the same nodes, and with ``pieces="all"`` one for each pair of pieces

    Raises:
        ValueError: If an option is invalid.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import OwnEdges
        >>> row = {"words": ["Ann", "met", "Bob"], "head": [2, 0, 2], "deprel": ["nsubj", "root", "obj"]}
        >>> sentence = Sentence.from_dict({**row, "edges": [[1, 3, "knows"]]})
        >>> OwnEdges()(to_data(sentence, arcs="enhanced", root=False)).edge_index
        tensor([[2, 0],
                [0, 2]])
    """

    def __init__(self, towards: str = "both", *, pieces: str = "all") -> None:
        super().__init__(towards, pieces)

    def arcs(self, nodes: Nodes) -> tuple[Tensor, Tensor]:
        governor, dependent = nodes.first[nodes["arc_index"]]
        return governor, dependent


class DepthEdges(EdgeConstructor):
    r"""Nodes high up in their trees attend to one another, across the utterances of an example: the
    inter-sentence mask of `"Improving Retrieval-based Dialogue System via Syntax-Informed Attention"
    <https://arxiv.org/abs/2303.06605>`_ (Eq. 4).

    .. math::
        \mathcal{E} = \{(j, i) : d_i + d_j \leq \texttt{max\_sum}\}

    Both nodes may be in the same utterance, and may be the same node. Depth is 1 for a root word and 0 for
    ROOT, if present; the paper does not say where it begins, and if a root word has 0 there, :obj:`max_sum`
    is :math:`m + 2`. Nodes outside the trees (depth -1) have no edges.

    Args:
        max_sum: The largest sum of depths, :math:`m` in the paper.
        pieces: See :class:`EdgeConstructor`. (default: ``"all"``)

    Raises:
        ValueError: If :obj:`max_sum` is not a whole number >= 0 or :obj:`pieces` is unknown.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import DepthEdges
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> DepthEdges(max_sum=2)(to_data([sentence], root=False)).edge_index
        tensor([[1],
                [1]])
    """

    def __init__(self, max_sum: int, *, pieces: str = "all") -> None:
        self.max_sum = check_count("max_sum", max_sum)
        self.pieces = check_pieces(pieces)

    @property
    def carries(self) -> frozenset[str]:
        return frozenset({ROOT}) if self.max_sum else frozenset()

    def build(self, nodes: Nodes) -> EdgeSet:
        depth = nodes["depth"]
        member = depth >= 0 if self.pieces == "all" else nodes.in_tree
        target = (member & (depth <= self.max_sum)).nonzero().view(-1)
        example, depth = nodes.example[target], depth[target]
        # If nodes are sorted by example and depth, the partners of a node are a prefix of its example.
        key = example * (self.max_sum + 1) + depth
        key, order = key.sort(stable=True)
        start = cumsum(example.bincount(minlength=nodes.ptr.numel() - 1))[example]
        end = torch.searchsorted(key, example * (self.max_sum + 1) + (self.max_sum - depth), right=True)
        owner, place = expand_ranges(start, end - start)
        return EdgeSet(nodes, target[order[place]], target[owner])


class RootEdges(EdgeConstructor):
    r"""ROOT attends to every node, itself included, as in `"Modeling Compositionality with Dependency Graph
    for Dialogue Generation" <https://aclanthology.org/2022.suki-1.2/>`_ (Eq. 2, :math:`u = 0`).

    Without ROOT nodes there are no edges.

    Args:
        scope: ``"utterance"``: every node -> the ROOT of its utterance; ``"example"``: every node -> every
            ROOT of its example. (default: ``"utterance"``)

    Raises:
        ValueError: If :obj:`scope` is unknown.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import RootEdges
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> RootEdges()(to_data([sentence])).edge_index
        tensor([[0, 1, 2, 3, 4],
                [0, 0, 0, 0, 0]])
    """

    carries = frozenset({ROOT})

    def __init__(self, scope: str = "utterance") -> None:
        self.scope = check_choice("scope", scope, ("utterance", "example"))

    def build(self, nodes: Nodes) -> EdgeSet:
        group = nodes.block if self.scope == "utterance" else nodes.example
        roots = nodes.is_type(("ROOT",)).nonzero().view(-1)
        order = group.argsort(stable=True)
        count = group.bincount()
        owner, member = expand_ranges(cumsum(count)[group[roots]], count[group[roots]])
        return EdgeSet(nodes, order[member], roots[owner])


class SelfLoops(EdgeConstructor):
    r"""Every node attends to itself: :math:`\{(i, i)\}`.

    With ``pieces="all"`` a word that sees itself sees all of its pieces, so the pieces of one word see one
    another. With ``pieces="first"`` every piece sees itself alone, so no piece is without an edge.

    Args:
        only: ``"all"`` nodes, or ``"tops"``: nodes that are their own governor (ROOT, a root word without
            ROOT, nodes outside the trees), which have no other edge in ``DependencyEdges("dependent")``.
            (default: ``"all"``)
        pieces: See above. (default: ``"all"``)

    Raises:
        ValueError: If an option is invalid.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import SelfLoops
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> SelfLoops("tops")(to_data([sentence], root=False)).edge_index
        tensor([[1],
                [1]])
    """

    carries = frozenset()

    def __init__(self, only: str = "all", *, pieces: str = "all") -> None:
        self.only = check_choice("only", only, ("all", "tops"))
        self.pieces = check_pieces(pieces)

    def build(self, nodes: Nodes) -> EdgeSet:
        loops = nodes.index
        if self.pieces == "all":
            loops = loops[nodes.first == loops]
        if self.only == "tops":
            loops = loops[nodes.parent[nodes.first[loops]] < 0]
        source, target, _ = nodes.piece_pairs(loops, loops, self.pieces)
        return EdgeSet(nodes, source, target)


class SpecialEdges(EdgeConstructor):
    r"""Special nodes attend to all nodes of their example, themselves included, and all nodes to them.

    `"Improving Retrieval-based Dialogue System via Syntax-Informed Attention"
    <https://arxiv.org/abs/2303.06605>`_ does not say how it treats special tokens; without these edges [CLS]
    would see only itself. In "Augmenting Transformers with Enhanced Dependency Structures by Treating
    Relations as New Words" by Chen, Li and Huang (Eq. 1) these edges are :math:`i = 0 \vee j = 0`.

    Args:
        node_types: Types of the special nodes, as :class:`~graphdep.NodeType` or by name.
            (default: CLS, SEP and EOU)
        others: Types of the nodes to join them with. (default: all)

    Raises:
        ValueError: If a node type is unknown.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import SpecialEdges
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> SpecialEdges(["ROOT"], others=["WORD"])(to_data([sentence])).edge_index
        tensor([[1, 2, 3, 4, 0, 0, 0, 0],
                [0, 0, 0, 0, 1, 2, 3, 4]])
    """

    def __init__(
        self,
        node_types: Iterable[NodeType | str] = (NodeType.CLS, NodeType.SEP, NodeType.EOU),
        *,
        others: Iterable[NodeType | str] = tuple(NodeType),
    ) -> None:
        self.node_types = node_type_names(node_types)
        self.others = node_type_names(others)

    @property
    def carries(self) -> frozenset[str]:
        joined = {*itertools.product(self.node_types, self.others)}
        joined |= {(other, special) for special, other in joined}
        seen = {ROOT: "ROOT", CLS: "CLS", CLS_ALL: "CLS"}
        return frozenset(kind for kind, name in seen.items() if (name, "WORD") in joined)

    def build(self, nodes: Nodes) -> EdgeSet:
        special = nodes.is_type(self.node_types).nonzero().view(-1)
        start = nodes.ptr[nodes.example[special]]
        owner, other = expand_ranges(start, nodes.ptr[nodes.example[special] + 1] - start)
        wanted = nodes.is_type(self.others)[other]
        special, other = special[owner[wanted]], other[wanted]
        return EdgeSet(nodes, torch.cat([special, other]), torch.cat([other, special]))


class TreeDistanceEdges(EdgeConstructor):
    r"""Words attend to words at most :obj:`max_distance` arcs away, as in `"GATE: Graph Attention Transformer
    Encoder for Cross-lingual Relation and Event Extraction" <https://arxiv.org/abs/2010.03009>`_ and in
    `"Improving BERT with Syntax-aware Local Attention" <https://arxiv.org/abs/2012.15150>`_.

    .. math::
        \mathcal{E} = \{(j, i) : \text{dist}(i, j) \leq \texttt{max\_distance}\}

    Every node, even outside the trees, is at distance 0 from itself. A path may lead through ROOT. Nodes of
    different trees are infinitely far apart.

    Args:
        max_distance: The largest number of arcs between two words, :math:`\delta` in GATE.
            (default: :obj:`1`)
        pieces: See :class:`EdgeConstructor`; pieces of one word are at distance 0, and with ``"first"`` all
            other pieces see only themselves. (default: ``"all"``)

    Raises:
        ValueError: If :obj:`max_distance` is not a whole number >= 0 or :obj:`pieces` is unknown.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import TreeDistanceEdges
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> TreeDistanceEdges(1)(to_data([sentence], root=False)).edge_index
        tensor([[0, 1, 0, 1, 3, 2, 3, 1, 2, 3],
                [0, 0, 1, 1, 1, 2, 2, 3, 3, 3]])
    """

    def __init__(self, max_distance: int = 1, *, pieces: str = "all") -> None:
        self.max_distance = check_count("max_distance", max_distance)
        self.pieces = check_pieces(pieces)

    @property
    def carries(self) -> frozenset[str]:
        return frozenset({ROOT}) if self.max_distance else frozenset()

    def build(self, nodes: Nodes) -> EdgeSet:
        loops = nodes.index if self.pieces == "first" else nodes.index[nodes.first == nodes.index]
        pairs = [(loops, loops), *(pair[2:] for pair in near_pairs(nodes, self.max_distance))]
        target, source = (torch.cat(column) for column in zip(*pairs))
        source, target, _ = nodes.piece_pairs(source, target, self.pieces)
        return EdgeSet(nodes, source, target)


class MarkedEdges(EdgeTransform):
    r"""The pairs of two constructors, where the pairs of the first are marked.

    The set of pairs is ``edges | among``, and :obj:`edge_mark` is True for the pairs of :obj:`edges`, so that
    a layer can treat them differently, as :class:`~graphdep.nn.conv.LISAConv` does. If :obj:`among` is
    implicit, so is the data: :obj:`edge_index_explicit` then has exactly the pairs of :obj:`edges`. A set
    does not know which of its pairs are marked, so this class is not an :class:`EdgeConstructor` and cannot
    be part of a union.

    Args:
        edges: The pairs to mark.
        among: The other pairs. An implicit constructor must have only cliques, without explicit pairs.

    Shapes:
        - ``edge_mark``: :math:`(|\mathcal{E}|)`, bool

    Raises:
        ValueError: If an argument is not an edge constructor, or :obj:`among` has cliques and explicit pairs.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import CompleteEdges, DependencyEdges, MarkedEdges
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> edges = MarkedEdges(DependencyEdges("dependent"), CompleteEdges())
        >>> edges(to_data([sentence], root=False)).edge_mark.view(4, 4).int()
        tensor([[0, 1, 0, 0],
                [0, 0, 0, 0],
                [0, 0, 0, 1],
                [0, 1, 0, 0]], dtype=torch.int32)
    """

    def __init__(self, edges: EdgeConstructor, among: EdgeConstructor) -> None:
        self.edges, self.among = edges, among

    @property
    def carries(self) -> frozenset[str] | None:
        edges, among = self.edges.carries, self.among.carries
        return None if edges is None or among is None else edges - {CLIQUES} | among | {MARKS}

    def write(self, nodes: Nodes) -> Data:
        marked, among = self.edges.edge_set(nodes).materialize(), self.among.edge_set(nodes)
        if among.clique is None:
            every = marked | among
            return write_edges(nodes, every.edge_index, None, edge_mark=contains(marked.keys, every.keys))
        if among.edge_index.size(1):
            raise ValueError(f"'among' must have cliques only if it is implicit (got {self.among!r})")
        mark = torch.ones_like(marked.keys, dtype=torch.bool)
        return write_edges(nodes, marked.edge_index, among.clique, edge_mark=mark)


class RelationNodes(BaseTransform):
    r"""Appends a RELATION node for every arc after the nodes of its example: the input of "Augmenting
    Transformers with Enhanced Dependency Structures by Treating Relations as New Words" by Chen, Li and
    Huang.

    A relation node has the label of its arc as :obj:`deprel` and, if the key exists, as :obj:`input_ids`; the
    :obj:`utterance` and :obj:`segment` of the dependent; and depth and :obj:`word` -1. It is its own
    governor. The arcs are those of :obj:`arc_index`, so an enhanced graph gets a node for each of its arcs.
    Keys whose name contains ``index`` still refer to the same nodes.

    Args:
        position: Position of the relation nodes: ``"sequence"`` continues after the largest position of the
            example, ``"dependent"`` copies the position of the dependent, ``"zero"`` is 0, and ``"none"`` is
            -1, for which a :class:`~graphdep.nn.pretrained.PretrainedEncoder` adds neither a position nor a
            segment embedding. Section 3.3 of the paper gives relations a label and a type embedding and
            mentions no other, but encoders expect positions, and a program that appends tokens usually gets
            them by default; the authors' choice is unknown. The results in examples/ use ``"sequence"``.
            (default: ``"sequence"``)

    Shapes:
        - every key of the node table: :math:`(|\mathcal{V}| + |\mathcal{A}|)`
        - ``arc_node_index``: :math:`(|\mathcal{A}|)`, the relation node of each arc

    Raises:
        ValueError: If :obj:`position` is unknown, if the data already has relation nodes, or if it has node
            features :obj:`x`, which relation nodes would lack.

    Example:
        >>> from graphdep import NodeType, Sentence, to_data
        >>> from graphdep.transforms import RelationNodes
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> data = RelationNodes()(to_data([sentence], root=False))
        >>> [NodeType(t).name for t in data.node_type.tolist()]
        ['WORD', 'WORD', 'WORD', 'WORD', 'RELATION', 'RELATION', 'RELATION']
    """

    carries = frozenset({NODES})

    def __init__(self, position: str = "sequence") -> None:
        self.position = check_choice("position", position, ("sequence", "dependent", "zero", "none"))

    def forward(self, data: Data) -> Data:
        refuse_keys(data, self, ("arc_node_index", "x"))
        nodes = Nodes(data)
        label, dependent = nodes["arc_type"], nodes["arc_index"][1]
        return insert_nodes(
            nodes, NodeType.RELATION, label, dependent, self.position, index_key="arc_node_index"
        )

    def __repr__(self) -> str:
        return constructor_repr(self)


class RelationEdges(EdgeConstructor):
    r"""A relation node and the two words of its arc attend to each other, and each relation node to itself:
    :math:`E'` of "Augmenting Transformers with Enhanced Dependency Structures by Treating Relations as New
    Words" by Chen, Li and Huang (Eq. 1).

    Read literally, the third row of Eq. 1 is ``"to_word"``: words attend to relations, but not the reverse.
    The paper's text and Figure 1 argue for both directions.

    Args:
        direction: ``"to_relation"``: word -> relation node (which attends to the words), ``"to_word"``:
            relation node -> word, ``"both"``, or ``"none"``, which leaves relation nodes to themselves.
            (default: ``"both"``)
        pieces: See :class:`EdgeConstructor`; the paper uses ``"first"``. (default: ``"all"``)

    Raises:
        ValueError: If an option is unknown or the data has no relation nodes.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import RelationEdges, RelationNodes
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> data = RelationNodes()(to_data([sentence], root=False))
        >>> RelationEdges("to_word")(data).edge_index
        tensor([[4, 4, 6, 5, 5, 6, 4, 5, 6],
                [0, 1, 1, 2, 3, 3, 4, 5, 6]])
    """

    def __init__(self, direction: str = "both", *, pieces: str = "all") -> None:
        self.direction = check_choice("direction", direction, ("both", "to_relation", "to_word", "none"))
        self.pieces = check_pieces(pieces)

    @property
    def carries(self) -> frozenset[str]:
        return frozenset({ROOT}) if self.direction in ("both", "to_word") else frozenset()

    def build(self, nodes: Nodes) -> EdgeSet:
        require_key(nodes.data, "arc_node_index", "put RelationNodes() before RelationEdges")
        relation = nodes["arc_node_index"]
        word, arc, _ = nodes.piece_pairs(
            nodes.first[nodes["arc_index"]].flatten(), relation.repeat(2), self.pieces
        )
        source, target = [relation], [relation]
        if self.direction in ("both", "to_relation"):
            source, target = [*source, word], [*target, arc]
        if self.direction in ("both", "to_word"):
            source, target = [*source, arc], [*target, word]
        return EdgeSet(nodes, torch.cat(source), torch.cat(target))


class RelationLinks(EdgeConstructor):
    r"""Relation nodes whose arcs share a word attend to each other and to themselves.

    .. math::
        \mathcal{E} = \{(k, l) : \{g_k, d_k\} \cap \{g_l, d_l\} \neq \emptyset\}

    where arc :math:`k` goes from governor :math:`g_k` to dependent :math:`d_k`. In "Augmenting Transformers
    with Enhanced Dependency Structures by Treating Relations as New Words" by Chen, Li and Huang relations do
    not see each other; in this variant they exchange information along the tree.

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

    carries = frozenset()

    def build(self, nodes: Nodes) -> EdgeSet:
        require_key(nodes.data, "arc_node_index", "put RelationNodes() before RelationLinks")
        word = nodes.first[nodes["arc_index"]].flatten()
        order = word.argsort(stable=True)
        relation = nodes["arc_node_index"].repeat(2)[order]  # grouped by word
        count = word.bincount(minlength=nodes.num_nodes)
        end, other = expand_ranges(cumsum(count)[:-1][word[order]], count[word[order]])
        return EdgeSet(nodes, relation[other], relation[end])
