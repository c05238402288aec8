"""Settings of runs on the user's files."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from graphdep.io.files import home_path
from graphdep.sentence.intake import BAD_TREES, SCHEMES
from graphdep.training.config import ModelPreset, TrainConfig
from graphdep.training.settings import CONTROL_TREES, OWN, setting

OF_TREES = ("tree_scheme", "bad_trees")
"""Settings of the trees in a user's files."""
OWN_TREES: dict[str, Any] = {
    "help": "Trees: those of the files, and the parser's for sentences without (own); the parser's for all "
    "sentences (parser); those of the files, which all sentences must have (gold); or a control, which "
    "starts from own trees, or from the parser's if it ends in -parsed.",
    "choices": ("own", "parser", "gold", *CONTROL_TREES),
}
"""Description and choices of the setting ``trees`` for files whose sentences may have trees."""


def on_own_trees(models: Mapping[str, ModelPreset]) -> dict[str, ModelPreset]:
    """The models on the trees of a user's files; ``model@parser`` uses the parser's."""
    own = {name: preset for name, preset in models.items() if preset.trees == "parser"}
    return {**models, **{name: dataclasses.replace(preset, trees="own") for name, preset in own.items()}}


class OwnFilesConfig(TrainConfig):
    """Settings of runs on the user's files, the last base class of the settings of such tasks."""

    train: str | None = setting(
        None,
        "Training examples: .csv or .tsv with a header, .jsonl, .json or .parquet. Tasks of words read "
        ".jsonl, .json, .parquet, .spacy, CoNLL-U, or columns of words and labels or roles; tasks of spans "
        "read <e1> and <e2> in the texts of .csv and .tsv.",
        panel=OWN,
        place=True,
    )
    val: str | None = setting(
        None,
        "Validation examples; none for a random share of the training file.",
        panel=OWN,
        place=True,
    )
    test: str | None = setting(None, "Test examples; none for no test.", panel=OWN, place=True)
    val_fraction: float = setting(0.1, "Random share of the training file for validation.")
    val_seed: int = setting(0, "Seed of that share, which does not depend on seed.")
    tree_scheme: str = setting(
        "auto",
        "Labels of the trees in the files: clear (spaCy's English models) and ud1 (version 1 of Universal "
        "Dependencies) are converted to Universal Dependencies; as-is converts nothing; auto converts clear "
        "only.",
        panel=OWN,
        choices=SCHEMES,
    )
    bad_trees: str = setting(
        "error",
        "Sentences in the files whose governors are not a tree: error; attach further roots, cycles and "
        "words with a governor outside the sentence to the first root; parse them again; or skip them.",
        panel=OWN,
        choices=BAD_TREES,
    )

    def check(self) -> None:
        super().check()
        if self.train is None:
            raise ValueError(f"task {self.task!r} needs 'train' (--train)")
        self.check_read(("raw_from",), f"corpora, not for task {self.task!r}", False)

    @property
    def splits(self) -> tuple[str, ...]:
        return ("train", "val") if self.test is None else super().splits

    def own_files(self) -> dict[str, Path]:
        given = {"train": self.train, "val": self.val, "test": self.test}
        return {name: home_path(file) for name, file in given.items() if file is not None}


class OwnTableConfig(OwnFilesConfig):
    """Settings of runs on the user's files with columns."""

    text_columns: str | None = setting(
        None,
        "Column of the texts, or the two columns of pairs, separated by a comma.",
        panel=OWN,
        free=True,
    )
    label_column: str | None = setting(
        None,
        "Column of the labels. The negative label of spans, which f1 leaves out, is set by outside.",
        panel=OWN,
        free=True,
    )
    one_sentence: bool = setting(
        False, "Each text is one sentence, with one tree, wherever the parser ends sentences.", panel=OWN
    )

    def dataset_options(self, split: str) -> dict[str, Any]:
        return super().dataset_options(split) | ({"one_sentence": True} if self.one_sentence else {})

    def parser_options(self) -> dict[str, Any]:
        return {**super().parser_options(), "one_sentence": self.one_sentence}
