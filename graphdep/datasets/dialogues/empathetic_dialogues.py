"""EmpatheticDialogues: conversations about an emotional situation."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any, Unpack

from graphdep.datasets.base.layouts import choose_layout
from graphdep.datasets.base.parsed_dataset import Example
from graphdep.datasets.base.raw import check_words, read_csv, read_lines, row_error
from graphdep.datasets.dialogues.dialogue_dataset import Dialogue, DialogueDataset
from graphdep.datasets.dialogues.dialogue_options import DialogueOptions
from graphdep.parsing import Parser

logger = logging.getLogger("graphdep.datasets")

LAYOUTS = ("published", "by-emotion")
NAMES = {"train": "train", "val": "valid", "test": "test"}
HEADER = ("conv_id", "utterance_idx", "context", "prompt", "speaker_idx", "utterance", "selfeval", "tags")
EMOTION_HEADER = ("Dialog_ID", "Type", "Actor", "Text")
EMOTIONS = """afraid angry annoyed anticipating anxious apprehensive ashamed caring confident content
devastated disappointed disgusted embarrassed excited faithful furious grateful guilty hopeful impressed
jealous joyful lonely nostalgic prepared proud sad sentimental surprised terrified trusting""".split()
# What columns around the utterance look like.
_FORMS = (
    ("speaker_idx", re.compile("[0-9]+"), "a whole number"),
    ("selfeval", re.compile("[0-9|_]*"), "digits, | and _"),
)


class EmpatheticDialogues(DialogueDataset):
    r"""The dialogues of `"Towards Empathetic Open-domain Conversation Models: a New Benchmark and Dataset"
    <https://aclanthology.org/P19-1534/>`_, one example a response.

    Every turn but the first of a dialogue, whoever speaks, is the response to the up to :obj:`max_turns`
    turns before it. A turn is one tree (:func:`join_sentences`), cut after :obj:`max_words` words
    (:func:`~graphdep.sentence.sentence.truncate`). The situation that a dialogue is about is not used.

    There are two layouts. ``"published"`` is ``train.csv``, ``valid.csv`` and ``test.csv``. ``"by-emotion"``
    is a file for each emotion, ``afraid.csv`` to ``trusting.csv``, and ``split_ids_train.txt``,
    ``split_ids_valid.txt`` and ``split_ids_test.txt`` with the dialogues of each split. Dialogues that no
    split has are not used; :attr:`unlisted_dialogues` and :meth:`describe` count them (:obj:`None` where a
    list of ids is not there).

    See :class:`DialogueDataset` for what an example holds.

    Args:
        root: Folder of the corpus. (default: ``"datasets/empatheticdialogues"``)
        split: ``"train"``, ``"val"`` or ``"test"``. (default: ``"train"``)
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser. (default: ``"bundled"``)
        layout: ``"published"`` or ``"by-emotion"``; :obj:`None` for that of :obj:`raw_from`, else for the
            only one below :obj:`root`. (default: :obj:`None`)
        options: Further ones, see :class:`DialogueOptions`; in :obj:`raw_from` the files of the emotions may
            be in a folder ``by_emotion``.

    Raises:
        FileNotFoundError: If a raw file is missing; the message says where to get it.
        ValueError: If an option is wrong, both layouts are there and none is chosen, or a row of a raw file
            is damaged: the message has file, line and value.

    Example:
        >>> from graphdep.datasets import EmpatheticDialogues
        >>> dataset = EmpatheticDialogues("datasets/empatheticdialogues", split="val", parser="chain")
        >>> len(dataset), int(dataset[0].utterance.max()) + 1  # turns of the context
        (2, 1)
    """

    unlisted_dialogues: int | None
    corpus = "EmpatheticDialogues"
    published = "https://dl.fbaipublicfiles.com/parlai/empatheticdialogues/empatheticdialogues.tar.gz"

    def __init__(
        self,
        root: str | os.PathLike[str] = "datasets/empatheticdialogues",
        split: str = "train",
        parser: str | Parser = "bundled",
        *,
        layout: str | None = None,
        **options: Unpack[DialogueOptions],
    ) -> None:
        self.layout = choose_layout(
            layout, LAYOUTS, options.get("raw_from"), root, to_copy=_layouts_in, copied=_layouts_below
        )
        super().__init__(root, split, parser, **options)

    @property
    def raw_dir(self) -> str:
        """A folder of its own for each layout."""
        return str(Path(self.root, "raw", f"ed-{self.layout}"))

    def options(self) -> dict[str, object]:
        return super().options() | {"layout": self.layout}

    def raw_files(self, folder: Path, split: str) -> list[Path]:
        return _files(folder, split, self.layout)

    def raw_file_pattern(self, split: str) -> str:
        if self.layout == "published":
            return f"{NAMES[split]}.csv"
        return f"{_ids_file(split)} with afraid.csv ... trusting.csv"

    def read(self, folder: Path, split: str) -> list[Dialogue]:
        files = self.raw_files(folder, split)
        if self.layout == "published":
            self.unlisted_dialogues = 0
            return read_published(files[0], candidates=split != "train")
        dialogues, self.unlisted_dialogues = read_by_emotion(*files)
        return dialogues

    def notes(self, examples: list[Example]) -> dict[str, Any]:
        return super().notes(examples) | {"unlisted_dialogues": self.unlisted_dialogues}

    def restore(self, notes: dict[str, Any]) -> None:
        super().restore(notes)
        self.unlisted_dialogues = notes["unlisted_dialogues"]
        if self.unlisted_dialogues:
            logger.warning(
                "%s (%s): %d dialogues are in no split", self.corpus, self.split, self.unlisted_dialogues
            )

    def _describe_loading(self) -> dict[str, Any]:
        return super()._describe_loading() | {"unlisted_dialogues": self.unlisted_dialogues}


def read_published(path: Path, *, candidates: bool = False) -> list[Dialogue]:
    """The dialogues of a published file, whose rows are not quoted: a comma in a text is ``_comma_``.

    Args:
        path: The file.
        candidates: Whether rows may have a ninth column, of candidates, as in val and test. It is not used.
            (default: :obj:`False`)

    Raises:
        ValueError: If a row is damaged, or those of a dialogue do not follow one another, with file, line
            and value.
    """
    dialogues: dict[str, Dialogue] = {}
    last = None
    for line, row, text in _published_rows(path, candidates):
        conversation, number = row[0], row[1]
        if conversation != last:
            _check_new(path, line, conversation, dialogues)
            dialogues[conversation] = Dialogue([])
            last = conversation
        turns = dialogues[conversation].turns
        if number != str(len(turns) + 1):
            raise row_error(path, line, f"utterance_idx must be {len(turns) + 1} in {conversation}", number)
        turns.append(_turn(path, line, row[5].replace("_comma_", ","), text))
    return list(dialogues.values())


def _published_rows(path: Path, candidates: bool) -> Iterator[tuple[int, list[str], str]]:
    """Rows of eight columns, or nine with candidates."""
    lines = read_lines(path)
    _check_header(path, next(lines)[1], HEADER)
    empty = True
    for line, text in lines:
        empty = False
        row = text.split(",")
        if len(row) not in (len(HEADER), len(HEADER) + candidates):
            raise row_error(
                path, line, f"{len(row)} columns separated by commas instead of {len(HEADER)}", text
            )
        # A stray comma shifts the columns after it.
        for column, form, what in _FORMS:
            value = row[HEADER.index(column)]
            if not form.fullmatch(value):
                raise row_error(path, line, f"{column} must be {what}; is there a comma in a text?", value)
        yield line, row, text
    if empty:
        raise row_error(path, 1, "no row below the header")


def read_by_emotion(ids: Path, *emotions: Path) -> tuple[list[Dialogue], int | None]:
    """The dialogues that a file of ids names, in its order, from the files of all emotions.

    The lists of the other splits are read where they are beside that file.

    Returns:
        The dialogues, and how many others are in no split; :obj:`None` where a list is not there.

    Raises:
        ValueError: If a row is damaged, or a dialogue is missing, twice there, in two splits or in pieces,
            with file, line and value.
    """
    found: dict[str, list[str]] = {}
    for path in emotions:
        _add_emotion(path, found)
    dialogues: dict[str, Dialogue] = {}
    for line, name in read_lines(ids):
        if not found.get(name):
            raise row_error(ids, line, f"no dialogue of that id in the {len(emotions)} other files", name)
        if name in dialogues:
            raise row_error(ids, line, "the id is twice there", name)
        dialogues[name] = Dialogue(found[name])
    named, lists = set(dialogues), [ids.with_name(_ids_file(split)) for split in NAMES]
    others = [path for path in lists if path != ids and path.is_file()]
    for path in others:
        names = dict(read_lines(path))
        for line, name in names.items():
            if name in dialogues:
                raise row_error(path, line, f"the id is in {ids.name}, too", name)
        named.update(names.values())
    return list(dialogues.values()), len(found.keys() - named) if len(others) == len(lists) - 1 else None


def _add_emotion(path: Path, found: dict[str, list[str]]) -> None:
    """Adds the turns of the dialogues of one emotion."""
    own: set[str] = set()
    last = None
    for line, row in _emotion_rows(path):
        if len(row) != len(EMOTION_HEADER):
            raise row_error(path, line, f"{len(row)} columns instead of {len(EMOTION_HEADER)}", ",".join(row))
        name, kind, _, text = row
        if kind not in ("situation", "utterance"):
            raise row_error(path, line, "Type must be situation or utterance", kind)
        if name in found and name not in own:
            raise row_error(path, line, "a dialogue of that id is in another file, too", name)
        if name != last:
            _check_new(path, line, name, own)
            last = name
        own.add(name)
        turns = found.setdefault(name, [])
        if kind == "utterance":
            turns.append(_turn(path, line, text.replace("\n", " "), text))


def _emotion_rows(path: Path) -> list[tuple[int, list[str]]]:
    """The rows below the header, each with the line on which it starts: a quoted text may have several."""
    rows = read_csv(path)
    _check_header(path, ",".join(rows[0][1]), EMOTION_HEADER)
    return rows[1:]


def _check_new(path: Path, line: int, name: str, seen: Container[str]) -> None:
    if name in seen:
        raise row_error(path, line, "the rows of a dialogue must follow one another", name)


def _check_header(path: Path, first: str, columns: tuple[str, ...]) -> None:
    if first != ",".join(columns):
        raise row_error(path, 1, f"the header must be {','.join(columns)}", first)


def _turn(path: Path, line: int, utterance: str, row: str) -> str:
    if not utterance.strip():
        raise row_error(path, line, "the utterance is empty", row)
    check_words(path, line, "the utterance", utterance)
    return utterance.strip()


def _ids_file(split: str) -> str:
    return f"split_ids_{NAMES[split]}.txt"


def _files(folder: Path, split: str, layout: str) -> list[Path]:
    """The files of a split, all of them or none."""
    if layout == "published":
        path = folder / f"{NAMES[split]}.csv"
        return [path] if path.is_file() else []
    place = folder / "by_emotion" if (folder / "by_emotion").is_dir() else folder
    paths = [folder / _ids_file(split), *(place / f"{name}.csv" for name in EMOTIONS)]
    return paths if all(path.is_file() for path in paths) else []


def _layouts_in(folder: Path) -> list[str]:
    return [layout for layout in LAYOUTS if any(_files(folder, split, layout) for split in NAMES)]


def _layouts_below(raw: Path) -> list[str]:
    return [layout for layout in LAYOUTS if any(_files(raw / f"ed-{layout}", s, layout) for s in NAMES)]
