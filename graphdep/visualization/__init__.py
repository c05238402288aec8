"""Pictures of trees, edges, attention and results, with matplotlib alone."""

from graphdep.visualization.ablation import plot_ablation
from graphdep.visualization.attention import plot_attention
from graphdep.visualization.attention_map import AttentionMap
from graphdep.visualization.curves import plot_curves
from graphdep.visualization.differences import plot_differences
from graphdep.visualization.edge_matrix import plot_edge_matrix
from graphdep.visualization.scene_figure import scene_figure
from graphdep.visualization.tree import plot_tree
from graphdep.visualization.weights import attention_weights

__all__ = [
    "AttentionMap",
    "attention_weights",
    "plot_ablation",
    "plot_attention",
    "plot_curves",
    "plot_differences",
    "plot_edge_matrix",
    "plot_tree",
    "scene_figure",
]
