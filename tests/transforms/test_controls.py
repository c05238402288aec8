"""Controls of trees, brackets, edges and positions, against loops and counts of what they draw."""

from __future__ import annotations

import dataclasses
import random
from collections import Counter, defaultdict

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Batch

from graphdep import NodeType, RelationVocab, Sentence, Vocab, to_data
from graphdep.data import EncodedUtterance, mark_words, selection_data
from graphdep.testing import assert_batch_law, assert_same_data
from graphdep.transforms import (
    ChainTree,
    CompleteEdges,
    DependencyEdges,
    NoisyTree,
    RandomBrackets,
    RandomTree,
    RelationNodes,
    RerootedTree,
    ReversedTree,
    RewiredEdges,
    SelfLoops,
    ShuffledPositions,
    Unlabelled,
    resolve,
)
from graphdep.transforms.controls import WordTable, mix, permute, unsigned
from graphdep.transforms.nodes import Nodes
from tests.kit.strategies import example_lists, examples, marked_examples, sentences
from tests.kit.trees import SlowTree, attended, goes_round, random_sentence


def test_splitmix64():
    """The first numbers of the public reference implementation for seed 1234567."""
    step, seed = 0x9E3779B97F4A7C15, 1234567
    state = [(seed + step * k) % 2**64 for k in range(3)]
    got = mix(torch.tensor([s - 2**64 if s >= 2**63 else s for s in state]))
    assert [g % 2**64 for g in got.tolist()] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]


@given(st.integers(1, 300), st.integers(-(2**63), 2**63 - 1))
def test_permute_is_a_permutation(size, key):
    value = torch.arange(size)
    got = permute(value, torch.full_like(value, size), torch.full_like(value, key))
    assert got.sort().values.equal(value)


def test_unsigned():
    assert unsigned(torch.tensor([-1, 0, 2**63 - 1])).tolist() == [2**63 - 1, 0, 2**62 - 1]


KEEP = [ChainTree(labels="keep"), RandomTree(0, labels="keep"), RandomTree(7, labels="keep")]
NOISY = [NoisyTree(0.5), NoisyTree(1.0, seed=7)]
transforms = st.sampled_from([ChainTree(), ReversedTree(), RandomTree(0), RandomTree(7), *KEEP, *NOISY])


def parse_of(data, utterance, relations):
    """Reads a sentence back from the node table."""
    slow = SlowTree(data)
    words = [i for i in sorted(slow.tree) if slow.utterance[i] == utterance and data.word[i] >= 0]
    place = {node: k for k, node in enumerate(words, start=1)}
    head = [place.get(int(data.governor_index[i]), 0) if data.governor_index[i] != i else 0 for i in words]
    deprel = [relations.label(int(data.deprel[i])) for i in words]
    return Sentence(["x"] * len(words), head, deprel, multiroot=True)


@given(st.lists(sentences(multiroot=True), min_size=1, max_size=3), st.booleans(), transforms)
def test_the_node_table_is_that_of_a_sentence_with_the_new_tree(parsed, root, transform):
    relations = RelationVocab()
    got = transform(to_data(parsed, root=root))
    again = to_data([parse_of(got, u, relations) for u in range(len(parsed))], root=root)
    assert_same_data(got, again)


@given(examples(), transforms)
def test_pieces_and_other_nodes(data, transform):
    got, old = transform(data), SlowTree(data)
    new = SlowTree(got)
    assert new.first == old.first
    assert set(new.tree) == set(old.tree)
    for node in range(old.size):
        first = old.first[node]
        for key in ("governor_index", "deprel", "depth"):
            assert got[key][node] == got[key][first]
        if first not in old.tree or data.word[node] < 0:
            assert got.governor_index[node] == data.governor_index[node]
            assert got.deprel[node] == data.deprel[node]
            assert got.depth[node] == data.depth[node]
        else:
            path = new.upwards(first)
            assert got.depth[node] == len(path) - (new.kind[path[-1]] == NodeType.ROOT)
    arcs = [(int(got.governor_index[i]), i, int(got.deprel[i])) for i in sorted(new.tree)]
    arcs = [arc for arc in arcs if arc[0] != arc[1]]
    assert list(zip(*got.arc_index.tolist(), got.arc_type.tolist())) == arcs


@settings(max_examples=15)
@given(example_lists(), transforms)
def test_law_without_arcs(datas, transform):
    for data in datas:
        del data["arc_index"], data["arc_type"]
    batch = assert_batch_law(transform, datas)
    assert "arc_index" not in batch


