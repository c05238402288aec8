"""The tree of a sentence while it changes its scheme."""

from __future__ import annotations

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
    """Governors and labels of the words of a sentence, with moves that keep a tree a tree.

    Words are numbered from 1; 0 is the artificial root.

    Args:
        form: Word forms, in lower case.
        lemma: Lemmas, or the forms.
        tag: The tags of the Penn Treebank, else the universal ones, else empty.
        head: The governor of each word.
        label: Its label, in lower case.
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
        """What a word is by its tag: nominal, verb, adjective, adverb or preposition; "" if nobody knows."""
        tag = self.tag[word]
        return next((_KIND[start] for start in (tag, tag[:3], tag[:2]) if start in _KIND), "")

    def dependents(self, word: int, *labels: str) -> list[int]:
        """The dependents of a word in order, all or those with some labels."""
        return sorted(w for w in self._dependents[word] if not labels or self.label[w] in labels)

    def attach(self, word: int, governor: int) -> None:
        """Hangs a word, which is not above the governor, from it."""
        self._dependents[self.head[word]].remove(word)
        self._dependents[governor].append(word)
        self.head[word] = governor

    def lift(self, word: int, *staying: int) -> None:
        """Puts a word into the place and the label of its governor, which becomes its dependent and hands
        it all others but those that stay.
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
        for word in order:  # which grows
            order += self._dependents[word]
        return order[1:]
