from __future__ import annotations

import itertools
import logging
import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep import Sentence
from graphdep.io import format_conllu, parse_conllu
from graphdep.parsing import BundledParser, CachedParser, Parser, ParserUnavailableError, resolve_parser
from graphdep.parsing import parser as items
from graphdep.parsing.parser import (
    ChainParser,
    Parsed,
    ParserWrapper,
    Shards,
    TextSample,
    WordLimit,
    Words,
    chain_sentence,
    chunks,
    column,
    foreign_texts,
    looks_foreign,
    parse_joined,
)
from graphdep.sentence import join_sentences
from tests.kit.streams import Counted


class WordByWord(Parser):
    """Splits at white space; fails on what holds "bad"; keeps what it was asked."""

    fingerprint = "test"

    def __init__(self, **options: bool) -> None:
        super().__init__(**options)
        self.asked: list[str | Words] = []

    def parse_texts(self, texts: Sequence[str]) -> list[Parsed]:
        self.asked += texts
        if any("bad" in text for text in texts):
            raise RuntimeError("bad text")
        if any("gone" in text for text in texts):
            raise ParserUnavailableError("no server")
        return [Parsed([Sentence.chain(t.split())] if t.split() else []) for t in texts]

    def parse_sentences(self, sentences: Sequence[Words]) -> list[Parsed]:
        self.asked += sentences
        return [Parsed([Sentence.chain(words)]) for words in sentences]


def test_each_text_has_its_own_list_in_order():
    result = WordByWord().parse(["a b", "", "c", " \n"])
    assert [[sentence.form for sentence in text] for text in result] == [[["a", "b"]], [], [["c"]], []]


def test_equal_texts_are_parsed_once():
    parser = WordByWord()
    assert len(parser.parse(["a", "b", "a", "a"])) == 4
    assert parser.asked == ["a", "b"]
    assert len(parser.parse_words([["x", "y"], ["x", "y"]])) == 2
    assert parser.asked[2:] == [("x", "y")]


def test_a_text_that_fails_gets_a_chain_and_is_counted_and_reported(caplog):
    parser = WordByWord()
    with caplog.at_level(logging.WARNING, logger="graphdep"):
        result = parser.parse(["good one", "a bad one", "another"])
    assert result[1][0].form == ["a", "bad", "one"]
    assert result[1][0].head == [0, 1, 2]
    assert result[1][0].comments == ["# chain_tree = RuntimeError: bad text"]
    assert result[0][0].comments == []
    assert parser.failures == 1
    assert "1 of 3 texts got a chain tree" in caplog.text
    assert "bad text" in caplog.text
    parser.parse(["a bad one", "a bad one"])
    assert parser.failures == 3


def test_a_parser_that_cannot_run_is_an_error():
    with pytest.raises(ParserUnavailableError, match="no server"):
        WordByWord().parse(["a", "gone"])


def test_wrong_texts_are_named():
    for texts, message in [
        ("a text", "'texts' must be a list"),
        (["a", None], r"'texts\[1\]' must be a string"),
    ]:
        with pytest.raises(TypeError, match=message):
            WordByWord().parse(texts)


def test_wrong_words_are_named():
    for words, message in [
        ("a text", "'words' must be a list"),
        ([["a"], "b c"], r"'words\[1\]' must be a list"),
        ([["a"], []], r"'words\[1\]' is empty"),
        ([["a", ""]], r"'words\[0\]' is empty, or has an empty word"),
        ([["a", 7]], r"'words\[0\]\[1\]' must be a string .* int 7"),
    ]:
        with pytest.raises((TypeError, ValueError), match=message):
            WordByWord().parse_words(words)


def test_progress_is_on_stderr_and_waits(capsys, monkeypatch):
    WordByWord().parse(["a", "b"])
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    for progress, shown in ((None, False), (True, True), (False, False)):
        WordByWord(progress=progress).parse(["a", "b"])
        out, err = capsys.readouterr()
        assert (out, "2/2" in err) == ("", shown)


def test_chunks_are_bounded_and_complete():
    items = ["x" * 60_000, "y" * 60_000, "z" * 500_000, *[str(i) for i in range(600)]]
    parts = list(chunks(items))
    assert [item for part in parts for item in part] == items
    assert [len(part) for part in parts] == [1, 1, 1, 256, 256, 88]
    assert [len(part) for part in chunks([("ab",) * 40_000, ("c",)])] == [1, 1]