@given(sentences(multiroot=True), st.sampled_from([ChainTree(), RandomTree(0), RandomTree(7)]))
def test_no_label_of_the_parse_is_left(sentence, transform):
    relations = RelationVocab()
    new = transform(to_data([sentence]))
    words = new.word >= 0
    expected = torch.where(new.depth == 1, relations["root"], relations["dep"])
    assert torch.equal(new.deprel[words], expected[words])


@given(sentences(multiroot=True), st.sampled_from(KEEP))
def test_relations_stay_but_for_the_roots(sentence, transform):
    old = to_data([sentence])
    new = transform(old)
    was_root, is_root = sentence.head.index(0) + 1, int((new.depth == 1).nonzero()[0])
    expected = old.deprel.clone()
    if sentence.head[is_root - 1] != 0:
        expected[[was_root, is_root]] = old.deprel[[is_root, was_root]]
    assert torch.equal(new.deprel, expected)
    assert int((new.depth == 1).sum()) == 1


class _Pieces:
    """Words of one to three pieces."""

    cls_id, sep_id, eou_id, fingerprint = 2, 3, 4, "pieces"

    def encode(self, words):
        return [[5 + ord(word)] * (1 + ord(word) % 3) for word in words]


def _dialogue(trees):
    relations = RelationVocab()
    *context, response = [EncodedUtterance.of(tree, _Pieces(), relations) for tree in trees]
    return selection_data(context, response, _Pieces())


@given(st.lists(st.none() | sentences(multiroot=True), min_size=1, max_size=4), transforms)
def test_a_context_and_its_response_in_pieces(parsed, transform):
    """The new trees are those that the words have without pieces and special nodes, in pieces."""
    relations = RelationVocab()
    trees = []
    for sentence in parsed:
        if sentence is not None:
            data = to_data([sentence], root=False)
            data.input_ids = torch.tensor([5 + ord(word) for word in sentence.form])
            new = parse_of(transform(data), 0, relations)
            sentence = Sentence(sentence.form, new.head, new.deprel, multiroot=True)
        trees.append(sentence)
    assert_same_data(transform(_dialogue(parsed)), _dialogue(trees))


def test_edges_would_go_stale(example):
    for first in (SelfLoops(), RelationNodes()):
        with pytest.raises(ValueError, match="ChainTree must come before the transform that makes"):
            ChainTree()(first(to_data([example])))


def test_cycle(monkeypatch):
    monkeypatch.setattr("graphdep.transforms.nodes.check_table", lambda data: None)  # as on a GPU
    data = to_data([Sentence.chain(["x", "y"])], root=False)
    data.governor_index = torch.tensor([1, 0])
    with pytest.raises(ValueError, match="an utterance has no root word"):
        ReversedTree()(data)


@given(sentences())
def test_mirror(sentence):
    data, n = to_data([sentence]), len(sentence)
    got = ReversedTree()(data)
    for k in range(n):
        head = sentence.head[n - 1 - k]
        assert got.governor_index[k + 1] == (n + 1 - head if head else 0)
        assert got.deprel[k + 1] == data.deprel[n - k]
        assert got.depth[k + 1] == data.depth[n - k]
    assert_same_data(ReversedTree()(got), data)


def trees(count, words=3, seed=0):
    """Heads of the random trees of many sentences that differ in a word."""
    vocab = Vocab(f"w{k}" for k in range(count))
    sentences = [Sentence.chain([f"w{k}"] + ["x"] * (words - 1)) for k in range(count)]
    batch = RandomTree(seed)(Batch.from_data_list([to_data([s], vocab=vocab) for s in sentences]))
    heads = (batch.governor_index - batch.ptr[:-1][batch.batch]).view(count, words + 1)[:, 1:]
    return [tuple(head) for head in heads.tolist()]


def test_random_recursive_trees_have_their_distribution():
    counts = Counter(trees(2000))
    # Of 3 words: the 6 chains come from one order of words each, 1/6 x 1/2; the 3 stars from two orders each.
    assert len(counts) == 9
    for head, count in counts.items():
        probability = 1 / 6 if sorted(Counter(head).values()) == [1, 2] else 1 / 12
        assert abs(count / 2000 - probability) < 0.03, (head, count)


VOCAB = Vocab(f"w{k}" for k in range(2000))


def heads(sentence: Sentence, p: float, seed: int = 0) -> list[int]:
    """Numbers of the new governors as in a sentence: 0 for none."""
    got = NoisyTree(p, seed)(to_data([sentence], vocab=VOCAB))
    return got.governor_index[1:].tolist()


