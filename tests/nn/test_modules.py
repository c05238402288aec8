"""What holds for every module with parameters; encoders, convs, decoders and matching models have laws of
their own beside it.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from graphdep.nn import models as M
from graphdep.nn.attention import GatedRelationScore, RelationKeyValue
from graphdep.nn.conv import AttentionConv, ConstituentConv, RelationKeyValueConv


def transformer() -> M.GraphTransformer:
    sizes = {"hidden_channels": 8, "num_layers": 2, "ff_channels": 8, "segments": 2}
    return M.GraphTransformer(9, lambda _: AttentionConv(8, 4, 2), **sizes)


MODULES: dict[str, Callable[[], nn.Module]] = {
    "gate": lambda: GatedRelationScore(8, 2, 6),
    "no gate": lambda: GatedRelationScore(8, 2, 6, gate=None),
    "key and value": lambda: RelationKeyValue(6, 2, 4, start="random"),
    "key and value conv": lambda: RelationKeyValueConv(8, 4, 2, num_relations=6),
    "constituent conv": lambda: ConstituentConv(8, 4, 2),
    "layer": lambda: M.TransformerLayer(AttentionConv(8, 4, 2), 8, 16),
    "nodes": lambda: M.NodeEmbedding(9, 6, segments=2),
    "nodes of vectors": lambda: M.NodeEmbedding(9, 6, vectors=torch.randn(9, 4)),
    "relations": lambda: M.RelationEmbedding(7, 5),
    "classes": lambda: M.ClassificationHead(8, 3),
    "classes as BERT's": lambda: M.ClassificationHead(8, 3, std=0.02),
    "relatedness": lambda: M.RelatednessHead(8, 3, 4),
    "masked words": lambda: M.MaskedWordHead(8, 9),
    "sentences": lambda: M.SentenceModel(transformer(), M.ClassificationHead(8, 3)),
    "pairs": lambda: M.SentencePairModel(transformer(), M.RelatednessHead(8, 3)),
    "words": lambda: M.TokenModel(transformer(), 3),
    "spans": lambda: M.SpanModel(transformer(), M.SpanReadout(), 3),
    "scaffold": lambda: M.SyntacticScaffold(8, num_relations=5),
    "crf": lambda: M.LinearChainCRF(num_labels=3),
    "selection": lambda: M.SelectionModel(transformer(), mlp_layers=2),
    "speakers": lambda: M.SpeakerSelectionModel(transformer()),
    "manipulation": lambda: M.UtteranceManipulationModel(transformer()),
    "structure": lambda: M.StructuralDialogueModel(transformer()),
    "post-training": lambda: M.PostTrainingModel(transformer()),
    "sia": lambda: M.SIA(transformer(), heads=2),
    "sia in blocks": lambda: M.SIA(transformer(), heads=2, block="bert"),
}


@pytest.mark.parametrize("name", MODULES)
def test_resetting_draws_everything_anew(name: str) -> None:
    module = MODULES[name]()
    for parameter in module.parameters():
        nn.init.constant_(parameter, torch.nan)
    module.reset_parameters()
    assert not [key for key, parameter in module.named_parameters() if not parameter.isfinite().all()]
