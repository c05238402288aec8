from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import pytest

from tests.kit.runs import SIZES
from tests.kit.tiny_corpora import write_tiny_glue

TINY = {**SIZES, "max_epochs": 1, "accelerator": "cpu"}
OFFICIAL = {"CoLA": 1063, "SST-2": 1821, "MRPC": 1725, "STS-B": 1379, "MNLI-m": 9796, "MNLI-mm": 9847}
OFFICIAL |= {"QNLI": 5463, "RTE": 3000, "QQP": 390965, "AX": 1104, "WNLI": 146}


@pytest.fixture(scope="module")
def glue(tmp_path_factory) -> dict[str, str]:
    return write_tiny_glue(tmp_path_factory.mktemp("glue"))


@pytest.fixture(scope="module")
def checkpoints(glue, tmp_path_factory) -> dict[str, str]:
    """Models of one sentence, of pairs with three labels, and of scores."""
    from graphdep.training import TrainConfig, train

    folder = tmp_path_factory.mktemp("runs")
    return {
        task: train(TrainConfig.of("dt", task=task, **glue, **TINY), folder / task)["checkpoint"]
        for task in ("cola", "mnli", "stsb")
    }


@pytest.fixture
def submit(run, glue):
    def call(chosen: dict[str, str], *arguments: str):
        given = [part for name, path in chosen.items() for part in ("--checkpoint", f"{name}={path}")]
        places = ["--root", glue["root"], "--parser", glue["parser"]]
        return run("submit", *given, *places, "--output", "out", *arguments)

    return call


def rows(path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]


def expected(checkpoint, name: str, split: str, glue) -> list[float]:
    """Predictions one example at a time."""
    import torch
    from torch_geometric.data import Batch

    from graphdep.datasets import GLUE
    from graphdep.training import load_task

    task, state = load_task(checkpoint)
    dataset = GLUE(split=split, name=name, val_from="dev", vocab=state.vocab, **glue)
    with torch.no_grad():
        outputs = [task.model(task.edges(Batch.from_data_list([data])))[0] for data in dataset]
    return [output.item() if len(output) == 1 else int(output.argmax()) for output in outputs]


