"""Raw files: copied from a local folder, and read with file, line and value in every error message."""

from __future__ import annotations

import csv
import filecmp
import logging
import os
import re
import shutil
import tempfile
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from graphdep.io.files import (
    CONTROL,
    SeveralErrors,
    atomic_path,
    decoded,
    each,
    home_path,
    json_value,
    long_fields,
    open_to_read,
    place_error,
    without_control,
)
from graphdep.io.limits import MAX_WORDS, check_choice, did_you_mean, plural
from graphdep.parsing.parser import WordLimit
from graphdep.sentence.intake import BAD_TREES, SCHEMES, Intake, given_tree
from graphdep.sentence.sentence import Sentence

logger = logging.getLogger("graphdep.datasets")

_MARK = b"\xef\xbb\xbf"


def to_copy(source: Path, target: Path, *, overwrite: bool = False) -> bool:
    """Whether ``source`` must be copied to ``target``; an error if they differ, unless it is overwritten."""
    if not target.exists():
        return True
    if filecmp.cmp(source, target, shallow=False):
        return False
    if not overwrite:
        raise ValueError(
            f"'raw_from' has {source}, which differs from {target}: delete {target} (or in Python set "
            "force_reload=True) to replace it, or use another 'root'"
        )
    return True


def copy_raw(source: Path, target: Path) -> None:
    """Copies a file, whole or not at all."""
    with atomic_path(target) as temporary:
        shutil.copyfile(source, temporary)


def row_error(path: Path, line: int, message: str, value: object = None) -> ValueError:
    """The error of a damaged row: ``path:line: message (got value)``."""
    return place_error(f"{path}:{line}", message, value)


def expect(holds: object, path: Path, line: int, message: str, value: object = None) -> None:
    """Raises the error of a damaged row unless ``holds`` is true."""
    if not holds:
        raise row_error(path, line, message, value)


def check_one(folder: Path, found: Sequence[Path], what: str, then: str) -> None:
    """Raises :class:`ValueError` if a folder has several of the files of which it should have one."""
    if len(found) > 1:
        names = ", ".join(str(path.relative_to(folder) if folder in path.parents else path) for path in found)
        raise ValueError(f"{folder} holds several {what} ({names}): {then}")


class Form(NamedTuple):
    """A condition on a cell of a table or a JSON value, in words and as a test."""

    what: str
    holds: Callable[[Any], bool]


def one_of(*names: str) -> Form:
    """One of some names, such as labels."""
    return Form(f"one of {', '.join(names)}", names.__contains__)


def like(what: str, pattern: str) -> Form:
    """A text that a regular expression matches."""
    matches = re.compile(pattern).fullmatch
    return Form(what, lambda value: isinstance(value, str) and matches(value) is not None)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and WordLimit().holds(value)


TEXT = Form(f"a text of 1 to {MAX_WORDS} words", _is_text)
"""A text of limited length."""
MAYBE_TEXT = Form(
    f"a text of at most {MAX_WORDS} words", lambda value: isinstance(value, str) and WordLimit().holds(value)
)
BINARY = one_of("0", "1")
NUMBER = like("a number", "[0-9]{1,18}")
WHOLE = Form("a whole number", lambda value: type(value) is int)
LIST = Form("a list", lambda value: isinstance(value, list))
ANY = Form("there", lambda value: True)
Forms = Mapping[str, Form]


def check_forms(place: str, values: Any, forms: Forms) -> None:
    """Raises :class:`ValueError`, with place, name and value, unless all values have their forms."""
    if not isinstance(values, Mapping):
        raise place_error(place, "not an object", values)
    for name, form in forms.items():
        if not form.holds(values.get(name)):
            value = values.get(name)
            if isinstance(value, str) and value.isspace():
                raise place_error(place, f"{name!r} must be {form.what} (it is blank)")
            raise place_error(place, f"{name!r} must be {form.what}", "nothing" if value is None else value)


