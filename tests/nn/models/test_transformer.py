from __future__ import annotations

import copy
import random

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GATv2Conv, RGATConv, TransformerConv

from graphdep import NodeType, RelationVocab, Vocab, to_data
from graphdep.nn.conv import AttentionConv, DRAConv, GATEConv, LISAConv
from graphdep.nn.models import (
    ConstituentTransformer,
    DependencyTransformer,
    GraphTransformer,
    TransformerLayer,
)
from graphdep.transforms import resolve
from tests.kit.slow import assert_same_gradients, heads_of
from tests.kit.trees import random_sentence


def complete(num_nodes: int) -> torch.Tensor:
    return torch.ones(num_nodes, num_nodes).nonzero().t()


@pytest.mark.parametrize("norm_first", [False, True])
def test_equals_torch(norm_first: bool) -> None:
    torch.manual_seed(0)
    layer = TransformerLayer(AttentionConv(8, 4, heads=2), 8, 16, dropout=0.0, norm_first=norm_first).double()
    for parameter in layer.parameters():
        nn.init.normal_(parameter, std=0.5)
    peer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True, norm_first=norm_first).double()
    conv = layer.conv
    peer.load_state_dict(
        {
            "self_attn.in_proj_weight": torch.cat(
                [conv.lin_query.weight, conv.lin_key.weight, conv.lin_value.weight]
            ),
            "self_attn.in_proj_bias": torch.cat(
                [conv.lin_query.bias, conv.lin_key.bias, conv.lin_value.bias]
            ),
            "self_attn.out_proj.weight": layer.lin_out.weight,
            "self_attn.out_proj.bias": layer.lin_out.bias,
            "linear1.weight": layer.feed_forward[0].weight,
            "linear1.bias": layer.feed_forward[0].bias,
            "linear2.weight": layer.feed_forward[3].weight,
            "linear2.bias": layer.feed_forward[3].bias,
            "norm1.weight": layer.norm_attention.weight,
            "norm1.bias": layer.norm_attention.bias,
            "norm2.weight": layer.norm_feed_forward.weight,
            "norm2.bias": layer.norm_feed_forward.bias,
        }
    )
    x = torch.randn(5, 8, dtype=torch.float64)
    torch.testing.assert_close(layer(x, complete(5)), peer(x[None])[0], rtol=0, atol=1e-12)


def test_dropout_in_training_only() -> None:
    layer = TransformerLayer(AttentionConv(8, 4, heads=2), 8, 16, dropout=0.5)
    x = torch.randn(5, 8)
    assert not torch.equal(layer(x, complete(5)), layer(x, complete(5)))
    layer.eval()
    assert torch.equal(layer(x, complete(5)), layer(x, complete(5)))


@pytest.mark.parametrize("norm_first", [False, True])
def test_dropout_covers_what_both_parts_add(norm_first: bool) -> None:
    layer = TransformerLayer(AttentionConv(8, 4, heads=2), 8, 16, dropout=1.0, norm_first=norm_first)
    x = torch.randn(5, 8)
    expected = x if norm_first else layer.norm_feed_forward(layer.norm_attention(x))
    torch.testing.assert_close(layer(x, complete(5)), expected)


# -- graph -----------------------------------------------------------------------------------------------


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
        for h, (query, key, value) in enumerate(heads_of(layer.conv, before)):
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


def test_errors() -> None:
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
        with pytest.raises(ValueError, match=f"{kind} reads explicit edges only .*without implicit=True"):
            model(resolve("transformer", implicit=True)(example(1)))
        assert model(resolve("transformer")(example(1))).isfinite().all()


def test_edges_that_leave_their_example_are_refused():
    batch = resolve("dra")(Batch.from_data_list([example(0), example(1)]))
    last = int(batch.ptr[1]) - 1
    across = torch.tensor([[last], [last + 1]])
    batch.edge_index = torch.cat([batch.edge_index, across], dim=1)
    with pytest.raises(ValueError, match=rf"joins nodes of different examples .*\[{last}, {last + 1}\]"):
        make()(batch)


# -- dt --------------------------------------------------------------------------------------------------


RELATIONS = RelationVocab()
TABLE_3 = {
    "transformer": {"relation_attention": False, "level_embedding": False},
    "dt-lr": {"gate": None, "level_embedding": False},
    "dt-rg": {"level_embedding": False},
    "dt": {},
}
VARIANTS = TABLE_3 | {
    "key": {"gate": "tanh", "gate_state": "key"},
    "start": {"start": "torch"},
    "scale": {"embedding_scale": True},
    "no positions": {"position_embedding": False},
    "vectors": {"vectors": torch.randn(len(VOCAB), 7, generator=torch.Generator().manual_seed(0))},
}
each_variant = pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS)


