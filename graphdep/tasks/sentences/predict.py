"""Classifiers of texts and sentence encoders."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence, Sized
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
import torch
from lightning import Callback
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from graphdep.data.encoded import trees_data
from graphdep.datasets.base.rows import as_value, check_suffix, column_names, read_text_rows, rows_of_lines
from graphdep.datasets.csv_texts import read_cells
from graphdep.io.limits import (
    MAX_WORDS,
    and_unparsed,
    check_name,
    check_text,
    listed,
    plain,
    plural,
    shown,
)
from graphdep.nn.models.transformer import TextEncoder
from graphdep.nn.passes import evaluating
from graphdep.parsing.enhanced import check_arcs, check_engine
from graphdep.parsing.inputs import ADVICE, has_own_tree, read_examples
from graphdep.parsing.parser import Input, Parser, WordLimit
from graphdep.sentence.intake import Intake
from graphdep.sentence.sentence import Sentence
from graphdep.tasks.sentences.settings import Sentences
from graphdep.training.checkpoint import RunState, load_task
from graphdep.training.estimator import (
    Predictor,
    TaskEstimator,
    check_batch_size,
    check_learnable,
)
from graphdep.training.family import FilePrediction, FileRequest
from graphdep.training.floors import PredictedRow, write_rows
from graphdep.training.hub import HubModel
from graphdep.vocab.relations import RelationVocab
from graphdep.vocab.vocab import Vocab

if TYPE_CHECKING:
    from graphdep.visualization.plots import AttentionMap


def check_width(examples: Sequence[tuple[Input, ...]], trained: int | None = None) -> int:
    """The number of texts in each example; raises :class:`ValueError` unless it is that of the training, or
    without ``trained`` that of the first example.
    """
    wanted = trained or len(examples[0])
    for number, example in enumerate(examples):
        if len(example) != wanted:
            what = {1: "a single text", 2: "a pair of texts"}
            other = ", as the first" if trained is None else ", as in training"
            raise ValueError(f"'X[{number}]' must be {what[wanted]}{other} (got {what[len(example)]})")
    return wanted


def place_in(number: int, column: int, width: int) -> str:
    """The name of a text in messages."""
    return repr(f"X[{number}]" if width == 1 else f"X[{number}][{column}]")


USUAL_COLUMNS: tuple[list[str], ...] = (
    ["text"],
    ["sentence"],
    ["text_1", "text_2"],
    ["sentence1", "sentence2"],
    ["sentence_A", "sentence_B"],
    ["#1 String", "#2 String"],
    ["premise", "hypothesis"],
    ["question1", "question2"],
    ["question", "sentence"],
    ["first", "second"],
)
"""Common names of text columns, in GLUE and elsewhere."""


def predict_rows(task: Any, request: FileRequest) -> FilePrediction:
    """The rows of a ``.csv``, ``.tsv`` or ``.jsonl`` file with predictions for their texts.

    Raises:
        ValueError: If the columns do not fit the model, or a row is invalid; names file and line.
        OSError: If the file cannot be read.
    """
    if request.kind == ".conllu":
        raise ValueError("'output' must end in .csv, .tsv or .jsonl for predictions of texts (got '.conllu')")
    source, model = request.source, SequenceClassifier._of_request(task, request)
    columns = _columns(request)
    if request.lines is None:
        rows = read_text_rows(source, columns)
    else:
        rows = rows_of_lines(source, request.lines, columns)
    cells = [(row, column) for row in rows for column in columns]
    read: Sequence[Input | None] = read_cells(cells, len(columns) == 1, model._ready().intake())
    inputs = iter(read if request.trees is None else request.trees)  # one tree per row
    examples = [tuple(cast(Input, next(inputs)) for _ in columns) for _ in rows]  # no row is skipped
    outputs = model._outputs(examples, lambda n, column: f"{source}:{rows[n].line}: {columns[column]!r}")
    labels = model._classes(request.state)
    if labels is None:
        numbers = task.goal.predict(outputs.double()).tolist()
        predicted = [PredictedRow(number, None) for number in numbers]
    else:
        probabilities = outputs.double().softmax(dim=1)
        named = [dict(zip(map(str, labels), row)) for row in probabilities.tolist()]
        best = probabilities.argmax(dim=1).tolist()
        predicted = [PredictedRow(labels[number], row) for number, row in zip(best, named)]
    names = None if labels is None else [str(label) for label in labels]
    text, replaced = write_rows(request.kind, [row.values for row in rows], predicted, names)
    own, cut = int(model.own_trees.sum()), plural(model._cut_examples, "row")
    notes = [f"columns of the input were replaced: {', '.join(replaced)}"]
    return model._prediction(
        text,
        {
            "rows": len(rows),
            "own_trees": own,
            "parser_failures": model.parser_failures,
            "cut_words": model.cut_words,
            "cut_rows": model._cut_examples,
            "replaced": replaced,
        },
        [*(notes if replaced else []), *([f"own trees: {plural(own, 'text')}"] if own else [])],
        and_unparsed(plural(len(rows), "row"), model.parser_failures)
        + (f", {plural(model.cut_words, 'word')} cut in {cut}" if model.cut_words else ""),
    )


def _columns(request: FileRequest) -> list[str]:
    """The columns of texts: those given, else those of the training, else common names."""
    config = request.state.config
    width = config.num_texts
    if request.lines is not None:
        return ["text"] if width == 1 else ["text_1", "text_2"]
    names: str | None = request.text_columns or getattr(config, "text_columns", None)
    if not request.text_columns:
        check_suffix("path", request.source)
        there = column_names(request.source)
        trained = [] if names is None else [_split(names)]
        found = [row for row in [*trained, *USUAL_COLUMNS] if len(row) == width and {*row} <= {*there}]
        if found:
            return found[0]
    if names is None:
        raise ValueError(
            f"{request.checkpoint}: trained on the task {config.task!r}, which has no names of columns: give "
            f"--text-columns (those of {request.source} are {', '.join(there)})"
        )
    columns = _split(names)
    if len(columns) != width:
        raise ValueError(
            f"'text_columns' must name {width} columns, one per text of the model (got {names!r})"
        )
    return columns


def _split(names: str) -> list[str]:
    return [name.strip() for name in names.split(",")]


_COLUMNS = ("first", "second")


class SequenceClassifier(ClassifierMixin, TaskEstimator):
    r"""Classifies texts or pairs of texts with a Transformer whose attention follows their syntax.

    :meth:`fit` parses the texts and fine-tunes a pretrained encoder, or trains one from scratch, like
    ``graphdep train --task csv``. ``X`` is a list, array or Series of texts or of pairs:

    - a string: a text, which is parsed;
    - a list of strings: the words of a sentence, which is parsed without tokenization;
    - :class:`~graphdep.Sentence`, ``Span`` of spaCy, ``Sentence`` of stanza, ``TokenList`` of conllu, or a
      mapping for :meth:`Sentence.from_dict`: a sentence with its tree, which is used unchanged;
    - ``Doc`` of spaCy, ``Document`` of stanza, or a list of sentences with trees: a text of several
      sentences, joined to one tree (:func:`~graphdep.sentence.join_sentences`);
    - a tuple of two of these, or a row of an array or data frame with two columns: a pair.

    A list is never a pair; a list of two strings with white space, perhaps meant as a pair, is refused. The
    label scheme is decided for all trees of ``X`` together (:class:`~graphdep.sentence.Intake`).

    Args:
        encoder: Name or folder of a pretrained Hugging Face encoder, which needs fewer texts; :obj:`None`
            for an encoder of words from scratch. (default: :obj:`None`)
        model: A model of ``graphdep train``: from scratch e.g. ``"dt"``, ``"transformer"`` (no syntax),
            ``"lstm"``; with a pretrained encoder e.g. ``"bert"`` (no syntax), ``"bert-dt"``, ``"bert-g2g"``,
            ``"bert-dam"``. (default: ``"dt"`` or ``"bert-dt"``)
        edges: Edges instead of the model's: a name for :func:`graphdep.transforms.resolve`, or a transform.
            Copies and pickles keep a transform, files of :meth:`save` do not: give it to :meth:`load`.
            (default: :obj:`None`)
        parser: Name for :func:`graphdep.parsing.resolve_parser`. (default: ``"bundled"``)
        validation_fraction: Share of the texts for validation, by which the best epoch is chosen. (default:
            :obj:`0.1`)
        random_state: Seed of weights, order of texts, dropout and validation share; with a ``RandomState`` or
            :obj:`None` a random one. (default: :obj:`0`)
        batch_size: Texts or pairs per batch, in training and prediction. (default: :obj:`32`)
        device: E.g. ``"cpu"`` or ``"cuda"``; :obj:`None` for a GPU if there is one. (default: :obj:`None`)
        progress: Show epochs on stderr. (default: :obj:`True`)
        folder: Folder to keep the run in, with ``best.ckpt``, texts and parses, e.g. for ``graphdep
            evaluate``; :obj:`None` keeps only the model, in memory. (default: :obj:`None`)
        cache: SQLite file that keeps all parses; :obj:`None` keeps those of training in :obj:`folder`, or
            without one in a temporary file that the fits of this process share. (default: :obj:`None`)
        callbacks: Lightning callbacks for training, see :func:`graphdep.training.train`. (default: none)
        max_words, truncate: Longest text in words, and whether longer texts are cut instead of an error
            (:class:`~graphdep.parsing.parser.WordLimit`). (default: :obj:`10_000`, :obj:`False`)
        **settings: Further settings of ``graphdep train``, such as :obj:`max_epochs` or :obj:`lr`.

    Attributes:
        classes\_: The sorted classes, in the order of the columns of :meth:`predict_proba`.
        history\_: The values of each epoch, as in ``metrics.csv``.
        result\_: The result of the run as in ``result.json``, with ``"checkpoint"`` :obj:`None` without
            :obj:`folder`; loaded models have none.
        own_trees: Whether each text of the last fit or prediction came with a tree, ``[n]``, or for pairs
            ``[n, 2]``.
        tree_counts: Numbers of given trees in the last fit or prediction, of bad ones by reason, and of
            converted ones by scheme (:meth:`Intake.counts`).
        parser_failures: Number of texts in the last prediction whose tree is a chain.
        cut_words: Number of words beyond the length limit of the model in the last prediction.

    Example:
        >>> from graphdep import SequenceClassifier
        >>> texts, labels = ["A fine film.", "So dull."] * 10, ["good", "bad"] * 10
        >>> model = SequenceClassifier("bert-base-uncased", max_epochs=1, progress=False).fit(texts, labels)
        >>> model.classes_, model.predict_proba(["What a film!"]).shape
        (array(['bad', 'good'], dtype='<U4'), (1, 2))
        >>> model.save("reviews.ckpt")
        >>> SequenceClassifier.load("reviews.ckpt").predict(["What a film!"]).shape
        (1,)
    """

    task = "csv"
    answers = "predictions for single texts or pairs"
    called = "the classifier"
    own = ("text_columns", "label_column")
    usual_models = ("dt", "bert-dt")
    needed = ("train", *own)
    cut_words = parser_failures = _cut_examples = 0
    own_trees: np.ndarray

    def __init__(
        self,
        encoder: str | os.PathLike[str] | None = None,
        model: str | None = None,
        *,
        edges: str | BaseTransform | None = None,
        parser: str | Parser = "bundled",
        validation_fraction: float = 0.1,
        random_state: int | np.random.RandomState | None = 0,
        batch_size: int = 32,
        device: str | torch.device | None = None,
        progress: bool = True,
        folder: str | os.PathLike[str] | None = None,
        cache: str | os.PathLike[str] | None = None,
        callbacks: Sequence[Callback] | None = None,
        max_words: int = MAX_WORDS,
        truncate: bool = False,
        **settings: Any,
    ) -> None:
        self._keep(locals())

    def fit(self, X: Any, y: Any) -> SequenceClassifier:
        """Trains on texts and their labels: strings, booleans or numbers.

        Raises:
            TypeError: If an entry is not a text, words or a parse; the message has its position.
            ValueError: If a text is blank or has more than :obj:`max_words` words, a parse is not a tree, a
                label has a control character, the shapes of ``X`` and ``y`` do not fit, there are fewer than
                two classes, or a setting is invalid.
            TrainingError: If the loss is not finite.
        """
        intake = self._intake()
        given = read_examples("X", X, intake)
        width, limit = check_width(given), self._limit
        examples = [
            tuple(limit.input(one, place_in(number, column, width)) for column, one in enumerate(row))
            for number, row in enumerate(given)
        ]
        labels = _check_labels(y, len(examples))
        check_learnable("y", labels.tolist())
        columns = _COLUMNS[:width]
        cells = ([as_value(one) for one in row] for row in examples)
        rows = ({**dict(zip(columns, row)), "label": y} for row, y in zip(cells, labels.tolist()))
        text = "".join(json.dumps(row) + "\n" for row in rows)
        self.own_trees = _own_trees(examples)
        self._train_on(text, "texts", intake, text_columns=",".join(columns), label_column="label")
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The most likely class of each text or pair, ``[n]``.

        Raises:
            TypeError, ValueError: See :meth:`fit`; also if ``X`` has pairs but the model was trained on
                single texts, or vice versa.
        """
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class, ``[n, num_classes]``, float64.

        Raises:
            TypeError, ValueError: See :meth:`predict`.
        """
        examples = self._examples(X)
        logits = self._outputs(examples, lambda n, c: place_in(n, c, len(examples[0])))
        return logits.double().softmax(dim=1).numpy()[:, self._order]

    def attention(self, X: Any) -> list[AttentionMap]:
        """The attention weights between words for each text or pair, in all layers and heads; plot them with
        ``model.attention(["It rains."])[0].plot()``.

        Raises:
            TypeError, ValueError: See :meth:`predict`; also if the model has no attention between words, or a
                text is too long for it.
        """
        from graphdep.visualization.attention import attention_of

        known = self._ready()
        examples = self._examples(X)
        return [attention_of(known.task, known.state, texts, known.parser) for texts in examples]

    def _examples(self, X: Any) -> list[tuple[Input, ...]]:
        known = self._ready()
        examples = read_examples("X", X, known.intake(ADVICE))
        check_width(examples, known.config.num_texts)
        return examples

    @classmethod
    def _classes(cls, state: RunState) -> list[Any] | None:
        task = cast(Sentences, state.config.spec)
        return (state.labels or list(range(task.num_classes))) if task.goal.classifies else None

    def _outputs(self, examples: Sequence[tuple[Input, ...]], place: Callable[[int, int], str]) -> Tensor:
        """The model's outputs, ``[num_examples, C]``; ``place`` names a text by example and position."""
        known, width = self._ready(), len(examples[0])
        places = [place(number, column) for number in range(len(examples)) for column in range(width)]
        trees, numbers = known.distinct_trees([one for row in examples for one in row], places)
        graphs = known.graphs(trees)
        read = [graphs[number] for number in numbers]
        made = [read[start : start + width] for start in range(0, len(read), width)]
        self.own_trees, self.parser_failures = _own_trees(examples), known.parser_failures
        self.tree_counts = known.taken.counts()
        self.cut_words = self._cut_examples = 0
        return torch.cat([self._chunk(known, made[part]) for part in known.chunks(len(made))])

    @torch.inference_mode()
    def _chunk(self, known: Predictor, examples: list[list[Sentence]]) -> Tensor:
        made = [known.data(trees) for trees in examples]
        for data in made if known.config.pretrained else ():
            words = int(data.cut_words.sum())
            self.cut_words += words
            self._cut_examples += words > 0
        outputs: dict[int, Tensor] = {}
        for numbers, batch in known.batches(made):
            outputs |= zip(numbers, known.task(batch).float().cpu())
        return known.check_finite(torch.stack([outputs[number] for number in range(len(made))]))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, True
        return tags


