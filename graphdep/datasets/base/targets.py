"""Numbers in ``y`` that are no class."""

from __future__ import annotations

UNKNOWN = -1
"""A label that training does not have: it is scored, and whatever is predicted is wrong."""
UNSCORED = -100
"""A word without a label: nobody asks for one. It is the number that PyTorch's losses ignore."""