@given(sentences(max_words=12, multiroot=True), st.floats(0, 1), st.integers(0, 9))
def test_still_a_tree_with_so_many_wrong_arcs(sentence, p, seed):
    got, bound = heads(sentence, p, seed), [h for h in sentence.head if h]
    assert not goes_round(got)
    assert [h == 0 for h in got] == [h == 0 for h in sentence.head]
    wrong = sum(new != old for new, old in zip(got, sentence.head))
    asked = round(p * len(bound))
    # One word alone can have no other governor: the first of the order, under the only root.
    assert asked - (sentence.head.count(0) == 1) <= wrong <= asked


@given(examples())
def test_none_is_the_parse(data):
    got = NoisyTree(0.0)(data)
    for key in ("governor_index", "deprel", "depth"):
        assert torch.equal(got[key], data[key]), key
    assert torch.equal(NoisyTree(0.7, seed=3)(data).deprel, data.deprel)  # relations stay with their words


def test_every_word_and_every_wrong_governor_is_drawn():
    """Of a root with two dependents a and b, one of which has one of its own, c."""
    tree = [0, 1, 1, 3], ["root", *["dep"] * 3]
    datas = [to_data([Sentence(["w0", f"w{k}", "w1", "w2"], *tree)], vocab=VOCAB) for k in range(400)]
    batch = NoisyTree(1 / 3)(Batch.from_data_list(datas))
    governors = (batch.governor_index - batch.ptr[:-1][batch.batch]).view(400, 5)[:, 1:]
    counts = Counter(map(tuple, governors.tolist()))
    # The parse is left where a or b is drawn and stands first: behind the root there is nothing else.
    assert set(counts) == {
        (0, 1, 1, 3),
        (0, 3, 1, 3),  # a under b
        (0, 4, 1, 3),  # a under c
        (0, 1, 2, 3),  # b under a
        (0, 1, 1, 1),  # c under the root
        (0, 1, 1, 2),  # c under a
    }
    under_other = sum(counts[h] for h in counts if h[3] != 3)
    assert abs(under_other / 400 - 1 / 3) < 0.07


def test_errors_of_a_smaller_share_are_among_those_of_a_larger_one():
    sentence = random_sentence(random.Random(1), 60)
    few, many = (
        {k for k, (a, b) in enumerate(zip(heads(sentence, p), sentence.head)) if a != b} for p in (0.3, 0.8)
    )
    assert len(few - many) <= 1


labels = st.sampled_from(["keep", "inverse"])


@given(marked_examples(empty=False), labels)
def test_against_networkx(data, labels):
    slow, got = SlowTree(data), RerootedTree(labels=labels)(data)
    words = [node for node in slow.tree.nodes if slow.kind[node] == NodeType.WORD]
    marked = [node for node in words if int(data.mark[node]) & 1]
    if not marked:
        assert got.governor_index.tolist() == data.governor_index.tolist()
        return
    top = min(marked, key=lambda node: (slow.depth[node], node))
    graph = slow.tree.to_undirected().subgraph(words)
    above = dict(nx.bfs_predecessors(graph, top))
    old_root = next(word for word in slow.upwards(top)[::-1] if word in words)
    for word in words:
        old, new = data.governor_index[word], got.governor_index[word]
        deprel, was = int(got.deprel[word]), int(data.deprel[word])
        if word == top:
            assert deprel == int(data.deprel[old_root])
        elif word not in above:  # hangs from a root of its own
            assert (bool(old in (new, word)), deprel) == (True, was)
        else:
            assert new == above[word]
            if slow.first[int(old)] == above[word]:
                assert deprel == was
            else:  # turned: the arc was that of the word which is above now
                kept = data.deprel[above[word]]
                assert deprel == int(kept if labels == "keep" else RelationVocab.inverse(kept))
    alone = slow.first[int(data.governor_index[old_root])] == old_root
    own = got.governor_index[top] if not alone else torch.tensor(top)
    assert own == (data.governor_index[old_root] if not alone else top)


def test_depth_is_distance_from_the_span():
    tree = Sentence(["food", "that", "I", "liked"], [0, 4, 4, 1], ["root", "obj", "nsubj", "acl"])
    data = RerootedTree()(mark_words(to_data([tree]), [0, 0, 1, 0]))
    assert data.governor_index.tolist() == [0, 4, 4, 0, 3]
    assert data.depth.tolist() == [0, 3, 3, 1, 2]
    relations = RelationVocab()
    assert [relations.label(one) for one in data.deprel.tolist()] == ["[SELF]", "acl", "obj", "root", "nsubj"]
    assert data.arc_index.tolist() == [[4, 4, 0, 3], [1, 2, 3, 4]]


