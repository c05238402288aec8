"""Parsers: raw text or words in, dependency trees out, and constituents."""

from graphdep.parsing.bundled_parser import BundledParser
from graphdep.parsing.cached_parser import CachedParser
from graphdep.parsing.cluster_parser import ClusterParser
from graphdep.parsing.conllu_parser import ConlluParser
from graphdep.parsing.corenlp_parser import CoreNLPParser
from graphdep.parsing.enhance import enhance, enhance_fingerprint
from graphdep.parsing.errors import ParserUnavailableError
from graphdep.parsing.parallel_parser import ParallelParser
from graphdep.parsing.parser import Parser
from graphdep.parsing.ptb_parser import PtbParser
from graphdep.parsing.resolver import resolve_parser
from graphdep.parsing.spacy_parser import SpacyParser
from graphdep.parsing.stanza_parser import StanzaParser

__all__ = [
    "BundledParser",
    "CachedParser",
    "ClusterParser",
    "ConlluParser",
    "CoreNLPParser",
    "ParallelParser",
    "Parser",
    "ParserUnavailableError",
    "PtbParser",
    "SpacyParser",
    "StanzaParser",
    "enhance",
    "enhance_fingerprint",
    "resolve_parser",
]