def _own_trees(examples: Sequence[tuple[Input, ...]]) -> np.ndarray:
    own = np.stack([has_own_tree(example) for example in examples])
    return own[:, 0] if own.shape[1] == 1 else own


def _check_labels(y: Any, count: int) -> np.ndarray:
    """Labels as an array ``[count]`` of one type."""
    if tuple(getattr(y, "shape", ()))[1:] == (1,):
        y = column_or_1d(y, warn=True)
    values = listed("y", y, count, "texts")
    for number, value in enumerate(values):
        if not isinstance(value, (str, int, float)) or type(value) is not type(values[0]):
            first = f" as 'y[0]', {shown(values[0])}" if number else ""
            raise TypeError(f"'y[{number}]' must be a text or a number{first} (got {shown(value)})")
        if isinstance(value, str):
            check_text(f"y[{number}]", value, "label")
            check_name(f"y[{number}]", value)
    labels = np.array(values)
    check_classification_targets(labels)
    return labels


class SentenceEncoder(HubModel, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Sentence vectors of a trained model, also as a step of a scikit-learn ``Pipeline``.

    A text is parsed to one tree. Its vector is the encoder's readout, the input of the trained head: for a
    pretrained encoder the state of [CLS], for a frozen one the mean over the pieces, both without the words
    beyond ``max_length``. :meth:`fit` only checks its input. The checkpoint is loaded when first needed;
    copies and pickles load it again.

    Inputs are those of :class:`SequenceClassifier` for single texts. Blank texts get the zero vector. If the
    parser fails on a text, its tree is a chain and a warning is logged; :attr:`parser_failures` counts these
    in the last call. Unknown words are read as ``[UNK]``.

    Args:
        checkpoint: ``best.ckpt`` of a run; for a model in memory see :meth:`from_model`.
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser; :obj:`None` for the
            checkpoint's if it is ``"bundled"``. Others, which may be a file or a download, must be given.
            (default: :obj:`None`)
        edges: The edges of the training, or their name, if they are your own and not registered under the
            name in the checkpoint. (default: :obj:`None`)
        batch_size: Largest number of texts per batch; fewer if they are long. (default: :obj:`64`)
        device: Device of the model; :obj:`None` for a GPU if there is one, or for the device of a model in
            memory. (default: :obj:`None`)
        progress: Show progress on stderr; :obj:`None` for only if there is much work. (default:
            :obj:`False`)
        cache: SQLite file that keeps the parses, e.g. for cross-validation. (default: :obj:`None`)
        max_words, truncate: Longest text in words, and whether longer texts are cut instead of an error
            (:class:`~graphdep.parsing.parser.WordLimit`). (default: :obj:`10_000`, :obj:`False`)

    Example:
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sklearn.pipeline import make_pipeline
        >>> from graphdep import SentenceEncoder
        >>> texts, labels = ["It rains.", "The sun shines.", "It snows."], ["wet", "dry", "wet"]
        >>> model = make_pipeline(SentenceEncoder("best.ckpt"), LogisticRegression()).fit(texts, labels)
        >>> model.predict(["It rains and snows."]).shape
        (1,)
    """

    answers = "sentence vectors"
    parser_failures = 0
    own_trees: np.ndarray
    tree_counts: dict[str, Any]
    _loaded: tuple[tuple[Any, ...], Predictor] | None = None

    def __init__(
        self,
        checkpoint: str | os.PathLike[str] | _InMemory,
        *,
        parser: str | Parser | None = None,
        edges: str | BaseTransform | None = None,
        batch_size: int = 64,
        device: str | torch.device | None = None,
        progress: bool | None = False,
        cache: str | Path | None = None,
        max_words: int = MAX_WORDS,
        truncate: bool = False,
    ) -> None:
        self.checkpoint = checkpoint
        self.parser = parser
        self.edges = edges
        self.batch_size = batch_size
        self.device = device
        self.progress = progress
        self.cache = cache
        self.max_words = max_words
        self.truncate = truncate

    @classmethod
    def from_model(
        cls,
        model: nn.Module,
        vocab: Vocab,
        relations: RelationVocab,
        edges: BaseTransform,
        parser: str | Parser = "bundled",
        *,
        arcs: str = "basic",
        engine: str = "rules",
        max_length: int | None = None,
        **options: Any,
    ) -> SentenceEncoder:
        """Uses the encoder of a model in memory. Copies and pickles contain the model.

        Args:
            model: A :class:`~graphdep.nn.models.TextEncoder`, or a model with one as :obj:`model.encoder`.
            vocab: Its vocabulary.
            relations: Its relations.
            edges: Transform that builds the edges of a batch.
            parser: Name of a parser, or a parser. (default: ``"bundled"``)
            arcs: The arcs of its training: ``"basic"``, ``"enhanced"`` or ``"enhanced++"``. (default:
                ``"basic"``)
            engine: Engine of enhanced graphs, ``"rules"`` or ``"pybart"``. (default: ``"rules"``)
            max_length: Longest text in nodes, for a pretrained encoder. (default: the encoder's limit)
            **options: Further arguments of the class.

        Raises:
            ValueError: If :obj:`arcs` or :obj:`engine` is unknown, or :obj:`max_length` exceeds the limit of
                the encoder or is given for an encoder that is not pretrained.
        """
        check_arcs(arcs)
        check_engine(engine)
        encoder = model if isinstance(model, TextEncoder) else model.encoder
        longest = getattr(encoder, "max_length", None)
        if max_length is not None and (longest is None or max_length > longest):
            takes = "is for a pretrained encoder" if longest is None else f"must be at most {longest}"
            raise ValueError(f"'max_length' {takes} (got {max_length})")
        longest = longest if max_length is None else max_length
        parts = _InMemory(cast(TextEncoder, encoder), vocab, relations, edges, longest, arcs, engine)
        return cls(parts, parser=parser, **options)

    def _trained(self) -> tuple[Any, Any]:
        if isinstance(self.checkpoint, _InMemory):
            raise ValueError("a model in memory has no settings to save: load it from a checkpoint")
        return load_task(self.checkpoint, self.edges)

    def _result(self) -> Mapping[str, Any] | None:
        return None if isinstance(self.checkpoint, _InMemory) else super()._result()

    def encode(self, texts: Any) -> Tensor:
        """The vectors of texts, each independent of the other texts.

        Args:
            texts: A list, tuple, NumPy array or pandas Series of texts, lists of words, or parses.

        Shapes:
            - output: :math:`(n, C)`, float32, on the CPU, in the order of the texts

        Raises:
            TypeError: If :obj:`texts` is a single text, or an entry is not a text; the message has its
                position.
            ValueError: If a parse is not a tree, a text has more than :obj:`max_words` words, the checkpoint
                is invalid or has diverged, the parser must be given, or :obj:`batch_size` is not a whole
                number of at least 1.
        """
        size = plain(self.batch_size)
        check_batch_size(size)
        with _evaluation_mode(self.checkpoint):
            known = self._ready()
            values = _check_texts(texts, known.intake(ADVICE))
            numbers = [n for n, one in enumerate(values) if not isinstance(one, str) or one.strip()]
            known.batch_size, known.limit = size, WordLimit(self.max_words, self.truncate)
            found = torch.zeros(len(values), known.task.model.encoder.hidden_channels)
            places = [f"'texts[{number}]'" for number in numbers]
            if numbers:
                found[numbers] = self._vectors(known, [values[number] for number in numbers], places)
        self.own_trees, self.parser_failures = has_own_tree(values), known.parser_failures if numbers else 0
        self.tree_counts = known.taken.counts()
        return found

    @torch.inference_mode()
    def _encoded(self, known: Predictor, trees: list[Sentence]) -> list[Tensor]:
        made, encoder = [known.data([tree]) for tree in known.graphs(trees)], known.task.model.encoder
        found: dict[int, Tensor] = {}
        for numbers, batch in known.batches(made):
            found |= zip(numbers, encoder.readout(batch, encoder(batch)).float().cpu())
        return [found[number] for number in range(len(made))]

    def _vectors(self, known: Predictor, inputs: Sequence[Input], places: Sequence[str]) -> Tensor:
        """The vectors of inputs, none of them blank."""
        trees, numbers = known.distinct_trees(inputs, places)
        found: list[Tensor] = []
        for part in known.chunks(len(trees), "encoding"):
            found += self._encoded(known, trees[part])
        return known.check_finite(torch.stack(found))[numbers]

    def fit(self, X: Any, y: Any = None) -> SentenceEncoder:
        """Checks that ``X`` has texts; nothing is learnt."""
        _check_texts(X)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """:meth:`encode` as a NumPy array."""
        return self.encode(X).numpy()

    @property
    def _n_features_out(self) -> int:
        # For get_feature_names_out.
        with _evaluation_mode(self.checkpoint):
            return int(self._ready().task.model.encoder.hidden_channels)

    def _ready(self) -> Predictor:
        # set_params() may have changed the arguments, or a new run the file.
        key = self.checkpoint, self._file(), self.parser, self.edges, self.device, self.progress, self.cache
        if self._loaded is None or self._loaded[0] != key:
            self._loaded = key, self._load()
        return self._loaded[1]

    def _load(self) -> Predictor:
        options: dict[str, Any] = {"progress": self.progress, "cache": self.cache}
        if isinstance(held := self.checkpoint, _InMemory):
            device = next(held.parameters()).device if self.device is None else self.device
            return Predictor(
                held, held, None, self.answers, self.parser, "the model", device=device, **options
            )
        task, state = load_task(held, self.edges)
        name = os.fspath(held)
        return Predictor(
            task, state, "sentence", self.answers, self.parser, name, device=self.device, **options
        )

    def _file(self) -> tuple[int, int] | None:
        if isinstance(self.checkpoint, _InMemory) or not os.path.exists(self.checkpoint):
            return None
        status = os.stat(self.checkpoint)
        return status.st_mtime_ns, status.st_size

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_loaded"}

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        tags.requires_fit = False
        return tags


class _InMemory(nn.Module):
    """A model in memory, in the roles of task, state and settings that :class:`Predictor` needs."""

    parser = "bundled"

    def __init__(
        self,
        encoder: TextEncoder,
        vocab: Vocab,
        relations: RelationVocab,
        edges: BaseTransform,
        max_length: int | None,
        arcs: str,
        engine: str,
    ) -> None:
        super().__init__()
        self.model = nn.ModuleDict({"encoder": encoder})
        self.vocab, self.relations, self.edges = vocab, relations, edges
        self.max_length, self.arcs, self.engine = max_length, arcs, engine

    @property
    def config(self) -> Self:
        return self

    def parser_options(self) -> dict[str, Any]:
        return {"arcs": self.arcs, "engine": self.engine}

    def encoded(self, trees: list[Sentence], config: Any, vocab: Vocab, relations: RelationVocab) -> Data:
        tokens = getattr(self.model["encoder"], "tokens", None)  # only pretrained encoders have them
        options: dict[str, Any] = {"max_length": self.max_length, "arcs": self.arcs}
        return trees_data(trees, relations, vocab=vocab, tokens=tokens, **options)


def _evaluation_mode(checkpoint: Any) -> AbstractContextManager[None]:
    """Evaluation mode of a model in memory; loaded models are always in it."""
    return evaluating(checkpoint.model["encoder"]) if isinstance(checkpoint, _InMemory) else nullcontext()


def _check_texts(texts: Any, intake: Intake | None = None) -> list[Input]:
    if isinstance(texts, Sized) and len(texts) == 0:
        return []
    read = read_examples("texts", texts, intake, blank=True)
    if pairs := [number for number, row in enumerate(read) if len(row) > 1]:
        raise ValueError(f"'texts[{pairs[0]}]' must be a single text (got a pair)")
    return [one for (one,) in read]
