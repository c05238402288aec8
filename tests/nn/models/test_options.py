"""Options that no model can be made with: the message names them, and what is wrong."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch

from graphdep.nn import models as M
from graphdep.nn.conv import AttentionConv
from graphdep.transforms import CompleteEdges

WORDS = 9
Row = tuple[dict[str, Any], str]


def whole(name: str, *values: Any, least: int = 1) -> list[Row]:
    """A number that is too small or not whole."""
    said = f"{name!r} must be a whole number of at least {least} (got {{!r}})"
    return [({name: value}, said.format(value)) for value in values or (least - 1, 1.5, True)]


def choice(name: str, known: str, wrong: Any = "other") -> Row:
    return {name: wrong}, f"{name!r} must be one of {known} (got {wrong!r})"


def divides(heads: int, size: int) -> Row:
    return {"heads": heads}, f"'heads' ({heads}) must divide 'hidden_channels' ({size})"


def transformer(**options: Any) -> M.GraphTransformer:
    sizes = {"hidden_channels": 12, "num_layers": 3, "ff_channels": 8}
    return M.GraphTransformer(WORDS, lambda _: AttentionConv(12, 4, 3), **sizes | options)


def of_words(kind: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    return lambda **more: kind(WORDS, **options | more)


EMBEDDING = M.NodeEmbedding(WORDS, 8, max_positions=0, max_levels=0)
EIGHT = functools.partial(of_words, hidden_channels=8)
PAPER = choice("form", "paper, code")
LEAF, RULE = choice("leaf", "paper, code"), choice("binarized", "left, head", "right")
CELL, TURNS = (
    choice("cell", "lstm, rnn", "gru"),
    [*whole("max_turns", 0), *whole("max_words", "8", 8.5, True, 0)],
)
TURNS += whole("hidden_channels", 2.5, 0)
HALVES = "'hidden_channels' must be even for two directions (got 7)"
EVEN = ({"hidden_channels": 7, "bidirectional": True}, HALVES)
POSITIVE = [({"hidden_channels": n}, f"'hidden_channels' must be at least 1 (got {n})") for n in (0, -2)]
COMPLETE = CompleteEdges()

REFUSED: dict[str, tuple[Callable[..., Any], list[Row]]] = {
    "BinaryTreeLSTM": (of_words(M.BinaryTreeLSTM), [LEAF, RULE, *whole("hidden_channels", 2.5)]),
    "RNTN": (of_words(M.RNTN), [LEAF, RULE, *whole("hidden_channels", 2.5)]),
    "BiTreeLSTM": (of_words(M.BiTreeLSTM), [RULE, *whole("hidden_channels", 2.5, 0)]),
    "DCTreeLSTM": (of_words(M.DCTreeLSTM), [CELL, RULE, *whole("meta_channels", 0)]),
    "TagHyperTreeLSTM": (
        of_words(M.TagHyperTreeLSTM),
        [CELL, RULE, *whole("meta_channels", 0), *whole("tag_channels", 0)],
    ),
    "TreeLSTM": (of_words(M.TreeLSTM), [choice("execution", "level, recursive"), EVEN]),
    "DependencyTreeRNN": (
        of_words(M.DependencyTreeRNN),
        [choice("places_from", "governor, left"), *whole("dependent_places")],
    ),
    "TreeTransformer": (EIGHT(M.TreeTransformer, heads=2), [divides(5, 8), divides(0, 8)]),
    "DependencyTreeTransformer": (
        EIGHT(M.DependencyTreeTransformer, heads=2),
        [PAPER, divides(3, 8), ({"ff_channels": 1}, "'ff_channels' must be at least 2 (got 1)")],
    ),
    "ConstituencyTreeTransformer": (
        EIGHT(M.ConstituencyTreeTransformer, heads=2),
        [PAPER, divides(3, 8), ({"ff_channels": 1}, "'ff_channels' must be at least 2 (got 1)")],
    ),
    "UniversalEncoder": (
        EIGHT(M.UniversalEncoder, heads=2),
        [
            choice("variant", "transformer, dan", "cnn"),
            *(row for name in ("num_layers", "heads", "ff_channels", "buckets") for row in whole(name)),
            *whole("hidden_channels", 0),
            *whole("max_positions", -1, least=0),
            divides(3, 8),
        ],
    ),
    "LSTMEncoder": (of_words(M.LSTMEncoder), [EVEN, *POSITIVE]),
    "GRUEncoder": (of_words(M.GRUEncoder), [EVEN, *POSITIVE]),
    "WordAverage": (of_words(M.WordAverage), whole("window", -1, 1.5, least=0)),
    "DependencyTransformer": (
        EIGHT(M.DependencyTransformer, num_relations=4, heads=2),
        [divides(5, 8), divides(0, 8)],
    ),
    "ConstituentTransformer": (
        EIGHT(M.ConstituentTransformer, heads=2),
        [divides(3, 8), divides(0, 8), *whole("num_layers", 0)],
    ),
    "GraphTransformer": (transformer, whole("num_layers", 0)),
    "HREDEncoder": (of_words(M.HREDEncoder), [EVEN, *POSITIVE]),
    "HRANEncoder": (of_words(M.HRANEncoder), [({"hidden_channels": 7}, HALVES), *POSITIVE]),
    "ReCoSa": (EIGHT(M.ReCoSa, heads=2), [choice("cell", "gru, lstm"), divides(3, 8), divides(0, 8)]),
    "DialogBERT": (
        lambda **options: M.DialogBERT(transformer(), **{"heads": 3} | options),
        [
            ({"objectives": ("mur", "nug")}, "'objectives' must be one of mur, duor (got 'nug')"),
            divides(5, 12),
            *(
                row
                for name in ("num_layers", "min_utterances", "ff_channels", "max_turns")
                for row in whole(name)
            ),
        ],
    ),
    "TransformerDecoder": (
        lambda **options: M.TransformerDecoder(EMBEDDING, 8, **{"heads": 2} | options),
        [divides(3, 8), divides(0, 8), ({"num_layers": 0}, "'num_layers' must be at least 1 (got 0)")],
    ),
    "NodeEmbedding": (
        lambda **options: M.NodeEmbedding(WORDS, **{"hidden_channels": 6} | options),
        [({"vectors": torch.zeros(4, 6)}, "'vectors' must be of shape [9, dim] (got [4, 6])"), POSITIVE[0]],
    ),
    "ClassificationHead": (
        lambda **options: M.ClassificationHead(**{"in_channels": 2, "out_channels": 2} | options),
        [
            ({"in_channels": 0}, "'in_channels' must be at least 1 (got 0)"),
            ({"out_channels": -1}, "'out_channels' must be at least 1 (got -1)"),
        ],
    ),
    "SMN": (
        of_words(M.SMN),
        [
            choice("accumulation", "dynamic, static, last", "mean"),
            ({"max_words": 4}, "'max_words' must be at least 5 (got 4)"),
            *whole("match_channels", 0, 2.5),
            *TURNS,
        ],
    ),
    "DUA": (of_words(M.DUA), [PAPER, *TURNS]),
    "IOI": (
        of_words(M.IOI),
        [PAPER, choice("objective", "local, global"), *whole("num_layers", 0, 1.5), *TURNS],
    ),
    "DeepAttentionMatching": (
        of_words(M.DeepAttentionMatching),
        [PAPER, *whole("num_layers", -1, 1.5, least=0), *TURNS],
    ),
    "SelectionModel": (
        lambda **options: M.SelectionModel(transformer(), **options),
        [*whole("mlp_layers", 0), choice("readout", "cls, mean, pair", "max")],
    ),
    "StructuralDialogueModel": (
        lambda **options: M.StructuralDialogueModel(transformer(segments=2), **options),
        whole("places", 1, 2.5, least=2),
    ),
    "SIA": (
        lambda **options: M.SIA(transformer(), **{"heads": 3} | options),
        [
            ({"layer": 4}, "'layer' must be between 0 and 3 (got 4)"),
            ({"layer": -1}, "'layer' must be between 0 and 3 (got -1)"),
            *whole("sia_layers", 0),
            divides(5, 12),
            choice("block", "attention, bert"),
            choice("mask", "additive, multiplicative"),
            ({"edges": "sai"}, "no edges 'sai'"),
            ({"edges": "sai", "max_sum": 3}, "no edges 'sai'"),
            ({"max_sum": -1}, "'max_sum' must be a whole number"),
            ({"edges": "sia-intra", "max_sum": 4}, "'max_sum' is given (4), but 'edges' does not take it"),
            ({"edges": COMPLETE, "max_sum": 0}, "but 'edges' does not take it (got CompleteEdges)"),
        ],
    ),
    "SpanReadout": (
        M.SpanReadout,
        [
            ({"num_spans": 1, "path": True}, "'path' joins two spans"),
            choice("num_spans", "1, 2", 3),
            choice("mode", "mean, top"),
        ],
    ),
    "SpanModel": (
        lambda num_classes: M.SpanModel(transformer(), M.SpanReadout(), num_classes),
        [({"num_classes": 0}, "'out_channels' must be at least 1 (got 0)")],
    ),
    "TokenModel": (
        lambda **options: M.TokenModel(transformer(), **{"num_classes": 2} | options),
        [
            ({"num_classes": 0}, "'out_channels' must be at least 1 (got 0)"),
            choice("pieces", "first, mean", "last"),
        ],
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_wrong_options_are_named(name: str) -> None:
    make, rows = REFUSED[name]
    make(**({"num_classes": 2} if name == "SpanModel" else {}))
    for options, message in rows:
        with pytest.raises(ValueError, match=re.escape(message)):
            make(**options)


SHOWN = {
    "BinaryTreeLSTM": "leaf='paper', binarized='left'",
    "RNTN": "leaf='paper', binarized='left'",
    "DCTreeLSTM": "cell='lstm', binarized='left'",
    "TagHyperTreeLSTM": "cell='lstm', binarized='left'",
    "DependencyTreeTransformer": "form='paper', position_codes=False",
    "ConstituencyTreeTransformer": "form='paper', position_codes=False",
    "UniversalEncoder": "variant='transformer'",
    "WordAverage": "window=0",
    "ClassificationHead": "std=None",
    "SpanModel": "SpanReadout(2, mode='mean', path=False, pieces='all')",
}


@pytest.mark.parametrize("name", SHOWN)
def test_options_are_shown(name: str) -> None:
    make, _ = REFUSED[name]
    assert SHOWN[name] in str(make(**({"num_classes": 2} if name == "SpanModel" else {})))


def test_what_has_no_layers_is_no_encoder_for_sia() -> None:
    with pytest.raises(ValueError, match=r"'encoder' \(Linear\) has no 'num_layers'"):
        M.SIA(torch.nn.Linear(2, 2))
