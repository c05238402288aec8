from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from sklearn.metrics import accuracy_score, f1_score

from graphdep.datasets.spans.rows import span_key
from graphdep.metrics import semeval2010_macro_f1
from graphdep.parsing import resolve_parser
from graphdep.tasks.spans.model import span_floors
from graphdep.training import TrainConfig, load_splits
from graphdep.training.build import Parts, load_pretrained
from graphdep.training.family import build_task
from tests.kit.tiny_corpora import tiny_span_rows, write_span_rows

OUTSIDE = {"semeval2010": "Other", "conll04": "none"}


def commonest(labels: list[str], order: tuple[str, ...]) -> str:
    """The first of the most frequent ones in the order of the classes."""
    counts = Counter(labels)
    return max(counts, key=lambda label: (counts[label], -order.index(label)))


def read(dataset) -> list[tuple[str, str]]:
    """What stands for each example of a split and its label, from the raw files."""
    examples = dataset.read(Path(dataset.raw_dir), dataset.split)
    parsed = resolve_parser("chain").parse_words([example.words for example in examples])
    trees = [example.tree or tree for example, tree in zip(examples, parsed)]
    return [(span_key(tree, example.spans), example.label) for example, tree in zip(examples, trees)]


def slow_floors(task: str, train, split, lost) -> dict[str, float]:
    """Row by row, by dictionaries."""
    order, known = train.labels, {}
    for key, label in read(train):
        known.setdefault(key, []).append(label)
    often = commonest([label for labels in known.values() for label in labels], order)
    rows = read(split)
    there = [label if label in order else "(unknown)" for _, label in rows]
    looked_up = [commonest(known[key], order) if key in known else often for key, _ in rows]
    scores = {}
    for found, end in (([often] * len(rows), ""), (looked_up, "_lookup")):
        found = ["(lost)" if gone else label for label, gone in zip(found, lost)]
        scored = [label for label in {*there, *found} if label not in (OUTSIDE.get(task), "(lost)")]
        options = {"labels": scored, "zero_division": 0}
        scores |= {
            f"accuracy{end}": accuracy_score(there, found),
            f"exact{end}": accuracy_score(there, found),
            f"f1{end}": f1_score(there, found, average="micro", **options) if scored else 0.0,
            f"macro_f1{end}": f1_score(there, found, average="macro", **options) if scored else 0.0,
        }
    return scores


def made(config, splits):
    pretrained = load_pretrained(config) if config.pretrained else None
    parts = Parts(len(splits.vocab), len(splits.relations), pretrained=pretrained, labels=splits.labels())
    return build_task(config, parts)


@pytest.mark.parametrize("task", ["conll04", "aspects", "spans"])
@pytest.mark.parametrize("split", ["train", "val", "test"])
def test_floors_by_counting(of_task, task, split):
    config = TrainConfig.of(**of_task(task))
    splits = load_splits(config)
    found = span_floors(made(config, splits), splits["train"], splits[split], split, "lookup")
    expected = slow_floors(task, splits["train"], splits[split], [0] * len(splits[split]))
    assert found == pytest.approx({f"{split}_{name}": value for name, value in expected.items()})


@pytest.mark.parametrize("split", ["train", "test"])
def test_what_has_lost_a_span_is_wrong(roots, on_encoder, split):
    config = TrainConfig.of("bert", task="semeval2010", root=roots["semeval2010"], **on_encoder)
    splits = load_splits(config, pretrained=load_pretrained(config))
    lost = splits[split].copy().lost.tolist()
    assert 0 < sum(lost) < len(lost)
    found = span_floors(made(config, splits), splits["train"], splits[split], split, "lookup")
    expected = slow_floors("semeval2010", splits["train"], splits[split], lost)
    for name in ("accuracy", "f1", "accuracy_lookup", "f1_lookup"):
        assert found[f"{split}_{name}"] == pytest.approx(expected[name])


def test_the_official_score_has_its_floor(of_task):
    config = TrainConfig.of(**of_task("semeval2010"))
    splits = load_splits(config)
    found = span_floors(made(config, splits), splits["train"], splits["test"], "test", "lookup")
    y = splits["test"].copy().y.numpy()
    known = splits["train"].copy().y.numpy()
    assert found["test_macro_f1"] == semeval2010_macro_f1(splits.labels()).floor(known, y)


def test_a_tree_gives_labels_away(of_task, tmp_path):
    """Which of two words is the subject says what the label is, and a model is not needed."""
    rows = tiny_span_rows(trees=True)
    for row in rows:
        row["label"] = "down"
    turned = [{**row, "spans": row["spans"][::-1], "label": "up"} for row in rows]
    settings = {**of_task("spans"), "train": write_span_rows(tmp_path / "turned.jsonl", rows + turned)}
    splits = load_splits(TrainConfig.of(**{**settings, "test": settings["train"]}))
    found = span_floors(
        made(TrainConfig.of(**settings), splits), splits["train"], splits["test"], "test", "x"
    )
    assert (found["test_accuracy"], found["test_accuracy_x"]) == (0.5, 1.0)
