from __future__ import annotations

import dataclasses
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphdep import ConlluError, Sentence
from graphdep.io import (
    PtbError,
    format_conllu,
    format_ptb,
    parse_conllu,
    parse_ptb,
    read_conllu,
    read_ptb,
    write_conllu,
    write_ptb,
)
from tests.kit.strategies import constituents_of

# Has everything: comments, a range, empty nodes before the first word and at one place twice, DEPS, CJK.
FULL = """# sent_id = 1
# text = Didn't she 走 ?
0.1\tIt\tit\tPRON\t_\t_\t_\t_\t2.1:nsubj\tCopyOf=-1
1-2\tDidn't\t_\t_\t_\t_\t_\t_\t_\t_
1\tDid\tdo\tAUX\tVBD\tTense=Past\t4\taux\t4:aux\t_
2\tn't\tnot\tPART\tRB\t_\t4\tadvmod\t4:advmod|2.1:advmod\t_
2.1\tgo\tgo\tVERB\t_\t_\t_\t_\t0:root\t_
2.2\tand\tand\tCCONJ\t_\t_\t_\t_\t_\t_
3\tshe\tshe\tPRON\tPRP\t_\t4\tnsubj\t4:nsubj\t_
4\t走\t走\tVERB\tVB\t_\t0\troot\t0:root\tSpaceAfter=No
5\t?\t?\tPUNCT\t.\t_\t4\tpunct\t4:punct\t_

# a sentence without anything but the tree
1\tYes\t_\t_\t_\t_\t0\troot\t_\t_

"""


def line(number="1", form="w", head="0", deprel="root", deps="_", lemma="_"):
    return "\t".join((number, form, lemma, "_", "_", "_", head, deprel, deps, "_"))


def bad_file(tmp_path, text: str | bytes):
    path = tmp_path / "bad.conllu"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_columns():
    first, second = parse_conllu(FULL)
    assert first.form == ["Did", "n't", "she", "走", "?"]
    assert first.head == [4, 4, 4, 0, 4]
    assert first.deprel == ["aux", "advmod", "nsubj", "root", "punct"]
    assert first.lemma == ["do", "not", "she", "走", "?"]
    assert first.xpos == ["VBD", "RB", "PRP", "VB", "."]
    assert first.feats == ["Tense=Past", "_", "_", "_", "_"]
    assert first.deps[1] == [("4", "advmod"), ("2.1", "advmod")]
    assert first.misc[3] == "SpaceAfter=No"
    assert [row[:2] for row in first.multiword] == [("1-2", "Didn't")]
    assert [row[0] for row in first.empty] == ["0.1", "2.1", "2.2"]
    assert first.comments == ["# sent_id = 1", "# text = Didn't she 走 ?"]
    assert first.text == "Didn't she 走 ?"
    assert dataclasses.replace(first, comments=[]).text == "Didn't she 走?"
    assert second == Sentence(["Yes"], [0], ["root"], comments=second.comments)


def test_the_file_comes_back_byte_by_byte(tmp_path):
    (tmp_path / "a.conllu").write_text(FULL, encoding="utf-8")
    write_conllu(read_conllu(tmp_path / "a.conllu"), tmp_path / "b.conllu")
    assert (tmp_path / "b.conllu").read_bytes() == FULL.encode()


@settings(max_examples=25)
@given(st.data())
def test_reading_what_was_written_gives_the_sentence(tmp_path_factory, sentences, data):
    written = data.draw(st.lists(sentences(multiroot=True), min_size=1, max_size=3))
    path = tmp_path_factory.getbasetemp() / "round.conllu"
    write_conllu(written, path, overwrite=True)
    assert read_conllu(path, multiroot=True) == written
    before = path.read_bytes()
    write_conllu(read_conllu(path, multiroot=True), path, overwrite=True)
    assert path.read_bytes() == before
    assert parse_conllu(before.decode(), multiroot=True) == written


def test_what_is_accepted(tmp_path):
    for change in [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: text.rstrip("\n"),
        lambda text: "\n  \n" + text.replace("\n\n", "\n\n \n\n"),
    ]:
        assert read_conllu(bad_file(tmp_path, change(FULL))) == parse_conllu(FULL)


def test_an_empty_file(tmp_path):
    for text in ["", "\n\n", "  \n", "\ufeff", "\r\n"]:
        path = bad_file(tmp_path, text)
        with pytest.raises(ConlluError, match=re.escape(f"{path}:1: no sentence in the file")):
            read_conllu(path)


