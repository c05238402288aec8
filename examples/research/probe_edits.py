"""Small changes of a sentence, for walks among the sentences that an encoder cannot tell apart."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

from graphdep.datasets.labels.probe_corpus import RELATIONS
from graphdep.sentence import Sentence


@dataclass(frozen=True)
class ProbeState:
    """A sentence with its marked word and the word whose label is asked for; all numbers are from 0.

    Args:
        form: Words.
        head: The number of each word's governor, -1 for the root word.
        deprel: Relations.
        mark: The marked word.
        word: The word that is looked at.
    """

    form: list[str]
    head: list[int]
    deprel: list[str]
    mark: int
    word: int

    @classmethod
    def of(cls, sentence: Sentence, mark: int, word: int) -> ProbeState:
        """The state of a sentence."""
        return cls(sentence.form, [head - 1 for head in sentence.head], sentence.deprel, mark, word)

    @property
    def sentence(self) -> Sentence:
        """The sentence, checked to be a tree."""
        return Sentence(self.form, [head + 1 for head in self.head], self.deprel)

    def above(self, word: int) -> list[int]:
        """A word and all that govern it."""
        way = [word]
        while self.head[way[-1]] >= 0:
            way.append(self.head[way[-1]])
        return way


def edited(state: ProbeState, num_words: int, rng: random.Random) -> ProbeState:
    """The sentence with one thing changed, or as it is where that cannot be.

    A change and the one that takes it back are equally likely, so that a walk which makes every change that
    it is allowed to make visits all sentences of :func:`probe_sentences` that it can reach equally often.
    """
    return rng.choice(_EDITS)(state, num_words, rng)


def _some(state: ProbeState, rng: random.Random) -> int:
    """A word; that which is looked at and the marked one more often than others."""
    return rng.choice([state.word, state.mark, *range(len(state.form)), *range(len(state.form))])


def _reattach(state: ProbeState, num_words: int, rng: random.Random) -> ProbeState:
    word, governor = _some(state, rng), rng.randrange(len(state.form))
    if state.head[word] < 0 or word in state.above(governor):
        return state
    return replace(state, head=_with(state.head, word, governor))


def _reroot(state: ProbeState, num_words: int, rng: random.Random) -> ProbeState:
    """Another root word, all arcs between it and the old one turned round."""
    way = state.above(rng.randrange(len(state.form)))
    head, deprel = [*state.head], [*state.deprel]
    for word, governor in pairwise(way):
        head[governor] = word
    head[way[0]] = -1
    deprel[way[-1]], deprel[way[0]] = deprel[way[0]], "root"
    return replace(state, head=head, deprel=deprel)


def _relabel(state: ProbeState, num_words: int, rng: random.Random) -> ProbeState:
    word = _some(state, rng)
    if state.head[word] < 0:
        return state
    return replace(state, deprel=_with(state.deprel, word, rng.choice(RELATIONS)))


def _reword(state: ProbeState, num_words: int, rng: random.Random) -> ProbeState:
    return replace(state, form=_with(state.form, _some(state, rng), f"w{rng.randrange(num_words)}"))


def _remark(state: ProbeState, num_words: int, rng: random.Random) -> ProbeState:
    return replace(state, mark=rng.randrange(len(state.form)))


def _exchange(state: ProbeState, num_words: int, rng: random.Random) -> ProbeState:
    """Two words exchange their places in the sentence, with all arcs."""
    left, right = rng.randrange(len(state.form)), rng.randrange(len(state.form))
    other = {left: right, right: left}
    order = [other.get(place, place) for place in range(len(state.form))]
    return ProbeState(
        [state.form[place] for place in order],
        [other.get(state.head[place], state.head[place]) for place in order],
        [state.deprel[place] for place in order],
        other.get(state.mark, state.mark),
        other.get(state.word, state.word),
    )


def _with(items: list, place: int, value: object) -> list:
    return [*items[:place], value, *items[place + 1 :]]


_EDITS: tuple[Callable[[ProbeState, int, random.Random], ProbeState], ...] = (
    *(_reattach, _reattach, _reattach),
    *(_reroot, _relabel, _reword, _remark, _exchange),
)
