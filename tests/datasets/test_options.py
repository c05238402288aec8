from __future__ import annotations

import inspect
import re
from typing import get_args, get_type_hints

import pytest

import graphdep.datasets
from graphdep.datasets.base.parsed import (
    CorpusOptions,
    ParsedDataset,
    ParsedOptions,
    SavedOptions,
    TextDataset,
)
from graphdep.datasets.base.rows import option_names
from graphdep.datasets.dialogues import DialogueDataset, DialogueOptions
from graphdep.datasets.selection.dataset import (
    DrawnOptions,
    DrawnSelection,
    RowsOptions,
    RowsSelection,
    SelectionDataset,
    SelectionOptions,
)

SHARED = tuple({*ParsedOptions.__annotations__} - {"raw_from", "root_node"})
SENTENCES = ("CSVTexts", "CoLA", "GLUE", "MRPC", "SICK", "SST", "UDTreebank")
SELECTIONS = ("DailyDialogSelection", "Douban", "ECommerce", "Ubuntu", "UbuntuIRC")
CORPORA = (*SENTENCES, "DailyDialog", "EmpatheticDialogues", *SELECTIONS)
# The constructors that declare the keys of each class of options.
MAKERS = {
    ParsedOptions: (TextDataset, ParsedDataset),
    DialogueOptions: (DialogueDataset, TextDataset, ParsedDataset),
    SelectionOptions: (SelectionDataset,),
    RowsOptions: (RowsSelection, SelectionDataset),
    DrawnOptions: (DrawnSelection, SelectionDataset),
}
KINDS = (CorpusOptions, SavedOptions, *MAKERS)
NEEDED = {"GLUE": {"name": "cola"}, "CSVTexts": {"train": "x.csv", "text_columns": "a", "label_column": "b"}}


def test_type_checkers_know_what_is_accepted():
    for name in CORPORA:
        corpus = getattr(graphdep.datasets, name)
        own = inspect.signature(corpus).parameters
        (shared,) = get_args(get_type_hints(corpus.__init__)["options"])
        assert shared is corpus.shared_options
        assert {*option_names(corpus)} == {*own, *shared.__annotations__} - {"options"}
        documented = inspect.getdoc(corpus)
        assert not [name for name in own if not re.search(rf"^    (\w+, )*{name}[:,]", documented, re.M)]


def test_shared_options_are_those_that_the_bases_take():
    for options, makers in MAKERS.items():
        taken = {
            key: value
            for make in reversed(makers)
            for key, value in inspect.signature(make).parameters.items()
        }
        taken = {key: p for key, p in taken.items() if p.kind is p.KEYWORD_ONLY and key != "to_data_options"}
        keys = {*get_type_hints(options)}
        hidden = (
            {"tokens", "max_length", "root_node", "vocab_from", "vectors", "one_sentence"}
            if options is DialogueOptions
            else set()
        )
        assert keys == taken.keys() - hidden
        assert not options.__required_keys__
        for key in keys:
            entries = [entry for entry in entries_of(options) if key in entry.partition(":")[0].split(", ")]
            assert len(entries) == 1, key
            default = taken[key].default
            shown = f'``"{default}"``' if isinstance(default, str) else f":obj:`{default}`"
            assert shown.replace("20000", "20_000") in entries[0] or key == "relations", key


def entries_of(options):
    """The documentation of each key, including inherited keys."""
    docs = [
        inspect.cleandoc(kind.__doc__)
        for kind in KINDS
        if {*kind.__annotations__} <= {*options.__annotations__}
    ]
    return [" ".join(entry.split()) for doc in docs for entry in re.split(r"\n    (?=\w)", doc)[1:]]


def test_unknown_keywords_name_the_corpus_and_its_options(tmp_path):
    for name in CORPORA:
        corpus = getattr(graphdep.datasets, name)
        with pytest.raises(TypeError) as error:
            corpus(tmp_path / "x", **NEEDED.get(name, {}), layouts="glue")
        begin = f"{name}.__init__() got an unexpected keyword argument 'layouts': it takes root, "
        assert str(error.value).startswith(begin)
        assert str(error.value).endswith(", ".join(option_names(corpus)))
        assert not any(tmp_path.iterdir())


def test_options_of_other_corpora_are_unknown(tmp_path):
    for name, option in [
        ("CoLA", "name"),
        ("DailyDialog", "tokens"),
        ("UDTreebank", "parser"),
        ("SST", "task"),
    ]:
        with pytest.raises(
            TypeError, match=rf"^{name}.__init__\(\) got an unexpected keyword argument '{option}'"
        ):
            getattr(graphdep.datasets, name)(tmp_path / "x", **{option: None})


def test_a_users_class_has_the_options_of_its_base():
    class Own(graphdep.datasets.SICK):
        def __init__(self, root, *args, colour="red", **options):
            super().__init__(root, *args, **options)

    class Closed(graphdep.datasets.SICK):
        def __init__(self, root, colour):
            super().__init__(root)

    assert option_names(Own)[:2] == ("root", "colour")
    assert {*option_names(Own)} == {*option_names(graphdep.datasets.SICK), "colour"}
    assert option_names(Closed) == ("root", "colour")
    assert option_names(lambda root, split: None) == ("root", "split")
    with pytest.raises(TypeError, match=r"^Closed.__init__\(\) got an unexpected keyword argument 'split'"):
        Closed("x", colour="red", split="val")
    with pytest.raises(ValueError, match="'task' must be one of relatedness, entailment"):
        Own("x", colour="blue", task="sentiment")


def test_keywords_arrive(tmp_path, monkeypatch):
    got = {}

    def init(self, root, split, **options):
        got.update(options)
        raise KeyboardInterrupt  # ends the constructor

    monkeypatch.setattr(ParsedDataset, "__init__", init)
    for name in SENTENCES:
        got.clear()
        kind = getattr(graphdep.datasets, name)
        values = {key: object() for key in SHARED} | {"arcs": "basic", "engine": "rules"}
        place = {"raw_from": tmp_path} if name != "CSVTexts" else {}
        with pytest.raises(KeyboardInterrupt):
            kind(tmp_path, **NEEDED.get(name, {}), **place, **values, root_node=False)
        assert got == {**place, **values, "to_data_options": {"root": False}}
