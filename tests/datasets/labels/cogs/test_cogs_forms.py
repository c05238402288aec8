from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep.datasets.labels.cogs import Node, original, variable_free

PATH = Path("gen.tsv")


def shown(node: Node):
    """A node as plain values."""
    return (node.lemma, [(role, shown(filler)) for role, filler in node.roles])


def written(tree) -> str:
    lemma, roles = tree
    inner = " , ".join(f"{role.replace('.', ' . ')} = {written(filler)}" for role, filler in roles)
    return f"{lemma} ( {inner} )" if roles else lemma


LEMMAS = st.sampled_from(["cook", "Mila", "meet", "tv"])
TREES = st.recursive(
    st.tuples(LEMMAS, st.just([])),
    lambda inner: st.tuples(
        LEMMAS,
        st.lists(st.tuples(st.sampled_from(["agent", "ccomp", "nmod.in"]), inner), min_size=1, max_size=3),
    ),
    max_leaves=12,
)


@given(TREES)
def test_a_form_is_the_tree_that_was_written(tree):
    assert shown(variable_free(PATH, 1, written(tree))) == tree


@given(TREES, st.data())
def test_a_form_that_lacks_a_bracket_is_refused(tree, data):
    tokens = written(tree).split()
    brackets = [place for place, token in enumerate(tokens) if token in "()"]
    if brackets:
        del tokens[data.draw(st.sampled_from(brackets))]
        with pytest.raises(ValueError, match=r"^gen\.tsv:4: "):
            variable_free(PATH, 4, " ".join(tokens))


def test_articles_and_depth():
    form = "like ( agent = * cook ( nmod . in = * room ) , theme = tv )"
    assert shown(variable_free(PATH, 1, form)) == (
        "like",
        [("agent", ("cook", [("nmod.in", ("room", []))])), ("theme", ("tv", []))],
    )
    node = variable_free(PATH, 1, "see ( ccomp = " * 5000 + "see" + " )" * 5000)
    for _ in range(5000):
        ((_, node),) = node.roles
    assert node.lemma == "see"


def test_variables():
    form = (
        "* cook ( x _ 1 ) ; want . agent ( x _ 2 , x _ 1 ) AND want . xcomp ( x _ 2 , x _ 4 ) AND "
        "see . agent ( x _ 4 , x _ 1 ) AND see . theme ( x _ 4 , Mila ) "
        "AND cook . nmod . in ( x _ 1 , x _ 7 ) AND room ( x _ 7 )"
    )
    root = original(PATH, 1, form)
    cook = ("cook", [("nmod.in", ("room", []))])
    assert shown(root) == (
        "want",
        [("agent", cook), ("xcomp", ("see", [("agent", cook), ("theme", ("Mila", []))]))],
    )
    assert (root.word, root.roles[0][1].word, root.roles[1][1].roles[1][1].word) == (2, 1, None)
