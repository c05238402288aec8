from __future__ import annotations

import copy
import pickle
import random
from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from torch_geometric.data import Batch, Data
from torch_geometric.transforms import Compose

from graphdep import NodeType, RelationVocab
from graphdep.data import EncodedUtterance, mark_words, text_data
from graphdep.nn.models import SIA, RelationEmbedding, TokenModel
from graphdep.nn.pretrained import PretrainedEncoder
from graphdep.transforms import ChainTree, CompleteEdges, RelationEdges, resolve
from tests.kit.slow import assert_close_and_backward
from tests.kit.trees import random_sentence

RELATIONS = RelationVocab()
LEAST = torch.finfo(torch.double).min
each_family = pytest.mark.parametrize("family", ["bert", "roberta"])


def example(encoder: PretrainedEncoder, seed: int) -> Data:
    """One text or two of words of one piece or more, with a second governor for some words, which may close a
    cycle.
    """
    rng = random.Random(seed)
    trees = [random_sentence(rng, rng.randint(1, 6)) for _ in range(rng.randint(1, 2))]
    parts = [replace(tree, form=[word * rng.randint(1, 2) for word in tree.form]) for tree in trees]
    encoded = [EncodedUtterance.of(part, encoder.tokens, RELATIONS) for part in parts]
    data = text_data(*encoded, tokens=encoder.tokens, max_length=20)
    words = [int(i) for i in data.arc_index.unique()]
    more = [pair for pair in pairwise(words) if rng.random() < 0.5]
    data.arc_index = torch.cat([data.arc_index, torch.tensor(more, dtype=torch.long).view(-1, 2).T], dim=1)
    labels = [RELATIONS["nsubj:xsubj"]] * len(more)
    data.arc_type = torch.cat([data.arc_type, torch.tensor(labels, dtype=torch.long)])
    return data


def batch_of(encoder: PretrainedEncoder, seed: int = 0, **options) -> Batch:
    examples = [example(encoder, seed * 10 + i) for i in range(4)]
    return resolve("dam", **options)(Batch.from_data_list(examples))


def with_relations(encoder: PretrainedEncoder, **options) -> PretrainedEncoder:
    torch.manual_seed(1)
    embedding = RelationEmbedding(len(RELATIONS), encoder.embedding_channels, **options)
    for parameter in embedding.parameters():
        nn.init.normal_(parameter, std=0.3)
    return encoder.add_relations(embedding)


def additive_mask(batch: Batch, direction: str) -> Tensor:
    """Eq. 1 as the numbers that a padded model adds to its scores: ``[B, 1, n + r, n + r]``."""
    sizes = batch.ptr.diff().tolist()
    mask = torch.full((len(sizes), 1, max(sizes), max(sizes)), LEAST, dtype=torch.double)
    linked = {
        pair
        for node, arc in zip(batch.arc_node_index.tolist(), batch.arc_index.T.tolist())
        for word in arc
        for pair in ([(word, node), (node, word)] if direction == "both" else [(word, node)])
    }
    for number, size in enumerate(sizes):
        start = int(batch.ptr[number])
        is_word = (batch.node_type[start : start + size] != NodeType.RELATION).tolist()
        for i in range(max(sizes)):
            for j in range(max(sizes)):
                if i >= size or j >= size:
                    seen = i == j  # a row of padding sees itself
                else:
                    seen = i == 0 or j == 0 or i == j or (is_word[i] and is_word[j])
                    seen |= (start + i, start + j) in linked
                if seen:
                    mask[number, 0, i, j] = 0
    return mask


def places(model, first: int, segment: Tensor) -> Tensor:
    """What the model adds to vectors of position 0 in some segments."""
    table = model.embeddings
    known = segment * (model.config.type_vocab_size > 1)
    return table.position_embeddings.weight[first] + table.token_type_embeddings.weight[known]


