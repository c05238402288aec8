"""Every choice of a run on marked spans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from graphdep.tasks.spans.task import Spans
from graphdep.training.config import ModelPreset, TrainConfig
from graphdep.training.encoder_config import WORD_MODELS, WordSettings
from graphdep.training.settings import setting
from graphdep.training.task import resolve_task


@dataclass(frozen=True, kw_only=True)
class SpanConfig(WordSettings, TrainConfig, kind="spans"):
    """Settings of a run on marked spans.

    Args:
        direction, domain, polarities, negatives, val_fraction, val_seed: Options of single corpora, as their
            classes in :mod:`graphdep.datasets` have them (``val_seed`` is the ``seed`` of what is drawn);
            :obj:`None` for the corpus' own default. (default: :obj:`None`)
        readout: What stands for a span (:class:`~graphdep.nn.models.SpanReadout`): ``"mean"`` of its words,
            or its ``"top"`` word, the nearest to the root. (default: ``"mean"``)
        path: Also read the mean over the words on the way through the tree between two spans. (default:
            :obj:`False`)
        encoder: ``"transformer"``, over the edges, or a baseline that reads words or tree itself:
            ``"word-average"``, ``"lstm"``, ``"bilstm"``, ``"bilstm-deep"``, ``"bigru"``, ``"tree-lstm"``,
            ``"bitree-lstm"``, ``"tree-transformer"``, ``"dt-rnn"``; else the name or folder of a pretrained
            Hugging Face encoder, for the models whose names begin with ``bert``. (default: ``"transformer"``)
        word_state: ``"first"`` or ``"mean"``: which pieces of words, of a pretrained encoder, are the state
            of a span. (default: ``"mean"``)
        max_length: Pieces of a sentence at most, for a pretrained encoder; an example that loses a span is
            wrong. (default: :obj:`256`)
        **others: As in :class:`~graphdep.training.encoder_config.WordSettings` and
            :class:`TrainConfig`.

    Raises:
        ValueError: If a value has the wrong type or is outside its range; the message names key and value.
    """

    task: str = "semeval2010"
    model: str = "dt"
    direction: bool | None = None
    domain: str | None = None
    polarities: int | None = None
    negatives: float | None = None
    val_fraction: float | None = None
    val_seed: int | None = None
    readout: str = setting("mean", choices=("mean", "top"), defines=True)
    path: bool = setting(False, defines=True)
    word_state: str = setting("mean", choices=("first", "mean"), defines=True)
    trees: str = "parser"

    models: ClassVar[Mapping[str, ModelPreset]] = WORD_MODELS
    corpus_options: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "direction": "direction",
            "domain": "domain",
            "polarities": "polarities",
            "negatives": "negatives",
            "val_fraction": "val_fraction",
            "val_seed": "seed",  # that of a run is another one
        }
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_encoder()
        self.check_corpus_options()
        if self.path and self.num_spans < 2:
            raise ValueError(f"'path' is between two spans, but {self.task!r} has one (got True)")

    @property
    def span_task(self) -> Spans:
        """The task."""
        task = resolve_task(self.task)
        assert isinstance(task, Spans)
        return task

    @property
    def num_spans(self) -> int:
        """Spans of an example: 1 or 2."""
        return self.span_task.num_spans

    @property
    def outside(self) -> str | None:
        """The label that stands for no finding."""
        return self.span_task.outside

    @property
    def label(self) -> str:
        given = ((name, getattr(self, name)) for name in ("direction", "domain", "polarities", "negatives"))
        return ", ".join([super().label, *(f"{name} {value}" for name, value in given if value is not None)])

    def signatures(self) -> dict[str, str]:
        told = super().signatures()
        if self.direction is False:
            undirected = "; labels have no direction, so that none is wrong"
            told = {name: text + undirected for name, text in told.items()}
        return told
