from __future__ import annotations

import copy
import inspect

import pytest
import torch
from torch_geometric.data import Batch

from graphdep import Sentence, to_data
from graphdep.tasks.sentences.settings import MODELS
from graphdep.training import TrainConfig
from graphdep.training.build import Parts, build_encoder, make_optimizer
from graphdep.training.family import build_task, load_splits
from graphdep.transforms import PRESETS, resolve
from tests.kit.runs import build_edges


@pytest.fixture
def batch(corpus):
    splits = load_splits(TrainConfig.of("dt", **corpus), ("train",))
    return Batch.from_data_list(list(splits["train"])[:5]), splits


def with_phrases(data):
    """The same with one constituent over each text, and tags."""
    words = [(data.utterance == text).nonzero().view(-1)[1:] for text in range(2)]
    first, last = zip(*((int(nodes[0]), int(nodes[-1])) for nodes in words))
    data.phrase_index, data.phrase_type = torch.tensor([first, last]), torch.tensor([1, 1])
    data.tag = torch.ones_like(data.node_type)
    return data


@pytest.mark.parametrize("model", [name for name in MODELS if not name.startswith("bert")])
def test_every_model_runs_on_its_edges(model, batch, tiny):
    data, splits = batch
    if TrainConfig.of(model, **tiny).reads_constituents:
        data = Batch.from_data_list([with_phrases(one) for one in data.to_data_list()])
    task = build_task(TrainConfig.of(model, **tiny), Parts(len(splits.vocab), len(splits.relations)))
    assert task(task.edges(data)).shape == (5, 3)
    assert "edge_index" not in data


@pytest.mark.parametrize("edges", ["dra", "sia", "transformer", "dt", "lisa", "gate"])
def test_edges_get_types_where_the_model_needs_them(edges, batch, tiny):
    data, splits = batch
    for model in ("dt", "transformer"):
        task = build_task(
            TrainConfig.of(model, **{**tiny, "edges": edges}), Parts(len(splits.vocab), len(splits.relations))
        )
        assert torch.isfinite(task(task.edges(data))).all()


@pytest.mark.parametrize("model", ["dt", "transformer", "tree-lstm"])
def test_single_sentences(model, opinions, tiny):
    config = TrainConfig.of(model, **{**tiny, **opinions})
    splits = load_splits(config, ("train",))
    batch = Batch.from_data_list(list(splits["train"])[:5])
    task = build_task(config, Parts(len(splits.vocab), len(splits.relations)))
    assert task(task.edges(batch)).shape == (5, 2)


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("dt@unlabelled", {"labels": False}),
        ("dt-undirected", {"directions": False}),
        ("dt-infill4", {"max_distance": 4}),
        ("dt-infill0", {"max_distance": 0}),
    ],
)
def test_ablations_of_the_relation_matrix(model, options, batch):
    data, _ = batch
    ours, theirs = build_edges(TrainConfig.of(model))(data), resolve("dt", implicit=True, **options)(data)
    assert torch.equal(ours.edge_type, theirs.edge_type)
    with_types_after = build_edges(TrainConfig.of(model, edges="transformer-utterance"))(data)
    assert torch.equal(with_types_after.edge_type, theirs.edge_type)


@pytest.mark.parametrize("task", ["sick-e", "ud-tags", "semeval2010"])
def test_equations_2_and_3_to_the_letter_are_a_row(task):
    literal, usual = (TrainConfig.of(model, task=task) for model in ("dt-untyped", "dt"))
    assert usual.replace(model="dt-untyped", untyped="gate") == literal
    assert {layer.conv.score.untyped for layer in build_encoder(literal, 50, 801).layers} == {"gate"}


@pytest.mark.parametrize("task", ["sick-e", "sst", "ud-tags", "agreement", "semeval2010"])
def test_wide_transformer_has_as_many_parameters_as_dt(task):
    counts = {
        model: sum(p.numel() for p in build_encoder(TrainConfig.of(model, task=task), 2000, 801).parameters())
        for model in ("dt", "transformer-wide", "transformer")
    }
    assert counts["transformer-wide"] == pytest.approx(counts["dt"], rel=0.01)
    assert counts["transformer"] < 0.95 * counts["dt"]  # which is why there is the wide one


@pytest.mark.parametrize("start", ["random", "torch"])
def test_where_relations_start(start):
    torch.manual_seed(0)
    encoder = build_encoder(TrainConfig.of("dt", start=start), 50, 801)
    expected = {"random": 30**-0.5, "torch": 1.0}[start]
    assert encoder.relation.weight.std().item() == pytest.approx(expected, rel=0.02)
    assert {layer.conv.score.start for layer in encoder.layers} == {start}


@pytest.mark.parametrize("task", ["sick-e", "dailydialog"])
def test_words_may_be_scaled(task):
    sizes = {"hidden_channels": 16, "ff_channels": 8, "heads": 2, "task": task, "embedding_scale": True}
    config = TrainConfig.of(**sizes)
    model = build_task(config, Parts(50, 801)).model
    assert model.encoder.embedding.embedding_scale
    assert config.digest() != config.replace(embedding_scale=False).digest()


