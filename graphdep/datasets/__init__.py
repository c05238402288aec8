"""Corpora as PyG datasets: local raw files in, parsed examples out."""

from graphdep.datasets.mrpc import MRPC
from graphdep.datasets.sick import SICK
from graphdep.datasets.sst import SST
from graphdep.datasets.ud_treebank import UDTreebank

__all__ = ["MRPC", "SICK", "SST", "UDTreebank"]
