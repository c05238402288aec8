from __future__ import annotations

import pytest
import torch

from graphdep.nn.pretrained.encoder import fit_vocabulary


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


@pytest.mark.parametrize(
    ("eou", "why"),
    [
        ("[CLS]", "the 'cls_token' of the tokenizer"),
        ("[SEP]", "the 'sep_token' of the tokenizer"),
        ("[UNK]", "the 'unk_token' of the tokenizer"),
        ("[PAD]", "the 'pad_token' of the tokenizer"),
        ("h", "which the tokenizer finds in text"),
        ("##h", "which the tokenizer finds in text"),
        ("?", "which the tokenizer finds in text"),
    ],
)
def test_a_symbol_with_another_meaning(make_model, make_tokenizer, eou, why):
    from tokenizers import decoders

    tokenizer = make_tokenizer()
    tokenizer.backend_tokenizer.decoder = decoders.WordPiece()
    with pytest.raises(ValueError) as caught:
        fit_vocabulary(make_model("bert"), tokenizer, eou)
    assert str(caught.value) == f"'eou' must have an id of its own (got {eou!r}, {why})"


@pytest.mark.parametrize("eou", ["<s>", "y", "\u0120hotel"])
def test_a_symbol_of_byte_level_pieces_with_another_meaning(make_model, make_tokenizer, eou):
    from tokenizers import decoders

    tokenizer = make_tokenizer("roberta")
    tokenizer.backend_tokenizer.decoder = decoders.ByteLevel()
    assert eou in tokenizer.get_vocab()
    with pytest.raises(ValueError, match="'eou' must have an id of its own"):
        fit_vocabulary(make_model("roberta", vocab_size=300), tokenizer, eou)


def test_free_slots_and_added_tokens_are_symbols(make_model, make_tokenizer):
    model, tokenizer = make_model("bert"), make_tokenizer(eou="[unused1]")
    fit_vocabulary(model, tokenizer, "[unused1]")
    fit_vocabulary(model, make_tokenizer(eou="made up"), "made up")
    tokenizer.add_tokens(["[eos]"])
    before = table(model)
    fit_vocabulary(model, tokenizer, "[eos]")
    assert torch.equal(table(model), before)


@pytest.mark.parametrize(("eou", "fits"), [("[EOU]", True), ("<eou>", True), ("eou", False)])
def test_a_vocabulary_of_whole_words(make_model, eou, fits):
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    words = ["[UNK]", "[CLS]", "[SEP]", "a", "eou", "[EOU]", "<eou>", *(f"word{i}" for i in range(57))]
    backend = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    names = {f"{name}_token": f"[{name.upper()}]" for name in ("unk", "cls", "sep")}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, **names)
    if fits:
        fit_vocabulary(make_model("bert"), tokenizer, eou)
        return
    with pytest.raises(ValueError, match="'eou', which the tokenizer finds in text"):
        fit_vocabulary(make_model("bert"), tokenizer, eou)
