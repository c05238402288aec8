"""Ubuntu, Ubuntu IRC, Douban, E-commerce, and pools drawn from DailyDialog."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, Unpack

from graphdep.datasets.base.raw import (
    Form,
    Forms,
    check_forms,
    choose_layout,
    one_of,
    read_lines,
    read_table,
    row_error,
    visible_files,
)
from graphdep.datasets.dialogues import (
    DAILY_DIALOG_NAMES,
    check_overlap,
    daily_dialog_files,
    read_daily_dialog,
)
from graphdep.datasets.selection.dataset import (
    TEXT_FILES,
    ChineseSelection,
    DrawnOptions,
    DrawnSelection,
    Names,
    Negatives,
    RowsOptions,
    RowsSelection,
    normal,
    read_pools,
)
from graphdep.datasets.selection.store import Pool, Utterance, given_words, utterance
from graphdep.io.limits import MAX_WORDS, check_choice
from graphdep.parsing.parser import Parser, WordLimit


class Douban(ChineseSelection):
    r"""Response selection of `"Sequential Matching Network: A New Architecture for Multi-turn Response
    Selection in Retrieval-Based Chatbots" <https://aclanthology.org/P17-1046/>`_, in Chinese.

    A line is ``label <TAB> utterances ... <TAB> response``, with words separated by white space. Train and
    val have one random negative per true response. Test has ten candidates per context from a search engine,
    judged by people, so a pool may have several true candidates or none; these pools are kept and counted,
    and :func:`graphdep.metrics.ranking_metrics` describes which to leave out.

    Args:
        root: Folder of the corpus. (default: ``"datasets/douban"``)
        split: ``"train"``, ``"val"`` or ``"test"``. (default: ``"train"``)
        parser: A parser of Chinese: name for :func:`graphdep.parsing.resolve_parser`, or a parser. None comes
            with the package. (default: ``"stanza:zh"``)
        options: Further options, see :class:`RowsOptions`.

    Raises:
        FileNotFoundError: If a raw file is missing; the message says where to get it.
        ParserUnavailableError: If there is no parser; the message says what to give.
        ValueError: If an option is wrong, the parser is known to be of another language, or a line of a raw
            file is damaged: the message has file, line and value.

    Example:
        >>> from graphdep.datasets import Douban
        >>> dataset = Douban("datasets/douban", split="test", parser="chain", pool_size=None)
        >>> len(dataset), [float(dataset[i].y) for i in range(3)]
        (10, [1.0, 0.0, 0.0])
    """

    corpus = "Douban"
    published = "https://github.com/MarkWuNLP/MultiTurnResponseSelection"
    files = TEXT_FILES | {"train": ("train.txt", "train.sample")}

    def __init__(
        self,
        root: str | os.PathLike[str] = "datasets/douban",
        split: str = "train",
        parser: str | Parser = "stanza:zh",
        **options: Unpack[RowsOptions],
    ) -> None:
        super().__init__(root, split, parser, **options)


class ECommerce(ChineseSelection):
    r"""Response selection of `"Modeling Multi-turn Conversation with Deep Utterance Aggregation"
    <https://aclanthology.org/C18-1317/>`_, in Chinese.

    A line is ``label <TAB> utterances ... <TAB> response``, with words separated by white space. Train and
    val have one negative per true response, test has nine.

    Args:
        root: Folder of the corpus. (default: ``"datasets/ecommerce"``)
        split: ``"train"``, ``"val"`` or ``"test"``. (default: ``"train"``)
        parser: A parser of Chinese: name for :func:`graphdep.parsing.resolve_parser`, or a parser. None comes
            with the package. (default: ``"stanza:zh"``)
        options: Further options, see :class:`RowsOptions`.

    Raises:
        FileNotFoundError: If a raw file is missing; the message says where to get it.
        ParserUnavailableError: If there is no parser; the message says what to give.
        ValueError: If an option is wrong, the parser is known to be of another language, or a line of a raw
            file is damaged: the message has file, line and value.

    Example:
        >>> from graphdep.datasets import ECommerce
        >>> dataset = ECommerce("datasets/ecommerce", split="test", parser="chain", pool_size=None)
        >>> len(dataset), [float(dataset[i].y) for i in range(3)]
        (10, [1.0, 0.0, 0.0])
    """

    corpus = "E-commerce"
    published = "https://github.com/cooelf/DeepUtteranceAggregation"
    files = {  # noqa: RUF012
        "train": (*TEXT_FILES["train"], "ECD_sample-train.txt"),
        "val": (*TEXT_FILES["val"], "ECD_sample-valid.txt"),
        "test": (*TEXT_FILES["test"], "ECD_sample-test.txt"),
    }

    def __init__(
        self,
        root: str | os.PathLike[str] = "datasets/ecommerce",
        split: str = "train",
        parser: str | Parser = "stanza:zh",
        **options: Unpack[RowsOptions],
    ) -> None:
        super().__init__(root, split, parser, **options)


LAYOUTS = ("v1", "v2")
FILES: dict[str, Names] = {
    "v1": TEXT_FILES,
    "v2": {
        "train": ("train.csv", "ubuntu_corpus_train.csv"),
        "val": ("valid.csv", "ubuntu_corpus_dev.csv"),
        "test": ("test.csv", "ubuntu_corpus_test.csv"),
    },
}
_UTTERANCE_END, _TURN_END = "__eou__", "__eot__"
_ENDS = re.compile(f"{_UTTERANCE_END}|{_TURN_END}")
_LABELS = {"1": 1, "1.0": 1, "0": 0, "0.0": 0}
_TURNS = Form(
    f"turns of at most {MAX_WORDS} words", lambda text: all(map(WordLimit().holds, text.split(_TURN_END)))
)
TRAIN_COLUMNS = {"Context": _TURNS, "Utterance": _TURNS, "Label": one_of(*_LABELS)}
TEST_COLUMNS = dict.fromkeys(
    ("Context", "Ground Truth Utterance", *(f"Distractor_{number}" for number in range(9))), _TURNS
)


class Ubuntu(RowsSelection):
    r"""Response selection of `"The Ubuntu Dialogue Corpus" <https://aclanthology.org/W15-4640/>`_, in two
    published layouts.

    - ``"v1"``: lines ``label <TAB> utterances ... <TAB> response``, as used by SIA, BERT-FP and others. The
      text is tokenised, and its words are kept. Train is 1:1; pools of val and test have ten candidates.
    - ``"v2"``: CSV files of version 2, ``Context,Utterance,Label`` for train and ``Context,Ground Truth
      Utterance,Distractor_0,...,Distractor_8`` for val and test, in raw text.

    A turn is one utterance and one tree: a column in ``"v1"``, the text up to ``__eot__`` in ``"v2"``. The
    messages of a turn or response, which end in ``__eou__``, are parsed separately and joined
    (:func:`~graphdep.sentence.join_sentences`); each keeps its root.

    Args:
        root: Folder of the corpus; ``datasets/mini`` has self-written pools in the layout ``"v1"``.
            (default: ``"datasets/ubuntu"``)
        split: ``"train"``, ``"val"`` or ``"test"``. (default: ``"train"``)
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser. (default: ``"bundled"``)
        layout: ``"v1"`` or ``"v2"``; :obj:`None` for that of :obj:`raw_from`, else for the only one below
            :obj:`root`. (default: :obj:`None`)
        options: Further options, see :class:`RowsOptions`; :obj:`pool_size` is for val and test in layout
            ``"v1"``.

    Raises:
        FileNotFoundError: If a raw file is missing; the message says where to get it.
        ValueError: If an option is wrong, the layout is ambiguous, or a row of a raw file is damaged: the
            message has file, line and value.

    Example:
        >>> from graphdep.datasets import Ubuntu
        >>> dataset = Ubuntu("datasets/mini", split="test", parser="chain")
        >>> len(dataset), [float(dataset[i].y) for i in range(3)]
        (40, [1.0, 0.0, 0.0])
    """

    corpus = "Ubuntu"
    published = (
        "https://www.dropbox.com/s/2fdn26rj6h9bpvl/ubuntu_data.zip (version 1), "
        "https://github.com/rkadlec/ubuntu-ranking-dataset-creator (version 2)"
    )
    sized = ("val", "test")

    def __init__(
        self,
        root: str | os.PathLike[str] = "datasets/ubuntu",
        split: str = "train",
        parser: str | Parser = "bundled",
        *,
        layout: str | None = None,
        **options: Unpack[RowsOptions],
    ) -> None:
        self.layout = choose_layout(
            layout, LAYOUTS, options.get("raw_from"), root, to_copy=_layouts_in, copied=_layouts_below
        )
        self.files = FILES[self.layout]
        super().__init__(root, split, parser, **options)

    @property
    def raw_dir(self) -> str:
        """A separate folder for each layout."""
        return str(_raw(Path(self.root, "raw"), self.layout))

    def options(self, split: str) -> dict[str, Any]:
        return super().options(split) | {"layout": self.layout}

    def read(self, folder: Path, split: str) -> Iterator[Pool]:
        (path,) = self.raw_files(folder, split)
        if self.layout == "v1":
            return read_pools(path, self.utterance, size=self._size(split))
        return read_train_csv(path) if split == "train" else read_test_csv(path)

    def utterance(self, text: str) -> Utterance:
        return given_words(*_ENDS.split(text))


def read_train_csv(path: Path) -> Iterator[Pool]:
    """The pools of a training file of version 2: adjacent rows with the same context."""
    for context, group in groupby(_read_csv(path, TRAIN_COLUMNS), key=lambda row: row[0]):
        responses, labels = zip(*((response, _LABELS[label]) for _, response, label in group))
        yield Pool(_turns(context), tuple(map(_messages, responses)), labels)


def read_test_csv(path: Path) -> Iterator[Pool]:
    """The pools of a validation or test file of version 2, one per row, the true candidate first."""
    for context, *candidates in _read_csv(path, TEST_COLUMNS):
        labels = (1, *[0] * (len(candidates) - 1))
        yield Pool(_turns(context), tuple(map(_messages, candidates)), labels)


def _turns(context: str) -> tuple[Utterance, ...]:
    *turns, rest = context.split(_TURN_END)
    return tuple(map(_messages, [*turns, rest] if rest.strip() else turns))


def _messages(text: str) -> Utterance:
    return utterance(*_ENDS.split(text))


def _read_csv(path: Path, columns: Forms) -> Iterator[list[str]]:
    rows = read_table(path, columns, separator=",", quoted=True, control=True)
    return (row for _, row in rows)


def _layouts_in(folder: Path) -> list[str]:
    """The layouts of the files in a folder."""
    return [
        layout
        for layout in LAYOUTS
        if any((folder / name).is_file() for names in FILES[layout].values() for name in names)
    ]


def _layouts_below(raw: Path) -> list[str]:
    return [layout for layout in LAYOUTS if _layouts_in(_raw(raw, layout))]


def _raw(raw: Path, layout: str) -> Path:
    return raw / f"ubuntu-{layout}"


FOLDERS = {"train": "train", "val": "dev", "test": "test"}
LOG, LINKS = ".ascii.txt", ".annotation.txt"
_MESSAGE = re.compile(r"\[\d\d:\d\d\] <([^>]*)> ?(.*)")
_NOTICE = re.compile(r"\[\d\d:\d\d\] [-(]([^ :/]*)[:/]#[^ ]*[-)] (.*)")  # -name:#channel-, (name/#channel)
_ACTION = re.compile(r"\[\d\d:\d\d\]  ?\* (.*)")
_SYSTEM = "==="
_ADDRESS = re.compile(r"(\S+?) ?[:,](?:\s+|$)")
_LINK = re.compile(r"([0-9]{1,9}) ([0-9]{1,9}) -")


class UbuntuIRC(DrawnSelection):
    r"""Response selection from `"A Large-Scale Corpus for Conversation Disentanglement"
    <https://aclanthology.org/P19-1374/>`_: logs of #ubuntu, annotated with the message that each message
    answers.

    Every message that answers an earlier one is the response of a pool. Its context is the chain of replies
    before it, oldest first: the message that it answers, the message that this one answers, and so on. If it
    answers several messages, the nearest counts. The negatives are other responses of the same log, which
    have the same time and topics, except messages of the chain, answers to these, and equal texts.

    - A text is a message without time and name. An initial name of a participant with a colon or comma
      (``bob: try it``) is removed, as in the Ubuntu corpora, unless the text has nothing else. An action
      (``* bob waves``) keeps the name.
    - Lines of the system (``=== bob joined``) are not messages, and neither are actions of the older logs,
      which look like them.
    - Messages before the annotated part of a log occur only in contexts.
    - Adjacent messages of one person are separate, since the second often answers the first.

    Args:
        root: Folder of the corpus. (default: ``"datasets/ubuntu-irc"``)
        split: ``"train"``, ``"val"`` (the corpus' dev) or ``"test"``. (default: ``"train"``)
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser. (default: ``"bundled"``)
        negatives_from: ``"log"``, or ``"split"`` for responses of all logs of the split, which are easier to
            reject, since they have other topics. (default: ``"log"``)
        options: Further options, see :class:`DrawnOptions`; of the folders ``train``, ``dev`` and ``test`` in
            :obj:`raw_from` the files ``*.ascii.txt`` and ``*.annotation.txt`` are read.

    Raises:
        FileNotFoundError: If a raw file is missing; the message says where to get it.
        ValueError: If an option is wrong, a line of a raw file is damaged, or a log has too few responses to
            draw from: the message has file, line and value.

    Example:
        >>> from graphdep.datasets import UbuntuIRC
        >>> dataset = UbuntuIRC("datasets/ubuntu-irc", parser="chain")
        >>> dataset.context(0), dataset.response(0)
        ([['which', 'disk', '?']], ['the', 'usb', 'one'])
    """

    corpus = "UbuntuIRC"
    published = "https://github.com/jkkummerfeld/irc-disentanglement"

    def __init__(
        self,
        root: str | os.PathLike[str] = "datasets/ubuntu-irc",
        split: str = "train",
        parser: str | Parser = "bundled",
        *,
        negatives_from: str = "log",
        **options: Unpack[DrawnOptions],
    ) -> None:
        check_choice("negatives_from", negatives_from, ("log", "split"))
        self.negatives_from = negatives_from
        super().__init__(root, split, parser, **options)

    def raw_files(self, folder: Path, split: str) -> list[Path]:
        logs = visible_files(folder / FOLDERS[split], f"*{LOG}")
        return [path for log in logs for path in (log, _links_of(log)) if path.is_file()]

    def raw_file_pattern(self, split: str) -> str:
        return f"{FOLDERS[split]}/*{LOG} and *{LINKS}"

    def raw_target(self, path: Path, split: str) -> Path:
        return Path(self.raw_dir, FOLDERS[split], path.name)

    def options(self, split: str) -> dict[str, Any]:
        return super().options(split) | {"negatives_from": self.negatives_from}

    def read(self, folder: Path, split: str) -> Iterator[Pool]:
        logs = [read_log(path) for path in self.raw_files(folder, split) if path.name.endswith(LOG)]
        negatives, everything = self._negatives(split), _Replies(logs)
        if self.negatives_from == "log":
            negatives.hint = "; negatives_from='split' draws from the other logs, too"
        for log in logs:
            replies = _Replies([log]) if self.negatives_from == "log" else everything
            for message in sorted(log.answered):
                yield self._pool(log, message, replies, negatives)

    def _pool(self, log: Log, message: int, replies: _Replies, negatives: Negatives) -> Pool:
        chain = log.chain(message)

        def allowed(number: int) -> bool:
            of, other = replies.messages[number]
            return of is not log or (other not in chain and log.answered[other].isdisjoint(chain))

        place = f"{log.path}:{message + 1}"
        drawn = negatives.of(replies.texts, allowed, normal(log.texts[message]), place)
        candidates = [(log, message), *(replies.messages[number] for number in drawn)]
        return Pool(
            tuple(utterance(log.texts[number]) for number in chain),
            tuple(utterance(of.texts[number]) for of, number in candidates),
            (1, *[0] * len(drawn)),
        )


@dataclass(frozen=True)
class Log:
    """A log.

    Args:
        path: Its file.
        texts: The text of each message, by its line from 0.
        answered: The earlier messages that a message answers.
    """

    path: Path
    texts: dict[int, str]
    answered: dict[int, set[int]]

    def chain(self, message: int) -> list[int]:
        """The chain of replies before a message, oldest first."""
        found = []
        while message in self.answered:
            message = max(self.answered[message])
            found.append(message)
        return found[::-1]


class _Replies:
    """The messages of logs that answer another message, with their texts, ignoring case."""

    def __init__(self, logs: Sequence[Log]) -> None:
        self.messages = [(log, number) for log in logs for number in sorted(log.answered)]
        self.texts = [normal(log.texts[number]) for log, number in self.messages]


def read_log(path: Path) -> Log:
    """A log and its annotation."""
    if not _links_of(path).is_file():
        raise FileNotFoundError(f"{_links_of(path)}, the annotation of {path}, is missing")
    lines = [_parts(path, line, text) for line, text in read_lines(path, control=True)]
    names = {name.casefold() for name, _ in filter(None, lines) if name}
    texts = {
        number: _without_address(parts[1], names) for number, parts in enumerate(lines) if parts is not None
    }
    return Log(path, texts, _read_links(_links_of(path), texts, len(lines)))


def _parts(path: Path, line: int, text: str) -> tuple[str, str] | None:
    """Name and text of a message; an action has no name, and a line of the system is not a message."""
    check_forms(f"{path}:{line}", {"message": text}, {"message": _TURNS})
    message, action = _MESSAGE.fullmatch(text) or _NOTICE.fullmatch(text), _ACTION.fullmatch(text)
    if message:
        return message[1], message[2].strip()
    if action:
        return "", action[1].strip()
    if text.startswith(_SYSTEM):
        return None
    raise row_error(path, line, "a line must be '[hh:mm] <name> text', an action or '=== ...'", text)


def _without_address(text: str, names: set[str]) -> str:
    address = _ADDRESS.match(text)
    if address and address[1].casefold() in names:
        return text[address.end() :].strip() or text
    return text


def _read_links(path: Path, texts: dict[int, str], lines: int) -> dict[int, set[int]]:
    """The earlier messages that each message answers, without lines of the system."""
    answered: dict[int, set[int]] = {}
    for line, text in read_lines(path):
        link = _LINK.fullmatch(text.strip())
        first, second = sorted((int(link[1]), int(link[2]))) if link else (lines, lines)
        if second >= lines:
            raise row_error(path, line, f"not 'number number -' of lines from 0 to {lines - 1}", text)
        if first < second and first in texts and second in texts:
            answered.setdefault(second, set()).add(first)
    return answered


def _links_of(log: Path) -> Path:
    return log.with_name(log.name.removesuffix(LOG) + LINKS)


class DailyDialogSelection(DrawnSelection):
    r"""The dialogues of `"DailyDialog: A Manually Labelled Multi-turn Dialogue Dataset"
    <https://aclanthology.org/I17-1099/>`_ for response selection, from the files of
    :class:`~graphdep.datasets.DailyDialog`.

    Every turn but the first of a dialogue is the response of a pool, and the turns before it are the context.
    The negatives are responses, not first turns, of other dialogues of the split. All candidates of a pool
    differ by more than case and white space.

    Val and test share dialogues with train: with a training file, :meth:`describe` has ``known_pools``, the
    number of pools whose last turn and true response are adjacent in the training split.

    Args:
        root: Folder of the corpus; ``datasets/mini`` has self-written dialogues. (default:
            ``"datasets/dailydialog"``)
        split: ``"train"``, ``"val"`` or ``"test"``. (default: ``"train"``)
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser. (default: ``"bundled"``)
        overlap: ``"drop"`` leaves out pools of val and test that are known from train. Their responses are no
            negatives either, since they occur in train more often than the remaining true responses.
            ``"keep"`` keeps them. (default: ``"keep"``)
        options: Further options, see :class:`DrawnOptions`.

    Raises:
        FileNotFoundError: If a raw file is missing; the message says where to get it.
        ValueError: If an option is wrong, or a line of a raw file is damaged: the message has file, line and
            value.

    Example:
        >>> from graphdep.datasets import DailyDialogSelection
        >>> dataset = DailyDialogSelection("datasets/mini", split="test", parser="chain", limit=20)
        >>> len(dataset), [float(dataset[i].y) for i in range(3)]
        (20, [1.0, 0.0, 0.0])
    """

    corpus = "DailyDialog, selection"
    published = "http://yanran.li/dailydialog"

    def __init__(
        self,
        root: str | os.PathLike[str] = "datasets/dailydialog",
        split: str = "train",
        parser: str | Parser = "bundled",
        *,
        overlap: str = "keep",
        **options: Unpack[DrawnOptions],
    ) -> None:
        check_overlap(overlap, split)
        if overlap == "drop":
            self.train_is_for = "overlap='drop' compares with it"
        self.overlap = overlap
        super().__init__(root, split, parser, **options)

    def raw_files(self, folder: Path, split: str) -> list[Path]:
        return daily_dialog_files(folder, split)

    def raw_file_pattern(self, split: str) -> str:
        return f"dialogues_{DAILY_DIALOG_NAMES[split]}.txt"

    def options(self, split: str) -> dict[str, Any]:
        return super().options(split) | {"overlap": "keep" if split == "train" else self.overlap}

    def describe(self) -> dict[str, Any]:
        """As :meth:`SelectionDataset.describe`, and ``known_pools``."""
        return super().describe() | {"known_pools": self._totals["known_pools"]}

    def read(self, folder: Path, split: str) -> Iterator[Pool]:
        (path, *_) = self.raw_files(folder, split)
        dialogues = [dialogue.turns for dialogue in read_daily_dialog(path)]
        known = self._train_pairs(folder) if split != "train" else set()
        responses = [
            (number, turn, is_known)
            for number, turns in enumerate(dialogues)
            for turn, pair in enumerate(pairwise(map(normal, turns)), 1)
            if not (is_known := pair in known) or self.overlap == "keep"
        ]
        texts = [normal(dialogues[number][turn]) for number, turn, _ in responses]
        negatives = self._negatives(split)
        for own, (number, turn, is_known) in enumerate(responses):

            def allowed(other: int, number: int = number) -> bool:
                return responses[other][0] != number

            drawn = negatives.of(texts, allowed, texts[own], f"{path}:{number + 1}")
            candidates = [dialogues[of][place] for of, place, _ in (responses[i] for i in (own, *drawn))]
            yield Pool(
                tuple(map(utterance, dialogues[number][:turn])),
                tuple(map(utterance, candidates)),
                (1, *[0] * len(drawn)),
                {"known_pools": int(is_known)},
            )

    def _needed(self) -> list[str]:
        return sorted({*super()._needed(), *(["train"] if self.overlap == "drop" else [])})

    def _raw_of(self, split: str) -> list[Path]:
        raw = Path(self.raw_dir)
        return [path for name in dict.fromkeys((split, "train")) for path in self.raw_files(raw, name)[:1]]

    def _train_pairs(self, folder: Path) -> set[tuple[str, str]]:
        """The pairs of adjacent turns in the training split, if it exists."""
        return {
            (normal(first), normal(second))
            for path in self.raw_files(folder, "train")[:1]
            for dialogue in read_daily_dialog(path)
            for first, second in pairwise(dialogue.turns)
        }
