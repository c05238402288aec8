"""What people read in the predictions of a run on sentences."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from graphdep.training import TrainConfig, load_splits, train
from tests.kit.tiny_corpora import write_tiny_glue, write_tiny_sick, write_tiny_sst

SIZES = {"hidden_channels": 8, "ff_channels": 8, "max_epochs": 1, "accelerator": "cpu"}


def rows_of(folder: Path) -> list[dict[str, str]]:
    with (folder / "predictions.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    ("task", "write", "texts"),
    [
        ("sick-e", write_tiny_sick, ["text_1", "text_2"]),
        ("sst", write_tiny_sst, ["text"]),
        ("rte", write_tiny_glue, ["text_1", "text_2"]),
        ("sick-r", write_tiny_sick, ["text_1", "text_2"]),
    ],
)
def test_texts_and_names_of_labels_stand_beside_the_numbers(tmp_path, task, write, texts):
    config = TrainConfig.of("word-average", task=task, **write(tmp_path / "corpus"), **SIZES)
    splits = load_splits(config)
    train(config, tmp_path / "run", splits=splits)
    rows, test = rows_of(tmp_path / "run"), splits["test"]
    labels = [] if task == "sick-r" else list(map(str, test.labels))
    columns = ["target_label", "prediction_label"] if labels else []
    assert [*rows[0]] == ["example", "target", "prediction", *columns, *texts]
    for row, data in zip(rows, test, strict=True):
        if labels:
            assert row["target_label"] == labels[int(row["target"])] == labels[int(data.y)]
            assert row["prediction_label"] == labels[int(row["prediction"])]
        # The words of the graph, by the vocabulary: the texts are those of the same example.
        words = " ".join(row[name] for name in texts).lower().split()
        known = [word for word in words if word in splits.vocab]
        found = [splits.vocab.words[i] for i in data.input_ids.tolist() if splits.vocab.words[i] in words]
        assert found == known
