"""A view of the node table for edge constructors."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from functools import cached_property

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.data.storage import GlobalStorage
from torch_geometric.utils import cumsum

from graphdep.data.node_table import NodeType
from graphdep.io.limits import check_choice, check_shape
from graphdep.transforms.options import require_key


def expand_ranges(start: Tensor, count: Tensor) -> tuple[Tensor, Tensor]:
    """All members of the ranges ``start[k] ... start[k] + count[k] - 1``, one after the other.

    Returns the number k of the range and the member, both of size ``count.sum()``.
    """
    owner = torch.arange(count.numel(), device=count.device).repeat_interleave(count)
    shift = start - (count.cumsum(0) - count)
    return owner, torch.arange(owner.numel(), device=count.device) + shift[owner]


def contains(sorted_keys: Tensor, keys: Tensor) -> Tensor:
    """Whether each of ``keys`` is among ``sorted_keys``."""
    if sorted_keys.numel() == 0:
        return torch.zeros_like(keys, dtype=torch.bool)
    place = torch.searchsorted(sorted_keys, keys).clamp(max=sorted_keys.numel() - 1)
    return sorted_keys[place] == keys


def sorted_unique(keys: Tensor) -> Tensor:
    """``keys`` in ascending order without repetitions; cheap if they are so already."""
    if bool((keys[1:] > keys[:-1]).all()):
        return keys
    return keys.sort().values.unique_consecutive()


def arcs_to_top(above: Tensor) -> Tensor:
    """Number of arcs from each node to the top of its tree, by pointer jumping; a top is above itself."""
    depth = (above != torch.arange(above.numel(), device=above.device)).long()
    for _ in range(above.numel().bit_length()):
        further = above[above]
        if torch.equal(further, above):
            break
        depth, above = depth + depth[above], further
    return depth


def pair_keys(source: Tensor, target: Tensor) -> Tensor:
    """One number per pair, ascending by target, then source; for up to 2^31 nodes."""
    return (target << 32) | source


def pairs_of(keys: Tensor) -> Tensor:
    """The pairs of given keys: source and target, ``[2, E]``."""
    return torch.stack([keys & 0xFFFFFFFF, keys >> 32])


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
_NO_EDGES = ("arc_", "phrase_")  # keys with a row per arc or constituent
_LINKS = ("governor_index", "arc_index", "arc_node_index", "phrase_index", "phrase_node_index")
_FURTHER = ("node_type", "ptr", *_LINKS)
_KINDS = (
    ("arc_node_index", NodeType.RELATION, "RELATION nodes"),
    ("phrase_index", NodeType.WORD, "words"),
    ("phrase_node_index", NodeType.PHRASE, "PHRASE nodes"),
)


def check_table(data: Data) -> None:
    """Raises :class:`ValueError` if nodes were added or dropped without updating all columns.

    There is no check without a node table, or on a GPU, where it would synchronize the device.
    """
    kind = data.get("node_type")
    if not isinstance(kind, Tensor) or kind.device.type != "cpu":
        return
    known = {*data.keys()}
    table = {key: data[key] for key in (*_COLUMNS, *_FURTHER) if key in known}
    size = kind.numel()
    for key in _COLUMNS:
        if key in table and table[key].shape[:1] != (size,):
            _raise(f"{key!r} has {[*table[key].shape]} entries for {size} nodes")
    _check_links(table, size)
    _check_arcs(table)


def check_between_nodes(edge_index: Tensor, num_nodes: int, edges: str) -> None:
    """Raises :class:`ValueError` if an edge has an end that is not a node; no check on a GPU, which would
    synchronize.
    """
    if edge_index.device.type != "cpu" or not edge_index.numel():
        return
    low, high = edge_index.aminmax()
    if low < 0 or high >= num_nodes:
        outside = ((edge_index < 0) | (edge_index >= num_nodes)).any(dim=0)
        pair = tuple(edge_index[:, outside][:, 0].tolist())
        raise ValueError(f"{edges} has the edge {pair} between {num_nodes} nodes")


def check_within_examples(edge_index: Tensor, batch: Tensor | None, edges: object = "'edge_index'") -> None:
    """Raises :class:`ValueError` if an edge joins two examples; no check on a GPU, which would synchronize.

    Args:
        edge_index: The edges ``[2, num_edges]``.
        batch: The example of each node; :obj:`None` for a single one.
        edges: Name of the edges in the message.
    """
    if batch is None or edge_index.device.type != "cpu" or not edge_index.numel():
        return
    source, target = (batch.index_select(0, end) for end in edge_index)
    if not torch.equal(source, target):
        first = int((source != target).nonzero()[0])
        raise ValueError(
            f"{edges} joins nodes of different examples (edge {first}: {edge_index[:, first].tolist()}): a "
            "transform of a batch must keep to its examples, see data.batch"
        )


def _check_links(table: dict[str, Tensor], size: int) -> None:
    if "ptr" in table and int(table["ptr"][-1]) != size:
        _raise(f"'ptr' ends at {int(table['ptr'][-1])}, but there are {size} nodes")
    for key in _LINKS:
        if key in table and table[key].numel():
            low, high = (int(x) for x in table[key].aminmax())
            if low < 0 or high >= size:
                _raise(f"{key!r} names node {low if low < 0 else high}, but there are {size}")


def _check_arcs(table: dict[str, Tensor]) -> None:
    kind = table["node_type"]
    if "governor_index" in table:
        _check_governors(table)
    if "arc_index" in table:
        governor, dependent = table["arc_index"]
        wrong = _differ(table, governor, dependent, "batch") | (kind[dependent] != NodeType.WORD)
        wrong |= (kind[governor] != NodeType.WORD) & (kind[governor] != NodeType.ROOT)
        if bool(wrong.any()):
            arc = table["arc_index"][:, wrong][:, 0].tolist()
            _raise(f"'arc_index' has an arc from node {arc[0]} to node {arc[1]}, which cannot be one")
    for key, wanted, what in _KINDS:
        if key in table and bool((kind[table[key]] != wanted).any()):
            _raise(f"{key!r} names nodes that are no {what}")


def _check_governors(table: dict[str, Tensor]) -> None:
    kind, governor = table["node_type"], table["governor_index"]
    node = torch.arange(governor.numel(), device=governor.device)
    own = governor == node
    wrong = _differ(table, governor, node, "batch", "utterance")
    if "depth" in table and "word" in table:
        depth, word = table["depth"], table["word"]
        above = depth[governor]
        # A root word hangs on ROOT or on itself; its further pieces then have its first piece as governor.
        step = (above == depth - 1) | ((above == 1) & (depth == 1) & (word[governor] == word))
        wrong |= (word >= 0) & (kind != NodeType.WORD)
        wrong |= torch.where(own, depth > 1, (depth >= 0) & ~step) | ((kind == NodeType.ROOT) & (depth != 0))
    if bool(wrong.any()):
        first = int(wrong.nonzero()[0])
        name = NodeType(int(kind[first])).name
        _raise(f"node {first} ({name}) cannot have node {int(governor[first])} for its governor")


def _differ(table: dict[str, Tensor], left: Tensor, right: Tensor, *keys: str) -> Tensor:
    """Whether two nodes differ in one of the keys."""
    apart = torch.zeros_like(left, dtype=torch.bool)
    for key in keys:
        if key in table:
            apart |= table[key][left] != table[key][right]
    return apart


def _raise(what: str) -> None:
    raise ValueError(
        f"the node table does not fit the nodes: {what}. PyG transforms that drop or add nodes (subgraph, "
        "LargestConnectedComponents, VirtualNode) do not keep it: change the texts before to_data() instead"
    )


class Nodes:
    r"""A view of the node table that knows examples, utterances, words and the tree.

    Everything is computed once, on first use and on the device of the data, and shared by the parts of a
    union.

    Args:
        data: One example or a batch of them, with the keys that :func:`graphdep.to_data` writes.

    Raises:
        ValueError: If the data is not a ``Data``, a requested key is missing, or the keys do not fit each
            other, for example after PyG's ``subgraph`` or ``VirtualNode`` has changed the nodes.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import Nodes
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> nodes = Nodes(to_data([sentence]))
        >>> nodes.index[nodes.is_type(("WORD",))], nodes.parent
        (tensor([1, 2, 3, 4]), tensor([-1,  2,  0,  4,  2]))
    """

    def __init__(self, data: Data) -> None:
        if not getattr(data, "_is_transformed", False):  # otherwise the edges of its examples were checked
            check_table(data)
        self.data = data

    def __getitem__(self, key: str) -> Tensor:
        if key not in self.data:
            raise ValueError(f"the data has no {key!r} (it has {', '.join(sorted(self.data.keys()))})")
        return self.data[key]

    def over(self, data: Data) -> Nodes:
        """The same nodes, with everything computed so far, for data that differs in its edges."""
        out = copy.copy(self)
        out.data = data
        return out

    @cached_property
    def num_nodes(self) -> int:
        return self["node_type"].numel()

    @cached_property
    def index(self) -> Tensor:
        """Number of each node in the batch: ``[N]``."""
        return torch.arange(self.num_nodes, device=self["node_type"].device)

    @cached_property
    def example(self) -> Tensor:
        """Number of each node's example in the batch: ``[N]``."""
        return self.data["batch"] if "batch" in self.data else torch.zeros_like(self.index)

    @cached_property
    def ptr(self) -> Tensor:
        """Where the nodes of each example start and end: ``[examples + 1]``."""
        if "ptr" in self.data:
            return self.data["ptr"]
        return cumsum(self.example.bincount(minlength=1))

    @cached_property
    def local(self) -> Tensor:
        """Number of each node inside its example: ``[N]``."""
        return self.index - self.ptr[self.example]

    @cached_property
    def block(self) -> Tensor:
        """A number for each (example, utterance), ascending with both: ``[N]``."""
        utterance = self["utterance"]
        return self.example * (utterance.max() + 1) + utterance

    @cached_property
    def mark(self) -> Tensor:
        """The mark of each node (:func:`~graphdep.data.node_table`): ``[N]``.

        Raises:
            ValueError: If the data has no marks or not one per node; on the CPU, also if a mark is below 0.
        """
        require_key(self.data, "mark", "call graphdep.data.node_table(data, marks)")
        mark = self.data["mark"]
        check_shape("mark", mark, self.num_nodes)
        on_cpu = mark.device.type == "cpu"  # a check would synchronize the GPU
        if mark.is_floating_point() or (on_cpu and bool((mark < 0).any())):
            raise ValueError(f"'mark' must be whole numbers from 0 on (got {mark.min().item()})")
        return mark

    def is_type(self, names: tuple[str, ...]) -> Tensor:
        """Whether each node's type is among ``names``: ``[N]``."""
        wanted = torch.zeros(len(NodeType), dtype=torch.bool, device=self.index.device)
        wanted[[NodeType[name] for name in names]] = True
        return wanted[self["node_type"]]

    # -- words and their pieces ------------------------------------------------------------------------

    @cached_property
    def first(self) -> Tensor:
        """The first piece of each node's word or empty node; for all other nodes the node itself: ``[N]``."""
        # An empty node has no word number, but the governor of its pieces is its first piece.
        empty = (self["node_type"] == NodeType.WORD) & (self["word"] < 0)
        if not bool(empty.any()):
            return self._first_of_words
        return torch.where(empty, self["governor_index"], self._first_of_words)

    @cached_property
    def _first_of_words(self) -> Tensor:
        word = self["word"]
        nodes = (word >= 0).nonzero().view(-1)
        word = word[nodes]
        if nodes.numel() == 0:
            return self.index
        key = self.block[nodes] * (word.max() + 1) + word
        if bool((key[1:] > key[:-1]).all()):
            return self.index
        group = key.unique(return_inverse=True)[1]
        lead = torch.full_like(nodes, self.num_nodes).scatter_reduce_(0, group, nodes, "amin")
        return self.index.scatter(0, nodes, lead[group])

    @cached_property
    def has_pieces(self) -> bool:
        """Whether some word has more than one node."""
        return self.first is not self.index and not torch.equal(self.first, self.index)

    def piece_pairs(
        self, source: Tensor, target: Tensor, pieces: str
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Replaces pairs of words, given by their first pieces, by the pairs of their pieces.

        Returns source, target and, unless nothing changed, the number of the word pair of each.
        """
        if pieces == "first" or not self.has_pieces:
            return source, target, None
        order = self.first.argsort(stable=True)
        count = self.first.bincount(minlength=self.num_nodes)
        start = cumsum(count)[:-1]
        pair, target = expand_ranges(start[target], count[target])
        again, source = expand_ranges(start[source[pair]], count[source[pair]])
        return order[source], order[target[again]], pair[again]

    # -- the tree --------------------------------------------------------------------------------------

    @cached_property
    def in_tree(self) -> Tensor:
        """Whether each node is a ROOT or the first piece of a word with a place in the tree: ``[N]``."""
        return (self["depth"] >= 0) & (self.first == self.index)

    @cached_property
    def parent(self) -> Tensor:
        """The governor of each node in the tree, -1 at the top and outside the trees: ``[N]``."""
        governor = self.first[self["governor_index"]]
        return torch.where(self.in_tree & (governor != self.index), governor, -1)


def check_pieces(pieces: str) -> str:
    """Returns ``pieces`` if it is ``"all"`` or ``"first"``, else raises :class:`ValueError`."""
    return check_choice("pieces", pieces, ("all", "first"))


def write(
    data: Data, keys: Mapping[str, Tensor], ends: Tensor, ptr: Tensor, remove: Iterable[str] = ()
) -> Data:
    """Returns a copy of ``data`` with ``keys`` set and ``remove`` removed; ``data`` does not change.

    In PyG, ``to_data_list()`` does not return a key that was set after batching, and a shallow copy shares
    the dictionaries that would have to know it.

    Args:
        data: One example or a batch.
        keys: New values, all with the same slices.
        ends: Where the values of each example start and end: ``[examples + 1]``.
        ptr: Where the nodes of each example start and end: ``[examples + 1]``.
        remove: Keys to remove.
    """
    out = copy.copy(data)
    followed = {key for key in keys if f"{key}_batch" in data}
    gone = {name for key in remove for name in (key, f"{key}_batch", f"{key}_ptr") if name in data}
    for key in gone:
        del out[key]
    for key, value in keys.items():
        out[key] = value
    for key in followed:
        out[f"{key}_batch"] = torch.arange(ends.numel() - 1, device=ends.device).repeat_interleave(
            ends.diff()
        )
        out[f"{key}_ptr"] = ends
    if hasattr(data, "_slice_dict"):
        ends, ptr = ends.cpu(), ptr.cpu()
        slices = {key: value for key, value in data._slice_dict.items() if key not in gone}
        incs = {key: value for key, value in data._inc_dict.items() if key not in gone}
        for key in keys:
            slices[key] = ends
            incs[key] = ptr[:-1] if "index" in key else torch.zeros_like(ptr[:-1])
        out._slice_dict, out._inc_dict = slices, incs
    return out


class NodeTableStorage(GlobalStorage):
    """A PyG storage whose arcs are not edges: PyG goes by sizes, and there may be as many edges as arcs."""

    def is_edge_attr(self, key: str) -> bool:
        return not key.startswith(_NO_EDGES) and super().is_edge_attr(key)

    def is_node_attr(self, key: str) -> bool:
        return not key.startswith(_NO_EDGES) and super().is_node_attr(key)


def write_edges(nodes: Nodes, edge_index: Tensor, clique: Tensor | None, **columns: Tensor) -> Data:
    """Returns a copy of the data with these edges, sorted by target, instead of all earlier ones.

    Beside cliques they are not all pairs, so they have another key than the one that all layers read.

    Args:
        nodes: The nodes.
        edge_index: The edges ``[2, num_edges]``.
        clique: Clique of each node, which stands for further pairs.
        **columns: Further keys with one row per edge, such as ``edge_type``.
    """
    data = nodes.data
    stale = [
        key for key in sorted(data.keys()) if key.startswith("edge_") and not key.endswith(("_batch", "_ptr"))
    ]
    keys = {"edge_index" if clique is None else "edge_index_explicit": edge_index, **columns}
    # Targets ascend, so the edges of an example are those whose target is among its nodes.
    ends = torch.searchsorted(edge_index[1].contiguous(), nodes.ptr)
    remove = [key for key in (*stale, "clique") if key in data and key not in keys]
    out = write(data, keys, ends, nodes.ptr, remove)
    store = out._store
    if type(store) is GlobalStorage:
        object.__setattr__(store, "__class__", NodeTableStorage)  # the storage would store the attribute
    return out if clique is None else write(out, {"clique": clique}, nodes.ptr, nodes.ptr)


def ends_of(nodes: Nodes, members: Tensor) -> Tensor:
    """Start and end of the rows of each example, for one row per node of ``members``."""
    return cumsum(nodes.example[members].bincount(minlength=nodes.ptr.numel() - 1))


def insert_nodes(
    nodes: Nodes, kind: NodeType, label: Tensor, owner: Tensor, position: str, index_key: str
) -> Data:
    """Returns a copy of the data with new nodes, their own governors, appended to their examples.

    Args:
        nodes: The existing nodes.
        kind: The type of the new nodes.
        label: The labels of the new nodes, for :obj:`deprel` and :obj:`input_ids`: ``[new]``.
        owner: The node whose utterance and segment each new node gets: ``[new]``.
        position: ``"sequence"`` (after the largest of the example), ``"zero"``, ``"none"`` (-1), or any other
            value for the position of the owner.
        index_key: The key for the numbers of the new nodes.
    """
    data, example = nodes.data, nodes.example[owner]
    shift = cumsum(example.bincount(minlength=nodes.ptr.numel() - 1))
    order = example.argsort(stable=True)
    rank = torch.empty_like(order)
    rank[order] = torch.arange(order.numel(), device=order.device) - shift[example[order]]
    ptr = nodes.ptr + shift
    old = nodes.index + shift[nodes.example]
    new = nodes.ptr[example + 1] + shift[example] + rank
    minus, zero = torch.full_like(owner, -1), torch.zeros_like(owner)
    columns = {"node_type": torch.full_like(owner, kind), "deprel": label, "input_ids": label, "mark": zero}
    columns |= dict.fromkeys(("depth", "word", "clique"), minus)
    # New nodes are not a target of any objective: -100 and 0 mark nodes without a target.
    columns |= dict.fromkeys(("mlm_target", "order_target"), minus * 100) | {"mark_target": zero}
    columns |= {key: nodes[key][owner] for key in ("utterance", "segment") if key in data}
    if "position" in data:
        places = {"zero": zero, "none": minus, "sequence": _last_position(nodes)[example] + 1 + rank}
        columns["position"] = places.get(position, nodes["position"][owner])
    table = {key: column for key, column in columns.items() if key in data} | {"governor_index": new}
    rows = {}
    for key, column in table.items():
        values = old[nodes[key]] if "index" in key else nodes[key]
        size = nodes.num_nodes + new.numel()
        rows[key] = (
            values.new_empty(size).index_copy(0, old, values).index_copy(0, new, column.to(values.dtype))
        )
    out = write(data, rows, ptr, ptr)
    out = write(out, {index_key: new}, shift, ptr)
    for key in sorted(data.keys()):
        if "index" in key and key not in rows and not key.endswith(("_batch", "_ptr")):
            out = write(out, {key: old[data[key]]}, _ends(nodes, key), ptr)
    return _set_num_nodes(out, ptr)


def _last_position(nodes: Nodes) -> Tensor:
    """The largest position of each example."""
    last = nodes["position"].new_zeros(nodes.ptr.numel() - 1)
    return last.scatter_reduce(0, nodes.example, nodes["position"], "amax")


def _ends(nodes: Nodes, key: str) -> Tensor:
    if hasattr(nodes.data, "_slice_dict"):
        return nodes.data._slice_dict[key].to(nodes.ptr.device)
    value = nodes.data[key]
    return ends_of(nodes, value[0] if value.dim() > 1 else value)


def _set_num_nodes(out: Data, ptr: Tensor) -> Data:
    """Updates the node counts of ``out``, which is already a copy."""
    if "batch" in out:
        out["batch"] = torch.arange(ptr.numel() - 1, device=ptr.device).repeat_interleave(ptr.diff())
    if "ptr" in out:
        out["ptr"] = ptr
    if "num_nodes" in out:
        out.num_nodes = int(ptr[-1])
    if hasattr(out, "_num_nodes"):
        out._num_nodes = ptr.diff().tolist()
    return out
