"""Propagation of conjuncts, as UD's guidelines for enhanced dependencies have it."""

from __future__ import annotations

import pytest

LEVELS = pytest.mark.parametrize("level", ["enhanced", "enhanced++"])


@LEVELS
def test_conjuncts_share_their_governor(graph, level):
    found = graph("Kim/NNP/4/nsubj and/CC/3/cc Lee/NNP/1/conj sing/VBP/0/root", level)
    assert found["Kim"] == {"nsubj(sing)"}
    assert found["Lee"] == {"conj:and(Kim)", "nsubj(sing)"}


@LEVELS
def test_with_their_own_preposition_where_they_have_one(graph, level):
    text = (
        "in/IN/2/case Rome/NNP/7/obl or/CC/5/cc near/IN/5/case Bonn/NNP/2/conj we/PRP/7/nsubj live/VBP/0/root"
    )
    assert graph(text, "enhanced")["Bonn"] == {"conj:or(Rome)", "obl:near(live)"}
    text = "in/IN/2/case Rome/NNP/6/obl or/CC/4/cc Bonn/NNP/2/conj we/PRP/6/nsubj live/VBP/0/root"
    assert graph(text, level)["Bonn"] == {"conj:or(Rome)", "obl:in(live)"}


@LEVELS
def test_of_a_whole_chain(graph, level):
    text = "buy/VB/0/root tea/NN/1/obj ,/,/4/punct milk/NN/2/conj ,/,/6/punct gin/NN/4/conj"
    assert graph(text, level)["gin"] == {"conj(milk)", "obj(buy)"}


@LEVELS
def test_not_the_root_nor_what_joins_loosely(graph, level):
    found = graph("sit/VB/0/root and/CC/3/cc wait/VB/1/conj", level)
    assert found["wait"] == {"conj:and(sit)"}
    found = graph("go/VB/0/root wait/VB/1/parataxis and/CC/4/cc see/VB/2/conj", level)
    assert found["see"] == {"conj:and(wait)"}


@LEVELS
def test_not_a_governor_between_them(graph, level):
    text = "tea/NN/2/nsubj sells/VBZ/0/root and/CC/4/cc gin/NN/1/conj"
    assert graph(text, level)["gin"] == {"conj:and(tea)"}
