"""Conversion of spaCy's CLEAR labels and of UD version 1 to Universal Dependencies version 2."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphdep.sentence import Sentence


_BY_TAG = (
    ("nominal", "NN PRP CD WP DT EX FW $ WDT POS PDT"),
    ("verb", "VB MD"),
    ("adjective", "JJ"),
    ("adverb", "RB WRB RP"),
    ("preposition", "IN TO"),
)
_BY_UPOS = (
    ("nominal", "NOUN PROPN PRON NUM DET X SYM"),
    ("verb", "VERB AUX"),
    ("adjective", "ADJ"),
    ("adverb", "ADV"),
    ("preposition", "ADP SCONJ PART"),
)
_KIND = {tag: kind for table in (_BY_TAG, _BY_UPOS) for kind, tags in table for tag in tags.split()}


class ClearTree:
    """Governors and labels of the words of a sentence, with operations that keep the tree valid.

    Words are numbered from 1; 0 is the artificial root.

    Args:
        form: Word forms, in lower case.
        lemma: Lemmas, or the forms.
        tag: Penn Treebank tags, else universal tags, else empty.
        head: The governor of each word.
        label: The label of each word, in lower case.
    """

    def __init__(
        self, form: list[str], lemma: list[str], tag: list[str], head: list[int], label: list[str]
    ) -> None:
        self.form, self.lemma, self.tag = ["", *form], ["", *lemma], ["", *tag]
        self.head, self.label = [-1, *head], ["", *label]
        self._dependents: list[list[int]] = [[] for _ in self.head]
        for word, governor in enumerate(head, 1):
            self._dependents[governor].append(word)

    @classmethod
    def of(cls, sentence: Sentence) -> ClearTree:
        form = [word.lower() for word in sentence.form]
        tag = sentence.xpos or sentence.upos or [""] * len(form)
        label = [label.lower() for label in sentence.deprel]
        return cls(form, sentence.lemma or form, tag, sentence.head, label)

    @property
    def words(self) -> range:
        return range(1, len(self.head))

    @property
    def root(self) -> int:
        """The first word without a governor."""
        return min(self._dependents[0])

    def kind(self, word: int) -> str:
        """Class of a word by its tag: nominal, verb, adjective, adverb or preposition; "" if unknown."""
        tag = self.tag[word]
        return next((_KIND[start] for start in (tag, tag[:3], tag[:2]) if start in _KIND), "")

    def dependents(self, word: int, *labels: str) -> list[int]:
        """The dependents of a word in order, all or those with the given labels."""
        return sorted(w for w in self._dependents[word] if not labels or self.label[w] in labels)

    def attach(self, word: int, governor: int) -> None:
        """Attaches a word to a governor that is not below the word."""
        self._dependents[self.head[word]].remove(word)
        self._dependents[governor].append(word)
        self.head[word] = governor

    def lift(self, word: int, *staying: int) -> None:
        """Moves a word to the place and label of its governor, which becomes its dependent; the governor's
        other dependents, except ``staying``, move to the word.
        """
        governor = self.head[word]
        self.attach(word, self.head[governor])
        for other in self.dependents(governor):
            if other not in staying:
                self.attach(other, word)
        self.attach(governor, word)
        self.label[word] = self.label[governor]

    def from_above(self) -> list[int]:
        """The words, each after its governor."""
        order = [0]
        for word in order:  # grows in the loop
            order += self._dependents[word]
        return order[1:]


_CLOSING = {
    "(": ")",
    "[": "]",
    "{": "}",
    "-lrb-": "-rrb-",
    "“": "”",
    "‘": "’",
    "``": "''",
    '"': '"',
    "'": "'",
}


def attach_punctuation(tree: ClearTree) -> None:
    """Attaches each mark as https://universaldependencies.org/u/dep/punct.html asks: at the end of the
    sentence to its root, around words to the highest of them, otherwise to the lower of the neighbouring
    units, as high as possible without crossing an arc.
    """
    marks = {word for word in tree.words if tree.label[word] == "punct"}
    leaves = sorted(word for word in marks if not tree.dependents(word))
    words = [word for word in tree.words if word not in marks]
    if not words:
        return
    pairs = _pairs(tree, leaves)
    first, last = _reach(tree, marks)
    for mark in leaves:
        governor = _inside(tree, *pairs[mark], words) if mark in pairs else 0
        if not governor and mark > words[-1]:
            governor = tree.root if tree.root not in marks else 0
        governor = governor or _beside(tree, mark, marks, first, last)
        if governor:
            tree.attach(mark, governor)


def _pairs(tree: ClearTree, marks: list[int]) -> dict[int, tuple[int, int]]:
    """Opening and closing marks, each with both ends of its pair."""
    pairs = {}
    opened: list[int] = []
    for mark in marks:
        number = next((n for n, o in enumerate(opened) if _CLOSING[tree.form[o]] == tree.form[mark]), None)
        if number is not None:
            pairs[opened[number]] = pairs[mark] = (opened[number], mark)
            del opened[number:]
        elif tree.form[mark] in _CLOSING:
            opened.append(mark)
    return pairs


def _inside(tree: ClearTree, start: int, end: int, words: list[int]) -> int:
    """The highest word between two marks; 0 if there is no word."""
    between = [word for word in words if start < word < end]
    return next((word for word in between if not start < tree.head[word] < end), 0)


def _reach(tree: ClearTree, marks: set[int]) -> tuple[list[int], list[int]]:
    """The first and the last word below each word, without punctuation."""
    first, last = [*range(len(tree.head))], [*range(len(tree.head))]
    for word in reversed(tree.from_above()):
        governor = tree.head[word]
        if word not in marks and governor:
            first[governor] = min(first[governor], first[word])
            last[governor] = max(last[governor], last[word])
    return first, last


def _beside(tree: ClearTree, mark: int, marks: set[int], first: list[int], last: list[int]) -> int:
    left = next((word for word in range(mark - 1, 0, -1) if word not in marks), 0)
    right = next((word for word in range(mark + 1, len(tree.head)) if word not in marks), 0)
    while left and 0 < tree.head[left] < mark and last[tree.head[left]] < mark:
        left = tree.head[left]
    while right and tree.head[right] > mark and first[tree.head[right]] > mark:
        right = tree.head[right]
    if right and 0 < tree.head[right] < mark:
        return right  # a unit that depends on a word before the mark
    if left and (tree.head[left] > mark or tree.head[left] == 0):
        return left
    return right


# Placeholders for labels that depend on the finished tree.
_OBLIQUE, _CLAUSE, _AGENT = "(oblique)", "(clause)", "(agent)"
# Pairs of words that form one preposition: https://universaldependencies.org/en/dep/fixed.html
_FIXED = frozenset(
    "according to|as if|as to|because of|due to|in between|instead of|less than|more than|prior to|"
    "rather than|such as|up to".split("|")
)
_BE = frozenset("be am is are was were been being 'm 're 's ’m ’re ’s m re s".split())
# Adverbs of place, which can be predicates.
_PLACES = frozenset(
    "abroad ahead around away back down downstairs here home in inside nearby off on open out outside over "
    "there together up upstairs".split()
)
_QUESTIONS = frozenset("how where why".split())


def objects_above_prepositions(tree: ClearTree) -> None:
    """Objects take the place of their prepositions, innermost first."""
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
    if not found and label in ("prep", "agent"):  # "out of bed": use the object of the inner preposition
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
    """*In and around Paris*: coordinated prepositions without an object of their own."""
    joined = [w for w in tree.dependents(word, "conj") if tree.kind(w) in ("preposition", "adverb")]
    return [*joined, *tree.dependents(word, "cc", "preconj")] if joined else []


def subjects_of_bare_clauses(tree: ClearTree) -> None:
    """*Let him go*: the subject of a clause without tense becomes the object of the upper verb."""
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
    """Predicates take the place of *be*, innermost first."""
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
    """Conjuncts depend on the first one, conjunctions and commas on the next one."""
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
    """Replaces the labels that need context, beyond the table."""
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
"""The steps, in order: each reads the result of the previous ones."""


CLEAR_TO_UD: Mapping[str, str] = MappingProxyType(
    {
        "acl": "acl",
        "acomp": "xcomp",
        "advcl": "advcl",
        "advmod": "advmod",
        "agent": "case",
        "amod": "amod",
        "appos": "appos",
        "attr": "xcomp",
        "aux": "aux",
        "auxpass": "aux:pass",
        "case": "case",
        "cc": "cc",
        "ccomp": "ccomp",
        "complm": "mark",
        "compound": "compound",
        "conj": "conj",
        "csubj": "csubj",
        "csubjpass": "csubj:pass",
        "dative": "iobj",
        "dep": "dep",
        "det": "det",
        "dobj": "obj",
        "expl": "expl",
        "hmod": "compound",
        "hyph": "punct",
        "infmod": "acl",
        "intj": "discourse",
        "iobj": "iobj",
        "mark": "mark",
        "meta": "dep",
        "neg": "advmod",
        "nmod": "nmod",
        "nn": "compound",
        "npadvmod": "obl:unmarked",
        "nsubj": "nsubj",
        "nsubjpass": "nsubj:pass",
        "num": "nummod",
        "number": "compound",
        "nummod": "nummod",
        "oprd": "xcomp",
        "parataxis": "parataxis",
        "partmod": "acl",
        "pcomp": "advcl",
        "pobj": "obl",
        "poss": "nmod:poss",
        "possessive": "case",
        "preconj": "cc:preconj",
        "predet": "det:predet",
        "prep": "case",
        "prt": "compound:prt",
        "punct": "punct",
        "quantmod": "advmod",
        "rcmod": "acl:relcl",
        "relcl": "acl:relcl",
        "root": "root",
        "xcomp": "xcomp",
    }
)
"""UD label of each CLEAR label; :func:`clear_to_ud` lists the exceptions by context."""

# Labels of CLEAR's table that also exist in a version of Universal Dependencies.
_SHARED = frozenset(
    """acl advcl advmod amod appos aux auxpass case cc ccomp compound conj csubj csubjpass dep det dobj expl
    iobj mark neg nmod nsubj nsubjpass nummod parataxis punct root xcomp""".split()
)


def is_clear(labels: Iterable[str]) -> bool:
    """Whether all labels are in CLEAR's table, and at least one of them, such as ``prep`` or ``attr``, is in
    no version of Universal Dependencies.

    Example:
        >>> from graphdep.sentence import is_clear
        >>> is_clear(["nsubj", "ROOT", "prep", "pobj"]), is_clear(["nsubj", "root", "dobj"])
        (True, False)
    """
    found = {label.lower() for label in labels}
    return found <= CLEAR_TO_UD.keys() and not found <= _SHARED


def clear_to_ud(sentence: Sentence) -> Sentence:
    """Converts a CLEAR tree to Universal Dependencies, version 2: labels and structure.

    CLEAR is the scheme of "Guidelines for the Clear Style Constituent to Dependency Conversion" (Choi and
    Palmer, Technical Report 01-12, University of Colorado Boulder, 2012), used by spaCy's English models.
    :data:`~graphdep.sentence.clear.CLEAR_TO_UD` is the table of labels; the structure changes where the
    schemes differ (https://universaldependencies.org/u/overview/syntax.html):

    ===========================  =========================================================================
    CLEAR                        Universal Dependencies
    ===========================  =========================================================================
    ``prep`` over ``pobj``       the object takes the preposition's governor, as ``nmod`` of a
                                 nominal, else ``obl``; the preposition is its ``case``
    ``agent`` over ``pobj``      the same with ``obl:agent``
    ``prep`` over ``pcomp``      a clause as ``acl`` or ``advcl``, the preposition its ``mark``
    *be* over ``attr, acomp``    the predicate takes the place of *be*, now its ``cop``; so do places
                                 (*is in Paris*, *is here*) and clauses, whose outer subject is
                                 ``nsubj:outer``; not *there is*, whose ``attr`` is ``nsubj``
    ``ccomp`` without tense      *let him go*: the subject is ``obj`` of the upper verb, the clause ``xcomp``
    ``conj`` of a ``conj``       all depend on the first; ``cc`` and commas on the next one
    *to* as ``aux``              ``mark``
    ``npadvmod``                 ``nmod:unmarked`` of a nominal, else ``obl:unmarked``
    ``compound, nmod``           ``amod`` if the tag is an adjective's
    ``prep, pcomp`` alone        a preposition without an object: ``obl`` of a verb, else ``advmod``
    ``punct``                    under the sentence's root at its end, else as high as nothing crosses it
    ===========================  =========================================================================

    Names stay ``compound`` (UD uses ``flat`` for persons), since the labels do not identify persons. Labels
    outside the table stay. Enhanced arcs, which CLEAR does not have, are dropped. The rules read the columns
    XPOS (Penn Treebank), else UPOS, and LEMMA, if present. ``examples/research/results/parser.md`` has the
    scores on UD English EWT.

    Args:
        sentence: A CLEAR tree; a tree of another scheme loses its structure.

    Example:
        >>> from graphdep import Sentence
        >>> from graphdep.sentence import clear_to_ud
        >>> tree = clear_to_ud(
        ...     Sentence(["She", "looks", "at", "him"], [2, 0, 2, 3], ["nsubj", "ROOT", "prep", "pobj"])
        ... )
        >>> tree.head, tree.deprel
        ([2, 0, 4, 2], ['nsubj', 'root', 'case', 'obl'])
    """
    tree = ClearTree.of(sentence)
    for step in STEPS:
        step(tree)
    labels = [CLEAR_TO_UD.get(label, label) for label in tree.label[1:]]
    deprel = [
        "root" if governor == 0 else label if label != "root" else "dep"
        for governor, label in zip(tree.head[1:], labels)
    ]
    return dataclasses.replace(sentence, head=tree.head[1:], deprel=deprel, deps=None, empty=[])


_UD1_TO_UD = {
    "auxpass": "aux:pass",
    "csubjpass": "csubj:pass",
    "dobj": "obj",
    "foreign": "flat:foreign",
    "mwe": "fixed",
    "name": "flat:name",
    "neg": "advmod",
    "nsubjpass": "nsubj:pass",
    "remnant": "orphan",
}


_ONLY_UD2 = frozenset({"obj", "obl", "nsubj:pass", "csubj:pass", "aux:pass", "fixed", "orphan"})


def only_ud2(labels: Iterable[str]) -> bool:
    """Whether one of the labels exists only in version 2 of Universal Dependencies."""
    return not _ONLY_UD2.isdisjoint(labels)


def ud1_to_ud(sentence: Sentence) -> Sentence:
    """Converts a tree of Universal Dependencies version 1, such as CoreNLP's, to version 2.

    Labels change as in https://universaldependencies.org/v2/summary.html; ``nmod`` becomes ``obl`` unless its
    governor is a nominal; ``neg`` becomes ``det`` of a nominal after it, else ``advmod``; conjunctions and
    commas attach to the next conjunct. Ellipsis (``remnant``) keeps its structure. Enhanced arcs are dropped.
    The rules read XPOS, else UPOS.

    Args:
        sentence: The tree. Labels of other schemes stay.

    Example:
        >>> from graphdep import Sentence
        >>> from graphdep.sentence.clear import ud1_to_ud
        >>> ud1_to_ud(Sentence(["She", "ate", "it"], [2, 0, 2], ["nsubj", "root", "dobj"])).deprel
        ['nsubj', 'root', 'obj']
    """
    tree = ClearTree.of(sentence)
    conjuncts_under_the_first(tree)
    labels = [_ud1_label(tree, word) for word in tree.words]
    deprel = ["root" if governor == 0 else label for governor, label in zip(tree.head[1:], labels)]
    return dataclasses.replace(sentence, head=tree.head[1:], deprel=deprel, deps=None, empty=[])


def _ud1_label(tree: ClearTree, word: int) -> str:
    label, governor = tree.label[word], tree.head[word]
    base, colon, rest = label.partition(":")
    kind = tree.kind(governor) if governor else ""
    if base == "nmod" and rest != "poss" and kind in ("verb", "adjective", "adverb"):
        return f"obl{colon}{rest}"
    if label == "neg" and kind == "nominal" and tree.form[word] in ("no", "neither"):
        return "det"
    return f"{_UD1_TO_UD.get(base, base)}{colon}{rest}" if base in _UD1_TO_UD else label
