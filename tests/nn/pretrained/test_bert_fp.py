from __future__ import annotations

import json
import logging
import pickle

import pytest
import torch
from torch import nn

from graphdep import Sentence
from graphdep.data import EncodedUtterance, selection_data
from graphdep.nn.pretrained import load_bert_fp, load_encoder
from graphdep.transforms import resolve
from graphdep.vocab import RelationVocab

transformers = pytest.importorskip("transformers")

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefg", "##b", "##c"]
EOS = len(PIECES)
SIZES = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}


@pytest.fixture
def base(tmp_path):
    """What ``bert-base-uncased`` is to BERT-FP, without weights."""
    folder = tmp_path / "base"
    folder.mkdir()
    (tmp_path / "vocab.txt").write_text("\n".join(PIECES) + "\n")
    transformers.BertConfig(vocab_size=len(PIECES), **SIZES).save_pretrained(folder)
    transformers.BertTokenizerFast(str(tmp_path / "vocab.txt")).save_pretrained(folder)
    return folder


def post_trained(**sizes):
    """The model of the public code: ``[eos]`` added, a relevance head of three classes."""
    torch.manual_seed(0)
    config = transformers.BertConfig(vocab_size=len(PIECES), **{**SIZES, **sizes})
    model = transformers.BertForPreTraining(config)
    model.resize_token_embeddings(len(PIECES) + 1, mean_resizing=False)
    model.cls.seq_relationship = nn.Linear(config.hidden_size, 3)
    return model.eval()


def saved(path, state):
    torch.save(state, path)
    return path


def example(tokens):
    utterances = [
        EncodedUtterance.of(Sentence.chain(text.split()), tokens, RelationVocab())
        for text in ("ab c", "d", "e f")
    ]
    return resolve("transformer")(selection_data(utterances[:2], utterances[2], tokens))


def states_of(model, data):
    with torch.no_grad():
        out = model(
            input_ids=data.input_ids[None],
            token_type_ids=data.segment[None],
            attention_mask=torch.ones(1, data.num_nodes),
        )
    return out.last_hidden_state[0]


@pytest.mark.parametrize("prefix", ["", "bert.", "bert_model.bert.", "module.bert."])
def test_the_states_are_those_of_the_public_model(base, tmp_path, prefix, caplog):
    model = post_trained()
    state = {f"{prefix}{key}": value for key, value in model.bert.state_dict().items()}
    state[f"{prefix}embeddings.position_ids"] = torch.arange(512)[None]  # of older versions
    if prefix:
        state["bert_model.classifier.weight"] = torch.zeros(1, 8)
    with caplog.at_level(logging.WARNING, "graphdep"):
        encoder = load_bert_fp(saved(tmp_path / "bert.pt", state), base)
    assert ("left out what is no part of the BERT: bert_model.classifier.weight" in caplog.text) == bool(
        prefix
    )
    assert not encoder.training
    data = example(encoder.tokens)
    assert data.input_ids.tolist().count(EOS) == 2
    with torch.no_grad():
        assert torch.allclose(encoder(data), states_of(model.bert, data), atol=1e-5)


def test_the_end_of_an_utterance_survives_saving(base, tmp_path):
    encoder = load_bert_fp(saved(tmp_path / "bert.pt", post_trained().bert.state_dict()), base)
    encoder.save_pretrained(tmp_path / "folder")
    again = load_encoder(tmp_path / "folder")
    assert again.tokens.eou_id == encoder.tokens.eou_id == EOS
    assert again.tokens.fingerprint == encoder.tokens.fingerprint
    data = example(again.tokens)
    with torch.no_grad():
        assert torch.equal(again(data), encoder(data))


def test_options_are_those_of_load_encoder(base, tmp_path):
    path = saved(tmp_path / "bert.pt", post_trained().bert.state_dict())
    encoder = load_bert_fp(path, base, dropout=0.3, dtype=torch.bfloat16, eou="[eos]")
    assert encoder.tokens.eou == "[eos]"
    assert encoder.model.dtype == torch.bfloat16
    assert {m.p for m in encoder.modules() if isinstance(m, nn.Dropout)} == {0.3}
    with pytest.raises(ValueError, match=r"'dropout' must be between 0 and 1 \(got 2\)"):
        load_bert_fp(path, base, dropout=2)


