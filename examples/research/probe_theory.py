"""What a number of layers can read through edges at best: no training, a walk among what looks alike."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from statistics import fmean

import torch
from probe_edits import ProbeState, edited
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.transforms import BaseTransform

from graphdep.data import to_data
from graphdep.datasets.labels.probe_corpus import PROBE_FUNCTIONS, ProbeSizes, probe_sentences
from graphdep.nn.attention import AttentionLayout
from graphdep.transforms import Nodes
from graphdep.vocab import RelationVocab, Vocab

_PRIME = 2**31 - 1
_SIZES = ProbeSizes()
_EVERY = 5  # steps of a walk between two looks at the labels


@dataclass(frozen=True)
class Sight:
    """What an encoder is given.

    Args:
        edges: Builds its edges.
        types: What its layers know of an edge beside its two ends: ``"edge_type"``, ``"edge_mark"`` or
            :obj:`None`. (default: :obj:`None`)
        position: Whether it knows the positions of nodes. (default: :obj:`False`)
        level: Whether it knows their depths. (default: :obj:`False`)

    Raises:
        ValueError: If :obj:`types` is unknown.
    """

    edges: BaseTransform
    types: str | None = None
    position: bool = False
    level: bool = False

    def __post_init__(self) -> None:
        if self.types not in (None, "edge_type", "edge_mark"):
            raise ValueError(f"'types' must be edge_type, edge_mark or None (got {self.types!r})")


@dataclass(frozen=True)
class Ceiling:
    """The best that can be done.

    Args:
        accuracy: Of the best guess from what the layers know; it is estimated and no bound of an estimate.
        certain: The share of words whose label never changed while what the layers know stayed the same; 1
            where the function can be read.
        words: Words that were looked at.
    """

    accuracy: float
    certain: float
    words: int


def colours(data: Data, sight: Sight, layers: int) -> Tensor:
    r"""A number for each node; those of two nodes differ if some network of so many layers gives them
    different states, and with 64 bits hardly ever else.

    This is the colour refinement of Weisfeiler and Leman, with what attention sees in place of counts: a
    layer gives a node a weighted mean over its pairs, and nothing else tells how many they are.

    .. math::
        c^0_i = (\text{word}_i, \text{mark}_i, \ldots), \qquad
        c^{l+1}_i = \big(c^l_i, \; \mathrm{shares}_j \, (r_{ij}, c^l_j)\big)

    The shares of :math:`(r, c)` among the pairs of :math:`i` are hashed as a mean over a finite field, which
    is exact: twice as many of each are the same.

    Args:
        data: An example or a batch that has the edges of :obj:`sight`.
        sight: What is seen.
        layers: Rounds.

    Shapes:
        - output: :math:`(|\mathcal{V}|)`, long

    Raises:
        ValueError: If the edges have nothing of the name :obj:`sight.types`.
    """
    layout = AttentionLayout.of(data).materialize()
    (source, target), kind = layout.pairs, torch.zeros_like(layout.pairs[0])
    if sight.types is not None:
        found = getattr(layout, sight.types)
        if found is None:
            raise ValueError(f"'types' must be what the edges have (got {sight.types!r})")
        kind = found.long()
    colour = _first(data, sight)
    count = target.bincount(minlength=colour.numel())
    inverse = torch.tensor([0, *(pow(n, -1, _PRIME) for n in range(1, int(count.max()) + 1))])[count]
    for _ in range(layers):
        message = _mix(_mix(kind) + colour[source])
        halves = [((message >> shift) & _PRIME) for shift in (1, 33)]
        sums = [torch.zeros_like(colour).index_add(0, target, half) for half in halves]
        left, right = (part % _PRIME * inverse % _PRIME for part in sums)
        colour = _mix(_mix(colour) + (left << 31) + right)
    return colour


def ceilings(
    sight: Sight,
    functions: Sequence[str],
    layers: int,
    *,
    sizes: ProbeSizes = _SIZES,
    words: int = 128,
    steps: int = 600,
    seed: int = 0,
) -> dict[str, Ceiling]:
    r"""How well functions can be read at best, through edges as the library builds them.

    A function of the tree is readable if no two sentences with different labels of a word give it the same
    :func:`colours`. To find such sentences, a walk starts at a random one and changes a little of it at a
    time: an arc, a label, a word, the mark, the root, the places of two words. A change that the word's
    colour shows is taken back. The walk so visits sentences that the layers cannot tell from the first one,
    all equally often (Metropolis et al. 1953), and the share of the commonest label among them is what the
    best guess is worth. The number of words is taken as known.

    A label that changes is a proof that the layers cannot read it. One that does not change says that a walk
    found nothing: by small changes it may miss what only large ones reach. And what is there to be read need
    not be easy to read. Where all nodes see one another, the second layer brings to each what all others know
    of their surroundings, from which a tree can be put together in principle; take the edges that follow the
    tree alone for what comes step by step.

    Args:
        sight: What the layers see.
        functions: Names of :data:`~graphdep.datasets.labels.probe_corpus.PROBE_FUNCTIONS`.
        layers: Their number.
        sizes: Of the sentences. (default: those of :class:`ProbeSizes`)
        words: Words to look at, one a sentence. (default: :obj:`128`)
        steps: Changes that a walk tries. (default: :obj:`600`)
        seed: Where chance comes from. (default: :obj:`0`)

    Raises:
        ValueError: If a number is below 1, or so small that no word has a label, or as :func:`colours`.
        KeyError: If there is no such function.

    Example:
        >>> from probe_theory import Sight, ceilings
        >>> from graphdep.transforms import resolve
        >>> ceilings(Sight(resolve("lisa")), ["governor"], 1, words=16, steps=50)["governor"].certain
        1.0
    """
    for name, value in (("layers", layers), ("words", words), ("steps", steps)):
        if value < 1:
            raise ValueError(f"{name!r} must be at least 1 (got {value})")
    found: dict[str, Ceiling] = {}
    for marked in (False, True):
        names = [name for name in functions if PROBE_FUNCTIONS[name].needs_mark == marked]
        if names:
            walks = _Walks(sight, layers, sizes, marked, random.Random(f"{seed} {marked}"), words)
            seen = [*walks.labels(names, steps)]
            found |= {name: _ceiling(name, [look[name] for look in seen]) for name in names}
    return {name: found[name] for name in functions}


class _Walks:
    """Walks among sentences side by side, as one batch."""

    def __init__(
        self, sight: Sight, layers: int, sizes: ProbeSizes, marked: bool, rng: random.Random, words: int
    ) -> None:
        self.sight, self.layers, self.sizes, self.marked, self.rng = sight, layers, sizes, marked, rng
        drawn = islice(probe_sentences(sizes, str(rng.random())), words)
        self.states = [ProbeState.of(one, mark, rng.randrange(len(one))) for one, mark in drawn]
        self.vocab, self.relations = Vocab(f"w{word}" for word in range(sizes.num_words)), RelationVocab()
        sentences = [to_data([state.sentence], vocab=self.vocab) for state in self.states]
        self.batch = Batch.from_data_list(sentences)
        self.known = self._colours(self.states)

    def labels(self, names: Sequence[str], steps: int) -> Iterator[dict[str, list[str | None]]]:
        """The labels of the words at the start and every few steps."""
        yield self._labels(names)
        for step in range(1, steps + 1):
            self._step()
            if step % _EVERY == 0:
                yield self._labels(names)

    def _step(self) -> None:
        tried = [edited(state, self.sizes.num_words, self.rng) for state in self.states]
        same = (self._colours(tried) == self.known).tolist()
        self.states = [new if keep else old for new, keep, old in zip(tried, same, self.states)]

    def _labels(self, names: Sequence[str]) -> dict[str, list[str | None]]:
        trees = [(state, state.sentence) for state in self.states]
        return {
            name: [PROBE_FUNCTIONS[name].label(tree, state.mark)[state.word] for state, tree in trees]
            for name in names
        }

    def _colours(self, states: Sequence[ProbeState]) -> Tensor:
        """The colour of the word that each sentence is asked for."""
        data = batch_of(self.batch, states, self.vocab, self.relations, marked=self.marked)
        data = self.sight.edges(data)
        colour = colours(data, self.sight, self.layers)
        node = (Nodes(data)["word"] >= 0).nonzero().view(-1)
        starts = accumulate((len(state.form) for state in states[:-1]), initial=0)
        return colour[node[[start + state.word for start, state in zip(starts, states)]]]


def batch_of(
    like: Batch, states: Sequence[ProbeState], vocab: Vocab, relations: RelationVocab, *, marked: bool
) -> Batch:
    """The batch of sentences of the same numbers of words as those of another batch: that of
    :func:`graphdep.to_data`, a hundred times as fast.
    """
    columns: dict[str, list[int]] = {
        key: [] for key in ("input_ids", "governor_index", "deprel", "depth", "mark")
    }
    arcs: list[tuple[int, int, int]] = []
    for state in states:
        top = len(columns["depth"])
        kinds = [relations[label] for label in state.deprel]
        governors = [top + 1 + head for head in state.head]
        columns["input_ids"] += [vocab["[ROOT]"], *(vocab.id_of(form) for form in state.form)]
        columns["governor_index"] += [top, *governors]
        columns["deprel"] += [RelationVocab.SELF, *kinds]
        columns["depth"] += [0, *(len(state.above(word)) for word in range(len(state.form)))]
        columns["mark"] += [0, *(int(word == state.mark) for word in range(len(state.form)))]
        arcs += zip(governors, range(top + 1, top + 1 + len(kinds)), kinds)
    batch = like.clone()
    for key, column in columns.items():
        batch[key] = torch.tensor(column)
    if not marked:
        del batch.mark
    table = torch.tensor(arcs)
    batch.arc_index, batch.arc_type = table[:, :2].t().contiguous(), table[:, 2].contiguous()
    return batch


def _first(data: Data, sight: Sight) -> Tensor:
    """What a node is known by before the first layer."""
    keys = ["node_type", "input_ids", *(["mark"] if "mark" in data else [])]
    keys += ["position"] * sight.position + ["depth"] * sight.level
    colour = torch.zeros_like(data.node_type)
    for key in keys:
        colour = _mix(colour + data[key])
    return colour


def _mix(value: Tensor) -> Tensor:
    """SplitMix64: an integer hash of each number."""
    value = value + -0x61C8864680B583EB
    value = (value ^ ((value >> 30) & 0x3FFFFFFFF)) * -0x40A7B892E31B1A47
    value = (value ^ ((value >> 27) & 0x1FFFFFFFFF)) * -0x6B2FB644ECCEEE15
    return value ^ ((value >> 31) & 0x1FFFFFFFF)


def _ceiling(name: str, looks: Sequence[Sequence[str | None]]) -> Ceiling:
    """From the labels of all words, look by look.

    The label that is commonest in the later half of a walk is scored on its first quarter: scored on the
    looks that it is chosen from, a guess would seem better than it is. Of labels that are about as common it
    is often the wrong one, which makes the mean too low: it is not below that of one label for all words.
    """
    scores, certain, all_looks = [], [], Counter[str]()
    for labels in zip(*looks):
        if labels[0] is None:
            continue
        early = [label for label in labels[: max(len(labels) // 4, 1)] if label is not None]
        late = [label for label in labels[len(labels) // 2 :] if label is not None] or early
        scores.append(Counter(early)[Counter(late).most_common(1)[0][0]] / len(early))
        all_looks.update(label for label in labels if label is not None)
        certain.append(len({label for label in labels if label is not None}) == 1)
    if not scores:
        raise ValueError(f"'words' {len(looks[0])}: none of them has a label of {name!r}; take more")
    constant = all_looks.most_common(1)[0][1] / all_looks.total()
    return Ceiling(max(fmean(scores), constant), fmean(certain), len(scores))
