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
from graphdep.nn.pretrained.anatomy import EdgeSender
from graphdep.nn.pretrained.encoder import PretrainedEncoder


class ExplainableModel(nn.Module):
    r"""A model that reads a node table, as a function of node vectors and edges, which is what
    :class:`torch_geometric.explain.Explainer` explains.

    The node vectors :attr:`x` are what the first layer is given: the word vectors of a pretrained encoder, to
    which it adds positions and segments; else the sum of all embeddings. Edges have masks in all layers that
    attend along the edges of the data, which multiply what is sent along them after the softmax, as PyG
    defines it. A layer with edges of its own, as :class:`~graphdep.nn.models.SIA` adds, gives each of its
    pairs the mask that the same pair has among the data's. Layers that attend to anything but nodes, such as
    the turns of :class:`~graphdep.nn.models.DialogBERT`, are not explained, and have ``explain=False`` from
    then on.

    Args:
        model: Such as :class:`~graphdep.nn.models.SentenceModel`,
            :class:`~graphdep.nn.models.SentencePairModel`, :class:`~graphdep.nn.models.SelectionModel` or
            :class:`~graphdep.nn.models.TokenModel`, whose output for a node that is no word is 0; of other
            models with several outputs, the first is explained.
        data: One example or a batch with its edges written out.

    Shapes:
        - x: :math:`(|\mathcal{V}|, C)`; edge_index: :math:`(2, |\mathcal{E}|)`, those of the data; output:
          the model's, and of :class:`~graphdep.nn.models.TokenModel` :math:`(|\mathcal{V}|, C')`

    Raises:
        ValueError: If the data has no edges or implicit ones, or the model has no vectors of nodes or sends
            nothing along edges.

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
            data.get("clique"), "'data' has implicit edges ('clique'), which no mask can tell apart"
        )
        self.model, self.data = model, data
        self._encoders = [m for m in model.modules() if isinstance(m, PretrainedEncoder)]
        self.senders = nn.ModuleList(EdgeSender() for e in self._encoders for _ in range(e.num_layers))
        self._find_layers()

    @property
    def x(self) -> Tensor:
        """The node vectors that the model has for the data ``[num_nodes, C]``, detached."""
        return self._x.clone()

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        check_shape("edge_index", edge_index, *self.data.edge_index.shape)
        check_shape("x", x, *self._x.shape)
        with self._given(x), self._watched(edge_index):
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
        # Explainers count nodes, and not words.
        return logits.new_zeros(len(self._x), logits.size(1)).index_copy(0, nodes, logits)

    @torch.no_grad()
    def _find_layers(self) -> None:
        """Runs the model once, to learn what goes in and which layers attend along edges."""
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

        training = self.model.training
        self.model.eval()
        try:
            with self._replaced(keep):
                self.model(self.data)
        finally:
            self.model.train(training)
            for handle in handles:
                handle.remove()
        if not found:
            raise ValueError(f"{type(self.model).__name__} has no embedding of nodes that is known here")
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
    def _watched(self, edge_index: Tensor) -> Iterator[None]:
        """Layers know which edges have masks, and pretrained ones send along them."""
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

    def _given(self, x: Tensor) -> Any:
        """The model gets these vectors in the place of its own."""
        return self._replaced(lambda _: x)

    @contextmanager
    def _replaced(self, other: Any) -> Iterator[None]:
        """What goes into the first layer is handed to a function, and what that gives goes in."""
        handles = [
            module.register_forward_hook(lambda module, args, out: other(out))
            for module in self.model.modules()
            if isinstance(module, NodeEmbedding)
        ]
        for encoder in self._encoders:
            encoder.given_vectors = other
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()
            for encoder in self._encoders:
                encoder.given_vectors = None
