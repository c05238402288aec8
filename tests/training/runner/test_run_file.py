from __future__ import annotations

import pytest
import torch
import yaml
from hypothesis import given
from hypothesis import strategies as st

from graphdep.tasks import families
from graphdep.training import TrainConfig, read_checkpoint, train
from graphdep.training.config import RUN_FILE, read_run, write_run

OWN = {"train": "a b: #c.csv", "text_columns": "text", "label_column": "no", "scheme": "words"}
CONFIGS = [
    (task, model)
    for family in families()
    for task in family.tasks
    for model in list(family.config(task).models)[::7]
]


def config_of(task: str, model: str) -> TrainConfig:
    own = TrainConfig.of_task(task).marks
    given = {name: value for name, value in OWN.items() if name in own and "train" in own}
    return TrainConfig.of(model, task=task, **given)


@pytest.mark.parametrize(("task", "model"), CONFIGS)
def test_what_is_written_is_read_back(tmp_path, task, model):
    config = config_of(task, model)
    write_run(tmp_path / RUN_FILE, config)
    assert TrainConfig.of(**read_run(tmp_path / RUN_FILE)) == config
    assert {*yaml.safe_load((tmp_path / RUN_FILE).read_text())} == {*config.to_dict()}


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


def test_what_was_chosen_stands_first(tmp_path):
    write_run(tmp_path / RUN_FILE, TrainConfig.of("dt", task="sst", lr=0.5, seed=3))
    lines = (tmp_path / RUN_FILE).read_text().splitlines()
    others = lines.index("# As the model and the task have them:")
    assert [line for line in lines[:others] if not line.startswith("#")] == [
        *("task: sst", "model: dt", "seed: 3", "lr: 0.5")
    ]
    assert "max_epochs: 30" in lines[others:]


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
        ("learning_rate: 1", r"a.yaml: unknown setting 'learning_rate' \(did you mean 'lr'\?\)"),
        ("task: cats", "a.yaml: task 'cats' is unknown"),
        ("lr: 1\nlr: 2", "a.yaml: 'lr' is there twice, again in line 2"),
        ("- lr", "a.yaml: no settings and their values"),
        ("", "a.yaml: no settings and their values"),
        ("lr: !!python/object/apply:os.getcwd []", "a.yaml: could not determine a constructor"),
        ("lr: {", "a.yaml: while parsing"),
        ("1: 2", "a.yaml: no settings and their values"),
        ("task: 0.1", r"a.yaml: 'task' must be the name of a task \(got 0.1\)"),
        ("? [a]\n: 1", "a.yaml: line 1: a name must be a text"),
        ("lr: " + "[" * 5000, "a.yaml: nested too deep"),
        ("seed: 1.5", r"a.yaml: 'seed' takes a whole number \(got 1.5\)"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(tmp_path, text, message):
    (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_run(tmp_path / "a.yaml")
