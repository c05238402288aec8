from __future__ import annotations

import copy
import functools
import random
import re

import pytest
import torch
import torch_geometric.transforms as T
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader

import graphdep.transforms
from graphdep import RelationVocab, Sentence, to_data
from graphdep.data import StoredBatches
from graphdep.testing import assert_batch_law, assert_same_batch, assert_same_data
from graphdep.transforms import (
    PHRASE_PRESETS,
    PRESETS,
    AncestorEdges,
    ArcTypes,
    ChainTree,
    CompactTypes,
    CompleteEdges,
    ConstituentEdges,
    DependencyEdges,
    DepthEdges,
    EdgeConstructor,
    MarkedEdges,
    MergeTypes,
    NoisyTree,
    OwnEdges,
    PhraseNodes,
    PhraseWordEdges,
    PositionTypes,
    RandomBrackets,
    RandomTree,
    RelationEdges,
    RelationLinks,
    RelationNodes,
    RerootedTree,
    ReversedTree,
    RewiredEdges,
    RightBrackets,
    RootEdges,
    SameConstituentEdges,
    SelfLoops,
    ShuffledPositions,
    SiblingEdges,
    SpanPathEdges,
    SpecialEdges,
    TreeDistanceEdges,
    TreePathTypes,
    Unlabelled,
    resolve,
)
from graphdep.transforms.edge_set import Compose
from graphdep.vocab import PhraseVocab
from tests.kit.stored import Stored
from tests.kit.strategies import example_lists
from tests.kit.trees import random_constituents, random_data, random_sentence

SETTINGS = [
    *(DependencyEdges(t) for t in ("governor", "dependent", "both")),
    DependencyEdges(pieces="first"),
    *(OwnEdges(t, pieces=p) for t in ("governor", "dependent", "both") for p in ("all", "first")),
    ArcTypes(),
    *(RootEdges(s) for s in ("utterance", "example")),
    *(SelfLoops(o, pieces=p) for o in ("all", "tops") for p in ("all", "first")),
    *(AncestorEdges(t, pieces=p) for t in ("descendant", "ancestor", "both") for p in ("all", "first")),
    *(DepthEdges(m, pieces=p) for m in (3, 4) for p in ("all", "first")),
    *(SpecialEdges(n, others=o) for n in ("CLS", "SEP") for o in ("WORD", "CLS")),
    *(CompleteEdges(s, implicit=m) for s in ("utterance", "example") for m in (True, False)),
    CompleteEdges(node_types=["WORD"]),
    *(TreeDistanceEdges(d, pieces=p) for d in (1, 2) for p in ("all", "first")),
    *(RelationEdges(d, pieces=p) for d in ("both", "to_word", "to_relation") for p in ("all", "first")),
    RelationEdges("none"),
    RelationLinks(),
    Unlabelled(),
    *(PositionTypes(d) for d in (1, 2)),
    *(
        TreePathTypes(d, self_type=s, pieces=p)
        for d in (1, 2)
        for s in (True, False)
        for p in ("all", "first")
    ),
    *(MergeTypes(labels=a, directions=b) for a in (True, False) for b in (True, False)),
    *(CompactTypes(ids) for ids in ([], [1, 3], [3, 1, 71])),
    *(RewiredEdges(e, p, s) for e in (SelfLoops(), RootEdges()) for p in (0.1, 0.2) for s in (0, 1)),
    RewiredEdges(SelfLoops(), 0.1, scope="example"),
    *(MarkedEdges(e, CompleteEdges(s)) for e in (SelfLoops(), RootEdges()) for s in ("utterance", "example")),
    *(RelationNodes(p) for p in ("sequence", "dependent", "zero", "none")),
    *(ConstituentEdges(d, pieces=p) for d in ("both", "up", "down") for p in ("all", "first")),
    *(PhraseWordEdges(d, pieces=p) for d in ("both", "to_word", "to_phrase") for p in ("all", "first")),
    PhraseWordEdges("none"),
    *(SiblingEdges(pieces=p) for p in ("all", "first")),
    *(SameConstituentEdges(h, pieces=p) for h in (None, 1, 2) for p in ("all", "first")),
    *(SameConstituentEdges(h, implicit=True) for h in (None, 1)),
    *(PhraseNodes(p, labels=a) for p in ("sequence", "first", "zero", "none") for a in (True, False)),
    *(RandomBrackets(s, labels=a) for s in (0, 1) for a in ("drop", "keep")),
    *(RightBrackets(labels=a) for a in ("drop", "keep")),
    *(RandomTree(s) for s in (0, 1)),
    *(NoisyTree(p, s) for p in (0.2, 0.5) for s in (0, 1)),
    ShuffledPositions(3),
    ChainTree(),
    ReversedTree(),
    *(SpanPathEdges(p, distance=d, loops=bool(d)) for p in ("all", "arcs") for d in (0, 1)),
    *(RerootedTree(labels=names) for names in ("keep", "inverse")),
    SelfLoops() | RootEdges(),
    SelfLoops() & RootEdges(),
    SelfLoops() - RootEdges(),
    RootEdges() - SelfLoops(),
    (SelfLoops() | RootEdges()) - DependencyEdges(),
    SelfLoops() | (RootEdges() - DependencyEdges()),
]


