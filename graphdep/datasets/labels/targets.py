"""Numbers in ``y`` that are no class."""

from __future__ import annotations

from graphdep.datasets.base.targets import UNKNOWN

UNSCORED = -100
"""A word without a label: nobody asks for one. It is the number that PyTorch's losses ignore."""

__all__ = ["UNKNOWN", "UNSCORED"]
