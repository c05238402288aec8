from __future__ import annotations

import random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphdep.datasets import Masking


@given(ids=st.lists(st.integers(5, 99), max_size=60), seed=st.integers(0, 10**6), share=st.floats(0.01, 1.0))
def test_what_is_asked_for_can_be_restored_and_the_rest_is_as_it_was(ids, seed, share):
    input_ids = torch.tensor(ids, dtype=torch.long)
    words = torch.tensor([i % 3 > 0 for i in range(len(ids))], dtype=torch.bool)
    masked, target = Masking(100, range(5, 100), share)(input_ids, words, random.Random(seed))
    assert masked.dtype == target.dtype == torch.long
    asked = target != -100
    assert not (asked & ~words).any()
    assert torch.equal(torch.where(asked, target, masked), input_ids)
    assert ((masked == 100) <= asked).all()


def test_shares_are_those_of_bert():
    input_ids = torch.full((40_000,), 7)
    words = torch.ones(40_000, dtype=torch.bool)
    masked, target = Masking(3, range(10, 1000))(input_ids, words, random.Random(0))
    asked = target == 7
    share = 3 * (0.15 * 0.85 / 40_000) ** 0.5
    assert float(asked.float().mean()) == pytest.approx(0.15, abs=share)
    counts = {name: int((masked[asked] == i).sum()) for name, i in (("mask", 3), ("kept", 7))}
    assert counts["mask"] / int(asked.sum()) == pytest.approx(0.8, abs=0.02)
    assert counts["kept"] / int(asked.sum()) == pytest.approx(0.1, abs=0.015)
    replaced = masked[asked & (masked != 3) & (masked != 7)]
    assert 10 <= int(replaced.min()) < 30
    assert 970 < int(replaced.max()) < 1000


def test_the_same_chance_gives_the_same_masks():
    ids, words = torch.arange(5, 65), torch.ones(60, dtype=torch.bool)
    masking = Masking(2, range(5, 65))
    first, again, other = (masking(ids, words, random.Random(seed))[0] for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_a_share_of_one_asks_for_every_piece():
    ids, words = torch.arange(5, 25), torch.ones(20, dtype=torch.bool)
    assert torch.equal(Masking(2, [9], 1.0)(ids, words, random.Random(0))[1], ids)


def test_print_and_hash():
    masking = Masking(2, [*range(5, 30_000)], 0.3)
    assert str(masking) == "Masking(mask_id=2, share=0.3)"
    assert masking == Masking(2, range(5, 30_000), 0.3)
    assert hash(masking) == hash(Masking(2, range(5, 30_000), 0.3))
    assert masking != Masking(2, [5], 0.3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((2, [9], 0.0), r"'share' must be in 0 < share <= 1 \(got 0.0\)"),
        ((2, [9], 1.5), r"'share' must be in 0 < share <= 1 \(got 1.5\)"),
        ((2, []), "'replacements' is empty"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        Masking(*arguments)


def test_ids_of_a_tokenizer(tmp_path):
    transformers = pytest.importorskip("transformers")
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "##b"]
    (tmp_path / "vocab.txt").write_text("\n".join(pieces) + "\n")
    tokenizer = transformers.BertTokenizerFast(str(tmp_path / "vocab.txt"))
    tokenizer.add_special_tokens({"additional_special_tokens": ["[EOU]"]})
    masking = Masking.of_tokenizer(tokenizer, 0.3)
    assert (masking.mask_id, list(masking.replacements), masking.share) == (4, [5, 6], 0.3)
    tokenizer.mask_token = None
    with pytest.raises(ValueError, match="'tokenizer' has no mask token"):
        Masking.of_tokenizer(tokenizer)
