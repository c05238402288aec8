"""The structure of Hugging Face encoders, and their attention over edges."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from graphdep.io.extras import check_extra
from graphdep.nn.attention.edge_attention import edge_attention
from graphdep.nn.attention.layout import AttentionLayout
from graphdep.nn.attention.relations import EdgeTerms, RelationVectors
from graphdep.nn.conv.attention_conv import MessageSender
from graphdep.nn.passes import evaluating, hooked
from graphdep.nn.pretrained.distances import ENCODERS, DistanceEncoder, Scores

# Terms of a pair without terms.
_NEUTRAL = {"attn_bias": 0.0, "score_scale": 1.0, "edge_key": 0.0, "edge_value": 0.0}


@dataclass(frozen=True)
class NearEdges:
    """Edges, and their selection from all pairs.

    Args:
        layout: The edges.
        pairs: Number of pairs from which they were selected; :obj:`None` if nothing was removed.
        kept: Mask of the selected pairs, ``[num_pairs]``; :obj:`None` for all.
    """

    layout: AttentionLayout
    pairs: int | None = None
    kept: Tensor | None = None

    def terms(self, terms: Mapping[str, Any]) -> dict[str, Any]:
        """The terms of the selected edges, given the terms of all explicit edges."""
        if self.pairs is None:
            return dict(terms)
        return {name: self._of(value, _NEUTRAL[name]) for name, value in terms.items()}

    def written_out(self) -> NearEdges:
        """The same with the pairs of cliques as explicit edges."""
        layout = self.layout.materialize()
        return self if layout is self.layout else NearEdges(layout, layout.num_edges)

    def _of(self, term: Tensor | RelationVectors | None, neutral: float) -> Tensor | None:
        if term is None:
            return None
        assert self.pairs is not None
        x = term.expand() if isinstance(term, RelationVectors) else term
        extra = self.pairs - x.size(0)  # pairs of cliques, which follow the edges
        x = torch.cat([x, x.new_full((extra, *x.shape[1:]), neutral)])
        return x if self.kept is None else x[self.kept]


def near_edges(layout: AttentionLayout, position: Tensor, window: int) -> NearEdges:
    """The pairs whose positions differ by less than the window; explicit unless all do."""
    if position.numel() == 0 or int(position.max()) - int(position.min()) < window:
        return NearEdges(layout)
    source, target = layout.pairs
    kept = (position[source] - position[target]).abs() < window
    near = AttentionLayout(layout.pairs[:, kept], layout.num_nodes, ptr=layout.ptr)
    return NearEdges(near, kept.numel(), kept)


class EdgeSender(MessageSender):
    r"""Attention of a pretrained layer as messages along edges, without dropout.

    Shapes:
        - query, key, value: :math:`(|\mathcal{V}|, H, d)`; output the same
    """

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        layout: AttentionLayout,
        *,
        edge_value: Tensor | RelationVectors | None = None,
        **terms: Any,
    ) -> Tensor:
        self.check_messages(layout)
        weighted: Any = edge_attention(
            query,
            key,
            value,
            layout.edge_index,
            **terms,
            layout=layout,
            return_attention_weights=True,
            backend="reference",
        )
        vectors = edge_value.expand() if isinstance(edge_value, RelationVectors) else edge_value
        return self.send(layout, value, weighted[1][1], edge_value=vectors)

    def message(  # type: ignore[override]
        self, value_j: Tensor, alpha: Tensor, edge_value: Tensor | None
    ) -> Tensor:
        value = value_j if edge_value is None else value_j + edge_value
        return value * alpha.unsqueeze(-1).to(value.dtype)


NAME = "graphdep"


@dataclass(eq=False)
class LayerEdges:
    """The edges of all layers in one forward pass, and its recorded outputs.

    Args:
        shared: The edges of layers without edges of their own.
        own: The edges of single layers, by attention module.
        terms: The edge terms of single layers, by attention module, as a function of the layer's input
            states.
        backend: Backend of :func:`~graphdep.nn.attention.edge_attention`.
        weights: List to which each layer appends ``(pairs, alpha)``; :obj:`None` for no recording.
        calls: List of the attention modules in call order; :obj:`None` for no recording.
        head_channels: Size of a head in the last call.
        states: List to which :func:`keep_state` appends the input of the first block, then the output of each
            block; :obj:`None` for no recording.
        reads: The input of the current layer, from :func:`keep_input` until its attention reads it.
        senders: Message senders of single layers, by attention module, while an explainer is active.
        windows: ``"own"``: a layer with a local window uses only the edges within it; ``"dropped"``: it uses
            all.
        position: Positions of the nodes in their examples, ``[num_nodes]``, for these layers.
        placeless: Mask of nodes without a position, ``[num_nodes]``, whose pairs have no distance.
        checkpoints: Whether layers are recomputed in the backward pass; only for encoders of
            :mod:`~graphdep.nn.pretrained.distances`, since others handle it themselves.
        scored: List to which layers with terms append their input, queries and keys, the selection of their
            pairs, and their own score terms; :obj:`None` for no recording.
    """

    shared: AttentionLayout | None
    own: dict[nn.Module, AttentionLayout] = field(default_factory=dict)
    terms: dict[nn.Module, Callable[[Tensor], EdgeTerms]] = field(default_factory=dict)
    backend: str = "auto"
    weights: list[tuple[Tensor, Tensor]] | None = None
    calls: list[nn.Module] | None = None
    head_channels: int = 0
    states: list[Tensor] | None = None
    reads: Tensor | None = None
    senders: dict[nn.Module, EdgeSender] = field(default_factory=dict)
    windows: str = "own"
    position: Tensor | None = None
    placeless: Tensor | None = None
    checkpoints: bool = False
    scored: dict[nn.Module, tuple[Tensor, Tensor, Tensor, NearEdges, Tensor | None]] | None = None
    _within: dict[tuple[AttentionLayout, int], NearEdges] = field(default_factory=dict)

    def within(self, layout: AttentionLayout, window: int | None) -> NearEdges:
        """The edges within the window of a layer, computed once for all layers that share them."""
        if window is None or self.windows == "dropped":
            return NearEdges(layout)
        if self.position is None:
            raise ValueError(
                f"a layer has a window of {window} positions, but the positions of the nodes are unknown"
            )
        if (layout, window) not in self._within:
            self._within[layout, window] = near_edges(layout, self.position, window)
        return self._within[layout, window]


def keep_input(attention: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """A hook before attention modules that passes their input to the :class:`LayerEdges` of the pass.

    It runs again when a checkpoint recomputes a block; hooks of the block itself do not.
    """
    graph = kwargs.get("graph")
    if graph is not None and attention in graph.terms:
        graph.reads = _input_of(args, kwargs)[0]


def keep_state(block: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
    """A forward hook of blocks that passes their states to the :class:`LayerEdges` of the pass.

    The hook of transformers is a closure, which would prevent pickling the model.
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
    scores: Scores | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    r"""Attention over edges with the signature of transformers' ``AttentionInterface``.

    The batch is one row of packed examples; ``graph`` is a keyword argument of the model's ``forward``, which
    passes it on unchanged.

    Shapes:
        - query: :math:`(1, H, |\mathcal{V}|, d)`; key and value the same, or with fewer heads, each shared by
          several query heads
        - output: :math:`(1, |\mathcal{V}|, H, d)`

    A layer with a window (ModernBERT's local ones) attends over the edges within it, unless
    :attr:`LayerEdges.windows` says otherwise. ``scores`` are score terms that the layer itself adds; they are
    scaled with the rest of the score.

    Raises:
        ValueError: If there are no edges, or the layer has its own mask, which edges would overrule.
    """
    if graph is None:
        raise ValueError(
            "this model attends along edges: call the PretrainedEncoder around it, or give it its own "
            "attention back with model.set_attn_implementation('eager')"
        )
    if attention_mask is not None:
        raise ValueError(f"{type(module).__name__} has its own mask, which edges would overrule")
    if graph.calls is not None:
        graph.calls.append(module)
        graph.head_channels = query.size(-1)
    layout = graph.own.get(module, graph.shared)
    assert layout is not None
    near = graph.within(layout, sliding_window)
    if scores is not None:
        near = near.written_out()
    reads = graph.reads
    layout, terms = near.layout, near.terms(_terms(graph, module))
    # Indexing would cost a copy into zeros in the backward pass, and one of a non-contiguous tensor.
    q, k, v = (x.squeeze(0).transpose(0, 1) for x in (query, key, value))
    if q.size(1) != k.size(1):
        k, v = (x.repeat_interleave(q.size(1) // x.size(1), dim=1) for x in (k, v))
    added = None if scores is None else _of_placed(scores(q, k, layout), layout, graph.placeless)
    if added is not None:
        terms["attn_bias"] = _with_scores(terms, added)
    usual = q.size(-1) ** -0.5  # the scaling of edge_attention
    if scaling is not None and scaling != usual:
        q = q * (scaling / usual)
    if graph.scored is not None and module in graph.terms:
        assert reads is not None
        graph.scored[module] = reads, q, k, near, added
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


def _of_placed(scores: Tensor, layout: AttentionLayout, placeless: Tensor | None) -> Tensor:
    """Scores of pairs, 0 for pairs of a node without a position."""
    if placeless is None:
        return scores
    source, target = layout.edge_index
    return scores.masked_fill((placeless[source] | placeless[target])[:, None], 0.0)


def _with_scores(terms: Mapping[str, Any], scores: Tensor) -> Tensor:
    """The bias of pairs, plus the model's own score terms."""
    scale, bias = terms.get("score_scale"), terms.get("attn_bias")
    scores = scores if scale is None else scores * scale
    return scores if bias is None else scores + bias


def _terms(graph: LayerEdges, module: nn.Module) -> dict[str, Any]:
    """The edge terms of a layer for its current input."""
    if module not in graph.terms:
        return {}
    reads, graph.reads = graph.reads, None  # a reference would keep the checkpointed graph alive
    assert reads is not None
    return graph.terms[module](reads)._asdict()


def register() -> None:
    """Registers :func:`graph_attention` with transformers under :obj:`NAME`."""
    import_transformers().AttentionInterface.register(NAME, graph_attention)


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Silences progress bars and notes of transformers; callers check for relevant problems themselves."""
    log = import_transformers().logging
    verbosity, bar = log.get_verbosity(), log.is_progress_bar_enabled()
    log.set_verbosity_error()
    log.disable_progress_bar()
    # Retries would be logged twice; their failure is an error.
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
    """The package transformers."""
    check_extra("a pretrained encoder", "pretrained")
    import transformers

    return transformers


# Two trial examples of different lengths, so that positions and neighbours cannot agree by chance.
_TRIAL_LENGTHS = (5, 3)
# Configurations with these options would make transformers add hooks to the model.
_NO_CAPTURE = {"output_hidden_states": False, "output_attentions": False}


@dataclass(frozen=True)
class Anatomy:
    """The structure of an encoder.

    Args:
        hidden_channels: Size of the node states.
        heads: Attention heads per layer.
        head_channels: Size of a head.
        attentions: Names of the attention modules, one per layer.
        first_position: The position id of an example's first node.
        max_length: Largest number of nodes in an example.
        num_segments: Number of segments; 0 for a model without segments.
        distances: Runs the layers of an encoder with distance scores; :obj:`None` for all others.
    """

    hidden_channels: int
    heads: int
    head_channels: int
    attentions: tuple[str, ...]
    first_position: int
    max_length: int
    num_segments: int
    distances: DistanceEncoder | None = None

    @property
    def num_layers(self) -> int:
        return len(self.attentions)

    @property
    def scores_distances(self) -> bool:
        """Whether distances are a separate score term, which pairs can lack."""
        return self.distances is not None and self.distances.scores_distances

    @property
    def shares_layers(self) -> bool:
        """Whether one block is used as several layers."""
        return len(set(self.attentions)) < len(self.attentions)


def examine(model: Any) -> Anatomy:
    """Determines how to run an encoder over edges, and refuses unsupported encoders.

    A trial with random ids decides: over the complete graphs of two packed examples every layer must call
    :func:`~graphdep.nn.pretrained.anatomy.graph_attention` once, and all hidden states must equal those of
    the model's own attention on each example alone. The trial fails for a model that ignores the attention
    interface, is causal, mixes neighbours outside its attention, or has score terms that edges do not know.
    Layers of encoders with distance scores are called one by one (:mod:`~graphdep.nn.pretrained.distances`)
    and pass the same trial. The model is not changed.
    """
    config = model.config
    distances = ENCODERS.get(config.model_type)
    taken = inspect.signature(model.forward).parameters
    if distances is not None and (fault := distances.fault(model)):
        _refuse(model, fault)
    has_decoder = distances is None and config.is_encoder_decoder  # mT5's encoder claims to be one
    if has_decoder or getattr(config, "is_decoder", False):
        _refuse(model, "it is, or has, a decoder")
    if distances is None and "position_ids" not in taken:
        _refuse(model, "it takes no position_ids, without which packed examples have wrong positions")
    for name, weight in model.named_parameters():
        if not weight.isfinite().all():
            raise ValueError(f"{type(model).__name__} cannot run over edges: weight {name!r} is not finite")
    first, length = _positions(model) if distances is None else distances.places(model)
    if type(length) is not int or length < 1:
        _refuse(model, f"it has no positions for nodes (got {length!r})")
    segments = (getattr(config, "type_vocab_size", 0) or 0) if "token_type_ids" in taken else 0
    heads = config.num_attention_heads
    plain = Anatomy(config.hidden_size, heads, 0, (), first, length, segments, distances)
    own = config._attn_implementation
    try:
        with evaluating(model), torch.no_grad():
            return _trial(model, plain)
    finally:
        model.set_attn_implementation(own)


def run_model(
    model: Any,
    anatomy: Anatomy,
    nodes: Tensor,
    position: Tensor,
    segment: Tensor,
    graph: LayerEdges,
    return_layers: bool = False,
) -> tuple[Tensor, list[Tensor]]:
    """The states of packed examples, and on request those of every layer, which need :func:`hook_blocks`
    first: ``[num_nodes, C]`` each.

    Nodes are given by ids, or by vectors that replace rows of the embedding table.
    """
    graph.position = position
    inputs: dict[str, Any] = {"position_ids": (position + anatomy.first_position)[None]}
    if anatomy.num_segments:
        segment = segment if anatomy.num_segments > 1 else torch.zeros_like(segment)
        inputs["token_type_ids"] = segment[None]
    inputs["inputs_embeds" if nodes.is_floating_point() else "input_ids"] = nodes[None]
    if anatomy.distances is not None:
        return _run_layers(model, anatomy.distances, inputs, graph, return_layers)
    register()  # each time, since the process may differ from the constructor's
    graph.states = [] if return_layers else None
    x = model(graph=graph, **inputs, **_NO_CAPTURE).last_hidden_state
    layers = _layers(x, graph)
    graph.states = None  # a checkpoint reruns its block in the backward pass
    return x.squeeze(0), layers


def _run_layers(
    model: Any,
    distances: DistanceEncoder,
    inputs: Mapping[str, Tensor],
    graph: LayerEdges,
    return_layers: bool,
) -> tuple[Tensor, list[Tensor]]:
    """As :func:`run_model`, for an encoder whose layers are called one by one."""

    def attend(
        module: nn.Module,
        reads: Tensor,
        states: tuple[Tensor, Tensor, Tensor],
        scaling: float,
        dropout: float,
        scores: Scores | None = None,
    ) -> Tensor:
        graph.reads = reads.squeeze(0) if module in graph.terms else None
        dropout = dropout if model.training else 0.0
        options: Any = {"graph": graph, "scaling": scaling, "dropout": dropout, "scores": scores}
        return graph_attention(module, *states, None, **options)[0].flatten(-2)

    assert graph.position is not None
    states = distances.run(model, inputs, graph.position, attend, graph.checkpoints)
    layers = [state.squeeze(0) for state in states]
    return layers[-1], layers if return_layers else []


def blocks(model: nn.Module, anatomy: Anatomy) -> list[nn.Module]:
    """The block of each layer; a block that is used as several layers is listed several times."""
    if anatomy.distances is not None:
        return anatomy.distances.blocks(model)
    return [_block(model, name.split(".")) for name in anatomy.attentions]


def attention_modules(model: nn.Module, anatomy: Anatomy) -> list[nn.Module]:
    """The attention module of each layer."""
    return [model.get_submodule(name) for name in anatomy.attentions]


def depths(model: nn.Module, anatomy: Anatomy) -> list[tuple[nn.Parameter, int]]:
    """The depth of all parameters: 0 for the embeddings, the layer's number from 1, the last for the rest.

    Raises:
        ValueError: If the layers share their parameters.
    """
    if anatomy.shares_layers:
        name = type(model).__name__
        raise ValueError(f"the layers of {name} share their parameters: they cannot be treated one by one")
    layer = {p: i for i, block in enumerate(blocks(model, anatomy), 1) for p in block.parameters()}
    if anatomy.distances is not None:  # distance tables are defined after the layers that read them
        top = map(model.get_submodule, anatomy.distances.last)
        layer |= {p: anatomy.num_layers for module in top for p in module.parameters()}
        return [(parameter, layer.get(parameter, 0)) for parameter in model.parameters()]
    result, depth = [], 0
    for parameter in model.parameters():  # in the order of the model's definition
        depth = layer.get(parameter, anatomy.num_layers if depth else 0)
        result.append((parameter, depth))
    return result


def hook_blocks(model: nn.Module, anatomy: Anatomy) -> list[RemovableHandle]:
    """Lets blocks and their attention pass states to the :class:`LayerEdges` of a pass; removing the handles
    undoes it.

    Keep the handles with the model: unpickled in another process, they stop other hooks from taking their
    ids. Does nothing, without handles, if the hooks exist or the layers are called one by one.
    """
    if anatomy.distances is not None:
        return []
    handles: list[RemovableHandle] = []
    for attention in dict.fromkeys(map(model.get_submodule, anatomy.attentions)):
        if keep_input not in attention._forward_pre_hooks.values():
            handles.append(attention.register_forward_pre_hook(keep_input, with_kwargs=True))
    for block in dict.fromkeys(blocks(model, anatomy)):
        if keep_state not in block._forward_hooks.values():
            handles.append(block.register_forward_hook(keep_state, with_kwargs=True))
    return handles


def _block(model: nn.Module, path: list[str]) -> nn.Module:
    """The entry of the innermost module list that contains the module at a path."""
    for end in range(len(path) - 1, 0, -1):
        if isinstance(model.get_submodule(".".join(path[:end])), nn.ModuleList):
            return model.get_submodule(".".join(path[: end + 1]))
    _refuse(model, "its layers are not a list of modules")


def _layers(x: Tensor, graph: LayerEdges) -> list[Tensor]:
    """The recorded states, without the batch dimension; the last one is the model's output."""
    return [state.squeeze(0) for state in (*graph.states[:-1], x)] if graph.states else []


def _trial(model: Any, plain: Anatomy) -> Anatomy:
    """The structure found by a trial, with the attention modules in call order."""
    device = next(model.parameters()).device
    sizes = torch.tensor(_TRIAL_LENGTHS, device=device).clamp(max=plain.max_length)
    ids = _trial_ids(model, int(sizes.sum())).to(device)
    position = torch.cat([torch.arange(n, device=device) for n in sizes.tolist()])
    example = torch.arange(sizes.numel(), device=device).repeat_interleave(sizes)
    none = torch.empty(2, 0, dtype=torch.long, device=device)
    inputs = (ids, position, torch.zeros_like(ids))
    graph = LayerEdges(AttentionLayout(none, ids.numel(), clique=example), calls=[])
    try:
        if plain.distances is None:
            register()
            model.set_attn_implementation(NAME)
        size = run_model(model, plain, *inputs, graph)[0].size(-1)
    except Exception as error:  # unusual configurations may raise anything
        _refuse(model, f"a trial failed with {type(error).__name__}: {error}")
    names = _names_of_calls(model, graph)
    found = replace(plain, hidden_channels=size, head_channels=graph.head_channels, attentions=names)
    handles = hook_blocks(model, found)
    try:
        with hooked(handles):
            states = run_model(model, found, *inputs, graph, return_layers=True)[1]
            if plain.distances is None:
                model.set_attn_implementation("eager")
            alone = [_states_alone(model, found, part) for part in ids.split(sizes.tolist())]
    except Exception as error:
        _refuse(model, f"a trial failed with {type(error).__name__}: {error}")
    if len(states) != found.num_layers + 1:
        _refuse(model, f"it has {found.num_layers} layers, but gave {len(states)} hidden states")
    _check_equal(model, states, [torch.cat(parts) for parts in zip(*alone)])
    return found


def _names_of_calls(model: Any, graph: LayerEdges) -> tuple[str, ...]:
    calls, layers = graph.calls or [], model.config.num_hidden_layers
    if len(calls) != layers:
        why = f"its {layers} layers call the attention interface of transformers {len(calls)} times"
        _refuse(model, why)
    names = {module: name for name, module in model.named_modules()}
    return tuple(names[module] for module in calls)


def _states_alone(model: Any, anatomy: Anatomy, ids: Tensor) -> list[Tensor]:
    """The states of all layers for one example, with the model's own positions and attention."""
    states: list[Tensor] = []
    hooks = [
        block.register_forward_pre_hook(
            lambda _, args, kwargs: states.append(_input_of(args, kwargs)), with_kwargs=True
        )
        for block in dict.fromkeys(blocks(model, anatomy))
    ]
    with hooked(hooks):
        states.append(model(input_ids=ids[None], **_NO_CAPTURE).last_hidden_state)
    return [state.squeeze(0) for state in states]


def _trial_ids(model: Any, count: int) -> Tensor:
    """Ids spread over the embedding table, without the padding id."""
    rows = model.get_input_embeddings().num_embeddings
    known = torch.tensor([i for i in range(rows) if i != model.config.pad_token_id])
    return known[torch.arange(1, count + 1) * known.numel() // (count + 1)]


def _check_equal(model: Any, states: list[Tensor], expected: list[Tensor]) -> None:
    tolerance = 1e-3 if model.dtype in (torch.float32, torch.float64) else 0.05
    for layer, (got, wanted) in enumerate(zip(states, expected)):
        worst = float((got - wanted).abs().max() / wanted.abs().max())
        if not worst <= tolerance:
            _refuse(
                model,
                "over complete graphs it does not compute what it computes of padded text "
                f"(layer {layer} of {len(states) - 1} differs by {worst:.2g} of its size): it is causal, "
                "joins neighbours, or has scores that edges do not know",
            )


def _positions(model: Any) -> tuple[int, int]:
    """The first position id, and the number of positions; tables with a padding row start after it."""
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding):
            first = 0 if module.padding_idx is None else module.padding_idx + 1
            return first, module.num_embeddings - first
    return 0, model.config.max_position_embeddings


def _refuse(model: Any, why: str) -> NoReturn:
    way = "layers of your own over its states can: docs/how-to/own-model.md"
    raise ValueError(f"{type(model).__name__} cannot run over edges: {why} ({way})")
