"""Enhanced graphs from basic trees."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version

from graphdep.parsing import enhancing
from graphdep.parsing.parsed import is_chain_tree
from graphdep.parsing.pybart_converter import PYBART_LEVELS, PybartConverter
from graphdep.parsing.pybart_rules import RULES_VERSION, find_pybart
from graphdep.sentence import Sentence

logger = logging.getLogger("graphdep.parsing")

LEVELS = (*PYBART_LEVELS, *enhancing.UD_LEVELS)
ARCS = ("basic", *LEVELS)


def enhance(sentences: Sequence[Sentence], level: str = "ud++") -> list[Sentence]:
    """The sentences with an enhanced graph, :attr:`Sentence.deps`, made of their basic tree.

    ``"ud"`` and ``"ud++"`` are by the rules of :class:`~graphdep.parsing.enhancing.RuleEnhancer`, which need
    no other package; ``"enhanced"`` and ``"enhanced++"`` are by those of pybart, changed for Universal
    Dependencies 2 (:class:`~graphdep.parsing.pybart_converter.PybartConverter`), which need the extra
    ``[enhanced]`` and a Python below 3.12. They mean the same:

    ``"ud"`` and ``"enhanced"`` are the representation of column DEPS in Universal Dependencies 2:
    prepositions and conjunctions on labels (``obl:in``, ``conj:or``), governors and subjects shared by
    conjuncts, subjects of open clausal complements (``nsubj:xsubj``), antecedents of relative clauses
    (``ref``, and the arc from inside the clause, which makes a cycle). ``"ud"`` has more of it: clauses
    without a relative pronoun, and predicates that are left out. ``"ud++"`` and ``"enhanced++"`` add what
    "Enhanced English Universal Dependencies: An Improved Representation for Natural Language Understanding
    Tasks" adds to it: quantificational modifiers (``det:qmod``), prepositions of several words, and conjoined
    prepositions and prepositional phrases, for which the governor is copied. A copy is an empty node, e.g.
    ``"3.1"`` for the first copy of word 3, with ``CopyOf=3``.

    The rules are for **English** trees in Universal Dependencies 2 with Penn Treebank tags in
    :attr:`Sentence.xpos` (with :attr:`Sentence.upos` where that is missing), as the bundled parser gives
    them. A sentence that the rules fail on gets its basic arcs as enhanced graph, with the reason in a
    ``# basic_deps =`` comment; a warning says how many there were. The chain tree of a text that its parser
    failed on keeps its basic arcs, too, without a warning.

    Args:
        sentences: Parsed sentences. Those that have an enhanced graph are left as they are.
        level: ``"ud"``, ``"ud++"``, ``"enhanced"`` or ``"enhanced++"``. CoreNLP makes graphs of its own trees
            alone: ``resolve_parser("corenlp", arcs="enhanced++")``. (default: ``"ud++"``, which needs no
            other package and has the higher F1 on the treebank's own graphs)

    Raises:
        ValueError: If :obj:`level` is unknown.
        ImportError: If it is pybart's, which is not installed.

    Example:
        >>> from graphdep import Sentence
        >>> from graphdep.parsing import enhance
        >>> tree = Sentence(["go", "by", "bus"], [0, 3, 1], ["root", "case", "obl"])
        >>> enhance([tree], "ud++")[0].deps
        [[('0', 'root')], [('3', 'case')], [('1', 'obl:by')]]
    """
    if level not in LEVELS:
        raise ValueError(f"'level' must be one of {LEVELS} (got {level!r})")
    done, reasons = list(sentences), []
    plain = []
    for number, sentence in enumerate(done):
        if sentence.deps is None and is_chain_tree(sentence):
            done[number] = _with_basic_arcs(sentence)
        elif sentence.deps is None:
            plain.append(number)
    convert = _converter(level) if plain else None
    for number in plain:
        sentence = done[number]
        assert convert is not None
        try:
            done[number] = convert(sentence)
        except Exception as error:  # whatever the rules raise must not lose the other sentences
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            reasons.append(f"sentence {number + 1}, {sentence.text[:80]!r}: {reason}")
            done[number] = _with_basic_arcs(sentence, f"# basic_deps = {reason}")
    if reasons:
        count = f"{len(reasons)} of {len(done)} sentences"
        logger.warning("%s kept their basic arcs (the first: %s)", count, reasons[0])
    return done


def enhance_fingerprint(level: str = "ud++") -> str | None:
    """What changes the graphs that :func:`enhance` makes: the version of the rules, and of pybart where they
    are its rules.

    :obj:`None` where pybart is not installed, so that a parser has to give the graphs.
    """
    if level in enhancing.UD_LEVELS:
        return f"ud-rules-{enhancing.RULES_VERSION}"
    try:
        return f"pybart-{version('pybart-nlp')}/rules-{RULES_VERSION}"
    except PackageNotFoundError:
        return None


def check_enhancer(level: str) -> None:
    """Raises :class:`ImportError` if :func:`enhance` lacks a package for the level."""
    if level in PYBART_LEVELS:
        find_pybart()


def check_arcs(arcs: str) -> None:
    """Raises :class:`ValueError` unless these are ``"basic"`` or a level of :func:`enhance`."""
    if arcs not in ARCS:
        raise ValueError(f"'arcs' must be one of {', '.join(ARCS)} (got {arcs!r})")


def _converter(level: str) -> Callable[[Sentence], Sentence]:
    return enhancing.RuleEnhancer(level) if level in enhancing.UD_LEVELS else PybartConverter(level)


def _with_basic_arcs(sentence: Sentence, *comments: str) -> Sentence:
    deps = [[(str(head), label)] for head, label in zip(sentence.head, sentence.deprel)]
    return dataclasses.replace(sentence, deps=deps, comments=[*sentence.comments, *comments])