class Drawn(WordTable):
    """Words whose chance is cut down to a few numbers, so that gaps are equally high."""

    def chance(self, seed: int) -> Tensor:
        return super().chance(seed) & 7


def table(kind: type[WordTable], sizes: list[int]) -> WordTable:
    chains = [dataclasses.replace(Sentence.chain(["a"] * size), constituents=[]) for size in sizes]
    return kind.of(Nodes(to_data(chains, root=False, phrases="spans")))


def all_pairs(words: WordTable, seed: int) -> list[tuple[int, int]]:
    """The definition: up to the next higher gap on either side; of equal ones the first is higher."""
    height = [(chance, -row) for row, chance in enumerate(unsigned(words.chance(seed)).tolist())]
    found = []
    for start, size in [*dict.fromkeys(zip(words.start.tolist(), words.size.tolist()))]:
        gaps = range(start, start + size - 1)
        for gap in gaps:
            higher = [other for other in gaps if height[other] > height[gap]]
            first = max([other + 1 for other in higher if other < gap], default=start)
            last = min([other for other in higher if other > gap], default=start + size - 1)
            found.append((first, last))
    return found


sizes = st.lists(st.integers(1, 12), min_size=1, max_size=6)


@given(sizes, st.integers(0, 99), st.sampled_from([WordTable, Drawn]))
def test_spans_are_those_of_all_pairs(sizes: list[int], seed: int, kind: type[WordTable]) -> None:
    words = table(kind, sizes)
    first, last = RandomBrackets(seed).spans(words)
    assert [*zip(first.tolist(), last.tolist())] == all_pairs(words, seed)


@pytest.mark.parametrize(
    ("control", "key"),
    [
        (lambda seed: RandomTree(seed), "governor_index"),
        (lambda seed: NoisyTree(0.5, seed), "governor_index"),
        (lambda seed: ShuffledPositions(seed), "position"),
    ],
)
def test_equal_sentences_are_changed_alike_wherever_they_stand(control, key):
    """By the seed and the words alone."""
    words = [f"w{number}" for number in range(9)]
    other = Sentence(words, [0] + [1] * 8, ["dep"] * 9)
    one = (
        other if isinstance(control(0), NoisyTree) else Sentence.chain(words)
    )  # whose errors are the parse's
    pair, alone = to_data([one, other], vocab=VOCAB), to_data([other], vocab=VOCAB)
    both = control(3)(Batch.from_data_list([to_data([Sentence.chain(["w1"])], vocab=VOCAB), pair]))
    expected = control(3)(alone)[key]
    for start in (2, 12):  # after the first example, and as the second half of the pair
        assert torch.equal(both[key][start : start + 10] - (start if key != "position" else 0), expected)
    assert not torch.equal(control(4)(alone)[key], expected)


def test_long_sentences():
    chain = to_data([Sentence.chain(["x"] * 100_000)])
    star = Sentence(["x"] * 100_000, [0] + [1] * 99_999, ["dep"] * 100_000)
    assert int(ChainTree()(to_data([star])).depth.max()) == 100_000
    data = RandomTree()(chain)
    assert int((data.depth == 1).sum()) == 1
    assert int(data.depth.max()) < 60  # of the order of e log n
    changed = NoisyTree(0.3)(chain).governor_index[1:] != torch.arange(100_000)
    assert abs(int(changed.sum()) - 30_000) <= 1
    before = DependencyEdges()(chain).edge_index
    after = RewiredEdges(DependencyEdges(), 0.25, scope="example")(chain).edge_index
    assert after.size(1) == before.size(1)
    assert int(torch.isin(after[1] * 100_001 + after[0], before[1] * 100_001 + before[0]).sum()) == 75_000
    first, last = RandomBrackets(1).spans(table(WordTable, [20_000]))
    assert first.numel() == 19_999
    assert ((first == 0) & (last == 19_999)).sum() == 1
    assert bool((first < last).all())


def test_no_words() -> None:
    words = table(WordTable, [1])
    none = {name: getattr(words, name)[:0] for name in ("node", "start", "size", "governor", "deprel")}
    first, last = RandomBrackets().spans(dataclasses.replace(words, **none))
    assert first.tolist() == last.tolist() == []


right = st.sampled_from([resolve("dra"), resolve("sia"), DependencyEdges("both"), CompleteEdges("utterance")])
shares = st.sampled_from([0, 0.1, 0.5, 0.9, 1])
scopes = st.sampled_from(["utterance", "example"])