def run_padded(model, embedding: RelationEmbedding, batch: Batch, mask: Tensor) -> list[Tensor]:
    """All hidden states of the padded model, of the nodes alone."""
    sizes = batch.ptr.diff().tolist()
    first = 0 if model.config.model_type == "bert" else model.config.pad_token_id + 1
    rows = []
    for data in batch.to_data_list():
        words = data.node_type != NodeType.RELATION
        vectors = model.get_input_embeddings()(data.input_ids[words])
        relations = embedding(data.deprel[~words])
        if (data.position < 0).any():  # the model adds the places of 0, which these are to be without
            relations = relations - places(model, first, data.segment[~words])
        rows.append(torch.cat([vectors, relations]))
    columns = [batch.position.clamp(min=0) + first, batch.segment * (model.config.type_vocab_size > 1)]
    position, segment = (pad_sequence(column.split(sizes), batch_first=True) for column in columns)
    out = model(
        inputs_embeds=pad_sequence(rows, batch_first=True),
        attention_mask=mask,
        position_ids=position,
        token_type_ids=segment,
        output_hidden_states=True,
    )
    real = pad_sequence([torch.ones(n, dtype=torch.bool) for n in sizes], batch_first=True)
    return [state[real] for state in out.hidden_states]


@each_family
@pytest.mark.parametrize("direction", ["both", "to_word"])
@pytest.mark.parametrize("position", ["sequence", "dependent", "none"])
def test_dam_equals_the_padded_model_with_its_mask(make, family, direction, position):
    encoder, padded = make(family, max_position_embeddings=70)
    with_relations(encoder)
    embedding = copy.deepcopy(encoder.relations)
    batch = batch_of(encoder, direction=direction, position=position)
    assert batch.segment.any()
    x, layers = encoder(batch, return_layers=True)
    expected = run_padded(padded, embedding, batch, additive_mask(batch, direction))
    assert len(layers) == len(expected) == 4
    assert_close_and_backward(x, layers, expected)
    for (name, p), q in zip(encoder.model.named_parameters(), padded.parameters()):
        assert p.grad.any(), name
        torch.testing.assert_close(p.grad, q.grad, rtol=1e-7, atol=1e-9)
    for p, q in zip(encoder.relations.parameters(), embedding.parameters(), strict=True):
        assert p.grad.any()
        torch.testing.assert_close(p.grad, q.grad, rtol=1e-7, atol=1e-9)


def test_relations_without_places_are_a_label_and_a_type_alone(make):
    """Section 3.3: Emb_e(l) + e_l, and nothing that tells two relations of one label apart."""
    encoder = with_relations(make(max_position_embeddings=70)[0]).eval()
    batch = batch_of(encoder, 2, position="none")
    related = batch.arc_node_index
    assert (batch.position[related] == -1).all()
    assert batch.segment[related].unique().tolist() == [0, 1]
    _, (first, *_) = encoder(batch, return_layers=True)
    alone = encoder.model.embeddings.LayerNorm(encoder.relations(batch.deprel[related]))
    torch.testing.assert_close(first[related], alone, rtol=1e-12, atol=1e-12)
    words = torch.ones(batch.num_nodes, dtype=torch.bool).index_fill(0, related, False)
    usual = batch_of(encoder, 2)
    torch.testing.assert_close(encoder(usual, return_layers=True)[1][0][words], first[words])
    assert not any(module._forward_hooks for module in encoder.model.embeddings.modules())


def test_relations_without_places_need_places_that_are_added(make, monkeypatch):
    encoder = with_relations(make(max_position_embeddings=70)[0])
    batch = batch_of(encoder, position="none")
    monkeypatch.setattr("graphdep.nn.pretrained.encoder._is_place", lambda name, module: False)
    with pytest.raises(ValueError, match="BertModel adds no embedding of positions to words"):
        encoder(batch)
    encoder(batch_of(encoder))


