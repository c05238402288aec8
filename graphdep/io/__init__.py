"""Reading and writing files: CoNLL-U, Penn Treebank brackets, and whole-or-nothing writes."""

from graphdep.io.atomic import atomic_path
from graphdep.io.conllu import ConlluError, format_conllu, parse_conllu, read_conllu, write_conllu
from graphdep.io.ptb import PtbError, format_ptb, iter_ptb, parse_ptb, read_ptb, write_ptb

__all__ = [
    "ConlluError",
    "PtbError",
    "atomic_path",
    "format_conllu",
    "format_ptb",
    "iter_ptb",
    "parse_conllu",
    "parse_ptb",
    "read_conllu",
    "read_ptb",
    "write_conllu",
    "write_ptb",
]
