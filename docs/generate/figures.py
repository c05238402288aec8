"""Six words drawn with the edges of a constructor."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
from torch_geometric.data import Data

from graphdep import Sentence, to_data
from graphdep.data import NodeType, mark_words
from graphdep.transforms import (
    CompleteEdges,
    DependencyEdges,
    MarkedEdges,
    RelationNodes,
    RewiredEdges,
    SameConstituentEdges,
    SpecialEdges,
)
from graphdep.visualization import plot_edge_matrix, plot_tree

FOLDER = "docs/cheat-sheets/figures"
SENTENCE = Sentence(
    form=["The", "old", "dog", "chased", "a", "cat"],
    head=[3, 3, 4, 0, 6, 4],
    deprel=["det", "amod", "nsubj", "root", "det", "obj"],
    constituents=[("S", 0, 6), ("NP", 0, 3), ("VP", 3, 6), ("NP", 4, 6)],
)
# Arguments that have no default, and transforms that are made of others.
ARGUMENTS = {"max_sum": 3, "max_distance": 2, "p": 0.4, "share": 0.4}
MADE: dict[str, Callable[[], Any]] = {
    "RewiredEdges": lambda: RewiredEdges(DependencyEdges("governor"), p=0.4),
    "SpecialEdges": lambda: SpecialEdges(["ROOT"], others=["WORD"]),
    "SameConstituentEdges": lambda: SameConstituentEdges(max_height=1),
    "MarkedEdges": lambda: MarkedEdges(DependencyEdges("dependent"), CompleteEdges()),
}
MARKS = {"SpanPathEdges": [1, 0, 0, 0, 0, 2], "RerootedTree": [0, 1, 0, 0, 0, 0]}
RELATIONS = ("RelationEdges", "RelationLinks", "dam")
PHRASES = ("ConstituentEdges", "PhraseWordEdges", "SiblingEdges")


def made(cls: type) -> Any:
    """A transform of that class, for its picture."""
    if cls.__name__ in MADE:
        return MADE[cls.__name__]()
    parameters = inspect.signature(cls).parameters.values()
    needed = [one.name for one in parameters if one.default is one.empty and one.name in ARGUMENTS]
    return cls(**{name: ARGUMENTS[name] for name in needed})


def example(name: str, transform: Any) -> Data:
    """The six words with the edges, or the tree, of a transform."""
    data = to_data([SENTENCE], phrases=name in PHRASES or "spans")
    if name in MARKS:
        data = mark_words(data, [0, *MARKS[name]])
    if name in RELATIONS and name != "dam":
        data = RelationNodes()(data)
    return transform(data)


def draw(name: str, transform: Any, path: Path) -> None:
    """Writes the picture of a transform that makes edges."""
    data = example(name, transform)
    words = ["[ROOT]", *SENTENCE.form]
    if data.num_nodes > len(words):
        figure = plot_edge_matrix(data, [*words, *_added_words(data)])
    elif data.num_edges > 40:
        figure = plot_edge_matrix(data, words)
    else:
        figure = plot_tree(SENTENCE, {name: data.edge_index})
    _save(figure, path)


def draw_tree(name: str, transform: Any, path: Path) -> None:
    """Writes the picture of a transform that makes another tree."""
    data = example(name, transform)
    heads = [0 if head < 1 else head for head in data.governor_index.tolist()[1:]]
    roots = heads.count(0)
    labels = ["root" if head == 0 else "dep" for head in heads]
    _save(plot_tree(Sentence(SENTENCE.form, heads, labels, multiroot=roots > 1), title=name), path)


def _added_words(data: Data) -> list[str]:
    """What the nodes after the words are called: phrases, or arcs."""
    if "phrase_node_index" in data:
        return [label for label, *_ in SENTENCE.constituents or ()]
    number = int(data.node_type.eq(NodeType.RELATION).sum())
    labels = [f"{label} arc" for label in SENTENCE.deprel if label != "root"]
    return labels if len(labels) == number else [f"arc {i}" for i in range(1, number + 1)]


def _save(figure: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "graphdep"}):
        figure.savefig(path, format="svg", metadata={"Date": None})
