"""Settings: types, defaults, help texts, files, and models."""

from __future__ import annotations

import lightning as L
import pytest
import torch
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from graphdep.io.limits import LIMITS
from graphdep.tasks import families
from graphdep.tasks.dialogues.settings import DialogueConfig
from graphdep.tasks.selection.settings import SelectionConfig
from graphdep.tasks.sentences.settings import MODELS, CSVConfig, SentenceConfig
from graphdep.training import TrainConfig, parse_settings, read_checkpoint, train
from graphdep.training import build as precision
from graphdep.training.build import gain_of_bf16, resolve_precision
from graphdep.training.config import CONTROLS, RUN_FILE, ModelPreset, read_run, setting_texts, write_run
from graphdep.training.settings import Settings, setting
from graphdep.training.trainer import make_trainer
from tests.kit.runs import build_edges


def test_presets_are_table_3():
    flags = {}
    for name in MODELS:
        config = TrainConfig.of(name)
        flags[name] = (
            config.relation_attention,
            config.gate,
            config.level_embedding,
            config.edges,
            config.trees,
        )
    assert flags["dt-lr"] == (True, None, False, "dt", "parser")
    assert flags["dt-rg"] == (True, "sigmoid", False, "dt", "parser")
    assert flags["dt"] == (True, "sigmoid", True, "dt", "parser")
    assert flags["transformer"][0] is False
    assert flags["transformer"][2:] == (False, "transformer-utterance", "parser")


def test_defaults_are_the_paper_s():
    config = TrainConfig.of("dt")
    assert (config.num_layers, config.heads, config.hidden_channels, config.relation_dim) == (3, 6, 300, 30)
    assert (config.optimizer, config.lr, config.batch_size, config.max_distance) == ("adagrad", 1e-3, 32, 2)


def test_settings_go_over_the_preset():
    assert TrainConfig.of("transformer", edges="dra").edges == "dra"
    assert TrainConfig.of("dt", gate=None).gate is None


def test_parse_settings_reads_by_type():
    texts = ["lr=1e-2", "heads=4", "gate=none", "level_embedding=off", "parser=conllu:a=b", "dropout = 0"]
    expected = {"lr": 0.01, "heads": 4, "gate": None, "level_embedding": False, "parser": "conllu:a=b"}
    assert parse_settings(texts) == {**expected, "dropout": 0.0}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "hidden_chanels=3",
            r"no setting 'hidden_chanels' \(did you mean 'hidden_channels'\?\)$",
        ),
        ("heads=four", "'heads' takes a whole number .got 'four'"),
        ("lr", "key=value .got 'lr'"),
    ],
)
def test_parse_settings_names_key_and_value(text, message):
    with pytest.raises(ValueError, match=message):
        parse_settings([text])


def test_parse_settings_refuses_a_key_twice():
    with pytest.raises(ValueError, match="'lr' is given twice"):
        parse_settings(["lr=1", "lr=2"])


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"heads": 7}, "'heads' .7. must divide 'hidden_channels' .300."),
        ({"lr": 1e300}, "'lr' must be at most 3e.38 .got 1e.300"),
        ({"edges": "drat"}, "no edges 'drat' .did you mean 'dra'..$"),
        ({"gate": "none"}, "'gate' must be one of .*got 'none'"),
        ({"encoder": "gru"}, r"no encoder 'gru' \(did you mean 'bigru'\?\); a pretrained encoder is for"),
        ({"encoder": "lstm"}, "'edges' must be given for encoder='transformer'.*edges='dt', encoder='lstm'"),
        ({"edges": None}, "'edges' must be given for encoder='transformer'.*edges=None"),
        ({"model": "DT"}, "no model 'DT' .did you mean 'dt'..$"),
        ({"model": "dt@Random"}, "no control 'Random' in the model 'dt@Random' .did you mean 'random'..$"),
        ({"gate": "Shared"}, "'gate' must be one of .*got 'Shared'"),
        ({"model": "berd"}, "no model 'berd' .did you mean 'bert'..$"),
    ],
)
def test_wrong_values_name_key_and_value(setting, message):
    with pytest.raises(ValueError, match=message):
        TrainConfig.of(**setting)


