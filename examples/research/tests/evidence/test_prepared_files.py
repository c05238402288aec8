from __future__ import annotations

import pytest
from evidence.prepared_files import LIST, check_list, write_list
from hypothesis import given
from hypothesis import strategies as st


def prepare(root):
    (root / "sick").mkdir(parents=True)
    (root / "sick" / "train.pt").write_bytes(b"12345")
    (root / "parses.sqlite").write_bytes(b"123")
    return write_list(root)


def test_a_copy_is_whole(tmp_path):
    assert prepare(tmp_path) == 8
    check_list(tmp_path)
    assert write_list(tmp_path) == 8  # the list itself is none of the files


def test_a_folder_without_a_list_was_not_prepared_to_its_end(tmp_path):
    with pytest.raises(ValueError, match=r"has no prepared\.json: it was not prepared to its end"):
        check_list(tmp_path)


@pytest.mark.parametrize("change", ["missing", "cut", "longer", "a folder in its place"])
def test_a_file_that_is_not_what_was_prepared_is_named(tmp_path, change):
    prepare(tmp_path)
    path = tmp_path / "sick" / "train.pt"
    if change == "missing":
        path.unlink()
    elif change == "a folder in its place":
        path.unlink()
        path.mkdir()
    else:
        path.write_bytes(b"1" if change == "cut" else b"123456")
    with pytest.raises(ValueError, match=r"train\.pt is missing or cut \(1 of 2 files"):
        check_list(tmp_path)


@given(st.sampled_from(["", "[1]", "{", '{"sick/train.pt": "5"}', "null", "3"]))
def test_a_list_that_is_none_is_refused(tmp_path_factory, text):
    root = tmp_path_factory.mktemp("prepared")
    prepare(root)
    (root / LIST).write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match="prepared.json: damaged|is missing or cut"):
        check_list(root)
