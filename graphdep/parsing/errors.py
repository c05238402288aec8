"""What a parser raises when it cannot run at all."""

from __future__ import annotations


class ParserUnavailableError(RuntimeError):
    """A parser's library, model or server is not there; the message says what to do about it."""
