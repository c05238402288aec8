from __future__ import annotations

from itertools import product

import torch
from hypothesis import given
from hypothesis import strategies as st

from graphdep.parsing.stanza_shortcuts import best_trees


def is_tree(heads: tuple[int, ...]) -> bool:
    """Whether governors (of words 1 to n) make a tree with one root."""
    for word in range(1, len(heads) + 1):
        seen = set()
        while word:
            if word in seen:
                return False
            seen.add(word)
            word = heads[word - 1]
    return heads.count(0) == 1


def slow_best(scores: torch.Tensor, words: int) -> list[int]:
    """Equation 1: of all trees, the one with the highest sum."""
    trees = filter(is_tree, product(range(words + 1), repeat=words))
    return list(max(trees, key=lambda heads: sum(scores[i + 1, h].item() for i, h in enumerate(heads))))


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.integers(0, 10_000), st.floats(0, 5))
def test_no_tree_scores_more(sizes, seed, root):
    """With a term that makes the root attractive, so that several words want it."""
    generator = torch.Generator().manual_seed(seed)
    places = max(sizes) + 1
    scores = torch.randn(len(sizes), places, places, generator=generator)
    scores[:, :, 0] += root
    before = scores.clone()
    heads = best_trees(scores, torch.tensor(sizes) + 1)
    assert torch.equal(scores, before)
    for row, words, got in zip(scores, sizes, heads.tolist()):
        assert got[1 : words + 1] == slow_best(row, words)
        assert got[0] == 0
        assert not any(got[words + 1 :])


def test_a_word_is_not_its_own_governor():
    assert best_trees(torch.eye(2)[None], torch.tensor([2])).tolist() == [[0, 0]]