def test_phrases_are_those_of_the_treebank():
    config = TrainConfig.of("dt", task="sst-trees", phrases=True)
    assert config.data_settings()["train"] == {"phrases": True}
    assert config.about_data == "with phrases"
    assert TrainConfig.of("dt", task="sst-trees").data_settings()["train"] == {}
    with pytest.raises(ValueError, match=r"'phrases' is for task 'sst-trees', not for 'sst' .got True"):
        TrainConfig.of("dt", task="sst", phrases=True)


def test_digest_depends_on_what_decides_the_result_alone():
    config = TrainConfig.of("dt")
    assert config.digest() == config.replace(root="elsewhere", num_workers=2).digest()
    others = {config.replace(seed=1).digest(), config.replace(lr=0.1).digest(), config.digest("other data")}
    assert len(others | {config.digest()}) == 4


CONFIGS = (TrainConfig, *(config for family in families() for config in family.configs.values()))


class Base(Settings):
    size: int = setting(..., "How large.", defines=True)
    lr: float = setting(0.1, "How fast.", least=0.01, published=True, free=True)
    kind: str | None = setting(None, choices=(None, "b", "a"))
    share: float = setting(0.5, above=0, below=1)
    plain: bool = False


class Own(Base):
    lr: float = 0.5
    size: int = 3
    kind: str | None = setting("c", choices=("c",), defines=True)
    extra: int = setting(2, late=True)


class Further(Own):
    lr: float = setting(0.7, "How fast now.", free=False)


def test_settings_have_the_defaults_of_their_class():
    assert Base(size=2).model_dump() == {"size": 2, "lr": 0.1, "kind": None, "share": 0.5, "plain": False}
    own = {"size": 3, "lr": 0.7, "kind": "c", "share": 0.5, "plain": False, "extra": 2}
    assert Further().model_dump() == own
    assert [Base.default_of("size"), Own.default_of("size")] == [..., 3]
    with pytest.raises(TypeError, match="defins"):
        setting(1, defins=True)


def test_a_setting_that_is_declared_again_keeps_what_it_does_not_say_otherwise():
    assert Own.with_mark("defines") == ("size", "kind")
    assert Own.with_mark("free", "late") == ("lr", "extra")
    assert Further.with_mark("free", "late") == ("extra",)
    assert Base.with_mark("free", "late") == ("lr",)
    assert [config.marks["lr"]["help"] for config in (Base, Own, Further)] == [
        "How fast.",
        "How fast.",
        "How fast now.",
    ]
    assert {config.marks["lr"]["least"] for config in (Base, Own, Further)} == {0.01}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "setting 'size' must be given"),
        ({"size": "2"}, "'size' takes a whole number (got '2')"),
        ({"size": True}, "'size' takes a whole number (got True)"),
        ({"size": 2, "lr": 0.001}, "'lr' must be at least 0.01 (got 0.001)"),
        ({"size": 2, "lr": float("nan")}, "'lr' must be at least 0.01 (got nan)"),
        ({"size": 2, "kind": "c"}, "'kind' must be one of none, b, a (got 'c')"),
        ({"size": 2, "kind": 1}, "'kind' takes a text or none (got 1)"),
        ({"size": 2, "share": 0.0}, "'share' must be above 0 (got 0.0)"),
        ({"size": 2, "share": 1}, "'share' must be below 1 (got 1.0)"),
        ({"size": 2, "plain": 1}, "'plain' takes true or false (got 1)"),
        (
            {"size": 2, "sice": 1},
            "'setting' must be one of size, lr, kind, share, plain (got 'sice')",
        ),
        ({"size": 2, "epochs": 1}, "no setting 'epochs' (did you mean 'max_epochs'?)"),
    ],
)
def test_a_wrong_setting_is_one_line_that_names_it(given, message):
    with pytest.raises(ValueError) as caught:
        Base(**given)
    assert str(caught.value).startswith(message)


