"""Corpora as PyG datasets: local raw files in, parsed examples out."""

from graphdep.datasets.co_la import CoLA
from graphdep.datasets.csv_texts import CSVTexts
from graphdep.datasets.daily_dialog import DailyDialog
from graphdep.datasets.daily_dialog_selection import DailyDialogSelection
from graphdep.datasets.douban import Douban
from graphdep.datasets.e_commerce import ECommerce
from graphdep.datasets.empathetic_dialogues import EmpatheticDialogues
from graphdep.datasets.glue import GLUE
from graphdep.datasets.masking import Masking
from graphdep.datasets.mrpc import MRPC
from graphdep.datasets.positive_dialogues import positive_dialogues
from graphdep.datasets.post_training_dataset import PostTrainingDataset
from graphdep.datasets.post_training_key import PostTrainingKey
from graphdep.datasets.post_training_sampler import PostTrainingSampler
from graphdep.datasets.sick import SICK
from graphdep.datasets.sst import SST
from graphdep.datasets.ubuntu import Ubuntu
from graphdep.datasets.ubuntu_irc import UbuntuIRC
from graphdep.datasets.ud_treebank import UDTreebank

__all__ = [
    "CSVTexts",
    "CoLA",
    "DailyDialog",
    "DailyDialogSelection",
    "Douban",
    "ECommerce",
    "EmpatheticDialogues",
    "GLUE",
    "MRPC",
    "Masking",
    "PostTrainingDataset",
    "PostTrainingKey",
    "PostTrainingSampler",
    "SICK",
    "SST",
    "UDTreebank",
    "Ubuntu",
    "UbuntuIRC",
    "positive_dialogues",
]
