"""Corpora as PyG datasets: from local raw files to parsed examples."""

from typing import TYPE_CHECKING

from graphdep.io.lazy_imports import lazy_imports

if TYPE_CHECKING:
    from graphdep.datasets.csv_texts import CSVTexts, from_hf
    from graphdep.datasets.dialogues import DailyDialog, EmpatheticDialogues
    from graphdep.datasets.glue import GLUE, CoLA
    from graphdep.datasets.labels.agreement import Agreement
    from graphdep.datasets.labels.base import OwnLabels, UDTags
    from graphdep.datasets.labels.cogs import COGS
    from graphdep.datasets.labels.probe_dataset import Probes
    from graphdep.datasets.labels.propbank import PropBankEWT, UniversalPropBank
    from graphdep.datasets.post_training import (
        Masking,
        PostTrainingDataset,
        PostTrainingKey,
        PostTrainingSampler,
        positive_dialogues,
    )
    from graphdep.datasets.selection.corpora import DailyDialogSelection, Douban, ECommerce, Ubuntu, UbuntuIRC
    from graphdep.datasets.sentences import MRPC, SICK, SST, UDTreebank
    from graphdep.datasets.spans.base import OwnSpans
    from graphdep.datasets.spans.corpora import CoNLL04, SemEval2010Task8, SemEval2014Aspects

__all__ = [
    "Agreement",
    "COGS",
    "CSVTexts",
    "CoLA",
    "CoNLL04",
    "DailyDialog",
    "DailyDialogSelection",
    "Douban",
    "ECommerce",
    "EmpatheticDialogues",
    "GLUE",
    "MRPC",
    "Masking",
    "OwnLabels",
    "OwnSpans",
    "PostTrainingDataset",
    "PostTrainingKey",
    "PostTrainingSampler",
    "Probes",
    "PropBankEWT",
    "SICK",
    "SST",
    "SemEval2010Task8",
    "SemEval2014Aspects",
    "UDTags",
    "UDTreebank",
    "Ubuntu",
    "UbuntuIRC",
    "UniversalPropBank",
    "from_hf",
    "positive_dialogues",
]

__getattr__, __dir__ = lazy_imports(__name__)
