"""Tasks, models and settings of response selection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from graphdep.metrics.metric import Metric
from graphdep.metrics.ranking import FILTERS, RANKING, RECALLS, TIES, ranking_metric
from graphdep.training.config import ModelPreset
from graphdep.training.encoder_config import PretrainedConfig
from graphdep.training.family import Published
from graphdep.training.settings import DATA, setting
from graphdep.training.task import Task


@dataclass(frozen=True)
class Selections(Task):
    """Selection of the right response to a context among candidates.

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
        # Its name does not depend on the size of pools, which may differ between splits; with one right
        # candidate per pool it is R_n@1.
        return (RANKING["P@1"],)

    @property
    def signatures(self) -> dict[str, str]:
        return {name: metric.signature for name, metric in RANKING.items()}


# The Chinese encoder reads characters; there is no bundled Chinese parser.
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
"""The scores in tables, the paper's first."""


# Training from scratch needs a higher learning rate and more epochs than fine-tuning.
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


def _dam(summary: str, arcs: str = "enhanced++", **overrides: object) -> ModelPreset:
    return ModelPreset(summary, "dam", overrides={"sia_edges": None, "arcs": arcs, **overrides})


def _matching(summary: str, encoder: str, **overrides: object) -> ModelPreset:
    return ModelPreset(summary, None, overrides={**_MATCHING, "encoder": encoder, **overrides})


SELECTION_MODELS: dict[str, ModelPreset] = {
    # Table 2
    "bert": _bert("the encoder alone, with the state of [CLS]", None),
    "bert-vanilla": _bert("two more attention layers on layer k, with full attention", "transformer"),
    "bert-intra": _bert("SIA over ancestors only", "sia-intra"),
    "bert-inter": _bert("SIA over pairs of small depth only", "sia-inter"),
    "bert-sia": _bert("SIA: ancestors, and pairs of small depth across utterances", "sia"),
    # the other reading of the text: a word attends to its descendants
    "bert-sia-descendants": _bert(
        "SIA over descendants instead of ancestors", "sia", direction="descendants"
    ),
}
# Table 1: the paper's baselines; and SIA on each of them, which the paper does not have.
for _name, _summary in {
    "ums": "UMS: insertion, deletion and search of utterances",
    "ss-da": "SS-DA: speakers, and shortened dialogues as further pairs",
    "spider": "SPIDER: order of shuffled utterances, and subject-verb-object triples",
}.items():
    SELECTION_MODELS[f"bert-{_name}"] = _bert(f"the encoder with {_summary}", None, objective=_name)
    SELECTION_MODELS[f"bert-{_name}-sia"] = _bert(f"SIA with {_summary}", "sia", objective=_name)
