"""Constituents for sentences that a parser has tagged."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from itertools import chain

from graphdep.parsing.constituency.span_parser import SpanParser
from graphdep.parsing.one_thread import one_thread
from graphdep.parsing.parsed import Parsed, flat_sentence
from graphdep.sentence import Sentence


def add_constituents(parsed: Sequence[Parsed], parser: SpanParser, max_words: int) -> list[Parsed]:
    """The same sentences with constituents, by their tags (:attr:`Sentence.xpos`); those of more than
    :obj:`max_words` words get a flat tree.
    """
    sentences = [*chain.from_iterable(text.sentences for text in parsed)]
    short = [number for number, sentence in enumerate(sentences) if len(sentence) <= max_words]
    with one_thread():
        found = dict(zip(short, parser.parse([_tagged(sentences[number]) for number in short])))
    done, start = [], 0
    for text in parsed:
        mine, failure = [], text.failure
        for number, sentence in enumerate(text.sentences, start=start):
            if number in found:
                mine.append(dataclasses.replace(sentence, constituents=found[number]))
            else:
                reason = f"{len(sentence)} words, more than max_words={max_words}"
                mine.append(flat_sentence(sentence, reason))
                failure = failure or reason
        start += len(text.sentences)
        done.append(dataclasses.replace(text, sentences=mine, failure=failure))
    return done


def _tagged(sentence: Sentence) -> list[tuple[str, str]]:
    return [*zip(sentence.form, sentence.xpos or ["_"] * len(sentence))]
