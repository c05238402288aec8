"""Encoders that score a pair by its distance: MPNet, T5 and its kin, RoFormer, DeBERTa-v2 and v3."""

from __future__ import annotations

import copy
import io
import json
import pickle

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from graphdep import RelationVocab, Sentence
from graphdep.data import EncodedUtterance, text_data
from graphdep.nn.attention import GatedRelationScore, RelationKeyValue
from graphdep.nn.models import RelationEmbedding
from graphdep.nn.pretrained import PretrainedEncoder, distances, load_encoder
from graphdep.nn.pretrained.loading import encoder_of_state, encoder_state
from graphdep.transforms import resolve
from tests.kit.slow import assert_close_and_backward

LEAST = torch.finfo(torch.double).min
COUNT = len(RelationVocab())
# Forms of an architecture that compute something else.
FORMS = {
    "mpnet": ("mpnet", {}),
    "t5": ("t5", {}),
    "t5-gated": ("t5", {"feed_forward_proj": "gated-gelu"}),
    "mt5": ("mt5", {}),
    "umt5": ("umt5", {}),
    "roformer": ("roformer", {}),
    "roformer-values": ("roformer", {"rotary_value": True, "embedding_size": 8}),
    "deberta-v3": ("deberta-v2", {}),
    "deberta-v2": (
        "deberta-v2",
        {
            "share_att_key": False,
            "position_buckets": -1,
            "position_biased_input": True,
            "type_vocab_size": 2,
            "norm_rel_ebd": "none",
        },
    ),
    "deberta-c2p": ("deberta-v2", {"pos_att_type": ["c2p"]}),
    "deberta-p2c": ("deberta-v2", {"pos_att_type": ["p2c"]}),
}
each = pytest.mark.parametrize("form", FORMS)
scored = pytest.mark.parametrize("form", [form for form in FORMS if "roformer" not in form])
SENTENCES = (
    Sentence("a low room is new .".split(), [3, 3, 5, 5, 0, 5], "det amod nsubj cop root punct".split()),
    Sentence(["hotel"], [0], ["root"]),
    Sentence("the new hotel".split(), [3, 3, 0], "det amod root".split()),
)


@pytest.fixture
def made(make):
    """``made(form)``: an encoder, and the model of transformers with the same weights."""
    return lambda form, **options: make(FORMS[form][0], **FORMS[form][1] | options)


def batch_of(encoder: PretrainedEncoder, edges: str = "transformer", **options) -> Batch:
    parts = [EncodedUtterance.of(one, encoder.tokens, RelationVocab()) for one in SENTENCES]
    pairs = (parts[:2], parts[1:2], parts[2:])
    data = [text_data(*pair, tokens=encoder.tokens, max_length=30) for pair in pairs]
    return Batch.from_data_list([resolve(edges, **options)(one) for one in data])


def states_over(model, data, seen: Tensor) -> tuple[Tensor, ...]:
    """All states of one example by the model's own attention, where ``seen[i, j]``: i attends to j."""
    inputs = {"input_ids": data.input_ids[None]}
    if getattr(model.config, "type_vocab_size", 0) and model.config.model_type != "mpnet":
        inputs["token_type_ids"] = data.segment[None]
    if model.config.model_type == "deberta-v2":  # the mask of its embeddings is one of words
        x = model.embeddings(**inputs)
        return model.encoder(x, seen[None]).hidden_states
    mask = torch.zeros(1, 1, *seen.shape, dtype=torch.double).masked_fill(~seen, LEAST)
    return model(**inputs, attention_mask=mask, output_hidden_states=True).hidden_states


def pairs_of(data) -> Tensor:
    """``seen[i, j]``: there is an edge from j to i."""
    seen = torch.zeros(data.num_nodes, data.num_nodes, dtype=torch.bool)
    seen[data.edge_index[1], data.edge_index[0]] = True
    return seen


@each
@pytest.mark.parametrize("edges", ["transformer", "dra", "dt"])
@pytest.mark.parametrize("implicit", [True, False])
def test_states_and_gradients_are_those_of_the_model_with_its_mask(made, form, edges, implicit):
    encoder, model = made(form)
    batch = batch_of(encoder, edges, implicit=implicit)
    x, layers = encoder(batch, return_layers=True)
    explicit = batch_of(encoder, edges).to_data_list()
    examples = [states_over(model, data, pairs_of(data)) for data in explicit]
    expected = [torch.cat([state[0] for state in states]) for states in zip(*examples)]
    assert len(layers) == len(expected) == 4
    assert_close_and_backward(x, layers, expected)
    gradients = {name: p.grad for name, p in model.named_parameters()}
    for name, parameter in encoder.model.named_parameters():
        if parameter.grad is None:  # a table that rotates
            assert gradients[name] is None
        else:
            assert parameter.grad.any(), name
            torch.testing.assert_close(parameter.grad, gradients[name], rtol=1e-7, atol=1e-9)