OK = line() + "\n"
BAD = {  # name: text, line, value, message
    "nine columns": (OK + line("2")[:-2], 2, line("2")[:-2], "9 tab-separated columns instead of 10"),
    "spaces for tabs": (line().replace("\t", " "), 1, line().replace("\t", " "), "1 tab-separated columns"),
    "an empty column": (line(form=""), 1, line(form=""), "column FORM is empty"),
    "a line break in a column": (
        line(form="a\rb"),
        1,
        "1\ta",
        "2 tab-separated columns instead of 10",
    ),
    "a line break in a comment": ("# a\rb\n" + OK, 2, "b", "1 tab-separated columns instead of 10"),
    "head out of range": (OK + line("2", head="3"), 2, "3", r"word 2: head 3 is out of range 0\.\.2"),
    "head negative": (OK + line("2", head="-1"), 2, "-1", "HEAD must be a word id or 0"),
    "head unspecified": (OK + line("2", head="_"), 2, "_", "HEAD must be a word id or 0"),
    "head with a zero in front": (OK + line("2", head="01"), 2, "01", "HEAD must be a word id or 0"),
    "head in other digits": (OK + line("2", head="１"), 2, "１", "HEAD must be a word id or 0"),
    "head enormous": (OK + line("2", head="9" * 5000), 2, "9" * 5000, "HEAD must be a word id or 0"),
    "its own governor": (OK + line("2", head="2"), 2, "2", r"closes a cycle through words \[2\]"),
    "a cycle": (
        OK + line("2", head="3") + "\n" + line("3", head="2"),
        2,
        "3",
        r"word 2: head 3 closes a cycle through words \[2, 3\]",
    ),
    "no root": (line(head="2") + "\n" + line("2", head="1"), 1, "2", "no root: no word has head 0"),
    "several roots": (OK + line("2"), 1, "0", r"words \[1, 2\] all have head 0"),
    "a duplicate id": (OK + line(head="1"), 2, "1", "duplicate id, first on line 1"),
    "a duplicate range": (
        "\n".join((line("1-2"), line("1-2"), line(), line("2", head="1"))),
        2,
        "1-2",
        "duplicate id, first on line 1",
    ),
    "an id left out": (OK + line("3", head="1"), 2, "3", "word id out of order, expected 2"),
    "an id of another kind": (OK + line("2a", head="1"), 2, "2a", "an id must be a word"),
    "id 0": (line("0"), 1, "0", "an id must be a word"),
    "an id in other digits": (line("１"), 1, "１", "an id must be a word"),
    "a range too late": (OK + line("1-2"), 2, "1-2", "a multiword range must stand before its first word"),
    "a range of one word": (line("1-1") + "\n" + OK, 1, "1-1", "a multiword range must stand"),
    "overlapping ranges": (
        "\n".join((line("1-3"), line(), line("2-3"), line("2", head="1"), line("3", head="1"))),
        3,
        "2-3",
        "not overlap",
    ),
    "a range past the end": (line("1-2") + "\n" + OK, 1, "1-2", "range ends after the last word 1"),
    "an empty node out of order": (
        line("1.1") + "\n" + OK,
        1,
        "1.1",
        "an empty node out of order after word 0",
    ),
    "an empty node left out": (OK + line("1.2"), 2, "1.2", "an empty node out of order after word 1"),
    "DEPS without a label": (line(deps="0"), 1, "0:", "DEPS must be head:label pairs"),
    "DEPS with an empty part": (line(deps="0:root|"), 1, ":", "DEPS must be head:label pairs"),
    "DEPS without that head": (line(deps="0:root|1.1:x"), 1, "1.1:x", "DEPS must be head:label pairs"),
    "DEPS of an empty node": (OK + line("1.1", deps="5:x"), 2, "5:x", "DEPS must be head:label pairs"),
    "a comment inside": (OK + "# x", 2, "# x", "a comment inside a sentence"),
    "comments alone": (OK + "\n# x\n# y\n\n" + OK, 3, "", "comments or empty nodes without a word"),
    "an empty node alone": (line("0.1"), 1, "", "comments or empty nodes without a word"),
}


def test_bad_input_has_path_line_and_value(tmp_path):
    for name in BAD:
        text, number, value, message = BAD[name]
        path = bad_file(tmp_path, text)
        shown = re.escape(repr(value if len(value) <= 80 else value[:77] + "..."))
        got = rf" \(got {shown}\)$" if value else "$"
        with pytest.raises(
            ConlluError, match=rf"^{re.escape(str(path))}:{number}: .*{message}.*{got}"
        ) as error:
            read_conllu(path)
        assert (error.value.path, error.value.line, error.value.value) == (str(path), number, value)
        with pytest.raises(ConlluError, match=rf"^reply:{number}: "):
            parse_conllu(text, name="reply")


