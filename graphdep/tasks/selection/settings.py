"""Tasks of response selection, their presets and settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from graphdep.metrics.metric import Metric
from graphdep.metrics.ranking import FILTERS, RANKING, RECALLS, TIES, ranking_metric
from graphdep.training.config import ModelPreset, TrainConfig
from graphdep.training.encoder_config import PretrainedSettings
from graphdep.training.family import Published
from graphdep.training.settings import setting
from graphdep.training.task import Task


@dataclass(frozen=True)
class Selections(Task):
    """The right response to a context, among candidates.

    Example:
        >>> from graphdep.datasets import Ubuntu
        >>> from graphdep.tasks import Selections
        >>> task = Selections("Ubuntu", Ubuntu, "datasets/ubuntu", defaults={"max_length": 128})
        >>> [metric.name for metric in task.metrics]
        ['P@1']
    """

    kind: ClassVar[str] = "selection"

    @property
    def metrics(self) -> tuple[Metric, ...]:
        # The one whose name does not tell the size of the pools, which may differ between the splits; with
        # one right candidate a pool it is R_n@1.
        return (RANKING["P@1"],)

    @property
    def signatures(self) -> dict[str, str]:
        return {name: metric.signature for name, metric in RANKING.items()}


# Chinese words have characters for pieces, and there is no bundled parser for them.
_CHINESE = {"encoder": "bert-base-chinese", "parser": "stanza:zh"}

TASKS: dict[str, Task] = {
    "ubuntu": Selections("Ubuntu", "graphdep.datasets:Ubuntu", "datasets/ubuntu"),
    "ubuntu-irc": Selections("#ubuntu, reply chains", "graphdep.datasets:UbuntuIRC", "datasets/ubuntu-irc"),
    "douban": Selections("Douban", "graphdep.datasets:Douban", "datasets/douban", defaults=_CHINESE),
    "ecommerce": Selections(
        "E-commerce", "graphdep.datasets:ECommerce", "datasets/ecommerce", defaults=_CHINESE
    ),
    "dailydialog-selection": Selections(
        "DailyDialog, response selection",
        "graphdep.datasets:DailyDialogSelection",
        "datasets/dailydialog",
        defaults={"overlap": "drop"},  # a fifth of the test pools is in train
    ),
}
COLUMNS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("ubuntu", "ubuntu-irc", "dailydialog-selection", "ecommerce"),
        ("test_R10@1", "test_R10@2", "test_R10@5", "test_MRR", "val_MRR"),
    ),
    "douban": (
        *("test_MAP", "test_MRR", "test_P@1", "test_R10@1", "test_R10@2", "test_R10@5"),
        "val_MRR",
    ),
}
"""The scores of a table, the one that the paper reports first."""


# Trained from nothing, for which the rate and epochs of fine-tuning are too small.
_MATCHING: dict[str, object] = {
    "sia_edges": None,
    "max_length": 600,  # the last ten turns and the response, of 50 words each
    "hidden_channels": 200,
    "dropout": 0.0,
    "optimizer": "adam",
    "lr": 1e-3,
    "weight_decay": 0.0,
    "max_epochs": 10,
    "patience": 3,
}


def _bert(summary: str, sia_edges: str | None, **overrides: object) -> ModelPreset:
    return ModelPreset(summary, "transformer", overrides={"sia_edges": sia_edges, **overrides})


def _matching(summary: str, encoder: str, **overrides: object) -> ModelPreset:
    return ModelPreset(summary, None, overrides={**_MATCHING, "encoder": encoder, **overrides})


SELECTION_MODELS: dict[str, ModelPreset] = {
    # Table 2
    "bert": _bert("the encoder alone: its [CLS] decides", None),
    "bert-vanilla": _bert("two more attention layers on layer k, over all pairs", "transformer"),
    "bert-intra": _bert("SIA over ancestors alone", "sia-intra"),
    "bert-inter": _bert("SIA over pairs of small depth alone", "sia-inter"),
    "bert-sia": _bert("SIA: ancestors, and pairs of small depth across utterances", "sia"),
    # the other reading of its text: a word sees what depends on it
    "bert-sia-descendants": _bert(
        "SIA over descendants in place of ancestors", "sia", direction="descendants"
    ),
}
# Table 1: what the paper compares with, and what it does not have: SIA on each of them.
for _name, _summary in {
    "ums": "UMS: which utterance was moved, does not belong there, or came before",
    "ss-da": "SS-DA: who speaks, and dialogues that are cut off earlier as further pairs",
    "spider": "SPIDER: the order of shuffled utterances, and subject, verb and object together",
}.items():
    SELECTION_MODELS[f"bert-{_name}"] = _bert(f"the encoder with {_summary}", None, objective=_name)
    SELECTION_MODELS[f"bert-{_name}-sia"] = _bert(f"SIA with {_summary}", "sia", objective=_name)
# Models from words that match each utterance with the response, at the papers' sizes.
SELECTION_MODELS |= {
    "smn": _matching(
        "Sequential Matching Network, from words: images of an utterance and the response, 200 channels, "
        "learning rate 1e-3",
        "smn",
    ),
    "dua": _matching(
        "Deep Utterance Aggregation, from words: SMN over states that have read the last utterance and their "
        "own text, 200 channels, learning rate 1e-3",
        "dua",
    ),
    "dam-2018": _matching(
        "Deep Attention Matching of 2018, from words: attention within and across each utterance and the "
        "response, 200 channels, 5 layers, 9 turns, products scaled as in its code, learning rate 1e-3",
        "dam-2018",
        num_layers=5,
        image_turns=9,
        matching_form="code",
    ),
    "ioi": _matching(
        "Interaction-over-Interaction network, from words: seven blocks of interaction, a loss for each, 200 "
        "channels, dropout .2, learning rate 1e-3 (published: 1e-4)",
        "ioi",
        num_layers=7,
        dropout=0.2,
    ),
}


_SIA = "Improving Retrieval-based Dialogue System via Syntax-Informed Attention"
_SELECTION_SIZES: dict[str, dict[str, int]] = {  # pairs of a context and a candidate
    "ubuntu": {"train": 1_000_000, "val": 500_000, "test": 500_000},
    "douban": {"train": 1_000_000, "val": 50_000, "test": 10_000},
    "ecommerce": {"train": 1_000_000, "val": 10_000, "test": 10_000},
}
# R10@1; for Douban MAP, which counts several right candidates.
_SELECTION_ROWS: dict[str, dict[str, float]] = {
    "ubuntu": {
        "smn": 0.726,
        "dua": 0.752,
        "dam-2018": 0.767,
        "ioi": 0.796,
        "bert": 0.808,
        "bert-sia": 0.821,
        "bert-ums": 0.843,
        "bert-ss-da": 0.826,
        "bert-spider": 0.831,
    },
    "douban": {
        "smn": 0.529,
        "dua": 0.551,
        "dam-2018": 0.550,
        "ioi": 0.573,
        "bert": 0.591,
        "bert-sia": 0.597,
        "bert-ums": 0.597,
        "bert-ss-da": 0.602,
        "bert-spider": 0.598,
    },
    "ecommerce": {
        "smn": 0.453,
        "dua": 0.501,
        "dam-2018": 0.526,
        "ioi": 0.563,
        "bert": 0.610,
        "bert-vanilla": 0.616,
        "bert-intra": 0.623,
        "bert-inter": 0.651,
        "bert-sia": 0.655,
        "bert-ums": 0.674,
        "bert-ss-da": 0.627,
        "bert-spider": 0.626,
    },
}
_SELECTION_OTHERS: dict[str, tuple[float, float, float]] = {
    "BERT-FP": (0.911, 0.644, 0.870),
    "BERT-FP + SIA": (0.914, 0.648, 0.874),
}


def _of_selection(place: int, task: str) -> Published:
    return Published(
        f'"{_SIA}", Table 1; rows of E-commerce between: its Table 2',
        "MAP" if task == "douban" else "R10@1",
        _SELECTION_ROWS[task],
        _SELECTION_SIZES[task],
        {name: values[place] for name, values in _SELECTION_OTHERS.items()},
        "the paper says neither m, learning rate nor length, nor which pools of Douban it leaves out; the "
        "code of BERT-FP leaves out only those without a right candidate (filter=negative); its bert-ss-da "
        "is over RoBERTa",
    )


PAPER: dict[str, Published] = {
    task: _of_selection(place, task) for place, task in enumerate(_SELECTION_SIZES)
}


MATCHING_ENCODERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "smn": ("match_channels", "image_words", "image_turns", "accumulation"),
        "dua": ("match_channels", "image_words", "image_turns", "matching_form"),
        "dam-2018": ("num_layers", "image_words", "image_turns", "matching_form"),
        "ioi": ("num_layers", "image_words", "image_turns", "matching_form", "block_objective"),
    }
)
"""Models by name, and which of the settings below each reads."""
# Of the layer, which is not imported for it.
_MATCHING_FORMS = ("paper", "code")
_OBJECTIVES = ("local", "global")
_ACCUMULATIONS = ("dynamic", "static", "last")
_OWN = ("match_channels", "image_words", "image_turns", "accumulation", "matching_form", "block_objective")
# What stands on an encoder, and so has no place in a model that is none.
_OF_ENCODERS: Mapping[str, Any] = MappingProxyType(
    {"objective": None, "sia_edges": None, "readout": "cls", "mlp_layers": 1}
)


@dataclass(frozen=True, kw_only=True)
class MatchingSettings:
    """Settings of the models from words that other papers compare with, for a :class:`TrainConfig` to inherit
    from as well; :func:`~graphdep.tasks.selection.model.build_matching_model` builds them. Their
    presets have the papers' sizes, and a :obj:`max_length` of 600, which ten utterances and a response of 50
    words fit in; words beyond the 50 of an utterance take room as well, so that of contexts with longer ones
    the first utterances may be cut. Not the papers' are what word vectors start from (nothing, unless
    :obj:`vectors` is set), :obj:`batch_size`, :obj:`max_epochs` and the learning rates of DUA (.005) and IOI
    (1e-4). :obj:`hidden_channels`, :obj:`num_layers`, the sizes here, and :obj:`max_length` and
    :obj:`max_turns`, which cut contexts, make smaller ones.

    Where few pairs train them, rate and :obj:`vectors_scale` decide whether they learn at all: IOI, after
    20,000 pairs of DailyDialog once (one seed), has a validation R10@1 of .47 with ``lr=5e-4`` and GloVe's
    vectors as they are, .14 with these divided to unit length, and .16 with ``lr=1e-3``.

    Args:
        match_channels: Of encoders ``"smn"`` and ``"dua"``: size of the matching vectors, and of the GRU over
            them. (default: :obj:`50`)
        image_words: Words of an utterance that are read, the last ones: rows and columns of an image of
            similarities. (default: :obj:`50`)
        image_turns: Utterances of a context that are read, the last ones; those without words do not count.
            (default: :obj:`10`, but :obj:`9` of preset ``dam-2018``)
        accumulation: Of encoder ``"smn"``: what the context's vector is made of, ``"dynamic"``,
            ``"static"`` or ``"last"`` (:class:`~graphdep.nn.models.SMN`). (default: ``"dynamic"``)
        matching_form: Of encoders ``"dua"``, ``"dam-2018"`` and ``"ioi"``: as in the ``"paper"`` or as in its
            ``"code"``, where they disagree (:class:`~graphdep.nn.models.DUA`,
            :class:`~graphdep.nn.models.DeepAttentionMatching`, :class:`~graphdep.nn.models.IOI`).
            (default: ``"paper"``)
        block_objective: Of encoder ``"ioi"``: what learns the label, each block (``"local"``) or their sum
            (``"global"``). (default: ``"local"``)
    """

    match_channels: int = setting(50, published=True)
    image_words: int = setting(50, published=True)
    image_turns: int = setting(10, published=True)
    accumulation: str = setting("dynamic", choices=_ACCUMULATIONS, defines=True)
    matching_form: str = setting("paper", choices=_MATCHING_FORMS, defines=True)
    block_objective: str = setting("local", choices=_OBJECTIVES, defines=True)

    if TYPE_CHECKING:  # of the other base
        model: str
        encoder: str
        models: ClassVar[Mapping[str, Any]]

    def check_model(self) -> None:
        """Raises :class:`ValueError` where a model from words is asked for on another encoder."""
        preset = self.models.get(str(self.model).split("@")[0])
        own = preset.overrides.get("encoder") if preset is not None else None
        if own in MATCHING_ENCODERS and self.encoder != own:
            raise ValueError(
                f"model {self.model!r} starts from words: 'encoder' must be {own!r} (got {self.encoder!r})"
            )

    def check_matching(self) -> None:
        """Raises :class:`ValueError` where nothing reads a setting."""
        read = MATCHING_ENCODERS.get(self.encoder)
        for name in _OWN:
            usual = type(self).__dataclass_fields__[name].default
            if getattr(self, name) != usual and name not in (read or ()):
                readers = [encoder for encoder, names in MATCHING_ENCODERS.items() if name in names]
                raise ValueError(
                    f"{name!r} is for encoder {', '.join(readers)} (got {getattr(self, name)!r}, "
                    f"encoder={self.encoder!r})"
                )
        for name, only in _OF_ENCODERS.items() if read is not None else ():
            if getattr(self, name) != only:
                raise ValueError(
                    f"{name!r} is for models on an encoder; with encoder={self.encoder!r} it must be "
                    f"{only!r} (got {getattr(self, name)!r})"
                )


OBJECTIVES = ("ums", "ss-da", "spider")
# Of the models, which are not imported for them.
_LOSSES = ("sigmoid", "softmax")
_SPEAKERS = ("added", "segments")
_OBJECTIVE_FORMS = ("extra", "same")


@dataclass(frozen=True, kw_only=True)
class ObjectiveSettings:
    """Settings of further objectives, for :class:`SelectionConfig` to inherit from as well.

    Args:
        objective: What is learnt beside the selection of responses, over any encoder and with or without
            layers of SIA: ``"ums"``, whose examples are those of
            :class:`~graphdep.datasets.selection.objectives.UtteranceManipulation` and
            whose losses those of :class:`~graphdep.nn.models.UtteranceManipulationModel`; ``"ss-da"``, with
            the speakers of :class:`~graphdep.nn.models.SpeakerSelectionModel` and the pairs of
            :class:`~graphdep.datasets.selection.objectives.DialogueAugmentation`;
            ``"spider"``, with the examples of
            :class:`~graphdep.datasets.selection.objectives.OrderRestoration` and the losses
            of :class:`~graphdep.nn.models.StructuralDialogueModel`; :obj:`None` for nothing.
            (default: :obj:`None`)
        manipulated_turns: Utterances of an example of ``"ums"`` at most. (default: :obj:`5`, as in its public
            code)
        manipulation_loss: ``"sigmoid"``, or ``"softmax"`` over the places of an example.
            (default: ``"sigmoid"``)
        insertion_weight, deletion_weight, search_weight: Factors of the losses of ``"ums"``; the loss of the
            pairs has 1. (default: :obj:`1.0`, as in its public code)
        speakers: Of ``"ss-da"``: two vectors ``"added"`` to the encoder's, or its ``"segments"`` are the
            speakers. (default: ``"added"``)
        cuts: Of ``"ss-da"``: further right pairs of a right pair, each with a wrong one; 0 for speakers
            alone. (default: :obj:`1`)
        order_form: Of ``"spider"``: shuffled contexts are examples of their own, ``"extra"``, or the
            ``"same"`` that the selection is learnt from. (default: ``"extra"``)
        order_places: Of ``"spider"``: utterances whose order is asked for at most. (default: :obj:`20`, as in
            its public code)
        order_weight, backbone_weight: Factors of the losses of ``"spider"``. (default: :obj:`0.1` and
            :obj:`0.5`, as in its public code)
    """

    objective: str | None = setting(None, choices=(None, *OBJECTIVES), defines=True)
    manipulated_turns: int = setting(5, defines=True)
    manipulation_loss: str = setting("sigmoid", choices=_LOSSES, defines=True)
    insertion_weight: float = setting(1.0, defines=True)
    deletion_weight: float = setting(1.0, defines=True)
    search_weight: float = setting(1.0, defines=True)

    speakers: str = setting("added", choices=_SPEAKERS, defines=True)
    cuts: int = setting(1, defines=True)
    order_form: str = setting("extra", choices=_OBJECTIVE_FORMS, defines=True)
    order_places: int = setting(20, defines=True)
    order_weight: float = setting(0.1, defines=True)
    backbone_weight: float = setting(0.5, defines=True)

    objective_of: ClassVar[Mapping[str, str]] = {
        "manipulated_turns": "ums",
        "manipulation_loss": "ums",
        "insertion_weight": "ums",
        "deletion_weight": "ums",
        "search_weight": "ums",
        "speakers": "ss-da",
        "cuts": "ss-da",
        "order_form": "spider",
        "order_places": "spider",
        "order_weight": "spider",
        "backbone_weight": "spider",
    }
    """The objective that a setting is for."""

    def check_objective(self) -> None:
        """Raises :class:`ValueError` where a setting is for another objective."""
        usual: dict[str, Any] = {field.name: field.default for field in fields(ObjectiveSettings)}
        for name, objective in self.objective_of.items():
            value = getattr(self, name)
            if value != usual[name] and self.objective != objective:
                raise ValueError(
                    f"{name!r} is for objective={objective!r} (got {value!r}, objective={self.objective!r})"
                )

    @property
    def weights(self) -> dict[str, float]:
        """The factor of each further loss, by its name."""
        ending = "_weight"
        names = [name for name, of in self.objective_of.items() if of == self.objective]
        return {n.removesuffix(ending): getattr(self, n) for n in names if n.endswith(ending)}


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
            (:class:`~graphdep.tasks.selection.settings.MatchingSettings`).
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
            :class:`~graphdep.tasks.selection.settings.ObjectiveSettings`.
        filter, recall, ties: Of :func:`graphdep.metrics.ranking_metrics`.
        hidden_channels, num_layers, heads, ff_channels, position_embedding, norm_first: Of
            ``encoder="transformer"``; a pretrained one has its own. (default: 256, 4, 4, 1024)
        dropout: Of the encoder that is trained from scratch, of SIA's attention and before the score.
            (default: :obj:`0.1`)
        **others: As in :class:`~graphdep.tasks.selection.settings.MatchingSettings` and
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
        task = self.spec
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
        names = self.spec.signatures
        return {name: ranking_metric(name, **options).signature for name in names}

    def data_settings(self) -> dict[str, Any]:
        # The encoder's tokenizer cuts words into pieces; all that start from words share them.
        encoder = "transformer" if self.from_scratch else self.encoder
        return super().data_settings() | {"encoder": encoder, "base": self.base}
