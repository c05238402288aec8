from __future__ import annotations

import json
import shutil
import signal

import pytest
import torch
from lightning import Callback

from graphdep import SequenceClassifier
from graphdep.tasks import SentenceTask, TrainingError
from graphdep.training import TrainConfig, checkpoint, load_splits, read_checkpoint, run, train
from graphdep.training.checkpoint import RunCheckpoint
from graphdep.training.evaluation import read_predictions
from graphdep.training.run import alone_in
from tests.kit.runs import evaluate_own
from tests.kit.tiny_corpora import write_tiny_glue


class Stop(Exception):
    pass


@pytest.fixture
def config(tiny):
    return TrainConfig.of("dt", **{**tiny, "max_epochs": 4, "dropout": 0.3})


def interrupted(monkeypatch, config, folder, after: int, when: str = "after") -> None:
    """Trains, and dies in the named epoch: in the middle of it, or between the two checkpoints."""
    if when == "in":
        original = SentenceTask.training_step

        def step(self, batch, batch_idx):
            if self.current_epoch == after and batch_idx == 1:
                raise Stop
            return original(self, batch, batch_idx)

        monkeypatch.setattr(SentenceTask, "training_step", step)
    else:
        end = RunCheckpoint.on_train_epoch_end

        def stop(self, trainer, pl_module):
            end(self, trainer, pl_module)
            if trainer.current_epoch + 1 == after:
                raise Stop

        monkeypatch.setattr(RunCheckpoint, "on_train_epoch_end", stop)
    with pytest.raises(Stop):
        train(config, folder)
    monkeypatch.undo()


def weights(path) -> dict[str, torch.Tensor]:
    return read_checkpoint(path)["state_dict"]


def same(result: dict, other: dict) -> bool:
    keys = ("metrics", "floor", "epochs", "best_epoch", "parameters", "seed")
    return all(result[key] == other[key] for key in keys)


@pytest.mark.parametrize(("after", "when"), [(1, "after"), (3, "after"), (2, "in"), (4, "after")])
def test_an_interrupted_run_ends_like_an_uninterrupted_one(tmp_path, monkeypatch, config, after, when):
    whole = train(config, tmp_path / "whole")
    interrupted(monkeypatch, config, tmp_path / "parts", after, when)
    resumed = train(config, tmp_path / "parts", resume=True)
    assert same(whole, resumed)
    for name in ("best.ckpt", "last.ckpt"):
        left, right = weights(tmp_path / "whole" / name), weights(tmp_path / "parts" / name)
        assert left.keys() == right.keys()
        assert all(torch.equal(left[key], right[key]) for key in left)


def test_the_same_seed_gives_the_same_weights_and_another_seed_others(tmp_path, config):
    first, again = train(config, tmp_path / "a"), train(config, tmp_path / "b")
    assert same(first, again)
    other = train(config.replace(seed=1), tmp_path / "c")
    assert first["metrics"]["val_loss"] != other["metrics"]["val_loss"]


def test_early_stopping_and_a_kill_before_the_end(tmp_path, monkeypatch, config):
    config = config.replace(max_epochs=30, patience=1, lr=1e-9, dropout=0.0)
    whole = train(config, tmp_path / "whole")
    assert (whole["epochs"], whole["best_epoch"]) == (2, 1)
    interrupted(monkeypatch, config, tmp_path / "parts", 2)
    assert same(whole, train(config, tmp_path / "parts", resume=True))


class Epochs:
    """Validation scores that are what a test says, epoch by epoch, whatever the model does."""

    def __init__(self, monkeypatch, **columns: list[float]) -> None:
        self.columns, self.score = columns, SentenceTask.score
        monkeypatch.setattr(SentenceTask, "score", lambda task, *args: self.scored(task, *args))

    def scored(self, task, outputs, prefix):
        scores = self.score(task, outputs, prefix)
        if prefix == "val" and task._trainer is not None and task.trainer.state.fn == "fit":
            scores |= {f"val_{name}": values[task.current_epoch] for name, values in self.columns.items()}
        return scores