@pytest.mark.parametrize(("workers", "most", "cached"), [(1, 3 + 1, False), (2, 3 * 4 * 2 + 1, True)])
def test_a_stream_is_parsed_in_order_with_few_shards_in_memory(monkeypatch, tmp_path, workers, most, cached):
    """Once with nothing in the cache, and once with all of it there."""
    monkeypatch.setattr(items, "_CHUNK_ITEMS", 3)
    texts = [f"text {number % 50} of these" for number in range(120)]
    expected = ChainParser().parse(texts)
    parser = resolve_parser("chain", workers=workers, cache=tmp_path / "parses.sqlite" if cached else None)
    for _ in range(1 + cached):
        stream, seen = Counted(texts), 0
        for number, sentences in enumerate(parser.iter_parse(stream)):
            assert sentences == expected[number]
            seen = max(seen, stream.taken - number)
        assert number == 119
        assert seen <= most


def test_a_stream_counts_and_reports_what_failed_as_a_call_does(caplog):
    texts = ["a", "bad", "b", "bad"]
    one, stream = WordByWord(), WordByWord()
    expected = one.parse(texts)
    said = [record.getMessage() for record in caplog.records]
    caplog.clear()
    assert list(stream.iter_parse(iter(texts))) == expected
    assert [record.getMessage() for record in caplog.records] == said
    assert stream.failures == one.failures == 2


def test_wrong_texts_of_a_stream_are_named_when_they_come():
    with pytest.raises(TypeError, match="'texts' must be strings"):
        WordByWord().iter_parse("a text")
    with pytest.raises(TypeError, match=r"'texts\[1\]' must be a string \(got int 7\)"):
        list(WordByWord().iter_parse(iter(["a", 7])))


def test_progress_of_a_stream(capsys, monkeypatch):
    times = itertools.count(0, 3)
    monkeypatch.setattr("graphdep.io.progress.time.monotonic", lambda: next(times))
    list(WordByWord().iter_parse(iter(["a"] * 600)))
    assert capsys.readouterr().err == "parsing texts: 256\n"
    list(WordByWord().iter_parse(iter(["a"] * 600), total=600))
    assert capsys.readouterr().err == "parsing 600 texts: 43%\n"


def test_a_wrapper_has_the_properties_of_its_parser():
    one = BundledParser(constituents=True, progress=False)
    made = ParserWrapper(one)
    for name in ("fingerprint", "language", "gives_graphs", "gives_constituents", "progress"):
        assert getattr(made, name) == getattr(one, name)


def test_a_column_without_values_is_none():
    assert column(["_", None, ""]) is None
    assert column(["_", None, "x"]) == ["_", "_", "x"]


def test_a_chain_keeps_columns_and_has_the_reason():
    like = Sentence(["a", "b"], [2, 0], ["det", "root"], upos=["DET", "NOUN"], comments=["# text = a b"])
    chain = chain_sentence(like.form, "two\nlines", like)
    assert chain.head == [0, 1]
    assert chain.upos == like.upos
    assert chain.comments == ["# text = a b", "# chain_tree = two lines"]
    assert chain_sentence(["a"], "why").comments == ["# chain_tree = why"]


def parse_letter(text):
    return Parsed([], failure=f"bad {text}" if text in "xyz" else None)


@given(st.lists(st.sampled_from("abcxyz"), max_size=30), st.sets(st.sampled_from("abcxyz")))
def test_shards_equal_a_loop_and_only_unknown_texts_are_parsed(texts, known):
    shards = Shards(
        iter(texts), lambda unique: {text: parse_letter(text) for text in unique if text in known}
    )
    before, items._CHUNK_ITEMS = items._CHUNK_ITEMS, 4
    try:
        found = []
        for chunk in shards.todo():
            assert len(set(chunk)) == len(chunk)
            assert not known & set(chunk)
            found += shards.finish({text: parse_letter(text) for text in chunk})
    finally:
        items._CHUNK_ITEMS = before
    assert found == [parse_letter(text) for text in texts]
    failed = [text for text in texts if text in "xyz"]
    assert (shards.given, shards.failed) == (len(texts), len(failed))
    assert shards.reason == (f"bad {failed[0]}" if failed else "")
    assert set(shards.sample.texts) == set(texts)


