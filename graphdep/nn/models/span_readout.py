"""From states of nodes to vectors of marked spans."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.utils import scatter

from graphdep.transforms import Nodes
from graphdep.transforms.nodes import check_pieces
from graphdep.transforms.phrases import in_span, path_words, top_words
from graphdep.transforms.presets import choice, count

MODES = ("mean", "top")


class SpanReadout(nn.Module):
    r"""One vector an example, from the states of its marked spans: the spans' vectors one after the other.

    .. math::
        \mathbf{v} = [\mathbf{v}_1; \mathbf{v}_2; \mathbf{v}_{\text{path}}] \qquad
        \mathbf{v}_s = \frac{1}{|s|} \sum_{i \in s} \mathbf{h}_i \ \text{ or } \
        \mathbf{v}_s = \mathbf{h}_{\text{top}(s)}

    where :math:`\text{top}(s)` is the word of span :math:`s` that is nearest to the root, the first of
    several, and :math:`\mathbf{v}_{\text{path}}`, an option, the mean over the words on the way through the
    tree from the top word of the first span to that of the second, both included. The tree is that of the
    data at this moment, so that a random tree in its place changes tops and ways as well. A span of which no
    word is left has a vector of zeros, and so has the way to it.

    It has no parameters; a :class:`ClassificationHead` takes the vectors.

    Args:
        num_spans: Spans of an example, 1 or 2. (default: :obj:`2`)
        mode: ``"mean"``: the mean over the nodes of a span's words; ``"top"``: the state of its top word.
            (default: ``"mean"``)
        path: Whether there is the mean over the way, too, for which there must be two spans.
            (default: :obj:`False`)
        pieces: Where words have several pieces, take their states ``"all"``, each with the same weight, or
            the ``"first"`` of each word alone. (default: ``"all"``)

    Shapes:
        - data: a batch of :math:`B` examples with ``mark``: bit 1 at the nodes of the first span's words, bit
          2 at those of the second's
        - x: :math:`(|\mathcal{V}|, C)`
        - output: :math:`(B, K C)` with :math:`K` = :attr:`num_parts`

    Raises:
        ValueError: If an option is wrong, the data has no ``mark``, not one for each node or marks of more
            spans, or :obj:`x` is of other nodes.

    Example:
        >>> import torch
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.data import mark_words
        >>> from graphdep.nn.models import SpanReadout
        >>> tree = Sentence(["A", "dog", "bites", "me"], [2, 3, 0, 3], ["det", "nsubj", "root", "obj"])
        >>> data = mark_words(to_data([tree], root=False), [1, 1, 0, 2])
        >>> SpanReadout(mode="top", path=True)(data, torch.tensor([[1.0], [2.0], [3.0], [4.0]]))
        tensor([[2., 4., 3.]])
    """

    def __init__(
        self, num_spans: int = 2, *, mode: str = "mean", path: bool = False, pieces: str = "all"
    ) -> None:
        super().__init__()
        self.num_spans = count("num_spans", num_spans, 1)
        if num_spans > 2:
            raise ValueError(f"'num_spans' must be 1 or 2 (got {num_spans})")
        self.mode, self.pieces, self.path = choice("mode", mode, MODES), check_pieces(pieces), bool(path)
        if path and num_spans < 2:
            raise ValueError("'path' leads from one span to another: 'num_spans' must be 2 (got 1)")

    @property
    def num_parts(self) -> int:
        """The size of a vector in sizes of a state: one for each span, and one for the way."""
        return self.num_spans + self.path

    def extra_repr(self) -> str:
        return f"{self.num_spans}, mode={self.mode!r}, path={self.path}, pieces={self.pieces!r}"

    def forward(self, data: Data, x: Tensor) -> Tensor:
        members, example, size = self._members(data)
        if x.size(0) != example.numel():
            raise ValueError(f"'x' must have a row for each of {example.numel()} nodes (got {x.size(0)})")
        parts = [scatter(x[nodes], example[nodes], dim_size=size, reduce="mean") for nodes in members]
        return torch.cat(parts, dim=-1)

    @torch.compiler.disable  # reads values
    def _members(self, data: Data) -> tuple[list[Tensor], Tensor, int]:
        """The nodes of each part, the example of every node, and the number of examples."""
        nodes = Nodes(data)
        most = (1 << self.num_spans) - 1
        if nodes.num_nodes and int(nodes.mark.max()) > most:
            raise ValueError(f"'mark' must be at most {most} (got {int(nodes.mark.max())}): more spans")
        members = [self._span(nodes, 1 << number) for number in range(self.num_spans)]
        if self.path:
            members.append(path_words(nodes)[nodes.first])
        if self.pieces == "first":
            members = [part & (nodes.first == nodes.index) for part in members]
        return [part.nonzero().view(-1) for part in members], nodes.example, nodes.ptr.numel() - 1

    def _span(self, nodes: Nodes, span: int) -> Tensor:
        if self.mode == "mean":
            return in_span(nodes, span)
        return nodes.first == top_words(nodes, span)[nodes.example]
