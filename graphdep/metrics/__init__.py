"""Metrics over whole splits, each with its signature and its no-skill floor; tests between two systems."""

from typing import TYPE_CHECKING

from graphdep.io.lazy_imports import lazy_face

if TYPE_CHECKING:
    from graphdep.metrics._standard_error import visible_effect
    from graphdep.metrics.bleu import BLEU, resolve_bleu
    from graphdep.metrics.classification import ACCURACY, F1, MACRO_F1, MCC
    from graphdep.metrics.combined import ACCURACY_F1, PEARSON_SPEARMAN, mean_metric
    from graphdep.metrics.comparison import Comparison
    from graphdep.metrics.distinct import DISTINCT, resolve_distinct
    from graphdep.metrics.generation import GENERATION_METRICS, generation_floors, generation_metrics
    from graphdep.metrics.metric import Metric
    from graphdep.metrics.perplexity import PERPLEXITY, PERPLEXITY_RESPONSES, PERPLEXITY_WORDS
    from graphdep.metrics.ranking import (
        RANKING,
        pool_counts,
        pool_metrics,
        random_floor,
        ranking_metric,
        ranking_metrics,
        ranking_signature,
    )
    from graphdep.metrics.relatedness import MSE, MSE_OF_NUMBERS, PEARSON, SPEARMAN
    from graphdep.metrics.semeval2010 import semeval2010_macro_f1
    from graphdep.metrics.significance import compare
    from graphdep.metrics.text_metric import TextMetric

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
    "ranking_signature",
    "resolve_bleu",
    "resolve_distinct",
    "semeval2010_macro_f1",
    "visible_effect",
]

__getattr__, __dir__ = lazy_face(__name__)
