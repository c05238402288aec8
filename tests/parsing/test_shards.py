from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from graphdep.parsing import parser as items
from graphdep.parsing.parser import Parsed, Shards


def parse(text):
    return Parsed([], failure=f"bad {text}" if text in "xyz" else None)


@given(st.lists(st.sampled_from("abcxyz"), max_size=30), st.sets(st.sampled_from("abcxyz")))
def test_it_gives_what_a_loop_gives_and_asks_only_for_what_is_not_known(texts, known):
    shards = Shards(iter(texts), lambda unique: {text: parse(text) for text in unique if text in known})
    before, items._CHUNK_ITEMS = items._CHUNK_ITEMS, 4
    try:
        found = []
        for chunk in shards.todo():
            assert len(set(chunk)) == len(chunk)
            assert not known & set(chunk)
            found += shards.finish({text: parse(text) for text in chunk})
    finally:
        items._CHUNK_ITEMS = before
    assert found == [parse(text) for text in texts]
    failed = [text for text in texts if text in "xyz"]
    assert (shards.given, shards.failed) == (len(texts), len(failed))
    assert shards.reason == (f"bad {failed[0]}" if failed else "")
    assert set(shards.sample.texts) == set(texts)
