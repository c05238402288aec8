from __future__ import annotations

import torch
from torch import nn
from torch_geometric.data import Batch

from graphdep import Vocab
from graphdep.datasets import Masking, PostTrainingDataset
from graphdep.nn.conv import DRAConv
from graphdep.nn.models import GraphTransformer, PostTrainingModel
from graphdep.transforms import resolve
from graphdep.vocab import VocabTokens

DIALOGUES = [["a b", "c", "d e f", "b"], ["c a", "f f"], ["e", "a d", "b c"]]
VOCAB = Vocab("abcdef")
NUM_WORDS = len(VOCAB) + 1  # [MASK] is the last


def make_encoder(**options):
    return GraphTransformer(
        NUM_WORDS,
        lambda number: DRAConv(8, 4, heads=2),
        **{"hidden_channels": 8, "num_layers": 2, "ff_channels": 16, "dropout": 0.0} | options,
    )


def make_data(share: float = 0.5):
    masking = Masking(NUM_WORDS - 1, range(5, NUM_WORDS - 1), share)
    edges = resolve("transformer")
    return list(PostTrainingDataset(DIALOGUES, VocabTokens(VOCAB), masking, transform=edges))


def test_logits_are_those_of_the_masked_nodes_and_of_cls():
    torch.manual_seed(0)
    model, batch = PostTrainingModel(make_encoder()), Batch.from_data_list(make_data())
    words, relevance = model(batch)
    x = model.encoder(batch)
    nodes = [i for i, target in enumerate(batch.mlm_target.tolist()) if target != -100]
    assert len(nodes) > 5
    expected = model.words(x[nodes], model.encoder.embedding.word.weight)
    assert torch.allclose(words, expected, atol=1e-6)
    cls = [i for i, kind in enumerate(batch.node_type.tolist()) if kind == 3]
    expected = torch.tanh(x[cls] @ model.pool.weight.T + model.pool.bias)
    assert torch.allclose(relevance, model.relevance(expected), atol=1e-6)
    assert relevance.shape == (len(make_data()), 3)


def test_a_batch_is_its_samples_and_a_single_sample_needs_none():
    model, samples = PostTrainingModel(make_encoder()), make_data()
    batched = model(Batch.from_data_list(samples))
    alone = [model(sample) for sample in samples]
    for got, parts in zip(batched, zip(*alone)):
        assert torch.allclose(got, torch.cat(parts), atol=1e-5)


def test_nothing_masked():
    words, relevance = PostTrainingModel(make_encoder())(Batch.from_data_list(make_data(1e-9)))
    assert words.shape == (0, NUM_WORDS)
    assert relevance.isfinite().all()


def test_the_input_vectors_are_shared():
    model, batch = PostTrainingModel(make_encoder()), Batch.from_data_list(make_data())
    table = model.encoder.embedding.word.weight
    model(batch)[0].square().sum().backward()
    unused = sorted({*range(NUM_WORDS)} - {*batch.input_ids.tolist()})
    assert unused
    assert table.grad[unused].abs().min() > 0  # as targets they count, though no node has them
    assert [name for name, p in model.named_parameters() if p.shape == table.shape] == [
        "encoder.embedding.word.weight"
    ]


def test_input_vectors_of_another_size():
    vectors = torch.randn(NUM_WORDS, 5)
    model = PostTrainingModel(make_encoder(vectors=vectors))
    assert model.words.lin.out_features == 5
    assert model(make_data()[0])[0].size(-1) == NUM_WORDS


def test_reset():
    """Everything is drawn anew, but at construction the encoder keeps its weights."""
    encoder = make_encoder()
    before = {key: value.clone() for key, value in encoder.state_dict().items()}
    model = PostTrainingModel(encoder)
    assert all(torch.equal(value, before[key]) for key, value in encoder.state_dict().items())
    for parameter in model.parameters():
        nn.init.constant_(parameter, torch.nan)
    model.reset_parameters()
    assert all(bool(parameter.isfinite().all()) for parameter in model.parameters())
    assert not torch.equal(encoder.embedding.word.weight, before["embedding.word.weight"])


def test_reset_leaves_a_pretrained_encoder():
    model = PostTrainingModel(Learnt())
    words = model.words.lin.weight.clone()
    model.reset_parameters()
    assert model.encoder.model.get_input_embeddings().weight.eq(1).all()
    assert not torch.equal(model.words.lin.weight, words)


class Learnt(nn.Module):
    """As a pretrained encoder, with nothing but its table."""

    hidden_channels = 4

    def __init__(self):
        super().__init__()
        self.model = nn.Module()
        self.model.table = nn.Embedding.from_pretrained(torch.ones(9, 4))
        self.model.get_input_embeddings = lambda: self.model.table

    def reset_parameters(self):
        pass


def test_autocast():
    model, batch = PostTrainingModel(make_encoder()), Batch.from_data_list(make_data())
    words, relevance = model(batch)
    with torch.autocast("cpu", torch.bfloat16):
        half_words, half_relevance = model(batch)
    assert half_words.dtype == torch.bfloat16
    assert torch.allclose(half_words.float(), words, atol=0.1)
    assert torch.allclose(half_relevance.float(), relevance, atol=0.05)