# Another paper's edges, by the names that they have in other families.
SELECTION_MODELS |= {
    "bert-dam": _dam(
        "DAM on the encoder: a node for each arc (of the enhanced++ graph by pybart)", engine="pybart"
    ),
    "bert-dam-ud": _dam("DAM on the enhanced++ graph by graphdep's own rules, without another package"),
    "bert-dam-basic": _dam("DAM on the basic tree", "basic"),
}
# Models from words that match each utterance with the response, at the papers' sizes.
SELECTION_MODELS |= {
    "smn": _matching(
        "Sequential Matching Network, from words: images of an utterance and the response, 200 channels, "
        "matching vectors with tanh as in its code, learning rate 1e-3",
        "smn",
        matching_form="code",
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
_SCORES = {
    "ubuntu": ("R10@1", "R10@2", "R10@5"),
    "douban": ("MAP", "MRR", "P@1", "R10@1", "R10@2", "R10@5"),
    "ecommerce": ("R10@1", "R10@2", "R10@5"),
}
# In percent: R10@1, 2 and 5 of Ubuntu; MAP, MRR, P@1, R10@1, 2 and 5 of Douban; R10@1, 2 and 5 of E-commerce.
_SIA_TABLE_1: dict[str, tuple[float, ...]] = {
    "smn": (72.6, 84.7, 96.1, 52.9, 56.9, 39.7, 23.3, 39.6, 72.4, 45.3, 65.4, 88.6),
    "dua": (75.2, 86.8, 96.2, 55.1, 59.9, 42.1, 24.3, 42.1, 78.0, 50.1, 70.0, 92.1),
    "dam-2018": (76.7, 87.4, 96.9, 55.0, 60.1, 42.7, 25.4, 41.0, 75.7, 52.6, 72.7, 93.3),
    "ioi": (79.6, 89.4, 97.4, 57.3, 62.1, 44.4, 26.9, 45.1, 78.6, 56.3, 76.8, 95.0),
    "bert-spider": (83.1, 91.3, 98.0, 59.8, 63.8, 45.9, 28.5, 48.7, 82.6, 62.6, 82.7, 97.1),
    "bert-ums": (84.3, 92.0, 98.2, 59.7, 63.9, 46.6, 28.5, 47.1, 82.9, 67.4, 86.1, 98.0),
    "bert": (80.8, 89.7, 97.5, 59.1, 66.3, 45.4, 28.0, 47.0, 82.1, 61.0, 81.4, 97.3),
    "bert-sia": (82.1, 90.6, 97.8, 59.7, 67.4, 46.5, 28.6, 47.3, 83.8, 65.5, 85.0, 98.2),
}
_SIA_OTHERS: dict[str, tuple[float, ...]] = {
    "RoBERTa-SS-DA": (82.6, 90.9, 97.8, 60.2, 64.6, 46.0, 28.0, 49.5, 84.7, 62.7, 83.5, 98.0),
    "BERT-FP": (91.1, 96.2, 99.4, 64.4, 68.0, 51.2, 32.4, 54.2, 87.0, 87.0, 95.6, 99.3),
    "BERT-FP + SIA": (91.4, 96.4, 99.4, 64.8, 68.9, 52.6, 33.3, 54.2, 87.1, 87.4, 95.5, 99.4),
}
_SIA_TABLE_2: dict[str, tuple[float, ...]] = {
    "bert-vanilla": (61.6, 79.9, 95.8),
    "bert-intra": (62.3, 82.5, 97.4),
    "bert-inter": (65.1, 83.3, 97.9),
}


def _of_selection(task: str) -> Published:
    start = {"ubuntu": 0, "douban": 3, "ecommerce": 9}[task]
    own = {} if task != "ecommerce" else _SIA_TABLE_2

    def of_task(rows: Mapping[str, tuple[float, ...]]) -> dict[str, tuple[float, ...]]:
        places = range(start, start + len(_SCORES[task]))
        return {name: tuple(round(row[place] / 100, 3) for place in places) for name, row in rows.items()}

    return Published(
        f'"{_SIA}", Table 1{"; rows of vanilla, intra and inter: its Table 2" if own else ""}',
        tuple(f"test_{score}" for score in _SCORES[task]),
        of_task(_SIA_TABLE_1) | {name: tuple(value / 100 for value in row) for name, row in own.items()},
        _SELECTION_SIZES[task],
        of_task(_SIA_OTHERS),
        "the paper does not give m, learning rate, length and the excluded pools of Douban; the code of "
        "BERT-FP excludes only pools without a right candidate (filter=negative)",
    )


PAPER: dict[str, tuple[Published, ...]] = {task: (_of_selection(task),) for task in _SELECTION_SIZES}


MATCHING_ENCODERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "smn": ("match_channels", "image_words", "image_turns", "accumulation", "matching_form"),
        "dua": ("match_channels", "image_words", "image_turns", "matching_form"),
        "dam-2018": ("num_layers", "image_words", "image_turns", "matching_form"),
        "ioi": ("num_layers", "image_words", "image_turns", "matching_form", "block_objective"),
    }
)
"""Matching models, and the settings below that each reads."""
# Values of options of the models, which need PyTorch.
_MATCHING_FORMS = ("paper", "code")
_OBJECTIVES = ("local", "global")
_ACCUMULATIONS = ("dynamic", "static", "last")
_OWN = ("match_channels", "image_words", "image_turns", "accumulation", "matching_form", "block_objective")
# Settings of heads on encoders, with their only allowed values for matching models.
_OF_ENCODERS: Mapping[str, Any] = MappingProxyType(
    {"objective": None, "sia_edges": None, "readout": "cls", "mlp_layers": 1}
)


