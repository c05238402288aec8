from __future__ import annotations

import random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data

from graphdep import RelationVocab, Sentence, Vocab, to_data
from graphdep.data import NodeType, expand_pieces, utterance_data
from graphdep.testing import assert_same_data
from graphdep.transforms import resolve
from graphdep.vocab.pieces import PieceVocab
from tests.kit.strategies import sentences
from tests.kit.trees import random_sentence


def pieces_of(data: Data, rng: random.Random) -> list[list[int]]:
    """One to three pieces a word, numbered through."""
    number = iter(range(1000))
    words = data.node_type == NodeType.WORD
    return [[next(number) for _ in range(rng.randint(1, 3) if word else 1)] for word in words.tolist()]


dialogues = st.lists(sentences(max_words=6), min_size=1, max_size=3)


@given(dialogues, st.integers(0, 1000), st.booleans(), st.sampled_from(["utterance", "example"]))
def test_expand_pieces_row_by_row(turns, seed, root, positions):
    data = to_data(turns, root=root, positions=positions)
    pieces = pieces_of(data, random.Random(seed))
    out = expand_pieces(data, pieces)
    out.validate()
    first = [sum(map(len, pieces[:node])) for node in range(len(pieces))]
    rows = [(node, piece) for node, ids in enumerate(pieces) for piece in ids]
    assert out.num_nodes == len(rows)
    place = 0
    for new, (node, piece) in enumerate(rows):
        starts = (node == 0 or positions == "utterance") and data.position[node] == 0 and new == first[node]
        place = 0 if starts else place + 1
        assert out.position[new] == place
        assert out.input_ids[new] == piece
        assert out.governor_index[new] == first[data.governor_index[node]]
        for key in ("node_type", "deprel", "depth", "utterance", "word", "segment"):
            assert out[key][new] == data[key][node]
    arcs = [[first[node] for node in row] for row in data.arc_index.tolist()]
    assert out.arc_index.tolist() == arcs
    assert torch.equal(out.arc_type, data.arc_type)


@given(dialogues, st.integers(0, 1000), st.sampled_from(["dra", "sia", "lisa"]))
def test_edges_of_pieces_are_those_of_their_words(turns, seed, preset):
    data = to_data(turns, positions="example")
    pieces = pieces_of(data, random.Random(seed))
    out = expand_pieces(data, pieces)
    owner = [node for node, ids in enumerate(pieces) for _ in ids]
    words = set(map(tuple, resolve(preset)(data).edge_index.t().tolist()))
    got = set(map(tuple, resolve(preset)(out).edge_index.t().tolist()))
    size = range(len(owner))
    assert got == {(i, j) for i in size for j in size if (owner[i], owner[j]) in words}


def test_expand_pieces_of_single_pieces_changes_nothing_else():
    data = to_data([random_sentence(random.Random(1), 5)])
    out = expand_pieces(data, [[7]] * 6)
    assert out.input_ids.tolist() == [7] * 6
    assert "input_ids" not in data
    for key in data.keys():  # noqa: SIM118
        assert torch.equal(torch.as_tensor(out[key]), torch.as_tensor(data[key])), key


def test_expand_pieces_makes_tensors_where_the_data_is():
    data = to_data([Sentence.chain(["a", "b"])])
    expected = expand_pieces(data, [[1], [2, 3], [4]])
    with torch.device("meta"):  # where tensors are made that are not told otherwise
        out = expand_pieces(data, [[1], [2, 3], [4]])
    for key, value in expected.to_dict().items():
        assert torch.equal(torch.as_tensor(out[key], device="cpu"), torch.as_tensor(value)), key


@pytest.mark.parametrize("root", [True, False])
def test_utterance_data_of_words_and_of_pieces(root):
    pytest.importorskip("tokenizers")
    tree, relations = Sentence(["low", "ab"], [2, 0], ["amod", "root"]), RelationVocab()
    vocab, pieces = Vocab(["low"]), PieceVocab.train([["low"]], 300)
    assert_same_data(
        utterance_data(tree, vocab, relations, root=root), to_data([tree], vocab=vocab, root=root)
    )
    out = utterance_data(tree, pieces, relations, root=root)
    ids = [pieces.encode("low"), pieces.encode("ab")]
    assert len(ids[1]) > 1
    assert_same_data(out, expand_pieces(to_data([tree], root=root), [[1], *ids] if root else ids))


def test_expand_pieces_errors():
    data = to_data([Sentence.chain(["a", "b"])])
    with pytest.raises(ValueError, match="'pieces' has 2 entries for 3 nodes"):
        expand_pieces(data, [[1], [2]])
    with pytest.raises(ValueError, match=r"'pieces\[2\]' has 0 pieces for a node of type WORD"):
        expand_pieces(data, [[1], [2], []])
    with pytest.raises(ValueError, match=r"'pieces\[0\]' has 2 pieces for a node of type ROOT"):
        expand_pieces(data, [[1, 1], [2], [3]])
    implicit = resolve("transformer", implicit=True)(data)
    for wrong in (resolve("dra")(data), implicit, Batch.from_data_list([data])):
        with pytest.raises(ValueError, match="'data' must be one example without edges"):
            expand_pieces(wrong, [[1], [2], [3]])
