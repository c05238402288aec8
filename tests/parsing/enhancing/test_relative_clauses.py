"""Relative clauses, as UD's guidelines for enhanced dependencies have it."""

from __future__ import annotations

import pytest

LEVELS = pytest.mark.parametrize("level", ["enhanced", "enhanced++"])


@LEVELS
def test_the_antecedent_takes_the_place_of_the_pronoun(graph, level):
    found = graph("the/DT/2/det boy/NN/0/root who/WP/4/nsubj lived/VBD/2/acl:relcl", level)
    assert found == {
        "-": set(),
        "the": {"det(boy)"},
        "boy": {"root(-)", "nsubj(lived)"},
        "who": {"ref(boy)"},
        "lived": {"acl:relcl(boy)"},
    }


@LEVELS
def test_with_the_preposition_of_the_pronoun(graph, level):
    text = "by/IN/2/case house/NN/0/root in/IN/4/case which/WDT/6/obl she/PRP/6/nsubj lives/VBZ/2/acl:relcl"
    found = graph(text, level)
    assert found["house"] == {"root(-)", "obl:in(lives)"}
    assert found["in"] == {"case(which)"}


@LEVELS
@pytest.mark.parametrize(
    ("adverb", "label"), [("where", "obl"), ("when", "obl:unmarked"), ("why", "obl"), ("how", "obl")]
)
def test_adverbs(graph, level, adverb, label):
    found = graph(f"house/NN/0/root {adverb}/WRB/4/advmod she/PRP/4/nsubj lives/VBZ/1/acl:relcl", level)
    assert found["house"] == {"root(-)", f"{label}(lives)"}
    assert found[adverb] == {"ref(house)"}


@LEVELS
def test_pronouns_below_a_word_of_the_clause(graph, level):
    found = graph("house/NN/0/root whose/WP$/3/nmod:poss roof/NN/4/nsubj leaks/VBZ/1/acl:relcl", level)
    assert found["house"] == {"root(-)", "nmod:poss(roof)"}
    found = graph(
        "tea/NN/0/root that/WDT/6/obj I/PRP/4/nsubj want/VBP/1/acl:relcl to/TO/6/mark buy/VB/4/xcomp", level
    )
    assert found["tea"] == {"root(-)", "obj(buy)"}
    text = "friends/NNS/0/root most/JJS/5/nsubj of/IN/4/case whom/WP/2/nmod left/VBD/1/acl:relcl"
    assert graph(text, level)["friends"] == {"root(-)", "nmod:of(most)"}


@LEVELS
def test_a_question_inside_the_clause_is_none_of_it(graph, level):
    text = "those/DT/0/root who/WP/3/nsubj asked/VBD/1/acl:relcl whose/WP$/5/nmod:poss roof/NN/3/obj"
    assert graph(text, level)["whose"] == {"nmod:poss(roof)"}


@LEVELS
def test_several_antecedents_and_several_clauses(graph, level):
    text = (
        "house/NN/0/root or/CC/3/cc garden/NN/1/conj that/WDT/5/nsubj pleases/VBZ/1/acl:relcl and/CC/8/cc "
        "which/WDT/8/nsubj lasts/VBZ/5/conj"
    )
    found = graph(text, level)
    assert found["house"] == {"root(-)", "nsubj(pleases)", "nsubj(lasts)"}
    assert found["garden"] == {"conj:or(house)", "nsubj(pleases)", "nsubj(lasts)"}
    assert found["that"] == found["which"] == {"ref(house)"}


@LEVELS
@pytest.mark.parametrize(
    ("clause", "arc"),
    [
        ("they/PRP/3/nsubj saw/VBD/1/acl:relcl", "obj(saw)"),
        ("she/PRP/3/nsubj lives/VBZ/1/acl:relcl in/IN/3/obl", "obl(lives)"),
        ("they/PRP/3/nsubj wanted/VBD/1/acl:relcl to/TO/5/mark buy/VB/3/xcomp", "obj(buy)"),
        ("has/VBZ/3/aux fallen/VBN/1/acl:relcl", "nsubj(fallen)"),
        ("was/VBD/3/aux:pass sold/VBN/1/acl:relcl", "nsubj:pass(sold)"),
    ],
)
def test_clauses_without_a_pronoun(graph, level, clause, arc):
    assert graph(f"house/NN/0/root {clause}", level)["house"] == {"root(-)", arc}


@LEVELS
def test_times_and_ways_are_no_objects(graph, level):
    assert graph("way/NN/0/root it/PRP/3/nsubj works/VBZ/1/acl:relcl", level)["way"] == {
        "root(-)",
        "obl(works)",
    }
    found = graph("where/WRB/0/root it/PRP/3/nsubj lies/VBZ/1/advcl:relcl", level)
    assert found["where"] == {"root(-)", "advmod(lies)"}


@LEVELS
def test_a_clause_of_a_clause_without_a_pronoun_says_nothing_more(graph, level):
    found = graph("left/VBD/0/root it/PRP/3/nsubj hurt/VBD/1/advcl:relcl", level)
    assert found["left"] == {"root(-)"}


@LEVELS
def test_a_demonstrative_is_no_relative_pronoun(graph, level):
    found = graph("day/NN/0/root I/PRP/3/nsubj heard/VBD/1/acl:relcl that/DT/3/obj", level)
    assert found["that"] == {"obj(heard)"}
    assert found["day"] == {"root(-)", "obl(heard)"}
    assert graph("day/NN/0/root that/WDT/3/nsubj came/VBD/1/acl:relcl", level)["that"] == {"ref(day)"}
