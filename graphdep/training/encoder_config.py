"""Settings of encoders, trained from scratch or pretrained."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from graphdep.io.limits import no_choice
from graphdep.parsing.enhanced import ARCS, ENGINES, LEVELS
from graphdep.training.config import ModelPreset, TrainConfig, resolve_model
from graphdep.training.settings import CONTROL_TREES, DATA, setting
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
        "bilstm-labels": False,
        "bigru": False,
        "tree-lstm": False,
        "bitree-lstm": False,
        "tree-transformer": False,
        "dt-rnn": False,
    }
)
"""Encoders by name, and whether each reads edges."""
OF_WORDS = ("word-average", "lstm", "bilstm", "bilstm-deep", "bigru")
"""Encoders that do not read trees."""
CONVS = ("lisa", "gate", "g2g")
"""Transformers with the attention of other papers."""
HEADED = ("transformer", *CONVS, "tree-transformer")
"""Encoders with attention heads."""


ADDING_NODES = ("dam", "constituents")
"""Edge presets that add nodes of relations or phrases."""
# Settings that only some models read.
_OF_PIECES = ("pieces", "max_length", "batch_pieces")
_OF_TERMS = ("relation_terms", "relation_start")
_OF_SIZES = ("hidden_channels", "num_layers", "heads", "ff_channels")
_OF_STRUCTURE = ("start", "embedding_scale", "position_embedding", "norm_first")
_OF_SCORES = ("gate", "relation_dim")
_OF_GATES = ("gate_state", "untyped")
_OF_EDGES = ("max_distance", "directions", "pieces")
_OF_PLACES = ("dependent_places", "places_from")
_OF_NODES = ("links", "cls_links", "relation_position")


class NodeConfig(TrainConfig):
    """Settings of runs whose edges may add nodes of relations or phrases, or read enhanced graphs.

    Args:
        **settings: The settings of :class:`TrainConfig`, and those of graphs and added nodes.
    """

    arcs: str = setting(
        "basic",
        "Arcs that edges dam, own-arcs and your own edges read: those of the basic tree, of an enhanced "
        "graph, or own, the 'edges' of rows.",
        choices=ARCS,
        defines=True,
    )
    engine: str = setting("rules", "Engine that makes the enhanced graphs.", choices=ENGINES, defines=True)
    relation_min_freq: int = setting(
        5,
        "Labels of enhanced graphs with fewer arcs in training are read as their part before ':'.",
        published=True,
    )
    constituents: bool = setting(
        False,
        "Parse constituents for your own edges; presets that need them request them.",
        defines=True,
    )
    links: str = setting(
        "both",
        "Edges dam and constituents: direction between a word and its relation or phrase nodes.",
        choices=("both", "to_word", "to_relation", "none"),
        defines=True,
    )
    cls_links: bool = setting(
        True,
        "Edges dam and constituents: [CLS] (ROOT in an encoder from scratch) and added nodes attend to each "
        "other.",
        defines=True,
    )
    relation_links: bool = setting(
        False, "Edges dam: relation nodes of a word attend to each other.", defines=True
    )
    relation_position: str = setting(
        "sequence",
        "Edges dam and constituents: positions of added nodes; none also removes their segments.",
        choices=("sequence", "dependent", "zero", "none"),
        defines=True,
    )
    type_embedding: bool = setting(True, "Add a shared type vector to added nodes.", defines=True)

    def check(self) -> None:
        super().check()
        for reader in self._readers():
            self.check_read(*reader)

    def _readers(self) -> Iterator[tuple[tuple[str, ...], str, bool]]:
        """Settings, what reads them, and whether these settings have such a reader."""
        own = self.edges is not None and is_own(self.edges)
        dam, nodes = self.edges == "dam", self.edges in ADDING_NODES
        yield _OF_NODES, "edges='dam' or 'constituents'", nodes
        yield ("type_embedding",), "edges dam, constituents or of your own", nodes or own
        yield ("relation_links",), "edges='dam'", dam
        yield ("constituents",), "edges of your own (presets request what they read)", own
        of_arcs = (dam or own or self.edges == "own-arcs") and self.trees not in CONTROL_TREES
        yield ("arcs",), "edges dam, own-arcs or of your own, without a control of trees", of_arcs
        yield ("engine",), "arcs of an enhanced graph", self.arcs not in ("basic", "own")
        learned = self.arcs in LEVELS and self.relations != "ud"
        yield ("relation_min_freq",), "arcs of an enhanced graph whose labels are learned", learned

    def dataset_options(self, split: str) -> dict[str, Any]:
        options = super().dataset_options(split)
        if self.arcs != "basic":
            options |= {name: getattr(self, name) for name in ("arcs", "engine", "relation_min_freq")}
        return options | ({"constituents": self.phrases_read} if self.reads_constituents else {})

    def parser_options(self) -> dict[str, Any]:
        return {**super().parser_options(), "arcs": self.arcs, "engine": self.engine}

    @property
    def reads_constituents(self) -> bool:
        """Whether the edges read constituents."""
        return self.constituents or any(getattr(self, name) in PHRASE_PRESETS for name in self.edge_settings)


class PretrainedConfig(NodeConfig):
    """Settings of runs whose encoder may be pretrained.

    Args:
        **settings: The settings of :class:`NodeConfig`, and ``freeze_layers``, ``head_lr``, ``layer_decay``
            and ``floor_frozen``.
    """

    freeze_layers: int = setting(
        0, "Number of lowest layers to freeze, together with the embeddings; 0 for none.", defines=True
    )
    head_lr: float | None = setting(
        None,
        "Learning rate of the head and of parameters added to a pretrained encoder; none for lr.",
        above=0,
        published=True,
    )
    layer_decay: float = setting(
        1.0, "Factor of the learning rate from a layer to the one below.", above=0, published=True
    )
    floor_frozen: bool = setting(
        True,
        "Also score the untrained pretrained encoder, as a floor. It encodes the texts of the scored splits, "
        "and at most 10,000 training examples of sentences or 20,000 of words and spans. Tables mark rows "
        "that are no better as UNTRAINED.",
    )

    any_encoder: ClassVar[bool] = True
    from_scratch_name: ClassVar[str] = "an encoder that is trained from scratch"
    """Description of an encoder that is not pretrained, in messages."""

    @property
    def pretrained(self) -> bool:
        return self.encoder not in self.encoders

    def check(self) -> None:
        super().check()
        self._check_encoder()

    def _check_encoder(self) -> None:
        """Raises :class:`ValueError` if settings are for the other kind of encoder."""
        self.check_read(("freeze_layers", "layer_decay", "head_lr"), "a pretrained encoder", self.pretrained)
        self.check_read(("vectors",), self.from_scratch_name, not self.pretrained)


class EncoderConfig(PretrainedConfig):
    """Settings of runs whose encoder is trained from scratch
    (:func:`~graphdep.training.build.build_encoder`), or pretrained with added syntax
    (:func:`~graphdep.training.build.add_syntax`).

    Args:
        **settings: The settings of :class:`PretrainedConfig`, and those of both kinds of encoders.
    """

    # an encoder that is trained from scratch
    vocab_from: str = setting(
        "train",
        "Words in the vocabulary: those of the training split, or with vectors also words of the other "
        "splits that are in the file of vectors.",
        choices=("train", "vectors"),
    )
    directions: bool = setting(True, "Distinguish a relation from its inverse.", defines=True)
    window: int = setting(
        0,
        "Words on either side that encoder word-average includes in the mean.",
        defines=True,
    )
    dependent_places: int = setting(
        6,
        "Positions of dependents on either side with separate matrices in encoder dt-rnn.",
        defines=True,
    )
    places_from: str = setting(
        "governor",
        "Count positions of dependents in encoder dt-rnn from the governor or from the left.",
        choices=("governor", "left"),
        defines=True,
    )
    relation_dim: int = setting(30, "Size of relation vectors.", published=True)
    relation_attention: bool = setting(
        True, "Use the types of edges in attention; otherwise plain self-attention.", defines=True
    )
    gate: str | None = setting(
        "sigmoid",
        "Gate of relation scores, or none.",
        choices=(None, "sigmoid", "tanh"),
        defines=True,
    )
    gate_state: str = setting(
        "query", "State that the gate is computed from.", choices=("query", "key"), defines=True
    )
    untyped: str = setting(
        "keep",
        "Scores of pairs without a relation: keep them, or apply the gate.",
        choices=("keep", "gate"),
        defines=True,
    )
    start: str = setting(
        "random",
        "Initialization of relation vectors in an encoder that is trained from scratch; torch: PyTorch's "
        "default.",
        choices=("random", "torch"),
        defines=True,
    )
    embedding_scale: bool = setting(
        False, "Multiply word vectors by sqrt(hidden_channels) in encoder transformer.", published=True
    )
    level_embedding: bool = setting(True, "Embed the depth of a word in the tree.", defines=True)
    # a pretrained encoder
    relation_terms: str = setting(
        "score",
        "Relation attention in a pretrained encoder: DT's score and gate, or Graph2Graph's key-value.",
        choices=("score", "key-value"),
        defines=True,
    )
    relation_start: str = setting(
        "unchanged",
        "Initialization of relation parameters in a pretrained encoder; unchanged preserves its outputs if "
        "the method allows it.",
        choices=("unchanged", "random"),
        defines=True,
    )
    scaling: str = setting(
        "paper",
        "Scale relation keys as in the paper of Graph2Graph, or not, as in its code.",
        choices=("paper", "code"),
        defines=True,
    )
    pieces: str | None = setting(
        None,
        "Word pieces that edges of words connect; none for the edges' default.",
        choices=(None, "first", "all"),
        defines=True,
    )
    windows: str = setting(
        "own",
        "Local attention layers of a pretrained encoder: own restricts edges to their windows, dropped uses "
        "all edges.",
        choices=("own", "dropped"),
        defines=True,
    )
    max_length: int = setting(
        128,
        "Longest example in word pieces, for a pretrained encoder.",
        least=5,  # [CLS], one piece of each of two sentences, two [SEP]
        published=True,
        free=True,
    )
    batch_pieces: int = setting(
        4096,
        "Largest number of word pieces per batch, for a pretrained encoder, which bounds the memory of "
        "fine-tuning: batches of long examples have fewer. 4,096 are 32 examples of 128 pieces.",
        free=True,
    )

    @property
    def reads_labels(self) -> bool:
        # Edges without types get those of tree paths for relation scores.
        return super().reads_labels or self.relation_attention

    @property
    def most_pieces(self) -> int | None:
        return self.batch_pieces if self.pretrained else None

    def dataset_options(self, split: str) -> dict[str, Any]:
        options = super().dataset_options(split)
        return {**options, "max_length": self.max_length} if self.pretrained else options

    def data_settings(self) -> dict[str, Any]:
        # The tokenizer belongs to the encoder.
        own = {"encoder": self.encoder} if self.pretrained else self.vocab_options
        return super().data_settings() | own

    @property
    def vocab_options(self) -> dict[str, Any]:
        """Arguments of a dataset for its vocabulary."""
        if self.vocab_from == "train":
            return {}
        return {"vocab_from": self.vocab_from, "vectors": self.vectors}

    def _check_encoder(self) -> None:
        # Any other name could be that of a folder, which only some models take.
        own = resolve_model(self.model, self.models).overrides.get("encoder")
        if self.pretrained and own in (None, *self.encoders):
            raise ValueError(
                f"{no_choice('encoder', self.encoder, self.encoders)}; a pretrained encoder is for models "
                "whose names begin with 'bert'"
            )
        if not self.pretrained and own not in (None, *self.encoders):
            raise ValueError(
                f"model {self.model!r} needs a pretrained encoder: 'encoder' must be its name or folder "
                f"(got {self.encoder!r})"
            )
        super()._check_encoder()

    def check(self) -> None:
        if self.encoder == "bilstm-labels" and not self.labels:
            raise ValueError(
                "'labels' cannot be False for encoder='bilstm-labels': use encoder='bilstm-deep'"
            )
        super().check()
        if self.vocab_from == "vectors" and self.vectors is None:
            raise ValueError("'vocab_from' cannot be 'vectors' without a file of 'vectors'")
        if self.pretrained and self.level_embedding:
            raise ValueError(f"'level_embedding' is for encoder='transformer' (got encoder={self.encoder!r})")
        if self.encoder in CONVS and self.relation_attention:
            raise ValueError(
                f"'relation_attention' is for encoder='transformer', and {self.encoder!r} has its own "
                "attention (got True)"
            )

    def _readers(self) -> Iterator[tuple[tuple[str, ...], str, bool]]:
        yield from super()._readers()
        terms = self.pretrained and self.relation_attention
        yield _OF_PIECES, "a pretrained encoder", self.pretrained
        yield ("windows",), "a pretrained encoder", self.pretrained
        yield ("vectors_scale",), "'vectors'", self.vectors is not None
        yield _OF_TERMS, "relation_attention in a pretrained encoder", terms
        yield ("scaling",), "relation_terms='key-value'", terms and self.relation_terms == "key-value"
        yield _OF_PLACES, "encoder='dt-rnn'", self.encoder == "dt-rnn"
        if self.pretrained:
            score = terms and self.relation_terms == "score"
            yield _OF_SCORES, "relation_attention with relation_terms='score'", score
            yield _OF_GATES, "a gate of relation scores", score and self.gate is not None
            yield (*_OF_SIZES, *_OF_STRUCTURE), "an encoder that is trained from scratch", False
            for name in _OF_EDGES:
                takers = [edges for edges in (*PRESETS, *PHRASE_PRESETS) if name in preset_options(edges)]
                read = self.edges is not None and name in preset_options(self.edges)
                yield (name,), f"edges {', '.join(takers)}", read
        else:
            typed = self.edges is not None and (
                self.relation_attention
                or (self.encoder in CONVS and "directions" in preset_options(self.edges))
            )
            yield ("directions",), "models that read the labels of arcs from both sides", typed


class WordConfig(EncoderConfig):
    """Settings of runs whose model reads states of words. Defaults: two layers of 128 channels, Adam with
    a learning rate of 1e-3, gradients clipped at 1, at most 20 epochs.

    Args:
        **settings: The settings of :class:`EncoderConfig`, ``limit_eval`` and ``word_state``.
    """

    limit_eval: int | None = setting(
        None,
        "Largest number of validation and of test examples, spread evenly over the splits, the same for "
        "every seed; all examples are still parsed.",
        panel=DATA,
        free=True,
    )
    word_state: str = setting(
        "first",
        "State of a word in a pretrained encoder: that of its first piece, or the mean of its pieces.",
        choices=("first", "mean"),
        defines=True,
    )
    model: str = "dt"
    encoder: str = setting(
        "transformer",
        "Encoder: transformer, lisa, gate or g2g over the edges; word-average, lstm, bilstm, bilstm-deep or "
        "bigru over words; bilstm-labels over words and the labels of their arcs; tree-lstm, bitree-lstm, "
        "tree-transformer or dt-rnn over the dependency tree; for models whose names begin with bert, a "
        "pretrained encoder: a folder or a name on the Hugging Face hub.",
    )
    edges: str | None = "dt"
    max_distance: int = 2
    min_freq: int = setting(2, "Rarer words are unknown; the unknown word is trained on them.")
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
    max_length: int = setting(
        256, "Longest sentence in word pieces, for a pretrained encoder; words beyond count as wrong."
    )

    encoders: ClassVar[Mapping[str, bool]] = SCRATCH_ENCODERS
    of_words: ClassVar[tuple[str, ...]] = OF_WORDS
    headed: ClassVar[tuple[str, ...]] = HEADED
    corpus_options: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Settings that only some corpora have, by the names of the datasets' options; :obj:`None` is the default
    of the corpus.
    """

    @property
    def marked(self) -> bool:
        return True

    @property
    def about_data(self) -> str:
        said = [
            f"{name} {value}" for name, value in self._given().items() if name not in self.with_mark("place")
        ]
        said += [] if self.limit_eval is None else [f"at most {self.limit_eval} examples of val and test"]
        return ", ".join(said)

    def dataset_options(self, split: str) -> dict[str, Any]:
        own = {self.corpus_options[name]: value for name, value in self._given().items()}
        return super().dataset_options(split) | own

    def data_settings(self) -> dict[str, Any]:
        own = {} if self.limit_eval is None else {"limit_eval": self.limit_eval}
        return super().data_settings() | own

    def check(self) -> None:
        super().check()
        for name in self._given():
            self.check_option(name, self.corpus_options[name])

    def _given(self) -> dict[str, Any]:
        given = {name: getattr(self, name) for name in self.corpus_options}
        return {name: value for name, value in given.items() if value is not None}

    def _readers(self) -> Iterator[tuple[tuple[str, ...], str, bool]]:
        yield from super()._readers()
        yield ("word_state",), "a pretrained encoder", self.pretrained


