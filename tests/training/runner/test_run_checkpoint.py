from __future__ import annotations

import io
import json
from types import SimpleNamespace

import pytest
from lightning import Callback
from rich.console import Console

from graphdep.metrics.scores import WORD_F1
from graphdep.training import TrainConfig, evaluate, train
from graphdep.training.checkpoint import RunCheckpoint


def epochs_of(checkpoint: RunCheckpoint, scores: list[float], losses: list[float]) -> int:
    """After how many of these epochs a run ends."""
    trainer = SimpleNamespace(should_stop=False, save_checkpoint=lambda path: None, world_size=1)
    for epoch, (score, loss) in enumerate(zip(scores, losses)):
        trainer.current_epoch, trainer.callback_metrics = epoch, {"train_loss": loss}
        checkpoint.on_train_epoch_end(trainer, SimpleNamespace(val_scores={"val_f1": score}, val_outputs=()))
        if trainer.should_stop:
            break
    return checkpoint.epochs


def checkpoint_of(tmp_path, floor: float | None = 0.0, patience: int | None = 2) -> RunCheckpoint:
    return RunCheckpoint(tmp_path, None, WORD_F1, patience, floor=lambda task: floor)


FALLING = [3.0, 2.9, 2.8, 2.7, 2.6, 2.5, 2.4]


@pytest.mark.parametrize(
    ("scores", "losses", "ends"),
    [
        ([0.3, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2], FALLING, 3),  # as ever
        ([0.0] * 7, FALLING, 7),  # on its plateau, and the loss still falls
        ([0.01] + [0.0] * 6, FALLING, 7),  # the first epoch was noise
        ([0.0] * 7, [3.0] * 7, 3),  # it learns nothing any more
        ([0.0] * 7, [3.0 * (1 - 0.9e-4) ** epoch for epoch in range(7)], 3),  # only its last digits change
        ([0.0] * 7, [3.0 * (1 - 1.1e-4) ** epoch for epoch in range(7)], 7),
        ([0.0] * 7, [3.0, 2.9, 3.1, 2.95, 2.0, 1.0, 0.5], 4),  # lower than before is not lower than ever
        ([0.0, 0.1, 0.05, 0.0, 0.05, 0.2, 0.2], FALLING, 5),  # one of the three does not count
    ],
)
def test_epochs_without_any_skill_do_not_count_while_the_loss_falls(tmp_path, scores, losses, ends):
    assert epochs_of(checkpoint_of(tmp_path), scores, losses) == ends


def test_a_floor_that_nobody_knows_changes_nothing(tmp_path):
    assert epochs_of(checkpoint_of(tmp_path, floor=None), [0.0] * 7, FALLING) == 3
    assert epochs_of(checkpoint_of(tmp_path, patience=None), [0.0] * 7, [3.0] * 7) == 7


@pytest.fixture
def rare(tmp_path) -> TrainConfig:
    """Words of which few are a finding, so that a model finds none for long."""
    rows = [{"words": [f"w{n}", "x", "y", "z", "."], "labels": ["A", *"OOOO"]} for n in range(20)]
    path = tmp_path / "rare.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    sizes = {"hidden_channels": 8, "ff_channels": 8, "num_layers": 1, "heads": 2, "accelerator": "cpu"}
    own = {"task": "labels", "train": str(path), "root": str(tmp_path / "root"), "parser": "chain"}
    return TrainConfig.of("transformer", **own, **sizes, max_epochs=6, patience=2, dropout=0.0)


def test_a_small_corpus_is_not_given_up_where_it_says_nothing_yet(rare, tmp_path):
    out = io.StringIO()
    result = train(rare.replace(lr=1e-3), tmp_path / "falls", console=Console(file=out))
    assert result["epochs"] == 6
    assert result["stopped"] == ""
    assert "stopped early" not in out.getvalue()


def test_the_last_line_says_why_a_run_has_ended(rare, tmp_path):
    out = io.StringIO()
    config = rare.replace(lr=1e-30)  # nothing falls
    result = train(config, tmp_path / "stays", console=Console(file=out, width=200))
    said = "stopped early: no better val_f1 for 2 epochs (--set patience=none goes on)"
    assert (result["epochs"], result["stopped"]) == (3, said)
    assert out.getvalue().splitlines()[-1].endswith(said)
    assert result["seconds_per_validation"] > 0
    assert out.getvalue().splitlines()[0].split("val_f1")[1].count(" s ") == 2  # training, and validation


class Other(Callback):
    """Validates other weights than those that are kept."""

    def on_validation_start(self, trainer, pl_module):
        self.kept = {name: x.clone() for name, x in pl_module.state_dict().items()}
        for parameter in pl_module.parameters():
            parameter.data.zero_()

    def on_validation_end(self, trainer, pl_module):
        pl_module.load_state_dict(self.kept)


@pytest.mark.parametrize("callbacks", [(), (Other(),)])
@pytest.mark.parametrize("how", [{"max_epochs": 1}, {"keep": "last"}, {"val_every": 2, "lr": 0.5}])
def test_scores_of_the_validation_split_are_those_of_the_weights_that_are_kept(
    tmp_path, tiny, callbacks, how
):
    config = TrainConfig.of("dt", **{**tiny, "max_epochs": 4, "dropout": 0.3, **how})
    result = train(config, tmp_path, callbacks=callbacks)
    places = {"root": config.root, "parser": config.parser}
    found = evaluate(tmp_path / "best.ckpt", "val", settings=places)["metrics"]
    assert found == {name: value for name, value in result["metrics"].items() if name.startswith("val_")}
