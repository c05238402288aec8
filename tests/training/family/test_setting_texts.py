from __future__ import annotations

import pytest

from graphdep.tasks import families
from graphdep.training import TrainConfig
from graphdep.training.config import setting_texts

TASKS = [task for family in families() for task in family.tasks]


@pytest.mark.parametrize("task", TASKS)
def test_every_setting_has_a_meaning_without_marks(task):
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
    with pytest.raises(ValueError, match="no model 'nosuch'"):
        setting_texts(config, "cola", "nosuch")
