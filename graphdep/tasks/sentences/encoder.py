"""Texts in, vectors out: a trained encoder as a scikit-learn transformer."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from torch import Tensor, nn
from torch_geometric.data import Batch
from torch_geometric.transforms import BaseTransform

from graphdep.data import trees_data
from graphdep.io.limits import MAX_WORDS, shown
from graphdep.nn.models import TextEncoder
from graphdep.parsing import Parser, enhance, resolve_parser
from graphdep.parsing.enhanced import check_arcs
from graphdep.parsing.parser import WordLimit
from graphdep.sentence import Sentence, join_sentences
from graphdep.training.estimator import (
    batches_by_size,
    check_batch_size,
    check_family,
    parser_to_use,
    resolve_device,
    tracked,
)
from graphdep.training.hub import HubModel
from graphdep.vocab import RelationVocab, Vocab

_PROGRESS_FROM = 64


class SentenceEncoder(HubModel, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Sentence vectors of a trained model, as a function and as a step of a scikit-learn ``Pipeline``.

    A text is parsed and becomes one tree, as in the corpora; its vector is the encoder's readout of that
    tree, the state below the head that was trained on top. Of a pretrained encoder that is the state of
    [CLS], of a frozen one the mean over the pieces; a text that is longer than its setting ``max_length``
    loses its last words. Nothing is learnt here: :meth:`fit` checks its input. The checkpoint is loaded when
    it is first needed, and is left out of copies and pickles, which load it again.

    No text is refused but one of more than :obj:`max_words` words. An empty one, or one of white space alone,
    has no tree and gets the zero vector. A text that the parser fails on, such as a sentence of more words
    than it takes, has a chain for a tree: :attr:`parser_failures` counts those of the last call, and a
    warning is logged. A word that training has not seen, of whatever language, is ``[UNK]``.

    Args:
        checkpoint: ``best.ckpt`` of a run; for a model in memory see :meth:`from_model`.
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser; :obj:`None` for the
            checkpoint's if that is ``"bundled"``. The name of another one may stand for a file or a download,
            which no checkpoint may ask for by itself: it has to be given here. (default: :obj:`None`)
        edges: The edges that it was trained with, or their name, where they are your own and not known by the
            name in the checkpoint, which holds no code. (default: :obj:`None`)
        batch_size: Texts a batch at most; fewer where they are long. (default: :obj:`64`)
        device: Where the model runs; :obj:`None` for a GPU if there is one, and for a model in memory for
            where it is. (default: :obj:`None`)
        progress: Show progress on stderr; :obj:`None` for it if there is some work to do.
            (default: :obj:`False`)
        cache: SQLite file that keeps the parses, so that none is made twice, e.g. in cross-validation.
            (default: :obj:`None`)
        max_words, truncate: Words of a text at most (:class:`~graphdep.parsing.parser.WordLimit`), and
            whether the first ones of a longer text are read, which else is an error. (default:
            :obj:`10_000`, :obj:`False`)

    Example:
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sklearn.pipeline import make_pipeline
        >>> from graphdep import SentenceEncoder
        >>> texts, labels = ["It rains.", "The sun shines.", "It snows."], ["wet", "dry", "wet"]
        >>> model = make_pipeline(SentenceEncoder("best.ckpt"), LogisticRegression()).fit(texts, labels)
        >>> model.predict(["It rains and snows."]).shape
        (1,)
    """

    parser_failures = 0
    _loaded: tuple[tuple, _Parts, Parser] | None = None

    def __init__(
        self,
        checkpoint: str | os.PathLike[str] | _Parts,
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
        max_length: int | None = None,
        **options: Any,
    ) -> SentenceEncoder:
        """The encoder of a model in memory. Copies and pickles hold the model.

        Args:
            model: An encoder (:class:`~graphdep.nn.models.TextEncoder`), or a model that has one as
                :obj:`model.encoder`.
            vocab: Its words.
            relations: Its relations.
            edges: Transform that builds the edges of a batch.
            parser: Name of a parser, or a parser. (default: ``"bundled"``)
            arcs: ``"basic"``, ``"enhanced"`` or ``"enhanced++"``: the arcs that it was trained on.
                (default: ``"basic"``)
            max_length: Of a pretrained encoder, nodes of a text at most. (default: as many as it takes)
            **options: Further arguments of the class.

        Raises:
            ValueError: If :obj:`arcs` is unknown, or :obj:`max_length` is more than the encoder takes or for
                an encoder that is not pretrained.
        """
        check_arcs(arcs)
        encoder = model if isinstance(model, TextEncoder) else model.encoder
        longest = getattr(encoder, "max_length", None)
        if max_length is not None and (longest is None or max_length > longest):
            takes = "is for a pretrained encoder" if longest is None else f"must be at most {longest}"
            raise ValueError(f"'max_length' {takes} (got {max_length})")
        longest = longest if max_length is None else max_length
        parts = _Parts(cast(TextEncoder, encoder), vocab, relations, edges, longest, arcs)
        return cls(parts, parser=parser, **options)

    def _trained(self) -> tuple[Any, Any]:
        if isinstance(self.checkpoint, _Parts):
            raise ValueError("'checkpoint' must be that of a run: a model in memory has no settings to save")
        from graphdep.training import load_task

        return load_task(self.checkpoint, self.edges)

    def _result(self) -> Mapping[str, Any] | None:
        return None if isinstance(self.checkpoint, _Parts) else super()._result()

    def encode(self, texts: Sequence[str]) -> Tensor:
        """The vectors of texts. Equal texts are encoded once, and a text has the same vector in any company.

        Args:
            texts: A list, tuple, NumPy array or pandas Series of strings.

        Shapes:
            - output: :math:`(n, C)`, float32, on the CPU, in the order of the texts

        Raises:
            TypeError: If :obj:`texts` is one string, or an entry is none; the message has its position.
            ValueError: If a text has more than :obj:`max_words` words, before any is parsed; the checkpoint
                is none, or was trained with a parser that has to be given; :obj:`batch_size` is no whole
                number of at least 1; or a vector is not finite.
        """
        values = _check_texts(texts)
        size = self.batch_size
        check_batch_size(int(size) if isinstance(size, np.integer) else size)
        limit = WordLimit(self.max_words, self.truncate)
        values = [limit.text(text, f"'texts[{number}]'") for number, text in enumerate(values)]
        place_of = {text: f"'texts[{number}]'" for number, text in reversed([*enumerate(values)])}
        parts, parser = self._load()
        before = parser.failures
        parses = dict(zip(values, parser.parse(values)))
        self.parser_failures = parser.failures - before
        row = {text: number for number, text in enumerate(parses)}
        rows = [row[text] for text, parse in parses.items() if parse]
        trees = [limit.tree(join_sentences(parse), place_of[text]) for text, parse in parses.items() if parse]
        vectors = torch.zeros(len(row), parts.encoder.hidden_channels)
        batches = batches_by_size([len(tree) + 1 for tree in trees], int(size))
        for batch in tracked(batches, "encoding", self.progress, much=len(trees) >= _PROGRESS_FROM):
            vectors[[rows[number] for number in batch]] = parts.encode([trees[number] for number in batch])
        vectors = vectors[[row[text] for text in values]]
        self._check_finite(vectors)
        return vectors

    def fit(self, X: Sequence[str], y: Any = None) -> SentenceEncoder:
        """Checks that ``X`` holds texts; there is nothing to learn."""
        _check_texts(X)
        return self

    def transform(self, X: Sequence[str]) -> np.ndarray:
        """:meth:`encode` as a NumPy array."""
        return self.encode(X).numpy()

    @property
    def _n_features_out(self) -> int:
        # For get_feature_names_out.
        return self._load()[0].encoder.hidden_channels

    def _load(self) -> tuple[_Parts, Parser]:
        # What was loaded counts as long as what it was loaded by is the same: set_params() may have changed
        # it, or a training the file.
        key = self.checkpoint, self._file(), self.parser, self.edges, self.device, self.progress, self.cache
        if self._loaded is None or self._loaded[0] != key:
            parts, name = self._load_parts()
            options: dict[str, Any] = {} if isinstance(name, Parser) else {"progress": self.progress}
            reads = {"arcs": parts.arcs, "constituents": bool(parts.phrases), **options}
            self._loaded = key, parts, resolve_parser(name, cache=self.cache, **reads)
        return self._loaded[1:]

    def _file(self) -> tuple[int, int] | None:
        if isinstance(self.checkpoint, _Parts) or not os.path.exists(self.checkpoint):
            return None
        status = os.stat(self.checkpoint)
        return status.st_mtime_ns, status.st_size

    def _check_finite(self, vectors: Tensor) -> None:
        (wrong,) = (~vectors.isfinite().all(dim=1)).nonzero(as_tuple=True)
        if wrong.numel():
            name = "the model" if isinstance(self.checkpoint, _Parts) else f"{os.fspath(self.checkpoint)}:"
            raise ValueError(
                f"{name} has diverged in training: the vector of 'texts[{int(wrong[0])}]' is not finite"
            )

    def _load_parts(self) -> tuple[_Parts, str | Parser]:
        if isinstance(self.checkpoint, _Parts):
            if self.device is not None:
                self.checkpoint.encoder.to(self.device)
            return self.checkpoint, "bundled" if self.parser is None else self.parser
        from graphdep.training import load_task  # here, since Lightning takes seconds to import

        task, state = load_task(self.checkpoint, self.edges)
        check_family(os.fspath(self.checkpoint), state.config, "sentence", "sentence vectors")
        encoder = cast(TextEncoder, task.model.encoder)
        parser = parser_to_use(self.checkpoint, state.config.parser, self.parser)
        device = resolve_device(self.device)
        config: Any = state.config
        read = config.max_length if config.pretrained else None, config.arcs, config.phrases_read
        return _Parts(encoder.to(device), state.vocab, state.relations, task.edges, *read), parser

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_loaded"}

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        tags.requires_fit = False
        return tags


