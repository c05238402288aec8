"""Settings of encoders, from scratch and pretrained."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from graphdep.parsing.enhanced import ARCS, ENGINES, LEVELS
from graphdep.training.config import ModelPreset, TrainConfig, resolve_model
from graphdep.training.settings import DATA, setting
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
"""Those that read no tree."""
CONVS = ("lisa", "gate", "g2g")
"""Transformers whose attention is that of another paper."""
HEADED = ("transformer", *CONVS, "tree-transformer")
"""Those whose heads share the channels."""


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
_OF_NODES = ("links", "cls_links", "relation_position")


class NodeConfig(TrainConfig):
    """Settings of runs whose edges may add nodes of relations or phrases, or read enhanced graphs.

    Args:
        **settings: Those of :class:`TrainConfig`, and those of the nodes and of what they are made of.
    """

    arcs: str = setting(
        "basic",
        "Arcs that edges dam, own-arcs and those of your own read: of the basic tree, of an enhanced graph, "
        "or own, the 'edges' of rows.",
        choices=ARCS,
        defines=True,
    )
    engine: str = setting("rules", "Engine that makes the enhanced graphs.", choices=ENGINES, defines=True)
    relation_min_freq: int = setting(
        5,
        "Of arcs of enhanced graphs: labels that fewer arcs of the training have are read as their part "
        "before a colon.",
        published=True,
    )
    constituents: bool = setting(
        False,
        "Edges of your own read constituents, which the parser has to give; those of presets know it.",
        defines=True,
    )
    links: str = setting(
        "both",
        "Of edges dam and constituents: which of a word and its relation or phrase node reads the other.",
        choices=("both", "to_word", "to_relation", "none"),
        defines=True,
    )
    cls_links: bool = setting(
        True,
        "Of edges dam and constituents: [CLS], or ROOT in an encoder from scratch, and added nodes see one "
        "another.",
        defines=True,
    )
    relation_links: bool = setting(
        False, "Of edges dam: relation nodes of one word see one another.", defines=True
    )
    relation_position: str = setting(
        "sequence",
        "Of edges dam and constituents: positions of added nodes; with none they have no segment either.",
        choices=("sequence", "dependent", "zero", "none"),
        defines=True,
    )
    type_embedding: bool = setting(
        True, "Added nodes share a vector that tells them from words.", defines=True
    )

    def check(self) -> None:
        super().check()
        for reader in self._readers():
            self.check_read(*reader)

    def _readers(self) -> Iterator[tuple[tuple[str, ...], str, bool]]:
        """Settings, what reads them, and whether that is there."""
        own = self.edges is not None and is_own(self.edges)
        dam, nodes = self.edges == "dam", self.edges in ADDING_NODES
        yield _OF_NODES, "edges='dam' or 'constituents'", nodes
        yield ("type_embedding",), "edges dam, constituents or of your own", nodes or own
        yield ("relation_links",), "edges='dam'", dam
        yield ("constituents",), "edges of your own (those of the presets know what they read)", own
        of_arcs = (dam or own or self.edges == "own-arcs") and self.trees in ("parser", "gold")
        yield ("arcs",), "edges dam, own-arcs or of your own, on the parser's trees", of_arcs
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
    """Settings of runs whose encoder may be a pretrained one.

    Args:
        **settings: Those of :class:`NodeConfig`, and ``freeze_layers``, ``head_lr``, ``layer_decay`` and
            ``floor_frozen``.
    """

    freeze_layers: int = setting(
        0, "Lower layers that are not trained, the embeddings with them; 0 for none.", defines=True
    )
    head_lr: float | None = setting(
        None,
        "Learning rate of all that stands on a pretrained encoder; none for lr.",
        above=0,
        published=True,
    )
    layer_decay: float = setting(
        1.0, "Factor of the learning rate from one layer to the layer below.", above=0, published=True
    )
    floor_frozen: bool = setting(
        True,
        "Score the encoder before it is trained, as a floor beside that of no skill. It reads each text of "
        "the scored splits once, and at most 10,000 training examples of sentences, 20,000 of words and "
        "spans. A row that does not pass it is called untrained under the table.",
    )

    any_encoder: ClassVar[bool] = True
    from_scratch_name: ClassVar[str] = "an encoder that is trained from scratch"
    """What messages call an encoder that is not pretrained."""

    @property
    def pretrained(self) -> bool:
        return self.encoder not in self.encoders

    def check(self) -> None:
        super().check()
        self._check_encoder()

    def _check_encoder(self) -> None:
        """Raises :class:`ValueError` where the encoder is of the other kind."""
        self.check_read(("freeze_layers", "layer_decay", "head_lr"), "a pretrained encoder", self.pretrained)
        self.check_read(("vectors",), self.from_scratch_name, not self.pretrained)


class EncoderConfig(PretrainedConfig):
    """Settings of runs whose encoder is trained from scratch
    (:func:`~graphdep.training.build.build_encoder`), or pretrained with syntax added to it
    (:func:`~graphdep.training.build.add_syntax`).

    Args:
        **settings: Those of :class:`PretrainedConfig`, and those of both kinds of encoders.
    """

    # an encoder that is trained from scratch
    vocab_from: str = setting(
        "train",
        "Words that have a vector of their own: those of train, or with vectors also those of the other "
        "splits that the file of vectors has.",
        choices=("train", "vectors"),
    )
    directions: bool = setting(True, "Tell a relation from its inverse.", defines=True)
    window: int = setting(
        0,
        "Words on either side of a word that encoder word-average takes the mean of, as well.",
        defines=True,
    )
    dependent_places: int = setting(
        6,
        "Places of dependents on either side that have a matrix of their own in encoder dt-rnn.",
        defines=True,
    )
    places_from: str = setting(
        "governor",
        "Places of dependents in encoder dt-rnn are counted from the governor, or from the left.",
        choices=("governor", "left"),
        defines=True,
    )
    relation_dim: int = setting(30, "Size of relation vectors.", published=True)
    relation_attention: bool = setting(
        True, "Use the labels of edges in attention scores; otherwise plain self-attention.", defines=True
    )
    gate: str | None = setting(
        "sigmoid",
        "Gate of relation scores; none for no gate.",
        choices=(None, "sigmoid", "tanh"),
        defines=True,
    )
    gate_state: str = setting("query", "State that opens the gate.", choices=("query", "key"), defines=True)
    untyped: str = setting(
        "keep",
        "Scores of pairs without a relation stay as they are (keep) or go through the gate.",
        choices=("keep", "gate"),
        defines=True,
    )
    start: str = setting(
        "random",
        "Initial relation vectors of an encoder that is trained from scratch; torch: as in PyTorch's layers.",
        choices=("random", "torch"),
        defines=True,
    )
    embedding_scale: bool = setting(
        False, "Multiply word vectors by the root of hidden_channels, in encoder transformer.", published=True
    )
    level_embedding: bool = setting(True, "Embed the depth of a word in the tree.", defines=True)
    # a pretrained encoder
    relation_terms: str = setting(
        "score",
        "Relation attention of a pretrained encoder: DT's score and gate, or Graph2Graph's key-value.",
        choices=("score", "key-value"),
        defines=True,
    )
    relation_start: str = setting(
        "unchanged",
        "Initial relation parameters of a pretrained encoder: unchanged leaves its function as it is where "
        "the method allows that.",
        choices=("unchanged", "random"),
        defines=True,
    )
    scaling: str = setting(
        "paper",
        "Relation keys are scaled as in Graph2Graph's paper, or not, as in its code.",
        choices=("paper", "code"),
        defines=True,
    )
    pieces: str | None = setting(
        None,
        "Pieces that stand for a word in edges; none for the edges' own choice.",
        choices=(None, "first", "all"),
        defines=True,
    )
    windows: str = setting(
        "own",
        "In layers of a pretrained encoder that see only the places around a word: own keeps to them, "
        "dropped takes all edges there, too.",
        choices=("own", "dropped"),
        defines=True,
    )
    max_length: int = setting(
        128,
        "Pieces of an example at most, for a pretrained encoder.",
        least=5,  # [CLS], a piece of each of two sentences, two [SEP]
        published=True,
        free=True,
    )
    batch_pieces: int = setting(
        4096,
        "Pieces of a batch of a pretrained encoder at most, which bounds the memory of fine-tuning: a batch "
        "with long examples ends before it has more. Batches of 32 examples of 128 pieces are never cut.",
        free=True,
    )

    @property
    def reads_labels(self) -> bool:
        # Relation scores over edges that have no types get those of paths.
        return super().reads_labels or self.relation_attention

    @property
    def most_pieces(self) -> int | None:
        return self.batch_pieces if self.pretrained else None

    def dataset_options(self, split: str) -> dict[str, Any]:
        options = super().dataset_options(split)
        return {**options, "max_length": self.max_length} if self.pretrained else options

    def data_settings(self) -> dict[str, Any]:
        # The encoder's tokenizer cuts words into pieces.
        own = {"encoder": self.encoder} if self.pretrained else self.vocab_options
        return super().data_settings() | own

    @property
    def vocab_options(self) -> dict[str, Any]:
        """Arguments of a dataset for the words that it gives a vocabulary."""
        if self.vocab_from == "train":
            return {}
        return {"vocab_from": self.vocab_from, "vectors": self.vectors}

    def _check_encoder(self) -> None:
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
        super()._check_encoder()

    def check(self) -> None:
        if self.encoder == "bilstm-labels" and not self.labels:
            raise ValueError(
                "'labels' cannot be False for encoder='bilstm-labels', which without them is 'bilstm-deep'"
            )
        super().check()
        if self.vocab_from == "vectors" and self.vectors is None:
            raise ValueError("'vocab_from' cannot be 'vectors': there is no file of 'vectors' (got None)")
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
    """Settings of runs whose model reads states of words: two layers of 128 channels, Adam at 1e-3, gradients
    clipped at 1, at most 20 epochs.

    Args:
        **settings: Those of :class:`EncoderConfig`, and ``limit_eval``.
    """

    limit_eval: int | None = setting(
        None,
        "Validate and test on so many examples each at most, spread evenly over their splits, the same for "
        "every seed; all are read and parsed.",
        panel=DATA,
        free=True,
    )
    word_state: str = setting(
        "first",
        "Pieces of a word, of a pretrained encoder, that are its state.",
        choices=("first", "mean"),
        defines=True,
    )
    edges: str | None = "dt"
    max_distance: int = 2
    min_freq: int = setting(2, "Words seen less often are unknown, as some of the training split have to be.")
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
        256, "Pieces of a sentence at most, for a pretrained encoder; words beyond are wrong."
    )

    encoders: ClassVar[Mapping[str, bool]] = SCRATCH_ENCODERS
    of_words: ClassVar[tuple[str, ...]] = OF_WORDS
    headed: ClassVar[tuple[str, ...]] = HEADED
    corpus_options: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Settings that only some corpora take, and what these call them; at :obj:`None` a corpus has its own
    default.
    """

    @property
    def marked(self) -> bool:
        """Whether words of an example are marked."""
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
        "DT on it whose gate reads the key word's state: one sentence of the text", gate_state="key"
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
    "transformer-relative": _plain(
        "no syntax: keys and values for the distance between two words, and no other positions",
        "relative",
        encoder="g2g",
        position_embedding=False,
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
    "bilstm-labels": _baseline(
        "as bilstm-deep, with the label of each word's arc beside the word and no arcs", "bilstm-labels"
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
