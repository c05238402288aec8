from __future__ import annotations

import dataclasses
from collections import Counter

import pytest
import torch

from graphdep import RelationVocab, Sentence
from graphdep.data import EncodedUtterance, text_data
from graphdep.datasets import SICK
from graphdep.datasets.base import parsed as module
from graphdep.parsing import CachedParser

FIXED = RelationVocab()


def enhanced(tree: Sentence, level: str) -> Sentence:
    """A graph whose labels have the word, and an arc from the first word to the last with the level."""
    deps = [
        [(str(head), f"{label}:{form.lower()}" if head else label)]
        for form, head, label in zip(tree.form, tree.head, tree.deprel)
    ]
    deps[-1].append(("1", f"nmod:{level}"))
    return dataclasses.replace(tree, deps=deps)


@pytest.fixture(autouse=True)
def calls(monkeypatch) -> list[int]:
    """Replaces the rules by :func:`enhanced`; records the number of trees of each call."""
    given = []

    def enhance(sentences, level, engine):
        given.append(len(sentences))
        return [enhanced(tree, level) if tree.deps is None else tree for tree in sentences]

    monkeypatch.setattr(module, "enhance", enhance)
    return given


def data_types(dataset: SICK) -> list[int]:
    """The types of all arcs, and of root, whose arcs are not in arc_index here."""
    arcs = [type_ for data in dataset for type_ in data.arc_type.tolist()]
    return [*arcs, dataset.relations["root"]]


def test_enhanced_arcs_and_their_labels(tmp_path, parser, write_sick):
    options = {"parser": parser, "root_node": False, "arcs": "enhanced++"}
    dataset = SICK(tmp_path / "sick", raw_from=write_sick(), **options)
    relations = dataset.relations
    # In six sentences nmod occurs six times, dep:dog five times, and the next label, dep:cat, four times.
    assert relations.learned == ["nmod:enhanced++", "dep:dog"]
    data = dataset[2]  # A dog sees a bird / A man sleeps
    assert data.arc_index.tolist() == [[0, 1, 2, 3, 0, 5, 6, 5], [1, 2, 3, 4, 4, 6, 7, 7]]
    labels = ["dep:dog", *["dep"] * 3, "nmod:enhanced++", "dep", "dep", "nmod:enhanced++"]
    assert data.arc_type.tolist() == [relations[label] for label in labels]
    labels = ["root", *["dep"] * 4, "root", "dep", "dep"]
    assert data.deprel.tolist() == [relations[label] for label in labels]
    assert "dep:dog" not in relations.fallbacks
    assert relations.fallbacks["dep:cat"] == 4
    assert dataset.describe()["unknown_relations"] == relations.fallbacks.total() > 4
    assert dataset.describe()["relation_types"] == len(set(data_types(dataset)))
    more = SICK(tmp_path / "sick", **options, relation_min_freq=4)
    assert more.relations.learned == ["nmod:enhanced++", "dep:dog", "dep:cat"]
    with pytest.raises(ValueError, match="'relation_min_freq' must be at least 1"):
        SICK(tmp_path / "sick", **options, relation_min_freq=0)


def test_nothing_is_parsed_for_graphs_that_cannot_be_made(
    tmp_path, parser, write_sick, no_pybart, monkeypatch
):
    monkeypatch.setattr(type(parser), "gives_graphs", False)
    for given in (parser, CachedParser(parser, tmp_path / "parses.sqlite")):
        with pytest.raises(ImportError, match="needs pybart"):
            SICK(tmp_path / "sick", parser=given, raw_from=write_sick(), arcs="enhanced++", engine="pybart")
    SICK(tmp_path / "sick", parser=parser, raw_from=write_sick())


