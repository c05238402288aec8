"""Base classes of estimators and predictors."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar, cast

import numpy as np
import torch
from lightning import Callback
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.transforms import BaseTransform

from graphdep.io.console import plain_console
from graphdep.io.files import atomic_path, hold, remove_leftovers, temporary_folder
from graphdep.io.limits import (
    MAX_WORDS,
    check_count,
    check_encoder_name,
    check_limit,
    check_string,
    plain,
    plural,
)
from graphdep.io.progress import showing_progress, with_progress
from graphdep.parsing.parser import Input, Parser, WordLimit, parse_joined
from graphdep.parsing.resolver import override_parsers, resolve_parser
from graphdep.sentence.intake import OF_ROWS, Intake, is_own
from graphdep.sentence.sentence import Sentence
from graphdep.training.checkpoint import (
    RunState,
    check_scheme,
    labels_of,
    load_task,
    save_task,
    trained_setting,
)
from graphdep.training.config import TrainConfig, resolve_model
from graphdep.training.family import FilePrediction, FileRequest, load_splits
from graphdep.training.hub import HubModel
from graphdep.training.learning_task import graphs_of
from graphdep.training.own_config import OF_TREES
from graphdep.training.run import run_folder, train_model
from graphdep.training.task import family_of
from graphdep.training.trainer import METRICS, read_metrics
from graphdep.transforms.presets import edges_of_name, name_of
from graphdep.vocab.vocab import SPECIALS

T = TypeVar("T")
# Most pairs of nodes in a batch: without syntax every word attends to every other.
BATCH_PAIRS = 2**22


def batches_by_size(sizes: Sequence[int], batch_size: int) -> list[list[int]]:
    """Batches of examples of similar size, as numbers of examples; the largest first, so that memory runs out
    at once if at all.

    Args:
        sizes: The number of nodes of each example.
        batch_size: Largest number of examples per batch; fewer if they are large.
    """
    batches: list[list[int]] = []
    pairs = 0
    for number in sorted(range(len(sizes)), key=lambda number: -sizes[number]):
        own = sizes[number] ** 2
        if not batches or len(batches[-1]) == batch_size or pairs + own > BATCH_PAIRS:
            batches.append([])
            pairs = 0
        batches[-1].append(number)
        pairs += own
    return batches


def check_learnable(name: str, labels: Iterable[Any]) -> None:
    """Raises :class:`ValueError` if there are fewer than two labels."""
    if len(found := {*labels}) < 2:
        raise ValueError(f"{name!r} must have at least two labels (got {sorted(found)})")


def check_different(name: str, examples: Iterable[Any]) -> None:
    """Raises :class:`ValueError` if all examples are the same."""
    if len({*examples}) < 2:
        raise ValueError(f"{name!r} must have at least two different examples, one for validation")


def check_batch_size(batch_size: Any) -> None:
    """Raises :class:`ValueError` if it is not a whole number above 0, or too large."""
    check_limit("batch_size", check_count("batch_size", batch_size, 1))


def check_family(checkpoint: str, config: TrainConfig, family: str, what: str) -> None:
    """Raises :class:`ValueError` if a checkpoint's task is not of the family of a class, whose outputs are
    called ``what`` in the message.
    """
    own = config.task_family
    if own.name != family:
        raise ValueError(
            f"{checkpoint}: trained on the task {config.task!r}, which gives {own.gives}, not {what}: see "
            f"{own.used_by}"
        )


def resolve_device(device: str | torch.device | None) -> torch.device:
    """A device by its name; :obj:`None` for a GPU if there is one.

    Raises:
        ValueError: If the name is invalid.
    """
    try:
        return torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    except (RuntimeError, TypeError):
        raise ValueError(f"'device' must be a device such as 'cpu' or 'cuda' (got {device!r})") from None


def check_weights(model: nn.Module, checkpoint: str) -> None:
    """Raises :class:`ValueError` if a weight is not finite."""
    if not all(parameter.isfinite().all() for parameter in model.parameters()):
        raise ValueError(f"{checkpoint}: has diverged in training: its weights are not finite")


def parser_to_use(
    checkpoint: str | os.PathLike[str], trained_with: str, given: str | Parser | None
) -> str | Parser:
    """The given parser, or the checkpoint's if that is ``"bundled"``.

    Raises:
        ValueError: If the checkpoint names another parser, which may be a file or a download.
    """
    if given is None and trained_with != "bundled":
        raise ValueError(
            f"{os.fspath(checkpoint)}: trained with the parser {trained_with!r}, which is used only if you "
            f"name it: --parser {trained_with} (in Python parser={trained_with!r})"
        )
    return trained_with if given is None else given


def distinct(inputs: Sequence[Input]) -> tuple[list[Input], list[int]]:
    """The distinct inputs, and for each input its index among them."""
    numbers: dict[Any, int] = {}
    found: list[Input] = []
    for one in inputs:
        if numbers.setdefault(_key(one), len(found)) == len(found):
            found.append(one)
    return found, [numbers[_key(one)] for one in inputs]


def _key(one: Input) -> Any:
    return ("", one.tree_from, repr(one)) if isinstance(one, Sentence) else one  # no word is empty


CHUNK = 1024
"""Examples in memory at a time."""


class Predictor:
    """A trained model in evaluation mode, with its device and parser.

    :attr:`parsed` counts the inputs of the last call without a tree, :attr:`parser_failures` those of them
    whose tree is a chain because the parser failed. :attr:`words` counts the words of all examples since the
    last :meth:`intake`, :attr:`unknown` those that a vocabulary of words lacks.

    Args:
        task, state: The results of :func:`graphdep.training.load_task`.
        family: Name of the task family that the model must belong to; :obj:`None` for any.
        answers: Name of its outputs in messages.
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser; :obj:`None` for that of the
            training if it is ``"bundled"``. It is loaded when a text needs it.
        name: Name of the model in messages, such as its file.
        batch_size: Largest number of examples per batch; fewer if they are long. (default: :obj:`64`)
        device: Device of the model; :obj:`None` for a GPU if there is one. (default: :obj:`None`)
        progress: Show progress on stderr; :obj:`None` for only if there is much work. (default: :obj:`None`)
        limit: Longest text in words, and whether longer texts are cut. (default: 10,000 words, an error)
        cache: SQLite file that keeps the parses. (default: :obj:`None`)

    Raises:
        ValueError: If the model belongs to another family, its weights are not finite, or there is no such
            device.
    """

    def __init__(
        self,
        task: Any,
        state: Any,
        family: str | None,
        answers: str,
        parser: str | Parser | None,
        name: str,
        *,
        batch_size: int = 64,
        device: str | torch.device | None = None,
        progress: bool | None = None,
        limit: WordLimit = WordLimit(),  # noqa: B008  # immutable
        cache: str | Path | None = None,
    ) -> None:
        check_batch_size(batch_size)
        if family is not None:
            check_family(name, state.config, family, answers)
        check_weights(task, name)
        self.config, self.state, self.name = state.config, state, name
        self.batch_size, self.progress, self.limit = batch_size, progress, limit
        self.device = resolve_device(device)
        self.task = task.to(self.device).eval()
        self._given, self._cache = parser, cache
        self.parsed = self.parser_failures = 0
        self.words, self.unknown, self.taken = 0, Counter[str](), Intake()

    @cached_property
    def parser(self) -> Parser:
        """The parser, with the parts of a parse that the model reads."""
        named = parser_to_use(self.name, self.config.parser, self._given)
        options: dict[str, Any] = {} if isinstance(named, Parser) else {"progress": self.progress}
        return resolve_parser(named, cache=self._cache, **self.config.parser_options(), **options)

    def trees(self, inputs: Sequence[Input], roots: str = "first") -> list[Sentence]:
        """One tree per input: its own, or the parser's for a text or words.

        Raises:
            ValueError: If most labels of the given or of the parsed trees are unknown to the model.
        """
        own = [one for one in inputs if isinstance(one, Sentence) and is_own(one)]
        check_scheme(self.name, self.state, labels_of(self.state, own), parsed=False)
        self.parsed = len(inputs) - len(own)
        trees, self.parser_failures = parse_joined(lambda: self.parser, inputs, roots=roots)
        parsed = (tree for one, tree in zip(inputs, trees) if not is_own(one))
        check_scheme(self.name, self.state, labels_of(self.state, parsed), parsed=True)
        return trees

    def distinct_trees(
        self, inputs: Sequence[Input], places: Sequence[str], roots: str = "first"
    ) -> tuple[list[Sentence], list[int]]:
        """The trees of the distinct inputs, cut to :attr:`limit`, and the index of the tree of each input."""
        different, numbers = distinct([*map(self.limit.input, inputs, places)])
        first = dict(zip(reversed(numbers), reversed(places)))
        trees = self.trees(different, roots)
        return [self.limit.tree(tree, first[number]) for number, tree in enumerate(trees)], numbers

    def intake(self, advice: str = OF_ROWS) -> Intake:
        """A new :attr:`taken`, with the scheme and policy of the training. The default advice is given only
        for tasks with the option ``bad_trees``.
        """
        scheme = trained_setting(self.state, "tree_scheme")
        policy = getattr(self.config, "bad_trees", "error")
        policy = "error" if policy == "skip" else policy  # every row needs a prediction
        has = advice != OF_ROWS or hasattr(self.config, "bad_trees")
        parser = self.parser if policy == "parse" else None
        self.taken = Intake(scheme, policy, parser, advice if has else "")
        self.words, self.unknown = 0, Counter()
        return self.taken

    def unknown_words(self) -> tuple[dict[str, float], list[str]]:
        """The share of :attr:`unknown` words, as in ``result.json``, and a note with the most frequent."""
        count, said = self.unknown.total(), plural(self.words, "word")
        first = ", ".join(repr(word[:40]) for word, _ in self.unknown.most_common(5))
        note = f"{count} of {said} not in the vocabulary of the model, read as [UNK]: {first}"
        note += ", ..." if len(self.unknown) > 5 else ""
        return {"unknown_words": count / self.words} if self.words else {}, [note] if count else []

    def data(self, trees: list[Sentence]) -> Data:
        """The model's input of one example."""
        vocab = self.state.vocab
        if len(vocab) > len(SPECIALS):  # not the tokenizer's
            self.words += sum(map(len, trees))
            self.unknown.update(word for tree in trees for word in tree.form if word not in vocab)
        data: Data = self.task.encoded(trees, self.config, vocab, self.state.relations)
        return data

    def graphs(self, trees: list[Sentence]) -> list[Sentence]:
        """The trees, or their enhanced graphs if the model reads those."""
        return graphs_of(trees, self.config)

    def chunks(self, count: int, what: str = "predicting", size: int = CHUNK) -> Iterator[slice]:
        """Slices of :data:`CHUNK` examples."""
        starts = range(0, count, size)
        shown, much = self.progress is not False, len(starts) > 1
        for start in with_progress(starts, what, shown=shown, at_once=much):
            yield slice(start, start + size)

    def batches(self, made: Sequence[Data], what: str = "") -> Iterator[tuple[list[int], Batch]]:
        """Batches of examples with their edges, and the numbers of the examples; with progress named
        ``what``, if given.
        """
        batches = batches_by_size([int(data.num_nodes or 0) for data in made], self.batch_size)
        shown = bool(what) and self.progress is not False
        for numbers in with_progress(batches, what, shown=shown, at_once=len(batches) > 1):
            batch = Batch.from_data_list([made[number] for number in numbers])
            yield numbers, self.task.edges(batch.to(self.device))

    def check_finite(self, outputs: Tensor) -> Tensor:
        """The outputs; raises :class:`ValueError` if one is not finite."""
        if not outputs.isfinite().all():
            raise ValueError(f"{self.name}: outputs are not finite: it has diverged in training")
        return outputs


