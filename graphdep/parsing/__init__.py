"""Parsers: from raw texts or words to dependency trees, and to constituents."""

from graphdep.parsing.bundled import BundledParser
from graphdep.parsing.cached import CachedParser
from graphdep.parsing.cluster import ClusterParser
from graphdep.parsing.enhanced import enhance, enhance_fingerprint
from graphdep.parsing.files import ConlluParser, PtbParser
from graphdep.parsing.parallel import ParallelParser
from graphdep.parsing.parser import Parser, ParserUnavailableError
from graphdep.parsing.resolver import resolve_parser
from graphdep.parsing.servers import CoreNLPParser, SpacyParser
from graphdep.parsing.stanza import StanzaParser

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
