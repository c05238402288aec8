from __future__ import annotations

import logging

import pytest

from graphdep.parsing import BundledParser, CachedParser
from graphdep.parsing.parser import ChainParser, foreign_texts, looks_foreign

FOREIGN = {
    "de": "Das ist ein Hund, und ich habe ihn gestern im Park gesehen.",
    "nl": "Dit is een hond die ik gisteren niet in het park heb gezien.",
    "sv": "Det här är en hund som jag inte har sett i parken.",
    "fr": "C'est un chien que nous avons vu hier dans le parc avec une amie.",
    "es": "Este es un perro que también está en el parque con una amiga.",
    "pt": "Este é um cão que eu não vi ontem no parque com uma amiga.",
    "it": "Questo è un cane che non ho visto ieri nel parco.",
    "ro": "Acesta este un câine pe care nu l-am văzut în parc și pentru el.",
    "pl": "To jest pies, który nie był wczoraj w parku, że aż dziw.",
    "cs": "To je pes, který není v parku, jako jsem já.",
    "hu": "Ez egy kutya, és nem volt a parkban.",
    "fi": "Se on koira, jota minä en nähnyt, mutta hän oli puistossa.",
    "tr": "Bu bir köpek ve çok güzel, ama parkta değil.",
    "id": "Ini adalah anjing yang tidak saya lihat dengan teman.",
    "vi": "Đây là con chó của tôi và nó không ở trong công viên.",
    "ru": "Это собака.",
    "el": "Αυτό είναι ένα σκυλί.",
    "zh": "很好",
    "zh with Latin": "我用 Python 写了一个程序。",
    "ja": "これは犬です。",
    "ar": "هذا كلب.",
    "hi": "यह कुत्ता है।",
}
ENGLISH = [
    "",
    "Yes.",
    "OK",
    "1, 2, 3 ...",
    "She sings.",
    "Juan de la Cruz, Ludwig van Beethoven and Leonardo da Vinci",
    "Ludwig van Beethoven",
    "José Ángel Gutiérrez Muñoz; Zoë Ångström; Nguyễn Văn Thiệu",
    "Rio de Janeiro",
    "Los Angeles, Las Vegas, San Juan",
    "Das Boot",
    "c'est la vie",
    "I saw Das Boot and Il Postino at the cinema in Den Haag.",
    "He said 'que sera, sera' and she said 'das ist gut' to him.",
    "The angle α is larger than β, but not π.",
    "His name, 李明, is written with two signs.",
    "www.example.org/foo?bar=baz ERROR 404 stdin.c",
    "naïve café résumé",
    "lol omg thx u r gr8",
    "🙂🙂 👍",
]


@pytest.mark.parametrize("language", FOREIGN)
def test_other_languages(language):
    assert looks_foreign(FOREIGN[language])


@pytest.mark.parametrize("text", ENGLISH)
def test_english_names_and_short_texts(text):
    assert not looks_foreign(text)


def test_a_tenth_of_the_texts():
    german, english = FOREIGN["de"], "She sings in the park."
    assert foreign_texts([german]) == [german]
    assert foreign_texts([english] * 9 + [german]) == [german]
    assert foreign_texts([english] * 10 + [german]) == []
    assert foreign_texts([]) == []
    assert foreign_texts([("Das", "ist", "ein", "Hund")]) == ["Das ist ein Hund"]


def test_texts_with_few_function_words_together():
    headlines = ["Hunde und Katzen", "Streit um das Haus", "Regen auf den Feldern"]
    assert not any(map(looks_foreign, headlines))
    assert foreign_texts(headlines) == headlines
    assert foreign_texts(["Ann", "Das Boot", "Rio de Janeiro"] * 20) == []


def test_no_more_is_looked_at_than_a_thousand_texts_of_a_thousand_characters():
    many = ["很好"] * 5_000
    assert len(foreign_texts(many)) == 1_000
    assert foreign_texts(["x " * 1_000 + "很好" * 1_000]) == []


def test_a_parser_of_english_warns(caplog, tmp_path):
    parser = BundledParser(max_words=1)  # tags and parses nothing
    with caplog.at_level(logging.WARNING):
        parser.parse(["She sings in the park.", "Ann"])
        assert "look English" not in caplog.text
        parser.parse([FOREIGN["de"]])
        assert "1 text does not look English (the first: 'Das ist ein Hund" in caplog.text
        caplog.clear()
        cached = CachedParser(parser, tmp_path / "parses.sqlite")
        for _ in range(2):
            caplog.clear()
            cached.parse_words([["很", "好"], ["好", "很"]])
            assert "2 texts do not look English" in caplog.text


def test_another_parser_does_not(caplog):
    with caplog.at_level(logging.WARNING):
        ChainParser().parse([FOREIGN["de"]])
        german = BundledParser(max_words=1)
        german.language = "de"
        german.parse([FOREIGN["de"]])
    assert "look English" not in caplog.text
