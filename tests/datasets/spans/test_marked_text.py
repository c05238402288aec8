from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep.datasets.spans.rows import mark_text, read_tags, with_tags, word_places

texts = st.text("ab'\u2019nts1., -_\u0301\u4e2d\n", min_size=1, max_size=20)


def words(text: str) -> list[str]:
    return [text[start:stop] for start, stop in word_places(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A dog barks.", ["A", "dog", "barks", "."]),
        ("I don't, I can\u2019t.", ["I", "do", "n't", ",", "I", "ca", "n\u2019t", "."]),
        ("the dogs' owner's 'small' dog", ["the", "dogs", "'", "owner", "'s", "'", "small", "'", "dog"]),
        ("We'll pay $1,000.50 at 12:30.", ["We", "'ll", "pay", "$", "1,000.50", "at", "12:30", "."]),
        ("the 1990s, e.g. in the U.S.", ["the", "1990s", ",", "e.g.", "in", "the", "U.S."]),
        ("non-infected... --!?", ["non", "-", "infected", "...", "--", "!", "?"]),
        ("\u6211\u7231 you", ["\u6211", "\u7231", "you"]),
        (
            "\u0939\u093f\u0928\u094d\u0926\u0940 cafe\u0301",
            ["\u0939\u093f\u0928\u094d\u0926\u0940", "cafe\u0301"],
        ),
    ],
)
def test_words(text, expected):
    assert words(text) == expected


@given(texts, st.data())
def test_nothing_is_lost_and_no_border_is_inside(text, data):
    borders = sorted(data.draw(st.sets(st.integers(1, len(text)), max_size=3)))
    places = word_places(text, borders)
    covered = [k for start, stop in places for k in range(start, stop)]
    assert covered == sorted(set(covered))
    assert not "".join(char for k, char in enumerate(text) if k not in covered).strip()
    assert not any(char.isspace() for k, char in enumerate(text) if k in covered)
    assert not any(start < border < stop for start, stop in places for border in borders)


@given(texts.filter(str.strip), st.data())
def test_spans_of_words_are_those_of_characters(text, data):
    places = word_places(text)
    first = data.draw(st.integers(0, len(places) - 1))
    last = data.draw(st.integers(first, len(places) - 1))
    marked = mark_text(text, [(places[first][0], places[last][1])])
    assert "".join(marked.words[slice(*marked.spans[0])]) == "".join(
        text[start:stop] for start, stop in places[first : last + 1]
    )


def test_ends_inside_of_words():
    marked = mark_text("Thestaff sings", [(3, 8)])
    assert (marked.words, marked.spans, marked.inside) == (["The", "staff", "sings"], [(1, 2)], 1)
    assert mark_text("non-infected dogs", [(4, 12)]).inside == 0
    assert mark_text("\u6211\u7231\u4f60", [(1, 2)]).inside == 0
    assert mark_text("abcd", [(1, 2), (2, 3)]).inside == 3
    assert mark_text("don't do it", [(0, 2)]).inside == 0
    assert mark_text("1,000 dogs", [(0, 1)]).inside == 1
    assert mark_text("a dog ", [(1, 6)]).spans == [(1, 2)]


@pytest.mark.parametrize(
    ("ranges", "message"),
    [
        ([(1, 2)], r"span 1 has no word \(got ' '\)"),
        ([(0, 1), (3, 9)], r"span 2 reaches beyond the 5 characters \(got \[3, 9\]\)"),
        ([(2, 2)], "span 1 is empty"),
        ([(-1, 2)], "span 1 reaches beyond"),
    ],
)
def test_bad_spans(ranges, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        mark_text("a dog", ranges)


def test_tags():
    assert read_tags("A <e1>dog</e1> bites <e2>a man</e2>.") == ("A dog bites a man.", [(2, 5), (12, 17)])
    assert read_tags("<e2>x</e2><e1>y</e1>") == ("xy", [(1, 2), (0, 1)])
    assert read_tags("<e1>a <e2>b</e2></e1>") == ("a b", [(0, 3), (2, 3)])
    assert read_tags("<e1>a</e1> < b </i> <e>") == ("a < b </i> <e>", [(0, 1)])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a dog", r"a text has <e1>...</e1>, or besides <e2>...</e2> \(got none\)"),
        ("<e2>a</e2>", r"a text has <e1>...</e1>, or besides <e2>...</e2> \(got <e2>, </e2>\)"),
        ("<e1>a</e1> <e2>b</e2> <e3>c</e3>", r"a text has <e1>...</e1>, or besides <e2>...</e2>"),
        ("<e1>a", "a text has <e1>...</e1>, or besides <e2>...</e2>"),
        ("<e1>a</e1> <e2>b</e1>", "the tag </e1> is there twice"),
        ("<e1>a</e2>", "the tag </e2> closes what is not open"),
        ("a</e1> <e1>", "the tag </e1> closes what is not open"),
    ],
)
def test_bad_tags(text, message):
    with pytest.raises(ValueError, match=f"^.*{message}"):
        read_tags(text)


@given(st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=5), st.data())
def test_tags_are_found_again(words, data):
    ends = st.tuples(st.integers(0, len(words) - 1), st.integers(1, len(words))).filter(lambda s: s[0] < s[1])
    spans = data.draw(st.lists(ends, min_size=1, max_size=2))
    plain, ranges = read_tags(with_tags(words, spans))
    assert plain == " ".join(words)
    assert mark_text(plain, ranges).spans == spans
