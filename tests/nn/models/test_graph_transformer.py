from __future__ import annotations

import copy
import random

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GATv2Conv, RGATConv, TransformerConv

from graphdep import RelationVocab, Vocab, to_data
from graphdep.nn.conv import AttentionConv, DRAConv, GATEConv, LISAConv
from graphdep.nn.models import GraphTransformer, TextEncoder
from graphdep.transforms import resolve
from tests.kit.trees import random_sentence

VOCAB = Vocab("abcdefgh")
MODELS = {
    "transformer": (lambda number: AttentionConv(12, 4, 3), "transformer"),
    "dra": (lambda number: DRAConv(12, 4, 3), "dra"),
    "lisa": (lambda number: (LISAConv if number == 1 else AttentionConv)(12, 4, 3), "lisa-complete"),
    "gate": (lambda number: GATEConv(12, 4, 3), "gate"),
}
each_model = pytest.mark.parametrize("name", MODELS)


def make(name: str = "dra", seed: int = 0, **options) -> GraphTransformer:
    torch.manual_seed(seed)
    sizes = {"hidden_channels": 12, "num_layers": 2, "ff_channels": 10, "dropout": 0.0}
    model = GraphTransformer(len(VOCAB), MODELS[name][0], **(sizes | options)).double()
    for parameter in model.parameters():  # nothing at zero or one, or its place would not show
        nn.init.normal_(parameter, std=0.4)
    return model


def example(seed: int) -> Data:
    rng = random.Random(seed)
    sentences = [random_sentence(rng, rng.randint(1, 6)) for _ in range(2)]
    return to_data(sentences, vocab=VOCAB, positions="example", segment=[0, 1])


def allowed(name: str, data: Data) -> Tensor:
    """Which node (row) may attend to which, head by head of the second layer."""
    n, utterance = data.num_nodes, data.utterance
    mask = torch.zeros(3, n, n, dtype=torch.bool)
    for i in range(n):
        for j in range(n):
            governs, depends = int(data.governor_index[j]) == i, int(data.governor_index[i]) == j
            root = int(data.depth[i]) == 0 and utterance[i] == utterance[j]
            mask[:, i, j] = {
                "transformer": True,
                "lisa": True,
                "dra": i == j or governs or root,
                "gate": i == j or governs or depends,
            }[name]
            if name == "lisa":
                mask[2, i, j] = depends
    return mask


def literal(model: GraphTransformer, name: str, data: Data) -> Tensor:
    """One example with a dense mask, head by head."""
    x = model.embedding.word.weight[data.input_ids]
    if model.embedding.position is not None:
        x = x + model.embedding.position.weight[data.position]
    if model.embedding.level is not None:
        x = x + model.embedding.level.weight[data.depth]
    if model.embedding.segment is not None:
        x = x + model.embedding.segment.weight[data.segment]
    for number, layer in enumerate(model.layers):
        mask = allowed(name, data)
        if name == "lisa" and number == 0:
            mask = torch.ones_like(mask)
        heads = []
        before = layer.norm_attention(x) if layer.norm_first else x
        for h in range(3):
            part = slice(4 * h, 4 * h + 4)
            query, key, value = (
                F.linear(before, lin.weight[part], lin.bias[part])
                for lin in (layer.conv.lin_query, layer.conv.lin_key, layer.conv.lin_value)
            )
            score = (query @ key.T / 2).masked_fill(~mask[h], -torch.inf)
            heads.append(score.softmax(dim=-1) @ value)
        x = x + layer.lin_out(torch.cat(heads, dim=1))
        x = x if layer.norm_first else layer.norm_attention(x)
        before = layer.norm_feed_forward(x) if layer.norm_first else x
        x = x + layer.feed_forward(before)
        x = x if layer.norm_first else layer.norm_feed_forward(x)
    return model.norm(x)


@each_model
@pytest.mark.parametrize(
    "options",
    [{}, {"position_embedding": False}, {"level_embedding": True}, {"norm_first": True}, {"segments": 2}],
)
def test_equals_a_masked_transformer(name: str, options: dict) -> None:
    model, edges = make(name, **options), resolve(MODELS[name][1])
    examples = [example(seed) for seed in range(3)]
    expected = torch.cat([literal(model, name, data) for data in examples])
    out = model(edges(Batch.from_data_list(examples)))
    torch.testing.assert_close(out, expected, rtol=0, atol=1e-10)
    alone = torch.cat([model(edges(data)) for data in examples])
    torch.testing.assert_close(out, alone, rtol=0, atol=1e-10)


def test_vectors_are_projected() -> None:
    vectors = torch.randn(len(VOCAB), 7)
    torch.manual_seed(0)
    model = GraphTransformer(len(VOCAB), MODELS["dra"][0], hidden_channels=12, num_layers=1, vectors=vectors)
    assert torch.equal(model.embedding.word.weight, vectors)
    assert model(resolve("dra")(example(0))).shape == (example(0).num_nodes, 12)


