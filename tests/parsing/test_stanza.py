from __future__ import annotations

import os
import shutil
import subprocess
import unicodedata
from itertools import pairwise
from types import SimpleNamespace

import pytest
import stanza
from hypothesis import given
from hypothesis import strategies as st

from graphdep import Sentence
from graphdep.io.files import CHECKSUMS, write_checksums
from graphdep.parsing import BundledParser, ParserUnavailableError, StanzaParser
from graphdep.parsing.bundled import BUNDLED
from graphdep.parsing.stanza import (
    RawToken,
    _annotated,
    check_checksums,
    files_digest,
    text_pieces,
    whole_words,
)


def test_tags_that_a_treebank_lacks_are_none():
    said = {"lemma": "we", "upos": "PRON", "feats": None, "head": 0, "deprel": "root", "text": "we"}
    sentence, reason = _annotated(Sentence.chain(["we"]), [SimpleNamespace(**said, xpos="<PAD>")])
    assert (reason, sentence.upos, sentence.xpos, sentence.feats) == (None, ["PRON"], None, None)


def test_missing_models_say_what_to_do(tmp_path):
    parser = StanzaParser("zh", directory=tmp_path, download=False)
    with pytest.raises(
        ParserUnavailableError, match=r"stanza\.download\('zh', package='default'\).*'bundled'"
    ):
        parser.parse(["我"])
    with pytest.raises(ParserUnavailableError, match=r"\) are not on this machine\. With"):
        _ = parser.fingerprint


def test_no_network_says_what_to_do(tmp_path, monkeypatch):
    import requests

    def refuse(*args, **kwargs):
        raise requests.exceptions.ConnectionError("no route")

    monkeypatch.setattr(requests.Session, "request", refuse)
    with pytest.raises(ParserUnavailableError, match=r"this machine and could not be downloaded\. With"):
        StanzaParser("en", directory=tmp_path).parse(["hello"])


def test_language_and_options_reach_stanza(monkeypatch):
    import stanza

    seen = {}

    def pipeline(language, **options):
        seen.update(options, language=language)
        raise ValueError("enough")

    monkeypatch.setattr(stanza, "Pipeline", pipeline)
    with pytest.raises(ParserUnavailableError, match="enough"):
        StanzaParser("de", package="gsd", use_gpu=False).parse(["hallo"])
    assert seen["language"] == "de"
    assert seen["package"] == "gsd"
    assert seen["use_gpu"] is False
    assert seen["depparse_resolve_head_constraints"] is False


def test_an_empty_call_loads_nothing():
    assert StanzaParser("xx").parse([]) == []
    assert repr(StanzaParser("xx")) == "StanzaParser('xx', package='default')"


def test_an_old_stanza_loads_nothing(monkeypatch):
    for version in ["1.14.0", "1.9.2"]:
        for make in [BundledParser, lambda: StanzaParser("en")]:
            monkeypatch.setattr(stanza, "__version__", version)
            monkeypatch.setattr(stanza, "Pipeline", lambda *args, **kwargs: pytest.fail("loaded"))
            with pytest.raises(
                ParserUnavailableError, match=f"stanza {version} can run code.*install 1.15 or later"
            ):
                make().parse(["A dog barks."])


def test_a_later_one_does(monkeypatch):
    for version in ["1.15", "1.20.1rc1", "2.0"]:
        monkeypatch.setattr(stanza, "__version__", version)
        monkeypatch.setattr(BundledParser, "_load", lambda self: "loaded")
        assert BundledParser()._engine.pipeline == "loaded"


@pytest.fixture
def files(tmp_path):
    paths = [tmp_path / "a.pt", tmp_path / "b.pt"]
    for path in paths:
        path.write_bytes(path.name.encode())
    write_checksums(tmp_path, ["b.pt", "a.pt"])
    return paths


def test_the_list_is_that_of_sha256sum(files):
    check_checksums(files)
    done = subprocess.run(["sha256sum", "a.pt", "b.pt"], cwd=files[0].parent, capture_output=True, check=True)
    assert (files[0].parent / CHECKSUMS).read_bytes() == done.stdout


def test_a_changed_file_is_named(files):
    files[1].write_bytes(b"b.pT")
    with pytest.raises(ParserUnavailableError, match=r"b\.pt differs from its checksum in SHA256SUMS"):
        check_checksums(files)


def test_a_file_without_a_checksum(files):
    write_checksums(files[0].parent, ["a.pt"])
    with pytest.raises(ParserUnavailableError, match=r"b\.pt has no checksum in SHA256SUMS"):
        check_checksums(files)


def test_an_invalid_line(files):
    (files[0].parent / CHECKSUMS).write_text("0" * 64 + "  a.pt\n<html>\n")
    with pytest.raises(
        ParserUnavailableError, match="SHA256SUMS:2: no digest and name of a file .got '<html>'"
    ):
        check_checksums(files)


def test_without_checksums_nothing_is_checked(files):
    (files[0].parent / CHECKSUMS).unlink()
    files[1].write_bytes(b"other")
    check_checksums(files)


def test_the_files_of_the_package_are_listed(tmp_path):
    check_checksums(BUNDLED.glob("*.pt"))
    for path in [*BUNDLED.glob("*.pt"), BUNDLED / CHECKSUMS]:
        shutil.copy(path, tmp_path)
    with open(tmp_path / "en_ewt_parser.pt", "r+b") as file:
        file.seek(1_000_000)
        byte = file.read(1)
        file.seek(1_000_000)
        file.write(bytes([byte[0] ^ 1]))
    with pytest.raises(ParserUnavailableError, match=r"en_ewt_parser\.pt differs from its checksum"):
        BundledParser(tmp_path).parse(["She sings."])


