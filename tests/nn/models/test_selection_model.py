from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from graphdep import NodeType
from graphdep.nn.models import SelectionModel

CLS, WORD, SEP = NodeType.CLS, NodeType.WORD, NodeType.SEP


class Lookup(nn.Module):
    """States of nodes by their ids."""

    hidden_channels = 6

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(9, 6)

    def forward(self, data: Data) -> Tensor:
        return self.table(data.input_ids)


def example(kinds: list[NodeType], first: int = 0) -> Data:
    ids = torch.arange(first, first + len(kinds))
    return Data(node_type=torch.tensor(kinds), input_ids=ids, num_nodes=len(kinds))


def make(**options) -> SelectionModel:
    torch.manual_seed(0)
    model = SelectionModel(Lookup(), **options).double()
    for parameter in model.parameters():
        nn.init.normal_(parameter)
    return model.eval()


def test_equation_2() -> None:
    model = make()
    first, second = example([CLS, WORD, SEP]), example([WORD, CLS], 4)
    lin = model.mlp[-1]
    expected = torch.stack([lin.weight[0] @ model.encoder.table.weight[i] + lin.bias[0] for i in (0, 5)])
    torch.testing.assert_close(model(Batch.from_data_list([first, second])), expected)
    torch.testing.assert_close(torch.cat([model(first), model(second)]), expected)
    assert sum(parameter.numel() for parameter in model.mlp.parameters()) == 7


def test_means_of_words() -> None:
    model = make(readout="mean")
    kinds = [[CLS, WORD, NodeType.EOU, WORD, SEP, WORD, SEP], [CLS, SEP], [WORD, WORD]]
    examples = [example(k, first) for k, first in zip(kinds, (0, 0, 4))]
    table, lin = model.encoder.table.weight, model.mlp[-1]
    means = torch.stack([table[[1, 3, 5]].mean(dim=0), torch.zeros(6).double(), table[[4, 5]].mean(dim=0)])
    expected = means @ lin.weight[0] + lin.bias[0]
    torch.testing.assert_close(model(Batch.from_data_list(examples)), expected)
    torch.testing.assert_close(torch.cat([model(one) for one in examples]), expected)
    assert "readout='mean'" in str(model)


def utterances(kinds: list[NodeType], utterance: list[int], first: int) -> Data:
    data = example(kinds, first)
    data.utterance = torch.tensor(utterance)
    return data


def test_pairs_of_means() -> None:
    model = make(readout="pair")
    eou = NodeType.EOU
    examples = [
        utterances([CLS, WORD, eou, WORD, SEP, WORD, WORD, SEP], [0, 0, 0, 1, 1, 2, 2, 2], 0),
        utterances([CLS, SEP, WORD, SEP], [0, 0, 1, 1], 4),  # a context without words
        utterances([CLS, WORD, SEP, SEP], [0, 0, 0, 1], 1),  # a response without words
    ]
    table, lin, none = model.encoder.table.weight, model.mlp[-1], torch.zeros(6).double()
    sides = [(table[[1, 3]].mean(dim=0), table[[5, 6]].mean(dim=0)), (none, table[6]), (table[2], none)]
    features = torch.stack([torch.cat([u, v, (u - v).abs(), u * v]) for u, v in sides])
    expected = features @ lin.weight[0] + lin.bias[0]
    torch.testing.assert_close(model(Batch.from_data_list(examples)), expected)
    torch.testing.assert_close(torch.cat([model(one) for one in examples]), expected)
    segments = [one.clone() for one in examples]
    for one in segments:  # of speakers, who take turns
        one.segment = one.utterance % 2
    torch.testing.assert_close(model(Batch.from_data_list(segments)), expected)
    deep = make(readout="pair", mlp_layers=2)
    first, last = (module for module in deep.mlp if isinstance(module, nn.Linear))
    assert (first.in_features, first.out_features, last.in_features) == (24, 6, 6)


def test_more_layers() -> None:
    model = make(mlp_layers=3)
    lins = [module for module in model.mlp if isinstance(module, nn.Linear)]
    x = model.encoder.table.weight[2]
    x = torch.tanh(lins[1](torch.tanh(lins[0](x))))
    torch.testing.assert_close(model(example([CLS, SEP], 2)), lins[2](x))
    assert len(lins) == 3


def test_dropout_and_reset() -> None:
    model, data = make(mlp_layers=2, dropout=0.5).train(), example([CLS, SEP])
    assert not torch.equal(model(data), model(data))
    for parameter in model.parameters():
        nn.init.constant_(parameter, torch.nan)
    model.reset_parameters()
    assert all(bool(parameter.isfinite().all()) for parameter in model.parameters())
    encoder = Lookup()
    kept = encoder.table.weight.clone()
    SelectionModel(encoder)
    assert torch.equal(encoder.table.weight, kept)


def test_errors() -> None:
    with pytest.raises(ValueError, match=r"'mlp_layers' must be a whole number of at least 1 \(got 0\)"):
        make(mlp_layers=0)
    with pytest.raises(ValueError, match=r"'readout' must be one of cls, mean, pair \(got 'max'\)"):
        make(readout="max")
    good = example([CLS, SEP])
    for kinds, count in (([WORD, SEP], 0), ([CLS, WORD, CLS], 2)):
        with pytest.raises(ValueError, match=rf"an example has one CLS node \(got {count} in example 1\)"):
            make()(Batch.from_data_list([good, example(kinds), good]))
    missing_and_double = [example([WORD]), example([CLS, CLS])]  # as many as there are examples
    with pytest.raises(ValueError, match=r"\(got 0 in example 0\)"):
        make()(Batch.from_data_list(missing_and_double))