def test_without_relation_nodes_nothing_changes(make):
    encoder = make()[0]
    batch = resolve("transformer")(Batch.from_data_list([example(encoder, seed) for seed in range(3)]))
    expected = encoder(batch)
    torch.testing.assert_close(with_relations(encoder)(batch), expected)
    encoder(batch).sum().backward()
    assert not encoder.relations.kind.grad.any()  # there is one: DDP waits for it


def test_vectors_of_another_size_than_the_states(make):
    encoder = make("electra")[0]
    assert (encoder.embedding_channels, encoder.hidden_channels) == (8, 12)
    with_relations(encoder, type_embedding=False)
    batch = batch_of(encoder, position="zero")
    assert encoder(batch).shape == (batch.num_nodes, 12)
    with pytest.raises(ValueError, match=r"must give vectors of size 8 \(got 12\)"):
        make("electra")[0].add_relations(RelationEmbedding(len(RELATIONS), 12))


def test_relations_in_single_layers(make):
    """The nodes are those of all layers; a layer may leave relations to themselves."""
    alone = CompleteEdges(node_types=["WORD", "CLS", "SEP"]) | RelationEdges("none")
    encoder = with_relations(make(edges={0: alone, 1: alone}, max_position_embeddings=70)[0])
    batch = batch_of(encoder)
    words = batch.node_type != NodeType.RELATION
    plain = PretrainedEncoder(encoder.model, encoder.tokenizer)
    without = resolve("transformer")(Batch.from_data_list([example(encoder, i) for i in range(4)]))
    layers, expected = (
        one(data, return_layers=True)[1] for one, data in ((encoder, batch), (plain, without))
    )
    for number in range(3):
        torch.testing.assert_close(layers[number][words], expected[number])
    assert not torch.allclose(layers[3][words], expected[3])


@pytest.mark.parametrize("way", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy])
def test_a_model_comes_back_from_a_file(make, way):
    encoder = with_relations(make(max_position_embeddings=70)[0])
    batch = batch_of(encoder)
    again = way(encoder)
    assert torch.equal(again(batch), encoder(batch))
    assert {"relations.kind", "relations.relation.weight"} < {*encoder.state_dict()}
    nn.init.zeros_(encoder.relations.kind)
    assert not torch.allclose(again(batch), encoder(batch))


def test_texts(make):
    encoder = with_relations(make(double=False)[0])
    data = encoder.to_data(["a low room", ("new ?", "a")], edges="dam")
    arcs = data.arc_index.size(1)
    assert int((data.node_type == NodeType.RELATION).sum()) == arcs > 0
    assert encoder.readout(data, encoder(data)).shape == (2, 12)
    chain = Compose([ChainTree(), resolve("dam")])
    assert encoder.to_data(["a low room"], edges=chain).arc_node_index.numel() == 2


# -- what cannot be ------------------------------------------------------------------------------------


def test_relation_nodes_without_vectors(make):
    encoder = make(max_position_embeddings=70)[0]
    with pytest.raises(ValueError, match="has RELATION nodes, for which the encoder has no vectors"):
        encoder(batch_of(encoder))


@each_family
def test_relations_beyond_the_positions_share_the_last(make, family):
    positions = 20 + 2 * (family == "roberta")  # of which two are for padding
    encoder = with_relations(make(family, max_position_embeddings=positions)[0])
    assert encoder.max_length == 20
    examples = [example(encoder, seed) for seed in range(10)]
    long = max(examples, key=lambda data: data.num_nodes + data.arc_index.size(1))
    batch = resolve("dam")(Batch.from_data_list([examples[0], long]))
    position = batch.position.clone()
    beyond = position >= 20
    assert beyond.any()
    assert (batch.node_type[beyond] == NodeType.RELATION).all()
    out = encoder(batch)
    assert torch.equal(batch.position, position)  # the data is left as it is
    for node in beyond.nonzero():
        batch.position[node] = 19
    assert torch.equal(out, encoder(batch))
    batch.position[beyond.nonzero()[0]] = 18
    assert not torch.allclose(out, encoder(batch))