def test_bad_utf8(tmp_path):
    for raw, number, value in [
        (b"\xff", 1, "ff"),
        (OK.encode() + b"\n# \xc3\x28\n", 3, "c3 28 0a"),
        (line().encode() + b"\xe2\x82", 1, "e2 82"),
    ]:
        path = bad_file(tmp_path, raw)
        match = rf"^{re.escape(str(path))}:{number}: not UTF-8 at byte [0-9]+ \(got '{value}'\): save it as"
        with pytest.raises(ConlluError, match=match):
            read_conllu(path)


def test_the_line_is_right_after_blank_lines_and_comments(tmp_path):
    path = bad_file(tmp_path, FULL + "\n\n# x\n" + line(head="7"))
    with pytest.raises(ConlluError, match="out of range") as error:
        read_conllu(path)
    assert error.value.line == FULL.count("\n") + 4


def test_several_roots_where_asked_for(tmp_path):
    path = bad_file(tmp_path, OK + line("2"))
    (sentence,) = read_conllu(path, multiroot=True)
    assert sentence.head == [0, 0]
    assert sentence.multiroot


def test_the_file_must_be_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_conllu(tmp_path / "none.conllu")
    with pytest.raises(IsADirectoryError):
        read_conllu(tmp_path)


@pytest.mark.parametrize("shape", ["reversed", "cycle"])
def test_a_sentence_of_20_000_words(tmp_path, shape):
    size = 20_000
    head = [*range(2, size + 1), 0 if shape == "reversed" else 1]
    path = bad_file(tmp_path, "".join(line(str(i), head=str(h)) + "\n" for i, h in enumerate(head, start=1)))
    with pytest.raises(
        ConlluError, match=r":10001: sentence of more than max_words=10000 words \(got '10001'\)"
    ):
        read_conllu(path)
    if shape == "cycle":
        with pytest.raises(ConlluError, match=":1: no root"):
            read_conllu(path, max_words=None)
        return
    (sentence,) = read_conllu(path, max_words=None)
    assert sentence.head == head
    write_conllu([sentence], tmp_path / "again.conllu")
    assert (tmp_path / "again.conllu").read_bytes() == path.read_bytes() + b"\n"


def test_max_words_is_the_longest_that_passes():
    text = OK + line("2", head="1")
    assert len(parse_conllu(text, max_words=2)[0]) == 2
    with pytest.raises(ConlluError, match="<string>:2: sentence of more than max_words=1 words"):
        parse_conllu(text, max_words=1)


def valid_or_conllu_error(text: str | bytes, path=None) -> None:
    try:
        if path is None:
            read = parse_conllu(text, multiroot=True)
        else:
            path.write_bytes(text)
            read = read_conllu(path, multiroot=True)
    except ConlluError as error:
        assert error.line >= 1
        assert f":{error.line}: " in str(error)
        return
    assert read
    again = "".join(format_conllu(sentence) + "\n" for sentence in read)  # what it accepts it can write
    assert parse_conllu(again, multiroot=True) == read


