"""Corpora as PyG datasets: local raw files in, parsed examples out."""

from graphdep.datasets.sick import SICK
from graphdep.datasets.ud_treebank import UDTreebank

__all__ = ["SICK", "UDTreebank"]
