from __future__ import annotations

import copy

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch_geometric.data import Batch, Data

from graphdep import NodeType, Sentence, Vocab, to_data
from graphdep.data import mark_words
from graphdep.nn.models import DependencyTransformer, SpanModel, SpanReadout, WordAverage
from graphdep.transforms import ChainTree, RandomTree, resolve
from tests.kit.strategies import marked_examples, marked_lists
from tests.kit.trees import SlowTree

modes, pieces = st.sampled_from(["mean", "top"]), st.sampled_from(["all", "first"])


def slow_top(slow: SlowTree, span: int) -> int | None:
    marks = slow.data.mark.tolist()
    words = [n for n in slow.tree.nodes if marks[n] & span and slow.kind[n] == NodeType.WORD]
    return min(words, key=lambda n: (slow.depth[n], n), default=None)


def slow_path(slow: SlowTree) -> set[int]:
    first, second = slow_top(slow, 1), slow_top(slow, 2)
    if first is None or second is None:
        return set()
    graph = slow.tree.to_undirected()
    if nx.has_path(graph, first, second):
        nodes = set(nx.shortest_path(graph, first, second))
    else:  # roots of their own
        nodes = {*slow.upwards(first), *slow.upwards(second)}
    return {node for node in nodes if slow.kind[node] == NodeType.WORD}


def slow_readout(data: Data, x: torch.Tensor, mode: str, path: bool, pieces: str) -> torch.Tensor:
    slow, marks = SlowTree(data), data.mark.tolist()
    parts = []
    for span in (1, 2):
        if mode == "mean":
            parts.append({n for n in range(slow.size) if marks[n] & span})
        else:
            parts.append({n for n in range(slow.size) if slow.first[n] == slow_top(slow, span)})
    if path:
        words = slow_path(slow)
        parts.append({n for n in range(slow.size) if slow.first[n] in words})
    if pieces == "first":
        parts = [{n for n in part if slow.first[n] == n} for part in parts]
    rows = [x[sorted(part)].mean(0) if part else x.new_zeros(x.size(1)) for part in parts]
    return torch.cat(rows)


@given(marked_examples(), modes, st.booleans(), pieces)
def test_against_networkx(data, mode, path, pieces):
    x = torch.randn(data.num_nodes, 3, generator=torch.Generator().manual_seed(0)).double()
    got = SpanReadout(mode=mode, path=path, pieces=pieces)(data, x)
    torch.testing.assert_close(got, slow_readout(data, x, mode, path, pieces)[None])


@settings(max_examples=15)
@given(marked_lists(), modes, st.booleans(), pieces)
def test_a_batch_is_its_examples(datas, mode, path, pieces):
    readout = SpanReadout(mode=mode, path=path, pieces=pieces)
    states = [torch.randn(data.num_nodes, 2).double() for data in datas]
    together = readout(Batch.from_data_list(datas), torch.cat(states))
    torch.testing.assert_close(together, torch.cat([readout(data, x) for data, x in zip(datas, states)]))
    assert together.shape == (len(datas), 2 * readout.num_parts)


TREE = Sentence(["the", "dog", "of", "Ann", "bites", "me"], [2, 5, 4, 2, 0, 5], ["dep"] * 4 + ["root", "dep"])


def test_the_tree_is_that_of_the_moment():
    data, x = mark_words(to_data([TREE]), [1, 0, 0, 0, 0, 2]), torch.arange(7.0)[:, None]
    readout = SpanReadout(path=True)
    assert readout(data, x).tolist() == [[1, 6, (1 + 2 + 5 + 6) / 4]]
    assert readout(ChainTree()(data), x).tolist() == [[1, 6, 3.5]]
    assert len({float(readout(RandomTree(seed)(data), x)[0, 2]) for seed in range(5)}) > 2
    # New nodes are none of the spans.
    dam = resolve("dam")(data)
    assert (
        readout(dam, torch.cat([x, torch.full((dam.num_nodes - 7, 1), 99.0)])).tolist()
        == readout(data, x).tolist()
    )


def test_one_span_and_gradients():
    data = mark_words(to_data([TREE]), [1, 1, 0, 0, 0, 0])
    x = torch.ones(7, 2, requires_grad=True)
    readout = SpanReadout(1, mode="top")
    assert readout.num_parts == 1
    readout(data, x).sum().backward()
    assert x.grad.sum(1).tolist() == [0, 0, 2, 0, 0, 0, 0]  # "dog" is above "the"


def test_errors():
    data, x = to_data([TREE]), torch.ones(7, 2)
    with pytest.raises(ValueError, match="the data has no 'mark'"):
        SpanReadout()(data, x)
    with pytest.raises(ValueError, match=r"'mark' must be at most 1 \(got 2\): more spans"):
        SpanReadout(1)(mark_words(data, [1, 2, 0, 0, 0, 0]), x)
    assert repr(SpanReadout()) == "SpanReadout(2, mode='mean', path=False, pieces='all')"


# -- span ------------------------------------------------------------------------------------------------


WORDS = ["A", "dog", "bites", "me"]
SPAN_TREE = Sentence(WORDS, [2, 3, 0, 3], ["det", "nsubj", "root", "obj"])


