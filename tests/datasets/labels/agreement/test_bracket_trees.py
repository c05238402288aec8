from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep.datasets.labels.agreement import bracket_tree, bracket_words

PATH = Path("tense_bracket.dev")


class Built:
    """A constituent that is built up with its arcs: the words, their heads and labels, and the top word."""

    def __init__(self, text, words, arcs, top):
        self.text, self.words, self.arcs, self.top = text, words, arcs, top

    @classmethod
    def word(cls, word):
        return cls(word, [word], {}, 0)

    def __add__(self, other):
        shift = len(self.words)
        arcs = {word + shift: (head + shift, label) for word, (head, label) in other.arcs.items()}
        text = f"[ {self.text} {other.text} ]"
        return Built(text, [*self.words, *other.words], self.arcs | arcs, self.top)

    def join(self, other, label, *, head):
        """The two as one constituent; ``head`` says which one has the head."""
        both = self + other
        tops = (self.top, other.top + len(self.words))
        both.arcs[tops[1 - head]] = (tops[head], label)
        both.top = tops[head]
        return both


def words(*some):
    return st.sampled_from(some).map(Built.word)


NOUNS, VERBS = words("cook", "cooks", "pilots"), words("sang", "met", "saw")
PLAIN = st.builds(lambda a, b: a.join(b, "det", head=1), words("the", "my", "Our"), NOUNS)
PLACES = st.builds(lambda a, b: a.join(b, "case", head=1), words("near", "by"), PLAIN)


def extend(phrases):
    verbs = st.builds(lambda a, b: a.join(b, "obj", head=0), VERBS, phrases) | VERBS
    verbs |= st.builds(lambda a, b: a.join(b, "aux", head=1), words("does", "don't"), verbs)
    clauses = st.builds(lambda a, b: a.join(b, "nsubj", head=1), phrases, verbs)
    relative = st.builds(lambda a, b: a.join(b, "mark", head=1), words("who", "that"), verbs | clauses)
    modified = st.builds(lambda a, b: a.join(b, "acl:relcl", head=0), phrases, relative)
    return modified | st.builds(lambda a, b: a.join(b, "nmod", head=0), phrases, PLACES)


PHRASES = st.recursive(PLAIN, extend, max_leaves=8)
VERB_PHRASES = VERBS | st.builds(lambda a, b: a.join(b, "obj", head=0), VERBS, PHRASES)
SENTENCES = st.builds(
    lambda a, b, stop: a.join(b, "nsubj", head=1).join(stop, "punct", head=0),
    PHRASES,
    VERB_PHRASES,
    words(".", "?"),
)


@given(SENTENCES)
def test_the_tree_is_the_one_that_was_built(built):
    tree = bracket_tree(PATH, 1, built.text)
    assert list(tree.form) == built.words == bracket_words(PATH, 1, built.text)
    arcs = {word: (head - 1, label) for word, (head, label) in enumerate(zip(tree.head, tree.deprel)) if head}
    assert arcs == built.arcs
    assert tree.head[built.top] == 0
    assert tree.deprel[built.top] == "root"


@given(SENTENCES, st.data())
def test_brackets_around_a_part_change_nothing_and_lost_ones_are_seen(built, data):
    tokens = built.text.split()
    tree = bracket_tree(PATH, 1, built.text)
    place = data.draw(st.sampled_from([i for i, token in enumerate(tokens) if token not in "[]"]))
    more = [*tokens[:place], "[", tokens[place], "]", *tokens[place + 1 :]]
    assert bracket_tree(PATH, 1, " ".join(more)) == tree
    lost = data.draw(st.sampled_from([i for i, token in enumerate(tokens) if token in "[]"]))
    with pytest.raises(
        ValueError, match=r"tense_bracket\.dev:7: (a ']' closes nothing|1 '\[' are never closed)"
    ):
        bracket_tree(PATH, 7, " ".join(tokens[:lost] + tokens[lost + 1 :]))


def test_many_brackets():
    deep = "[ " * 5000 + "[ [ the cook ] sang ]" + " ]" * 5000
    assert bracket_tree(PATH, 1, deep).head == [2, 3, 0]
