"""Where else the values of a run go: Lightning's loggers by name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from graphdep.io.limits import check_logger

if TYPE_CHECKING:
    from lightning.pytorch.loggers import Logger

    from graphdep.training.family.train_config import TrainConfig


def make_logger(given: str | Logger | None, folder: Path, config: TrainConfig, title: str) -> Logger | None:
    """A logger by its name, which has been told the settings of the run; a logger stays as it is.

    Args:
        given: ``"tensorboard"``, whose files are below ``tensorboard/`` of :obj:`folder`; ``"wandb"``, whose
            project is ``graphdep`` and whose account, server and mode are those of its own variables
            (``WANDB_MODE=offline``); ``"none"`` or :obj:`None`; or a logger of Lightning's.
        folder: Folder of the run.
        config: Its settings.
        title: What it is called.

    Raises:
        ValueError: If there is none of that name.
        ImportError: If its package is not installed.
    """
    if not isinstance(given, str):
        return given
    check_logger(given)
    if given == "none":
        return None
    from lightning.pytorch import loggers

    made: Logger
    if given == "wandb":
        made = loggers.WandbLogger(name=title, save_dir=folder, project="graphdep")
    else:
        made = loggers.TensorBoardLogger(save_dir=folder, name="", version="tensorboard")
    made.log_hyperparams(config.to_dict())
    return made
