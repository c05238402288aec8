"""Tasks, models and settings of response generation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from graphdep.io.extras import check_extra
from graphdep.metrics.generation import GENERATION_METRICS
from graphdep.metrics.metric import Metric
from graphdep.metrics.scores import PERPLEXITY, PERPLEXITY_RESPONSES, PERPLEXITY_WORDS
from graphdep.sentence.sentence import ROOTS
from graphdep.training.config import ModelPreset
from graphdep.training.encoder_config import ADDING_NODES, NodeConfig
from graphdep.training.family import Published
from graphdep.training.settings import setting
from graphdep.training.task import Task
from graphdep.transforms.presets import is_own

if TYPE_CHECKING:
    from graphdep.decoding import DecodeConfig


def responses_name(split: str) -> str:
    """The file of a split's responses."""
    return f"responses-{split}.jsonl"


@dataclass(frozen=True)
class Dialogues(Task):
    """Responses to dialogues.

    Example:
        >>> from graphdep.datasets import DailyDialog
        >>> from graphdep.tasks import Dialogues
        >>> task = Dialogues("DailyDialog", DailyDialog, "datasets/dailydialog")
        >>> [metric.name for metric in task.metrics]
        ['perplexity']
    """

    kind: ClassVar[str] = "dialogue"

    @property
    def metrics(self) -> tuple[Metric, ...]:
        return (PERPLEXITY,)

    @property
    def signatures(self) -> dict[str, str]:
        perplexities = {metric.name: metric.signature for metric in (PERPLEXITY_WORDS, PERPLEXITY_RESPONSES)}
        texts = {metric.name: metric.signature for metric in GENERATION_METRICS}
        return super().signatures | perplexities | texts


TASKS: dict[str, Task] = {
    "dailydialog": Dialogues("DailyDialog", "graphdep.datasets:DailyDialog", "datasets/dailydialog"),
    "empathetic": Dialogues(
        "EmpatheticDialogues", "graphdep.datasets:EmpatheticDialogues", "datasets/empatheticdialogues"
    ),
}
COLUMNS: dict[str, tuple[str, ...]] = dict.fromkeys(
    TASKS,
    (
        "test_perplexity",
        *("val_perplexity", "val_bleu2_method7", "val_dist2"),
        *("test_bleu2_method7", "test_bleu2_method1", "test_dist2"),
    ),
)
"""The scores in tables, the paper's first."""


def _transformer(summary: str, *, edges: str = "transformer", **overrides: object) -> ModelPreset:
    return ModelPreset(summary, edges, overrides=overrides)


def _dra(summary: str, **overrides: object) -> ModelPreset:
    return ModelPreset(summary, "dra", overrides={"position_embedding": False, **overrides})


def _dialogbert(summary: str, *, edges: str = "transformer-utterance", **overrides: object) -> ModelPreset:
    return ModelPreset(summary, edges, overrides={"encoder": "dialogbert", **overrides})


# Three layers in total as in the Transformer, with nearly as many parameters.
_SMALL: dict[str, Any] = {"num_layers": 2, "context_layers": 1}


def _recurrent(summary: str, encoder: str) -> ModelPreset:
    return ModelPreset(summary, None, overrides={"encoder": encoder, "position_embedding": False})