def test_two_settings_never_print_alike():
    assert len({*map(repr, SETTINGS)}) == len(SETTINGS)


def test_every_transform_is_among_the_settings():
    public = [getattr(graphdep.transforms, name) for name in graphdep.transforms.__all__]
    classes = {item for item in public if isinstance(item, type) and issubclass(item, T.BaseTransform)}
    assert classes - {EdgeConstructor} <= {type(setting) for setting in SETTINGS}


# What reads constituents, and what reads their nodes.
SPANS = (SameConstituentEdges, PhraseNodes, RandomBrackets, RightBrackets)
PHRASES = (ConstituentEdges, PhraseWordEdges, SiblingEdges)


def with_phrases(data):
    """Constituents of any shape over the words of each utterance."""
    rng, spans, labels = random.Random(data.num_nodes), [], PhraseVocab()
    for utterance in data.utterance.unique().tolist():
        nodes = ((data.utterance == utterance) & (data.word >= 0)).nonzero().view(-1)
        first = [int(nodes[data.word[nodes] == word][0]) for word in data.word[nodes].unique()]
        for label, start, end in random_constituents(rng, len(first)):
            spans.append((first[start], first[end - 1], labels[label]))
    data = data.clone()
    table = torch.tensor(spans, dtype=torch.long).view(-1, 3)
    data.phrase_index, data.phrase_type = table[:, :2].t().contiguous(), table[:, 2].contiguous()
    return data


def with_marks(data):
    """Words of either span, of both and of none."""
    rng, data = random.Random(data.num_nodes), data.clone()
    mark = torch.tensor([rng.randrange(4) for _ in range(20)])
    data.mark = torch.where(data.word >= 0, mark[data.word], 0)
    return data


def prepared(setting, data):
    if isinstance(setting, (*SPANS, *PHRASES)):
        data = with_phrases(data)
        return PhraseNodes()(data) if isinstance(setting, PHRASES) else data
    if isinstance(setting, (SpanPathEdges, RerootedTree)):
        return with_marks(data)
    if isinstance(setting, MergeTypes | CompactTypes):
        return TreePathTypes()(DependencyEdges("both")(data))
    if isinstance(setting, TreePathTypes | ArcTypes | PositionTypes):
        return SelfLoops()(data)
    return RelationNodes()(data) if isinstance(setting, (RelationEdges, RelationLinks)) else data


