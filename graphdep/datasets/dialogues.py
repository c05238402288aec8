"""DailyDialog and EmpatheticDialogues."""

from __future__ import annotations

import logging
import os
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, NamedTuple, Unpack, cast

import torch
from torch import Tensor
from torch_geometric.data import Data

from graphdep.data.node_table import join_utterances, utterance_data
from graphdep.datasets.base.parsed import Example, SavedOptions, TextDataset
from graphdep.datasets.base.raw import (
    ANY,
    NUMBER,
    TEXT,
    check_forms,
    choose_layout,
    expect,
    like,
    one_of,
    read_lines,
    read_table,
    row_error,
)
from graphdep.io.limits import check_choice, check_least
from graphdep.parsing.parser import Parser
from graphdep.sentence.sentence import Sentence, check_roots, truncate
from graphdep.vocab.pieces import PieceVocab
from graphdep.vocab.vocab import EOU_ID, UNK_ID, Vocab


class DialogueOptions(SavedOptions, total=False):
    """Options of every corpus of dialogues: those of :class:`SavedOptions`, and these.

    Args:
        max_turns: The largest number of turns in a context, the last ones. (default: :obj:`4`)
        max_words: The largest number of words in a turn, the first ones. (default: :obj:`50`)
        roots: In the tree of a turn of several sentences, ``"all"`` keeps all roots; with ``"first"`` the
            others depend on the first as ``parataxis`` (:func:`~graphdep.sentence.join_sentences`).
            (default: ``"all"``)
        overlap: ``"drop"`` leaves out examples of val and test whose last turn and response are adjacent in
            the training split, too; ``"keep"`` keeps them. (default: ``"keep"``)
        pieces: Size of a vocabulary of pieces (:class:`~graphdep.vocab.pieces.PieceVocab`), trained on the
            training split; :obj:`None` for words. (default: :obj:`None`)
        arcs, engine, relation_min_freq, constituents: As in
            :class:`~graphdep.datasets.base.parsed.ParsedOptions`. (default: ``"basic"``, ``"rules"``,
            :obj:`5`, :obj:`False`)
    """

    max_turns: int
    max_words: int
    roots: str
    overlap: str
    pieces: int | None
    arcs: str
    engine: str
    relation_min_freq: int
    constituents: bool


logger = logging.getLogger("graphdep.datasets")

# Separates the words of a turn in processed files; raw files do not have it.
_BETWEEN = "\x1f"


class Dialogue(NamedTuple):
    """A dialogue of a raw file: its turns, and a note on irregularities."""

    turns: list[str]
    warning: str | None = None


@dataclass(frozen=True)
class Turns:
    """The turns of a dialogue up to the last needed one, as raw texts and as trees."""

    texts: list[str]
    trees: list[Sentence]


@dataclass(frozen=True, kw_only=True)
class Response(Example):
    """An example: the trees of a context, and the place of the response in its dialogue."""

    dialogue: Turns
    turn: int


