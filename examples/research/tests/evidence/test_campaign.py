from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from evidence import Campaign, Design, verdicts
from evidence import campaign as module
from evidence.ledger import Ledger, RunKey
from evidence.verdicts import decide, read_claims

MINI = Path(__file__).parents[4] / "datasets" / "mini"
CLAIM = {"name": "c", "text": "t", "source": "s", "a": "dt", "b": "transformer", "expected": "better"}
SMALL = {
    "title": "agreement",
    "task": "agreement",
    "metric": "test_accuracy",
    "rows": ["transformer", "dt"],
    "seeds": 2,
    "files": {"raw_from": "agreement/raw"},
    "settings": {
        "hidden_channels": 8,
        "ff_channels": 8,
        "num_layers": 1,
        "heads": 2,
        "max_epochs": 1,
        "min_freq": 1,
    },
    "claims": [{**CLAIM, "smallest": 0.1}],
}


@pytest.fixture
def campaign(tmp_path):
    """Makes a campaign of designs: their values over the small one's."""

    def make(*designs: dict, **options: object) -> Campaign:
        made = [
            Design.of(f"d{number}", {**SMALL, **values}) for number, values in enumerate(designs or ({},))
        ]
        given = {"raw_from": MINI, "root": tmp_path / "data", "settings": {"accelerator": "cpu"}, **options}
        return Campaign(made, tmp_path / "runs", tmp_path / "results", say=lambda text: None, **given)

    return make


def keys(campaign: Campaign) -> list[tuple]:
    campaign.take_stock()
    return [(design.name, key.tune, key.seed, key.row) for design, _, key in campaign.left()]


def test_a_seed_of_every_row_first_and_tables_of_small_order_before(campaign):
    tables = [{"name": "late"}, {"name": "early", "order": 1, "rows": ["dt"]}]
    found = keys(campaign({}, {"tables": tables, "claims": []}))
    assert found[:2] == [("d1", "", 0, "dt"), ("d1", "", 1, "dt")]
    both = [(name, "", seed, row) for seed in (0, 1) for name in ("d0", "d1") for row in SMALL["rows"]]
    assert found[2:] == both


def test_a_row_waits_for_its_tuning_and_takes_the_best(campaign):
    values = {"tune": {"lr": [0.1, 0.2, 0.3]}}
    first = campaign(values)
    assert keys(first) == [
        ("d0", f"lr={value}", 0, row) for row in ("transformer", "dt") for value in (0.1, 0.2, 0.3)
    ]
    (design,), (table,) = first.designs, first.designs[0].tables
    for value, score in ((0.1, 0.5), (0.2, 0.8), (0.3, 0.8)):
        key = RunKey(table.digest, "dt", f"lr={value}", 0)
        scores = {"val_accuracy": score, "test_accuracy": score, "epochs": 1, "seconds_per_epoch": 1}
        first.ledgers["d0"].add(key, scores)
    again = campaign(values)
    assert keys(again)[-1:] == [("d0", "", 1, "dt")]  # the best try is the run of seed 0
    assert again.ledgers["d0"].scores(table.digest, "dt", "val_accuracy") == {0: 0.8}
    config = again.config(design, table, RunKey(table.digest, "dt", "", 1))
    assert (config.lr, config.seed) == (0.2, 1)  # the first of equal ones
    assert again.config(design, table, RunKey(table.digest, "dt", "lr=0.3", 0)).lr == 0.3
    with pytest.raises(ValueError, match="no lr of row transformer could be run"):
        again.config(design, table, RunKey(table.digest, "transformer", "", 1))


