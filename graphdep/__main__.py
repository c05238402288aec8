"""``python -m graphdep``: the command line."""

from graphdep.cli import app

app(prog_name="graphdep")
