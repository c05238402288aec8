"""Reading and writing files: CoNLL-U, and whole-or-nothing writes."""

from graphdep.io.atomic import atomic_path
from graphdep.io.conllu import ConlluError, format_conllu, parse_conllu, read_conllu, write_conllu

__all__ = ["ConlluError", "atomic_path", "format_conllu", "parse_conllu", "read_conllu", "write_conllu"]
