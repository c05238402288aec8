from __future__ import annotations

import copy
import pickle
import random
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from torch_geometric.data import Batch, Data

from graphdep import NodeType, RelationVocab
from graphdep.data import EncodedUtterance, mark_words, text_data
from graphdep.nn.models import SIA, RelationEmbedding, TokenModel
from graphdep.nn.pretrained import PretrainedEncoder
from graphdep.transforms import resolve
from tests.kit.trees import random_sentence

RELATIONS = RelationVocab()
FAMILIES = ["bert", "roberta", "electra", "albert", "distilbert"]
each_family = pytest.mark.parametrize("family", FAMILIES)


def example(encoder: PretrainedEncoder, seed: int, marked: bool = True) -> Data:
    """One text of words of one piece or two, one of which has mark 1 or 2."""
    rng = random.Random(seed)
    words = rng.randint(2, 6)
    tree = random_sentence(rng, words)
    tree = replace(tree, form=[word * rng.randint(1, 2) for word in tree.form])
    data = text_data(
        EncodedUtterance.of(tree, encoder.tokens, RELATIONS), tokens=encoder.tokens, max_length=20
    )
    chosen, mark = rng.randrange(words), rng.randint(1, 2)
    return mark_words(data, [mark * (marked and word == chosen) for word in range(words)])


def batch_of(encoder: PretrainedEncoder, edges: str = "transformer", **options) -> Batch:
    return resolve(edges)(Batch.from_data_list([example(encoder, seed, **options) for seed in range(4)]))


def with_marks(encoder: PretrainedEncoder) -> PretrainedEncoder:
    torch.manual_seed(1)
    return encoder.add_marks(3)


def with_relations(encoder: PretrainedEncoder) -> PretrainedEncoder:
    torch.manual_seed(2)
    embedding = RelationEmbedding(len(RELATIONS), encoder.embedding_channels)
    for parameter in embedding.parameters():
        nn.init.normal_(parameter, std=0.3)
    return encoder.add_relations(embedding)


def run_padded(model, marks: Tensor, batch: Batch) -> Tensor:
    """The states of the nodes, of a model that is given word vectors and those of marks by hand."""
    sizes, config = batch.ptr.diff().tolist(), model.config
    words = model.get_input_embeddings()(batch.input_ids) + marks[batch.mark]
    first = config.pad_token_id + 1 if config.model_type == "roberta" else 0

    def padded(column: Tensor) -> Tensor:
        return pad_sequence(column.split(sizes), batch_first=True)

    real = padded(torch.ones(batch.num_nodes, dtype=torch.bool))
    options = {"position_ids": padded(batch.position + first)}
    if config.model_type != "distilbert":
        options["token_type_ids"] = padded(batch.segment * 0)
    return model(inputs_embeds=padded(words), attention_mask=real.long(), **options).last_hidden_state[real]


@each_family
def test_marks_equal_those_given_to_the_padded_model(make, family):
    """Electra and ALBERT have word vectors of another size than states."""
    encoder, padded = make(family)
    with_marks(encoder)
    assert encoder.marks.weight.shape == (3, encoder.embedding_channels)
    assert encoder.embedding_channels == (8 if family in ("electra", "albert") else 12)
    table = encoder.marks.weight.detach().clone().requires_grad_()
    batch = batch_of(encoder)
    got, expected = encoder(batch), run_padded(padded, table, batch)
    torch.testing.assert_close(got, expected, rtol=1e-9, atol=1e-9)
    weight = torch.randn(got.shape, generator=torch.Generator().manual_seed(0), dtype=got.dtype)
    for out in (got, expected):
        (out * weight).sum().backward()
    torch.testing.assert_close(encoder.marks.weight.grad[1:], table.grad[1:], rtol=1e-7, atol=1e-9)
    assert not encoder.marks.weight.grad[0].any()
    words, wanted = (model.get_input_embeddings().weight.grad for model in (encoder.model, padded))
    torch.testing.assert_close(words, wanted, rtol=1e-7, atol=1e-9)


@each_family
def test_no_mark_adds_nothing_and_a_mark_changes_its_word(make, family):
    encoder = make(family)[0]
    batch, plain = batch_of(encoder), batch_of(encoder, marked=False)
    assert torch.equal(batch.mark > 0, (batch.mark > 0) & (batch.node_type == NodeType.WORD))
    before = encoder(plain)
    assert with_marks(encoder) is encoder
    # The model makes the same vectors of ids that it is given here.
    torch.testing.assert_close(encoder(plain), before, rtol=1e-12, atol=1e-12)
    assert (encoder(batch) - before)[batch.mark > 0].abs().amax(dim=1).min() > 1e-5


@each_family
@pytest.mark.parametrize("edges", ["transformer", "dt", "dam"])
def test_a_batch_is_its_examples(make, family, edges):
    encoder = with_marks(make(family, max_position_embeddings=70)[0])
    if edges == "dam":
        with_relations(encoder)
    batch = batch_of(encoder, edges)
    alone = torch.cat([encoder(data) for data in batch.to_data_list()])
    torch.testing.assert_close(encoder(batch), alone, rtol=1e-9, atol=1e-9)


