from __future__ import annotations

import json

import numpy as np
import pytest

from graphdep.metrics import ACCURACY
from graphdep.metrics import compare as reference
from graphdep.training.evaluation import write_predictions

TARGET = np.arange(40) % 3
GOOD = np.where(np.arange(40) < 36, TARGET, 0)
BAD = np.where(np.arange(40) < 20, TARGET, 0)
DIGEST = [f"{number:012x}" for number in range(40)]


@pytest.fixture
def folder(tmp_path):
    """Writes a run's folder."""

    def write(name, prediction, target=TARGET, task="sick-e", model="dt", digest=DIGEST, **more):
        digest = digest and digest[: len(target)]
        write_predictions(tmp_path / name / "predictions.csv", target, prediction, None, digest)
        result = {"task": task, "model": model, "seed": 0, "config": {"run": name}, "own_edges": {}}
        result |= {"compared": "test", "predictions": len(prediction), **more}
        (tmp_path / name / "result.json").write_text(json.dumps(result), encoding="utf-8")

    return write


def test_json_has_the_comparison(run, folder):
    folder("good", GOOD)
    folder("bad", BAD, model="transformer")
    done = run("compare", "good", "bad", "--samples", 500, "--seed", 3, "--json")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.count("\n") == 1
    summary = json.loads(done.stdout)
    expected = reference(ACCURACY, TARGET, GOOD, BAD, samples=500, seed=3)
    row = summary["metrics"]["accuracy"]
    assert (row["score_a"], row["score_b"]) == (expected.score_a, expected.score_b)
    assert row["interval"] == list(expected.interval)
    assert (row["p_bootstrap"], row["p_randomisation"]) == (expected.p_bootstrap, expected.p_randomisation)
    assert summary["a"] == {"models": ["dt"], "runs": ["good/predictions.csv"]}
    assert (summary["task"], summary["n"], summary["samples"], summary["seed"]) == ("sick-e", 40, 500, 3)


def test_the_table_explains_its_interval(run, folder):
    folder("good", GOOD)
    folder("bad", BAD)
    done = run("compare", "good", "bad", "--samples", 100)
    assert done.exit_code == 0, done.stderr
    for text in ("accuracy", "A-B [95%]", "smallest", "visible", "4 of 5 such comparisons"):
        assert text in done.stdout
    assert "over the 40 test examples, not over seeds: name several runs of each" in done.stdout
    assert max(map(len, done.stdout.split("A: ")[0].splitlines())) <= 80
    assert "verdict" not in done.stdout.lower()


def test_a_bound_adds_a_verdict(run, folder):
    folder("good", GOOD)
    folder("bad", BAD)
    folder("near", GOOD + (np.arange(40) == 39))
    done = run("compare", "good", "bad", "--bound", 0.01, "--samples", 100)
    assert done.exit_code == 0, done.stderr
    assert "verdict" in done.stdout
    assert "better" in done.stdout.splitlines()[4]
    summary = json.loads(run("compare", "good", "near", "--bound", 0.1, "--json").stdout)
    assert summary["bound"] == 0.1
    assert summary["metrics"]["accuracy"]["verdict"] == "no effect larger than 0.1"
    assert (
        json.loads(run("compare", "bad", "good", "--json").stdout)["metrics"]["accuracy"]["verdict"]
        == "worse"
    )
    done = run("compare", "good", "bad", "--bound", -1)
    assert done.exit_code == 2
    assert "'bound' must be a finite number above 0 (got -1.0)" in done.stderr


def test_the_same_predictions_are_not_called_equality(run, folder):
    folder("one", GOOD, model="dt", config={"edges": "dra", "num_layers": 1, "seed": 0}, seed=0)
    folder("other", GOOD, model="dt", config={"edges": "sia", "num_layers": 1, "seed": 0}, seed=0)
    done = run("compare", "one", "other", "--bound", 0.5)
    assert done.exit_code == 0, done.stderr
    assert "The same predictions: two systems that compute the same" in done.stdout
    assert "same predictions" in " ".join(done.stdout.partition("The same")[0].split())
    assert "Settings that differ, A / B: edges dra / sia." in done.stdout
    summary = json.loads(run("compare", "one", "other", "--bound", 0.5, "--json").stdout)
    assert summary["differing"] == {"edges": [["dra"], ["sia"]]}
    assert summary["metrics"]["accuracy"]["verdict"] == "the same predictions"


