from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep.datasets.labels.cogs import MisfitError, is_form, original, predicates, variable_free

PATH = Path("gen.tsv")


class Spoken:
    """A part of a sentence with its two forms and its roles, put together with known places."""

    def __init__(self, words, free, terms, arcs, top):
        self.words, self.free, self.terms, self.arcs, self.top = words, free, terms, arcs, top

    def at(self, start):
        return [(p + start, role, f + start) for p, role, f in self.arcs], self.top + start


NOUN_PHRASES = st.deferred(
    lambda: (
        st.builds(name, st.sampled_from(["Mila", "Ben"]))
        | st.builds(noun, st.sampled_from(["a", "the"]), st.sampled_from(["cook", "TV"]), st.none() | PLACES)
    )
)
PLACES = st.deferred(
    lambda: st.tuples(st.sampled_from(["in", "beside"]), NOUN_PHRASES.filter(lambda n: n.terms))
)


def name(word):
    return Spoken([word], word, lambda start: ([], word), [], 0)


def noun(article, word, place):
    lemma, star = word.lower(), "* " * (article == "the")
    words, free, arcs = [article, word], star + lemma, []
    inner = None
    if place:
        preposition, inner = place
        if inner.free[0].isupper():
            return noun(article, word, None)
        words += [preposition, *inner.words]
        free += f" ( nmod . {preposition} = {inner.free} )"
        below, top = inner.at(3)
        arcs = [(1, f"nmod.{preposition}", top), *below]

    def terms(start):
        own = [f"{star}{lemma} ( x _ {start + 1} )"]
        if inner is not None:
            more, filler = inner.terms(start + 3)
            own += [f"{lemma} . nmod . {place[0]} ( x _ {start + 1} , {filler} )", *more]
        return own, f"x _ {start + 1}"

    return Spoken(words, free, terms, arcs, 1)


def clause(subject, verb, lemma, role, complement):
    """Subject and verb; with an object, a clause behind *that*, or an infinitive behind *to*."""
    start = len(subject.words)
    between = {"ccomp": ["that"], "xcomp": ["to"]}.get(role, [])
    inner = complement if role != "xcomp" else None
    words = [*subject.words, verb, *between, *(["sing"] if role == "xcomp" else complement.words)]
    arcs, top = subject.at(0)
    arcs = [(start, "agent", top), *arcs]
    free = f"{lemma} ( agent = {subject.free} , {role} = "
    first = start + 1 + len(between)
    if inner is None:
        free += f"sing ( agent = {subject.free} ) )"
        arcs += [(start, "xcomp", first), (first, "agent", top)]
    else:
        below, filler = inner.at(first)
        arcs += [(start, role, filler), *below]
        free += f"{inner.free} )"

    def terms(base):
        own, agent = subject.terms(base)
        found = [f"{lemma} . agent ( x _ {base + start} , {agent} )", *own]
        if inner is None:
            return [
                *found,
                f"{lemma} . xcomp ( x _ {base + start} , x _ {base + first} )",
                f"sing . agent ( x _ {base + first} , {agent} )",
            ], f"x _ {base + start}"
        more, filler = inner.terms(base + first)
        return [*found, f"{lemma} . {role} ( x _ {base + start} , {filler} )", *more], f"x _ {base + start}"

    return Spoken(words, free, terms, arcs, start)


CLAUSES = st.deferred(
    lambda: (
        st.builds(clause, NOUN_PHRASES, st.just("saw"), st.just("see"), st.just("theme"), NOUN_PHRASES)
        | st.builds(clause, NOUN_PHRASES, st.just("wanted"), st.just("want"), st.just("xcomp"), NOUN_PHRASES)
        | st.builds(clause, NOUN_PHRASES, st.just("said"), st.just("say"), st.just("ccomp"), CLAUSES)
    )
)


@given(CLAUSES)
def test_both_forms_give_the_roles_that_were_spoken(spoken):
    words = [*spoken.words, "."]
    words[0] = words[0].capitalize()
    expected: dict[int, dict[int, str]] = {}
    for predicate, role, filler in spoken.arcs:
        expected.setdefault(predicate, {})[filler] = role
    terms, _ = spoken.terms(0)
    for root in (variable_free(PATH, 1, spoken.free), original(PATH, 1, " AND ".join(terms))):
        found = predicates(words, root)
        assert {word: roles for word, roles in found if roles} == expected
        content = [i for i, w in enumerate(words) if w.lower() not in "a the that to in beside .".split()]
        assert sorted(word for word, _ in found) == content


def roles(sentence, form):
    return {
        word: found for word, found in predicates(sentence.split(), variable_free(PATH, 1, form)) if found
    }


def test_passive_and_twice_the_same_word():
    assert roles(
        "Ben was given a cook by Ben .", "give ( recipient = Ben , theme = cook , agent = Ben )"
    ) == {2: {0: "recipient", 4: "theme", 6: "agent"}}


@pytest.mark.parametrize(
    ("sentence", "form", "message"),
    [
        ("Mila saw the cook .", "see ( agent = Mila )", "'cook' is not in the form"),
        ("Mila saw .", "see ( agent = Mila , theme = * cook )", "'cook' has no word left"),
        ("Mila sang the cook .", "see ( agent = Mila , theme = * cook )", "'sang' is no form of 'see'"),
        ("Ben saw the cook .", "see ( agent = Mila , theme = * cook )", "'Ben' is no form of 'Mila'"),
        (
            "Mila wanted to sing .",
            "want ( agent = Mila , xcomp = sing ( agent = Ben ) )",
            "the agent of 'sing'",
        ),
        (
            "Mila wanted to sing .",
            "want ( agent = Mila , xcomp = sing )",
            "the agent of 'sing' is not the 'mila'",
        ),
        (
            "The cook was wanted to sing .",
            "want ( theme = * cook , xcomp = sing ( agent = * cook ) )",
            "has no agent",
        ),
    ],
)
def test_misfits(sentence, form, message):
    with pytest.raises(MisfitError, match=message):
        roles(sentence, form)


def test_the_places_of_variables_are_checked():
    words = "A cook saw a cook .".split()
    form = (
        "cook ( x _ {} ) AND see . agent ( x _ 2 , x _ {} ) "
        "AND see . theme ( x _ 2 , x _ {} ) AND cook ( x _ {} )"
    )
    right, wrong = (original(PATH, 1, form.format(a, a, b, b)) for a, b in ((1, 4), (4, 1)))
    assert dict(predicates(words, right))[2] == {1: "agent", 4: "theme"}
    with pytest.raises(MisfitError, match="'cook' is no form of 'cook'"):
        predicates(words, wrong)
    twice = "cook ( x _ 1 ) AND see . agent ( x _ 2 , x _ 1 ) AND see . theme ( x _ 2 , x _ 1 )"
    with pytest.raises(MisfitError, match="'cook' fills two roles"):
        predicates(words, original(PATH, 1, twice))


@pytest.mark.parametrize(
    ("word", "lemma", "expected"),
    [
        ("walk", "walk", True), ("walked", "walk", True), ("liked", "like", True), ("tried", "try", True),
        ("napped", "nap", True), ("ate", "eat", True), ("eaten", "eat", True), ("walks", "walk", False),
        ("eated", "eat", True), ("heard", "hear", True), ("saw", "say", False), ("like", "lik", False),
    ],
)  # fmt: skip
def test_forms_of_verbs(word, lemma, expected):
    assert is_form(word, lemma) == expected
