"""A parser of constituents: tagged words in, phrases out."""

from graphdep.parsing.constituency.span_parser import SpanParser

__all__ = ["SpanParser"]