class CheckpointModel(HubModel):
    """Base class of models that are loaded from a checkpoint and cannot be trained; for arguments see a
    subclass.
    """

    family: ClassVar[str]
    """Name of the task family."""
    answers: ClassVar[str]
    """Name of the outputs in messages."""

    def __init__(
        self,
        checkpoint: str | os.PathLike[str],
        *,
        parser: str | Parser | None = None,
        edges: str | BaseTransform | None = None,
        batch_size: int = 64,
        device: str | torch.device | None = None,
        progress: bool | None = None,
        cache: str | Path | None = None,
        max_words: int = MAX_WORDS,
        truncate: bool = False,
    ) -> None:
        check_batch_size(batch_size)
        options: dict[str, Any] = {"batch_size": batch_size, "device": device, "progress": progress}
        options |= {"limit": WordLimit(max_words, truncate), "cache": cache}
        self.checkpoint, self.parser_failures = os.fspath(checkpoint), 0
        self._own = load_task(checkpoint, edges)
        self._predictor = Predictor(*self._own, self.family, self.answers, parser, self.checkpoint, **options)
        self.config, self.model = self._predictor.config, self._predictor.task.model
        self.parser = self._predictor.parser


_SCRATCH = (None, "transformer")


class TaskEstimator(HubModel, BaseEstimator):
    """Base class of estimators, which write their examples to a file and train a task on it.

    A subclass declares the arguments of ``__init__``, which :meth:`_keep` makes attributes, with further
    keyword arguments as :attr:`settings`. It sets the class variables, calls :meth:`_train_on` with the
    content of the file, and predicts with :meth:`_ready`.
    """

    task: ClassVar[str]
    """The task to train, one for the user's files."""
    called: ClassVar[str] = "the model"
    """Name of a fitted model in messages."""
    answers: ClassVar[str]
    """Name of the outputs in messages."""
    own: ClassVar[tuple[str, ...]] = ()
    """Settings that the subclass gives to :meth:`_train_on`."""
    needed: ClassVar[tuple[str, ...]] = ("train",)
    """Required settings."""
    usual_models: ClassVar[tuple[str, str]]
    """Default models, from scratch and with a pretrained encoder."""

    encoder: str | os.PathLike[str] | None
    model: str | None
    edges: str | BaseTransform | None
    parser: str | Parser
    validation_fraction: float
    random_state: int | np.random.RandomState | None
    batch_size: int
    device: str | torch.device | None
    progress: bool
    folder: str | os.PathLike[str] | None
    cache: str | os.PathLike[str] | None
    callbacks: Sequence[Callback] | None
    max_words: int
    truncate: bool
    settings: dict[str, Any]
    tree_counts: dict[str, Any]
    _predictor: Predictor | None = None
    _trained_edges: str | BaseTransform | None = None

    def _keep(self, given: Mapping[str, Any]) -> None:
        """Keeps the arguments of ``__init__``, its ``locals()``, unchanged, as scikit-learn requires."""
        for name in (*self._get_param_names(), "settings"):
            setattr(self, name, given[name])

    def save(self, file: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Writes the trained model atomically, a checkpoint for :meth:`load` and ``graphdep predict``. An
        earlier file by this method is replaced.

        The texts are not in it: ``graphdep evaluate`` needs the files, such as those in :obj:`folder`, as
        ``--train`` (for the floor) and ``--test``.

        Args:
            file: The file.
            overwrite: Also replace files of other origin. (default: :obj:`False`)

        Raises:
            ValueError: If a file of other origin would be replaced, such as the checkpoint of a run.
        """
        save_task(file, *self._trained(), overwrite=overwrite)

    @classmethod
    def load(
        cls,
        file: str | os.PathLike[str],
        *,
        edges: str | BaseTransform | None = None,
        parser: str | Parser | None = None,
        device: str | torch.device | None = None,
        batch_size: int = 32,
    ) -> Self:
        """Loads a trained model from a file by :meth:`save`, or from the checkpoint of any run of the same
        task family, with the arguments and settings of its training. No code in the file is run.

        Args:
            file: The file, such as ``best.ckpt``.
            edges: The edges of the training, or their name, if they are your own and not registered under the
                name in the file. (default: :obj:`None`)
            parser: Name of a parser, or a parser; :obj:`None` for that of the training if it is
                ``"bundled"``. (default: :obj:`None`)
            device, batch_size: See the class.

        Raises:
            FileNotFoundError: If there is no such file.
            UnknownEdgesError: If the edges must be given.
            ValueError: If it is not a checkpoint, the model belongs to another family, the parser must be
                given, or the edges are not those of the training.
        """
        task, state = load_task(file, edges)
        config = state.config
        check_family(os.fspath(file), config, family_of(cls.task).name, cls.answers)
        if cls._classes(state) is None:
            raise ValueError(f"{os.fspath(file)}: trained on the task {config.task!r}, which has no classes")
        options: dict[str, Any] = {
            "parser": parser_to_use(file, config.parser, parser),
            "device": device,
            "batch_size": batch_size,
            "random_state": config.seed,
        }
        loaded = cls(**options, **cls._arguments_of(config))
        loaded.settings = loaded._settings_of(config)
        trained = loaded.settings.pop("edges", None)
        loaded.edges = edges_of_name(trained) if edges is None else edges
        loaded._set(task, state, os.fspath(file))
        return loaded

    def _set(self, task: Any, state: RunState, name: str, progress: bool | None = False) -> None:
        """Makes a trained model the model of this estimator."""
        options: dict[str, Any] = {"batch_size": plain(self.batch_size), "device": self.device}
        options |= {"progress": progress, "limit": self._limit, "cache": self.cache}
        family = family_of(self.task).name
        self._predictor = Predictor(task, state, family, self.answers, self.parser, name, **options)
        self._trained_edges = self.edges
        if (labels := self._classes(state)) is not None:
            # Sorted, as scikit-learn's scorers of probabilities expect.
            self._order = sorted(range(len(labels)), key=labels.__getitem__)
            self.classes_ = np.array([labels[number] for number in self._order])

    @classmethod
    def _classes(cls, state: RunState) -> Any:
        """The classes of a trained model by number; :obj:`None` for regression."""
        return [str(label) for label in state.labels or ()]

    @classmethod
    def _of_request(cls, task: Any, request: FileRequest) -> Self:
        """A trained model for a file to predict."""
        limit = {"max_words": request.limit.max_words, "truncate": request.limit.truncate}
        asked = cls(parser=cast(Any, request.parser), batch_size=request.batch_size, **cast(Any, limit))
        asked._set(task, request.state, request.checkpoint, None)
        return asked

    def _prediction(
        self, text: str, counts: Mapping[str, Any], notes: Sequence[str], said: str
    ) -> FilePrediction:
        """A file with predictions. Adds the count and the note of words that the model does not know."""
        known = self._ready()
        unknown, lacking = known.unknown_words()
        return FilePrediction(text, {**counts, **unknown}, [*notes, *lacking, said], known.taken)

    def _ready(self) -> Predictor:
        """The predictor, with the current ``batch_size`` and limits."""
        if self._predictor is None:
            check_is_fitted(self, "classes_")
        assert self._predictor is not None
        batch_size = plain(self.batch_size)
        check_batch_size(batch_size)
        self._predictor.batch_size, self._predictor.limit = batch_size, self._limit
        return self._predictor

    @property
    def _limit(self) -> WordLimit:
        return WordLimit(plain(self.max_words), plain(self.truncate))

    def _trained(self) -> tuple[Any, RunState]:
        known = self._ready()
        return known.task, known.state

    def _result(self) -> Mapping[str, Any] | None:
        return getattr(self, "result_", None)

    @classmethod
    def _of_folder(cls, folder: str, **options: Any) -> Self:
        given = {"edges": None, "parser": None, "device": None, "batch_size": 32, **options}
        return cls.load(folder, **given)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The arguments and settings."""
        return {**super().get_params(deep), **self.settings}

    def set_params(self, **params: Any) -> Self:
        """Changes arguments; other names are settings of the training."""
        own = self._get_param_names()
        super().set_params(**{name: value for name, value in params.items() if name in own})
        self.settings = {**self.settings, **{n: value for n, value in params.items() if n not in own}}
        return self

    def _intake(self) -> Intake:
        """Checks and converts the trees of a fit."""
        scheme, policy = (
            plain(self.settings.get(name, usual)) for name, usual in zip(OF_TREES, ("auto", "error"))
        )
        if policy == "skip":
            raise ValueError("'bad_trees' must be error, attach or parse (got 'skip')")
        parser = resolve_parser(self.parser, cache=self._parses()) if policy == "parse" else None
        return Intake(scheme, policy, parser, "bad_trees='attach' or 'parse'")

    def _train_on(self, text: str, name: str, intake: Intake, **own: Any) -> None:
        """Trains on a file with this content, whose name begins with ``name``; ``intake`` has converted its
        trees.
        """
        with temporary_folder("graphdep-fit") as temporary:
            folder = Path(temporary if self.folder is None else self.folder).absolute()
            self._train_in(folder, text, name, intake, own)

    def _train_in(self, folder: Path, text: str, name: str, intake: Intake, own: Mapping[str, Any]) -> None:
        # Fits in one folder, such as those of a search, must not overwrite each other's texts.
        path = folder / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.jsonl"
        config = self._config(path, folder, own)
        if intake.scheme == "auto":  # inputs of predict may have too few trees to decide
            config = config.replace(tree_scheme=intake.decided)
        with atomic_path(path) as temporary:
            temporary.write_text(text, encoding="utf-8", newline="")
        console = plain_console(stderr=True, quiet=not self.progress)
        with override_parsers(self._parses()), showing_progress(console):
            splits = load_splits(config.replace(tree_scheme="as-is"))  # the trees are converted already
        splits = dataclasses.replace(splits, settings=config.data_settings())
        run = run_folder(config, splits, folder)
        callbacks = list(self.callbacks or ())
        result, task, state = train_model(config, run, splits, console, callbacks)
        self.history_ = read_metrics(run / METRICS)
        assert state is not None
        if self.folder is None:  # the files are temporary
            config = config.replace(train=path.name, root=None)
            result |= {"checkpoint": None, "config": config.to_dict()}
        self._set(task, dataclasses.replace(state, config=config), self.called)
        self.tree_counts = intake.counts()
        if note := intake.note():
            result["data"]["notes"] = [*result["data"].get("notes", ()), note]
        self.result_ = result

    def _parses(self) -> Path | None:
        """The cache of parses that fits share; :obj:`None` for the one in :obj:`folder`."""
        if self.cache is not None:
            return Path(self.cache)
        if self.folder is not None:
            return None
        return Path(_parses_of_process(os.getpid()).name, "parses.sqlite")

    def _config(self, path: Path, folder: Path, own: Mapping[str, Any]) -> TrainConfig:
        check_string("parser", self.parser)
        given = self._given(path, folder, own)
        settings = {name: plain(value) for name, value in self.settings.items()}
        twice = sorted(given.keys() & settings.keys())
        if twice:
            raise ValueError(f"{twice[0]!r} cannot be set here (got {settings[twice[0]]!r})")
        scratch, known = self.encoder in _SCRATCH, TrainConfig.of_task(self.task)
        model = plain(self.model) or self.usual_models[not scratch]
        if not scratch and self.encoder not in known.encoders:
            check_encoder_name(os.fspath(cast(str, self.encoder)), known.models)
        if scratch and resolve_model(model, known.models).overrides.get("encoder") not in (
            None,
            *known.encoders,
        ):
            raise ValueError(f"model {model!r} needs a pretrained 'encoder' (got {self.encoder!r})")
        return TrainConfig.of(model, **given, **settings)

    def _given(self, path: Path, folder: Path, own: Mapping[str, Any]) -> dict[str, Any]:
        """The settings from arguments (except :obj:`model`) and from :meth:`fit`."""
        seed = self.random_state
        if not isinstance(seed, (int, np.integer)):
            seed = check_random_state(seed).randint(2**31 - 1)
        on_cpu = resolve_device(self.device).type == "cpu"
        given = {
            "task": self.task,
            "train": str(path),
            **own,
            "root": str(folder / "data"),
            "parser": self.parser,
            **({} if self.edges is None else {"edges": name_of(self.edges)}),
            "val_fraction": self.validation_fraction,
            "val_seed": int(seed),
            "seed": int(seed),
            "batch_size": self.batch_size,
            "max_words": self.max_words,
            "truncate": self.truncate,
            "accelerator": "auto" if self.device is None else "cpu" if on_cpu else "gpu",
            **({} if self.encoder in _SCRATCH else {"encoder": os.fspath(self.encoder)}),
        }
        return {name: plain(value) for name, value in given.items()}

    @classmethod
    def _arguments_of(cls, config: Any) -> dict[str, Any]:
        """The arguments from the settings of a trained model."""
        arguments = {"encoder": config.encoder, "model": config.model}
        if config.kind != TrainConfig.of_task(cls.task).kind:
            return arguments
        files = {"max_words": config.max_words, "truncate": config.truncate}
        return {**arguments, **files, "validation_fraction": config.val_fraction}

    def _settings_of(self, config: TrainConfig) -> dict[str, Any]:
        """The settings of a trained model that differ from its preset and are not arguments."""
        needed = {name: getattr(config, name) for name in self.needed if hasattr(config, name)}
        preset = type(config).of(config.model, task=config.task, **needed).to_dict()
        places = TrainConfig.of_task(self.task).with_mark("place")
        elsewhere = {"model", "encoder", *self._given(Path(), Path(), {}), *self.own, *places}
        own = {name: value for name, value in config.to_dict().items() if value != preset[name]}
        return {name: value for name, value in own.items() if name not in elsewhere}

    def __getstate__(self) -> dict[str, Any]:
        state = {key: value for key, value in super().__getstate__().items() if key != "_predictor"}
        if self._predictor is not None:
            with temporary_folder("graphdep-model") as folder:
                path = Path(folder, "model.ckpt")
                self.save(path)
                state["_checkpoint"] = path.read_bytes()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        checkpoint = state.pop("_checkpoint", None)
        super().__setstate__(state)
        if checkpoint is None:
            return
        with temporary_folder("graphdep-model") as folder:
            path = Path(folder, "model.ckpt")
            path.write_bytes(checkpoint)
            self._set(*load_task(path, self._trained_edges), self.called)


@cache
def _parses_of_process(pid: int) -> tempfile.TemporaryDirectory[str]:
    """A temporary folder of this process, removed when it ends; forked processes have their own."""
    remove_leftovers(tempfile.gettempdir(), "graphdep-parses", "")
    folder = tempfile.TemporaryDirectory(prefix=".graphdep-parses.")
    with contextlib.suppress(OSError):  # not on Windows
        hold(os.open(folder.name, os.O_RDONLY), folder.name)  # until this process ends
    return folder
