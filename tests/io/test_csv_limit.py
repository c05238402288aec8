from __future__ import annotations

import csv
from concurrent.futures import ThreadPoolExecutor

import pytest

from graphdep.io.csv_limit import long_fields


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
