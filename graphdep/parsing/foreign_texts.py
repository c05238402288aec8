"""Texts of other languages, which a parser of English parses all the same."""

from __future__ import annotations

import re
from collections.abc import Sequence
from unicodedata import name

# Frequent function words of languages with Latin letters. Left out is what is an English word or abbreviation
# as well (die, hat, was, est, un) and what stands in names (de, la, van, der, da): names are no evidence.
_FOREIGN = frozenset(
    """
    das dem eine einen einem einer ich ist sind nicht und auf für wir ihr auch nur wenn weil dass oder aber
    sich werden wurde haben habe hatte kann noch nach bei über wie diese dieser dieses zum zur wird
    het een niet zijn ik je wij jullie voor naar ook maar deze dit heeft hebben wordt werden bij uit zich nog
    och att jag inte som för ett på också eller jeg ikke og har det blev från sig efter
    ekki ég sem við það eru þetta
    une dans pas qui que avec sont nous vous ils elles je cette mais où être avoir leur leurs aux
    c'est j'ai n'est qu'il d'un d'une s'est
    una por para como más pero está están muy esto esta este todo también porque cuando
    és amb perquè els dels però
    é não mais muito você ele ela isso são também foi uma
    è che gli sono questo questa anche più perché della delle nel alla
    este sunt și pentru în această
    jest nie się że jak czy są przez dla tego który która
    je jsem není že jsou jako tak která jsme sú som aj ktorý
    nije što kao samo koji koja jer tudi ampak
    egy és hogy nem volt csak
    ja ei että oli hän minä mutta kuin myös olen ovat
    kui mis olen
    bir bu için ile çok değil ama daha gibi olarak
    yra kad kaip iš kas
    untuk dengan tidak itu adalah saya akan pada juga bisa dari
    mga ng ako
    của và là không một các những được trong người tôi này
    kwa katika hii lakini
    dhe të në një është nuk
    agus tá yn oedd
    """.split()
)
# Without those that other languages have as well (a, in, is, was, for, to).
_ENGLISH = frozenset(
    """
    the of and that it with his they this have from were when your can there which their said if will each
    about how them then she many some these would into more her him see could been its who now did get you my
    our not what but be don't i'm it's that's didn't can't
    """.split()
)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_SAMPLE, _CHARACTERS = 1_000, 1_000  # texts that are looked at, and of each
_LEAST_WORDS = 0.03  # of a text that are function words of another language
_LEAST_SHARE = 0.1  # of them that look foreign, for a warning


def looks_foreign(text: str) -> bool:
    """Whether a text looks like one that is not English.

    It does if more than a fifth of its letters, and at least two, are not Latin; or if it has at least two
    different function words of other languages, and they are three in a hundred of its words or more, and
    more than twice as many as those of English. What has neither, such as a short text, a list of names or of
    numbers, does not.

    Example:
        >>> from graphdep.parsing.foreign_texts import looks_foreign
        >>> looks_foreign("Das ist nicht gut."), looks_foreign("Das Boot"), looks_foreign("很好")
        (True, False, True)
    """
    letters = [character for character in text if character.isalpha()]
    other = sum(not _is_latin(character) for character in letters)
    if other >= 2 and other > len(letters) / 5:
        return True
    words = [word.lower().replace("’", "'") for word in _WORD.findall(text)]
    foreign = [word for word in words if word in _FOREIGN]
    if len(set(foreign)) < 2 or len(foreign) < _LEAST_WORDS * len(words):
        return False
    return len(foreign) > 2 * sum(word in _ENGLISH for word in words)


def foreign_texts(texts: Sequence[str | Sequence[str]]) -> list[str]:
    """Texts, or sentences in words, that look foreign, of at most a thousand, evenly spread, and of each the
    first thousand characters: none if they are fewer than a tenth, and all if they look so together, as
    headlines do, which have few function words each.
    """
    looked = texts[:: -(-len(texts) // _SAMPLE)] if texts else []
    starts = [(text if isinstance(text, str) else " ".join(text))[:_CHARACTERS] for text in looked]
    found = [text for text in starts if looks_foreign(text)]
    if len(found) >= _LEAST_SHARE * len(starts):
        return found
    return starts if looks_foreign(" ".join(starts)) else []


def _is_latin(character: str) -> bool:
    return character < "\u0250" or name(character, "").startswith(("LATIN", "MODIFIER", "FULLWIDTH LATIN"))
