from __future__ import annotations

import copy

import pytest
import torch
from hypothesis import given
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from graphdep import Sentence, Vocab, to_data
from graphdep.data import mark_words
from graphdep.nn.models import GRUEncoder, SpanModel, SpanReadout, WordAverage
from graphdep.testing.strategies import marked_lists

VOCAB = Vocab("abcd")


def make(num_words: int = len(VOCAB), *, path: bool = True, **options) -> SpanModel:
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
    model, data = make(), batch()
    out = model(data)
    assert (out.shape, model.head.lin.in_features) == ((4, 3), 12)
    torch.testing.assert_close(out, literal(model, data), rtol=0, atol=1e-12)
    torch.testing.assert_close(out[3], model.head.lin.bias)  # nothing is known of an example without spans


@given(marked_lists(root=True))
def test_a_batch_equals_each_example_alone(datas: list[Data]) -> None:
    model = make(num_words=50)
    alone = torch.cat([model(data) for data in datas])
    torch.testing.assert_close(model(Batch.from_data_list(datas)), alone, rtol=0, atol=1e-12)


def test_learns_and_leaves_its_input_alone() -> None:
    model, data = make(), batch()
    before = copy.deepcopy(data)
    model.train()(data).sin().sum().backward()
    assert all(bool(parameter.grad.any()) for parameter in model.parameters())
    assert data.keys() == before.keys()
    assert all(torch.equal(data[key], before[key]) for key in [*data.keys()] if torch.is_tensor(data[key]))


def test_all_tensors_are_made_on_the_device_of_the_data() -> None:
    """With another default device, a tensor made without saying where would not fit the others."""
    model, data = make(), batch()
    expected = model(data)
    with torch.device("meta"):
        out = model(data)
    assert torch.equal(out, expected)


@pytest.mark.cuda
def test_cuda() -> None:
    model, data = make(), batch()
    expected = model(data)
    out = copy.deepcopy(model).cuda()(data.clone().to("cuda"))
    torch.testing.assert_close(out.cpu(), expected, rtol=0, atol=1e-10)


def test_bfloat16() -> None:
    model, data = make().float(), batch()
    expected = model(data)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = model(data)
    torch.testing.assert_close(out.float(), expected, rtol=0, atol=0.2)
    assert model.bfloat16()(data).dtype == torch.bfloat16


def test_reset_parameters() -> None:
    model = make()
    for parameter in model.parameters():
        nn.init.constant_(parameter, torch.nan)
    model.reset_parameters()
    assert all(bool(parameter.isfinite().all()) for parameter in model.parameters())


def test_errors_and_print() -> None:
    with pytest.raises(ValueError, match=r"'out_channels' must be at least 1 \(got 0\)"):
        SpanModel(WordAverage(9), SpanReadout(), 0)
    data = to_data([Sentence.chain(["a"])], vocab=VOCAB)
    with pytest.raises(ValueError, match=r"no 'mark': call graphdep.data.mark_words\(data, marks\)"):
        SpanModel(GRUEncoder(9), SpanReadout(), 2)(data)
    assert "(readout): SpanReadout(2, mode='mean', path=True, pieces='all')" in repr(make())
