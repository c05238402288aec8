"""DailyDialog: conversations of daily life, from sites for learners of English."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Unpack

from graphdep.datasets.base.raw import check_words, read_lines, row_error
from graphdep.datasets.dialogues.dialogue_dataset import Dialogue, DialogueDataset
from graphdep.datasets.dialogues.dialogue_options import DialogueOptions
from graphdep.parsing import Parser

NAMES = {"train": "train", "val": "validation", "test": "test"}
LABELS = ("act", "emotion")
END = "__eou__"
# In the published training file one turn has this control character at its end.
_REPAIRS = {"\x7f": " "}


class DailyDialog(DialogueDataset):
    r"""The dialogues of `"DailyDialog: A Manually Labelled Multi-turn Dialogue Dataset"
    <https://aclanthology.org/I17-1099/>`_, one example a response.

    Every turn but the first of a dialogue is the response to the up to :obj:`max_turns` turns before it. A
    turn is one tree (:func:`join_sentences`), cut after :obj:`max_words` words
    (:func:`~graphdep.sentence.sentence.truncate`).

    The files of acts and emotions are not needed. Where they are there, a dialogue with another number of
    labels than turns is a warning; it is loaded, for the labels are not used.

    Test and val share many dialogues with train: see :attr:`train_overlap` and the option of that name in
    :class:`DialogueDataset`, which says what an example holds.

    Args:
        root: Folder of the corpus; ``datasets/mini`` has self-written dialogues. (default:
            ``"datasets/dailydialog"``)
        split: ``"train"``, ``"val"`` or ``"test"``. (default: ``"train"``)
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser. (default: ``"bundled"``)
        options: Further ones, see :class:`DialogueOptions`; the files of :obj:`raw_from` are
            ``dialogues_train.txt``, ``dialogues_validation.txt`` and ``dialogues_test.txt``: in it, or in its
            folders ``train``, ``validation`` and ``test``.

    Raises:
        FileNotFoundError: If a raw file is missing; the message says where to get it.
        ValueError: If an option is wrong, or a line of a raw file is damaged: the message has file, line and
            value.

    Example:
        >>> from graphdep.datasets import DailyDialog
        >>> dataset = DailyDialog("datasets/mini", split="val", parser="chain", limit=10)
        >>> len(dataset), int(dataset[0].utterance.max()) + 1  # turns of the context
        (10, 1)
    """

    corpus = "DailyDialog"
    published = "http://yanran.li/dailydialog"

    def __init__(
        self,
        root: str | os.PathLike[str] = "datasets/dailydialog",
        split: str = "train",
        parser: str | Parser = "bundled",
        **options: Unpack[DialogueOptions],
    ) -> None:
        super().__init__(root, split, parser, **options)

    def raw_files(self, folder: Path, split: str) -> list[Path]:
        return daily_dialog_files(folder, split)

    def raw_file_pattern(self, split: str) -> str:
        return f"dialogues_{NAMES[split]}.txt"

    def read(self, folder: Path, split: str) -> list[Dialogue]:
        return read_daily_dialog(*self.raw_files(folder, split))


def daily_dialog_files(folder: Path, split: str) -> list[Path]:
    """A split's file of dialogues, in ``folder`` or in one of its folders, and the files of its labels."""
    name = NAMES[split]
    for place in (folder, folder / name, folder / "ijcnlp_dailydialog" / name):
        path = place / f"dialogues_{name}.txt"
        if path.is_file():
            labels = [place / f"dialogues_{kind}_{name}.txt" for kind in LABELS]
            return [path, *(file for file in labels if file.is_file())]
    return []


def read_daily_dialog(path: Path, *labels: Path) -> list[Dialogue]:
    """The dialogues of a raw file, one a line, with a warning where the files of labels do not fit.

    Raises:
        ValueError: If a line is damaged, with file, line and value, or a file of labels has another number of
            lines.
    """
    lines = list(read_lines(path, repairs=_REPAIRS))
    dialogues = [_turns(path, line, text) for line, text in lines]
    odd: list[list[str]] = [[] for _ in dialogues]
    for file in labels:
        counts = [_count(file, line, text) for line, text in read_lines(file)]
        if len(counts) != len(dialogues):
            raise row_error(file, len(counts), f"the last line, but {path.name} has {len(dialogues)} lines")
        for turns, count, found in zip(dialogues, counts, odd):
            if count != len(turns):
                found.append(f"{count} labels in {file.name}")
    return [
        Dialogue(turns, f"{path.name}:{line}: {len(turns)} turns, but {', '.join(found)}" if found else None)
        for (line, _), turns, found in zip(lines, dialogues, odd)
    ]


def _turns(path: Path, line: int, text: str) -> list[str]:
    turns = [turn.strip() for turn in text.split(END)]
    if turns.pop():
        raise row_error(path, line, f"the last turn does not end with {END}", text[-40:])
    if not turns:
        raise row_error(path, line, "no dialogue", text)
    if "" in turns:
        raise row_error(path, line, f"turn {turns.index('') + 1} is empty", text)
    for number, turn in enumerate(turns, start=1):
        check_words(path, line, f"turn {number}", turn)
    return turns


def _count(path: Path, line: int, text: str) -> int:
    labels = text.split()
    for label in labels:
        if not (label.isascii() and label.isdigit()):
            raise row_error(path, line, "labels must be whole numbers", label)
    return len(labels)
