"""Whole models for PyG's explainers."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn.conv import MessagePassing

from graphdep.io.limits import check_shape
from graphdep.nn.attention.layout import refuse_clique
from graphdep.nn.conv.attention_conv import MessageSender
from graphdep.nn.models.embedding import NodeEmbedding
from graphdep.nn.passes import evaluating, hooked
from graphdep.nn.pretrained.anatomy import EdgeSender
from graphdep.nn.pretrained.encoder import PretrainedEncoder


class ExplainableModel(nn.Module):
    r"""A model over a node table, as a function of node vectors and edges: the input of
    :class:`torch_geometric.explain.Explainer`.

    The node vectors :attr:`x` are the input of the first layer: for a pretrained encoder the word vectors,
    before it adds positions and segments; else the sum of all embeddings. All layers that attend along the
    edges of the data have edge masks, which multiply the messages after the softmax, as in PyG. A layer with
    its own edges, such as those of :class:`~graphdep.nn.models.SIA`, gives each of its pairs the mask of the
    same edge of the data. Layers that do not attend to nodes, such as those over turns in
    :class:`~graphdep.nn.models.DialogBERT`, are not explained; ``explain=False`` is set on them.

    Args:
        model: For example :class:`~graphdep.nn.models.SentenceModel`,
            :class:`~graphdep.nn.models.SentencePairModel`, :class:`~graphdep.nn.models.SelectionModel` or
            :class:`~graphdep.nn.models.TokenModel`, whose output at other nodes than words is 0; of several
            outputs, the first is explained.
        data: One example or a batch with explicit edges.

    Shapes:
        - x: :math:`(|\mathcal{V}|, C)`; edge_index: :math:`(2, |\mathcal{E}|)`, the edges of the data; output
          of the model, for :class:`~graphdep.nn.models.TokenModel` :math:`(|\mathcal{V}|, C')`

    Raises:
        ValueError: If the data has no edges or implicit ones, or the model has no node embedding or does not
            attend along the edges.

    Example:
        >>> data = resolve("dra")(to_data([sentence], vocab=vocab))
        >>> model = ExplainableModel(SentenceModel(encoder, head), data)
        >>> explainer = Explainer(
        ...     model,
        ...     algorithm=GNNExplainer(epochs=100),
        ...     explanation_type="model",
        ...     edge_mask_type="object",
        ...     model_config={
        ...         "mode": "multiclass_classification",
        ...         "task_level": "graph",
        ...         "return_type": "raw",
        ...     },
        ... )
        >>> explanation = explainer(model.x, data.edge_index)
        >>> explanation.edge_mask.shape == (data.num_edges,)
        True
    """

    def __init__(self, model: nn.Module, data: Data) -> None:
        super().__init__()
        refuse_clique(
            data.get("clique"), "'data' has implicit edges ('clique'), which have no separate masks"
        )
        self.model, self.data = model, data
        self._encoders = [m for m in model.modules() if isinstance(m, PretrainedEncoder)]
        self.senders = nn.ModuleList(EdgeSender() for e in self._encoders for _ in range(e.num_layers))
        self._find_layers()

    @property
    def x(self) -> Tensor:
        """The node vectors of the data ``[num_nodes, C]``, detached."""
        return self._x.clone()

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        check_shape("edge_index", edge_index, *self.data.edge_index.shape)
        check_shape("x", x, *self._x.shape)
        with self._with_input(x), self._with_masks(edge_index):
            out = self._run(edge_index)
        return out

    def _run(self, edge_index: Tensor) -> Tensor:
        data = copy.copy(self.data)
        data.edge_index = edge_index
        out = self.model(data)
        if not isinstance(out, tuple):
            return out
        logits, nodes = out
        if nodes.is_floating_point():
            return logits
        # Explainers expect a row per node, not per word.
        return logits.new_zeros(len(self._x), logits.size(1)).index_copy(0, nodes, logits)

    @torch.no_grad()
    def _find_layers(self) -> None:
        """Runs the model once, to find its node vectors and the layers that attend along the edges."""
        nodes: list[tuple[MessagePassing, int]] = []
        layers = [m for m in self.model.modules() if isinstance(m, MessagePassing)]
        handles = [
            layer.register_forward_pre_hook(lambda layer, args: nodes.append((layer, len(args[0]))))
            for layer in layers
        ]
        found: list[Tensor] = []

        def keep(x: Tensor) -> Tensor:
            found.append(x)
            return x

        with hooked(handles), evaluating(self.model), self._with_replaced_input(keep):
            self.model(self.data)
        if not found:
            raise ValueError(f"{type(self.model).__name__} has no known node embedding")
        self._x = found[0].detach()
        elsewhere = {layer for layer, size in nodes if size != self.data.num_nodes}
        for layer in elsewhere:
            layer.explain = False
        if not self._encoders and not {layer for layer, _ in nodes} - elsewhere:
            raise ValueError(
                f"{type(self.model).__name__} sends nothing along the edges of the data: there is nothing to "
                "explain"
            )

    @contextmanager
    def _with_masks(self, edge_index: Tensor) -> Iterator[None]:
        """Sets the masked edges in all layers, and lets pretrained layers send messages."""
        layers = [m for m in self.modules() if isinstance(m, MessageSender)]
        senders: Any = iter(self.senders)
        for encoder in self._encoders:
            encoder.senders = [next(senders) for _ in range(encoder.num_layers)]
        for layer in layers:
            layer.explained = edge_index
        try:
            yield
        finally:
            for layer in layers:
                layer.explained = None
            for encoder in self._encoders:
                encoder.senders = ()

    def _with_input(self, x: Tensor) -> Any:
        """Replaces the model's node vectors by ``x``."""
        return self._with_replaced_input(lambda _: x)

    @contextmanager
    def _with_replaced_input(self, other: Any) -> Iterator[None]:
        """Replaces the input of the first layer by ``other`` of it."""
        handles = [
            module.register_forward_hook(lambda module, args, out: other(out))
            for module in self.model.modules()
            if isinstance(module, NodeEmbedding)
        ]
        for encoder in self._encoders:
            encoder.given_vectors = other
        with hooked(handles):
            try:
                yield
            finally:
                for encoder in self._encoders:
                    encoder.given_vectors = None