@given(st.integers(0, 5_000), st.integers(1, 700))
def test_a_sample_is_bounded_and_evenly_spread_for_any_chunks(size, block):
    texts = [str(number) for number in range(size)]
    sample = TextSample()
    for start in range(0, size, block):
        sample.add(texts[start : start + block])
    step = next(2**k for k in range(20) if len(texts[:: 2**k]) <= 1_000)
    assert sample.texts == texts[::step]


def test_long_texts_are_truncated_and_words_joined():
    sample = TextSample()
    sample.add(["a" * 5_000, ("she", "sings")])
    assert sample.texts == ["a" * 1_000, "she sings"]


def words_of(text: str) -> list[str]:
    """The slow and obvious way."""
    found: list[str] = []
    run = False
    for character in text:
        alone = re.fullmatch(
            "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]", character
        )
        letter = re.fullmatch(r"\w", character) and not alone
        if letter and run and len(found[-1]) < 100:
            found[-1] += character
        elif not character.isspace():
            found.append(character)
        run = bool(letter)
    return found


TEXTS = st.text(st.sampled_from("ab1 \t\n.,'我カé\u0301_😀") | st.characters(), max_size=30)


@given(TEXTS, st.integers(1, 12))
def test_the_first_words_are_kept(text, most):
    expected, limit = words_of(text), WordLimit(most, truncate=True)
    assert limit.holds(text) == (len(expected) <= most)
    cut = limit.text(text, "x")
    assert text.startswith(cut)
    assert words_of(cut) == expected[:most]
    assert limit.text(cut, "x") == cut
    if len(expected) <= most:
        assert cut == text


def test_what_counts_as_a_word():
    for text, count in [
        ("word " * 10_000, 10_000),
        ("Don't go.", 5),
        ("我喜欢茶。", 5),
        ("a" * 100, 1),
        ("a" * 101, 2),
        ("...", 3),
        (" \t\n" * 50, 0),
        ("snake_case", 1),
    ]:
        assert WordLimit(max(1, count)).holds(text)
        if count > 1:
            assert not WordLimit(count - 1).holds(text)


def test_more_words_are_an_error_with_its_place():
    message = "'texts[7]' has more than max_words=10000 words: raise the limit, or set truncate"
    for call in (WordLimit().text, WordLimit().check):
        assert call("word " * 10_000, "'texts[7]'") in (None, "word " * 10_000)
        with pytest.raises(ValueError, match=re.escape(message)):
            call("word " * 10_001, "'texts[7]'")
    WordLimit(truncate=True).check("word " * 10_001, "x")


def test_a_tree_is_truncated_or_refused():
    tree = Sentence.chain(["a", "b", "c"])
    assert WordLimit(3).tree(tree, "x") is tree
    assert WordLimit(2, truncate=True).tree(tree, "x").form == ["a", "b"]
    with pytest.raises(ValueError, match="'x' has more than max_words=2 words"):
        WordLimit(2).tree(tree, "'x'")


def test_the_limit_has_limits():
    for value in [0, 1_000_001, True]:
        with pytest.raises(ValueError, match="'max_words' must be"):
            WordLimit(value)
        with pytest.raises(ValueError, match="'truncate' must be one of True, False"):
            WordLimit(1, truncate="no")


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
SHORT = """Das ist ein Hund. | Wo bist du? | Sie hat kein Geld. | Er ist nicht hier.
Wir haben uns gestern gesehen. | Le chat est sur la table. | Où est la gare ?
Les enfants jouent dans le jardin. | C'est un problème. | Es una casa muy grande.
El perro está en el jardín con los gatos. | Il gatto è nero. | Ho visto il film con una amica.
O gato não está aqui. | Het is niet goed. | Jag är inte här. | Det er ikke nytt.
Hun har en ny bil til deg. | Nie ma go, bo jest w domu. | To je pes, který štěká. | Ez egy szép ház.
Bu çok güzel. | Hän on täällä, mutta minä en.
Unde este casa și câinele?""".replace("\n", " | ").split(" | ")
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
    *"""Ng flew to São Paulo. | Andrew Ng | Dr. Ng and Ms. Ng met in São Paulo. | São Paulo vs. Ng
Das Kapital sold well. | Müller scored twice against Atlético Madrid. | Erdoğan met Orbán and Löfven.
Die Zeit and Le Monde reported losses. | François Hollande visited Córdoba. | She ate crème brûlée.
Los Angeles Lakers beat San Antonio. | Mas, Sem and Som left. | Une Femme Est Une Femme
Björk sang at Malmö | Dvořák, Janáček, Smetana | El Niño hits Peru | Un Chien Andalou is short.
Ist Istanbul Istiklal | Nestlé hires chef | His fiancée Zoë wrote a résumé. | Det. Sgt. Hier resigned
déjà vu again | bread, pâté, café au lait | Voor Kaplan went home.""".replace("\n", " | ").split(" | "),
]


