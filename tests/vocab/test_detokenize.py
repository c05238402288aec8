from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep.vocab.vocab import detokenize

TEXTS = {
    "do n't you think it 's ( really ) good ?": "don't you think it's (really) good?",
    "Mr. Smith 's dog , ca n't he ?": "Mr. Smith's dog, can't he?",
    '" hello , " she said . " No ! "': '"hello," she said. "No!"',
    "`` hello , '' she said .": '"hello," she said.',
    "I 'm gon na go , I 'll wait ; you ca n't": "I'm gonna go, I'll wait; you can't",
    "$ 5 for 10 % of it : -LRB- yes -RRB- !": "$5 for 10% of it: (yes)!",
    "I don ’ t know . It ’ s ok": "I don’t know. It’s ok",
    "you ' re right , the students ' books are": "you're right, the students' books are",
    "at five o'clock ...": "at five o'clock...",
    "": "",
}


@pytest.mark.parametrize(("words", "text"), TEXTS.items())
def test_detokenize(words, text):
    assert detokenize(words.split(), truecase=False) == text


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("i 'm here . are you ?", "I'm here. Are you?"),
        ("well , i do n't know , i think", "Well, I don't know, I think"),
        ('" hi ! " i said', '"Hi!" I said'),
        ("yes ! ( no . )", "Yes! (No.)"),
        ("[UNK] is here . he is", "[UNK] is here. He is"),
        ("did it ? so it is , i.e. done", "Did it? So it is, i.e. done"),
        ("This has case . i do not", "This has case. i do not"),
        ("5 o'clock", "5 o'clock"),
        ("你 好 。", "你 好 。"),
    ],
)
def test_detokenize_gives_words_their_case(words, text):
    assert detokenize(words.split()) == text


@given(st.lists(st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1), max_size=8))
def test_detokenize_loses_no_letter(words):
    def letters(text: str) -> list[str]:
        return [character for character in text if character.isalnum()]

    plain = [word for word in words if "LB-" not in word and "RB-" not in word]
    assert letters(detokenize(plain, truecase=False)) == letters("".join(plain))


def test_control_characters_do_not_come_out():
    words = ["\x1b[31mred\x07", "a\tb\nc", "\x00", "\x85\x9bx", "."]
    assert detokenize(words, truecase=False) == "[31mred a b c x."


@given(st.lists(st.text(), max_size=6))
def test_only_what_can_be_shown_comes_out(words):
    text = detokenize(words)
    assert not any(unicodedata.category(character) == "Cc" for character in text)


def test_white_space_in_a_word_is_one_space():
    assert detokenize(["a" + " " * 50_000 + "b", " ", "", "\u2003."], truecase=False) == "a b."
