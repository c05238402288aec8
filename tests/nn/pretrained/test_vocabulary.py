from __future__ import annotations

import pytest
import torch

from graphdep.nn.pretrained.vocabulary import fit_vocabulary


def table(model):
    return model.get_input_embeddings().weight.detach().clone()


def test_a_known_symbol_changes_nothing(make_model, make_tokenizer):
    model, tokenizer = make_model("bert"), make_tokenizer()
    before = table(model)
    fit_vocabulary(model, tokenizer, "[EOU]")
    assert torch.equal(table(model), before)
    assert tokenizer.get_vocab()["[EOU]"] == 4


@pytest.mark.parametrize("vocab_size", [59, 60, 100])
def test_a_new_symbol(make_model, make_tokenizer, vocab_size):
    model, tokenizer = make_model("bert", vocab_size=vocab_size), make_tokenizer(eou=None)
    before = table(model)
    fit_vocabulary(model, tokenizer, "[eos]")
    after = table(model)
    row = tokenizer.convert_tokens_to_ids("[eos]")
    assert row == 59
    assert after.size(0) == model.config.vocab_size == max(vocab_size, 60)
    others = torch.arange(before.size(0)) != row
    assert torch.equal(after[: before.size(0)][others], before[others])
    distance = (after[row] - before.mean(dim=0)).abs()
    assert 0 < distance.max() < 0.05 * before.std()


def test_the_noise_is_the_same_each_time(make_model, make_tokenizer):
    models = [make_model("bert", vocab_size=59) for _ in range(2)]
    for seed, model in enumerate(models):
        torch.manual_seed(seed)
        fit_vocabulary(model, make_tokenizer(eou=None), "[EOU]")
    assert torch.equal(*map(table, models))


def test_added_symbols_are_no_text(make_model, make_tokenizer):
    tokenizer = make_tokenizer(eou=None)
    fit_vocabulary(make_model("bert"), tokenizer, "[eos]")
    assert "[eos]" in tokenizer.get_added_vocab()
    assert tokenizer.decode([5, 59], skip_special_tokens=True).strip() == "b"


@pytest.mark.parametrize("vocab_size", [58, 118, 59 + 256])
def test_another_models_tokenizer(make_model, make_tokenizer, vocab_size):
    model, tokenizer = make_model("bert", vocab_size=vocab_size), make_tokenizer(eou=None)
    message = (
        r"the tokenizer \w+ \(of ''\) does not belong to BertModel \(of ''\): its ids end at 58, the model "
        f"has {vocab_size} rows"
    )
    with pytest.raises(ValueError, match=message):
        fit_vocabulary(model, tokenizer, "[EOU]")
    assert "[EOU]" not in tokenizer.get_vocab()
