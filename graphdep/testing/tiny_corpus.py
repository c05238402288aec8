"""A few sentences in the formats of SICK and SST with known trees: runs and commands without a parser."""

from __future__ import annotations

import os
from pathlib import Path

from graphdep.io import write_conllu
from graphdep.sentence import Sentence

_NAMES = ("ann", "bob", "cid", "dan")
_HEADER = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
_FILES = {"SICK_train.txt": 24, "SICK_trial.txt": 10, "SICK_test_annotated.txt": 12}


def write_tiny_sick(root: str | os.PathLike[str]) -> dict[str, str]:
    """Writes raw files and trees below ``root``; returns the settings that load them."""
    root = Path(root)
    (root / "raw").mkdir(parents=True, exist_ok=True)
    trees: dict[str, Sentence] = {}
    for name, size in _FILES.items():
        rows = [_pair(number) for number in range(size)]
        for row in rows:
            for text in row[1:3]:
                trees[text] = Sentence(text.split(), [2, 0, 2], ["nsubj", "root", "obj"])
        content = _HEADER + "".join("\t".join(row) + "\n" for row in rows)
        (root / "raw" / name).write_text(content, encoding="utf-8")
    write_conllu(trees.values(), root / "trees.conllu")
    return {"root": str(root), "parser": f"conllu:{root / 'trees.conllu'}"}


def write_tiny_sst(root: str | os.PathLike[str]) -> dict[str, str]:
    """As :func:`write_tiny_sick`, single sentences with a label."""
    root = Path(root)
    raw = root / "raw" / "sst-sentence"
    raw.mkdir(parents=True, exist_ok=True)
    trees: dict[str, Sentence] = {}
    for name, size in (("train", 24), ("dev", 10), ("test", 12)):
        rows = [_opinion(number) for number in range(size)]
        trees |= {text: Sentence(text.split(), [2, 0, 2], ["nsubj", "root", "obj"]) for text, _ in rows}
        content = "".join(f"{text}\t{label}\n" for text, label in rows)
        (raw / f"{name}.tsv").write_text(content, encoding="utf-8")
    write_conllu(trees.values(), root / "trees.conllu")
    return {"root": str(root), "parser": f"conllu:{root / 'trees.conllu'}"}


def write_tiny_selection(root: str | os.PathLike[str]) -> dict[str, str]:
    """As :func:`write_tiny_sick`, contexts and candidates in the layout of Ubuntu's first version: the right
    response is about whom the context ends with.
    """
    root = Path(root)
    raw = root / "raw" / "ubuntu-v1"
    raw.mkdir(parents=True, exist_ok=True)
    turns: set[str] = set()
    for name, size, wrong in (("train", 24, 1), ("valid", 4, 9), ("test", 5, 9)):
        rows = [row for number in range(size) for row in _pool(number, wrong)]
        turns |= {turn for row in rows for turn in row[1:]}
        content = "".join("\t".join(row) + "\n" for row in rows)
        (raw / f"{name}.txt").write_text(content, encoding="utf-8")
    trees = [Sentence(turn.split(), [2, 0, 2], ["nsubj", "root", "obj"]) for turn in sorted(turns)]
    write_conllu(trees, root / "trees.conllu")
    return {"root": str(root), "parser": f"conllu:{root / 'trees.conllu'}"}


def _pool(number: int, wrong: int) -> list[tuple[str, ...]]:
    first, second, third = (_NAMES[(number + step) % 4] for step in (0, 1 + number // 4 % 3, 2 + number % 2))
    context = (f"{first} saw {second}",) if number % 2 else (f"{third} met {first}", f"{first} saw {second}")
    right, *others = sorted(
        (f"{a} met {b}" for a in _NAMES for b in _NAMES if a != b),
        key=lambda text: not text.startswith(second),
    )
    turned = others[2:][number % 9 :] + others[2:][: number % 9]  # the first two are right as well
    return [("1", *context, right), *(("0", *context, text) for text in turned[:wrong])]


def _opinion(number: int) -> tuple[str, int]:
    return f"{_NAMES[number % 4]} {('hates', 'likes')[number % 2]} {_NAMES[number // 4 % 4]}", number % 2


def _pair(number: int) -> tuple[str, str, str, str, str]:
    a, b = _NAMES[number % 4], _NAMES[(number // 4 + 1 + number % 4) % 4]
    first, turned = f"{a} saw {b}", f"{b} saw {a}"
    if number % 3 == 0:
        return str(number + 1), first, first, "4.8", "ENTAILMENT"
    if number % 3 == 1:
        return str(number + 1), first, turned, "1.7", "CONTRADICTION"
    return str(number + 1), first, f"{a} saw eve", "3.1", "NEUTRAL"


def write_tiny_dialogues(root: str | os.PathLike[str]) -> dict[str, str]:
    """As :func:`write_tiny_sick`, dialogues in the layout of DailyDialog."""
    root = Path(root)
    trees: dict[str, Sentence] = {}
    for split, size in (("train", 12), ("validation", 4), ("test", 5)):
        dialogues = [_dialogue(number, turns=2 + number % 3) for number in range(size)]
        for text in (turn for turns in dialogues for turn in turns):
            trees[text] = Sentence(text.split(), [2, 0, 2], ["nsubj", "root", "obj"])
        path = root / "raw" / split / f"dialogues_{split}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [" ".join(f"{turn} __eou__" for turn in turns) + "\n" for turns in dialogues]
        path.write_text("".join(lines), encoding="utf-8")
    write_conllu(trees.values(), root / "dialogues.conllu")
    return {"root": str(root), "parser": f"conllu:{root / 'dialogues.conllu'}"}


def _dialogue(number: int, turns: int) -> list[str]:
    names = [_NAMES[(number + turn) % 4] for turn in range(turns + 1)]
    return [f"{names[turn]} {('saw', 'met')[turn % 2]} {names[turn + 1]}" for turn in range(turns)]
