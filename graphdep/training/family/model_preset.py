"""A row of a result table by name: which encoder, which edges, which trees, which parts of the model."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field

from graphdep.training.family.lookup import config_of, registry
from graphdep.training.family.tree_controls import NOISY_TREES, PARSED

CONTROLS: dict[str, tuple[str, Mapping[str, object]]] = {
    "parser": ("on the parser's trees", {"trees": "parser"}),
    "gold": ("on the corpus' own trees", {"trees": "gold"}),
    "random": ("on random trees without labels", {"trees": "random"}),
    "random-labels": ("on random trees whose words keep their labels", {"trees": "random-labels"}),
    "chain": ("on chains without labels, each word under the one before", {"trees": "chain"}),
    "reversed": ("with the parse laid over the words back to front", {"trees": "reversed"}),
    **{
        name: (f"on trees of which {share:.0%} of the arcs are wrong", {"trees": name})
        for name, share in NOISY_TREES.items()
    },
    **{
        name: (
            f"on the parser's trees, {NOISY_TREES[kept]:.0%} of their arcs made wrong"
            if kept in NOISY_TREES
            else "on random trees whose words keep the labels that the parser gave",
            {"trees": name},
        )
        for name, kept in PARSED.items()
    },
    "shuffled": ("with its words in random order", {"word_order": "shuffled"}),
    "unlabelled": ("with one label for all arcs", {"labels": False}),
}
"""What may stand behind the name of a model and an ``@``, and the settings that it is."""


@dataclass(frozen=True)
class ModelPreset:
    """A named row of a result table: settings of :class:`~graphdep.training.TrainConfig`.

    Args:
        summary: What the row is, in a few words.
        edges: Edge preset of :func:`graphdep.transforms.resolve`; :obj:`None` for a baseline that reads
            words or tree itself. (default: ``"dt"``)
        trees: Which trees the edges are built from. (default: ``"parser"``)
        overrides: Further settings. (default: none)

    Example:
        >>> from graphdep.training import ModelPreset, resolve_model
        >>> preset = ModelPreset("DT of one layer", edges="dt", overrides={"num_layers": 1})
        >>> preset.settings["num_layers"], resolve_model("dt").edges
        (1, 'dt')
    """

    summary: str
    edges: str | None = "dt"
    trees: str = "parser"
    overrides: Mapping[str, object] = field(default_factory=dict)

    @property
    def settings(self) -> dict[str, object]:
        return {"edges": self.edges, "trees": self.trees, **self.overrides}

    def control(self, name: str) -> ModelPreset:
        """The model with one of :data:`CONTROLS`."""
        about, settings = CONTROLS[name]
        own = {**self.overrides, **settings}
        trees = str(own.pop("trees", self.trees))
        if "arcs" in own and trees not in ("parser", "gold"):
            own["arcs"] = "basic"  # a tree that nobody parsed has no enhanced graph
        return dataclasses.replace(
            self, summary=f"control: {self.summary}, {about}", trees=trees, overrides=own
        )


def resolve_model(name: str, models: Mapping[str, ModelPreset] | None = None) -> ModelPreset:
    """The preset of that name, e.g. ``"dt"``, or ``"dt@random"`` for it with one of :data:`CONTROLS`.

    Args:
        name: Its name.
        models: Those there are. (default: those of the default task)

    Raises:
        ValueError: If there is none, or no such control; the message lists those there are.
    """
    models = config_of(None).models if models is None else models
    model, *controls = name.split("@")
    if model not in models:
        near = difflib.get_close_matches(model, models, n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else _elsewhere(model)
        raise ValueError(f"no model {model!r}{hint}; choose one of {', '.join(models)}")
    preset = models[model]
    for control in controls:
        if control not in CONTROLS:
            known = ", ".join(f"{model}@{known}" for known in CONTROLS)
            raise ValueError(f"no control {control!r} (got the model {name!r}); choose one of {known}")
        preset = preset.control(control)
    _check_trees(name, controls)
    return preset


def _check_trees(name: str, controls: list[str]) -> None:
    """Raises :class:`ValueError` if a model would have two kinds of trees, of which the last would count."""
    kinds = [*dict.fromkeys(control for control in controls if "trees" in CONTROLS[control][1])]
    if len(kinds) > 1:
        hint = next(
            (f"; did you mean '@{one}'?" for one, kept in PARSED.items() if {*kinds} == {kept, "parser"}), ""
        )
        raise ValueError(f"a model has one kind of trees (got {' and '.join(kinds)} in {name!r}){hint}")


def _elsewhere(model: str) -> str:
    """Which other tasks have it."""
    for family in registry().families():
        task = next(iter(family.tasks))
        if model in family.config(task).models:
            return f" (one of {family.name}: --task {task})"
    return ""
