from __future__ import annotations

import base64
import json
import logging
import pickle
import sys

import pytest
import torch
from torch import nn
from torch_geometric.data import Batch

from graphdep import Sentence
from graphdep.data import EncodedUtterance, selection_data, text_data
from graphdep.datasets import Masking, PostTrainingDataset
from graphdep.nn.models import MaskedWordHead, PostTrainingModel
from graphdep.nn.pretrained import (
    PretrainedEncoder,
    encoder_of_state,
    encoder_state,
    load_bert_fp,
    load_encoder,
    load_masked_word_head,
)
from graphdep.transforms import resolve
from graphdep.vocab import RelationVocab


@pytest.fixture
def folder(make_model, make_tokenizer, make_folder):
    return make_folder(make_model("bert"), make_tokenizer())


def test_a_folder(folder, make_model):
    encoder = load_encoder(folder)
    assert isinstance(encoder, PretrainedEncoder)
    assert not encoder.training
    assert not encoder.model.training
    expected = make_model("bert").state_dict()
    state = encoder.model.state_dict()
    assert state
    assert all(torch.equal(value, expected[name]) for name, value in state.items())
    assert torch.equal(load_encoder(str(folder))(data := encoder.to_data(["a b"])), encoder(data))


def test_options(folder):
    encoder = load_encoder(folder, edges={0: "sia"}, eou="[eos]", backend="reference")
    assert set(encoder.layer_edges) == {0}
    assert encoder.backend == "reference"
    assert encoder.tokens.eou_id == encoder.tokenizer.convert_tokens_to_ids("[eos]") == 60


def test_dtype(make_model, make_tokenizer, make_folder):
    folder = make_folder(make_model("bert").bfloat16(), make_tokenizer())
    assert load_encoder(folder).model.dtype == torch.float32
    assert load_encoder(folder, dtype=torch.bfloat16).model.dtype == torch.bfloat16


def test_dropout(make_model, make_tokenizer, make_folder):
    for family in ("bert", "distilbert"):
        check_dropout(make_folder(make_model(family), make_tokenizer()))


def check_dropout(folder):

    def found(**options):
        modules = load_encoder(folder, **options).modules()
        return {module.p for module in modules if isinstance(module, nn.Dropout)}

    assert found() == {0.0}
    assert found(dropout=0.3) == {0.3}
    with pytest.raises(ValueError, match=r"'dropout' must be between 0 and 1 \(got 2\)"):
        load_encoder(folder, dropout=2)


def test_a_checkpoint_with_a_head(make_tokenizer, make_folder, caplog):
    from transformers import BertConfig, BertForMaskedLM

    sizes = {"hidden_size": 12, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    model = BertForMaskedLM(BertConfig(vocab_size=60, max_position_embeddings=20, **sizes))
    folder = make_folder(model, make_tokenizer())
    with caplog.at_level(logging.WARNING):
        encoder = load_encoder(folder)
    (record,) = caplog.records
    assert (
        "dropped weights that are not part of the encoder, 'cls.predictions.bias' first ("
        in record.getMessage()
    )
    weight = model.bert.encoder.layer[0].output.dense.weight
    assert torch.equal(encoder.model.encoder.layer[0].output.dense.weight, weight)


def test_weights_of_pytorch(folder, make_model):
    (folder / "model.safetensors").unlink()
    torch.save(make_model("bert").state_dict(), folder / "pytorch_model.bin")
    load_encoder(folder)


class Evil:
    def __reduce__(self):
        return print, ("this code must not run",)


def test_a_file_with_code_is_refused(folder, capfd):
    (folder / "model.safetensors").unlink()
    torch.save({"embeddings": Evil()}, folder / "pytorch_model.bin")
    with pytest.raises(ValueError, match="has no encoder that transformers can load"):
        load_encoder(folder)
    assert "must not run" not in capfd.readouterr().out


def test_code_in_a_folder_is_not_run(folder):
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "own", "auto_map": {"AutoConfig": "own.Own", "AutoModel": "own.Own"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "own.py").write_text("raise SystemExit('this code must not run')")
    with pytest.raises(ValueError, match="has no encoder that transformers can load"):
        load_encoder(folder)


def test_missing_weights(folder):
    from safetensors.torch import load_file, save_file

    state = load_file(folder / "model.safetensors")
    del state["encoder.layer.1.output.dense.bias"]
    save_file(state, folder / "model.safetensors", {"format": "pt"})
    message = r"weights are missing, first 'encoder.layer.1.output.dense.bias' \(1 in all\)"
    with pytest.raises(ValueError, match=message):
        load_encoder(folder)


def test_damaged_weights(folder):
    whole = (folder / "model.safetensors").read_bytes()
    for size in (0, 5, 2000):
        (folder / "model.safetensors").write_bytes(whole[:size])
        with pytest.raises(ValueError, match="has no encoder that transformers can load"):
            load_encoder(folder)


def test_weights_of_another_shape(folder):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"intermediate_size": 20}))
    with pytest.raises(ValueError, match="has no encoder that transformers can load"):
        load_encoder(folder)


