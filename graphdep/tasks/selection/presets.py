"""The rows of a result table on response selection: what stands on the encoder, over which edges and tree."""

from __future__ import annotations

from graphdep.training.family.model_preset import ModelPreset, aliases


def _bert(summary: str, sia_edges: str | None, **overrides: object) -> ModelPreset:
    return ModelPreset(summary, "transformer", overrides={"sia_edges": sia_edges, **overrides})


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
# Controls that have a name of their own.
SELECTION_MODELS |= aliases(
    {
        "bert-sia-random": "bert-sia@random",
        "bert-sia-chain": "bert-sia@chain",
        "bert-sia-reversed": "bert-sia@reversed",
    },
    SELECTION_MODELS,
)
