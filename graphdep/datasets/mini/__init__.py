"""Small self-written corpora that are part of the repository."""

from graphdep.datasets.mini.mini import write_mini

__all__ = ["write_mini"]
