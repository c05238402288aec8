from __future__ import annotations

import re
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


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ("like ( agent = cook", "',' is missing at the end of the form"),
        ("like ( agent cook )", "'=' is missing before 'cook', token 4 of the form"),
        ("like ( = cook )", "a role is missing before '=', token 3 of the form"),
        ("like ( agent = )", "a word is missing before ')', token 5 of the form"),
        ("like ( agent = cook ) )", "')' follows the end of the form"),
        ("like ( nmod . = cook )", "a role is missing before '=', token 5"),
        ("*", "a word is missing at the end of the form"),
    ],
)
def test_damaged_forms_without_variables(form, message):
    with pytest.raises(ValueError, match=rf"^gen\.tsv:2: {re.escape(message)}"):
        variable_free(PATH, 2, form)


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


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ("cook ( x _ 1 ) AND like", "'like' is no term of a logical form"),
        (
            "like . agent ( x _ 2 , x _ 1 )",
            "every x must have a word, and one fill no role (there are like, x _ 1)",
        ),
        (
            "cook ( x _ 1 ) AND sing . agent ( x _ 2 , x _ 1 ) AND see . theme ( x _ 2 , x _ 1 )",
            "x _ 2 is 'sing'",
        ),
        (
            "cook ( x _ 1 ) AND pilot ( x _ 2 )",
            "every x must have a word, and one fill no role (there are cook, pilot)",
        ),
        (
            "see . ccomp ( x _ 1 , x _ 2 ) AND see . ccomp ( x _ 2 , x _ 1 )",
            "every x must have a word, and one fill no role (there are see, see)",
        ),
        ("LAMBDA a . cook ( a )", "'LAMBDA a . cook ( a )' is no term of a logical form"),
    ],
)
def test_damaged_forms_with_variables(form, message):
    with pytest.raises(ValueError, match=rf"^gen\.tsv:2: {re.escape(message)}"):
        original(PATH, 2, form)
