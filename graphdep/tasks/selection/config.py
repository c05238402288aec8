"""Every choice of a run on response selection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from graphdep.metrics.ranking import FILTERS, RECALLS, TIES, ranking_metric
from graphdep.tasks.selection.matching_settings import MATCHING_ENCODERS, MatchingSettings
from graphdep.tasks.selection.objective_settings import ObjectiveSettings
from graphdep.tasks.selection.presets import SELECTION_MODELS
from graphdep.training.config import ModelPreset, TrainConfig
from graphdep.training.encoder_config import PretrainedSettings
from graphdep.training.settings import setting
from graphdep.training.task import resolve_task

# Of the layer, which is not imported for it.
_BLOCKS = ("attention", "bert")
_MASKS = ("additive", "multiplicative")
_READOUTS = ("cls", "mean", "pair")
_DIRECTIONS = ("ancestors", "descendants", "both")


@dataclass(frozen=True, kw_only=True)
class SelectionConfig(MatchingSettings, ObjectiveSettings, PretrainedSettings, TrainConfig, kind="selection"):
    """Settings of a run on response selection. "Improving Retrieval-based Dialogue System via Syntax-Informed
    Attention" (SIA) gives the layer and no other figure; length, learning rate, batch and epochs are those of
    BERT-FP's public code, on which it builds. That code cuts whichever of context and response is longer,
    ours the context first.

    Args:
        encoder: Name or folder of a Hugging Face encoder, or a published checkpoint of BERT-FP (``*.pt``,
            with :obj:`base`); ``"transformer"`` for one that is trained from scratch on words, or the name of
            a model that matches each utterance with the response
            (:class:`~graphdep.tasks.selection.matching_settings.MatchingSettings`).
            (default: ``"bert-base-uncased"``)
        base: Folder or name of the BERT whose sizes and tokenizer a checkpoint of BERT-FP has.
            (default: :obj:`None`)
        edges: Edges of the encoder itself. (default: ``"transformer"``)
        sia_edges: Edges of the two layers on top: ``"sia"``, ``"sia-intra"``, ``"sia-inter"``,
            ``"transformer"`` or another preset; :obj:`None` for the encoder alone. (default: ``"sia"``)
        sia_layer: Layer of the encoder that they read, counted from 1. (default: 6 of 12, else the middle)
        sia_layers: How many they are. (default: :obj:`2`)
        sia_block: ``"attention"``, or ``"bert"`` for output projection, residual and LayerNorm as well.
            (default: ``"attention"``)
        sia_mask: ``"additive"``, or ``"multiplicative"`` for Eq. 5 as printed. (default: ``"additive"``)
        max_sum: The largest sum of depths, m of Eq. 4. (default: :obj:`4`)
        direction: Whom a word sees in its tree: ``"ancestors"``, ``"descendants"`` or ``"both"``.
            (default: ``"ancestors"``)
        special: What special nodes see and are seen by in SIA's layers: ``"example"``, ``"cls"`` or
            ``"none"``, see ``graphdep.transforms.PRESETS["sia"]``. (default: ``"example"``)
        mlp_layers: Linear layers between what is read and the score; Eq. 2 has one. (default: :obj:`1`)
        readout: What they read, of any encoder and of SIA on it: ``"cls"``, the state of [CLS] as in Eq. 2,
            ``"mean"``, the mean over all pieces of context and response, without special nodes, or
            ``"pair"``, the means u and v of either side as [u; v; abs(u - v); u * v]. With few pairs [CLS]
            stays as good as untrained, where it was no sentence vector before
            (:class:`~graphdep.nn.models.SelectionModel`). (default: ``"cls"``)
        max_length: Words, or pieces of a pretrained encoder, of context and response together at most; the
            context loses its first ones. (default: :obj:`256`, but :obj:`600` of the models that
            match each utterance with the response)
        max_turns: Utterances of a context, the last ones; :obj:`None` for all. (default: :obj:`None`)
        limit_eval: Validate and test on so many pairs only, of pools spread over their splits; acts before
            parsing. (default: :obj:`None`)
        overlap: ``"drop"`` leaves those pools of val and test out that are known from train, ``"keep"`` does
            not; for ``dailydialog-selection`` alone, where the default is ``"drop"``. (default: :obj:`None`)
        pool_size: Candidates that each pool of val and test must have, :obj:`None` for any number; for
            ``ubuntu``, ``douban`` and ``ecommerce``, where the default is that of the corpus, and read only
            if it is another one than 10. (default: :obj:`10`)
        negatives_from: Where negatives are drawn, ``"log"`` or ``"split"``; for ``ubuntu-irc`` alone.
            (default: the corpus' own)
        freeze_layers: Lower layers of a pretrained encoder that are not trained, its embeddings with them;
            0 for none. (default: :obj:`0`)
        head_lr: Learning rate of what stands on a pretrained encoder, whose weights start small;
            :obj:`None` for :obj:`lr`. (default: :obj:`None`)
        layer_decay: Factor of the learning rate from one layer of a pretrained encoder to the one below.
            (default: :obj:`1.0`)
        floor_frozen: As in :class:`~graphdep.training.encoder_config.PretrainedSettings`.
            (default: :obj:`True`)
        objective, manipulated_turns, manipulation_loss, insertion_weight, deletion_weight, search_weight,
            speakers, cuts, order_form, order_places, order_weight, backbone_weight: As in
            :class:`~graphdep.tasks.selection.objective_settings.ObjectiveSettings`.
        filter, recall, ties: Of :func:`graphdep.metrics.ranking_metrics`.
        hidden_channels, num_layers, heads, ff_channels, position_embedding, norm_first: Of
            ``encoder="transformer"``; a pretrained one has its own. (default: 256, 4, 4, 1024)
        dropout: Of the encoder that is trained from scratch, of SIA's attention and before the score.
            (default: :obj:`0.1`)
        **others: As in :class:`~graphdep.tasks.selection.matching_settings.MatchingSettings` and
            :class:`TrainConfig`.

    Raises:
        ValueError: If a value has the wrong type or is outside its range; the message names key and value.
    """

    task: str = "ubuntu"
    model: str = "bert-sia"
    encoder: str = "bert-base-uncased"
    base: str | None = setting(None, published=True)
    edges: str | None = "transformer"
    sia_edges: str | None = setting("sia", defines=True, free=True)
    sia_layer: int | None = setting(None, defines=True)
    sia_layers: int = setting(2, defines=True)
    sia_block: str = setting("attention", choices=_BLOCKS, defines=True)
    sia_mask: str = setting("additive", choices=_MASKS, defines=True)
    direction: str = setting("ancestors", choices=_DIRECTIONS, defines=True, free=True)
    special: str = setting("example", choices=("example", "cls", "none"), defines=True, free=True)
    max_sum: int = setting(4, defines=True)
    mlp_layers: int = setting(1, defines=True)
    readout: str = setting("cls", choices=_READOUTS, defines=True)
    max_distance: int = 2
    min_freq: int = 1
    max_epochs: int = 2
    patience: int | None = None
    batch_size: int = 32
    optimizer: str = "adamw"
    lr: float = 1e-5
    weight_decay: float = 0.01
    hidden_channels: int = 256
    num_layers: int = 4
    heads: int = 4
    ff_channels: int = 1024
    dropout: float = 0.1
    # [CLS], [SEP], a piece of the response, [SEP].
    max_length: int = setting(256, at_least=4, published=True, free=True)
    max_turns: int | None = setting(None, published=True, free=True)
    limit_eval: int | None = setting(None, published=True, free=True)
    overlap: str | None = setting(None, choices=(None, "keep", "drop"), published=True, free=True)
    negatives_from: str | None = setting(None, choices=(None, "log", "split"), published=True, free=True)
    pool_size: int | None = setting(10, published=True, free=True)
    filter: str = setting("both", choices=FILTERS, free=True)
    recall: str = setting("fraction", choices=RECALLS, free=True)
    ties: str = setting("mid", choices=TIES, free=True)

    models: ClassVar[Mapping[str, ModelPreset]] = SELECTION_MODELS
    encoders: ClassVar[Mapping[str, bool]] = {"transformer": True, **dict.fromkeys(MATCHING_ENCODERS, False)}
    of_words: ClassVar[tuple[str, ...]] = tuple(MATCHING_ENCODERS)
    any_encoder: ClassVar[bool] = True
    headed: ClassVar[tuple[str, ...]] = ("transformer",)
    edge_settings: ClassVar[tuple[str, ...]] = ("edges", "sia_edges")

    def __post_init__(self) -> None:
        self.check_model()
        super().__post_init__()
        self.check_matching()
        self.check_pretrained("encoder='transformer'")
        self.check_objective()
        task = resolve_task(self.task)
        for name, usual in (("overlap", None), ("negatives_from", None), ("pool_size", 10)):
            if getattr(self, name) != usual and not task.takes(name):
                raise ValueError(f"{name!r} is not for task {self.task!r} (got {getattr(self, name)!r})")
        if self.batch_tokens is not None:
            raise ValueError("'batch_tokens' is not built for response selection: use 'batch_size'")

    @property
    def from_scratch(self) -> bool:
        """Whether the encoder is trained from nothing, on words."""
        return self.encoder in self.encoders

    @property
    def reads_trees(self) -> bool:
        return super().reads_trees or self.objective == "spider"  # whose triples are arcs

    @property
    def encoder_base(self) -> str | None:
        return self.base

    @property
    def pretrained(self) -> bool:
        return not self.from_scratch

    def dataset_options(self, split: str) -> dict[str, Any]:
        options: dict[str, Any] = {"max_length": self.max_length, "max_turns": self.max_turns}
        if self.negatives_from is not None:
            options["negatives_from"] = self.negatives_from
        if self.pool_size != 10:
            options["pool_size"] = self.pool_size
        if split == "train":
            return options
        overlap = {} if self.overlap is None else {"overlap": self.overlap}
        return {**options, **overlap, "limit": self.limit_eval}

    def signatures(self) -> dict[str, str]:
        options = {"ties": self.ties, "filter": self.filter, "recall": self.recall}
        names = resolve_task(self.task).signatures
        return {name: ranking_metric(name, **options).signature for name in names}

    def data_settings(self) -> dict[str, Any]:
        # The encoder's tokenizer cuts words into pieces; all that start from words share them.
        encoder = "transformer" if self.from_scratch else self.encoder
        return super().data_settings() | {"encoder": encoder, "base": self.base}
