"""Prepositions of several words in enhanced++ graphs."""

from __future__ import annotations

import pytest


def test_two_words_at_the_noun(graph):
    text = "ran/VBD/0/root Out/IN/5/case of/IN/5/case our/PRP$/5/nmod:poss barn/NN/1/obl"
    found = graph(text)
    assert found["barn"] == {"obl:out_of(ran)"}
    assert found["Out"] == {"case(barn)"}
    assert found["of"] == {"fixed(Out)"}
    assert graph(text, "enhanced")["barn"] == {"obl:of(ran)"}


def test_two_words_of_which_one_governs_the_noun(graph):
    found = graph("it/PRP/3/nsubj is/VBZ/3/cop close/JJ/0/root to/IN/5/case home/NN/3/obl")
    assert found == {
        "-": set(),
        "it": {"nsubj(home)"},
        "is": {"cop(home)"},
        "close": {"case(home)"},
        "to": {"fixed(close)"},
        "home": {"root(-)"},
    }
    assert graph("sat/VBD/0/root close/RB/1/advmod to/IN/4/case us/PRP/2/obl")["us"] == {"obl:close_to(sat)"}


def test_three_words(graph):
    text = "sat/VBD/0/root in/IN/3/case front/NN/1/obl of/IN/5/case us/PRP/3/nmod"
    found = graph(text)
    assert found["us"] == {"obl:in_front_of(sat)"}
    assert found["in"] == {"case(us)"}
    assert found["front"] == found["of"] == {"fixed(in)"}
    assert graph(text, "enhanced")["us"] == {"nmod:of(front)"}


@pytest.mark.parametrize(("governor", "label"), [("go/VB", "advcl"), ("trip/NN", "acl")])
def test_a_clause_behind_three_words_stays_one(graph, governor, label):
    text = f"{governor}/0/root in/IN/3/case spite/NN/1/obl of/IN/5/mark raining/VBG/3/acl"
    assert graph(text)["raining"] == {f"{label}:in_spite_of({governor[:-3]})"}


@pytest.mark.parametrize(
    "text",
    [
        "out/IN/4/case very/RB/1/advmod of/IN/4/case it/PRP/0/root",
        "of/IN/2/case it/PRP/0/root of/IN/2/case",
        "front/NN/0/root of/IN/3/case us/PRP/1/nmod",
        "in/IN/2/case front/NN/0/root of/IN/2/advmod",
    ],
)
def test_other_words_are_left_alone(graph, text):
    assert not any("fixed" in arc for arcs in graph(text).values() for arc in arcs)