@settings(max_examples=40)
@given(examples(), right, shares, st.integers(0, 5), scopes)
def test_counts(data, edges, p, seed, scope):
    slow = SlowTree(data)
    before = set(attended(edges(data)))
    after = set(attended(RewiredEdges(edges, p, seed, scope=scope)(data)))
    kept = slow.pairs(lambda s, t: s == t or NodeType.ROOT in (slow.kind[s], slow.kind[t]))
    assert after & kept == before & kept
    before, after = before - kept, after - kept
    errors = round(p * len(before))
    free = slow.pairs(lambda s, t: scope == "example" or slow.utterance[s] == slow.utterance[t])
    free -= before | kept
    assert len(before - after) == errors
    assert len(after - before) == min(errors, len(free))
    assert after - before <= free


def test_all_pairs_are_equally_likely():
    data = to_data([Sentence.chain(["a"] * 5)], root=False)
    edges, datas = DependencyEdges(), [data.clone() for _ in range(600)]
    for number, one in enumerate(datas):
        one.input_ids = torch.full((5,), number)
    total, correct = torch.zeros(5, 5), set(attended(edges(data)))
    source, target = RewiredEdges(edges, 0.5)(Batch.from_data_list(datas)).edge_index % 5
    rates = total.index_put_((source, target), torch.ones(()), accumulate=True) / 600
    for s in range(5):
        for t in range(5):
            expected = 0 if s == t else 0.5 if (s, t) in correct else 2 / 16
            assert abs(rates[s, t] - expected) < 0.08


@given(examples())
def test_words_exchange_places_and_their_pieces_stay_together(data):
    got, slow = ShuffledPositions(3)(data), SlowTree(data)
    utterances = defaultdict(list)
    for node in range(slow.size):
        word = slow.first[node] in slow.tree and data.word[slow.first[node]] >= 0
        if not word:
            assert got.position[node] == data.position[node]
            continue
        utterances[int(data.utterance[node])].append(node)
    for nodes in utterances.values():
        assert sorted(got.position[nodes].tolist()) == sorted(data.position[nodes].tolist())
        by_place = sorted(nodes, key=lambda node: int(got.position[node]))
        seen = [slow.first[node] for node in by_place]
        runs = [first for k, first in enumerate(seen) if k == 0 or seen[k - 1] != first]
        assert len(runs) == len({*seen})  # each word once, all of its pieces behind one another
        for first in runs:
            pieces = [node for node in by_place if slow.first[node] == first]
            assert pieces == sorted(pieces, key=lambda node: int(data.position[node]))
    for key in data.to_dict():
        if key != "position":
            assert got[key] is data[key] or torch.equal(got[key], data[key])


def test_all_orders_are_as_likely():
    chains = [Sentence.chain([f"w{k}", "a", "b"]) for k in range(1200)]
    batch = ShuffledPositions()(Batch.from_data_list([to_data([one], vocab=VOCAB) for one in chains]))
    counts = Counter(map(tuple, batch.position.view(-1, 4).tolist()))
    assert len(counts) == 6
    assert all(abs(count / 1200 - 1 / 6) < 0.04 for count in counts.values())


DEP = RelationVocab()["dep"]


@given(examples())
def test_against_loop(data):
    before = data.clone()
    out = Unlabelled()(data)
    assert_same_data(data, before)
    kept = (RelationVocab.NONE, RelationVocab.SELF, RelationVocab.UNK)
    assert out.deprel.tolist() == [x if x in kept else DEP for x in data.deprel.tolist()]
    assert out.arc_type.tolist() == [DEP] * data.arc_index.size(1)
    assert torch.equal(out.arc_index, data.arc_index)


def test_arcs_without_a_label_and_learned_ones():
    relations = RelationVocab(["obl:in_front_of"])
    s = Sentence(["a", "b", "c"], [0, 1, 1], ["root", "obl:in_front_of", "nsubj"])
    data = to_data([s], relations=relations)
    data.arc_type[2] = RelationVocab.UNK
    assert Unlabelled()(data).arc_type.tolist() == [DEP, DEP, RelationVocab.UNK]
    assert data.arc_type.unique().numel() == 3


def test_stale_labels(example):
    for preset, key in (("dam", "arc_node_index"), ("dt", "edge_type")):
        with pytest.raises(ValueError, match=f"Unlabelled must come before the transform that makes '{key}'"):
            Unlabelled()(resolve(preset)(to_data([example])))