def test_files(submit, checkpoints, glue, tmp_path):
    done = submit(checkpoints, "--json", "--batch-size", "5")
    assert done.exit_code == 0, done.stderr
    files = ["CoLA.tsv", "STS-B.tsv", "MNLI-m.tsv", "MNLI-mm.tsv", "AX.tsv", "WNLI.tsv"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted([*files, "submission.zip"])
    for file in files:
        header, *lines = rows(tmp_path / "out" / file)
        assert header == ["index", "prediction"]
        assert [line[0] for line in lines] == [str(i) for i in range(146 if file == "WNLI.tsv" else 12)]
    answers = {file: [line[1] for line in rows(tmp_path / "out" / file)[1:]] for file in files}
    assert answers["WNLI.tsv"] == ["0"] * 146
    assert answers["CoLA.tsv"] == [str(y) for y in expected(checkpoints["cola"], "cola", "test", glue)]
    words = ["entailment", "neutral", "contradiction"]
    for file, name, split in (
        ("MNLI-m.tsv", "mnli", "test"),
        ("MNLI-mm.tsv", "mnli", "test-mismatched"),
        ("AX.tsv", "ax", "test"),
    ):
        assert answers[file] == [words[y] for y in expected(checkpoints["mnli"], name, split, glue)]
    scores = expected(checkpoints["stsb"], "stsb", "test", glue)
    for text, score in zip(answers["STS-B.tsv"], scores, strict=True):
        assert float(text) == pytest.approx(min(max(score, 0), 5), abs=6e-4)
        assert len(text) == 5
    summary = json.loads(done.stdout)
    missing = ["SST-2.tsv", "MRPC.tsv", "QNLI.tsv", "RTE.tsv", "QQP.tsv"]
    assert (summary["missing"], summary["constant"]) == (missing, ["WNLI.tsv"])
    assert summary["rows"]["CoLA.tsv"] == 12
    assert f"missing, so the leaderboard refuses all (see --fill): {', '.join(missing)}" in done.stderr
    with zipfile.ZipFile(tmp_path / "out" / "submission.zip") as archive:
        assert sorted(archive.namelist()) == sorted(files)
        for file in files:
            assert archive.read(file) == (tmp_path / "out" / file).read_bytes()


def test_fill_makes_a_complete_submission_of_the_official_sizes(submit, checkpoints, tmp_path, caplog):
    done = submit({"cola": checkpoints["cola"]}, "--fill", "--json")
    assert done.exit_code == 0, done.stderr
    sizes = {name: len(rows(tmp_path / "out" / f"{name}.tsv")) - 1 for name in OFFICIAL}
    assert sizes == {**OFFICIAL, "CoLA": 12}
    assert rows(tmp_path / "out" / "QNLI.tsv")[1] == ["0", "entailment"]
    assert rows(tmp_path / "out" / "STS-B.tsv")[1] == ["0", "2.500"]
    assert "CoLA.tsv: 12 rows, but the official test set has 1063" in caplog.text
    assert "without a checkpoint, filled with a constant: SST-2.tsv, MRPC.tsv" in done.stderr
    before = (tmp_path / "out" / "submission.zip").read_bytes()
    again = submit({"cola": checkpoints["cola"]}, "--fill")
    assert again.exit_code == 2
    assert "out/CoLA.tsv exists and would be replaced" in again.stderr
    assert (tmp_path / "out" / "submission.zip").read_bytes() == before
    (tmp_path / "out" / "notes.txt").write_text("mine")
    assert submit({"stsb": checkpoints["stsb"]}, "--overwrite").exit_code == 0
    files = ["STS-B.tsv", "WNLI.tsv", "notes.txt", "submission.zip"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == files


def test_a_run_on_all_of_train(submit, glue, tmp_path_factory, tmp_path):
    from graphdep.training import TrainConfig, train

    config = TrainConfig.of("dt", task="cola", val_from="dev", **glue, **TINY)
    done = submit({"cola": train(config, tmp_path_factory.mktemp("all"))["checkpoint"]})
    assert done.exit_code == 0, done.stderr
    assert len(rows(tmp_path / "out" / "CoLA.tsv")) == 13


@pytest.mark.parametrize("change", ["broken", "left out", "swapped"])
def test_a_test_file_with_other_indices_is_refused(submit, checkpoints, glue, tmp_path, change):
    from graphdep.tasks.sentences.glue_submission import predict_glue

    lines = Path(glue["root"], "raw", "CoLA", "test.tsv").read_text(encoding="utf-8").splitlines()
    changed = {
        "broken": [*lines[:5], lines[5].replace("\t", " "), *lines[6:]],
        "left out": lines[:5] + lines[6:],
        "swapped": [*lines[:5], lines[6], lines[5], *lines[7:]],
    }[change]
    raw = tmp_path / "CoLA"
    raw.mkdir()
    for number, content in enumerate((lines, changed)):
        (raw / "test.tsv").write_text("".join(line + "\n" for line in content), encoding="utf-8")
        options = {"root": tmp_path / f"root{number}", "raw_from": tmp_path, "parser": glue["parser"]}
        if not number:
            assert len(predict_glue(checkpoints["cola"], "cola", **options)["CoLA.tsv"]) == 12
    places = ["--root", str(options["root"]), "--raw-from", str(tmp_path)]
    done = submit({"cola": checkpoints["cola"]}, *places)
    assert done.exit_code == 2
    assert "test.tsv:6: " in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("task", "value"), [("cola", float("nan")), ("stsb", float("inf"))])
def test_predictions_that_are_not_finite(submit, checkpoints, tmp_path, monkeypatch, task, value):
    from graphdep.tasks import SentenceTask

    forward = SentenceTask.forward

    def diverged(self, batch):
        output = forward(self, batch)
        output[-1, 0] = value
        return output

    monkeypatch.setattr(SentenceTask, "forward", diverged)
    done = submit({task: checkpoints[task]})
    assert done.exit_code == 2
    assert "are not finite: it has diverged" in " ".join(done.stderr.split())
    assert not (tmp_path / "out").exists()


def test_a_checkpoint_of_a_pretrained_encoder(submit, glue, tmp_path_factory, tmp_path):
    pytest.importorskip("transformers")
    from graphdep.training import TrainConfig, train
    from tests.kit.tiny_encoder import write_tiny_encoder

    folder = tmp_path_factory.mktemp("bert")
    settings = {"encoder": write_tiny_encoder(folder), "arcs": "basic", "max_length": 40, "max_epochs": 1}
    config = TrainConfig.of("bert-dam", task="glue-mrpc", accelerator="cpu", **glue, **settings)
    done = submit({"glue-mrpc": train(config, folder / "run")["checkpoint"]})
    assert done.exit_code == 0, done.stderr
    assert len(rows(tmp_path / "out" / "MRPC.tsv")) == 13


def test_scores_are_within_their_scale():
    from graphdep.tasks.sentences.glue_submission import _answer

    assert [_answer(value, ()) for value in (-0.3, 0.0, 2.0004, 4.9996, 7.0)] == [
        *("0.000", "0.000", "2.000", "5.000", "5.000")
    ]
    assert [_answer(value, ("0", "1")) for value in (0, 1)] == ["0", "1"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("cola", "no checkpoint at cola"),
        ("=F", "no checkpoint at =F"),
        (
            "wnli={cola}",
            "a checkpoint must be for one of cola, sst2, mrpc, stsb, mnli, qnli, rte, qqp (got 'wnli')",
        ),
        ("cola=none.ckpt", "no checkpoint at none.ckpt"),
        ("rte={cola}", "trained on the task 'cola', but 'rte' needs a checkpoint of rte"),
        ("glue-sst2={cola}", "but 'sst2' needs a checkpoint of glue-sst2 or sst2 or sst"),
    ],
)
def test_errors(run, glue, checkpoints, tmp_path, given, message):
    text = given.format(**checkpoints)
    done = run("submit", "--checkpoint", text, "--root", glue["root"], "--output", "out")
    assert done.exit_code == 2
    assert message in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("folder", "answer"), [("diagnostic", "AX.tsv"), ("STS-B", "STS-B.tsv")])
