from __future__ import annotations

import dataclasses
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep import Sentence
from graphdep.io import (
    PtbError,
    format_conllu,
    format_ptb,
    iter_ptb,
    parse_conllu,
    parse_ptb,
    read_ptb,
    write_ptb,
)
from tests.kit.strategies import constituents_of

TREE = "(ROOT (S (NP (DT The) (NN dog)) (VP (VBD slept) (NP (-LRB- -LRB-) (NN x) (-RRB- -RRB-)))))"
WSJ = """( (S
    (NP-SBJ-1 (DT The) (NN dog) )
    (VP (VBD slept)
      (NP (-NONE- *T*-1) )
      (ADVP-TMP|PRT (-NONE- *) (RB there) )))
)
(TOP (UH Yes)) (S1 (NP=2 (NN it)))
"""
# What is read as it was written: not the name of a bracket, nor white space.
WORD = st.text(st.characters(exclude_categories=("Z", "Cc", "Cs"), codec="utf-8"), min_size=1, max_size=5)
WORD = WORD.filter(lambda word: not re.search(r"-[LR][RSC]B-|-NONE-|\s", word))
TAG = WORD.filter(lambda tag: not set(tag) & {"(", ")"})


@st.composite
def bracketed(draw: st.DrawFn) -> Sentence:
    size = draw(st.integers(1, 7))
    form, tag = (draw(st.lists(each, min_size=size, max_size=size)) for each in (WORD, TAG))
    tags = draw(st.none() | st.just(tag)) if set(tag) != {"_"} else None
    return dataclasses.replace(Sentence.chain(form), xpos=tags, constituents=draw(constituents_of(size)))


@given(st.lists(bracketed(), min_size=1, max_size=3))
def test_what_is_written_is_read(sentences):
    lines = [format_ptb(sentence) for sentence in sentences]
    assert parse_ptb("\n".join(lines), functions=True) == sentences
    assert [
        *iter_ptb(" ".join(lines).replace(" ", "\n").splitlines(keepends=True), functions=True)
    ] == sentences


def test_a_file_and_back(tmp_path):
    path = tmp_path / "trees.mrg"
    path.write_text(f"\ufeff{TREE}\r\n\n{TREE}", encoding="utf-8")
    first, second = read_ptb(path)
    assert first == second
    assert first.form == ["The", "dog", "slept", "(", "x", ")"]
    assert first.xpos == ["DT", "NN", "VBD", "-LRB-", "NN", "-RRB-"]
    assert first.constituents == [("S", 0, 6), ("NP", 0, 2), ("VP", 2, 6), ("NP", 3, 6)]
    assert first.head == [0, 1, 2, 3, 4, 5]
    write_ptb([first, second], path)
    assert path.read_text(encoding="utf-8") == f"{TREE}\n{TREE}\n"


def test_function_tags_traces_and_roots():
    first, second, third = parse_ptb(WSJ)
    assert first.form == ["The", "dog", "slept", "there"]
    assert first.constituents == [("S", 0, 4), ("NP", 0, 2), ("VP", 2, 4), ("ADVP", 3, 4)]
    assert (second.form, second.constituents) == (["Yes"], [])
    assert (third.form, third.constituents) == (["it"], [("NP", 0, 1)])
    first, _, third = parse_ptb(WSJ, functions=True)
    assert [label for label, *_ in first.constituents] == ["S", "NP-SBJ-1", "VP", "ADVP-TMP|PRT"]
    assert third.constituents == [("NP=2", 0, 1)]


@pytest.mark.parametrize("label", ["ADVP|PRT", "ADVP-TMP", "ADVP=2", "ADVP-TMP|PRT-CLR=1"])
def test_a_label_ends_where_something_is_added_to_it(label):
    (sentence,) = parse_ptb(f"(S ({label} (RB there)))")
    assert sentence.constituents == [("S", 0, 1), ("ADVP", 0, 1)]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("(S (NN a))\n(S (NN a)", 2, "a tree begins here that is not closed"),
        ("(S (NN a)))", 1, "a bracket is closed that was not opened (got ')')"),
        ("(S\n(NN a))\nb", 3, "a word outside of brackets (got 'b')"),
        ("(S ((NN a)))", 1, "a bracket without a label"),
        ("(S (((NN a))))", 1, "a bracket without a label"),
        ("(S () (NN a))", 1, "a bracket without a label"),
        ("()", 1, "a bracket without a label"),
        ("(S\n(NP )\n(NN a))", 2, "a constituent without words (got 'NP')"),
        ("(S)", 1, "a constituent without words (got 'S')"),
        ("(S (NN a))\n(S\n(N\u00a0P (NN a)))", 3, "a label with white space (got 'N\\xa0P')"),
        ("(NP (NN a b))", 1, "a word without a bracket and a tag of its own (got 'b')"),
        ("(NP (NN a)\nb)", 2, "a word without a bracket and a tag of its own (got 'b')"),
        ("(NP a (NN b))", 1, "a bracket after a word without one (got 'a')"),
        ("((NN a) NP)", 1, "a word without a bracket and a tag of its own (got 'NP')"),
        ("(S (NP (-NONE- *)))", 1, "a tree without words"),
        ("  \n", 1, "no tree"),
    ],
)
def test_what_is_no_tree_is_named(tmp_path, text, line, message):
    path = tmp_path / "bad.mrg"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PtbError, match=re.escape(f"{path}:{line}: {message}") + "$") as error:
        read_ptb(path)
    assert error.value.line == line
    with pytest.raises(PtbError, match=re.escape(f"mine:{line}: {message}")):
        parse_ptb(text, name="mine")


