"""EmpatheticDialogues: conversations about an emotional situation."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from graphdep.datasets.dialogue_dataset import Dialogue, DialogueDataset
from graphdep.datasets.layouts import choose_layout
from graphdep.datasets.raw import read_lines, row_error
from graphdep.parsing import Parser
from graphdep.vocab import RelationVocab, Vocab

LAYOUTS = ("published", "by-emotion")
NAMES = {"train": "train", "val": "valid", "test": "test"}
HEADER = ("conv_id", "utterance_idx", "context", "prompt", "speaker_idx", "utterance", "selfeval", "tags")
EMOTION_HEADER = ("Dialog_ID", "Type", "Actor", "Text")
EMOTIONS = """afraid angry annoyed anticipating anxious apprehensive ashamed caring confident content
devastated disappointed disgusted embarrassed excited faithful furious grateful guilty hopeful impressed
jealous joyful lonely nostalgic prepared proud sad sentimental surprised terrified trusting""".split()


class EmpatheticDialogues(DialogueDataset):
    r"""The dialogues of `"Towards Empathetic Open-domain Conversation Models: a New Benchmark and Dataset"
    <https://aclanthology.org/P19-1534/>`_, one example a response.

    Every turn but the first of a dialogue, whoever speaks, is the response to the up to :obj:`max_turns`
    turns before it. A turn is one tree (:func:`join_sentences`), cut after :obj:`max_words` words
    (:func:`~graphdep.truncation.truncate`). The situation that a dialogue is about is not used.

    There are two layouts. ``"published"`` is ``train.csv``, ``valid.csv`` and ``test.csv``. ``"by-emotion"``
    is a file for each emotion, ``afraid.csv`` to ``trusting.csv``, and ``split_ids_train.txt``,
    ``split_ids_valid.txt`` and ``split_ids_test.txt`` with the dialogues of each split.

    See :class:`DialogueDataset` for what an example holds.

    Args:
        root: Folder of the corpus. (default: ``"datasets/empatheticdialogues"``)
        split: ``"train"``, ``"val"`` or ``"test"``. (default: ``"train"``)
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser. (default: ``"bundled"``)
        layout: ``"published"`` or ``"by-emotion"``; :obj:`None` for that of :obj:`raw_from`, else for the
            only one below :obj:`root`. (default: :obj:`None`)
        raw_from: Local folder with the raw files; those of the emotions may be in its folder ``by_emotion``.
            (default: :obj:`None`)
        max_turns: The number of turns of a context, the last ones. (default: :obj:`4`)
        max_words: The number of words of a turn, the first ones. (default: :obj:`50`)
        vocab: Vocabulary; :obj:`None` builds it from the training split. (default: :obj:`None`)
        relations: Ids of relations. (default: a fresh :class:`~graphdep.RelationVocab`)
        min_freq: Words seen less often are unknown, where the vocabulary is built. (default: :obj:`3`)
        lower: Look words up in lower case, where the vocabulary is built. (default: :obj:`True`)
        overlap: ``"keep"`` or ``"drop"``: whether to leave out the examples of val and test whose last turn
            and response follow each other in the training split, too. (default: ``"keep"``)
        pieces: Size of a vocabulary of pieces of words; :obj:`None` for words. (default: :obj:`None`)
        limit: Use the first examples of the split only; acts before parsing. (default: :obj:`None`)
        transform, pre_transform, pre_filter, log, force_reload: As in :class:`ParsedDataset`.

    Raises:
        FileNotFoundError: If a raw file is missing; the message says where to get it.
        ValueError: If an option is wrong, both layouts are there and none is chosen, or a row of a raw file
            is damaged: the message has file, line and value.
    """

    corpus = "EmpatheticDialogues"
    published = "https://dl.fbaipublicfiles.com/parlai/empatheticdialogues/empatheticdialogues.tar.gz"

    def __init__(
        self,
        root: str | os.PathLike[str] = "datasets/empatheticdialogues",
        split: str = "train",
        parser: str | Parser = "bundled",
        *,
        layout: str | None = None,
        raw_from: str | os.PathLike[str] | None = None,
        max_turns: int = 4,
        max_words: int = 50,
        vocab: Vocab | None = None,
        relations: RelationVocab | None = None,
        min_freq: int = 3,
        lower: bool = True,
        overlap: str = "keep",
        pieces: int | None = None,
        limit: int | None = None,
        transform: Callable | None = None,
        pre_transform: Callable | None = None,
        pre_filter: Callable | None = None,
        log: bool = True,
        force_reload: bool = False,
    ) -> None:
        self.layout = choose_layout(
            layout, LAYOUTS, raw_from, root, to_copy=_layouts_in, copied=_layouts_below
        )
        super().__init__(
            root,
            split,
            parser,
            raw_from=raw_from,
            max_turns=max_turns,
            max_words=max_words,
            vocab=vocab,
            relations=relations,
            min_freq=min_freq,
            lower=lower,
            overlap=overlap,
            pieces=pieces,
            limit=limit,
            transform=transform,
            pre_transform=pre_transform,
            pre_filter=pre_filter,
            log=log,
            force_reload=force_reload,
        )

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
        return f"split_ids_{NAMES[split]}.txt with afraid.csv ... trusting.csv"

    def read(self, folder: Path, split: str) -> list[Dialogue]:
        files = self.raw_files(folder, split)
        return read_published(files[0]) if self.layout == "published" else read_by_emotion(*files)


def read_published(path: Path) -> list[Dialogue]:
    """The dialogues of a published file, whose rows are not quoted: a comma in a text is ``_comma_``.

    Raises:
        ValueError: If a row is damaged, with file, line and value.
    """
    dialogues: list[Dialogue] = []
    last = None
    for line, row, text in _published_rows(path):
        conversation, number = row[0], row[1]
        if conversation != last:
            dialogues.append(Dialogue([]))
            last = conversation
        turns = dialogues[-1].turns
        if number != str(len(turns) + 1):
            raise row_error(path, line, f"utterance_idx must be {len(turns) + 1} in {conversation}", number)
        turns.append(_turn(path, line, row[5].replace("_comma_", ","), text))
    return dialogues


def _published_rows(path: Path) -> Iterator[tuple[int, list[str], str]]:
    """Rows of eight columns; the test file has a ninth of candidates in some, which is not used."""
    lines = read_lines(path)
    _check_header(path, next(lines)[1], HEADER)
    empty = True
    for line, text in lines:
        empty = False
        row = text.split(",")
        if len(row) not in (len(HEADER), len(HEADER) + 1):
            raise row_error(
                path, line, f"{len(row)} columns separated by commas instead of {len(HEADER)}", text
            )
        yield line, row, text
    if empty:
        raise row_error(path, 1, "no row below the header")


def read_by_emotion(ids: Path, *emotions: Path) -> list[Dialogue]:
    """The dialogues that a file of ids names, in its order, from the files of all emotions.

    Raises:
        ValueError: If a row is damaged, or a dialogue is missing or twice there, with file, line and value.
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
    return list(dialogues.values())


