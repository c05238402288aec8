"""The packed data of explorer pages."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch_geometric.transforms import BaseTransform

from graphdep.visualization.head_measures import (
    RelationRow,
    arriving,
    entropies,
    join_pieces,
    moved,
    partner_masks,
    relation_rows,
    rollout,
    shares,
    spread_evenly,
)
from graphdep.visualization.side import Answer, Side, Weights, WordNodes
from graphdep.vocab.relations import RelationVocab

_STEPS = 65535  # resolution of weights
_COARSE = 255


@dataclass(frozen=True)
class PackedPairs:
    """A set of pairs of nodes, as the bits of a matrix, or as row and column of each pair.

    Args:
        form: ``"bits"`` or ``"pairs"``.
        data: Base64 of bytes, lowest bit first, or of little-endian 16-bit numbers.
        count: Number of pairs.

    Example:
        >>> import torch
        >>> from graphdep.visualization.page_data import pack_pairs
        >>> pack_pairs(torch.eye(3).bool())
        PackedPairs(form='bits', data='EQE=', count=3)
    """

    form: str
    data: str
    count: int


@dataclass(frozen=True)
class PackedWeights:
    """The weights of a layer.

    With ``top = 0``, all allowed pairs of each head have weights, in steps of ``scale / 65535`` from ``low``.
    Otherwise only the ``top`` largest weights of each row and head are kept, with their columns, in steps of
    ``scale / 255``.

    Args:
        heads: Number of heads.
        scale: The largest weight minus ``low``.
        top: Weights per row, or 0 for all.
        values: Base64 of ``[heads, pairs]`` 16-bit numbers, or of ``[heads, rows, top]`` bytes.
        columns: Base64 of ``[heads, rows, top]`` 16-bit numbers. (default: none)
        low: The smallest weight, at most 0. (default: :obj:`0.0`)

    Example:
        >>> import torch
        >>> from graphdep.visualization.page_data import pack_weights
        >>> pack_weights(torch.eye(2)[None], torch.eye(2).bool(), room=100)
        PackedWeights(heads=1, scale=1.0, top=0, values='/////w==', columns='', low=0.0)
    """

    heads: int
    scale: float
    top: int
    values: str
    columns: str = ""
    low: float = 0.0


def pack_pairs(mask: Tensor) -> PackedPairs:
    """Packs a boolean matrix ``[rows, columns]`` in the shorter form."""
    count = int(mask.sum())
    if mask.numel() // 8 <= 4 * count:
        return PackedPairs(
            "bits", _text(np.packbits(mask.flatten().numpy(), bitorder="little").tobytes()), count
        )
    return PackedPairs("pairs", _text(mask.nonzero().numpy().astype("<u2").tobytes()), count)


def unpack_pairs(packed: PackedPairs, size: int) -> Tensor:
    """The packed boolean matrix ``[size, size]``."""
    data = base64.b64decode(packed.data)
    if packed.form == "bits":
        bits = np.unpackbits(np.frombuffer(data, "u1"), count=size * size, bitorder="little")
        return torch.from_numpy(bits.astype(bool)).view(size, size)
    matrix = torch.zeros(size, size, dtype=torch.bool)
    rows, columns = torch.from_numpy(np.frombuffer(data, "<u2").astype(np.int64)).view(-1, 2).t()
    matrix[rows, columns] = True
    return matrix


def pack_weights(alpha: Tensor, allowed: Tensor, room: int) -> PackedWeights:
    r"""Packs the weights of a layer.

    Args:
        alpha: Weights, 0 for pairs that are not allowed.
        allowed: Mask of allowed pairs.
        room: Maximum number of bytes; if all weights take more, only the largest of each row are kept.

    Shapes:
        - alpha: :math:`(H, N, N)`; allowed: :math:`(N, N)`
    """
    heads, rows, _ = alpha.shape
    low = min(0.0, float(alpha.min())) if alpha.numel() else 0.0
    scale = float(alpha.max()) - low if alpha.numel() else 0.0
    share = ((alpha - low) / scale if scale > 0 else alpha).double()
    count = int(allowed.sum())
    if 2 * heads * count <= room:
        steps = (share[:, allowed] * _STEPS).round().numpy().astype("<u2")
        return PackedWeights(heads, scale, 0, _text(steps.tobytes()), low=low)
    top = max(1, min(rows, room // max(1, 3 * heads * rows)))
    best = alpha.abs().topk(top, dim=-1).indices
    steps = (share.gather(-1, best) * _COARSE).round().numpy().astype("u1")
    columns = best.numpy().astype("<u2")
    return PackedWeights(heads, scale, top, _text(steps.tobytes()), _text(columns.tobytes()), low)


def dense(pairs: Tensor, alpha: Tensor, size: int) -> tuple[Tensor, Tensor]:
    r"""The weights of a layer as matrices, and its pairs.

    Args:
        pairs: Source and target of each pair.
        alpha: The weight of each pair in each head.
        size: The number of nodes.

    Shapes:
        - pairs: :math:`(2, |\mathcal{E}|)`; alpha: :math:`(|\mathcal{E}|, H)`
        - outputs: :math:`(H, N, N)`, [head, target, source], and :math:`(N, N)`
    """
    source, target = pairs.cpu()
    matrix = torch.zeros(alpha.size(1), size, size)
    every = torch.arange(alpha.size(1))[:, None]
    matrix.index_put_((every, target, source), alpha.detach().t().float().cpu(), accumulate=True)
    allowed = torch.zeros(size, size, dtype=torch.bool)
    allowed[target, source] = True
    return matrix, allowed


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


_TEXTS = {
    "AncestorEdges": "one word is an ancestor of the other",
    "CompleteEdges": "every node sees every other",
    "ConstituentEdges": "a phrase and its direct constituents",
    "DependencyEdges": "an arc of the tree",
    "DepthEdges": "both words are near the top of their trees",
    "OwnEdges": "an arc of the sentence's own graph",
    "PhraseWordEdges": "a phrase and its words",
    "RelationEdges": "a relation node and the words of its arc",
    "RelationLinks": "relations whose arcs share a word",
    "RewiredEdges": "a wrong edge, added as noise",
    "RootEdges": "ROOT sees the words below it",
    "SameConstituentEdges": "both words are in the same phrase",
    "SelfLoops": "each node sees itself",
    "SiblingEdges": "both are constituents of the same phrase",
    "SpanPathEdges": "on the path between the marked spans",
    "SpecialEdges": "special nodes see all nodes, and all see them",
    "TreeDistanceEdges": "the words are close in the tree",
}


def part_text(part: BaseTransform) -> str:
    """The reason for the edges of a part of an edge constructor."""
    return _TEXTS.get(type(part).__name__, "made by this transform")


ROOM = 3_400_000  # bytes of weights; base64 adds a third
OFF_ROW = ("RELATION", "PHRASE")
"""Kinds of nodes that are drawn on arcs or as brackets, not among the words of a row."""


@dataclass(frozen=True)
class PageNode:
    """A word, special node or piece: text, kind, utterance, and the word of a piece."""

    text: str
    kind: str
    utterance: int
    word: int


@dataclass(frozen=True)
class PageEdges:
    """A set of edges: ``repr`` and explanation of its parts; the pairs ``[target, source]`` of each part;
    source, target and index in ``types`` of each typed edge; and, for each utterance, the number of edges to
    nodes that only this side has.
    """

    name: str
    parts: list[tuple[str, str]]
    made: list[PackedPairs]
    types: list[str]
    typed: list[tuple[int, int, int]]
    alone: list[int]


@dataclass(frozen=True)
class PageMap:
    """Weights of a layer, rollout, explainer or gate; ``allowed`` are indices of the side's pairs."""

    name: str
    kind: str
    allowed: int
    words: PackedWeights
    allowed_pieces: int | None = None
    pieces: PackedWeights | None = None