@pytest.mark.parametrize("setting", SETTINGS, ids=repr)
def test_each_setting(setting):
    """It prints as its constructor, treats batches as their examples, and leaves its input alone."""
    again = eval(repr(setting), vars(graphdep.transforms).copy())
    assert (repr(again), type(again)) == (repr(setting), type(setting))
    datas = [prepared(setting, data) for data in examples_of_all_sizes()]
    assert_batch_law(setting, datas)
    assert_made_once(setting, datas)
    one, two = (prepared(setting, to_data([Sentence.chain(["x"])], root=root)) for root in (False, True))
    for few in ([one], [one, two]):
        assert_batch_law(setting, few)
    batch = Batch.from_data_list(datas)
    before = copy.deepcopy(batch)
    setting.forward(batch)
    assert_same_batch(batch, before)


@functools.cache
def examples_of_all_sizes():
    rng, flags = random.Random(0), {"pieces": True, "special": True, "empty": True}
    parsed = [[random_sentence(rng, words) for words in size] for size in ([3, 5], [1], [8, 2, 4])]
    return [random_data(rng, sentences, root=bool(k % 2), **flags) for k, sentences in enumerate(parsed)]


@settings(max_examples=60)
@given(example_lists(max_size=3), st.sampled_from(SETTINGS))
def test_law_on_any_examples(datas, setting):
    assert_batch_law(setting, [prepared(setting, data) for data in datas])


def assert_made_once(transform, datas):
    """Batches cut out of what a transform makes of many examples are those that it makes of these batches."""
    dataset = Stored([*datas, *datas])
    cut = StoredBatches(dataset).transformed(transform)
    for numbers in ([1], [2, 4, 0], [3, 3]):
        batch = Batch.from_data_list([dataset[number] for number in numbers])
        assert_same_batch(cut(numbers), transform(batch))


PRESET_OPTIONS = {
    "transformer": {"scope": "utterance", "implicit": True},
    "transformer-utterance": {"implicit": True},
    "tree": {"direction": "governor", "pieces": "first"},
    "dra": {"root_scope": "example", "pieces": "first"},
    "sia": {"max_sum": 6, "pieces": "first", "direction": "both", "special": "cls"},
    "sia-intra": {"pieces": "first", "direction": "descendants", "special": "none"},
    "sia-inter": {"max_sum": 2, "pieces": "first", "special": "none"},
    "dam": {
        "direction": "to_word",
        "pieces": "all",
        "overview": (),
        "relation_links": True,
        "labels": False,
        "position": "zero",
        "implicit": True,
    },
    "dt": {
        "max_distance": 4,
        "scope": "example",
        "self_type": False,
        "labels": False,
        "pieces": "first",
        "implicit": True,
    },
    "dt-related": {"max_distance": 3, "directions": False, "pieces": "first"},
    "lisa": {"pieces": "first"},
    "relative": {"clip": 2, "scope": "example", "implicit": True},
    "lisa-complete": {"scope": "utterance", "pieces": "first", "implicit": True},
    "gate": {"max_distance": 3, "pieces": "first"},
    "g2g": {"scope": "utterance", "self_type": True, "pieces": "first", "implicit": True},
    "own-arcs": {"direction": "governor", "pieces": "first"},
    "constituents": {"inside": "both", "siblings": True, "overview": (), "labels": False, "implicit": True},
    "same-constituent": {"max_height": None, "pieces": "first", "implicit": True},
}


@pytest.mark.parametrize("name", [*PRESETS, *PHRASE_PRESETS])
def test_each_preset(name):
    """Batches are their examples, and every option shows where it is printed."""
    options = PRESET_OPTIONS[name]
    datas = examples_of_all_sizes()
    datas = [with_phrases(data) for data in datas] if name in PHRASE_PRESETS else datas
    for edges in (resolve(name), resolve(name, **options)):
        assert_batch_law(edges, datas)
        assert_made_once(edges, datas)
    printed = {repr(resolve(name, **{key: value})) for key, value in options.items()}
    assert len(printed | {repr(resolve(name))}) == 1 + len(options)


def test_all_tensors_are_made_on_the_device_of_the_data(monkeypatch):
    """With another default device, a tensor made without saying where would not fit the others."""
    inverse = RelationVocab.inverse

    def on_cpu(relation):
        with torch.device("cpu"):
            return inverse(relation)

    data = to_data([Sentence.chain(["a"] * 3)] * 2)
    for setting in SETTINGS:
        batch = Batch.from_data_list([prepared(setting, data) for _ in range(2)])
        expected = setting(batch)
        with monkeypatch.context() as patch, torch.device("meta"):
            patch.setattr(RelationVocab, "inverse", on_cpu)
            got = setting(batch)
        assert_same_batch(got, expected)