def test_other_languages():
    assert [text for text in [*FOREIGN.values(), *SHORT] if not looks_foreign(text)] == []


def test_english_names_and_short_texts():
    assert [text for text in ENGLISH if looks_foreign(text)] == []


def test_a_tenth_of_the_texts():
    german, english = FOREIGN["de"], "She sings in the park."
    assert foreign_texts([german]) == [german]
    assert foreign_texts([english] * 9 + [german]) == [german]
    few = [FOREIGN[name] for name in ("de", "fr", "pl", "zh")]
    assert foreign_texts([english] * 3_000 + few) == few
    assert foreign_texts([english] * 30 + ["an energy to y tu mamá también", "What is 친구해도?"]) == []
    assert foreign_texts([english] * 500 + ENGLISH) == []
    assert foreign_texts([]) == []
    assert foreign_texts([("Das", "ist", "ein", "Hund")]) == ["Das ist ein Hund"]


def test_texts_with_few_function_words_together():
    headlines = ["Hunde und Katzen", "Streit um das Haus", "Regen auf den Feldern"]
    assert not any(map(looks_foreign, headlines))
    assert foreign_texts(headlines) == headlines
    assert foreign_texts(["Ann", "Das Boot", "Rio de Janeiro"] * 20) == []


def test_only_a_sample_of_texts_is_read():
    many = ["很好"] * 5_000
    assert len(foreign_texts(many)) == 625  # every eighth
    assert foreign_texts(["x " * 1_000 + "很好" * 1_000]) == []


def test_a_parser_of_english_warns(caplog, tmp_path):
    parser = BundledParser(max_words=1, use_gpu=False)  # tags and parses nothing
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
        german = BundledParser(max_words=1, use_gpu=False)
        german.language = "de"
        german.parse([FOREIGN["de"]])
    assert "look English" not in caplog.text


FIRST = """# text = It ran.
1\tIt\tit\tPRON\t_\t_\t2\tnsubj\t2:nsubj\t_
2\tran\trun\tVERB\t_\t_\t0\troot\t0:root\tSpaceAfter=No
3\t.\t.\tPUNCT\t_\t_\t2\tpunct\t2:punct\t_
"""
SECOND = """# text = Don't and I do
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tDo\tdo\tVERB\t_\t_\t0\troot\t0:root\t_
2\tn't\tnot\tPART\t_\t_\t1\tadvmod\t1:advmod|1.1:advmod\t_
2.1\tgo\tgo\tVERB\t_\t_\t_\t_\t0:root|1:conj\t_
3\tI\tI\tPRON\t_\t_\t1\tdep\t2.1:nsubj\t_
"""


class Bars(Parser):
    """Chains, one sentence per ``|``; fails on ``FAIL``."""

    @property
    def fingerprint(self) -> str:
        return "bars"

    def parse_texts(self, texts):
        if "FAIL" in " ".join(texts):
            raise RuntimeError("no parse")
        return [Parsed([Sentence.chain(part.split()) for part in text.split("|")]) for text in texts]

    def parse_sentences(self, sentences):
        raise NotImplementedError


@pytest.fixture
def parser() -> Bars:
    return Bars(progress=False)


