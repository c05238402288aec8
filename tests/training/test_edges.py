"""Every interface refuses edges that do not fit the model before data are loaded."""

from __future__ import annotations

import re

import pytest

from graphdep import SequenceClassifier, SpanClassifier, WordLabeller
from graphdep.nn.models import GraphTransformer
from graphdep.tasks import families, family_of
from graphdep.training import TrainConfig, ablate, load_splits, needs_structure, train
from graphdep.training.build import BuildInputs
from graphdep.training.family import build_task
from graphdep.transforms import PHRASE_PRESETS, PRESETS, DependencyEdges, SelfLoops, register_edges
from graphdep.transforms.carried import carried
from graphdep.transforms.edge_set import CLIQUES, CLS, CLS_ALL, MARKS, NODES, ROOT, TYPES
from tests.kit.runs import build_edges

TYPED = "they carry types of pairs ('edge_type'), which"
MARKED = "they carry marks of pairs ('edge_mark'), which"
NO_ROOT = "no word reaches ROOT, whose state"


UNREAD = {
    ("sst", "bert", "dt"): f"{TYPED} model 'bert' does not read (model 'bert-dt' does)",
    ("sst", "bert", "g2g"): f"{TYPED} model 'bert' does not read (model 'bert-g2g' does)",
    ("sst", "transformer", "dt"): f"{TYPED} model 'transformer' does not read (model 'dt' does)",
    ("ud-tags", "transformer", "lisa-complete"): f"{MARKED} model 'transformer' does not read (model 'lisa",
    ("ud-tags", "dt", "lisa-complete"): f"{MARKED} model 'dt' does not read (model 'lisa' does)",
    ("ud-tags", "gate", "g2g"): "implicit pairs ('clique'), which model 'gate' does not read",
    ("dailydialog", "transformer-dra", "dt"): "does not read (no model here does)",
}
MISSING = {
    ("dailydialog", "lisa", "dra"): "reads marks of pairs ('edge_mark'), which they do not carry (edges 'l",
    (
        "ud-tags",
        "g2g",
        "transformer",
    ): "types of pairs ('edge_type'), which they do not carry (edges 'g2g' do)",
    ("sst", "transformer", "lisa"): f"{NO_ROOT} model 'transformer' uses (use edges | RootEdges()",
    ("sst", "bert-dt", "gate"): "some words do not reach [CLS], whose state model 'bert-dt' uses",
    ("ubuntu", "bert", "dra"): "no word reaches [CLS], whose state model 'bert' uses",
    ("post-train", "bert-fp", "dra"): "no word reaches [CLS], whose state model 'bert-fp' uses",
}


@pytest.mark.parametrize(("row", "message"), [*UNREAD.items(), *MISSING.items()], ids=str)
def test_edges_that_do_not_fit_the_model_are_refused(row, message):
    task, model, edges = row
    config = TrainConfig.of(model, task=task, edges=edges, parser="bundled")
    with pytest.raises(ValueError, match=rf"^'edges' cannot be '{edges}': .*{re.escape(message)}"):
        build_edges(config)


def test_the_message_names_settings_that_change_what_the_model_reads():
    config = TrainConfig.of("transformer", task="sst", encoder="gate")
    with pytest.raises(ValueError, match="model 'transformer' with encoder='gate' reads a distance of each"):
        build_edges(config)
    config = TrainConfig.of("bert-sia", task="ubuntu", sia_edges="dt")
    with pytest.raises(ValueError, match="^'sia_edges' cannot be 'dt': they carry .* SIA does not read"):
        build_edges(config)
    build_edges(TrainConfig.of("bert", task="ubuntu", edges="dra", readout="mean"))  # reads words


@pytest.mark.usefixtures("no_own_edges")
def test_registered_edges_are_checked_too():
    register_edges("alone", SelfLoops())
    with pytest.raises(ValueError, match=re.escape(f"'edges' cannot be 'alone': {NO_ROOT} model 'dt'")):
        build_edges(TrainConfig.of("dt", edges="alone"))
    build_edges(TrainConfig.of("dt", edges="alone", task="ud-tags"))  # reads words
    register_edges("both", DependencyEdges("both"))
    build_edges(TrainConfig.of("dt", edges="both"))


