"""A sweep over settings with Optuna (pip install optuna): trials that are worse than others so far end early.

    python examples/sweep.py --trials 20 task=csv train=reviews.csv text_columns=text label_column=stars

Stopped, the same command goes on: the trials are kept in runs/sweep/trials.db. The run.yaml of the best one
repeats it on any seed: graphdep train --config runs/sweep/.../run.yaml --seed 1
"""

import argparse
from pathlib import Path

import lightning as L
import optuna

from graphdep.tasks import resolve_task
from graphdep.training import TrainConfig, load_splits, parse_settings, run_folder, train

FOLDER = Path("runs", "sweep")


class Report(L.Callback):
    """Tells the score of each epoch, and ends a trial that need not go on."""

    def __init__(self, trial: optuna.Trial, metric: str) -> None:
        self.trial, self.metric = trial, metric

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self.trial.report(float(trainer.callback_metrics[self.metric]), trainer.current_epoch)
        if self.trial.should_prune():
            raise optuna.TrialPruned


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("settings", nargs="*", metavar="NAME=VALUE")
    options = parser.parse_args()
    task = next((text[5:] for text in options.settings if text.startswith("task=")), "sick-e")
    given = parse_settings(options.settings, task)
    first = resolve_task(task).metrics[0]
    metric = f"val_{first.name}"
    splits = load_splits(TrainConfig.of(**given))  # parsed once: no setting below changes the data

    def objective(trial: optuna.Trial) -> float:
        config = TrainConfig.of(
            **given,
            lr=trial.suggest_float("lr", 1e-4, 1e-1, log=True),
            dropout=trial.suggest_float("dropout", 0.0, 0.5, step=0.1),
            num_layers=trial.suggest_int("num_layers", 1, 3),
        )
        folder = run_folder(config, splits, FOLDER)
        result = train(config, folder, splits=splits, callbacks=[Report(trial, metric)])
        trial.set_user_attr("run", str(folder / "run.yaml"))
        return float(result["metrics"][metric])

    FOLDER.mkdir(parents=True, exist_ok=True)
    study = optuna.create_study(
        direction="maximize" if first.maximize else "minimize",
        storage=f"sqlite:///{FOLDER / 'trials.db'}",
        study_name=task,
        load_if_exists=True,
        pruner=optuna.pruners.MedianPruner(n_warmup_steps=1),
    )
    study.optimize(objective, n_trials=options.trials)
    best = study.best_trial
    print(f"{metric} {best.value:.4f} with {best.params}: {best.user_attrs['run']}")


if __name__ == "__main__":
    main()
