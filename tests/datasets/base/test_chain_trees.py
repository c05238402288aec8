from __future__ import annotations

from graphdep.datasets.base.parsed import warn_of_chains


def test_the_limit_of_words_is_named_where_the_parser_has_one(caplog):
    warn_of_chains("own.jsonl", "train", 0, "bundled/max_words=200")
    assert not caplog.text
    warn_of_chains("own.jsonl", "train", 1, "bundled/stanza-1/0123/max_words=200")
    assert (
        "own.jsonl (train): 1 text with a chain tree instead of a parse (as all of more than 200 words)"
        in (caplog.messages[0])
    )
    warn_of_chains("own.jsonl", "val", 2, "corenlp")
    assert "2 texts with a chain tree instead of a parse; without processed/" in caplog.messages[1]