@dataclass(frozen=True)
class PageSide:
    """A side, with measures of heads ``[layer][head]``, and of uniform attention (``chance``) ``[layer]``."""

    name: str
    governor: list[int]
    relation: list[str]
    arcs: list[tuple[int, int, str]]
    arc_nodes: list[int]
    brackets: list[tuple[int, int, str]]
    bracket_nodes: list[int]
    edges: list[PageEdges]
    maps: list[PageMap]
    pairs: list[PackedPairs]
    measures: dict[str, list[list[float]]]
    chance: dict[str, list[float]]
    relations: list[RelationRow]
    answers: list[Answer]


@dataclass(frozen=True)
class PageData:
    """A page: words, pieces if words have several, one or two sides, and whether these are of one model."""

    title: str
    about: str
    rtl: bool
    utterances: int
    nodes: list[PageNode]
    pieces: list[PageNode]
    sides: list[PageSide]
    one_model: bool


def common_entries(sides: Sequence[Side]) -> list[Tensor]:
    """The entries of each side that all sides have, in the same order."""
    known = [dict(zip(side.nodes.keys, range(side.nodes.size))) for side in sides]
    shared = [key for key in sides[0].nodes.keys if all(key in one for one in known)]
    return [torch.tensor([one[key] for key in shared], dtype=torch.long) for one in known]


