"""Settings of encoders, from scratch and pretrained."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from graphdep.parsing.enhanced import ARCS, ENGINES
from graphdep.training.config import ModelPreset, resolve_model
from graphdep.training.settings import setting
from graphdep.training.task import Task
from graphdep.transforms.presets import PHRASE_PRESETS, PRESETS, is_own, preset_options

SCRATCH_ENCODERS: Mapping[str, bool] = MappingProxyType(
    {
        "transformer": True,
        "lisa": True,
        "gate": True,
        "g2g": True,
        "word-average": False,
        "lstm": False,
        "bilstm": False,
        "bilstm-deep": False,
        "bigru": False,
        "tree-lstm": False,
        "bitree-lstm": False,
        "tree-transformer": False,
        "dt-rnn": False,
    }
)
"""Encoders by name, and whether each reads edges."""
OF_WORDS = ("word-average", "lstm", "bilstm", "bilstm-deep", "bigru")
"""Those that read no tree."""
CONVS = ("lisa", "gate", "g2g")
"""Transformers whose attention is that of another paper."""
HEADED = ("transformer", *CONVS, "tree-transformer")
"""Those whose heads share the channels."""


@dataclass(frozen=True, kw_only=True)
class ScratchSettings:
    """Settings of :class:`~graphdep.nn.models.DependencyTransformer`, for a :class:`TrainConfig` to inherit
    from as well; it builds its encoder with :func:`~graphdep.training.build.build_encoder`.

    Args:
        vocab_from: Words that have a vector of their own: those of ``"train"``, or with ``"vectors"`` also
            those of the other splits that the file of :obj:`vectors` has
            (:class:`~graphdep.datasets.base.parsed.ParsedOptions`). (default: ``"train"``)
        directions: Tell a relation from its inverse. (default: :obj:`True`)
        window: Words on either side of a word that ``encoder="word-average"`` takes the mean of, as well.
            (default: :obj:`0`)
        dependent_places, places_from: Of ``encoder="dt-rnn"``: places of dependents that have a matrix of
            their own on either side, and what they are counted from, ``"governor"`` or ``"left"``
            (:class:`~graphdep.nn.models.DependencyTreeRNN`). (default: :obj:`6`, ``"governor"``)
        start: Where the relation attention starts: ``"random"`` or ``"torch"``, of an encoder that is trained
            from scratch. (default: ``"random"``)
        embedding_scale: Multiply word vectors by the root of :obj:`hidden_channels`, in
            ``encoder="transformer"``. (default: :obj:`False`)
        relation_dim: Size of relation vectors.
        relation_attention: Use the labels of edges in attention scores; otherwise plain self-attention.
        gate: Of these scores: ``"sigmoid"``, ``"tanh"`` or :obj:`None`.
        gate_state: The state that opens the gate, ``"query"`` or ``"key"``.
        untyped: What becomes of pairs without a relation: ``"keep"`` or ``"gate"``.
        level_embedding: Tell how deep in the tree a word stands.
    """

    vocab_from: str = setting("train", choices=("train", "vectors"))
    directions: bool = setting(True, defines=True)
    window: int = setting(0, defines=True)
    dependent_places: int = setting(6, defines=True)
    places_from: str = setting("governor", choices=("governor", "left"), defines=True)
    relation_dim: int = setting(30, published=True)
    relation_attention: bool = setting(True, defines=True)
    gate: str | None = setting("sigmoid", choices=(None, "sigmoid", "tanh"), defines=True)
    gate_state: str = setting("query", choices=("query", "key"), defines=True)
    untyped: str = setting("keep", choices=("keep", "gate"), defines=True)
    start: str = setting("random", choices=("random", "torch"), defines=True)
    embedding_scale: bool = setting(False, published=True)
    level_embedding: bool = setting(True, defines=True)

    @property
    def reads_labels(self) -> bool:
        # Relation scores over edges that have no types get those of paths.
        return super().reads_labels or self.relation_attention  # type: ignore[misc]


@dataclass(frozen=True, kw_only=True)
class PretrainedSettings:
    """Settings of a pretrained encoder, for a :class:`TrainConfig` to inherit from as well.

    Args:
        freeze_layers: Lower layers that are not trained, the embeddings with them; 0 for none. (default:
            :obj:`0`)
        head_lr: Learning rate of what stands on the encoder; :obj:`None` for :obj:`lr`. (default:
            :obj:`None`)
        layer_decay: Factor of the learning rate from one layer to the one below. (default: :obj:`1.0`)
        floor_frozen: Score what the encoder can do before it is trained, as a floor beside that of no skill
            (:meth:`~graphdep.training.family.TaskFamily.floor_frozen`). It reads each text of the
            splits that are scored once, which takes less time than scoring them; on sentences those of at
            most 10,000 training examples as well, on words and spans those of at most 20,000 of them. A row
            that does not pass it is called untrained under the table. (default: :obj:`True`)
    """

    freeze_layers: int = setting(0, defines=True)
    head_lr: float | None = setting(None, published=True)
    layer_decay: float = setting(1.0, published=True)
    floor_frozen: bool = True

    if TYPE_CHECKING:  # of the other base
        encoder: str
        vectors: str | None
        lr: float
        weight_decay: float

        @property
        def pretrained(self) -> bool: ...

    def check_pretrained(self, scratch: str) -> None:
        """Raises :class:`ValueError` where a setting is for the other kind of encoder.

        Args:
            scratch: How an encoder is named that has no weights yet, for messages.
        """
        if not 0 < self.layer_decay <= 1:
            raise ValueError(f"'layer_decay' must be in 0 < layer_decay <= 1 (got {self.layer_decay!r})")
        if not self.pretrained and (self.freeze_layers or self.layer_decay != 1):
            raise ValueError(
                "'freeze_layers' and 'layer_decay' are for a pretrained encoder (got "
                f"encoder={self.encoder!r})"
            )
        if self.pretrained and self.vectors is not None:
            raise ValueError(f"'vectors' are for {scratch} (got encoder={self.encoder!r})")
        if self.head_lr is not None and (not self.pretrained or not 0 < self.head_lr < 3e38):
            raise ValueError(
                f"'head_lr' must be above 0, and is for a pretrained encoder (got {self.head_lr!r})"
            )


_LINKS = ("both", "to_word", "to_relation", "none")
_POSITIONS = ("sequence", "dependent", "zero", "none")
ADDING_NODES = ("dam", "constituents")
"""Edges of the library that bring nodes of relations or phrases."""
# Which settings only some models read.
_OF_PIECES = ("pieces", "max_length", "batch_pieces")
_OF_TERMS = ("relation_terms", "relation_start")
_OF_SIZES = ("hidden_channels", "num_layers", "heads", "ff_channels")
_OF_STRUCTURE = ("start", "embedding_scale", "position_embedding", "norm_first")
_OF_SCORES = ("gate", "relation_dim")
_OF_GATES = ("gate_state", "untyped")
_OF_EDGES = ("max_distance", "directions", "pieces")
_OF_PLACES = ("dependent_places", "places_from")
_OF_NODES = ("links", "cls_links", "relation_position", "type_embedding")


@dataclass(frozen=True, kw_only=True)
class EncoderSettings(PretrainedSettings, ScratchSettings):
    """Settings of an encoder that is trained from scratch, or pretrained with syntax added to it, for a
    :class:`TrainConfig` to inherit from as well; the one is built by
    :func:`~graphdep.training.build.build_encoder`, the other gets its syntax from
    :func:`~graphdep.training.build.add_syntax`.

    Args:
        relation_terms: What :obj:`relation_attention` is: ``"score"``, DT's score and gate, or
            ``"key-value"``, Graph2Graph's keys and values, for a pretrained encoder. (default: ``"score"``)
        relation_start: Where its parameters start in a pretrained encoder: ``"unchanged"``, which leaves the
            encoder's function as it is where the method allows that, or ``"random"``.
            (default: ``"unchanged"``)
        scaling: Of the relation keys, see :class:`~graphdep.nn.attention.RelationKeyValue`. (default:
            ``"paper"``)
        arcs: ``"basic"``, or of an enhanced graph (:func:`~graphdep.parsing.enhance`) ``"enhanced"`` or
            ``"enhanced++"``: the arcs that edges ``"dam"`` have a node for. (default: ``"basic"``)
        engine: What makes the enhanced graphs, ``"rules"`` or ``"pybart"``. (default: ``"rules"``)
        constituents: The edges read constituents, which the parser has to give; those of ``"constituents"``
            and ``"same-constituent"`` do so anyhow, so that it is for edges of your own.
            (default: :obj:`False`)
        pieces: ``"first"`` or ``"all"``: which pieces of a word stand for it in edges; :obj:`None` for the
            edges' own choice. (default: :obj:`None`)
        links, cls_links, relation_links, relation_position: Of edges ``"dam"``, and but for
            :obj:`relation_links` of ``"constituents"``, whose phrase nodes stand for relation nodes: which of
            a word and its relation node reads the other (``"both"``, ``"to_word"``, ``"to_relation"``,
            ``"none"``), whether [CLS], or ROOT in an encoder from scratch, and relation nodes see one
            another, whether relation nodes of one word do, and their positions (``"sequence"``,
            ``"dependent"``, ``"zero"``, or ``"none"``, no segment either, see
            :class:`~graphdep.transforms.RelationNodes`). (default: ``"both"``, :obj:`True`, :obj:`False`,
            ``"sequence"``)
        type_embedding: Relation nodes share a vector that tells them from words. (default: :obj:`True`)
        max_length: Pieces of an example at most, for a pretrained encoder. (default: :obj:`128`)
        batch_pieces: Pieces of a batch of a pretrained encoder at most: a batch with long examples ends
            before it has more, and so has fewer than :obj:`batch_size`. What fine-tuning holds in memory goes
            by them. Batches of 32 examples of 128 pieces are never cut. (default: :obj:`4096`)
        windows: Of a pretrained encoder with layers that see only the places around a word: ``"own"`` keeps
            to them, ``"dropped"`` takes all edges there, too. (default: ``"own"``)
        **others: As in :class:`PretrainedSettings` and :class:`ScratchSettings`.
    """

    relation_terms: str = setting("score", choices=("score", "key-value"), defines=True)
    relation_start: str = setting("unchanged", choices=("unchanged", "random"), defines=True)
    scaling: str = setting("paper", choices=("paper", "code"), defines=True)
    arcs: str = setting("basic", choices=ARCS, defines=True)
    engine: str = setting("rules", choices=ENGINES, defines=True)
    constituents: bool = setting(False, defines=True)
    pieces: str | None = setting(None, choices=(None, "first", "all"), defines=True)
    links: str = setting("both", choices=_LINKS, defines=True)
    cls_links: bool = setting(True, defines=True)
    relation_links: bool = setting(False, defines=True)
    relation_position: str = setting("sequence", choices=_POSITIONS, defines=True)
    type_embedding: bool = setting(True, defines=True)
    windows: str = setting("own", choices=("own", "dropped"), defines=True)
    # [CLS], a piece of each of two sentences, two [SEP].
    max_length: int = setting(128, at_least=5, published=True, free=True)
    batch_pieces: int = setting(4096, free=True)

    any_encoder: ClassVar[bool] = True

    if TYPE_CHECKING:  # of the other base
        model: str
        models: ClassVar[Any]
        encoders: ClassVar[Any]
        edges: str | None
        trees: str

    @property
    def pretrained(self) -> bool:
        return self.encoder not in self.encoders

    @property
    def takes_nodes(self) -> bool:
        """Whether the encoder has an embedding for nodes of relations and phrases."""
        return self.pretrained or (self.encoder == "transformer" and not self.relation_attention)

    @property
    def most_pieces(self) -> int | None:
        return self.batch_pieces if self.pretrained else None

    def dataset_options(self, split: str) -> dict[str, Any]:
        options: dict[str, Any] = super().dataset_options(split)  # type: ignore[misc]
        options |= {} if self.arcs == "basic" else {"arcs": self.arcs, "engine": self.engine}
        read = self.phrases_read  # type: ignore[attr-defined]
        options |= {"constituents": read} if self.reads_constituents else {}
        return {**options, "max_length": self.max_length} if self.pretrained else options

    def parser_options(self) -> dict[str, Any]:
        options: dict[str, Any] = super().parser_options()  # type: ignore[misc]
        return {**options, "arcs": self.arcs, "engine": self.engine}

    @property
    def reads_constituents(self) -> bool:
        """Whether the edges read constituents."""
        return self.constituents or self.edges in PHRASE_PRESETS

    def data_settings(self) -> dict[str, Any]:
        # The encoder's tokenizer cuts words into pieces.
        own = {"encoder": self.encoder} if self.pretrained else self.vocab_options
        return super().data_settings() | own  # type: ignore[misc]

    @property
    def vocab_options(self) -> dict[str, Any]:
        """Arguments of a dataset for the words that it gives a vocabulary."""
        if self.vocab_from == "train":
            return {}
        return {"vocab_from": self.vocab_from, "vectors": self.vectors}

    def check_encoder(self) -> None:
        """Raises :class:`ValueError` where model and encoder do not fit, or nothing reads a setting."""
        # A name that is no encoder of ours could be any folder's: only some models take one.
        own = resolve_model(self.model, self.models).overrides.get("encoder")
        if self.pretrained and own in (None, *self.encoders):
            raise ValueError(
                f"'encoder' must be one of {', '.join(self.encoders)}, or for models whose names begin with "
                f"'bert' a pretrained encoder (got {self.encoder!r})"
            )
        if not self.pretrained and own not in (None, *self.encoders):
            raise ValueError(
                f"model {self.model!r} stands on a pretrained encoder: 'encoder' must be its name or folder "
                f"(got {self.encoder!r})"
            )
        self.check_pretrained("an encoder that is trained from scratch")
        if self.vocab_from == "vectors" and self.vectors is None:
            raise ValueError("'vocab_from' cannot be 'vectors': there is no file of 'vectors' (got None)")
        if self.pretrained and self.level_embedding:
            raise ValueError(f"'level_embedding' is for encoder='transformer' (got encoder={self.encoder!r})")
        if self.encoder in CONVS and self.relation_attention:
            raise ValueError(
                f"'relation_attention' is for encoder='transformer', and {self.encoder!r} has its own "
                "attention (got True)"
            )
        for names, reader, read in self._readers():
            for name in names if not read else ():
                if getattr(self, name) != self.__dataclass_fields__[name].default:
                    raise ValueError(f"{name!r} is for {reader} (got {getattr(self, name)!r})")

    def _readers(self) -> Iterator[tuple[tuple[str, ...], str, bool]]:
        """Settings, what reads them, and whether that is there: a setting that nothing reads would make two
        rows of a table that are one.
        """
        terms = self.pretrained and self.relation_attention
        nodes = self.takes_nodes and self.edges in ADDING_NODES
        dam = nodes and self.edges == "dam"
        yield _OF_PIECES, "a pretrained encoder", self.pretrained
        yield ("windows",), "a pretrained encoder", self.pretrained
        yield ("vectors_scale",), "'vectors'", self.vectors is not None
        yield _OF_TERMS, "relation_attention in a pretrained encoder", terms
        yield ("scaling",), "relation_terms='key-value'", terms and self.relation_terms == "key-value"
        yield _OF_PLACES, "encoder='dt-rnn'", self.encoder == "dt-rnn"
        yield _OF_NODES, "edges='dam' or 'constituents'", nodes
        yield ("relation_links",), "edges='dam'", dam
        own = self.edges is not None and is_own(self.edges)
        yield ("constituents",), "edges of your own (those of the presets know what they read)", own
        if self.pretrained:
            score = terms and self.relation_terms == "score"
            yield _OF_SCORES, "relation_attention with relation_terms='score'", score
            yield _OF_GATES, "a gate of relation scores", score and self.gate is not None
            yield (*_OF_SIZES, *_OF_STRUCTURE), "an encoder that is trained from scratch", False
            for name in _OF_EDGES:
                takers = [edges for edges in (*PRESETS, *PHRASE_PRESETS) if name in preset_options(edges)]
                read = self.edges is not None and name in preset_options(self.edges)
                yield (name,), f"edges {', '.join(takers)}", read
        yield (
            ("arcs",),
            "edges='dam' on the parser's trees",
            dam and self.trees in ("parser", "gold"),
        )
        yield ("engine",), "arcs of an enhanced graph", self.arcs != "basic"


@dataclass(frozen=True, kw_only=True)
class WordSettings(EncoderSettings):
    """Defaults of a :class:`TrainConfig` whose model reads states of words, for it to inherit from as well:
    two layers of 128 channels, Adam at 1e-3, gradients clipped at 1, at most 20 epochs.

    Args:
        limit_eval: Validate and test on so many examples each at most, spread evenly over their splits, the
            same for every seed, which tables say; all are read and parsed. (default: :obj:`None`, all)
        **others: As in :class:`~graphdep.training.encoder_config.EncoderSettings` and
            :class:`TrainConfig`.
    """

    limit_eval: int | None = setting(None, free=True)
    edges: str | None = "dt"
    max_distance: int = 2
    min_freq: int = 2
    max_epochs: int = 20
    patience: int | None = 5
    batch_size: int = 32
    optimizer: str = "adam"
    lr: float = 1e-3
    weight_decay: float = 0.0
    clip: float | None = 1.0
    hidden_channels: int = 128
    num_layers: int = 2
    heads: int = 4
    ff_channels: int = 256
    dropout: float = 0.1
    max_length: int = 256

    encoders: ClassVar[Mapping[str, bool]] = SCRATCH_ENCODERS
    of_words: ClassVar[tuple[str, ...]] = OF_WORDS
    headed: ClassVar[tuple[str, ...]] = HEADED
    corpus_options: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Settings that only some corpora take, and what these call them; at :obj:`None` a corpus has its own
    default.
    """

    if TYPE_CHECKING:  # of the other base
        task: str
        spec: Task
        places: ClassVar[tuple[str, ...]]

    @property
    def marked(self) -> bool:
        """Whether words of an example are marked."""
        return True

    @property
    def about_data(self) -> str:
        said = [f"{name} {value}" for name, value in self._given().items() if name not in self.places]
        said += [] if self.limit_eval is None else [f"at most {self.limit_eval} examples of val and test"]
        return ", ".join(said)

    def dataset_options(self, split: str) -> dict[str, Any]:
        own = {self.corpus_options[name]: value for name, value in self._given().items()}
        return super().dataset_options(split) | own

    def data_settings(self) -> dict[str, Any]:
        own = {} if self.limit_eval is None else {"limit_eval": self.limit_eval}
        return super().data_settings() | own

    def check_corpus_options(self) -> None:
        """Raises :class:`ValueError` where an option is not one of the corpus."""
        task = self.spec
        for name, value in self._given().items():
            usual = self.__dataclass_fields__[name].default
            if value != usual and not task.takes(self.corpus_options[name]):
                raise ValueError(f"{name!r} is not for task {self.task!r} (got {value!r})")

    def _given(self) -> dict[str, Any]:
        given = {name: getattr(self, name) for name in self.corpus_options}
        return {name: value for name, value in given.items() if value is not None}

    def _readers(self) -> Iterator[tuple[tuple[str, ...], str, bool]]:
        yield from super()._readers()
        yield ("word_state",), "a pretrained encoder", self.pretrained


