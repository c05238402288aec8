"""Raw files of a corpus: what they are called, where they are, and how they get there."""

from __future__ import annotations

import tempfile
from abc import abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from graphdep.datasets.base.raw import copy_raw, to_copy


class RawFiles:
    """The part of a dataset that has to do with raw files; it comes before PyG's class among the bases.

    A subclass says which raw files a split has (:meth:`raw_files`) and reads them (:meth:`read`). Files are
    copied from :obj:`raw_from` once they could be read, and nothing is fetched from a network.
    """

    corpus: str
    published: str
    splits: tuple[str, ...] = ("train", "val", "test")
    train_is_for = "the vocabulary is built from it unless 'vocab' is given"
    learns_labels = False
    """Whether the classes are those of the training split."""
    # Set by the dataset, before PyG's part of it begins.
    split: str
    raw_from: Path | None
    # Of PyG's part.
    root: str
    force_reload: bool

    @abstractmethod
    def raw_files(self, folder: Path, split: str) -> list[Path]:
        """The raw files of a split that are in ``folder``; none if there is none."""

    @abstractmethod
    def raw_file_pattern(self, split: str) -> str:
        """What those files are called, for messages."""

    def raw_file_name(self, split: str) -> str:
        """What is missing where there are none, for messages."""
        return self.raw_file_pattern(split)

    @abstractmethod
    def read(self, folder: Path, split: str) -> Iterable[Any]:
        """What the raw files of a split in ``folder`` have, checked but not parsed."""

    @abstractmethod
    def _needed(self) -> list[str]:
        """The splits whose raw files must be there."""

    @property
    def raw_dir(self) -> str:
        """The folder of the raw files."""
        return str(Path(self.root, "raw"))

    def raw_target(self, path: Path, split: str) -> Path:
        """Where a raw file of a split is copied to."""
        return Path(self.raw_dir, path.name)

    @property
    def raw_file_names(self) -> list[str]:
        return [
            str(path.relative_to(self.raw_dir))
            for split in self._needed()
            for path in self.raw_files(Path(self.raw_dir), split)
        ]

    def download(self) -> None:
        """Copies the raw files from :obj:`raw_from`; nothing is fetched from a network."""
        if self.raw_from is not None:
            self._copy_from(self.raw_from)
        for split in self._needed():
            if not self.raw_files(Path(self.raw_dir), split):
                raise FileNotFoundError(self._missing(split))

    def _download(self) -> None:
        self.download()  # PyG skips it where the files exist, and would not see that raw_from has others

    def _copy_from(self, folder: Path) -> None:
        """Copies the raw files that are new, once all of them are read: a damaged copy would stay."""
        targets: dict[Path, Path] = {}
        for split in self.splits:
            of_split = {path: self.raw_target(path, split) for path in self.raw_files(folder, split)}
            self._check_read(of_split, split)
            targets |= of_split
        new = [path for path in targets if to_copy(path, targets[path], overwrite=self.force_reload)]
        for split in self.splits:
            if not set(new).isdisjoint(self.raw_files(folder, split)):
                count = sum(1 for _ in self.read(folder, split))
                if split in self._needed():
                    self._check_some(count, folder, split)
        for path in new:
            copy_raw(path, targets[path])

    def _check_read(self, targets: dict[Path, Path], split: str) -> None:
        """Refuses files that would not be read once they are copied, as another one comes before them."""
        raw = Path(self.raw_dir)
        with tempfile.TemporaryDirectory() as name:
            for path in (*self.raw_files(raw, split), *targets.values()):
                empty = Path(name, path.relative_to(raw))
                empty.parent.mkdir(parents=True, exist_ok=True)
                empty.touch()
            try:
                read = [raw / path.relative_to(name) for path in self.raw_files(Path(name), split)]
            except ValueError as error:
                raise ValueError(str(error).replace(name, str(raw))) from None
        for path, target in targets.items():
            if target not in read:
                others = " and ".join(str(other) for other in read if other not in targets.values())
                raise ValueError(
                    f"'raw_from' has {path}, but with {others} there, {target} would not be read: "
                    f"use another 'root' or delete {others}"
                )

    def _check_some(self, count: int, folder: Path, split: str) -> None:
        if not count:
            files = " and ".join(str(path) for path in self.raw_files(folder, split))
            raise ValueError(f"the split {split!r} has no examples in {files}")

    def _missing(self, split: str) -> str:
        source = "" if self.raw_from is None else f" nor in raw_from={str(self.raw_from)!r}"
        names = ", ".join(dict.fromkeys(self.raw_file_pattern(name) for name in self.splits))
        missing = "" if Path(self.raw_dir).is_dir() else " (no such folder)"
        why = "" if split == self.split else f" ({self.train_is_for})"
        return (
            f"{self.raw_file_name(split)}{why} is not in {self.raw_dir}{missing}{source}. "
            f"{self.corpus} consists of {names}; it is published at {self.published}. "
            "Unpack it anywhere and pass that folder as raw_from=DIR (on the command line: --raw-from DIR)"
        )
