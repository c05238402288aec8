from __future__ import annotations

import pytest
import torch

from graphdep.tasks.labels.model import build_label_model
from graphdep.training import TrainConfig
from graphdep.training.build import Parts, load_pretrained
from graphdep.vocab import RelationVocab


@pytest.mark.parametrize("model", ["bert-dt", "bert-g2g", "bert-dam"])
def test_rows_on_a_pretrained_encoder_differ_by_their_syntax_alone(encoder, model):
    marks, heads = [], []
    for row in ("bert", model):
        config = TrainConfig.of(row, task="propbank-ewt", encoder=encoder, max_length=24)
        parts = Parts(0, len(RelationVocab()), pretrained=load_pretrained(config))
        torch.manual_seed(0)
        built = build_label_model(config, parts, num_classes=5)
        marks.append(built.encoder.marks.weight)
        heads.append(torch.cat([p.flatten() for p in built.head.parameters()]))
    assert torch.equal(*marks)
    assert torch.equal(*heads)