def test_tries_may_have_a_seed_of_their_own(campaign):
    """Then the best of them is none of the runs that the table shows."""
    first = campaign({"tune": {"lr": [0.1, 0.2]}, "tune_seed": 7, "rows": ["dt"], "claims": [], "seeds": 2})
    design = first.designs[0]
    table = design.tables[0]
    tries = [key for _, _, key in first.left()]
    assert [(key.tune, key.seed) for key in tries] == [("lr=0.1", 7), ("lr=0.2", 7)]
    for key, score in zip(tries, (0.5, 0.7)):
        first.ledgers[design.name].add(key, {"val_accuracy": score, "test_accuracy": score, "epochs": 1})
    first.take_stock()
    left = [key for _, _, key in first.left()]
    assert [(key.tune, key.seed) for key in left] == [("", 0), ("", 1)]
    assert {first.config(design, table, key).lr for key in left} == {0.2}
    own = {**SMALL, "tune": {"lr": [0.1, 0.2]}, "rows": ["dt"], "claims": [], "seeds": 2}
    assert Design.of("d0", own).tables[0].digest != table.digest


def test_a_table_may_take_what_another_is_tuned_to(campaign):
    tables = [{"name": "large", "order": 1}, {"name": "small", "order": 0, "settings": {"limit_train": 10}}]
    values = {"tune": {"lr": [0.1, 0.2]}, "tuned_on": "large", "tables": tables, "seeds": 1}
    first = campaign({**values, "claims": []})
    (design,), (large, small) = first.designs, first.designs[0].tables
    assert [key.digest for _, _, key in first.left()] == [large.digest] * 4  # small waits, whatever its order
    assert [(state.table, state.left) for state in first.states()] == [("small", 2), ("large", 6)]
    for row, better in (("transformer", 0.1), ("dt", 0.2)):
        for lr in (0.1, 0.2):
            scores = dict.fromkeys(("val_accuracy", "test_accuracy"), float(lr == better))
            scores |= {"epochs": 1, "seconds_per_epoch": 1}
            first.ledgers["d0"].add(RunKey(large.digest, row, f"lr={lr}", 0), scores)
    again = campaign({**values, "claims": []})
    again.take_stock()
    assert [key.digest for _, _, key in again.left()] == [small.digest] * 2  # large's are those of the tries
    for row, better in (("transformer", 0.1), ("dt", 0.2)):
        assert again.config(design, small, RunKey(small.digest, row, "", 0)).lr == better


def test_runs_from_first_to_verdict(campaign, tmp_path):
    """Out of time, it goes on; a design whose file is missing waits for it."""
    broken = {"files": {"raw_from": "nowhere"}, "claims": []}
    first = campaign({}, broken)
    first.run(minutes=0)
    assert not list((tmp_path / "results").glob("*"))
    first.run(minutes=5)
    states = {state.design: state for state in first.states()}
    assert (states["d0"].done, states["d0"].left, states["d0"].seconds) == (4, 0, 0.0)
    assert (states["d1"].failed, states["d1"].left) == (0, 4)
    ledger = Ledger(tmp_path / "results" / "d0.csv")
    (table,) = first.designs[0].tables
    for key in ledger.runs:
        folder = first.folder(first.designs[0], key)
        assert not list(folder.glob("*.ckpt"))
        result = json.loads((folder / "result.json").read_text())
        assert ledger.runs[key]["test_accuracy"] == pytest.approx(
            result["metrics"]["test_accuracy"], rel=1e-5
        )
        assert ledger.runs[key]["floor_test_accuracy"] == pytest.approx(
            result["floor"]["test_accuracy"], rel=1e-5
        )
        assert ledger.runs[key]["parameters"] == result["parameters"]
    (row,) = decide(first)
    assert (row["seeds"], row["over"]) == ("2", "seeds and examples")
    a, b = (ledger.scores(table.digest, name, "test_accuracy") for name in ("dt", "transformer"))
    assert float(row["difference"]) == pytest.approx(sum(a.values()) / 2 - sum(b.values()) / 2, abs=1e-5)
    assert float(row["low"]) <= float(row["difference"]) <= float(row["high"])
    # Without the runs' folders it stays decided as it was; and what failed is tried again where asked to.
    for path in (tmp_path / "runs" / "d0").rglob("predictions.csv"):
        path.unlink()
    assert decide(campaign()) == [row] == read_claims(tmp_path / "results" / "claims.csv")
    # Other scores are other runs: what was found before is not of them.
    other = campaign()
    key = RunKey(table.digest, "dt", "", 0)
    other.ledgers["d0"].add(key, {**other.ledgers["d0"].runs[key], "test_accuracy": 0.9})
    assert [(found["over"], found["seeds"]) for found in decide(other)] == [("seeds", "2")]
    other.ledgers["d0"].add(key, ledger.runs[key])
    assert len(keys(campaign({}, broken))) == 4


