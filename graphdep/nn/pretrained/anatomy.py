"""What has to be known of a Hugging Face model to run it over edges, found out by running it."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from graphdep.nn.attention import AttentionLayout
from graphdep.nn.pretrained.graph_attention import NAME, LayerEdges, register

# Two examples of a trial: of different lengths, so that neither positions nor neighbours can agree by chance.
_TRIAL_LENGTHS = (5, 3)


@dataclass(frozen=True)
class Anatomy:
    """The parts of an encoder.

    Args:
        hidden_channels: Size of the node states.
        heads: Attention heads of a layer.
        attentions: Names of the attention modules, one a layer.
        first_position: The position id of an example's first node.
        max_length: Nodes that an example may have.
        num_segments: Segments told apart; 0 where the model takes none.
    """

    hidden_channels: int
    heads: int
    attentions: tuple[str, ...]
    first_position: int
    max_length: int
    num_segments: int

    @property
    def num_layers(self) -> int:
        return len(self.attentions)

    @property
    def shares_layers(self) -> bool:
        """Whether one block does the work of several layers."""
        return len(set(self.attentions)) < len(self.attentions)


def examine(model: Any) -> Anatomy:
    """Finds out how an encoder is to be run over edges, and refuses one that cannot be.

    A trial with random ids settles it: over the complete graphs of two packed examples every layer must call
    :func:`~graphdep.nn.pretrained.graph_attention.graph_attention` once, and all hidden states must be those
    that the model computes with its own attention from each example alone. A model that ignores the attention
    interface, is causal, joins neighbours outside of its attention, or adds to the scores what edges do not
    know (such as relative positions) fails. The model is left as it was.

    Raises:
        ValueError: If the model is no encoder that runs over edges; the message says why.
        ImportError: If transformers is not installed.
    """
    config = model.config
    taken = inspect.signature(model.forward).parameters
    if config.is_encoder_decoder or getattr(config, "is_decoder", False):
        raise _refused(model, "it is a decoder or has one")
    if "position_ids" not in taken:
        raise _refused(model, "it takes no position_ids, without which packed examples have wrong positions")
    first, length = _positions(model)
    segments = (getattr(config, "type_vocab_size", 0) or 0) if "token_type_ids" in taken else 0
    heads = config.num_attention_heads
    plain = Anatomy(config.hidden_size, heads, (), first, length, segments)
    training, own = model.training, config._attn_implementation
    model.eval()
    try:
        with torch.no_grad():
            calls, states = _trial(model, plain)
    finally:
        model.set_attn_implementation(own)
        model.train(training)
    names = {module: name for name, module in model.named_modules()}
    attentions = tuple(names[module] for module in calls)
    return Anatomy(states[-1].size(-1), heads, attentions, first, length, segments)


def run_model(
    model: Any,
    anatomy: Anatomy,
    input_ids: Tensor,
    position: Tensor,
    segment: Tensor,
    graph: LayerEdges,
    return_layers: bool = False,
) -> tuple[Tensor, list[Tensor]]:
    """The states of packed examples, and those of every layer if wanted: ``[num_nodes, C]`` each."""
    register()  # each time: the process may be another one than the constructor's
    inputs: dict[str, Any] = {"position_ids": (position + anatomy.first_position)[None]}
    if anatomy.num_segments:
        segment = segment if anatomy.num_segments > 1 else torch.zeros_like(segment)
        inputs["token_type_ids"] = segment[None]
    if return_layers:
        inputs["output_hidden_states"] = True
    out = model(input_ids=input_ids[None], graph=graph, **inputs)
    return out.last_hidden_state[0], [x[0] for x in out.hidden_states] if return_layers else []


def blocks(model: nn.Module, anatomy: Anatomy) -> list[nn.Module]:
    """The blocks of the encoder, one a layer.

    Raises:
        ValueError: If the layers are not blocks of their own.
    """
    for path, module in model.named_modules():
        if isinstance(module, nn.ModuleList) and len(module) == anatomy.num_layers:
            inside = (name.startswith(f"{path}.{i}.") for i, name in enumerate(anatomy.attentions))
            if all(inside):
                return list(module)
    raise ValueError(
        f"the layers of {type(model).__name__} share their parameters: they cannot be treated one by one"
    )


def _trial(model: Any, plain: Anatomy) -> tuple[list[nn.Module], list[Tensor]]:
    """The attention modules in the order of their calls, and the states of every layer."""
    device = next(model.parameters()).device
    sizes = torch.tensor(_TRIAL_LENGTHS, device=device).clamp(max=plain.max_length)
    ids = _trial_ids(model, int(sizes.sum())).to(device)
    position = torch.cat([torch.arange(n, device=device) for n in sizes.tolist()])
    example = torch.arange(sizes.numel(), device=device).repeat_interleave(sizes)
    none = torch.empty(2, 0, dtype=torch.long, device=device)
    calls: list[nn.Module] = []
    graph = LayerEdges(AttentionLayout(none, ids.numel(), clique=example), calls=calls)
    register()
    model.set_attn_implementation(NAME)
    try:
        states = run_model(model, plain, ids, position, torch.zeros_like(ids), graph, return_layers=True)[1]
    except ValueError as error:
        raise _refused(model, str(error)) from error
    except (RuntimeError, TypeError, AttributeError) as error:
        raise _refused(model, f"a trial failed with {type(error).__name__}: {error}") from error
    layers = model.config.num_hidden_layers
    if len(calls) != layers:
        why = f"its {layers} layers call the attention interface of transformers {len(calls)} times"
        raise _refused(model, why)
    if len(states) != layers + 1:
        raise _refused(model, f"it has {layers} layers, but gave {len(states)} hidden states")
    model.set_attn_implementation("eager")
    alone = [
        model(input_ids=part[None], output_hidden_states=True).hidden_states
        for part in ids.split(sizes.tolist())
    ]
    expected = [torch.cat([parts[0] for parts in layer]) for layer in zip(*alone)]
    _check_equal(model, states, expected)
    return calls, states


def _trial_ids(model: Any, count: int) -> Tensor:
    """Ids from the embedding table, spread over it, without that of padding."""
    rows = model.get_input_embeddings().num_embeddings
    known = torch.tensor([i for i in range(rows) if i != model.config.pad_token_id])
    return known[torch.arange(1, count + 1) * known.numel() // (count + 1)]


def _check_equal(model: Any, states: list[Tensor], expected: list[Tensor]) -> None:
    tolerance = 1e-3 if model.dtype in (torch.float32, torch.float64) else 0.05
    for layer, (got, wanted) in enumerate(zip(states, expected)):
        worst = float((got - wanted).abs().max() / wanted.abs().max())
        if not worst <= tolerance:
            raise _refused(
                model,
                "over complete graphs it does not compute what it computes of padded text "
                f"(layer {layer} of {len(states) - 1} differs by {worst:.2g} of its size): it is causal, "
                "joins neighbours, or has scores that edges do not know, such as relative positions",
            )


def _positions(model: Any) -> tuple[int, int]:
    """The first position id, and how many there are. Tables with a row for padding start behind it."""
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding):
            first = 0 if module.padding_idx is None else module.padding_idx + 1
            return first, module.num_embeddings - first
    return 0, model.config.max_position_embeddings


def _refused(model: Any, why: str) -> ValueError:
    return ValueError(f"{type(model).__name__} cannot run over edges: {why}")
