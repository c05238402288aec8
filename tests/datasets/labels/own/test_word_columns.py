from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep.datasets.labels.words import read_word_columns

# No blank, tab or control character, which are no part of a word here; "_" as a label has a meaning.
WORDS = st.text(st.characters(blacklist_categories=("Cc", "Cs", "Zs", "Zl", "Zp")), min_size=1, max_size=5)
LABELS = st.one_of(st.none(), WORDS.filter(lambda label: label != "_"))
SENTENCES = st.lists(st.lists(st.tuples(WORDS, LABELS), min_size=1, max_size=4), min_size=1, max_size=4)


def found(path: Path) -> list[list[tuple[str, str | None]]]:
    return [list(zip(one.words, one.labels)) for one in read_word_columns(path)[0]]


def slow(text: str) -> list[list[tuple[str, str | None]]]:
    """What is read of a file without comments, paragraph by paragraph."""
    blocks = re.split(r"\n(?:[ ]*\n)+", text.strip("\n "))
    cells = [[re.split(r"\t| +", line.strip(" ")) for line in block.split("\n")] for block in blocks]
    return [[(row[0], None if row[-1] == "_" else row[-1]) for row in rows] for rows in cells]


@pytest.mark.parametrize("between", ["\t", " ", "  "])
@given(SENTENCES)
def test_what_was_written_is_read(tmp_path_factory, between, sentences):
    path = tmp_path_factory.mktemp("columns") / "x.tsv"
    rows = [[(w, label) for w, label in one if not w.startswith(("#", "-DOCSTART-"))] for one in sentences]
    rows = [one for one in rows if one] or [[("a", "b")]]
    lines = ["".join(f"{word}{between}{label or '_'}\n" for word, label in one) for one in rows]
    path.write_text("\n".join(lines), encoding="utf-8", newline="")
    assert found(path) == rows == slow(path.read_text(encoding="utf-8"))


def test_four_columns_and_documents(tmp_path):
    path = tmp_path / "x.conll"
    path.write_text(
        "-DOCSTART- -X- -X- O\n\nAnn NNP B-NP B-PER\nsings VBZ B-VP O\n-DOCSTART- -X- -X- O\n"
        "# # B-NP O\n1 CD B-NP O\n\n\n\n# sent_id = 5\nBob NNP B-NP B-PER\n# # B-NP O\n"
    )
    examples, skipped = read_word_columns(path)
    assert [list(one.words) for one in examples] == [["Ann", "sings"], ["#", "1"], ["Bob", "#"]]
    assert [list(one.labels) for one in examples] == [["B-PER", "O"], ["O", "O"], ["B-PER", "O"]]
    assert skipped == 3
    assert [one.place for one in examples] == [f"{path}:{line}" for line in (3, 6, 12)]


def test_tags_of_hashes_with_tabs(tmp_path):
    path = tmp_path / "x.tsv"
    path.write_text("# newdoc\n# text = a b\n#fun\tO\nNew York\tB-LOC\n", encoding="utf-8")
    assert found(path) == [[("#fun", "O"), ("New York", "B-LOC")]]
    assert read_word_columns(path)[1] == 2
