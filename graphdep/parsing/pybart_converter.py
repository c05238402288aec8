"""Enhanced graphs by the rules of pybart."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable
from typing import Any

from graphdep.parsing.pybart_rules import HELPERS, load_pybart, rules_of
from graphdep.sentence import Row, Sentence

PYBART_LEVELS = ("enhanced", "enhanced++")
# What follows a relation in an enhanced label: words, as UD's validation has it ("/" and "&" are none).
_WORDS = re.compile(r"[^\W\d_]+(_[^\W\d_]+)*")


class PybartConverter:
    """Makes the enhanced graph of one sentence from its basic tree, with the package ``pybart-nlp``.

    The rules are those of "pyBART: Evidence-based Syntactic Transformations for IE" that rebuild the enhanced
    and enhanced++ representations; its own additions are left out. They were written for Universal
    Dependencies 1 in part, so here

    - a conjunction is looked for at its conjunct, where UD 2 has it, and stays there;
    - the subject of an open complement that is no verb is found, too, and all of them are ``nsubj:xsubj``;
    - clauses take ``when``, ``where`` and ``how`` onto their label, and relative adverbs give ``obl``;
    - conjuncts do not share prepositions and auxiliaries as arcs of their own, nor the relations
      ``parataxis`` and ``conj``;
    - a subject shared with a conjunct in the active voice is ``nsubj`` there (pybart makes it ``nsubj:``);
    - the antecedent of a relative clause takes the whole label of its pronoun, whose preposition stays below
      the pronoun ("the house in which she lives": ``obl:in``); so for ``whose``, and for ``which`` and
      ``whom`` below a noun of the clause ("most of whom"), which pybart leaves out;
    - what takes the place of a conjunct in enhanced++ keeps its conjunction ("some of them and many of us");
    - conjoined prepositional phrases are looked for below ``obl``, too, and have a preposition each;
    - any word may follow a relation in a label (pybart has a list, and ``_other``).

    English only. spaCy, which ``import pybart`` asks for, is not needed. Takes about ten milliseconds for a
    sentence of fifteen words; long chains of clauses take longer (seconds for a hundred).

    Args:
        level: ``"enhanced"`` or ``"enhanced++"``.

    Raises:
        ImportError: If pybart is not installed.
    """

    def __init__(self, level: str) -> None:
        self.level = level
        self._pybart = load_pybart()
        self._rules = rules_of(self._pybart, level)

    def __call__(self, sentence: Sentence) -> Sentence:
        """The sentence with its enhanced graph.

        Raises:
            ValueError: If the sentence has empty nodes already, the rules do not come to an end, or the graph
                is none. The rules may raise anything else.
        """
        if sentence.empty:
            raise ValueError(f"the sentence has {len(sentence.empty)} empty nodes already")
        tokens = self._tokens(sentence)
        limit = len(sentence) + 20  # each round finishes at least the next word of a chain
        settings = (True, True, True, limit, False, False, False, False, False, None, 2, self._rules)
        (converted,), rounds = self._pybart.Convert([tokens], *settings)()
        if rounds >= limit:
            raise ValueError(f"the rules have not come to an end after {limit} rounds")
        return _with_graph(sentence, converted)

    def _tokens(self, sentence: Sentence) -> list[Any]:
        """The words and the artificial root, which pybart wants last."""
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
            column = "|".join(f"{head}:{label}" for head, label in arcs) or "_"
            word, values = number.major - 1, (sentence.lemma, sentence.upos, sentence.xpos, sentence.feats)
            copied = (sentence.form[word], *(value[word] if value else "_" for value in values))
            empty.append((str(number), *copied, "_", "_", column, f"CopyOf={number.major}"))
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
    base, words = label.base, (label.eud or "").lower()
    if label.src == "xcomp":
        return f"{base}:xsubj"
    return f"{base}:{words}" if _WORDS.fullmatch(words) else base
