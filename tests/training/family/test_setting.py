from __future__ import annotations

import pytest

from graphdep.io.limits import LIMITS
from graphdep.tasks import families
from graphdep.tasks.dialogues.settings import DialogueConfig
from graphdep.tasks.selection.settings import SelectionConfig
from graphdep.tasks.sentences.settings import CSVConfig, SentenceConfig
from graphdep.training import TrainConfig
from graphdep.training.settings import Settings, setting

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
    assert [Base.usual("size"), Own.usual("size")] == [..., 3]
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
            "unknown setting 'sice' (did you mean 'size'?); the settings are size, lr, ",
        ),
        ({"size": 2, "epochs": 1}, "unknown setting 'epochs' (did you mean 'max_epochs'?)"),
    ],
)
def test_a_wrong_setting_is_one_line_that_names_it(given, message):
    with pytest.raises(ValueError) as caught:
        Base(**given)
    assert str(caught.value).startswith(message)


def test_a_text_stands_for_a_value_of_the_type():
    assert [Base.read("size", " 12"), Base.read("lr", "1e-3"), Base.read("plain", "yes")] == [12, 1e-3, True]
    assert [Base.read("kind", text) for text in ("none", "null", "", "b")] == [None, None, None, "b"]
    assert Base.read("size", 3) == 3  # of a file with types
    for name, value in (("size", "x"), ("size", "none"), ("size", 1.5), ("plain", "maybe"), ("plain", 1)):
        with pytest.raises(ValueError, match=f"'{name}' takes .*{value}"):
            Base.read(name, value)


def test_settings_cannot_be_changed():
    with pytest.raises(ValueError, match="frozen"):
        Base(size=2).size = 3


@pytest.mark.parametrize("config", CONFIGS)
def test_every_setting_of_every_task_has_a_help_and_fitting_defaults(config):
    for name, own in config.marks.items():
        assert own["help"].endswith("."), name
        usual = config.usual(name)
        assert usual in (..., *own.get("choices", (usual,))), name
        if "least" in own:
            assert LIMITS[name][0] < own["least"] <= LIMITS[name][1]


def test_settings_of_tasks_say_what_they_said():
    places = ("root", "raw_from", "num_workers", "accelerator")
    assert TrainConfig.with_mark("place") == places
    assert {*CSVConfig.with_mark("place")} == {*places, "train", "val", "test"}
    assert "max_sum" in SelectionConfig.with_mark("defines")
    assert "max_sum" not in SentenceConfig.with_mark("defines")
    assert "seed" in DialogueConfig.with_mark("free")
    assert "seed" not in SentenceConfig.with_mark("free")
