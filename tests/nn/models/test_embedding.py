from __future__ import annotations

import copy
import functools
import random
from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch_geometric.data import Data

from graphdep import NodeType, RelationVocab, Sentence, Vocab, to_data
from graphdep.data import mark_words
from graphdep.nn.conv import DAMConv
from graphdep.nn.models import (
    SIA,
    ConstituentTransformer,
    DependencyTransformer,
    DependencyTreeRNN,
    GraphTransformer,
    GRUEncoder,
    NodeEmbedding,
    RelationEmbedding,
    TextEncoder,
    TreeLSTM,
    TreeTransformer,
    WordAverage,
)
from graphdep.transforms import resolve
from tests.kit.trees import random_sentence


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


def test_errors() -> None:
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
    with pytest.raises(ValueError, match="already has an embedding of relations"):
        embedding.add_relations(RelationEmbedding(3, 6))


# -- relations -------------------------------------------------------------------------------------------


IDS = torch.tensor([3, 0, 3, 6])


def test_a_relation_and_its_kind():
    embedding = RelationEmbedding(7, 5)
    expected = torch.stack([embedding.relation.weight[i] + embedding.kind for i in IDS.tolist()])
    torch.testing.assert_close(embedding(IDS), expected)
    assert embedding(IDS[:0]).shape == (0, 5)


def test_without_the_kind():
    embedding = RelationEmbedding(7, 5, type_embedding=False)
    assert torch.equal(embedding(IDS), embedding.relation.weight[IDS])
    assert [name for name, _ in embedding.named_parameters()] == ["relation.weight"]


def test_drawn_as_berts():
    torch.manual_seed(0)
    embedding = RelationEmbedding(400, 300)
    for parameter in embedding.parameters():
        assert 0.018 < float(parameter.detach().std()) < 0.022


def test_another_deviation():
    torch.manual_seed(0)
    assert 0.9 < float(RelationEmbedding(400, 300, std=1.0).relation.weight.detach().std()) < 1.1


def test_errors_and_repr():
    for number in (7, -1):
        with pytest.raises(ValueError, match=f"'deprel' holds relation {number}, but there are 7"):
            RelationEmbedding(7, 5)(torch.tensor([2, number]))
    assert str(RelationEmbedding(7, 5)) == "RelationEmbedding(7, 5, type_embedding=True)"


# -- marks -----------------------------------------------------------------------------------------------


VOCAB = Vocab("abcdefgh")
RELATIONS = RelationVocab()
WORDS = len(VOCAB)
SIZES = {"hidden_channels": 6}
LAYERS = SIZES | {"heads": 2, "ff_channels": 5}


def sia(**options) -> SIA:
    return SIA(transformer(**options), heads=2)


def transformer(**options) -> GraphTransformer:
    sizes = SIZES | {"num_layers": 2, "ff_channels": 5, "dropout": 0.0}
    return GraphTransformer(WORDS, lambda _: DAMConv(6, 3, 2), **sizes, **options)


ENCODERS: dict[str, tuple[Callable[..., TextEncoder], str]] = {
    "transformer": (transformer, "transformer"),
    "dt": (functools.partial(DependencyTransformer, WORDS, len(RELATIONS), num_layers=2, **LAYERS), "dt"),
    "constituent": (functools.partial(ConstituentTransformer, WORDS, num_layers=2, **LAYERS), "transformer"),
    "sia": (sia, "transformer"),
    "bigru": (functools.partial(GRUEncoder, WORDS, bidirectional=True, **SIZES), "transformer"),
    "bitree-lstm": (functools.partial(TreeLSTM, WORDS, bidirectional=True, **SIZES), "transformer"),
    "dt-rnn": (functools.partial(DependencyTreeRNN, WORDS, **SIZES), "transformer"),
    "tree-transformer": (functools.partial(TreeTransformer, WORDS, **LAYERS), "transformer"),
    "window": (functools.partial(WordAverage, WORDS, window=2, **SIZES), "transformer"),
}
each_encoder = pytest.mark.parametrize("name", ENCODERS)


def make(name: str, vectors: int | None = None, **options) -> TextEncoder:
    torch.manual_seed(0)
    table = None if vectors is None else torch.randn(WORDS, vectors)
    return ENCODERS[name][0](vectors=table, **options).double().eval()


def embedding_of(encoder: TextEncoder) -> NodeEmbedding:
    return next(part for part in encoder.modules() if isinstance(part, NodeEmbedding))


def example(seed: int, mark: int | None, edges: str, value: int = 1, words: int = 6) -> Data:
    sentence = random_sentence(random.Random(seed), words)
    marks = [value * (word == mark) for word in range(words)]
    return resolve(edges)(mark_words(to_data([sentence], vocab=VOCAB, relations=RELATIONS), marks))


@each_encoder
def test_no_mark_adds_nothing_and_a_mark_changes_its_node(name):
    encoder, edges = make(name, vectors=4), ENCODERS[name][1]
    before = encoder(example(1, None, edges))
    assert encoder.add_marks(3) is encoder
    assert torch.equal(encoder(example(1, None, edges)), before)
    first, second = (encoder(example(1, 2, edges, value)) for value in (1, 2))
    node = 3  # behind ROOT
    assert (first[node] - before[node]).abs().max() > 1e-4
    assert (first[node] - second[node]).abs().max() > 1e-4
    assert (encoder(example(1, 5, edges))[node] - first[node]).abs().max() > 1e-4