@pytest.mark.cuda
def test_cuda(example):
    for setting in SETTINGS:
        batch = Batch.from_data_list([prepared(setting, to_data([example, example])) for _ in range(2)])
        got = setting(batch.to("cuda"))
        assert got.governor_index.is_cuda
        assert_same_batch(got.cpu(), setting(batch.cpu()))
        for left, right in zip(setting(batch.to("cuda")).to_data_list(), setting(batch.cpu()).to_data_list()):
            assert_same_data(left.cpu(), right)


@pytest.mark.parametrize("workers", [0, 1])
def test_data_loader(workers, example):
    transform = resolve("dt") if workers else resolve("dam")
    datas = [to_data([Sentence.chain(example.form[:k])]) for k in range(1, 6)]
    loader = DataLoader([transform(data) for data in datas], batch_size=3, num_workers=workers)
    after = DataLoader(datas, batch_size=3, num_workers=workers)
    for left, right in zip(after, loader, strict=True):
        assert_same_batch(transform(left), right)
        for a, b in zip(transform(left).to_data_list(), right.to_data_list(), strict=True):
            assert_same_data(a, b)


def test_batches_made_by_hand(example):
    """Without the dictionaries of ``from_data_list`` the graph is still right."""
    batch = Batch.from_data_list([to_data([example])] * 2)
    by_hand = Data(**{key: batch[key] for key in sorted(batch.keys()) if key not in ("ptr", "num_nodes")})
    phrased = Batch.from_data_list([with_phrases(to_data([example]))] * 2)
    spans = {key: phrased[key] for key in ("phrase_index", "phrase_type")}
    for preset in (*PRESETS, *PHRASE_PRESETS):
        transform, more = resolve(preset), preset in PHRASE_PRESETS
        given = Data(**by_hand.to_dict(), **spans) if more else by_hand
        got, expected = transform(given), transform(phrased if more else batch)
        assert torch.equal(got.edge_index, expected.edge_index)
        assert torch.equal(got.batch, expected.batch)


