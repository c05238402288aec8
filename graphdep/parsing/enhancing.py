"""Rules for enhanced and enhanced++ graphs of English."""

from __future__ import annotations

import dataclasses
import re
from typing import NamedTuple

from graphdep.io.limits import check_choice
from graphdep.sentence.sentence import Sentence
from graphdep.sentence.tree import Row


def _pairs(text: str) -> frozenset[tuple[str, ...]]:
    return frozenset(tuple(phrase.split("_")) for phrase in text.split())


TWO_WORDS = _pairs("""
    across_from along_with alongside_of apart_from as_for as_from as_of as_per as_to aside_from based_on
    close_by close_to compared_to compared_with contrary_to depending_on except_for exclusive_of far_from
    followed_by inside_of irrespective_of near_to next_to off_of out_of outside_of owing_to preliminary_to
    preparatory_to previous_to prior_to pursuant_to regardless_of subsequent_to thanks_to together_with
""")
"""Prepositions of two words, both of which depend on the noun: "out of our barn"."""

TWO_WORDS_WITH_HEAD = _pairs("""
    apart_from as_from aside_from away_from close_by close_to contrary_to far_from near_to next_to out_of
    outside_of pursuant_to regardless_of together_with
""")
"""Those whose first word may govern the noun: "close to home"."""

THREE_WORDS = _pairs("""
    by_means_of in_accordance_with in_addition_to in_case_of in_front_of in_lieu_of in_place_of in_spite_of
    on_account_of on_behalf_of on_top_of with_regard_to with_respect_to
""")
"""Prepositions of three words, whose second one governs the noun: "in front of us"."""

LIGHT_NOUNS = frozenset(
    """
    array assortment bit bunch clutch couple dozen form handful heap kind litany lot mountain multitude number
    pair plethora range series sheaf slew sort spate string ton total triple type variety version wad wave
""".split()
)
"""Nouns after "a" or "an" that quantify the noun after "of": "a bunch of friends"."""

QUANTITIES = frozenset(
    """
    billions dozens hundreds loads lots many millions mountains multitudes pairs plenty several tens thousands
    tons trillions
""".split()
)
"""Words that quantify without an article: "lots of snow"."""

PARTITIVES = frozenset(
    """
    all billion both eight everyone five four hundred million neither nine nobody one seven six some ten
    thousand three trillion two
""".split()
)
"""Words that also quantify a noun with a determiner: "both of the twins"."""


_VERBS = ("VB", "MD", "VERB", "AUX")
_ADJECTIVES = ("JJ", "ADJ")
_PARTICLES = ("IN", "TO", "ADP", "SCONJ", "CC", "CCONJ")
_NOUNS = ("NN", "NOUN", "PROPN", "PRP", "PRON", "WP")


