"""Self-written corpora, small enough for a clone."""

from graphdep.datasets.mini.mini import write_mini

__all__ = ["write_mini"]
