from __future__ import annotations

import pytest

from graphdep.training import TrainConfig
from graphdep.training.rows import row_settings


def rows(*models: str, **own: object) -> dict[str, dict[str, object]]:
    return {model: {"model": model, **own} for model in models}


@pytest.mark.parametrize(
    ("task", "words", "pretrained"),
    [
        ("sick-e", "transformer", "bert"),
        ("ubuntu", "smn", "bert-sia"),
        ("propbank-ewt", "bilstm", "bert-dt"),
        # of files that the settings name, which are not asked for here
        ("csv", "dt", "bert"),
        ("labels", "dam", "bert-dt@random"),
        ("spans", "transformer", "bert"),
    ],
)
def test_a_pretrained_encoder_is_of_the_rows_that_stand_on_one(task, words, pretrained):
    found = row_settings(task, rows(words, pretrained), {"encoder": "some/bert", "lr": 0.01})
    assert found[words] == {"model": words, "lr": 0.01}
    assert found[pretrained] == {"model": pretrained, "lr": 0.01, "encoder": "some/bert"}


def test_what_no_row_could_take_is_given_to_all_and_refused():
    found = row_settings("sick-e", rows("transformer", "dt"), {"encoder": "some/bert"})
    with pytest.raises(ValueError, match="'encoder' must be one of"):
        TrainConfig.of(**{**found["dt"], "task": "sick-e"})


def test_an_encoder_of_the_family_s_own_is_of_all_rows():
    found = row_settings("sick-e", rows("transformer", "bert"), {"encoder": "bilstm"})
    assert all(row["encoder"] == "bilstm" for row in found.values())


def test_a_row_s_own_settings_come_first():
    (found,) = row_settings("sick-e", rows("bert", encoder="own/bert"), {"encoder": "some/bert"}).values()
    assert found["encoder"] == "own/bert"