class Numbered(nn.Module):
    """A state of its own for each id."""

    hidden_channels = 6

    def __init__(self, size: int = 50) -> None:
        super().__init__()
        self.table = nn.Embedding(size, self.hidden_channels)

    def reset_parameters(self) -> None:
        self.table.reset_parameters()

    def forward(self, data) -> torch.Tensor:
        return self.table(data.input_ids % self.table.num_embeddings)


def make(num_spans: int = 2, **options: object) -> SpanModel:
    torch.manual_seed(0)
    model = SpanModel(Numbered(), SpanReadout(num_spans, **options), num_classes=3)
    nn.init.normal_(model.head.lin.weight)
    return model.double().eval()


def marked(*marks: int):
    return mark_words(to_data([SPAN_TREE], vocab=Vocab(WORDS)), marks)


@pytest.mark.parametrize("path", [False, True])
def test_the_head_over_the_vector(path):
    model, data = make(path=path), marked(1, 1, 0, 2)
    x = model.encoder(data)
    parts = [x[1:3].mean(0), x[4], *([x[2:5].mean(0)] if path else [])]  # behind ROOT
    torch.testing.assert_close(model(data), model.head(torch.cat(parts))[None])
    assert model.head.lin.in_features == 6 * (2 + path)


def test_the_order_of_spans():
    model = make()
    assert not torch.allclose(model(marked(1, 0, 0, 2)), model(marked(2, 0, 0, 1)))
    # The state of no span is part of it.
    one = make(num_spans=1)
    encoder = one.encoder
    before = one(marked(0, 1, 0, 0))
    with torch.no_grad():
        encoder.table.weight[marked(0, 1, 0, 0).input_ids[3]] += 1
    torch.testing.assert_close(one(marked(0, 1, 0, 0)), before)


def test_an_encoder_that_knows_of_marks():
    """Words of a sentence are the same, and so are its spans together: the marks are what differs."""
    torch.manual_seed(0)
    encoder = WordAverage(10, hidden_channels=8, window=3).add_marks(4)
    model = SpanModel(encoder, SpanReadout(), 2).eval()
    nn.init.normal_(model.head.lin.weight)
    both = model(marked(1, 0, 0, 2)), model(marked(3, 0, 0, 3))
    assert not torch.allclose(*both)
    plain = SpanModel(WordAverage(10, hidden_channels=8), SpanReadout(), 2)
    with pytest.raises(ValueError, match="the data has no 'mark'"):
        plain(to_data([SPAN_TREE], vocab=Vocab(WORDS)))


def test_gradients_reach_what_is_read():
    torch.manual_seed(0)
    encoder = DependencyTransformer(
        10, 8, hidden_channels=8, num_layers=1, heads=2, ff_channels=8, relation_attention=False
    ).add_marks(4)
    model = SpanModel(encoder, SpanReadout(path=True), 2).eval()
    nn.init.normal_(model.head.lin.weight)
    model(resolve("transformer")(marked(1, 0, 0, 2)))[0, 0].backward()
    assert encoder.embedding.mark.weight.grad[[1, 2]].abs().sum(1).gt(0).all()
    assert encoder.embedding.mark.weight.grad[[0, 3]].eq(0).all()


def test_bfloat16():
    model, data = make(path=True).float(), marked(1, 0, 0, 2)
    expected = model(data)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = model(data)
    torch.testing.assert_close(out.float(), expected, rtol=0, atol=0.1)


VOCAB = Vocab("abcd")


def small(num_words: int = len(VOCAB), *, path: bool = True, **options) -> SpanModel:
    torch.manual_seed(0)
    encoder = WordAverage(num_words, hidden_channels=4, window=1).add_marks(4)
    model = SpanModel(encoder, SpanReadout(path=path), 3, **options).double().eval()
    nn.init.normal_(model.head.lin.weight)
    return model


def example(marks: list[int], root: bool = True) -> Data:
    return mark_words(to_data([Sentence.chain(["a"] * len(marks))], vocab=VOCAB, root=root), marks)


def batch() -> Batch:
    """Two spans, both in one word, a sentence of one word, and no span at all."""
    return Batch.from_data_list([example(marks) for marks in ([1, 0, 2, 2], [3, 0], [1], [0, 0, 0])])


def test_learns_and_leaves_its_input_alone() -> None:
    model, data = small(), batch()
    before = copy.deepcopy(data)
    model.train()(data).sin().sum().backward()
    assert all(bool(parameter.grad.any()) for parameter in model.parameters())
    assert data.keys() == before.keys()
    assert all(torch.equal(data[key], before[key]) for key in [*data.keys()] if torch.is_tensor(data[key]))


def test_all_tensors_are_made_on_the_device_of_the_data() -> None:
    """With another default device, a tensor made without saying where would not fit the others."""
    model, data = small(), batch()
    expected = model(data)
    with torch.device("meta"):
        out = model(data)
    assert torch.equal(out, expected)


@pytest.mark.cuda
def test_cuda() -> None:
    model, data = small(), batch()
    expected = model(data)
    out = copy.deepcopy(model).cuda()(data.clone().to("cuda"))
    torch.testing.assert_close(out.cpu(), expected, rtol=0, atol=1e-10)