def test_tables_of_the_same_settings_share_their_runs(campaign):
    tables = [{"name": "first", "order": 1}, {"name": "more", "rows": ["dt", "tree"]}]
    first = campaign({"tables": tables, "claims": []})
    one, other = first.designs[0].tables
    assert one.digest == other.digest
    for seed in (0, 1):
        scores = {"test_accuracy": 0.5, "epochs": 1, "seconds_per_epoch": 1}
        first.ledgers["d0"].add(RunKey(one.digest, "dt", "", seed), scores)
    assert [state.done for state in first.states()] == [2, 2]
    assert {row for _, _, _, row in keys(first)} == {"transformer", "tree"}


def test_claims_of_other_designs_stay_where_they_are(campaign):
    decide(campaign({}, {"claims": [{**CLAIM, "name": "other", "smallest": 0.1}]}))
    (row,) = decide(campaign())
    path = campaign().results / "claims.csv"
    text = path.read_text()
    assert (row["claim"], [row["claim"] for row in read_claims(path)]) == ("c", ["c", "other"])
    # Of a design that has another name now.
    path.write_text(text.replace("c,d0,", "c,gone,"))
    decide(campaign())
    assert path.read_text() == text


def test_scores_that_nobody_wrote_down_are_collected(campaign):
    first = campaign()
    (design,) = first.designs
    key = RunKey(design.tables[0].digest, "dt", "", 1)
    folder = first.folder(design, key)
    folder.mkdir(parents=True)
    result = {"metrics": {"test_accuracy": 0.5}, "floor": {}, "epochs": 1, "seconds_per_epoch": 2.0}
    (folder / "result.json").write_text(json.dumps(result)[:-5])
    assert ("d0", "", 1, "dt") in keys(campaign())  # cut
    (folder / "result.json").write_text(json.dumps(result))
    assert ("d0", "", 1, "dt") not in keys(campaign())


def test_without_predictions_the_interval_is_over_seeds(campaign):
    first = campaign()
    (design,) = first.designs
    for row, scores in (("dt", (0.75, 1.0)), ("transformer", (0.25, 0.25))):
        for seed, score in enumerate(scores):
            key = RunKey(design.tables[0].digest, row, "", seed)
            first.ledgers["d0"].add(key, {"test_accuracy": score, "epochs": 1, "seconds_per_epoch": 1})
            (found,) = decide(first)
            state = "running" if (row, seed) < ("transformer", 1) and row == "transformer" else None
            if state:
                assert (found["verdict"], found["seeds"]) == (state, "1")
    (found,) = decide(first)
    assert (found["over"], float(found["difference"]), found["df"]) == ("seeds", 0.625, "1")
    assert float(found["standard_error"]) == pytest.approx(0.125)  # of .5 and .75


@pytest.mark.parametrize("when", ["before", "with the job unread"])
def test_a_worker_that_is_killed_is_replaced(campaign, monkeypatch, when):
    first = campaign({"rows": ["dt"], "seeds": 1, "claims": []})
    started = []

    class Killed(module.Worker):
        def start(self, job):
            if not started and when == "before":
                self.process.terminate()
                self.process.join()
            if not started and when == "with the job unread":
                os.kill(self.process.pid, signal.SIGSTOP)
            super().start(job)
            if not started and when == "with the job unread":
                self.process.kill()
                self.process.join()
            started.append(job.title)

    monkeypatch.setattr(module, "Worker", Killed)
    begin = time.monotonic()
    first.run(minutes=2)
    assert time.monotonic() - begin < 100
    (state,) = first.states()
    assert (state.done, state.failed) == (0, 1)
    assert "the process ended with code" in state.errors["dt_seed0"]


