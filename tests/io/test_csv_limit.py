from __future__ import annotations

import csv
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep.io.files import guard, long_fields, unguard


def test_long_fields_are_read_inside_only():
    limit, text = csv.field_size_limit(), "x" * 200_000
    with long_fields():
        assert list(csv.reader([text])) == [[text]]
    assert csv.field_size_limit() == limit
    with pytest.raises(csv.Error, match="field larger than field limit"):
        list(csv.reader([text]))


def test_the_limit_comes_back_after_an_error():
    limit = csv.field_size_limit()
    with pytest.raises(KeyError), long_fields():
        raise KeyError
    assert csv.field_size_limit() == limit


def test_threads_do_not_take_the_limit_from_one_another():
    limit, text = csv.field_size_limit(), "x" * 200_000

    def read(number):
        with long_fields():
            return len(list(csv.reader([text] * (1 + number % 7))))

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(read, range(200))) == [1 + number % 7 for number in range(200)]
    assert csv.field_size_limit() == limit


@given(cell=st.text(st.sampled_from("=+-@＝＋－＠'a \"\n;\t,\u200b\ufeff\u2066"), max_size=8))
def test_guarding_loses_nothing(cell):
    assert unguard(guard(cell)) == cell
    assert not re.search(r"(^|[;\t])[\s\u200b\ufeff\u2066]*[=+\-@＝＋－＠]", guard(cell))


@pytest.mark.parametrize(
    ("cell", "guarded"),
    [
        (" =1", "' =1"),
        ("\u200b=1", "'\u200b=1"),
        ("\u202e\ufeff @a", "'\u202e\ufeff @a"),
        ("＝1", "'＝1"),
        ("a;=1", "a;'=1"),
        ("a\t+1;＠b", "a\t'+1;'＠b"),
        ("'=1", "''=1"),
        ("'tis", "'tis"),
        ("a = b; c - d", "a = b; c - d"),
        ("", ""),
    ],
)
def test_what_is_guarded(cell, guarded):
    assert guard(cell) == guarded
    assert unguard(guarded) == cell
