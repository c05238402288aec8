"""Shares of wrong arcs that runs may have."""

from __future__ import annotations

NOISY_TREES = {f"noisy-{percent}": percent / 100 for percent in (5, 10, 20, 30, 40, 60, 80, 100)}
"""Names of trees of which so many percent of the arcs are wrong, and the share."""
PARSED = {f"{name}-parsed": name for name in ("random-labels", "noisy-5", "noisy-10", "noisy-20")}
"""Controls that begin with the parser's trees where the corpus has its own, and what they do to them."""
