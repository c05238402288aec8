"""Shared subjects, and those of controlled and raised predicates."""

from __future__ import annotations

import pytest

LEVELS = pytest.mark.parametrize("level", ["enhanced", "enhanced++"])


@LEVELS
def test_conjoined_predicates_share_a_subject(graph, level):
    found = graph("Kim/NNP/2/nsubj grows/VBZ/0/root and/CC/4/cc sells/VBZ/2/conj figs/NNS/4/obj", level)
    assert found["Kim"] == {"nsubj(grows)", "nsubj(sells)"}
    assert found["figs"] == {"obj(sells)"}
    found = graph("Kim/NNP/2/nsubj grows/VBZ/0/root but/CC/5/cc Lee/NNP/5/nsubj sells/VBZ/2/conj", level)
    assert found["Kim"] == {"nsubj(grows)"}


@LEVELS
def test_nouns_do_where_they_are_predicates(graph, level):
    found = graph("Kim/NNP/4/nsubj is/VBZ/4/cop a/DT/4/det cook/NN/0/root and/CC/6/cc poet/NN/4/conj", level)
    assert found["Kim"] == {"nsubj(cook)", "nsubj(poet)"}
    found = graph("Kim/NNP/2/nsubj sings/VBZ/0/root and/CC/5/cc is/VBZ/5/cop poet/NN/2/conj", level)
    assert found["Kim"] == {"nsubj(sings)", "nsubj(poet)"}
    found = graph("Kim/NNP/2/nsubj bakes/VBZ/0/root and/CC/4/cc tea/NN/2/conj", level)
    assert found["Kim"] == {"nsubj(bakes)"}


@LEVELS
def test_a_shared_subject_is_passive_where_its_verb_is(graph, level):
    text = "it/PRP/3/nsubj:pass was/VBD/3/aux:pass cut/VBN/0/root and/CC/5/cc {}"
    assert graph(text.format("dried/VBN/3/conj"), level)["it"] == {"nsubj:pass(cut)", "nsubj:pass(dried)"}
    assert graph(text.format("fell/VBD/3/conj"), level)["it"] == {"nsubj:pass(cut)", "nsubj(fell)"}
    text = "it/PRP/2/nsubj fell/VBD/0/root and/CC/5/cc was/VBD/5/aux:pass cut/VBN/2/conj"
    assert graph(text, level)["it"] == {"nsubj(fell)", "nsubj:pass(cut)"}


@LEVELS
def test_an_open_complement_has_the_object_of_its_governor_else_its_subject(graph, level):
    text = (
        "Lee/NNP/2/nsubj wants/VBZ/0/root to/TO/4/mark help/VB/2/xcomp "
        "us/PRP/4/obj feel/VB/4/xcomp safe/JJ/6/xcomp"
    )
    found = graph(text, level)
    assert found["Lee"] == {"nsubj(wants)", "nsubj:xsubj(help)"}
    assert found["us"] == {"obj(help)", "nsubj:xsubj(feel)", "nsubj:xsubj(safe)"}
    text = (
        "all/DT/5/nsubj:outer he/PRP/3/nsubj does/VBZ/1/acl:relcl is/VBZ/5/cop get/VB/0/root fat/JJ/5/xcomp"
    )
    assert graph(text, level)["all"] == {"nsubj:outer(get)", "obj(does)"}
    text = "singing/VBG/2/csubj seems/VBZ/0/root good/JJ/2/xcomp"
    assert graph(text, level)["singing"] == {"csubj(seems)", "csubj:xsubj(good)"}


@LEVELS
def test_a_complement_that_is_left_out_has_none(graph, level):
    found = graph("they/PRP/2/nsubj need/VBP/0/root to/TO/2/xcomp", level)
    assert found["they"] == {"nsubj(need)"}


@LEVELS
def test_conjoined_complements(graph, level):
    text = "we/PRP/2/nsubj want/VBP/0/root to/TO/4/mark sit/VB/2/xcomp and/CC/6/cc eat/VB/4/conj"
    found = graph(text, level)
    assert found["eat"] == {"conj:and(sit)", "xcomp(want)"}
    assert found["we"] == {"nsubj(want)", "nsubj:xsubj(sit)", "nsubj:xsubj(eat)"}
