"""Which words the parts of a logical form of COGS are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from graphdep.datasets.labels.cogs.cogs_forms import CLAUSES, Node

ARTICLES = frozenset(("a", "the"))
_FUNCTION_WORDS = ARTICLES | frozenset("was to that by .".split())
_IRREGULAR = {
    "break": "broke broken",
    "bring": "brought",
    "draw": "drew drawn",
    "eat": "ate eaten",
    "feed": "fed",
    "find": "found",
    "freeze": "froze frozen",
    "give": "gave given",
    "grow": "grew grown",
    "hear": "heard",
    "hold": "held",
    "know": "knew known",
    "mean": "meant",
    "run": "ran",
    "say": "said",
    "see": "saw seen",
    "sell": "sold",
    "send": "sent",
    "sleep": "slept",
    "slide": "slid",
    "think": "thought",
    "throw": "threw thrown",
}


class Predicate(NamedTuple):
    """A word, and the roles of the words that fill some of it."""

    word: int
    roles: dict[int, str]


class MisfitError(ValueError):
    """A form whose parts are not the words of its sentence."""


def predicates(words: Sequence[str], root: Node) -> list[Predicate]:
    """The predicates of a sentence and all of its nouns and names, in the order of the form, with the words
    that fill their roles.

    The form names verbs and nouns in the sentence's order, but for the agent of an ``xcomp``, which is that
    of its governor. So the first verb of the form is the first of the sentence, and so on, and
    likewise for nouns and names; a word that is there twice is no difficulty. A word behind an article is a
    noun and one that begins with a capital a name; other words are verbs, but for function words and the
    prepositions of the form. All of this is checked: verbs must be forms of their lemmas, nouns and names
    must be those of the form, none may be left over, and where the form has places they must be the same.

    Args:
        words: The words.
        root: The form, of either notation.

    Raises:
        MisfitError: If the form is not one of these words.
    """
    return _Aligned(words, root).found


class _Aligned:
    def __init__(self, words: Sequence[str], root: Node) -> None:
        self.words = words
        self.found: list[Predicate] = []
        self.seen: set[int] = set()
        kinds = list(_kinds(words, _prepositions(root)))
        self.verbs = iter([place for place, kind in enumerate(kinds) if kind == "verb"])
        self.nouns = iter([place for place, kind in enumerate(kinds) if kind == "noun"])
        self.walk(root)
        for place in (*self.verbs, *self.nouns):
            raise MisfitError(f"{words[place]!r} is not in the form")

    def walk(self, root: Node) -> None:
        """Visits the nodes in the form's order, without recursion."""
        todo = [(self.add(root, is_verb=True), iter(root.roles))]
        while todo:
            predicate, roles = todo[-1]
            role, filler = next(roles, (None, root))
            if role is None:
                todo.pop()
                continue
            found = self.add(filler, is_verb=role in CLAUSES)
            predicate.roles[found.word] = role
            below = filler.roles
            if role == "xcomp":
                found.roles[self.agent(predicate)] = "agent"
                below = self.without_agent(filler, predicate)
            todo.append((found, iter(below)))

    def add(self, node: Node, *, is_verb: bool) -> Predicate:
        if id(node) in self.seen:
            raise MisfitError(f"{node.lemma!r} fills two roles")
        self.seen.add(id(node))
        place = next(self.verbs if is_verb else self.nouns, None)
        if place is None:
            raise MisfitError(f"no word is left for {node.lemma!r}")
        word = self.words[place]
        fits = is_form(word, node.lemma) if is_verb else word.lower() == node.lemma.lower()
        if not fits or node.word not in (None, place):
            raise MisfitError(f"{word!r} is no form of {node.lemma!r}")
        self.found.append(Predicate(place, {}))
        return self.found[-1]

    def without_agent(self, verb: Node, governor: Predicate) -> list[tuple[str, Node]]:
        """The roles of an ``xcomp`` but for its agent, which must be that of its governor."""
        agents = [node for role, node in verb.roles if role == "agent"]
        word = self.words[self.agent(governor)].lower()
        if [node.lemma.lower() for node in agents] != [word]:
            raise MisfitError(f"the agent of {verb.lemma!r} is not that of its governor")
        if agents[0].word not in (None, self.agent(governor)):
            raise MisfitError(f"the agent of {verb.lemma!r} is another {word!r} than that of its governor")
        return [(role, node) for role, node in verb.roles if role != "agent"]

    def agent(self, predicate: Predicate) -> int:
        agents = [place for place, role in predicate.roles.items() if role == "agent"]
        if not agents:
            raise MisfitError(f"{self.words[predicate.word]!r} has no agent before its xcomp")
        return agents[0]


def is_form(word: str, lemma: str) -> bool:
    """Whether a word is the infinitive, the past tense or the participle of a verb."""
    regular = {lemma, f"{lemma}ed", f"{lemma}{lemma[-1]}ed"}
    if lemma.endswith("e"):
        regular.add(f"{lemma}d")
    if lemma.endswith("y"):
        regular.add(f"{lemma[:-1]}ied")
    return word in regular or word in _IRREGULAR.get(lemma, "").split()


def _kinds(words: Sequence[str], prepositions: frozenset[str]) -> Iterator[str]:
    before = ""
    for word in words:
        lower = word.lower()
        if before in ARTICLES:
            yield "noun"
        elif lower in _FUNCTION_WORDS or lower in prepositions:
            yield "function"
        else:
            yield "noun" if word[0].isupper() else "verb"
        before = lower


def _prepositions(root: Node) -> frozenset[str]:
    found, seen, todo = set(), set(), [root]
    while todo:
        node = todo.pop()
        if id(node) not in seen:
            seen.add(id(node))
            todo += [filler for _, filler in node.roles]
            found |= {role.removeprefix("nmod.") for role, _ in node.roles if role.startswith("nmod.")}
    return frozenset(found)
