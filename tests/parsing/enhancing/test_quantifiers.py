"""Partitives and light nouns in enhanced++ graphs."""

from __future__ import annotations

import pytest


def test_light_nouns(graph):
    found = graph("a/DT/2/det bunch/NN/5/nsubj of/IN/4/case friends/NNS/2/nmod came/VBD/0/root")
    assert found == {
        "-": set(),
        "friends": {"nsubj(came)"},
        "a": {"det:qmod(friends)"},
        "bunch": {"fixed(a)"},
        "of": {"fixed(a)"},
        "came": {"root(-)"},
    }


def test_quantities(graph):
    found = graph("saw/VBD/0/root lots/NNS/1/obj of/IN/4/case snow/NN/2/nmod")
    assert found["snow"] == {"obj(saw)"}
    assert found["lots"] == {"det:qmod(snow)"}
    assert found["of"] == {"fixed(lots)"}


def test_partitives_with_a_determiner(graph):
    found = graph("Both/DT/5/nsubj of/IN/4/case the/DT/4/det twins/NNS/1/nmod won/VBD/0/root")
    assert found["twins"] == {"nsubj(won)"}
    assert found["Both"] == {"det:qmod(twins)"}
    assert found["of"] == found["the"] == {"fixed(Both)"}


def test_what_modified_the_word_modifies_the_noun(graph):
    found = graph("with/IN/3/case a/DT/3/det lot/NN/6/obl of/IN/5/case luck/NN/3/nmod won/VBD/0/root")
    assert found["luck"] == {"obl:with(won)"}
    assert found["with"] == {"case(luck)"}


def test_conjoined_ones_keep_their_conjunction(graph):
    text = (
        "some/DT/8/nsubj of/IN/3/case them/PRP/1/nmod and/CC/5/cc many/JJ/1/conj of/IN/7/case us/PRP/5/nmod "
        "left/VBD/0/root"
    )
    # The two "of" have one name here.
    found = graph(text)
    assert found["them"] == {"nsubj(left)"}
    assert found["us"] == {"nsubj(left)", "conj:and(them)"}
    assert found["many"] == {"det:qmod(us)"}


@pytest.mark.parametrize(
    "text",
    [
        "the/DT/2/det bunch/NN/0/root of/IN/4/case friends/NNS/2/nmod",
        "lots/NNS/0/root of/IN/4/case the/DT/4/det snow/NN/1/nmod",
        "lots/NNS/0/root of/IN/3/case eating/VBG/1/nmod",
        "roof/NN/0/root of/IN/3/case houses/NNS/1/nmod",
    ],
)
def test_other_words_are_left_alone(graph, text):
    assert not any("det:qmod" in arc for arcs in graph(text).values() for arc in arcs)


def test_the_enhanced_level_has_none(graph):
    found = graph("a/DT/2/det bunch/NN/0/root of/IN/4/case friends/NNS/2/nmod", "enhanced")
    assert found["friends"] == {"nmod:of(bunch)"}