# As BERT is fine-tuned, but for warm-up and decay, which are a matter of steps (warmup_steps). What is new
# has a rate of its own, since at BERT's it would stay where it starts: zeros, mostly.
_FINE_TUNING: dict[str, object] = {
    "encoder": "bert-base-uncased",
    "optimizer": "adamw",
    "lr": 3e-5,
    "head_lr": 1e-3,
    "weight_decay": 0.01,
    "dropout": 0.1,
    "max_epochs": 3,
    "patience": None,
    "level_embedding": False,
}


def _bert(summary: str, edges: str = "transformer", **overrides: object) -> ModelPreset:
    own = {"relation_attention": False, **_FINE_TUNING, **overrides}
    return ModelPreset(summary, edges=edges, overrides=own)


def _bert_dt(summary: str, gate: str | None = "tanh", **overrides: object) -> ModelPreset:
    return _bert(summary, "dt", relation_attention=True, gate=gate, **overrides)


def _bert_g2g(summary: str, **overrides: object) -> ModelPreset:
    return _bert(summary, "g2g", relation_attention=True, relation_terms="key-value", **overrides)


def _bert_dam(
    summary: str, arcs: str = "enhanced++", engine: str = "pybart", **overrides: object
) -> ModelPreset:
    own = {} if arcs == "basic" else {"engine": engine}
    return _bert(summary, "dam", arcs=arcs, **own, **overrides)


