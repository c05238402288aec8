"""COGS: who does what to whom, in structures and with words that training has only elsewhere."""

from __future__ import annotations

import logging
import os
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import torch
from torch import Tensor

from graphdep.datasets.base.draw import Draw
from graphdep.datasets.base.parsed_dataset import Example
from graphdep.datasets.base.raw import check_words, read_table, row_error
from graphdep.datasets.base.word_options import WordOptions
from graphdep.datasets.labels.bio import OUTSIDE
from graphdep.datasets.labels.cogs.cogs_forms import original, variable_free
from graphdep.datasets.labels.cogs.cogs_words import MisfitError, predicates
from graphdep.datasets.labels.label_dataset import LabelDataset
from graphdep.datasets.labels.labelled_words import LabelledWords
from graphdep.parsing import Parser
from graphdep.sentence import Sentence

logger = logging.getLogger("graphdep.datasets")

FORMS = ("variable-free", "original")
NOMINALS = ("modified", "all")
NO_ROLE = "O"
COLUMNS = ("sentence", "logical form", "type")
PRIMITIVE, IN_DISTRIBUTION = "primitive", "in_distribution"
NAMES = {"train": "train.tsv", "val": "dev.tsv", "test": "gen.tsv", "test-indist": "test.tsv"}
_PREFIX = "varfree-"
# Without dev.tsv, a tenth of the training sentences, and the seed that it is drawn with.
_TENTH, _SEED = 10, 20201001
_NAMED = 5


