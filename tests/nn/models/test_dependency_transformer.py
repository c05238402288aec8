from __future__ import annotations

import copy
import random

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from graphdep import NodeType, RelationVocab, Sentence, Vocab, to_data
from graphdep.nn.models import DependencyTransformer
from graphdep.transforms import resolve
from tests.kit.trees import random_sentence

VOCAB, RELATIONS = Vocab("abcdefgh"), RelationVocab()
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


def make(seed: int = 0, **options) -> DependencyTransformer:
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
    for h in range(conv.heads):
        part = slice(h * conv.out_channels, (h + 1) * conv.out_channels)
        query, key, value = (
            F.linear(x, lin.weight[part], lin.bias[part])
            for lin in (conv.lin_query, conv.lin_key, conv.lin_value)
        )
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


def literal(model: DependencyTransformer, data: Data) -> Tensor:
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
    model, data = make(**options).double(), batch(1, 2, 3, preset="dt")
    if options.get("relation_attention") is False:
        data = resolve("transformer-utterance")(data)
    out, expected = model(data), literal(model, data)
    torch.testing.assert_close(out, expected, rtol=0, atol=1e-11)
    leaves = dict(model.named_parameters())
    root = data.node_type == NodeType.ROOT
    assert torch.equal(model.readout(data, out), out[root])
    grads = [torch.autograd.grad(y[root].sin().sum(), [*leaves.values()]) for y in (out, expected)]
    for name, a, b in zip(leaves, *grads):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-10, msg=lambda m, name=name: f"{name}: {m}")
        assert a.any(), f"{name} does not learn"


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


@pytest.mark.parametrize("name", TABLE_3)
def test_what_each_row_of_table_3_reads(name: str) -> None:
    model, data = make(**TABLE_3[name]).double(), batch(1, 2)
    del data.word  # without which nobody checks that depths are those of the tree
    out = model(data)
    names = " ".join(dict(model.named_parameters()))
    assert ("relation" in names) == (name != "transformer")
    assert ("gate_" in names) == (name in ("dt-rg", "dt"))
    assert ("level" in names) == (name == "dt")

    def changes(**columns: Tensor) -> bool:
        other = copy.copy(data)
        for key, column in columns.items():
            other[key] = column
        return not torch.allclose(model(other), out)

    assert changes(edge_type=RelationVocab.inverse(data.edge_type)) == (name != "transformer")
    assert changes(depth=(data.depth + 1) % 4) == (name == "dt")
    assert changes(position=data.position.flip(0))
    assert changes(input_ids=data.input_ids.flip(0))


def test_the_plain_transformer_needs_no_types() -> None:
    model = make(**TABLE_3["transformer"])
    data = batch(1, 2, preset="transformer-utterance")
    assert "edge_type" not in data
    typed = batch(1, 2, preset="dt")
    torch.testing.assert_close(model(typed), model(data))


def test_a_long_sentence() -> None:
    head = [max(0, word - 1 - word % 3) for word in range(1, 401)]
    head[1] = head[0] + 1  # one root
    head = [0] + [h or 1 for h in head[1:]]
    long = Sentence(["a"] * 400, head, ["root"] + ["dep"] * 399)
    data = resolve("dt")(to_data([long], vocab=VOCAB, relations=RELATIONS))
    model = make(num_layers=1, heads=1, max_positions=64)
    out = model(data)
    assert out.shape == (401, 12)
    assert out.isfinite().all()
    model.readout(data, out).sum().backward()
    assert all(bool(parameter.grad.isfinite().all()) for parameter in model.parameters())


@pytest.mark.parametrize("options", [*TABLE_3.values(), {"dropout": 0.1}])
def test_copies(options: dict) -> None:
    model, data = make(**options).eval(), batch(1, 2)
    out = model(data)
    twin = copy.deepcopy(model)
    assert torch.equal(twin(data), out)
    if twin.relation is not None:
        assert all(layer.conv.score.relation is twin.relation for layer in twin.layers)
    other = make(seed=1, **options).eval()
    assert not torch.equal(other(data), out)
    other.load_state_dict(model.state_dict())
    assert torch.equal(other(data), out)


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


def test_errors() -> None:
    for heads in (5, 0):
        with pytest.raises(ValueError, match=f"'heads' \\({heads}\\) must divide 'hidden_channels' \\(12\\)"):
            make(heads=heads)
    model, data = make(), pair(1)
    with pytest.raises(ValueError, match="no 'edge_index': apply an edge constructor"):
        model(data)
    with pytest.raises(ValueError, match="no 'edge_type': apply TreePathTypes\\(\\)"):
        model(resolve("transformer")(data))
    without = resolve("dt")(to_data([random_sentence(random.Random(0), 3)]))
    with pytest.raises(ValueError, match="no 'input_ids'"):
        model(without)
    rootless = resolve("dt")(to_data([random_sentence(random.Random(0), 3)], vocab=VOCAB, root=False))
    with pytest.raises(ValueError, match="no ROOT nodes: call to_data\\(..., root=True\\)"):
        model.readout(rootless, model(rootless))