@pytest.mark.parametrize(
    ("settings", "epochs", "best"),
    [
        ({}, 3, 1),  # accuracy stands still, and patience ends the run
        ({"monitor": "loss"}, 6, 4),  # the loss falls until the fourth epoch
        ({"monitor": "loss", "patience": None}, 6, 4),
        ({"monitor": "loss", "patience": 1}, 5, 4),
        ({"keep": "last", "patience": 1}, 6, 6),
    ],
)
def test_which_epoch_is_the_best_and_when_a_run_ends(tmp_path, monkeypatch, config, settings, epochs, best):
    Epochs(monkeypatch, accuracy=[0.5, 0.5, 0.4, 0.5, 0.3, 0.5], loss=[0.9, 0.8, 0.7, 0.5, 0.6, 0.6])
    config = config.replace(**{"max_epochs": 6, "patience": 2, **settings})
    result = train(config, tmp_path / "run")
    assert (result["epochs"], result["best_epoch"]) == (epochs, best)
    assert read_checkpoint(tmp_path / "run" / "best.ckpt")["graphdep"]["epoch"] == best


def test_only_validated_epochs_can_be_the_best(tmp_path, monkeypatch, config, capsys):
    Epochs(monkeypatch, accuracy=[0.9, 0.5, 0.9, 0.6, 0.9, 0.6, 0.9, 0.6])
    config = config.replace(max_epochs=8, val_every=2, patience=4)
    whole = train(config, tmp_path / "run")
    assert (whole["epochs"], whole["best_epoch"]) == (8, 4)
    lines = capsys.readouterr().err.splitlines()
    assert ["val_accuracy" in line for line in lines if "train_loss" in line] == [False, True] * 4
    assert sum(" val  best" in line for line in lines) == 2
    assert train(config.replace(patience=3), tmp_path / "less")["epochs"] == 8
    assert train(config.replace(patience=2), tmp_path / "least")["epochs"] == 6


def test_a_run_that_stops_between_validations_goes_on_from_the_last(tmp_path, monkeypatch, config):
    config = config.replace(max_epochs=4, val_every=2)
    whole = train(config, tmp_path / "whole")
    interrupted(monkeypatch, config, tmp_path / "parts", 3)
    assert same(whole, train(config, tmp_path / "parts", resume=True))
    with pytest.raises(ValueError, match="'val_every' .3. must divide 'max_epochs' .4."):
        config.replace(val_every=3)


def test_a_run_by_its_loss_is_another_run_and_may_be_interrupted(tmp_path, monkeypatch, config):
    config = config.replace(monitor="loss", patience=2, max_epochs=3)
    assert config.digest() != config.replace(monitor="metric").digest()
    whole = train(config, tmp_path / "whole")
    interrupted(monkeypatch, config, tmp_path / "parts", 1)
    with pytest.raises(ValueError, match="cannot be resumed: monitor: 'metric' != 'loss'"):
        train(config.replace(monitor="metric"), tmp_path / "parts", resume=True)
    assert same(whole, train(config, tmp_path / "parts", resume=True))
    with pytest.raises(ValueError, match="'monitor' is for keep='best' .got 'loss', keep='last'"):
        config.replace(keep="last")


def test_a_task_may_not_score_its_loss(tmp_path, monkeypatch, config):
    monkeypatch.setattr(SentenceTask, "score", lambda task, outputs, prefix: {f"{prefix}_accuracy": 0.5})
    with pytest.raises(ValueError, match="'monitor' cannot be 'loss': the task scores val_accuracy alone"):
        train(config.replace(monitor="loss"), tmp_path)


def test_ctrl_c_comes_through_and_can_be_pressed_again(tmp_path, monkeypatch, config):
    def step(self, batch, batch_idx):
        raise KeyboardInterrupt

    monkeypatch.setattr("graphdep.tasks.SentenceTask.training_step", step)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        train(config, tmp_path)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_finished_run_is_not_repeated_but_may_go_on(tmp_path, monkeypatch, config):
    first = train(config, tmp_path)
    assert train(config, tmp_path, resume=True) == first
    longer = train(config.replace(max_epochs=5), tmp_path, resume=True)
    assert longer["epochs"] == 5
    assert same(longer, train(config.replace(max_epochs=5), tmp_path / "new"))