def test_the_digest_depends_on_the_content_alone(tmp_path):
    first, second = tmp_path / "a", tmp_path / "b"
    first.write_bytes(b"1")
    second.write_bytes(b"1")
    assert files_digest([first]) == files_digest([second])
    assert len(files_digest([first])) == 12
    before = files_digest([first])
    first.write_bytes(b"2")
    os.utime(first, (1, 1))
    assert files_digest([first]) != before


def spans(sentences):
    return [[(token.start, token.stop) for token in tokens] for tokens in sentences]


def test_a_word_cut_at_an_accent_is_whole():
    for cut, text in [
        ([[(0, 5), (5, 6)]], "cliché"),
        ([[(0, 5)], [(5, 6)]], "cliché"),
        ([[(0, 1), (1, 5), (5, 6)]], "éclaté"),
        ([[(0, 4), (4, 5)]], "cafe\u0301"),
        ([[(0, 3), (3, 8)]], "re\u0301sume\u0301"),
    ]:
        tokens = [[RawToken(*place, text[slice(*place)]) for place in places] for places in cut]
        assert whole_words(tokens, text) == [[RawToken(0, len(text), text)]]


def test_punctuation_after_such_a_word_is_a_token():
    tokens = [[RawToken(0, 5, "touch"), RawToken(5, 8, "é?!")], [RawToken(9, 11, "No")]]
    expected = [[RawToken(0, 6, "touché"), RawToken(6, 8, "?!")], [RawToken(9, 11, "No")]]
    assert whole_words(tokens, "touché?! No") == expected


def test_other_tokens_stay():
    for places, text in [
        ([(0, 2), (2, 5)], "don't"),
        ([(0, 3), (3, 6)], "cannot"),
        ([(0, 4), (5, 6)], "café é"),
        ([(0, 4), (4, 6)], "José's"),
        ([(0, 1), (1, 3)], "£10"),
        ([(0, 1), (1, 2)], "東京"),
        ([(0, 2), (2, 3)], "no—"),
    ]:
        tokens = [[RawToken(*place, None) for place in places]]
        assert whole_words(tokens, text) == tokens


def test_multi_word_tokens_stay():
    tokens = [[RawToken(0, 3, "duü", ("du", "ü")), RawToken(3, 4, "é")]]
    assert whole_words(tokens, "duüé") == tokens


def test_following_tokens_stay_in_the_sentence():
    tokens = [[RawToken(0, 3, "caf")], [RawToken(3, 4, "é"), RawToken(5, 7, "is")], [RawToken(8, 10, "No")]]
    assert spans(whole_words(tokens, "café is No")) == [[(0, 4), (5, 7)], [(8, 10)]]


@given(st.data())
def test_no_cut_in_a_word_is_left_and_nothing_is_lost(data):
    text = data.draw(st.text("abé\u0301ü 我'!", min_size=1, max_size=12))
    ends = [i for i in range(1, len(text)) if data.draw(st.booleans())] + [len(text)]
    tokens = [RawToken(start, end, None) for start, end in zip([0, *ends], ends)]
    split = data.draw(st.integers(0, len(tokens) - 1))
    whole = whole_words([part for part in (tokens[:split], tokens[split:]) if part], text)
    flat = [token for sentence in whole for token in sentence]
    assert "".join(text[token.start : token.stop] for token in flat) == text
    for before, after in pairwise(flat):
        pair = text[before.stop - 1] + text[after.start]
        assert not unicodedata.combining(pair[1])
        assert pair.isascii() or not all(character in "abéü" for character in pair)


def test_the_bundled_parser_leaves_accented_words_whole():
    for text in ["a cliché and a café near", "we sat in a café", "résumé", "pure cliché!", "touché! Encore"]:
        [sentences] = BundledParser(use_gpu=False).tokenize([text])
        assert [word for words in sentences for word in words] == text.replace("!", " !").split()


@given(st.text(alphabet="ab \n\t我", max_size=60), st.integers(1, 12))
def test_pieces_are_the_text_without_blank_parts(text, longest):
    end = 0
    for offset, piece in text_pieces(text, longest):
        assert piece == text[offset : offset + len(piece)]
        assert len(piece) <= longest
        assert piece.strip()
        assert not text[end:offset].strip()
        end = offset + len(piece)
    assert not text[end:].strip()


def test_a_text_that_fits_is_one_piece():
    assert list(text_pieces("a\n\nb c")) == [(0, "a\n\nb c")]
    assert list(text_pieces("")) == []
    assert list(text_pieces(" \n ")) == []


def test_cuts_at_the_largest_break_that_fits():
    assert [piece for _, piece in text_pieces("a b\n\nc d\ne f", 9)] == ["a b\n\n", "c d\ne f"]
    assert [piece for _, piece in text_pieces("a b\nc d e", 7)] == ["a b\n", "c d e"]
    assert [piece for _, piece in text_pieces("aa bb cc", 5)] == ["aa ", "bb cc"]
    assert [piece for _, piece in text_pieces("aaaaaaaa", 5)] == ["aaaaa", "aaa"]


def test_very_long_words_are_cut():
    pieces = [len(piece) for _, piece in text_pieces("ok " + "x" * 4500 + " end")]
    assert pieces == [3, 2000, 2000, 504]
