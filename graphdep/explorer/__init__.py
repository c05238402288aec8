"""A page that shows an example: its tree, its edges, and what a model attends to."""

from graphdep.explorer.answer import Answer
from graphdep.explorer.drawn import draw
from graphdep.explorer.explorer import Explorer
from graphdep.explorer.side import Side
from graphdep.explorer.word_nodes import WordNodes

__all__ = ["Answer", "Explorer", "Side", "WordNodes", "draw"]
