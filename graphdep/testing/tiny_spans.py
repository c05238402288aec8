"""A few sentences with marked spans in the layouts of their corpora, whose labels can be learned."""

from __future__ import annotations

import os
from pathlib import Path

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
