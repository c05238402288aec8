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
"""Nouns behind "a" or "an" that say how many or what kind of what follows "of": "a bunch of friends"."""

QUANTITIES = frozenset(
    """
    billions dozens hundreds loads lots many millions mountains multitudes pairs plenty several tens thousands
    tons trillions
""".split()
)
"""Words that do so without an article: "lots of snow"."""

PARTITIVES = frozenset(
    """
    all billion both eight everyone five four hundred million neither nine nobody one seven six some ten
    thousand three trillion two
""".split()
)
"""Words that do so before a determiner, too: "both of the twins"."""


_VERBS = ("VB", "MD", "VERB", "AUX")
_ADJECTIVES = ("JJ", "ADJ")
_PARTICLES = ("IN", "TO", "ADP", "SCONJ", "CC", "CCONJ")
_NOUNS = ("NN", "NOUN", "PROPN", "PRP", "PRON", "WP")


class WorkingTree:
    """The tree of a sentence; node 0 is the artificial root, words follow from 1, copies of words after them.

    Whatever a rule does, each node but 0 keeps one governor, so that all nodes stay below the root.

    Args:
        sentence: The sentence. It is not changed.

    Attributes:
        head: The governor of each node; 0 of node 0.
        relation: The relation of each node to it.
        word: The word that a node is, or is a copy of.
        form: The word's form, in lower case.
        name: The word as labels have it: the form, of a preposition or particle the lemma ("b/c": because).
        tag: The word's tag, :attr:`Sentence.xpos`, or :attr:`Sentence.upos` where that is missing.
        place: The word behind which a copy stands.
        conjunction: The conjunctions of copies that are conjuncts.
        extra: Arcs beyond the tree, as node, governor, relation and the words of its label.
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
        """The dependents of a node in order, with one of the relations if any are given."""
        found = self._children[node]
        return [child for child in found if self.relation[child] in relations] if relations else list(found)

    def move(self, node: int, head: int, relation: str) -> None:
        """Puts a node with all below it under another one, which must not be below it."""
        self._children[self.head[node]].remove(node)
        self.head[node], self.relation[node] = head, relation
        self._children[head] = sorted([*self._children[head], node])

    def replace(self, old: int, new: int, relation: str) -> None:
        """Puts a dependent in its governor's place: what was below the governor, and that itself, is below
        it.
        """
        self.move(new, self.head[old], relation)
        for child in self.children(old):
            self.move(child, new, self.relation[child])
        self.move(old, new, "dep")

    def fix(self, words: list[int], head: int, relation: str) -> None:
        """Makes words one expression of several words, whose first one depends on ``head``."""
        first, *others = words
        self.move(first, head, relation)
        for word in others:
            self.move(word, first, "fixed")

    def copy(self, node: int, head: int, relation: str, place: int | None = None) -> int:
        """A copy of a node's word, without what is below it, behind that word if no place is given."""
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
        """The word's name, with those of an expression that it begins: ``"because_of"``."""
        return "_".join(self.name[word] for word in (node, *self.children(node, "fixed")))


# What follows a relation in an enhanced label: words, as UD's validation has it ("/" and "&" are none).
_WORDS = re.compile(r"[^\W\d_]+(_[^\W\d_]+)*")
SUBJECTS = ("nsubj", "nsubj:pass", "csubj", "csubj:pass")


class Arc(NamedTuple):
    """An arc to a node: its governor, the relation, and the words that its label ends with."""

    head: int
    relation: str
    words: str = ""

    @property
    def label(self) -> str:
        """``"obl:in"`` of ``"obl"`` and ``"in"``; the relation alone if the words are none."""
        return f"{self.relation}:{self.words}" if _WORDS.fullmatch(self.words) else self.relation


class ArcGraph:
    """The arcs of each node of a tree, to which rules add others.

    Args:
        tree: The tree.
        words: For each node the words of its label in the tree.

    Attributes:
        arcs: For each node its arcs, that of the tree first.
    """

    def __init__(self, tree: WorkingTree, words: list[str]) -> None:
        self.tree = tree
        self.arcs: list[list[Arc]] = [[Arc(*arc)] for arc in zip(tree.head, tree.relation, words)]
        self.arcs[0] = []
        for node, head, relation, own in tree.extra:
            self.add(node, Arc(head, relation, own))

    def add(self, node: int, arc: Arc) -> None:
        """Adds an arc unless it is there, or is one of a word to itself."""
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
    """For each node the words of its label: ``"in"`` for ``obl:in``.

    A modifier has its preposition or marker, the last of several; a conjunct the conjunction before it, else
    that of the next one ("beans, peas or figs"), else that of the one before.
    """
    words = [tree.conjunction.get(node, "") for node in range(len(tree.head))]
    for node, relation in enumerate(tree.relation):
        if relation in MARKED:
            words[node] = marker(tree, node)
        elif relation == "cc" and tree.relation[tree.head[node]] == "conj":
            _conjunctions(tree, tree.head[tree.head[node]], words)
    return words


