"""Metrics over whole splits, with their signatures and no-skill floors; comparisons of two systems."""

from typing import TYPE_CHECKING

from graphdep.io.lazy_imports import lazy_imports

if TYPE_CHECKING:
    from graphdep.metrics.generation import (
        BLEU,
        DISTINCT,
        GENERATION_METRICS,
        generation_floors,
        generation_metrics,
        resolve_bleu,
        resolve_distinct,
    )
    from graphdep.metrics.metric import Metric, TextMetric
    from graphdep.metrics.ranking import (
        RANKING,
        pool_counts,
        pool_metrics,
        random_floor,
        ranking_metric,
        ranking_metrics,
    )
    from graphdep.metrics.scores import (
        ACCURACY,
        ACCURACY_F1,
        F1,
        MACRO_F1,
        MCC,
        MSE,
        MSE_OF_NUMBERS,
        PEARSON,
        PEARSON_SPEARMAN,
        PERPLEXITY,
        PERPLEXITY_RESPONSES,
        PERPLEXITY_WORDS,
        SPEARMAN,
        mean_metric,
        semeval2010_macro_f1,
    )
    from graphdep.metrics.significance import Comparison, compare, visible_effect

__all__ = [
    "ACCURACY",
    "ACCURACY_F1",
    "BLEU",
    "DISTINCT",
    "F1",
    "GENERATION_METRICS",
    "MACRO_F1",
    "MCC",
    "MSE",
    "MSE_OF_NUMBERS",
    "PEARSON",
    "PEARSON_SPEARMAN",
    "PERPLEXITY",
    "PERPLEXITY_RESPONSES",
    "PERPLEXITY_WORDS",
    "RANKING",
    "SPEARMAN",
    "Comparison",
    "Metric",
    "TextMetric",
    "compare",
    "generation_floors",
    "generation_metrics",
    "mean_metric",
    "pool_counts",
    "pool_metrics",
    "random_floor",
    "ranking_metric",
    "ranking_metrics",
    "resolve_bleu",
    "resolve_distinct",
    "semeval2010_macro_f1",
    "visible_effect",
]

__getattr__, __dir__ = lazy_imports(__name__)