def test_words_beyond_the_positions(make):
    encoder = with_relations(make(max_position_embeddings=20)[0])
    batch = Batch.from_data_list([example(encoder, 1), example(encoder, 2)])
    last = batch.num_nodes - 1
    batch.position[last] = 20
    message = "example 1 has 21 positions, the encoder 20: give a smaller 'max_length' where the data is made"
    with pytest.raises(ValueError, match=message):
        encoder(resolve("dam")(batch))
    batch.position[last] = 19
    encoder(resolve("dam")(batch))


def test_data_without_what_relations_need(make):
    encoder = with_relations(make(max_position_embeddings=70)[0])
    for key in ("node_type", "deprel"):
        batch = batch_of(encoder)
        del batch[key]
        with pytest.raises(ValueError, match=f"the data has no '{key}': make it with to_data"):
            encoder(batch)


def test_relation_nodes_that_the_transform_did_not_make(make):
    encoder = with_relations(make(max_position_embeddings=70)[0])
    batch = batch_of(encoder)
    count = batch.arc_node_index.numel()
    batch.arc_node_index = batch.arc_node_index[1:]
    message = f"the data has {count} RELATION and PHRASE nodes, but .* name {count - 1}: let"
    with pytest.raises(ValueError, match=message):
        encoder(batch)
    del batch["arc_node_index"]
    with pytest.raises(ValueError, match=f"has {count} RELATION and PHRASE nodes, but .* name 0"):
        encoder(batch)


def test_other_errors(make, monkeypatch):
    encoder = with_relations(make(max_position_embeddings=70)[0])
    with pytest.raises(ValueError, match=r"already has an embedding of relations: RelationEmbedding\("):
        with_relations(encoder)
    batch = batch_of(encoder)
    batch.deprel[-1] = len(RELATIONS)
    with pytest.raises(ValueError, match=f"'deprel' holds relation {len(RELATIONS)}, but there are"):
        encoder(batch)
    encoder = make()[0]
    monkeypatch.setattr(type(encoder.model), "forward", lambda self, input_ids, **options: None)
    with pytest.raises(ValueError, match="BertModel takes no 'inputs_embeds', which relations need"):
        with_relations(encoder)


# -- marks -----------------------------------------------------------------------------------------------


FAMILIES = ["bert", "roberta", "electra", "albert", "distilbert"]
each_family_marks = pytest.mark.parametrize("family", FAMILIES)


def example_marks(encoder: PretrainedEncoder, seed: int, marked: bool = True) -> Data:
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


def batch_of_marks(encoder: PretrainedEncoder, edges: str = "transformer", **options) -> Batch:
    return resolve(edges)(
        Batch.from_data_list([example_marks(encoder, seed, **options) for seed in range(4)])
    )


def with_marks(encoder: PretrainedEncoder) -> PretrainedEncoder:
    torch.manual_seed(1)
    return encoder.add_marks(3)


def run_padded_marks(model, marks: Tensor, batch: Batch) -> Tensor:
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


@each_family_marks
def test_marks_equal_those_given_to_the_padded_model(make, family):
    """Electra and ALBERT have word vectors of another size than states."""
    encoder, padded = make(family)
    with_marks(encoder)
    assert encoder.marks.weight.shape == (3, encoder.embedding_channels)
    assert encoder.embedding_channels == (8 if family in ("electra", "albert") else 12)
    table = encoder.marks.weight.detach().clone().requires_grad_()
    batch = batch_of_marks(encoder)
    got, expected = encoder(batch), run_padded_marks(padded, table, batch)
    torch.testing.assert_close(got, expected, rtol=1e-9, atol=1e-9)
    weight = torch.randn(got.shape, generator=torch.Generator().manual_seed(0), dtype=got.dtype)
    for out in (got, expected):
        (out * weight).sum().backward()
    torch.testing.assert_close(encoder.marks.weight.grad[1:], table.grad[1:], rtol=1e-7, atol=1e-9)
    assert not encoder.marks.weight.grad[0].any()
    words, wanted = (model.get_input_embeddings().weight.grad for model in (encoder.model, padded))
    torch.testing.assert_close(words, wanted, rtol=1e-7, atol=1e-9)