def test_no_tokenizer(folder):
    for path in folder.glob("tokenizer*"):
        path.unlink()
    # transformers makes one of nothing but special tokens up
    with pytest.raises(ValueError, match=r"the tokenizer \w+ \(of .*\) does not belong to BertModel"):
        load_encoder(folder)


def test_a_damaged_tokenizer(folder):
    for path in folder.glob("tokenizer*"):
        path.write_text("{")
    with pytest.raises(ValueError, match="has no tokenizer that transformers can load"):
        load_encoder(folder)


def test_a_tokenizer_of_nothing(folder):
    message = r"encoder' has no tokenizer that transformers can load \("
    for content in ("{}", '{"added_tokens": []}', "[]"):
        (folder / "tokenizer.json").write_text(content)
        with pytest.raises(ValueError, match=message) as caught:
            load_encoder(folder)
        assert caught.value.__cause__ is not None


def with_config(folder, **options):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | options))


def test_an_unknown_activation(folder):
    message = r"encoder' has no encoder that transformers can load \(\w+Error: "
    for value in ("nope", ["gelu"]):
        with_config(folder, hidden_act=value)
        with pytest.raises(ValueError, match=message):
            load_encoder(folder)


@pytest.mark.parametrize("value", ["evil/kernel", {"": "evil/kernel"}])
def test_a_folder_does_not_choose_the_attention(folder, value):
    expected = load_encoder(folder)
    with_config(folder, attn_implementation=value, _attn_implementation=value)
    encoder = load_encoder(folder)
    assert torch.equal(encoder(data := encoder.to_data(["a b"])), expected(data))


def test_quantised_weights(folder):
    with_config(folder, quantization_config={"quant_method": "fp8"})
    message = r"encoder' has quantised weights \('quantization_config'\), which are not read"
    with pytest.raises(ValueError, match=message):
        load_encoder(folder)
    with_config(folder, quantization_config=None)
    load_encoder(folder)


