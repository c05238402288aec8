"""UbuntuIRC: messages of the help channel of Ubuntu, with the replies that people found in them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

from graphdep.datasets.base.raw import check_words, read_lines, row_error
from graphdep.datasets.base.seen_files import seen_files
from graphdep.datasets.selection.drawn_selection import DrawnSelection, Negatives, normal
from graphdep.datasets.selection.selection_options import DrawnOptions
from graphdep.datasets.selection.store.selection_pool import Pool, utterance
from graphdep.parsing import Parser

FOLDERS = {"train": "train", "val": "dev", "test": "test"}
LOG, LINKS = ".ascii.txt", ".annotation.txt"
_MESSAGE = re.compile(r"\[\d\d:\d\d\] <([^>]*)> ?(.*)")
_NOTICE = re.compile(r"\[\d\d:\d\d\] [-(]([^ :/]*)[:/]#[^ ]*[-)] (.*)")  # -name:#channel-, (name/#channel)
_ACTION = re.compile(r"\[\d\d:\d\d\]  ?\* (.*)")
_SYSTEM = "==="
_ADDRESS = re.compile(r"(\S+?) ?[:,](?:\s+|$)")
_LINK = re.compile(r"([0-9]{1,9}) ([0-9]{1,9}) -")


class UbuntuIRC(DrawnSelection):
    r"""Response selection made of `"A Large-Scale Corpus for Conversation Disentanglement"
    <https://aclanthology.org/P19-1374/>`_: real logs of #ubuntu, in which people marked which message a
    message answers.

    Every message that answers an earlier one is the response of a pool. Its context is the chain of replies
    that it ends: the message that it answers, the one that this answers, and so on, oldest first. Of several
    answered messages the nearest counts. The negatives are other responses of the same log, so that neither
    being a response nor the time and its topics tell anything: none that is in the chain or answers a message
    of it, and none with the text of another candidate.

    - A text is what a person wrote, without time and name. Where it begins with the name of somebody who
      wrote in that log and a colon or comma (``bob: try it``), that is left out, as in Ubuntu's corpora; a
      text of nothing else stays as it is. An action (``* bob waves``) has its name.
    - Lines of the system (``=== bob joined``) are no messages. In the older logs actions look like them and
      are none, either.
    - Messages before the annotated part of a log are in contexts only: nobody marked what they answer.
    - Two messages of one person in a row are as any others: the second often answers the first.

    Args:
        root: Folder of the corpus. (default: ``"datasets/ubuntu-irc"``)
        split: ``"train"``, ``"val"`` (the corpus' dev) or ``"test"``. (default: ``"train"``)
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser. (default: ``"bundled"``)
        negatives_from: ``"log"``, or ``"split"`` for the responses of all logs of the split: easier, for the
            log that a response is from tells much. (default: ``"log"``)
        options: Further ones, see :class:`DrawnOptions`; of the folders ``train``, ``dev`` and ``test`` in
            :obj:`raw_from` the files ``*.ascii.txt`` and ``*.annotation.txt`` are read.

    Raises:
        FileNotFoundError: If a raw file is missing; the message says where to get it.
        ValueError: If an option is wrong, a line of a raw file is damaged, or a log has not enough responses
            to draw from: the message has file, line and value.

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
        if negatives_from not in ("log", "split"):
            raise ValueError(f"'negatives_from' must be 'log' or 'split' (got {negatives_from!r})")
        self.negatives_from = negatives_from
        super().__init__(root, split, parser, **options)

    def raw_files(self, folder: Path, split: str) -> list[Path]:
        logs = seen_files(folder / FOLDERS[split], f"*{LOG}")
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
        try:
            drawn = negatives.of(replies.texts, allowed, normal(log.texts[message]), place)
        except ValueError as error:
            if self.negatives_from == "split":
                raise
            raise ValueError(f"{error}; negatives_from='split' draws from the other logs, too") from error
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
        answered: The earlier messages that a message answers, where there are any.
    """

    path: Path
    texts: dict[int, str]
    answered: dict[int, set[int]]

    def chain(self, message: int) -> list[int]:
        """The nearest message that a message answers, and before it those that lead to it, oldest first."""
        found = []
        while message in self.answered:
            message = max(self.answered[message])
            found.append(message)
        return found[::-1]


class _Replies:
    """The messages of logs that answer another one, with their texts, in which case makes no difference."""

    def __init__(self, logs: Sequence[Log]) -> None:
        self.messages = [(log, number) for log in logs for number in sorted(log.answered)]
        self.texts = [normal(log.texts[number]) for log, number in self.messages]


def read_log(path: Path) -> Log:
    """A log and its annotation.

    Raises:
        FileNotFoundError: If there is no annotation.
        ValueError: If a line is damaged, with file, line and value.
    """
    if not _links_of(path).is_file():
        raise FileNotFoundError(
            f"{_links_of(path)} is missing: it says which message of {path} answers which"
        )
    lines = [_parts(path, line, text) for line, text in read_lines(path, control=" ")]
    names = {name.casefold() for name, _ in filter(None, lines) if name}
    texts = {
        number: _without_address(parts[1], names) for number, parts in enumerate(lines) if parts is not None
    }
    return Log(path, texts, _read_links(_links_of(path), texts, len(lines)))


def _parts(path: Path, line: int, text: str) -> tuple[str, str] | None:
    """Name and text of a message; an action has no name, and a line of the system is none."""
    check_words(path, line, "a message", text)
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
    """The earlier messages that a message answers; lines of the system are no messages."""
    answered: dict[int, set[int]] = {}
    for line, text in read_lines(path):
        link = _LINK.fullmatch(text.strip())
        if not link:
            raise row_error(path, line, "a line must be 'number number -'", text)
        first, second = sorted((int(link[1]), int(link[2])))
        if second >= lines:
            raise row_error(path, line, f"the log has no line {second}, only 0 to {lines - 1}", text)
        if first < second and first in texts and second in texts:
            answered.setdefault(second, set()).add(first)
    return answered


def _links_of(log: Path) -> Path:
    return log.with_name(log.name.removesuffix(LOG) + LINKS)
