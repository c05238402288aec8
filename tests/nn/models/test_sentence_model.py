from __future__ import annotations

import random

import pytest
import torch
from torch import nn
from torch_geometric.data import Batch, Data

from graphdep import RelationVocab, Vocab, to_data
from graphdep.nn.models import ClassificationHead, DependencyTransformer, SentenceModel
from graphdep.testing import random_sentence
from graphdep.transforms import resolve

VOCAB, RELATIONS = Vocab("abcdefgh"), RelationVocab()


def make() -> SentenceModel:
    torch.manual_seed(0)
    sizes = {"hidden_channels": 12, "num_layers": 1, "heads": 3, "relation_dim": 5, "ff_channels": 10}
    encoder = DependencyTransformer(len(VOCAB), len(RELATIONS), **sizes)
    return SentenceModel(encoder, ClassificationHead(12, 3)).double()


def example(seed: int, sentences: int = 1, **options: bool) -> Data:
    rng = random.Random(seed)
    parsed = [random_sentence(rng, rng.randint(1, 5)) for _ in range(sentences)]
    return resolve("dt")(to_data(parsed, vocab=VOCAB, **options))


def test_classifies_the_sentence_of_each_example() -> None:
    model = make()
    data = Batch.from_data_list([example(seed) for seed in range(4)])
    out = model(data)
    assert out.shape == (4, 3)
    vectors = model.encoder(data)[data.ptr[:-1]]  # ROOT comes first
    torch.testing.assert_close(out, model.head(vectors), rtol=0, atol=1e-12)
    for b in range(4):
        torch.testing.assert_close(model(example(b)), out[b : b + 1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("sizes", [[2], [1, 2], [2, 1], [1, 3, 1]])
def test_every_example_is_a_sentence(sizes: list[int]) -> None:
    data = Batch.from_data_list([example(seed, size) for seed, size in enumerate(sizes)])
    place = next(i for i, size in enumerate(sizes) if size != 1)
    with pytest.raises(ValueError, match=f"has one sentence \\(got {sizes[place]} in example {place}\\)"):
        make()(data)


def test_a_sentence_without_root() -> None:
    data = Batch.from_data_list([example(1), example(2, root=False)])
    with pytest.raises(ValueError, match="has one sentence \\(got 0 in example 1\\)"):
        make()(data)
    with pytest.raises(ValueError, match="no ROOT nodes"):
        make()(example(2, root=False))


def test_reset_parameters() -> None:
    model = make()
    for parameter in model.parameters():
        nn.init.constant_(parameter, torch.nan)
    model.reset_parameters()
    assert all(bool(parameter.isfinite().all()) for parameter in model.parameters())
