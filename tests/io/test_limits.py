from __future__ import annotations

import math
import os
from typing import get_args

import pytest

from graphdep.io.limits import LIMITS, check_limit, check_whole
from graphdep.training import TrainConfig

FILES = {"train": "a.csv", "text_columns": "text", "label_column": "label"}
CONFIGS = {
    "sentence": TrainConfig.of("dt"),
    "pretrained": TrainConfig.of("bert"),
    "csv": TrainConfig.of("dt", task="csv", **FILES),
    "dialogue": TrainConfig.of("transformer-dra", task="dailydialog", strategy="sample"),
    "beam": TrainConfig.of("transformer-dra", task="dailydialog", strategy="beam"),
    "selection": TrainConfig.of("bert-sia", task="ubuntu"),
    "post-training": TrainConfig.of("bert-fp", task="post-train"),
}


def numbers_of(config: TrainConfig) -> list[str]:
    """The settings that are numbers."""
    kinds = {name: field.annotation for name, field in type(config).model_fields.items()}
    return [name for name, kind in kinds.items() if {int, float} & {kind, *get_args(kind)}]


def test_a_number_of_a_configuration_beyond_its_limits_is_one_line_with_the_key():
    for family in CONFIGS:
        config = CONFIGS[family]
        for name in numbers_of(config):
            least, most = LIMITS[name]
            usual = getattr(config, name)
            assert usual is None or least <= usual <= most < math.inf, name
            for value in (10**9, -1, 10**20):
                if least <= value <= most:  # seeds, and factors of 32-bit numbers
                    assert "seed" in name or most == 3e38, name
                    continue
                with pytest.raises(ValueError, match=f"'{name}'") as caught:
                    config.replace(**{name: value})
                assert "\n" not in str(caught.value)
                assert len(str(caught.value)) < 200


def test_processes_are_four_a_core():
    most = 4 * (os.cpu_count() or 1)
    assert TrainConfig.of("dt", num_workers=most).num_workers == most
    with pytest.raises(ValueError, match=f"'num_workers' must be at most {most} .got {most + 1}"):
        TrainConfig.of("dt", num_workers=most + 1)


def test_settings_of_a_larger_machine_can_be_read():
    state = TrainConfig.of("dt").to_dict() | {"num_workers": 100_000}
    assert TrainConfig.from_dict(state).num_workers is None


def test_the_table_cannot_be_changed():
    with pytest.raises(TypeError):
        LIMITS["max_words"] = (1, 2)


def test_a_number_within_its_limits():
    check_limit("max_words", 1)
    check_limit("max_words", 1_000_000)
    for value, message in (
        (0, "'max_words' must be at least 1 .got 0"),
        (1_000_001, "'max_words' must be at most 1000000 .got 1000001"),
        (math.nan, "'max_words' must be at least 1 .got nan"),
        (math.inf, "'max_words' must be at most 1000000 .got inf"),
    ):
        with pytest.raises(ValueError, match=message):
            check_limit("max_words", value)
    with pytest.raises(ValueError, match="'max_words' must be at least 5 .got 4"):
        check_limit("max_words", 4, 5)
    for value in (True, 1.0, "1", None):
        with pytest.raises(ValueError, match="'max_words' must be a whole number"):
            check_whole("max_words", value)
