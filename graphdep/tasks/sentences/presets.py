"""The models of a result table by name: which encoder, which edges, which tree, which parts of the model."""

from __future__ import annotations

from graphdep.training.config import ModelPreset
from graphdep.training.encoder_config import PRETRAINED_MODELS


def _plain(summary: str, **overrides: object) -> ModelPreset:
    return ModelPreset(
        summary,
        edges="transformer-utterance",
        overrides={"relation_attention": False, "level_embedding": False, **overrides},
    )


def _dt(summary: str, **overrides: object) -> ModelPreset:
    return ModelPreset(summary, overrides=overrides)


def _baseline(summary: str, encoder: str, **overrides: object) -> ModelPreset:
    shared = {"encoder": encoder, "relation_attention": False, "level_embedding": False}
    return ModelPreset(summary, edges=None, overrides={**shared, **overrides})


_LR: dict[str, object] = {"gate": None, "level_embedding": False}

MODELS: dict[str, ModelPreset] = {
    # Table 3 of the paper
    "transformer": _plain("no syntax: every word of a sentence sees every other"),
    "dt-lr": _dt("DT without gate and level embedding", **_LR),
    "dt-rg": _dt("DT without level embedding", level_embedding=False),
    "dt": _dt("Dependency-Transformer, complete"),
    # what the paper leaves open
    "dt-tanh": _dt(
        "DT with tanh in place of the sigmoid, as the text says; it starts nearly closed", gate="tanh"
    ),
    "dt-key": _dt("DT whose gate reads the key word's state, as the text says", gate_state="key"),
    "dt-text": _dt(
        "DT with tanh and the key word's state: one reading of the text", gate="tanh", gate_state="key"
    ),
    "dt-untyped": _dt(
        "DT as Eq. 2-3 are written: its gate acts on pairs without a relation, too", untyped="gate"
    ),
    "dt-torch": _dt("DT whose relations start where PyTorch's own layers do: wider", start="torch"),
    "dt-infill0": _dt(
        "DT without any relation but of a word to itself: depth alone is left of the tree", max_distance=0
    ),
    "dt-infill1": _dt("DT without infilling: arcs alone", max_distance=1),
    "dt-infill3": _dt("DT with paths of up to 3 arcs", max_distance=3),
    "dt-infill4": _dt("DT with paths of up to 4 arcs", max_distance=4),
    "dt-undirected": _dt(
        "DT whose relations do not tell governor from dependent; levels still do", directions=False
    ),
    "dt-nopos": _dt("DT without position embedding", position_embedding=False),
    "dt-related": ModelPreset("DT that attends to related pairs only", edges="dt-related"),
    "transformer-nopos": _plain(
        "no syntax and no positions: a sentence is a bag of words", position_embedding=False
    ),
    "transformer-level": _plain("the Transformer with level embedding alone", level_embedding=True),
    "transformer-wide": _plain(
        "the Transformer with a wider feed-forward layer: with it and 300 channels, as many parameters as DT",
        ff_channels=424,
    ),
    # controls
    # baselines; 1e-3, the paper's rate for DT, is too small for AdaGrad on the recurrent ones
    "word-average": _baseline("mean of the word vectors, learning rate 0.01", "word-average", lr=0.01),
    "lstm": _baseline("LSTM over the words, learning rate 0.01", "lstm", lr=0.01),
    "bilstm": _baseline("LSTM over the words in both directions, learning rate 0.01", "bilstm", lr=0.01),
    "tree-lstm": _baseline(
        "child-sum Tree-LSTM over the dependency tree, learning rate 0.01", "tree-lstm", lr=0.01
    ),
    "bitree-lstm": _baseline(
        "Tree-LSTM up and down the dependency tree, learning rate 0.01", "bitree-lstm", lr=0.01
    ),
    "tree-transformer": _baseline(
        "simplified Tree-Transformer over the dependency tree: no branches, no position codes",
        "tree-transformer",
    ),
    "dt-rnn": _baseline(
        "DT-RNN over the dependency tree: a matrix for each place of a dependent, learning rate 0.01",
        "dt-rnn",
        lr=0.01,
    ),
    # over constituents
    "tree-lstm-ct": _baseline(
        "N-ary Tree-LSTM over binarised constituents, learning rate 0.01", "tree-lstm-ct", lr=0.01
    ),
    "rntn": _baseline(
        "RNTN over binarised constituents, 30 channels; with node_labels=true on the treebank's own trees, "
        "learning rate 0.01",
        "rntn",
        hidden_channels=30,
        lr=0.01,
    ),
    "bitree-lstm-ct": _baseline(
        "head-lexicalised Tree-LSTM up and down binarised constituents, 150 channels, learning rate 0.01",
        "bitree-lstm-ct",
        hidden_channels=150,
        lr=0.01,
    ),
    "tree-transformer-ct": _baseline(
        "Tree-Transformer with branches over constituents of any number of parts", "tree-transformer-ct"
    ),
    "tree-transformer-dt": _baseline(
        "Tree-Transformer with branches over the dependency tree", "tree-transformer-dt"
    ),
    "dc-treelstm": _baseline(
        "DC-TreeLSTM: another Tree-LSTM makes the composition at each node, learning rate 0.01",
        "dc-treelstm",
        lr=0.01,
    ),
    "taghypertreelstm": _baseline(
        "TagHyperTreeLSTM: tags of words and constituents make the composition, learning rate 0.01",
        "taghypertreelstm",
        lr=0.01,
    ),
    "use": _baseline(
        "architecture of the Universal Sentence Encoder, a Transformer whose states are summed, trained here",
        "use",
    ),
    # on a pretrained encoder
    **PRETRAINED_MODELS,
    # in the place of USE, whose features the paper's Table 1 has
    "bert-frozen": ModelPreset(
        "the pretrained encoder as it is, not trained: means of its last layer over the pieces of each text, "
        "with the head of the models that are trained from scratch, learning rate 0.01",
        edges="transformer",
        overrides={
            "encoder": "bert-base-uncased",
            "relation_attention": False,
            "level_embedding": False,
            "frozen": True,
            "lr": 0.01,
        },
    ),
}