def test_compose_and_pre_transform(example):
    transform = T.Compose([RandomTree(3), DependencyEdges() | SelfLoops()])
    assert "RandomTree(seed=3, labels=" in repr(transform)
    assert transform(to_data([example])).num_edges == 9 + 10


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AncestorEdges("up"), r"'towards' must be one of descendant, ancestor, both \(got 'up'\)"),
        (lambda: AncestorEdges(pieces="some"), r"'pieces' must be one of all, first \(got 'some'\)"),
        (lambda: DependencyEdges("up"), "'towards' must be one of governor, dependent, both"),
        (lambda: DependencyEdges(pieces="last"), "'pieces' must be one of"),
        (lambda: DepthEdges(-1), "'max_sum' must be a whole number of at least 0"),
        (lambda: DepthEdges(2.5), "'max_sum' must be a whole number"),
        (lambda: DepthEdges(True), "'max_sum' must be a whole number"),
        (lambda: TreeDistanceEdges(-2), r"'max_distance' must be a whole number of at least 0 \(got -2\)"),
        (lambda: RootEdges("batch"), r"'scope' must be one of utterance, example \(got 'batch'\)"),
        (lambda: SelfLoops("words"), r"'only' must be one of all, tops \(got 'words'\)"),
        (lambda: SpecialEdges("PAD"), "'node_types' must be one of"),
        (lambda: CompleteEdges(node_types=["VERB"]), "'node_types' must be one of ROOT, WORD.*'VERB'"),
        (lambda: CompleteEdges(node_types=()), "'node_types'"),
        (lambda: CompleteEdges("batch"), "'scope'"),
        (lambda: RelationEdges("up"), "'direction' must be one of"),
        (lambda: RelationNodes("last"), "'position' must be one of"),
        (lambda: SpanPathEdges("tree"), "'pairs' must be one of all, arcs"),
        (lambda: SpanPathEdges(distance=-1), "'distance' must be a whole number of at least 0"),
        (lambda: RerootedTree(labels="dep"), "'labels' must be one of keep, inverse"),
        (lambda: PositionTypes(0), r"'clip' must be between 1 and 8 \(got 0\)"),
        (lambda: PositionTypes(9), r"'clip' must be between 1 and 8 \(got 9\)"),
        (lambda: TreePathTypes(9), r"'max_distance' must be between 0 and 8 \(got 9\)"),
        (lambda: TreePathTypes(-1), "'max_distance' must be a whole number of at least 0"),
        (lambda: TreePathTypes(pieces="none"), "'pieces'"),
        (lambda: CompactTypes([2, 2]), r"'types' has an id twice \(got 2\)"),
        (lambda: MergeTypes(labels=0), r"'labels' must be True or False \(got 0\)"),
        (lambda: MergeTypes(directions="false"), r"'directions' must be True or False \(got 'false'\)"),
        (lambda: SameConstituentEdges(implicit=None), r"'implicit' must be True or False \(got None\)"),
        (lambda: RandomTree(-1), "'seed' must be a whole number of at least 0"),
        (lambda: RandomTree(0.5), "'seed' must be a whole number of at least 0"),
        (lambda: ShuffledPositions(-1), "'seed' must be a whole number of at least 0"),
        (lambda: NoisyTree(0.5, -1), "'seed' must be a whole number of at least 0"),
        (lambda: NoisyTree(-0.1), "'p' must be between 0 and 1"),
        (lambda: NoisyTree(float("nan")), "'p' must be between 0 and 1"),
        (lambda: RewiredEdges(SelfLoops(), 1.5), r"'p' must be between 0 and 1 \(got 1.5\)"),
        (lambda: RewiredEdges(SelfLoops(), 0.1, -1), "'seed' must be a whole number"),
        (lambda: RewiredEdges(SelfLoops(), 0.1, scope="batch"), "'scope' must be one of"),
        (lambda: PhraseNodes("dependent"), "must be"),
        (lambda: ConstituentEdges("to_word"), "must be"),
        (lambda: PhraseWordEdges("up"), "must be"),
        (lambda: SameConstituentEdges(0), "must be"),
        (lambda: RandomBrackets(-1), "must be"),
        (lambda: RightBrackets(labels="dep"), "must be"),
        (lambda: resolve("constituents", inside="all"), "must be"),
        (
            lambda: resolve("sia", direction="descendant"),
            "'direction' must be one of ancestors, descendants, both",
        ),
        (
            lambda: resolve("sia-inter", special="all"),
            r"'special' must be one of example, cls, none \(got 'a",
        ),
        (lambda: resolve("sia-inter", direction="both"), "preset 'sia-inter' has no option 'direction'"),
        (lambda: resolve("tree", direction="up"), "'direction' must be one of governor, dependent, both"),
        (lambda: resolve("sia", sum=3), "preset 'sia' has no option 'sum'; it takes max_sum, pieces"),
        (
            lambda: resolve("edges"),
            "'edges' must be one of transformer, .*dam, dt, .*lisa, gate, g2g.*got 'edges'",
        ),
        (lambda: resolve(3), "'edges' must be one of .*got 3"),
        (lambda: resolve(SelfLoops(), pieces="first"), "cannot be given with an instance"),
    ],
)
def test_wrong_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("transform", "message"),
    [
        (RelationEdges(), r"put RelationNodes\(\) before Relation"),
        (RelationLinks(), r"put RelationNodes\(\) before Relation"),
        (TreePathTypes(), "put a transform that builds edges before TreePathTypes"),
        (PositionTypes(), "put a transform that builds edges before PositionTypes"),
        (MergeTypes(), "put TreePathTypes"),
        (CompactTypes([1]), "put a transform that types edges"),
        (SpanPathEdges(), "the data has no 'mark'"),
        (RerootedTree(), "the data has no 'mark'"),
        (
            MarkedEdges(SelfLoops(), CompleteEdges(node_types="WORD", implicit=True) | RootEdges()),
            r"'among' must have cliques only",
        ),
        *(
            (transform, "the data has no 'phrase_index': make it with phrases=True")
            for transform in (PhraseNodes(), SameConstituentEdges(), RandomBrackets(), ConstituentEdges())
        ),
    ],
    ids=repr,
)
def test_what_the_data_lacks(transform, message, example):
    with pytest.raises(ValueError, match=message):
        transform(to_data([example]))