def test_labels_are_learned_from_the_training_split(tmp_path, parser, write_sick):
    raw = write_sick()
    train = SICK(tmp_path / "sick", parser=parser, raw_from=raw, arcs="enhanced")
    val = SICK(tmp_path / "sick", "val", parser=parser, arcs="enhanced")
    assert val.relations == train.relations
    assert val.vocab == train.vocab
    assert val.relations.fallbacks == Counter(
        f"dep:{word}" for word in "chases the cat cat is chased by a".split()
    )
    few = SICK(tmp_path / "sick", parser=parser, arcs="enhanced", limit=1)
    assert few.relations == FIXED  # no label occurs five times
    (tmp_path / "sick" / "raw" / "SICK_train.txt").unlink()
    with pytest.raises(FileNotFoundError, match=r"SICK_train\.txt \(the relations are learned from it"):
        SICK(tmp_path / "sick", "val", parser=parser, arcs="enhanced", vocab=train.vocab)
    options = {"vocab": train.vocab, "relations": val.relations}
    given = SICK(tmp_path / "sick", "val", parser=parser, arcs="enhanced", **options)
    assert torch.equal(given[0].arc_type, val[0].arc_type)


def test_labels_are_in_the_processed_file(tmp_path, parser, write_sick, monkeypatch):
    first = SICK(tmp_path / "sick", parser=parser, raw_from=write_sick(), arcs="enhanced")
    monkeypatch.setattr(SICK, "examples", None)
    again = SICK(tmp_path / "sick", parser=parser, arcs="enhanced")
    assert again.relations == first.relations != FIXED
    assert again.relations.fallbacks == first.relations.fallbacks
    assert again.describe() == first.describe()


def test_other_training_files_have_other_labels(tmp_path, parser, new_tokens, write_sick):
    options = {"parser": parser, "arcs": "enhanced", "tokens": new_tokens()}
    before = SICK(tmp_path / "sick", "test", raw_from=write_sick(), **options)
    path = tmp_path / "sick" / "raw" / "SICK_train.txt"
    path.write_text(path.read_text().replace("dog", "cow").replace("Dog", "cow"))
    after = SICK(tmp_path / "sick", "test", **options)
    assert before.relations.learned == ["nmod:enhanced", "dep:dog"]
    assert after.relations.learned == ["nmod:enhanced", "dep:cow"]


def test_enhanced_arcs_of_pieces(tmp_path, parser, new_tokens, write_sick):
    options = {"parser": parser, "arcs": "enhanced", "tokens": new_tokens(), "max_length": 30}
    dataset = SICK(tmp_path / "sick", raw_from=write_sick(), **options)
    data = dataset[2]
    chains = [Sentence.chain(text.split()) for text in ("A dog sees a bird", "A man sleeps")]
    trees = [enhanced(tree, "enhanced") for tree in chains]
    texts = [EncodedUtterance.of(tree, new_tokens(), dataset.relations, arcs="enhanced") for tree in trees]
    expected = text_data(*texts, tokens=new_tokens(), max_length=30)
    for key in ("input_ids", "governor_index", "arc_index", "arc_type", "cut_words"):
        assert torch.equal(data[key], expected[key]), key
    assert data.arc_index.tolist() == [[1, 2, 5, 9, 1, 15, 16, 15], [2, 5, 9, 10, 10, 16, 19, 19]]


def test_other_rules_have_another_file(tmp_path, parser, write_sick, monkeypatch):
    options = {"parser": parser, "raw_from": write_sick()}
    for rules in (1, 2, 2):
        monkeypatch.setattr(module, "enhance_fingerprint", lambda engine, rules=rules: f"rules-{rules}")
        SICK(tmp_path / "sick", arcs="enhanced", **options)
        SICK(tmp_path / "sick", **options)  # without these rules
    assert len([*(tmp_path / "sick" / "processed").iterdir()]) == 3


def test_given_graphs_are_kept(tmp_path, new_parser, write_sick):
    parser = new_parser()
    parse = parser.parse_texts

    def with_graphs(texts):
        found = parse(texts)
        return [
            dataclasses.replace(one, sentences=[enhanced(s, "own") for s in one.sentences]) for one in found
        ]

    parser.parse_texts = with_graphs
    dataset = SICK(tmp_path / "sick", parser=parser, raw_from=write_sick(), arcs="enhanced")
    assert dataset.relations.learned == ["nmod:own", "dep:dog"]
    basic = SICK(tmp_path / "sick", parser=parser, root_node=False)
    assert basic[2].arc_index.size(1) == 6
    assert basic.arc_labels.keys() == {"root", "dep"}  # labels of basic arcs
