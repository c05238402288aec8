"""Trees from users: detection of their label scheme, and repair of invalid trees."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from graphdep.io.files import place_error, placed
from graphdep.io.limits import check_choice, plural, shown
from graphdep.sentence.clear import clear_to_ud, is_clear, only_ud2, ud1_to_ud
from graphdep.sentence.conllu import ConlluError
from graphdep.sentence.exchange import (
    is_spacy,
    is_stanza,
    is_token_list,
    is_words,
    read_dicts,
    read_spacy,
    read_stanza,
    read_token_lists,
)
from graphdep.sentence.sentence import Sentence
from graphdep.sentence.tree import FROM_ZERO, PAGE, Fault, Found, Raw, WordParser, cycles, tree_fault

SCHEMES = ("auto", "as-is", "clear", "ud1")
BAD_TREES = ("error", "attach", "parse", "skip")
OF_ROWS = "--bad-trees attach or parse takes it"
"""Advice where rows cannot be skipped, since each needs a prediction."""
_CONVERTERS = {"clear": clear_to_ud, "ud1": ud1_to_ud}
_NAMES = {"clear": "CLEAR, spaCy's English labels,", "ud1": "Universal Dependencies 1"}

logger = logging.getLogger("graphdep.sentence")


@dataclass
class Intake:
    """Makes sentences from a user's parses with fixed rules, and counts the changes.

    The label scheme is decided once for all sentences that are given together. ``"auto"`` converts CLEAR, the
    scheme of spaCy's English models, if all labels are in CLEAR's table and at least one is in no version of
    Universal Dependencies. All other trees are left unchanged.

    Args:
        scheme: ``"auto"``, ``"as-is"``, or the scheme to convert from: ``"clear"``, or ``"ud1"`` for version
            1 of Universal Dependencies, which does nothing if a label exists only in version 2. (default:
            ``"auto"``)
        bad_trees: Treatment of governors that are not a tree. ``"error"``: an error with the place, the
            reason and the number of further ones. ``"attach"``: further roots, the first word of a cycle and
            words whose governor is outside the sentence are attached to the first root, with their labels.
            ``"parse"``: :obj:`parser` provides the tree. ``"skip"``: the sentence is left out. (default:
            ``"error"``)
        parser: For ``bad_trees="parse"``. (default: :obj:`None`)
        advice: Advice in the error message on how to choose another treatment; empty for no advice. (default:
            in Python and on the command line)

    Attributes:
        trees: Number of sentences.
        bad: Number of invalid trees, by reason.
        converted: Number of converted trees, by their old scheme.
        dropped: Number of converted trees that lost the arcs of column DEPS, which have the old labels.
        graphs: Number of sentences with arcs besides their tree, without those from CoNLL-U.
        decided: The scheme of the latest trees, ``"as-is"`` if they are not converted, as for a
            :class:`Sentence`; ``"auto"`` before the first ones.

    Raises:
        ValueError: If an option is unknown, or ``"parse"`` has no parser.

    Example:
        >>> from graphdep.sentence.intake import Intake
        >>> from graphdep.sentence.tree import Raw
        >>> two_roots = {"form": ["Yes", "I", "can"], "head": [0, 3, 0], "deprel": ["root", "nsubj", "root"]}
        >>> intake = Intake(bad_trees="attach")
        >>> [sentence] = intake.sentences([Raw(two_roots, "a.jsonl:1")])
        >>> sentence.head, intake.note()
        ([0, 3, 1], '1 of 1 tree is bad: several roots (1); attached (bad_trees)')
    """

    scheme: str = "auto"
    bad_trees: str = "error"
    parser: WordParser | None = None
    advice: str = "bad_trees='attach', 'parse' or 'skip' (--bad-trees) takes them"
    trees: int = field(default=0, init=False)
    bad: Counter[str] = field(default_factory=Counter, init=False)
    converted: Counter[str] = field(default_factory=Counter, init=False)
    dropped: int = field(default=0, init=False)
    decided: str = field(default="auto", init=False)
    graphs: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        check_choice("scheme", self.scheme, SCHEMES)
        check_choice("bad_trees", self.bad_trees, BAD_TREES)
        if self.bad_trees == "parse" and self.parser is None:
            raise ValueError("bad_trees='parse' needs a parser")

    def sentences(
        self, raws: Sequence[Raw], *, multiroot: bool = False, labels: Iterable[str] = ()
    ) -> list[Sentence | None]:
        """The sentences, converted and repaired; :obj:`None` for a sentence that is left out.

        Args:
            raws: All sentences of the input.
            multiroot: Whether several roots are allowed. (default: :obj:`False`)
            labels: Further labels for deciding the scheme. (default: none)
        """
        faults = self._faults(raws, multiroot)
        # Trees that are skipped or come from a parser do not have the user's scheme.
        given = self.bad_trees in ("error", "attach")
        own = [given or number not in faults for number in range(len(raws))]
        own = [mine and raw.columns.get("tree_from") is None for mine, raw in zip(own, raws)]
        found = (label for raw, mine in zip(raws, own) if mine for label in raw.columns["deprel"])
        known = {*labels, *(label for label in found if label != "_")}
        scheme = self.decide(known)
        self.decided = scheme if known else self.decided
        taken = self._trees(raws, multiroot, faults)
        self.trees += len(raws)
        self.graphs += sum(map(_has_graph, raws))
        if scheme not in _CONVERTERS:
            return taken
        convert = _CONVERTERS[scheme]
        self.converted[scheme] += sum(own)
        lost = (mine and raw.lines and raw.columns.get("deps") for mine, raw in zip(own, raws))
        self.dropped += sum(map(bool, lost))
        return [
            _with_arcs(convert(tree), raw) if tree is not None and mine else tree
            for tree, mine, raw in zip(taken, own, raws)
        ]

    def decide(self, labels: Iterable[str]) -> str:
        """The scheme from which trees with these labels are converted; ``"as-is"`` for no conversion."""
        found = {*labels}
        if self.scheme == "auto":
            return "clear" if is_clear(found) else "as-is"
        return "as-is" if only_ud2(found) else self.scheme

    def refuse_arcs_alone(self, place: str, sentences: Iterable[Sentence | None]) -> None:
        """Raises :class:`ValueError`, with the place, for sentences that still need a parse."""
        if any(sentence is not None and needs_tree(sentence) for sentence in sentences):
            message = "'edges' alone are not a tree: estimators parse such words; or give 'head' and 'deprel'"
            raise place_error(place, message)

    def note(self) -> str:
        """The changes, in one line; empty without changes."""
        parts = [
            f"{plural(count, 'tree')} converted from {_NAMES[scheme]} to version 2 of Universal Dependencies"
            for scheme, count in self.converted.items()
        ]
        if self.dropped:
            parts.append(f"the arcs in DEPS of {plural(self.dropped, 'tree')} are left out")
        if self.bad:
            did = {"attach": "attached", "parse": "parsed instead", "skip": "left out"}[self.bad_trees]
            verb = "is" if self.bad.total() == 1 else "are"
            reasons = _reasons(self.bad)
            parts.append(
                f"{self.bad.total()} of {plural(self.trees, 'tree')} {verb} bad: {reasons}; {did} (bad_trees)"
            )
        return "; ".join(parts)

    def say(self) -> None:
        """Logs the changes; conversions alone only once, since trees may come one by one."""
        if self.bad or self.dropped:
            logger.warning("%s", self.note())
            return
        for scheme in self.converted:
            _log_converted(scheme)

    def counts(self) -> dict[str, Any]:
        """The counts as plain values."""
        return {"trees": self.trees, "bad_trees": dict(self.bad), "converted": dict(self.converted)}

    def _faults(self, raws: Sequence[Raw], multiroot: bool) -> dict[int, Fault]:
        faults: dict[int, Fault] = {}
        for number, raw in enumerate(raws):
            roots = multiroot or bool(raw.columns.get("multiroot"))
            if fault := tree_fault(raw.columns["head"], multiroot=roots):
                faults[number] = fault
        if faults:
            self._refuse_or_count(raws, faults)
        return faults

    def _trees(
        self, raws: Sequence[Raw], multiroot: bool, faults: Mapping[int, Fault]
    ) -> list[Sentence | None]:
        words = [list(raws[number].columns["form"]) for number in faults]
        parses = self.parser if faults and self.bad_trees == "parse" else None
        parsed = iter([] if parses is None else parses.parse_words(words))
        taken: list[Sentence | None] = []
        for number, raw in enumerate(raws):
            if number in faults and self.bad_trees == "skip":
                taken.append(None)
                continue
            columns = raw.columns
            if number in faults and self.bad_trees == "parse":
                tree = next(parsed)
                columns = {**columns, "head": tree.head, "deprel": tree.deprel, "multiroot": tree.multiroot}
                columns["tree_from"] = "parser"
            elif number in faults:
                columns = {**columns, "head": attached(columns["head"]), "multiroot": False}
            elif multiroot:
                columns = {**columns, "multiroot": columns["head"].count(0) > 1}
            with placed(raw.place):
                taken.append(Sentence(**columns))
        return taken

    def _refuse_or_count(self, raws: Sequence[Raw], faults: dict[int, Fault]) -> None:
        counts = Counter(fault.kind for fault in faults.values())
        if self.bad_trees != "error":
            self.bad += counts
            return
        number, fault = next(iter(faults.items()))
        message, raw = fault.message, raws[number]
        if len(faults) > 1:
            message += f"; {len(faults)} of {plural(len(raws), 'sentence')} are not trees: {_reasons(counts)}"
        # Trees that count from 0 are valid, so "attach" would give the user another tree.
        message += f"; {self.advice}" if self.advice and fault.kind != FROM_ZERO else ""
        if raw.lines:
            value = str(raw.columns["head"][fault.word - 1])
            raise ConlluError(message, raw.place, raw.lines[fault.word - 1], value)
        raise place_error(raw.place, message)


def _has_graph(raw: Raw) -> bool:
    """Whether a sentence has arcs besides its tree; arcs from CoNLL-U may be a copy of the tree."""
    return not raw.lines and bool(raw.columns.get("deps"))


def _with_arcs(tree: Sentence, raw: Raw) -> Sentence:
    """A converted tree with the user's own arcs, whose labels have no scheme."""
    own = {name: raw.columns[name] for name in ("deps", "empty") if name in raw.columns}
    return replace(tree, **own) if _has_graph(raw) else tree