def own_scores(model, data, x: Tensor) -> Tensor:
    """Scores of the first layer by the papers' formulas, ``[heads, target, source]``."""
    kind = model.config.model_type
    distance = data.position[:, None] - data.position[None]  # of i behind j
    if kind == "deberta-v2":
        own = model.encoder.layer[0].attention.self
        q, k = (lin(x).view(len(x), 2, 6) for lin in (own.query_proj, own.key_proj))
        table = model.encoder.LayerNorm(model.encoder.rel_embeddings.weight)
        q_r, k_r = (lin(table).view(-1, 2, 6) for lin in (own.query_proj, own.key_proj))
        content = torch.einsum("ihd,jhd->hij", q, k)
        # Four buckets: 0 and 1 on either side are themselves, what is further away is one bucket.
        delta = (distance.sign() * log_bucket(distance.abs())).long() + 4
        to_position = torch.einsum("ihd,ijhd->hij", q, k_r[delta])
        to_content = torch.einsum("jhd,ijhd->hij", k, q_r[delta])
        return (content + to_position + to_content) / (3 * 6) ** 0.5
    own = model.encoder.layer[0].attention.attn
    q, k = (lin(x).view(len(x), 2, 6) for lin in (own.q, own.k))
    bucket = model.encoder.relative_position_bucket(-distance)
    bias = model.encoder.relative_attention_bias.weight[bucket]
    return torch.einsum("ihd,jhd->hij", q, k) / 6**0.5 + bias.permute(2, 0, 1)


def log_bucket(distance: Tensor, buckets: int = 4, most: int = 40) -> Tensor:
    """Buckets of the paper's code: half of them for small distances, half for their logarithms."""
    half = buckets // 2
    far = half + ((distance / half).log() / torch.tensor((most - 1) / half).log() * (half - 1)).ceil()
    return torch.where(distance <= half, distance.double(), far)


@pytest.mark.parametrize("form", ["mpnet", "deberta-v3"])
@pytest.mark.parametrize("method", ["gate", "keys"])
def test_terms_of_edges_change_the_score_with_its_distance(made, form, method):
    """DT's gate scales all of S^e; G2G's keys are scaled as the encoder's own."""
    encoder, _ = made(form)
    torch.manual_seed(3)
    if method == "gate":
        encoder.add_terms(lambda: GatedRelationScore(12, 2, COUNT, 5))
    else:
        encoder.add_terms(lambda: RelationKeyValue(COUNT, 2, encoder.head_channels, start="random"))
    for parameter in encoder.terms.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    data = batch_of(encoder, "dt").to_data_list()[0]
    (pairs, alpha), *_ = encoder.attention(data)
    x = encoder(data, return_layers=True)[1][0]
    score = own_scores(encoder.model, data, x)
    terms = encoder.terms["0"](x, data.edge_index, data.edge_type)
    for edge, (source, target) in enumerate(data.edge_index.T.tolist()):
        if method == "gate":
            changed = terms.score_scale[edge] * score[:, target, source] + terms.attn_bias[edge]
        else:
            own = encoder.model.encoder.layer[0].attention
            query = (own.self.query_proj if form == "deberta-v3" else own.attn.q)(x).view(-1, 2, 6)[target]
            key = terms.edge_key.expand()[edge]
            size = 18 if form == "deberta-v3" else 6
            changed = score[:, target, source] + (query * key).sum(dim=-1) / size**0.5
        score[:, target, source] = changed
    got = torch.zeros_like(score)
    got[:, pairs[1], pairs[0]] = alpha.T
    expected = score.masked_fill(~pairs_of(data), -torch.inf).softmax(dim=-1)
    torch.testing.assert_close(got, expected, rtol=1e-8, atol=1e-10)


@scored
def test_relations_without_a_place_have_no_distance(made, form, monkeypatch):
    encoder, _ = made(form)
    torch.manual_seed(1)
    encoder.add_relations(RelationEmbedding(COUNT, encoder.embedding_channels))
    data = batch_of(encoder, "dam", position="none").to_data_list()[0]
    pairs, alpha = encoder.attention(data)[0]
    for name in ("bucket_bias", "disentangled_scores"):

        def no_scores(query, key, layout, **options):
            return query.new_zeros(layout.num_edges, query.size(1))

        monkeypatch.setattr(distances, name, no_scores)
    _, without = encoder.attention(data)[0]
    placeless = data.position < 0
    of_relation = placeless[pairs[1]]
    assert of_relation.any()
    torch.testing.assert_close(alpha[of_relation], without[of_relation])
    assert not torch.allclose(alpha[~of_relation], without[~of_relation])


def test_rotated_states_need_a_place(made):
    encoder, _ = made("roformer")
    encoder.add_relations(RelationEmbedding(COUNT, encoder.embedding_channels))
    encoder(batch_of(encoder, "dam"))
    with pytest.raises(ValueError, match="RoFormerModel adds no embedding of positions"):
        encoder(batch_of(encoder, "dam", position="none"))


@each
def test_checkpoints_compute_the_same(made, form):
    encoder, again = made(form)[0].train(), made(form)[0].train().gradient_checkpointing()
    batch = batch_of(encoder, "dra")
    for one in (encoder, again):
        one(batch).sin().sum().backward()
    for p, q in zip(encoder.parameters(), again.parameters(), strict=True):
        torch.testing.assert_close(p.grad, q.grad)


