from __future__ import annotations

import pytest

from graphdep.tasks import TASKS, Sentences, resolve_task


def test_tasks_that_exist():
    assert TASKS["sick-r"].num_classes == 5
    assert resolve_task("sick-e").goal.metrics[0].name == "accuracy"
    assert resolve_task("sick-r").goal.metrics[0].name == "mse"
    assert [metric.name for metric in resolve_task("mrpc").goal.metrics] == ["accuracy", "f1"]
    single = {name for name, task in TASKS.items() if isinstance(task, Sentences) and task.sentences == 1}
    assert single == {"sst", "sst2"}
    assert [name for name, task in TASKS.items() if task.kind == "dialogue"] == [
        "dailydialog",
        "empathetic",
    ]


@pytest.mark.parametrize("name", ["rte", "cola", "qnli"])
def test_tasks_to_come_say_so(name):
    with pytest.raises(ValueError, match=f"task '{name}' is not built yet; choose one of sick-r, sick-e"):
        resolve_task(name)


def test_unknown_tasks():
    with pytest.raises(ValueError, match="task 'sick' is unknown; choose one of"):
        resolve_task("sick")