def test_weights_that_are_no_numbers(folder):
    from safetensors.torch import load_file, save_file

    state = load_file(folder / "model.safetensors")
    state["encoder.layer.1.output.dense.bias"][0] = torch.nan
    save_file(state, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(ValueError, match="weight 'encoder.layer.1.output.dense.bias' is not finite"):
        load_encoder(folder)


def test_a_path_is_not_looked_up_on_the_hub(monkeypatch):
    import transformers

    def fail(*args, **kwargs):
        raise AssertionError("the hub was asked")

    monkeypatch.setattr(transformers.AutoConfig, "from_pretrained", fail)
    for name in ("./missing", "~/missing", "/missing/encoder", "a/b/missing", "missing/", ""):
        with pytest.raises(ValueError, match=f"^no folder '{name}'$"):
            load_encoder(name)


@pytest.mark.parametrize("name", ["no-such-encoder", "no-such-owner/no-such-encoder"])
def test_the_hub_cannot_be_reached(name, monkeypatch):
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    message = (
        f"^'{name}' is no local folder, and could not be fetched from the Hugging Face hub "
        r"\(.*connect.*\): give a folder, or see HF_HOME$"
    )
    with pytest.raises(ValueError, match=message):
        load_encoder(name)


def test_no_folder(tmp_path):
    with pytest.raises(ValueError, match="^no folder '.*missing'$"):
        load_encoder(tmp_path / "missing")
    with pytest.raises(ValueError, match="has no encoder that transformers can load"):
        load_encoder(tmp_path)


def test_another_tokenizer(make_model, make_tokenizer, make_folder):
    folder = make_folder(make_model("bert"), make_tokenizer("roberta"))
    message = (
        r"\(of '.*encoder'\) does not belong to BertModel \(of '.*encoder'\): its ids end at \d+, the model"
    )
    with pytest.raises(ValueError, match=message):
        load_encoder(folder)


def test_nothing_is_printed(folder, capfd):
    load_encoder(folder)
    out = capfd.readouterr()
    assert (out.out, out.err) == ("", "")


def test_without_transformers(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ImportError, match=r"needs transformers, which comes with graphdep\[pretrained\]"):
        load_encoder("bert-base-uncased")


def test_edges_of_all_layers_are_those_of_the_data(folder):
    message = (
        r"'edges' must map layers to edges, e.g. \{5: 'sia'\} \(got 'sia'\): edges of all layers are those"
    )
    with pytest.raises(ValueError, match=message):
        load_encoder(folder, edges="sia")


def test_a_configuration_that_no_machine_can_build_is_refused(folder, monkeypatch):
    import transformers

    monkeypatch.setattr(transformers.AutoModel, "from_pretrained", lambda *a, **k: pytest.fail("built"))
    whole = json.loads((folder / "config.json").read_text())
    for key in ("num_hidden_layers", "hidden_size", "vocab_size", "max_position_embeddings"):
        for value in (10**9, 10**20):
            with_config(folder, **whole | {key: value})
            with pytest.raises(ValueError, match=f"'{key}' is {value}") as caught:
                load_encoder(folder)
            assert str(folder) in str(caught.value)


# -- bert fp ---------------------------------------------------------------------------------------------


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
    assert (
        "dropped weights that are not part of the BERT: bert_model.classifier.weight" in caplog.text
    ) == bool(prefix)
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


def test_the_base_does_not_choose_the_attention(base, tmp_path):
    path = saved(tmp_path / "bert.pt", post_trained().bert.state_dict())
    with_config(base, attn_implementation="evil/kernel", _attn_implementation="evil/kernel")
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
    with pytest.raises(
        ValueError, match=r"bert\.pt: damaged checkpoint: .* has changed since it was written"
    ):
        load_bert_fp(path, base)


def test_an_old_file_cannot_be_checked(base, tmp_path, caplog):
    state = post_trained().bert.state_dict()
    load_bert_fp(saved(tmp_path / "bert.pt", state), base)
    assert not caplog.records
    torch.save(state, tmp_path / "old.pt", _use_new_zipfile_serialization=False)
    load_bert_fp(tmp_path / "old.pt", base)
    assert "old.pt: an old file without checksums, so damage would not be seen" in caplog.text


@pytest.mark.parametrize("content", [b"", b"no checkpoint", pickle.dumps(Evil(), protocol=2), "list"])
def test_a_file_that_is_no_checkpoint(base, tmp_path, content, capsys):
    path = tmp_path / "bert.pt"
    if content == "list":
        torch.save([torch.zeros(1)], path)
    else:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=r"bert\.pt: no state dict of PyTorch"):
        load_bert_fp(path, base)
    assert "must not run" not in capsys.readouterr().out


def test_no_file(base, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"bert\.pt"):
        load_bert_fp(tmp_path / "bert.pt", base)


# -- state -----------------------------------------------------------------------------------------------


@pytest.fixture
def encoder(make_model, make_tokenizer):
    return PretrainedEncoder(make_model("bert"), make_tokenizer())


def weights_of(encoder):
    return {f"model.encoder.{name}": weight for name, weight in encoder.state_dict().items()}


def batch(encoder):
    relations = RelationVocab()
    sentences = [Sentence.chain(words.split()) for words in ("a low room", "the new hotel is low")]
    utterances = [EncodedUtterance.of(sentence, encoder.tokens, relations) for sentence in sentences]
    examples = [text_data(u, tokens=encoder.tokens, max_length=encoder.max_length) for u in utterances]
    return resolve("transformer")(Batch.from_data_list(examples))


@pytest.mark.parametrize("family", ["bert", "roberta", "electra", "distilbert", "albert", "camembert"])
def test_every_family_comes_back(family, make_model, make_tokenizer):
    kind = "roberta" if family in ("roberta", "camembert") else "bert"
    encoder = PretrainedEncoder(
        make_model(family, vocab_size=320 if kind == "roberta" else 64), make_tokenizer(kind)
    )
    state = json.loads(json.dumps(encoder_state(encoder)))  # plain values
    again = encoder_of_state(state, weights_of(encoder))
    again.load_state_dict(encoder.state_dict())
    assert again.tokens.fingerprint == encoder.tokens.fingerprint
    data = batch(encoder)
    with torch.no_grad():
        torch.testing.assert_close(again.eval()(data), encoder.eval()(data), rtol=0, atol=0)


