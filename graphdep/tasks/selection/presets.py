"""The rows of a result table on response selection: what stands on the encoder, over which edges and tree."""

from __future__ import annotations

from graphdep.training.config import ModelPreset

# Trained from nothing, for which the rate and epochs of fine-tuning are too small.
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


def _matching(summary: str, encoder: str, **overrides: object) -> ModelPreset:
    return ModelPreset(summary, None, overrides={**_MATCHING, "encoder": encoder, **overrides})


SELECTION_MODELS: dict[str, ModelPreset] = {
    # Table 2
    "bert": _bert("the encoder alone: its [CLS] decides", None),
    "bert-vanilla": _bert("two more attention layers on layer k, over all pairs", "transformer"),
    "bert-intra": _bert("SIA over ancestors alone", "sia-intra"),
    "bert-inter": _bert("SIA over pairs of small depth alone", "sia-inter"),
    "bert-sia": _bert("SIA: ancestors, and pairs of small depth across utterances", "sia"),
    # the other reading of its text: a word sees what depends on it
    "bert-sia-descendants": _bert(
        "SIA over descendants in place of ancestors", "sia", direction="descendants"
    ),
}
# Table 1: what the paper compares with, and what it does not have: SIA on each of them.
for _name, _summary in {
    "ums": "UMS: which utterance was moved, does not belong there, or came before",
    "ss-da": "SS-DA: who speaks, and dialogues that are cut off earlier as further pairs",
    "spider": "SPIDER: the order of shuffled utterances, and subject, verb and object together",
}.items():
    SELECTION_MODELS[f"bert-{_name}"] = _bert(f"the encoder with {_summary}", None, objective=_name)
    SELECTION_MODELS[f"bert-{_name}-sia"] = _bert(f"SIA with {_summary}", "sia", objective=_name)
# Models from words that match each utterance with the response, at the papers' sizes.
SELECTION_MODELS |= {
    "smn": _matching(
        "Sequential Matching Network, from words: images of an utterance and the response, 200 channels, "
        "learning rate 1e-3",
        "smn",
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
