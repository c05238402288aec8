from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep.io.text import has_half_character


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