OBJECTIVES = ("ums", "ss-da", "spider")


class SelectionConfig(PretrainedConfig, kind="selection"):
    """Settings of a run on response selection. "Improving Retrieval-based Dialogue System via Syntax-Informed
    Attention" (SIA) gives only the layer; length, learning rate, batch size and epochs are those of the
    public code of BERT-FP, on which it builds. That code cuts the longer of context and response, graphdep
    first the context. ``graphdep settings --task ubuntu`` lists the settings.

    Models that match each utterance with the response
    (:func:`~graphdep.tasks.selection.model.build_matching_model`) read words. Their presets have the papers'
    sizes and a ``max_length`` of 600, enough for ten utterances and a response of 50 words; longer utterances
    count in full, so that the first ones may be cut. The papers differ in the initial word vectors (random
    here, unless ``vectors`` is set), ``batch_size``, ``max_epochs`` and the learning rates of DUA (.005) and
    IOI (1e-4).

    Further objectives (``objective``) have the losses of
    :class:`~graphdep.nn.models.UtteranceManipulationModel` (``"ums"``),
    :class:`~graphdep.nn.models.SpeakerSelectionModel` (``"ss-da"``) and
    :class:`~graphdep.nn.models.StructuralDialogueModel` (``"spider"``), and the examples of
    :mod:`graphdep.datasets.selection.objectives`, with the defaults of their public code.

    Args:
        **settings: The settings of :class:`~graphdep.training.encoder_config.PretrainedConfig` and of
            selection.

    Raises:
        ValueError: If a value has the wrong type or is out of range; the message names key and value.
    """

    task: str = "ubuntu"
    model: str = "bert-sia"
    encoder: str = setting(
        "bert-base-uncased",
        "Encoder: a folder or a name on the Hugging Face hub, a published checkpoint of BERT-FP (*.pt, with "
        "base), transformer for one trained from scratch on words, or a model that matches each utterance "
        "with the response (smn, dua, dam-2018, ioi).",
    )
    base: str | None = setting(
        None,
        "Folder or name of the BERT model with the sizes and tokenizer of a checkpoint of BERT-FP.",
        published=True,
    )
    edges: str | None = setting("transformer", "Edges of the encoder.")
    sia_edges: str | None = setting(
        "sia", "Edges of SIA's layers on the encoder; none for the encoder alone.", defines=True, free=True
    )
    sia_layer: int | None = setting(
        None,
        "Layer of the encoder that SIA's layers read, from 1; none for the middle, 6 of 12.",
        defines=True,
    )
    sia_layers: int = setting(2, "Number of SIA's layers.", defines=True)
    sia_block: str = setting(
        "attention",
        "SIA's layer: attention only, or (bert) also output projection, residual connection and LayerNorm.",
        choices=("attention", "bert"),
        defines=True,
    )
    sia_mask: str = setting(
        "additive",
        "Mask of SIA's scores: additive, or multiplicative as in Eq. 5.",
        choices=("additive", "multiplicative"),
        defines=True,
    )
    direction: str = setting(
        "ancestors",
        "Words of its tree that a word attends to.",
        choices=("ancestors", "descendants", "both"),
        defines=True,
        free=True,
    )
    special: str = setting(
        "example",
        "Scope of edges of special nodes in SIA's layers.",
        choices=("example", "cls", "none"),
        defines=True,
        free=True,
    )
    max_sum: int = setting(4, "Largest sum of depths, m of Eq. 4.", defines=True)
    mlp_layers: int = setting(
        1, "Number of linear layers between readout and score; Eq. 2 has one.", defines=True
    )
    readout: str = setting(
        "cls",
        "Readout: the state of [CLS] as in Eq. 2 (cls), the mean over all pieces of context and response "
        "(mean), or [u; v; |u - v|; u * v] of the means u of the context and v of the response (pair). With "
        "few pairs [CLS] learns little in encoders that do not use it as a sentence vector.",
        choices=("cls", "mean", "pair"),
        defines=True,
    )
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
    dropout: float = setting(
        0.1, "Dropout of encoders trained from scratch, of SIA's attention and before the score."
    )
    max_length: int = setting(
        256,
        "Largest number of words, or pieces of a pretrained encoder, of context and response together; "
        "longer contexts are cut from the left.",
        least=4,  # [CLS], [SEP], one piece of the response, [SEP]
        published=True,
        free=True,
    )
    max_turns: int | None = setting(
        None, "Number of last utterances of a context to read; none for all.", published=True, free=True
    )
    limit_eval: int | None = setting(
        None,
        "Largest number of validation and of test examples, in pools spread over the splits.",
        panel=DATA,
        published=True,
        free=True,
    )
    overlap: str | None = setting(
        None,
        "dailydialog-selection: keep validation and test pools that occur in training, or (none, too) drop "
        "them.",
        choices=(None, "keep", "drop"),
        published=True,
        free=True,
    )
    negatives_from: str | None = setting(
        None,
        "ubuntu-irc: draw negatives from the log or from the split; none for the default of the corpus.",
        choices=(None, "log", "split"),
        published=True,
        free=True,
    )
    pool_size: int | None = setting(
        10,
        "ubuntu, douban and ecommerce: required number of candidates in validation and test pools; none for "
        "any.",
        published=True,
        free=True,
    )
    filter: str = setting(
        "both",
        "Pools that count; both: those with right and wrong candidates.",
        choices=FILTERS,
        free=True,
    )
    recall: str = setting(
        "fraction", "Recall of pools with several right responses.", choices=RECALLS, free=True
    )
    ties: str = setting("mid", "Rank of candidates of equal score.", choices=TIES, free=True)
    # models that match each utterance with the response
    match_channels: int = setting(
        50,
        "Encoders smn and dua: size of the matching vectors and of the GRU over them.",
        published=True,
    )
    image_words: int = setting(
        50,
        "Number of last words of an utterance to read: rows and columns of similarity images.",
        published=True,
    )
    image_turns: int = setting(
        10,
        "Number of last utterances of a context to read, without empty ones.",
        published=True,
    )
    accumulation: str = setting(
        "dynamic", "Encoder smn: accumulation of the context.", choices=_ACCUMULATIONS, defines=True
    )
    matching_form: str = setting(
        "paper",
        "Encoders smn, dua, dam-2018 and ioi: as in the paper or as in its code, if they differ.",
        choices=_MATCHING_FORMS,
        defines=True,
    )
    block_objective: str = setting(
        "local",
        "Encoder ioi: loss of each block (local) or of their sum (global).",
        choices=_OBJECTIVES,
        defines=True,
    )
    # further objectives
    objective: str | None = setting(
        None,
        "Auxiliary objective, for any encoder, with or without SIA's layers.",
        choices=(None, *OBJECTIVES),
        defines=True,
    )
    manipulated_turns: int = setting(5, "ums: largest number of utterances in an example.", defines=True)
    manipulation_loss: str = setting(
        "sigmoid",
        "ums: sigmoid, or softmax over the positions in an example.",
        choices=("sigmoid", "softmax"),
        defines=True,
    )
    insertion_weight: float = setting(
        1.0, "ums: weight of the loss of insertion, relative to that of selection.", defines=True
    )
    deletion_weight: float = setting(1.0, "ums: weight of the loss of deletion.", defines=True)
    search_weight: float = setting(1.0, "ums: weight of the loss of search.", defines=True)
    speakers: str = setting(
        "added",
        "ss-da: add speaker vectors to the encoder, or use its segments for speakers.",
        choices=("added", "segments"),
        defines=True,
    )
    cuts: int = setting(
        1,
        "ss-da: number of shortened dialogues per right pair, each with a wrong one; 0 for speakers only.",
        defines=True,
    )
    order_form: str = setting(
        "extra",
        "spider: shuffled contexts are separate examples (extra), or those of selection (same).",
        choices=("extra", "same"),
        defines=True,
    )
    order_places: int = setting(20, "spider: largest number of utterances to order.", defines=True)
    order_weight: float = setting(0.1, "spider: weight of the loss of the order.", defines=True)
    backbone_weight: float = setting(0.5, "spider: weight of the loss of the backbone.", defines=True)

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
    """The objective of each setting."""

    models: ClassVar[Mapping[str, ModelPreset]] = SELECTION_MODELS
    encoders: ClassVar[Mapping[str, bool]] = {"transformer": True, **dict.fromkeys(MATCHING_ENCODERS, False)}
    of_words: ClassVar[tuple[str, ...]] = tuple(MATCHING_ENCODERS)
    from_scratch_name: ClassVar[str] = "encoder='transformer'"
    headed: ClassVar[tuple[str, ...]] = ("transformer",)
    edge_settings: ClassVar[tuple[str, ...]] = ("edges", "sia_edges")

    def check(self) -> None:
        preset = self.models.get(str(self.model).split("@")[0])
        own = preset.overrides.get("encoder") if preset is not None else None
        if own in MATCHING_ENCODERS and self.encoder != own:
            raise ValueError(
                f"model {self.model!r} reads words: 'encoder' must be {own!r} (got {self.encoder!r})"
            )
        super().check()
        for name in _OWN:
            readers = [encoder for encoder, names in MATCHING_ENCODERS.items() if name in names]
            self.check_read((name,), f"encoder {', '.join(readers)}", self.encoder in readers)
        for name, only in _OF_ENCODERS.items() if self.encoder in MATCHING_ENCODERS else ():
            if getattr(self, name) != only:
                raise ValueError(
                    f"{name!r} must be {only!r} for encoder={self.encoder!r} (got {getattr(self, name)!r})"
                )
        for name, objective in self.objective_of.items():
            self.check_read((name,), f"objective={objective!r}", self.objective == objective)
        for name in ("overlap", "negatives_from", "pool_size"):
            self.check_option(name, name)
        if self.batch_tokens is not None:
            raise ValueError("'batch_tokens' is not available for response selection: use 'batch_size'")

    @property
    def weights(self) -> dict[str, float]:
        """The weights of further losses by name."""
        ending = "_weight"
        names = [name for name, of in self.objective_of.items() if of == self.objective]
        return {n.removesuffix(ending): getattr(self, n) for n in names if n.endswith(ending)}

    @property
    def from_scratch(self) -> bool:
        """Whether the encoder is trained from scratch, on words."""
        return self.encoder in self.encoders

    @property
    def reads_trees(self) -> bool:
        return super().reads_trees or self.objective == "spider"  # its triples are arcs

    @property
    def encoder_base(self) -> str | None:
        return self.base

    def dataset_options(self, split: str) -> dict[str, Any]:
        options = super().dataset_options(split)
        options |= {"max_length": self.max_length, "max_turns": self.max_turns}
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
        # The tokenizer belongs to the encoder; all models of words share their data.
        encoder = "transformer" if self.from_scratch else self.encoder
        return super().data_settings() | {"encoder": encoder, "base": self.base}