def test_a_missing_test_file_is_reported_before_the_work(
    run, checkpoints, glue, tmp_path, monkeypatch, folder, answer
):
    monkeypatch.setattr(
        "graphdep.tasks.sentences.glue_submission.predict_glue",
        lambda *args, **kwargs: pytest.fail("too late"),
    )
    root = tmp_path / "root"
    shutil.copytree(Path(glue["root"], "raw"), root / "raw", ignore=shutil.ignore_patterns(folder))
    given = [part for name, path in checkpoints.items() for part in ("--checkpoint", f"{name}={path}")]
    done = run("submit", *given, "--root", str(root), "--raw-from", "elsewhere", "--output", "out")
    assert done.exit_code == 2
    where = f"which is not in '{root / 'raw' / folder}' nor in 'elsewhere'. It"
    assert where in " ".join(done.stderr.split())
    assert not (tmp_path / "out").exists()


def test_a_checkpoint_has_its_task_and_root(run, checkpoints, glue, tmp_path):
    given = ["--checkpoint", Path(checkpoints["cola"]).parent, "--checkpoint", checkpoints["stsb"]]
    done = run("submit", *given, "--parser", glue["parser"], "--output", "out", "--json")
    assert done.exit_code == 0, done.stderr
    assert {"CoLA.tsv", "STS-B.tsv"} <= {*json.loads(done.stdout)["rows"]}
    assert f"test files of {glue['root']}" in done.stderr
    twice = run("submit", *given[:2], "--checkpoint", checkpoints["cola"], "--output", "other")
    assert "'--checkpoint' names 'cola' twice" in twice.stderr


def test_the_root_of_a_checkpoint_without_test_files_is_not_used(run, checkpoints, glue, tmp_path):
    from graphdep.tasks.sentences.glue_submission import glue_root

    assert glue_root(checkpoints["mnli"], "mnli") == glue["root"]
    assert glue_root(checkpoints["mnli"], "qqp") == glue["root"]
    moved = Path(glue["root"], "raw", "CoLA", "test.tsv")
    content = moved.read_bytes()
    try:
        moved.unlink()
        assert glue_root(checkpoints["cola"], "cola") == "datasets/glue"
    finally:
        moved.write_bytes(content)


def test_a_model_of_another_task_is_refused(run, tmp_path):
    from graphdep.training import TrainConfig, train
    from tests.kit.tiny_corpora import write_tiny_sick

    config = TrainConfig.of("dt", **write_tiny_sick(tmp_path / "sick"), **TINY)
    train(config, tmp_path / "run")
    done = run("submit", "--checkpoint", "run", "--output", "out")
    assert "trained on the task 'sick-e', but the leaderboard has cola, sst2" in done.stderr


def test_a_failed_submission_leaves_no_files(submit, checkpoints, glue, tmp_path, monkeypatch):
    twice = submit({"cola": checkpoints["cola"]}, "--checkpoint", f"cola={checkpoints['cola']}")
    assert "'--checkpoint' names 'cola' twice" in twice.stderr
    other = submit(checkpoints, "--root", str(tmp_path / "elsewhere"))
    assert other.exit_code != 0
    assert "needs test.tsv, which is not in" in other.stderr
    assert not (tmp_path / "out").exists()
    (tmp_path / "out").write_text("a file")
    assert "'output' must be a folder" in submit(checkpoints).stderr
    (tmp_path / "out").unlink()

    def fail(*args: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(zipfile.ZipFile, "writestr", fail)
    assert submit({"cola": checkpoints["cola"]}).exit_code == 2
    assert [path.name for path in tmp_path.iterdir()] in ([], ["elsewhere"])
