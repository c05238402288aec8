from __future__ import annotations

import pytest

from graphdep.vocab import PhraseVocab, RelationVocab


def test_ids_are_the_same_for_all():
    phrases = PhraseVocab()
    assert (phrases["X"], phrases["ADJP"], phrases["S"], phrases["NP"]) == (1, 2, 20, 13)
    assert len(phrases) == 39
    assert len(phrases) < len(RelationVocab())  # phrase nodes take the table of relation nodes
    assert [phrases.label(phrases[label]) for label in ("NP", "WHPP", "ROOT")] == ["NP", "WHPP", "ROOT"]
    assert phrases.label(0) == "[NONE]"


def test_labels_fall_back_and_are_counted():
    phrases = PhraseVocab(["NP-SBJ"])
    assert phrases.label(phrases["NP-SBJ"]) == "NP-SBJ"
    assert [phrases.label(phrases[label]) for label in ("@NP", "NP=1", "VP|x", "S+VP")] == [
        "NP",
        "NP",
        "VP",
        "S",
    ]
    assert not phrases.fallbacks
    assert phrases["[NONE]"] == phrases["1"] == phrases[""] == PhraseVocab.UNK
    assert phrases.fallbacks == {"[NONE]": 1, "1": 1, "": 1}
    assert "NP" in phrases
    assert "@NP" not in phrases
    assert repr(phrases) == "PhraseVocab(40 labels, 1 further)"


def test_errors():
    with pytest.raises(ValueError, match="'further' repeats 'NP'"):
        PhraseVocab(["NP"])
    with pytest.raises(ValueError, match=r"'phrase' must be in 0\.\.38 \(got 39\)"):
        PhraseVocab().label(39)