@pytest.mark.parametrize("norm_first", [False, True])
def test_states_of_all_layers(norm_first: bool) -> None:
    model, data = make(norm_first=norm_first, num_layers=3), resolve("dra")(example(0))
    out, layers = model(data, return_layers=True)
    assert torch.equal(out, model(data))
    assert (model.num_layers, model.heads, len(layers)) == (3, 3, 4)
    assert layers[-1] is out
    x = model.embedding(data)
    for number, layer in enumerate(model.layers):
        assert torch.equal(layers[number], x)
        x = layer(x, data.edge_index)
    assert torch.equal(out, model.norm(x))


def test_segments_beyond_the_last_share_its_vector() -> None:
    model, data = make(segments=2), resolve("dra")(example(0))
    out = model(data)
    data.segment = data.segment * 5
    assert torch.equal(model(data), out)
    data.segment = data.segment * 0
    assert not torch.allclose(model(data), out)


def test_types_go_to_the_layers_that_want_them() -> None:
    model = make("gate")
    torch.manual_seed(0)
    mixed = GraphTransformer(
        len(VOCAB),
        lambda number: GATEConv(12, 4, 3) if number else AttentionConv(12, 4, 3),
        hidden_channels=12,
        num_layers=2,
        ff_channels=10,
        dropout=0.0,
    ).double()
    mixed.load_state_dict(model.state_dict())
    data = resolve("gate")(example(1))
    torch.testing.assert_close(mixed(data), model(data))  # at distance 1 both are plain


def test_it_is_a_text_encoder() -> None:
    model, data = make(), resolve("dra")(example(1))
    assert isinstance(model, TextEncoder)
    out = model(data)
    assert torch.equal(model.readout(data, out), out[data.depth == 0])


@each_model
def test_reset_copy_and_dropout(name: str) -> None:
    model, data = make(name, dropout=0.5), resolve(MODELS[name][1])(example(1))
    assert not torch.equal(model(data), model(data))
    model.eval()
    assert torch.equal(copy.deepcopy(model)(data), model(data))
    for parameter in model.parameters():
        nn.init.constant_(parameter, torch.nan)
    model.reset_parameters()
    assert all(bool(parameter.isfinite().all()) for parameter in model.parameters())


def test_errors() -> None:
    with pytest.raises(ValueError, match="'num_layers' must be a whole number of at least 1 \\(got 0\\)"):
        make(num_layers=0)
    with pytest.raises(ValueError, match="no 'edge_index': apply an edge constructor"):
        make()(example(1))
    with pytest.raises(ValueError, match="no 'edge_type': apply TreePathTypes\\(\\)"):
        make("gate")(resolve("dra")(example(1)))


PYG = {
    "TransformerConv": lambda number: TransformerConv(12, 4, 3),
    "GATv2Conv": lambda number: GATv2Conv(12, 4, 3, add_self_loops=False),
    "RGATConv": lambda number: RGATConv(12, 4, len(RelationVocab()), heads=3, num_bases=2),
    "mixed": lambda number: DRAConv(12, 4, 3) if number else TransformerConv(12, 4, 3),
}


def build(conv) -> GraphTransformer:
    torch.manual_seed(0)
    sizes = {"hidden_channels": 12, "num_layers": 2, "ff_channels": 10, "dropout": 0.0}
    model = GraphTransformer(len(VOCAB), conv, **sizes).double()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.4)
    return model


@pytest.mark.parametrize("name", PYG)
def test_any_pyg_conv_will_do(name: str) -> None:
    model, edges = build(PYG[name]), resolve("gate" if name == "RGATConv" else "dra")
    assert model.heads == 3
    data = edges(Batch.from_data_list([example(seed) for seed in range(3)]))
    types = (data.edge_type,) if name == "RGATConv" else ()
    x = model.embedding(data)
    for layer in model.layers:
        x = layer.norm_attention(x + layer.lin_out(layer.conv(x, data.edge_index, *types)))
        x = layer.norm_feed_forward(x + layer.feed_forward(x))
    torch.testing.assert_close(model(data), x)
    alone = torch.cat([model(edges(example(seed))) for seed in range(3)])
    torch.testing.assert_close(alone, x, rtol=0, atol=1e-10)


def test_cliques_that_a_conv_cannot_see() -> None:
    for name, kind in (("GATv2Conv", "GATv2Conv"), ("mixed", "TransformerConv")):
        model = build(PYG[name])
        with pytest.raises(ValueError, match=f"{kind} sees edges alone .*without implicit=True"):
            model(resolve("transformer", implicit=True)(example(1)))
        assert model(resolve("transformer")(example(1))).isfinite().all()


def test_edges_that_leave_their_example_are_refused():
    batch = resolve("dra")(Batch.from_data_list([example(0), example(1)]))
    last = int(batch.ptr[1]) - 1
    across = torch.tensor([[last], [last + 1]])
    batch.edge_index = torch.cat([batch.edge_index, across], dim=1)
    with pytest.raises(ValueError, match=rf"joins nodes of different examples .*\[{last}, {last + 1}\]"):
        make()(batch)