def test_resuming_with_other_settings_or_data_is_refused(tmp_path, config):
    train(config, tmp_path)
    for name in ("result.json", ""):  # with the result, and with the checkpoint alone
        with pytest.raises(ValueError, match=r"another run, which cannot be resumed: lr: 0.5 != 0.05"):
            train(config.replace(lr=0.5), tmp_path, resume=True)
        with pytest.raises(ValueError, match="limit_train: 8 != None; the data"):
            train(config.replace(limit_train=8), tmp_path, resume=True)
        (tmp_path / name).unlink() if name else None


def test_result_is_plain_and_complete(tmp_path, config):
    result = train(config, tmp_path)
    assert json.loads((tmp_path / "result.json").read_text()) == json.loads(
        json.dumps(result, allow_nan=False)
    )
    keys = {
        "task",
        "model",
        "seed",
        "metrics",
        "floor",
        "epochs",
        "seconds_per_epoch",
        "parameters",
        "checkpoint",
    }
    assert keys <= result.keys()
    assert {"val_accuracy", "test_accuracy"} <= result["metrics"].keys()
    assert result["floor"].keys() == {"val_accuracy", "test_accuracy"}
    assert result["data"]["examples"] == {"train": 24, "val": 10, "test": 12}


def test_relatedness_has_its_metrics_and_floors(tmp_path, config):
    result = train(config.replace(task="sick-r"), tmp_path)
    for name in ("pearson", "spearman", "mse"):
        assert f"test_{name}" in result["metrics"]
    assert result["floor"]["val_pearson"] == 0.0
    assert result["floor"]["test_mse"] > 1


def test_evaluate_gives_what_training_reported(tmp_path, config):
    result = train(config, tmp_path)
    for split in ("val", "test"):
        again = evaluate_own(result["checkpoint"], split)
        assert again["metrics"] == {k: v for k, v in result["metrics"].items() if k.startswith(split)}
        assert again["parameters"] == result["parameters"]
    assert evaluate_own(result["checkpoint"], "train")["metrics"]["train_accuracy"] >= 0


def test_best_epoch_s_score_is_that_of_the_checkpoint(tmp_path, config):
    result = train(config, tmp_path)
    assert (
        read_checkpoint(result["checkpoint"])["graphdep"]["scores"]["val_accuracy"]
        == result["metrics"]["val_accuracy"]
    )


@pytest.mark.parametrize("fits", [False, True])
def test_the_best_checkpoint_is_loaded_once(tmp_path, monkeypatch, config, fits):
    read, read_archive = [], checkpoint._read_archive
    monkeypatch.setattr(
        checkpoint, "_read_archive", lambda path: read.append(path.name) or read_archive(path)
    )
    if fits:
        own = {"max_epochs": 2, "hidden_channels": 8, "ff_channels": 8, "heads": 2, "num_layers": 1}
        model = SequenceClassifier(
            "transformer", model="dt", parser="chain", device="cpu", validation_fraction=0.5, **own
        )
        model.fit(["good film", "bad film"] * 4, ["x", "y"] * 4)
        assert model._predictor.task._trainer is None  # which would keep the data
    else:
        train(config, tmp_path)
    assert read == ["best.ckpt"]


def test_limit_train_takes_the_first_pairs(tmp_path, config):
    splits = load_splits(config.replace(limit_train=5))
    assert [len(splits[split]) for split in ("train", "val", "test")] == [5, 10, 12]


def test_a_loss_that_is_not_finite_stops_with_a_message(tmp_path, config):
    with pytest.raises(
        TrainingError, match=r"the loss became nan in epoch 1, batch \d: try a smaller learning rate"
    ):
        train(config.replace(lr=1e30, optimizer="sgd"), tmp_path)


def test_progress_goes_to_stderr_alone(tmp_path, config, capsys):
    train(config.replace(max_epochs=1), tmp_path)
    out, err = capsys.readouterr()
    assert out == ""
    assert "epoch   1/1" in err


def test_word_vectors_are_loaded_and_rebuilt_with_the_checkpoint(tmp_path, config):
    (tmp_path / "glove.txt").write_text("ann 1 0 0\nsaw 0 1 0\n")
    result = train(config.replace(vectors=str(tmp_path / "glove.txt")), tmp_path / "run")
    assert 0 < result["vectors_found"] < 1
    (tmp_path / "glove.txt").unlink()
    assert (
        evaluate_own(result["checkpoint"], "test")["metrics"]["test_accuracy"]
        == result["metrics"]["test_accuracy"]
    )


