from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from graphdep import NodeType, RelationVocab, Sentence, Vocab, to_data
from graphdep.data import EncodedUtterance, expand_pieces, text_data
from graphdep.nn.models import TokenModel
from graphdep.transforms import resolve

VOCAB, RELATIONS = Vocab("abcdefgh"), RelationVocab()


class Numbered(nn.Module):
    """A state for every node, by its number; knows its nodes apart."""

    hidden_channels = 6

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(400, 6)

    def forward(self, data: Data) -> Tensor:
        return self.table.weight[: data.num_nodes]


class Letters:
    """A piece for every letter of a word."""

    cls_id, sep_id, eou_id, fingerprint = 1, 2, 3, "letters"

    def encode(self, words):
        return [[ord(letter) % 50 for letter in word] for word in words]


def make() -> TokenModel:
    torch.manual_seed(0)
    return TokenModel(Numbered(), 4).double().eval()


def first_pieces(data: Data) -> list[int]:
    """By a loop over the nodes."""
    seen, nodes = set(), []
    example = data.batch.tolist() if "batch" in data else [0] * data.num_nodes
    rows = zip(example, data.utterance.tolist(), data.word.tolist())
    for node, row in enumerate(rows):
        if row[2] >= 0 and row not in seen:
            seen.add(row)
            nodes.append(node)
    return nodes


def pair(sentences: list[Sentence], edges: str) -> Data:
    encoded = [EncodedUtterance.of(sentence, Letters(), RELATIONS) for sentence in sentences]
    return resolve(edges)(text_data(*encoded, tokens=Letters(), max_length=60))


texts = st.lists(st.text("abcdefgh", min_size=1, max_size=3), min_size=1, max_size=5).map(Sentence.chain)


@given(
    st.lists(st.lists(texts, min_size=1, max_size=2), min_size=1, max_size=3), st.sampled_from(["dam", "dra"])
)
def test_one_row_a_word_from_its_first_piece(examples, edges):
    data = Batch.from_data_list([pair(sentences, edges) for sentences in examples])
    model = make()
    logits, nodes = model(data)
    assert nodes.tolist() == first_pieces(data)
    assert len(nodes) == sum(len(sentence) for sentences in examples for sentence in sentences)
    assert (data.node_type[nodes] == NodeType.WORD).all()
    expected = model.encoder.table.weight[nodes] @ model.head.lin.weight.T
    torch.testing.assert_close(logits, expected)


def test_one_example_and_a_batch_of_it() -> None:
    model, data = make(), pair([Sentence.chain(["ab", "c"]), Sentence.chain(["def"])], "dam")
    assert data.word.tolist() == [-1, 0, 0, 1, -1, 0, 0, 0, -1, -1]  # the last is a relation node
    logits, nodes = model(data)
    assert nodes.tolist() == [1, 3, 5]
    batched = model(Batch.from_data_list([data, data]))
    assert batched[1].tolist() == [1, 3, 5, 11, 13, 15]
    torch.testing.assert_close(batched[0][:3], logits)


def test_words_of_our_own_and_their_pieces() -> None:
    data = to_data([Sentence.chain(["a", "b"]), Sentence.chain(["c"])], vocab=VOCAB)
    logits, nodes = make()(data)
    assert nodes.tolist() == [1, 2, 4]
    assert logits.shape == (3, 4)
    pieces = expand_pieces(data, [[1], [5, 6], [7], [1], [8, 9, 10]])
    assert make()(pieces)[1].tolist() == [1, 3, 5]


def test_empty_nodes_are_no_words() -> None:
    empty = [("1.1", "x", "_", "_", "_", "_", "_", "_", "1:dep", "_")]
    sentence = Sentence(
        ["a", "b"], [0, 1], ["root", "dep"], deps=[[("0", "root")], [("1", "dep")]], empty=empty
    )
    data = to_data([sentence], vocab=VOCAB, arcs="enhanced")
    assert data.num_nodes == 4
    assert make()(data)[1].tolist() == [1, 2]


def test_no_words() -> None:
    data = text_data(EncodedUtterance.of(None, Letters(), RELATIONS), tokens=Letters(), max_length=9)
    logits, nodes = make()(data)
    assert (logits.shape, nodes.numel()) == ((0, 4), 0)


def test_reset_and_sizes() -> None:
    model = make()
    for parameter in model.parameters():
        nn.init.constant_(parameter, torch.nan)
    model.reset_parameters()
    assert all(bool(parameter.isfinite().all()) for parameter in model.parameters())
    with pytest.raises(ValueError, match=r"'out_channels' must be at least 1 \(got 0\)"):
        TokenModel(Numbered(), 0)