def fail_to_load(*args, **kwargs):
    raise AssertionError("data are read before edges and model are compared")


@pytest.fixture
def no_data(monkeypatch):
    """Fails if data are loaded."""
    for family in families():
        monkeypatch.setattr(family.task_class, "load", fail_to_load)


WRONG = r"'edges' cannot be 'dt': they carry types .* model 'transformer.* does not read \(model 'dt'"
PLAIN = {"encoder": None, "model": "transformer", "edges": "dt"}
TEXTS, LABELS = ["A good day .", "A bad day ."] * 4, ["good", "bad"] * 4
WORDS, TAGS, SPANS = [text.split() for text in TEXTS], [["D", "A", "N", "P"]] * 8, [[(1, 2)]] * 8


@pytest.mark.usefixtures("no_data")
@pytest.mark.parametrize(
    "start",
    [
        lambda config, folder: load_splits(config),
        lambda config, folder: train(config, folder),
        lambda config, folder: ablate("sst", ["transformer"], [0], folder, edges=["transformer", "dt"]),
        lambda config, folder: ablate("sst", ["dt", "transformer"], [0], folder, settings={"edges": "dt"}),
        lambda config, folder: needs_structure("sst", folder, settings={"edges": "dt"}),
        lambda config, folder: SequenceClassifier(**PLAIN).fit(TEXTS, LABELS),
        lambda config, folder: WordLabeller(**PLAIN).fit(WORDS, TAGS),
        lambda config, folder: SpanClassifier(**PLAIN).fit(WORDS, LABELS, SPANS),
    ],
)
def test_every_entry_point_checks_edges_before_data_are_read(start, tmp_path):
    with pytest.raises(ValueError, match=WRONG):
        start(TrainConfig.of("transformer", task="sst", edges="dt"), tmp_path)


SMALL = {"hidden_channels": 8, "ff_channels": 8, "heads": 2, "num_layers": 2}


@pytest.mark.parametrize("task", [next(iter(family.tasks)) for family in families()])
def test_every_preset_fits_its_own_edges_and_reads_what_it_declares(task):
    labels = ("Other", "Cause-Effect(e1,e2)") if task == "semeval2010" else ("A", "B")
    for model, preset in family_of(task).config(task).models.items():
        if preset.edges is None:
            continue
        config = TrainConfig.of(model, task=task)
        build_edges(config)
        if config.pretrained:
            continue
        parts = BuildInputs(50, 801, num_classes=3, labels=labels)
        encoder = build_task(config.replace(**SMALL), parts).model.encoder
        graph = encoder if isinstance(encoder, GraphTransformer) else encoder.encoder
        said = family_of(task).task_class.reads(config) - {ROOT, CLS, CLS_ALL, NODES, CLIQUES}
        assert graph.reads - {CLIQUES} == said, model


@pytest.mark.parametrize("model", ["transformer", "dt", "g2g", "gate", "lisa", "bert", "bert-dt", "bert-g2g"])
def test_word_models_accept_exactly_the_edges_that_they_read(model):
    expected = {
        TYPES: {"dt", "g2g", "gate", "bert-dt", "bert-g2g"},
        MARKS: {"lisa"},
        CLIQUES: {"transformer", "dt", "g2g", "lisa", "bert", "bert-dt", "bert-g2g"},
    }
    needs = {"g2g": TYPES, "gate": TYPES, "lisa": MARKS}
    for edges in (*PRESETS, *PHRASE_PRESETS):
        config = TrainConfig.of(model, task="ud-tags", edges=edges)
        there = carried(family_of("ud-tags").task_class.own_edges(config, edges)[0])
        fits = all(model in readers for kind, readers in expected.items() if kind in there)
        if fits and (model not in needs or needs[model] in there):
            build_edges(config)
        else:
            with pytest.raises(ValueError, match=f"'edges' cannot be '{edges}'"):
                build_edges(config)
