from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from graphdep.datasets.labels.propbank import read_ewt
from tests.kit.tiny_corpora import write_tiny_propbank


@pytest.fixture
def raw(tmp_path) -> Path:
    write_tiny_propbank(tmp_path)
    return tmp_path / "raw"


def read(raw):
    return read_ewt([raw / "ud" / "en_ewt-ud-dev.conllu"], sorted(raw.rglob("*.gold_skel")))


def change(path, old, new, count=1):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, count), encoding="utf-8")


def test_read_ewt(raw):
    found, left_out = read(raw)
    assert [one.skeleton.number for one in found] == list(range(9))
    assert all(len(one.tree) == len(one.skeleton) for one in found)
    assert {one.path.name for one in found} == {"tiny.dev.xml.gold_skel"}
    assert (left_out.names, left_out.predicates) == ([], 0)


def test_what_does_not_match_is_named(raw):
    skeleton = raw / "propbank" / "tiny.dev.xml.gold_skel"
    blocks = skeleton.read_text(encoding="utf-8").split("\n\n")
    del blocks[0]  # number 0
    assert blocks[3].splitlines()[5].split()[2] == "5"
    blocks[3] = "\n".join(blocks[3].splitlines()[:5])  # number 4 lacks a token
    more = blocks[-1].replace("tiny   8", "tiny   11")
    skeleton.write_text("\n\n".join([*blocks, more]), encoding="utf-8")
    found, left_out = read(raw)
    assert [one.skeleton.number for one in found] == [1, 2, 3, 5, 6, 7, 8]
    assert left_out.names == [
        "answers-tiny.dev-0001 (6 words, no skeleton)",
        "answers-tiny.dev-0005 (6 words, 5 tokens in the skeleton)",
        "answers-tiny.dev-0012 (not in the treebank, 6 tokens in the skeleton)",
    ]
    assert left_out.predicates == 2


def test_a_document_without_skeletons(raw):
    (raw / "propbank" / "tiny.dev.xml.gold_skel").unlink()
    found, left_out = read(raw)
    assert not found
    assert len(left_out.names) == 9
    assert left_out.predicates == 0


def test_a_document_of_another_split_is_not_read(raw):
    (raw / "propbank" / "tiny.train.xml.gold_skel").write_text("damaged", encoding="utf-8")
    assert len(read(raw)[0]) == 9


@pytest.mark.parametrize("name", ["", "answers-0001", "answers-tiny.dev-x", "answers-tiny.dev-0000", "a-b-"])
def test_wrong_names(raw, name):
    change(raw / "ud" / "en_ewt-ud-dev.conllu", "answers-tiny.dev-0002", name)
    with pytest.raises(ValueError, match=rf"sentence 2: sent_id must be GENRE-DOC.* \(got '{name}'\)"):
        read(raw)


def test_no_name(raw):
    change(raw / "ud" / "en_ewt-ud-dev.conllu", "# sent_id = answers-tiny.dev-0002\n", "")
    with pytest.raises(ValueError, match=r"sentence 2: sent_id must be .* \(got ''\)"):
        read(raw)


def test_the_same_name_twice(raw):
    change(raw / "ud" / "en_ewt-ud-dev.conllu", "tiny.dev-0002", "tiny.dev-0001")
    with pytest.raises(
        ValueError, match=r"sentence 2: sent_id must be .*dev\.conllu: sentence 1 has it, too"
    ):
        read(raw)
    shutil.copy(raw / "ud" / "en_ewt-ud-test.conllu", raw / "ud" / "en_ewt-ud-dev.conllu")
    with pytest.raises(ValueError, match=r"test\.conllu: sentence 1: sent_id must be .* has it, too"):
        read_ewt([raw / "ud" / f"en_ewt-ud-{s}.conllu" for s in ("dev", "test")], [])