def test_baselines_on_control_trees(batch, tiny):
    data, splits = batch
    build = [
        build_task(TrainConfig.of("tree-lstm", **{**tiny, "trees": tree}), Parts(len(splits.vocab), 801))
        for tree in ("parser", "chain")
    ]
    build[1].load_state_dict(build[0].state_dict())
    parsed, chain = (task(task.edges(data)) for task in build)
    assert not torch.equal(parsed, chain)


def test_types_are_those_of_the_dt_preset(batch):
    data, _ = batch
    ours = build_edges(TrainConfig.of("dt", edges="transformer-utterance", max_distance=1))(data)
    theirs = resolve("dt", max_distance=1, implicit=True)(data)
    assert torch.equal(ours.edge_index_explicit, theirs.edge_index_explicit)
    assert torch.equal(ours.edge_type, theirs.edge_type)


def test_tree_controls_come_before_the_edges(batch):
    data, _ = batch
    parsed = build_edges(TrainConfig.of("dt"))(data)
    chain = build_edges(TrainConfig.of("dt@chain"))(data)
    assert not torch.equal(parsed.governor_index, chain.governor_index)
    seeds = [build_edges(TrainConfig.of("dt@random", seed=seed))(data).governor_index for seed in (0, 0, 1)]
    assert torch.equal(seeds[0], seeds[1])
    assert not torch.equal(seeds[0], seeds[2])


@pytest.mark.parametrize("edges", [name for name in PRESETS if name != "dam"])
def test_dialogues_take_the_edges_of_every_preset(edges):
    data = to_data([Sentence(["You", "do", "?"], [2, 0, 2], ["nsubj", "root", "punct"])])
    config = TrainConfig.of("transformer-dra", task="dailydialog", edges=edges)
    limits = {"max_distance", "max_sum"} & inspect.signature(PRESETS[edges]).parameters.keys()
    ours = build_edges(config)(data.clone()).to_dict()
    options = {limit: getattr(config, limit) for limit in limits}
    theirs = resolve(edges, implicit=True, **options)(data).to_dict()
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[key], value) for key, value in theirs.items() if torch.is_tensor(value))


def test_edges_that_add_nodes_are_refused():
    with pytest.raises(ValueError, match="edges 'dam' add nodes"):
        build_edges(TrainConfig.of("transformer-dra", task="dailydialog", edges="dam"))
    with pytest.raises(ValueError, match="edges 'dam' add nodes"):
        build_edges(TrainConfig.of("dt", edges="dam"))


@pytest.mark.parametrize(
    ("settings", "fused"),
    [
        ({"optimizer": "adamw"}, True),
        ({"optimizer": "adam", "precision": "bf16-mixed"}, True),
        ({"optimizer": "adam", "clip": 1.0}, True),
        ({"optimizer": "adamw", "clip": 1.0, "precision": "bf16-mixed"}, False),
        ({"optimizer": "adagrad"}, True),
        ({"optimizer": "adagrad", "clip": 1.0, "precision": "bf16-mixed"}, True),
    ],
)
def test_fused_optimizers_but_where_mixed_precision_clips(settings, fused, batch, tiny):
    _, splits = batch
    task = build_task(
        TrainConfig.of("transformer", **tiny, **settings), Parts(len(splits.vocab), len(splits.relations))
    )
    assert bool(task.make_optimizer(task.parameters()).param_groups[0]["fused"]) is fused


def test_adagrad_is_fused_on_the_cpu_alone():
    """Also where a run goes on that began on the other device, or before it was."""
    make = make_optimizer(TrainConfig.of("dt", lr=0.1))
    here, there = (make([torch.nn.Parameter(torch.ones(2, device=device))]) for device in ("cpu", "meta"))
    assert (here.param_groups[0]["fused"], there.param_groups[0]["fused"]) == (True, None)
    there.load_state_dict({**here.state_dict(), "state": {}})
    assert there.param_groups[0]["fused"] is None
    plain = torch.optim.Adagrad([torch.nn.Parameter(torch.ones(2))], lr=0.1)
    for optimizer in (here, plain):
        _step(optimizer)
    here.load_state_dict(copy.deepcopy(plain.state_dict()))
    assert here.param_groups[0]["fused"] is True
    for optimizer in (here, plain):
        _step(optimizer)
    torch.testing.assert_close(*(one.param_groups[0]["params"] for one in (here, plain)))


def _step(optimizer):
    for parameter in optimizer.param_groups[0]["params"]:
        parameter.grad = torch.tensor([1.0, -2.0])
    optimizer.step()


def test_places_of_dt_rnn():
    model = build_encoder(
        TrainConfig.of("dt-rnn", task="sst", dependent_places=3, places_from="left"), 50, 801
    )
    assert (model.dependent_places, model.places_from, model.place.size(0)) == (3, "left", 6)
    with pytest.raises(ValueError, match=r"'dependent_places' is for encoder='dt-rnn' \(got 3\)"):
        TrainConfig.of("tree-lstm", task="sst", dependent_places=3)
