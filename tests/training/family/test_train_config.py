from __future__ import annotations

import pytest

from graphdep.tasks.sentences.settings import MODELS
from graphdep.training import TrainConfig, parse_settings


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


def test_heads_count_only_where_there_are_any():
    assert TrainConfig.of("lstm", hidden_channels=128).hidden_channels == 128
    with pytest.raises(ValueError, match="'heads' .6. must divide 'hidden_channels' .128."):
        TrainConfig.of("tree-transformer", hidden_channels=128)


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
            r"unknown setting 'hidden_chanels' \(did you mean 'hidden_channels'\?\).*batch_size",
        ),
        ("heads=four", "'heads' takes a whole number .got 'four'"),
        ("heads=4.5", "'heads' takes a whole number .got '4.5'"),
        ("heads=none", "'heads' takes a whole number .got 'none'"),
        ("level_embedding=maybe", "'level_embedding' takes true or false .got 'maybe'"),
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
        ({"dropout": 1.0}, "'dropout' must be below 1 .got 1.0"),
        ({"lr": float("nan")}, "'lr' must be at least 0 .got nan"),
        ({"lr": 1e300}, "'lr' must be at most 3e.38 .got 1e.300"),
        ({"max_epochs": 0}, "'max_epochs' must be at least 1 .got 0"),
        ({"gate": "relu"}, "'gate' must be one of none, sigmoid, tanh .got 'relu'"),
        ({"edges": "drat"}, "'edges' must be one of .*dra.*got 'drat'"),
        ({"optimizer": None}, "'optimizer' takes a text .got None"),
        ({"heads": True}, "'heads' takes a whole number .got True"),
        (
            {"encoder": "gru"},
            "'encoder' must be one of transformer, lisa, gate, g2g, .*got 'gru'",
        ),
        ({"encoder": "lstm"}, "'edges' are for encoder='transformer'.*edges='dt', encoder='lstm'"),
        ({"edges": None}, "'edges' are for encoder='transformer'.*edges=None"),
        ({"model": "berd"}, "no model 'berd' .did you mean 'bert'..; choose one of transformer"),
        ({"nonsense": 1}, "unknown setting 'nonsense'"),
    ],
)
def test_wrong_values_name_key_and_value(setting, message):
    with pytest.raises(ValueError, match=message):
        TrainConfig.of(**setting)


def test_survives_a_dictionary():
    config = TrainConfig.of("dt@chain", seed=3, vectors="glove.txt")
    assert TrainConfig.from_dict(config.to_dict()) == config


def test_phrases_are_those_of_the_treebank():
    config = TrainConfig.of("dt", task="sst-trees", phrases=True)
    assert config.data_settings()["train"] == {"phrases": True}
    assert config.about_data == "with phrases"
    assert TrainConfig.of("dt", task="sst-trees").data_settings()["train"] == {}
    with pytest.raises(ValueError, match=r"'phrases' is for task 'sst-trees', and not for 'sst' .got True"):
        TrainConfig.of("dt", task="sst", phrases=True)


def test_digest_depends_on_what_decides_the_result_alone():
    config = TrainConfig.of("dt")
    assert config.digest() == config.replace(root="elsewhere", num_workers=2).digest()
    others = {config.replace(seed=1).digest(), config.replace(lr=0.1).digest(), config.digest("other data")}
    assert len(others | {config.digest()}) == 4