class WorkingTree:
    """The tree of a sentence: node 0 is the artificial root, then come the words, then copies of words.

    Rules keep it a tree: each node but 0 has one governor and is below the root.

    Args:
        sentence: The sentence. It is not changed.

    Attributes:
        head: The governor of each node; 0 for node 0.
        relation: The relation of each node to its governor.
        word: The word of a node, or the word that it copies.
        form: The lower-case form of the word.
        name: The word in labels: the form, or the lemma of a preposition or particle ("b/c": because).
        tag: The tag of the word, :attr:`Sentence.xpos`, else :attr:`Sentence.upos`.
        place: The word after which a copy is placed.
        conjunction: The conjunctions of copies that are conjuncts.
        extra: Arcs beyond the tree, as node, governor, relation and the words of the label.
    """

    def __init__(self, sentence: Sentence) -> None:
        size = len(sentence)
        blank = ["_"] * size
        upos, xpos, lemma = (column or blank for column in (sentence.upos, sentence.xpos, sentence.lemma))
        self.head = [0, *sentence.head]
        self.relation = ["", *sentence.deprel]
        self.word = list(range(size + 1))
        self.form = ["", *(form.lower() for form in sentence.form)]
        self.tag = ["", *(coarse if fine == "_" else fine for fine, coarse in zip(xpos, upos))]
        self.name = [
            own.lower() if tag in _PARTICLES and own != "_" else form
            for form, tag, own in zip(self.form, self.tag, ["_", *lemma])
        ]
        self.place = self.word.copy()
        self.conjunction: dict[int, str] = {}
        self.extra: list[tuple[int, int, str, str]] = []
        self._children: list[list[int]] = [[] for _ in self.head]
        for node in range(1, size + 1):
            self._children[self.head[node]].append(node)

    def children(self, node: int, *relations: str) -> list[int]:
        """The dependents of a node in order, only those with one of the relations if any are given."""
        found = self._children[node]
        return [child for child in found if self.relation[child] in relations] if relations else list(found)

    def move(self, node: int, head: int, relation: str) -> None:
        """Attaches a node and its subtree to another node, which must be outside the subtree."""
        self._children[self.head[node]].remove(node)
        self.head[node], self.relation[node] = head, relation
        self._children[head] = sorted([*self._children[head], node])

    def replace(self, old: int, new: int, relation: str) -> None:
        """Swaps a governor with a dependent, which gets the governor and its other dependents below it."""
        self.move(new, self.head[old], relation)
        for child in self.children(old):
            self.move(child, new, self.relation[child])
        self.move(old, new, "dep")

    def fix(self, words: list[int], head: int, relation: str) -> None:
        """Makes words one fixed expression, whose first word depends on ``head``."""
        first, *others = words
        self.move(first, head, relation)
        for word in others:
            self.move(word, first, "fixed")

    def copy(self, node: int, head: int, relation: str, place: int | None = None) -> int:
        """Adds a copy of a node without its dependents, placed after the node's word by default."""
        for column in (self.form, self.name, self.tag):
            column.append(column[node])
        self.word.append(self.word[node])
        self.place.append(self.word[node] if place is None else place)
        self.head.append(head)
        self.relation.append(relation)
        self._children.append([])
        copied = len(self.head) - 1
        self._children[head].append(copied)
        return copied

    def is_verb(self, node: int) -> bool:
        return self.tag[node].startswith(_VERBS)

    def is_adjective(self, node: int) -> bool:
        return self.tag[node].startswith(_ADJECTIVES)

    def is_noun(self, node: int) -> bool:
        """Whether it is a noun or a pronoun."""
        return self.tag[node].startswith(_NOUNS)

    def text(self, node: int) -> str:
        """The name of the word, or of the fixed expression that it begins: ``"because_of"``."""
        return "_".join(self.name[word] for word in (node, *self.children(node, "fixed")))


# Words after the relation in a label, as UD's validation allows them (no "/" or "&").
_WORDS = re.compile(r"[^\W\d_]+(_[^\W\d_]+)*")
SUBJECTS = ("nsubj", "nsubj:pass", "csubj", "csubj:pass")


class Arc(NamedTuple):
    """An arc to a node: its governor, the relation, and the words at the end of the label."""

    head: int
    relation: str
    words: str = ""

    @property
    def label(self) -> str:
        """Relation and words, such as ``"obl:in"``, or the relation alone if there are no valid words."""
        return f"{self.relation}:{self.words}" if _WORDS.fullmatch(self.words) else self.relation


class ArcGraph:
    """The arcs of each node of a tree, and those that rules add.

    Args:
        tree: The tree.
        words: The words of each node's label in the tree.

    Attributes:
        arcs: The arcs of each node, that of the tree first.
    """

    def __init__(self, tree: WorkingTree, words: list[str]) -> None:
        self.tree = tree
        self.arcs: list[list[Arc]] = [[Arc(*arc)] for arc in zip(tree.head, tree.relation, words)]
        self.arcs[0] = []
        for node, head, relation, own in tree.extra:
            self.add(node, Arc(head, relation, own))

    def add(self, node: int, arc: Arc) -> None:
        """Adds an arc unless it exists or is a self-loop."""
        if arc.head != node and arc not in self.arcs[node]:
            self.arcs[node].append(arc)

    @property
    def downwards(self) -> list[int]:
        """The nodes, each after its governor in the tree."""
        order = [0]
        for node in order:
            order += self.tree.children(node)
        return order[1:]


MARKED = ("nmod", "obl", "acl", "advcl")
_CLAUSE_ADVERBS = ("when", "where", "whenever", "wherever")


def label_words(tree: WorkingTree) -> list[str]:
    """The words of each node's label, such as ``"in"`` in ``obl:in``.

    A modifier has its last preposition or marker; a conjunct the conjunction before it, else that of the next
    conjunct ("beans, peas or figs"), else that of the previous conjunct.
    """
    words = [tree.conjunction.get(node, "") for node in range(len(tree.head))]
    for node, relation in enumerate(tree.relation):
        if relation in MARKED:
            words[node] = marker(tree, node)
        elif relation == "cc" and tree.relation[tree.head[node]] == "conj":
            _conjunctions(tree, tree.head[tree.head[node]], words)
    return words