def make_dt(seed: int = 0, **options) -> DependencyTransformer:
    torch.manual_seed(seed)
    sizes = {"hidden_channels": 12, "num_layers": 2, "heads": 3, "relation_dim": 5, "ff_channels": 10}
    model = DependencyTransformer(len(VOCAB), len(RELATIONS), **(sizes | options))
    for parameter in model.parameters():  # nothing at zero or one, or its place would not show
        if parameter is not model.embedding.word.weight:
            nn.init.normal_(parameter, std=0.4)
    return model


def pair(seed: int) -> Data:
    rng = random.Random(seed)
    sentences = [random_sentence(rng, rng.randint(1, 6)) for _ in range(2)]
    return to_data(sentences, vocab=VOCAB, relations=RELATIONS)


def batch(*seeds: int, preset: str = "dt") -> Batch:
    return resolve(preset)(Batch.from_data_list([pair(seed) for seed in seeds]))


def norm(x: Tensor, layer: nn.LayerNorm) -> Tensor:
    x = x - x.mean(dim=-1, keepdim=True)
    return x / (x.square().mean(dim=-1, keepdim=True) + layer.eps).sqrt() * layer.weight + layer.bias


def literal_attention(conv: nn.Module, x: Tensor, types: Tensor, length: int) -> Tensor:
    """One padded sentence ``[L, C]``, one head after the other; Eq. 1-3 where the conv has relations."""
    score, heads = getattr(conv, "score", None), []
    for h, (query, key, value) in enumerate(heads_of(conv, x)):
        s = s_e = query @ key.T / conv.out_channels**0.5
        if score is not None:
            r = score.relation.weight[types]
            s_r = r @ score.lin_score[:, h]
            s = s_e + s_r
            if score.gate is not None:
                node = x @ score.gate_node[h]
                node = node[:, None] if score.gate_state == "query" else node[None]
                g = (node + r @ score.gate_relation[h]) @ score.gate_out[h]
                g = g.sigmoid() if score.gate == "sigmoid" else g.tanh()
                s = (1 - g) * s_e + g * s_r
            s = torch.where(types == RelationVocab.NONE, s_e, s)
        s[:, length:] = torch.finfo(s.dtype).min  # padding
        heads.append(s.softmax(dim=-1) @ value)
    return torch.cat(heads, dim=-1)


def literal_dt(model: DependencyTransformer, data: Data) -> Tensor:
    """The published model, sentence by sentence, padded to the longest."""
    number = (data.node_type == NodeType.ROOT).long().cumsum(0) - 1
    lengths = number.bincount().tolist()
    types = torch.zeros(data.num_nodes, data.num_nodes, dtype=torch.long)
    if model.relation is not None:
        types[data.edge_index[1], data.edge_index[0]] = data.edge_type
    states, start = [], 0
    for length in lengths:
        part, padding = slice(start, start + length), (0, 0, 0, max(lengths) - length)
        x = model.embedding.project(model.embedding.word.weight[data.input_ids[part]])
        x = x * 12**0.5 if model.embedding.embedding_scale else x
        if model.embedding.position is not None:
            x = x + model.embedding.position.weight[data.position[part]]
        if model.embedding.level is not None:
            x = x + model.embedding.level.weight[data.depth[part]]
        x = F.pad(x, padding)
        own = F.pad(types[part, part], (0, padding[3], 0, padding[3]))
        for layer in model.layers:
            attended = literal_attention(layer.conv, x, own, length)
            x = norm(x + F.linear(attended, layer.lin_out.weight, layer.lin_out.bias), layer.norm_attention)
            first, last = layer.feed_forward[0], layer.feed_forward[3]
            hidden = F.linear(x, first.weight, first.bias).clamp(min=0)
            x = norm(x + F.linear(hidden, last.weight, last.bias), layer.norm_feed_forward)
        states.append(x[:length])
        start += length
    return torch.cat(states)


