"""Verdicts from the scores of rows."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from graphdep.metrics.scores import ACCURACY, MSE, WORD_F1
from graphdep.tasks import TASKS
from graphdep.training import TrainConfig, ablation, needs_structure
from graphdep.training import structure as module
from graphdep.training.config import resolve_model
from graphdep.training.evaluation import write_predictions
from graphdep.training.family import StructureRows
from graphdep.training.structure import _all, _Cost, _fits, _val_every
from graphdep.training.task import family_of
from tests.kit.runs import SIZES
from tests.kit.trees import random_sentence

SETTINGS = {**SIZES, "max_epochs": 12, "min_freq": 1, "accelerator": "cpu", "patience": None}
SETTINGS |= {"outside": "none"}
QUIET = Console(quiet=True)


def write(folder: Path, tested: int, words: str = "abcdef") -> dict[str, object]:
    """Files of sentences with trees and labels."""
    rng, files = random.Random(0), {}
    for name, count in {"train": 60, "val": 20, "test": tested}.items():
        lines = []
        for _ in range(count):
            head = random_sentence(rng, rng.randint(5, 8)).head
            labels = [rng.choice("XY") for _ in head]
            deprel = ["dep" if above else "root" for above in head]
            row = {"words": [rng.choice(words) for _ in head], "labels": labels}
            lines.append(json.dumps(row | {"head": list(head), "deprel": deprel}) + "\n")
        (folder / f"{name}.jsonl").write_text("".join(lines))
        files[name] = str(folder / f"{name}.jsonl")
    return files


@pytest.fixture
def ask(tmp_path, monkeypatch):
    """Asks the question with given runs: the accuracy of each row, and the validation score before the last.

    An exception in place of a score makes the run fail.
    """
    trials = []

    def trial(config, folder, **options):
        trials.append(config.model)
        return {"seconds_per_epoch": 0.5}

    def asked(scores=0.9, before: float = 0.9, words: str = "abcdef", tested: int = 40, **options):
        def recorded(config, folder, **_):
            score = scores[config.model] if isinstance(scores, dict) else scores
            if isinstance(score, Exception):
                raise score
            folder.mkdir(parents=True, exist_ok=True)
            target, right = np.arange(200) % 2, np.random.default_rng(0).random(200) < score
            prediction = np.where(right, target, 1 - target)
            digest = [f"{number:x}" for number in range(200)]
            write_predictions(folder / "predictions.csv", target, prediction, None, digest)
            (folder / "metrics.csv").write_text(f"epoch,val_f1\n1,0.5\n2,{before}\n3,0.9\n")
            result = {
                "task": config.task,
                "model": config.model,
                "seed": config.seed,
                "metrics": {"test_f1": WORD_F1(prediction, target)},
                "floor": {"test_f1": 0.5},
                "checkpoint": str(folder / "best.ckpt"),
                "config": config.to_dict(),
                "predictions": 200,
                "compared": "test",
                "own_edges": {},
                **{key: {} for key in ("floor_frozen", "reference")},
                **dict.fromkeys(("parameters", "epochs", "best_epoch", "seconds_per_epoch"), 3),
            }
            (folder / "result.json").write_text(json.dumps(result))
            return result

        monkeypatch.setattr(module, "train", trial)
        monkeypatch.setattr(ablation, "train", recorded)
        given = {"seeds": 2, "minutes": 30, "bound": 0.05, "console": QUIET, **options}
        settings = SETTINGS | write(tmp_path, tested, words)
        given = {"trees": "parser", **given}
        return needs_structure("labels", tmp_path / "runs", settings=settings, **given)

    asked.trials = trials
    return asked


ROWS = [
    *("transformer@shuffled", "transformer-nopos", "transformer"),
    *("dt@chain", "dt@parser", "dt@random-labels-parsed"),
]
HELPED = dict.fromkeys(ROWS, 0.7) | {"dt@parser": 0.95}


def test_structure_decides(tmp_path, ask):
    found = ask(HELPED)
    assert found["verdict"] == "yes", found["sentences"]
    assert [row["name"] for row in found["rows"]] == ROWS
    assert found["rows"][4]["difference"] > 0.2
    assert found["sentences"][-1] == "A parser is worth having here."
    assert Path(found["files"]["plot"]).stat().st_size > 1000
    assert json.loads(Path(found["files"]["summary"]).read_text()) == found
    table = Path(found["files"]["table"]).read_text()
    assert f"\n\nVerdict: yes. {found['sentences'][0]} " in table
    assert "\n| dt@parser" in table
    assert f"\n| (no skill) | {found['floors']['no skill']:.4f} |" in table
    assert "p values are in table.csv" in table
    assert "p_seeds" in Path(found["files"]["csv"]).read_text()
    assert found["used"] == {"trained": 60, "there": 60, "why": ""}
    seen = f"The smallest effect that could have been seen: {found['smallest_visible_effect']:.3g} ("
    assert found["sentences"][2].startswith(f"All 60 examples were trained on. {seen}")
    # The same call uses the plan; a different call in the same folder is refused.
    assert ask(HELPED) == found
    assert ask.trials == ["transformer", "dt@parser"]
    for other in ({"seeds": 4}, {"bound": 0.9}):
        with pytest.raises(ValueError, match="plan.json exists and would be replaced"):
            ask(HELPED, **other)
    with pytest.raises(ValueError, match="plan.json exists and would"):
        ask(HELPED, words="xyz")
    (tmp_path / "runs" / "plan.json").write_text("{}")
    with pytest.raises(ValueError, match="plan.json exists and would"):
        ask(HELPED)
    assert ask(HELPED, overwrite=True)["verdict"] == "yes"
    assert len(ask.trials) == 4
    assert ask(HELPED)["verdict"] == "yes"  # with the new plan
    assert len(ask.trials) == 4


@pytest.mark.parametrize(
    ("given", "verdict", "said"),
    [
        ({}, "no", "A parser is not worth having here: a gain above 0.05 is excluded."),
        ({"scores": 0.5}, "undecided", "the plain model is no better than no skill"),
        ({"before": 0.5}, "undecided", "undecided: 2 of 2 runs with trees still improved"),
        ({"scores": HELPED | {"dt@random-labels-parsed": 0.95}}, "undecided", "may come from the labels"),
        ({"scores": HELPED | {"dt@chain": 0.95}}, "no", "a gain above 0.05 over order alone is excluded"),
    ],
)
def test_verdict_of_runs(ask, given, verdict, said):
    found = ask(**given)
    assert found["verdict"] == verdict, found["sentences"]
    assert said in found["sentences"][-1]


def test_a_run_that_fails_is_named(ask):
    with pytest.raises(RuntimeError, match="dt@parser seed 0 failed: OSError: full"):
        ask(HELPED | {"dt@parser": OSError("full")})


def summed(mean: float, *curves: list[float | None]) -> dict:
    """A row of runs with these validation scores, None for epochs without validation."""
    paths = [Path(f"run{number}", "best.ckpt") for number in range(len(curves))]
    for path, curve in zip(paths, curves):
        path.parent.mkdir(exist_ok=True)
        lines = [f"{epoch},{'' if score is None else score}" for epoch, score in enumerate(curve, 1)]
        path.with_name("metrics.csv").write_text("\n".join(["epoch,val_accuracy", *lines, ""]))
    return {"metrics": {"test_accuracy": {"mean": mean}}, "checkpoints": paths, "n": len(curves)}


FLAT, RISING, SLOW = [0.5, 0.9, None, 0.9], [0.5, 0.8, None, 0.9], [0.5, 0.89, None, 0.9]


@pytest.mark.parametrize(
    ("plain", "trees", "of_plain", "of_trees", "no_skill", "yes", "no"),
    [
        (0.9, 0.9, [FLAT], [FLAT], 0.5, None, None),
        (0.9, 0.9, [FLAT], [FLAT, SLOW], 0.5, None, None),  # improved by less than half the bound
        (0.9, 0.9, [FLAT], [FLAT], None, None, None),
        (0.5, 0.9, [FLAT], [FLAT], 0.5, "the plain model is no better", "the plain model is no better"),
        (0.53, 0.9, [FLAT], [FLAT], 0.5, "the plain model is no better", "the plain model is no better"),
        (0.9, 0.4, [FLAT], [FLAT], 0.5, None, "the model with trees is no better than no skill (0.4, 0.5 by"),
        (0.9, 0.9, [FLAT], [FLAT, RISING, FLAT], 0.5, None, "1 of 3 runs with trees still improved"),
        (
            0.9,
            0.9,
            [FLAT],
            [FLAT, [0.86, 0.9]],
            0.5,
            None,
            "1 of 2 runs with trees still improved",
        ),  # improved by half the bound
        (0.9, 0.9, [FLAT], [[None, 0.9]], 0.5, None, "1 of 1 run with trees still improved"),  # unknown
        # A gain of .1 in the last of three validations may be .3 in three more, and trees gain .2.
        (0.9, 0.9, [RISING], [FLAT], 0.5, "the plain model still improved", None),
        (0.9, 0.9, [RISING, FLAT], [FLAT], 0.5, None, None),  # .15 on average
        (0.9, 0.9, [[0.9]], [FLAT], 0.5, "the plain model still improved", None),
    ],
)
def test_doubts(tmp_path, monkeypatch, plain, trees, of_plain, of_trees, no_skill, yes, no):
    rows = {}
    for name, mean, curves in (("plain", plain, of_plain), ("trees", trees, of_trees)):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        rows[name] = summed(mean, *curves)
        rows[name]["checkpoints"] = [path.absolute() for path in rows[name]["checkpoints"]]
    found = module._doubts(ACCURACY, no_skill, 0.05, 0.2, **rows)
    assert found.keys() == {name for name, said in (("yes", yes), ("no", no)) if said}
    assert all(found[name].startswith(said) for name, said in (("yes", yes), ("no", no)) if said)
    if yes and "still improved" in yes:
        assert "yes" not in module._doubts(ACCURACY, no_skill, 0.05, -0.1, **rows)  # trees are not better


def test_doubts_where_less_is_better(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = {name: summed(0.5, [0.9, 0.5]) for name in ("plain", "trees")}
    for row in rows.values():
        row["metrics"] = {"test_mse": {"mean": 0.5}}
    path = tmp_path / "run0" / "metrics.csv"
    path.write_text(path.read_text().replace("accuracy", "mse"))
    assert module._doubts(MSE, 1.0, 0.05, 0.1, **rows).keys() == {"yes", "no"}
    assert module._doubts(MSE, 1.0, 0.05, 0.9, **rows).keys() == {"no"}
    said = module._doubts(MSE, 0.53, 0.05, 0.9, **rows)
    assert {*said} == {"yes", "no"}
    assert all("the plain model is no better than no skill (0.5, 0.53 by" in why for why in said.values())


def test_no_skill_knows_the_labels_of_the_test_split(tmp_path):
    """The most frequent label of training is a quarter of the test labels."""
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


@pytest.mark.parametrize(
    ("limit", "settings", "left_out", "said"),
    [
        (None, {}, 0, "All 1,350 examples were trained on."),
        (None, {"limit_train": 1350}, 0, "1,350 examples were trained on, by --limit-train."),
        (
            *(287, {}, 1063),
            "287 of 1,350 examples were trained on: more did not fit into 5 minutes (more --minutes, "
            "or fewer --seeds or --epochs).",
        ),
    ],
)
def test_which_examples_were_used_and_why_not_all(limit, settings, left_out, said):
    plan = module.Plan(limit, 1350, 10, 1, 4.5)
    used, sentence = module._used(plan, 5.0, settings)
    assert (used["there"] - used["trained"], sentence) == (left_out, said)


PART = "the 100 of 2,000 examples that fit into the time"


@pytest.mark.parametrize(
    ("plain", "chain", "random", "metric", "verdict", "of_a_part"),
    [
        ((0.1, 0.2), (0.1, 0.2), (0.1, 0.2), ACCURACY, "yes", f"worth having here, with {PART}."),
        (
            (0.1, 0.2),
            (0.1, 0.2),
            (-0.1, 0.2),
            ACCURACY,
            "undecided",
            "than random trees with the same labels",
        ),
        ((0.1, 0.2), (-0.1, 0.2), (0.1, 0.2), ACCURACY, "undecided", "than order alone"),
        ((0.1, 0.2), (-0.1, 0.2), (-0.1, 0.2), ACCURACY, "undecided", "than order alone"),
        ((0.1, 0.2), (-0.1, 0.01), (0.1, 0.2), ACCURACY, "no", "above 0.02 over order alone is excluded"),
        ((-0.1, 0.01), (-0.1, 0.2), (-0.1, 0.2), ACCURACY, "no", "(more --minutes)"),
        # Above 0, but too small.
        ((0.001, 0.01), (0.1, 0.2), (-0.1, 0.2), ACCURACY, "no", "(more --minutes)"),
        ((0.001, 0.01), (0.001, 0.01), (0.001, 0.01), ACCURACY, "no", "(more --minutes)"),
        ((-0.1, 0.03), (-0.1, 0.2), (-0.1, 0.2), ACCURACY, "undecided", f"{PART}, contains both 0 and 0.02"),
        ((-0.2, -0.1), (-0.2, -0.1), (-0.2, -0.1), MSE, "yes", f"worth having here, with {PART}."),
        ((0.1, 0.2), (0.1, 0.2), (0.1, 0.2), MSE, "no", "(more --minutes)"),
    ],
)
def test_verdicts(plain, chain, random, metric, verdict, of_a_part):
    intervals = {"plain": plain, "chain": chain, "random": random}
    compared = {name: {"interval": ends, "smallest_visible": 0.3} for name, ends in intervals.items()}

    def ask(doubts, whole):
        found = module._verdict(compared, 0.02, metric, doubts, whole=whole)
        told = {name: found[name] for name in ("over", "excluded")}
        assert found["smallest_visible_effect"] == 0.3
        part = None if whole else PART
        return found["verdict"], module._worth(found, 0.02, doubts, part=part, more="minutes", **told)

    assert ask({}, True)[0] == verdict
    assert ask({}, False)[0] == verdict.replace("no", "undecided")
    assert of_a_part in ask({}, False)[1]
    # A doubt changes only the verdict that it concerns.
    doubts = {"yes": "it may be otherwise.", "no": "it may be otherwise."}
    assert ask(doubts, True)[0] == "undecided"
    if intervals["plain"] == (-0.1, 0.03):  # the interval is the first reason
        assert ask(doubts, True)[1].endswith("more test examples); also: it may be otherwise.")
    if verdict != "undecided":
        assert ask({verdict: doubts["no"]}, True)[1].endswith("undecided: it may be otherwise.")
        assert ask({"no" if verdict == "yes" else "yes": "x"}, True)[0] == verdict


@st.composite
def gains(draw: st.DrawFn) -> tuple[float, float]:
    """An interval, often with 0 or the bound as an end."""
    ends = st.sampled_from([-0.04, -0.02, 0.0, 0.01, 0.02, 0.03, 0.04]) | st.floats(-0.1, 0.1)
    low, high = sorted((draw(ends), draw(ends)))
    return low, high


@given(gains(), gains(), gains(), st.booleans(), st.sets(st.sampled_from(["yes", "no"])))
def test_a_verdict_says_no_more_than_its_intervals(plain, chain, random, whole, doubted):
    """Intervals are closed: one that ends at the bound does not exclude it, and one from 0 shows no gain."""
    intervals, bound = {"plain": plain, "chain": chain, "random": random}, 0.02
    small = [name for name in ("plain", "chain") if all(gain < bound for gain in intervals[name])]
    shown = [name for name, ends in intervals.items() if all(gain > 0 for gain in ends)]
    said = "no" if small else "yes" if len(shown) == 3 else "undecided"
    doubts = dict.fromkeys(doubted, "it may be otherwise.")
    expected = "undecided" if said in doubts or (said == "no" and not whole) else said

    def ask(metric, intervals):
        compared = {name: {"interval": ends, "smallest_visible": 0.3} for name, ends in intervals.items()}
        return module._verdict(compared, bound, metric, doubts, whole=whole)

    found = ask(ACCURACY, intervals)
    assert (found["verdict"], found["over"], found["excluded"]) == (expected, shown, next(iter(small), None))
    # For an error, less is better.
    assert ask(MSE, {name: (-high, -low) for name, (low, high) in intervals.items()}) == found


def test_what_can_be_seen_is_said_before_anything_is_trained():
    said = [module._power(3, count, ACCURACY) for count in (100, 1_821)]
    assert said[0] == "3 seeds, 100 test examples: a gain below about 0.12 can hardly be seen"
    assert said[1] == "3 seeds, 1,821 test examples: a gain below about 0.028 can hardly be seen"
    assert module._power(3, 100, MSE) == "3 seeds, 100 test examples"


@pytest.mark.parametrize(
    ("tested", "varied"),
    [(100, " The runs varied more between seeds than the estimate before training assumed."), (1, "")],
)
def test_no_visible_effect_has_its_reason(tested, varied):
    said = (
        "With these seeds and examples no effect could have been seen, not even the largest (more --seeds, "
    )
    assert module._visible(None, 2, tested, ACCURACY) == f"{said}or more test examples).{varied}"


def test_as_many_examples_as_there_is_time_for():
    rows, costs = StructureRows("a", "b", "c", "d"), [_Cost(0.01, 2.0, 1.0), _Cost(0.02, 3.0, 1.5)]
    # 2 rows without trees and 3 with them, 3 seeds, 5 epochs, 2 validations.
    each, fixed = 3 * 5 * (2 * 0.01 + 3 * 0.02), 3 * (2 * (2 * 1.0 + 2.0) + 3 * (2 * 1.5 + 3.0))
    assert _all(costs, rows, 3, (5, 2), 7) == pytest.approx(fixed + 7 * each)
    assert _fits(costs, rows, 3, (5, 2), fixed + 7.5 * each) == 7


@pytest.mark.parametrize("trees", ["parser", "gold"])
@pytest.mark.parametrize("task", ["propbank-ewt", "ud-tags", "up"])
def test_random_trees_have_the_labels_of_the_trees_beside_them(task, trees):
    """Labels of gold trees would tell random trees more than the parser knows."""
    rows, _ = module._rows(task, None, trees)
    of = [
        TrainConfig.of(row, task=task).dataset_options("train")["parser"] for row in (rows.trees, rows.random)
    ]
    assert of == (["bundled"] * 2 if trees == "parser" else ["gold"] * 2)


@pytest.mark.parametrize(
    ("task", "trees", "row", "source"),
    [
        *((task, None, "dt", "own") for task in ("labels", "spans")),
        ("labels", "parser", "dt@parser", "parser"),
        *((task, None, "dt@parser", "parser") for task in ("propbank-ewt", "ud-tags")),
        *((task, None, "dt", "parser") for task in ("csv", "semeval2010")),
    ],
)
def test_trees_of_own_files_are_read_unless_the_parser_is_asked_for(task, trees, row, source):
    rows, found = module._rows(task, None, trees)
    assert (rows.trees, found) == (row, source)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"minutes": 0.001}, "'minutes' is too short: 60 examples take about [0-9]+ .* \\(got 0.001\\)"),
        ({"minutes": math.inf}, "'minutes' must be "),
        ({"minutes": math.nan}, "'minutes' must be "),
        ({"seeds": 1}, "'seeds' must be "),
        ({"bound": -1.0}, "'bound' must be "),
        ({"model": "bilstm"}, "'model' must be one of dt, bert-dt \\(got 'bilstm'\\)"),
        ({"tested": 1}, "rows are compared on at least 10 examples \\('labels' has 1\\)"),
    ],
)
def test_errors(ask, given, message):
    with pytest.raises(ValueError, match=message):
        ask(**given)


def test_tasks_without_such_rows_or_trees(tmp_path):
    with pytest.raises(ValueError, match="'trees' must be one of parser .got 'gold'"):
        needs_structure("csv", tmp_path, trees="gold", console=QUIET)
    with pytest.raises(ValueError, match="the task family of 'post-train' has no rows"):
        needs_structure("post-train", tmp_path, console=QUIET)


def test_rows_of_all_tasks_are_models():
    for task in TASKS:
        models = TrainConfig.of_task(task).models
        for rows in family_of(task).structure:
            assert [resolve_model(row, models) for row in rows.rows]
