"""How a tree of CLEAR becomes one of Universal Dependencies, step by step."""

from __future__ import annotations

from collections.abc import Callable

from graphdep.sentence.clear_punctuation import attach_punctuation
from graphdep.sentence.clear_tree import ClearTree

# What stands for the labels that only the finished tree decides between.
_OBLIQUE, _CLAUSE, _AGENT = "(oblique)", "(clause)", "(agent)"
# Two words that are one preposition: https://universaldependencies.org/en/dep/fixed.html
_FIXED = frozenset(
    "according to|as if|as to|because of|due to|in between|instead of|less than|more than|prior to|"
    "rather than|such as|up to".split("|")
)
_BE = frozenset("be am is are was were been being 'm 're 's ’m ’re ’s m re s".split())
# Adverbs that can be what somebody is.
_PLACES = frozenset(
    "abroad ahead around away back down downstairs here home in inside nearby off on open out outside over "
    "there together up upstairs".split()
)
_QUESTIONS = frozenset("how where why".split())


def objects_above_prepositions(tree: ClearTree) -> None:
    """Objects take the place of their prepositions, the innermost first."""
    for word in reversed(tree.from_above()):
        if _is_preposition(tree, word):
            _lift_object(tree, word)
    for word in tree.words:
        nominal = tree.kind(tree.head[word]) == "nominal" if tree.head[word] else False
        if tree.label[word] == _OBLIQUE:
            adverb = tree.kind(word) == "adverb"
            tree.label[word] = "advmod" if adverb else "nmod" if nominal else "obl"
        elif tree.label[word] == _CLAUSE:
            tree.label[word] = "acl" if nominal else "advcl"
        elif tree.label[word] == _AGENT:
            tree.label[word] = "obl:agent"


def _is_preposition(tree: ClearTree, word: int) -> bool:
    label = tree.label[word]
    is_one = tree.kind(word) in ("preposition", "adverb", "")
    return label in ("prep", "agent") or (is_one and label in ("dative", "pcomp", "conj", "root"))


def _lift_object(tree: ClearTree, preposition: int) -> None:
    found, label = tree.dependents(preposition, "pobj", "pcomp"), tree.label[preposition]
    if not found and label in ("prep", "agent"):  # "out of bed": the object of the inner one
        found = tree.dependents(preposition, _OBLIQUE, _CLAUSE)
    if not found:
        return
    word = found[0]
    clause = tree.label[word] == _CLAUSE or (tree.label[word] == "pcomp" and tree.kind(word) == "verb")
    tree.lift(word, *_other_prepositions(tree, preposition))
    tree.label[preposition] = "mark" if clause else "case"
    if label == "agent":
        tree.label[word] = _AGENT
    elif label not in ("conj", "root"):
        tree.label[word] = _CLAUSE if clause else _OBLIQUE
    second = preposition + 1
    fixed = " ".join(tree.form[preposition : second + 1]) in _FIXED
    if fixed and second in tree.dependents(word, "case", "mark"):
        tree.attach(second, preposition)
        tree.label[second] = "fixed"


def _other_prepositions(tree: ClearTree, word: int) -> list[int]:
    """*In and around Paris*: what a preposition is joined with, where that has no object of its own."""
    joined = [w for w in tree.dependents(word, "conj") if tree.kind(w) in ("preposition", "adverb")]
    return [*joined, *tree.dependents(word, "cc", "preconj")] if joined else []


def subjects_of_bare_clauses(tree: ClearTree) -> None:
    """*Let him go*: the subject of a clause without tense is the object of the verb above."""
    for word in tree.from_above():
        governor = tree.head[word]
        if tree.label[word] != "ccomp" or not 0 < governor < word or tree.kind(governor) != "verb":
            continue
        subjects = tree.dependents(word, "nsubj", "nsubjpass")
        around = tree.dependents(word, "aux", "auxpass", "mark")
        bare = all(tree.form[w] == "to" or tree.tag[w] in ("VB", "VBG") for w in around)
        if bare and tree.tag[word] in ("VB", "VBG", "VBN", "JJ") and subjects and subjects[0] > governor:
            tree.label[word] = "xcomp"
            if not tree.dependents(governor, "dobj"):
                tree.attach(subjects[0], governor)
                tree.label[subjects[0]] = "dobj"


