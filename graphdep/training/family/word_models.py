"""The rows of a result table on words: which encoder, over which edges."""

from __future__ import annotations

from collections.abc import Mapping

from graphdep.training.family.model_preset import ModelPreset
from graphdep.training.family.pretrained_models import PRETRAINED_MODELS

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
