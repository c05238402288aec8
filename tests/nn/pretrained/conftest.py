"""Tiny encoders with random weights, and their tokenizers."""

from __future__ import annotations

from importlib.util import find_spec

import pytest
import torch

if find_spec("transformers") is None:
    collect_ignore_glob = ["test_*.py"]

SIZES = {
    "vocab_size": 64,
    "hidden_size": 12,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "max_position_embeddings": 40,
    "pad_token_id": 1,
}
T5 = {
    "d_model": 12,
    "d_kv": 5,
    "d_ff": 16,
    "num_layers": 3,
    "num_heads": 2,
    "relative_attention_num_buckets": 6,
    "relative_attention_max_distance": 4,
}
# What a family has beside or instead of these.
OPTIONS = {
    "albert": {"embedding_size": 8},
    "distilbert": {"dim": 12, "n_heads": 2, "n_layers": 3, "hidden_dim": 16},
    "electra": {"embedding_size": 8},
    "eurobert": {"num_key_value_heads": 1, "bos_token_id": 2, "eos_token_id": 3, "mask_token_id": 4},
    "gpt2": {"n_embd": 12, "n_layer": 3, "n_head": 2, "bos_token_id": 2, "eos_token_id": 3},
    "modernbert": dict.fromkeys(("bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id"), 2),
    "deberta-v2": {
        "relative_attention": True,
        "position_buckets": 4,
        "max_relative_positions": -1,
        "pos_att_type": ["p2c", "c2p"],
        "norm_rel_ebd": "layer_norm",
        "share_att_key": True,
        "position_biased_input": False,
        "type_vocab_size": 0,
    },
}
OPTIONS |= dict.fromkeys(("t5", "mt5", "umt5"), T5)


def _make_model(family: str, **options):
    """A model without dropout whose parameters are all far from 0 and 1, or their place would not show."""
    from transformers import AutoConfig

    from graphdep.nn.pretrained.loading import encoder_class

    torch.manual_seed(0)
    config = AutoConfig.for_model(family, **SIZES | OPTIONS.get(family, {}) | options)
    for key, value in config.to_dict().items():
        if "dropout" in key and isinstance(value, float):
            setattr(config, key, 0.0)
    model = encoder_class(config).from_config(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.3)
    return model


def _make_tokenizer(family: str = "bert", eou: str | None = "[EOU]"):
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
    from tokenizers.trainers import BpeTrainer
    from transformers import PreTrainedTokenizerFast

    if family == "roberta":
        backend = Tokenizer(models.BPE())
        backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        special = ["<s>", "<pad>", "</s>", "<unk>", *([eou] if eou else [])]
        trainer = BpeTrainer(
            vocab_size=300,
            show_progress=False,
            special_tokens=special,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        )
        backend.train_from_iterator(["a low hotel", "a new hotel", "the low room"] * 5, trainer)
        names = {"cls_token": "<s>", "sep_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
        return PreTrainedTokenizerFast(tokenizer_object=backend, **names)
    letters = "abcdefghijklmnopqrstuvwxyz"
    symbols = ["[UNK]", "[PAD]", "[CLS]", "[SEP]", *([eou] if eou else [])]
    vocab = [*symbols, *letters, *(f"##{c}" for c in letters), *".,?"]
    wordpiece = models.WordPiece({piece: i for i, piece in enumerate(vocab)}, unk_token="[UNK]")
    backend = Tokenizer(wordpiece)
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    names = {name: f"[{name[:3].upper()}]" for name in ("unk_token", "pad_token", "cls_token", "sep_token")}
    return PreTrainedTokenizerFast(tokenizer_object=backend, **names)


@pytest.fixture(scope="session")
def make_model():
    """``make_model(family, **options of the configuration)``; the same weights each time."""
    return _make_model


@pytest.fixture(scope="session")
def make_tokenizer():
    """``make_tokenizer(family, eou)``: BERT's kind with 60 pieces, or RoBERTa's with 300."""
    return _make_tokenizer


@pytest.fixture
def make_folder(tmp_path):
    """``make_folder(model, tokenizer)``: saved as transformers does it."""

    def make(model, tokenizer):
        folder = tmp_path / "encoder"
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return folder

    return make


@pytest.fixture(scope="session")
def make(make_model, make_tokenizer):
    """An encoder and, with equal weights, the padded model that it must equal."""
    from graphdep.nn.pretrained import PretrainedEncoder

    def make(family="bert", *, edges=None, double=True, **options):
        # Every word of the tests is made of the first ids, so RoBERTa's table may be smaller than its merges.
        options |= {"vocab_size": 300} if family == "roberta" else {}
        models = [make_model(family, **options) for _ in range(2)]
        tokenizer = make_tokenizer("roberta" if family == "roberta" else "bert")
        encoder = PretrainedEncoder(models[0], tokenizer, edges=edges)
        padded = models[1]
        padded.set_attn_implementation("eager")
        if getattr(padded, "pooler", None) is not None:
            padded.pooler = None
        return (encoder.double(), padded.double()) if double else (encoder, padded)

    return make
