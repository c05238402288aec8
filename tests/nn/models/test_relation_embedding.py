from __future__ import annotations

import pytest
import torch
from torch import nn

from graphdep.nn.models import RelationEmbedding

IDS = torch.tensor([3, 0, 3, 6])


def test_a_relation_and_its_kind():
    embedding = RelationEmbedding(7, 5)
    expected = torch.stack([embedding.relation.weight[i] + embedding.kind for i in IDS.tolist()])
    torch.testing.assert_close(embedding(IDS), expected)
    assert embedding(IDS[:0]).shape == (0, 5)


def test_without_the_kind():
    embedding = RelationEmbedding(7, 5, type_embedding=False)
    assert torch.equal(embedding(IDS), embedding.relation.weight[IDS])
    assert [name for name, _ in embedding.named_parameters()] == ["relation.weight"]


def test_drawn_as_berts():
    torch.manual_seed(0)
    embedding = RelationEmbedding(400, 300)
    for parameter in embedding.parameters():
        assert 0.018 < float(parameter.detach().std()) < 0.022
        nn.init.constant_(parameter, torch.nan)
    embedding.reset_parameters()
    assert all(bool(parameter.isfinite().all()) for parameter in embedding.parameters())


def test_another_deviation():
    torch.manual_seed(0)
    assert 0.9 < float(RelationEmbedding(400, 300, std=1.0).relation.weight.detach().std()) < 1.1


def test_errors_and_repr():
    for number in (7, -1):
        with pytest.raises(ValueError, match=f"'deprel' holds relation {number}, but there are 7"):
            RelationEmbedding(7, 5)(torch.tensor([2, number]))
    assert str(RelationEmbedding(7, 5)) == "RelationEmbedding(7, 5, type_embedding=True)"
