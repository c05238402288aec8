"""Phrase nodes and edges of constituents."""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform
from torch_geometric.utils import cumsum

from graphdep.data.node_table import NodeType
from graphdep.io.limits import check_choice, check_count, check_flag
from graphdep.transforms.edge_set import CLIQUES, NODES, EdgeConstructor, EdgeSet
from graphdep.transforms.edges import SelfLoops
from graphdep.transforms.nodes import Nodes, check_pieces, expand_ranges, insert_nodes
from graphdep.transforms.options import constructor_repr, refuse_keys, require_key
from graphdep.vocab.vocab import PhraseVocab


class Phrases:
    r"""A view of the constituents of a graph, numbered in preorder, example by example.

    Args:
        nodes: The nodes, with :obj:`phrase_index`.

    Raises:
        ValueError: If the data has no constituents, or, on reading :attr:`node`, no phrase nodes.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import Nodes, Phrases
        >>> tree = ["She", "sings"], [2, 0], ["nsubj", "root"]
        >>> sentence = Sentence(*tree, constituents=[("S", 0, 2), ("NP", 0, 1)])
        >>> phrases = Phrases(Nodes(to_data([sentence], phrases=True, root=False)))
        >>> phrases.node, phrases.mother, phrases.height
        (tensor([2, 3]), tensor([-1,  0]), tensor([2, 1]))
    """

    def __init__(self, nodes: Nodes) -> None:
        advice = (
            "make it with phrases=True, of sentences with constituents "
            "(resolve_parser('bundled', constituents=True))"
        )
        require_key(nodes.data, "phrase_index", advice)
        self.nodes = nodes
        self.first, self.last = nodes.first[nodes["phrase_index"]]

    @property
    def number(self) -> Tensor:
        """The number of each constituent: ``[P]``."""
        return torch.arange(self.first.numel(), device=self.first.device)

    @property
    def node(self) -> Tensor:
        """The phrase node of each constituent: ``[P]``."""
        require_key(self.nodes.data, "phrase_node_index", "put PhraseNodes() before these edges")
        return self.nodes["phrase_node_index"]

    @cached_property
    def inside(self) -> tuple[Tensor, Tensor]:
        """Pairs of a constituent and the first piece of a word in it, sorted by word, and for a word from the
        outermost constituent inwards: ``[C]`` each.
        """
        nodes = self.nodes
        phrase, word = expand_ranges(self.first, self.last - self.first + 1)
        is_word = (nodes.first[word] == word) & (nodes["word"][word] >= 0)
        phrase, word = phrase[is_word], word[is_word]
        order = word.argsort(stable=True)  # the phrases of a word stay in preorder
        return phrase[order], word[order]

    @cached_property
    def mother(self) -> Tensor:
        """The parent constituent of each constituent, -1 at the top: ``[P]``."""
        phrase, word = self.inside
        # The phrases around the first word of a phrase are nested, so the one before it is its mother.
        before = torch.where(word[1:] == word[:-1], phrase[:-1], -1)
        before = torch.cat([before.new_full((min(1, phrase.numel()),), -1), before])
        mine = word == self.first[phrase]
        return torch.full_like(self.first, -1).index_copy(0, phrase[mine], before[mine])

    @cached_property
    def innermost(self) -> Tensor:
        """The innermost constituent of each word, at its first piece; -1 for none: ``[N]``."""
        phrase, word = self.inside
        found = torch.full_like(self.nodes.index, -1)
        return found.scatter_reduce(0, word, phrase, "amax")

    @cached_property
    def height(self) -> Tensor:
        """1 for a constituent of words alone, else one more than its highest child: ``[P]``."""
        # Each round doubles the levels that are looked up, so a deep tree takes few rounds.
        height, above, levels = torch.ones_like(self.first), self.mother, 1
        while (inner := above >= 0).any():
            height = height.scatter_reduce(0, above[inner], height[inner] + levels, "amax")
            above = torch.where(inner, above[above], above)
            levels *= 2
        return height


