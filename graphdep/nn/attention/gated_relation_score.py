"""What a typed edge does to its attention score in the Dependency-Transformer."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.nn.inits import glorot

from graphdep.nn.attention.edge_terms import EdgeTerms, check_edge_type
from graphdep.nn.attention.relation_vectors import pick_rows
from graphdep.vocab import RelationVocab

GATES = ("sigmoid", "tanh", None)
STATES = ("query", "key")
UNTYPED = ("keep", "gate")
STARTS = ("random", "torch", "closed")


def reset_relation(relation: nn.Embedding, start: str = "random") -> None:
    """Relation vectors of length about 1; with ``start="torch"`` PyTorch's, of length sqrt(relation_dim)."""
    nn.init.normal_(relation.weight, std=1.0 if start == "torch" else relation.embedding_dim**-0.5)


def reset_linear(weight: Tensor, fan_in: int) -> None:
    """As :class:`torch.nn.Linear` starts, whose weights are read from ``fan_in`` channels."""
    nn.init.uniform_(weight, -(fan_in**-0.5), fan_in**-0.5)


class GatedRelationScore(nn.Module):
    r"""Relation-attention with a semantic gate, from `"Integrating Dependency Tree into Self-attention for
    Sentence Representation" <https://arxiv.org/abs/2203.05918>`_ (Eq. 1-3).

    .. math::
        S^r_{ij} = \mathbf{r}_{ij} \mathbf{V}_r, \quad
        g_{ij} = \sigma\big((\mathbf{h}_i \mathbf{W}_{g,e} + \mathbf{r}_{ij} \mathbf{W}_{g,r})
        \mathbf{V}_g\big), \quad S_{ij} = (1 - g_{ij}) S^e_{ij} + g_{ij} S^r_{ij}

    in every head on its own, where :math:`i` attends to :math:`j`. Without the gate (DT_lr in the paper's
    Table 3), :math:`S_{ij} = S^e_{ij} + S^r_{ij}`. Pairs of relation NONE keep :math:`S^e_{ij}`; Eq. 2-3
    read with :math:`\mathbf{r}_{ij} = 0` would scale theirs by :math:`1 - g_{ij}` as well:
    ``untyped="gate"``, for which all pairs must be edges.

    All of it depends on (relation, head) or on (node, head) alone, so it is computed as two tables and
    looked up along the edges; nothing of size [edges, relation_dim] ever exists.

    The paper's text asks for tanh and for the key word's state, its Eq. 3 for the sigmoid and
    :math:`\mathbf{h}_i`; the equation is the default.

    The paper does not say where the relations start. ``start="random"`` draws vectors of length about 1,
    scores by Glorot and :math:`\mathbf{V}_g` with deviation .02: relation scores stay below those of words,
    and every gate starts near half open. ``start="torch"`` is what a program in PyTorch has that says
    nothing: :math:`\mathbf{r} \sim \mathcal{N}(0, 1)` of :class:`torch.nn.Embedding`, and
    :math:`\mathbf{V}_r, \mathbf{W}_{g,e}, \mathbf{W}_{g,r}, \mathbf{V}_g \sim \mathcal{U}(\pm n^{-1/2})`
    of :class:`torch.nn.Linear`, :math:`n` the channels that each reads. Its relation scores are more than
    twice as wide, and its gates differ from pair to pair from the first update. Which is better has to be
    chosen on validation data; the narrow one, which the results in examples/ have, is the default.

    With ``start="closed"`` nothing changes at first, as pretrained layers need it, while gradients flow:
    :math:`\mathbf{V}_g = 0` shuts the tanh gate, and without a gate :math:`\mathbf{V}_r = 0`. The sigmoid of
    Eq. 3 has no such start: without a bias no weights make it 0 for all states, and half open as it starts it
    halves the scores of typed pairs.

    Args:
        in_channels: Size of the node states :math:`\mathbf{h}`.
        heads: Number of attention heads.
        num_relations: Number of relation ids.
        relation_dim: Size of the relation vectors :math:`\mathbf{r}`. (default: :obj:`30`)
        gate: ``"sigmoid"`` (Eq. 3), ``"tanh"`` (text) or :obj:`None` (no gate). (default: ``"sigmoid"``)
        gate_state: Whose state the gate reads: ``"query"`` (Eq. 3) or ``"key"`` (text). (default:
            ``"query"``)
        untyped: Pairs of relation NONE ``"keep"`` their score or go through the ``"gate"``. (default:
            ``"keep"``)
        start: ``"random"``, ``"torch"``, or ``"closed"`` for ``gate="tanh"`` and ``gate=None``. A shared
            :obj:`relation` starts as its owner says. (default: ``"random"``)
        relation: Relation vectors shared with other layers, ``[num_relations, relation_dim]``; without, the
            module has its own. (default: :obj:`None`)

    Shapes:
        - x: :math:`(|\mathcal{V}|, C)`; edge_index: :math:`(2, |\mathcal{E}|)`; edge_type:
          :math:`(|\mathcal{E}|)`
        - output: :class:`EdgeTerms` with ``attn_bias`` and ``score_scale``, both
          :math:`(|\mathcal{E}|, H)`; the scale is :obj:`None` without the gate

    Raises:
        ValueError: If :obj:`gate`, :obj:`gate_state`, :obj:`untyped`, :obj:`start` or the shape of
            :obj:`relation` is wrong, or an edge has no relation of the table.

    Example:
        >>> import torch
        >>> from graphdep.nn.attention import GatedRelationScore
        >>> score = GatedRelationScore(in_channels=8, heads=2, num_relations=5)
        >>> edge_index, edge_type = torch.tensor([[0, 1], [1, 0]]), torch.tensor([0, 3])
        >>> score(torch.randn(2, 8), edge_index, edge_type).score_scale[0]  # NONE: the score stays
        tensor([1., 1.], grad_fn=<SelectBackward0>)
    """

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
        if start not in STARTS:
            raise ValueError(f"'start' must be one of {', '.join(STARTS)} (got {start!r})")
        if start == "closed" and gate == "sigmoid":
            raise ValueError("start='closed' needs gate='tanh' or gate=None: no weights make the sigmoid 0")
        if untyped not in UNTYPED:
            raise ValueError(f"'untyped' must be 'keep' or 'gate' (got {untyped!r})")
        if gate not in GATES:
            raise ValueError(f"'gate' must be 'sigmoid', 'tanh' or None (got {gate!r})")
        if gate_state not in STATES:
            raise ValueError(f"'gate_state' must be 'query' or 'key' (got {gate_state!r})")
        if relation is not None and relation.weight.shape != (num_relations, relation_dim):
            shape = [*relation.weight.shape]
            raise ValueError(f"'relation' must be of shape [{num_relations}, {relation_dim}] (got {shape})")
        self.in_channels, self.heads, self.gate, self.gate_state = in_channels, heads, gate, gate_state
        self.untyped, self.start = untyped, start
        # A shared table is its owner's: registered here as well, a state_dict would hold it once a layer.
        self._shared = (relation,)
        self.own_relation = None if relation is not None else nn.Embedding(num_relations, relation_dim)
        self.lin_score = nn.Parameter(torch.empty(relation_dim, heads))  # V_r of every head
        if gate is not None:
            self.gate_node = nn.Parameter(torch.empty(heads, in_channels, relation_dim))  # W_{g,e}
            self.gate_relation = nn.Parameter(torch.empty(heads, relation_dim, relation_dim))  # W_{g,r}
            self.gate_out = nn.Parameter(torch.empty(heads, relation_dim))  # V_g
        self.reset_parameters()

    @property
    def relation(self) -> nn.Embedding:
        """The relation vectors, its own or shared."""
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

    def forward(self, x: Tensor, edge_index: Tensor, edge_type: Tensor) -> EdgeTerms:
        check_edge_type(edge_type, edge_index, self.relation.num_embeddings)
        typed = torch.arange(self.relation.num_embeddings, device=edge_type.device) != RelationVocab.NONE
        vectors = self.relation.weight * typed[:, None]  # NONE: r = 0
        score = vectors @ self.lin_score
        if self.gate is None:
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
        return EdgeTerms(gate * score_e, 1 - gate)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.in_channels}, heads={self.heads}, "
            f"num_relations={self.relation.num_embeddings}, relation_dim={self.relation.embedding_dim}, "
            f"gate={self.gate!r}, gate_state={self.gate_state!r}, untyped={self.untyped!r}, "
            f"start={self.start!r})"
        )
