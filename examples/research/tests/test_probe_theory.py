"""What can be read: colours against slow ones and against networks, the walk, and the papers' edges."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import islice

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from probe_edits import ProbeState, edited
from probe_sights import PROBE_SIGHTS
from probe_theory import Ceiling, Sight, _ceiling, batch_of, ceilings, colours
from torch_geometric.data import Batch
from torch_geometric.transforms import Compose

import graphdep.transforms as G
from graphdep import NodeType, RelationVocab, Sentence, Vocab, to_data
from graphdep.data import mark_words
from graphdep.datasets.labels.probe_corpus import PROBE_FUNCTIONS, ProbeSizes, probe_sentences
from graphdep.nn.attention import AttentionLayout
from graphdep.nn.conv import AttentionConv, GatedRelationConv, LISAConv
from graphdep.nn.models import GraphTransformer

NEIGHBOURS = G.DependencyEdges("both") | G.SelfLoops()
TYPED, MARKED = "edge_type", "edge_mark"
SIGHTS = {
    "transformer": Sight(G.resolve("transformer")),
    "transformer, positions": Sight(G.resolve("transformer"), position=True),
    "neighbours": Sight(NEIGHBOURS),
    "dra": Sight(G.resolve("dra")),
    "dra, levels": Sight(G.resolve("dra"), level=True),
    "sia": Sight(G.resolve("sia")),
    "gate": Sight(G.resolve("gate")),
    "lisa": Sight(G.resolve("lisa")),
    "lisa-complete": Sight(G.resolve("lisa-complete"), MARKED),
    "dt": Sight(G.resolve("dt"), TYPED),
    "dt, positions": Sight(G.resolve("dt"), TYPED, position=True),
    "dt, types unseen": Sight(G.resolve("dt")),
    "dt-related": Sight(G.resolve("dt-related"), TYPED),
    "dt, unlabelled": Sight(G.resolve("dt", labels=False), TYPED),
    "dt, implicit": Sight(G.resolve("dt", implicit=True), TYPED),
    "g2g": Sight(G.resolve("g2g"), TYPED),
    "dam": Sight(G.resolve("dam")),
    "chain": Sight(Compose([G.ChainTree(), G.resolve("dt")]), TYPED),
    "random": Sight(Compose([G.RandomTree(), G.resolve("dt")]), TYPED),
}
VOCAB = Vocab([f"w{word}" for word in range(60)])


TINY = ProbeSizes(1, 4, 2)


def batch(count: int, seed: object = 0, sizes: ProbeSizes = TINY, mark: bool = True) -> Batch:
    """Small sentences of few words, which have much in common."""
    examples = []
    for tree, place in islice(probe_sentences(sizes, str(seed)), count):
        data = to_data([tree], vocab=VOCAB)
        examples.append(mark_words(data, [word == place for word in range(len(tree))]) if mark else data)
    return Batch.from_data_list(examples)


def slow_colours(data: Batch, sight: Sight, layers: int) -> list[int]:
    """Colour refinement with shares as fractions; colours are numbers in the order of their appearance."""
    layout = AttentionLayout.of(data).materialize()
    kinds = [0] * layout.pairs.size(1) if sight.types is None else getattr(layout, sight.types).tolist()
    keys = ["node_type", "input_ids", "mark", *["position"] * sight.position, *["depth"] * sight.level]
    found = [tuple(int(data[key][node]) for key in keys) for node in range(data.num_nodes)]
    for _ in range(layers):
        seen: list[Counter] = [Counter() for _ in found]
        for (source, target), kind in zip(layout.pairs.t().tolist(), kinds):
            seen[target][kind, found[source]] += 1
        shares = [frozenset((k, Fraction(n, one.total())) for k, n in one.items()) for one in seen]
        names: dict[object, int] = {}
        found = [names.setdefault(pair, len(names)) for pair in zip(found, shares)]
    return numbered(found)


def numbered(items: list) -> list[int]:
    names: dict[object, int] = {}
    return [names.setdefault(item, len(names)) for item in items]


@pytest.mark.parametrize("name", SIGHTS)
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_colours_are_those_of_the_slow_refinement(name, layers):
    sight = SIGHTS[name]
    data = sight.edges(batch(50, name))
    found = numbered(colours(data, sight, layers).tolist())
    assert found == slow_colours(data, sight, layers)
    assert len({*found}) < len(found)  # there was something to be told apart


def test_shares_and_not_numbers_are_seen():
    """A word with one dependent of a kind is like a word with three, unless it sees itself among them."""
    few = Sentence(["a", "b"], [0, 1], ["root", "det"])
    many = Sentence(["a", "b", "b", "b"], [0, 1, 1, 1], ["root", "det", "det", "det"])
    data = Batch.from_data_list([to_data([tree], vocab=Vocab(["a", "b"])) for tree in (few, many)])
    for edges, same in ((G.DependencyEdges(), True), (G.DependencyEdges() | G.SelfLoops(), False)):
        found = colours(edges(data), Sight(edges), 1)
        assert (found[1] == found[4]).item() is same


def test_a_node_without_pairs_is_none_with_pairs():
    edges = G.DependencyEdges()
    data = edges(batch(1, sizes=ProbeSizes(1, 1, 2)))
    assert colours(data, Sight(edges), 1).unique().numel() == 2


CONVS = {
    "transformer": lambda layer: AttentionConv(8, 4, 2),
    "neighbours": lambda layer: AttentionConv(8, 4, 2),
    "dra": lambda layer: AttentionConv(8, 4, 2),
    "sia": lambda layer: AttentionConv(8, 4, 2),
    "dt": lambda layer: GatedRelationConv(8, 4, 2, num_relations=len(RelationVocab())),
    "dt, unlabelled": lambda layer: GatedRelationConv(8, 4, 2, num_relations=len(RelationVocab())),
    "lisa-complete": lambda layer: LISAConv(8, 4, 2),
}


@pytest.mark.parametrize("name", CONVS)
@pytest.mark.parametrize("layers", [1, 2])
def test_networks_tell_apart_what_colours_do(name, layers):
    """Equal colours give equal states, whatever the weights; other colours others, with random weights."""
    torch.manual_seed(0)
    data = SIGHTS[name].edges(batch(40, name, mark=False))
    sizes = {"hidden_channels": 8, "num_layers": layers, "ff_channels": 8, "dropout": 0.0}
    model = GraphTransformer(len(VOCAB), CONVS[name], position_embedding=False, **sizes).double().eval()
    with torch.no_grad():
        states = model(data)
    found = colours(data, SIGHTS[name], layers)
    same = found[:, None] == found
    gap = torch.cdist(states, states, p=torch.inf)
    assert gap[same].max() < 1e-10
    assert gap[~same].min() > 1e-8


@given(st.integers(0, 10**6), st.booleans())
def test_the_batch_is_that_of_to_data(seed, marked):
    rng = random.Random(seed)
    drawn = [*islice(probe_sentences(ProbeSizes(1, 5, 9), str(seed)), 3)]
    states = [ProbeState.of(tree, mark, 0) for tree, mark in drawn]
    like = Batch.from_data_list([to_data([state.sentence], vocab=VOCAB) for state in states])
    for _ in range(8):
        states = [edited(state, 9, rng) for state in states]
    expected = [to_data([state.sentence], vocab=VOCAB) for state in states]
    if marked:
        for data, state in zip(expected, states):
            mark_words(data, [word == state.mark for word in range(len(state.form))])
    found = batch_of(like, states, VOCAB, RelationVocab(), marked=marked)
    whole = Batch.from_data_list(expected)
    keys = {*whole.keys()} - {"num_nodes"}
    assert {*found.keys()} - {"num_nodes"} == keys
    assert all(torch.equal(found[key], whole[key]) for key in keys)


def test_a_walk_visits_all_sentences_equally_often():
    rng, seen = random.Random(0), Counter()
    state = ProbeState(["w0", "w1", "w0"], [-1, 0, 1], ["root", "det", "obj"], 0, 2)
    for _ in range(80_000):
        state = edited(state, 2, rng)
        seen[("tree", *state.head)] += 1
        seen[("words", *state.form)] += 1
        seen["label", state.deprel[(state.head.index(-1) + 1) % 3]] += 1
        seen["mark", state.mark, state.word] += 1
    sizes = {"tree": 9, "words": 8, "label": 8, "mark": 9}
    for kind, size in sizes.items():
        count = [number for key, number in seen.items() if key[0] == kind]
        assert len(count) == size
        assert max(count) < 1.3 * min(count), kind


# Function, sight and number of layers: read for certain.
READ = [
    ("next", "transformer, positions", 1),
    ("governor", "lisa", 1),
    ("governor", "lisa-complete", 1),
    ("path-2", "dt-related", 2),
    ("path-3", "dt-related", 3),
    ("governor", "dt", 1),
    ("relation", "dt", 1),
    ("siblings", "dt, positions", 2),
    ("relation", "g2g", 1),
    ("governor", "g2g", 1),
    ("governor", "dt, unlabelled", 1),
    ("depth", "dra, levels", 1),
    ("governor", "sia", 2),
    ("distance", "dt", 3),
    ("ancestor", "dt", 3),
    ("clause", "dt", 3),
    ("next", "chain", 1),
    ("subtree", "dra", 9),
    ("depth", "lisa", 9),
]
# What layers of any number cannot read.
UNREAD = [
    *[(name, "transformer, positions", 3) for name in PROBE_FUNCTIONS if name != "next"],
    *[(name, "chain", 3) for name in PROBE_FUNCTIONS if name != "next"],
    # Which random tree it is depends on the words, and so tells of their order.
    *[(name, "random", 2) for name in PROBE_FUNCTIONS if name != "next"],
    *[(name, "transformer", 3) for name in PROBE_FUNCTIONS],
    *[(name, "dra", 9) for name in ("governor", "relation", "depth", "path-2", "siblings", "clause", "next")],
    *[(name, "lisa", 9) for name in ("relation", "path-2", "subtree", "siblings", "clause", "next")],
    *[("relation", name, 3) for name in ("neighbours", "sia", "gate", "lisa-complete", "dt, unlabelled")],
    *[("path-2", name, 3) for name in ("neighbours", "sia", "gate", "lisa-complete", "dt, unlabelled")],
    ("relation", "dt, types unseen", 3),
    ("governor", "neighbours", 1),
    ("governor", "sia", 1),
    ("path-2", "g2g", 1),
    ("path-2", "dt-related", 1),
    ("path-3", "dt-related", 1),
    ("depth", "dt", 1),
    ("distance", "dt", 1),
    ("siblings", "dt", 3),
]
SIZES = ProbeSizes(5, 8, 60)


def by_sight(cases: list[tuple[str, str, int]]) -> list[tuple[str, int, list[str]]]:
    """The functions of each sight and number of layers, which are walked once for all."""
    functions = defaultdict(list)
    for function, name, layers in cases:
        functions[name, layers].append(function)
    return [(*key, names) for key, names in functions.items()]


@pytest.mark.parametrize(("name", "layers", "functions"), by_sight(READ))
def test_what_can_be_read(name, layers, functions):
    found = ceilings(SIGHTS[name], functions, layers, sizes=SIZES, words=24, steps=80)
    assert {function: (one.accuracy, one.certain) for function, one in found.items()} == dict.fromkeys(
        functions, (1.0, 1.0)
    )


@pytest.mark.parametrize(("name", "layers", "functions"), by_sight(UNREAD))
def test_what_cannot_be_read(name, layers, functions):
    found = ceilings(SIGHTS[name], functions, layers, sizes=SIZES, words=24, steps=80)
    assert not {function: one for function, one in found.items() if one.certain > 0.9 or one.accuracy > 0.95}


def test_guesses_are_as_good_as_chance_where_nothing_is_seen():
    nothing = Sight(G.SelfLoops())
    found = ceilings(nothing, ["relation", "governor", "next"], 1, words=200, steps=200)
    for name, ceiling in found.items():
        assert ceiling.certain < 0.05
        assert abs(ceiling.accuracy - 1 / len(PROBE_FUNCTIONS[name].classes)) < 0.12


def test_no_guess_is_worse_than_one_label_for_all_words():
    """Of labels that are about as common a walk picks the wrong one as often as not."""
    looks = [["a", "b"], ["a", "b"], ["b", "b"], ["b", "a"]]  # of two words, by time
    found = _ceiling("clause", looks)
    assert found == Ceiling(accuracy=5 / 8, certain=0.0, words=2)


def test_more_layers_read_more():
    found = [
        ceilings(SIGHTS["dra"], ["subtree"], layers, words=60, steps=60)["subtree"] for layers in (1, 2, 4)
    ]
    assert found[0].certain < found[1].certain < found[2].certain
    assert found[0].accuracy < found[2].accuracy


def test_a_seed_gives_the_same_again():
    def run(seed):
        return ceilings(SIGHTS["dra"], ["subtree", "distance"], 1, words=20, steps=40, seed=seed)

    assert run(1) == run(1) != run(2)
    assert [*run(1)] == ["subtree", "distance"]


@pytest.mark.parametrize("name", ["layers", "words", "steps"])
def test_wrong_numbers(name):
    options = {"layers": 1, "words": 2, "steps": 2, name: 0}
    layers = options.pop("layers")
    with pytest.raises(ValueError, match=rf"'{name}' must be at least 1 \(got 0\)"):
        ceilings(SIGHTS["dra"], ["depth"], layers, **options)


def test_wrong_types_and_too_few_words():
    with pytest.raises(ValueError, match=r"'types' must be edge_type, .* \(got 'edge_x'\)"):
        Sight(G.resolve("dra"), "edge_x")
    with pytest.raises(ValueError, match=r"'types' must be what the edges have \(got 'edge_type'\)"):
        ceilings(Sight(G.resolve("dra"), TYPED), ["depth"], 1, words=2, steps=2)
    with pytest.raises(ValueError, match="'words' 1: none of them has a label of 'next'; take more"):
        ceilings(SIGHTS["dra"], ["next"], 1, sizes=ProbeSizes(1, 1), words=1, steps=2)


@pytest.mark.parametrize("name", PROBE_SIGHTS)
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_all_that_is_given_tells_no_less_than_the_steps_along_the_tree(name, layers):
    data = batch(50, name)
    both = [one.edges(data) for one in PROBE_SIGHTS[name]]
    found, steps = (
        colours(one, sight, layers)[one.node_type == NodeType.WORD].tolist()
        for one, sight in zip(both, PROBE_SIGHTS[name])
    )
    assert len({*zip(found, steps)}) == len({*found})