def test_not_utf_8(tmp_path):
    path = tmp_path / "bad.mrg"
    path.write_bytes(b"(S (NN a))\n(S (NN \xff))")
    with pytest.raises(PtbError, match=r"bad.mrg:2: not UTF-8 at byte 7 \(got 'ff 29 29'\)"):
        read_ptb(path)


def test_a_stream_is_read_tree_by_tree():
    lines = iter(["(S (NN a))", "(S (NN b)", ")", "broken"])
    trees = iter_ptb(lines, name="pipe")
    assert next(trees).form == ["a"]
    assert next(lines) == "(S (NN b)"  # nothing was read ahead
    with pytest.raises(PtbError, match=r"pipe:2: a bracket is closed"):
        next(trees)
    assert [*iter_ptb(io.StringIO(""))] == []


def test_a_byte_order_mark_is_no_word():
    assert parse_ptb("\ufeff(S (NN a))") == [*iter_ptb(["\ufeff(S (NN a))"])] == parse_ptb("(S (NN a))")


def test_deep_trees_need_no_recursion():
    deep = "(X " * 5000 + "(NN a)" + ")" * 5000
    [sentence] = parse_ptb(deep)
    assert len(sentence.constituents) == 5000
    assert parse_ptb(format_ptb(sentence)) == [sentence]


def test_trees_of_given_sentences():
    parsed = Sentence(["The", "dog"], [2, 0], ["det", "root"], lemma=["the", "dog"])
    [joined] = parse_ptb("(NP (DT The) (NN dog))", sentences=[parsed])
    assert joined == dataclasses.replace(parsed, constituents=[("NP", 0, 2)])
    with pytest.raises(PtbError, match=r"<string>:2: a tree of 1 words for sentence 1, of 2 \(got 'The'\)"):
        parse_ptb("\n(NP (DT The))", sentences=[parsed])
    with pytest.raises(PtbError, match="<string>:1: 1 trees for 2 sentences"):
        parse_ptb("(NP (DT The) (NN dog))", sentences=[parsed, parsed])
    with pytest.raises(PtbError, match="<string>:2: 2 trees for 1 sentences"):
        parse_ptb("(NP (DT The) (NN dog))\n(NP (DT The) (NN dog))", sentences=[parsed])


def test_quotes_of_the_treebank_are_those_of_the_sentence():
    said = Sentence.chain(['"', "and/or", "’s", '"'])
    [joined] = parse_ptb("(S (`` ``) (CC And\\/or) (POS 's) ('' ''))", sentences=[said])
    assert joined == dataclasses.replace(said, constituents=[("S", 0, 4)])
    with pytest.raises(
        PtbError,
        match=r"<string>:1: word 2 of the tree of sentence 1 is not 'and/or', as in the sentence",
    ):
        parse_ptb("(S (`` ``) (CC or) (POS 's) ('' ''))", sentences=[said])


def test_a_word_without_a_tag():
    sentence = dataclasses.replace(Sentence.chain(["a", "b"]), xpos=["", "B"], constituents=[])
    assert format_ptb(sentence) == "(ROOT (_ a) (B b))"


def test_what_cannot_be_written_is_named(tmp_path):
    sentence = dataclasses.replace(Sentence.chain(["10 000", "b"]), constituents=[])
    with pytest.raises(
        ValueError, match="sentence 1: word 1 cannot be written as brackets: white space in '10 000'"
    ):
        write_ptb([sentence], tmp_path / "x.mrg")
    trace = dataclasses.replace(Sentence.chain(["*"]), xpos=["-NONE-"], constituents=[])
    with pytest.raises(ValueError, match="word 1 cannot be written as brackets: its tag '-NONE-'"):
        format_ptb(trace)
    with pytest.raises(ValueError, match="sentence 1: the sentence 'a' has no constituents to write"):
        write_ptb([Sentence.chain(["a"])], tmp_path / "x.mrg")
    assert not (tmp_path / "x.mrg").exists()


# CoNLL-U has them as a comment, as stanza does.

CONLLU = "# text = Go\n# constituency = (ROOT (S (VP (VB Go))))\n1\tGo\t_\t_\tVB\t_\t0\troot\t_\t_\n"


def test_the_comment_of_conllu():
    [sentence] = parse_conllu(CONLLU)
    assert sentence.constituents == [("S", 0, 1), ("VP", 0, 1)]
    assert sentence.comments == ["# text = Go"]
    assert format_conllu(sentence) == CONLLU
    twice = dataclasses.replace(sentence, comments=[*sentence.comments, "# constituency = (ROOT (UH Go))"])
    assert format_conllu(twice) == CONLLU  # the constituents are those of the sentence
    assert parse_conllu(CONLLU.replace("(ROOT", "none, (ROOT"))[0].constituents is None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("))))", ")))", "x.conllu:2: constituency: a tree begins here that is not closed"),
        ("(VB Go)", "(VB Go) (RB on)", "x.conllu:2: constituency: not one tree of 1 words but of 2"),
        ("(ROOT", "(NN a) (ROOT", "x.conllu:2: constituency: not one tree of 1 words but of 1 and 1"),
        ("# text = Go", "# constituency = (X (NN Go))", "x.conllu:2: a second tree of constituents"),
    ],
)
def test_a_comment_that_is_no_tree_is_named(old, new, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        parse_conllu(CONLLU.replace(old, new), name="x.conllu")