def test_a_text_stands_for_a_value_of_the_type():
    assert [Base.read("size", " 12"), Base.read("lr", "1e-3"), Base.read("plain", "yes")] == [12, 1e-3, True]
    assert [Base.read("kind", text) for text in ("none", "null", "", "b")] == [None, None, None, "b"]
    assert Base.read("size", 3) == 3  # from a file with types
    for name, value in (("size", "x"), ("size", "none"), ("size", 1.5), ("plain", "maybe"), ("plain", 1)):
        with pytest.raises(ValueError, match=f"'{name}' takes .*{value}"):
            Base.read(name, value)


def test_settings_cannot_be_changed():
    with pytest.raises(ValueError, match="frozen"):
        Base(size=2).size = 3


def test_every_setting_of_every_task_has_a_help_and_fitting_defaults():
    for config, name, own in ((one, *mark) for one in CONFIGS for mark in one.marks.items()):
        assert own["help"].endswith("."), name
        usual = config.default_of(name)
        assert usual in (..., *own.get("choices", (usual,))), name
        if "least" in own:
            assert LIMITS[name][0] < own["least"] <= LIMITS[name][1]


def test_marks_of_settings():
    places = ("root", "raw_from", "num_workers", "cuda_graphs", "accelerator")
    assert TrainConfig.with_mark("place") == places
    assert {*CSVConfig.with_mark("place")} == {*places, "train", "val", "test"}
    assert "max_sum" in SelectionConfig.with_mark("defines")
    assert "max_sum" not in SentenceConfig.with_mark("defines")
    assert "seed" in DialogueConfig.with_mark("free")
    assert "seed" not in SentenceConfig.with_mark("free")


TASKS = [task for family in families() for task in family.tasks]


def test_every_setting_has_a_meaning_without_marks():
    for task in TASKS:
        config = TrainConfig.of_task(task)
        rows = setting_texts(config, task, config.default_model())
        assert [row.name for row in rows] == [*config.marks]
        assert not [row.name for row in rows if len(row.meaning) < 8]
        assert not [row.meaning for row in rows if "`" in row.meaning or "(default" in row.meaning]


def test_defaults_are_those_of_the_model():
    config = TrainConfig.of_task("cola")
    for model in ("dt", "bert-dt", "lstm", "dt@random"):
        made = TrainConfig.of(model, task="cola")
        for row in setting_texts(config, "cola", model):
            assert row.default == getattr(made, row.name)
    with pytest.raises(ValueError, match="'model' must be one of .*got 'nosuch'"):
        setting_texts(config, "cola", "nosuch")


OWN = {"train": "a b: #c.csv", "text_columns": "text", "label_column": "no", "scheme": "words"}


def test_what_is_written_is_read_back(tmp_path):
    """For the first task of each kind, with some models."""
    first = {task.kind: name for family in families() for name, task in reversed(family.tasks.items())}
    for task in first.values():
        settings = TrainConfig.of_task(task)
        given = {name: value for name, value in OWN.items() if {name, "train"} <= settings.marks.keys()}
        for model in [*settings.models][::7]:
            config = TrainConfig.of(model, task=task, **given)
            write_run(tmp_path / RUN_FILE, config)
            assert TrainConfig.of(**read_run(tmp_path / RUN_FILE)) == config
            assert {*yaml.safe_load((tmp_path / RUN_FILE).read_text())} == {*config.to_dict()}


@settings(max_examples=20)
@given(
    lr=st.floats(1e-300, 1e30),
    root=st.one_of(st.none(), st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1)),
    patience=st.one_of(st.none(), st.integers(1, 1000)),
)
def test_any_value_is_read_back(tmp_path_factory, lr, root, patience):
    path = tmp_path_factory.mktemp("runs") / RUN_FILE
    config = TrainConfig.of("dt", lr=lr, root=root, patience=patience)
    write_run(path, config)
    assert TrainConfig.of(**read_run(path)) == config


