"""Words back to readable text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from graphdep.vocab.words import SPECIALS

# Parts that belong to the word before, however the apostrophe was cut off.
_CONTRACTION = re.compile(r"(?<=\w) ?(['’]) ?(s|m|d|ll|re|ve|t)\b(?! ['’])", re.IGNORECASE)
_NEGATION = re.compile(r"(?<=\w) (n['’]t)\b", re.IGNORECASE)
_BEFORE = re.compile(r"\s+([.,!?;:…%)\]}])")
_AFTER = re.compile(r"([(\[{$£€])\s+")
_BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}
_END = re.compile(r"[.!?…]+")
_I = re.compile(r"i(?=$|['’])")
# Control characters can do things to a terminal; those that are white space become a space.
_CONTROL = {
    code: " " if chr(code).isspace() else None
    for code in range(256)
    if unicodedata.category(chr(code)) == "Cc"
}


def detokenize(words: Iterable[str], *, truecase: bool = True) -> str:
    r"""Joins words to text as people write it: ``do n't`` and ``, `` and brackets close up.

    Quotes that look alike are taken as opening and closing in turn. What the words were cut from need not
    come back exactly; for scores, compare words. Control characters are left out, and runs of white space
    within a word become one space.

    Args:
        words: The words, cut as in the Penn or Universal Dependencies treebanks.
        truecase: If no word has a capital letter, write *I* and the first letter of each sentence as one.
            (default: :obj:`True`)
    """
    from nltk.tokenize.treebank import TreebankWordDetokenizer  # here, since NLTK takes a second to import

    words = [_BRACKETS.get(word, word) for word in map(_printable, words) if word]
    if truecase and all(word == word.lower() for word in words if word not in SPECIALS):
        words = _truecased(words)
    text = TreebankWordDetokenizer().detokenize(_turned_quotes(words))
    text = _CONTRACTION.sub(r"\1\2", _NEGATION.sub(r"\1", text))
    return _AFTER.sub(r"\1", _BEFORE.sub(r"\1", text))


def _printable(word: str) -> str:
    return " ".join(word.translate(_CONTROL).split())


def _truecased(words: list[str]) -> list[str]:
    cased, starts = [], True
    for word in words:
        word = f"I{word[1:]}" if _I.match(word) else word
        if any(map(str.isalnum, word)):
            cased.append(word[0].upper() + word[1:] if starts else word)
            starts = False
        else:
            cased.append(word)
            starts = starts or _END.fullmatch(word) is not None
    return cased


def _turned_quotes(words: list[str]) -> list[str]:
    """Straight double quotes as the opening and closing ones that the treebank has."""
    turned, opened = [], False
    for word in words:
        if word == '"':
            turned.append("''" if opened else "``")
            opened = not opened
        else:
            turned.append(word)
    return turned
