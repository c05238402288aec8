"""A few sentences with marked spans in the layouts of their corpora, whose labels can be learned."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

_NOUNS = ("fire", "flood", "storm", "fever", "war", "frost")
_VERBS = (
    ("caused a", "Cause-Effect(e1,e2)"),
    ("followed a", "Cause-Effect(e2,e1)"),
    ("met a", "Other"),
)


def write_tiny_semeval2010(root: str | os.PathLike[str]) -> dict[str, str]:
    """Writes a file of 30 sentences to train on and one of 12 to test on below ``root``; returns the settings
    that load them. The verb between the marks says what the label is.
    """
    folder = Path(root, "raw")
    folder.mkdir(parents=True, exist_ok=True)
    for name, first, size in (("TRAIN_FILE.TXT", 1, 30), ("TEST_FILE_FULL.TXT", 8001, 12)):
        blocks = [_block(first + number, number) for number in range(size)]
        (folder / name).write_text("".join(blocks), encoding="utf-8", newline="")
    return {"root": str(root)}


def _block(number: int, place: int) -> str:
    verb, label = _VERBS[place % 3]
    first, second = _NOUNS[place % 6], _NOUNS[(place // 6 + place + 1) % 6]
    lines = (
        f'{number}\t"The old <e1>{first}</e1> {verb} <e2>{second}</e2>."',
        label,
        "Comment: self-written",
        "",
    )
    return "".join(f"{line}\r\n" for line in lines)


def write_tiny_conll04(root: str | os.PathLike[str]) -> dict[str, str]:
    """Writes 24 sentences to train on, 6 for validation and 8 to test on, and returns their settings. The
    second word says how the first entity is related to the second.
    """
    folder = Path(root, "raw")
    folder.mkdir(parents=True, exist_ok=True)
    for name, size in (("train", 24), ("dev", 6), ("test", 8)):
        content = json.dumps([_news(number) for number in range(size)])
        (folder / f"conll04_{name}.json").write_text(content, encoding="utf-8")
    return {"root": str(root)}


def _news(number: int) -> dict[str, object]:
    verb, label = (("shot", "Kill"), ("inhabits", "Live_In"), ("saw", None))[number % 3]
    entities = [{"type": "Peop", "start": 0, "end": 1}, {"type": "Loc", "start": 2, "end": 3}]
    relations = [{"type": label, "head": 0, "tail": 1}] if label else []
    words = [f"Ann{number % 5}", verb, f"Bern{number % 4}", "."]
    return {"tokens": words, "entities": entities, "relations": relations}


def write_tiny_aspects(root: str | os.PathLike[str]) -> dict[str, str]:
    """Writes 24 reviews of restaurants to train on and 8 to test on, and returns their settings. The last
    word says what is thought of the term.
    """
    folder = Path(root, "raw")
    folder.mkdir(parents=True, exist_ok=True)
    for name, size in (("Train", 24), ("Test_Gold", 8)):
        sentences = "".join(_review(number) for number in range(size))
        text = (
            f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<sentences>\n{sentences}</sentences>\n'
        )
        (folder / f"Restaurants_{name}.xml").write_text(text, encoding="utf-8")
    return {"root": str(root)}


def _review(number: int) -> str:
    word, polarity = (("fine", "positive"), ("awful", "negative"), ("there", "neutral"))[number % 3]
    term = ("fried fish", "soup", "waiter", "wine list")[number % 4]
    place = f'term="{term}" polarity="{polarity}" from="4" to="{4 + len(term)}"'
    return (
        f'<sentence id="{number}"><text>The {term} was {word}.</text>\n'
        f"<aspectTerms><aspectTerm {place}/></aspectTerms></sentence>\n"
    )


def tiny_span_rows(*, trees: bool = False, num_spans: int = 2) -> list[dict[str, Any]]:
    """15 sentences of one's own as objects of JSON lines; the verb says what the label is.

    Args:
        trees: Each has a tree, the verb its root. (default: :obj:`False`)
        num_spans: 1 marks what is before the verb, 2 what is behind it as well. (default: :obj:`2`)
    """
    rows = []
    for number, first in enumerate(_NOUNS[:5]):
        for verb, label in (("makes", "cause"), ("needs", "effect"), ("sees", "none")):
            words = [first, verb, "big", _NOUNS[number - 1]]
            rows.append({"words": words, "spans": [[0, 1], [2, 4]][:num_spans], "label": label})
    tree = {"head": [2, 0, 4, 2], "deprel": ["nsubj", "root", "amod", "obj"]}
    return [row | tree for row in rows] if trees else rows


def write_span_rows(path: str | os.PathLike[str], rows: list[dict[str, Any]]) -> str:
    """Writes objects as JSON lines; returns the path."""
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    Path(path).write_text(lines, encoding="utf-8")
    return str(path)
