"""Conjoined prepositions and prepositional phrases, by the paper on enhanced++ graphs."""

from __future__ import annotations


def test_conjoined_phrases(graph):
    text = (
        "she/PRP/2/nsubj walked/VBD/0/root over/IN/4/case bridges/NNS/2/obl "
        "and/CC/7/cc through/IN/7/case parks/NNS/4/conj"
    )
    found = graph(text)
    assert found == {
        "-": set(),
        "she": {"nsubj(walked)", "nsubj(walked')"},
        "walked": {"root(-)"},
        "over": {"case(bridges)"},
        "bridges": {"obl:over(walked)"},
        "and": {"cc(walked')"},
        "through": {"case(parks)"},
        "parks": {"obl:through(walked')"},
        "walked'": {"conj:and(walked)"},
    }
    assert graph(text, "enhanced")["parks"] == {"conj:and(bridges)", "obl:through(walked)"}


def test_conjoined_prepositions(graph):
    text = "cycles/VBZ/0/root to/IN/5/case and/CC/4/cc from/IN/2/conj work/NN/1/obl"
    found = graph(text)
    assert found["work"] == {"obl:to(cycles)", "obl:from(cycles')"}
    assert found["cycles'"] == {"conj:and(cycles)"}
    assert found["from"] == {"conj:and(to)"}


def test_a_copy_of_a_noun_shares_its_governor(graph):
    text = (
        "trips/NNS/10/nsubj to/IN/3/case Rome/NNP/1/nmod ,/,/6/punct from/IN/6/case "
        "Oslo/NNP/3/conj or/CC/9/cc "
        "via/IN/9/case Bonn/NNP/3/conj end/VBP/0/root"
    )
    found = graph(text)
    assert found["Oslo"] == {"nmod:from(trips')"}
    assert found["Bonn"] == {"nmod:via(trips'')"}
    assert found["trips'"] == found["trips''"] == {"conj:or(trips)", "nsubj(end)"}


def test_one_preposition_of_two_nouns_copies_nothing(graph):
    text = "thanks/NNS/0/root for/IN/3/case tea/NN/1/nmod and/CC/5/cc help/NN/3/conj"
    assert graph(text) == graph(text, "enhanced")
    assert graph(text)["help"] == {"nmod:for(thanks)", "conj:and(tea)"}
