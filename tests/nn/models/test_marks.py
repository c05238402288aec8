from __future__ import annotations

import copy
import functools
import random
from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from graphdep import NodeType, RelationVocab, Vocab, to_data
from graphdep.data import mark_words
from graphdep.nn.conv import DAMConv
from graphdep.nn.models import (
    SIA,
    ConstituentTransformer,
    DependencyTransformer,
    DependencyTreeRNN,
    GraphTransformer,
    GRUEncoder,
    LSTMEncoder,
    NodeEmbedding,
    TextEncoder,
    TreeLSTM,
    TreeTransformer,
    WordAverage,
)
from graphdep.transforms import resolve
from tests.kit.trees import random_sentence

VOCAB, RELATIONS = Vocab("abcdefgh"), RelationVocab()
WORDS, SIZES = len(VOCAB), {"hidden_channels": 6}
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
    "lstm": (functools.partial(LSTMEncoder, WORDS, **SIZES), "transformer"),
    "bilstm": (functools.partial(LSTMEncoder, WORDS, bidirectional=True, **SIZES), "transformer"),
    "gru": (functools.partial(GRUEncoder, WORDS, **SIZES), "transformer"),
    "bigru": (functools.partial(GRUEncoder, WORDS, bidirectional=True, **SIZES), "transformer"),
    "tree-lstm": (functools.partial(TreeLSTM, WORDS, **SIZES), "transformer"),
    "bitree-lstm": (functools.partial(TreeLSTM, WORDS, bidirectional=True, **SIZES), "transformer"),
    "dt-rnn": (functools.partial(DependencyTreeRNN, WORDS, **SIZES), "transformer"),
    "tree-transformer": (functools.partial(TreeTransformer, WORDS, **LAYERS), "transformer"),
    "word-average": (functools.partial(WordAverage, WORDS, **SIZES), "transformer"),
    "window": (functools.partial(WordAverage, WORDS, window=2, **SIZES), "transformer"),
}
each_encoder = pytest.mark.parametrize("name", ENCODERS)
each_size = pytest.mark.parametrize("vectors", [None, 4], ids=["own", "vectors"])


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
@each_size
def test_no_mark_adds_nothing_and_a_mark_changes_its_node(name, vectors):
    encoder, edges = make(name, vectors), ENCODERS[name][1]
    before = encoder(example(1, None, edges))
    assert encoder.add_marks(3) is encoder
    assert torch.equal(encoder(example(1, None, edges)), before)
    first, second = (encoder(example(1, 2, edges, value)) for value in (1, 2))
    node = 3  # behind ROOT
    assert (first[node] - before[node]).abs().max() > 1e-4
    assert (first[node] - second[node]).abs().max() > 1e-4
    assert (encoder(example(1, 5, edges))[node] - first[node]).abs().max() > 1e-4


@each_encoder
@each_size
def test_a_batch_equals_each_example_alone(name, vectors):
    encoder, edges = make(name, vectors).add_marks(3), ENCODERS[name][1]
    examples = [example(seed, seed, edges, 1 + seed % 2, words=seed + 2) for seed in range(4)]
    alone = torch.cat([encoder(one) for one in examples])
    torch.testing.assert_close(encoder(Batch.from_data_list(examples)), alone, rtol=0, atol=1e-10)


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


@each_encoder
def test_a_second_time_and_data_without_marks(name):
    encoder, data = make(name), example(1, 2, ENCODERS[name][1])
    with pytest.raises(ValueError, match=r"'number' must be at least 2 \(got 1\)"):
        encoder.add_marks(1)
    encoder.add_marks(2)
    with pytest.raises(ValueError, match="the encoder has an embedding of marks already: Embedding\\(2, "):
        encoder.add_marks(2)
    del data["mark"]
    with pytest.raises(ValueError, match=r"no 'mark': call graphdep.data.node_table\(data, marks\)"):
        encoder(data)


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


@pytest.mark.parametrize("name", ["lstm", "bigru", "tree-lstm", "bitree-lstm", "dt-rnn"])
def test_recurrent_encoders_take_marks_in_the_size_of_their_vectors(name):
    assert embedding_of(make(name, vectors=4).add_marks(2)).mark.weight.shape == (2, 4)
    assert embedding_of(make("word-average", vectors=4).add_marks(2)).mark.weight.shape == (2, 6)


def embedded(marks: Tensor, embedding: NodeEmbedding) -> Tensor:
    size = marks.numel()
    place = torch.arange(size)
    return embedding(Data(input_ids=place, position=place, depth=place, mark=marks, num_nodes=size))


def test_marks_of_other_nodes_than_the_data_has():
    """As a column of words, not of nodes, would be, or one from before words were split."""
    embedding = NodeEmbedding(WORDS, 6)
    embedding.add_marks(2)
    data = to_data([random_sentence(random.Random(0), 3)], vocab=VOCAB)
    for wrong in ([1], [0, 1, 0]):
        data.mark = torch.tensor(wrong)
        with pytest.raises(ValueError, match=rf"'mark' must be of shape \[4\] \(got \[{len(wrong)}\]\)"):
            embedding(data)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
@each_encoder
def test_marks_have_the_type_and_device_of_the_encoder(name, dtype):
    encoder = make(name).to(dtype).add_marks(2)
    assert embedding_of(encoder).mark.weight.dtype == dtype
    if dtype == torch.float64 or name in ("transformer", "gru", "word-average"):
        assert encoder(example(1, 2, ENCODERS[name][1])).dtype == dtype
    nowhere = make(name).to("meta").add_marks(2)
    assert embedding_of(nowhere).mark.weight.device.type == "meta"


@pytest.mark.cuda
@each_encoder
def test_cuda(name):
    encoder, data = make(name).add_marks(2), example(1, 2, ENCODERS[name][1])
    expected = encoder(data)
    out = encoder.cuda()(data.clone().to("cuda"))
    torch.testing.assert_close(out.cpu(), expected, rtol=0, atol=1e-10)


@each_encoder
def test_autocast(name):
    encoder, data = make(name).float().add_marks(2), example(1, 2, ENCODERS[name][1])
    expected = encoder(data)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = encoder(data)
    torch.testing.assert_close(out.float(), expected, rtol=0, atol=0.1)


def test_compiled_in_one_graph():
    embedding = NodeEmbedding(WORDS, 6, dropout=0.0)
    embedding.add_marks(2)
    data = example(1, 2, "transformer")
    compiled = torch.compile(embedding, backend="eager", fullgraph=True)
    assert torch.equal(compiled(data), embedding(data))


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