def test_rows_that_have_learnt_nothing_conclude_nothing(campaign):
    equal = {"claims": [{**CLAIM, "expected": "equal", "smallest": 0.05}]}
    for floor, verdict in (
        ({"floor_test_accuracy": 0.5}, "undecided (both rows are no better than no skill)"),
        ({"floor_test_accuracy": 0.46}, "undecided (both rows are no better than no skill)"),
        ({"floor_test_accuracy": 0.4}, "reproduced"),
        (
            {"floor_frozen_test_accuracy": 0.7},
            "undecided (dt is no better than the encoder before its training)",
        ),
    ):
        made = campaign(equal)
        write_scores(made, {"dt": [0.5, 0.501], "transformer": [0.5005, 0.5]}, **floor)
        (found,) = decide(made)
        assert found["verdict"] == verdict


def write_scores(made: Campaign, scores: dict[str, list[float]], **more: float) -> None:
    """Into the ledger, by row and seed."""
    (design,) = made.designs
    for row, values in scores.items():
        for seed, score in enumerate(values):
            said = {"test_accuracy": score, "val_accuracy": score, "epochs": 1, "seconds_per_epoch": 1}
            made.ledgers["d0"].add(RunKey(design.tables[0].digest, row, "", seed), said | more)


def test_no_gain_is_denied_of_rows_that_have_learnt_nothing(campaign):
    made = campaign()
    write_scores(made, {"dt": [0.5, 0.501], "transformer": [0.5005, 0.5]}, floor_test_accuracy=0.5)
    (found,) = decide(made)
    assert found["verdict"] == "undecided (both rows are no better than no skill)"
    # Where one has learnt something, it is.
    made = campaign()
    write_scores(made, {"dt": [0.5, 0.501], "transformer": [0.8, 0.81]}, floor_test_accuracy=0.5)
    (found,) = decide(made)
    assert found["verdict"] == "not reproduced (powered)"


@pytest.mark.parametrize("gain", [0.0, 0.01])
@pytest.mark.parametrize("expected", ["better", "equal"])
def test_rows_without_a_spread_conclude_nothing(campaign, gain, expected):
    made = campaign({"claims": [{**CLAIM, "expected": expected, "smallest": 0.05}]})
    write_scores(made, {"dt": [0.8 + gain, 0.7 + gain], "transformer": [0.8, 0.7]})
    (found,) = decide(made)
    assert found["verdict"] == "undecided (the rows differ by the same in every seed)"


def test_predictions_of_other_runs_than_the_ledger_s_decide_nothing(campaign, tmp_path):
    first = campaign()
    first.run(minutes=5)
    (found,) = decide(first)
    assert found["over"] == "seeds and examples"
    write_scores(first, {"dt": [0.5, 0.51]})  # as another machine has them
    (found,) = decide(first)
    assert (found["over"], float(found["score_a"])) == ("seeds", pytest.approx(0.505))


def test_what_another_process_has_decided_meanwhile_stays(campaign, monkeypatch):
    two = {"claims": [{**CLAIM, "name": "other", "smallest": 0.1}]}
    slow = campaign({}, two)
    slow.designs = slow.designs[:1]
    row = verdicts._row

    def while_it_works(*given):
        quick = campaign({}, two)
        quick.designs = quick.designs[1:]
        monkeypatch.setattr(verdicts, "_row", row)
        decide(quick)
        return row(*given)

    monkeypatch.setattr(verdicts, "_row", while_it_works)
    decide(slow)
    assert {found["claim"] for found in read_claims(slow.results / "claims.csv")} == {"c", "other"}


def test_a_claim_says_that_seeds_have_failed(campaign):
    first = campaign({"seeds": 3})
    (design,) = first.designs
    write_scores(first, {"dt": [0.5, 0.6], "transformer": [0.5, 0.6, 0.7]})
    first._fail(design, RunKey(design.tables[0].digest, "dt", "", 2), "out of memory")
    (found,) = decide(first)
    assert found["verdict"] == "not run (seeds that failed: 1 of 3)"