@each_family_marks
def test_no_mark_adds_nothing_and_a_mark_changes_its_word(make, family):
    encoder = make(family)[0]
    batch, plain = batch_of_marks(encoder), batch_of_marks(encoder, marked=False)
    assert torch.equal(batch.mark > 0, (batch.mark > 0) & (batch.node_type == NodeType.WORD))
    before = encoder(plain)
    assert with_marks(encoder) is encoder
    # The model makes the same vectors of ids that it is given here.
    torch.testing.assert_close(encoder(plain), before, rtol=1e-12, atol=1e-12)
    assert (encoder(batch) - before)[batch.mark > 0].abs().amax(dim=1).min() > 1e-5


def test_relation_nodes_have_no_mark(make):
    encoder = with_relations(make(max_position_embeddings=70)[0])
    batch, plain = batch_of_marks(encoder, "dam"), batch_of_marks(encoder, "dam", marked=False)
    assert not batch.mark[batch.node_type == NodeType.RELATION].any()
    before = encoder(plain)
    with_marks(encoder)
    assert torch.equal(encoder(plain), before)
    first = encoder(batch, return_layers=True)[1][0]
    changed = (first != encoder(plain, return_layers=True)[1][0]).any(dim=1)
    assert torch.equal(changed, batch.mark > 0)


def test_the_vector_of_no_mark_stays_zero(make):
    encoder = with_marks(make()[0])
    batch = batch_of_marks(encoder)
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


@pytest.mark.parametrize("family", ["bert", "electra"])
def test_a_state_dict_has_the_marks(make, family):
    encoder, again = with_marks(make(family)[0]), make(family)[0].add_marks(3)
    batch = batch_of_marks(encoder)
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
    assert encoder(batch_of_marks(encoder)).dtype == dtype
    nowhere = with_marks(make()[0].to("meta"))
    assert nowhere.marks.weight.device.type == "meta"


@pytest.mark.parametrize("family", ["bert", "electra"])
def test_under_heads_and_added_syntax(make, family):
    encoder = make(family)[0].eval()
    model = TokenModel(SIA(encoder, heads=2).double().add_marks(3), 4, pieces="mean", marked=True).double()
    model.eval()
    assert encoder.marks is not None
    batch = batch_of_marks(encoder)
    logits, nodes = model(batch)
    words = {pair for pair in zip(batch.batch.tolist(), batch.word.tolist()) if pair[1] >= 0}
    assert len(nodes) == len(logits) == len(words) < int((batch.word >= 0).sum())
    alone = torch.cat([model(data)[0] for data in batch.to_data_list()])
    torch.testing.assert_close(logits, alone, rtol=1e-9, atol=1e-9)


def test_errors(make, monkeypatch):
    encoder = make()[0]
    batch = batch_of_marks(encoder)
    with pytest.raises(ValueError, match=r"'number' must be at least 2 \(got 1\)"):
        encoder.add_marks(1)
    encoder.add_marks(2)
    with pytest.raises(ValueError, match="the encoder already has an embedding of marks: Embedding\\(2, 12"):
        encoder.add_marks(2)
    del batch["mark"]
    with pytest.raises(ValueError, match=r"no 'mark': call graphdep.data.node_table\(data, marks\)"):
        encoder(batch)
    other = make()[0]
    monkeypatch.setattr(type(other.model), "forward", lambda self, input_ids: None)
    with pytest.raises(ValueError, match="BertModel takes no 'inputs_embeds', which marks need"):
        other.add_marks(2)
