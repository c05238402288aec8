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
_LINKS = ("governor_index", "arc_index", "arc_node_index", "phrase_index", "phrase_node_index")
_FURTHER = ("node_type", "ptr", *_LINKS)
_KINDS = (
    ("arc_node_index", NodeType.RELATION, "RELATION nodes"),
    ("phrase_index", NodeType.WORD, "words"),
    ("phrase_node_index", NodeType.PHRASE, "PHRASE nodes"),
)


def check_table(data: Data) -> None:
    """Raises :class:`ValueError` where nodes were added or dropped and a column does not know of it.

    Off the CPU, where a look would stall the device, and without a node table there is no check.
    """
    kind = data.get("node_type")
    if not isinstance(kind, Tensor) or kind.device.type != "cpu":
        return
    known = {*data.keys()}
    table = {key: data[key] for key in (*_COLUMNS, *_FURTHER) if key in known}
    size = kind.numel()
    for key in _COLUMNS:
        if key in table and table[key].shape[:1] != (size,):
            _refuse(f"{key!r} has {[*table[key].shape]} entries for {size} nodes")
    _check_links(table, size)
    _check_arcs(table)


def _check_links(table: dict[str, Tensor], size: int) -> None:
    if "ptr" in table and int(table["ptr"][-1]) != size:
        _refuse(f"'ptr' ends at {int(table['ptr'][-1])}, but there are {size} nodes")
    for key in _LINKS:
        if key in table and table[key].numel():
            low, high = (int(x) for x in table[key].aminmax())
            if low < 0 or high >= size:
                _refuse(f"{key!r} names node {low if low < 0 else high}, but there are {size}")


def _check_arcs(table: dict[str, Tensor]) -> None:
    kind = table["node_type"]
    if "governor_index" in table:
        _check_governors(table)
    if "arc_index" in table:
        governor, dependent = table["arc_index"]
        wrong = _apart(table, governor, dependent, "batch") | (kind[dependent] != NodeType.WORD)
        wrong |= (kind[governor] != NodeType.WORD) & (kind[governor] != NodeType.ROOT)
        if bool(wrong.any()):
            arc = table["arc_index"][:, wrong][:, 0].tolist()
            _refuse(f"'arc_index' has an arc from node {arc[0]} to node {arc[1]}, which cannot be one")
    for key, wanted, what in _KINDS:
        if key in table and bool((kind[table[key]] != wanted).any()):
            _refuse(f"{key!r} names nodes that are no {what}")


def _check_governors(table: dict[str, Tensor]) -> None:
    kind, governor = table["node_type"], table["governor_index"]
    node = torch.arange(governor.numel(), device=governor.device)
    own = governor == node
    wrong = _apart(table, governor, node, "batch", "utterance")
    if "depth" in table and "word" in table:
        depth, word = table["depth"], table["word"]
        above = depth[governor]
        # A root word is below ROOT, or its own governor; its further pieces then have the first one.
        step = (above == depth - 1) | ((above == 1) & (depth == 1) & (word[governor] == word))
        wrong |= (word >= 0) & (kind != NodeType.WORD)
        wrong |= torch.where(own, depth > 1, (depth >= 0) & ~step) | ((kind == NodeType.ROOT) & (depth != 0))
    if bool(wrong.any()):
        first = int(wrong.nonzero()[0])
        name = NodeType(int(kind[first])).name
        _refuse(f"node {first} ({name}) cannot have node {int(governor[first])} for its governor")


def _apart(table: dict[str, Tensor], left: Tensor, right: Tensor, *keys: str) -> Tensor:
    """Whether two nodes differ in one of the keys."""
    apart = torch.zeros_like(left, dtype=torch.bool)
    for key in keys:
        if key in table:
            apart |= table[key][left] != table[key][right]
    return apart


def _refuse(what: str) -> None:
    raise ValueError(
        f"the node table does not fit the nodes: {what}. PyG transforms that drop or add nodes (subgraph, "
        "LargestConnectedComponents, VirtualNode) do not keep it: change the texts before to_data() instead"
    )
