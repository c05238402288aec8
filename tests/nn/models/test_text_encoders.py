"""What holds for every encoder of texts: one row of :data:`ENCODERS` for each."""

from __future__ import annotations

import copy
import functools
import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from graphdep import NodeType, RelationVocab, Sentence, Vocab, to_data
from graphdep.nn.conv import DAMConv
from graphdep.nn.models import (
    RNTN,
    SIA,
    BinaryTreeLSTM,
    BiTreeLSTM,
    ConstituencyTreeTransformer,
    ConstituentTransformer,
    DCTreeLSTM,
    DependencyTransformer,
    DependencyTreeRNN,
    DependencyTreeTransformer,
    GraphTransformer,
    GRUEncoder,
    LSTMEncoder,
    SentenceModel,
    TagHyperTreeLSTM,
    TextEncoder,
    TreeLSTM,
    TreeTransformer,
    UniversalEncoder,
    WordAverage,
)
from graphdep.transforms import resolve
from tests.kit.trees import bracketed_sentence

VOCAB = Vocab("abcdefgh")
RELATIONS = RelationVocab()
WORDS = len(VOCAB)
BLOCK = {"heads": 2, "ff_channels": 8}
LAYERS = BLOCK | {"num_layers": 2}
VECTORS = torch.randn(WORDS, 7, generator=torch.Generator().manual_seed(0))
META = {"meta_channels": 3}


def graph_transformer(num_words: int, **options) -> GraphTransformer:
    sizes = {"num_layers": 2, "ff_channels": 5, "dropout": 0.0}
    return GraphTransformer(num_words, lambda _: DAMConv(6, 3, 2), **(sizes | options))


def sia(num_words: int, *, hidden_channels: int, dropout: float = 0.0) -> SIA:
    inner = graph_transformer(num_words, hidden_channels=hidden_channels, dropout=dropout)
    return SIA(inner, heads=2, dropout=dropout)


# A maker, the edges that it reads, and its options.
DT = (functools.partial(DependencyTransformer, num_relations=len(RELATIONS), relation_dim=5), "dt")
ENCODERS: dict[str, tuple[Callable[..., TextEncoder], str | None, dict[str, Any]]] = {
    "word-average": (WordAverage, None, {}),
    "window": (WordAverage, None, {"window": 2, "vectors": VECTORS}),
    "use": (UniversalEncoder, None, LAYERS | {"buckets": 11}),
    "dan": (UniversalEncoder, None, LAYERS | {"variant": "dan", "buckets": 11}),
    "lstm": (LSTMEncoder, None, {"num_layers": 2}),
    "bilstm": (LSTMEncoder, None, {"bidirectional": True, "vectors": VECTORS}),
    "gru": (GRUEncoder, None, {}),
    "bigru": (GRUEncoder, None, {"bidirectional": True, "num_layers": 2}),
    "tree-lstm": (TreeLSTM, None, {}),
    "tree-lstm-recursive": (TreeLSTM, None, {"execution": "recursive"}),
    "bitree-lstm": (TreeLSTM, None, {"bidirectional": True}),
    "bitree-lstm-recursive": (TreeLSTM, None, {"bidirectional": True, "execution": "recursive"}),
    "dt-rnn": (DependencyTreeRNN, None, {"dependent_places": 2}),
    "dt-rnn-left": (DependencyTreeRNN, None, {"dependent_places": 2, "places_from": "left"}),
    "tree-transformer": (TreeTransformer, None, BLOCK | {"vectors": VECTORS}),
    "tree-transformer-dt": (DependencyTreeTransformer, None, BLOCK),
    "tree-transformer-ct": (ConstituencyTreeTransformer, None, BLOCK),
    "tree-lstm-ct": (BinaryTreeLSTM, None, {"vectors": VECTORS}),
    "rntn": (RNTN, None, {}),
    "bitree-lstm-ct": (BiTreeLSTM, None, {}),
    "dc-treelstm": (DCTreeLSTM, None, META),
    "dc-recnn": (DCTreeLSTM, None, META | {"cell": "rnn"}),
    "taghypertreelstm": (TagHyperTreeLSTM, None, META | {"tag_channels": 4}),
    "tghrecnn": (TagHyperTreeLSTM, None, META | {"tag_channels": 4, "cell": "rnn"}),
    "transformer": (graph_transformer, "transformer-utterance", {"vectors": VECTORS}),
    "sia": (sia, "transformer", {}),
    "constituent": (ConstituentTransformer, None, LAYERS),
    "dt": (*DT, LAYERS),
    "dt-lr": (*DT, LAYERS | {"gate": None, "level_embedding": False}),
    "dt-plain": (*DT, LAYERS | {"relation_attention": False, "position_embedding": False}),
    "dt-key": (*DT, LAYERS | {"gate": "tanh", "gate_state": "key", "embedding_scale": True}),
    "dt-start": (*DT, LAYERS | {"start": "torch", "vectors": VECTORS}),
}
each = pytest.mark.parametrize("name", ENCODERS)
# What an utterance is, also in these, depends on the others of its example.
READ_TOGETHER = ("sia", "constituent", "transformer")
# ROOT reads the words, and nothing but them.
ZERO_WITHOUT_WORDS = [
    name for name, (_, edges, _) in ENCODERS.items() if edges is None and name != "constituent"
]