def test_relation_nodes_have_no_mark(make):
    encoder = with_relations(make(max_position_embeddings=70)[0])
    batch, plain = batch_of(encoder, "dam"), batch_of(encoder, "dam", marked=False)
    assert not batch.mark[batch.node_type == NodeType.RELATION].any()
    before = encoder(plain)
    with_marks(encoder)
    assert torch.equal(encoder(plain), before)
    first = encoder(batch, return_layers=True)[1][0]
    changed = (first != encoder(plain, return_layers=True)[1][0]).any(dim=1)
    assert torch.equal(changed, batch.mark > 0)


def test_the_vector_of_no_mark_stays_zero(make):
    encoder = with_marks(make()[0])
    batch = batch_of(encoder)
    weights = copy.deepcopy(encoder.model.state_dict())
    optimizer = torch.optim.AdamW(
        [*encoder.parameter_groups(0.0), {"params": encoder.added_parameters()}], lr=0.1, weight_decay=0.1
    )
    start = encoder.marks.weight.detach().clone()
    for _ in range(3):
        optimizer.zero_grad()
        encoder(batch).sin().sum().backward()
        optimizer.step()
    assert not encoder.marks.weight[0].any()
    assert (encoder.marks.weight != start)[1:].all()
    assert [*map(id, encoder.added_parameters())] == [id(encoder.marks.weight)]
    nn.init.constant_(encoder.marks.weight, torch.nan)
    encoder.reset_parameters()
    assert not encoder.marks.weight[0].any()
    assert encoder.marks.weight[1:].isfinite().all()
    assert encoder.marks.weight[1:].any()
    for name, value in encoder.model.state_dict().items():
        assert torch.equal(value, weights[name]), name


def test_freezing_leaves_marks_in_training(make):
    encoder = with_marks(make()[0]).freeze(3)
    encoder(batch_of(encoder)).sin().sum().backward()
    assert encoder.marks.weight.grad[1:].any()
    assert all(parameter.grad is None for parameter in encoder.model.parameters())


def through_a_file(encoder: PretrainedEncoder, folder) -> PretrainedEncoder:
    torch.save(encoder, folder / "encoder.pt")
    return torch.load(folder / "encoder.pt", weights_only=False)


@pytest.mark.parametrize(
    "way", [lambda x, _: copy.deepcopy(x), lambda x, _: pickle.loads(pickle.dumps(x)), through_a_file]
)
def test_copies_have_the_marks(make, way, tmp_path):
    encoder = with_marks(make()[0])
    batch = batch_of(encoder)
    assert torch.equal(way(encoder, tmp_path)(batch), encoder(batch))


@each_family
def test_a_state_dict_has_the_marks(make, family):
    encoder, again = with_marks(make(family)[0]), make(family)[0].add_marks(3)
    batch = batch_of(encoder)
    assert not torch.equal(again(batch), encoder(batch))
    again.load_state_dict(encoder.state_dict())
    assert torch.equal(again(batch), encoder(batch))
    assert set(encoder.state_dict()) - set(make(family)[0].state_dict()) == {"marks.weight"}


def test_saving_tells_that_marks_are_left_out(make, tmp_path, caplog):
    encoder = with_marks(make(double=False)[0])
    encoder.save_pretrained(tmp_path / "encoder")
    assert "marks" in caplog.text


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_marks_have_the_type_and_device_of_the_model(make, dtype):
    encoder = with_marks(make()[0].to(dtype))
    assert encoder.marks.weight.dtype == dtype
    assert encoder(batch_of(encoder)).dtype == dtype
    nowhere = with_marks(make()[0].to("meta"))
    assert nowhere.marks.weight.device.type == "meta"


def test_autocast(make):
    encoder = with_marks(make(double=False)[0])
    batch = batch_of(encoder)
    expected = encoder(batch)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = encoder(batch)
    torch.testing.assert_close(out.float(), expected, rtol=0, atol=0.1)


@each_family
def test_under_heads_and_added_syntax(make, family):
    encoder = make(family)[0].eval()
    model = TokenModel(SIA(encoder, heads=2).double().add_marks(3), 4, pieces="mean", marked=True).double()
    model.eval()
    assert encoder.marks is not None
    batch = batch_of(encoder)
    logits, nodes = model(batch)
    words = {pair for pair in zip(batch.batch.tolist(), batch.word.tolist()) if pair[1] >= 0}
    assert len(nodes) == len(logits) == len(words) < int((batch.word >= 0).sum())
    alone = torch.cat([model(data)[0] for data in batch.to_data_list()])
    torch.testing.assert_close(logits, alone, rtol=1e-9, atol=1e-9)


def test_errors(make, monkeypatch):
    encoder = make()[0]
    batch = batch_of(encoder)
    with pytest.raises(ValueError, match=r"'number' must be at least 2 \(got 1\)"):
        encoder.add_marks(1)
    encoder.add_marks(2)
    with pytest.raises(ValueError, match="the encoder has an embedding of marks already: Embedding\\(2, 12"):
        encoder.add_marks(2)
    del batch["mark"]
    with pytest.raises(ValueError, match=r"no 'mark': call graphdep.data.node_table\(data, marks\)"):
        encoder(batch)
    other = make()[0]
    monkeypatch.setattr(type(other.model), "forward", lambda self, input_ids: None)
    with pytest.raises(ValueError, match="BertModel takes no 'inputs_embeds', which marks need"):
        other.add_marks(2)
