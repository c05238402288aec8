from __future__ import annotations

import random

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader

from graphdep import Vocab, to_data
from graphdep.decoding import DecodeConfig
from graphdep.nn.models import (
    ContextEncoder,
    DependencyTransformer,
    DialogueModel,
    HRANDecoder,
    HREDDecoder,
    TransformerDecoder,
)
from graphdep.nn.models.transformer import Memory, example_bounds
from graphdep.transforms import resolve
from tests.kit.trees import random_sentence

VOCAB = Vocab("abcdefgh")


class Encoder(ContextEncoder):
    """The nodes of a Transformer over the data's edges, and an objective beside the response."""

    def __init__(self) -> None:
        super().__init__()
        self.transformer = DependencyTransformer(
            len(VOCAB),
            1,
            hidden_channels=8,
            num_layers=1,
            heads=2,
            ff_channels=8,
            dropout=0.2,
            relation_attention=False,
            level_embedding=False,
            position_embedding=False,
        )
        self.embedding, self.hidden_channels = self.transformer.embedding, 8

    def forward(self, data: Data) -> Memory:
        return Memory(self.transformer(data), example_bounds(data), data.utterance)

    def auxiliary(self, data: Data, memory: Memory) -> dict[str, Tensor]:
        return {"size": memory.x.square().mean()}


DECODERS = {
    "transformer": lambda e: TransformerDecoder(e, 8, num_layers=1, heads=2, ff_channels=8),
    "hred": lambda e: HREDDecoder(e, 8),
    "hran": lambda e: HRANDecoder(e, 8),
}
each_decoder = pytest.mark.parametrize("decoder", DECODERS)


def make(decoder: str = "transformer") -> DialogueModel:
    torch.manual_seed(1)
    encoder = Encoder()
    model = DialogueModel(encoder, DECODERS[decoder](encoder.embedding))
    for parameter in model.parameters():  # or the responses of all contexts are alike
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.8)
    return model.eval()


def dialogue(seed: int) -> Data:
    rng = random.Random(seed)
    data = to_data([random_sentence(rng, rng.randint(1, 5)) for _ in range(rng.randint(1, 3))], vocab=VOCAB)
    data.target_ids = torch.tensor([rng.randrange(5, len(VOCAB)) for _ in range(rng.randint(0, 5))] + [4])
    return resolve("dra")(data)


DIALOGUES = [dialogue(seed) for seed in range(5)]


def batch() -> Batch:
    return next(iter(DataLoader(DIALOGUES, batch_size=5, follow_batch=["target_ids"])))


@each_decoder
def test_a_batch_is_its_dialogues(decoder: str) -> None:
    model, data = make(decoder), batch()
    logits, losses = model(data), model.token_losses(data)
    assert logits.shape == (data.target_ids.numel(), len(VOCAB))
    for i, alone in enumerate(DIALOGUES):
        own = slice(*data.target_ids_ptr[i : i + 2])
        assert torch.allclose(model(alone), logits[own], atol=1e-4)
        assert torch.allclose(model.token_losses(alone), losses[own], atol=1e-4)
    expected = [-row.log_softmax(0)[target] for row, target in zip(logits, data.target_ids)]
    assert torch.allclose(losses, torch.stack(expected), atol=1e-5)


def test_losses() -> None:
    model, data = make(), batch()
    assert [*model.losses(data)] == ["response"]
    response = model.losses(data)["response"]
    assert torch.allclose(response, model.token_losses(data).mean())
    assert torch.allclose(response, F.cross_entropy(model(data), data.target_ids))
    model.train()
    losses = model.losses(data)
    assert [*losses] == ["response", "size"]
    assert not torch.allclose(losses["response"], response)  # dropout
    sum(losses.values()).backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


@each_decoder
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"strategy": "beam", "beams": 3, "num_return": 2},
        {"strategy": "sample", "num_return": 3, "top_k": 5},
    ],
    ids=["greedy", "beam", "sample"],
)
def test_responses_of_a_batch_are_those_of_its_dialogues(decoder: str, options: dict) -> None:
    model, config = make(decoder), DecodeConfig(max_length=6, **options)
    together = model.generate(batch(), config)
    assert len({results[0].ids for results in together}) > 1
    for alone, results in zip(DIALOGUES, together):
        [expected] = model.generate(alone, config)
        assert [(h.ids, h.finished) for h in results] == [(h.ids, h.finished) for h in expected]
        assert [h.score for h in results] == pytest.approx([h.score for h in expected], abs=1e-3)


def test_generation_is_without_dropout_and_leaves_the_mode() -> None:
    model, config = make(), DecodeConfig(max_length=6)
    expected = model.generate(batch(), config)
    model.train()
    assert model.generate(batch(), config) == expected
    assert model.training
    assert model.encoder.training


def test_scores_are_the_models_losses() -> None:
    model, config = make(), DecodeConfig(max_length=6)
    data = DIALOGUES[0].clone()
    [[response]] = model.generate(data, config)
    data.target_ids = torch.tensor([*response.ids, 4] if response.finished else [*response.ids])
    mean = model.token_losses(data).mean().item()
    assert response.score == pytest.approx(-mean, abs=1e-4)


def test_word_vectors_are_shared_and_drawn_once() -> None:
    model = make()
    assert model.decoder.embedding is model.encoder.embedding
    for parameter in model.parameters():
        torch.nn.init.constant_(parameter, torch.nan)
    model.reset_parameters()
    assert all(p.isfinite().all() for p in model.parameters())


def test_data_that_cannot_serve() -> None:
    model = make()
    with pytest.raises(ValueError, match="no 'target_ids_ptr': make it with DataLoader"):
        model(Batch.from_data_list(DIALOGUES))
    data = DIALOGUES[0].clone()
    del data.target_ids
    with pytest.raises(ValueError, match="no 'target_ids'"):
        model(data)
    assert len(model.generate(data, DecodeConfig(max_length=3))) == 1


@each_decoder
def test_a_decoder_that_does_not_fit(decoder: str) -> None:
    encoder, other = Encoder(), Encoder()
    with pytest.raises(ValueError, match="'decoder' must share the embedding of 'encoder'"):
        DialogueModel(encoder, DECODERS[decoder](other.embedding))


@pytest.mark.parametrize("training", [True, False])
def test_generation_leaves_every_module_in_its_mode(training: bool) -> None:
    model, config = make().train(training), DecodeConfig(max_length=3)
    model.encoder.train(not training)  # e.g. frozen
    modes = {name: module.training for name, module in model.named_modules()}
    model.generate(batch(), config)
    assert {name: module.training for name, module in model.named_modules()} == modes
    with pytest.raises(AttributeError):
        model.generate(batch(), None)
    assert {name: module.training for name, module in model.named_modules()} == modes