PRETRAINED_MODELS: Mapping[str, ModelPreset] = {
    "bert": _bert("the pretrained encoder alone"),
    "bert-dt": _bert_dt(
        "DT on it, without levels: relation scores whose gate (tanh, as the text says) reads the query "
        "(Eq. 3) and starts closed"
    ),
    "bert-dt-text": _bert_dt(
        "DT on it whose gate reads the key word's state, as the text says", gate_state="key"
    ),
    "bert-dt-sigmoid": _bert_dt(
        "DT on it with the sigmoid of Eq. 3: related pairs start at half their score", gate="sigmoid"
    ),
    "bert-dt-lr": _bert_dt("DT on it without gate: relation scores are added", gate=None),
    "bert-g2g": _bert_g2g("Graph2Graph on it: relation keys and values, scaled as in the paper"),
    "bert-g2g-code": _bert_g2g("Graph2Graph on it, relation keys not scaled, as in its code", scaling="code"),
    "bert-g2g-start": _bert_g2g(
        "Graph2Graph on it whose relation vectors start at random, as published", relation_start="random"
    ),
    "bert-dra": _bert("DRA's edges on it, and all of [CLS] and [SEP]", "dra"),
    "bert-sia": _bert("SIA's edges on it, in all layers", "sia"),
    "bert-dam": _bert_dam(
        "DAM on it: a node for each arc (of the enhanced++ graph by pybart; bert-dam-ud: by our rules; "
        "bert-dam-basic: of the other rows' trees)"
    ),
    "bert-dam-ud": _bert_dam(
        "DAM on the enhanced++ graph by graphdep's own rules, without another package", engine="rules"
    ),
    "bert-dam-basic": _bert_dam("DAM on the basic tree", arcs="basic"),
    "bert-dam-basic-nopos": _bert_dam(
        "DAM on the basic tree, its relation nodes without position and segment (section 3.3)",
        arcs="basic",
        relation_position="none",
    ),
    "bert-dam-enhanced": _bert_dam("DAM on the enhanced graph, without what ++ adds", arcs="enhanced"),
    "bert-dam-untyped": _bert_dam(
        "DAM without the vector that all relation nodes share", type_embedding=False
    ),
    "bert-dam-nopos": _bert_dam(
        "DAM whose relation nodes have no position and no segment: label and type alone (section 3.3)",
        relation_position="none",
    ),
    "bert-dam-nocls": _bert_dam("DAM whose [CLS] and relation nodes do not see one another", cls_links=False),
    "bert-dam-to-word": _bert_dam("DAM whose words read relations and not the other way", links="to_word"),
    "bert-dam-to-relation": _bert_dam(
        "DAM whose relations read words and not the other way", links="to_relation"
    ),
    "bert-dam-self": _bert_dam("DAM whose words and relations do not see one another", links="none"),
    "bert-dam-linked": _bert_dam("DAM whose relation nodes of one word see one another", relation_links=True),
    "bert-dam-pieces": _bert_dam("DAM in which all pieces stand for a word", pieces="all"),
    "bert-constituents": _bert("as DAM with a node for each constituent of the parse", "constituents"),
}
"""Models of every family whose encoder may be a pretrained one; their names begin with ``bert``."""


