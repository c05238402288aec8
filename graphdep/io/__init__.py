"""Reading and writing files: trees in common formats, and atomic writes."""

from typing import TYPE_CHECKING

from graphdep.io.lazy_imports import lazy_imports

if TYPE_CHECKING:
    from graphdep.io.files import atomic_path
    from graphdep.io.trees import (
        parse_conllu,
        parse_ptb,
        read_conllu,
        read_ptb,
        read_trees,
        write_conllu,
        write_ptb,
    )
    from graphdep.sentence.conllu import ConlluError, format_conllu
    from graphdep.sentence.ptb import PtbError, format_ptb

__all__ = [
    "ConlluError",
    "PtbError",
    "atomic_path",
    "format_conllu",
    "format_ptb",
    "parse_conllu",
    "parse_ptb",
    "read_conllu",
    "read_ptb",
    "read_trees",
    "write_conllu",
    "write_ptb",
]

__getattr__, __dir__ = lazy_imports(__name__)