def page_side(side: Side, keep: Tensor, *, pieces: bool, room: int) -> PageSide:
    """The data of a side, restricted to some entries.

    Args:
        side: The side.
        keep: The entries to show.
        pieces: Whether to show pieces, too.
        room: Maximum number of bytes for weights.
    """
    nodes = _kept_nodes(side.nodes, keep)
    edges = {name: _kept(_edge_matrix(side, name), keep) for name in side.edges}
    layers = [dense(pairs, alpha, _num_nodes(side)) for _, pairs, alpha in side.layers]
    words = [_on_words(alpha, side, keep) for alpha, _ in layers]
    even = [_on_words(spread_evenly(allowed), side, keep) for _, allowed in layers]
    pairs: dict[PackedPairs, int] = {}
    maps = _maps(side, layers, keep, pairs, pieces=pieces, room=room)
    return PageSide(
        side.name,
        nodes.governor,
        nodes.relation,
        nodes.arcs,
        nodes.arc_nodes,
        nodes.brackets,
        nodes.bracket_nodes,
        [_page_edges(side, name, keep) for name in side.edges],
        maps,
        [*pairs],
        _measures(
            nodes,
            edges,
            words,
            [alpha for alpha, _ in layers],
            [number for number, (name, *_) in enumerate(side.layers) if name not in side.beside],
        ),
        _chance(nodes, edges, even),
        relation_rows(words, nodes),
        list(side.answers),
    )


def _num_nodes(side: Side) -> int:
    return side.nodes.entry.numel()


def _kept(matrix: Tensor, keep: Tensor) -> Tensor:
    return matrix[..., keep[:, None], keep]


def _on_words(alpha: Tensor, side: Side, keep: Tensor) -> Tensor:
    return _kept(join_pieces(alpha, side.nodes.entry, side.nodes.size), keep)


def _kept_nodes(nodes: WordNodes, keep: Tensor) -> WordNodes:
    """The shown words, with new indices."""
    order = keep.tolist()
    new = {old: number for number, old in enumerate(order)} | {-1: -1}
    shown = [
        n for n, (governor, dependent, _) in enumerate(nodes.arcs) if governor in new and dependent in new
    ]
    inside = [n for n, (first, last, _) in enumerate(nodes.brackets) if first in new and last in new]
    brackets = [(new[nodes.brackets[n][0]], new[nodes.brackets[n][1]], nodes.brackets[n][2]) for n in inside]
    arcs = [(new[nodes.arcs[n][0]], new[nodes.arcs[n][1]], nodes.arcs[n][2]) for n in shown]
    return WordNodes(
        [nodes.names[n] for n in order],
        [nodes.kinds[n] for n in order],
        [nodes.keys[n] for n in order],
        [new.get(nodes.governor[n], -1) for n in order],
        [nodes.relation[n] for n in order],
        [nodes.depth[n] for n in order],
        arcs,
        [new.get(nodes.arc_nodes[n], -1) for n in shown] if nodes.arc_nodes else [],
        torch.arange(len(order)),
        brackets,
        [new.get(nodes.bracket_nodes[n], -1) for n in inside] if nodes.bracket_nodes else [],
    )


def _edge_matrix(side: Side, name: str) -> Tensor:
    """Edges between words that have an edge between any of their pieces."""
    matrix = torch.zeros(side.nodes.size, side.nodes.size, dtype=torch.bool)
    source, target = side.nodes.entry[side.edges[name].edge_index.cpu()]
    matrix[target, source] = True
    return matrix


def _page_edges(side: Side, name: str, keep: Tensor) -> PageEdges:
    origins = side.edges[name]
    source, target = side.nodes.entry[origins.edge_index.cpu()]
    made = []
    for column in origins.made_by.cpu().t():
        matrix = torch.zeros(side.nodes.size, side.nodes.size, dtype=torch.bool)
        matrix[target[column], source[column]] = True
        made.append(pack_pairs(_kept(matrix, keep)))
    parts = [(" ".join(repr(part).split()), part_text(part)) for part in origins.parts]
    types, typed = _typed(side, name, keep)
    return PageEdges(name, parts, made, types, typed, _alone(side, name, keep))


def _alone(side: Side, name: str, keep: Tensor) -> list[int]:
    """The number of edges between each utterance and entries that are not kept."""
    matrix = _edge_matrix(side, name)
    left = torch.ones(side.nodes.size, dtype=torch.bool).index_fill(0, keep, False)
    ends = matrix[:, left].sum(dim=1) + matrix[left].sum(dim=0)
    utterance = torch.tensor(side.nodes.utterance)
    shown = [kind not in OFF_ROW for kind in side.nodes.kinds]
    mine = torch.tensor(shown) & ~left
    return [int(ends[mine & (utterance == number)].sum()) for number in range(1 + int(utterance.max()))]