_PLAIN: dict[str, object] = {"relation_attention": False, "level_embedding": False}


def _row(summary: str, edges: str | None, **overrides: object) -> ModelPreset:
    return ModelPreset(summary, edges, overrides=overrides)


def _plain(summary: str, edges: str, **overrides: object) -> ModelPreset:
    return _row(summary, edges, **_PLAIN, **overrides)


def _baseline(summary: str, encoder: str, **overrides: object) -> ModelPreset:
    return _row(summary, None, **_PLAIN, encoder=encoder, **overrides)


WORD_MODELS: Mapping[str, ModelPreset] = {
    "transformer": _plain("no syntax: every word sees every other", "transformer"),
    "transformer-nopos": _plain(
        "no syntax and no positions: a sentence is a bag of words", "transformer", position_embedding=False
    ),
    "transformer-wide": _plain(
        "the Transformer with a wider feed-forward layer: with it and 128 channels, as many parameters as DT",
        "transformer",
        ff_channels=394,
    ),
    "dt": _row("Dependency-Transformer: pairs of words are typed by their path in the tree", "dt"),
    "dt-nopos": _row("DT without position embedding", "dt", position_embedding=False),
    "dt-nolevel": _row("DT without level embedding", "dt", level_embedding=False),
    "dt-nolevel-nopos": _row(
        "DT without level and position embedding", "dt", level_embedding=False, position_embedding=False
    ),
    "dt-torch": _row("DT whose relations start where PyTorch's own layers do: wider", "dt", start="torch"),
    "dt-untyped": _row(
        "DT as Eq. 2-3 are written: its gate acts on pairs without a relation, too", "dt", untyped="gate"
    ),
    "dt-related": _row("DT that attends to related pairs only", "dt-related"),
    "tree": _plain("a word sees its governor, its dependents and itself", "tree"),
    "tree-nopos": _plain(
        "a word sees its governor, its dependents and itself, and has no position",
        "tree",
        position_embedding=False,
    ),
    "dra": _plain(
        "DRA: a word sees its dependents and itself, and has no position", "dra", position_embedding=False
    ),
    "sia": _plain("SIA: a word sees its ancestors, and words of small depth one another", "sia"),
    "lisa": _plain(
        "LISA: in one layer, one head sees the governor alone, which is given",
        "lisa-complete",
        encoder="lisa",
    ),
    "gate": _plain(
        "GATE: a word sees those at most two arcs away, the nearer the more", "gate", encoder="gate"
    ),
    "g2g": _plain("Graph2Graph: keys and values of the arc between two words", "g2g", encoder="g2g"),
    "g2g-nopos": _plain(
        "Graph2Graph without position embedding", "g2g", encoder="g2g", position_embedding=False
    ),
    "dam": _plain("DAM: words see one another, and a node for each arc that has its label", "dam"),
    "constituents": _plain(
        "as DAM with a node for each constituent, which sees its words and is seen by them", "constituents"
    ),
    "same-constituent": _plain(
        "a word sees those that are in a small constituent with it, without nodes", "same-constituent"
    ),
    "bilstm": _baseline("LSTM over the words in both directions", "bilstm"),
    "bilstm-deep": _baseline(
        "two layers of it, with about as many weights as the Transformer", "bilstm-deep"
    ),
    "bigru": _baseline("GRU over the words in both directions", "bigru"),
    "lstm": _baseline("LSTM over the words, which has not read what follows", "lstm"),
    "tree-lstm": _baseline("child-sum Tree-LSTM: a word with all that depends on it", "tree-lstm"),
    "bitree-lstm": _baseline("Tree-LSTM up and down the tree", "bitree-lstm"),
    "tree-transformer": _baseline(
        "simplified Tree-Transformer: a word with all that depends on it", "tree-transformer"
    ),
    "dt-rnn": _baseline(
        "DT-RNN: a word with all that depends on it, by a matrix for each place of a dependent", "dt-rnn"
    ),
    "word-average": _baseline("the word alone, without any other", "word-average"),
    "window": _baseline("the mean over the word and two on either side", "word-average", window=2),
    # on a pretrained encoder
    **PRETRAINED_MODELS,
}
"""Models that give a state for each word, all of them on the parser's trees."""