def marker(tree: WorkingTree, node: int) -> str:
    """The last preposition or marker of a node, else the adverb of an adverbial clause, else ``""``."""
    found = [child for child in tree.children(node, "case", "mark") if tree.tag[child] != "POS"]
    if found:
        return tree.text(found[-1])
    adverbs = tree.children(node, "advmod") if tree.relation[node] == "advcl" else []
    return next((tree.form[child] for child in adverbs if tree.form[child] in _CLAUSE_ADVERBS), "")


def _conjunctions(tree: WorkingTree, first: int, words: list[str]) -> None:
    """The conjunctions of the conjuncts of one word."""
    conjuncts = tree.children(first, "conj")
    last = ""
    for node in reversed(conjuncts):
        last = words[node] = conjunction(tree, node) or last
    for node in conjuncts:
        last = words[node] = words[node] or last


def conjunction(tree: WorkingTree, node: int) -> str:
    """The conjunctions before a conjunct, such as ``"and"``, or ``"and_or"`` for "and/or"."""
    if node in tree.conjunction:
        return tree.conjunction[node]
    found = [child for child in tree.children(node, "cc") if child < node]
    return "_".join(tree.text(word) for child in found for word in (child, *tree.children(child, "conj")))


_NEVER = ("conj", "parataxis", "root", "case", "mark", "fixed", "ref")


def shared_governors(graph: ArcGraph) -> None:
    """Gives each conjunct the arcs of the first conjunct: "Kim and Lee sing" has two ``nsubj``.

    The label of a modifier has its own preposition if there is one. A governor between the conjuncts is not
    shared.
    """
    tree = graph.tree
    for node in graph.downwards:
        first = tree.head[node] if tree.relation[node] == "conj" else 0
        for head, relation, words in list(graph.arcs[first]):
            between = tree.word[first] < tree.word[head] < tree.word[node]
            if relation not in _NEVER and not between:
                own = marker(tree, node) if relation in MARKED else ""
                graph.add(node, Arc(head, relation, own or words))


def copied_governors(tree: WorkingTree) -> None:
    """Copies the governor for each further phrase ("over the bridge and through a park") or preposition
    ("to and from work").

    The copy is a conjunct of the governor. A further phrase depends on the copy; a noun with two prepositions
    depends on both.
    """
    for node in range(1, len(tree.form)):
        if tree.relation[node] in MARKED and tree.head[node]:
            prepositions = tree.children(node, "case", "mark")
            for preposition in prepositions:
                _further_prepositions(tree, node, preposition)
            if prepositions:
                _further_phrases(tree, node)


def _further_phrases(tree: WorkingTree, first: int) -> None:
    for conjunct in tree.children(first, "conj"):
        if tree.children(conjunct, "case", "mark"):
            copied = tree.copy(tree.head[first], tree.head[first], "conj")
            for joining in [child for child in tree.children(conjunct, "cc") if child < conjunct]:
                tree.move(joining, copied, "cc")
            tree.move(conjunct, copied, tree.relation[first])


def _further_prepositions(tree: WorkingTree, noun: int, first: int) -> None:
    for conjunct in tree.children(first, "conj"):
        copied = tree.copy(tree.head[noun], tree.head[noun], "conj")
        tree.conjunction[copied] = conjunction(tree, conjunct)
        tree.extra.append((noun, copied, tree.relation[noun], tree.text(conjunct)))


def restore_predicates(tree: WorkingTree) -> None:
    """Adds a copy of the predicate for each conjunct that elides it, which has dependents ``orphan``.

    The conjunct and its orphans become dependents of the copy, with the relations that such words have to a
    predicate.
    """
    for node in range(1, len(tree.form)):
        orphans = tree.children(node, "orphan")
        if orphans and tree.relation[node] == "conj" and tree.head[node]:
            _restore(tree, node, orphans)


