from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from graphdep.nn.attention import AttentionLayout, RelationVectors, edge_attention
from graphdep.nn.pretrained import PretrainedEncoder
from graphdep.nn.pretrained.anatomy import (
    NAME,
    LayerEdges,
    blocks,
    examine,
    graph_attention,
    hook_blocks,
    near_edges,
    register,
    run_model,
)
from tests.kit.decay import check_decay

ACCEPTED = (
    *("bert", "roberta", "electra", "distilbert", "albert", "camembert", "eurobert", "esm", "modernbert"),
    *("ernie", "xlm-roberta", "mpnet", "t5", "mt5", "umt5", "roformer", "deberta-v2", "data2vec-text"),
    *("gte", "jina_embeddings_v3", "nomic_bert", "roc_bert", "roberta-prelayernorm", "xlm-roberta-xl"),
)
ONE_BY_ONE = ("mpnet", "t5", "mt5", "umt5", "roformer", "deberta-v2")


@pytest.mark.parametrize("family", ACCEPTED)
def test_families_over_packed_examples(make_model, family):
    model = make_model(family).eval()
    parts = [torch.tensor([7, 9, 8, 30, 31, 5]), torch.tensor([12]), torch.tensor([9, 9, 40])]
    expected = [model(input_ids=part[None], output_hidden_states=True).hidden_states for part in parts]
    anatomy = examine(model)
    if family not in ONE_BY_ONE:
        model.set_attn_implementation(NAME)
        assert len(hook_blocks(model, anatomy)) == 2 * (1 if family == "albert" else 3)
    assert hook_blocks(model, anatomy) == []
    ids = torch.cat(parts)
    position = torch.cat([torch.arange(part.numel()) for part in parts])
    example = torch.arange(3).repeat_interleave(torch.tensor([6, 1, 3]))
    graph = LayerEdges(AttentionLayout(torch.empty(2, 0, dtype=torch.long), 10, clique=example))
    x, layers = run_model(model, anatomy, ids, position, torch.zeros_like(ids), graph, return_layers=True)
    assert len(layers) == anatomy.num_layers + 1 == 4
    torch.testing.assert_close(x, layers[-1], rtol=0, atol=0)
    for layer, wanted in zip(layers, zip(*expected)):
        torch.testing.assert_close(layer, torch.cat([x[0] for x in wanted]), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("family", ACCEPTED)
def test_biases_and_norms_of_families_do_not_decay(make_model, make_tokenizer, family):
    encoder = PretrainedEncoder(make_model(family), make_tokenizer())
    check_decay(encoder.parameter_groups(1e-4, weight_decay=0.1), encoder.model, 0.1)


@pytest.mark.parametrize(
    ("family", "why"),
    [
        ("big_bird", "its 3 layers call the attention interface of transformers 0 times"),
        ("deberta", "its 3 layers call the attention interface of transformers 0 times"),
        ("gpt2", "is causal"),
        ("layoutlm", "its own mask"),
        ("mobilebert", "joins neighbours"),
    ],
)
def test_others_are_refused(make_model, family, why):
    model = make_model(family)
    with pytest.raises(ValueError, match=f"{type(model).__name__} cannot run over edges: .*{why}"):
        examine(model)


def test_the_page_on_encoders_names_these_families():
    page = (Path(__file__).parents[3] / "docs/how-to/own-encoder.md").read_text(encoding="utf-8")
    (works,) = re.findall(r"^\| works \| (.*) \|$", page, re.M)
    assert sorted(works.split()) == sorted(ACCEPTED)


def test_a_decoder_of_berts_family_is_refused(make_model):
    with pytest.raises(
        ValueError, match="BertModel cannot run over edges: it is, or has, a decoder.*own-model.md"
    ):
        examine(make_model("bert", is_decoder=True))


def test_a_layer_that_is_not_called_is_refused(make_model):
    model = make_model("bert")
    model.encoder.layer[1].attention = nn.Module()
    model.encoder.layer[1].attention.forward = lambda x, *args, **kwargs: (x, None)
    with pytest.raises(ValueError, match="its 3 layers call the attention interface of transformers 2 times"):
        examine(model)


def test_weights_that_are_no_numbers_are_refused(make_model):
    model = make_model("bert")
    nn.init.constant_(model.encoder.layer[2].output.dense.weight, torch.nan)
    message = "BertModel cannot run over edges: weight 'encoder.layer.2.output.dense.weight' is not finite"
    with pytest.raises(ValueError, match=message):
        examine(model)


def test_one_infinite_weight_is_refused_though_the_trial_does_not_read_it(make_model):
    model = make_model("bert")
    with torch.no_grad():
        model.embeddings.word_embeddings.weight[0, 0] = torch.inf
    with pytest.raises(ValueError, match="weight 'embeddings.word_embeddings.weight' is not finite"):
        examine(model)


def test_what_is_found(make_model):
    bert, roberta, distilbert = (examine(make_model(name)) for name in ("bert", "roberta", "distilbert"))
    assert (bert.hidden_channels, bert.heads, bert.num_layers) == (12, 2, 3)
    assert (bert.first_position, bert.max_length, bert.num_segments) == (0, 40, 2)
    assert (roberta.first_position, roberta.max_length) == (2, 38)  # behind the row of padding
    assert distilbert.num_segments == 0


@pytest.mark.parametrize("training", [True, False])
def test_the_model_is_left_as_it_was(make_model, training):
    model = make_model("bert", hidden_dropout_prob=0.5).train(training)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    for _ in range(2):
        examine(model)
        assert model.training == model.encoder.layer[0].training == training
        assert model.config._attn_implementation == "sdpa"
        assert not any(module._forward_hooks for module in model.modules())
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_blocks(make_model):
    for family, path in (
        ("bert", "encoder.layer"),
        ("distilbert", "transformer.layer"),
        ("eurobert", "layers"),
    ):
        model = make_model(family)
        assert blocks(model, examine(model)) == list(model.get_submodule(path))
    model = make_model("albert")
    (block,) = model.encoder.albert_layer_groups[0].albert_layers
    assert blocks(model, examine(model)) == [block] * 3


# -- attention -------------------------------------------------------------------------------------------


EDGES = torch.tensor([[0, 1, 2, 0], [0, 1, 1, 2]])
MODULE = nn.Identity()


def states(heads=4, key_heads=4):
    generator = torch.Generator().manual_seed(0)
    return [
        torch.randn(1, count, 3, 5, generator=generator, dtype=torch.double)
        for count in (heads, key_heads, key_heads)
    ]


def graph(**options):
    return LayerEdges(AttentionLayout(EDGES, 3), **options)


def test_dropout_of_all_weights():
    q, k, v = states()
    out, _ = graph_attention(MODULE, q, k, v, None, graph=graph(), dropout=1.0)
    assert not out.any()


def test_what_edges_would_overrule():
    with pytest.raises(ValueError, match="Identity has its own mask"):
        graph_attention(MODULE, *states(), torch.zeros(1, 1, 3, 3), graph=graph())
    with pytest.raises(ValueError, match="a window of 8 positions"):
        graph_attention(MODULE, *states(), None, graph=graph(), sliding_window=8)
    with pytest.raises(ValueError, match="call the PretrainedEncoder around it"):
        graph_attention(MODULE, *states(), None)


def test_without_transformers(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ImportError, match=r"needs transformers, which comes with graphdep\[pretrained\]"):
        register()


# -- near ------------------------------------------------------------------------------------------------


# The first layer sees all, the others two places on either side.
OPTIONS = {"local_attention": 4, "global_attn_every_n_layers": 3}
TEXTS = ["a bee sees a low hotel", "hi", "the cat was chased by the dog ."]


@pytest.fixture
def encoder(make):
    return make("modernbert", **OPTIONS)


def padded_states(encoder, padded, batch):
    """Of each example alone, by the model's own attention and windows."""
    parts = [batch.input_ids[batch.batch == number] for number in range(batch.num_graphs)]
    return torch.cat([padded(input_ids=part[None]).last_hidden_state[0] for part in parts])


def test_full_edges_are_the_padded_model(encoder):
    encoder, padded = encoder
    batch = encoder.to_data(TEXTS, parser="chain")
    assert batch.input_ids.numel() > 3 * 5
    torch.testing.assert_close(encoder(batch), padded_states(encoder, padded, batch), rtol=1e-5, atol=1e-6)


def test_dropped_windows_are_a_model_without_any(make, encoder):
    own, _ = encoder
    wide, without = make("modernbert", **{**OPTIONS, "local_attention": 64})
    batch = own.to_data(TEXTS, parser="chain")
    with_windows = own(batch)
    own.windows = "dropped"
    torch.testing.assert_close(own(batch), padded_states(wide, without, batch), rtol=1e-5, atol=1e-6)
    assert not torch.allclose(own(batch), with_windows, atol=1e-3)
    assert "windows='dropped'" in repr(own)


def test_edges_are_met_with_the_window(encoder):
    """As if the far edges were not there, in the layers that have a window."""
    encoder, _ = encoder
    batch = encoder.to_data(TEXTS, parser="chain", edges="dra")
    layers = encoder(batch, return_layers=True)[1]
    source, target = batch.edge_index
    position = torch.cat([torch.arange(n) for n in batch.ptr.diff().tolist()])
    near = (position[source] - position[target]).abs() <= 2
    assert 0 < near.sum() < near.numel()
    encoder.windows = "dropped"
    cut = batch.clone()
    cut.edge_index = batch.edge_index[:, near]
    for key in ("edge_type", "edge_mark"):
        if cut.get(key) is not None:
            cut[key] = cut[key][near]
    torch.testing.assert_close(
        encoder(batch, return_layers=True)[1][1], layers[1]
    )  # the first layer sees all
    # From the same states, a layer over the near edges alone gives what the windowed one did.
    states = {}

    def take(module, args, kwargs, output):
        states["out"] = output[0] if isinstance(output, tuple) else output

    def give(module, args, kwargs):
        return ((layers[1][None],), kwargs) if args else ((), {**kwargs, "hidden_states": layers[1][None]})

    layer = encoder.model.layers[1]
    handles = [
        layer.register_forward_pre_hook(give, with_kwargs=True),
        layer.register_forward_hook(take, with_kwargs=True),
    ]
    encoder(cut)
    for handle in handles:
        handle.remove()
    torch.testing.assert_close(states["out"][0], layers[2])


def test_weights_are_those_of_near_pairs(encoder):
    encoder, _ = encoder
    batch = encoder.to_data(TEXTS[:1], parser="chain")
    (pairs, _), (near, alpha), _ = encoder.attention(batch)
    assert pairs.size(1) == batch.num_nodes**2
    assert ((near[0] - near[1]).abs() <= 2).all()
    total = torch.zeros(batch.num_nodes, alpha.size(1), dtype=alpha.dtype).index_add(0, near[1], alpha)
    torch.testing.assert_close(total, torch.ones_like(total))


@pytest.mark.parametrize("clique", [False, True])
def test_terms_are_those_of_the_edges_that_are_left(clique):
    torch.manual_seed(0)
    edge_index = torch.tensor([[0, 3, 5, 1, 4], [1, 0, 5, 1, 5]])
    position = torch.tensor([0, 1, 2, 3, 4, 5])
    group = torch.zeros(6, dtype=torch.long) if clique else None
    layout = AttentionLayout(edge_index, 6, clique=group)
    near = near_edges(layout, position, 3)
    kept = [0, 2, 3, 4]  # 3 -> 0 is three places away
    query, key, value = torch.randn(3, 6, 2, 4).unbind()
    table, relation = torch.randn(7, 4), torch.tensor([1, 2, 3, 0, 6])
    terms = {
        "attn_bias": torch.randn(5, 2),
        "score_scale": torch.randn(5, 2),
        "edge_key": RelationVectors(table, relation, heads=2),
        "edge_value": None,
    }
    found = edge_attention(query, key, value, near.layout.edge_index, layout=near.layout, **near.terms(terms))
    allowed = torch.zeros(6, 6, dtype=torch.bool)
    for source, target in layout.pairs.T.tolist():
        allowed[target, source] = abs(source - target) < 3
    scores = torch.einsum("ihd,jhd->hij", query, key) / 2
    for number in kept:
        source, target = edge_index[:, number].tolist()
        own = (query[target] * (key[source] + table[relation[number]])).sum(-1) / 2
        scores[:, target, source] = terms["score_scale"][number] * own + terms["attn_bias"][number]
    alpha = scores.masked_fill(~allowed, -torch.inf).softmax(-1).nan_to_num()
    torch.testing.assert_close(found, torch.einsum("hij,jhd->ihd", alpha, value), rtol=1e-5, atol=1e-5)


def test_short_examples_stay_as_they_are():
    layout = AttentionLayout(torch.tensor([[0], [1]]), 4, clique=torch.tensor([0, 0, 1, 1]))
    assert near_edges(layout, torch.tensor([0, 1, 0, 1]), 2).layout is layout