def test_a_run_that_another_process_does_is_left_to_it(campaign, tmp_path):
    first = campaign({"rows": ["dt"], "seeds": 1, "claims": []})
    design, _, key = next(first.left())
    folder = first.folder(design, key)
    folder.mkdir(parents=True)
    told: list[str] = []
    first.say = told.append
    with open(folder / ".lock", "w") as lock:
        assert first.running() == {}
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert first.running() == {("d0", ""): 1}
        first.run(minutes=2)
    assert told[-1] == "left out, another process is at it: d0 dt seed 0"
    (state,) = first.states()
    assert (state.done, state.failed, state.left) == (0, 0, 1)


def test_a_run_that_another_process_has_done_is_not_done_again(campaign):
    told: list[str] = []
    late = campaign({"rows": ["dt"], "seeds": 1, "claims": []})
    late.say = told.append
    late.take_stock()
    other = campaign({"rows": ["dt"], "seeds": 1, "claims": []})
    other.run(minutes=5)
    late.take_stock = lambda: None
    late.run(minutes=5)
    assert told == []
    assert late.states()[0].done == 1


def test_workers_end_with_the_process_that_started_them(tmp_path):
    code = (
        "import multiprocessing, os, sys\n"
        "from pathlib import Path\n"
        f"sys.path.append({str(Path(__file__).parents[2])!r})\n"
        "from evidence.worker import Worker\n"
        "if __name__ == '__main__':\n"
        "    worker = Worker(multiprocessing.get_context('spawn'), Path(sys.argv[1]))\n"
        "    print(worker.process.pid, flush=True)\n"
        "    sys.stdin.read()\n"
    )
    script = tmp_path / "start.py"
    script.write_text(code)
    command = [sys.executable, str(script), str(tmp_path / "log")]
    started = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    pid = int(started.stdout.readline())
    time.sleep(1)
    started.kill()
    started.communicate()
    end = time.monotonic() + 60
    while Path(f"/proc/{pid}").exists() and time.monotonic() < end:
        time.sleep(0.1)
    assert not Path(f"/proc/{pid}").exists()


def test_what_failed_is_tried_again_but_no_setting_beside_runs_of_another(campaign):
    values = {"tune": {"lr": [0.1, 0.2]}, "rows": ["dt"], "claims": []}
    first = campaign(values)
    (design,), (table,) = first.designs, first.designs[0].tables
    tries = [RunKey(table.digest, "dt", f"lr={lr}", 0) for lr in (0.1, 0.2)]
    first.ledgers["d0"].add(tries[0], {**dict.fromkeys(("val_accuracy", "test_accuracy"), 0.5), "epochs": 1})
    first._fail(design, tries[1], "out of memory")
    assert ("d0", "lr=0.2", 0, "dt") in keys(campaign(values, retry=True))
    first._fail(design, tries[1], "out of memory")
    first.ledgers["d0"].add(RunKey(table.digest, "dt", "", 1), {"test_accuracy": 0.5, "epochs": 1})
    assert ("d0", "lr=0.2", 0, "dt") not in keys(campaign(values, retry=True))


def test_a_try_that_is_made_up_for_takes_the_place_of_the_best_one(campaign):
    values = {"tune": {"lr": [0.1, 0.2]}, "rows": ["dt"], "claims": []}
    first = campaign(values)
    (design,), (table,) = first.designs, first.designs[0].tables
    tries = [RunKey(table.digest, "dt", f"lr={lr}", 0) for lr in (0.1, 0.2)]
    seed = RunKey(table.digest, "dt", "", 0)

    def score(number: float) -> dict[str, float]:
        return {"val_accuracy": number, "test_accuracy": number, "epochs": 1.0}

    first.ledgers["d0"].add(tries[0], score(0.5))
    first._fail(design, tries[1], "out of memory")
    first.take_stock()
    assert first.ledgers["d0"].runs[seed]["test_accuracy"] == 0.5
    again = campaign(values, retry=True)
    again.take_stock()
    again.ledgers["d0"].add(tries[1], score(0.7))
    again.take_stock()
    assert again.ledgers["d0"].runs[seed]["test_accuracy"] == 0.7
    # Not beside runs that have the setting already.
    again.ledgers["d0"].add(seed._replace(seed=1), score(0.6))
    again.ledgers["d0"].add(tries[0], score(0.9))
    again.take_stock()
    assert again.ledgers["d0"].runs[seed]["test_accuracy"] == 0.7


