"""Every choice of a run on labels of words of the user's own sentences."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphdep.datasets.labels.words import KEYED_FILES, OUTSIDE, check_label_file, mark_column
from graphdep.io.limits import MAX_WORDS
from graphdep.tasks.labels.parsed_config import ParsedLabelConfig
from graphdep.tasks.labels.scoring import SCHEMES
from graphdep.training.settings import setting

_FILES = ("train", "val", "test")


@dataclass(frozen=True, kw_only=True)
class OwnLabelConfig(ParsedLabelConfig, kind="own-labels"):
    """Settings of a run on labels of words of the user's own sentences, see
    :class:`graphdep.datasets.OwnLabels`.

    Args:
        train: File with the training sentences: ``.jsonl``, ``.conllu``, ``.tsv``, ``.txt``, ``.conll`` or
            ``.spacy``.
        val: File for validation; :obj:`None` draws sentences from the training file. (default: :obj:`None`)
        test: File for testing; :obj:`None` for no test scores. (default: :obj:`None`)
        key, absent: Where the labels of ``.conllu`` and ``.spacy`` files are, as of ``ud-tags``. (default:
            ``"upos"``, :obj:`None`)
        mark_key: Of ``.conllu`` files, the key that the marked word has, ``"misc:KEY"`` or ``"feats:KEY"``,
            whatever its value; one word a sentence at most. (default: :obj:`None`, no word is marked)
        scheme: ``"words"``, or ``"bio"`` for labels that say where spans begin and go on. (default:
            ``"words"``)
        outside: The label that stands for no finding, which F1 leaves out. (default: ``"O"``)
        val_fraction: The share of the sentences that is drawn for validation. (default: :obj:`0.1`)
        val_seed: Of that draw, which so is the same for every :obj:`seed`. (default: :obj:`0`)
        max_words, truncate: Words of a sentence at most, and whether the first ones of a longer sentence are
            read, which else is an error. (default: :obj:`10_000`, :obj:`False`)
        trees: ``"parser"``: sentences that have a tree keep it, and :obj:`parser` parses the others;
            ``"gold"`` for files in which all have one. (default: ``"parser"``)
        **others: As in :class:`LabelConfig`, but not ``raw_from``.

    Raises:
        ValueError: If a setting is missing or wrong; the message names it.
    """

    task: str = "labels"
    train: str | None = setting(None, place=True)
    val: str | None = setting(None, place=True)
    test: str | None = setting(None, place=True)
    mark_key: str | None = setting(None, defines=True)
    scheme: str = setting("words", choices=SCHEMES, defines=True)
    outside: str | None = setting(OUTSIDE, defines=True)
    val_fraction: float = 0.1
    val_seed: int = 0
    max_words: int = setting(MAX_WORDS, free=True)
    truncate: bool = setting(False, free=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.train is None:
            raise ValueError(f"task {self.task!r} needs 'train' (--train), which is not given")
        for name, what in (("raw_from", "corpora"), ("data_seed", "generated data")):
            if getattr(self, name) is not None:
                raise ValueError(
                    f"{name!r} is for {what}, not for task {self.task!r} (got {getattr(self, name)!r})"
                )
        if self.mark_key is not None:
            mark_column(self.mark_key)
        for name, default, kinds in (
            ("key", "upos", KEYED_FILES),
            ("absent", None, KEYED_FILES),
            ("mark_key", None, (".conllu",)),
        ):
            if getattr(self, name) != default and not self._has_file(kinds):
                given = getattr(self, name)
                raise ValueError(f"{name!r} is for {' and '.join(kinds)} files (got {given!r})")

    @property
    def has_key(self) -> bool:
        """Whether a key says where the labels of some file are."""
        return self._has_file(KEYED_FILES)

    def _has_file(self, kinds: tuple[str, ...]) -> bool:
        files = (getattr(self, name) for name in _FILES)
        return any(Path(file).suffix.lower() in kinds for file in files if file is not None)

    @property
    def splits(self) -> tuple[str, ...]:
        return super().splits if self.test is not None else ("train", "val")

    def check_sources(self) -> None:
        super().check_sources()
        for name, path in self.own_files().items():
            check_label_file(name, path)

    def dataset_options(self, split: str) -> dict[str, Any]:
        own = (*_FILES, "mark_key", "scheme", "outside", "val_fraction", "max_words", "truncate")
        given = {name: getattr(self, name) for name in own}
        return {**super().dataset_options(split), **given, "seed": self.val_seed}

    @property
    def _parser(self) -> str:
        return "gold" if self.trees == "gold" else self.parser
