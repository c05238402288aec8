from __future__ import annotations

import copy

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from graphdep import Sentence, Vocab, to_data
from graphdep.data import mark_words
from graphdep.nn.models import DependencyTransformer, GRUEncoder, SpanModel, SpanReadout, WordAverage
from graphdep.transforms import resolve
from tests.kit.strategies import marked_lists

WORDS = ["A", "dog", "bites", "me"]
TREE = Sentence(WORDS, [2, 3, 0, 3], ["det", "nsubj", "root", "obj"])


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
    return mark_words(to_data([TREE], vocab=Vocab(WORDS)), marks)


@settings(max_examples=15)
@given(marked_lists(), st.sampled_from(["mean", "top"]), st.booleans())
def test_a_batch_is_its_examples(datas, mode, path):
    model = make(mode=mode, path=path)
    logits = model(Batch.from_data_list(datas))
    assert logits.shape == (len(datas), 3)
    torch.testing.assert_close(logits, torch.cat([model(data) for data in datas]))


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
        plain(to_data([TREE], vocab=Vocab(WORDS)))


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


def test_reset_state_and_sizes():
    model, again = make(path=True), make(path=True)
    for parameter in model.parameters():
        nn.init.constant_(parameter, torch.nan)
    model.reset_parameters()
    assert all(bool(parameter.isfinite().all()) for parameter in model.parameters())
    nn.init.normal_(model.head.lin.weight)
    again.load_state_dict(model.state_dict())
    assert torch.equal(again(marked(1, 2, 0, 0)), model(marked(1, 2, 0, 0)))
    assert "SpanReadout(2, mode='mean', path=True, pieces='all')" in repr(model)
    with pytest.raises(ValueError, match=r"'out_channels' must be at least 1 \(got 0\)"):
        SpanModel(Numbered(), SpanReadout(), 0)


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


def literal(model: SpanModel, data: Data) -> Tensor:
    vector = model.readout(data, model.encoder(data))
    return vector @ model.head.lin.weight.T + model.head.lin.bias


def test_equals_its_definition() -> None:
    model, data = small(), batch()
    out = model(data)
    assert (out.shape, model.head.lin.in_features) == ((4, 3), 12)
    torch.testing.assert_close(out, literal(model, data), rtol=0, atol=1e-12)
    torch.testing.assert_close(out[3], model.head.lin.bias)  # nothing is known of an example without spans


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


def test_errors_and_print() -> None:
    with pytest.raises(ValueError, match=r"'out_channels' must be at least 1 \(got 0\)"):
        SpanModel(WordAverage(9), SpanReadout(), 0)
    data = to_data([Sentence.chain(["a"])], vocab=VOCAB)
    with pytest.raises(ValueError, match=r"no 'mark': call graphdep.data.node_table\(data, marks\)"):
        SpanModel(GRUEncoder(9), SpanReadout(), 2)(data)
    assert "(readout): SpanReadout(2, mode='mean', path=True, pieces='all')" in repr(small())