def _add_emotion(path: Path, found: dict[str, list[str]]) -> None:
    """Adds the turns of the dialogues of one emotion."""
    own: set[str] = set()
    for line, row in _emotion_rows(path):
        if len(row) != len(EMOTION_HEADER):
            raise row_error(path, line, f"{len(row)} columns instead of {len(EMOTION_HEADER)}", ",".join(row))
        name, kind, _, text = row
        if kind not in ("situation", "utterance"):
            raise row_error(path, line, "Type must be situation or utterance", kind)
        if name in found and name not in own:
            raise row_error(path, line, "a dialogue of that id is in another file, too", name)
        own.add(name)
        turns = found.setdefault(name, [])
        if kind == "utterance":
            turns.append(_turn(path, line, text, text))


def _emotion_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    lines = [text for _, text in read_lines(path)]
    _check_header(path, lines[0], EMOTION_HEADER)
    reader = csv.reader(lines, strict=True)
    try:
        next(reader)
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        raise row_error(path, reader.line_num, f"bad quotes ({error})", lines[reader.line_num - 1]) from None


def _check_header(path: Path, first: str, columns: tuple[str, ...]) -> None:
    if first != ",".join(columns):
        raise row_error(path, 1, f"the header must be {','.join(columns)}", first)


def _turn(path: Path, line: int, utterance: str, row: str) -> str:
    if not utterance.strip():
        raise row_error(path, line, "the utterance is empty", row)
    return utterance.strip()


def _files(folder: Path, split: str, layout: str) -> list[Path]:
    """The files of a split, all of them or none."""
    if layout == "published":
        path = folder / f"{NAMES[split]}.csv"
        return [path] if path.is_file() else []
    place = folder / "by_emotion" if (folder / "by_emotion").is_dir() else folder
    paths = [folder / f"split_ids_{NAMES[split]}.txt", *(place / f"{name}.csv" for name in EMOTIONS)]
    return paths if all(path.is_file() for path in paths) else []


def _layouts_in(folder: Path) -> list[str]:
    return [layout for layout in LAYOUTS if any(_files(folder, split, layout) for split in NAMES)]


def _layouts_below(raw: Path) -> list[str]:
    return [layout for layout in LAYOUTS if any(_files(raw / f"ed-{layout}", s, layout) for s in NAMES)]