@each_variant
def test_equals_the_published_model(options: dict) -> None:
    model, data = make_dt(**options).double(), batch(1, 2, 3, preset="dt")
    if options.get("relation_attention") is False:
        data = resolve("transformer-utterance")(data)
    out, expected = model(data), literal_dt(model, data)
    torch.testing.assert_close(out, expected, rtol=0, atol=1e-11)
    root = data.node_type == NodeType.ROOT
    assert torch.equal(model.readout(data, out), out[root])
    assert_same_gradients(out[root], expected[root], model)


def test_sizes_of_the_paper() -> None:
    model = DependencyTransformer(100, len(RELATIONS))
    assert len(model.layers) == 3
    conv = model.layers[0].conv
    assert (conv.in_channels, conv.out_channels, conv.heads) == (300, 50, 6)
    assert model.layers[0].feed_forward[0].out_features == 300
    assert model.relation.weight.shape == (len(RELATIONS), 30)
    assert conv.score.gate == "sigmoid"
    assert model.embedding.level is not None
    assert model.embedding.position is not None
    assert not any(module.p for module in model.modules() if isinstance(module, nn.Dropout))
    assert [layer.conv.dropout for layer in make_dt(dropout=0.25).layers] == [0.25] * 2


def test_the_plain_transformer_needs_no_types() -> None:
    model = make_dt(**TABLE_3["transformer"])
    data = batch(1, 2, preset="transformer-utterance")
    assert "edge_type" not in data
    typed = batch(1, 2, preset="dt")
    torch.testing.assert_close(model(typed), model(data))


def test_copies_share_the_relations_of_all_layers() -> None:
    twin = copy.deepcopy(make_dt())
    assert all(layer.conv.score.relation is twin.relation for layer in twin.layers)


def test_relations_may_start_where_pytorch_s_layers_do() -> None:
    def draw(**options) -> DependencyTransformer:
        torch.manual_seed(0)
        return DependencyTransformer(50, 900, num_layers=2, **options)

    plain, narrow, wide = draw(), draw(start="random"), draw(start="torch")
    for a, b in zip(plain.parameters(), narrow.parameters()):
        assert torch.equal(a, b)
    for _ in range(2):
        assert wide.relation.weight.std().item() == pytest.approx(1, rel=0.02)  # the paper's 30 numbers each
        assert plain.relation.weight.std().item() == pytest.approx(30**-0.5, rel=0.02)
        assert {layer.conv.score.start for layer in wide.layers} == {"torch"}
        assert wide.layers[1].conv.score.gate_out.abs().max() > 0.15  # up to 30^-.5, not of deviation .02
        for model in (plain, wide):
            model.reset_parameters()


def test_errors_of_dt() -> None:
    model, data = make_dt(), pair(1)
    with pytest.raises(ValueError, match="no 'edge_index': apply an edge constructor"):
        model(data)
    with pytest.raises(ValueError, match="no 'edge_type': apply TreePathTypes\\(\\)"):
        model(resolve("transformer")(data))


# -- constituent -----------------------------------------------------------------------------------------


def make_constituent(**options) -> ConstituentTransformer:
    torch.manual_seed(0)
    sizes = {"hidden_channels": 8, "heads": 2, "ff_channels": 6, "num_layers": 3, "dropout": 0.0}
    model = ConstituentTransformer(len(VOCAB), **(sizes | options)).double()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5)
    return model


def example_constituent(seed: int) -> Data:
    rng = random.Random(seed)
    sentences = [random_sentence(rng, rng.randint(1, 6)) for _ in range(2)]
    return to_data(sentences, vocab=VOCAB, positions="example")


@pytest.mark.parametrize("options", [{}, {"renormalize": True}, {"position_embedding": False}])
def test_equals_blocks_by_hand(options: dict) -> None:
    """Constituents grow from block to block; what a block is, its own test says."""
    model, examples = make_constituent(**options), [example_constituent(seed) for seed in range(3)]
    out = model(Batch.from_data_list(examples))
    states = []
    for data in examples:
        x, ptr = model.embedding.word.weight[data.input_ids], torch.tensor([0, data.num_nodes])
        if options != {"position_embedding": False}:
            x = x + model.embedding.position.weight[data.position]
        link = torch.zeros(data.num_nodes, dtype=torch.float64)
        for layer in model.layers:
            own = layer.conv.links(x, ptr)
            link = link + (1 - link) * own
            x = layer.norm_attention(x + layer.lin_out(layer.conv(x, link, ptr)))
            x = layer.norm_feed_forward(x + layer.feed_forward(x))
        states.append(x)
        torch.testing.assert_close(model(data), x)
    torch.testing.assert_close(out, torch.cat(states))
