"""Texts and labels in, labels out: training and prediction as a scikit-learn classifier."""

from __future__ import annotations

import dataclasses
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from graphdep._asking import check_batch_size, check_list, check_text, shown
from graphdep._predictor import Predictor, check_examples
from graphdep.parsing import Parser, resolve_parser
from graphdep.sentence_encoder import parser_to_use
from graphdep.training import TrainConfig, load_splits, load_task, run_folder, train
from graphdep.training.checkpoint import RunState, save_task
from graphdep.training.csv_config import CSVConfig

_COLUMNS = ("first", "second")
_FITTED = "the classifier"
_NEEDED = ("train", "text_columns", "label_column")
# What arguments stand for, or fit() gives.
_NOT_CHOSEN = {
    *_NEEDED,
    "task",
    "model",
    "encoder",
    "parser",
    "root",
    "raw_from",
    "val",
    "test",
    "val_fraction",
}
_NOT_CHOSEN |= {"val_seed", "seed", "batch_size", "accelerator"}


class SequenceClassifier(ClassifierMixin, BaseEstimator):
    r"""Classifies texts or pairs of texts with a Transformer whose attention follows their syntax.

    :meth:`fit` parses the texts and fine-tunes a pretrained encoder on them, or trains one from nothing, as
    ``graphdep train --task csv`` does. What an example is, a text or a pair, is said by the shape of ``X``: a
    list, array or Series of :math:`n` texts, or a list of pairs, an array or a data frame of two columns.

    Args:
        encoder: Name or folder of a pretrained Hugging Face encoder; ``"transformer"`` for one that is
            trained from nothing, on words, which needs more texts. (default: ``"bert-base-uncased"``)
        model: The syntax in it: a model of ``graphdep train``, such as ``"bert"`` (none), ``"bert-dt"``,
            ``"bert-g2g"``, ``"bert-dam-basic"``, or from nothing ``"dt"``, ``"transformer"``, ``"lstm"``.
            (default: ``"bert-dam"``, which needs the extra ``[enhanced]``, and ``"dt"`` from nothing)
        parser: Name for :func:`graphdep.parsing.resolve_parser`. (default: ``"bundled"``)
        validation_fraction: The share of the texts that the best epoch is chosen on, and that is not trained
            on. (default: :obj:`0.1`)
        random_state: Seed of the weights, of the order of the texts, dropout, and what validates; a
            ``RandomState`` or :obj:`None` draws one. (default: :obj:`0`)
        batch_size: Texts or pairs a batch, in training and prediction. (default: :obj:`32`)
        device: ``"cpu"``, or :obj:`None` for a GPU if there is one. (default: :obj:`None`)
        progress: Show the epochs on stderr. (default: :obj:`True`)
        folder: Keeps the run, with its ``best.ckpt``, and the parses; :obj:`None` keeps them in memory alone.
            (default: :obj:`None`)
        **settings: Any further setting of ``graphdep train``, such as :obj:`max_epochs` or :obj:`lr`.

    Attributes:
        classes\_: The classes, sorted, as in the columns of :meth:`predict_proba`.
        result\_: What ``graphdep train`` reports of the run; empty for a loaded model.
        parser_failures: Texts of the last prediction that have a chain for a tree.
        cut_words: Words of the last prediction that the model did not read, as there was no room for them.

    Example:
        >>> model = SequenceClassifier("bert-base-uncased", model="bert-dam", max_epochs=3)
        >>> model.fit(["A fine film.", "So dull.", ...], ["good", "bad", ...])
        >>> model.predict(["What a film!"])
        array(['good'], dtype='<U4')
        >>> model.save("reviews.ckpt")
        >>> SequenceClassifier.load("reviews.ckpt").predict_proba(["What a film!"])
        array([[0.03, 0.97]])
    """

    _predictor: Predictor | None = None

    def __init__(
        self,
        encoder: str | os.PathLike[str] = "bert-base-uncased",
        model: str | None = None,
        *,
        parser: str | Parser = "bundled",
        validation_fraction: float = 0.1,
        random_state: int | np.random.RandomState | None = 0,
        batch_size: int = 32,
        device: str | None = None,
        progress: bool = True,
        folder: str | os.PathLike[str] | None = None,
        **settings: Any,
    ) -> None:
        self.encoder = encoder
        self.model = model
        self.parser = parser
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.batch_size = batch_size
        self.device = device
        self.progress = progress
        self.folder = folder
        self.settings = settings

    def fit(self, X: Any, y: Any) -> SequenceClassifier:
        """Trains on texts and their labels: texts, whole or truth values, or numbers that stand for classes.

        Raises:
            TypeError: If something is no text; the message has its position.
            ValueError: If a text is blank, the shapes of ``X`` and ``y`` are wrong, there are fewer than two
                classes, or a setting is wrong.
            TrainingError: If the loss is not finite any more.
        """
        examples = check_examples("X", X)
        labels = _check_labels(y, len(examples))
        classes = np.unique(labels)
        if len(classes) < 2:
            raise ValueError(f"'y' must have at least two classes (got {classes.tolist()})")
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name if self.folder is None else self.folder)
            self._fit(examples, labels, Path(name), folder)
        self.classes_ = classes
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The most likely class of each text or pair, ``[n]``.

        Raises:
            TypeError, ValueError: As :meth:`fit`, and if ``X`` has pairs where the model was trained on
                single texts, or the other way round.
        """
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class, ``[n, num_classes]``, float64.

        Raises:
            TypeError, ValueError: As :meth:`predict`.
        """
        check_is_fitted(self, "classes_")
        assert self._predictor is not None
        check_batch_size(self.batch_size)
        self._predictor.batch_size = self.batch_size
        examples = check_examples("X", X, self._predictor.config.num_texts)
        logits = self._predictor.outputs(examples)
        self.parser_failures, self.cut_words = self._predictor.parser_failures, self._predictor.cut_words
        return logits.double().softmax(dim=1).numpy()

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of right classes.

        Raises:
            TypeError, ValueError: As :meth:`predict`, and if a label is none of the classes.
        """
        check_is_fitted(self, "classes_")
        labels = _check_labels(y, len(X))
        known = set(self.classes_.tolist())
        for number, label in enumerate(labels.tolist()):
            if label not in known:
                raise ValueError(f"'y[{number}]' is none of the classes {sorted(known)} (got {label!r})")
        return float(accuracy_score(labels, self.predict(X), sample_weight=sample_weight))

    def save(self, file: str | os.PathLike[str]) -> None:
        """Writes the trained model, whole or not at all: a checkpoint for :meth:`load`, and for ``graphdep
        predict``, ``embed`` and ``evaluate``.
        """
        check_is_fitted(self, "classes_")
        assert self._predictor is not None
        save_task(file, self._predictor.task, self._predictor.state)

    @classmethod
    def load(
        cls,
        file: str | os.PathLike[str],
        *,
        parser: str | Parser | None = None,
        device: str | None = None,
        batch_size: int = 32,
    ) -> SequenceClassifier:
        """A trained model from what :meth:`save` wrote, or from the checkpoint of any run that classifies
        texts or pairs of texts. No code in the file is run.

        Args:
            file: The file, such as ``best.ckpt``.
            parser: Name of a parser, or a parser; :obj:`None` for the one of the training if that is
                ``"bundled"``. (default: :obj:`None`)
            device, batch_size: As in the class.

        Raises:
            FileNotFoundError: If there is no such file.
            ValueError: If it is no checkpoint, the model does not classify, or the parser has to be given.
        """
        task, state = load_task(file)
        name = parser_to_use(file, state.config.parser, parser)
        config = state.config
        options: dict[str, Any] = {
            "parser": name,
            "device": device,
            "batch_size": batch_size,
            "random_state": config.seed,
        }
        if isinstance(config, CSVConfig):
            options["validation_fraction"] = config.val_fraction
        options |= _own_settings(config)
        loaded = cls(config.encoder, config.model, **options)
        loaded._set(task, state, os.fspath(file))
        return loaded

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The arguments, settings among them."""
        return {**super().get_params(deep), **self.settings}

    def set_params(self, **params: Any) -> SequenceClassifier:
        """Changes arguments; a name that is none is a setting of the training."""
        own = self._get_param_names()
        super().set_params(**{name: value for name, value in params.items() if name in own})
        self.settings = {**self.settings, **{n: value for n, value in params.items() if n not in own}}
        return self

    def _fit(self, examples: list[tuple[str, ...]], labels: np.ndarray, files: Path, folder: Path) -> None:
        columns = _COLUMNS[: len(examples[0])]
        path = files / "texts.jsonl"
        rows = ({**dict(zip(columns, x)), "label": y} for x, y in zip(examples, labels.tolist()))
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        config = self._config(path, columns, folder)
        splits = load_splits(config)
        console = Console(stderr=True, quiet=not self.progress)
        run = run_folder(config, splits, folder)
        self.result_ = train(config, run, splits=splits, console=console)
        task, state = load_task(self.result_["checkpoint"])
        # The file is gone by the end, and so may be the folder.
        forgotten = config.replace(train=path.name, root=None)
        self._set(task, dataclasses.replace(state, config=forgotten), _FITTED)

    def _config(self, path: Path, columns: Sequence[str], folder: Path) -> TrainConfig:
        if not isinstance(self.parser, str):
            raise TypeError(f"'parser' must be a name where a model is trained (got {shown(self.parser)})")
        scratch, seed = self.encoder == "transformer", self.random_state
        if not isinstance(seed, (int, np.integer)):
            seed = check_random_state(seed).randint(2**31 - 1)
        given = {
            "task": "csv",
            "train": str(path),
            "text_columns": ",".join(columns),
            "label_column": "label",
            "root": str(folder / "data"),
            "parser": self.parser,
            "val_fraction": self.validation_fraction,
            "val_seed": int(seed),
            "seed": int(seed),
            "batch_size": self.batch_size,
            "accelerator": {None: "auto", "cpu": "cpu"}.get(self.device, "gpu"),
            **({} if scratch else {"encoder": os.fspath(self.encoder)}),
        }
        twice = sorted(given.keys() & self.settings.keys())
        if twice:
            raise ValueError(f"{twice[0]!r} is no setting to choose here (got {self.settings[twice[0]]!r})")
        model = self.model or ("dt" if scratch else "bert-dam")
        config = TrainConfig.of(model, **given, **self.settings)
        if scratch and config.pretrained:
            raise ValueError(f"model {model!r} needs a pretrained 'encoder' (got 'transformer')")
        return config

    def _set(self, task: Any, state: RunState, name: str) -> None:
        """Takes up a trained model."""
        trained_with = self.parser
        parser = trained_with if isinstance(trained_with, Parser) else resolve_parser(trained_with)
        predictor = Predictor(
            task, state, parser, name, batch_size=self.batch_size, device=self.device, progress=False
        )
        if predictor.labels is None:
            raise ValueError(f"{name}: trained on the task {state.config.task!r}, which has no classes")
        self._predictor, self.classes_ = predictor, np.array(predictor.labels)

    def __getstate__(self) -> dict[str, Any]:
        state = {key: value for key, value in super().__getstate__().items() if key != "_predictor"}
        if self._predictor is not None:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "model.ckpt")
                self.save(path)
                state["_checkpoint"] = path.read_bytes()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        checkpoint = state.pop("_checkpoint", None)
        super().__setstate__(state)
        if checkpoint is None:
            return
        classes = self.classes_
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model.ckpt")
            path.write_bytes(checkpoint)
            self._set(*load_task(path), _FITTED)
        self.classes_ = classes

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, True
        return tags


