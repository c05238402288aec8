"""Enhanced graphs from basic trees, by rules or by pybart."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import logging
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from math import inf
from types import ModuleType
from typing import Any

from graphdep.io.extras import missing
from graphdep.io.limits import check_choice
from graphdep.parsing import enhancing
from graphdep.parsing.parser import is_chain_tree
from graphdep.sentence.sentence import Sentence
from graphdep.sentence.tree import Row

# Part of the fingerprint of stored graphs: increase it with every change of the rules that changes graphs.
RULES_VERSION = 2

_ALIAS = "_graphdep_pybart"
_SHARING = "eud_case_sons_of_conjuncts"
_REFERENTS = "eudpp_add_ref_and_collapse"
_ENHANCED = (
    "eud_correct_subj_pass",
    _SHARING,
    "eud_heads_of_conjuncts",
    "eud_prep_patterns",
    "eud_conj_info",
    _REFERENTS,  # part of UD's enhanced representation, despite its name
    "eud_subj_of_conjoined_verbs",
    "eud_xcomp_propagation",
)
# Relations of arcs that only the rules see, by the relation that a conjunct shares.
HELPERS = {"case": "[shared]", "mark": "[shared]", "aux:pass": "[shared pass]"}


class _AnyWord:
    """Contains every word."""

    def __contains__(self, word: object) -> bool:
        return True


def find_pybart() -> list[str]:
    """The folders of package pybart."""
    if said := missing("engine 'pybart'", "enhanced"):
        raise ImportError(
            f"{said}; it requires Python below 3.12. Engine 'rules' makes the same representation without "
            "other packages"
        )
    spec: Any = importlib.util.find_spec("pybart")
    return list(spec.submodule_search_locations)


@cache
def load_pybart() -> Any:
    """The module ``converter`` of pybart, from a second import of the package, which is then modified.

    The second import has another name and skips the package's ``__init__``, which would import spaCy.
    """
    package = ModuleType(_ALIAS)
    package.__path__ = find_pybart()
    sys.modules[_ALIAS] = package
    converter: Any = importlib.import_module(f"{_ALIAS}.converter")
    converter.graph_token = importlib.import_module(f"{_ALIAS}.graph_token")
    converter.constraints = importlib.import_module(f"{_ALIAS}.constraints")
    converter.graph_token.EUD_LITERAL_ALLOWED_LIST = _AnyWord()
    converter.relativizers_to_rel = dict.fromkeys(converter.relativizers_to_rel, "nmod")  # obl, in UD 2
    converter.assign_ccs_to_conjs = _assign_conjunctions
    return converter


def _assign_conjunctions(sentence: Sequence[Any], assigned: dict[Any, tuple[None, str]]) -> None:
    """Finds the conjunction of each conjunct: its own, else that of the next conjunct ("a, b and c")."""
    for token in sentence:
        conjuncts = _children(token, "conj")
        text = ""
        for conjunct in reversed(conjuncts):
            own = [child for child in _children(conjunct, "cc") if child < conjunct]
            text = "_".join(_form(word) for word in own for word in (word, *_children(word, "fixed"))) or text
            if text:
                assigned[conjunct] = (None, text)


def _children(token: Any, relation: str) -> list[Any]:
    found = (child for child, labels in token.get_children_with_rels() if labels[0].base == relation)
    return sorted(found)


def _form(token: Any) -> str:
    return str(token.get_conllu_field("form")).lower()


def rules_of(pybart: Any, level: str) -> dict[str, Any]:
    """The modified rules of a level, in order."""
    rules: dict[str, Any] = {}
    for name, rule in pybart.init_conversions(False, 2).items():
        if name in _ENHANCED or (level == "enhanced++" and name.startswith("eudpp_")):
            rules[name] = _CHANGES[name](pybart, rule) if name in _CHANGES else rule
            if name == "eud_heads_of_conjuncts":  # after governors are copied, since copies share as well
                rules[_SHARING] = rules.pop(_SHARING)
            if name == "eud_prep_patterns":
                rules["adverbs_of_clauses"] = _adverbs_of_clauses(pybart, rule)
            if name == _REFERENTS:
                rules["referents_of_modifiers"] = _referents_of_modifiers(pybart, rule)
    return rules


def _helper_arcs(pybart: Any, rule: Any) -> Any:
    """Adds a shared preposition or auxiliary to a conjunct without one, for the other rules only."""

    def share(sentence: Sequence[Any], matches: Iterable[Any], converter: Any) -> None:
        for match in matches:
            word, governor, conjunct = (match.token(name) for name in ("new_son", "gov", "dep"))
            for relation in match.edge(word, governor):
                label = pybart.graph_token.Label(HELPERS[relation])
                sentence[word].add_edge(label, sentence[conjunct])

    shared, conjunct = rule.constraint.edges
    shared = dataclasses.replace(shared, label=[pybart.constraints.HasLabelFromList([*HELPERS])])
    constraint = dataclasses.replace(rule.constraint, edges=[shared, conjunct])
    return dataclasses.replace(rule, constraint=constraint, transformation=share)


def _prepositions(pybart: Any, rule: Any) -> Any:
    return _with_labels(pybart, rule, "case", HELPERS["case"])


def _heads_of_conjuncts(pybart: Any, rule: Any) -> Any:
    above, below = rule.constraint.edges
    never = [pybart.constraints.HasNoLabel(label) for label in ("conj", "parataxis", HELPERS["case"])]
    above = dataclasses.replace(above, label=[*above.label, *never])
    return _with_constraint(rule, dataclasses.replace(rule.constraint, edges=[above, below]))


def _any_xcomp(pybart: Any, rule: Any) -> Any:
    c = pybart.constraints
    no_subject = [c.HasNoLabel(label) for label in enhancing.SUBJECTS]
    tokens = [c.Token("gov"), c.Token("new_subj"), c.Token("xcomp", outgoing_edges=no_subject)]
    arguments = [*enhancing.SUBJECTS, "obj", "iobj"]
    edges = [
        c.Edge("xcomp", "gov", [c.HasLabelFromList(["xcomp"])]),
        c.Edge("new_subj", "gov", [c.HasLabelFromList(arguments)]),
    ]
    return _with_constraint(rule, c.Full(tokens, edges))


def _shared_subjects(pybart: Any, rule: Any) -> Any:
    """Uses the relation that fits the conjunct: ``nsubj:pass`` if it has a passive auxiliary."""

    def share(sentence: Sequence[Any], matches: Iterable[Any], converter: Any) -> None:
        for match in matches:
            subject, governor, conjunct = (match.token(name) for name in ("subj", "gov", "conj"))
            passive = ":pass" if match.token("auxpass") != -1 else ""
            for relation in match.edge(subject, governor):
                label = pybart.graph_token.Label(relation.removesuffix(":pass") + passive)
                sentence[subject].add_edge(label, sentence[conjunct])

    rule = _with_labels(pybart, rule, "aux:pass", HELPERS["aux:pass"])
    return dataclasses.replace(rule, transformation=share)


def _adverbs_of_clauses(pybart: Any, rule: Any) -> Any:
    c = pybart.constraints
    adverb = c.Token("c1", spec=[c.Field(c.FieldNames.TAG, ["WRB"])])
    edges = [
        c.Edge("mod", "gov", [c.HasLabelFromList(["advcl"])]),
        c.Edge("c1", "mod", [c.HasLabelFromList(["advmod"])]),
    ]
    return _with_constraint(rule, c.Full([c.Token("gov"), c.Token("mod"), adverb], edges))


def _referents(pybart: Any, rule: Any) -> Any:
    """Moves the arcs of a relative pronoun to its antecedent, with their whole labels.

    Dependents of the pronoun stay there. The words of a label are set, even if empty, so that the rule for
    prepositions does not add the antecedent's own preposition.
    """
    make = pybart.graph_token.Label

    def moved(label: Any, pronoun: Any) -> Any:
        base = "obl" if _form(pronoun) in pybart.relativizers_to_rel else label.base
        return make(base, label.eud or "") if base in ("nmod", "obl") else label

    def refer(sentence: Sequence[Any], matches: Iterable[Any], converter: Any) -> None:
        found = []
        for match in matches:
            governor = "mod" if match.token("modified") == -1 else "modified"
            words = [sentence[match.token(name)] for name in ("relativizer", governor, "gov")]
            found.append((*words, _labels(*words[:2])))
        for pronoun, governor, antecedent, labels in found:  # one pronoun may have several antecedents
            conjuncts = [word for word in _children(antecedent, "conj") if word < governor]
            for label in labels:
                pronoun.remove_edge(label, governor)
                for word in (antecedent, *conjuncts):
                    word.add_edge(moved(label, pronoun), governor)
            pronoun.add_edge(make("ref"), antecedent)

    return dataclasses.replace(rule, transformation=refer)


def _labels(token: Any, governor: Any) -> list[Any]:
    return [label for _, labels in token.get_new_relations(governor) for label in labels]


def _referents_of_modifiers(pybart: Any, rule: Any) -> Any:
    """As :func:`_referents`, for pronouns that modify a word: "whose roof leaks", "most of whom left"."""
    c = pybart.constraints
    pronoun = c.Token("relativizer", spec=[c.Field(c.FieldNames.WORD, ["whose", "whom", "which"])])
    edges = [
        c.Edge("mod", "gov", [c.HasLabelFromList(["acl:relcl"])]),
        c.Edge("modified", "mod", [c.HasLabelFromList(["/.*/"])]),
        c.Edge("relativizer", "modified", [c.HasLabelFromList(["nmod", "nmod:poss"])]),
    ]
    tokens = [pronoun, c.Token("modified"), c.Token("mod"), c.Token("gov")]
    before = [c.UptoDistance("relativizer", "mod", inf)]  # not "who asked whose it was", which is a question
    return _with_constraint(_referents(pybart, rule), c.Full(tokens, edges, before))


def _prepositional_phrases(pybart: Any, rule: Any) -> Any:
    """With ``obl``, and only if the conjunct has a preposition, too (not "for your time and attention")."""
    own = [pybart.constraints.HasLabelFromList(["case", "mark"])]
    return _below_obl(pybart, _with_outgoing(rule, "conj", own))


def _conjoined_prepositions(pybart: Any, rule: Any) -> Any:
    """With ``obl``, and without a conjunction at the first preposition, where UD 2 has none."""
    return _below_obl(pybart, _with_outgoing(rule, "gov", []))


def _demotion(old: str, new: str) -> Any:
    """Gives the word that replaces a conjunct its conjunction: "some of us and many of them"."""

    def change(pybart: Any, rule: Any) -> Any:
        def demote(sentence: Sequence[Any], matches: Iterable[Any], converter: Any) -> None:
            assigned = converter.cc_assignments
            for match in matches:
                before, after = sentence[match.token(old)], sentence[match.token(new)]
                rule.transformation(sentence, [match], converter)
                if before in assigned:
                    assigned[after] = assigned[before]

        return dataclasses.replace(rule, transformation=demote)

    return change


def _below_obl(pybart: Any, rule: Any) -> Any:
    return _with_labels(pybart, rule, "nmod", "obl")


_CHANGES = {
    _SHARING: _helper_arcs,
    "eud_heads_of_conjuncts": _heads_of_conjuncts,
    "eud_prep_patterns": _prepositions,
    "eud_subj_of_conjoined_verbs": _shared_subjects,
    "eud_xcomp_propagation": _any_xcomp,
    _REFERENTS: _referents,
    "eudpp_process_complex_2wp": _demotion("w1", "proxy"),
    "eudpp_process_3wp": _demotion("w2", "proxy"),
    "eudpp_demote_quantificational_modifiers_3w": _demotion("w2", "gov2"),
    "eudpp_demote_quantificational_modifiers_2w": _demotion("w1", "gov2"),
    "eudpp_demote_quantificational_modifiers_det": _demotion("w1", "gov2"),
    "eudpp_expand_pp_conjunctions": _prepositional_phrases,
    "eudpp_expand_prep_conjunctions": _conjoined_prepositions,
}


def _with_constraint(rule: Any, constraint: Any) -> Any:
    return dataclasses.replace(rule, constraint=constraint)


def _with_outgoing(rule: Any, name: str, labels: list[Any]) -> Any:
    """The rule with other relations required below one of its words."""
    tokens = [
        dataclasses.replace(token, outgoing_edges=labels) if token.id == name else token
        for token in rule.constraint.tokens
    ]
    return _with_constraint(rule, dataclasses.replace(rule.constraint, tokens=tokens))


def _with_labels(pybart: Any, rule: Any, known: str, further: str) -> Any:
    """The rule with a further relation wherever it allows a known one."""
    one_of = pybart.constraints.HasLabelFromList

    def widened(label: Any) -> Any:
        allowed = isinstance(label, one_of) and known in label.value
        return one_of([*label.value, further]) if allowed else label

    edges = [
        dataclasses.replace(edge, label=[widened(label) for label in edge.label])
        for edge in rule.constraint.edges
    ]
    return _with_constraint(rule, dataclasses.replace(rule.constraint, edges=edges))


class PybartConverter:
    """Makes the enhanced graph of one sentence from its basic tree, with the package ``pybart-nlp``.

    The rules are those of "pyBART: Evidence-based Syntactic Transformations for IE" for the enhanced and
    enhanced++ representations, without its additions. Some were written for Universal Dependencies 1 and are
    changed:

    - a conjunction depends on its conjunct, as in UD 2, and stays there;
    - open complements that are not verbs get a subject, too, and all such subjects are ``nsubj:xsubj``;
    - labels of clauses have ``when``, ``where`` and ``how``, and relative adverbs become ``obl``;
    - conjuncts share no arcs to prepositions and auxiliaries, and no ``parataxis`` and ``conj``;
    - a subject shared with a conjunct in the active voice is ``nsubj`` there (``nsubj:`` in pybart);
    - the antecedent of a relative clause gets the whole label of its pronoun, whose preposition remains below
      the pronoun ("the house in which she lives": ``obl:in``); likewise for ``whose``, and for ``which`` and
      ``whom`` below a noun of the clause ("most of whom"), which pybart ignores;
    - a word that replaces a conjunct in enhanced++ keeps its conjunction ("some of them and many of us");
    - conjoined prepositional phrases may be ``obl``, and each has a preposition;
    - any word may follow the relation in a label (pybart has a list, and ``_other``).

    English only. spaCy, which ``import pybart`` needs, is not needed. A sentence of fifteen words takes about
    ten milliseconds; long chains of clauses take longer (seconds for a hundred).

    Args:
        level: ``"enhanced"`` or ``"enhanced++"``.
    """

    def __init__(self, level: str) -> None:
        self.level = level
        self._pybart = load_pybart()
        self._rules = rules_of(self._pybart, level)

    def __call__(self, sentence: Sentence) -> Sentence:
        """The sentence with its enhanced graph."""
        if sentence.empty:
            raise ValueError(f"the sentence has {len(sentence.empty)} empty nodes already")
        tokens = self._tokens(sentence)
        limit = len(sentence) + 20  # each round completes at least one word of a chain
        settings = (True, True, True, limit, False, False, False, False, False, None, 2, self._rules)
        (converted,), rounds = self._pybart.Convert([tokens], *settings)()
        if rounds >= limit:
            raise ValueError(f"the rules did not converge within {limit} rounds")
        return _with_graph(sentence, converted)

    def _tokens(self, sentence: Sentence) -> list[Any]:
        """The words and the artificial root, which pybart expects last."""
        make, number = self._pybart.graph_token.Token, self._pybart.graph_token.TokenId
        blank = ["_"] * len(sentence)
        columns = (sentence.form, *(c or blank for c in (sentence.lemma, sentence.upos, sentence.xpos)))
        tokens = [
            make(number(word), form, lemma, upos, upos if xpos == "_" else xpos, "_", "_", "_", "_", "_")
            for word, (form, lemma, upos, xpos) in enumerate(zip(*columns), start=1)
        ]
        tokens.append(make(number(0), *[None] * 9))
        for token, head, deprel in zip(tokens, sentence.head, sentence.deprel):
            token.add_edge(self._pybart.graph_token.Label(deprel), tokens[head - 1])
        return tokens


def _with_graph(sentence: Sentence, tokens: Iterable[Any]) -> Sentence:
    """The sentence with the graph of pybart's tokens; its copies are empty nodes."""
    deps: list[list[tuple[str, str]]] = []
    empty: list[Row] = []
    for token in sorted(tokens):
        number, arcs = token.get_conllu_field("id"), _arcs(token)
        if number.minor:
            empty.append(enhancing.copy_row(sentence, str(number), number.major, arcs))
        else:
            deps.append(arcs)
    return dataclasses.replace(sentence, deps=deps, empty=empty)