class DialogueDataset(TextDataset):
    r"""Base class of corpora of dialogues: every turn but the first is the response to the turns before it.

    A turn is one tree of at most :obj:`max_words` words (:func:`~graphdep.sentence.sentence.truncate`). The
    vocabulary is built from the training split, in which each turn counts once.

    A dialogue of one turn has no example; :meth:`describe` counts such dialogues.

    For val and test, :attr:`train_overlap` has the number of examples that occur in the training split:
    ``pairs`` of last turn and response, and ``responses`` only, with their shares, ignoring case and white
    space. It is :obj:`None` for train, and without a training file.

    Args:
        root, split, parser: As in :class:`TextDataset`.
        max_turns, max_words, min_freq, roots, overlap, pieces, vocab, options: See :class:`DialogueOptions`.

    Shapes:
        - the node table of :func:`graphdep.to_data` with ROOT nodes; ``position`` counts through the example
        - ``target_ids``: :math:`(T)`, long, the words or pieces of the response and ``[EOU]``
        - ``dialogue``, ``turn``: :math:`(1)`, long, the number of the dialogue among the loaded ones, and
          that of the response in the dialogue
    """

    shared_options = DialogueOptions
    train_overlap: dict[str, Any] | None
    warnings: list[str]
    one_turn_dialogues: int
    truncated_turns: int

    def __init__(
        self,
        root: str | os.PathLike[str],
        split: str,
        parser: str | Parser,
        *,
        max_turns: int = 4,
        max_words: int = 50,
        min_freq: int = 3,
        roots: str = "all",
        overlap: str = "keep",
        pieces: int | None = None,
        vocab: Vocab | None = None,
        **options: Any,
    ) -> None:
        check_least("max_turns", max_turns, 1)
        check_least("max_words", max_words, 1)
        check_overlap(overlap, split)
        has_words = pieces is not None and vocab is not None and not isinstance(vocab, PieceVocab)
        if has_words:
            raise ValueError(f"'pieces' is {pieces}, but 'vocab' has words (got {vocab!r})")
        check_roots(roots)
        self.max_turns, self.max_words, self.roots = max_turns, max_words, roots
        self.overlap, self.pieces = overlap, pieces
        if overlap == "drop":
            self.train_is_for = "overlap='drop' compares with it"
        super().__init__(root, split, parser, min_freq=min_freq, vocab=vocab, **options)

    @abstractmethod
    def read(self, folder: Path, split: str) -> list[Dialogue]:
        """The dialogues of the raw files of a split, checked but not parsed."""

    def options(self) -> dict[str, Any]:
        return super().options() | {
            "max_turns": self.max_turns,
            "max_words": self.max_words,
            "overlap": self.overlap,
            "pieces": self.pieces,
            **({} if self.roots == "first" else {"roots": self.roots}),  # keeps the names of older files
        }

    def context(self, number: int) -> list[list[str]]:
        """The words of each turn of an example's context, in their original case."""
        dialogue, turn = self._place(number)
        return [words.split(_BETWEEN) for words in self._words[dialogue][self._start(turn) : turn]]

    def response(self, number: int) -> list[str]:
        """The words of an example's response, in their original case."""
        dialogue, turn = self._place(number)
        return self._words[dialogue][turn].split(_BETWEEN)

    def raw_context(self, number: int) -> list[str]:
        """The turns of an example's context as in the raw file."""
        dialogue, turn = self._place(number)
        return self._texts[dialogue][self._start(turn) : turn]

    def raw_response(self, number: int) -> str:
        """An example's response as in the raw file."""
        dialogue, turn = self._place(number)
        return self._texts[dialogue][turn]

    def describe(self) -> dict[str, Any]:
        """As :meth:`ParsedDataset.describe`, with values for dialogues.

        ``unknown_words`` is the share of ``[UNK]`` among the words or pieces of the responses without
        ``[EOU]``, since perplexity depends on it; ``target_tokens`` includes one ``[EOU]`` per response.
        """
        if self._indices is not None:
            return self.copy().describe()
        return super().describe() | {
            "dialogues": int(self._data.dialogue.unique().numel()),
            "target_tokens": self._data.target_ids.numel(),
        }

    def _unknown_words(self) -> float:
        ids = self._data.target_ids
        return int((ids == UNK_ID).sum()) / (ids.numel() - self.len())

    def _describe_loading(self) -> dict[str, Any]:
        shares = self.train_overlap or {}
        return super()._describe_loading() | {
            "truncated_turns": self.truncated_turns,
            "one_turn_dialogues": self.one_turn_dialogues,
            "label_mismatches": len(self.warnings),
            "overlap_pairs": shares.get("pair_share"),
            "overlap_responses": shares.get("response_share"),
        }

    def examples(self, split: str, limit: int | None) -> list[Example]:
        drop = self.overlap == "drop" and split != "train"
        dialogues = self.read(Path(self.raw_dir), split)
        chosen = _Chosen(dialogues, limit, self._train_turns(split), drop)
        texts = [text for texts, _ in chosen.dialogues for text in texts]
        trees = iter(self.trees_of_texts(texts, self.roots))
        if split == self.split:
            self.train_overlap = chosen.overlap()
            self.warnings, self.one_turn_dialogues = chosen.warnings, chosen.one_turn
        examples: list[Example] = []
        for texts, responses in chosen.dialogues:
            dialogue = Turns(texts, [next(trees) for _ in texts])
            examples += [
                Response(
                    dialogue.trees[self._start(turn) : turn],
                    dialogue=dialogue,
                    turn=turn,
                    given=texts[: turn + 1],
                )
                for turn in responses
            ]
        return examples

    def make_vocab(self, examples: list[Example]) -> Vocab:
        turns = (self._cut(tree).form for dialogue in _dialogues(examples) for tree in dialogue.trees)
        if self.pieces is None:
            return Vocab.build(turns, min_freq=self.min_freq, lower=self.lower)
        return PieceVocab.train(turns, self.pieces, min_freq=self.min_freq, lower=self.lower)

    def make_data(self, examples: list[Example], vocab: Vocab) -> Iterator[Data]:
        for number, (dialogue, responses) in enumerate(_by_dialogue(examples)):
            # A turn is in several contexts, but made once.
            trees = [self._cut(tree) for tree in dialogue.trees]
            read: dict[str, Any] = {"arcs": self.arcs, "phrases": self.constituents}
            utterances = [
                utterance_data(tree, vocab, self.relations, **read, **self.to_data_options) for tree in trees
            ]
            targets = [_target(tree.form, vocab) for tree in trees]
            for response in responses:
                data = join_utterances(utterances[self._start(response.turn) : response.turn])
                data.target_ids = targets[response.turn]
                data.dialogue = torch.tensor([number])
                data.turn = torch.tensor([response.turn])
                yield data

    def notes(self, examples: list[Example]) -> dict[str, Any]:
        dialogues = _dialogues(examples)
        return {
            "texts": [dialogue.texts for dialogue in dialogues],
            "words": [[_BETWEEN.join(self._cut(tree).form) for tree in d.trees] for d in dialogues],
            "truncated_turns": sum(len(tree) > self.max_words for d in dialogues for tree in d.trees),
            "one_turn_dialogues": self.one_turn_dialogues,
            "warnings": self.warnings,
            "overlap": self.train_overlap,
        }

    def restore(self, notes: dict[str, Any]) -> None:
        self._texts: list[list[str]] = notes["texts"]
        self._words: list[list[str]] = notes["words"]
        self.truncated_turns = notes["truncated_turns"]
        self.one_turn_dialogues = notes["one_turn_dialogues"]
        self.warnings = notes["warnings"]
        self.train_overlap = notes["overlap"]
        for warning in self.warnings:
            logger.warning("%s (%s): %s", self.corpus, self.split, warning)

    def _needed(self) -> list[str]:
        # The overlap needs the training split; without overlap="drop" its file may be missing.
        train = self.overlap == "drop" or self.raw_files(Path(self.raw_dir), "train")
        return sorted({*super()._needed(), *(["train"] if train else [])})

    def _train_turns(self, split: str) -> list[list[str]] | None:
        folder = Path(self.raw_dir)
        if split == "train" or not self.raw_files(folder, "train"):
            return None
        return [dialogue.turns for dialogue in self.read(folder, "train")]

    def _place(self, number: int) -> tuple[int, int]:
        """The dialogue and the turn of an example, also in a slice."""
        index = self.indices()[number]
        return int(self._data.dialogue[index]), int(self._data.turn[index])

    def _start(self, turn: int) -> int:
        return max(0, turn - self.max_turns)

    def _cut(self, tree: Sentence) -> Sentence:
        return truncate(tree, self.max_words)


