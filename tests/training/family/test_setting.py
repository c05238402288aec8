from __future__ import annotations

import dataclasses

import pytest

from graphdep.io.limits import LIMITS
from graphdep.tasks.dialogues.settings import DialogueConfig
from graphdep.tasks.labels.settings import LabelConfig
from graphdep.tasks.post_training.settings import PostTrainingConfig
from graphdep.tasks.selection.settings import SelectionConfig
from graphdep.tasks.sentences.settings import CSVConfig, SentenceConfig
from graphdep.training import TrainConfig
from graphdep.training.settings import MarkedNames, Metadata, setting

CONFIGS = (
    TrainConfig,
    SentenceConfig,
    CSVConfig,
    DialogueConfig,
    LabelConfig,
    SelectionConfig,
    PostTrainingConfig,
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Base:
    size: int = setting(defines=True)
    rate: float = setting(0.1, at_least=0.01, published=True, free=True)
    kind: str | None = setting(None, choices=(None, "b", "a"))
    plain: int = 0

    defining = MarkedNames("defines")
    free = MarkedNames("free", "late")
    choices = Metadata[tuple[str | None, ...]]("choices")
    at_least = Metadata[float]("at_least")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Mixin:
    extra: int = setting(1, defines=True)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Own(Mixin, Base):
    rate: float = 0.5
    size: int = 3
    kind: str | None = setting("c", choices=("c",), defines=True)
    extra: int = setting(2, late=True)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Further(Own):
    rate: float = setting(0.7, free=False)


def test_a_field_is_a_plain_one_of_its_dataclass():
    with pytest.raises(TypeError, match="size"):
        Base()
    assert dataclasses.asdict(Base(size=2)) == {"size": 2, "rate": 0.1, "kind": None, "plain": 0}
    assert dataclasses.asdict(Further()) == {"size": 3, "rate": 0.7, "kind": "c", "plain": 0, "extra": 2}
    with pytest.raises(TypeError, match="defins"):
        setting(1, defins=True)


def test_a_class_and_its_instances_tell_what_the_fields_say():
    for own in (Base, Base(size=2)):
        assert (own.defining, own.free) == (("size",), ("rate",))
        assert own.choices == {"kind": (None, "b", "a")}
        assert own.at_least == {"rate": 0.01}


def test_a_field_that_is_declared_again_keeps_what_it_does_not_say_otherwise():
    assert Own.defining == ("size", "kind", "extra")  # as the fields are in order, whoever says it
    assert Own.free == ("rate", "extra")
    assert Own.choices == {"kind": ("c",)}
    assert Own.at_least == Further.at_least == {"rate": 0.01}
    assert Further.free == ("extra",)
    assert Base.free == ("rate",)


def test_a_class_attribute_may_take_their_place(monkeypatch):
    monkeypatch.setattr(Own, "defining", ("rate",))
    assert Own.defining == Further.defining == ("rate",)
    monkeypatch.undo()
    assert Own.defining == ("size", "kind", "extra")


@pytest.mark.parametrize("config", CONFIGS)
def test_a_default_is_one_of_the_choices(config):
    defaults = {field.name: field.default for field in dataclasses.fields(config)}
    for name, choices in config.choices.items():
        assert defaults[name] in (*choices, dataclasses.MISSING)


@pytest.mark.parametrize("config", CONFIGS)
def test_a_least_value_is_higher_than_that_of_the_table(config):
    for name, least in config.at_least.items():
        assert LIMITS[name][0] < least <= LIMITS[name][1]


def test_settings_of_tasks_say_what_they_said():
    assert TrainConfig.places == ("root", "raw_from", "num_workers", "accelerator")
    assert CSVConfig.places == (*TrainConfig.places, "train", "val", "test")
    assert "max_sum" in SelectionConfig.defining
    assert "max_sum" not in SentenceConfig.defining
    assert "seed" in DialogueConfig.free
    assert "seed" not in SentenceConfig.free
    assert [config.at_least for config in CONFIGS] == [
        {},
        *[{"max_length": 5}] * 2,
        {},
        {"max_length": 5},
        *[{"max_length": 4}] * 2,
    ]