DIALOGUE_MODELS: dict[str, ModelPreset] = {
    # Table 1
    "transformer": _transformer("no syntax: all words of the context attend to each other"),
    "transformer-dra": _dra(
        "Transformer+DRA: a word attends to its dependents and itself; no positions of words or turns"
    ),
    "dialogbert": _dialogbert("DialogBERT: words within an utterance, then utterances; three layers each"),
    "dialogbert-dra": _dialogbert(
        "DialogBERT+DRA: words attend to their dependents, without positions; turns have positions",
        edges="dra",
        position_embedding=False,
    ),
    "recosa": _recurrent("ReCoSa: recurrent utterances, self-attention between them", "recosa"),
    "lisa": ModelPreset(
        "LISA: one head of one layer attends only to the given governor",
        "lisa-complete",
        overrides={"encoder": "lisa"},
    ),
    "gate": ModelPreset(
        "GATE: words at most max_distance arcs apart",
        "gate",
        overrides={"encoder": "gate", "max_distance": 1},
    ),
    "constituent-transformer": ModelPreset(
        "Tree Transformer: attention within induced constituents",
        None,
        overrides={"encoder": "constituent"},
    ),
    # the first version's Table 1
    "hred": _recurrent("HRED: recurrent utterances and context", "hred"),
    "hran": _recurrent("HRAN: recurrent, with attention to words and utterances", "hran"),
    # as many parameters as the Transformer
    "dialogbert-small": _dialogbert("small DialogBERT: two layers over words, one over utterances", **_SMALL),
    "dialogbert-dra-small": _dialogbert(
        "small DialogBERT+DRA: two layers over words, one over utterances",
        edges="dra",
        position_embedding=False,
        **_SMALL,
    ),
    # another paper's edges
    "transformer-dam": _transformer(
        "DAM as encoder: words of the context attend to each other and to a node per arc, with its label",
        edges="dam",
    ),
    # controls
    "transformer-utterance": _transformer(
        "the Transformer with DRA's scope: all words of an utterance attend to each other",
        edges="transformer-utterance",
    ),
    "transformer-nopos": _transformer("the Transformer without positions", position_embedding=False),
    # Table 3
    "transformer-bpe": _transformer("the Transformer on subwords; perplexities per piece", pieces=8000),
    "transformer-dra-pe": _dra("Transformer+DRA with positions", position_embedding=True),
    "transformer-dra-bpe": _dra("Transformer+DRA on subwords; perplexities per piece", pieces=8000),
    "dialogbert-bpe": _dialogbert("DialogBERT on subwords; perplexities per piece", pieces=8000),
    "dialogbert-dra-pe": _dialogbert("DialogBERT+DRA with positions", edges="dra"),
    # DialogBERT's objectives
    "dialogbert-nug": _dialogbert("DialogBERT trained only on the response", mur=False, duor=False),
}


_DRA = "Modeling Compositionality with Dependency Graph for Dialogue Generation"
_DRA_FIRST = (
    "Incorporate Directed Dependency Relation Graph into Transformer Block for Multi-turn Dialogue Generation"
)
_DIALOGUE_SIZES: dict[str, dict[str, int]] = {  # pairs of context and response
    "dailydialog": {"train": 76053, "val": 7069, "test": 6740},
    "empathetic": {"train": 64663, "val": 9305, "test": 8423},
}
_Rows = dict[str, tuple[float | None, ...]]
# Perplexity, BLEU-2 and Dist-2 in percent.
_DRA_TABLE_1: dict[str, _Rows] = {
    "dailydialog": {
        "recosa": (19.846, 20.538, 16.611),
        "constituent-transformer": (18.155, 20.035, 17.847),
        "gate": (18.405, 19.142, 17.742),
        "transformer": (18.278, 19.519, 17.381),
        "transformer-dra": (17.628, 21.140, 18.396),
        "dialogbert": (20.056, 18.069, 15.562),
        "dialogbert-dra": (17.878, 21.786, 21.283),
    },
    "empathetic": {
        "recosa": (34.450, 19.062, 7.619),
        "constituent-transformer": (31.862, 19.755, 7.870),
        "gate": (32.273, 18.640, 7.452),
        "transformer": (32.329, 18.553, 7.499),
        "transformer-dra": (31.604, 19.966, 8.203),
        "dialogbert": (35.643, 17.199, 5.064),
        "dialogbert-dra": (32.785, 19.739, 9.601),
    },
}
# Its own paper's LISA learns to parse; ours is given the parse.
_DRA_OTHERS: dict[str, _Rows] = {
    "dailydialog": {"LISA": (18.378, 19.002, 17.011)},
    "empathetic": {"LISA": (32.467, 19.169, 6.974)},
}
_DRA_TABLE_3: _Rows = {
    "transformer-bpe": (18.59, 22.15, 16.64),
    "transformer-dra-pe": (18.13, 19.66, 18.08),
    "dialogbert-bpe": (20.07, 19.51, 15.72),
    "dialogbert-dra-pe": (20.32, 17.86, 15.77),
}
_DRA_FIRST_TABLE_1: dict[str, _Rows] = {
    "dailydialog": {
        "hred": (37.005, 17.865, 2.180),
        "hran": (28.411, 18.359, 8.073),
        "recosa": (20.799, 21.354, 19.137),
        "transformer": (19.168, 19.314, 18.317),
        "transformer-dra": (18.682, 20.822, 19.358),
        "dialogbert": (20.766, 18.008, 16.370),
        "dialogbert-dra": (19.279, 21.744, 19.519),
    },
    "empathetic": {
        "hred": (None, 13.741, 2.037),  # its perplexity, printed as 15.399, is less than half of all others
        "hran": (40.901, 19.002, 4.355),
        "recosa": (35.289, 19.638, 8.878),
        "transformer": (33.052, 18.643, 8.222),
        "transformer-dra": (32.209, 20.488, 8.503),
        "dialogbert": (36.325, 19.404, 6.356),
        "dialogbert-dra": (33.386, 21.247, 8.687),
    },
}
_DRA_NOTE = "the paper does not say how tokens are counted, responses decoded, and BLEU-2 and Dist-2 computed"