# BERT's fine-tuning without warm-up and decay (warmup_steps). New parameters have a higher rate: at BERT's
# they would stay near their initial values, mostly zeros.
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
        "DT in a pretrained encoder, without level embedding: relation scores with a tanh gate (text of the "
        "paper) of the query (Eq. 3), initially closed"
    ),
    "bert-dt-text": _bert_dt(
        "bert-dt with the gate of the key word's state, as in one sentence of the text", gate_state="key"
    ),
    "bert-dt-sigmoid": _bert_dt(
        "bert-dt with the sigmoid gate of Eq. 3: related pairs start with half their score", gate="sigmoid"
    ),
    "bert-dt-lr": _bert_dt("bert-dt without gate: relation scores are added", gate=None),
    "bert-g2g": _bert_g2g(
        "Graph2Graph in a pretrained encoder: relation keys and values, scaled as in the paper"
    ),
    "bert-g2g-code": _bert_g2g("bert-g2g with unscaled relation keys, as in its code", scaling="code"),
    "bert-g2g-start": _bert_g2g(
        "bert-g2g with random initial relation vectors, as published", relation_start="random"
    ),
    "bert-dra": _bert("a pretrained encoder over DRA's edges and all edges of [CLS] and [SEP]", "dra"),
    "bert-sia": _bert("a pretrained encoder over SIA's edges in all layers", "sia"),
    "bert-dam": _bert_dam(
        "DAM in a pretrained encoder: a node per arc of the enhanced++ graph by pybart (bert-dam-ud: by our "
        "rules; bert-dam-basic: of the tree)"
    ),
    "bert-dam-ud": _bert_dam("bert-dam on the enhanced++ graph by graphdep's rules", engine="rules"),
    "bert-dam-basic": _bert_dam("bert-dam on the basic tree", arcs="basic"),
    "bert-dam-basic-nopos": _bert_dam(
        "bert-dam on the basic tree, relation nodes without position and segment (section 3.3)",
        arcs="basic",
        relation_position="none",
    ),
    "bert-dam-enhanced": _bert_dam("bert-dam on the enhanced graph instead of enhanced++", arcs="enhanced"),
    "bert-dam-untyped": _bert_dam("bert-dam without the type vector of relation nodes", type_embedding=False),
    "bert-dam-nopos": _bert_dam(
        "bert-dam with relation nodes without position and segment: label and type only (section 3.3)",
        relation_position="none",
    ),
    "bert-dam-nocls": _bert_dam("bert-dam without edges between [CLS] and relation nodes", cls_links=False),
    "bert-dam-to-word": _bert_dam("bert-dam with edges from relations to words only", links="to_word"),
    "bert-dam-to-relation": _bert_dam(
        "bert-dam with edges from words to relations only", links="to_relation"
    ),
    "bert-dam-self": _bert_dam("bert-dam without edges between words and relations", links="none"),
    "bert-dam-linked": _bert_dam("bert-dam with edges between the relations of a word", relation_links=True),
    "bert-dam-pieces": _bert_dam("bert-dam with edges of all pieces of a word", pieces="all"),
    "bert-constituents": _bert("as bert-dam, but with a node per constituent of the parse", "constituents"),
}
"""Models of every family with a pretrained encoder; their names begin with ``bert``."""