class COGS(LabelDataset):
    r"""The sentences of `"COGS: A Compositional Generalization Challenge Based on Semantic Interpretation"
    <https://aclanthology.org/2020.emnlp-main.731/>`_ as roles: an example a predicate, which is marked, and
    the label of a word is its role.

    Logical forms are read in both notations that they are published in. A predicate is a verb, or a noun
    that a prepositional phrase modifies. Roles are ``agent``, ``theme`` and ``recipient``, ``ccomp`` and
    ``xcomp`` for the verb of a clause, and ``nmod.in`` and the like; of a phrase it is the head that has
    them. All other words are ``"O"``. The predicates of a sentence have one ``group``: where all of their
    words are right, so is the sentence, up to definiteness, which is not asked for.

    The training split has 143 *primitives*, a word alone, whose form gives no word a role. They are examples
    of one word, which is marked and ``"O"``, so that the vocabulary has these words, of which some occur
    nowhere else in training. A form that is not one of the words of its sentence gives no example; such
    sentences are counted and named in a warning and by :meth:`describe`. In the published files there are
    none.

    =============== =========================================== ===================
    split           ``form="variable-free"``                    ``form="original"``
    =============== =========================================== ===================
    ``train``       ``varfree-train.tsv``                       ``train.tsv``
    ``val``         ``dev.tsv``, else a tenth of the training   likewise
    ``test``        ``varfree-gen.tsv``                         ``gen.tsv``
    ``test-indist`` ``test.tsv``                                ``test.tsv``
    =============== =========================================== ===================

    ``dev.tsv`` and ``test.tsv`` are published with variables, which are read for either form: the roles are
    the same. Without ``dev.tsv``, a tenth of the ``in_distribution`` sentences is drawn from the training
    file with one fixed seed, and a log line says so.

    Args:
        root: Folder of the corpus. (default: ``"datasets/cogs"``)
        split: See above; ``"test"`` is the generalization set of 21 types. (default: ``"train"``)
        parser: A parser, or its name for :func:`graphdep.parsing.resolve_parser`; the corpus has no trees.
            (default: ``"bundled"``)
        form: ``"variable-free"`` or ``"original"``, which files are read. (default: ``"variable-free"``)
        nominals: Which nouns and names are marked in an example of their own: ``"all"``, or the
            ``"modified"`` ones alone, which takes 2.5 times fewer examples and gives away which of them are
            modified: an exact match is then easier than that of the whole form. (default: ``"all"``)
        options: Further ones, see :class:`~graphdep.datasets.base.word_options.WordOptions`. ``limit``
            counts examples, so that the last sentence may lack some of its predicates.

    Shapes:
        - as of :class:`~graphdep.datasets.labels.label_dataset.LabelDataset`
        - ``type_id``: :math:`(1)`, long, the number in :attr:`types` of the sentence's type

    Raises:
        FileNotFoundError: If a raw file is missing; the message says where to get it.
        ValueError: If an option is wrong or a row is damaged, with file, line and value.

    Example:
        >>> from graphdep.datasets import COGS
        >>> dataset = COGS("datasets/cogs", split="test", parser="chain")
        >>> data = dataset[0]
        >>> [dataset.labels[y] for y in data.y.tolist()], dataset.types[int(data.type_id)]
        (['O', 'agent', 'O', 'O', 'theme', 'O'], 'prim_to_subj_common')
    """

    corpus = "COGS"
    published = (
        "https://github.com/najoungkim/COGS, folder data, and without variables, for example, at "
        "https://github.com/ykyaol7/template_tuning, folder data/cogs (called varfree-train.tsv and "
        "varfree-gen.tsv here)"
    )
    splits = tuple(NAMES)
    own_trees = False
    marks = True
    outside = OUTSIDE
    scored_by = " by their role"
    types: tuple[str, ...]
    """The types of the split's sentences by their numbers, by name."""

    def __init__(
        self,
        root: str | os.PathLike[str] = "datasets/cogs",
        split: str = "train",
        parser: str | Parser = "bundled",
        *,
        form: str = "variable-free",
        nominals: str = "all",
        **options: Unpack[WordOptions],
    ) -> None:
        for name, value, known in (("form", form, FORMS), ("nominals", nominals, NOMINALS)):
            if value not in known:
                raise ValueError(f"'{name}' must be one of {', '.join(known)} (got {value!r})")
        self.form, self.nominals = form, nominals
        self._about: dict[str, dict[str, Any]] = {}
        super().__init__(root, split, parser, **options)
        self._warn()

    def options(self) -> dict[str, Any]:
        own = {"form": self.form, "nominals": self.nominals, "val": self._draws(Path(self.raw_dir))}
        return super().options() | own

    def raw_files(self, folder: Path, split: str) -> list[Path]:
        if split == "val" and self._draws(folder):
            split = "train"
        path = folder / self._name(split)
        return [path] if path.is_file() else []

    def raw_file_pattern(self, split: str) -> str:
        return self._name(split)

    def raw_file_name(self, split: str) -> str:
        return self._name(split) + (f" or {self._name('train')}" if split == "val" else "")

    def read(self, folder: Path, split: str) -> list[LabelledWords]:
        (path,) = self.raw_files(folder, split)
        rows = list(_read_rows(path))
        if split in ("train", "val") and self._draws(folder):
            rows = _drawn(rows, split)
        kinds = Counter(row.kind for row in rows)
        found, misfits = self._labelled(rows, sorted(kinds))
        self._about[split] = {
            "sentences": len(rows) - kinds[PRIMITIVE],
            "primitives": kinds[PRIMITIVE],
            "misfits": misfits,
            "types": sorted(kinds),
        }
        return found

    def targets(self, example: LabelledWords, tree: Sentence, number: int) -> dict[str, Tensor]:
        assert isinstance(example, _Typed)
        return super().targets(example, tree, number) | {"type_id": torch.tensor([example.type_id])}

    def notes(self, examples: list[Example]) -> dict[str, Any]:
        return super().notes(examples) | {"about": self._about[self.split]}

    def restore(self, notes: dict[str, Any]) -> None:
        super().restore(notes)
        self._about[self.split] = notes["about"]
        self.types = tuple(notes["about"]["types"])

    def describe(self) -> dict[str, Any]:
        """As of every corpus of labelled words, with the numbers of sentences of its file, of primitives, and
        of sentences that are not there because their form is not one of their words.
        """
        about = self._about[self.split]
        described, misfits = super().describe(), about["misfits"]
        note = described["note"]
        if misfits:
            note += f"; {len(misfits)} sentences are left out, as {_some(misfits)}"
        counts = {"sentences": about["sentences"], "primitives": about["primitives"]}
        return described | counts | {"left_out_sentences": len(misfits), "note": note}

    def _labelled(self, rows: list[_Row], types: list[str]) -> tuple[list[LabelledWords], list[str]]:
        found: list[LabelledWords] = []
        misfits = []
        for row in rows:
            try:
                found += self._examples_of(row, types.index(row.kind))
            except MisfitError as error:
                misfits.append(f"{row.path.name}:{row.line}: {error}")
        return found, misfits

    def _examples_of(self, row: _Row, type_id: int) -> Iterator[LabelledWords]:
        place = f"{row.path}:{row.line}"
        if row.kind == PRIMITIVE:
            yield _Typed(row.words, [NO_ROLE] * len(row.words), 0, None, row.line, place, type_id)
            return
        reader = variable_free if row.path.name.startswith(_PREFIX) else original
        found = predicates(row.words, reader(row.path, row.line, row.form))
        for word, roles in found:
            if roles or self.nominals == "all":
                labels = [roles.get(other, NO_ROLE) for other in range(len(row.words))]
                yield _Typed(row.words, labels, word, None, row.line, place, type_id)

    def _draws(self, folder: Path) -> bool:
        """Whether the validation split is drawn from the training file."""
        return not (folder / self._name("val")).is_file()

    def _name(self, split: str) -> str:
        own = self.form == "variable-free" and split in ("train", "test")
        return _PREFIX * own + NAMES[split]

    def _warn(self) -> None:
        if self.split in ("train", "val") and self._draws(Path(self.raw_dir)):
            logger.warning(
                "COGS: %s has no dev.tsv, so 'val' is a tenth of the training sentences",
                self.raw_dir,
            )
        misfits = self._about[self.split]["misfits"]
        if misfits:
            logger.warning(
                "COGS (%s): %d sentences are left out: %s", self.split, len(misfits), _some(misfits)
            )


@dataclass(frozen=True)
class _Typed(LabelledWords):
    """An example, and the number of its sentence's type."""

    type_id: int = 0


class _Row(NamedTuple):
    path: Path
    line: int
    words: list[str]
    form: str
    kind: str


def _read_rows(path: Path) -> Iterator[_Row]:
    for line, row in read_table(path, COLUMNS, header=False):
        for name, value in zip(COLUMNS, row):
            if not value.strip():
                raise row_error(path, line, f"the {name} is empty", value)
            check_words(path, line, f"the {name}", value)
        text, form, kind = (value.strip() for value in row)
        yield _Row(path, line, text.split(), form, kind)


def _drawn(rows: list[_Row], split: str) -> list[_Row]:
    """The rows of a split of the training file; exposure examples and primitives are there once, to learn."""
    common = [number for number, row in enumerate(rows) if row.kind == IN_DISTRIBUTION]
    held_out = set(Draw(random.Random(_SEED)).shuffled(common)[: len(common) // _TENTH])
    return [row for number, row in enumerate(rows) if (number in held_out) == (split == "val")]


def _some(misfits: list[str]) -> str:
    more = len(misfits) - _NAMED
    return "; ".join(misfits[:_NAMED]) + (f"; and {more} others" if more > 0 else "")
