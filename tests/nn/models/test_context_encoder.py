"""What holds for every encoder of dialogues; what only one does is in its own file."""

from __future__ import annotations

import copy
import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader

from graphdep import NodeType, RelationVocab, Sentence, Vocab, to_data
from graphdep.nn.conv import AttentionConv, DRAConv, LISAConv
from graphdep.nn.models import (
    ConstituentTransformer,
    ContextEncoder,
    ContextTransformer,
    DialogBERT,
    GraphTransformer,
    HRANEncoder,
    HREDEncoder,
    Memory,
    NodeEmbedding,
    ReCoSa,
    RelationEmbedding,
)
from graphdep.nn.models.transformer import example_bounds, with_positions_in_utterance
from graphdep.testing import assert_same_batch
from graphdep.transforms import RelationNodes, resolve
from tests.kit.trees import random_sentence

VOCAB = Vocab("abcdefgh")
WORDS = len(VOCAB)
SIZES = {"hidden_channels": 8, "num_layers": 1, "ff_channels": 6, "dropout": 0.0}
TURNS = {"num_layers": 1, "heads": 2, "ff_channels": 6, "dropout": 0.0}


def flat(conv) -> ContextTransformer:
    return ContextTransformer(GraphTransformer(WORDS, lambda number: conv(8, 4, 2), **SIZES))


def dialog_bert(conv, **options) -> DialogBERT:
    encoder = GraphTransformer(WORDS, lambda number: conv(8, 4, 2), **(SIZES | options))
    return DialogBERT(encoder, **TURNS)


# The model, its edges, and what a row of its memory is.
ENCODERS = {
    "transformer": (lambda: flat(AttentionConv), "transformer", "node"),
    "dra": (lambda: flat(DRAConv), "dra", "node"),
    "lisa": (lambda: flat(LISAConv), "lisa-complete", "node"),
    "constituent": (
        lambda: ContextTransformer(ConstituentTransformer(WORDS, heads=2, **SIZES)),
        "transformer",
        "node",
    ),
    "dialogbert": (lambda: dialog_bert(AttentionConv), "transformer-utterance", "utterance"),
    "dialogbert-dra": (lambda: dialog_bert(DRAConv, position_embedding=False), "dra", "utterance"),
    "recosa": (lambda: ReCoSa(WORDS, heads=2, **SIZES), "transformer", "utterance"),
    "recosa-gru": (lambda: ReCoSa(WORDS, heads=2, cell="gru", word_layers=2, **SIZES), "dra", "utterance"),
    "hred": (lambda: HREDEncoder(WORDS, hidden_channels=8, dropout=0.0), "dra", "example"),
    "hred-bidirectional": (
        lambda: HREDEncoder(WORDS, hidden_channels=8, bidirectional=True, num_layers=2, dropout=0.0),
        "dra",
        "example",
    ),
    "hran": (lambda: HRANEncoder(WORDS, hidden_channels=8, dropout=0.0), "dra", "node"),
}
each_encoder = pytest.mark.parametrize("name", ENCODERS)


def make(name: str, seed: int = 0) -> ContextEncoder:
    torch.manual_seed(seed)
    model = ENCODERS[name][0]().double()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.4)
    return model


def dialogue(name: str, *lengths: int, seed: int = 0) -> Data:
    """A context of utterances of so many words; 0 leaves the ROOT node alone."""
    rng = random.Random(seed)
    sentences = [
        random_sentence(rng, length) if length else Sentence(["a"], [0], ["root"]) for length in lengths
    ]
    data = to_data(sentences, vocab=VOCAB, positions="example")
    empty = torch.tensor([length == 0 for length in lengths])[data.utterance]
    keep = ~(empty & (data.node_type == NodeType.WORD))
    kept = Data(num_nodes=int(keep.sum()))
    for key in ("input_ids", "node_type", "deprel", "depth", "utterance", "word", "segment"):
        kept[key] = data[key][keep]
    kept.governor_index = (keep.cumsum(0) - 1)[data.governor_index][keep]
    kept.position = torch.arange(kept.num_nodes)
    kept.target_ids = torch.tensor([5, 6, 4])
    return resolve(ENCODERS[name][1])(kept)


