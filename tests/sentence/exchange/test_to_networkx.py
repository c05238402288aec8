from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep import Sentence

pytest.importorskip("networkx")


@given(data=st.data())
def test_there_and_back(data, sentences):
    import networkx

    sentence = data.draw(sentences())
    graph = sentence.to_networkx()
    assert networkx.is_arborescence(graph)
    governors = {word: (head, label) for head, word, label in graph.edges(data="deprel")}
    words = range(1, len(sentence) + 1)
    back = Sentence(
        [graph.nodes[word]["form"] for word in words],
        [governors[word][0] for word in words],
        [governors[word][1] for word in words],
    )
    assert (back.form, back.head, back.deprel) == (sentence.form, sentence.head, sentence.deprel)
    for name in ("lemma", "upos", "xpos", "feats", "misc"):
        if getattr(sentence, name) is not None:
            assert [graph.nodes[word][name] for word in words] == getattr(sentence, name)
    assert graph.graph["text"] == sentence.text
    assert set(sentence.to_networkx(root=False)) == {*words}


@given(data=st.data())
def test_the_enhanced_graph(data, sentences):
    sentence = data.draw(sentences())
    if sentence.deps is None:
        with pytest.raises(ValueError, match="no enhanced graph"):
            sentence.to_networkx(arcs="enhanced")
        return
    graph = sentence.to_networkx(arcs="enhanced")
    arcs = sorted((str(head), str(word), label) for head, word, label in graph.edges(data="deprel"))
    assert arcs == sorted(sentence.enhanced_arcs)
    assert {str(node) for node in graph} >= {row[0] for row in sentence.empty}
    assert not any(head == 0 for head, _ in sentence.to_networkx(arcs="enhanced", root=False).edges())


def test_errors(monkeypatch):
    sentence = Sentence.chain(["a", "b"])
    with pytest.raises(ValueError, match="'arcs' must be one of basic, enhanced"):
        sentence.to_networkx(arcs="enhanced++")
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(ImportError, match=r"pip install 'graphdep\[networkx\]'"):
        sentence.to_networkx()