@each_encoder
def test_the_vector_of_no_mark_stays_zero(name):
    """Through steps with weight decay, and where all is drawn anew."""
    encoder, edges = make(name).add_marks(2), ENCODERS[name][1]
    marks = embedding_of(encoder).mark
    assert marks.weight[1].any()
    start = marks.weight.detach().clone()
    data = example(1, 2, edges)
    for kind in (torch.optim.AdamW, torch.optim.SGD):
        optimizer = kind(encoder.parameters(), lr=0.1, weight_decay=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            encoder(data).sin().sum().backward()
            assert marks.weight.grad[1].any()
            optimizer.step()
    assert not marks.weight[0].any()
    assert not torch.equal(marks.weight, start)
    nn.init.constant_(marks.weight, torch.nan)
    encoder.reset_parameters()
    assert not marks.weight[0].any()
    assert marks.weight[1].isfinite().all()
    assert marks.weight[1].any()


@each_encoder
def test_a_state_dict_and_a_copy_have_the_marks(name):
    encoder, edges = make(name).add_marks(2), ENCODERS[name][1]
    nn.init.normal_(embedding_of(encoder).mark.weight[1:])
    again = make(name).add_marks(2)
    again.load_state_dict(encoder.state_dict())
    data = example(1, 2, edges)
    assert torch.equal(encoder(data), again(data))
    assert torch.equal(encoder(data), copy.deepcopy(encoder)(data))
    (key,) = set(encoder.state_dict()) - set(make(name).state_dict())
    with pytest.raises(RuntimeError, match=key):
        make(name).load_state_dict(encoder.state_dict())


@given(
    vectors=st.sampled_from([None, 4]),
    marks=st.lists(st.integers(0, 3), min_size=1, max_size=6),
    seed=st.integers(0, 99),
)
def test_their_vectors_are_added_in_the_size_of_the_nodes(vectors, marks, seed):
    torch.manual_seed(seed)
    table = None if vectors is None else torch.randn(WORDS, vectors)
    embedding = NodeEmbedding(WORDS, 6, vectors=table, dropout=0.0)
    sentence = random_sentence(random.Random(seed), len(marks))
    data = mark_words(to_data([sentence], vocab=VOCAB), marks)
    before = embedding(data)
    embedding.add_marks(4)
    assert embedding.mark.weight.shape == (4, 6)
    expected = before + torch.stack([embedding.mark.weight[mark] for mark in [0, *marks]])
    torch.testing.assert_close(embedding(data), expected)


def test_recurrent_encoders_take_marks_in_the_size_of_their_vectors():
    for name, size in (("bigru", 4), ("bitree-lstm", 4), ("dt-rnn", 4), ("window", 6)):
        assert embedding_of(make(name, vectors=4).add_marks(2)).mark.weight.shape == (2, size)


def test_marks_have_the_type_and_device_of_the_encoder():
    for dtype in (torch.float64, torch.bfloat16):
        encoder = make("transformer").to(dtype).add_marks(2)
        assert embedding_of(encoder).mark.weight.dtype == dtype
        assert encoder(example(1, 2, "transformer")).dtype == dtype
    nowhere = make("transformer").to("meta").add_marks(2)
    assert embedding_of(nowhere).mark.weight.device.type == "meta"


def test_errors_of_marks():
    encoder, data = make("transformer"), example(1, 2, "transformer")
    with pytest.raises(ValueError, match=r"'number' must be at least 2 \(got 1\)"):
        encoder.add_marks(1)
    encoder.add_marks(2)
    with pytest.raises(ValueError, match="the encoder already has an embedding of marks: Embedding\\(2, "):
        encoder.add_marks(2)
    del data["mark"]
    with pytest.raises(ValueError, match=r"no 'mark': call graphdep.data.node_table\(data, marks\)"):
        encoder(data)


def test_marks_of_other_nodes_than_the_data_has():
    """As a column of words, not of nodes, would be, or one from before words were split."""
    embedding = NodeEmbedding(WORDS, 6)
    embedding.add_marks(2)
    data = to_data([random_sentence(random.Random(0), 3)], vocab=VOCAB)
    for wrong in ([1], [0, 1, 0]):
        data.mark = torch.tensor(wrong)
        with pytest.raises(ValueError, match=rf"'mark' must be of shape \[4\] \(got \[{len(wrong)}\]\)"):
            embedding(data)


def test_root_has_no_mark_of_its_own():
    """Its input is none, though its state may know of words that have one."""
    encoder = make("transformer")
    encoder.add_marks(2)
    data = example(1, 2, "transformer")
    assert not data.mark[data.node_type == NodeType.ROOT].any()
    plain = copy.copy(data)
    plain.mark = torch.zeros_like(data.mark)
    marked, without = encoder.embedding(data), encoder.embedding(plain)
    changed = (marked != without).any(dim=1)
    assert changed.nonzero().view(-1).tolist() == [3]
