from __future__ import annotations

import dataclasses
from importlib.util import find_spec

import pytest

from graphdep import ConlluError, Sentence
from graphdep.io import write_conllu
from graphdep.parsing import (
    BundledParser,
    CachedParser,
    ConlluParser,
    CoreNLPParser,
    ParserUnavailableError,
    StanzaParser,
    resolve_parser,
)
from graphdep.parsing.bundled import BUNDLED
from graphdep.parsing.resolver import check_parser


def test_names(tmp_path):
    path = tmp_path / "c:d.conllu"
    write_conllu([Sentence.chain(["a"])], path)
    assert isinstance(resolve_parser("bundled"), BundledParser)
    assert isinstance(resolve_parser("corenlp", timeout=3), CoreNLPParser)
    conllu = resolve_parser(f"conllu:{path}")
    assert isinstance(conllu, ConlluParser)
    assert conllu.path == path
    for name, language in (("stanza", "en"), ("stanza:zh", "zh")):
        stanza = resolve_parser(name)
        assert isinstance(stanza, StanzaParser)
        assert stanza.language == language


def test_bundled_with_a_folder(tmp_path):
    for file in BUNDLED.glob("*.pt"):
        (tmp_path / file.name).symlink_to(file)
    parser = resolve_parser(f"bundled:{tmp_path}", max_words=3)
    assert isinstance(parser, BundledParser)
    assert (parser.directory, parser.language) == (tmp_path, "en")
    with pytest.raises(ValueError, match="'bundled' has no option 'directory'"):
        resolve_parser(f"bundled:{tmp_path}", directory=tmp_path)
    with pytest.raises(ParserUnavailableError, match=r"nowhere has no model files"):
        resolve_parser(f"bundled:{tmp_path / 'nowhere'}")


def test_languages(tmp_path):
    assert resolve_parser("bundled", cache=tmp_path / "parses.sqlite").language == "en"
    assert resolve_parser("chain").language is None
    assert resolve_parser("corenlp").language is None


def test_an_instance_is_returned_with_a_cache_around_it(tmp_path):
    parser = BundledParser()
    assert resolve_parser(parser) is parser
    cached = resolve_parser(parser, cache=tmp_path / "parses.sqlite")
    assert isinstance(cached, CachedParser)
    assert cached.parser is parser
    with pytest.raises(ValueError, match=r"\['max_words'\] cannot be given"):
        resolve_parser(parser, max_words=3)


def test_an_unknown_name_lists_the_choices():
    near_names = {"bundle": "bundled", "Bundled": "bundled", "Stanza:de": "stanza", "spcay:x": "spacy"}
    for name, near in near_names.items():
        with pytest.raises(ValueError, match=rf"no parser '\w+' \(did you mean '{near}'\?\)$"):
            resolve_parser(name)
    for name in ["nope", "nope:de", ""]:
        with pytest.raises(ValueError, match=r"'parser' must be one of bundled, bundled:<folder>, "):
            resolve_parser(name)


def test_a_name_of_the_wrong_form_lists_the_choices():
    for name in ["bundled:", "spacy", "spacy:", "conllu", "stanza:", "corenlp:x"]:
        with pytest.raises(ValueError, match=f"no parser '{name}' .did you|'parser' must be .*got '{name}'"):
            resolve_parser(name)


def test_trees_that_nothing_can_enhance_are_not_parsed_first(tmp_path, no_pybart):
    path = tmp_path / "trees.conllu"
    write_conllu([Sentence.chain(["a"])], path)
    for name in ("bundled", "stanza", "chain"):
        for arcs in ("basic", "enhanced", "enhanced++"):
            resolve_parser(name, arcs=arcs)
        with pytest.raises(ImportError, match=r"comes with graphdep\[enhanced\]"):
            resolve_parser(name, cache=tmp_path / "parses.sqlite", arcs="enhanced++", engine="pybart")
    given = resolve_parser(f"conllu:{path}", arcs="enhanced++", engine="pybart", cache=tmp_path / "p.sqlite")
    assert given.gives_graphs
    with pytest.raises(ValueError, match=r"'arcs' must be one of basic, .* \(got 'all'\)"):
        resolve_parser("bundled", arcs="all")
    with pytest.raises(ValueError, match=r"'engine' must be one of rules, pybart \(got 'ud'\)"):
        resolve_parser("bundled", engine="ud")


