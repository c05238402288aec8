"""Metrics over whole splits, each with its signature and its no-skill floor."""

from graphdep.metrics.classification import ACCURACY
from graphdep.metrics.metric import Metric
from graphdep.metrics.relatedness import MSE, PEARSON, SPEARMAN

__all__ = ["ACCURACY", "MSE", "PEARSON", "SPEARMAN", "Metric"]