def _arcs(token: Any) -> list[tuple[str, str]]:
    found = set()
    for head, labels in token.get_new_relations():
        number = head.get_conllu_field("id")
        names = {_label(label) for label in labels if label.base not in HELPERS.values()}
        found |= {(number.major, number.minor, name) for name in names}
    return [(f"{word}.{copy}" if copy else str(word), name) for word, copy, name in sorted(found)]


def _label(label: Any) -> str:
    if label.src == "xcomp":
        return f"{label.base}:xsubj"
    return enhancing.Arc(0, label.base, (label.eud or "").lower()).label


logger = logging.getLogger("graphdep.parsing")

LEVELS = enhancing.LEVELS
ARCS = ("basic", *LEVELS, "own")
"""Sources of arcs: trees, enhanced graphs made by :func:`enhance`, or the graphs that sentences have."""
ENGINES = ("rules", "pybart")


def enhance(
    sentences: Sequence[Sentence], level: str = "enhanced++", engine: str = "rules"
) -> list[Sentence]:
    """Makes the enhanced graph of each sentence, :attr:`Sentence.deps`, from its basic tree.

    ``"enhanced"`` is the representation of column DEPS in Universal Dependencies 2: prepositions and
    conjunctions in labels (``obl:in``, ``conj:or``), governors and subjects shared by conjuncts, subjects of
    open clausal complements (``nsubj:xsubj``), and antecedents of relative clauses (``ref``, and an arc from
    inside the clause, which closes a cycle). ``"enhanced++"`` adds the phenomena of "Enhanced English
    Universal Dependencies: An Improved Representation for Natural Language Understanding Tasks":
    quantificational modifiers (``det:qmod``), prepositions of several words, and copies of the governor for
    conjoined prepositions and prepositional phrases. A copy is an empty node, e.g. ``"3.1"`` for the first
    copy of word 3, with ``CopyOf=3``.

    There are two engines. ``"rules"`` (:class:`~graphdep.parsing.enhancing.RuleEnhancer`) needs no other
    package and covers more: relative clauses without a pronoun, and elided predicates. ``"pybart"``
    (:class:`~graphdep.parsing.enhanced.PybartConverter`) uses the rules of that package, changed for
    Universal Dependencies 2, and needs the extra ``[enhanced]`` and Python below 3.12.

    Both are for **English** trees in Universal Dependencies 2 with Penn Treebank tags in
    :attr:`Sentence.xpos` (else :attr:`Sentence.upos`), such as those of the bundled parser. A sentence on
    which the rules fail gets its basic arcs, with the reason in a ``# basic_deps =`` comment; a warning has
    the number of such sentences. Chain trees of failed parses get their basic arcs without a warning.

    Args:
        sentences: Parsed sentences. Those that have an enhanced graph are left unchanged.
        level: The representation, ``"enhanced"`` or ``"enhanced++"``, or ``"own"``, which requires that each
            sentence has a graph. For CoreNLP's graphs use ``resolve_parser("corenlp", arcs="enhanced++")``.
            (default: ``"enhanced++"``)
        engine: ``"rules"`` or ``"pybart"``. (default: ``"rules"``, which has the higher F1 on the gold graphs
            of the treebank)

    Raises:
        ValueError: If :obj:`level` or :obj:`engine` is unknown, or a sentence has no graph with ``"own"``.
        ImportError: If the engine is pybart, and it is not installed.

    Example:
        >>> from graphdep import Sentence
        >>> from graphdep.parsing import enhance
        >>> tree = Sentence(["go", "by", "bus"], [0, 3, 1], ["root", "case", "obl"])
        >>> enhance([tree], "enhanced++")[0].deps
        [[('0', 'root')], [('3', 'case')], [('1', 'obl:by')]]
    """
    check_choice("level", level, ARCS[1:])
    check_engine(engine)
    done, reasons = list(sentences), []
    if level == "own":
        for sentence in done:
            if sentence.deps is None:
                raise ValueError(f"arcs='own': no arcs ('edges', DEPS) in {sentence.text[:60]!r}")
        return done
    plain = []
    for number, sentence in enumerate(done):
        if sentence.deps is None and is_chain_tree(sentence):
            done[number] = _with_basic_arcs(sentence)
        elif sentence.deps is None:
            plain.append(number)
    convert = _converter(level, engine) if plain else None
    for number in plain:
        sentence = done[number]
        assert convert is not None
        try:
            done[number] = convert(sentence)
        except Exception as error:  # an error in the rules must not lose the other sentences
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            reasons.append(f"sentence {number + 1}, {sentence.text[:80]!r}: {reason}")
            done[number] = _with_basic_arcs(sentence, f"# basic_deps = {reason}")
    if reasons:
        count = f"{len(reasons)} of {len(done)} sentences"
        logger.warning("%s kept their basic arcs (the first: %s)", count, reasons[0])
    return done


def enhance_fingerprint(engine: str = "rules") -> str | None:
    """The version of the rules of an engine; :obj:`None` if pybart is not installed, so that only a parser
    can make the graphs.
    """
    if engine == "rules":
        return f"ud-rules-{enhancing.RULES_VERSION}"
    try:
        return f"pybart-{version('pybart-nlp')}/rules-{RULES_VERSION}"
    except PackageNotFoundError:
        return None


def check_arcs(arcs: str) -> None:
    """Raises :class:`ValueError` unless the source is one of :data:`ARCS`."""
    check_choice("arcs", arcs, ARCS)


def check_engine(engine: str) -> None:
    """Raises :class:`ValueError` unless the engine is one of :data:`ENGINES`."""
    check_choice("engine", engine, ENGINES)


def _converter(level: str, engine: str) -> Callable[[Sentence], Sentence]:
    return enhancing.RuleEnhancer(level) if engine == "rules" else PybartConverter(level)


def _with_basic_arcs(sentence: Sentence, *comments: str) -> Sentence:
    deps = [[(str(head), label)] for head, label in zip(sentence.head, sentence.deprel)]
    return dataclasses.replace(sentence, deps=deps, comments=[*sentence.comments, *comments])
