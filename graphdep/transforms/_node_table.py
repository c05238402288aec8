"""Whether the columns of a node table fit each other."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data

from graphdep.data import NodeType

_COLUMNS = (
    "governor_index",
    "deprel",
    "depth",
    "utterance",
    "word",
    "position",
    "segment",
    "clique",
    "batch",
)
_LINKS = ("governor_index", "arc_index", "arc_node_index")


def check_table(data: Data) -> None:
    """Raises :class:`ValueError` where nodes were added or dropped and a column does not know of it.

    Off the CPU, where a look would stall the device, and without a node table there is no check.
    """
    kind = data.get("node_type")
    if not isinstance(kind, Tensor) or kind.device.type != "cpu":
        return
    size = kind.numel()
    for key in _COLUMNS:
        if key in data and data[key].shape[:1] != (size,):
            _refuse(f"{key!r} has {[*data[key].shape]} entries for {size} nodes")
    if "ptr" in data and int(data["ptr"][-1]) != size:
        _refuse(f"'ptr' ends at {int(data['ptr'][-1])}, but there are {size} nodes")
    for key in _LINKS:
        if key in data and data[key].numel():
            low, high = (int(x) for x in data[key].aminmax())
            if low < 0 or high >= size:
                _refuse(f"{key!r} names node {low if low < 0 else high}, but there are {size}")
    if "governor_index" in data:
        _check_governors(data, kind)
    if "arc_index" in data:
        governor, dependent = data["arc_index"]
        wrong = _apart(data, governor, dependent, "batch") | (kind[dependent] != NodeType.WORD)
        wrong |= (kind[governor] != NodeType.WORD) & (kind[governor] != NodeType.ROOT)
        if bool(wrong.any()):
            arc = data["arc_index"][:, wrong][:, 0].tolist()
            _refuse(f"'arc_index' has an arc from node {arc[0]} to node {arc[1]}, which cannot be one")
    if "arc_node_index" in data and bool((kind[data["arc_node_index"]] != NodeType.RELATION).any()):
        _refuse("'arc_node_index' names nodes that are no RELATION nodes")


def _check_governors(data: Data, kind: Tensor) -> None:
    governor = data["governor_index"]
    node = torch.arange(governor.numel(), device=governor.device)
    own = governor == node
    wrong = _apart(data, governor, node, "batch", "utterance")
    if "depth" in data and "word" in data:
        depth, word = data["depth"], data["word"]
        above = depth[governor]
        # A root word is below ROOT, or its own governor; its further pieces then have the first one.
        step = (above == depth - 1) | ((above == 1) & (depth == 1) & (word[governor] == word))
        wrong |= (word >= 0) & (kind != NodeType.WORD)
        wrong |= torch.where(own, depth > 1, (depth >= 0) & ~step) | ((kind == NodeType.ROOT) & (depth != 0))
    if bool(wrong.any()):
        first = int(wrong.nonzero()[0])
        name = NodeType(int(kind[first])).name
        _refuse(f"node {first} ({name}) cannot have node {int(governor[first])} for its governor")


def _apart(data: Data, left: Tensor, right: Tensor, *keys: str) -> Tensor:
    """Whether two nodes differ in one of the keys."""
    apart = torch.zeros_like(left, dtype=torch.bool)
    for key in keys:
        if key in data:
            apart |= data[key][left] != data[key][right]
    return apart


def _refuse(what: str) -> None:
    raise ValueError(
        f"the node table does not fit the nodes: {what}. PyG transforms that drop or add nodes (subgraph, "
        "LargestConnectedComponents, VirtualNode) do not keep it: change the texts before to_data() instead"
    )