@cache
def _log_converted(scheme: str) -> None:
    logger.warning("trees are converted from %s to version 2 of Universal Dependencies", _NAMES[scheme])


def _reasons(counts: Counter[str]) -> str:
    return ", ".join(f"{reason} ({count})" for reason, count in counts.most_common())


def attached(head: Sequence[int]) -> list[int]:
    """Repairs governors: further roots, the first word of a cycle, and words whose governor is outside the
    sentence are attached to the first root. Without a root, the first of these words becomes the root.
    """
    size = len(head)
    mended = [governor if 0 <= governor <= size else -1 for governor in head]
    root = next((word for word, governor in enumerate(mended, 1) if governor == 0), 0)
    for word, governor in enumerate(mended, 1):
        if governor == -1 or (governor == 0 and word != root):
            mended[word - 1] = root
            root = root or word
    for cycle in [*cycles(mended)]:
        mended[min(cycle) - 1] = root
        root = root or min(cycle)
    return mended


def needs_tree(sentence: Sentence | None) -> bool:
    """Whether a sentence still needs a parse."""
    return sentence is None or sentence.tree_from == "chain"


def is_own(value: object) -> bool:
    """Whether a value is a sentence with the user's tree, not a parser's."""
    return isinstance(value, Sentence) and value.tree_from is None


