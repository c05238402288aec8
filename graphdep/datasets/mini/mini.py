"""Writes the corpora of ``datasets/mini`` from seeded grammars; this file has those of sentence pairs."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

from graphdep.datasets import sentences as mrpc
from graphdep.datasets.base.rows import Grammar
from graphdep.datasets.mini.mini_agreement import agreement_files
from graphdep.datasets.mini.mini_dialogues import dialogue_files
from graphdep.datasets.mini.mini_selection import selection_files
from graphdep.datasets.mini.mini_sst import sst_files
from graphdep.datasets.sentences import SICK_COLUMNS, SICK_FILES
from graphdep.io.files import atomic_path

AGENTS = "doctor teacher driver nurse".split()
PATIENTS = "woman student boy girl".split()
BYSTANDERS = "lion bear horse monkey dog cat".split()
VERBS = "chased pushed helped followed watched kicked hugged called stopped pulled".split()
ADJECTIVES = "old young tall small happy tired".split()

# The label depends on v(a, p): a does it to p. The bystanders y and z and their verbs w and u are in between.
LONG = ("{a}{first} {v} {p}{last}", "{p}{first} was {v} by {a}{last}")
SHORT = ("{a} {v} {p}", "{p} was {v} by {a}", "it was {a} that {v} {p}", "it was {p} that {a} {v}")
ONE = (" near {y}", " that {w} {y}", " that was {w} by {y}", " that {y} {w}")
TWO = (
    " that {w} {y} near {z}",
    " that was {w} by {y} near {z}",
    " near {y} that {w} {z}",
    " that {y} near {z} {w}",
)

# Sets of three pairs in each split, and the share of events that only test has, in half of its sets.
SETS = {"train": 400, "val": 66, "test": 134}
HELD_OUT = 0.2
# MRPC has pairs of a long sentence and a short one that is quoted from a source.
MRPC_SETS = {"train": 200, "val": 30, "test": 60}
SOURCES = ("{}.", 'A guard said "{}".', '"{}," a guard said.')
JUDGMENTS = (("4.8", "ENTAILMENT"), ("1.7", "CONTRADICTION"), ("3.2", "NEUTRAL"))


class Scene(NamedTuple):
    """Agent, patient, and the two bystanders."""

    agent: str
    patient: str
    near: str
    far: str

    def told(self, frame: str, verbs: Sequence[str], adjectives: Sequence[str] = ("", "", "", "")) -> str:
        """The scene in the words of a frame; an adjective belongs to a place in the frame, not to a noun."""
        a, p, y, z = (
            f"the {adjective} {noun}".replace("  ", " ") for adjective, noun in zip(adjectives, self)
        )
        v, w, u = verbs
        text = frame.format(a=a, p=p, y=y, z=z, v=v, w=w, u=u)
        return text[0].upper() + text[1:]


def write_mini(root: str | os.PathLike[str]) -> None:
    """Writes the raw files of ``datasets/mini`` below ``root``, the same bytes every time.

    ``SICK(root)``, ``SST(root)``, ``MRPC(root)``, ``DailyDialog(root)``, ``Ubuntu(root)`` and
    ``Agreement(root / "agreement")`` then load them; ``datasets/mini/README.md`` describes them.
    """
    files = {SICK_FILES[split]: content for split, content in mini_files().items()} | mrpc_files()
    files |= dialogue_files()
    files |= {f"sst-sentence/{name}": content for name, content in sst_files().items()}
    files |= {f"ubuntu-v1/{name}": content for name, content in selection_files().items()}
    paths = {Path(root, "raw", name): content for name, content in files.items()}
    paths |= {Path(root, "agreement", "raw", name): content for name, content in agreement_files().items()}
    for path, content in paths.items():
        if not path.exists() or path.read_bytes() != content:
            with atomic_path(path) as temporary:
                temporary.write_bytes(content)


def mini_files() -> dict[str, bytes]:
    """The content of SICK's raw file of each split."""
    grammar = _Grammar(random.Random(2020))
    files = {}
    for split, sets in SETS.items():
        rows = grammar.shuffled([row for _ in range(sets) for row in grammar.pairs(split)])
        lines = [tuple(SICK_COLUMNS), *((str(number), *row) for number, row in enumerate(rows, start=1))]
        files[split] = "".join("\t".join(line) + "\n" for line in lines).encode()
    return files