def _restore(tree: WorkingTree, node: int, orphans: list[int]) -> None:
    predicate = tree.head[node]
    open_places = [relation for relation in ("obj", "xcomp") if tree.children(predicate, relation)]
    relations = [_orphan_relation(tree, orphan, open_places) for orphan in orphans]
    remnant = open_places[0] if open_places else _subject(tree, predicate)
    joined = tree.children(node, "cc")
    place = node if "subj" in remnant else min([node, *joined]) - 1
    copied = tree.copy(predicate, predicate, "conj", place)
    for word in joined:
        tree.move(word, copied, "cc")
    tree.move(node, copied, remnant)
    for orphan, relation in zip(orphans, relations):
        tree.move(orphan, copied, relation)


def _orphan_relation(tree: WorkingTree, orphan: int, open_places: list[str]) -> str:
    """The relation of an orphan to the predicate; removes the open place that it fills."""
    if tree.children(orphan, "case"):
        return "obl"
    if tree.tag[orphan].startswith(("RB", "ADV")):
        return "advmod"
    marked = tree.children(orphan, "mark")
    complement = tree.is_adjective(orphan) or tree.is_verb(orphan) or "obj" not in open_places
    if complement and "xcomp" in open_places:
        open_places.remove("xcomp")
        return "xcomp"
    if marked or tree.is_verb(orphan):
        return "advcl"
    if "obj" in open_places:
        open_places.remove("obj")
    return "obj"


def _subject(tree: WorkingTree, predicate: int) -> str:
    return "nsubj:pass" if tree.children(predicate, "nsubj:pass") else "nsubj"


_OTHER_CLAUSES = (
    "conj", "xcomp", "ccomp", "acl", "advcl", "acl:relcl", "parataxis", "appos", "list", "root",
)  # fmt: skip
_SECONDS = frozenset(words[1] for words in TWO_WORDS | TWO_WORDS_WITH_HEAD | THREE_WORDS)


def long_prepositions(tree: WorkingTree) -> None:
    """Makes each long preposition a fixed expression: "out of our barn", "in front of us", "close to home".

    Its first word is ``case`` of the noun, and the others are ``fixed``. If one of its words governed the
    noun, the noun replaces that word.
    """
    for second in range(2, len(tree.form)):
        if tree.form[second] in _SECONDS:
            _two_words(tree, second) or _two_words_with_head(tree, second) or _three_words(tree, second)


def _two_words(tree: WorkingTree, second: int) -> bool:
    words = [second - 1, second]
    first, noun = words[0], tree.head[second]
    found = (
        (tree.form[first], tree.form[second]) in TWO_WORDS
        and tree.head[first] == noun
        and tree.relation[first] in ("case", "advmod")
        and tree.relation[second] == "case"
        and not tree.children(first)
        and not tree.children(second)
    )
    if found:
        tree.fix(words, noun, "case")
    return found


def _two_words_with_head(tree: WorkingTree, second: int) -> bool:
    first, noun = second - 1, tree.head[second]
    found = (
        (tree.form[first], tree.form[second]) in TWO_WORDS_WITH_HEAD
        and tree.head[noun] == first
        and tree.relation[noun] in ("nmod", "obl")
        and tree.relation[second] == "case"
        and not tree.children(second)
    )
    if found:
        relation = tree.relation[first]
        tree.replace(first, noun, relation if relation in _OTHER_CLAUSES else tree.relation[noun])
        tree.fix([first, second], noun, "case")
    return found


def _three_words(tree: WorkingTree, second: int) -> bool:
    words = [second - 1, second, second + 1]
    if tuple(tree.form[word] for word in words if word < len(tree.form)) not in THREE_WORDS:
        return False
    first, _, third = words
    noun = tree.head[third]
    found = (
        tree.head[noun] == second == tree.head[first]
        and tree.relation[noun] in ("nmod", "obl", "acl", "advcl")
        and tree.relation[first] == "case"
        and tree.relation[third] in ("case", "mark")
        and not tree.children(first)
        and not tree.children(third)
    )
    if found:
        function = tree.relation[third]
        tree.replace(second, noun, _phrase_relation(tree, second, noun))
        tree.fix(words, noun, function)
    return found


def _phrase_relation(tree: WorkingTree, second: int, noun: int) -> str:
    """The relation of the noun in its new place, or that of a clause if the noun is a clause."""
    old, own = tree.relation[second], tree.relation[noun]
    if own in ("nmod", "obl") or old not in ("nmod", "obl"):
        return old
    return "advcl" if tree.is_verb(tree.head[second]) else own