@given(st.data())
def test_fuzz_with_a_damaged_file(tmp_path_factory, data):
    raw = bytearray(FULL.encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at, size = data.draw(st.integers(0, len(raw))), data.draw(st.integers(0, 4))
        raw[at : at + size] = data.draw(
            st.binary(max_size=3) | st.sampled_from([b"\t", b"\n", b"\r\n", b"-", b"."])
        )
    valid_or_conllu_error(bytes(raw), tmp_path_factory.getbasetemp() / "fuzz.conllu")


_ID = st.sampled_from(
    ["0", "1", "2", "3", "4", "1-2", "2-3", "3-2", "0.1", "1.1", "1.2", "2.1", "-1", "1.0", "x", "_"]
)
_DEPS = st.sampled_from(["_", "0:root", "1:x", "2:y|1.1:z", "9:x", ":", "|", "1:", "1:x:y", "0.1:a"])
_WORD = st.tuples(
    _ID, st.sampled_from(["w", "_", "", " ", "#"]), *[st.just("_")] * 4, _ID, st.just("r"), _DEPS
)
_LINE = _WORD.map(lambda row: "\t".join((*row, "_"))) | st.sampled_from(["", "# c", " ", "#", "\t"])


@given(st.lists(_LINE, max_size=6))
def test_fuzz_with_lines_that_are_nearly_right(lines):
    valid_or_conllu_error("\n".join(lines))


def test_what_cannot_be_written(tmp_path):
    for change, message in [
        ({"form": ["a\tb"]}, r"column FORM cannot be written as CoNLL-U: 'a\\tb' \(word 1\)"),
        ({"form": ["a\nb"]}, "column FORM cannot be written"),
        ({"lemma": [""]}, "column LEMMA cannot be written"),
        ({"misc": ["a\rb"]}, "column MISC cannot be written"),
        ({"deps": [[("0", "ro\tot")]]}, "column DEPS cannot be written"),
        ({"comments": ["no hash"]}, "a comment must be one line that starts with '#' .*'no hash'"),
        ({"comments": ["# a\nb"]}, "a comment must be one line"),
    ]:
        path = tmp_path / "a.conllu"
        path.write_text("old")
        good = Sentence(["a"], [0], ["root"])
        with pytest.raises(ValueError, match=message):
            write_conllu([good, dataclasses.replace(good, **change)], path, overwrite=True)
        assert path.read_text() == "old"
        assert [p.name for p in tmp_path.iterdir()] == ["a.conllu"]


def test_nothing_to_write_gives_an_empty_file(tmp_path):
    write_conllu([], tmp_path / "a.conllu")
    assert (tmp_path / "a.conllu").read_bytes() == b""


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


@settings(max_examples=25)
@given(st.lists(bracketed(), min_size=1, max_size=3))
def test_what_is_written_is_read(sentences):
    lines = [format_ptb(sentence) for sentence in sentences]
    assert parse_ptb("\n".join(lines), functions=True) == sentences
    assert parse_ptb(" ".join(lines).replace(" ", "\n"), functions=True) == sentences


def test_a_file_and_back(tmp_path):
    path = tmp_path / "trees.mrg"
    path.write_text(f"\ufeff{TREE}\r\n\n{TREE}", encoding="utf-8")
    first, second = read_ptb(path)
    assert first == second
    assert first.form == ["The", "dog", "slept", "(", "x", ")"]
    assert first.xpos == ["DT", "NN", "VBD", "-LRB-", "NN", "-RRB-"]
    assert first.constituents == [("S", 0, 6), ("NP", 0, 2), ("VP", 2, 6), ("NP", 3, 6)]
    assert first.head == [0, 1, 2, 3, 4, 5]
    write_ptb([first, second], path, overwrite=True)
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


@given(
    st.from_regex(r"[A-Z$*]{1,4}", fullmatch=True),
    st.lists(st.from_regex(r"[-=|][A-Z0-9]{1,4}", fullmatch=True), max_size=4),
)
def test_a_label_ends_where_something_is_added_to_it(label, added):
    """Functions, indices, and the second one of two that annotators could not decide between."""
    whole = "".join([label, *added])
    for functions, read in ((False, label), (True, whole)):
        (sentence,) = parse_ptb(f"(S ({whole} (RB there)))", functions=functions)
        assert sentence.constituents == [("S", 0, 1), (read, 0, 1)]


def test_what_is_no_tree_is_named(tmp_path):
    for text, line, message in [
        ("(S (NN a))\n(S (NN a)", 2, "the tree that begins here is not closed"),
        ("(S (NN a)))", 1, "a closing bracket without an opening one (got ')')"),
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
    ]:
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


def test_a_byte_order_mark_is_no_word():
    assert parse_ptb("\ufeff(S (NN a))") == parse_ptb("(S (NN a))")


def test_deep_trees_need_no_recursion():
    deep = "(X " * 998 + "(NN a)" + ")" * 998
    [sentence] = parse_ptb(deep)
    assert len(sentence.constituents) == 998
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
        PtbError, match=r"<string>:1: word 2 of the tree of sentence 1 is not 'and/or', as in the sentence"
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


def test_a_comment_that_is_no_tree_is_named():
    for old, new, message in [
        ("))))", ")))", "x.conllu:2: constituency: the tree that begins here is not closed"),
        ("(VB Go)", "(VB Go) (RB on)", "x.conllu:2: constituency: not one tree of 1 words but of 2"),
        ("(ROOT", "(NN a) (ROOT", "x.conllu:2: constituency: not one tree of 1 words but of 1 and 1"),
        ("# text = Go", "# constituency = (X (NN Go))", "x.conllu:2: a second tree of constituents"),
    ]:
        with pytest.raises(ValueError, match=re.escape(message)):
            parse_conllu(CONLLU.replace(old, new), name="x.conllu")