class _Chosen:
    """The responses of the examples: of all dialogues, or of the first ones up to a limit.

    ``dialogues`` has the turns of each dialogue, up to the last needed one, and the numbers of its responses.
    """

    def __init__(
        self, dialogues: list[Dialogue], limit: int | None, train: list[list[str]] | None, drop: bool
    ) -> None:
        self.dialogues: list[tuple[list[str], list[int]]] = []
        self.warnings: list[str] = []
        self.one_turn = self.seen = self.known_pairs = self.known_responses = 0
        self.known = None if train is None else _Known(train)
        left = sum(len(dialogue.turns) for dialogue in dialogues) if limit is None else limit
        for turns, warning in dialogues:
            if left == 0:
                break
            self.one_turn += len(turns) == 1
            self.warnings += [warning] if warning else []
            responses = []
            for turn in range(1, len(turns)):
                if left and not (self._is_known(turns[turn - 1 : turn + 1]) and drop):
                    responses.append(turn)
                    left -= 1
            if responses:
                self.dialogues.append((turns[: responses[-1] + 1], responses))

    def _is_known(self, pair: list[str]) -> bool:
        """Whether the training split has the pair; also counts the overlap."""
        self.seen += 1
        if self.known is None:
            return False
        pair = [_normalised(text) for text in pair]
        self.known_responses += pair[1] in self.known.responses
        known = tuple(pair) in self.known.pairs
        self.known_pairs += known
        return known

    def overlap(self) -> dict[str, Any] | None:
        if self.known is None:
            return None
        seen = max(1, self.seen)  # an empty split is refused later
        return {
            "examples": self.seen,
            "pairs": self.known_pairs,
            "pair_share": self.known_pairs / seen,
            "responses": self.known_responses,
            "response_share": self.known_responses / seen,
        }


