from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from graphdep.parsing.enhancing import WorkingTree
from graphdep.sentence.sentence import check_tree
from tests.kit.trees import random_sentence


def below(tree: WorkingTree, node: int) -> set[int]:
    return {node}.union(*(below(tree, child) for child in tree.children(node)))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 9), st.integers(1, 8))
def test_whatever_is_done_it_stays_a_tree(seed, words, steps):
    source = random.Random(seed)
    tree = WorkingTree(random_sentence(source, words))
    for _ in range(steps):
        node = source.randrange(1, len(tree.head))
        others = sorted(set(range(1, len(tree.head))) - below(tree, node))
        children = tree.children(node)
        if children and source.random() < 0.5:
            tree.replace(node, source.choice(children), "nsubj")
        elif others and source.random() < 0.7:
            tree.move(node, source.choice(others), "obl")
        else:
            tree.copy(node, node, "conj")
        check_tree(tree.head[1:], multiroot=True)
        for head in range(len(tree.head)):
            assert tree.children(head) == [n for n in range(1, len(tree.head)) if tree.head[n] == head]


def test_a_dependent_in_its_governors_place():
    tree = WorkingTree(random_sentence(random.Random(0), 4))
    for node, head in ((2, 0), (1, 2), (3, 2), (4, 3)):
        tree.head[node] = head
    tree._children = [[2], [], [1, 3], [4], []]
    tree.replace(2, 3, "root")
    assert tree.head == [0, 3, 3, 0, 3]
    assert [tree.relation[node] for node in (2, 3)] == ["dep", "root"]
