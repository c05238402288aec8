"""Visualization: trees and edges as SVG and matplotlib figures, explorer pages, attention of models."""

from typing import TYPE_CHECKING

from graphdep.io.lazy_imports import lazy_imports

if TYPE_CHECKING:
    from graphdep.visualization.explorer import Explorer, draw
    from graphdep.visualization.plots import (
        AttentionMap,
        attention_weights,
        gate_values,
        plot_ablation,
        plot_attention,
        plot_curves,
        plot_differences,
        plot_edge_matrix,
        plot_tree,
        scene_figure,
    )
    from graphdep.visualization.rows import row_scene, row_scenes
    from graphdep.visualization.scene import Bracket, Lane, Row, Scene, Shape
    from graphdep.visualization.side import Answer, Side, WordNodes

__all__ = [
    # matplotlib figures
    "AttentionMap",
    "attention_weights",
    "gate_values",
    "plot_ablation",
    "plot_attention",
    "plot_curves",
    "plot_differences",
    "plot_edge_matrix",
    "plot_tree",
    "scene_figure",
    # pages
    "Answer",
    "Explorer",
    "Side",
    "WordNodes",
    "draw",
    # scenes, which become SVG
    "Bracket",
    "Lane",
    "Row",
    "Scene",
    "Shape",
    "row_scene",
    "row_scenes",
]

__getattr__, __dir__ = lazy_imports(__name__)
