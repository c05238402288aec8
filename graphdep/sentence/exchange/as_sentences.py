"""Parses of any kind as sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from graphdep.sentence.exchange.found import shown
from graphdep.sentence.exchange.from_conllu import is_token_list
from graphdep.sentence.exchange.from_dict import is_words
from graphdep.sentence.exchange.from_spacy import is_spacy
from graphdep.sentence.exchange.from_stanza import is_stanza
from graphdep.sentence.sentence import Sentence

_TAKES = (
    "graphdep.Sentence, Doc or Span of spaCy, Document or Sentence of stanza, TokenList of conllu, a mapping "
    "or a list of words for Sentence.from_dict, or a list of these"
)


def as_sentences(parsed: Any, name: str = "sentences") -> list[Sentence]:
    """The sentences of one parse or of a list of parses, of which some may have several.

    Args:
        parsed: What :class:`Sentence` has a ``from_...`` for, sentences, or a list of both.
        name: What it is called in messages. (default: ``"sentences"``)

    Raises:
        TypeError: If there is anything else; the message lists what is taken.
        ValueError: If one is not parsed, or no tree.

    Example:
        >>> from graphdep.sentence import as_sentences
        >>> she_sings = {"words": ["She", "sings"], "head": [2, 0], "deprel": ["nsubj", "root"]}
        >>> [sentence.text for sentence in as_sentences(she_sings)]
        ['She sings']
    """
    found = _one(parsed)
    if found is not None:
        return found
    if isinstance(parsed, str | bytes) or not isinstance(parsed, Iterable):
        raise _error(name, parsed)
    sentences: list[Sentence] = []
    for number, each in enumerate(parsed):
        found = _one(each)
        if found is None:
            raise _error(f"{name}[{number}]", each)
        sentences += found
    return sentences


def _one(parsed: Any) -> list[Sentence] | None:
    """The sentences of one parse; None if it is none."""
    if isinstance(parsed, Sentence):
        return [parsed]
    if is_spacy(parsed):
        made = Sentence.from_spacy(parsed)
    elif is_stanza(parsed):
        made = Sentence.from_stanza(parsed)
    elif is_token_list(parsed):
        made = Sentence.from_conllu(parsed)
    elif isinstance(parsed, Mapping) or is_words(parsed):
        made = Sentence.from_dict(parsed)
    else:
        return None
    return [made] if isinstance(made, Sentence) else made


def _error(name: str, value: object) -> TypeError:
    text = isinstance(value, str | bytes)
    advice = "; parse a text first: graphdep.parsing.resolve_parser('bundled').parse([text])" if text else ""
    return TypeError(f"'{name}' takes {_TAKES} (got {shown(value)}){advice}")
