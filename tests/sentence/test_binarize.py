from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep import Sentence
from graphdep.io import parse_ptb
from graphdep.sentence import binarize, constituent_heads
from graphdep.sentence.tree import check_constituents, parts
from tests.kit.strategies import constituents_of, sentences
from tests.kit.trees import random_constituents

FOUR = "(NP (DT the) (JJ big) (NN dog) (RB there))"


def nested(sentence: Sentence):
    """The constituents as (label, [children]), words as numbers."""
    inside, top = parts(sentence.constituents, len(sentence))

    def node(part):
        return ~part if part < 0 else (sentence.constituents[part][0], [node(p) for p in inside[part]])

    return [node(part) for part in top]


def binarized_naive(sentence: Sentence, rule: str, unary: str):
    """By recursion over nested lists."""
    top = nested(sentence)
    tree = top[0]
    if len(top) > 1 or (isinstance(tree, int) and len(sentence) > 1):
        tree = ("ROOT", top)

    def words(node):
        return [node] if isinstance(node, int) else [w for child in node[1] for w in words(child)]

    def head(children):
        best = min((w for child in children for w in words(child)), key=lambda w: (sentence.depth[w], w))
        return next(i for i, child in enumerate(children) if best in words(child))

    def walk(node):
        if isinstance(node, int):
            return node
        label, children = node
        if unary == "collapse":
            while len(children) == 1 and not isinstance(children[0], int):
                children = children[0][1]
        h = head(children) if rule == "head" else 0
        children = [walk(child) for child in children]
        if len(children) == 1:
            return (label, children)
        steps = [(child, "right") for child in children[h + 1 :]]
        steps += [(child, "left") for child in reversed(children[:h])]
        done = children[h]
        for number, (child, side) in enumerate(steps):
            name = label if number == len(steps) - 1 else f"@{label}"
            done = (name, [done, child] if side == "right" else [child, done])
        return done

    found = []

    def collect(node):
        if isinstance(node, int):
            return
        span = words(node)
        found.append((node[0], min(span), max(span) + 1))
        for child in node[1]:
            collect(child)

    collect(walk(tree))
    return found


@pytest.mark.parametrize("rule", ["left", "head"])
@pytest.mark.parametrize("unary", ["collapse", "keep"])
@given(st.data())
def test_against_recursion(rule, unary, data):
    sentence = data.draw(sentences(max_words=7, multiroot=True))
    sentence = dataclasses.replace(sentence, constituents=data.draw(constituents_of(len(sentence))))
    found = binarize(sentence, rule, unary=unary)
    assert found == binarized_naive(sentence, rule, unary)
    check_constituents(found, len(sentence))
    inside, top = parts(found, len(sentence))
    assert len(top) == 1
    least = (1, 2) if unary == "keep" else (2,)
    for (_, start, end), mine in zip(found, inside):
        assert len(mine) in least or end - start == 1


def test_rules():
    [sentence] = parse_ptb(FOUR)
    assert binarize(sentence) == [("NP", 0, 4), ("@NP", 0, 3), ("@NP", 0, 2)]
    headed = dataclasses.replace(sentence, head=[3, 3, 0, 3], deprel=["det", "amod", "root", "advmod"])
    assert binarize(headed, "head") == [("NP", 0, 4), ("@NP", 1, 4), ("@NP", 2, 4)]
    assert constituent_heads(headed) == [2]


def test_chains():
    [sentence] = parse_ptb("(ROOT (S (VP (VB Go))))")
    assert binarize(sentence) == [("S", 0, 1)]
    assert binarize(sentence, unary="keep") == [("S", 0, 1), ("VP", 0, 1)]
    [bare] = parse_ptb("(ROOT (UH Yes))")
    assert binarize(bare) == []


def test_a_long_sentence_needs_no_recursion():
    words = 5000
    sentence = dataclasses.replace(Sentence.chain(["w"] * words), constituents=[("X", 0, words)])
    assert len(binarize(sentence)) == words - 1


def test_what_cannot_be_done_is_named():
    sentence = Sentence.chain(["a", "b"])
    with pytest.raises(ValueError, match="the sentence 'a b' has no constituents"):
        binarize(sentence)
    sentence = dataclasses.replace(sentence, constituents=[])
    with pytest.raises(ValueError, match=r"'rule' must be one of .*'right'"):
        binarize(sentence, "right")
    with pytest.raises(ValueError, match=r"'unary' must be one of .*'drop'"):
        binarize(sentence, unary="drop")
    with pytest.raises(ValueError, match="the sentence 'a b' has no constituents"):
        constituent_heads(dataclasses.replace(sentence, constituents=None))


@given(st.randoms(use_true_random=False), st.integers(1, 8))
def test_heads_against_the_definition(rng, words):
    from tests.kit.trees import random_sentence

    sentence = random_sentence(rng, words)
    sentence = dataclasses.replace(sentence, constituents=random_constituents(rng, words))
    for (_, start, end), head in zip(sentence.constituents, constituent_heads(sentence)):
        outside = [w for w in range(start, end) if not start <= sentence.head[w] - 1 < end]
        assert head in outside  # its governor cannot be inside, which would be nearer to the root
        if len(outside) == 1:
            assert head == outside[0]
