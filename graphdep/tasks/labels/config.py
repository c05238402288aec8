"""Every choice of a run on labels of words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from graphdep.datasets.labels.probe_corpus import DEFAULT_FUNCTION, PROBE_FUNCTIONS
from graphdep.datasets.labels.words import Column
from graphdep.tasks.labels.presets import LABEL_MODELS
from graphdep.tasks.labels.task import WordLabels
from graphdep.training.config import ModelPreset, TrainConfig
from graphdep.training.encoder_config import WordSettings
from graphdep.training.settings import PARSED, setting
from graphdep.training.task import resolve_task


@dataclass(frozen=True, kw_only=True)
class LabelConfig(WordSettings, TrainConfig, kind="labels"):
    """Settings of a run on labels of words.

    Args:
        key: Of ``ud-tags``, the label: ``"upos"``, ``"xpos"``, ``"deprel"``, ``"lemma"`` or ``"feats"``, or a
            key of one of two columns, ``"feats:KEY"`` or ``"misc:KEY"``. Words without it are not scored.
            (default: ``"upos"``)
        absent: Label of words without it, which are then scored; for keys that mark some words only.
            (default: :obj:`None`)
        form, name, verbs, train_from, ud_from, nominals, function, sentences, projective, data_seed: Options
            of single corpora, as their classes in :mod:`graphdep.datasets` have them (``data_seed`` is the
            ``seed`` of generated data); :obj:`None` for the corpus' own default. (default: :obj:`None`)
        trees: ``"gold"`` for the corpus' own trees; ``"parser"`` for those of :obj:`parser`, which is read
            for nothing else where a corpus has its own. Controls replace the trees. (default: ``"gold"``, or
            ``"parser"`` where a corpus has none)
        encoder: ``"transformer"``, over the edges, or a baseline that reads words or tree itself:
            ``"word-average"``, ``"lstm"``, ``"bilstm"``, ``"bilstm-deep"``, ``"bigru"``, ``"tree-lstm"``,
            ``"bitree-lstm"``, ``"tree-transformer"``, ``"dt-rnn"``; else the name or folder of a pretrained
            Hugging Face encoder, for the models whose names begin with ``bert``. (default: ``"transformer"``)
        word_state: ``"first"`` or ``"mean"``: which pieces of a word, of a pretrained encoder, are its state.
            (default: ``"first"``)
        crf: Learn a score of one label after another, for whole sentences (:class:`LinearChainCRF`).
            (default: :obj:`False`)
        decode: ``"argmax"``, or ``"viterbi"`` for the best sequence of labels, which of spans is one that BIO
            allows; with :obj:`crf` it is always that. (default: ``"argmax"``)
        min_freq: Words seen less often are unknown; as some of the training split have to be, for the model
            to learn what becomes of them. (default: :obj:`2`, of ``cogs`` :obj:`1`)
        max_length: Pieces of a sentence at most, for a pretrained encoder; words beyond it count as wrong.
            (default: :obj:`256`)
        **others: As in :class:`~graphdep.training.encoder_config.WordSettings` and
            :class:`TrainConfig`.

    Raises:
        ValueError: If a value has the wrong type or is outside its range; the message names key and value.
    """

    task: str = "ud-tags"
    model: str = "dt"
    key: str = setting("upos", defines=True)
    absent: str | None = setting(None, defines=True)
    form: str | None = None
    name: str | None = None
    verbs: str | None = None
    train_from: str | None = None
    ud_from: str | None = setting(None, place=True)
    function: str | None = None
    sentences: int | None = None
    projective: bool | None = None
    nominals: str | None = None
    data_seed: int | None = None
    trees: str = "gold"
    word_state: str = setting("first", choices=("first", "mean"), defines=True)
    crf: bool = setting(False, defines=True)
    decode: str = setting("argmax", choices=("argmax", "viterbi"), late=True)
    freeze_layers: int = 0
    head_lr: float | None = None
    layer_decay: float = 1.0

    models: ClassVar[Mapping[str, ModelPreset]] = LABEL_MODELS
    corpus_options: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "form": "form",
            "name": "name",
            "verbs": "verbs",
            "train_from": "train_from",
            "ud_from": "ud_from",
            "nominals": "nominals",
            "function": "function",
            "sentences": "sentences",
            "projective": "projective",
            "data_seed": "seed",  # that of a run is another one
        }
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_encoder()
        self.check_corpus_options()
        for name, default in (("key", "upos"), ("absent", None)):
            if getattr(self, name) != default and not self.word_task.takes(name):
                raise ValueError(f"{name!r} is not for task {self.task!r} (got {getattr(self, name)!r})")
        if self.decode != "argmax" and self.scheme != "bio":
            raise ValueError(f"'decode' is for labels of spans, which follow rules (got {self.decode!r})")
        if self.crf and self.monitor == "loss":
            raise ValueError(
                "'monitor' cannot be 'loss' with 'crf': the loss of a split is that of single words"
            )
        if self.crf and self.outside is None:
            raise ValueError(f"'crf' is for tasks with a label of no finding, not {self.task!r} (got True)")
        Column(self.key, self.absent)

    @property
    def word_task(self) -> WordLabels:
        """The task."""
        task = resolve_task(self.task)
        assert isinstance(task, WordLabels)
        return task

    @property
    def has_key(self) -> bool:
        """Whether :obj:`key` says where the labels are."""
        return self.word_task.takes("key")

    @property
    def reads_own_trees(self) -> bool:
        """Whether the trees of a file with trees are read, and not a parser's."""
        return self._parser == "gold" or getattr(self.word_task.corpus, "keeps_trees", False)

    @property
    def outside(self) -> str | None:
        """The label that stands for no finding."""
        return self.word_task.outside

    @property
    def marked(self) -> bool:
        """Whether examples have a marked word."""
        if self.word_task.takes("function"):
            return PROBE_FUNCTIONS[self.function or DEFAULT_FUNCTION].needs_mark
        return self.word_task.marked

    @property
    def scheme(self) -> str:
        """``"bio"`` where labels say where spans begin and go on, else ``"words"``."""
        return "bio" if self.form == "spans" else "words"

    @property
    def label(self) -> str:
        own = [f"key {self.key}"] if self.has_key else []
        given = ((name, getattr(self, name)) for name in ("form", "name", "function"))
        own += [f"{name} {value}" for name, value in given if value is not None]
        return ", ".join([super().label, *own])

    def dataset_options(self, split: str) -> dict[str, Any]:
        own = {"key": self.key, "absent": self.absent} if self.word_task.takes("key") else {}
        return super().dataset_options(split) | own | {"parser": self._parser}

    def data_settings(self) -> dict[str, Any]:
        return super().data_settings() | {"parser": self._parser}

    def named(self) -> dict[str, Any]:
        read = self._parser != "gold"
        return {name: value for name, value in super().named().items() if read or name != "parser"}

    def signatures(self) -> dict[str, str]:
        read = self.reads_own_trees and self.trees not in ("random", "chain")  # which have no labels
        given = self.has_key and self.key == "deprel" and read
        note = "; models that read the labels of the treebank's arcs read the answer" if given else ""
        spans = (
            "; labels are spans, right if first word, last word and label are" if self.scheme == "bio" else ""
        )
        if self.form == "spans":
            spans += "; C-X is a label of its own, which srl-eval.pl of CoNLL-2005 joins with X"
        told = super().signatures()
        return {
            name: f"{text}{spans if name in ('f1', 'macro_f1') else ''}{note}" for name, text in told.items()
        }

    @property
    def _parser(self) -> str:
        """What gives the trees that a control may replace: where a corpus has its own, it needs no parse."""
        parsed = self.trees == "parser" or self.trees in PARSED
        return "gold" if self.word_task.gold_trees and not parsed else self.parser
