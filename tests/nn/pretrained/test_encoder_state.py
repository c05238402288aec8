from __future__ import annotations

import base64
import json

import pytest
import torch
from torch_geometric.data import Batch

from graphdep import Sentence
from graphdep.data import EncodedUtterance, text_data
from graphdep.nn.pretrained import PretrainedEncoder, encoder_of_state, encoder_state
from graphdep.transforms import resolve
from graphdep.vocab import RelationVocab


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
        ({"model_type": "nothing"}, "no state of an encoder"),
        ({"hidden_act": "nothing"}, "no state of an encoder"),
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


@pytest.mark.parametrize("charsmap", ["//////////8=", "AAAA", "", None])
def test_a_damaged_tokenizer_is_refused(encoder, charsmap):
    state = encoder_state(encoder)
    tokenizer = json.loads(state["tokenizer"]) | {
        "normalizer": {"type": "Precompiled", "precompiled_charsmap": charsmap}
    }
    with pytest.raises(ValueError, match="no state of an encoder"):
        encoder_of_state(state | {"tokenizer": json.dumps(tokenizer)})


@pytest.mark.parametrize("key", ["config", "tokenizer", "special", "eou"])
def test_a_damaged_state_is_refused(encoder, key):
    state = encoder_state(encoder)
    for damaged in ({**state, key: state[key][:-1] + "\x00"}, {k: v for k, v in state.items() if k != key}):
        with pytest.raises(ValueError, match="no state of an encoder"):
            encoder_of_state(damaged)


def test_base64_of_a_map_is_checked():
    from graphdep.nn.pretrained.loading import _check_charsmap

    _check_charsmap(base64.b64encode((4).to_bytes(4, "little") + b"abcd").decode())
    with pytest.raises(ValueError, match="damaged 'precompiled_charsmap'"):
        _check_charsmap(base64.b64encode((5).to_bytes(4, "little") + b"abcd").decode())