def mrpc_files() -> dict[str, bytes]:
    """The raw files of MRPC by name, including GLUE's list of dev pairs."""
    grammar = _Grammar(random.Random(2005))
    pairs = {
        split: [p for _ in range(n) for p in grammar.told_pairs(split)] for split, n in MRPC_SETS.items()
    }
    train = grammar.shuffled([*pairs["train"], *pairs["val"]])
    ids = [f"{number}\t{number + 1}" for number in range(1, 2 * len([*train, *pairs["test"]]), 2)]
    rows = [f"{label}\t{i}\t{a}\t{b}\n" for i, (a, b, label) in zip(ids, [*train, *pairs["test"]])]
    dev = [f"{i}\n" for i, pair in zip(ids, train) if pair in pairs["val"]]
    header = "\t".join(mrpc.MRPC_COLUMNS) + "\n"
    return {
        mrpc.TRAIN: "".join([header, *rows[: len(train)]]).encode("utf-8-sig"),
        mrpc.TEST: "".join([header, *rows[len(train) :]]).encode("utf-8-sig"),
        mrpc.DEV_IDS[0]: "".join(dev).encode(),
    }


class _Grammar(Grammar):
    def __init__(self, source: random.Random) -> None:
        super().__init__(source)
        events = self.shuffled(list(product(VERBS, AGENTS, PATIENTS)))
        self.held_out = set(events[: round(HELD_OUT * len(events))])

    def pairs(self, split: str) -> list[tuple[str, str, str, str]]:
        """Three pairs with the same words, one per label: unchanged, reversed, and with a bystander."""
        own = split == "test" and self.source.random() < 0.5
        while True:
            verbs = self.shuffled(VERBS)[:3]
            a, p = self.pick(AGENTS), self.pick(PATIENTS)
            if ((verbs[0], a, p) in self.held_out) != own:
                continue
            y, z = self.shuffled(BYSTANDERS)[:2]
            one, frame = Scene(a, p, y, z), self.frame()
            other = self.pick((Scene(a, y, p, z), Scene(a, z, y, p), Scene(y, p, a, z), Scene(z, p, y, a)))
            adjectives = [self.pick(("", "", self.pick(ADJECTIVES))) for _ in one]
            second = one.told(self.pick(SHORT), verbs)
            firsts = [scene.told(frame, verbs, adjectives) for scene in (one, Scene(p, a, y, z), other)]
            if self.take(*((first, second) for first in firsts)):
                return [(first, second, *judgment) for first, judgment in zip(firsts, JUDGMENTS)]

    def told_pairs(self, split: str) -> list[tuple[str, str, int]]:
        """Two pairs with the same words: a paraphrase and a reversed one."""
        source = self.pick(SOURCES)
        return [
            (f"{first}.", source.format(second), int(label == "ENTAILMENT"))
            for first, second, _, label in self.pairs(split)[:2]
        ]

    def frame(self) -> str:
        """A long frame with both bystanders after its first or its last noun, or one after each."""
        core = self.pick(LONG)
        after_first = self.pick((0, 1, 1, 2))
        if after_first == 1:
            first, last = self.pick(ONE), self.pick(ONE).replace("{y}", "{z}").replace("{w}", "{u}")
        else:
            both = self.pick(TWO)
            first, last = (both, "") if after_first == 2 else ("", both)
        if first.endswith("{w}") and " was " not in core:
            first += " then"  # two adjacent verbs are hard to parse
        return core.replace("{first}", first).replace("{last}", last)
