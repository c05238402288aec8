"""Predicates that are left out, as UD's guidelines for enhanced dependencies have it."""

from __future__ import annotations

import pytest

LEVELS = pytest.mark.parametrize("level", ["enhanced", "enhanced++"])


@LEVELS
def test_gapping(graph, level):
    found = graph(
        "Kim/NNP/2/nsubj likes/VBZ/0/root tea/NN/2/obj and/CC/5/cc Lee/NNP/2/conj gin/NN/5/orphan", level
    )
    assert found == {
        "-": set(),
        "Kim": {"nsubj(likes)"},
        "likes": {"root(-)"},
        "tea": {"obj(likes)"},
        "and": {"cc(likes')"},
        "Lee": {"nsubj(likes')"},
        "gin": {"obj(likes')"},
        "likes'": {"conj:and(likes)"},
    }


@LEVELS
def test_the_subject_is_shared_where_another_word_is_left(graph, level):
    text = (
        "I/PRP/2/nsubj lost/VBD/0/root tea/NN/2/obj today/NN/2/obl and/CC/6/cc gin/NN/2/conj then/RB/6/orphan"
    )
    found = graph(text, level)
    assert found["I"] == {"nsubj(lost)", "nsubj(lost')"}
    assert found["gin"] == {"obj(lost')"}
    assert found["then"] == {"advmod(lost')"}


@LEVELS
def test_complements_obliques_and_passives(graph, level):
    text = (
        "I/PRP/2/nsubj found/VBD/0/root it/PRP/2/obj good/JJ/2/xcomp "
        "and/CC/6/cc tea/NN/2/conj hot/JJ/6/orphan"
    )
    found = graph(text, level)
    assert found["tea"] == {"obj(found')", "nsubj:xsubj(hot)"}
    assert found["hot"] == {"xcomp(found')"}
    text = "some/DT/2/nsubj:pass used/VBN/0/root and/CC/4/cc others/NNS/2/conj as/IN/6/case urns/NNS/4/orphan"
    found = graph(text, level)
    assert found["others"] == {"nsubj:pass(used')"}
    assert found["urns"] == {"obl:as(used')"}
    text = "hire/VB/0/root me/PRP/1/obj and/CC/4/cc Bill/NNP/1/conj to/TO/6/mark cook/VB/4/orphan"
    assert graph(text, level)["cook"] == {"advcl:to(hire')"}