class PhraseNodes(BaseTransform):
    r"""Appends a PHRASE node for every constituent after the nodes of its example, in preorder, as
    ``to_data(..., phrases=True)`` does. Data with phrase nodes is returned unchanged; options other than the
    defaults, which would have no effect, raise an error there.

    A phrase node has the id of its label (:class:`~graphdep.vocab.PhraseVocab`) as :obj:`deprel` and, if the
    key exists, as :obj:`input_ids`; the :obj:`utterance` and :obj:`segment` of its words; and depth and
    :obj:`word` -1. It is its own governor. Its first and last word stay in :obj:`phrase_index`.

    Args:
        position: As in :class:`RelationNodes`, but ``"first"`` copies the position of the first word.
            (default: ``"sequence"``)
        labels: Keep the labels; if :obj:`False`, all are ``X``. (default: :obj:`True`)

    Shapes:
        - every key of the node table: :math:`(|\mathcal{V}| + |\mathcal{P}|)`
        - ``phrase_node_index``: :math:`(|\mathcal{P}|)`, the node of each constituent

    Raises:
        ValueError: If :obj:`position` is unknown, the data has no constituents, it has relation nodes or node
            features :obj:`x`, or it has phrase nodes and an option is not the default.

    Example:
        >>> from graphdep import NodeType, Sentence, to_data
        >>> from graphdep.transforms import PhraseNodes
        >>> phrases = [("S", 0, 2), ("NP", 0, 1)]
        >>> sentence = Sentence(["She", "sings"], [2, 0], ["nsubj", "root"], constituents=phrases)
        >>> data = PhraseNodes()(to_data([sentence], root=False, phrases="spans"))
        >>> [NodeType(t).name for t in data.node_type.tolist()], data.phrase_index.tolist()
        (['WORD', 'WORD', 'PHRASE', 'PHRASE'], [[0, 0], [1, 0]])
    """

    carries = frozenset({NODES})

    def __init__(self, position: str = "sequence", *, labels: bool = True) -> None:
        self.position = check_choice("position", position, ("sequence", "first", "zero", "none"))
        self.labels = labels

    def forward(self, data: Data) -> Data:
        if "phrase_node_index" in data:
            if (self.position, self.labels) != ("sequence", True):
                raise ValueError(
                    f"the data has phrase nodes already, which {self} would leave as they are: make it with "
                    "phrases='spans'"
                )
            return data
        refuse_keys(data, self, ("arc_node_index", "x"))
        nodes = Nodes(data)
        first, label = Phrases(nodes).first, nodes["phrase_type"]
        label = label if self.labels else torch.full_like(label, PhraseVocab.UNK)
        return insert_nodes(
            nodes, NodeType.PHRASE, label, first, self.position, index_key="phrase_node_index"
        )

    def __repr__(self) -> str:
        return constructor_repr(self)


class PhraseWordEdges(EdgeConstructor):
    r"""A phrase node and all words of its constituent, at any depth, attend to each other, and each phrase
    node to itself, as :class:`RelationEdges` does with relation nodes.

    Args:
        direction: ``"to_phrase"``: word -> phrase node (which attends to the words), ``"to_word"``: phrase
            node -> word, ``"both"``, or ``"none"``, which leaves phrase nodes to themselves.
            (default: ``"both"``)
        pieces: See :class:`EdgeConstructor`. (default: ``"all"``)

    Raises:
        ValueError: If an option is unknown or the data has no phrase nodes.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import PhraseWordEdges
        >>> phrases = [("S", 0, 2), ("NP", 0, 1)]
        >>> sentence = Sentence(["She", "sings"], [2, 0], ["nsubj", "root"], constituents=phrases)
        >>> PhraseWordEdges("to_phrase")(to_data([sentence], root=False, phrases=True)).edge_index
        tensor([[0, 1, 2, 0, 3],
                [2, 2, 2, 3, 3]])
    """

    carries = frozenset()

    def __init__(self, direction: str = "both", *, pieces: str = "all") -> None:
        self.direction = check_choice("direction", direction, ("both", "to_phrase", "to_word", "none"))
        self.pieces = check_pieces(pieces)

    def build(self, nodes: Nodes) -> EdgeSet:
        phrases = Phrases(nodes)
        node = phrases.node
        phrase, word = phrases.inside
        word, whole, _ = nodes.piece_pairs(word, node[phrase], self.pieces)
        source, target = [node], [node]
        if self.direction in ("both", "to_phrase"):
            source, target = [*source, word], [*target, whole]
        if self.direction in ("both", "to_word"):
            source, target = [*source, whole], [*target, word]
        return EdgeSet(nodes, torch.cat(source), torch.cat(target))