def quantifiers(tree: WorkingTree) -> None:
    """Makes quantifiers modifiers, ``det:qmod``, of the noun after "of", which replaces them."""
    for of in range(2, len(tree.form)):
        noun, first = tree.head[of], of - 1
        if (
            tree.form[of] == "of"
            and tree.relation[of] == "case"
            and tree.head[noun] == first
            and tree.relation[noun] == "nmod"
            and tree.is_noun(noun)
        ):
            words = _expression(tree, of, noun)
            if words:
                tree.replace(first, noun, tree.relation[first])
                tree.fix(words, noun, "det:qmod")


def _expression(tree: WorkingTree, of: int, noun: int) -> list[int]:
    """The words of the quantifier up to "of" or the determiner after it; empty if there is no quantifier."""
    first, form = of - 1, tree.form[of - 1]
    article = of - 2
    if form in LIGHT_NOUNS and tree.form[article] in ("a", "an") and tree.head[article] == first:
        return [article, first, of]
    if form in QUANTITIES and not tree.children(noun, "det"):
        return [first, of]
    if form in PARTITIVES:
        return [first, of, *(word for word in tree.children(noun, "det") if word == of + 1)]
    return []


_RELATIVE_CLAUSES = ("acl:relcl", "advcl:relcl")
_PRONOUNS = ("that", "what", "which", "who", "whom", "whose", "whoever", "whatever")
# The relation of the antecedent where the clause has an adverb.
_ADVERBS = {"where": "obl", "when": "obl:unmarked", "how": "obl", "why": "obl"}
_NO_PRONOUN = ("mark", "det", "cc", "fixed")
# Relations between the verb of a clause and its pronoun: "most of whom left", "which she wants to see".
_PATH = ("nsubj", "nsubj:pass", "obj", "iobj", "obl", "nmod", "nmod:poss", "xcomp", "ccomp", "advmod", "case")
_OBLIQUE = ("time", "way", "reason", "day", "year", "moment", "direction")


def relative_clauses(graph: ArcGraph) -> list[int]:
    """Adds an arc from inside each relative clause to its antecedent, and ``ref`` to the pronoun.

    "The house in which she lives": ``obl:in`` from "lives" to "house", ``ref`` from "house" to "which".

    Returns:
        The clauses without a pronoun, for :func:`reduced_clauses`.
    """
    tree = graph.tree
    reduced = []
    for clause, relation in enumerate(tree.relation):
        antecedent = tree.head[clause]
        if relation not in _RELATIVE_CLAUSES or not antecedent:
            continue
        pronoun = 0 if tree.form[antecedent] in _ADVERBS else _pronoun(tree, clause)
        if not pronoun:
            reduced.append(clause)
            continue
        _refer(graph, pronoun, antecedent)
        for conjunct in tree.children(clause, "conj"):
            if further := _pronoun(tree, conjunct):
                _refer(graph, further, antecedent)
    return reduced


def reduced_clauses(graph: ArcGraph, clauses: list[int]) -> None:
    """As :func:`relative_clauses`, without a pronoun: "the house they saw", "the town she lives in"."""
    tree = graph.tree
    for clause in clauses:
        antecedent = tree.head[clause]
        if tree.form[antecedent] in _ADVERBS:
            graph.add(antecedent, Arc(clause, "advmod"))
        elif tree.relation[clause] == "acl:relcl":
            graph.add(antecedent, _gap(tree, clause, antecedent))


def _pronoun(tree: WorkingTree, clause: int) -> int:
    """The first relative pronoun or adverb of a clause, or 0."""
    waiting, found = [clause], []
    while waiting:
        for child in tree.children(waiting.pop(), *_PATH):
            if _is_relative(tree, child):
                found.append(child)
            waiting.append(child)
    return min(found, default=0)


def _is_relative(tree: WorkingTree, node: int) -> bool:
    form = tree.form[node]
    if form in _ADVERBS:
        return tree.relation[node] in ("advmod", "obl")
    # Not a demonstrative, as far as its tag tells ("the day I heard that").
    return form in _PRONOUNS and tree.tag[node] != "DT" and tree.relation[node] not in _NO_PRONOUN


def _refer(graph: ArcGraph, pronoun: int, antecedent: int) -> None:
    tree = graph.tree
    adverbial = _ADVERBS.get(tree.form[pronoun])
    conjuncts = [node for node in tree.children(antecedent, "conj") if node < pronoun]
    for arc in list(graph.arcs[pronoun]):
        graph.arcs[pronoun].remove(arc)
        for node in (antecedent, *conjuncts):
            graph.add(node, Arc(arc.head, adverbial) if adverbial and not arc.words else arc)
    graph.add(pronoun, Arc(antecedent, "ref"))


