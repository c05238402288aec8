"""Case information, as UD's guidelines for enhanced dependencies have it."""

from __future__ import annotations

import pytest

LEVELS = pytest.mark.parametrize("level", ["enhanced", "enhanced++"])


@LEVELS
def test_prepositions_and_markers_are_on_labels(graph, level):
    found = graph("go/VB/0/root by/IN/3/case bus/NN/1/obl to/TO/5/mark see/VB/1/advcl it/PRP/5/obj", level)
    assert found == {
        "-": set(),
        "go": {"root(-)"},
        "by": {"case(bus)"},
        "bus": {"obl:by(go)"},
        "to": {"mark(see)"},
        "see": {"advcl:to(go)"},
        "it": {"obj(see)"},
    }


@LEVELS
def test_the_last_of_several_and_all_words_of_an_expression(graph, level):
    found = graph(
        "way/NN/0/root for/IN/4/mark to/TO/4/mark go/VB/1/acl because/IN/7/case of/IN/5/fixed us/PRP/4/obl",
        level,
    )
    assert found["go"] == {"acl:to(way)"}
    assert found["us"] == {"obl:because_of(go)"}


@LEVELS
def test_clauses_take_their_adverb_where_they_have_no_marker(graph, level):
    text = "sat/VBD/0/root {0}/WRB/4/advmod she/PRP/4/nsubj left/VBD/1/advcl"
    assert graph(text.format("when"), level)["left"] == {"advcl:when(sat)"}
    assert graph(text.format("why"), level)["left"] == {"advcl(sat)"}
    text = "talk/VB/0/root about/IN/5/mark when/WRB/5/advmod she/PRP/5/nsubj left/VBD/1/advcl"
    assert graph(text, level)["left"] == {"advcl:about(talk)"}


@LEVELS
def test_an_owner_is_no_preposition(graph, level):
    text = "eat/VB/0/root at/IN/3/case Kim/NNP/1/obl 's/POS/3/case"
    assert graph(text, level)["Kim"] == {"obl:at(eat)"}


@LEVELS
def test_relations_that_say_more_have_no_words(graph, level):
    text = "seen/VBN/0/root by/IN/3/case us/PRP/1/obl:agent Kim/NNP/6/nmod:poss 's/POS/4/case dog/NN/1/obj"
    found = graph(text, level)
    assert found["us"] == {"obl:agent(seen)"}
    assert found["Kim"] == {"nmod:poss(dog)"}


@LEVELS
def test_conjunctions(graph, level):
    text = "tea/NN/0/root ,/,/3/punct milk/NN/1/conj or/CC/6/cc else/RB/4/fixed gin/NN/1/conj rum/NN/1/conj"
    found = graph(text, level)
    assert found["milk"] == {"conj:or_else(tea)"}  # that of the next one
    assert found["gin"] == {"conj:or_else(tea)"}
    assert found["rum"] == {"conj:or_else(tea)"}  # that of the one before
    found = graph("tea/NN/0/root and/CC/5/cc slash/SYM/4/punct or/CC/2/conj milk/NN/1/conj", level)
    assert found["milk"] == {"conj:and_or(tea)"}
    assert graph("tea/NN/0/root &/SYM/3/cc milk/NN/1/conj", level)["milk"] == {"conj(tea)"}


def test_a_preposition_is_named_by_its_lemma():
    import dataclasses

    from graphdep import Sentence
    from graphdep.parsing import enhance

    tagged = Sentence(
        ["go", "b/c", "them"],
        [0, 3, 1],
        ["root", "case", "obl"],
        lemma=["go", "because", "they"],
        upos=["VERB", "ADP", "PRON"],
    )
    assert enhance([tagged], "enhanced")[0].deps[2] == [("1", "obl:because")]
    verb = dataclasses.replace(
        tagged, form=["go", "given", "them"], lemma=["go", "give", "they"], upos=["VERB"] * 3
    )
    assert enhance([verb], "enhanced")[0].deps[2] == [("1", "obl:given")]
