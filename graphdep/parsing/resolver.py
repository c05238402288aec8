"""Parsers by name."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from graphdep.io.extras import is_installed
from graphdep.io.files import home_path
from graphdep.io.limits import did_you_mean, no_choice
from graphdep.parsing.bundled import BundledParser
from graphdep.parsing.cached import CachedParser
from graphdep.parsing.cluster import ClusterParser
from graphdep.parsing.enhanced import check_arcs, check_engine, find_pybart
from graphdep.parsing.files import ConlluParser, PtbParser
from graphdep.parsing.parallel import ParallelParser
from graphdep.parsing.parser import ChainParser, OneSentenceParser, Parser
from graphdep.parsing.servers import CoreNLPParser, SpacyParser
from graphdep.parsing.stanza import StanzaParser

_cache: ContextVar[str | Path | None] = ContextVar("cache", default=None)


@contextmanager
def override_parsers(cache: str | Path | None) -> Iterator[None]:
    """A context in which :func:`resolve_parser` has this file of parses in place of another one, so that all
    fits of a search share it; :obj:`None` for no change.
    """
    token = _cache.set(cache)
    try:
        yield
    finally:
        _cache.reset(token)


_CHOICES = (
    *("bundled", "bundled:<folder>", "stanza", "stanza:<language>", "spacy:<model>", "corenlp"),
    *("conllu:<file>", "ptb:<file>", "chain"),
)
# Whether an argument follows the name: none, perhaps, always.
_PARSERS: dict[str, tuple[Callable[..., Parser], str]] = {
    "bundled": (BundledParser, "perhaps"),
    "stanza": (StanzaParser, "perhaps"),
    "spacy": (SpacyParser, "always"),
    "corenlp": (CoreNLPParser, "none"),
    "conllu": (ConlluParser, "always"),
    "ptb": (PtbParser, "always"),
    "chain": (ChainParser, "none"),
}


def resolve_parser(
    name_or_instance: str | Parser,
    *,
    cache: str | Path | None = None,
    arcs: str = "basic",
    engine: str = "rules",
    workers: int = 1,
    scheduler: str | None = None,
    constituents: bool = False,
    one_sentence: bool = False,
    **options: Any,
) -> Parser:
    """Makes the parser with a given name, with a cache around it if wanted.

    For ``"enhanced++"`` arcs, ``"corenlp"`` returns the server's own graphs unless
    ``representation="basic"`` is given; all other graphs are made by :func:`~graphdep.parsing.enhance`. If
    the parser returns trees alone (:attr:`Parser.gives_graphs`), it is checked here, before hours of parsing,
    that the engine is installed.

    Args:
        name_or_instance: ``"bundled"`` (English), ``"bundled:<folder>"`` (from ``graphdep train-parser``),
            ``"stanza"`` (English), ``"stanza:<language>"``, ``"spacy:<model>"``, ``"corenlp"``,
            ``"conllu:<file>"``, ``"ptb:<file>"`` (:class:`PtbParser`), ``"chain"`` (no parse), or a
            :class:`Parser`.
        cache: An SQLite file to store parses in; see :class:`CachedParser`. (default: :obj:`None`)
        arcs: What the parses are for: ``"basic"`` trees, or graphs of a level of
            :func:`~graphdep.parsing.enhance`. (default: ``"basic"``)
        engine: Makes graphs from trees, ``"rules"`` or ``"pybart"``. (default: ``"rules"``)
        workers: Number of processes; see :class:`ParallelParser`. (default: :obj:`1`, this process)
        scheduler: Address of the scheduler of a Dask cluster whose workers parse; see
            :class:`ClusterParser`. (default: :obj:`None`, no cluster)
        constituents: Whether all sentences must have :attr:`Sentence.constituents`. ``"bundled"`` and
            ``"stanza"`` then parse them, and ``"ptb:<file>"`` and a CoNLL-U file may have them; the other
            parsers have none. (default: :obj:`False`)
        one_sentence: Give each text one tree, wherever the parser ends sentences. (default: :obj:`False`)
        **options: Arguments of the parser's class.

    Raises:
        ValueError: If the parser or its option is unknown, :obj:`arcs` or :obj:`engine` is unknown,
            :obj:`workers` is below 1 or given with :obj:`scheduler`, or the parser has no constituents.
        ParserUnavailableError: If its library or models are missing.
        ImportError: If the trees need engine ``"pybart"`` or the :obj:`scheduler` needs Dask, and the package
            is not installed.
    """
    check_arcs(arcs)
    check_engine(engine)
    if arcs == "enhanced++" and name_or_instance == "corenlp":
        options = {"representation": "enhancedPlusPlus", **options}
    parser = _resolve(name_or_instance, options, constituents)
    parser = OneSentenceParser(parser) if one_sentence else parser
    if cache is not None:
        cache = _cache.get() or cache
    if arcs != "basic" and engine == "pybart" and not parser.gives_graphs:
        find_pybart()
    if scheduler is not None and workers != 1:
        raise ValueError(f"'workers' must be 1 with 'scheduler', which has its own workers (got {workers})")
    if scheduler is not None:
        parser = ClusterParser(parser, scheduler)
    elif workers != 1:
        parser = ParallelParser(parser, workers)
    return parser if cache is None else CachedParser(parser, cache)


def check_parser(
    name: str, arcs: str = "basic", engine: str = "rules", *, constituents: bool = False, **options: Any
) -> None:
    """Raises errors of :func:`resolve_parser` that are found without loading a model or reading parses."""
    make, arguments = _named(name)
    if make is ConlluParser or make is PtbParser:
        os.stat(home_path(arguments[0]))
    elif make is not SpacyParser or not is_installed("spacy"):
        resolve_parser(name, arcs=arcs, engine=engine, constituents=constituents, **options)


def _resolve(name_or_instance: str | Parser, options: dict[str, Any], constituents: bool) -> Parser:
    parser = _made(name_or_instance, options, constituents)
    if constituents and not parser.gives_constituents:
        raise ValueError(
            f"parser {str(name_or_instance)!r} has no constituents: use 'bundled', 'stanza:<language>', "
            "'ptb:<file>', or a CoNLL-U file whose sentences all have a line "
            "'# constituency = (ROOT ...)'; in Python, a parser made with constituents=True"
        )
    return parser


def _made(name_or_instance: str | Parser, options: dict[str, Any], constituents: bool) -> Parser:
    if isinstance(name_or_instance, Parser):
        if options:
            raise ValueError(f"options {sorted(options)} cannot be given with an instance of a parser")
        return name_or_instance
    make, arguments = _named(str(name_or_instance))
    _check_options(str(name_or_instance).partition(":")[0], make, arguments, options)
    if constituents and "constituents" in inspect.signature(make).parameters:
        options = {"constituents": True, **options}
    return make(*arguments, **options)


def _named(text: str) -> tuple[Callable[..., Parser], list[str]]:
    """The class of a named parser, and its arguments."""
    name, colon, argument = text.partition(":")
    if name not in _PARSERS:
        raise ValueError(no_choice("parser", name, _PARSERS if did_you_mean(name, _PARSERS) else _CHOICES))
    make, takes = _PARSERS[name]
    allowed = {"none": (False,), "always": (True,)}.get(takes, (False, True))
    if bool(argument) != bool(colon) or bool(argument) not in allowed:
        raise ValueError(no_choice("parser", text, _CHOICES))
    return make, [argument] if argument else []


def _check_options(
    name: str, make: Callable[..., Parser], arguments: list[str], options: dict[str, Any]
) -> None:
    known = list(inspect.signature(make).parameters)[len(arguments) :]
    for option in options:
        if option not in known:
            raise ValueError(f"parser {name!r} has no option {option!r}; it has {', '.join(known)}")
