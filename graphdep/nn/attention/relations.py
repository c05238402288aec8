"""Terms that relations add to attention: keys and values, bias, gate."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn.inits import glorot

from graphdep.io.limits import check_choice, check_shape
from graphdep.nn.attention.layout import AttentionLayout
from graphdep.transforms.edge_set import TYPES
from graphdep.vocab.relations import RelationVocab


class RelationVectors(NamedTuple):
    r"""Edge vectors that depend only on the relation of each edge: a table and ids.

    .. math::
        \mathbf{e}_{ij} = \mathbf{r}_{t(i, j)}, \qquad
        \mathbf{q}_i^{\top} \mathbf{e}_{ij} = (\mathbf{Q} \mathbf{R}^{\top})_{i, t(i, j)}, \qquad
        \sum_j \alpha_{ij} \mathbf{e}_{ij} = \sum_t \Big( \sum_{j : t(i, j) = t} \alpha_{ij} \Big)
        \mathbf{r}_t

    :func:`~graphdep.nn.attention.edge_attention` accepts it as ``edge_key`` and ``edge_value``. It needs one
    product with the table for each, instead of gathering, multiplying and summing a vector per edge. If the
    table has so many rows that this product is larger than the edge vectors, these are expanded instead. The
    terms are those of `"Self-Attention with Relative Position Representations"
    <https://arxiv.org/abs/1803.02155>`_ (Eq. 3-4), split as in its section 3.3.

    Args:
        weight: The vectors :math:`\mathbf{R}`.
        relation: Table row of each edge.
        heads: Number of attention heads.

    Shapes:
        - weight: :math:`(R, d)`, shared by all heads; in :meth:`dot` and :meth:`expand` also :math:`(R, H,
          d)`; relation: :math:`(|\mathcal{E}|)`

    Example:
        >>> import torch
        >>> from graphdep.nn.attention import RelationVectors
        >>> vectors = RelationVectors(torch.eye(3), torch.tensor([2, 0]), heads=4)
        >>> vectors.shape, torch.equal(vectors.expand()[0, 1], torch.eye(3)[2])
        (torch.Size([2, 4, 3]), True)
    """

    weight: Tensor
    relation: Tensor
    heads: int

    @property
    def shape(self) -> torch.Size:
        """Shape of :meth:`expand`: ``[num_edges, heads, d]``."""
        return torch.Size((self.relation.numel(), self.heads, self.weight.size(-1)))

    def expand(self) -> Tensor:
        """A vector for each edge and head; the heads are views of one vector."""
        rows = pick_rows(self.weight, self.relation)
        return rows if rows.dim() == 3 else rows.unsqueeze(1).expand(-1, self.heads, -1)

    def dot(self, query: Tensor, node: Tensor) -> Tensor:
        r"""The product of each edge's vector with the query of one of its nodes.

        Args:
            query: ``[num_nodes, heads, d]``.
            node: The node at which each edge is multiplied, ``[num_edges]``.

        Returns:
            ``[num_edges, heads]``
        """
        used = self._used()
        if not used._is_shorter(query.size(0)):
            return (pick_rows(query.flatten(1), node).view(self.shape) * self.expand()).sum(dim=-1)
        with torch.autocast(query.device.type, enabled=False):  # half precision would lose the terms
            states = query.to(self.weight.dtype)
            if used.weight.dim() == 3:
                every = torch.einsum("nhd,rhd->nhr", states, used.weight)
            else:
                every = states @ used.weight.t()
        return pick_rows(every.flatten(), used._place(node)).view(-1, self.heads)

    def sum(self, alpha: Tensor, node: Tensor, num_nodes: int) -> Tensor:
        r"""The weighted sum of the edge vectors at each node.

        Args:
            alpha: Weights ``[num_edges, heads]``.
            node: The node to which each edge is added, ``[num_edges]``.
            num_nodes: Number of nodes.

        Returns:
            ``[num_nodes, heads, d]``
        """
        alpha, used = alpha.to(self.weight.dtype), self._used()
        if not used._is_shorter(num_nodes):
            return add_rows(alpha.unsqueeze(-1) * self.expand(), node, num_nodes)
        places = num_nodes * self.heads * used.weight.size(0)
        of_relation = add_rows(alpha.reshape(-1), used._place(node), places)
        with torch.autocast(alpha.device.type, enabled=False):
            return of_relation.view(num_nodes, self.heads, -1) @ used.weight

    def _used(self) -> RelationVectors:
        """The table reduced to the rows in use; only on the CPU, since a GPU would synchronize."""
        if self.relation.device.type != "cpu" or torch.compiler.is_compiling():
            return self
        row, relation = self.relation.unique(return_inverse=True)
        return self._replace(weight=pick_rows(self.weight, row), relation=relation)

    def _is_shorter(self, num_nodes: int) -> bool:
        """Whether the product with the whole table is smaller than the vectors of the edges."""
        return num_nodes * self.weight.size(0) <= self.relation.numel() * self.weight.size(-1)

    def _place(self, node: Tensor) -> Tensor:
        """Index of each edge and head in ``[num_nodes, heads, R]``: ``[num_edges * heads]``."""
        head = torch.arange(self.heads, device=node.device)
        place = (node[:, None] * self.heads + head) * self.weight.size(0) + self.relation[:, None]
        return place.view(-1)


def pick_rows(table: Tensor, row: Tensor) -> Tensor:
    """``table[row]`` for rows or scalars; the gradient is deterministic on CUDA."""
    if not table.is_cuda:  # two to four times faster on a CPU
        return table.index_select(0, row)
    return F.embedding(row, table.view(table.size(0), -1)).view(*row.shape, *table.shape[1:])


def add_rows(rows: Tensor, to: Tensor, count: int) -> Tensor:
    """Sums rows or scalars into ``count`` entries, by their index ``to``; deterministic on CUDA."""
    zeros = rows.new_zeros(count, *rows.shape[1:])
    if rows.is_cuda:  # this sorts; index_add is not deterministic
        return zeros.index_put((to,), rows, accumulate=True)
    return zeros.index_add(0, to, rows)


class EdgeTerms(NamedTuple):
    r"""Score and value terms of edges: keyword arguments of :func:`~graphdep.nn.attention.edge_attention`.

    A module that returns them is called as ``module(x, edge_index, edge_type)``, with the input states of the
    layer.

    Args:
        attn_bias: Added to the scores. (default: :obj:`None`)
        score_scale: Multiplies the scores. (default: :obj:`None`)
        edge_key: Added to the keys along the edges. (default: :obj:`None`)
        edge_value: Added to the values along the edges. (default: :obj:`None`)

    Keys and values that depend only on the relation of an edge should be
    :class:`~graphdep.nn.attention.RelationVectors`.

    Shapes:
        - attn_bias, score_scale: :math:`(|\mathcal{E}|, H)`
        - edge_key, edge_value: :math:`(|\mathcal{E}|, H, d)`

    Example:
        >>> import torch
        >>> from graphdep.nn.attention import EdgeTerms, edge_attention
        >>> query, key, value = torch.ones(3, 2, 1, 4).unbind()
        >>> edge_index = torch.tensor([[0, 1], [1, 1]])
        >>> terms = EdgeTerms(attn_bias=torch.tensor([[0.0], [-torch.inf]]))  # node 1 does not see itself
        >>> edge_attention(query, key, value, edge_index, **terms._asdict())[1]
        tensor([[1., 1., 1., 1.]])
    """

    attn_bias: Tensor | None = None
    score_scale: Tensor | None = None
    edge_key: Tensor | RelationVectors | None = None
    edge_value: Tensor | RelationVectors | None = None


def write_out(layout: AttentionLayout, edge_type: Tensor) -> tuple[AttentionLayout, Tensor]:
    """All pairs as typed edges, with NONE (0) for pairs that only a clique has, for ``untyped="gate"``."""
    check_typed(edge_type, layout.edge_index)
    missing = layout.pairs.size(1) - layout.num_edges
    return layout.materialize(), torch.nn.functional.pad(edge_type, (0, missing))


def check_edge_type(edge_type: Tensor, edge_index: Tensor, num_relations: int) -> None:
    """Raises :class:`ValueError` unless every edge has a relation below ``num_relations``."""
    check_typed(edge_type, edge_index)
    check_relations("edge_type", edge_type, num_relations)


def check_typed(edge_type: Tensor | None, edge_index: Tensor) -> None:
    """Raises :class:`ValueError` unless every edge has a relation."""
    if edge_type is None or edge_type.shape != edge_index.shape[1:]:
        got = "None" if edge_type is None else f"shapes {[*edge_type.shape]} and {[*edge_index.shape]}"
        raise ValueError(f"'edge_type' must hold one relation id per edge of 'edge_index' (got {got})")


def check_relations(name: str, relation: Tensor, num_relations: int) -> None:
    """Raises :class:`ValueError` if an id is not below ``num_relations``."""
    if torch.compiler.is_compiling():
        return  # a check would break the graph
    if relation.device.type == "cpu" and relation.numel():  # a check would synchronize a GPU
        low, high = (int(x) for x in relation.aminmax())
        if low < 0 or high >= num_relations:
            wrong = low if low < 0 else high
            raise ValueError(
                f"{name!r} holds relation {wrong}, but there are {num_relations} (PyG transforms that merge "
                "edges, such as ToUndirected, add ids up)"
            )


SCALINGS = ("paper", "code")
KEY_VALUE_STARTS = ("zero", "random")


class RelationKeyValue(nn.Module):
    r"""A key vector and a value vector for each relation, from `"Graph-to-Graph Transformer for
    Transition-based Dependency Parsing" <https://aclanthology.org/2020.findings-emnlp.294/>`_.

    .. math::
        s_{ij} = \frac{\mathbf{q}_i^{\top} (\mathbf{k}_j + \mathbf{r}^k_{ij})}{\sqrt{d}}, \quad
        \mathbf{o}_i = \sum_j \alpha_{ij} (\mathbf{v}_j + \mathbf{r}^v_{ij})

    with the same two tables in all heads. The paper's code adds :math:`\mathbf{q}_i^{\top} \mathbf{r}^k_{ij}`
    after the division by :math:`\sqrt{d}`: use ``scaling="code"``.

    Pairs of relation NONE have no vectors here. The paper gives NONE vectors, too, which is equivalent:
    subtracting :math:`\mathbf{r}_0` from all vectors changes every score of a row by
    :math:`-\mathbf{q}_i^{\top} \mathbf{r}^k_0 / \sqrt{d}`, which cancels in the softmax, and every output by
    :math:`-\mathbf{r}^v_0`, which the bias of the value projection can absorb.

    By default both tables start at zero, so that a pretrained layer at first computes the same as without
    them; their gradients are not zero. In the paper they start at random: ``start="random"`` draws them like
    BERT's embeddings, with standard deviation 0.02.

    Args:
        num_relations: Number of relation ids.
        heads: Number of attention heads.
        head_channels: Size of a head, :math:`d`.
        scaling: ``"paper"`` or ``"code"``. (default: ``"paper"``)
        start: ``"zero"`` or ``"random"``. (default: ``"zero"``)

    Shapes:
        - x: :math:`(|\mathcal{V}|, C)`, not read; edge_index: :math:`(2, |\mathcal{E}|)`; edge_type:
          :math:`(|\mathcal{E}|)`
        - output: :class:`EdgeTerms` with ``edge_key`` and ``edge_value``, both
          :class:`~graphdep.nn.attention.RelationVectors` of shape :math:`(|\mathcal{E}|, H, d)`

    Raises:
        ValueError: If :obj:`scaling` or :obj:`start` is unknown, or a relation is not below
            :obj:`num_relations`.

    Example:
        >>> import torch
        >>> from graphdep.nn.attention import RelationKeyValue
        >>> terms = RelationKeyValue(num_relations=5, heads=2, head_channels=4)
        >>> edge_index, edge_type = torch.tensor([[0, 1], [1, 0]]), torch.tensor([0, 3])
        >>> terms(torch.randn(2, 8), edge_index, edge_type).edge_key.shape
        torch.Size([2, 2, 4])
    """

    reads: frozenset[str] = frozenset({TYPES})

    def __init__(
        self,
        num_relations: int,
        heads: int,
        head_channels: int,
        *,
        scaling: str = "paper",
        start: str = "zero",
    ) -> None:
        super().__init__()
        check_choice("scaling", scaling, SCALINGS)
        check_choice("start", start, KEY_VALUE_STARTS)
        self.heads, self.head_channels, self.scaling, self.start = heads, head_channels, scaling, start
        self.key = nn.Embedding(num_relations, head_channels)
        self.value = nn.Embedding(num_relations, head_channels)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for table in (self.key, self.value):
            nn.init.normal_(table.weight, std=0.02 if self.start == "random" else 0.0)

    def forward(self, x: Tensor, edge_index: Tensor, edge_type: Tensor) -> EdgeTerms:
        check_edge_type(edge_type, edge_index, self.key.num_embeddings)
        typed = torch.arange(self.key.num_embeddings, device=edge_type.device) != RelationVocab.NONE
        key, value = (table.weight * typed[:, None] for table in (self.key, self.value))
        if self.scaling == "code":
            key = key * self.head_channels**0.5  # cancels the division in edge_attention
        return EdgeTerms(
            edge_key=RelationVectors(key, edge_type, self.heads),
            edge_value=RelationVectors(value, edge_type, self.heads),
        )

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.key.num_embeddings}, heads={self.heads}, "
            f"head_channels={self.head_channels}, scaling={self.scaling!r}, start={self.start!r})"
        )


GATES = ("sigmoid", "tanh", None)
STATES = ("query", "key")
UNTYPED = ("keep", "gate")
GATE_STARTS = ("random", "torch", "closed")


def reset_relation(relation: nn.Embedding, start: str = "random") -> None:
    """Relation vectors of length about 1; ``start="torch"``: as in PyTorch, of length sqrt(relation_dim)."""
    nn.init.normal_(relation.weight, std=1.0 if start == "torch" else relation.embedding_dim**-0.5)


def reset_linear(weight: Tensor, fan_in: int) -> None:
    """Initializes weights like a :class:`torch.nn.Linear` with ``fan_in`` input channels."""
    nn.init.uniform_(weight, -(fan_in**-0.5), fan_in**-0.5)


class GateValues(NamedTuple):
    r"""The gate of each edge in every head: the share of the relation score in the score.

    .. math::
        S_{ij} = (1 - g_{ij}) S^e_{ij} + g_{ij} S^r_{ij}

    as in :class:`GatedRelationScore`.

    Args:
        edge_index: Edges, source :math:`j` -> target :math:`i`, which attends.
        edge_type: The relation of each edge.
        gate: :math:`g`; 0 if a pair without a relation keeps its score.
        relation_score: :math:`S^r`.
        self_score: :math:`S^e`, the score of the layer's queries and keys.

    Shapes:
        - edge_index: :math:`(2, |\mathcal{E}|)`; edge_type: :math:`(|\mathcal{E}|)`; the others:
          :math:`(|\mathcal{E}|, H)`

    Example:
        >>> import torch
        >>> from graphdep.nn.conv import GatedRelationConv
        >>> conv = GatedRelationConv(8, 4, heads=2, num_relations=5)
        >>> edge_index, edge_type = torch.tensor([[0, 1], [1, 0]]), torch.tensor([0, 3])
        >>> out, values = conv(torch.randn(2, 8), edge_index, edge_type, return_gate=True)
        >>> values.gate.shape, values.gate[0].tolist()
        (torch.Size([2, 2]), [0.0, 0.0])
    """

    edge_index: Tensor
    edge_type: Tensor
    gate: Tensor
    relation_score: Tensor
    self_score: Tensor

    @property
    def gated(self) -> Tensor:
        """Whether the gate acts on each pair: ``[num_edges]``."""
        return (self.edge_type != RelationVocab.NONE) | (self.gate != 0).any(dim=1)


class GatedRelationScore(nn.Module):
    r"""Relation-attention with a semantic gate, from `"Integrating Dependency Tree into Self-attention for
    Sentence Representation" <https://arxiv.org/abs/2203.05918>`_ (Eq. 1-3).

    .. math::
        S^r_{ij} = \mathbf{r}_{ij} \mathbf{V}_r, \quad
        g_{ij} = \sigma\big((\mathbf{h}_i \mathbf{W}_{g,e} + \mathbf{r}_{ij} \mathbf{W}_{g,r})
        \mathbf{V}_g\big), \quad S_{ij} = (1 - g_{ij}) S^e_{ij} + g_{ij} S^r_{ij}

    in every head, where :math:`i` attends to :math:`j`. Without the gate (DT_lr in the paper's Table 3),
    :math:`S_{ij} = S^e_{ij} + S^r_{ij}`. Pairs of relation NONE keep :math:`S^e_{ij}`. Eq. 2-3 with
    :math:`\mathbf{r}_{ij} = 0` would scale these scores by :math:`1 - g_{ij}`, too: use ``untyped="gate"``,
    for which all pairs must be edges.

    All terms depend only on (relation, head) or on (node, head), so they are two tables, looked up along the
    edges; there is no tensor of size [edges, relation_dim].

    The equation, with the sigmoid and :math:`\mathbf{h}_i`, is the default. The paper's text has tanh, and
    names the state of the query word in one sentence and that of the key word in another.

    The paper does not give the initialization. ``start="random"`` draws relation vectors of length about 1,
    score weights by Glorot and :math:`\mathbf{V}_g` with standard deviation 0.02: relation scores stay below
    word scores, and a gate starts near :math:`\sigma(0)`, half open, or :math:`\tanh(0)`, shut.
    ``start="torch"`` uses PyTorch's defaults: :math:`\mathbf{r} \sim \mathcal{N}(0, 1)` of
    :class:`torch.nn.Embedding`, and :math:`\mathbf{V}_r, \mathbf{W}_{g,e}, \mathbf{W}_{g,r}, \mathbf{V}_g
    \sim \mathcal{U}(\pm n^{-1/2})` of :class:`torch.nn.Linear`, with :math:`n` input channels. Its relation
    scores spread more than twice as widely, and its gates differ between pairs from the first update. Choose
    between them on validation data; the results in examples/ use the default.

    ``start="closed"`` leaves the scores unchanged at first, as pretrained layers need, but gradients are not
    zero: :math:`\mathbf{V}_g = 0` shuts the tanh gate, and without a gate :math:`\mathbf{V}_r = 0`. The
    sigmoid of Eq. 3 has no such start: without a bias no weights make it 0 for all states, and half open it
    halves the scores of typed pairs.

    Args:
        in_channels: Size of the node states :math:`\mathbf{h}`.
        heads: Number of attention heads.
        num_relations: Number of relation ids.
        relation_dim: Size of the relation vectors :math:`\mathbf{r}`. (default: :obj:`30`)
        gate: ``"sigmoid"`` (Eq. 3), ``"tanh"`` (text) or :obj:`None` (no gate). (default: ``"sigmoid"``)
        gate_state: The state that the gate reads: ``"query"`` (Eq. 3) or ``"key"`` (text). (default:
            ``"query"``)
        untyped: Pairs of relation NONE ``"keep"`` their score or go through the ``"gate"``. (default:
            ``"keep"``)
        start: ``"random"``, ``"torch"``, or ``"closed"`` for ``gate="tanh"`` and ``gate=None``. Has no effect
            on a shared :obj:`relation`. (default: ``"random"``)
        relation: Relation vectors shared with other layers, ``[num_relations, relation_dim]``; if
            :obj:`None`, the module has its own. (default: :obj:`None`)

    Shapes:
        - x: :math:`(|\mathcal{V}|, C)`; edge_index: :math:`(2, |\mathcal{E}|)`; edge_type:
          :math:`(|\mathcal{E}|)`
        - output: :class:`EdgeTerms` with ``attn_bias`` and ``score_scale``, both
          :math:`(|\mathcal{E}|, H)`; the scale is :obj:`None` without the gate; with ``return_gate=True`` the
          terms, :math:`g` and :math:`S^r`, both :math:`(|\mathcal{E}|, H)`

    Raises:
        ValueError: If :obj:`gate`, :obj:`gate_state`, :obj:`untyped`, :obj:`start` or the shape of
            :obj:`relation` is invalid, an edge has an unknown relation, or :obj:`return_gate` is set without
            a gate.

    Example:
        >>> import torch
        >>> from graphdep.nn.attention import GatedRelationScore
        >>> score = GatedRelationScore(in_channels=8, heads=2, num_relations=5)
        >>> edge_index, edge_type = torch.tensor([[0, 1], [1, 0]]), torch.tensor([0, 3])
        >>> score(torch.randn(2, 8), edge_index, edge_type).score_scale[0]  # NONE: the score stays
        tensor([1., 1.], grad_fn=<SelectBackward0>)
    """

    reads: frozenset[str] = frozenset({TYPES})

    def __init__(
        self,
        in_channels: int,
        heads: int,
        num_relations: int,
        relation_dim: int = 30,
        *,
        gate: str | None = "sigmoid",
        gate_state: str = "query",
        untyped: str = "keep",
        start: str = "random",
        relation: nn.Embedding | None = None,
    ) -> None:
        super().__init__()
        check_choice("start", start, GATE_STARTS)
        if start == "closed" and gate == "sigmoid":
            raise ValueError("start='closed' needs gate='tanh' or gate=None: no weights make the sigmoid 0")
        check_choice("untyped", untyped, UNTYPED)
        check_choice("gate", gate, GATES)
        check_choice("gate_state", gate_state, STATES)
        if relation is not None:
            check_shape("relation", relation.weight, num_relations, relation_dim)
        self.in_channels, self.heads, self.gate, self.gate_state = in_channels, heads, gate, gate_state
        self.untyped, self.start = untyped, start
        # Only the owner registers a shared table; otherwise a state_dict would hold it once per layer.
        self._shared = (relation,)
        self.own_relation = None if relation is not None else nn.Embedding(num_relations, relation_dim)
        self.lin_score = nn.Parameter(torch.empty(relation_dim, heads))  # V_r of each head
        if gate is not None:
            self.gate_node = nn.Parameter(torch.empty(heads, in_channels, relation_dim))  # W_{g,e}
            self.gate_relation = nn.Parameter(torch.empty(heads, relation_dim, relation_dim))  # W_{g,r}
            self.gate_out = nn.Parameter(torch.empty(heads, relation_dim))  # V_g
        self.reset_parameters()

    @property
    def relation(self) -> nn.Embedding:
        """The relation vectors, own or shared."""
        relation = self._shared[0] or self.own_relation
        assert relation is not None
        return relation

    def reset_parameters(self) -> None:
        if self.own_relation is not None:
            reset_relation(self.own_relation, self.start)
        if self.start == "torch":
            self._reset_as_torch()
            return
        glorot(self.lin_score)
        if self.gate is not None:
            glorot(self.gate_node)
            glorot(self.gate_relation)
            nn.init.normal_(self.gate_out, std=0.02)  # every gate starts near 0: a sigmoid half open
        if self.start == "closed":
            nn.init.zeros_(self.lin_score if self.gate is None else self.gate_out)

    def _reset_as_torch(self) -> None:
        relation_dim = self.relation.embedding_dim
        reset_linear(self.lin_score, relation_dim)
        if self.gate is not None:
            reset_linear(self.gate_node, self.in_channels)
            reset_linear(self.gate_relation, relation_dim)
            reset_linear(self.gate_out, relation_dim)

    def forward(self, x: Tensor, edge_index: Tensor, edge_type: Tensor, *, return_gate: bool = False) -> Any:
        check_edge_type(edge_type, edge_index, self.relation.num_embeddings)
        typed = torch.arange(self.relation.num_embeddings, device=edge_type.device) != RelationVocab.NONE
        vectors = self.relation.weight * typed[:, None]  # NONE: r = 0
        score = vectors @ self.lin_score
        if self.gate is None:
            if return_gate:
                raise ValueError("'return_gate' is for scores with a gate (got gate=None)")
            return EdgeTerms(pick_rows(score, edge_type))
        # (h_i W_ge + r_ij W_gr) V_g = h_i (W_ge V_g) + r_ij (W_gr V_g): a node part and a relation part.
        node = x @ torch.einsum("hcr,hr->ch", self.gate_node, self.gate_out)
        relation = vectors @ torch.einsum("hcr,hr->ch", self.gate_relation, self.gate_out)
        score_e, gate_r = pick_rows(torch.cat([score, relation], dim=1), edge_type).split(self.heads, dim=1)
        end = edge_index[1 if self.gate_state == "query" else 0]
        logit = pick_rows(node, end) + gate_r
        gate = logit.sigmoid() if self.gate == "sigmoid" else logit.tanh()
        if self.untyped == "keep":
            gate = gate * (edge_type != RelationVocab.NONE).unsqueeze(-1)
        terms = EdgeTerms(gate * score_e, 1 - gate)
        return (terms, gate, score_e) if return_gate else terms

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.in_channels}, heads={self.heads}, "
            f"num_relations={self.relation.num_embeddings}, relation_dim={self.relation.embedding_dim}, "
            f"gate={self.gate!r}, gate_state={self.gate_state!r}, untyped={self.untyped!r}, "
            f"start={self.start!r})"
        )