def changed(encoder, **options):
    state = encoder_state(encoder)
    return state | {"config": json.dumps(json.loads(state["config"]) | options)}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hidden_size": 100_000, "intermediate_size": 100_000}, "has shape"),
        ({"vocab_size": 10**6}, "has shape"),
        ({"num_hidden_layers": 10**6}, "'num_hidden_layers' is 1000000, which its weights do not have"),
        ({"num_hidden_layers": 4}, r"'encoder.layer.3.* in its weights None"),
        ({"vocab_size": 10**9}, "'vocab_size' is 1000000000"),
        ({"model_type": "albert", "num_hidden_groups": 10**6}, "'num_hidden_groups'"),
        ({"model_type": "clip", "text_config": {"hidden_size": 8}}, "'text_config' is a configuration"),
        ({"model_type": "nothing"}, "not the state of an encoder"),
        ({"hidden_act": "nothing"}, "not the state of an encoder"),
    ],
)
def test_a_state_that_is_not_that_of_the_weights_is_refused_before_it_is_built(encoder, options, message):
    with pytest.raises(ValueError, match=message):
        encoder_of_state(changed(encoder, **options), weights_of(encoder))


def test_weights_that_repeat_their_numbers_are_refused(encoder):
    weights = weights_of(encoder)
    name = next(name for name in weights if name.endswith("word_embeddings.weight"))
    weights[name] = torch.zeros(1).expand(weights[name].shape)
    with pytest.raises(ValueError, match="repeats its numbers"):
        encoder_of_state(encoder_state(encoder), weights)


def test_a_state_chooses_no_code(encoder):
    state = changed(
        encoder,
        _attn_implementation="evil/kernel",
        attn_implementation="evil/kernel",
        quantization_config={"quant_method": "evil"},
        auto_map={"AutoModel": "evil--code.Model"},
    )
    assert encoder_of_state(state, weights_of(encoder)).hidden_channels == encoder.hidden_channels


def test_a_damaged_state_is_refused(encoder):
    state = encoder_state(encoder)
    damaged = [{**state, key: state[key][:-1] + "\x00"} for key in state]
    damaged += [{k: v for k, v in state.items() if k != key} for key in state]
    for charsmap in ("//////////8=", "AAAA", "", None):
        normalizer = {"type": "Precompiled", "precompiled_charsmap": charsmap}
        tokenizer = json.loads(state["tokenizer"]) | {"normalizer": normalizer}
        damaged.append(state | {"tokenizer": json.dumps(tokenizer)})
    for one in damaged:
        with pytest.raises(ValueError, match="not the state of an encoder"):
            encoder_of_state(one)


def test_base64_of_a_map_is_checked():
    from graphdep.nn.pretrained.loading import _check_charsmap

    _check_charsmap(base64.b64encode((4).to_bytes(4, "little") + b"abcd").decode())
    with pytest.raises(ValueError, match="damaged 'precompiled_charsmap'"):
        _check_charsmap(base64.b64encode((5).to_bytes(4, "little") + b"abcd").decode())


# -- masked ----------------------------------------------------------------------------------------------


MASKED_SIZES = SIZES | {"vocab_size": len(PIECES), "pad_token_id": 0}
DIALOGUES = [["ab c", "d", "e f g", "a"], ["g", "b abc"], ["c", "d e", "a b"]]


def saved_masked(model, folder):
    """A checkpoint with a bias and a norm that matter, and a tokenizer."""
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape) * 0.3)
    model.save_pretrained(folder)
    (folder / "pieces.txt").write_text("\n".join(PIECES) + "\n")
    transformers.BertTokenizerFast(str(folder / "pieces.txt")).save_pretrained(folder)
    return model.eval()


@pytest.mark.parametrize("family", ["Bert", "Roberta"])
def test_post_training_starts_from_the_model_s_own_masked_words(tmp_path, family):
    config = getattr(transformers, f"{family}Config")(**MASKED_SIZES, type_vocab_size=2)
    reference = saved_masked(getattr(transformers, f"{family}ForMaskedLM")(config), tmp_path)
    encoder = load_encoder(tmp_path)
    model = PostTrainingModel(encoder).eval()
    assert load_masked_word_head(model.words, tmp_path)
    masking = Masking.of_tokenizer(encoder.tokenizer, 0.5)
    samples = PostTrainingDataset(DIALOGUES, encoder.tokens, masking, transform=resolve("transformer"))
    eou = encoder.tokens.eou_id
    reference.resize_token_embeddings(eou + 1, mean_resizing=False)
    with torch.no_grad():
        reference.get_input_embeddings().weight[eou] = encoder.model.get_input_embeddings().weight[eou]
        reference.get_output_embeddings().bias[eou] = 0.0
        words, _ = model(Batch.from_data_list(list(samples)))
        expected = []
        for sample in samples:
            out = reference(
                input_ids=sample.input_ids[None],
                token_type_ids=sample.segment[None],
                attention_mask=torch.ones(1, sample.num_nodes),
            )
            expected.append(out.logits[0][sample.mlm_target >= 0])
    assert words.shape[0] > 5
    assert torch.allclose(words, torch.cat(expected), atol=1e-4)


