"""The self-written dialogues of ``datasets/mini`` in DailyDialog's raw layout."""

from __future__ import annotations

import random
from typing import NamedTuple

from graphdep.datasets.base.rows import Grammar
from graphdep.datasets.dialogues import DAILY_DIALOG_NAMES, END

PEOPLE = "baker farmer painter sailor tailor singer".split()
ANIMALS = "goat donkey rabbit parrot".split()
VERBS = "called greeted followed thanked teased hugged".split()
PLACES = "market harbor station library park bakery".split()
ADJECTIVES = "old young tall shy cheerful".split()

OPENINGS = (
    "Did you hear what happened at the {place} ?",
    "Hello ! Were you at the {place} this morning ?",
    "You look surprised . What did you see at the {place} ?",
    "I was not at the {place} today . Did I miss anything ?",
)
REACTIONS = ("Yes , I saw it .", "Oh yes .", "Well , listen .", "I was there !")
# {a} did it to {p}; the animal {x} belongs to the noun before it.
EVENTS = (
    "The {a} near the {x} {v} the {p} .",
    "The {p} was {v} by the {a} near the {x} .",
    "It was the {p} that the {a} near the {x} {v} .",
    "The {p} who was {v} by the {a} had a {x} .",
    "The {a} who {v} the {p} had a {x} .",
)
WHO_DID = ("Who did that ?", "And who did it ?", "Who {v} somebody ?")
WHO_WAS = ("Who was {v} ?", "And who was it that got {v} ?", "Whom ?")
ANSWERS = ("The {who} .", "It was the {who} .", "The {who} , I think .", "That was the {who} .")
TRAITS = ("Is the {who} {adjective} ?", "I know the {who} , {adjective} as always ?")
TRAIT_ANSWERS = (
    "Yes , the {who} is very {adjective} .",
    "No , the {who} is not {adjective} , but the {x} is .",
    "The {who} ? Not {adjective} at all .",
)
CLOSINGS = (("Thank you for telling me .", "You are welcome ."), ("I have to go now .", "See you tomorrow !"))

# Dialogues in each split.
SIZES = {"train": 200, "val": 30, "test": 40}


class Scene(NamedTuple):
    """Agent and patient."""

    agent: str
    patient: str


def dialogue_files() -> dict[str, bytes]:
    """The raw files by name."""
    grammar = DialogueGrammar(random.Random(2017))
    files = {}
    for split, size in SIZES.items():
        lines = (grammar.dialogue() for _ in range(size))
        text = "".join("".join(f"{turn} {END} " for turn in turns).rstrip() + "\n" for turns in lines)
        files[f"dialogues_{DAILY_DIALOG_NAMES[split]}.txt"] = text.encode()
    return files


class DialogueGrammar(Grammar):
    """Draws dialogues."""

    def dialogue(self) -> list[str]:
        """Four to ten turns; the second one has an event that is unique among the dialogues."""
        while True:
            scene = Scene(*self.shuffled(PEOPLE)[:2])
            words = {"x": self.pick(ANIMALS), "v": self.pick(VERBS), "place": self.pick(PLACES)}
            event = self.pick(EVENTS).format(a=scene.agent, p=scene.patient, **words)
            if self.take(event):
                return self.turns(scene, event, words)

    def turns(self, scene: Scene, event: str, words: dict[str, str]) -> list[str]:
        turns = [self.pick(OPENINGS).format(**words), f"{self.pick(REACTIONS)} {event}"]
        questions = self.shuffled(((WHO_DID, scene.agent), (WHO_WAS, scene.patient)))
        for question, who in questions[: self.pick((1, 2))]:
            turns += [self.pick(question).format(**words), self.pick(ANSWERS).format(who=who)]
        if self.source.random() < 0.5:
            about = words | {"who": self.pick(scene), "adjective": self.pick(ADJECTIVES)}
            turns += [self.pick(TRAITS).format(**about), self.pick(TRAIT_ANSWERS).format(**about)]
        if self.source.random() < 0.5:
            turns += self.pick(CLOSINGS)
        return turns
