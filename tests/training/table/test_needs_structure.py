"""Five rows on tasks whose answer is known: of structure, of words alone, and of nothing."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from graphdep.metrics.classification import ACCURACY
from graphdep.metrics.relatedness import MSE
from graphdep.testing import random_sentence
from graphdep.training import needs_structure
from graphdep.training.family.structure_rows import StructureRows
from graphdep.training.runner.predictions import write_predictions
from graphdep.training.table import needs_structure as module
from graphdep.training.table.structure_plan import _all, _Cost, _fits, _val_every

WORDS = "abcdef"
SIZES = {"hidden_channels": 16, "ff_channels": 16, "num_layers": 1, "heads": 2, "relation_dim": 4, "lr": 0.02}
SHORT = {
    "max_epochs": 12,
    "batch_size": 16,
    "min_freq": 1,
    "accelerator": "cpu",
    "dropout": 0.0,
    "patience": None,
}
QUIET = Console(quiet=True)


def write(folder: Path, rule, tested: int = 40) -> dict[str, object]:
    """Files of sentences with trees, and a label for each word by a rule of the words, heads and chance."""
    rng = random.Random(0)
    sizes = {"train": 60, "val": 20, "test": tested}
    for name, count in sizes.items():
        with open(folder / f"{name}.jsonl", "w") as file:
            for _ in range(count):
                head = random_sentence(rng, rng.randint(5, 8)).head
                words = [rng.choice(WORDS) for _ in head]
                labels = [rule(words, head, place, rng) for place in range(len(head))]
                deprel = ["dep" if above else "root" for above in head]
                file.write(
                    json.dumps({"words": words, "labels": labels, "head": list(head), "deprel": deprel})
                    + "\n"
                )
    files = {name: str(folder / f"{name}.jsonl") for name in sizes}
    return {**files, **SIZES, **SHORT}


def ask(folder: Path, rule, **options) -> dict:
    own = {name: options.pop(name) for name in ("max_epochs", "lr") if name in options}
    settings = write(folder, rule, options.pop("tested", 40)) | {"outside": "none"} | own
    given = {"seeds": 3, "minutes": 30, "bound": 0.05, "console": QUIET, **options}
    return needs_structure("labels", folder / "runs", settings=settings, **given)


def of_governor(words, head, place, rng):
    return words[head[place] - 1] if head[place] else "top"


def of_word(words, head, place, rng):
    return words[place].upper()


def of_chance(words, head, place, rng):
    return rng.choice("XY")


def test_structure_decides(tmp_path):
    found = ask(tmp_path, of_governor)
    assert found["verdict"] == "yes", found["sentences"]
    assert [row["name"] for row in found["rows"]][1:3] == ["transformer-nopos", "transformer"]
    assert found["rows"][3]["difference"] > 0.3
    assert found["sentences"][-1] == "A parser is worth having here."
    assert Path(found["files"]["plot"]).stat().st_size > 1000
    assert json.loads(json.dumps(found)) == found
    # The same call has nothing to do; another one in the same folder is refused.
    assert ask(tmp_path, of_governor)["rows"] == found["rows"]
    for other in ({"seeds": 4}, {"bound": 0.9}):
        with pytest.raises(ValueError, match="plan.json is of another call"):
            ask(tmp_path, of_governor, **other)
    with pytest.raises(ValueError, match="or of files that have changed"):
        ask(tmp_path, of_word)
    (tmp_path / "runs" / "plan.json").write_text("{}")
    with pytest.raises(ValueError, match="plan.json is damaged"):
        ask(tmp_path, of_governor)


def test_words_decide(tmp_path):
    found = ask(tmp_path, of_word, tested=120)  # rows that are equal on 40 sentences may differ by .09
    assert found["verdict"] == "no", found["sentences"]
    assert found["smallest_visible_effect"] < 0.05


def test_models_that_have_learnt_nothing_deny_nothing(tmp_path):
    found = ask(tmp_path, of_word, max_epochs=1, lr=1e-6)
    assert found["verdict"] == "undecided", found["sentences"]
    assert "the plain model is no better than no skill" in found["sentences"][-1]


def test_models_that_are_still_learning_deny_nothing(tmp_path):
    """Trees that decide all, read by a model that was stopped before it could show it."""
    found = ask(tmp_path, of_governor, max_epochs=1, lr=0.003, bound=0.9)
    assert found["verdict"] != "no", found["sentences"]


def summed(mean: float, *curves: list[float | None]) -> dict:
    """A row of runs with these scores of the validation split, None for epochs without."""
    paths = [Path(f"run{number}", "best.ckpt") for number in range(len(curves))]
    for path, curve in zip(paths, curves):
        path.parent.mkdir(exist_ok=True)
        lines = [f"{epoch},{'' if score is None else score}" for epoch, score in enumerate(curve, 1)]
        path.with_name("metrics.csv").write_text("\n".join(["epoch,val_accuracy", *lines, ""]))
    return {"metrics": {"test_accuracy": {"mean": mean}}, "checkpoints": paths, "n": len(curves)}


FLAT, RISING, SLOW = [0.5, 0.9, None, 0.9], [0.5, 0.8, None, 0.9], [0.5, 0.89, None, 0.9]


@pytest.mark.parametrize(
    ("plain", "trees", "curves", "no_skill", "doubt"),
    [
        (0.9, 0.9, [FLAT], 0.5, None),
        (0.9, 0.9, [FLAT, SLOW], 0.5, None),  # by less than half the bound
        (0.9, 0.9, [FLAT], None, None),
        (0.5, 0.9, [FLAT], 0.5, "the plain model is no better than no skill"),
        (0.53, 0.9, [FLAT], 0.5, "the plain model is no better than no skill"),  # by less than the bound
        (0.9, 0.4, [FLAT], 0.5, "the model with trees is no better than no skill"),
        (0.9, 0.9, [FLAT, RISING, FLAT], 0.5, "1 of 3 runs with trees were still getting better"),
        (0.9, 0.9, [[None, 0.9]], 0.5, "1 of 1 runs with trees were still getting better"),  # nobody knows
    ],
)
def test_doubts(tmp_path, monkeypatch, plain, trees, curves, no_skill, doubt):
    monkeypatch.chdir(tmp_path)
    rows = {"plain": summed(plain), "trees": summed(trees, *curves)}
    found = module._doubt(ACCURACY, no_skill, 0.05, **rows)
    assert (found is None) if doubt is None else found.startswith(doubt)


def test_doubts_where_less_is_better(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = {name: summed(0.5, [0.9, 0.5]) for name in ("plain", "trees")}
    for row in rows.values():
        row["metrics"] = {"test_mse": {"mean": 0.5}}
    path = tmp_path / "run0" / "metrics.csv"
    path.write_text(path.read_text().replace("accuracy", "mse"))
    assert module._doubt(MSE, 1.0, 0.05, **rows).startswith("1 of 1 runs")
    assert "the plain model is no better than no skill (0.5, 0.53)" in module._doubt(MSE, 0.53, 0.05, **rows)


def test_no_skill_knows_the_labels_of_the_test_split(tmp_path):
    """Training has most of 0, of which the test split has a quarter."""
    target = np.array([0, 1, 1, 1])
    write_predictions(tmp_path / "predictions.csv", target, target)
    row = {"checkpoints": [str(tmp_path / "best.ckpt")]}
    assert module._no_skill(ACCURACY, 0.25, row) == 0.75
    assert module._no_skill(ACCURACY, 0.9, row) == 0.9


@pytest.mark.parametrize(
    ("epochs", "every"), [(1, 1), (2, 1), (3, 1), (7, 1), (9, 3), (10, 2), (12, 4), (20, 5)]
)
def test_validations(epochs, every):
    assert _val_every(epochs) == every


def test_nothing_decides(tmp_path):
    found = ask(tmp_path, of_chance, bound=0.001)
    assert found["verdict"] == "undecided", found["sentences"]
    assert "no better than no skill" in found["sentences"][-1]  # by whatever epoch chance has chosen


@pytest.mark.parametrize(
    ("plain", "random", "maximize", "verdict"),
    [
        ((0.1, 0.2), (0.1, 0.2), True, "yes"),
        ((0.1, 0.2), (-0.1, 0.2), True, "undecided"),  # random trees do as well
        ((-0.1, 0.01), (-0.1, 0.2), True, "no"),
        ((0.001, 0.01), (-0.1, 0.2), True, "no"),  # real, and too small
        ((-0.1, 0.05), (-0.1, 0.2), True, "undecided"),
        ((-0.2, -0.1), (-0.2, -0.1), False, "yes"),  # of losses less is better
        ((0.1, 0.2), (0.1, 0.2), False, "no"),
    ],
)
def test_verdicts(plain, random, maximize, verdict):
    plain, random = ({"interval": ends, "smallest_visible": 0.3} for ends in (plain, random))
    found = module._verdict(plain, random, 0.02, maximize, True)
    assert (found["verdict"], found["smallest_visible_effect"]) == (verdict, 0.3)
    part = module._verdict(plain, random, 0.02, maximize, False)
    assert part["verdict"] == verdict.replace("no", "undecided")
    said = {
        "over": part["over"],
        "excluded": part["excluded"],
        "part": "the 100 of 2,000 examples that fit into the time",
    }
    told = module._worth(part, 0.02, doubt=None, **said)
    if verdict == "undecided" and part["over"]:
        assert "than random trees" in told
        return
    if part["over"] and part["verdict"] == "undecided":
        return  # real, and too small
    assert "the 100 of 2,000 examples that fit into the time" in told
    assert ("(more --minutes)" in told) == (verdict == "no")
    if verdict != "yes":
        assert module._worth(part, 0.02, doubt="so it is.", **said).endswith(" undecided: so it is.")


def test_as_many_examples_as_there_is_time_for():
    rows, costs = StructureRows("a", "b", "c", "d"), [_Cost(0.01, 2.0, 1.0), _Cost(0.02, 3.0, 1.5)]
    # 2 rows without trees and 2 with them, 3 seeds, 5 epochs, 2 validations.
    each, fixed = 3 * 5 * (2 * 0.01 + 2 * 0.02), 3 * (2 * (2 * 1.0 + 2.0) + 2 * (2 * 1.5 + 3.0))
    assert _all(costs, rows, 3, (5, 2), 7) == pytest.approx(fixed + 7 * each)
    assert _fits(costs, rows, 3, (5, 2), fixed + 7.5 * each) == 7


def test_errors(tmp_path):
    with pytest.raises(
        ValueError, match="'minutes' is too short: 60 examples take about [0-9]+ minutes \\(got 0.001\\)"
    ):
        ask(tmp_path, of_word, minutes=0.001)
    with pytest.raises(ValueError, match="'model' must be one of dt, bert-dt \\(got 'bilstm'\\)"):
        ask(tmp_path, of_word, model="bilstm")
    with pytest.raises(ValueError, match="'trees' must be 'parser': the corpus has no trees of its own"):
        needs_structure("csv", tmp_path / "other", trees="gold", console=QUIET)
    with pytest.raises(ValueError, match="no rows are known .* 'post-train'"):
        needs_structure("post-train", tmp_path / "other", console=QUIET)


def test_a_test_split_of_one_sentence(tmp_path):
    with pytest.raises(ValueError, match="rows are compared on 10 examples at least \\('labels' has 1\\)"):
        ask(tmp_path, of_word, tested=1)