class _Known:
    """The responses of the training split, and its pairs of a turn and its response."""

    def __init__(self, dialogues: list[list[str]]) -> None:
        self.responses: set[str] = set()
        self.pairs: set[tuple[str, ...]] = set()
        for turns in dialogues:
            texts = [_normalised(text) for text in turns]
            self.responses.update(texts[1:])
            self.pairs.update(pairwise(texts))


def check_overlap(overlap: str, split: str) -> None:
    """Raises :class:`ValueError` if ``overlap`` is unknown, or ``"drop"`` for the training split."""
    check_choice("overlap", overlap, ("keep", "drop"))
    if overlap != "keep" and split == "train":
        raise ValueError("overlap='drop' is for val and test, and compares them with train")


def _normalised(text: str) -> str:
    """A text without case and white space, in which copies of a dialogue differ."""
    return "".join(text.casefold().split())


def _by_dialogue(examples: list[Example]) -> Iterator[tuple[Turns, list[Response]]]:
    """Groups adjacent examples by dialogue."""
    for _, group in groupby(cast(list[Response], examples), key=lambda response: id(response.dialogue)):
        responses = list(group)
        yield responses[0].dialogue, responses


def _dialogues(examples: list[Example]) -> list[Turns]:
    return [dialogue for dialogue, _ in _by_dialogue(examples)]


def _target(words: Sequence[str], vocab: Vocab) -> Tensor:
    """The ids of a response and ``[EOU]``."""
    if isinstance(vocab, PieceVocab):
        ids = [piece for word in words for piece in vocab.encode(word)]
    else:
        ids = [vocab.id_of(word) for word in words]
    return torch.tensor([*ids, EOU_ID])


DAILY_DIALOG_NAMES = {"train": "train", "val": "validation", "test": "test"}
LABELS = ("act", "emotion")
END = "__eou__"
# In the published training file one turn has this control character at its end.
_REPAIRS = {"\x7f": " "}