def test_words_of_all_splits_may_keep_their_vectors(tmp_path, config):
    with pytest.raises(ValueError, match="'vocab_from' cannot be 'vectors': there is no file of 'vectors'"):
        config.replace(vocab_from="vectors")
    words = load_splits(config).vocab.state_dict()["words"]
    (tmp_path / "glove.txt").write_text("".join(f"{word} 1 0 0\n" for word in words))
    config = config.replace(vectors=str(tmp_path / "glove.txt"), limit_train=2)
    assert load_splits(config).describe()["unknown_words"]["test"] > 0
    result = train(config.replace(vocab_from="vectors"), tmp_path / "run")
    assert result["data"]["unknown_words"]["test"] == 0
    (tmp_path / "glove.txt").unlink()  # the checkpoint has its words
    again = evaluate_own(result["checkpoint"], "test")["metrics"]
    assert again["test_accuracy"] == result["metrics"]["test_accuracy"]


def test_unknown_split(tmp_path, config):
    checkpoint = train(config.replace(max_epochs=1), tmp_path)["checkpoint"]
    with pytest.raises(ValueError, match="'split' must be one of train, val, test .got 'test-mismatched'"):
        evaluate_own(checkpoint, "test-mismatched")


def test_mnli_has_another_test_split(tmp_path, tiny):
    settings = {**tiny, **write_tiny_glue(tmp_path / "glue"), "task": "mnli", "max_epochs": 1}
    (path,) = tmp_path.glob("glue/**/dev_mismatched.tsv")
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:4]))  # elsewhere as dev_matched.tsv
    checkpoint = train(TrainConfig.of("dt", **settings), tmp_path / "run")["checkpoint"]
    matched, mismatched = (evaluate_own(checkpoint, split) for split in ("test", "test-mismatched"))
    assert mismatched["metrics"].keys() == {"test-mismatched_loss", "test-mismatched_accuracy"}
    assert mismatched["metrics"]["test-mismatched_loss"] != matched["metrics"]["test_loss"]
    with pytest.raises(ValueError, match="one of train, val, test, test-mismatched .got 'dev-mismatched'"):
        evaluate_own(checkpoint, "dev-mismatched")
    settings["val_from"] = "dev"  # then the test files have no labels
    checkpoint = train(TrainConfig.of("dt", **settings), tmp_path / "dev")["checkpoint"]
    with pytest.raises(ValueError, match="its settings have no split 'test-mismatched'"):
        evaluate_own(checkpoint, "test-mismatched")


def test_a_damaged_result_is_written_anew_from_the_checkpoints(tmp_path, config):
    first = train(config, tmp_path)
    path = tmp_path / "result.json"
    whole = json.loads(path.read_text())
    for damaged in ("", "[]", path.read_text()[:50], json.dumps({**whole, "metrics": None})):
        path.write_text(damaged)
        assert train(config, tmp_path, resume=True)["metrics"] == first["metrics"]
        assert json.loads(path.read_text())["metrics"] == first["metrics"]


def test_a_new_run_that_fails_does_not_cost_the_old_one(tmp_path, config):
    first = train(config, tmp_path)
    with pytest.raises(TrainingError):
        train(config.replace(lr=1e30), tmp_path)
    kept = tmp_path / "previous"
    assert json.loads((kept / "result.json").read_text())["metrics"] == first["metrics"]
    assert (kept / "best.ckpt").exists()
    with pytest.raises(TrainingError):  # and two that fail do not cost it either
        train(config.replace(lr=1e30), tmp_path)
    assert json.loads((kept / "result.json").read_text())["metrics"] == first["metrics"]
    with pytest.raises(ValueError, match="'seed' must be at most 4294967295 .got 4294967296"):
        config.replace(seed=2**32)


