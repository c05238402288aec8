from __future__ import annotations

import random
from collections import Counter
from itertools import islice

import networkx as nx
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphdep import Sentence
from graphdep.datasets.base.rows import Draw
from graphdep.datasets.labels.probe_corpus import (
    PHRASES,
    PROBE_FUNCTIONS,
    RELATIONS,
    WORD_CLASSES,
    ProbeSizes,
    _projective,
    probe_sentences,
)
from graphdep.datasets.labels.probe_dataset import Probes

SMALL = {"sentences": 20, "min_words": 2, "max_words": 6}
KNOWN = (
    ["w30", "w38", "w35", "w40"],
    [12, 12, 4, 14, 2, 12, 4, 3, 13, 4, 0, 11, 12, 6],
    ["advcl", "nsubj", "amod"],
    8,
)


class Slow:
    """The label functions by definition, on a networkx graph."""

    def __init__(self, tree: Sentence, mark: int) -> None:
        self.tree, self.mark, self.words = tree, mark, range(len(tree))
        self.graph = nx.DiGraph()
        self.graph.add_nodes_from([-1, *self.words])
        self.graph.add_edges_from((head - 1, word) for word, head in enumerate(tree.head))
        self.top = tree.head.index(0)

    def up(self, word: int) -> list[int]:
        return nx.shortest_path(self.graph, -1, word)[:0:-1]

    def letter(self, word: int) -> str:
        return WORD_CLASSES[int(self.tree.form[word][1:]) % 6]

    def governor(self, word: int) -> str | None:
        return None if word == self.top else self.letter(self.tree.head[word] - 1)

    def relation(self, word: int) -> str | None:
        return None if word == self.top else self.tree.deprel[word]

    def depth(self, word: int) -> str:
        return cap(nx.shortest_path_length(self.graph, -1, word), 6)

    def path(self, word: int, arcs: int) -> str | None:
        labels = [self.tree.deprel[one] for one in self.up(word)[:-1]]
        kinds = ["p" if label in ("nsubj", "obj", "obl", "advcl") else "n" for label in labels]
        return "".join(kinds[:arcs]) if len(kinds) >= arcs else None

    def subtree(self, word: int) -> str:
        return cap(1 + len(nx.descendants(self.graph, word)), 5)

    def siblings(self, word: int) -> str | None:
        if word == self.top:
            return None
        others = [one for one in self.words if self.tree.head[one] == self.tree.head[word]]
        name = ("left" if min(others) < word else "") + ("right" if max(others) > word else "")
        return {"": "none", "leftright": "both"}.get(name, name)

    def clause(self, word: int) -> str | None:
        cut = self.graph.copy()
        cut.remove_node(-1)
        cut.remove_edges_from(
            (self.tree.head[one] - 1, one) for one in self.words if self.tree.deprel[one] in ("acl", "advcl")
        )
        same = word in nx.node_connected_component(cut.to_undirected(), self.mark)
        return None if word == self.mark else "same" if same else "other"

    def ancestor(self, word: int) -> str | None:
        top = nx.lowest_common_ancestor(self.graph, word, self.mark)
        return None if word == self.mark else self.letter(top)

    def distance(self, word: int) -> str | None:
        steps = nx.shortest_path_length(self.graph.to_undirected(), word, self.mark)
        return None if word == self.mark else cap(steps, 6)

    def next(self, word: int) -> str | None:
        return self.letter(word + 1) if word + 1 < len(self.tree) else None


def cap(number: int, most: int) -> str:
    return str(number) if number < most else f"{most}+"


@given(st.integers(0, 10**6), st.sampled_from(sorted(PROBE_FUNCTIONS)))
def test_labels_are_those_of_the_slow_definition(seed, name):
    tree, mark = next(probe_sentences(ProbeSizes(1, 9), str(seed)))
    slow, (kind, _, arcs) = Slow(tree, mark), name.partition("-")
    expected = [getattr(slow, kind)(word, *([int(arcs)] if arcs else [])) for word in slow.words]
    function = PROBE_FUNCTIONS[name]
    assert function.label(tree, mark) == expected
    assert {label for label in expected if label is not None} <= {*function.classes}


def test_a_function_without_a_mark_ignores_it():
    for name in [name for name, one in PROBE_FUNCTIONS.items() if not one.needs_mark]:
        for tree, _ in islice(probe_sentences(ProbeSizes(), "0"), 10):
            labels = [PROBE_FUNCTIONS[name].label(tree, mark) for mark in range(len(tree))]
            assert all(one == labels[0] for one in labels)


def test_all_trees_are_equally_likely():
    drawn = islice(probe_sentences(ProbeSizes(3, 3), "trees"), 9000)
    count = Counter(tuple(tree.head) for tree, _ in drawn)
    assert len(count) == 3**2
    assert all(900 < number < 1100 for number in count.values())


def test_all_other_draws_are_uniform():
    drawn = list(islice(probe_sentences(ProbeSizes(4, 7, 5), "even"), 4000))
    lengths = Counter(len(tree) for tree, _ in drawn)
    forms = Counter(form for tree, _ in drawn for form in tree.form)
    relations = Counter(label for tree, _ in drawn for label in tree.deprel if label != "root")
    marks = Counter(mark for tree, mark in drawn if len(tree) == 4)
    for count, names in (
        (lengths, range(4, 8)),
        (forms, [f"w{n}" for n in range(5)]),
        (relations, RELATIONS),
    ):
        assert sorted(count) == sorted(names)
    assert sorted(marks) == [0, 1, 2, 3]
    for count in (lengths, forms, relations, marks):
        assert max(count.values()) < 1.25 * min(count.values())


def test_the_sentences_of_a_seed_are_known():
    tree, mark = next(probe_sentences(ProbeSizes(), "0 train"))
    assert (tree.form[:4], tree.head, tree.deprel[:3], mark) == KNOWN