@dataclass(frozen=True, eq=False, repr=False)
class _Parts:
    """What turns trees into vectors."""

    encoder: TextEncoder
    vocab: Vocab
    relations: RelationVocab
    edges: BaseTransform
    max_length: int | None = None
    arcs: str = "basic"
    phrases: bool | str = False

    def encode(self, trees: list[Sentence]) -> Tensor:
        """Their vectors, on the CPU; the encoder is left in the mode that it is in."""
        if self.arcs != "basic":
            trees = enhance(trees, level=self.arcs)
        options: dict[str, Any] = {"vocab": self.vocab, "max_length": self.max_length, "arcs": self.arcs}
        options["phrases"] = self.phrases
        options["tokens"] = getattr(self.encoder, "tokens", None)  # of a pretrained one
        examples = [trees_data([tree], self.relations, **options) for tree in trees]
        device = next(self.encoder.parameters()).device
        training = self.encoder.training
        self.encoder.eval()
        try:
            with torch.inference_mode():
                batch = self.edges(Batch.from_data_list(examples).to(device))
                return self.encoder.readout(batch, self.encoder(batch)).float().cpu()
        finally:
            self.encoder.train(training)


def _check_texts(texts: Any) -> list[str]:
    # NumPy arrays and pandas Series have dimensions, and are no Sequence.
    one_dimension = getattr(texts, "ndim", None) == 1 or isinstance(texts, Sequence)
    if isinstance(texts, (str, bytes)) or not one_dimension:
        raise TypeError(f"'texts' must be a list or one-dimensional array of strings (got {shown(texts)})")
    values = texts.tolist() if hasattr(texts, "tolist") else list(texts)
    for number, text in enumerate(values):
        if not isinstance(text, str):
            raise TypeError(f"'texts[{number}]' must be a string (got {shown(text)})")
    return values