def test_join_sentences_moves_every_column():
    second = SECOND.replace("|1.1:advmod", "|2.1:advmod")
    joined = join_sentences([parse_conllu(FIRST)[0], parse_conllu(second)[0]])
    assert joined.form == ["It", "ran", ".", "Do", "n't", "I"]
    assert joined.head == [2, 0, 2, 2, 4, 4]
    assert joined.deprel == ["nsubj", "root", "punct", "parataxis", "advmod", "dep"]
    assert joined.deps[3:] == [[("2", "parataxis")], [("4", "advmod"), ("5.1", "advmod")], [("5.1", "nsubj")]]
    assert joined.multiword[0][0] == "4-5"
    assert joined.empty[0][0] == "5.1"
    assert joined.empty[0][8] == "2:parataxis|4:conj"
    assert joined.misc == ["_", "SpaceAfter=No", "_", "_", "_", "_"]
    assert joined.text == "It ran. Don't and I do"
    assert parse_conllu(format_conllu(joined)) == [joined]


def test_join_sentences_can_keep_every_root():
    second = SECOND.replace("|1.1:advmod", "|2.1:advmod")
    joined = join_sentences([parse_conllu(FIRST)[0], parse_conllu(second)[0]], roots="all")
    assert joined.head == [2, 0, 2, 0, 4, 4]
    assert joined.deprel == ["nsubj", "root", "punct", "root", "advmod", "dep"]
    assert joined.deps[3] == [("0", "root")]
    assert joined.empty[0][8] == "0:root|4:conj"
    assert joined.depth == [2, 1, 2, 1, 2, 2]
    assert join_sentences([joined, joined], roots="all").depth == joined.depth * 2
    with pytest.raises(ValueError, match="'roots' must be one of first, all"):
        join_sentences([joined, joined], roots="none")


def test_join_sentences_fills_columns_that_one_lacks():
    joined = join_sentences([parse_conllu(FIRST)[0], Sentence.chain(["Go", "on"])])
    assert joined.upos == ["PRON", "VERB", "PUNCT", "_", "_"]
    assert joined.deps[3:] == [[("2", "parataxis")], [("4", "dep")]]


def test_join_sentences_of_one_and_none():
    sentence = Sentence.chain(["a"])
    assert join_sentences([sentence]) is sentence
    with pytest.raises(ValueError, match="'sentences' is empty"):
        join_sentences([])


def test_join_sentences_joins_several_roots():
    two_roots = Sentence(["a", "b"], [0, 0], ["root", "root"], multiroot=True)
    assert join_sentences([two_roots, two_roots]).head == [0, 1, 1, 1]


@given(st.lists(st.integers(1, 6), min_size=1, max_size=5))
def test_join_sentences_keeps_arcs(lengths):
    sentences = [Sentence.chain([f"w{i}" for i in range(length)]) for length in lengths]
    joined = join_sentences(sentences)
    assert joined.form == [form for s in sentences for form in s.form]
    assert joined.head.count(0) == 1
    assert joined.deprel.count("parataxis") == len(lengths) - 1
    arcs = sum(len(s) - 1 for s in sentences)
    assert joined.deprel.count("dep") == arcs
    assert len(joined) == arcs + len(lengths)


def test_one_tree_per_text(parser):
    trees, failures = parse_joined(parser, ["a b | c", "FAIL d", "e"])
    assert [tree.form for tree in trees] == [["a", "b", "c"], ["FAIL", "d"], ["e"]]
    assert (trees[0].deprel[2], failures) == ("parataxis", 1)
    assert parse_joined(parser, ["e"])[1] == 0


def test_a_text_without_words_is_a_chain(parser, monkeypatch):
    monkeypatch.setattr(parser, "parse_texts", lambda texts: [Parsed([]) for _ in texts])
    trees, failures = parse_joined(parser, ["\u200b x"])
    assert (trees, failures) == ([chain_sentence(["\u200b", "x"], "no sentence in it")], 1)


def test_a_copy_names_its_word_after_joining():
    row = ("3.1", "_", "_", "_", "_", "_", "_", "_", "2:conj", "X=1|CopyOf=3")
    deps = [[("2", "a")], [("0", "root")], [("2", "b")]]
    second = Sentence(["a", "b", "c"], [2, 0, 2], ["a", "root", "b"], deps=deps, empty=[row])
    joined = join_sentences([Sentence(["x", "y"], [0, 1], ["root", "obj"]), second])
    assert joined.empty[0][0] == "5.1"
    assert joined.empty[0][9] == "X=1|CopyOf=5"
