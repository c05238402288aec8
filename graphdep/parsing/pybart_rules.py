"""The rules of pybart for enhanced graphs, changed for Universal Dependencies 2."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from math import inf
from types import ModuleType
from typing import Any

# Counted up with every change of the rules here that changes graphs: files made of graphs ask for it.
RULES_VERSION = 2

_ALIAS = "_graphdep_pybart"
_SUBJECTS = ("nsubj", "nsubj:pass", "csubj", "csubj:pass")
_SHARING = "eud_case_sons_of_conjuncts"
_REFERENTS = "eudpp_add_ref_and_collapse"
_ENHANCED = (
    "eud_correct_subj_pass",
    _SHARING,
    "eud_heads_of_conjuncts",
    "eud_prep_patterns",
    "eud_conj_info",
    _REFERENTS,  # part of UD's enhanced representation, whatever its name
    "eud_subj_of_conjoined_verbs",
    "eud_xcomp_propagation",
)
# Relations of arcs that are there for the rules alone, by those that they share with a conjunct.
HELPERS = {"case": "[shared]", "mark": "[shared]", "aux:pass": "[shared pass]"}


class _AnyWord:
    """A list of words that has all of them."""

    def __contains__(self, word: object) -> bool:
        return True


def find_pybart() -> list[str]:
    """The folders of the package.

    Raises:
        ImportError: If it is not installed.
    """
    spec = importlib.util.find_spec("pybart")
    if spec is None or not spec.submodule_search_locations:
        raise ImportError(
            "arcs 'enhanced' and 'enhanced++' need pybart, which is not installed: take 'ud' or 'ud++', "
            "graphdep's own rules for the same, or install graphdep[enhanced] "
            "(pip install 'graphdep[enhanced]'; the package is for Python below 3.12)"
        )
    return list(spec.submodule_search_locations)


@cache
def load_pybart() -> Any:
    """The module ``converter`` of pybart, from a copy of the package that is ours to change.

    The copy has another name, and the package's ``__init__`` is not run: it would import spaCy.
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
    """Finds the conjunction of each conjunct: its own, else that of the next one ("a, b and c")."""
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
    """The rules of a level in their order, with our changes."""
    rules: dict[str, Any] = {}
    for name, rule in pybart.init_conversions(False, 2).items():
        if name in _ENHANCED or (level == "enhanced++" and name.startswith("eudpp_")):
            rules[name] = _CHANGES[name](pybart, rule) if name in _CHANGES else rule
            if name == "eud_heads_of_conjuncts":  # after the copies of governors, which share, too
                rules[_SHARING] = rules.pop(_SHARING)
            if name == "eud_prep_patterns":
                rules["adverbs_of_clauses"] = _adverbs_of_clauses(pybart, rule)
            if name == _REFERENTS:
                rules["referents_of_modifiers"] = _referents_of_modifiers(pybart, rule)
    return rules


def _helper_arcs(pybart: Any, rule: Any) -> Any:
    """Prepositions and auxiliaries at a conjunct without its own, which only the rules see."""

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
    no_subject = [c.HasNoLabel(label) for label in _SUBJECTS]
    tokens = [c.Token("gov"), c.Token("new_subj"), c.Token("xcomp", outgoing_edges=no_subject)]
    arguments = [*_SUBJECTS, "obj", "iobj"]
    edges = [
        c.Edge("xcomp", "gov", [c.HasLabelFromList(["xcomp"])]),
        c.Edge("new_subj", "gov", [c.HasLabelFromList(arguments)]),
    ]
    return _with_constraint(rule, c.Full(tokens, edges))


def _shared_subjects(pybart: Any, rule: Any) -> Any:
    """With the relation that fits the conjunct: ``nsubj:pass`` where it has an auxiliary of the passive."""

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
    """The antecedent takes the arcs of its relative pronoun, with their whole labels.

    What depends on the pronoun stays there. A preposition of the antecedent is none of the clause: with the
    words of a label empty, the rule for prepositions looks for none.
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
    """The same for pronouns that modify a word of the clause: "whose roof leaks", "most of whom left"."""
    c = pybart.constraints
    pronoun = c.Token("relativizer", spec=[c.Field(c.FieldNames.WORD, ["whose", "whom", "which"])])
    edges = [
        c.Edge("mod", "gov", [c.HasLabelFromList(["acl:relcl"])]),
        c.Edge("modified", "mod", [c.HasLabelFromList(["/.*/"])]),
        c.Edge("relativizer", "modified", [c.HasLabelFromList(["nmod", "nmod:poss"])]),
    ]
    tokens = [pronoun, c.Token("modified"), c.Token("mod"), c.Token("gov")]
    before = [c.UptoDistance("relativizer", "mod", inf)]  # else "who asked whose it was", which is a question
    return _with_constraint(_referents(pybart, rule), c.Full(tokens, edges, before))


def _prepositional_phrases(pybart: Any, rule: Any) -> Any:
    """With ``obl``, and a preposition at the conjunct, too: else "for your time and attention" was one."""
    own = [pybart.constraints.HasLabelFromList(["case", "mark"])]
    return _below_obl(pybart, _with_outgoing(rule, "conj", own))


def _conjoined_prepositions(pybart: Any, rule: Any) -> Any:
    """With ``obl``, and no conjunction asked for at the first preposition, where UD 2 has none."""
    return _below_obl(pybart, _with_outgoing(rule, "gov", []))


def _demotion(old: str, new: str) -> Any:
    """With the conjunction of a conjunct for the word that takes its place: "some of us and many of them"."""

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
    """The rule with other relations asked for below one of its words."""
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
