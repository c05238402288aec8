"""What holds for every encoder, whatever is missing in the data."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn
from torch_geometric.data import Batch, Data

from graphdep import NodeType, RelationVocab, Sentence, Vocab, to_data
from graphdep.nn.models import (
    DependencyTransformer,
    DependencyTreeRNN,
    LSTMEncoder,
    SentenceModel,
    TextEncoder,
    TreeLSTM,
    TreeTransformer,
    WordAverage,
)
from graphdep.transforms import resolve

WORDS = ["a", "b", "c"]
VOCAB = Vocab(WORDS)
MAKE = {
    "word-average": lambda: WordAverage(len(VOCAB), hidden_channels=8),
    "lstm": lambda: LSTMEncoder(len(VOCAB), hidden_channels=8),
    "bilstm": lambda: LSTMEncoder(len(VOCAB), hidden_channels=8, bidirectional=True),
    "tree-lstm": lambda: TreeLSTM(len(VOCAB), hidden_channels=8),
    "tree-lstm-recursive": lambda: TreeLSTM(len(VOCAB), hidden_channels=8, execution="recursive"),
    "bitree-lstm": lambda: TreeLSTM(len(VOCAB), hidden_channels=8, bidirectional=True),
    "dt-rnn": lambda: DependencyTreeRNN(len(VOCAB), hidden_channels=8),
    "tree-transformer": lambda: TreeTransformer(len(VOCAB), hidden_channels=8, heads=2, ff_channels=8),
}
every_encoder = pytest.mark.parametrize("encoder", MAKE.values(), ids=MAKE)


def example(words: list[str], *, root: bool = True) -> Data:
    return to_data([Sentence.chain(words)], vocab=VOCAB, relations=RelationVocab(), root=root)


def without_words() -> Data:
    data = example(["a"])
    return data.subgraph(data.node_type == NodeType.ROOT)


@every_encoder
def test_an_utterance_without_words_alone_and_in_a_batch(encoder):
    torch.manual_seed(0)
    model = encoder()
    empty = without_words()
    empty.governor_index = torch.zeros(1, dtype=torch.long)
    alone = model.readout(empty, model(empty))
    assert alone.shape == (1, 8)
    assert not alone.any()
    batch = Batch.from_data_list([empty, example(WORDS)])
    assert torch.equal(model.readout(batch, model(batch))[0], alone[0])


@every_encoder
@pytest.mark.parametrize("order", [[True, False], [False, True]])
def test_an_example_without_root_is_refused(encoder, order):
    batch = Batch.from_data_list([example(WORDS, root=root) for root in order])
    with pytest.raises(ValueError, match="ROOT node"):
        encoder()(batch)


@every_encoder
def test_data_with_a_batch_vector_is_a_batch(encoder):
    torch.manual_seed(0)
    batch = Batch.from_data_list([example(WORDS), example(["b"])])
    plain = Data.from_dict({key: batch[key] for key in batch.keys() if key != "ptr"})  # noqa: SIM118
    model = encoder()
    torch.testing.assert_close(model(plain), model(batch))


@every_encoder
def test_copies_and_saved_weights_give_the_same(encoder):
    model, other, data = encoder(), encoder(), example(WORDS)
    other.load_state_dict(model.state_dict())
    assert torch.equal(model(data), other(data))
    assert torch.equal(model(data), copy.deepcopy(model)(data))
    model.reset_parameters()
    assert not torch.equal(model(data), other(data))


@every_encoder
def test_bfloat16(encoder):
    out = encoder().bfloat16()(example(WORDS))
    assert out.dtype == torch.bfloat16
    assert out.isfinite().all()


def test_own_encoders_and_heads_of_ordinary_modules_can_be_reset():
    class Own(TextEncoder):
        hidden_channels = 4

        def __init__(self) -> None:
            super().__init__()
            self.word, self.dropout = nn.Embedding(len(VOCAB), 4), nn.Dropout(0.1)

        def forward(self, data: Data) -> torch.Tensor:
            return self.dropout(self.word(data.input_ids))

    model = SentenceModel(Own(), nn.Sequential(nn.Linear(4, 2)))
    before = copy.deepcopy(model.state_dict())
    model.reset_parameters()
    assert all(not torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert model(example(WORDS)).shape == (1, 2)


def test_the_dependency_transformer_is_one_of_them():
    encoder = DependencyTransformer(len(VOCAB), 801, hidden_channels=8, heads=2, ff_channels=8, num_layers=1)
    assert isinstance(encoder, TextEncoder)
    data = resolve("dt")(example(WORDS))
    assert encoder.readout(data, encoder(data)).shape == (1, 8)
