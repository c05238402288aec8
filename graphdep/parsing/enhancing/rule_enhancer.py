"""Enhanced graphs by rules of this package."""

from __future__ import annotations

import dataclasses

from graphdep.parsing.enhancing.arc_graph import ArcGraph
from graphdep.parsing.enhancing.case_words import label_words
from graphdep.parsing.enhancing.conjuncts import shared_governors
from graphdep.parsing.enhancing.copies import copied_governors
from graphdep.parsing.enhancing.ellipsis import left_out_predicates
from graphdep.parsing.enhancing.prepositions import long_prepositions
from graphdep.parsing.enhancing.quantifiers import quantifiers
from graphdep.parsing.enhancing.relative_clauses import reduced_clauses, relative_clauses
from graphdep.parsing.enhancing.subjects import subjects
from graphdep.parsing.enhancing.working_tree import WorkingTree
from graphdep.sentence import Row, Sentence

UD_LEVELS = ("ud", "ud++")
# Counted up with every change of the rules that changes graphs: files made of graphs ask for it.
RULES_VERSION = 2


class RuleEnhancer:
    """Makes the enhanced graph of one sentence from its basic tree, without another package.

    ``"ud"`` follows the guidelines of Universal Dependencies 2 for enhanced dependencies:

    - case information: prepositions, markers and conjunctions are on labels (``obl:in``, ``advcl:if``,
      ``conj:or``), of several prepositions the last one;
    - coordination: conjuncts share their governor, and their subject where they have none; objects and
      modifiers are not shared ("buys and sells cameras": ``obj(buys)`` alone), as the tree does not say which
      are, and English EWT's gold graphs share hardly any (78 objects in 3,591 conjoined verbs);
    - control and raising: an open complement has the object of its governor, else its subject, as
      ``nsubj:xsubj``;
    - relative clauses: the antecedent takes the place of its pronoun, which gets ``ref``; where there is no
      pronoun ("the house they saw"), its relation is inferred from what the clause lacks;
    - ellipsis: a conjunct that leaves out its predicate gets a copy of it ("Kim likes tea and Lee coffee");
      one copy, also where two predicates are left out ("wants to buy a book and Jenny a CD"), and what
      remains is taken for an object where the predicate has one.

    ``"ud++"`` adds what "Enhanced English Universal Dependencies: An Improved Representation for Natural
    Language Understanding Tasks" by Schuster and Manning adds to that: prepositions of several words
    (``obl:in_front_of``), quantificational modifiers and light nouns (``det:qmod``), and a copy of the
    governor for each further preposition or prepositional phrase ("over the bridge and through a park").

    A copy is an empty node with ``CopyOf=3`` in column MISC. Those of ``"ud++"`` stand behind their word,
    such as ``"3.1"``; a predicate that was left out stands where it is missing.

    English trees in Universal Dependencies 2 only, with tags in :attr:`Sentence.xpos`, or in
    :attr:`Sentence.upos` where that is missing. About 100,000 words a second on one core.

    Args:
        level: ``"ud"`` or ``"ud++"``.

    Raises:
        ValueError: If the level is another one.

    Example:
        >>> from graphdep import Sentence
        >>> from graphdep.parsing.enhancing import RuleEnhancer
        >>> tree = Sentence(["She", "sings", "and", "hums"], [2, 0, 4, 2], ["nsubj", "root", "cc", "conj"],
        ...                 upos=["PRON", "VERB", "CCONJ", "VERB"])
        >>> RuleEnhancer("ud")(tree).deps
        [[('2', 'nsubj'), ('4', 'nsubj')], [('0', 'root')], [('4', 'cc')], [('2', 'conj:and')]]
    """

    def __init__(self, level: str) -> None:
        if level not in UD_LEVELS:
            raise ValueError(f"'level' must be one of {UD_LEVELS} (got {level!r})")
        self.level = level

    def __call__(self, sentence: Sentence) -> Sentence:
        """The sentence with its enhanced graph.

        Raises:
            ValueError: If the sentence has empty nodes already.
        """
        if sentence.empty:
            raise ValueError(f"the sentence has {len(sentence.empty)} empty nodes already")
        tree = WorkingTree(sentence)
        if self.level == "ud++":
            long_prepositions(tree)
            quantifiers(tree)
        left_out_predicates(tree)
        if self.level == "ud++":
            copied_governors(tree)
        graph = ArcGraph(tree, label_words(tree))
        without_pronoun = relative_clauses(graph)
        shared_governors(graph)
        reduced_clauses(graph, without_pronoun)
        subjects(graph)
        return _with_graph(sentence, graph)


def _with_graph(sentence: Sentence, graph: ArcGraph) -> Sentence:
    """The sentence with the arcs of a graph; copies are empty nodes."""
    names, size = _names(graph.tree, len(sentence)), len(sentence)
    # Copies stand behind the word that they belong to.
    place = [(word, 0) for word in range(size + 1)]
    place += [
        (int(word), int(number)) for word, _, number in (name.partition(".") for name in names[size + 1 :])
    ]
    deps = []
    for arcs in graph.arcs:
        found = sorted({(place[arc.head], arc.head, arc.label) for arc in arcs})
        deps.append([(names[head], label) for _, head, label in found])
    nodes = sorted(range(size + 1, len(names)), key=place.__getitem__)
    empty = [_row(sentence, names[node], graph.tree.word[node], deps[node]) for node in nodes]
    return dataclasses.replace(sentence, deps=deps[1 : size + 1], empty=empty)


def _names(tree: WorkingTree, size: int) -> list[str]:
    """Ids of nodes: ``"3.1"`` for the first copy behind word 3."""
    names, copies = [str(word) for word in range(size + 1)], [0] * (size + 1)
    for place in tree.place[size + 1 :]:
        copies[place] += 1
        names.append(f"{place}.{copies[place]}")
    return names


def _row(sentence: Sentence, name: str, word: int, arcs: list[tuple[str, str]]) -> Row:
    columns = (sentence.lemma, sentence.upos, sentence.xpos, sentence.feats)
    values = (column[word - 1] if column else "_" for column in columns)
    column = "|".join(f"{head}:{label}" for head, label in arcs) or "_"
    return (name, sentence.form[word - 1], *values, "_", "_", column, f"CopyOf={word}")
