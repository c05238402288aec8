from __future__ import annotations

import pytest

from graphdep import Sentence
from graphdep.io import format_conllu, parse_conllu
from graphdep.parsing.servers import basic_tree, enhanced_from_protobuf


def test_missing_words_hang_on_the_root():
    edges = [{"dep": "ROOT", "governor": 0, "dependent": 2}, {"dep": "det", "governor": 2, "dependent": 1}]
    heads = basic_tree(["a", "dog", "uh", "."], edges)
    assert heads == ([2, 0, 2, 2], ["det", "root", "dep", "punct"])


def test_no_root_is_no_tree():
    with pytest.raises(ValueError, match="no root"):
        basic_tree(["a", "b"], [{"dep": "x", "governor": 1, "dependent": 2}])


def test_copies_are_numbered_without_gaps_and_can_be_written():
    from stanza.protobuf import DependencyGraph

    graph = DependencyGraph()
    graph.root.append(2)
    graph.edge.add(source=2, target=1, dep="nsubj")
    graph.edge.add(source=2, target=2, dep="conj", targetCopy=9)
    graph.edge.add(source=2, target=2, dep="conj", sourceCopy=9, targetCopy=4)
    graph.edge.add(source=2, target=1, dep="nsubj", sourceCopy=4)
    sentence = enhanced_from_protobuf(Sentence(["we", "go"], [2, 0], ["nsubj", "root"]), graph)
    assert sentence.deps == [[("2", "nsubj"), ("2.1", "nsubj")], [("0", "root")]]
    assert [(row[0], row[8], row[9]) for row in sentence.empty] == [
        ("2.1", "2.2:conj", "CopyOf=2"),
        ("2.2", "2:conj", "CopyOf=2"),
    ]
    assert parse_conllu(format_conllu(sentence)) == [sentence]
