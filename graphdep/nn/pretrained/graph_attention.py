"""The attention function that Hugging Face models call instead of their own."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn

from graphdep.io.limits import check_transformers
from graphdep.nn.attention import AttentionLayout, EdgeTerms, edge_attention
from graphdep.nn.pretrained._edge_sender import EdgeSender
from graphdep.nn.pretrained._near_edges import NearEdges, near_edges

NAME = "graphdep"


@dataclass(eq=False)
class LayerEdges:
    """The edges of all layers in one forward pass, and what it leaves behind.

    Args:
        shared: The edges of every layer that has none of its own.
        own: The edges of single layers, by their attention module.
        terms: What the edges of single layers add, by their attention module, as a function of the states
            that the layer reads.
        backend: Backend of :func:`~graphdep.nn.attention.edge_attention`.
        weights: Where the layers put ``(pairs, alpha)`` in turn; :obj:`None`: nowhere.
        calls: The attention modules in the order of their calls; :obj:`None`: not kept.
        states: Where :func:`keep_state` puts what the first block reads, then what each block gives;
            :obj:`None`: nowhere.
        reads: What the layer at work reads, from :func:`keep_input` until its attention takes it.
        senders: What sends the messages of single layers, by their attention module, while an explainer looks
            at them.
        windows: ``"own"``: a layer that sees only so many places around a word takes those edges that are
            within them; ``"dropped"``: it takes all.
        position: Places of the nodes in their examples, ``[num_nodes]``, for such layers.
    """

    shared: AttentionLayout | None
    own: dict[nn.Module, AttentionLayout] = field(default_factory=dict)
    terms: dict[nn.Module, Callable[[Tensor], EdgeTerms]] = field(default_factory=dict)
    backend: str = "auto"
    weights: list[tuple[Tensor, Tensor]] | None = None
    calls: list[nn.Module] | None = None
    states: list[Tensor] | None = None
    reads: Tensor | None = None
    senders: dict[nn.Module, EdgeSender] = field(default_factory=dict)
    windows: str = "own"
    position: Tensor | None = None
    _within: dict[tuple[AttentionLayout, int], NearEdges] = field(default_factory=dict)

    def within(self, layout: AttentionLayout, window: int | None) -> NearEdges:
        """The edges that a layer with a window takes, found once for all layers that share them."""
        if window is None or self.windows == "dropped":
            return NearEdges(layout)
        if self.position is None:
            raise ValueError(
                f"a layer has a window of {window} places of its own: where the nodes are is not known"
            )
        if (layout, window) not in self._within:
            self._within[layout, window] = near_edges(layout, self.position, window)
        return self._within[layout, window]


def keep_input(attention: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """A hook before attention modules that hands what they read to the :class:`LayerEdges` of the pass.

    It runs again where a checkpoint runs a block again; hooks of the block itself do not.
    """
    graph = kwargs.get("graph")
    if graph is not None and attention in graph.terms:
        graph.reads = _input_of(args, kwargs)[0]


def keep_state(block: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
    """A forward hook of blocks that hands their states to the :class:`LayerEdges` of the pass.

    That of transformers is a closure, with which a model cannot be pickled.
    """
    graph = kwargs.get("graph")
    if graph is None or graph.states is None:
        return
    if not graph.states:
        graph.states.append(_input_of(args, kwargs))
    graph.states.append(output[0] if isinstance(output, tuple) else output)


def _input_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    return args[0] if args else kwargs["hidden_states"]


def graph_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    graph: LayerEdges | None = None,
    scaling: float | None = None,
    dropout: float = 0.0,
    sliding_window: int | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    r"""Attention over edges in the form that transformers' ``AttentionInterface`` asks for.

    The batch is one row of packed examples; ``graph`` is a keyword of the model's ``forward``, which hands it
    down untouched.

    Shapes:
        - query: :math:`(1, H, |\mathcal{V}|, d)`; key and value the same, or with fewer heads, each shared by
          several of the query's
        - output: :math:`(1, |\mathcal{V}|, H, d)`

    A layer with a window (ModernBERT's local ones) attends over the edges within it, unless
    :attr:`LayerEdges.windows` says otherwise.

    Raises:
        ValueError: If there are no edges, or the layer has a mask of its own, which edges would overrule.
    """
    if graph is None:
        raise ValueError(
            "this model attends along edges: call the PretrainedEncoder around it, or give it its own "
            "attention back with model.set_attn_implementation('eager')"
        )
    if attention_mask is not None:
        raise ValueError(f"{type(module).__name__} has a mask of its own, which edges would overrule")
    if graph.calls is not None:
        graph.calls.append(module)
    layout = graph.own.get(module, graph.shared)
    assert layout is not None
    near = graph.within(layout, sliding_window)
    layout, terms = near.layout, near.terms(_terms(graph, module))
    # An index would cost a copy into zeros in the backward pass, and one of what is no longer contiguous.
    q, k, v = (x.squeeze(0).transpose(0, 1) for x in (query, key, value))
    if q.size(1) != k.size(1):
        k, v = (x.repeat_interleave(q.size(1) // x.size(1), dim=1) for x in (k, v))
    usual = q.size(-1) ** -0.5  # what edge_attention scales by
    if scaling is not None and scaling != usual:
        q = q * (scaling / usual)
    sender = graph.senders.get(module)
    if sender is not None and sender.sends_messages:
        layout = layout if sender.explained is None or terms else layout.materialize()
        return sender(q, k, v, layout, **terms).unsqueeze(0), None
    out = edge_attention(
        q,
        k,
        v,
        layout.edge_index,
        **terms,
        layout=layout,
        dropout_p=dropout,
        return_attention_weights=graph.weights is not None,
        backend=graph.backend,
    )
    if isinstance(out, tuple):
        out, weights = out
        assert graph.weights is not None
        graph.weights.append(weights)
    return out.unsqueeze(0), None


def _terms(graph: LayerEdges, module: nn.Module) -> dict[str, Any]:
    """What the edges of a layer add, for the states that it reads."""
    if module not in graph.terms:
        return {}
    reads, graph.reads = graph.reads, None  # kept, it would tie a checkpoint to what it is a part of
    assert reads is not None
    return graph.terms[module](reads)._asdict()


def register() -> None:
    """Makes :func:`graph_attention` known to transformers under :obj:`NAME`.

    Raises:
        ImportError: If transformers is not installed.
    """
    import_transformers().AttentionInterface.register(NAME, graph_attention)


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Without the progress bars and notes of transformers; what matters in them is checked by the caller."""
    log = import_transformers().logging
    verbosity, bar = log.get_verbosity(), log.is_progress_bar_enabled()
    log.set_verbosity_error()
    log.disable_progress_bar()
    # Each retry would be told twice; what comes of them all is an error.
    hub = logging.getLogger("huggingface_hub")
    level = hub.level
    hub.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.set_verbosity(verbosity)
        hub.setLevel(level)
        if bar:
            log.enable_progress_bar()


def import_transformers() -> Any:
    """The package transformers.

    Raises:
        ImportError: If it is not installed; the message says how to get it.
    """
    check_transformers()
    import transformers

    return transformers