class ConstituentEdges(EdgeConstructor):
    r"""The edges of the constituency tree: between a phrase node and its children, phrases and words.

    Args:
        direction: ``"up"``: part -> constituent (which attends to its parts), ``"down"``: constituent
            -> part, or ``"both"``. (default: ``"both"``)
        pieces: See :class:`EdgeConstructor`. (default: ``"all"``)

    Raises:
        ValueError: If an option is unknown or the data has no phrase nodes.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import ConstituentEdges
        >>> phrases = [("S", 0, 2), ("NP", 0, 1)]
        >>> sentence = Sentence(["She", "sings"], [2, 0], ["nsubj", "root"], constituents=phrases)
        >>> ConstituentEdges("up")(to_data([sentence], root=False, phrases=True)).edge_index
        tensor([[1, 3, 0],
                [2, 2, 3]])
    """

    carries = frozenset()

    def __init__(self, direction: str = "both", *, pieces: str = "all") -> None:
        self.direction = check_choice("direction", direction, ("both", "up", "down"))
        self.pieces = check_pieces(pieces)

    def build(self, nodes: Nodes) -> EdgeSet:
        phrases = Phrases(nodes)
        node, mother = phrases.node, phrases.mother
        inner = mother >= 0
        word = (phrases.innermost >= 0).nonzero().view(-1)
        part = torch.cat([node[inner], word])
        whole = torch.cat([node[mother[inner]], node[phrases.innermost[word]]])
        part, whole, _ = nodes.piece_pairs(part, whole, self.pieces)
        if self.direction == "up":
            return EdgeSet(nodes, part, whole)
        if self.direction == "down":
            return EdgeSet(nodes, whole, part)
        return EdgeSet(nodes, torch.cat([part, whole]), torch.cat([whole, part]))


class SameConstituentEdges(EdgeConstructor):
    r"""Words of a common constituent of at most :obj:`max_height` attend to each other and to themselves.

    .. math::
        \mathcal{E} = \{(j, i) : \exists p : i \in p, j \in p, h(p) \le \text{max\_height}\}

    where :math:`h(p)` is 1 for a constituent of words alone, else one more than the height of its highest
    child. No phrase nodes are needed.

    Args:
        max_height: The largest height of a constituent whose words see each other; :obj:`None` for all.
            (default: :obj:`None`)
        pieces: See :class:`EdgeConstructor`. (default: ``"all"``)
        implicit: Write cliques instead of pairs, see :class:`CompleteEdges`. (default: :obj:`False`)

    Raises:
        ValueError: If an option is invalid or the data has no constituents.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import SameConstituentEdges
        >>> phrases = [("S", 0, 3), ("NP", 0, 2)]
        >>> tree = ["big", "dogs", "bark"], [2, 3, 0], ["amod", "nsubj", "root"]
        >>> data = to_data([Sentence(*tree, constituents=phrases)], root=False, phrases="spans")
        >>> SameConstituentEdges(max_height=1)(data).edge_index
        tensor([[0, 1, 0, 1],
                [0, 0, 1, 1]])
    """

    def __init__(self, max_height: int | None = None, *, pieces: str = "all", implicit: bool = False) -> None:
        self.max_height = None if max_height is None else check_count("max_height", max_height, 1)
        self.pieces, self.implicit = check_pieces(pieces), check_flag("implicit", implicit)

    @property
    def carries(self) -> frozenset[str]:
        return frozenset({CLIQUES}) if self.implicit else frozenset()

    def build(self, nodes: Nodes) -> EdgeSet:
        phrases = Phrases(nodes)
        phrase, word = phrases.inside
        if self.max_height is not None:
            low = phrases.height[phrase] <= self.max_height
            phrase, word = phrase[low], word[low]
        # The remaining constituents are nested, so the outermost one of each word is a clique. Its first word
        # is in no other such constituent, so the number of that word in the example numbers the clique.
        outermost = torch.full_like(nodes.index, phrases.first.numel())
        outermost = outermost.scatter_reduce(0, word, phrase, "amin")
        clique = torch.full_like(nodes.index, -1)
        clique[word] = nodes.local[phrases.first[outermost[word]]]
        if self.pieces == "all":
            clique = clique[nodes.first]
        found = EdgeSet(nodes, nodes.index[:0], nodes.index[:0], clique)
        return found if self.implicit else found.materialize()