@pytest.mark.parametrize("left", [("best.ckpt",), ("best.ckpt", "result.json", "predictions.csv")])
def test_resuming_without_a_last_checkpoint_does_not_cost_the_best_one(tmp_path, config, caplog, left):
    train(config, tmp_path)
    for path in tmp_path.glob("*.*"):
        if path.name not in left:
            path.unlink()
    best = (tmp_path / "best.ckpt").read_bytes()
    more = config.replace(max_epochs=5) if len(left) > 1 else config.replace(lr=0.5)
    train(more, tmp_path, resume=True)
    assert (tmp_path / "previous" / "best.ckpt").read_bytes() == best
    assert (tmp_path / "best.ckpt").read_bytes() != best
    assert "no last.ckpt to go on from, a new run starts; set aside in previous: " in caplog.text
    assert all(name in caplog.text for name in left)


def test_outputs_that_are_not_finite_are_never_the_best(tmp_path, config, monkeypatch):
    whole = SentenceTask.predict_step
    monkeypatch.setattr(
        SentenceTask, "predict_step", lambda *args: (whole(*args)[0] * torch.nan, whole(*args)[1])
    )
    with pytest.raises(TrainingError, match="outputs on the validation split are not finite in epoch 1"):
        train(config, tmp_path)
    assert not (tmp_path / "best.ckpt").exists()


def test_one_process_at_a_time_trains_in_a_folder(tmp_path, config):
    with alone_in(tmp_path), pytest.raises(ValueError, match="another process trains in this folder"):
        train(config, tmp_path)
    assert train(config, tmp_path)["epochs"] == 4