def check_new(path: Path, line: int, what: str, value: Any, line_of: dict[Any, int]) -> None:
    """Notes the line of a value, and raises :class:`ValueError` if the value has occurred before."""
    if value in line_of:
        raise row_error(path, line, f"the {what} is also in line {line_of[value]}", value)
    line_of[value] = line


def read_table(
    path: Path,
    columns: Forms | Sequence[str],
    *,
    header: bool | Sequence[str] = True,
    separator: str = "\t",
    quoted: bool = False,
    extra: int = 0,
    broken: int = 0,
    empty: bool = False,
    repairs: Mapping[str, str] | None = None,
    control: bool = False,
) -> Iterator[tuple[int, list[str]]]:
    """Some columns of each row of a UTF-8 table, with the line on which the row starts; one row at a time is
    in memory.

    Args:
        path: The file.
        columns: Names of the columns to read, with the forms of their cells if these are to be checked.
        header: Whether the first line has the names of all columns; else these names, or :obj:`False` if the
            table has exactly the columns to read. (default: :obj:`True`)
        separator: Separator of cells. (default: a tab)
        quoted: Whether cells may be quoted, as in CSV, and thus have several lines. (default: :obj:`False`)
        extra: How many additional cells a row may have. (default: :obj:`0`)
        broken: How many rows may have another length; they are left out, with a warning. (default: :obj:`0`)
        empty: Whether the table may have no rows. (default: :obj:`False`)
        repairs, control: As for :func:`read_lines`.
    """
    forms = columns if isinstance(columns, Mapping) else {}
    rows = read_cells(path, separator, quoted=quoted, repairs=repairs, control=control)
    names = next(rows)[1] if header is True else header or [*columns]
    check_there(path, 1, names, [*columns])
    places, found, left_out = [names.index(column) for column in columns], 0, []
    fits = range(len(names), len(names) + extra + 1)

    def error(line: int, cells: list[str]) -> ValueError:
        what = f"{len(cells)} columns instead of {len(names)}" if cells else "a blank line"
        so_far = f", as on {broken} lines before" if broken else ""
        return row_error(path, line, f"{what}{so_far}", separator.join(cells))

    for line, cells in rows:
        found += 1
        if len(cells) in fits:
            row = [cells[place] for place in places]
            check_forms(f"{path}:{line}", dict(zip(columns, row)), forms)
            yield line, row
            continue
        left_out.append(line)
        if len(left_out) > broken:
            errors = [error(line, cells)]
            try:
                errors += [error(*other) for other in rows if len(other[1]) not in fits]
            except ValueError as unreadable:  # the rest of the file
                errors.append(unreadable)
            raise SeveralErrors(errors)
    expect(found or empty, path, 1, "no row below the header")
    if left_out:
        logger.warning(
            "%s: %d lines do not have %d columns and are left out: %s",
            *(path, len(left_out), len(names), ", ".join(map(str, left_out))),
        )


def read_cells(
    path: Path, separator: str = "\t", *, quoted: bool = False, **options: Any
) -> Iterator[tuple[int, list[str]]]:
    """The cells of each row, with the line on which it starts; a blank line has no cells."""
    lines = read_lines(path, **options)
    if quoted:
        return _quoted(path, lines, separator)
    return ((line, text.split(separator) if text else []) for line, text in lines)


def _quoted(path: Path, lines: Iterable[tuple[int, str]], separator: str) -> Iterator[tuple[int, list[str]]]:
    own: list[str] = []  # the lines of a row

    def texts() -> Iterator[str]:
        for _, text in lines:
            own.append(text)
            yield f"{text}\n"

    reader, line = csv.reader(texts(), delimiter=separator, strict=True), 1
    with long_fields():
        try:
            for row in reader:
                own.clear()
                yield line, row
                line = reader.line_num + 1
        except csv.Error as error:
            raise row_error(path, line, f"bad quotes ({error})", own[0]) from None