def given_tree(tree: Sentence | None, keep: bool, arcs: str) -> Sentence | None:
    """The tree of a row; without ``keep`` only its arcs, if ``arcs`` is ``"own"``, to be parsed."""
    if tree is None or keep:
        return tree
    return replace(tree, tree_from="chain") if arcs == "own" else None


def with_tree(own: Sentence | None, parsed: Sentence) -> Sentence:
    """The parse of a sentence, with the sentence's own arcs."""
    return parsed if own is None else replace(parsed, deps=own.deps)


_READERS: tuple[tuple[Callable[[Any], bool], Callable[[Any], Found]], ...] = (
    (is_spacy, read_spacy),
    (is_stanza, read_stanza),
    (is_token_list, read_token_lists),
    (lambda parsed: isinstance(parsed, Mapping) or is_words(parsed), read_dicts),
)
PARSES = (
    "graphdep.Sentence, Doc or Span of spaCy, Document or Sentence of stanza, TokenList of conllu, a mapping "
    f"or a list of words for Sentence.from_dict, or a list of these ({PAGE})"
)
"""The supported parses, for messages."""


def is_parse(value: object) -> bool:
    """Whether a value is a sentence or a parse that :func:`as_sentences` supports."""
    return isinstance(value, Sentence) or any(known(value) for known, _ in _READERS)


