"""Parsers by name."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NamedTuple

from graphdep.io.extras import is_installed
from graphdep.io.files import home_path
from graphdep.parsing.bundled import BundledParser
from graphdep.parsing.cached import CachedParser
from graphdep.parsing.cluster import ClusterParser
from graphdep.parsing.enhanced import check_arcs, check_engine, find_pybart
from graphdep.parsing.files import ConlluParser, PtbParser
from graphdep.parsing.parallel import ParallelParser
from graphdep.parsing.parser import ChainParser, Parser
from graphdep.parsing.servers import CoreNLPParser, SpacyParser
from graphdep.parsing.stanza import StanzaParser


class Resolving(NamedTuple):
    """How parsers are resolved.

    Args:
        cache: The file of parses in place of that which is asked for; :obj:`None` for the latter.
        progress: Whether they, and the corpora that they parse, tell how far they are; :obj:`None` for their
            own choice.
    """

    cache: str | Path | None = None
    progress: bool | None = None


_within: ContextVar[Resolving] = ContextVar("resolving", default=Resolving())  # noqa: B039  # cannot be changed


def resolving_now() -> Resolving:
    """How parsers are resolved here."""
    return _within.get()


@contextmanager
def resolving(cache: str | Path | None = None, progress: bool | None = None) -> Iterator[None]:
    """Within it, named parsers that keep their parses keep them in :obj:`cache`, whatever file the corpus has
    for them: fits of one search so share them. See :class:`Resolving`.
    """
    token = _within.set(Resolving(cache, progress))
    try:
        yield
    finally:
        _within.reset(token)


_CHOICES = (
    "'bundled', 'bundled:<folder>', 'stanza', 'stanza:<language>', 'spacy:<model>', 'corenlp', "
    "'conllu:<file>', 'ptb:<file>', 'chain'"
)
# Which take an argument after the colon: none, perhaps, always.
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
    **options: Any,
) -> Parser:
    """A parser from its name, with a cache around it if wanted.

    For ``"enhanced++"`` arcs the name ``"corenlp"`` stands for the server's own graphs, unless
    ``representation="basic"`` is given; graphs of the other level and parsers are made by
    :func:`~graphdep.parsing.enhance`. That its engine is installed is checked here, before hours of parsing,
    where the parser is known to give trees alone (:attr:`Parser.gives_graphs`).

    Args:
        name_or_instance: ``"bundled"`` (English), ``"bundled:<folder>"`` (a folder that
            ``graphdep train-parser`` made), ``"stanza"`` (English),
            ``"stanza:<language>"``, ``"spacy:<model>"``, ``"corenlp"``, ``"conllu:<file>"``, ``"ptb:<file>"``
            (constituents that are there, :class:`PtbParser`), ``"chain"`` (no parse), or a :class:`Parser`.
        cache: An SQLite file to keep parses in; see :class:`CachedParser`. (default: :obj:`None`)
        arcs: What the parses are for: ``"basic"`` trees, or graphs, a level of
            :func:`~graphdep.parsing.enhance`. (default: ``"basic"``)
        engine: What makes graphs of trees, ``"rules"`` or ``"pybart"``. (default: ``"rules"``)
        workers: Processes that parse; see :class:`ParallelParser`. (default: :obj:`1`, no others)
        scheduler: Address of the scheduler of a Dask cluster, whose workers parse; see
            :class:`ClusterParser`. (default: :obj:`None`, no cluster)
        constituents: Whether its sentences must have :attr:`Sentence.constituents`: ``"bundled"`` and
            ``"stanza"`` then parse them, ``"ptb:<file>"`` and a CoNLL-U file may have them, and other parsers
            have none. (default: :obj:`False`)
        **options: Arguments of the parser's class.

    Raises:
        ValueError: If there is no such parser or it has no such option, :obj:`arcs` or
            :obj:`engine` is unknown, :obj:`workers` is below 1 or given with :obj:`scheduler`, or the parser
            gives no :obj:`constituents`.
        ParserUnavailableError: If its library or models are missing.
        ImportError: If its trees need engine ``"pybart"``, which is not installed, or there is a
            :obj:`scheduler` and Dask is not installed.
    """
    check_arcs(arcs)
    check_engine(engine)
    if arcs == "enhanced++" and name_or_instance == "corenlp":
        options = {"representation": "enhancedPlusPlus", **options}
    around = resolving_now()
    parser = _resolve(name_or_instance, options, constituents)
    if parser is not name_or_instance and around.progress is not None:
        parser.progress = around.progress
    if cache is not None and around.cache is not None:
        cache = around.cache
    if arcs != "basic" and engine == "pybart" and not parser.gives_graphs:
        find_pybart()
    if scheduler is not None and workers != 1:
        raise ValueError(
            f"'workers' are processes of this machine, and 'scheduler' has its own (got {workers})"
        )
    if scheduler is not None:
        parser = ClusterParser(parser, scheduler)
    elif workers != 1:
        parser = ParallelParser(parser, workers)
    return parser if cache is None else CachedParser(parser, cache)


def check_parser(
    name: str, arcs: str = "basic", engine: str = "rules", *, constituents: bool = False
) -> None:
    """Raises what :func:`resolve_parser` does of a name, as far as that is told without loading a model or
    reading a file of parses.
    """
    make, arguments = _named(name)
    if make is ConlluParser or make is PtbParser:
        os.stat(home_path(arguments[0]))
    elif make is not SpacyParser or not is_installed("spacy"):
        resolve_parser(name, arcs=arcs, engine=engine, constituents=constituents)


def _resolve(name_or_instance: str | Parser, options: dict[str, Any], constituents: bool) -> Parser:
    parser = _made(name_or_instance, options, constituents)
    if constituents and not parser.gives_constituents:
        raise ValueError(
            f"the parser {str(name_or_instance)!r} gives no constituents: take 'bundled', "
            "'stanza:<language>', 'ptb:<file>', or a CoNLL-U file whose sentences all have a line "
            "'# constituency = (ROOT ...)'; in Python, a parser made with constituents=True"
        )
    return parser


def _made(name_or_instance: str | Parser, options: dict[str, Any], constituents: bool) -> Parser:
    if isinstance(name_or_instance, Parser):
        if options:
            raise ValueError(f"options {sorted(options)} cannot be given with a parser that exists already")
        return name_or_instance
    make, arguments = _named(str(name_or_instance))
    _check_options(str(name_or_instance).partition(":")[0], make, arguments, options)
    if constituents and "constituents" in inspect.signature(make).parameters:
        options = {"constituents": True, **options}
    return make(*arguments, **options)


def _named(text: str) -> tuple[Callable[..., Parser], list[str]]:
    """What makes the parser of a name, and its arguments."""
    name, colon, argument = text.partition(":")
    if name not in _PARSERS:
        raise ValueError(f"unknown parser {text!r}; the choices are {_CHOICES}")
    make, takes = _PARSERS[name]
    allowed = {"none": (False,), "always": (True,)}.get(takes, (False, True))
    if bool(argument) != bool(colon) or bool(argument) not in allowed:
        raise ValueError(f"parser {text!r} has a wrong form; the choices are {_CHOICES}")
    return make, [argument] if argument else []


def _check_options(
    name: str, make: Callable[..., Parser], arguments: list[str], options: dict[str, Any]
) -> None:
    known = list(inspect.signature(make).parameters)
    if arguments:
        known = known[1:]
    for option in options:
        if option not in known:
            raise ValueError(f"parser {name!r} has no option {option!r}; it has {', '.join(known)}")
