from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from torch import nn

from graphdep.nn.attention import AttentionLayout
from graphdep.nn.pretrained.anatomy import NAME, LayerEdges, blocks, examine, hook_blocks, run_model

ACCEPTED = (
    *("bert", "roberta", "electra", "distilbert", "albert", "camembert", "eurobert", "esm", "modernbert"),
    *("ernie", "xlm-roberta"),
)


@pytest.mark.parametrize("family", ACCEPTED)
def test_families_over_packed_examples(make_model, family):
    model = make_model(family).eval()
    parts = [torch.tensor([7, 9, 8, 30, 31, 5]), torch.tensor([12]), torch.tensor([9, 9, 40])]
    expected = [model(input_ids=part[None], output_hidden_states=True).hidden_states for part in parts]
    anatomy = examine(model)
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


@pytest.mark.parametrize(
    ("family", "why"),
    [
        ("deberta-v2", "its 3 layers call the attention interface of transformers 0 times"),
        ("mpnet", "its 3 layers call the attention interface of transformers 0 times"),
        ("t5", "is a decoder or has one"),
        ("gpt2", "is causal"),
        ("layoutlm", "mask of its own"),
        ("mobilebert", "joins neighbours"),
        ("roformer", "takes no position_ids"),
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
    with pytest.raises(ValueError, match="BertModel cannot run over edges: it is a decoder or has one"):
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
