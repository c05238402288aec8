from __future__ import annotations

import json

import pytest
import torch
from torch_geometric.data import Batch

from graphdep.datasets import Masking, PostTrainingDataset
from graphdep.nn.models import MaskedWordHead, PostTrainingModel
from graphdep.nn.pretrained import load_encoder, load_masked_word_head
from graphdep.transforms import resolve

transformers = pytest.importorskip("transformers")

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefg", "##b", "##c"]
SIZES = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
SIZES |= {"vocab_size": len(PIECES), "pad_token_id": 0}
DIALOGUES = [["ab c", "d", "e f g", "a"], ["g", "b abc"], ["c", "d e", "a b"]]


def saved(model, folder):
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
    config = getattr(transformers, f"{family}Config")(**SIZES, type_vocab_size=2)
    reference = saved(getattr(transformers, f"{family}ForMaskedLM")(config), tmp_path)
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
    saved(transformers.BertForMaskedLM(transformers.BertConfig(**SIZES)), tmp_path)
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
        saved(transformers.BertModel(transformers.BertConfig(**SIZES)), tmp_path)
    elif kind == "another activation":
        saved(transformers.BertForMaskedLM(transformers.BertConfig(**SIZES, hidden_act="relu")), tmp_path)
    elif kind == "untied":
        config = transformers.BertConfig(**SIZES, tie_word_embeddings=False)
        saved(transformers.BertForMaskedLM(config), tmp_path)
    else:
        transformers.GPT2Config(vocab_size=9, n_embd=8, n_layer=1, n_head=2).save_pretrained(tmp_path)
    head = MaskedWordHead(8, len(PIECES))
    before = {key: value.clone() for key, value in head.state_dict().items()}
    assert not load_masked_word_head(head, tmp_path)
    assert all(torch.equal(value, before[key]) for key, value in head.state_dict().items())


@pytest.mark.parametrize("sizes", [(9, len(PIECES)), (8, len(PIECES) - 1)])
def test_a_head_of_another_size(tmp_path, sizes):
    saved(transformers.BertForMaskedLM(transformers.BertConfig(**SIZES)), tmp_path)
    with pytest.raises(ValueError, match="is not the checkpoint of this encoder: '(lin.weight|bias)' of the"):
        load_masked_word_head(MaskedWordHead(*sizes), tmp_path)


def test_no_checkpoint(tmp_path):
    with pytest.raises(ValueError, match="no folder '.*nowhere'"):
        load_masked_word_head(MaskedWordHead(8, 9), tmp_path / "nowhere")


def test_a_folder_does_not_choose_the_attention(tmp_path):
    saved(transformers.BertForMaskedLM(transformers.BertConfig(**SIZES)), tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"_attn_implementation": "evil/kernel"}))
    assert load_masked_word_head(MaskedWordHead(8, len(PIECES)), tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(config | {"quantization_config": {"a": 1}}))
    with pytest.raises(ValueError, match="has quantised weights"):
        load_masked_word_head(MaskedWordHead(8, len(PIECES)), tmp_path)


def test_weights_that_are_no_numbers(tmp_path):
    from safetensors.torch import load_file, save_file

    saved(transformers.BertForMaskedLM(transformers.BertConfig(**SIZES)), tmp_path)
    state = load_file(tmp_path / "model.safetensors")
    state["cls.predictions.bias"][3] = torch.nan
    save_file(state, tmp_path / "model.safetensors", {"format": "pt"})
    head = MaskedWordHead(8, len(PIECES))
    before = {key: value.clone() for key, value in head.state_dict().items()}
    with pytest.raises(ValueError, match="weight 'bias' of the masked-word head is not finite"):
        load_masked_word_head(head, tmp_path)
    assert all(torch.equal(value, before[key]) for key, value in head.state_dict().items())
