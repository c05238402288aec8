from __future__ import annotations

import pytest

from graphdep.tasks import families
from graphdep.training import TrainConfig, parse_settings
from graphdep.training.config import CONTROLS, ModelPreset
from tests.kit.runs import build_edges

TREES = ("random", "chain", "reversed")
TASK_OF = {
    "sentence": "sick-e",
    "dialogue": "dailydialog",
    "selection": "ubuntu",
    "post-training": "post-train",
}


@pytest.mark.parametrize("family", [f for f in families() if f.name in TASK_OF], ids=lambda f: f.name)
@pytest.mark.parametrize("trees", TREES)
def test_controls_are_settings_of_every_model_that_reads_trees(family, trees):
    task = TASK_OF[family.name]
    for name, preset in family.config(task).models.items():
        if preset.trees not in ("parser", "gold", trees):
            with pytest.raises(ValueError, match="a model has one kind of trees"):
                TrainConfig.of(f"{name}@{trees}", task=task)
            continue
        plain = TrainConfig.of(name.partition("@")[0], task=task).replace(trees="parser")
        if not plain.reads_trees or (preset.edges is None and family.name == "dialogue"):
            with pytest.raises(ValueError, match=r"reads no tree|is for models that read trees"):
                TrainConfig.of(f"{name}@{trees}", task=task)
            continue
        by_name = TrainConfig.of(f"{name}@{trees}", task=task)
        own = {"arcs": "basic"} if "arcs" in preset.overrides else {}
        by_setting = TrainConfig.of(name, task=task, trees=trees, **own)
        assert by_name.trees == trees
        assert by_name.replace(model=name) == by_setting


def test_who_reads_trees():
    reads = {
        "sick-e": ("dt", "transformer-level", "tree-lstm", "rntn", "tree-transformer-dt", "bert-dt"),
        "dailydialog": ("transformer-dra",),
        "ubuntu": ("bert-sia", "bert-spider", "bert-ums-sia"),
        "propbank-ewt": ("lisa", "tree", "constituents", "tree-lstm"),
    }
    blind = {
        "sick-e": ("transformer", "word-average", "use", "bert"),
        "dailydialog": ("transformer",),
        "ubuntu": ("smn", "ioi", "bert", "bert-vanilla", "bert-ums"),
        "propbank-ewt": ("transformer", "bilstm", "bert"),
    }
    for task, names in reads.items():
        assert all(TrainConfig.of(name, task=task).reads_trees for name in names)
    for task, names in blind.items():
        for name in names:
            with pytest.raises(ValueError, match=r"'trees' is for models that read trees: .*'random-labels'"):
                TrainConfig.of(f"{name}@random-labels", task=task)


@pytest.mark.parametrize("name", ["noisy-5", "noisy-20", "random-labels"])
def test_controls_of_the_parsers_trees_where_a_corpus_has_its_own(name):
    own, parsed = (TrainConfig.of(f"dt@{name}{end}", task="propbank-ewt") for end in ("", "-parsed"))
    assert own.dataset_options("test")["parser"] == "gold"
    assert parsed.dataset_options("test")["parser"] == "bundled"
    assert own.data_settings() != parsed.data_settings()
    assert repr(build_edges(parsed)) == repr(build_edges(own))  # the same is done to them
    assert "Tree(" in repr(build_edges(own))
    with pytest.raises(
        ValueError, match=f"'trees' cannot be '{name}-parsed': the corpus of 'sick-e' has none"
    ):
        TrainConfig.of(f"dt@{name}-parsed")


def test_a_control_without_labels():
    config = TrainConfig.of("dt@unlabelled@chain")
    assert (config.labels, config.trees) == (False, "chain")
    assert TrainConfig.of("dt", labels=False).replace(model="dt@unlabelled") == TrainConfig.of(
        "dt@unlabelled"
    )
    assert parse_settings(["trees=random", "labels=false"]) == {"trees": "random", "labels": False}
    with pytest.raises(ValueError, match=r"'labels' is for models that read the labels of arcs: edges='dra'"):
        TrainConfig.of("transformer-dra", task="dailydialog", labels=False)
    assert "labels=False" in repr(build_edges(TrainConfig.of("dt", edges="g2g", labels=False)))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("dt@random@chain", r"one kind of trees \(got random and chain in 'dt@random@chain'\)$"),
        ("dt@noisy-5@parser", r"\(got noisy-5 and parser in .*\); did you mean '@noisy-5-parsed'\?"),
        ("dt@cats", r"no control 'cats' \(got the model 'dt@cats'\); choose one of dt@parser, dt@gold"),
        ("dt-rx@random", r"no model 'dt-rx' \(did you mean 'dt-rg'\?\)"),
        ("smn", r"no model 'smn' \(one of selection: --task ubuntu\); choose one of"),
        ("rntn@gold", "a treebank's own constituents are node_labels=true"),
        ("dt@gold", "'trees' cannot be 'gold': the corpus of 'sick-e' has none of its own"),
    ],
)
def test_wrong_controls_are_named(name, message):
    with pytest.raises(ValueError, match=message):
        TrainConfig.of(name)


def test_a_control_says_so():
    preset = ModelPreset("a model", overrides={"arcs": "enhanced++", "engine": "pybart", "lr": 1.0})
    assert preset.control("random").summary == "control: a model, on random trees without labels"
    assert preset.control("random").settings == {"edges": "dt", "trees": "random", "arcs": "basic", "lr": 1.0}
    assert preset.control("unlabelled").settings["arcs"] == "enhanced++"
    plain = {"parser", "gold", "random", "random-labels", "chain", "reversed", "unlabelled", "shuffled"}
    assert {name for name in CONTROLS if not name.startswith("noisy-")} == {*plain, "random-labels-parsed"}
    noisy = preset.control("noisy-20")
    assert (noisy.trees, noisy.summary) == (
        "noisy-20",
        "control: a model, on trees of which 20% of the arcs are wrong",
    )
