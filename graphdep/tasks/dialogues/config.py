"""Every choice of a run on dialogues."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from graphdep.sentence.sentence import ROOTS
from graphdep.tasks.dialogues.presets import DIALOGUE_MODELS
from graphdep.training.config import ModelPreset, TrainConfig
from graphdep.training.settings import setting

if TYPE_CHECKING:
    from graphdep.decoding import DecodeConfig

_OF_DATA = ("max_turns", "max_words", "lower", "pieces", "roots")


@dataclass(frozen=True, kw_only=True)
class DialogueConfig(TrainConfig, kind="dialogue"):
    """Settings of a run on dialogues; the defaults are those of the final version of "Incorporate Directed
    Dependency Relation Graph into Transformer Block for Multi-turn Dialogue Generation" (DRA) where it gives
    them. It gives neither the size of the feed-forward layers nor dropout, epochs, or how it decodes.

    What else it leaves open, and is chosen here: the four turns are those of the context; words are looked up
    in lower case; a response that is longer than :obj:`max_words` ends there; Transformer+DRA, which has no
    positions, does not know the order of the turns either.

    Args:
        encoder: ``"transformer"``, ``"lisa"``, ``"gate"``, and ``"dialogbert"`` over the edges;
            ``"constituent"``, ``"recosa"``, ``"hred"``, ``"hran"``. (default: ``"transformer"``)
        max_distance: GATE's delta. (default: :obj:`1`)
        parse_errors: Share of DRA's pairs that are wrong (:class:`~graphdep.transforms.RewiredEdges`).
            (default: :obj:`0.0`)
        decoder_layers: Layers of the decoder; a recurrent one has one. (default: :obj:`3`)
        num_layers, context_layers: Layers over words, and over utterances. ``"recosa"`` reads the second
            alone, ``"hred"`` and ``"hran"`` neither. (default: :obj:`3`)
        embedding_scale: Multiply word vectors by the root of :obj:`hidden_channels`, in context and response
            (:class:`~graphdep.nn.models.NodeEmbedding`); read by the Transformers over edges. (default:
            :obj:`False`)
        norm_first: Read by the Transformers over edges and by the decoder. (default: :obj:`False`)
        mur, duor: DialogBERT's objectives beside the response: masked utterance regression, and ranking of
            the utterances' order. (default: :obj:`True`)
        roots: What becomes of the roots of a turn of several sentences, which is one tree: ``"all"`` stay
            roots, or those after the ``"first"`` hang on it as ``parataxis``. In Eq. 2 the row of ROOT, which
            sees all words, is the only one over more than one sentence: a word sees the dependents that the
            parser gives it. That is ``"all"``. With ``"first"`` the first root sees the others, too,
            over arcs that no parse has. (default: ``"all"``)
        max_turns, max_words: Turns of a context and words of an utterance at most. (default: :obj:`4`,
            :obj:`50`)
        lower: Look words up in lower case. (default: :obj:`True`)
        pieces: Subwords to learn, instead of words; :obj:`None` for words. (default: :obj:`None`)
        overlap: ``"drop"`` leaves those examples of val and test out whose last turn and response occur in
            the training split. (default: ``"keep"``)
        strategy, beams, max_length, min_length, length_penalty, top_k, top_p, temperature,
            no_repeat_ngram: Of :class:`~graphdep.decoding.DecodeConfig`. (default: greedy, of at most
            :obj:`max_words` tokens)
        limit_generate: Respond to so many examples of a split, evenly spread; 0 for none, :obj:`None` for
            all. (default: :obj:`None`)
        **others: As in :class:`TrainConfig`.

    Raises:
        ValueError: If a value has the wrong type or is outside its range; the message names key and value.
    """

    task: str = "dailydialog"
    model: str = "transformer-dra"
    edges: str | None = "dra"
    max_distance: int = 1
    parse_errors: float = setting(0.0, defines=True, free=True)
    min_freq: int = setting(3, published=True)
    seed: int = setting(0, free=True)  # responses are drawn by it, too
    max_epochs: int = 10
    patience: int | None = None
    batch_size: int = 40
    optimizer: str = "adamw"
    lr: float = 5e-4
    warmup_steps: int | None = 3000
    weight_decay: float = 0.01
    hidden_channels: int = 768
    num_layers: int = 3
    context_layers: int = setting(3, published=True)
    decoder_layers: int = setting(3, published=True)
    heads: int = 16
    ff_channels: int = 3072
    dropout: float = 0.1
    embedding_scale: bool = setting(False, published=True)
    mur: bool = setting(True, defines=True)
    duor: bool = setting(True, defines=True)
    roots: str = setting("all", choices=ROOTS, free=True)
    max_turns: int = setting(4, published=True, free=True)
    max_words: int = setting(50, published=True, free=True)
    lower: bool = True
    pieces: int | None = setting(None, defines=True)
    overlap: str = setting("keep", choices=("keep", "drop"), published=True, free=True)
    strategy: str = setting("greedy", late=True)
    beams: int = setting(4, late=True)
    max_length: int = setting(50, late=True)
    min_length: int = setting(0, late=True)
    length_penalty: float = setting(1.0, late=True)
    top_k: int = setting(0, late=True)
    top_p: float = setting(1.0, late=True)
    temperature: float = setting(1.0, late=True)
    no_repeat_ngram: int = setting(0, late=True)
    limit_generate: int | None = setting(None, late=True)

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
    headed: ClassVar[tuple[str, ...]] = tuple(encoders)  # the decoder of the others may have heads as well

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.pieces is not None and self.vectors is not None:
            raise ValueError(f"'vectors' are of words, not of 'pieces' (got {self.vectors!r}, {self.pieces})")
        if self.edges is None and (self.trees != "parser" or self.parse_errors):
            raise ValueError(
                f"encoder {self.encoder!r} reads no tree: 'trees' and 'parse_errors' would change nothing "
                f"(got trees={self.trees!r}, parse_errors={self.parse_errors!r})"
            )
        self.decoding()

    def dataset_options(self, split: str) -> dict[str, Any]:
        options = {name: getattr(self, name) for name in _OF_DATA}
        return options if split == "train" else {**options, "overlap": self.overlap}

    def decoded(self) -> str:
        number = "all" if self.limit_generate is None else f"{self.limit_generate} evenly spread"
        return (
            f"to {number} examples of a split (Dist falls as they become more); {self.decoding()}; "
            f"references are cut after {self.max_words} words and keep their rare words; responses of one "
            "dialogue are not independent, which p over examples takes them for"
        )

    def decoding(self) -> DecodeConfig:
        """How responses are made."""
        from graphdep.decoding import DecodeConfig

        names = ("strategy", "max_length", "min_length", "length_penalty", "top_k", "top_p", "temperature")
        return DecodeConfig(
            beams=self.beams if self.strategy == "beam" else 1,
            no_repeat_ngram=self.no_repeat_ngram,
            seed=self.seed,
            **{name: getattr(self, name) for name in names},
        )