SHAPES = [(3, 1, 4), (2,), (1, 5), (4, 0, 2), (0,)]


@each_encoder
def test_a_batch_equals_each_context_alone(name: str) -> None:
    model = make(name).eval()
    examples = [dialogue(name, *lengths, seed=i) for i, lengths in enumerate(SHAPES)]
    batch = next(iter(DataLoader(examples, batch_size=len(examples), follow_batch=["target_ids"])))
    memory = model(batch)
    assert memory.num_examples == len(examples)
    for i, data in enumerate(examples):
        alone = model(data)
        assert alone.ptr.tolist() == [0, alone.x.size(0)]
        rows = slice(int(memory.ptr[i]), int(memory.ptr[i + 1]))
        torch.testing.assert_close(memory.x[rows], alone.x, rtol=0, atol=1e-10)
        assert (memory.group is None) == (alone.group is None)
        if memory.group is not None:
            assert torch.equal(memory.group[rows], alone.group)


@settings(max_examples=3)
@given(shapes=st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=4), min_size=1, max_size=4))
@each_encoder
def test_rows_of_the_memory(name: str, shapes: list[list[int]]) -> None:
    model = make(name).eval()
    batch = Batch.from_data_list([dialogue(name, *lengths) for lengths in shapes])
    memory = model(batch)
    rows = {"node": lambda n: sum(n) + len(n), "utterance": len, "example": lambda n: 1}[ENCODERS[name][2]]
    assert memory.ptr.diff().tolist() == [rows(lengths) for lengths in shapes]
    assert memory.x.shape == (int(memory.ptr[-1]), model.hidden_channels)
    assert memory.x.isfinite().all()
    if ENCODERS[name][2] == "node":
        assert torch.equal(memory.group, batch.utterance)
    else:
        assert memory.group is None


@each_encoder
def test_everything_learns(name: str) -> None:
    model = make(name)
    batch = Batch.from_data_list([dialogue(name, 4, 3, 5), dialogue(name, 5, 2, 6, seed=1)])
    memory = model(batch)
    sum([memory.x.sin().sum(), *model.auxiliary(batch, memory).values()]).backward()
    unused = {"lisa": "conv.lin_"}  # queries and keys of a head that has one choice
    for key, parameter in model.named_parameters():
        assert parameter.grad is not None, key
        assert parameter.grad.isfinite().all(), key
        assert parameter.grad.any() or unused.get(name, "-") in key, key


@each_encoder
def test_one_embedding_no_losses_in_evaluation_and_the_input_stays(name: str) -> None:
    model = make(name).eval()
    assert isinstance(model.embedding, NodeEmbedding)
    assert model.embedding.words(torch.tensor([5, 6])).shape == (2, model.hidden_channels)
    assert sum(key.endswith("embedding.word.weight") for key in model.state_dict()) == 1
    batch = Batch.from_data_list([dialogue(name, 3, 2, 4), dialogue(name, 1)])
    before = copy.deepcopy(batch)
    assert model.auxiliary(batch, model(batch)) == {}
    assert_same_batch(batch, before)


@each_encoder
def test_reset_copies_and_saved_weights(name: str) -> None:
    model, other, data = make(name).eval(), make(name, seed=1).eval(), dialogue(name, 3, 2)
    assert not torch.equal(model(data).x, other(data).x)
    other.load_state_dict(model.state_dict())
    assert torch.equal(model(data).x, other(data).x)
    assert torch.equal(model(data).x, copy.deepcopy(model)(data).x)
    for parameter in model.parameters():
        nn.init.constant_(parameter, torch.nan)
    model.reset_parameters()
    assert all(bool(parameter.isfinite().all()) for parameter in model.parameters())


@each_encoder
def test_bfloat16(name: str) -> None:
    model = make(name).float()
    batch = Batch.from_data_list([dialogue(name, 4, 3, 5), dialogue(name, 5, 2, 6, seed=1)])
    expected = model.eval()(batch).x
    with torch.autocast("cpu", dtype=torch.bfloat16):
        memory = model.train()(batch)
        losses = model.auxiliary(batch, memory)
    torch.testing.assert_close(memory.x.float(), expected, rtol=0, atol=0.2)
    assert all(bool(loss.isfinite()) for loss in losses.values())


