"""Attention that goes edge by edge while somebody looks at single messages."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.nn.conv import MessagePassing

from graphdep.nn.attention import AttentionLayout


class MessageSender(MessagePassing):
    """Sends weighted values along edges, for PyG's explainers and hooks.

    Args:
        dropout: Probability to drop a weight in training. (default: :obj:`0.0`)
    """

    explained: Tensor | None = None
    """The edges ``[2, num_edges]`` that an explainer has masks for, where a layer may have edges of its own:
    then each of these has the mask of the same pair, and a pair that is not there is not masked."""
    _place: Tensor | None = None

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__(aggr="add", node_dim=0)
        self.dropout = dropout

    def _set_jittable_templates(self, raise_on_error: bool = False) -> None:
        """Leaves `propagate` as it is. PyG would write a module with one of this class alone, cannot read the
        terms that ours takes, and would try in vain, for 20 ms, at every layer of every model.
        """

    @property
    def sends_messages(self) -> bool:
        """Whether somebody looks at single messages: an explainer, or a hook."""
        steps = ("propagate", "message", "aggregate")
        hooks = [f"_{step}_forward_{when}" for step in steps for when in ("pre_hooks", "hooks")]
        return bool(self.explain) or any(getattr(self, name, None) for name in hooks)

    def check_messages(self, layout: AttentionLayout) -> None:
        """Raises :class:`ValueError` if somebody looks at messages that the pairs of a clique do not send."""
        if self.sends_messages and layout.clique is not None:
            raise ValueError("a clique has no edges to explain: build the edges without implicit=True")

    def send(self, layout: AttentionLayout, value: Tensor, alpha: Tensor, **terms: Tensor | None) -> Tensor:
        r"""The sum of the weighted values that reach each node; ``terms`` go to :meth:`message`.

        Shapes:
            - value: :math:`(|\mathcal{V}|, H, d)`; alpha: :math:`(|\mathcal{E}|, H)`; output as value
        """
        self._place = None
        if self.explained is not None and not torch.equal(layout.edge_index, self.explained):
            if not self.explain:
                raise ValueError(
                    "this layer has edges of its own, whose messages are of other pairs than the data's: "
                    "take an explainer that masks edges, such as GNNExplainer"
                )
            self._place = _places(layout.edge_index, self.explained, layout.num_nodes)
        size = value.size(0), value.size(0)
        return self.propagate(layout.edge_index, value=value, alpha=alpha, size=size, **terms)

    def message(self, value_j: Tensor, alpha: Tensor) -> Tensor:
        weight = nn.functional.dropout(alpha, self.dropout, self.training)
        return value_j * weight.unsqueeze(-1).to(value_j.dtype)

    def explain_message(self, inputs: Tensor, dim_size: int | None) -> Tensor:
        mask = self._edge_mask
        if self._place is None or mask is None:
            return super().explain_message(inputs, dim_size)
        mask = mask.sigmoid() if self._apply_sigmoid else mask
        return inputs * torch.cat([mask, mask.new_ones(1)])[self._place].view(-1, 1, 1)


def _places(edge_index: Tensor, among: Tensor, num_nodes: int) -> Tensor:
    """The number of each edge among others; how many these are where it is none of them."""
    own, key = (edges[0] * num_nodes + edges[1] for edges in (edge_index, among))
    key, number = key.sort()
    found = torch.searchsorted(key, own).clamp(max=max(len(key) - 1, 0))
    missing = torch.full_like(own, len(key))
    return torch.where(key[found] == own, number[found], missing) if len(key) else missing