_PLAIN: dict[str, object] = {"relation_attention": False, "level_embedding": False}


def _row(summary: str, edges: str | None, **overrides: object) -> ModelPreset:
    return ModelPreset(summary, edges, overrides=overrides)


def _plain(summary: str, edges: str, **overrides: object) -> ModelPreset:
    return _row(summary, edges, **_PLAIN, **overrides)


def _baseline(summary: str, encoder: str, **overrides: object) -> ModelPreset:
    return _row(summary, None, **_PLAIN, encoder=encoder, **overrides)


WORD_MODELS: Mapping[str, ModelPreset] = {
    "transformer": _plain("no syntax: all words attend to each other", "transformer"),
    "transformer-nopos": _plain(
        "no syntax and no positions: a bag of words", "transformer", position_embedding=False
    ),
    "transformer-wide": _plain(
        "the Transformer with a wider feed-forward layer: as many parameters as DT with 128 channels",
        "transformer",
        ff_channels=394,
    ),
    "transformer-relative": _plain(
        "no syntax: keys and values of the distance between two words instead of positions",
        "relative",
        encoder="g2g",
        position_embedding=False,
    ),
    "dt": _row("Dependency-Transformer: pairs of words have the type of their path in the tree", "dt"),
    "dt-nopos": _row("DT without position embedding", "dt", position_embedding=False),
    "dt-nolevel": _row("DT without level embedding", "dt", level_embedding=False),
    "dt-nolevel-nopos": _row(
        "DT without level and position embedding", "dt", level_embedding=False, position_embedding=False
    ),
    "dt-torch": _row(
        "DT with PyTorch's default initialization of relations, which is wider", "dt", start="torch"
    ),
    "dt-untyped": _row(
        "DT as in Eq. 2-3: the gate also acts on pairs without a relation", "dt", untyped="gate"
    ),
    "dt-related": _row("DT with attention to related pairs only", "dt-related"),
    "tree": _plain("a word attends to its governor, its dependents and itself", "tree"),
    "tree-nopos": _plain(
        "a word attends to its governor, its dependents and itself; no positions",
        "tree",
        position_embedding=False,
    ),
    "dra": _plain(
        "DRA: a word attends to its dependents and itself; no positions", "dra", position_embedding=False
    ),
    "sia": _plain("SIA: a word attends to its ancestors, and words of small depth to each other", "sia"),
    "lisa": _plain(
        "LISA: one head of one layer attends only to the given governor",
        "lisa-complete",
        encoder="lisa",
    ),
    "gate": _plain(
        "GATE: a word attends to words at most two arcs away, more to nearer ones", "gate", encoder="gate"
    ),
    "g2g": _plain("Graph2Graph: keys and values of the arc between two words", "g2g", encoder="g2g"),
    "g2g-nopos": _plain(
        "Graph2Graph without position embedding", "g2g", encoder="g2g", position_embedding=False
    ),
    "dam": _plain("DAM: words attend to each other and to a node per arc, which has its label", "dam"),
    "constituents": _plain("as DAM, but with a node per constituent, linked with its words", "constituents"),
    "same-constituent": _plain(
        "a word attends to the words of its small constituents; no added nodes", "same-constituent"
    ),
    "bilstm": _baseline("LSTM over the words in both directions", "bilstm"),
    "bilstm-deep": _baseline(
        "BiLSTM with two layers, with about as many weights as the Transformer", "bilstm-deep"
    ),
    "bilstm-labels": _baseline(
        "bilstm-deep that also reads the label of each word's arc, but no arcs", "bilstm-labels"
    ),
    "bigru": _baseline("GRU over the words in both directions", "bigru"),
    "lstm": _baseline("LSTM over the words from left to right", "lstm"),
    "tree-lstm": _baseline("child-sum Tree-LSTM: the subtree of each word", "tree-lstm"),
    "bitree-lstm": _baseline("Tree-LSTM up and down the tree", "bitree-lstm"),
    "tree-transformer": _baseline(
        "simplified Tree-Transformer: the subtree of each word", "tree-transformer"
    ),
    "dt-rnn": _baseline(
        "DT-RNN: the subtree of each word, with a matrix per position of a dependent", "dt-rnn"
    ),
    "word-average": _baseline("the word alone", "word-average"),
    "window": _baseline("the mean over the word and two words on either side", "word-average", window=2),
    # in a pretrained encoder
    **PRETRAINED_MODELS,
}
"""Models with a state per word, all on the parser's trees."""