@pytest.mark.parametrize("name", ["dialogbert", "recosa", "hred", "hran"])
def test_utterances_need_root(name: str) -> None:
    data = to_data([Sentence.chain(["a", "b"])], vocab=VOCAB, root=False)
    with pytest.raises(ValueError, match="no ROOT nodes"):
        make(name)(resolve("transformer")(data))


def test_bounds() -> None:
    examples = [dialogue("hred", 3, 2), dialogue("hred", 1)]
    assert example_bounds(examples[0]).tolist() == [0, 7]
    assert example_bounds(Batch.from_data_list(examples)).tolist() == [0, 7, 9]


def test_the_base_class_adds_no_losses() -> None:
    class Own(ContextEncoder):
        def __init__(self) -> None:
            super().__init__()
            self.lin = nn.Linear(2, 2)

        def forward(self, data: Data) -> Memory:
            return Memory(self.lin(data.x), data.ptr)

    model = Own()
    assert model.auxiliary(None, None) == {}
    nn.init.constant_(model.lin.weight, torch.nan)
    model.reset_parameters()
    assert model.lin.weight.isfinite().all()


# -- flat ------------------------------------------------------------------------------------------------


def test_rows_are_the_states_of_all_nodes() -> None:
    encoder = GraphTransformer(len(VOCAB), lambda number: DRAConv(8, 4, 2), hidden_channels=8, ff_channels=8)
    model = ContextTransformer(encoder).eval()
    sentences = [Sentence.chain(["a", "b"]), Sentence.chain(["c"])]
    data = resolve("dra")(Batch.from_data_list([to_data(sentences, vocab=VOCAB) for _ in range(2)]))
    memory = model(data)
    assert torch.equal(memory.x, encoder(data))
    assert torch.equal(memory.ptr, torch.tensor([0, 5, 10]))
    assert torch.equal(memory.group, torch.tensor([0, 0, 0, 1, 1] * 2))
    assert model.embedding is encoder.embedding
    assert model.hidden_channels == 8


# -- memory ----------------------------------------------------------------------------------------------


def test_repr_shows_shapes() -> None:
    x, ptr = torch.randn(5, 3), torch.tensor([0, 2, 5])
    assert repr(Memory(x, ptr, torch.zeros(5).long())) == "Memory(x=[5, 3], ptr=[3], group=[5])"
    assert repr(Memory(x, ptr)) == "Memory(x=[5, 3], ptr=[3], group=None)"
    assert Memory(x, ptr).num_examples == 2


def test_a_decoder_may_leave_added_nodes_out():
    rng = random.Random(0)
    examples = [
        to_data([random_sentence(rng, 3) for _ in range(turns)], vocab=VOCAB, positions="example")
        for turns in (1, 3, 2)
    ]
    batch = resolve("dam")(Batch.from_data_list(examples))
    model = flat(AttentionConv)
    model.encoder.add_relations(RelationEmbedding(len(RelationVocab()), 8))
    words = batch.node_type != NodeType.RELATION
    whole = model.eval()(batch)
    model.cross_nodes = False
    memory = model(batch)
    assert torch.equal(memory.x, whole.x[words])
    assert torch.equal(memory.group, whole.group[words])
    assert torch.equal(memory.ptr.diff(), torch.tensor([data.num_nodes for data in examples]))
    assert torch.equal(model.rows(batch), words.nonzero().view(-1))


def test_positions_in_utterances_of_added_nodes():
    turns = [Sentence(["a", "b"], [2, 0], ["nsubj", "root"])] * 2  # ROOT, a and b at 0-2 and 3-5
    expected = {"sequence": [6, 7, 5, 6], "dependent": [1, 2, 1, 2], "zero": [0] * 4, "none": [-1] * 4}
    for position, places in expected.items():
        data = RelationNodes(position)(to_data(turns, vocab=VOCAB, positions="example"))
        moved = with_positions_in_utterance(data).position.tolist()
        assert moved == [0, 1, 2, 0, 1, 2, *places], position
