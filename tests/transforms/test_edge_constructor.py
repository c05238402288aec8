from __future__ import annotations

import copy
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
from graphdep.testing import assert_batch_law, assert_same_batch, assert_same_data
from graphdep.transforms import (
    PHRASE_PRESETS,
    PRESETS,
    AncestorEdges,
    ChainTree,
    CompleteEdges,
    ConstituentEdges,
    DependencyEdges,
    DepthEdges,
    EdgeConstructor,
    MarkedEdges,
    MergeTypes,
    NoisyTree,
    PhraseNodes,
    PhraseWordEdges,
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
from tests.kit.strategies import example_lists
from tests.kit.trees import random_data, random_sentence

SETTINGS = [
    *(DependencyEdges(t) for t in ("governor", "dependent", "both")),
    *(
        DependencyEdges(arcs=a, pieces=p)
        for a in ("basic", "all")
        for p in ("all", "first")
        if a + p != "basicall"
    ),
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
    *(
        TreePathTypes(d, self_type=s, pieces=p)
        for d in (1, 2)
        for s in (True, False)
        for p in ("all", "first")
    ),
    *(MergeTypes(labels=a, directions=b) for a in (True, False) for b in (True, False)),
    *(RewiredEdges(e, p, s) for e in (SelfLoops(), RootEdges()) for p in (0.1, 0.2) for s in (0, 1)),
    RewiredEdges(SelfLoops(), 0.1, scope="example"),
    *(MarkedEdges(e, CompleteEdges(s)) for e in (SelfLoops(), RootEdges()) for s in ("utterance", "example")),
    *(RelationNodes(p) for p in ("sequence", "dependent", "zero")),
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
    printed = [repr(setting) for setting in SETTINGS]
    assert len(set(printed)) == len(printed)


@pytest.mark.parametrize("setting", SETTINGS, ids=repr)
def test_prints_as_its_constructor(setting):
    again = eval(repr(setting), vars(graphdep.transforms).copy())
    assert repr(again) == repr(setting)
    assert type(again) is type(setting)


def test_every_transform_is_among_the_settings():
    public = [getattr(graphdep.transforms, name) for name in graphdep.transforms.__all__]
    classes = {item for item in public if isinstance(item, type) and issubclass(item, T.BaseTransform)}
    assert classes - {EdgeConstructor} <= {type(setting) for setting in SETTINGS}


# What reads constituents, and what reads their nodes.
SPANS = (SameConstituentEdges, PhraseNodes, RandomBrackets, RightBrackets)
PHRASES = (ConstituentEdges, PhraseWordEdges, SiblingEdges)


def with_phrases(data):
    """All words of an utterance, those but the first, and the first two, where there are so many."""
    spans = []
    for utterance in data.utterance.unique().tolist():
        nodes = ((data.utterance == utterance) & (data.word >= 0)).nonzero().view(-1)
        first = [int(nodes[data.word[nodes] == word][0]) for word in data.word[nodes].unique()]
        spans += [(first[0], first[-1], 19), (first[0], first[min(1, len(first) - 1)], 13)]
        spans += [(first[2], first[-1], 26)] if len(first) > 2 else []
    data = data.clone()
    table = torch.tensor(spans).view(-1, 3)
    data.phrase_index, data.phrase_type = table[:, :2].t().contiguous(), table[:, 2].contiguous()
    return data


def prepared(setting, data):
    if isinstance(setting, (*SPANS, *PHRASES)):
        data = with_phrases(data)
        return PhraseNodes()(data) if isinstance(setting, PHRASES) else data
    if isinstance(setting, (SpanPathEdges, RerootedTree)):
        data = data.clone()
        data.mark = data.word.clamp(max=1) + 1  # the first word is one span, the others are the second
        return data
    if isinstance(setting, MergeTypes):
        return TreePathTypes()(DependencyEdges("both")(data))
    if isinstance(setting, TreePathTypes):
        return SelfLoops()(data)
    return RelationNodes()(data) if isinstance(setting, (RelationEdges, RelationLinks)) else data


@pytest.mark.parametrize("setting", SETTINGS, ids=repr)
def test_law(setting):
    rng, flags = random.Random(0), {"pieces": True, "special": True, "empty": True}
    parsed = [[random_sentence(rng, words) for words in size] for size in ([3, 5], [1], [8, 2, 4])]
    datas = [random_data(rng, sentences, root=bool(k % 2), **flags) for k, sentences in enumerate(parsed)]
    assert_batch_law(setting, [prepared(setting, data) for data in datas])


@settings(max_examples=300)
@given(example_lists(max_size=3), st.sampled_from(SETTINGS))
def test_law_on_any_examples(datas, setting):
    assert_batch_law(setting, [prepared(setting, data) for data in datas])


@pytest.mark.parametrize("setting", SETTINGS, ids=repr)
def test_one_node_alone_and_in_batches_of_one(setting):
    for root, sentence in ((False, ["x"]), (True, ["x"])):
        data = prepared(setting, to_data([Sentence.chain(sentence)], root=root))
        assert_batch_law(setting, [data])
        assert_batch_law(setting, [data, data])


@pytest.mark.parametrize("setting", SETTINGS, ids=repr)
def test_forward_itself_leaves_its_input_alone(setting, example):
    batch = Batch.from_data_list([prepared(setting, to_data([example])) for _ in range(2)])
    before = copy.deepcopy(batch)
    setting.forward(batch)
    assert_same_batch(batch, before)


@pytest.mark.parametrize("setting", SETTINGS, ids=repr)
def test_all_tensors_are_made_on_the_device_of_the_data(setting, example, monkeypatch):
    """With another default device, a tensor made without saying where would not fit the others."""
    inverse = RelationVocab.inverse

    def on_cpu(relation):
        with torch.device("cpu"):
            return inverse(relation)

    batch = Batch.from_data_list([prepared(setting, to_data([example, example])) for _ in range(2)])
    expected = setting(batch)
    monkeypatch.setattr(RelationVocab, "inverse", on_cpu)
    with torch.device("meta"):
        got = setting(batch)
    assert_same_batch(got, expected)


@pytest.mark.cuda
@pytest.mark.parametrize("setting", SETTINGS, ids=repr)
def test_cuda(setting, example):
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


def test_joins_only_constructors():
    with pytest.raises(TypeError, match="unsupported operand"):
        SelfLoops() | "dra"
    with pytest.raises(TypeError, match="unsupported operand"):
        SelfLoops() - TreePathTypes()


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
    with pytest.raises(TypeError, match=r"Wrong.build\(\) must give an EdgeSet.* \(got tuple\)"):
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
