from __future__ import annotations

import pytest
import torch
from torch import nn
from torch_geometric.data import Data

from graphdep import RelationVocab, Sentence, Vocab, to_data
from graphdep.data import NodeType
from graphdep.nn.models import NodeEmbedding, RelationEmbedding
from graphdep.transforms import resolve


def data(**columns: list[int]) -> Data:
    keys = {"input_ids": [3, 0, 4], "position": [0, 1, 2], "depth": [0, 2, 1]} | columns
    return Data(num_nodes=3, **{key: torch.tensor(column) for key, column in keys.items()})


def test_sum_of_word_position_and_level() -> None:
    embedding = NodeEmbedding(5, 6, dropout=0.0)
    expected = (
        embedding.word.weight[[3, 0, 4]]
        + embedding.position.weight[[0, 1, 2]]
        + embedding.level.weight[[0, 2, 1]]
    )
    torch.testing.assert_close(embedding(data()), expected)


@pytest.mark.parametrize("dim", [6, 4])
def test_words_may_be_scaled_by_the_root_of_the_channels(dim: int) -> None:
    vectors = torch.randn(5, dim)
    embedding = NodeEmbedding(5, 6, dropout=0.0, vectors=vectors, embedding_scale=True)
    words = vectors if dim == 6 else vectors @ embedding.project.weight.T
    rest = embedding.position.weight[[0, 1, 2]] + embedding.level.weight[[0, 2, 1]]
    torch.testing.assert_close(embedding(data()), words[[3, 0, 4]] * 6**0.5 + rest)
    torch.testing.assert_close(embedding.words(torch.tensor(2)), words[2] * 6**0.5)
    assert embedding.state_dict().keys() == NodeEmbedding(5, 6, vectors=vectors).state_dict().keys()


def test_scaled_words_start_the_first_layer_away_from_a_mean() -> None:
    lengths = []
    for scale in (False, True):
        torch.manual_seed(0)
        embedding = NodeEmbedding(500, 256, embedding_scale=scale)
        lengths.append(embedding.words(torch.arange(500)).norm(dim=1).mean().item())
    assert lengths == pytest.approx([1, 16], rel=0.01)


def test_no_sentence_is_too_long_or_too_deep() -> None:
    embedding = NodeEmbedding(5, 6, max_positions=2, max_levels=3, dropout=0.0)
    beyond = embedding(data(position=[0, 7, 1000], depth=[2, 9, 1000]))
    torch.testing.assert_close(beyond, embedding(data(position=[0, 1, 1], depth=[2, 2, 2])))
    assert not torch.equal(beyond, embedding(data(position=[0, 1, 0], depth=[2, 2, 2])))


def test_nodes_outside_the_trees_have_no_level() -> None:
    embedding = NodeEmbedding(5, 6, dropout=0.0)
    out = embedding(data(depth=[-1, 0, 0]))
    torch.testing.assert_close(out[0], embedding.word.weight[3] + embedding.position.weight[0])
    out.sum().backward()
    assert embedding.level.weight.grad[0].tolist() == [2.0] * 6


def test_without_positions_and_levels() -> None:
    embedding = NodeEmbedding(5, 6, max_positions=0, max_levels=0, dropout=0.0)
    assert [name for name, _ in embedding.named_parameters()] == ["word.weight"]
    torch.testing.assert_close(embedding(data()), embedding.word.weight[[3, 0, 4]])


def test_word_vectors() -> None:
    vectors = torch.randn(5, 4)
    embedding = NodeEmbedding(5, 6, vectors=vectors, max_positions=0, max_levels=0, dropout=0.0)
    assert torch.equal(embedding.word.weight, vectors)
    out = embedding(data())
    torch.testing.assert_close(out, vectors[[3, 0, 4]] @ embedding.project.weight.T)
    out.sum().backward()
    assert embedding.word.weight.grad.any(), "word vectors are tuned"
    embedding.reset_parameters()
    assert embedding.word.weight.any(), "drawn at random, not zeros"
    assert isinstance(NodeEmbedding(5, 4, vectors=vectors).project, nn.Identity)
    assert "vectors" not in embedding.state_dict()


def test_dropout_in_training_only() -> None:
    embedding = NodeEmbedding(5, 6, dropout=0.5)
    assert not torch.equal(embedding(data()), embedding(data()))
    embedding.eval()
    assert torch.equal(embedding(data()), embedding(data()))


@pytest.mark.parametrize("vectors", [None, torch.randn(5, 4)])
def test_reset_parameters(vectors) -> None:
    embedding = NodeEmbedding(5, 6, vectors=vectors)
    for parameter in embedding.parameters():
        nn.init.constant_(parameter, torch.nan)
    embedding.reset_parameters()
    assert all(bool(parameter.isfinite().all()) for parameter in embedding.parameters())


def test_errors() -> None:
    with pytest.raises(ValueError, match="'vectors' must be of shape \\[5, dim\\] \\(got \\[4, 6\\]\\)"):
        NodeEmbedding(5, 6, vectors=torch.zeros(4, 6))
    with pytest.raises(ValueError, match="'hidden_channels' must be at least 1 \\(got 0\\)"):
        NodeEmbedding(5, 0)
    without = data()
    del without["input_ids"]
    with pytest.raises(ValueError, match="no 'input_ids': call to_data\\(..., vocab=...\\)"):
        NodeEmbedding(5, 6)(without)


def with_nodes(**options: object) -> Data:
    sentence = Sentence(["She", "sings"], [2, 0], ["nsubj", "root"], constituents=[("S", 0, 2), ("NP", 0, 1)])
    vocab = Vocab(["She", "sings"])
    return to_data([sentence], vocab=vocab, relations=RelationVocab(), **options)


@pytest.mark.parametrize("edges", ["dam", "constituents"])
@pytest.mark.parametrize("position", ["sequence", "none"])
def test_nodes_of_relations_and_phrases_have_the_vector_of_their_label(edges: str, position: str) -> None:
    data = resolve(edges, position=position)(with_nodes(phrases="spans"))
    embedding = NodeEmbedding(9, 6, segments=2, dropout=0.0)
    embedding.add_relations(RelationEmbedding(len(RelationVocab()), 6))
    for node, x in enumerate(embedding(data)):
        related = int(data.node_type[node]) in (NodeType.RELATION, NodeType.PHRASE)
        label = int(data.deprel[node])
        first = embedding.relations(torch.tensor(label)) if related else embedding.word(data.input_ids[node])
        if not related:
            first = first + embedding.level(data.depth[node])
        if not (related and position == "none"):
            first = first + embedding.position(data.position[node]) + embedding.segment(data.segment[node])
        torch.testing.assert_close(x, first)


def test_a_label_is_never_read_as_a_word() -> None:
    """Ids of labels are small: as words they would be others, and nobody would know."""
    embedding = NodeEmbedding(9, 6)
    for data in (with_nodes(phrases=True), resolve("dam")(with_nodes())):
        with pytest.raises(ValueError, match="nodes, for which the encoder has no vectors"):
            embedding(data)
    with pytest.raises(ValueError, match="'embedding' must give vectors of size 6 .got 5."):
        embedding.add_relations(RelationEmbedding(3, 5))
    embedding.add_relations(RelationEmbedding(3, 6))
    with pytest.raises(ValueError, match="an embedding of relations already"):
        embedding.add_relations(RelationEmbedding(3, 6))
