from __future__ import annotations

import pytest
import torch

pytest.importorskip("transformers")

from graphdep.nn.attention import GatedRelationScore, RelationKeyValue
from graphdep.nn.pretrained import PretrainedEncoder, load_encoder
from graphdep.parsing.parser import ChainParser
from graphdep.tasks.sentences.model import build_pretrained_model
from graphdep.training import TrainConfig
from graphdep.training.build import pretrained_edges
from graphdep.vocab import RelationVocab
from tests.kit.tiny_encoder import write_tiny_encoder

TEXTS = ["a b c d", ("e f g", "h i")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_tiny_encoder(tmp_path_factory.mktemp("bert"))


def built(
    folder: str, model: str, **settings: object
) -> tuple[PretrainedEncoder, torch.Tensor, torch.Tensor]:
    """An encoder with its method, and its states with and without it."""
    config = TrainConfig.of(model, task="sst", encoder=folder, **settings)
    plain, encoder = load_encoder(folder), load_encoder(folder)
    torch.manual_seed(0)
    build_pretrained_model(config, 2, len(RelationVocab()), encoder)
    data = encoder.to_data(TEXTS, ChainParser(), pretrained_edges(config))
    return encoder, encoder(data), plain(data)


def test_layers_share_the_relation_vectors_of_the_first(folder):
    encoder = built(folder, "bert-dt")[0]
    scores = [*encoder.terms.values()]
    assert len(scores) == 2
    assert all(isinstance(score, GatedRelationScore) for score in scores)
    assert scores[0].relation is scores[1].relation
    assert [name for name in encoder.state_dict() if "own_relation" in name] == [
        "terms.0.own_relation.weight"
    ]


@pytest.mark.parametrize("model", ["bert-dt", "bert-dt-lr", "bert-g2g", "bert-g2g-code"])
def test_where_terms_start(folder, model):
    _, out, expected = built(folder, model)
    torch.testing.assert_close(out, expected, rtol=0, atol=1e-6)
    encoder, out, expected = built(folder, model, relation_start="random")
    assert not torch.equal(out, expected)
    for terms in encoder.terms.values():
        assert terms.start == "random"
        assert not isinstance(terms, RelationKeyValue) or terms.key.weight.any()


def test_pairs_without_a_relation_may_go_through_the_gate(folder):
    keep, gate = (
        built(folder, "bert-dt", untyped=untyped, relation_start="random")[1] for untyped in ("keep", "gate")
    )
    assert not torch.equal(keep, gate)
