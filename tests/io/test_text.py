from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep.io.files import has_half_character, unique_keys


@given(st.text(st.characters(exclude_categories=[])))
def test_what_has_half_a_character_cannot_be_written(text):
    if has_half_character(text):
        with pytest.raises(UnicodeEncodeError, match="surrogates not allowed"):
            text.encode("utf-8")
    else:
        text.encode("utf-8")


def test_half_and_whole_characters():
    assert has_half_character("a\ud83d")
    assert has_half_character("\udfff")
    assert not has_half_character("\U0001f600")


def test_a_key_that_is_there_twice_is_no_object():
    assert json.loads('{"a": {"b": 1}}', object_pairs_hook=unique_keys) == {"a": {"b": 1}}
    with pytest.raises(ValueError, match="the key 'b' is there 2 times"):
        json.loads('{"a": {"b": 1, "c": 2, "b": 1}}', object_pairs_hook=unique_keys)
