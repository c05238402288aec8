"""Corpora as PyG datasets: local raw files in, parsed examples out."""

from graphdep.datasets.daily_dialog import DailyDialog
from graphdep.datasets.empathetic_dialogues import EmpatheticDialogues
from graphdep.datasets.mrpc import MRPC
from graphdep.datasets.sick import SICK
from graphdep.datasets.sst import SST
from graphdep.datasets.ud_treebank import UDTreebank

__all__ = ["DailyDialog", "EmpatheticDialogues", "MRPC", "SICK", "SST", "UDTreebank"]
