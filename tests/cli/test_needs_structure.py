from __future__ import annotations

import csv
import json
import random


def test_own_texts_whose_words_decide(run, tmp_path):
    """A bag of words is all that the label asks for, and the trees of a chain tell nothing of it."""
    rng = random.Random(0)
    for name, count in {"train": 120, "val": 40, "test": 200}.items():
        with open(tmp_path / f"{name}.csv", "w", newline="") as file:
            table = csv.writer(file)
            table.writerow(["text", "label"])
            for _ in range(count):
                words = [rng.choice("bcdef") for _ in range(rng.randint(4, 8))]
                if rng.random() < 0.5:
                    words[rng.randrange(len(words))] = "a"
                table.writerow([" ".join(words), "has" if "a" in words else "has not"])
    files = [part for name in ("train", "val", "test") for part in (f"--{name}", tmp_path / f"{name}.csv")]
    sizes = {"hidden_channels": 16, "ff_channels": 16, "num_layers": 1, "heads": 2, "min_freq": 1}
    others = {"dropout": 0.0, "patience": "none", "relation_dim": 4, "accelerator": "cpu"}
    settings = [part for name, value in {**sizes, **others}.items() for part in ("--set", f"{name}={value}")]
    result = run(
        *("needs-structure", "--task", "csv", "--text-columns", "text", "--label-column", "label", *files),
        *("--parser", "chain", "--epochs", 12, "--batch-size", 16, "--lr", 0.02, "--bound", 0.05),
        *("--minutes", 30, "--output", tmp_path / "runs", "--json", *settings),
    )
    found = json.loads(result.stdout)
    assert found["verdict"] == "no", found["sentences"]
    assert found["bound"] == 0.05
    assert found["smallest_visible_effect"] < 0.1
    assert len(found["sentences"]) == 3
    names = ["transformer@shuffled", "transformer-nopos", "transformer", "dt", "dt@random-labels"]
    assert [row["name"] for row in found["rows"]] == names
    assert all({"name", "interval"} <= row.keys() for row in found["rows"])
