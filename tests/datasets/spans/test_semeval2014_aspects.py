from __future__ import annotations

from pathlib import Path

import pytest

from graphdep.datasets import SemEval2014Aspects
from graphdep.datasets.spans.corpora import read_aspect_terms
from tests.kit.tiny_corpora import write_tiny_aspects

TERMS = (
    '<aspectTerm term="fish &amp; chips" polarity="positive" from="4" to="16"/>\n'
    '<aspectTerm term="wine" polarity="conflict" from="18" to="22"/>\n'
)
SENTENCE = (
    "<sentences>\n<sentence id='1'><text>The fish &amp; chips, wine!</text>\n"
    f"<aspectTerms>\n{TERMS}</aspectTerms>\n"
    '<aspectCategories><aspectCategory category="food" polarity="positive"/></aspectCategories></sentence>\n'
    "<sentence id='2'><text>Nice.</text></sentence></sentences>\n"
)


@pytest.fixture
def raw(tmp_path) -> Path:
    write_tiny_aspects(tmp_path / "files")
    return tmp_path / "files" / "raw"


def load(tmp_path, raw, parser, split="test", **options) -> SemEval2014Aspects:
    return SemEval2014Aspects(tmp_path / "root", split, parser, raw_from=raw, **options)


def test_splits(tmp_path, raw, parser):
    sets = {split: load(tmp_path, raw, parser, split) for split in ("train", "val", "test")}
    assert [len(sets[split]) for split in ("train", "val", "test")] == [22, 2, 8]
    assert sets["train"].labels == ("conflict", "negative", "neutral", "positive")
    assert sets["test"].num_spans == 1
    assert sets["test"][0].mark.tolist() == [0, 0, 1, 1, 0, 0, 0]
    assert "sentences to train on, drawn with seed 0" in sets["val"].describe()["note"]


@pytest.mark.parametrize(("polarities", "labels"), [(4, ["positive", "conflict"]), (3, ["positive"])])
def test_polarities(tmp_path, raw, parser, polarities, labels):
    (raw / "Restaurants_Test_Gold.xml").write_text(SENTENCE, encoding="utf-8")
    test = load(tmp_path, raw, parser, polarities=polarities)
    assert [test.labels[y] for y in test.y.tolist()] == labels
    assert test[0].mark.tolist() == [0, 0, 1, 1, 1, 0, 0, 0]
    note = test.describe()["note"]
    assert "1 sentences without a term in Restaurants_Test_Gold.xml" in note
    assert ("1 terms of conflicting polarity left out" in note) == (polarities == 3)


def test_words_that_a_term_cuts(tmp_path, raw, parser):
    text = SENTENCE.replace(
        '"wine" polarity="conflict" from="18" to="22"', '"win" polarity="neutral" from="18" to="21"'
    )
    (raw / "Restaurants_Test_Gold.xml").write_text(text, encoding="utf-8")
    test = load(tmp_path, raw, parser)
    assert "1 words cut at a mark" in test.describe()["note"]
    assert test[1].mark.tolist() == [0, 0, 0, 0, 0, 0, 1, 0, 0]


def test_a_file_for_validation_and_the_other_domain(tmp_path, raw, parser):
    (raw / "Restaurants_Val.xml").write_text(SENTENCE, encoding="utf-8")
    assert len(load(tmp_path, raw, parser, "val")) == 2
    assert len(load(tmp_path, raw, parser, "train")) == 24
    for old, new in (
        ("Restaurants_Train.xml", "Laptop_Train_v2.xml"),
        ("Restaurants_Test_Gold.xml", "Laptops_Test_Gold.xml"),
    ):
        (raw / old).rename(raw / new)
    laptops = SemEval2014Aspects(tmp_path / "laptops", "test", parser, raw_from=raw, domain="laptops")
    assert len(laptops) == 8


def test_the_folder_of_the_archive(tmp_path, raw, parser):
    (raw / "ABSA_Gold_TestData").mkdir()
    (raw / "Restaurants_Test_Gold.xml").rename(raw / "ABSA_Gold_TestData" / "Restaurants_Test_Gold.xml")
    assert len(load(tmp_path, raw, parser)) == 8
    assert (tmp_path / "root" / "raw" / "Restaurants_Test_Gold.xml").is_file()


def test_lines(tmp_path):
    path = tmp_path / "x.xml"
    path.write_text(SENTENCE, encoding="utf-8")
    first, second = read_aspect_terms(path)
    assert (first.line, first.text, [term.line for term in first.terms]) == (
        2,
        "The fish & chips, wine!",
        [4, 5],
    )
    assert (second.text, second.terms) == ("Nice.", [])


def test_other_errors(tmp_path, raw, parser):
    (raw / "Restaurants_Test_Gold.xml").write_text("<sentences/>", encoding="utf-8")
    with pytest.raises(ValueError, match="xml:1: no <sentence> in <sentences>"):
        load(tmp_path, raw, parser)
    with pytest.raises(ValueError, match="'domain' must be one of restaurants, laptops .got 'cars'."):
        load(tmp_path, raw, parser, domain="cars")
    with pytest.raises(ValueError, match="'polarities' must be one of 3, 4 .got 2."):
        load(tmp_path, raw, parser, polarities=2)