@each
def test_a_copy_and_a_state_are_the_encoder(made, form):
    encoder, _ = made(form)
    batch = batch_of(encoder, "sia")
    expected = encoder(batch)
    buffer = io.BytesIO()
    torch.save(encoder.state_dict(), buffer)
    state = json.loads(json.dumps(encoder_state(encoder)))
    weights = {f"model.encoder.{name}": weight for name, weight in encoder.state_dict().items()}
    rebuilt = encoder_of_state(state, weights).double().eval()
    rebuilt.load_state_dict(torch.load(io.BytesIO(buffer.getvalue()), weights_only=True))
    for one in (copy.deepcopy(encoder), pickle.loads(pickle.dumps(encoder)), rebuilt):
        torch.testing.assert_close(one(batch), expected)


@each
def test_saving_and_loading(made, form, tmp_path):
    encoder, _ = made(form, double=False)
    encoder.eval().save_pretrained(tmp_path)
    again = load_encoder(tmp_path)
    assert again.tokens.fingerprint == encoder.tokens.fingerprint
    batch = batch_of(encoder, "sia")
    torch.testing.assert_close(again(batch), encoder(batch))


@each
def test_layers_freeze_with_what_they_read(made, form):
    """Tables of distances are embeddings, wherever a model defines them; what follows the layers is not."""
    encoder, _ = made(form)
    encoder.freeze(2)
    free = {name for name, p in encoder.model.named_parameters() if p.requires_grad}
    assert free
    assert all(".2." in name or "final_layer_norm" in name for name in free), free
    rates = [group["lr"] for group in encoder.parameter_groups(1.0, layer_decay=0.5)]
    assert set(rates) == {1.0}


@pytest.mark.parametrize(
    ("family", "options", "why"),
    [
        ("deberta-v2", {"conv_kernel_size": 3}, "joins neighbours"),
        ("roformer", {"is_decoder": True}, "it is, or has, a decoder"),
        ("mpnet", {"relative_attention_num_buckets": 24}, "24 of 32 buckets"),
    ],
)
def test_forms_that_edges_cannot_express(make_model, make_tokenizer, family, options, why):
    with pytest.raises(ValueError, match=f"cannot run over edges: .*{why}"):
        PretrainedEncoder(make_model(family, **options), make_tokenizer())


@pytest.mark.parametrize(
    ("family", "options"),
    [
        ("t5", {"relative_attention_num_buckets": 1}),
        ("t5", {"relative_attention_max_distance": 1}),
        ("t5", {"n_positions": "x"}),
        ("t5", {"n_positions": -5}),
        ("deberta-v2", {"position_buckets": 1}),
        ("roformer", {"chunk_size_feed_forward": 2}),
    ],
)
def test_odd_sizes_are_refused(make_model, make_tokenizer, family, options):
    with pytest.raises(ValueError, match="cannot run over edges"):
        PretrainedEncoder(make_model(family, **options), make_tokenizer())


@pytest.mark.parametrize("form", ["mpnet", "deberta-v3"])
def test_gates_of_no_nodes(made, form):
    encoder, _ = made(form)
    encoder.add_terms(lambda: GatedRelationScore(12, 2, COUNT, 5))
    [first, *_] = [values for values in encoder.gates(batch_of(encoder, "dt")) if values is not None]
    none = torch.zeros(0, dtype=torch.long)
    columns = dict.fromkeys(("input_ids", "position", "segment", "edge_type"), none)
    empty = Data(num_nodes=0, edge_index=none.view(2, 0), **columns)
    gates = encoder.gates(empty)
    assert [values.gate.shape for values in gates] == [(0, first.gate.size(1))] * 3


def test_a_model_with_a_decoder_is_refused(make_model, make_tokenizer):
    from transformers import T5Model

    model = T5Model(make_model("t5").config)
    with pytest.raises(ValueError, match="T5Model cannot run over edges: it has a decoder"):
        PretrainedEncoder(model, make_tokenizer())


def test_a_tokenizer_without_cls_gets_one(make_model, tmp_path):
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", -3.0), *(("\u2581" + c, -2.0) for c in "abn")]
    backend = Tokenizer(models.Unigram(pieces, unk_id=2))
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    names = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, **names)
    encoder = PretrainedEncoder(make_model("t5", vocab_size=8), tokenizer).eval()
    assert encoder.tokens.sep_id == 1
    assert (encoder.tokens.cls_id, encoder.tokens.eou_id) == (6, 7)
    table = encoder.model.get_input_embeddings().weight
    assert not torch.allclose(table[6], table[7])
    assert encoder.embedding_std == table.std().item()
    data = encoder.to_data(["a b"], parser="chain", edges="sia")
    assert data.input_ids.tolist() == [6, 3, 4, 1]
    assert encoder.readout(data, encoder(data)).shape == (1, 12)
    encoder.save_pretrained(tmp_path)
    again = load_encoder(tmp_path)
    torch.testing.assert_close(again(data), encoder(data))
    assert again.tokens.fingerprint == encoder.tokens.fingerprint