def make(name: str, **options) -> TextEncoder:
    torch.manual_seed(0)
    kind, _, own = ENCODERS[name]
    model = kind(WORDS, **({"hidden_channels": 6} | own | options)).double()
    for parameter in model.parameters():
        if not parameter.any():  # or what comes after it would not show
            nn.init.normal_(parameter, std=0.5)
    return model


def table(name: str, *sentences: Sentence, **options) -> Data:
    given = {"vocab": VOCAB, "relations": RELATIONS, "phrases": "tagged"} | options
    data, edges = to_data(sentences, **given), ENCODERS[name][1]
    return data if edges is None else resolve(edges)(data)


def examples(name: str, *seeds: int) -> list[Data]:
    found = []
    for seed in seeds:
        rng = random.Random(seed)
        found.append(table(name, *(bracketed_sentence(rng, rng.randint(1, 8)) for _ in range(1 + seed % 3))))
    return found


def batch(name: str, *seeds: int) -> Batch:
    return Batch.from_data_list(examples(name, *seeds))


@each
def test_a_batch_in_any_order_is_its_examples(name: str) -> None:
    model = make(name).eval()
    alone = dict(zip((5, 1, 3, 2), examples(name, 5, 1, 3, 2)))
    seeds = (2, 5, 3, 1)
    data = batch(name, *seeds)
    out = model(data)
    states = [model(alone[seed]) for seed in seeds]
    torch.testing.assert_close(out, torch.cat(states), rtol=0, atol=1e-12)
    vectors = [model.readout(alone[seed], x) for seed, x in zip(seeds, states)]
    torch.testing.assert_close(model.readout(data, out), torch.cat(vectors), rtol=0, atol=1e-12)
    plain = Data.from_dict({key: data[key] for key in data.keys() if key != "ptr"})  # noqa: SIM118
    torch.testing.assert_close(model(plain), out)


@pytest.mark.parametrize("name", [name for name in ENCODERS if name not in READ_TOGETHER])
def test_utterances_of_an_example_do_not_see_each_other(name: str) -> None:
    model, rng = make(name).eval(), random.Random(3)
    pair = [bracketed_sentence(rng, 7), bracketed_sentence(rng, 4)]
    together = table(name, *pair, positions="utterance")
    alone = torch.cat([model(table(name, one, positions="utterance")) for one in pair])
    torch.testing.assert_close(model(together), alone, rtol=0, atol=1e-12)


