"""The models of a result table by name: which edges, which tree, which parts of the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class ModelPreset:
    """A named row of a result table: settings of :class:`~graphdep.training.TrainConfig`.

    Args:
        summary: What the row is, in a few words.
        edges: Edge preset of :func:`graphdep.transforms.resolve`.
        tree: Control that replaces the parse before the edges are built. (default: :obj:`None`)
        overrides: Further settings. (default: none)
    """

    summary: str
    edges: str = "dt"
    tree: str | None = None
    overrides: Mapping[str, object] = field(default_factory=dict)

    @property
    def settings(self) -> dict[str, object]:
        return {"edges": self.edges, "tree": self.tree, **self.overrides}


_LR = {"gate": None, "level_embedding": False}

MODELS: dict[str, ModelPreset] = {
    "transformer": ModelPreset(
        "no syntax: every word of a sentence sees every other",
        edges="transformer-utterance",
        overrides={"relation_attention": False, "level_embedding": False},
    ),
    "dt-lr": ModelPreset("DT without gate and level embedding", overrides=_LR),
    "dt-rg": ModelPreset("DT without level embedding", overrides={"level_embedding": False}),
    "dt": ModelPreset("Dependency-Transformer, complete"),
    "dt-random": ModelPreset("control: DT on random trees", tree="random"),
    "dt-chain": ModelPreset("control: DT on chains, each word under the one before", tree="chain"),
    "dt-reversed": ModelPreset("control: DT on the trees of the reversed sentences", tree="reversed"),
}


def resolve_model(name: str) -> ModelPreset:
    """The preset of that name.

    Raises:
        ValueError: If there is none; the message lists those there are.
    """
    if name not in MODELS:
        raise ValueError(f"no model {name!r}; choose one of {', '.join(MODELS)}")
    return MODELS[name]