def check_there(path: Path, line: int, there: Iterable[str], columns: Sequence[str]) -> None:
    """Raises :class:`ValueError`, listing the columns of the file, if a column is missing."""
    names = list(there)
    for column in columns:
        if column not in names:
            other = next((mark for mark in ";\t" if len(names) == 1 and mark in names[0]), None)
            hint = did_you_mean(column, names)
            if other:
                hint = f" (one column: is the separator {other!r}? save with commas, or as .tsv)"
            elif column == "text":  # the default name of the user's column
                hint = " (name yours: --text-columns, --label-column)"
            raise row_error(path, line, f"no column {column!r}; the columns are {_shown(names)}{hint}")


def _shown(names: Sequence[str]) -> str:
    """Up to ten names, quoted if they are not printable, and the number of further ones."""
    shown = [name if name.isprintable() and name.strip() == name != "" else repr(name) for name in names[:10]]
    more = f" and {len(names) - 10:,} more" if len(names) > 10 else ""
    return ", ".join(name if len(name) <= 80 else f"{name[:80]}..." for name in shown) + more


def read_json(path: Path) -> Any:
    """The value in a JSON file."""
    return json_value("\n".join(text for _, text in read_lines(path)), str(path))


def blocks(rows: Iterable[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    """Groups numbered lines that are separated by blank lines."""
    for filled, block in groupby(rows, key=lambda row: bool(row[1].strip(" \t"))):
        if filled:
            yield list(block)


def check_width(path: Path, rows: Iterable[tuple[int, list[str]]], width: int, least: int = 1) -> None:
    """Raises :class:`ValueError` unless all rows have ``width`` cells, at least ``least``."""
    for line, row in rows:
        if len(row) != width or width < least:
            wanted = f"{width}, as the first row has" if len(row) != width else f"{least} or more"
            raise row_error(path, line, f"{len(row)} columns instead of {wanted}", " ".join(row))


def read_lines(
    path: Path, *, repairs: Mapping[str, str] | None = None, control: bool = False
) -> Iterator[tuple[int, str]]:
    """The numbered lines of a UTF-8 file, one at a time; a byte-order mark and CRLF are accepted.

    Args:
        path: The file.
        repairs: Replacements of known damaged characters of a corpus. (default: none)
        control: Read control characters as blanks and log their number, instead of an error.
            (default: :obj:`False`)
    """
    lines = _lines(path, repairs or {})
    if control:
        yield from without_control(lines, path)
        return
    for number, text in lines:
        if found := CONTROL.search(text):
            raise row_error(path, number, "a control character", found[0])
        yield number, text


def _lines(path: Path, repairs: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    empty = True
    with open_to_read(path) as file:
        for number, line in enumerate(file, start=1):
            line = line.removeprefix(_MARK) if number == 1 else line
            if line:
                empty = False
                text = decoded(line.removesuffix(b"\n").removesuffix(b"\r"), path, number)
                for damaged, right in repairs.items():
                    text = text.replace(damaged, right)
                yield number, text
    expect(not empty, path, 1, "the file is empty")


class RawFiles:
    """Mixin of datasets with raw files; it comes before PyG's class among the bases.

    A subclass names the raw files of a split (:meth:`raw_files`) and reads them (:meth:`read`). Files are
    copied from :obj:`raw_from` after they were read without error; nothing is downloaded.
    """

    corpus: str
    published: str
    splits: tuple[str, ...] = ("train", "val", "test")
    train_is_for = "the vocabulary is built from it unless 'vocab' is given"
    learns_labels = False
    """Whether the classes are those of the training split."""
    # Set by the dataset before PyG's constructor.
    split: str
    raw_from: Path | None
    # Set by PyG.
    root: str
    force_reload: bool

    @abstractmethod
    def raw_files(self, folder: Path, split: str) -> list[Path]:
        """The existing raw files of a split in ``folder``."""

    @abstractmethod
    def raw_file_pattern(self, split: str) -> str:
        """The names of these files, for messages."""

    def raw_file_name(self, split: str) -> str:
        """The names in the message about missing files."""
        return self.raw_file_pattern(split)

    @abstractmethod
    def read(self, folder: Path, split: str) -> Iterable[Any]:
        """The content of the raw files of a split in ``folder``, checked but not parsed."""

    @abstractmethod
    def _needed(self) -> list[str]:
        """The splits whose raw files are required."""

    @property
    def raw_dir(self) -> str:
        """The folder of the raw files."""
        return str(Path(self.root, "raw"))

    @property
    def kept_in(self) -> str:
        """Where a new folder of processed examples is made, for messages; empty unless it is a relative path,
        as by default.
        """
        new = not Path(self.root).is_absolute() and not Path(self.root, "processed").is_dir()
        return f", kept in {self.root}" if new else ""

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
        """Copies the raw files from :obj:`raw_from`; nothing is downloaded."""
        if self.raw_from is not None:
            self._copy_from(self.raw_from)
        for split in self._needed():
            if not self.raw_files(Path(self.raw_dir), split):
                raise FileNotFoundError(self._missing(split))

    def _download(self) -> None:
        self.download()  # PyG skips it if the files exist, even if those in raw_from differ

    def _copy_from(self, folder: Path) -> None:
        """Copies new raw files after all files were read, so that no damaged file is copied."""
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
        """Raises if a copied file would not be read, because an existing one takes precedence."""
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
        others = " and ".join(str(other) for other in read if other not in targets.values())
        for path, target in targets.items():
            if target not in read:
                message = f"'raw_from' has {path}, but {target} would not be read beside {others}"
                raise ValueError(f"{message}: use another 'root' or delete {others}")

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


class OwnFiles(RawFiles):
    """Mixin of datasets of the user's files, one per split, which are not copied.

    It comes before the other bases. A constructor calls :meth:`take_files` first.
    """

    files: dict[str, Path]
    """The files by split; without a validation file, a part of the training file is drawn."""
    split: str
    arcs: str
    _parser: Any

    def take_files(
        self,
        train: str | os.PathLike[str] | None,
        val: str | os.PathLike[str] | None,
        test: str | os.PathLike[str] | None,
        raw_from: object = None,
        tree_scheme: str = "auto",
        bad_trees: str = "error",
        keep_trees: bool = True,
    ) -> None:
        """Sets the files of the splits, and the options of their trees."""
        if train is None or raw_from is not None:
            raise ValueError(
                "'train' must be a file, and 'raw_from' is for corpora only, since own files are not copied "
                f"(got {train!r} and {raw_from!r})"
            )
        given = {"train": train, "val": val, "test": test}
        self.files = {name: home_path(file) for name, file in given.items() if file is not None}
        self.splits = ("train", "val", "test") if test is not None else ("train", "val")
        self.corpus = self.files["train"].name
        check_choice("tree_scheme", tree_scheme, SCHEMES)
        check_choice("bad_trees", bad_trees, BAD_TREES)
        self.tree_scheme, self.bad_trees, self.keep_trees = tree_scheme, bad_trees, keep_trees
        self.taken: dict[str, Any] = {}

    @abstractmethod
    def take_in(self, path: Path, intake: Intake) -> Any:
        """The content of a file, with its trees converted and repaired by the intake."""

    def process(self) -> None:
        """Reads the files of this and later splits before it parses, so that all their errors come first."""
        splits = self.splits[self.splits.index(self.split) :]
        each(self.check_file, [name for name in splits if name in self.files and self.file(name).is_file()])
        super().process()  # type: ignore[misc]

    def check_file(self, split: str) -> None:
        """Raises :class:`ValueError` if the file of a split has an error."""
        parser = self._parser if self.bad_trees == "parse" else None
        # intake() would read the training file first, whose errors would hide those of this file.
        self.take_in(self.file(split), Intake(self.tree_scheme, self.bad_trees, parser))

    def intake(self, split: str) -> Intake:
        """The intake for the trees of a split; ``"auto"`` means the scheme of the training file."""
        parser = self._parser if self.bad_trees == "parse" else None
        scheme, train = self.tree_scheme, self.files["train"]
        if scheme == "auto" and self.file(split) != train and train.is_file():
            if "train" not in self.taken:
                of_training = Intake(scheme, self.bad_trees, parser)
                self.take_in(train, of_training)
                self.taken["train"] = {"tree_scheme": of_training.decided}
            scheme = self.taken["train"]["tree_scheme"]
        return Intake(scheme, self.bad_trees, parser)

    def keep_count(self, split: str, intake: Intake) -> None:
        """Stores the counts of an intake for :meth:`describe`."""
        notes = [intake.note()] if intake.note() else []
        if intake.graphs and self.arcs == "basic":
            trees = plural(intake.graphs, "tree")
            notes.append(f"'edges' of {trees} are not read (--set arcs=own reads them)")
        self.taken[split] = {**intake.counts(), "tree_scheme": intake.decided, "note": "; ".join(notes)}

    @property
    def decided_scheme(self) -> str:
        """The scheme of the split's trees; ``"auto"`` if it has no trees."""
        scheme: str = self.taken[self.split]["tree_scheme"]
        return scheme

    def describe_trees(self) -> dict[str, Any]:
        """The scheme of the trees, if there are any, and the counts of changed trees."""
        taken = {name: value for name, value in self.taken[self.split].items() if name != "note"}
        changed = taken["bad_trees"] or taken["converted"]
        scheme = {} if self.decided_scheme == "auto" else {"tree_scheme": self.decided_scheme}
        return taken if changed else scheme

    def tree_options(self) -> dict[str, Any]:
        """The options of trees that differ from the defaults, for the digest."""
        given: dict[str, tuple[Any, Any]] = {
            "tree_scheme": (self.tree_scheme, "auto"),
            "bad_trees": (self.bad_trees, "error"),
            "keep_trees": (self.keep_trees, True),
        }
        return {name: value for name, (value, usual) in given.items() if value != usual}

    def given_tree(self, tree: Sentence | None) -> Sentence | None:
        """The tree of a row that is kept."""
        return given_tree(tree, self.keep_trees, self.arcs)

    def file(self, split: str) -> Path:
        """The file of a split."""
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


def visible_files(folder: Path, pattern: str, *, before: str | None = None) -> list[Path]:
    """Sorted matches below a folder, without hidden files, such as those that another process is writing
    (:func:`graphdep.io.atomic_path`).

    Args:
        folder: The folder.
        pattern: As for :meth:`pathlib.Path.glob`.
        before: Text after the name of the corpus, which all files must share. (default: any names)
    """
    every: Iterator[Path] = folder.glob(pattern)
    found = sorted(path for path in every if not path.name.startswith("."))
    if before is not None and len({path.name.partition(before)[0] for path in found}) > 1:
        check_one(folder, found, "corpora", "give each its own 'root'")
    return found


Find = Callable[[Path], list[str]]


def choose_layout(
    layout: str | None,
    known: Sequence[str],
    raw_from: str | os.PathLike[str] | None,
    root: str | os.PathLike[str],
    *,
    to_copy: Find,
    copied: Find,
) -> str:
    """The layout to load: the given one, else that of the files to copy, else that of the existing files.

    Args:
        layout: The given layout.
        known: The layouts of the corpus; the first is the default if there are no files.
        raw_from: Folder to copy from.
        root: Folder of the corpus.
        to_copy: Finds the layouts in a folder to copy from; the last one is used.
        copied: Finds the layouts in the folder of raw files.
    """
    if layout is not None:
        check_choice("layout", layout, known)
    source = None if raw_from is None else home_path(raw_from)
    found = [] if source is None else to_copy(source)
    if layout and found and layout not in found:
        raise ValueError(
            f"'layout' is {layout!r}, but the files in raw_from={str(source)!r} are {found[0]!r}"
        )
    if layout or found:
        return layout or found[-1]
    raw = home_path(Path(root, "raw"))
    here = copied(raw)
    if len(here) > 1:
        many = "both" if len(here) == 2 else "several"
        raise ValueError(
            f"{raw} has {many} layouts: set 'layout' (one of {', '.join(known)}), or keep the files of one"
        )
    return here[0] if here else known[0]