def as_sentences(
    parsed: Any, name: str = "sentences", *, multiroot: bool = False, intake: Intake | None = None
) -> list[Sentence]:
    """The sentences of a parse or of a list of parses; a parse may have several sentences.

    Args:
        parsed: A parse for which :class:`Sentence` has a ``from_...``, a sentence, or a list of these.
        name: Name of the argument in messages. (default: ``"sentences"``)
        multiroot: Whether several roots are allowed. (default: :obj:`False`)
        intake: Converts, repairs and counts parses; sentences are kept unchanged. (default: a new
            :class:`Intake`)

    Raises:
        TypeError: If an item is not a parse; the message lists the supported parses.
        ValueError: If an item has no parse, or is not a tree.

    Example:
        >>> from graphdep.sentence import as_sentences
        >>> she_sings = {"words": ["She", "sings"], "head": [2, 0], "deprel": ["nsubj", "root"]}
        >>> [sentence.text for sentence in as_sentences(she_sings)]
        ['She sings']
    """
    several = isinstance(parsed, Iterable) and not isinstance(parsed, str | bytes | Sentence)
    one = not several or is_parse(parsed)
    parses = [(name, parsed)] if one else [(f"{name}[{n}]", each) for n, each in enumerate(parsed)]
    advice = "Sentence.from_dict(..., bad_trees='attach') repairs a tree"
    own = Intake(advice=advice) if intake is None else intake
    made = sentences_of(parses, own, multiroot=multiroot)
    if intake is None:
        own.say()
    for (place, _), sentences in zip(parses, made):
        own.refuse_arcs_alone(place, sentences)
    return [sentence for sentences in made for sentence in sentences]


def sentences_of(
    parses: Iterable[tuple[str, Any]], intake: Intake, *, multiroot: bool = False
) -> list[list[Sentence]]:
    """The sentences of each parse, without skipped ones; one scheme is decided for all parses.

    Args:
        parses: Place, for messages, and value of each parse.
        intake, multiroot: As in :func:`as_sentences`.
    """
    found = [_found(parsed, place) for place, parsed in parses]
    raws = [raw for each in found if isinstance(each, Found) for raw in each.raws]
    labels = [label for each in found if isinstance(each, Found) for label in each.labels]
    taken = iter(intake.sentences(raws, multiroot=multiroot, labels=labels))
    if intake.decided == "auto" and any(isinstance(each, Sentence) for each in found):
        intake.decided = "as-is"
    made = [[each] if isinstance(each, Sentence) else [next(taken) for _ in each.raws] for each in found]
    return [[sentence for sentence in sentences if sentence is not None] for sentences in made]


def _found(parsed: Any, name: str) -> Sentence | Found:
    if isinstance(parsed, Sentence):
        return parsed
    for known, read in _READERS:
        if known(parsed):
            with placed(name):
                made = read(parsed)
            raws = [raw._replace(place=f"{name}, {raw.place}" if raw.place else name) for raw in made.raws]
            return replace(made, raws=raws)
    text = isinstance(parsed, str | bytes)
    first = "; parse a text first: graphdep.parsing.resolve_parser('bundled').parse([text])"
    raise TypeError(f"'{name}' takes {PARSES} (got {shown(parsed)}){first if text else ''}")