@each
def test_a_gradient_reaches_every_parameter(name: str) -> None:
    model, data = make(name).eval(), batch(name, 1, 2, 3, 4, 5)
    out = model(data)
    loss = out.sin().sum() + model.readout(data, out).cos().sum()
    if hasattr(model, "states"):
        loss = loss + model.states(data)[1].cos().sum()
    loss.backward()
    silent = [key for key, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    # Softmax does not see what a key adds to all scores of a row.
    assert [key for key in silent if not key.endswith("lin_key.bias")] == []


@each
def test_copies_and_saved_weights_give_the_same_and_resetting_others(name: str) -> None:
    model, data = make(name).eval(), batch(name, 1, 2)
    out = model(data)
    assert torch.equal(copy.deepcopy(model)(data), out)
    other = make(name).eval()
    other.reset_parameters()
    assert not torch.equal(other(data), out)
    other.load_state_dict(model.state_dict())
    assert torch.equal(other(data), out)
    for parameter in model.parameters():
        nn.init.constant_(parameter, torch.nan)
    model.reset_parameters()
    assert all(bool(parameter.isfinite().all()) for parameter in model.parameters())


@each
def test_dropout_in_training_only_and_the_input_stays(name: str) -> None:
    model, data = make(name, dropout=0.5), batch(name, 1, 2)
    before = copy.deepcopy(data)
    assert not torch.equal(model(data), model(data))
    model.eval()
    assert torch.equal(model(data), model(data))
    assert torch.equal(model(data), make(name).eval()(data))
    assert data.keys() == before.keys()
    assert all(torch.equal(data[key], before[key]) for key in [*data.keys()] if isinstance(data[key], Tensor))


@each
def test_bfloat16(name: str) -> None:
    model, data = make(name).float().eval(), batch(name, 1, 2)
    expected = model(data)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = model(data)
    torch.testing.assert_close(out.float(), expected, rtol=0, atol=0.2)
    out = model.bfloat16()(data)
    assert out.dtype == torch.bfloat16
    assert out.isfinite().all()


@pytest.mark.cuda
def test_cuda() -> None:
    for name in ENCODERS:
        model, data = make(name).eval(), batch(name, 1, 2, 3)
        out = copy.deepcopy(model).cuda()(data.clone().to("cuda"))
        torch.testing.assert_close(
            out.cpu(), model(data), rtol=0, atol=1e-10, msg=lambda m, n=name: f"{n}: {m}"
        )


@pytest.mark.parametrize("name", ZERO_WITHOUT_WORDS)
def test_an_utterance_without_words_has_zeros(name: str) -> None:
    """No parser gives one, but a filter of nodes may."""
    model, data = make(name).eval(), table(name, Sentence(["a"], [0], ["root"], constituents=[]))
    other = examples(name, 1)[0]
    for key in ("node_type", "word", "depth", "utterance", "input_ids", "governor_index", "position", "tag"):
        data[key] = data[key][:1]
    data.num_nodes = 1
    assert not model.readout(data, model(data)).any()
    both = Batch.from_data_list([data, other])
    vectors = model.readout(both, model(both))
    assert not vectors[0].any()
    torch.testing.assert_close(vectors[1:], model.readout(other, model(other)))


@pytest.mark.parametrize("name", ZERO_WITHOUT_WORDS)
def test_empty_nodes_of_an_enhanced_graph_are_no_words(name: str) -> None:
    row = ("1.1", "b", *"______", "1:conj", "_")
    deps = [[("0", "root")], [("1", "obj")]]
    tree = ["a", "b"], [0, 1], ["root", "obj"]
    sentence = Sentence(*tree, deps=deps, empty=[row], constituents=[("S", 0, 2)])
    data, model = table(name, sentence, arcs="enhanced"), make(name).eval()
    kept = (data.node_type == NodeType.ROOT) | (data.word >= 0)
    torch.testing.assert_close(model(data)[kept], model(table(name, sentence)))


def test_errors() -> None:
    for name in ENCODERS:
        check_errors(name)


def check_errors(name: str) -> None:
    if name in ZERO_WITHOUT_WORDS:
        for order in ([True, False], [False, True]):
            parts = [table(name, bracketed_sentence(random.Random(0), 3), root=root) for root in order]
            with pytest.raises(ValueError, match="ROOT node"):
                make(name)(Batch.from_data_list(parts))
    model, data = make(name), table(name, bracketed_sentence(random.Random(0), 3), root=False)
    with pytest.raises(ValueError, match="no ROOT nodes: call to_data\\(..., root=True\\)"):
        model.readout(data, model(data))
    with pytest.raises(ValueError, match="the data has no 'input_ids': call to_data\\(..., vocab=...\\)"):
        make(name)(table(name, bracketed_sentence(random.Random(0), 3), vocab=None))


def test_encoders_and_heads_of_ordinary_modules_can_be_reset() -> None:
    class Own(TextEncoder):
        hidden_channels = 4

        def __init__(self) -> None:
            super().__init__()
            self.word, self.dropout = nn.Embedding(WORDS, 4), nn.Dropout(0.1)

        def forward(self, data: Data) -> Tensor:
            return self.dropout(self.word(data.input_ids))

    model = SentenceModel(Own(), nn.Sequential(nn.Linear(4, 2)))
    before = copy.deepcopy(model.state_dict())
    model.reset_parameters()
    assert all(not torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert model(to_data([Sentence.chain(["a"])], vocab=VOCAB)).shape == (1, 2)
