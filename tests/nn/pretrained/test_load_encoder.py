from __future__ import annotations

import json
import logging
import sys

import pytest
import torch
from torch import nn

from graphdep.nn.pretrained import PretrainedEncoder, load_encoder


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


@pytest.mark.parametrize("family", ["bert", "distilbert"])
def test_dropout(make_model, make_tokenizer, make_folder, family):
    folder = make_folder(make_model(family), make_tokenizer())

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
    assert "no part of the encoder are left out, 'cls.predictions.bias' first (" in record.getMessage()
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


@pytest.mark.parametrize("size", [0, 5, 2000])
def test_damaged_weights(folder, size):
    whole = (folder / "model.safetensors").read_bytes()
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


@pytest.mark.parametrize("content", ["{}", '{"added_tokens": []}', "[]"])
def test_a_tokenizer_of_nothing(folder, content):
    (folder / "tokenizer.json").write_text(content)
    with pytest.raises(
        ValueError, match=r"encoder' has no tokenizer that transformers can load \("
    ) as caught:
        load_encoder(folder)
    assert caught.value.__cause__ is not None


def with_config(folder, **options):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | options))


@pytest.mark.parametrize("value", ["nope", ["gelu"]])
def test_an_unknown_activation(folder, value):
    with_config(folder, hidden_act=value)
    with pytest.raises(ValueError, match=r"encoder' has no encoder that transformers can load \(\w+Error: "):
        load_encoder(folder)


@pytest.mark.parametrize("key", ["attn_implementation", "_attn_implementation"])
@pytest.mark.parametrize("value", ["evil/kernel", {"": "evil/kernel"}])
def test_a_folder_does_not_choose_the_attention(folder, key, value):
    expected = load_encoder(folder)
    with_config(folder, **{key: value})
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


@pytest.mark.parametrize(
    "name", ["./missing", "~/missing", "/missing/encoder", "a/b/missing", "missing/", ""]
)
def test_a_path_is_not_looked_up_on_the_hub(name, monkeypatch):
    import transformers

    def fail(*args, **kwargs):
        raise AssertionError("the hub was asked")

    monkeypatch.setattr(transformers.AutoConfig, "from_pretrained", fail)
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
    with pytest.raises(ImportError, match=r"need transformers: install graphdep\[pretrained\]"):
        load_encoder("bert-base-uncased")


def test_edges_of_all_layers_are_those_of_the_data(folder):
    message = (
        r"'edges' must map layers to edges, e.g. \{5: 'sia'\} \(got 'sia'\): edges of all layers are those"
    )
    with pytest.raises(ValueError, match=message):
        load_encoder(folder, edges="sia")


@pytest.mark.parametrize(
    "key", ["num_hidden_layers", "hidden_size", "intermediate_size", "vocab_size", "max_position_embeddings"]
)
@pytest.mark.parametrize("value", [10**9, 10**20])
def test_a_configuration_that_no_machine_can_build_is_refused(folder, monkeypatch, key, value):
    import transformers

    with_config(folder, **{key: value})
    monkeypatch.setattr(transformers.AutoModel, "from_pretrained", lambda *a, **k: pytest.fail("built"))
    with pytest.raises(ValueError, match=f"'{key}' is {value}") as caught:
        load_encoder(folder)
    assert str(folder) in str(caught.value)