class DailyDialog(DialogueDataset):
    r"""The dialogues of `"DailyDialog: A Manually Labelled Multi-turn Dialogue Dataset"
    <https://aclanthology.org/I17-1099/>`_, one example per response (:class:`DialogueDataset`).

    The files of acts and emotions are not needed. If they exist, a dialogue with another number of labels
    than turns is loaded with a warning.

    Test and val share many dialogues with train, see :attr:`train_overlap` and option ``overlap``.

    Args:
        root: Folder of the corpus; ``datasets/mini`` has self-written dialogues. (default:
            ``"datasets/dailydialog"``)
        split: ``"train"``, ``"val"`` or ``"test"``. (default: ``"train"``)
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser. (default: ``"bundled"``)
        options: Further options, see :class:`DialogueOptions`; :obj:`raw_from` has ``dialogues_train.txt``,
            ``dialogues_validation.txt`` and ``dialogues_test.txt``, or has them in folders ``train``,
            ``validation`` and ``test``.

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
        return f"dialogues_{DAILY_DIALOG_NAMES[split]}.txt"

    def read(self, folder: Path, split: str) -> list[Dialogue]:
        return read_daily_dialog(*self.raw_files(folder, split))


def daily_dialog_files(folder: Path, split: str) -> list[Path]:
    """The file of dialogues of a split, in ``folder`` or its subfolder, and the files of labels."""
    name = DAILY_DIALOG_NAMES[split]
    for place in (folder, folder / name, folder / "ijcnlp_dailydialog" / name):
        path = place / f"dialogues_{name}.txt"
        if path.is_file():
            labels = [place / f"dialogues_{kind}_{name}.txt" for kind in LABELS]
            return [path, *(file for file in labels if file.is_file())]
    return []


def read_daily_dialog(path: Path, *labels: Path) -> list[Dialogue]:
    """The dialogues of a raw file, one per line, with a warning if the files of labels do not match."""
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
    if turns.pop() or not turns:
        raise row_error(path, line, f"a dialogue must be turns that each end with {END}", text[-40:])
    numbered = {f"turn {number}": turn for number, turn in enumerate(turns, 1)}
    check_forms(f"{path}:{line}", numbered, dict.fromkeys(numbered, TEXT))
    return turns


def _count(path: Path, line: int, text: str) -> int:
    """The number of labels on a line."""
    check_forms(f"{path}:{line}", {"labels": text}, {"labels": _NUMBERS})
    return len(text.split())


_NUMBERS = like("whole numbers", r"[0-9\s]*")
_PIECES = "the rows of a dialogue must follow one another, in one file"
LAYOUTS = ("published", "by-emotion")
EMPATHETIC_NAMES = {"train": "train", "val": "valid", "test": "test"}
_SHIFTED = "(is there a comma in a text?)"
# A stray comma shifts the columns after it.
COLUMNS = {
    "conv_id": ANY,
    "utterance_idx": NUMBER,
    "speaker_idx": like(f"a whole number {_SHIFTED}", "[0-9]+"),
    "utterance": TEXT,
    "selfeval": like(f"digits, | and _ {_SHIFTED}", "[0-9|_]*"),
}
EMOTION_COLUMNS = {"Dialog_ID": ANY, "Type": one_of("situation", "utterance"), "Text": ANY}
EMOTIONS = """afraid angry annoyed anticipating anxious apprehensive ashamed caring confident content
devastated disappointed disgusted embarrassed excited faithful furious grateful guilty hopeful impressed
jealous joyful lonely nostalgic prepared proud sad sentimental surprised terrified trusting""".split()


class EmpatheticDialogues(DialogueDataset):
    r"""The dialogues of `"Towards Empathetic Open-domain Conversation Models: a New Benchmark and Dataset"
    <https://aclanthology.org/P19-1534/>`_, one example per response (:class:`DialogueDataset`).

    Responses of both speakers are used, and the situation of a dialogue is not.

    There are two layouts. ``"published"`` is ``train.csv``, ``valid.csv`` and ``test.csv``. ``"by-emotion"``
    is one file per emotion, ``afraid.csv`` to ``trusting.csv``, and ``split_ids_train.txt``,
    ``split_ids_valid.txt`` and ``split_ids_test.txt`` with the dialogues of each split. Dialogues in no split
    are not used; :attr:`unlisted_dialogues` and :meth:`describe` have their number (:obj:`None` if a list of
    ids is missing).

    Args:
        root: Folder of the corpus. (default: ``"datasets/empatheticdialogues"``)
        split: ``"train"``, ``"val"`` or ``"test"``. (default: ``"train"``)
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser. (default: ``"bundled"``)
        layout: ``"published"`` or ``"by-emotion"``; :obj:`None` for that of :obj:`raw_from`, else for the
            only one below :obj:`root`. (default: :obj:`None`)
        options: Further options, see :class:`DialogueOptions`; in :obj:`raw_from` the files of the emotions
            may be in a folder ``by_emotion``.

    Raises:
        FileNotFoundError: If a raw file is missing; the message says where to get it.
        ValueError: If an option is wrong, the layout is ambiguous, or a row of a raw file is damaged: the
            message has file, line and value.

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
        """A separate folder for each layout."""
        return str(Path(self.root, "raw", f"ed-{self.layout}"))

    def options(self) -> dict[str, object]:
        return super().options() | {"layout": self.layout}

    def raw_files(self, folder: Path, split: str) -> list[Path]:
        return _files(folder, split, self.layout)

    def raw_file_pattern(self, split: str) -> str:
        if self.layout == "published":
            return f"{EMPATHETIC_NAMES[split]}.csv"
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
        candidates: Whether rows may have a ninth column of candidates, as in val and test; it is ignored.
            (default: :obj:`False`)
    """
    dialogues: dict[str, Dialogue] = {}
    last = None
    for line, (name, number, _, text, _) in read_table(path, COLUMNS, separator=",", extra=int(candidates)):
        expect(name == last or name not in dialogues, path, line, _PIECES, name)
        last = name
        turns = dialogues.setdefault(name, Dialogue([])).turns
        if number != str(len(turns) + 1):
            raise row_error(path, line, f"utterance_idx must be {len(turns) + 1} in {name}", number)
        turns.append(text.replace("_comma_", ",").strip())
    return list(dialogues.values())


def read_by_emotion(ids: Path, *emotions: Path) -> tuple[list[Dialogue], int | None]:
    """The dialogues of a file of ids, in its order, from the files of all emotions.

    Returns:
        The dialogues, and the number of dialogues in no split; :obj:`None` if the ids of another split are
        missing.
    """
    found: dict[str, list[str]] = {}
    for path in emotions:
        _add_emotion(path, found)
    dialogues: dict[str, Dialogue] = {}
    for line, name in read_lines(ids):
        if name in dialogues or not found.get(name):
            where = "twice here" if name in dialogues else f"in none of the {len(emotions)} other files"
            raise row_error(ids, line, f"the id is {where}", name)
        dialogues[name] = Dialogue(found[name])
    named, lists = set(dialogues), [ids.with_name(_ids_file(split)) for split in EMPATHETIC_NAMES]
    others = [path for path in lists if path != ids and path.is_file()]
    for path in others:
        names = dict(read_lines(path))
        for line, name in names.items():
            expect(name not in dialogues, path, line, f"the id is in {ids.name}, too", name)
        named.update(names.values())
    return list(dialogues.values()), len(found.keys() - named) if len(others) == len(lists) - 1 else None


def _add_emotion(path: Path, found: dict[str, list[str]]) -> None:
    """Adds the turns of the dialogues of one emotion."""
    last = None
    for line, (name, kind, text) in read_table(path, EMOTION_COLUMNS, separator=",", quoted=True, empty=True):
        expect(name == last or name not in found, path, line, _PIECES, name)
        last, turns = name, found.setdefault(name, [])
        if kind == "utterance":
            check_forms(f"{path}:{line}", {"Text": text}, {"Text": TEXT})
            turns.append(text.replace("\n", " ").strip())


def _ids_file(split: str) -> str:
    return f"split_ids_{EMPATHETIC_NAMES[split]}.txt"


def _files(folder: Path, split: str, layout: str) -> list[Path]:
    """The files of a split, or none if one is missing."""
    if layout == "published":
        path = folder / f"{EMPATHETIC_NAMES[split]}.csv"
        return [path] if path.is_file() else []
    place = folder / "by_emotion" if (folder / "by_emotion").is_dir() else folder
    paths = [folder / _ids_file(split), *(place / f"{name}.csv" for name in EMOTIONS)]
    return paths if all(path.is_file() for path in paths) else []


def _layouts_in(folder: Path) -> list[str]:
    return [layout for layout in LAYOUTS if any(_files(folder, split, layout) for split in EMPATHETIC_NAMES)]


def _layouts_below(raw: Path) -> list[str]:
    return [
        layout for layout in LAYOUTS if any(_files(raw / f"ed-{layout}", s, layout) for s in EMPATHETIC_NAMES)
    ]