def _fractions(rows: _Rows) -> _Rows:
    return {
        name: (perplexity, *(None if value is None else round(value / 100, 5) for value in shares))
        for name, (perplexity, *shares) in rows.items()
    }


def _of_dialogues(
    task: str, source: str, rows: _Rows, others: _Rows, split: str = "val", **more: Any
) -> Published:
    scores = tuple(f"{split}_{name}" for name in ("perplexity", "bleu2_method7", "dist2"))
    sizes = _DIALOGUE_SIZES[task]
    return Published(source, scores, _fractions(rows), sizes, _fractions(others), **more)


def _of_dra(task: str) -> tuple[Published, ...]:
    own = _of_dialogues(
        task, f'"{_DRA}", Table 1 (validation set)', _DRA_TABLE_1[task], _DRA_OTHERS[task], note=_DRA_NOTE
    )
    first = _of_dialogues(
        task,
        f'"{_DRA_FIRST}" (the first version of DRA), Table 1',
        _DRA_FIRST_TABLE_1[task],
        {},
        "test",
        note=f"{_DRA_NOTE}, nor whether Table 1 is on the test split, as Figure 5 is",
        settings={"warmup_steps": None},
    )
    parts = _of_dialogues(
        task, f'"{_DRA}", Table 3', _DRA_TABLE_3, {}, note="the paper does not give the number of subwords"
    )
    return (own, parts, first) if task == "dailydialog" else (own, first)


PAPER: dict[str, tuple[Published, ...]] = {task: _of_dra(task) for task in _DIALOGUE_SIZES}


_OF_DATA = ("max_turns", "max_words", "lower", "pieces", "roots")