def test_missing_keys_are_named():
    data = Data(node_type=torch.ones(2, dtype=torch.long), num_nodes=2)
    with pytest.raises(ValueError, match=r"the data has no 'word' \(it has node_type, num_nodes\)"):
        SelfLoops()(data)


def test_own_constructor(example):
    class EveryThird(EdgeConstructor):
        def build(self, nodes):
            third = nodes.index[nodes.local % 3 == 0]
            return graphdep.transforms.EdgeSet(nodes, third, third)

    edges = SelfLoops() - EveryThird()
    assert edges(to_data([example])).edge_index[0].tolist() == [1, 2, 4, 5, 7, 8]


class Wrong(EdgeConstructor):
    """A constructor of a user's who has got it wrong."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def build(self, nodes):
        next_node = nodes.index[:-1], nodes.index[1:]
        return next_node if self.kind == "tuple" else graphdep.transforms.EdgeSet(nodes, *next_node)


@pytest.mark.parametrize(
    "around", [lambda e: e, lambda e: e | SelfLoops(), lambda e: SelfLoops() | e, lambda e: e - SelfLoops()]
)
def test_what_build_gives_is_checked(around, example):
    batch = Batch.from_data_list([to_data([example], root=False)] * 2)
    with pytest.raises(TypeError, match=r"Wrong.build\(\) must return an EdgeSet.* \(got tuple\)"):
        around(Wrong("tuple"))(batch)
    over = around(Wrong("pairs"))
    message = rf"{re.escape(repr(over))} joins nodes of different examples \(edge \d+: \[8, 9\]\)"
    with pytest.raises(ValueError, match=message):
        over(batch)
    assert over(batch[0]).num_edges >= 8


@pytest.mark.parametrize(
    ("edges", "tables"),
    [
        (resolve("dt"), 1),
        (resolve("dt", labels=False), 1),
        (resolve("gate"), 1),
        (resolve("lisa-complete"), 1),
        (resolve("dam"), 2),  # without relation nodes, and with them
        (Compose([RandomTree(), resolve("dt")]), 2),
    ],
    ids=str,
)
def test_steps_share_the_nodes_until_one_changes_them(edges, tables, example, monkeypatch):
    batch = Batch.from_data_list([to_data([example])] * 2)
    expected = T.Compose(edges.transforms if isinstance(edges, Compose) else [edges])(batch)
    checked = []
    monkeypatch.setattr("graphdep.transforms.nodes.check_table", checked.append)
    assert_same_data(edges(batch), expected)
    assert len(checked) == tables


@pytest.mark.parametrize(
    ("pairs", "clique", "message"),
    [
        (([0], [5]), None, r"the edge \(0, 5\) between 2 nodes"),
        (([-1], [0]), None, "the edge .* between 2 nodes"),
        (([0], [1]), [0] * 5, "a clique for 5 of 2 nodes"),
    ],
)
def test_edges_are_between_nodes_that_there_are(pairs, clique, message):
    class Outside(EdgeConstructor):
        def build(self, nodes):
            return graphdep.transforms.EdgeSet(
                nodes, *map(torch.tensor, pairs), None if clique is None else torch.tensor(clique)
            )

    data = to_data(graphdep.Sentence(["Go"], [0], ["root"]))
    assert data.num_nodes == 2
    with pytest.raises(ValueError, match=message):
        Outside()(data)
