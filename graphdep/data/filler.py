"""Examples that bring a batch to a size that batches share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.transforms import BaseTransform

#: The target of an example whose loss does not count.
IGNORED = -100
#: Nodes of a filler example, about: a few short examples cost attention less than a long one.
_NODES = 16
#: Filler examples at most, so that large batches of different sizes have equally many.
_MOST = 8
#: Batches of filler examples that are kept.
_KEPT = 256


def capacity(size: int, steps: int = 8, least: int = 64) -> int:
    """The smallest size that batches share and that is not below ``size``: there are ``steps`` from each
    power of two to the next one.

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
    r"""Adds examples to a batch, whose targets are ignored, so that batches have the same few sizes: a CUDA
    graph is captured for each size (:func:`~graphdep.nn.graphed`).

    A batch of :math:`N` nodes gets :math:`F` examples more, as many of them for all batches of nearly equal
    size, whose nodes are :math:`N^* - N` together, :math:`N^*` being the next :func:`capacity`. No model can
    tell them from the others, and what is computed of the others stays what it was. They stand last, and
    ``num_fillers`` of the batch is their number, so that a loss may take the others alone.

    Args:
        make: Makes an example of so many words and, where the examples have targets that are sequences, of
            so many target tokens: ``make(words)`` or ``make(words, tokens)``. It is as the others are, but
            its targets are :obj:`IGNORED`, or whatever the loss leaves out.
        edges: Builds the edges of the examples, where the batches come with edges. (default: :obj:`None`)
        tokens: The column of target tokens, which are brought to a capacity, too. (default: :obj:`None`)

    Raises:
        ValueError: If an example of two words more has not more nodes.

    Example:
        >>> import torch
        >>> from torch_geometric.data import Batch
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.data.filler import Filler
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
        self._made: dict[Any, Batch] = {}
        one, two = (self._batch([(words, 1)], []).num_nodes for words in (2, 3))
        if two <= one:
            raise ValueError(f"'make' must give more nodes for more words (got {one} and {two})")
        self._fixed, self._by_word = one - 2 * (two - one), two - one

    def __call__(self, batch: Batch) -> Batch:
        """The batch and the filler examples behind it."""
        follow = [key.removesuffix("_ptr") for key in batch.keys() if key.endswith("_ptr")]  # noqa: SIM118
        fillers = self._batch(self._sizes(batch), follow)
        full = join_batches(batch, fillers)
        full.num_fillers = fillers.num_graphs
        return full

    def _sizes(self, batch: Batch) -> list[tuple[int, int]]:
        """(words, target tokens) of each filler example."""
        nodes, least = batch.num_nodes, self._fixed + 2 * self._by_word
        number = min(max(2, _step(nodes) // max(_NODES, least)), _MOST)
        number += -(batch.num_graphs + number) % _step(batch.num_graphs + number)
        wanted = capacity(nodes + number * least)
        # An example may grow by more than a node a word, as where each relation is a node.
        words = -(-(wanted - nodes - number * self._fixed) // self._by_word)
        tokens = number
        if self.tokens is not None:
            have = batch[self.tokens].numel()
            # Few sizes, as there is a graph for each with each of those of nodes.
            tokens = capacity(have + number, steps=4) - have
        return [*zip(_parts(words, number), _parts(tokens, number))]

    def _batch(self, sizes: list[tuple[int, int]], follow: list[str]) -> Batch:
        """The filler examples of these sizes, with edges."""
        key = (*sizes, *follow)
        if key not in self._made:
            if len(self._made) == _KEPT:
                self._made.clear()
            made = [self.make(*size[: 1 + (self.tokens is not None)]) for size in sizes]
            batch = Batch.from_data_list(made, follow_batch=follow)
            self._made[key] = batch if self.edges is None else self.edges(batch)
        return self._made[key]


def without_fillers(batch: Batch, rows: Tensor) -> Tensor:
    """The rows of the examples that are no fillers, of a row for each example."""
    fillers = batch.get("num_fillers", 0)
    return rows[: len(rows) - fillers] if fillers else rows


def _parts(total: int, number: int) -> list[int]:
    """The total in so many nearly equal parts."""
    return [total // number + (part < total % number) for part in range(number)]


def join_batches(first: Batch, second: Batch) -> Batch:
    """The examples of two batches in one, as ``Batch.from_data_list`` gives it; what the second lacks of the
    columns of the first is an error, what it has beside them is left out.

    Raises:
        ValueError: If the second batch lacks a column of the first.
    """
    nodes, graphs = first.num_nodes, first.num_graphs
    out: Any = Batch(_base_cls=Data)
    slices: dict[str, Tensor] = {}
    increments: dict[str, Tensor] = {}
    parts: Mapping[str, Any] = first._slice_dict
    for key in first.keys():  # noqa: SIM118
        value = first[key]
        if key not in second:
            raise ValueError(f"the filler examples lack {key!r}, which the batch has")
        other = second[key]
        if not isinstance(value, Tensor):
            continue
        if key == "ptr" or key.endswith("_ptr"):
            out[key] = torch.cat([value, other[1:] + value[-1]])
        elif key == "batch" or key.endswith("_batch"):
            out[key] = torch.cat([value, other + graphs])
        elif "index" in key:
            out[key] = torch.cat([value, other + nodes], dim=-1)
        else:
            out[key] = torch.cat([value, other.to(value.dtype)])
        if key in parts:
            slices[key] = torch.cat([parts[key], second._slice_dict[key][1:] + parts[key][-1]])
            known = first._inc_dict[key], second._inc_dict[key]
            more = nodes if "index" in key else 0
            if all(isinstance(x, Tensor) for x in known):
                increments[key] = torch.cat([known[0], known[1] + more])
    out.num_nodes = nodes + second.num_nodes
    out._num_graphs, out._slice_dict, out._inc_dict = graphs + second.num_graphs, slices, increments
    return out