def test_runs_of_a_system_differ_only_in_seeds(run, folder):
    for lr in (0.1, 0.2):
        folder(f"lr{lr}", GOOD, config={"lr": lr, "seed": 0}, seed=0)
    folder("other", BAD, config={"lr": 0.1, "seed": 0, "model": "x"}, seed=0)
    done = run("compare", "lr0.1,lr0.2", "other")
    assert done.exit_code == 2
    assert "have the same seed (0) but other settings (lr): they are not runs of one system" in done.stderr
    # With different seeds they are allowed, and the table names the settings.
    folder("lr0.2", GOOD, config={"lr": 0.2, "seed": 1}, seed=1)
    folder("more", BAD, config={"lr": 0.1, "seed": 1, "model": "x"}, seed=1)
    done = run("compare", "lr0.1,lr0.2", "other,more")
    assert "Settings that differ, A / B: lr 0.1 and 0.2 / 0.1, model None / x." in done.stdout


def test_runs_are_paired_by_seed(run, folder):
    for seed in range(3):
        folder(f"dt{seed}", np.roll(GOOD, seed), seed=seed)
        folder(f"lr{2 - seed}", np.roll(BAD, seed), seed=seed)
        folder(f"other{seed}", np.roll(BAD, seed), seed=seed + 1)
    found = json.loads(run("compare", "dt*", "lr*", "--samples", 50, "--json").stdout)
    runs = [np.stack([np.roll(side, seed) for seed in range(3)]) for side in (GOOD, BAD)]
    expected = reference(ACCURACY, TARGET, *runs, samples=50)
    assert (found["over"], found["paired"]) == ("seeds and examples", True)
    assert found["metrics"]["accuracy"]["interval"] == pytest.approx(list(expected.interval))
    assert found["b"]["runs"] == [f"lr{place}/predictions.csv" for place in (2, 1, 0)]
    assert json.loads(run("compare", "dt*", "other*", "--samples", 50, "--json").stdout)["paired"] is False
    assert "over paired seeds and the 40 test" in run("compare", "dt*", "lr*").stdout
    assert "over unpaired seeds and" in run("compare", "dt*", "other*").stdout


def test_a_copy_of_a_run_is_refused(run, folder):
    config = {"task": "sick-e", "model": "dt", "seed": 0}
    folder("first", GOOD, seed=0, config=config)
    folder("copy", GOOD, seed=0, config=config)
    folder("next", GOOD, seed=1, config={**config, "seed": 1})
    folder("bad", BAD, model="transformer", seed=0, config={**config, "model": "transformer"})
    done = run("compare", "first,copy", "bad")
    assert done.exit_code == 2
    assert "copy/predictions.csv and first/predictions.csv are the same run: the same settings" in done.stderr
    assert run("compare", "first,next", "bad", "--samples", 10).exit_code == 0


def test_words_of_a_sentence_are_resampled_together(run, tmp_path):
    group = np.arange(40) // 4
    for name, prediction in (("a", GOOD), ("b", BAD)):
        write_predictions(tmp_path / f"{name}.csv", TARGET, prediction, group, DIGEST)
    write_predictions(tmp_path / "bare.csv", TARGET, np.roll(BAD, 1), None, DIGEST)
    write_predictions(tmp_path / "odd.csv", TARGET, BAD, group[::-1], DIGEST)
    command = ["compare", "a.csv", "--task", "ud-tags", "--metric", "accuracy", "--samples", 50]
    expected = reference(ACCURACY, TARGET, GOOD, BAD, samples=50, groups=group)
    found = json.loads(run(*command, "b.csv", "--json").stdout)
    assert (found["n"], found["units"], found["drawn"]) == (40, 10, "sentences of the test split")
    assert found["metrics"]["accuracy"]["interval"] == list(expected.interval)
    assert "over the 10 sentences of the test split" in run(*command, "b.csv").stdout
    assert json.loads(run(*command, "bare.csv", "--json").stdout)["units"] == 10
    assert "example 0 is in group 0 in one run and in 9 in another" in run(*command, "odd.csv").stderr