class SiblingEdges(EdgeConstructor):
    r"""Phrases and words with the same parent constituent attend to each other, and so do those of an
    utterance without a parent; none attends to itself.

    Args:
        pieces: See :class:`EdgeConstructor`. (default: ``"all"``)

    Raises:
        ValueError: If the option is unknown or the data has no phrase nodes.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import SiblingEdges
        >>> phrases = [("S", 0, 2), ("NP", 0, 1)]
        >>> sentence = Sentence(["She", "sings"], [2, 0], ["nsubj", "root"], constituents=phrases)
        >>> SiblingEdges()(to_data([sentence], root=False, phrases=True)).edge_index
        tensor([[3, 1],
                [1, 3]])
    """

    carries = frozenset()

    def __init__(self, *, pieces: str = "all") -> None:
        self.pieces = check_pieces(pieces)

    def build(self, nodes: Nodes) -> EdgeSet:
        phrases = Phrases(nodes)
        word = ((nodes["word"] >= 0) & (nodes.first == nodes.index)).nonzero().view(-1)
        part = torch.cat([phrases.node, word])
        mother = torch.cat([phrases.mother, phrases.innermost[word]])
        group = torch.where(mother >= 0, mother, phrases.node.numel() + nodes.block[part])
        order = group.argsort(stable=True)
        group, part = group[order], part[order]
        count = group.bincount()
        one, other = expand_ranges(cumsum(count)[:-1][group], count[group])
        apart = one != other
        source, target, _ = nodes.piece_pairs(part[other[apart]], part[one[apart]], self.pieces)
        return EdgeSet(nodes, source, target)


def in_span(nodes: Nodes, span: int) -> Tensor:
    """Whether each node belongs to a word of span 1 or 2: ``[N]``."""
    return (nodes.mark & span) > 0


def top_words(nodes: Nodes, span: int) -> Tensor:
    """The first piece of the word of span 1 or 2 that is nearest to the root (the first of several), -1 in an
    example without the span: ``[examples]``.
    """
    words = (in_span(nodes, span) & nodes.in_tree & (nodes["word"] >= 0)).nonzero().view(-1)
    size = max(nodes.num_nodes, 1)
    none = torch.iinfo(torch.long).max
    best = torch.full_like(nodes.ptr[1:], none)
    best = best.scatter_reduce(0, nodes.example[words], nodes["depth"][words] * size + words, "amin")
    return torch.where(best < none, best % size, -1)


def path_words(nodes: Nodes) -> Tensor:
    """Whether each node is the first piece of a word on the tree path between the top words of both spans,
    both ends included: ``[N]``. An example without one of the spans has no path. ROOT is not a word; between
    trees of different roots the path goes from each top word to its root.
    """
    first, second = top_words(nodes, 1), top_words(nodes, 2)
    above_first, above_second = _upwards(nodes, first), _upwards(nodes, second)
    shared = above_first & above_second
    depth = torch.where(shared, nodes["depth"], -1)
    lowest = torch.full_like(first, -1).scatter_reduce(0, nodes.example, depth, "amax")
    path = (above_first ^ above_second) | (shared & (depth == lowest[nodes.example]))
    return path & ((first >= 0) & (second >= 0))[nodes.example] & (nodes["word"] >= 0)