def _typed(side: Side, name: str, keep: Tensor) -> tuple[list[str], list[tuple[int, int, int]]]:
    """The names of types, and the typed edges."""
    data = side.edges[name].data
    if "edge_type" not in data:
        return [], []
    new = {old: number for number, old in enumerate(keep.tolist())}
    typed = (data.edge_type != RelationVocab.NONE).nonzero().view(-1).cpu()
    kinds = data.edge_type.cpu()[typed].tolist()
    ends = side.nodes.entry[data.edge_index.cpu()[:, typed]].t().tolist()
    numbers = {kind: place for place, kind in enumerate(dict.fromkeys(kinds))}
    found = {
        (new[source], new[target], numbers[kind])
        for (source, target), kind in zip(ends, kinds)
        if source in new and target in new
    }
    return [side.relations.label(kind) for kind in numbers], sorted(found)


def _maps(
    side: Side,
    layers: list[tuple[Tensor, Tensor]],
    keep: Tensor,
    pairs: dict[PackedPairs, int],
    *,
    pieces: bool,
    room: int,
) -> list[PageMap]:
    """Layers, gates, rollout to each layer, and masks."""
    size = _num_nodes(side)
    named = [(name, "layer", *matrix) for (name, *_), matrix in zip(side.layers, layers)]
    chain = [(name, alpha) for (name, *_), (alpha, _) in zip(side.layers, layers) if name not in side.beside]
    flows = rollout([alpha.mean(dim=0) for _, alpha in chain])
    every = torch.ones(size, size, dtype=torch.bool)
    named += [(name, "gate", *dense(pairs, values, size)) for name, pairs, values in side.gates]
    named += [(f"rollout to {name}", "rollout", flow[None], every) for (name, _), flow in zip(chain, flows)]
    named += [(name, "mask", *_dense_mask(mask, size)) for mask in side.masks for name in mask[:1]]
    units = sum(alpha.size(0) for _, _, alpha, _ in named) * (2 if pieces else 1)
    return [
        _page_map(side, item, keep, pairs, pieces=pieces, room=room * item[2].size(0) // max(1, units))
        for item in named
    ]


def _dense_mask(mask: Weights, size: int) -> tuple[Tensor, Tensor]:
    _, pairs, alpha = mask
    return dense(pairs, alpha, size)


def _page_map(
    side: Side,
    item: tuple[str, str, Tensor, Tensor],
    keep: Tensor,
    pairs: dict[PackedPairs, int],
    *,
    pieces: bool,
    room: int,
) -> PageMap:
    name, kind, alpha, allowed = item
    words, number_of = _on_words(alpha, side, keep), _on_words(allowed[None].float(), side, keep)
    between = number_of[0] > 0
    if kind == "gate":  # not shared out among pieces: the mean over them
        words = torch.where(between, words / number_of, 0.0)
    # Most layers have the same pairs, which the page contains once.
    number = pairs.setdefault(pack_pairs(between), len(pairs))
    packed = pack_weights(words, between, room)
    if not pieces:
        return PageMap(name, kind, number, packed)
    own = pairs.setdefault(pack_pairs(allowed), len(pairs))
    return PageMap(name, kind, number, packed, own, pack_weights(alpha, allowed, room))


def _measures(
    nodes: WordNodes, edges: dict[str, Tensor], words: list[Tensor], layers: list[Tensor], chain: list[int]
) -> dict[str, list[list[float]]]:
    if not layers:
        return {}
    rows = ~torch.tensor(nodes.special)
    found = {
        name: [shares(alpha, mask, rows) for alpha in words]
        for name, mask in partner_masks(nodes, edges).items()
    }
    reaching = dict(zip(chain, arriving([layers[number].mean(dim=0) for number in chain])) if chain else ())
    found["entropy"] = [entropies(alpha, rows) for alpha in words]
    found["rollout"] = [
        moved(alpha, reaching[number]).tolist() if number in reaching else [0.0] * alpha.size(0)
        for number, alpha in enumerate(layers)
    ]
    return {name: [[round(v, 5) for v in row] for row in values] for name, values in found.items()}


def _chance(nodes: WordNodes, edges: dict[str, Tensor], even: list[Tensor]) -> dict[str, list[float]]:
    """Each share under uniform attention."""
    rows = ~torch.tensor(nodes.special)
    masks = partner_masks(nodes, edges) if even else {}
    return {name: [round(shares(one, mask, rows)[0], 5) for one in even] for name, mask in masks.items()}
