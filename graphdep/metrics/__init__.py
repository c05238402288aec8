"""Metrics over whole splits, each with its signature and its no-skill floor; tests between two systems."""

from graphdep.metrics.classification import ACCURACY, F1
from graphdep.metrics.metric import Metric
from graphdep.metrics.relatedness import MSE, PEARSON, SPEARMAN
from graphdep.metrics.significance import Comparison, compare

__all__ = ["ACCURACY", "F1", "MSE", "PEARSON", "SPEARMAN", "Comparison", "Metric", "compare"]