def test_an_unknown_option_lists_the_known_ones():
    with pytest.raises(
        ValueError, match="'bundled' has no option 'gpu'; it has directory, max_words, constituents, use_gpu"
    ):
        resolve_parser("bundled", gpu=True)
    with pytest.raises(ValueError, match="'stanza' has no option 'language'; it has directory, package"):
        resolve_parser("stanza:zh", language="en")


def test_a_name_is_checked_without_its_model(tmp_path):
    for name in ("bundled", "stanza:de", "corenlp", "chain", "spacy:no_such_model"):
        if name.startswith("spacy") and find_spec("spacy") is None:
            continue
        check_parser(name)
    with pytest.raises(ValueError, match="'parser' must be one of .*'nonsense'"):
        check_parser("nonsense")
    with pytest.raises(ValueError, match="no parser|must be one of"):
        check_parser("conllu:")
    with pytest.raises(FileNotFoundError, match=r"no\.conllu"):
        check_parser(f"conllu:{tmp_path / 'no.conllu'}")
    (tmp_path / "no.conllu").write_text("not read")
    check_parser(f"conllu:{tmp_path / 'no.conllu'}")


def test_a_check_of_a_name_needs_the_engine(no_pybart):
    check_parser("corenlp", "enhanced++", "pybart")
    check_parser("bundled", "enhanced++")
    with pytest.raises(ImportError, match="pybart"):
        check_parser("bundled", "enhanced++", "pybart")


A = Sentence(["Hi", "!"], [0, 1], ["root", "punct"], comments=["# text = Hi!"])
B = Sentence(["Go", "on"], [0, 1], ["root", "compound:prt"])
C = Sentence(["Go", "on"], [2, 0], ["dep", "root"], comments=["# text = Go on", "# second = yes"])


@pytest.fixture
def parser(tmp_path):
    write_conllu([A, B, C], tmp_path / "some file.conllu")
    return ConlluParser(tmp_path / "some file.conllu")


def test_texts(parser):
    assert parser.parse(["Go  on", "Hi!", "Hi! Go on", "Hi!Go on Go on\n", " "]) == [
        [B],
        [A],
        [A, B],
        [A, B, C],
        [],
    ]
    assert parser.failures == 0


def test_words(parser):
    assert parser.parse_words([["Go", "on"], ["Hi", "!"]]) == [B, A]


def test_unknown_texts_are_errors(parser):
    with pytest.raises(ValueError, match=r"some file\.conllu has the text 'Hi\? Go'"):
        parser.parse(["Hi!", "Hi? Go"])
    with pytest.raises(ValueError, match="has the text 'Hi! Hi!'"):
        parser.parse(["Hi! Hi!"])
    with pytest.raises(ValueError, match="has the words 'Hi'"):
        parser.parse_words([["Hi"]])


def test_fingerprint_is_that_of_the_content(parser, tmp_path):
    write_conllu([A, B, C], tmp_path / "copy.conllu")
    assert ConlluParser(tmp_path / "copy.conllu").fingerprint == parser.fingerprint
    changed = [A, dataclasses.replace(B, deprel=["root", "dep"]), C]
    write_conllu(changed, tmp_path / "copy.conllu", overwrite=True)
    assert ConlluParser(tmp_path / "copy.conllu").fingerprint != parser.fingerprint


def test_bad_files(tmp_path):
    with pytest.raises(FileNotFoundError):
        ConlluParser(tmp_path / "none.conllu")
    (tmp_path / "bad.conllu").write_text("no conllu\n")
    with pytest.raises(ConlluError, match=r"bad\.conllu:1"):
        ConlluParser(tmp_path / "bad.conllu")
