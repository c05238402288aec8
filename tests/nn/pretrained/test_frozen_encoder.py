from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch

from graphdep.nn.models import (
    ClassificationHead,
    FrozenEncoder,
    RelatednessHead,
    SentenceModel,
    SentencePairModel,
)
from graphdep.nn.models import transformer as _single_texts
from graphdep.nn.pretrained import PretrainedEncoder, load_encoder
from tests.kit.tiny_encoder import write_tiny_encoder

PAIRS = [("a cat", "it sat."), ("dogs run", "a cat"), ("so", "no, it is not")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_tiny_encoder(tmp_path_factory.mktemp("bert"))


@pytest.fixture
def encoder(folder: str) -> PretrainedEncoder:
    return load_encoder(folder)


def batch_of(encoder: PretrainedEncoder, texts) -> Batch:
    return encoder.to_data(texts, "chain")


def literal(folder: str, texts) -> Tensor:
    """Text by text, by the model that Hugging Face made; a letter is a piece."""
    from transformers import AutoModel, AutoTokenizer

    model, tokenizer = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    rows = []
    for text in texts:
        with torch.no_grad():
            x = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0]
        rows.append(x[1:-1].mean(dim=0))
    return torch.stack(rows)


def test_vectors_are_means_over_the_pieces_of_each_text_alone(folder, encoder) -> None:
    frozen = FrozenEncoder(encoder)
    expected = literal(folder, [text for pair in PAIRS for text in pair])
    data = batch_of(encoder, PAIRS)
    x = frozen(data)
    torch.testing.assert_close(frozen.readout(data, x), expected, rtol=0, atol=1e-6)
    of = [2 * b + s for b, s in zip(data.batch.tolist(), data.segment.tolist())]
    assert torch.equal(x, frozen.readout(data, x)[of])
    single = batch_of(encoder, [pair[0] for pair in PAIRS])
    torch.testing.assert_close(frozen.readout(single, frozen(single)), expected[::2], rtol=0, atol=1e-6)
    (one,) = batch_of(encoder, PAIRS[:1]).to_data_list()
    torch.testing.assert_close(frozen.readout(one, frozen(one)), expected[:2], rtol=0, atol=1e-6)
    torch.testing.assert_close(frozen.double()(data), x.double(), rtol=0, atol=1e-6)


def test_edges_and_positions_of_the_data_are_not_read(encoder) -> None:
    frozen, data = FrozenEncoder(encoder), batch_of(encoder, PAIRS)
    other = encoder.to_data(PAIRS, "chain", edges="dra")
    other.position = other.position.flip(0)
    assert torch.equal(frozen(data), frozen(other))


def test_a_text_without_pieces_has_zeros(encoder) -> None:
    frozen, data = FrozenEncoder(encoder), batch_of(encoder, PAIRS)
    data.word[data.segment == 1] = -1
    vectors = frozen.readout(data, frozen(data)).view(3, 2, 8)
    assert vectors[:, 0].any(dim=1).all()
    assert not vectors[:, 1].any()


def test_what_is_remembered_is_not_read_again(encoder, monkeypatch) -> None:
    read, real = [], _single_texts._read

    def counted(encoder, texts):
        read.extend(texts)
        return real(encoder, texts)

    monkeypatch.setattr(_single_texts, "_read", counted)
    frozen, data = FrozenEncoder(encoder), batch_of(encoder, PAIRS)
    before = frozen(data)
    assert len(read) == len(set(read)) == 5  # one text is there twice
    with torch.inference_mode():  # as in a validation
        assert frozen.remember(data.to_data_list()[:2]) is frozen
    assert len(read) == 5 + 3
    torch.testing.assert_close(frozen(data), before, rtol=0, atol=1e-6)
    assert len(read) == 5 + 3 + 2
    frozen.remember([data])
    assert len(read) == 5 + 3 + 2 + 2
    after = frozen(data)
    assert len(read) == 5 + 3 + 2 + 2
    torch.testing.assert_close(after, before, rtol=0, atol=1e-6)
    assert (after * torch.ones(8, requires_grad=True)).sum().requires_grad
    assert "texts=5" in str(frozen)
    assert torch.equal(copy.deepcopy(frozen)(data), after)
    assert not [name for name in frozen.state_dict() if "known" in name]


def test_nothing_of_it_is_trained(encoder) -> None:
    torch.manual_seed(0)
    encoder.train()
    model = SentencePairModel(FrozenEncoder(encoder), RelatednessHead(8, 3, 4))
    assert model.train().training  # in which it has no dropout
    data = batch_of(encoder, PAIRS)
    assert torch.equal(model(data), model(data))
    model(data).sum().backward()
    trained = {name for name, parameter in model.named_parameters() if parameter.grad is not None}
    assert trained == {f"head.{name}" for name, _ in model.head.named_parameters()}
    assert trained == {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    vectors = model.encoder.readout(data, model.encoder(data))
    assert torch.equal(model(data), model.head(vectors[::2], vectors[1::2]))


def test_it_reads_in_full_precision(encoder) -> None:
    frozen, data = FrozenEncoder(encoder), batch_of(encoder, PAIRS)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(frozen(data), frozen(data.clone()))
        out = frozen(data)
    assert torch.equal(out, frozen(data))


def test_heads_are_asked_for_the_texts_that_there_are(encoder) -> None:
    frozen = FrozenEncoder(encoder)
    model = SentencePairModel(frozen, RelatednessHead(8, 3, 4))
    with pytest.raises(ValueError, match="pairs have two sentences each \\(got 1 in example 0\\)"):
        model(batch_of(encoder, ["a cat", "so"]))
    single = SentenceModel(frozen, ClassificationHead(8, 2))
    assert single(batch_of(encoder, ["a cat", "so"])).shape == (2, 2)


@pytest.mark.cuda
def test_cuda(encoder) -> None:
    data = batch_of(encoder, PAIRS)
    expected = FrozenEncoder(encoder)(data)
    frozen = FrozenEncoder(encoder).cuda().remember([data])
    torch.testing.assert_close(frozen(data.clone().to("cuda")).cpu(), expected, rtol=0, atol=1e-4)