def test_patterns_and_lists_of_runs(run, folder):
    for seed in range(3):
        folder(f"dt_seed{seed}", np.roll(GOOD, seed), seed=seed)
        folder(f"lr_seed{seed}", np.roll(BAD, seed), seed=seed)
    done = run(
        "compare", "dt_seed*", "lr_seed0,lr_seed1, lr_seed2/predictions.csv", "--samples", 50, "--json"
    )
    assert done.exit_code == 0, done.stderr
    summary = json.loads(done.stdout)
    scores = [ACCURACY(np.roll(GOOD, seed), TARGET) for seed in range(3)]
    assert summary["metrics"]["accuracy"]["score_a"] == pytest.approx(np.mean(scores))
    assert [len(summary[side]["runs"]) for side in "ab"] == [3, 3]
    done = run("compare", "dt_seed*", "lr_seed0", "--samples", 50)
    assert "mean of 3 runs" in done.stdout
    assert "the seeds of A and the 40 test examples, not over seeds of the other system" in done.stdout


def test_predictions_without_a_result_need_the_task(run, tmp_path):
    grades = TARGET + 1.5
    write_predictions(tmp_path / "a.csv", grades, grades + 0.1, None, DIGEST)
    write_predictions(tmp_path / "b.csv", grades, np.roll(grades, 1), None, DIGEST)
    done = run("compare", "a.csv", "b.csv")
    assert done.exit_code == 2
    assert "a.csv: no result.json beside it; name the task with --task" in done.stderr
    arguments = ["compare", "a.csv", "b.csv", "--task", "sick-r", "--samples", 50, "--json"]
    assert set(json.loads(run(*arguments).stdout)["metrics"]) == {"mse", "pearson", "spearman"}
    assert list(json.loads(run(*arguments, "--metric", "mse").stdout)["metrics"]) == ["mse"]


def test_predictions_and_result_have_the_same_number_of_examples(run, folder):
    folder("good", GOOD)
    folder("parts", BAD, data={"examples": {"test": 8}})  # five predictions an example
    assert run("compare", "good", "parts", "--samples", 10, "--json").exit_code == 0
    folder("less", BAD, predictions=41)
    assert (
        "40 examples, but the test split of less/result.json has 41" in run("compare", "good", "less").stderr
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["good", "nowhere"], "no folder or file 'nowhere'"),
        (["good", "dt_seed*"], "nothing matches 'dt_seed*'"),
        (["good", "empty"], "empty: no predictions.csv; the run is not finished"),
        (["good", "good/predictions.csv"], "good/predictions.csv are the same run: the same file"),
        (["good", "other"], "example 2 has the target 9, but in good/predictions.csv it is 2"),
        (["good", "texts"], "example 1 has the digest ffff, but in good/predictions.csv it is 000000000001"),
        (
            ["good", "older"],
            "older/predictions.csv: no column 'digest', which identifies the examples",
        ),
        (["good", "graded"], "different tasks: 'sick-e' (good/predictions.csv) and 'sick-r' (graded/"),
        (["one", "one2"], "one/predictions.csv: a comparison needs at least two examples"),
        (["good", "bad", "--metric", "mse"], "'metric' must be one of accuracy (got 'mse')"),
        (["good", "damaged"], "damaged/result.json: damaged, or not the result of a run"),
        (
            ["good", "cut"],
            "cut/predictions.csv has 40 examples, but the test split of cut/result.json has 41",
        ),
        (["good", "half"], "half/predictions.csv: example 3 has the prediction 0.5, but accuracy is for"),
    ],
)
def test_errors(run, folder, tmp_path, arguments, message):
    folder("good", GOOD)
    folder("bad", BAD)
    folder("other", GOOD, target=np.where(np.arange(40) == 2, 9, TARGET))
    folder("texts", GOOD, digest=[DIGEST[0], "ffff", *DIGEST[2:]])  # of other ones with the same labels
    folder("older", GOOD, digest=None)
    folder("one", GOOD[:1], target=TARGET[:1])
    folder("one2", BAD[:1], target=TARGET[:1])
    folder("graded", GOOD, task="sick-r")
    folder("damaged", GOOD)
    folder("cut", GOOD, predictions=41)
    folder("half", np.where(np.arange(40) == 3, 0.5, TARGET))
    (tmp_path / "damaged" / "result.json").write_text("{", encoding="utf-8")
    (tmp_path / "empty").mkdir()
    done = run("compare", *arguments)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert message in done.stderr


def test_an_unquoted_pattern_is_explained(run):
    done = run("compare", "a_seed0", "a_seed1", "b_seed0", "b_seed1")
    assert done.exit_code == 2
    assert "two systems are compared (got 4 names, the third 'b_seed0'): quote patterns" in done.stderr
