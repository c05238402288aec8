"""Attention over one set of pairs by graphdep's backends and by what others would use, for gpu_speed.py.

Queries, keys and values are given, so that attention alone is compared: PyG's ``TransformerConv`` without its
projections, plain and compiled; PyTorch's attention over padded batches with a 4-D mask, built anew in each
call; FlexAttention over the packed batch, its mask given; ``varlen_attn``, which knows neither edges nor
terms, as the lower bound for complete sentences.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.nn import MessagePassing
from torch_geometric.utils import softmax

from graphdep.nn.attention import AttentionLayout, edge_attention


@dataclass(frozen=True)
class Pairs:
    """Pairs that may attend, with random states, and on the edges terms where the layer has any.

    Args:
        layout: The pairs, on the device, with what the backends need.
        written: All pairs, written out, ``[2, num_pairs]``; the explicit edges first.
        ptr: Sentence boundaries, on the CPU.
        states: Query, key and value, ``[num_nodes, heads, d]``.
        terms: Bias and scale of the edges, ``[num_edges, heads]``; or none.
        layout_us: Microseconds that the CPU took to make the layout.
    """

    layout: AttentionLayout
    written: Tensor
    ptr: Tensor
    states: tuple[Tensor, Tensor, Tensor]
    terms: tuple[Tensor, ...]
    layout_us: float

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """What gradients are asked of."""
        return (*self.states, *self.terms)

    @cached_property
    def batch(self) -> tuple[Tensor, Tensor, int]:
        """Sentence and place of every node, and nodes of the longest sentence."""
        sizes = self.ptr.diff()
        number = torch.arange(sizes.numel()).repeat_interleave(sizes)
        place = torch.arange(number.numel()) - self.ptr[number]
        device = self.states[0].device
        return number.to(device), place.to(device), int(sizes.max())


@dataclass(frozen=True)
class Method:
    """A way to compute it.

    Args:
        run: Gives the output.
        inputs: What gradients are asked of.
    """

    run: Callable[[], Tensor]
    inputs: tuple[Tensor, ...]


def graphdep(pairs: Pairs, backend: str) -> Method:
    names = ("attn_bias", "score_scale")[: len(pairs.terms)]
    options: dict[str, Any] = {"layout": pairs.layout, "backend": backend, **dict(zip(names, pairs.terms))}
    run: Any = partial(edge_attention, *pairs.states, pairs.layout.edge_index, **options)
    return Method(run, pairs.inputs)


class PyG(MessagePassing):
    """What PyG's ``TransformerConv`` does after its projections, with the terms of the edges where there are
    some.
    """

    def __init__(self) -> None:
        super().__init__(aggr="add", node_dim=0)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, edge_index: Tensor, *terms: Tensor
    ) -> Tensor:
        bias, scale = terms or (None, None)
        return self.propagate(edge_index, query=query, key=key, value=value, bias=bias, scale=scale)

    def message(
        self, query_i: Tensor, key_j: Tensor, value_j: Tensor, bias: Tensor | None, scale: Tensor | None,
        index: Tensor, ptr: Tensor | None, size_i: int | None,
    ) -> Tensor:  # fmt: skip
        score = (query_i * key_j).sum(dim=-1) / query_i.size(-1) ** 0.5
        if bias is not None and scale is not None:
            score = score * scale + bias
        return value_j * softmax(score, index, ptr, size_i).unsqueeze(-1)


def pyg(pairs: Pairs, compiled: bool = False) -> Method:
    heads = pairs.states[0].size(1)
    conv: Any = PyG()
    if compiled:
        conv = torch.compile(conv, dynamic=True)
    extra = pairs.written.size(1) - (pairs.terms[0].size(0) if pairs.terms else 0)

    def run() -> Tensor:
        terms = [torch.cat([x, x.new_full((extra, heads), fill)]) for x, fill in zip(pairs.terms, (0.0, 1.0))]
        return conv(*pairs.states, pairs.written, *terms)

    return Method(run, pairs.inputs)


def sdpa(pairs: Pairs) -> Method:
    """Over the padded batch. A scale is not to be had there: of terms it takes the bias alone."""
    number, place, longest = pairs.batch
    count = pairs.ptr.numel() - 1
    states = (padded(x.detach(), number, place, count, longest) for x in pairs.states)
    query, key, value = (x.requires_grad_() for x in states)
    source, target = pairs.written
    unused = torch.ones(count, longest, dtype=torch.bool, device=query.device)
    unused[number, place] = False
    # Rows without a word need something to see, else they are not numbers.
    filler = torch.eye(longest, dtype=torch.bool, device=query.device) & unused[:, :, None]

    def run() -> Tensor:
        allowed = filler.clone()
        allowed[number[target], place[target], place[source]] = True
        if not pairs.terms:
            return F.scaled_dot_product_attention(query, key, value, attn_mask=allowed[:, None])
        bias = pairs.terms[0]
        s, t = pairs.layout.edge_index
        mask = torch.zeros_like(allowed, dtype=bias.dtype).masked_fill(~allowed, -torch.inf)
        mask = mask[:, None].expand(-1, bias.size(1), -1, -1)
        head = torch.arange(bias.size(1), device=bias.device)
        where = (number[t][:, None], head[None, :], place[t][:, None], place[s][:, None])
        masked = mask.index_put(where, bias)
        return F.scaled_dot_product_attention(query, key, value, attn_mask=masked)

    return Method(run, (query, key, value, *pairs.terms[:1]))


def padded(x: Tensor, number: Tensor, place: Tensor, count: int, longest: int) -> Tensor:
    """``[sentences, heads, longest, d]``; a padded model has its states in that form throughout."""
    return x.new_zeros(count, longest, *x.shape[1:]).index_put((number, place), x).transpose(1, 2)


def flex(pairs: Pairs, compiled: bool) -> Method:
    """Allowed pairs and terms are looked up in tables by row and place in the sentence."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    attend: Any = torch.compile(flex_attention, dynamic=False) if compiled else flex_attention
    number, place, longest = pairs.batch
    allowed = torch.zeros(number.numel(), longest, dtype=torch.bool, device=number.device)
    allowed[pairs.written[1], place[pairs.written[0]]] = True
    # On a CPU it has no backward pass, and says so where gradients are wanted.
    states = [x if x.is_cuda else x.detach() for x in pairs.states]

    def may(batch: Tensor, head: Tensor, row: Tensor, column: Tensor) -> Tensor:
        return (number[row] == number[column]) & allowed[row, place[column]]

    size = number.numel()
    mask = create_block_mask(may, None, None, size, size, device=str(number.device))

    def run() -> Tensor:
        query, key, value = (x.transpose(0, 1)[None] for x in states)
        if not pairs.terms:
            return attend(query, key, value, block_mask=mask)
        bias, scale = (table(x, fill) for x, fill in zip(pairs.terms, (0.0, 1.0)))

        def score(raw: Tensor, batch: Tensor, head: Tensor, row: Tensor, column: Tensor) -> Tensor:
            return raw * scale[row, place[column], head] + bias[row, place[column], head]

        return attend(query, key, value, score_mod=score, block_mask=mask)

    def table(term: Tensor, fill: float) -> Tensor:
        source, target = pairs.layout.edge_index
        empty = term.new_full((number.numel(), longest, term.size(1)), fill)
        return empty.index_put((target, place[source]), term)

    return Method(run, pairs.inputs)


def varlen(pairs: Pairs) -> Method:
    """Complete sentences without terms, by FlashAttention."""
    from torch.nn.attention.varlen import varlen_attn

    # A CPU has no such kernel: there it only says whether it takes these arguments.
    on_gpu = pairs.states[0].is_cuda
    states = [x if on_gpu else x.detach().to("meta").requires_grad_() for x in pairs.states]
    longest = int(pairs.ptr.diff().max())
    bounds = pairs.ptr.to(states[0].device, torch.int32)
    return Method(lambda: varlen_attn(*states, bounds, bounds, longest, longest), (*states,))