def test_no_try_is_made_up_for_where_another_table_has_what_it_chose(campaign):
    tables = [{"name": "tuned"}, {"name": "other", "settings": {**SMALL["settings"], "hidden_channels": 4}}]
    values = {"tune": {"lr": [0.1, 0.2]}, "rows": ["dt"], "claims": [], "tables": tables, "tuned_on": "tuned"}
    first = campaign(values)
    (design,) = first.designs
    tuned, other = design.tables
    first.ledgers["d0"].add(
        RunKey(tuned.digest, "dt", "lr=0.1", 0), {"val_accuracy": 0.5, "test_accuracy": 0.5, "epochs": 1}
    )
    first._fail(design, RunKey(tuned.digest, "dt", "lr=0.2", 0), "out of memory")
    first.ledgers["d0"].add(RunKey(other.digest, "dt", "", 0), {"test_accuracy": 0.5, "epochs": 1})
    assert ("d0", "lr=0.2", 0, "dt") not in keys(campaign(values, retry=True))


def test_a_run_whose_score_is_not_in_the_ledger_is_done_again(campaign):
    first = campaign()
    (design,) = first.designs
    key = RunKey(design.tables[0].digest, "dt", "", 1)
    first.ledgers["d0"].add(key, {"epochs": 1.0})
    before = first.ledgers["d0"].path.read_bytes()
    again = campaign()
    assert key not in [key for _, _, key in again.left()]
    assert again.ledgers["d0"].path.read_bytes() == before  # nothing is written before it runs
    again.take_stock()
    assert key in [key for _, _, key in again.left()]
    # Nor is it back once another run has been written down.
    again.ledgers["d0"].add(key._replace(seed=0), {"test_accuracy": 0.5, "epochs": 1.0})
    assert key in [key for _, _, key in again.left()]


def test_a_wrong_call_fails_no_run(campaign, tmp_path):
    told: list[str] = []
    values = {"files": {"raw_from": "nowhere"}, "claims": []}
    wrong = campaign(values)
    wrong.say = told.append
    wrong.run(minutes=1)
    assert told == [f"left out: design d0: raw_from {str(MINI / 'nowhere')!r} is not there"]
    (state,) = wrong.states()
    assert (state.done, state.failed, state.left) == (0, 0, 4)
    with pytest.raises(ValueError, match=r"'workers' must be at least 1 \(got 0\)"):
        campaign(workers=0)


def test_a_corpus_that_is_not_there_fails_no_run(campaign, tmp_path):
    settings = {**SMALL["settings"], "hidden_channels": 4}
    tables = [{"name": "t"}, {"name": "u", "order": 200, "settings": settings}]
    there = {"rows": ["transformer"], "seeds": 1, "claims": [], "tables": tables}
    (tmp_path / "empty").mkdir()
    elsewhere = campaign({**there, "files": {}}, raw_from=tmp_path / "empty")
    elsewhere.run(minutes=5)
    (missing,) = elsewhere.missing
    assert missing.startswith("design d0: tense_bracket.train ")
    assert [(state.failed, state.left) for state in elsewhere.states()] == [(0, 1), (0, 1)]
    after = campaign(there)
    after.run(minutes=5)
    assert not after.missing
    assert [(state.done, state.left) for state in after.states()] == [(1, 0), (1, 0)]


def test_a_row_that_is_tuned_to_two_settings_at_once(campaign):
    """Its folder has a comma, which stands between runs where people name them."""
    made = campaign({"tune": {"lr": [0.1], "dropout": [0.0]}, "seeds": 2})
    made.run(minutes=5)
    (found,) = decide(made)
    assert (found["seeds"], found["over"]) == ("2", "seeds and examples")