def marker(tree: WorkingTree, node: int) -> str:
    """The preposition or marker of a node, else the adverb that begins its adverbial clause, or no word."""
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
    """Gives each conjunct the arcs of the first one: "Kim and Lee sing" has two ``nsubj``.

    A modifier has its own preposition on the label where it has one. What stands between the conjuncts is
    not shared as governor.
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

    The copy is a conjunct of the governor; the phrase depends on the copy, a noun with two prepositions on
    both.
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


def left_out_predicates(tree: WorkingTree) -> None:
    """Puts a copy of the predicate where conjuncts with dependents ``orphan`` lack it.

    What stood for the predicate and its orphans depend on the copy, with the relations that such words have
    at the predicate.
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
    """What an orphan is to the predicate; an object or open complement is taken from the open places."""
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
    """Makes one expression of each: "out of our barn", "in front of us", "close to home".

    Its first word is ``case`` of the noun, the others are ``fixed``. Where a word of it was the noun's
    governor, the noun takes its place.
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
    """The relation of the noun in its new place, which is a clause's where it is one."""
    old, own = tree.relation[second], tree.relation[noun]
    if own in ("nmod", "obl") or old not in ("nmod", "obl"):
        return old
    return "advcl" if tree.is_verb(tree.head[second]) else own


def quantifiers(tree: WorkingTree) -> None:
    """Makes such words modifiers, ``det:qmod``, of the noun behind "of", which takes their place."""
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
    """The words up to "of", or up to the determiner behind it; none if they are no such expression."""
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
# What may lie between the verb of a clause and its pronoun: "most of whom left", "which she wants to see".
_PATH = ("nsubj", "nsubj:pass", "obj", "iobj", "obl", "nmod", "nmod:poss", "xcomp", "ccomp", "advmod", "case")
_OBLIQUE = ("time", "way", "reason", "day", "year", "moment", "direction")


def relative_clauses(graph: ArcGraph) -> list[int]:
    """Gives the antecedent of each relative clause its arc from inside the clause, and its pronoun ``ref``.

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
    """The same for clauses without a pronoun: "the house they saw", "the town she lives in"."""
    tree = graph.tree
    for clause in clauses:
        antecedent = tree.head[clause]
        if tree.form[antecedent] in _ADVERBS:
            graph.add(antecedent, Arc(clause, "advmod"))
        elif tree.relation[clause] == "acl:relcl":
            graph.add(antecedent, _gap(tree, clause, antecedent))


def _pronoun(tree: WorkingTree, clause: int) -> int:
    """The relative pronoun or adverb of a clause, or 0: the first such word in it."""
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
    # A demonstrative is none, where its tag says so ("the day I heard that").
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
    """The arc that a clause without a pronoun lacks."""
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
    """Gives predicates without a subject the one that they share, or that a higher verb has for them.

    A conjunct has the subjects of the first one ("Kim grows and sells beans"). An open complement has the
    objects of its governor, else its subjects, as ``nsubj:xsubj`` ("Lee wants to help us").
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
    """For each node its subjects and objects, with their relations."""
    found: list[list[tuple[int, str]]] = [[] for _ in graph.arcs]
    for node, arcs in enumerate(graph.arcs):
        for head, relation, _ in arcs:
            if "subj" in relation or relation in _OBJECTS:
                found[head].append((node, relation))
    return found


def _share(graph: ArcGraph, node: int, found: list[list[tuple[int, str]]]) -> None:
    tree, first = graph.tree, graph.tree.head[node]
    # Else it is no predicate, unless it has a copula, or the first one has ("is a smoker and a drinker").
    copula = tree.children(node, "cop") or tree.children(first, "cop")
    if not (tree.is_verb(node) or tree.is_adjective(node) or copula):
        return
    for subject, relation in list(found[first]):
        if "subj" in relation and subject != node:
            own = _voice(graph, node, relation)
            graph.add(subject, Arc(node, own))
            found[node].append((subject, own))


def _voice(graph: ArcGraph, node: int, relation: str) -> str:
    """The relation of a shared subject: ``nsubj:pass`` where the conjunct is passive, too."""
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
    """Whether it is a subject of the predicate itself, not of a clause around it (``nsubj:outer``)."""
    return "subj" in relation and not relation.endswith(":outer")


LEVELS = ("enhanced", "enhanced++")
# Counted up with every change of the rules that changes graphs: files made of graphs ask for it.
RULES_VERSION = 2


class RuleEnhancer:
    """Makes the enhanced graph of one sentence from its basic tree, without another package.

    ``"enhanced"`` follows the guidelines of Universal Dependencies 2 for enhanced dependencies:

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

    ``"enhanced++"`` adds what "Enhanced English Universal Dependencies: An Improved Representation for
    Natural Language Understanding Tasks" by Schuster and Manning adds to that: prepositions of several words
    (``obl:in_front_of``), quantificational modifiers and light nouns (``det:qmod``), and a copy of the
    governor for each further preposition or prepositional phrase ("over the bridge and through a park").

    A copy is an empty node with ``CopyOf=3`` in column MISC. Those of ``"enhanced++"`` stand behind their
    word, such as ``"3.1"``; a predicate that was left out stands where it is missing.

    English trees in Universal Dependencies 2 only, with tags in :attr:`Sentence.xpos`, or in
    :attr:`Sentence.upos` where that is missing. About 100,000 words a second on one core.

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
        left_out_predicates(tree)
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