def _gap(tree: WorkingTree, clause: int, antecedent: int) -> Arc:
    """The arc from a clause without a pronoun to its antecedent."""
    if not tree.children(clause, *SUBJECTS):
        return Arc(clause, "nsubj:pass" if tree.children(clause, "aux:pass") else "nsubj")
    if tree.form[antecedent].rstrip("s") in _OBLIQUE:
        return Arc(clause, "obl")
    verb = clause
    while complements := [child for child in tree.children(verb, "xcomp") if tree.is_verb(child)]:
        verb = complements[0]
    if verb != clause and tree.children(verb, "obj"):
        verb = clause
    places = tree.children(verb, "obl", "advmod")
    stranded = any(
        tree.tag[child] in ("IN", "TO", "RP", "ADP") and not tree.children(child) for child in places
    )
    full = stranded or tree.children(verb, "obj", "cop", "ccomp")
    return Arc(verb, "obl" if full else "obj")


_OBJECTS = ("obj", "iobj")


def subjects(graph: ArcGraph) -> None:
    """Adds subjects to predicates without one.

    A conjunct gets the subjects of the first conjunct ("Kim grows and sells beans"). An open complement gets
    the objects of its governor, else its subjects, as ``nsubj:xsubj`` ("Lee wants to help us").
    """
    found = _of_predicates(graph)
    for node in graph.downwards:
        if any("subj" in relation for _, relation in found[node]):
            continue
        if graph.tree.relation[node] == "conj":
            _share(graph, node, found)
        for head, relation, _ in graph.arcs[node]:
            if relation == "xcomp" and graph.tree.tag[node] != "TO":  # "they need to"
                _control(graph, node, head, found)


def _of_predicates(graph: ArcGraph) -> list[list[tuple[int, str]]]:
    """The subjects and objects of each node, with their relations."""
    found: list[list[tuple[int, str]]] = [[] for _ in graph.arcs]
    for node, arcs in enumerate(graph.arcs):
        for head, relation, _ in arcs:
            if "subj" in relation or relation in _OBJECTS:
                found[head].append((node, relation))
    return found


def _share(graph: ArcGraph, node: int, found: list[list[tuple[int, str]]]) -> None:
    tree, first = graph.tree, graph.tree.head[node]
    # Other words are predicates only if they or the first conjunct have a copula ("is a cook and a poet").
    copula = tree.children(node, "cop") or tree.children(first, "cop")
    if not (tree.is_verb(node) or tree.is_adjective(node) or copula):
        return
    for subject, relation in list(found[first]):
        if "subj" in relation and subject != node:
            own = _voice(graph, node, relation)
            graph.add(subject, Arc(node, own))
            found[node].append((subject, own))


def _voice(graph: ArcGraph, node: int, relation: str) -> str:
    """The relation of a shared subject: ``nsubj:pass`` if the conjunct is passive."""
    base, _, kind = relation.partition(":")
    if kind not in ("", "pass"):
        return relation
    tree = graph.tree
    shared = kind == "pass" and tree.tag[node] in ("VBN", "VERB") and not tree.children(node, "aux", "cop")
    return f"{base}:pass" if shared or tree.children(node, "aux:pass") else base


def _control(graph: ArcGraph, node: int, head: int, found: list[list[tuple[int, str]]]) -> None:
    objects = [pair for pair in found[head] if pair[1] in _OBJECTS]
    for subject, relation in objects or [pair for pair in found[head] if _controls(pair[1])]:
        if subject != node:
            own = "csubj:xsubj" if relation.startswith("csubj") else "nsubj:xsubj"
            graph.add(subject, Arc(node, own))
            found[node].append((subject, own))


def _controls(relation: str) -> bool:
    """Whether it is a subject of the predicate, not of an outer clause (``nsubj:outer``)."""
    return "subj" in relation and not relation.endswith(":outer")


LEVELS = ("enhanced", "enhanced++")
# Part of the fingerprint of stored graphs: increase it with every change of the rules that changes graphs.
RULES_VERSION = 2