class DialogueConfig(NodeConfig, kind="dialogue"):
    """Settings of a run on dialogues. The defaults are those of "Modeling Compositionality with Dependency
    Graph for Dialogue Generation" (DRA), if given; it gives no size of the feed-forward layers, dropout,
    epochs and decoding. ``graphdep settings --task dailydialog`` lists them.

    Further choices that the paper leaves open: the four turns are those of the context; words are in lower
    case; responses are cut after ``max_words``; Transformer+DRA, which has no positions, does not know the
    order of turns. In Eq. 2 only ROOT attends across sentences, so the roots of a turn of several sentences
    stay roots (``roots="all"``).

    Args:
        **settings: The settings of :class:`~graphdep.training.encoder_config.NodeConfig` and of dialogues.

    Raises:
        ValueError: If a value has the wrong type or is out of range; the message names key and value.
    """

    task: str = "dailydialog"
    model: str = "transformer-dra"
    encoder: str = setting(
        "transformer",
        "Encoder: transformer, lisa, gate or dialogbert over the edges; constituent, recosa, hred or hran.",
    )
    edges: str | None = "dra"
    max_distance: int = setting(1, "GATE's delta: longest tree path along which words attend.")
    cross_nodes: bool = setting(True, "The decoder also attends to relation and phrase nodes.", defines=True)
    parse_errors: float = setting(0.0, "Share of DRA's pairs made wrong.", defines=True, free=True)
    min_freq: int = setting(3, published=True)
    seed: int = setting(0, free=True)  # also used to sample responses
    max_epochs: int = 10
    patience: int | None = None
    batch_size: int = 40
    optimizer: str = "adamw"
    lr: float = 5e-4
    warmup_steps: int | None = 3000
    weight_decay: float = 0.01
    hidden_channels: int = 768
    num_layers: int = setting(3, "Layers over words; not read by recosa, hred and hran.")
    context_layers: int = setting(3, "Layers over utterances; not read by hred and hran.", published=True)
    decoder_layers: int = setting(3, "Layers of the decoder; a recurrent decoder has one.", published=True)
    heads: int = 16
    ff_channels: int = 3072
    dropout: float = 0.1
    embedding_scale: bool = setting(
        False,
        "Multiply word vectors of context and response by sqrt(hidden_channels), in Transformers over edges.",
        published=True,
    )
    mur: bool = setting(True, "DialogBERT's masked utterance regression.", defines=True)
    duor: bool = setting(True, "DialogBERT's ranking of the utterances' order.", defines=True)
    roots: str = setting(
        "all",
        "Roots of a turn of several sentences, which are one tree: all stay roots, or first, to which the "
        "others are attached as parataxis.",
        choices=ROOTS,
        free=True,
    )
    max_turns: int = setting(4, "Largest number of turns in a context.", published=True, free=True)
    max_words: int = setting(50, "Largest number of words in an utterance.", published=True, free=True)
    lower: bool = setting(True, "Convert words to lower case.")
    pieces: int | None = setting(None, "Number of subwords to learn; none for words.", defines=True)
    overlap: str = setting(
        "keep",
        "Validation and test examples whose last turn and response occur in training: keep or drop.",
        choices=("keep", "drop"),
        published=True,
        free=True,
    )
    strategy: str = setting("greedy", "Decoding: greedy, beam or sample.", late=True)
    beams: int = setting(4, "Decoding: number of beams.", late=True)
    max_length: int = setting(50, "Decoding: longest response in tokens.", late=True)
    min_length: int = setting(0, "Decoding: shortest response in tokens.", late=True)
    length_penalty: float = setting(
        1.0, "Decoding: exponent of the length by which scores of beam search are divided.", late=True
    )
    top_k: int = setting(0, "Decoding: sample from this many most probable tokens; 0 for all.", late=True)
    top_p: float = setting(
        1.0, "Decoding: sample from the most probable tokens with this total probability.", late=True
    )
    temperature: float = setting(1.0, "Decoding: divide logits by it before sampling.", late=True)
    no_repeat_ngram: int = setting(
        0, "Decoding: length of token sequences that must not be repeated; 0 for no limit.", late=True
    )
    limit_generate: int | None = setting(
        None,
        "Number of examples of a split to generate responses for, evenly spread; none for all.",
        late=True,
    )

    models: ClassVar[Mapping[str, ModelPreset]] = DIALOGUE_MODELS
    encoders: ClassVar[Mapping[str, bool]] = {
        "transformer": True,
        "lisa": True,
        "gate": True,
        "constituent": False,
        "dialogbert": True,
        "recosa": False,
        "hred": False,
        "hran": False,
    }
    headed: ClassVar[tuple[str, ...]] = tuple(encoders)  # decoders have heads, too

    def check(self) -> None:
        super().check()
        if self.pieces is not None and self.vectors is not None:
            raise ValueError(f"'vectors' cannot be used with 'pieces' (got {self.vectors!r}, {self.pieces})")
        if self.edges is None and (self.trees != "parser" or self.parse_errors):
            raise ValueError(
                f"encoder {self.encoder!r} does not read 'trees' and 'parse_errors' (got "
                f"trees={self.trees!r}, parse_errors={self.parse_errors!r})"
            )
        self.decoding()

    def _readers(self) -> Iterator[tuple[tuple[str, ...], str, bool]]:
        yield from super()._readers()
        nodes = self.edges is not None and (self.edges in ADDING_NODES or is_own(self.edges))
        reader = "edges dam, constituents or of your own, with a decoder that attends to words"
        yield ("cross_nodes",), reader, nodes and self.encoder != "dialogbert"

    def check_sources(self) -> None:
        super().check_sources()
        check_extra("response generation", "dialogue")

    def dataset_options(self, split: str) -> dict[str, Any]:
        options = super().dataset_options(split) | {name: getattr(self, name) for name in _OF_DATA}
        return options if split == "train" else {**options, "overlap": self.overlap}

    def decoded(self) -> str:
        number = "all" if self.limit_generate is None else f"{self.limit_generate} evenly spread"
        return (
            f"to {number} examples of a split (Dist falls with their number); {self.decoding()}; references "
            f"are cut after {self.max_words} words and keep rare words; p over examples assumes that the "
            "responses in a dialogue are independent"
        )

    def decoding(self) -> DecodeConfig:
        """The decoding settings."""
        from graphdep.decoding.decoding import DecodeConfig

        names = ("strategy", "max_length", "min_length", "length_penalty", "top_k", "top_p", "temperature")
        return DecodeConfig(
            beams=self.beams if self.strategy == "beam" else 1,
            no_repeat_ngram=self.no_repeat_ngram,
            seed=self.seed,
            **{name: getattr(self, name) for name in names},
        )
