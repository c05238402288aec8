"""Files of the user's own, which are read where they are."""

from __future__ import annotations

import os
from pathlib import Path

from graphdep.datasets.base.raw_files import RawFiles


class OwnFiles(RawFiles):
    """The part of a dataset whose files are the user's: nothing is copied, and a split is a file.

    It comes before the other bases. A constructor calls :meth:`take_files` before anything else.
    """

    files: dict[str, Path]
    """The files by split; without one for validation, a part of that for training is drawn."""

    def take_files(
        self,
        train: str | os.PathLike[str] | None,
        val: str | os.PathLike[str] | None,
        test: str | os.PathLike[str] | None,
        raw_from: object = None,
    ) -> None:
        """Takes the files of the splits.

        Raises:
            ValueError: If ``raw_from`` is given, which is for corpora, or there is no file to train on.
        """
        if train is None:
            raise ValueError("'train' must be a file (got None)")
        if raw_from is not None:
            raise ValueError("'raw_from' is for corpora: files of one's own are read where they are")
        given = {"train": train, "val": val, "test": test}
        self.files = {name: Path(file).expanduser() for name, file in given.items() if file is not None}
        self.splits = ("train", "val", "test") if test is not None else ("train", "val")
        self.corpus = self.files["train"].name

    def file(self, split: str) -> Path:
        """The file that has a split."""
        return self.files.get(split, self.files["train"])

    def raw_files(self, folder: Path, split: str) -> list[Path]:
        path = self.file(split)
        return [path] if path.is_file() else []

    def raw_file_pattern(self, split: str) -> str:
        return str(self.file(split))

    @property
    def raw_file_names(self) -> list[str]:
        return [str(path.absolute()) for split in self._needed() for path in self.raw_files(Path(), split)]

    def _missing(self, split: str) -> str:
        why = "" if split == self.split else f" ({self.train_is_for})"
        return f"no file {self.file(split)}, which is {split!r}{why}"