class RuleEnhancer:
    """Makes the enhanced graph of one sentence from its basic tree, without another package.

    ``"enhanced"`` follows the guidelines of Universal Dependencies 2 for enhanced dependencies:

    - case information: labels contain prepositions, markers and conjunctions (``obl:in``, ``advcl:if``,
      ``conj:or``), the last one if there are several prepositions;
    - coordination: conjuncts share their governor, and their subject if they have none; objects and modifiers
      are not shared ("buys and sells cameras": ``obj(buys)`` alone), since the tree does not tell which are,
      and English EWT's gold graphs share hardly any (78 objects in 3,591 conjoined verbs);
    - control and raising: an open complement gets the object of its governor, else its subject, as
      ``nsubj:xsubj``;
    - relative clauses: the antecedent replaces its pronoun, which gets ``ref``; without a pronoun ("the house
      they saw"), the relation is inferred from the arguments that the clause lacks;
    - ellipsis: a conjunct that elides its predicate gets a copy of it ("Kim likes tea and Lee coffee"). There
      is one copy even if two predicates are elided ("wants to buy a book and Jenny a CD"), and the remaining
      word becomes an object if the predicate has one.

    ``"enhanced++"`` adds the phenomena of "Enhanced English Universal Dependencies: An Improved
    Representation for Natural Language Understanding Tasks" by Schuster and Manning: prepositions of several
    words (``obl:in_front_of``), quantificational modifiers and light nouns (``det:qmod``), and a copy of the
    governor for each further preposition or prepositional phrase ("over the bridge and through a park").

    A copy is an empty node with e.g. ``CopyOf=3`` in column MISC. Copies of ``"enhanced++"`` follow their
    word, as ``"3.1"``; an elided predicate is placed where it is missing.

    For English trees in Universal Dependencies 2 with tags in :attr:`Sentence.xpos`, else
    :attr:`Sentence.upos`. About 100,000 words per second on one core.

    Args:
        level: ``"enhanced"`` or ``"enhanced++"``.

    Example:
        >>> from graphdep import Sentence
        >>> from graphdep.parsing.enhancing import RuleEnhancer
        >>> tree = Sentence(["She", "sings", "and", "hums"], [2, 0, 4, 2], ["nsubj", "root", "cc", "conj"],
        ...                 upos=["PRON", "VERB", "CCONJ", "VERB"])
        >>> RuleEnhancer("enhanced")(tree).deps
        [[('2', 'nsubj'), ('4', 'nsubj')], [('0', 'root')], [('4', 'cc')], [('2', 'conj:and')]]
    """

    def __init__(self, level: str) -> None:
        self.level = check_choice("level", level, LEVELS)

    def __call__(self, sentence: Sentence) -> Sentence:
        """The sentence with its enhanced graph."""
        if sentence.empty:
            raise ValueError(f"the sentence has {len(sentence.empty)} empty nodes already")
        tree = WorkingTree(sentence)
        if self.level == "enhanced++":
            long_prepositions(tree)
            quantifiers(tree)
        restore_predicates(tree)
        if self.level == "enhanced++":
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
    # Copies follow their word.
    place = [(word, 0) for word in range(size + 1)]
    place += [
        (int(word), int(number)) for word, _, number in (name.partition(".") for name in names[size + 1 :])
    ]
    deps = []
    for arcs in graph.arcs:
        found = sorted({(place[arc.head], arc.head, arc.label) for arc in arcs})
        deps.append([(names[head], label) for _, head, label in found])
    nodes = sorted(range(size + 1, len(names)), key=place.__getitem__)
    empty = [copy_row(sentence, names[node], graph.tree.word[node], deps[node]) for node in nodes]
    return dataclasses.replace(sentence, deps=deps[1 : size + 1], empty=empty)


def _names(tree: WorkingTree, size: int) -> list[str]:
    """Ids of nodes: ``"3.1"`` for the first copy after word 3."""
    names, copies = [str(word) for word in range(size + 1)], [0] * (size + 1)
    for place in tree.place[size + 1 :]:
        copies[place] += 1
        names.append(f"{place}.{copies[place]}")
    return names


def copy_row(sentence: Sentence, name: str, word: int, arcs: list[tuple[str, str]]) -> Row:
    """The row of an empty node that copies a word."""
    columns = (sentence.lemma, sentence.upos, sentence.xpos, sentence.feats)
    values = (column[word - 1] if column else "_" for column in columns)
    column = "|".join(f"{head}:{label}" for head, label in arcs) or "_"
    return (name, sentence.form[word - 1], *values, "_", "_", column, f"CopyOf={word}")