def _upwards(nodes: Nodes, word: Tensor) -> Tensor:
    """Whether each node is one of the words or an ancestor of one: ``[N]``."""
    above = torch.zeros_like(nodes.index, dtype=torch.bool)
    word = word[word >= 0]
    for _ in range(int(nodes["depth"].max()) + 1 if word.numel() else 0):
        above[word] = True
        word = nodes.parent[word]
        word = word[word >= 0]
    return above


class SpanPathEdges(EdgeConstructor):
    r"""Words on the tree path between two marked spans, and words near that path, attend to one another, as
    in `"Graph Convolution over Pruned Dependency Trees Improves Relation Extraction"
    <https://aclanthology.org/D18-1244/>`_.

    .. math::
        \mathcal{E} = \{(j, i) : i, j \in P_K\} \quad \text{or} \quad
        \{(j, i) : i, j \in P_K, \text{ one governs the other}\}

    where :math:`P_0` is the shortest path between the top words of the spans (the words nearest to the root),
    both included, and :math:`P_K` adds the words at most :math:`K` arcs below it: the paper's pruned tree,
    inside the subtree of the lowest common ancestor. An example without two spans has no path.

    Args:
        pairs: ``"all"`` pairs of these words, or only those along ``"arcs"``, in both directions. (default:
            ``"all"``)
        distance: :math:`K`, the largest number of arcs of a word below the path. (default: :obj:`0`)
        loops: Every node of the example also sees itself, so that no node off the path is without an edge
            (:class:`SelfLoops`). (default: :obj:`True`)
        pieces: See :class:`EdgeConstructor`. (default: ``"all"``)

    Raises:
        ValueError: If an option is invalid, or the data has no ``mark`` (:func:`~graphdep.data.node_table`:
            bit 1 in the first span, bit 2 in the second).

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.data import mark_words
        >>> from graphdep.transforms import SpanPathEdges
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> data = mark_words(to_data([sentence], root=False), [1, 0, 2, 2])
        >>> SpanPathEdges("arcs", loops=False)(data).edge_index
        tensor([[1, 0, 3, 1],
                [0, 1, 1, 3]])
    """

    carries = frozenset()

    def __init__(
        self, pairs: str = "all", *, distance: int = 0, loops: bool = True, pieces: str = "all"
    ) -> None:
        self.pairs = check_choice("pairs", pairs, ("all", "arcs"))
        self.distance, self.loops = check_count("distance", distance), bool(loops)
        self.pieces = check_pieces(pieces)

    def build(self, nodes: Nodes) -> EdgeSet:
        words = self._near(nodes, path_words(nodes))
        source, target = self._all(nodes, words) if self.pairs == "all" else self._arcs(nodes, words)
        source, target, _ = nodes.piece_pairs(source, target, self.pieces)
        edges = EdgeSet(nodes, source, target)
        return edges | SelfLoops(pieces=self.pieces).build(nodes) if self.loops else edges

    def _near(self, nodes: Nodes, words: Tensor) -> Tensor:
        below = nodes.parent >= 0
        for _ in range(self.distance):
            more = words | (below & words[nodes.parent.clamp(min=0)])
            if torch.equal(more, words):
                break
            words = more
        return words

    def _all(self, nodes: Nodes, words: Tensor) -> tuple[Tensor, Tensor]:
        word = words.nonzero().view(-1)
        example = nodes.example[word]
        size = example.bincount(minlength=nodes.ptr.numel() - 1)
        owner, member = expand_ranges(cumsum(size)[example], size[example])
        return word[member], word[owner]

    def _arcs(self, nodes: Nodes, words: Tensor) -> tuple[Tensor, Tensor]:
        below = words & (nodes.parent >= 0)
        dependent = (below & words[nodes.parent.clamp(min=0)]).nonzero().view(-1)
        governor = nodes.parent[dependent]
        return torch.cat([governor, dependent]), torch.cat([dependent, governor])
