"""The rows of a result table on dialogues: which encoder, which edges, which tree."""

from __future__ import annotations

from typing import Any

from graphdep.training.config import ModelPreset


def _transformer(summary: str, *, edges: str = "transformer", **overrides: object) -> ModelPreset:
    return ModelPreset(summary, edges, overrides=overrides)


def _dra(summary: str, **overrides: object) -> ModelPreset:
    return ModelPreset(summary, "dra", overrides={"position_embedding": False, **overrides})


def _dialogbert(summary: str, *, edges: str = "transformer-utterance", **overrides: object) -> ModelPreset:
    return ModelPreset(summary, edges, overrides={"encoder": "dialogbert", **overrides})


# Three layers in all, as the Transformer has them: nearly as many parameters.
_SMALL: dict[str, Any] = {"num_layers": 2, "context_layers": 1}


def _recurrent(summary: str, encoder: str) -> ModelPreset:
    return ModelPreset(summary, None, overrides={"encoder": encoder, "position_embedding": False})


DIALOGUE_MODELS: dict[str, ModelPreset] = {
    # Table 1
    "transformer": _transformer("no syntax: every word of the context sees every other"),
    "transformer-dra": _dra(
        "Transformer+DRA: a word sees its dependents and itself, no positions of words or turns"
    ),
    "dialogbert": _dialogbert("DialogBERT: words within an utterance, then utterances; three layers each"),
    "dialogbert-dra": _dialogbert(
        "DialogBERT+DRA: its words see their dependents and have no positions; its turns have theirs",
        edges="dra",
        position_embedding=False,
    ),
    "recosa": _recurrent("ReCoSa: recurrent utterances, self-attention between them", "recosa"),
    "lisa": ModelPreset(
        "LISA: one head of one layer sees the governor alone, which is given and not learnt",
        "lisa-complete",
        overrides={"encoder": "lisa"},
    ),
    "gate": ModelPreset(
        "GATE: words at most max_distance arcs apart",
        "gate",
        overrides={"encoder": "gate", "max_distance": 1},
    ),
    "constituent-transformer": ModelPreset(
        "Tree Transformer: attention within constituents that it finds itself",
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
    # controls
    "transformer-utterance": _transformer(
        "the Transformer with DRA's scope: every word of an utterance sees every other",
        edges="transformer-utterance",
    ),
    "transformer-nopos": _transformer("the Transformer without positions", position_embedding=False),
    # Table 3
    "transformer-bpe": _transformer("the Transformer on subwords; perplexities are per piece", pieces=8000),
    "transformer-dra-pe": _dra("Transformer+DRA with positions", position_embedding=True),
    "transformer-dra-bpe": _dra("Transformer+DRA on subwords; perplexities are per piece", pieces=8000),
    "dialogbert-bpe": _dialogbert("DialogBERT on subwords; perplexities are per piece", pieces=8000),
    "dialogbert-dra-pe": _dialogbert("DialogBERT+DRA with positions", edges="dra"),
    # DialogBERT's objectives
    "dialogbert-nug": _dialogbert("DialogBERT trained on the response alone", mur=False, duor=False),
}
