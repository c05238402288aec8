from __future__ import annotations

import pytest

from graphdep.datasets.selection.dataset import Row, read_pools, read_rows
from graphdep.datasets.selection.store import given_words, key_of, parse_utterances, utterance


def put(tmp_path, *rows, name="test.txt", end="\n"):
    path = tmp_path / name
    path.write_text("".join(f"{row}{end}" for row in rows), encoding="utf-8", newline="")
    return path


def test_rows(tmp_path):
    rows = ("1\ta b\tc\td e", "0\ta b\tc\tf")
    expected = [Row(1, 1, ["a b", "c"], "d e"), Row(2, 0, ["a b", "c"], "f")]
    for end in ("\n", "\r\n"):
        assert list(read_rows(put(tmp_path, *rows, end=end))) == expected
    path = put(tmp_path, *rows)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().removesuffix(b"\n"))
    assert list(read_rows(path)) == expected


def test_control_characters_are_spaces(tmp_path):
    assert next(read_rows(put(tmp_path, "1\ta\x02b\tc\x85d"))).context == ["a b"]


def test_pools_are_lines_with_one_context(tmp_path):
    path = put(tmp_path, "1\ta\tb", "0\ta\tc", "1\ta b\tc", "1\ta\tb", "0\ta\td", "0\ta\t")
    pools = list(read_pools(path, given_words))
    assert [pool.labels for pool in pools] == [(1, 0), (1,), (1, 0, 0)]
    assert pools[2].context == ((("a",),),)
    assert pools[2].candidates == ((("b",),), (("d",),), ())


def test_pools_of_one_size(tmp_path):
    rows = [f"{int(number % 2 == 0)}\ta\t{number}" for number in range(4)]
    path = put(tmp_path, *rows, "1\tb\tx", "0\tb\ty")
    assert [pool.labels for pool in read_pools(path, given_words, size=2)] == [(1, 0)] * 3
    message = r"test\.txt:5: the context has 2 candidates from here on instead of 4 \(pool_size\) \(got 'b'\)"
    with pytest.raises(ValueError, match=message):
        list(read_pools(path, given_words, size=4))


def test_utterances():
    assert given_words("a  b", " ", "c") == (("a", "b"), ("c",))
    assert utterance(" a  b ", " ", "c") == ("a  b", "c")
    assert given_words("") == utterance(" ") == ()
    texts = [given_words("a b"), utterance("a b"), given_words("a", "b"), utterance("a", "b"), ()]
    assert len({key_of(text) for text in texts}) == 5
    assert {len(key_of(text)) for text in texts} == {16}


def test_parts_are_joined(parser):
    trees, failures = parse_utterances(
        parser, [given_words("a b", "c"), (), utterance("d e|f", "g"), utterance("FAIL now")]
    )
    assert failures == 1
    assert trees[1] is None
    assert [tree.form for tree in trees if tree] == [["a", "b", "c"], ["d", "e", "f", "g"], ["FAIL", "now"]]
    assert trees[0].head == [0, 1, 0]  # each part keeps its root
    assert trees[0].deprel == ["root", "dep", "root"]
    assert trees[2].head == [0, 1, 0, 0]
