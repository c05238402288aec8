from __future__ import annotations

import inspect

import pytest

import graphdep.datasets
from graphdep.datasets.base.parsed_dataset import ParsedDataset
from graphdep.parsing.enhance import ARCS

# Keywords of all, and further ones of the corpora of sentences.
KEYWORDS = ("vocab", "relations", "min_freq", "lower", "limit", "transform", "pre_transform", "pre_filter")
KEYWORDS += ("log", "force_reload")
SHARED = (*KEYWORDS, "tokens", "max_length", "arcs")
SENTENCES = ("CSVTexts", "CoLA", "GLUE", "MRPC", "SICK", "SST", "UDTreebank")
NEEDED = {
    "GLUE": {"name": "cola"},
    "CSVTexts": {"train": "x.csv", "text_columns": "a", "label_column": "b"},
}


def test_names_that_others_import():
    from graphdep.datasets import (  # noqa: F401
        GLUE,
        MRPC,
        SICK,
        SST,
        CoLA,
        DailyDialog,
        Douban,
        ECommerce,
        EmpatheticDialogues,
        Ubuntu,
        UDTreebank,
    )


@pytest.mark.parametrize("name", [*SENTENCES, "DailyDialog", "EmpatheticDialogues"])
def test_keywords_are_in_the_signature(name):
    parameters = inspect.signature(getattr(graphdep.datasets, name)).parameters
    assert {*KEYWORDS, "raw_from"} <= {*parameters}
    assert not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())


@pytest.mark.parametrize("name", SENTENCES)
def test_defaults_are_those_of_the_base(name):
    own = inspect.signature(getattr(graphdep.datasets, name)).parameters
    base = inspect.signature(ParsedDataset).parameters
    for key in (*SHARED, "raw_from"):
        assert own[key].default == base[key].default, key
    assert own["root_node"].default is True


@pytest.mark.parametrize("name", SENTENCES)
def test_unknown_keywords_are_refused_before_anything_is_written(tmp_path, name):
    kind = getattr(graphdep.datasets, name)
    with pytest.raises(TypeError, match=r"__init__\(\) got an unexpected keyword argument 'vocabb'"):
        kind(tmp_path / "x", **NEEDED.get(name, {}), vocabb=1)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("name", SENTENCES)
def test_keywords_arrive(tmp_path, monkeypatch, name):
    got = {}

    def init(self, root, split, **options):
        got.update(options)
        raise KeyboardInterrupt  # there is nothing to go on with

    monkeypatch.setattr(ParsedDataset, "__init__", init)
    kind = getattr(graphdep.datasets, name)
    values = {key: object() for key in SHARED} | {"arcs": "basic"}
    place = {"raw_from": tmp_path} if name != "CSVTexts" else {}
    with pytest.raises(KeyboardInterrupt):
        kind(tmp_path, **NEEDED.get(name, {}), **place, **values, root_node=False)
    assert got == {**place, **values, "to_data_options": {"root": False}}


def test_arcs():
    assert ARCS == ("basic", "enhanced", "enhanced++")