@given(st.integers(0, 10**6))
def test_projective_trees_are_the_same_trees_over_contiguous_words(seed):
    tree, mark = next(probe_sentences(ProbeSizes(1, 9), str(seed)))
    moved, place = next(probe_sentences(ProbeSizes(1, 9), str(seed), projective=True))
    assert moved.form[place] == tree.form[mark]
    words = [*range(len(tree))]
    arcs, others = ([(x.form[i], x.deprel[i], governor_form(x, i)) for i in words] for x in (tree, moved))
    assert sorted(arcs) == sorted(others)
    spans = []
    for word in words:
        below = [one for one in words if word in Slow(moved, 0).up(one)]
        assert below == [*range(below[0], below[-1] + 1)]
        spans.append((PHRASES[moved.deprel[word]], below[0], below[-1] + 1))
    assert moved.constituents == sorted(spans, key=lambda span: (span[1], -span[2]))


def arranged(tree: Sentence, word: int, start: int, draw: Draw, spans: list) -> list[int]:
    """The subtree of a word in order, by recursion; adds its constituents to ``spans``, outer ones first."""
    own, place = [word, *(one for one in range(len(tree)) if tree.head[one] == word + 1)], len(spans)
    found: list[int] = []
    for one in draw.shuffled(own):
        found += [word] if one == word else arranged(tree, one, start + len(found), draw, spans)
    spans.insert(place, (PHRASES[tree.deprel[word]], start, start + len(found)))
    return found


@given(st.integers(0, 10**6))
def test_projective_orders_are_those_of_a_recursion(seed):
    tree, mark = next(probe_sentences(ProbeSizes(1, 30), str(seed)))
    draw, other, spans = Draw(random.Random(seed)), Draw(random.Random(seed)), []
    moved, place = _projective(tree, mark, draw)
    order = arranged(tree, tree.head.index(0), 0, other, spans)
    assert (moved.constituents, place) == (spans, order.index(mark))
    heads = [0 if tree.head[word] == 0 else 1 + order.index(tree.head[word] - 1) for word in order]
    assert (moved.form, moved.head) == ([tree.form[word] for word in order], heads)
    assert draw.source.random() == other.source.random()


def test_a_long_chain_needs_no_recursion():
    labels = ["root", *["obj"] * 998]
    chain = Sentence([f"w{word}" for word in range(999)], [*range(999)], labels)
    moved, mark = _projective(chain, 998, Draw(random.Random(0)))
    assert len(moved.constituents) == 999
    assert moved.form[mark] == "w998"


def governor_form(tree: Sentence, word: int) -> str:
    return tree.form[tree.head[word] - 1] if tree.head[word] else ""


def test_orders_of_a_projective_tree_are_equally_likely():
    drawn = islice(probe_sentences(ProbeSizes(3, 3), "order", projective=True), 9000)
    flat = Counter(tuple(tree.head) for tree, _ in drawn if tree.head.count(tree.head.index(0) + 1) == 2)
    assert sorted(flat) == [(0, 1, 1), (2, 0, 2), (3, 3, 0)]  # the root word governs both others
    assert max(flat.values()) < 1.15 * min(flat.values())


def test_constituents_of_projective_trees(tmp_path):
    options = {**SMALL, "function": "relation", "projective": True}
    phrases = Probes(tmp_path, "val", constituents=True, **options)
    plain = Probes(tmp_path, "val", **options)
    assert all(one.phrase_index.size(1) == one.num_nodes - 1 for one in phrases)  # one per word
    assert "phrase_index" not in plain[0]
    for one, other in zip(phrases, plain, strict=True):
        assert torch.equal(one.y, other.y)
        assert torch.equal(one.input_ids[: other.num_nodes], other.input_ids)
    evenly = Probes(tmp_path, "val", **SMALL)
    assert evenly.input_ids.sort().values.equal(plain.input_ids.sort().values)


def test_the_corpus(tmp_path):
    for name in PROBE_FUNCTIONS:
        for split in ["train", "val"] if name == "governor" else ["test"]:
            dataset, function = Probes(tmp_path, split, function=name, **SMALL), PROBE_FUNCTIONS[name]
            assert len(dataset) == (20 if split == "train" else 4)
            assert dataset.labels == function.classes
            drawn = islice(probe_sentences(ProbeSizes(2, 6), f"0 {split}"), len(dataset))
            for data, (tree, mark) in zip(dataset, drawn, strict=True):
                labels = [
                    -100 if label is None else function.classes.index(label)
                    for label in function.label(tree, mark)
                ]
                assert data.y.tolist() == labels
                assert (data.governor_index[1:] == torch.tensor(tree.head)).all()
                assert ("mark" in data) == function.needs_mark
                if function.needs_mark:
                    assert data.mark.nonzero().tolist() == [[mark + 1]]  # after ROOT


def test_splits_functions_and_seeds(tmp_path):
    def words(split="train", **options):
        dataset = Probes(tmp_path, split, **{**SMALL, **options})
        return dataset.vocab.words_of(dataset.input_ids.tolist())

    assert words() == words(function="distance") == words(force_reload=True)
    different = [words(), words("val"), words("test"), words(seed=1), words(num_words=30), words(max_words=7)]
    assert len({tuple(one) for one in different}) == len(different)
    assert words(sentences=21)[: len(words())] == words()


def test_describe(tmp_path):
    described = Probes(tmp_path, "val", **SMALL).describe()
    assert (described["corpus"], described["examples"], described["parser"]) == ("probes", 4, "gold")
    assert described["note"].endswith("words are scored by their governor")
    assert Probes(tmp_path, "train", limit=3, **SMALL).describe()["examples"] == 3