def test_load_encoder_with_a_base(base, tmp_path):
    path = saved(tmp_path / "bert.pt", post_trained().bert.state_dict())
    options = {
        "edges": {1: "sia"},
        "eou": "[eos]",
        "dtype": torch.bfloat16,
        "dropout": 0.3,
        "backend": "dense",
    }
    encoder, expected = load_encoder(path, base=base, **options), load_bert_fp(path, base, **options)
    assert str(encoder) == str(expected)
    assert encoder.tokens.fingerprint == expected.tokens.fingerprint
    state = encoder.state_dict()
    assert state
    assert all(torch.equal(value, state[key]) for key, value in expected.state_dict().items())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda s: s.pop("encoder.layer.1.output.dense.bias"),
            r"missing: encoder.layer.1.output.dense.bias$",
        ),
        (lambda s: s.update({"encoder.layer.2.x": torch.zeros(1)}), r"unexpected: encoder.layer.2.x$"),
        (
            lambda s: s.update({"embeddings.LayerNorm.bias": torch.zeros(9)}),
            r"of another shape: embeddings.LayerNorm.bias \[9\] for \[8\]$",
        ),
        (lambda s: s.pop("embeddings.word_embeddings.weight"), r"must have one .* \(got 0\)"),
        (lambda s: s.update({"x.embeddings.word_embeddings.weight": torch.zeros(1, 1)}), r"\(got 2\)"),
        (
            lambda s: s.update({"embeddings.word_embeddings.weight": torch.zeros(EOS, 8)}),
            r"has 14 embeddings, which must be one more than the tokenizer .* \(got 14 tokens\)",
        ),
        (lambda s: s.update({"epoch": 3}), r"no state dict of PyTorch \(got int under 'epoch'\)"),
        (lambda s: s.update({3: torch.zeros(1)}), r"no state dict of PyTorch \(got the int 3 for a name\)"),
        (
            lambda s: s.update({"embeddings.LayerNorm.bias": torch.zeros(8, dtype=torch.long)}),
            r"'embeddings.LayerNorm.bias' must be floating-point numbers \(got torch.int64\)$",
        ),
        (
            lambda s: s.update({"embeddings.LayerNorm.bias": torch.zeros(8, dtype=torch.complex64)}),
            r"'embeddings.LayerNorm.bias' must be floating-point numbers \(got torch.complex64\)$",
        ),
        (
            lambda s: s.update({"embeddings.LayerNorm.bias": torch.full((8,), torch.nan)}),
            r"weight 'embeddings.LayerNorm.bias' is not finite$",
        ),
    ],
)
def test_a_checkpoint_that_does_not_fit(base, tmp_path, change, message):
    state = dict(post_trained().bert.state_dict())
    change(state)
    with pytest.raises(ValueError, match=message):
        load_bert_fp(saved(tmp_path / "bert.pt", state), base)


def test_another_base(base, tmp_path):
    path = saved(tmp_path / "bert.pt", post_trained(num_hidden_layers=3).bert.state_dict())
    with pytest.raises(ValueError, match=r"does not fit .*: unexpected: encoder.layer.2.* and \d+ more$"):
        load_bert_fp(path, base)
    transformers.RobertaConfig(vocab_size=len(PIECES), **SIZES).save_pretrained(base)
    with pytest.raises(ValueError, match=r"'base' must be a BERT \(got 'roberta' in "):
        load_bert_fp(path, base)
    with pytest.raises(ValueError, match=r"no folder '.*nowhere'"):
        load_bert_fp(path, tmp_path / "nowhere")


@pytest.mark.parametrize("key", ["attn_implementation", "_attn_implementation"])
def test_the_base_does_not_choose_the_attention(base, tmp_path, key):
    path = saved(tmp_path / "bert.pt", post_trained().bert.state_dict())
    config = json.loads((base / "config.json").read_text())
    (base / "config.json").write_text(json.dumps(config | {key: "evil/kernel"}))
    load_bert_fp(path, base)


def test_a_base_that_cannot_be_built(base, tmp_path):
    path = saved(tmp_path / "bert.pt", post_trained().bert.state_dict())
    whole = (base / "config.json").read_text()
    for key, value, message in (
        ("quantization_config", {"quant_method": "fp8"}, "has quantised weights"),
        ("hidden_act", "nope", r"has no encoder that transformers can load \(KeyError: 'nope'\)"),
    ):
        (base / "config.json").write_text(json.dumps(json.loads(whole) | {key: value}))
        with pytest.raises(ValueError, match=f"base' {message}"):
            load_bert_fp(path, base)


@pytest.mark.parametrize("eou", ["[SEP]", "a"])
def test_the_end_of_an_utterance_is_new_to_the_base(base, tmp_path, eou):
    path = saved(tmp_path / "bert.pt", post_trained().bert.state_dict())
    with pytest.raises(ValueError, match=r"'eou' must be new to the tokenizer of '.*base', which has no"):
        load_bert_fp(path, base, eou=eou)


def test_a_changed_byte(base, tmp_path):
    state = post_trained().bert.state_dict()
    path = saved(tmp_path / "bert.pt", state)
    content = bytearray(path.read_bytes())
    weight = state["encoder.layer.1.output.dense.weight"].numpy().tobytes()
    content[content.index(weight) + 40] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"bert\.pt: damaged checkpoint: .* is not what was written"):
        load_bert_fp(path, base)


def test_an_old_file_cannot_be_checked(base, tmp_path, caplog):
    state = post_trained().bert.state_dict()
    load_bert_fp(saved(tmp_path / "bert.pt", state), base)
    assert not caplog.records
    torch.save(state, tmp_path / "old.pt", _use_new_zipfile_serialization=False)
    load_bert_fp(tmp_path / "old.pt", base)
    assert "old.pt: an old file without checksums, so damage would not be seen" in caplog.text


class Evil:
    def __reduce__(self):
        return print, ("code of the file was run",)


@pytest.mark.parametrize("content", [b"", b"no checkpoint", pickle.dumps(Evil(), protocol=2), "list"])
def test_a_file_that_is_no_checkpoint(base, tmp_path, content, capsys):
    path = tmp_path / "bert.pt"
    if content == "list":
        torch.save([torch.zeros(1)], path)
    else:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=r"bert\.pt: no state dict of PyTorch"):
        load_bert_fp(path, base)
    assert "code of the file" not in capsys.readouterr().out


def test_no_file(base, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"bert\.pt"):
        load_bert_fp(tmp_path / "bert.pt", base)
