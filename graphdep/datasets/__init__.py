"""Corpora as PyG datasets: local raw files in, parsed examples out."""

from typing import TYPE_CHECKING

from graphdep.io.lazy_imports import lazy_face

if TYPE_CHECKING:
    from graphdep.datasets.dialogues.daily_dialog import DailyDialog
    from graphdep.datasets.dialogues.empathetic_dialogues import EmpatheticDialogues
    from graphdep.datasets.hugging_face import from_hf
    from graphdep.datasets.labels.agreement.agreement import Agreement
    from graphdep.datasets.labels.cogs.cogs import COGS
    from graphdep.datasets.labels.own.own_labels import OwnLabels
    from graphdep.datasets.labels.probes.probes import Probes
    from graphdep.datasets.labels.propbank.propbank_ewt import PropBankEWT
    from graphdep.datasets.labels.propbank.universal_propbank import UniversalPropBank
    from graphdep.datasets.labels.ud_tags import UDTags
    from graphdep.datasets.post_training.masking import Masking
    from graphdep.datasets.post_training.positive_dialogues import positive_dialogues
    from graphdep.datasets.post_training.post_training_dataset import PostTrainingDataset
    from graphdep.datasets.post_training.post_training_key import PostTrainingKey
    from graphdep.datasets.post_training.post_training_sampler import PostTrainingSampler
    from graphdep.datasets.selection.daily_dialog_selection import DailyDialogSelection
    from graphdep.datasets.selection.douban import Douban
    from graphdep.datasets.selection.ecommerce import ECommerce
    from graphdep.datasets.selection.ubuntu import Ubuntu
    from graphdep.datasets.selection.ubuntu_irc import UbuntuIRC
    from graphdep.datasets.sentences.cola import CoLA
    from graphdep.datasets.sentences.csv_texts import CSVTexts
    from graphdep.datasets.sentences.glue import GLUE
    from graphdep.datasets.sentences.mrpc import MRPC
    from graphdep.datasets.sentences.sick import SICK
    from graphdep.datasets.sentences.sst import SST
    from graphdep.datasets.sentences.ud_treebank import UDTreebank
    from graphdep.datasets.spans.conll04 import CoNLL04
    from graphdep.datasets.spans.own_spans import OwnSpans
    from graphdep.datasets.spans.semeval2010_task8 import SemEval2010Task8
    from graphdep.datasets.spans.semeval2014_aspects import SemEval2014Aspects

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

__getattr__, __dir__ = lazy_face(__name__)