def test_a_folder_that_cannot_be_made_is_found_before_training(tmp_path, config, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(run, "_train", lambda *args: pytest.fail("trained"))
    with pytest.raises(OSError, match="file"):
        train(config, tmp_path / "file" / "run")


@pytest.mark.parametrize("finished", [True, False])
def test_a_best_checkpoint_of_another_run_or_half_of_one_is_refused(tmp_path, config, finished):
    train(config, tmp_path / "other", splits=None)
    other = train(config.replace(seed=7), tmp_path / "seed7")
    best = tmp_path / "other" / "best.ckpt"
    if not finished:
        (tmp_path / "other" / "result.json").unlink()
        shutil.copy(other["checkpoint"], best)
        with pytest.raises(ValueError, match="another run, which cannot be resumed: seed: 0 != 7"):
            train(config, tmp_path / "other", resume=True)
    best.write_bytes(best.read_bytes()[: best.stat().st_size // 2])
    with pytest.raises(ValueError, match=r"best.ckpt.*delete last.ckpt and result.json beside it"):
        train(config, tmp_path / "other", resume=True)


def test_predictions_are_those_that_were_scored(tmp_path, config):
    result = train(config, tmp_path)
    target, prediction, _ = read_predictions(tmp_path / "predictions.csv")
    assert len(target) == result["data"]["examples"]["test"]
    assert (target == prediction).mean() == result["metrics"]["test_accuracy"]
    (tmp_path / "predictions.csv").unlink()  # made again
    assert train(config, tmp_path, resume=True)["metrics"] == result["metrics"]
    assert (tmp_path / "predictions.csv").exists()


def test_a_lock_that_is_a_link_is_refused_and_its_target_kept(tmp_path):
    target = tmp_path / "precious.txt"
    target.write_text("precious")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".lock").symlink_to(target)
    with pytest.raises(ValueError, match="is a link, not the lock of a run"), alone_in(tmp_path / "run"):
        pass
    assert target.read_text() == "precious"


def test_a_finished_run_that_is_set_aside_is_told_of(tmp_path, config, caplog):
    train(config.replace(max_epochs=1), tmp_path / "run")
    assert "set aside" not in caplog.text
    train(config.replace(max_epochs=1), tmp_path / "run")
    assert "a finished run is set aside in previous (" in caplog.text
    assert (tmp_path / "run" / "previous" / "result.json").exists()


def test_precision_auto_is_what_it_became(tmp_path, monkeypatch, config, capsys):
    monkeypatch.setattr("graphdep.training.build.gain_of_bf16", lambda *sizes: 2.0)
    monkeypatch.setattr("graphdep.training.build._LEAST_CHANNELS", 1)
    config = config.replace(max_epochs=1, accelerator="cpu")
    splits = load_splits(config)
    auto, bf16 = config.replace(precision="auto"), config.replace(precision="bf16-mixed")
    assert run.run_folder(auto, splits, "runs") == run.run_folder(bf16, splits, "runs")
    assert run.run_folder(auto, splits, "runs") != run.run_folder(config, splits, "runs")
    result = train(auto, tmp_path, splits=splits)
    assert result["config"]["precision"] == "bf16-mixed"
    assert capsys.readouterr().err.splitlines()[0].endswith("precision=bf16-mixed (auto)")
    assert train(bf16, tmp_path, splits=splits, resume=True) == result


class Seen(Callback):
    """Examples of each epoch that training saw, and the learning rate after each update."""

    def __init__(self):
        self.epochs, self.rates = [], []

    def on_train_epoch_start(self, trainer, pl_module):
        self.epochs.append(0)

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self.epochs[-1] += batch.num_graphs
        self.rates.append(trainer.optimizers[0].param_groups[0]["lr"])


def test_batches_by_tokens_drop_no_example_in_any_epoch(tiny, tmp_path):
    """Orders make different numbers of batches, and the schedule falls to 0 with the last of all."""
    texts = tmp_path / "texts.csv"
    rows = [f"{'fine ' * (1 + number % 9)}film,{'ab'[number % 2]}\n" for number in range(60)]
    texts.write_text("text,label\n" + "".join(rows), encoding="utf-8")
    own = {"train": str(texts), "text_columns": "text", "label_column": "label", "parser": "chain"}
    sizes = {key: tiny[key] for key in ("hidden_channels", "ff_channels", "heads") if key in tiny}
    more = {"batch_tokens": 29, "max_epochs": 6, "warmup_steps": 2, "root": str(tmp_path / "data")}
    config = TrainConfig.of("dt", task="csv", **own, **sizes, **more)
    splits, seen = load_splits(config), Seen()
    count = splits.loader("train", config, shuffle=True).batch_sampler.count
    batches = [count(epochs + 1) - count(epochs) for epochs in range(6)]
    assert max(batches[1:]) > batches[0]  # else this tests nothing
    train(config, tmp_path / "run", splits=splits, callbacks=[seen])
    assert seen.epochs == [len(splits["train"])] * 6
    assert len(seen.rates) == sum(batches)
    assert seen.rates[-1] == 0 < min(seen.rates[:-1])


@pytest.mark.parametrize("resume", [True, False])
def test_a_kill_before_the_first_checkpoint_leaves_nothing(tmp_path, config, resume):
    """Neither a folder that is set aside, one for each kill, nor what was being written."""
    train(config, tmp_path / "whole")
    whole = sorted(path.name for path in (tmp_path / "whole").iterdir())
    folder = tmp_path / "killed"
    folder.mkdir()
    (folder / "metrics.csv").write_text("epoch,step,lr,train_loss\n1,3,0.1,0.5\n")  # before the checkpoint
    half = (".last.ckpt.abcdefgh.ckpt", ".best.ckpt.12345678.ckpt", ".result.json.a_b_c_d_.json")
    for name in ("run.yaml", *half):
        (folder / name).write_bytes(b"half")
    train(config, folder, resume=resume)
    assert sorted(path.name for path in folder.iterdir()) == whole


@pytest.mark.curves
def test_a_kill_after_the_last_epoch_costs_no_file(tmp_path, config):
    """Also none that a process was writing which has no epoch to see any more."""
    train(config, tmp_path / "whole")
    whole = sorted(path.name for path in (tmp_path / "whole").iterdir())
    for lost in (
        ("result.json",),
        ("result.json", "curves.png"),
        ("result.json", "predictions.csv", "curves.png"),
    ):
        for name in lost:
            (tmp_path / "whole" / name).unlink()
        train(config, tmp_path / "whole", resume=True)
        assert sorted(path.name for path in (tmp_path / "whole").iterdir()) == whole


def test_values_of_many_epochs_are_set_aside(tmp_path, config):
    (tmp_path / "metrics.csv").write_text("epoch,step\n1,3\n2,6\n")
    train(config, tmp_path)
    assert (tmp_path / "previous" / "metrics.csv").read_text() == "epoch,step\n1,3\n2,6\n"
