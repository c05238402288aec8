"""Random trees and examples, and a slow implementation of the node table, to test transforms."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple

import networkx as nx
import torch
from torch_geometric.data import Data

from graphdep.data import NodeType
from graphdep.sentence import Constituent, Sentence
from graphdep.sentence.tree import parts
from graphdep.vocab import PhraseVocab, RelationVocab

_DEPRELS = ("nsubj", "obj", "det", "amod", "obl", "nsubj:pass", "case", "punct")

# Presets whose implicit edges are cliques.
WITH_CLIQUES = ("transformer", "transformer-utterance", "dam", "dt", "g2g", "lisa-complete", "relative")


def goes_round(head: Sequence[int]) -> bool:
    """Whether the arcs above a word do not end at 0."""
    for word in range(1, len(head) + 1):
        for _ in head:
            word = head[word - 1] if word else 0
        if word:
            return True
    return False


def random_sentence(rng: random.Random, words: int, *, multiroot: bool = False) -> Sentence:
    """A sentence of ``words`` words over a tree of random shape: flat, deep or in between."""
    order = rng.sample(range(1, words + 1), words)
    reach = rng.choice((1, 2, words))  # 1 gives a chain, `words` a random recursive tree
    head = [0] * (words + 1)
    for place in range(1, words):
        head[order[place]] = order[rng.randrange(max(0, place - reach), place)]
        if multiroot and rng.random() < 0.3:
            head[order[place]] = 0
    deprel = [rng.choice(_DEPRELS) if governor else "root" for governor in head[1:]]
    form = [rng.choice("abcdefgh") for _ in range(words)]
    return Sentence(form, head[1:], deprel, multiroot=multiroot)


def random_data(
    rng: random.Random,
    sentences: list[Sentence],
    *,
    root: bool = True,
    pieces: bool = False,
    special: bool = False,
    empty: bool = False,
    input_ids: bool = True,
    phrases: bool = False,
) -> Data:
    r"""One example, built row by row without :func:`graphdep.to_data`.

    Args:
        rng: Random generator.
        sentences: The utterances.
        root: Put a ROOT node before each utterance. (default: :obj:`True`)
        pieces: Split words into one to three pieces. (default: :obj:`False`)
        special: Add [CLS] at the start, [EOU] after each utterance, [SEP] at the end. (default: :obj:`False`)
        empty: Add an empty node after the words of some utterances. (default: :obj:`False`)
        input_ids: Add :obj:`input_ids`. (default: :obj:`True`)
        phrases: Add :obj:`phrase_index` and :obj:`phrase_type` of the sentences' constituents, without nodes
            for them. (default: :obj:`False`)
    """
    relations = RelationVocab()
    rows: list[dict[str, int]] = []

    def add(kind: NodeType, utterance: int, word: int = -1, depth: int = -1, deprel: int = 1) -> int:
        node = len(rows)
        row = {"node_type": kind, "governor_index": node, "deprel": deprel, "depth": depth, "word": word}
        place = {"utterance": utterance, "position": node, "segment": utterance % 2}
        rows.append(row | place | ({"input_ids": rng.randrange(50)} if input_ids else {}))
        return node

    arcs: list[tuple[int, int, int]] = []
    spans: list[tuple[int, int, int]] = []
    labels = PhraseVocab()
    if special:
        add(NodeType.CLS, 0)
    for utterance, sentence in enumerate(sentences):
        top = add(NodeType.ROOT, utterance, depth=0) if root else None
        nodes: list[list[int]] = []
        for word, (depth, label) in enumerate(zip(sentence.depth, sentence.deprel)):
            count = rng.randint(1, 3) if pieces else 1
            kind = relations[label]
            nodes.append([add(NodeType.WORD, utterance, word, depth, kind) for _ in range(count)])
        for label, start, end in (sentence.constituents or ()) if phrases else ():
            spans.append((nodes[start][0], nodes[end - 1][0], labels[label]))
        for word, head in enumerate(sentence.head):
            own = nodes[word][0] if top is None else top
            governor = nodes[head - 1][0] if head else own
            for node in nodes[word]:
                rows[node]["governor_index"] = governor
            if governor != nodes[word][0]:
                arcs.append((governor, nodes[word][0], relations[sentence.deprel[word]]))
        if empty and rng.random() < 0.7:
            extra = add(NodeType.WORD, utterance)
            arcs.append((nodes[-1][0], extra, relations["conj"]))
        if special:
            add(NodeType.EOU, utterance)
    if special:
        add(NodeType.SEP, len(sentences) - 1)
    data = Data(num_nodes=len(rows))
    for key in rows[0]:
        data[key] = torch.tensor([int(row[key]) for row in rows])
    table = torch.tensor(arcs, dtype=torch.long).view(-1, 3)
    data.arc_index, data.arc_type = table[:, :2].t().contiguous(), table[:, 2].contiguous()
    if phrases:
        found = torch.tensor(spans, dtype=torch.long).view(-1, 3)
        data.phrase_index, data.phrase_type = found[:, :2].t().contiguous(), found[:, 2].contiguous()
    return data


_PHRASES = ("S", "NP", "VP", "PP", "@NP", "NP-SBJ=1", "PRP$")


def random_graph(rng: random.Random, words: int) -> Sentence:
    """A graph of any kind: several governors or none, cycles, loops, arcs from the root, empty nodes."""
    sentence = random_sentence(rng, words)
    ids = [f"{word}.{place}" for word in range(words + 1) for place in range(1, rng.choice([1, 1, 2, 3]))]
    heads = ["0", *map(str, range(1, words + 1)), *ids]

    def arcs() -> list[tuple[str, str]]:
        pairs = rng.sample(heads, rng.randrange(min(4, len(heads))))
        return [(head, rng.choice(["nsubj", "conj:and", "ref", "obl:in"])) for head in pairs]

    def row(number: str) -> tuple[str, ...]:
        column = "|".join(f"{head}:{label}" for head, label in arcs()) or "_"
        return (number, rng.choice("abc"), "_", "_", "_", "_", "_", "_", column, "_")

    return dataclasses.replace(sentence, deps=[arcs() for _ in range(words)], empty=[row(i) for i in ids])


def random_constituents(rng: random.Random, words: int) -> list[Constituent]:
    """Constituents of any shape: flat or deep, over one word or all words, in chains, or none."""
    found: list[Constituent] = []
    share = rng.choice((0.2, 0.6, 1.0))

    def fill(start: int, end: int) -> None:
        for _ in range(rng.choice((1, 1, 1, 2)) if rng.random() < share else 0):
            found.append((rng.choice(_PHRASES), start, end))
        if end - start > 1:
            cuts = sorted(rng.sample(range(start + 1, end), rng.randint(1, min(3, end - start - 1))))
            for first, after in zip([start, *cuts], [*cuts, end]):
                fill(first, after)

    fill(0, words)
    return found


class Pair(NamedTuple):
    """A constituent of two parts, each a pair or the index of a word."""

    label: str
    left: Pair | int
    right: Pair | int


def nested(sentence: Sentence, rule: str = "left") -> Pair | int:
    """The binarised constituents of a sentence as nested pairs."""
    inside, top = parts(sentence.constituents, len(sentence))

    def words(part: int) -> list[int]:
        return [~part] if part < 0 else [word for own in inside[part] for word in words(own)]

    def joined(label: str, mine: Sequence[int]) -> Pair | int:
        head = 0
        if rule == "head":
            word = min((w for own in mine for w in words(own)), key=lambda w: (sentence.depth[w], w))
            head = next(number for number, own in enumerate(mine) if word in words(own))
        done = tree(mine[head])
        for own in mine[head + 1 :]:
            done = Pair(label, done, tree(own))
        for own in reversed(mine[:head]):
            done = Pair(label, tree(own), done)
        return done

    def tree(part: int) -> Pair | int:
        if part < 0:
            return ~part
        mine = inside[part]
        while len(mine) == 1 and mine[0] >= 0:  # of several over the same words the topmost counts
            mine = inside[mine[0]]
        return joined(sentence.constituents[part][0], mine)

    return tree(top[0]) if len(top) == 1 else joined("ROOT", top)


def bracketed_sentence(rng: random.Random, words: int) -> Sentence:
    """A sentence with a random tree, random constituents and random tags."""
    tags = [rng.choice(("NOUN", "VERB", "ADJ", "PUNCT")) for _ in range(words)]
    sentence = random_sentence(rng, words)
    return dataclasses.replace(sentence, constituents=random_constituents(rng, words), upos=tags)


class SlowTree:
    """One example as a networkx forest over words; a word is named by its first piece."""

    def __init__(self, data: Data) -> None:
        self.data = data
        self.size = data.node_type.numel()
        self.kind = [NodeType(kind) for kind in data.node_type.tolist()]
        self.depth = data.depth.tolist()
        self.utterance = data.utterance.tolist()
        self.first: list[int] = []
        seen: dict[tuple[int, int], int] = {}
        for node, word in enumerate(data.word.tolist()):
            self.first.append(node if word < 0 else seen.setdefault((self.utterance[node], word), node))
        self.tree: nx.DiGraph = nx.DiGraph()
        for node, governor in enumerate(data.governor_index.tolist()):
            if self.depth[node] >= 0 and self.first[node] == node:
                self.tree.add_node(node)
                if governor != node:
                    self.tree.add_edge(governor, node)

    def piece_pairs(self, words: set[tuple[int, int]], pieces: str) -> set[tuple[int, int]]:
        """Pairs of nodes for pairs of words, which are given by their first pieces."""
        if pieces == "first":
            return words
        return self.pairs(lambda s, t: (self.first[s], self.first[t]) in words)

    def pairs(self, wanted: Callable[[int, int], bool]) -> set[tuple[int, int]]:
        """All pairs (source, target) of a relation between words."""
        return {(s, t) for s, t in product(range(self.size), repeat=2) if wanted(s, t)}

    def path(self, i: int, j: int) -> tuple[int, int] | None:
        """Arcs from words i and j up to their lowest common ancestor; None in different trees."""
        up_i, up_j = self.upwards(i), self.upwards(j)
        for a, node in enumerate(up_i):
            if node in up_j:
                return a, up_j.index(node)
        return None

    def upwards(self, word: int) -> list[int]:
        """The word, its governor, and so on."""
        if word not in self.tree:
            return []
        path = [word]
        while governors := list(self.tree.predecessors(path[-1])):
            path += governors
        return path


def attended(data: Data) -> dict[tuple[int, int], int]:
    """All pairs (source, target) of an example, as edges or in a clique, with their type (0: none).

    Asserts what every transform promises: sorted by target, then source, each pair once, int64.
    """
    assert ("clique" in data) == ("edge_index_explicit" in data) != ("edge_index" in data)
    edge_index = data["edge_index_explicit" if "clique" in data else "edge_index"]
    assert edge_index.dtype == torch.long
    assert edge_index.shape[0] == 2
    source, target = edge_index.tolist()
    order = list(zip(target, source))
    assert order == sorted(set(order)), "edges are not sorted by target and source"
    types = data.edge_type.tolist() if "edge_type" in data else [0] * len(source)
    assert len(types) == len(source)
    pairs = dict(zip(zip(source, target), types))
    if "clique" in data:
        clique = data.clique.tolist()
        assert len(clique) == data.num_nodes
        assert min(clique) >= -1
        for s, t in product(range(len(clique)), repeat=2):
            if clique[s] == clique[t] >= 0:
                pairs.setdefault((s, t), 0)
    return pairs


def mothers(constituents: Sequence[Constituent]) -> list[int]:
    """The number of each constituent's parent, -1 for topmost constituents."""
    found = []
    for number, (_, start, end) in enumerate(constituents):
        around = [i for i, (_, a, b) in enumerate(constituents[:number]) if a <= start and end <= b]
        found.append(around[-1] if around else -1)
    return found
