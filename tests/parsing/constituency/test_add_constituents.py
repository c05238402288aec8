from __future__ import annotations

import dataclasses

from graphdep import Sentence
from graphdep.parsing.bundled import BUNDLED
from graphdep.parsing.constituency import SpanParser, add_constituents
from graphdep.parsing.parser import Parsed


def test_too_long_ones_are_flat_and_said():
    parser = SpanParser.load(BUNDLED / "en_ewt_constituency.pt")
    short = dataclasses.replace(Sentence.chain(["She", "sings"]), xpos=["PRP", "VBZ"])
    long = Sentence.chain(["she"] * 4)
    one, other, none = add_constituents([Parsed([short, long]), Parsed([short]), Parsed([])], parser, 3)
    assert one.failure == "4 words, more than max_words=3"
    assert one.sentences[1].constituents == [("X", 0, 4)]
    assert one.sentences[1].comments == ["# flat_tree = 4 words, more than max_words=3"]
    assert one.sentences[0].constituents == [("S", 0, 2), ("NP", 0, 1), ("VP", 1, 2)]
    assert other == Parsed([one.sentences[0]])
    assert none == Parsed([])
    assert add_constituents([Parsed([short], "a reason")], parser, 3)[0].failure == "a reason"
