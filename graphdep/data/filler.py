"""Filler examples that pad a batch to a shared size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.transforms import BaseTransform
from torch_geometric.utils import cumsum

from graphdep.data.stored_batches import is_index

#: Target that the loss ignores.
IGNORED = -100
#: Approximate nodes per filler example: attention over a few short examples is cheaper than over a long one.
_FILLER_NODES = 16
#: Largest number of filler examples, so that large batches of different sizes have equally many.
_MAX_FILLERS = 8
#: Largest number of cached batches of filler examples.
_MAX_CACHED = 1024


def capacity(size: int, steps: int = 8, least: int = 64) -> int:
    """The smallest shared size that is at least ``size``: there are ``steps`` sizes from each power of two to
    the next.

    Example:
        >>> from graphdep.data.filler import capacity
        >>> [capacity(size) for size in (3, 64, 65, 685, 1956)]
        [64, 64, 72, 704, 2048]
    """
    step = _step(size, steps)
    return max(least, -(-size // step) * step)


def _step(size: int, steps: int = 8) -> int:
    return max(1, 2 ** (max(size, 1).bit_length() - 1) // steps)


class Filler:
    r"""Adds examples with ignored targets to a batch, so that batches have only a few sizes: each size needs
    its own CUDA graph (:func:`~graphdep.nn.graphed`).

    A batch of :math:`N` nodes gets :math:`F` further examples with :math:`N^* - N` nodes in total, where
    :math:`N^*` is the next :func:`capacity`; batches of nearly equal size get equally many. Models treat
    fillers like other examples, whose results do not change. Fillers come last, and ``num_fillers`` of the
    batch is their number, so that a loss can leave them out (:func:`~graphdep.data.without_fillers`).

    Args:
        make: Makes an example with a given number of words and, for targets that are sequences, of target
            tokens: ``make(words)`` or ``make(words, tokens)``. It has the same columns as other examples, but
            its targets are :obj:`IGNORED`, or whatever else the loss leaves out.
        edges: Builds the edges of the fillers, if batches have edges. (default: :obj:`None`)
        tokens: The column of target tokens, which is also padded to a capacity. (default: :obj:`None`)

    Raises:
        ValueError: If more words do not give an example more nodes.

    Example:
        >>> import torch
        >>> from torch_geometric.data import Batch
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.data import Filler
        >>> example = lambda words: to_data([Sentence.chain(["x"] * words)], y=torch.tensor([-100]))
        >>> batch = Batch.from_data_list([example(20), example(23)])
        >>> full = Filler(example)(batch)
        >>> batch.num_nodes, full.num_nodes, full.num_graphs
        (45, 64, 4)
    """

    def __init__(
        self, make: Callable[..., Data], *, edges: BaseTransform | None = None, tokens: str | None = None
    ) -> None:
        self.make, self.edges, self.tokens = make, edges, tokens
        self._made: dict[tuple[tuple[int, int], ...], Batch] = {}
        one, two = (self._fillers((words, 1)).num_nodes for words in (2, 3))
        if two <= one:
            raise ValueError(f"'make' must give more nodes for more words (got {one} and {two})")
        self._fixed, self._by_word = one - 2 * (two - one), two - one

    def __call__(self, batch: Batch) -> Batch:
        """The batch, followed by filler examples."""
        fillers = self._fillers(*self._sizes(batch))
        full = join_batches([batch, fillers])
        full.num_fillers = fillers.num_graphs
        return full

    def _sizes(self, batch: Batch) -> list[tuple[int, int]]:
        """(words, target tokens) of each filler example."""
        nodes, least = batch.num_nodes, self._fixed + 2 * self._by_word
        number = min(max(2, _step(nodes) // max(_FILLER_NODES, least)), _MAX_FILLERS)
        number += -(batch.num_graphs + number) % _step(batch.num_graphs + number)
        wanted = capacity(nodes + number * least)
        # A word may add more than one node, as with a node per relation.
        words = -(-(wanted - nodes - number * self._fixed) // self._by_word)
        tokens = number
        if self.tokens is not None:
            have = batch[self.tokens].numel()
            # Few sizes, since there is a graph for each combination with a number of nodes.
            tokens = capacity(have + number, steps=4) - have
        return [*zip(_parts(words, number), _parts(tokens, number))]

    def _fillers(self, *sizes: tuple[int, int]) -> Batch:
        """A batch of filler examples with edges, one for each (words, target tokens)."""
        if sizes in self._made:
            return self._made[sizes]
        if len(sizes) > 1:
            batch = join_batches([self._fillers(size) for size in sizes])
        else:
            batch = Batch.from_data_list([self.make(*sizes[0][: 1 + (self.tokens is not None)])])
            batch = batch if self.edges is None else self.edges(batch)
        if len(self._made) == _MAX_CACHED:
            self._made.clear()
        self._made[sizes] = batch
        return batch


def without_fillers(batch: Batch, rows: Tensor) -> Tensor:
    """The rows of real examples, given a row for each example."""
    fillers = batch.get("num_fillers", 0)
    return rows[: len(rows) - fillers] if fillers else rows


def _parts(total: int, number: int) -> list[int]:
    """Splits the total into nearly equal parts."""
    return [total // number + (part < total % number) for part in range(number)]


def join_batches(batches: Sequence[Batch]) -> Batch:
    """The examples of several batches as one batch, like ``Batch.from_data_list``, with the tensor columns of
    the first batch. Bounds of ``follow_batch`` are computed if the other batches lack them.

    Raises:
        ValueError: If another batch lacks a column of the first, or has it with another type.
    """
    first = batches[0]
    nodes = cumsum(torch.tensor([batch.num_nodes for batch in batches])).tolist()
    graphs = cumsum(torch.tensor([batch.num_graphs for batch in batches])).tolist()
    out: Any = Batch(_base_cls=Data)
    slices: dict[str, Tensor] = {}
    increments: dict[str, Tensor] = {}
    for key in first._slice_dict:
        parts = [_column(batch, key, first[key].dtype) for batch in batches]
        if index := is_index(key):
            parts = [parts[0], *(part + start for part, start in zip(parts[1:], nodes[1:]))]
        out[key] = torch.cat(parts, dim=-1 if index else 0)
        slices[key] = cumsum(torch.cat([batch._slice_dict[key].diff() for batch in batches]))
        if all(isinstance(batch._inc_dict[key], Tensor) for batch in batches):
            starts = nodes if index else [0] * len(nodes)
            increments[key] = torch.cat([b._inc_dict[key] + n for b, n in zip(batches, starts)])
        if f"{key}_ptr" in first:
            out[f"{key}_ptr"] = slices[key]
            out[f"{key}_batch"] = torch.arange(graphs[-1]).repeat_interleave(slices[key].diff())
    out.ptr = cumsum(torch.cat([batch.ptr.diff() for batch in batches]))
    out.batch = torch.arange(graphs[-1]).repeat_interleave(out.ptr.diff())
    out.num_nodes = nodes[-1]
    out._num_graphs, out._slice_dict, out._inc_dict = graphs[-1], slices, increments
    return out


def _column(batch: Batch, key: str, dtype: torch.dtype) -> Tensor:
    value = batch.get(key)
    if not isinstance(value, Tensor) or value.dtype != dtype:
        got = value.dtype if isinstance(value, Tensor) else "none"
        raise ValueError(f"filler examples need a column {key!r} of {dtype}, as the batch has it (got {got})")
    return value