def test_a_trained_encoder_is_saved_and_loaded(tmp_path):
    saved_masked(transformers.BertForMaskedLM(transformers.BertConfig(**MASKED_SIZES)), tmp_path)
    encoder = load_encoder(tmp_path)
    model = PostTrainingModel(encoder)
    masking = Masking.of_tokenizer(encoder.tokenizer, 0.5)
    samples = PostTrainingDataset(DIALOGUES, encoder.tokens, masking, transform=resolve("transformer"))
    batch = Batch.from_data_list(list(samples))
    before = encoder(batch).detach()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    words, relevance = model(batch)
    (words.square().mean() + relevance.square().mean()).backward()
    optimizer.step()
    after = encoder(batch).detach()
    assert not torch.allclose(after, before, atol=1e-4)
    encoder.save_pretrained(tmp_path / "post")
    again = load_encoder(tmp_path / "post")
    assert again.tokens.fingerprint == encoder.tokens.fingerprint
    assert torch.allclose(again(batch), after, atol=1e-6)
    assert not load_masked_word_head(MaskedWordHead(8, len(PIECES) + 1), tmp_path / "post")


@pytest.mark.parametrize("kind", ["no head", "another activation", "untied", "no masked words"])
def test_a_checkpoint_without_such_a_head(tmp_path, kind):
    if kind == "no head":
        saved_masked(transformers.BertModel(transformers.BertConfig(**MASKED_SIZES)), tmp_path)
    elif kind == "another activation":
        saved_masked(
            transformers.BertForMaskedLM(transformers.BertConfig(**MASKED_SIZES, hidden_act="relu")), tmp_path
        )
    elif kind == "untied":
        config = transformers.BertConfig(**MASKED_SIZES, tie_word_embeddings=False)
        saved_masked(transformers.BertForMaskedLM(config), tmp_path)
    else:
        transformers.GPT2Config(vocab_size=9, n_embd=8, n_layer=1, n_head=2).save_pretrained(tmp_path)
    head = MaskedWordHead(8, len(PIECES))
    before = {key: value.clone() for key, value in head.state_dict().items()}
    assert not load_masked_word_head(head, tmp_path)
    assert all(torch.equal(value, before[key]) for key, value in head.state_dict().items())


@pytest.mark.parametrize("sizes", [(9, len(PIECES)), (8, len(PIECES) - 1)])
def test_a_head_of_another_size(tmp_path, sizes):
    saved_masked(transformers.BertForMaskedLM(transformers.BertConfig(**MASKED_SIZES)), tmp_path)
    with pytest.raises(ValueError, match="is not the checkpoint of this encoder: '(lin.weight|bias)' of the"):
        load_masked_word_head(MaskedWordHead(*sizes), tmp_path)


def test_no_checkpoint(tmp_path):
    with pytest.raises(ValueError, match="no folder '.*nowhere'"):
        load_masked_word_head(MaskedWordHead(8, 9), tmp_path / "nowhere")


def test_a_folder_does_not_choose_the_attention_of_masked(tmp_path):
    saved_masked(transformers.BertForMaskedLM(transformers.BertConfig(**MASKED_SIZES)), tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"_attn_implementation": "evil/kernel"}))
    assert load_masked_word_head(MaskedWordHead(8, len(PIECES)), tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(config | {"quantization_config": {"a": 1}}))
    with pytest.raises(ValueError, match="has quantised weights"):
        load_masked_word_head(MaskedWordHead(8, len(PIECES)), tmp_path)


def test_weights_that_are_no_numbers_of_masked(tmp_path):
    from safetensors.torch import load_file, save_file

    saved_masked(transformers.BertForMaskedLM(transformers.BertConfig(**MASKED_SIZES)), tmp_path)
    state = load_file(tmp_path / "model.safetensors")
    state["cls.predictions.bias"][3] = torch.nan
    save_file(state, tmp_path / "model.safetensors", {"format": "pt"})
    head = MaskedWordHead(8, len(PIECES))
    before = {key: value.clone() for key, value in head.state_dict().items()}
    with pytest.raises(ValueError, match="weight 'bias' of the masked-word head is not finite"):
        load_masked_word_head(head, tmp_path)
    assert all(torch.equal(value, before[key]) for key, value in head.state_dict().items())
