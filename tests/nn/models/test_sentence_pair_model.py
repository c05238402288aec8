from __future__ import annotations

import random

import pytest
import torch
from torch import nn
from torch_geometric.data import Batch, Data

from graphdep import RelationVocab, Vocab, to_data
from graphdep.nn.models import DependencyTransformer, RelatednessHead, SentencePairModel
from graphdep.transforms import resolve
from tests.kit.trees import random_sentence

VOCAB, RELATIONS = Vocab("abcdefgh"), RelationVocab()


def make() -> SentencePairModel:
    torch.manual_seed(0)
    sizes = {"hidden_channels": 12, "num_layers": 1, "heads": 3, "relation_dim": 5, "ff_channels": 10}
    encoder = DependencyTransformer(len(VOCAB), len(RELATIONS), **sizes)
    return SentencePairModel(encoder, RelatednessHead(12, 3)).double()


def example(seed: int, sentences: int = 2) -> Data:
    rng = random.Random(seed)
    return to_data([random_sentence(rng, rng.randint(1, 5)) for _ in range(sentences)], vocab=VOCAB)


def test_compares_the_two_sentences_of_each_example() -> None:
    model = make()
    data = resolve("dt")(Batch.from_data_list([example(seed) for seed in range(4)]))
    out = model(data)
    assert out.shape == (4, 3)
    vectors = model.encoder.readout(data, model.encoder(data))
    for b in range(4):
        expected = model.head(vectors[2 * b], vectors[2 * b + 1])
        torch.testing.assert_close(out[b], expected, rtol=0, atol=1e-12)
        torch.testing.assert_close(model(resolve("dt")(example(b))), out[b : b + 1], rtol=0, atol=1e-12)


def test_the_head_is_injected() -> None:
    class Left(nn.Module):
        def forward(self, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
            return left

    model = SentencePairModel(make().encoder, Left())
    data = resolve("dt")(example(1))
    assert torch.equal(model(data), model.encoder(data)[:1])


@pytest.mark.parametrize("sizes", [[1], [3], [2, 1], [2, 3], [1, 3], [3, 1], [2, 1, 3]])
def test_every_example_is_a_pair(sizes: list[int]) -> None:
    data = Batch.from_data_list([example(seed, size) for seed, size in enumerate(sizes)])
    wrong = next(size for size in sizes if size != 2)
    with pytest.raises(ValueError, match=f"pairs have two sentences each \\(got {wrong}"):
        make()(resolve("dt")(data))


def test_a_single_sentence_is_no_pair() -> None:
    with pytest.raises(ValueError, match="pairs have two sentences each \\(got 1"):
        make()(resolve("dt")(example(1, 1)))


def test_reset_parameters() -> None:
    model = make()
    for parameter in model.parameters():
        nn.init.constant_(parameter, torch.nan)
    model.reset_parameters()
    assert all(bool(parameter.isfinite().all()) for parameter in model.parameters())
