from __future__ import annotations

import pytest
import torch
from torch import nn
from torch_geometric.data import Batch
from torch_geometric.explain.algorithm.utils import clear_masks, set_masks

from graphdep import RelationVocab, Sentence, Vocab, to_data
from graphdep.nn import models as M
from graphdep.nn.conv import AttentionConv
from graphdep.nn.explain import ExplainableModel
from graphdep.transforms import resolve
from graphdep.visualization.attention import edge_masks

WORDS = ["I", "saw", "big", "dogs"]
VOCAB, RELATIONS = Vocab(WORDS), RelationVocab()
SENTENCE = Sentence(WORDS, [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
SIZES = {"hidden_channels": 8, "num_layers": 2, "ff_channels": 8}


def example(edges: str, texts: int = 1):
    data = to_data([SENTENCE] * texts, vocab=VOCAB, relations=RELATIONS)
    return resolve(edges)(Batch.from_data_list([data]))


def sentence_model():
    encoder = M.GraphTransformer(len(VOCAB), lambda layer: AttentionConv(8, 4, 2), **SIZES)
    return M.SentenceModel(encoder, M.ClassificationHead(8, 3)), example("dra")


def typed_model():
    encoder = M.DependencyTransformer(len(VOCAB), len(RELATIONS), heads=2, relation_dim=4, **SIZES)
    return M.SentenceModel(encoder, M.ClassificationHead(8, 3)), example("dt")


@pytest.mark.parametrize("make", [sentence_model, typed_model])
def test_the_gradient_is_what_a_little_less_of_an_edge_changes(make) -> None:
    """Against differences: the logarithm of the answer's odds with a factor of 1 +- h on one edge."""
    torch.manual_seed(0)
    model, data = make()
    model.eval()
    mask = edge_masks(model, data, ["gradient"])["gradient"]
    assert all(parameter.requires_grad for parameter in model.parameters())
    explained, step, slow = ExplainableModel(model, data), 0.02, []
    with torch.no_grad():
        best = int(explained(explained.x, data.edge_index).argmax())
        for edge in range(data.num_edges):
            values = []
            for factor in (1 + step, 1 - step):
                factors = torch.ones(data.num_edges)
                factors[edge] = factor
                set_masks(explained, nn.Parameter(factors), data.edge_index, apply_sigmoid=False)
                share = explained(explained.x, data.edge_index).double().softmax(dim=-1)[0, best]
                values.append(float(torch.log(share / (1 - share))))
                clear_masks(explained)
            slow.append(abs(values[0] - values[1]) / (2 * step))
    assert torch.allclose(mask, torch.tensor(slow), atol=2e-4)
    assert float(mask.max()) > 0


def test_of_words_those_asked_for_are_explained() -> None:
    torch.manual_seed(0)
    encoder = M.GraphTransformer(
        len(VOCAB), lambda layer: AttentionConv(8, 4, 2), **SIZES | {"num_layers": 1}
    )
    model, data = M.TokenModel(encoder, 3).eval(), example("dra")
    found = [edge_masks(model, data, ["gradient"], torch.tensor([node]))["gradient"] for node in (1, 2)]
    for mask, node in zip(found, (1, 2)):  # one layer: what comes to the word alone
        assert set(data.edge_index[1, mask > 0].tolist()) == {node}
    mask = edge_masks(model, data, ["gnnexplainer"], torch.tensor([1]))["gnnexplainer"]
    assert mask.shape == (data.num_edges,)


def test_pygs_explainer_gives_the_same_each_time() -> None:
    torch.manual_seed(0)
    model, data = sentence_model()
    torch.manual_seed(1)
    first = edge_masks(model.eval(), data, ["gnnexplainer"])
    after = torch.rand(1)
    torch.manual_seed(1)
    assert torch.equal(after, torch.rand(1))  # the caller's random numbers are as they were
    second = edge_masks(model, data, ["gnnexplainer", "gradient"])
    assert [*second] == ["gnnexplainer", "gradient"]
    assert torch.equal(first["gnnexplainer"], second["gnnexplainer"])
    assert bool(((first["gnnexplainer"] >= 0) & (first["gnnexplainer"] <= 1)).all())
    with pytest.raises(ValueError, match="'explain' must be one of gradient, gnnexplainer"):
        edge_masks(model, data, ["captum"])
