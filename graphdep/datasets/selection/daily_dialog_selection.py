"""DailyDialog as a corpus of response selection."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, Unpack

from graphdep.datasets.dialogues.daily_dialog import NAMES, daily_dialog_files, read_daily_dialog
from graphdep.datasets.selection.drawn_selection import DrawnSelection, normal
from graphdep.datasets.selection.selection_options import DrawnOptions
from graphdep.datasets.selection.store.selection_pool import Pool, utterance
from graphdep.parsing import Parser


class DailyDialogSelection(DrawnSelection):
    r"""The dialogues of `"DailyDialog: A Manually Labelled Multi-turn Dialogue Dataset"
    <https://aclanthology.org/I17-1099/>`_ for response selection, from the files that
    :class:`~graphdep.datasets.DailyDialog` has.

    Every turn but the first of a dialogue is the response of a pool, and the turns before it are the context.
    The negatives are such responses of other dialogues of the split, so that being a first turn tells
    nothing. No two candidates of a pool are the same but for case and white space.

    Val and test share dialogues with train: :meth:`describe` has ``known_pools``, the number of pools whose
    last turn and true response follow each other in the training split, where its file is there.

    Args:
        root: Folder of the corpus; ``datasets/mini`` has self-written dialogues. (default:
            ``"datasets/dailydialog"``)
        split: ``"train"``, ``"val"`` or ``"test"``. (default: ``"train"``)
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser. (default: ``"bundled"``)
        overlap: ``"keep"`` or ``"drop"``: whether to leave out the pools of val and test that are known from
            train. Their responses are no negatives then, either: they are more often in train than the
            right responses that are left, which would tell these. (default: ``"keep"``)
        options: Further ones, see :class:`DrawnOptions`.

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
        if overlap not in ("keep", "drop"):
            raise ValueError(f"'overlap' must be 'keep' or 'drop' (got {overlap!r})")
        if overlap == "drop" and split == "train":
            raise ValueError("overlap='drop' is for val and test: they overlap with the split 'train'")
        if overlap == "drop":
            self.train_is_for = "overlap='drop' compares with it"
        self.overlap = overlap
        super().__init__(root, split, parser, **options)

    def raw_files(self, folder: Path, split: str) -> list[Path]:
        return daily_dialog_files(folder, split)

    def raw_file_pattern(self, split: str) -> str:
        return f"dialogues_{NAMES[split]}.txt"

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
        """The turns that follow each other in the training split, if it is there."""
        return {
            (normal(first), normal(second))
            for path in self.raw_files(folder, "train")[:1]
            for dialogue in read_daily_dialog(path)
            for first, second in pairwise(dialogue.turns)
        }
