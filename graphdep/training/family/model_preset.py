"""A row of a result table by name: which encoder, which edges, which tree, which parts of the model."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field

from graphdep.training.family.lookup import config_of


@dataclass(frozen=True)
class ModelPreset:
    """A named row of a result table: settings of :class:`~graphdep.training.TrainConfig`.

    Args:
        summary: What the row is, in a few words.
        edges: Edge preset of :func:`graphdep.transforms.resolve`; :obj:`None` for a baseline that reads
            words or tree itself. (default: ``"dt"``)
        tree: Control that replaces the parse before the edges are built. (default: :obj:`None`)
        overrides: Further settings. (default: none)

    Example:
        >>> from graphdep.training import ModelPreset, resolve_model
        >>> preset = ModelPreset("DT of one layer", edges="dt", overrides={"num_layers": 1})
        >>> preset.settings["num_layers"], resolve_model("dt").edges
        (1, 'dt')
    """

    summary: str
    edges: str | None = "dt"
    tree: str | None = None
    overrides: Mapping[str, object] = field(default_factory=dict)

    @property
    def settings(self) -> dict[str, object]:
        return {"edges": self.edges, "tree": self.tree, **self.overrides}


def resolve_model(name: str, models: Mapping[str, ModelPreset] | None = None) -> ModelPreset:
    """The preset of that name.

    Args:
        name: Its name.
        models: Those there are. (default: those of the default task)

    Raises:
        ValueError: If there is none; the message lists those there are.
    """
    models = config_of(None).models if models is None else models
    if name not in models:
        near = difflib.get_close_matches(name, models, n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise ValueError(f"no model {name!r}{hint}; choose one of {', '.join(models)}")
    return models[name]