def test_changed_settings_are_written_first(tmp_path):
    write_run(tmp_path / RUN_FILE, TrainConfig.of("dt", task="sst", lr=0.5, seed=3))
    lines = (tmp_path / RUN_FILE).read_text().splitlines()
    others = lines.index("# Defaults of the model and the task:")
    assert [line for line in lines[:others] if not line.startswith("#")] == [
        *("task: sst", "model: dt", "seed: 3", "lr: 0.5")
    ]
    assert "max_epochs: 30" in lines[others:]


@pytest.mark.usefixtures("last_stays")
def test_a_run_is_repeated_to_the_last_bit(tmp_path, tiny):
    config = TrainConfig.of("dt", **{**tiny, "max_epochs": 2, "dropout": 0.3, "seed": 5})
    first = train(config, tmp_path / "a")
    again = train(TrainConfig.of(**read_run(tmp_path / "a" / RUN_FILE)), tmp_path / "b")
    for key in ("metrics", "floor", "epochs", "best_epoch", "config", "data"):
        assert first[key] == again[key]
    left, right = (read_checkpoint(tmp_path / name / "last.ckpt")["state_dict"] for name in "ab")
    assert left.keys() == right.keys()
    assert all(torch.equal(left[key], right[key]) for key in left)
    files = [(tmp_path / name / RUN_FILE).read_bytes() for name in "ab"]
    assert files[0] == files[1]
    assert (tmp_path / "a" / "predictions.csv").read_bytes() == (
        tmp_path / "b" / "predictions.csv"
    ).read_bytes()


