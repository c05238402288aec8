"""Trained models that are saved as folders, and come from and go to the Hugging Face hub."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from huggingface_hub import ModelHubMixin

from graphdep.training.family.learning_task import LearningTask
from graphdep.training.runner.checkpoint import RunState
from graphdep.training.runner.write_model_folder import write_model_folder

_KEPT = ("edges", "parser", "device", "batch_size")


class HubModel(ModelHubMixin):
    """What predictors of trained models have of the hub: :meth:`save_pretrained`, :meth:`from_pretrained` and
    :meth:`push_to_hub` of `huggingface_hub.ModelHubMixin
    <https://huggingface.co/docs/huggingface_hub/package_reference/mixins>`_.

    The folder is that of :func:`~graphdep.training.runner.write_model_folder.write_model_folder`: no pickle,
    no code. Its files alone are uploaded. Nothing is fetched where a name is a folder that is there.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        return object.__new__(cls)  # the mixin's own would keep the arguments, as what to write to a config

    checkpoint: Any
    """The checkpoint that it was made from."""
    _own: tuple[LearningTask, RunState]

    def _trained(self) -> tuple[LearningTask, RunState]:
        """The trained task and what it was trained with."""
        return self._own

    @classmethod
    def _of_folder(cls, folder: str, **options: Any) -> Self:
        """A predictor from a folder, with :obj:`edges`, :obj:`parser`, :obj:`device` and :obj:`batch_size` as
        in the class.
        """
        return cls(folder, **options)

    def _result(self) -> Mapping[str, Any] | None:
        """What is known of its scores."""
        return result_beside(self.checkpoint)

    def save_pretrained(
        self,
        save_directory: str | Path,
        *,
        overwrite: bool = False,
        push_to_hub: bool = False,
        repo_id: str | None = None,
        config: Any = None,
        model_card_kwargs: Any = None,
        **options: Any,
    ) -> str | None:
        """Writes the model to a folder, for others.

        Args:
            save_directory: The folder.
            overwrite: Replace files of the same names that no earlier export has written, or that were
                changed since. (default: :obj:`False`)
            push_to_hub: Upload it, too. (default: :obj:`False`)
            repo_id: Its name on the hub. (default: that of the folder)
            config, model_card_kwargs: Of the mixin; the folder has a configuration and a card of its own.
            **options: Of :meth:`push_to_hub`.

        Returns:
            The address on the hub, with :obj:`push_to_hub`.

        Raises:
            ValueError: If a file would be replaced that is not as an earlier export wrote it, or the folder
                is that of a run.
        """
        if options and not push_to_hub:
            raise TypeError(f"{next(iter(options))!r} is for push_to_hub=True")
        write_model_folder(save_directory, *self._trained(), self._result(), overwrite=overwrite)
        return self.push_to_hub(repo_id or Path(save_directory).name, **options) if push_to_hub else None

    @classmethod
    def _from_pretrained(
        cls,
        *,
        model_id: str,
        revision: str | None,
        cache_dir: str | Path | None,
        force_download: bool,
        local_files_only: bool,
        token: str | bool | None,
        **model_kwargs: Any,
    ) -> Self:
        options = {name: model_kwargs[name] for name in _KEPT if name in model_kwargs}
        where = {"revision": revision, "cache_dir": cache_dir, "token": token}
        where |= {"force_download": force_download, "local_files_only": local_files_only}
        folder = fetched(model_id, **where)
        # The mixin adds what stands in config.json, which is not for the class.
        unknown = sorted({*model_kwargs} - {*_KEPT, "config"} - _names_in(Path(folder) / "config.json"))
        if unknown:
            raise TypeError(f"{cls.__name__}.from_pretrained takes no {unknown[0]!r}: {', '.join(_KEPT)}")
        return cls._of_folder(folder, **options)


def _names_in(path: Path) -> set[str]:
    try:
        return {*json.loads(path.read_text(encoding="utf-8"))}
    except (OSError, ValueError, TypeError):  # whoever reads the model says what is wrong with it
        return set()


def result_beside(checkpoint: str | os.PathLike[str]) -> Mapping[str, Any] | None:
    """What ``graphdep train`` reported of the run that a checkpoint is in; :obj:`None` where nothing is."""
    place = Path(checkpoint)
    path = (place if place.is_dir() else place.parent) / "result.json"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def fetched(name: str | os.PathLike[str], **where: Any) -> str:
    """The file or folder of that name, or a copy of the hub's model of that name.

    Raises:
        FileNotFoundError: If there is no such file, and the name cannot be one of the hub.
    """
    from huggingface_hub import snapshot_download

    from graphdep.io.files import MODEL_CONFIG, MODEL_WEIGHTS
    from graphdep.training.runner.model_folder import CARD, PARTS
    from graphdep.training.runner.run_file import RUN_FILE

    text = os.fspath(name)
    if os.path.exists(text):
        return text
    if text.count("/") != 1 or text.startswith((".", "/", "~")) or Path(text).suffix == ".ckpt":
        raise FileNotFoundError(f"no checkpoint or folder at {text}, nor is it OWNER/NAME of the hub")
    files = [MODEL_CONFIG, MODEL_WEIGHTS, CARD, RUN_FILE, *PARTS.values()]
    return snapshot_download(text, allow_patterns=files, **where)