def _check_labels(y: Any, count: int) -> np.ndarray:
    """Labels as an array ``[count]`` of one kind."""
    values = y.tolist() if hasattr(y, "tolist") else y
    check_list("y", values)
    values = [value.item() if isinstance(value, np.generic) else value for value in values]
    if len(values) != count:
        raise ValueError(f"'y' must have a label for each of {count} texts (got {len(values)})")
    for number, value in enumerate(values):
        if not isinstance(value, (str, int, float)) or type(value) is not type(values[0]):
            first = f" as 'y[0]', {shown(values[0])}" if number else ""
            raise TypeError(f"'y[{number}]' must be a text or a number{first} (got {shown(value)})")
        if isinstance(value, str):
            check_text(f"y[{number}]", value, "label")
    labels = np.array(values)
    check_classification_targets(labels)
    return labels


def _own_settings(config: TrainConfig) -> dict[str, Any]:
    """The settings of a trained model that its preset does not have, so that a copy of it trains alike."""
    needed = {name: getattr(config, name) for name in _NEEDED if hasattr(config, name)}
    plain = type(config).of(config.model, task=config.task, **needed).to_dict()
    chosen = {name: value for name, value in config.to_dict().items() if value != plain[name]}
    return {name: value for name, value in chosen.items() if name not in _NOT_CHOSEN}