def test_values_may_be_written_as_on_the_command_line(tmp_path):
    (tmp_path / "a.yaml").write_text("lr: 1e-3\npatience: none\nseed: 2\nlabels: on\nmodel: dt\n")
    found = read_run(tmp_path / "a.yaml")
    assert found == {"lr": 0.001, "patience": None, "seed": 2, "labels": True, "model": "dt"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lr: [1]", "a.yaml: 'lr' takes a number"),
        ("learning_rate: 1", r"a.yaml: no setting 'learning_rate' \(did you mean 'lr'\?\)"),
        ("task: cats", "a.yaml: 'task' must be one of .*got 'cats'"),
        ("lr: 1\nlr: 2", "a.yaml: 'lr' is repeated in line 2"),
        ("", "a.yaml: must have settings as NAME: VALUE"),
        ("lr: !!python/object/apply:os.getcwd []", "a.yaml: could not determine a constructor"),
        ("task: 0.1", "a.yaml: 'task' must be one of .*got '0.1'"),
        ("? [a]\n: 1", "a.yaml: .*found unhashable key"),
        ("lr: " + "[" * 1000, "a.yaml: maximum recursion depth"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(tmp_path, text, message):
    (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_run(tmp_path / "a.yaml")


@pytest.fixture
def auto():
    return TrainConfig.of("dt", hidden_channels=768, heads=6, precision="auto", accelerator="cpu")


def test_a_named_precision_is_kept(monkeypatch):
    monkeypatch.setattr(precision, "gain_of_bf16", None)
    for name in ("32-true", "tf32", "bf16-mixed", "16-mixed"):
        config = TrainConfig.of("dt", precision=name)
        assert resolve_precision(config) is config
    assert TrainConfig.of("dt").precision == "32-true"


@pytest.mark.parametrize(("gain", "expected"), [(2.5, "bf16-mixed"), (1.2, "32-true"), (0.3, "32-true")])
def test_auto_is_what_the_processor_is_faster_in(auto, monkeypatch, gain, expected):
    asked = []
    monkeypatch.setattr(precision, "gain_of_bf16", lambda *sizes: asked.append(sizes) or gain)
    config = resolve_precision(auto)
    assert config == auto.replace(precision=expected)
    assert config.digest() == auto.replace(precision=expected).digest()
    assert asked == [(768, torch.get_num_threads())]


def test_narrow_models_stay_as_they_are(auto, monkeypatch):
    monkeypatch.setattr(precision, "gain_of_bf16", lambda *sizes: pytest.fail("measured"))
    assert resolve_precision(auto.replace(hidden_channels=300)).precision == "32-true"


@pytest.mark.parametrize(
    ("channels", "has_bf16", "expected"),
    [(768, True, "bf16-mixed"), (300, True, "tf32"), (768, False, "32-true"), (300, False, "32-true")],
)
def test_on_a_gpu_the_width_decides_where_there_is_bf16(auto, monkeypatch, channels, has_bf16, expected):
    monkeypatch.setattr(precision, "gain_of_bf16", lambda *sizes: pytest.fail("measured"))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: has_bf16)
    assert resolve_precision(auto.replace(accelerator="auto", hidden_channels=channels)).precision == expected


def test_a_trainer_says_which_products_a_gpu_rounds(auto, monkeypatch):
    said = []
    monkeypatch.setattr(torch, "set_float32_matmul_precision", said.append)
    make_trainer(auto.replace(precision="tf32"))  # on a CPU nothing is rounded
    assert not said
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(L, "Trainer", lambda **options: options["precision"])
    gpu = auto.replace(accelerator="auto")
    found = [make_trainer(gpu.replace(precision=name)) for name in ("tf32", "32-true", "bf16-mixed")]
    assert found == ["32-true", "32-true", "bf16-mixed"]
    assert said == ["high", "highest", "highest"]


def test_the_measurement_draws_no_random_numbers_and_is_made_once():
    before = torch.get_rng_state()
    gain = gain_of_bf16(16, 1)
    assert gain > 0
    assert gain_of_bf16(16, 1) == gain
    assert torch.equal(torch.get_rng_state(), before)


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
            with pytest.raises(ValueError, match=r"does not read 'trees'|is for models that read trees"):
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
    assert repr(build_edges(parsed)) == repr(build_edges(own))  # with the same edges
    assert "Tree(" in repr(build_edges(own))
    with pytest.raises(
        ValueError, match=f"'trees' cannot be '{name}-parsed': the corpus of 'sick-e' has no trees"
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
        ("dt@cats", r"'control' must be one of parser, gold, .*got 'cats'\) in the model 'dt@cats'"),
        ("dt-rx@random", r"no model 'dt-rx' \(did you mean 'dt-rg'\?\)"),
        ("dra", r"'model' must be .*got 'dra'\) \(edges have that name: --edges dra; a model of --task up\)"),
        ("smn", r"'model' must be .*got 'smn'\) \(a model of --task ubuntu\)"),
        ("rntn@gold", "for a treebank's constituents use node_labels=true"),
        ("dt@gold", "'trees' cannot be 'gold': the corpus of 'sick-e' has no trees"),
        ("dt@rerooted", "'trees' cannot be 'rerooted': the examples of 'sick-e' have no marked word"),
    ],
)
def test_wrong_controls_are_named(name, message):
    with pytest.raises(ValueError, match=message):
        TrainConfig.of(name)


def test_a_control_is_described():
    preset = ModelPreset("a model", overrides={"arcs": "enhanced++", "engine": "pybart", "lr": 1.0})
    assert preset.control("random").summary == "control: a model, on random trees without labels"
    assert preset.control("random").settings == {"edges": "dt", "trees": "random", "arcs": "basic", "lr": 1.0}
    assert preset.control("unlabelled").settings["arcs"] == "enhanced++"
    plain = {"parser", "gold", "random", "random-labels", "chain", "reversed", "rerooted"}
    other = {"random-labels-parsed", "unlabelled", "shuffled"}
    assert {name for name in CONTROLS if not name.startswith("noisy-")} == plain | other
    noisy = preset.control("noisy-20")
    assert (noisy.trees, noisy.summary) == (
        "noisy-20",
        "control: a model, on trees with 20% wrong arcs",
    )
