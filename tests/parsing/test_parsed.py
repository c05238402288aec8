from __future__ import annotations

from graphdep import Sentence
from graphdep.parsing.parser import chain_sentence, column


def test_a_column_that_says_nothing_is_none():
    assert column(["_", None, ""]) is None
    assert column(["_", None, "x"]) == ["_", "_", "x"]


def test_the_chain_keeps_columns_and_gives_the_reason():
    like = Sentence(["a", "b"], [2, 0], ["det", "root"], upos=["DET", "NOUN"], comments=["# text = a b"])
    chain = chain_sentence(like.form, "two\nlines", like)
    assert chain.head == [0, 1]
    assert chain.upos == like.upos
    assert chain.comments == ["# text = a b", "# chain_tree = two lines"]
    assert chain_sentence(["a"], "why").comments == ["# chain_tree = why"]