def predicates_above_be(tree: ClearTree) -> None:
    """Predicates take the place of *be*, the innermost first."""
    for word in reversed(tree.from_above()):
        is_be = tree.lemma[word] == "be" or tree.form[word] in _BE
        if not is_be or tree.label[word] in ("aux", "auxpass", "case", "mark", "punct"):
            continue
        if any(tree.form[w] == "there" for w in tree.dependents(word, "expl")):
            for subject in tree.dependents(word, "attr"):
                tree.label[subject] = "nsubj"
        elif predicate := _predicate(tree, word):
            tree.lift(predicate)
            tree.label[word] = "cop"


def _predicate(tree: ClearTree, be: int) -> int | None:
    said = tree.dependents(be, "attr", "acomp") or tree.dependents(be, "oprd")
    if said:
        return said[-1]
    after = [word for word in tree.dependents(be) if word > be]
    clause = next((word for word in after if tree.label[word] in ("ccomp", "xcomp")), None)
    if clause is not None:
        for subject in tree.dependents(be, "nsubj", "csubj"):
            tree.label[subject] += ":outer"
        return clause
    asked = [word for word in tree.dependents(be, "advmod") if word < be and tree.form[word] in _QUESTIONS]
    places = [
        word
        for word in after
        if tree.label[word] == "obl" or (tree.label[word] == "advmod" and tree.form[word] in _PLACES)
    ]
    return next(iter(asked + places), None)


def conjuncts_under_the_first(tree: ClearTree) -> None:
    """Conjuncts hang from the first, conjunctions and commas from the conjunct that follows."""
    for word in tree.words:
        between = tree.label[word] == "cc" or (tree.label[word] == "punct" and tree.form[word] in (",", ";"))
        if between and 0 < tree.head[word] < word:
            following = [w for w in tree.dependents(tree.head[word], "conj") if w > word]
            if following:
                tree.attach(word, following[0])
    for word in tree.from_above():
        if tree.label[word] == "conj" and tree.label[tree.head[word]] == "conj":
            tree.attach(word, tree.head[tree.head[word]])


def labels_by_place(tree: ClearTree) -> None:
    """Labels that a table cannot give."""
    for word in tree.words:
        tree.label[word] = _label(tree, word)


def _label(tree: ClearTree, word: int) -> str:
    label, governor = tree.label[word], tree.head[word]
    nominal = governor > 0 and tree.kind(governor) == "nominal"
    if label == "aux" and tree.form[word] == "to":
        return "mark"
    if label in ("prep", "agent"):  # without an object
        return "obl" if tree.kind(word) == "preposition" and not nominal else "advmod"
    if label == "pcomp":
        return "advcl" if tree.kind(word) == "verb" else "advmod"
    if label == "npadvmod":
        return "nmod:unmarked" if nominal else "obl:unmarked"
    if label == "pobj":
        return "nmod" if nominal else "obl"
    if label in ("compound", "nn", "nmod") and tree.kind(word) == "adjective":
        return "amod"
    if label == "dobj" and word < tree.dependents(governor, "dobj")[-1]:
        return "obj" if tree.dependents(governor, "dative", "iobj") else "iobj"
    return label


STEPS: tuple[Callable[[ClearTree], None], ...] = (
    objects_above_prepositions,
    subjects_of_bare_clauses,
    predicates_above_be,
    conjuncts_under_the_first,
    labels_by_place,
    attach_punctuation,
)
"""In order: each reads what those before have left."""
