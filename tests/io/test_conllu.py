from __future__ import annotations

import dataclasses
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep import ConlluError, Sentence
from graphdep.io import format_conllu, parse_conllu, read_conllu, write_conllu

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


@given(st.data())
def test_reading_what_was_written_gives_the_sentence(tmp_path_factory, sentences, data):
    written = data.draw(st.lists(sentences(multiroot=True), min_size=1, max_size=3))
    path = tmp_path_factory.getbasetemp() / "round.conllu"
    write_conllu(written, path)
    assert read_conllu(path, multiroot=True) == written
    before = path.read_bytes()
    write_conllu(read_conllu(path, multiroot=True), path)
    assert path.read_bytes() == before
    assert parse_conllu(before.decode(), multiroot=True) == written


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: text.rstrip("\n"),
        lambda text: "\n  \n" + text.replace("\n\n", "\n\n \n\n"),
    ],
    ids=["crlf", "bom", "no line break at the end", "several blank lines"],
)
def test_what_is_accepted(tmp_path, change):
    assert read_conllu(bad_file(tmp_path, change(FULL))) == parse_conllu(FULL)


@pytest.mark.parametrize("text", ["", "\n\n", "  \n", "\ufeff", "\r\n"])
def test_an_empty_file(tmp_path, text):
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
        line(form="a\rb"),
        "FORM is empty or holds a line break",
    ),
    "a line break in a comment": ("# a\rb\n" + OK, 1, "# a\rb", "a line break in it"),
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


@pytest.mark.parametrize("name", BAD)
def test_bad_input_has_path_line_and_value(tmp_path, name):
    text, number, value, message = BAD[name]
    path = bad_file(tmp_path, text)
    shown = re.escape(repr(value if len(value) <= 80 else value[:77] + "..."))
    got = rf" \(got {shown}\)$" if value else "$"
    with pytest.raises(ConlluError, match=rf"^{re.escape(str(path))}:{number}: .*{message}.*{got}") as error:
        read_conllu(path)
    assert (error.value.path, error.value.line, error.value.value) == (str(path), number, value)
    with pytest.raises(ConlluError, match=rf"^reply:{number}: "):
        parse_conllu(text, name="reply")


@pytest.mark.parametrize(
    ("raw", "number", "value"),
    [
        (b"\xff", 1, "ff"),
        (OK.encode() + b"\n# \xc3\x28\n", 3, "c3 28 0a"),
        (line().encode() + b"\xe2\x82", 1, "e2 82"),
    ],
)
def test_bad_utf8(tmp_path, raw, number, value):
    path = bad_file(tmp_path, raw)
    match = rf"^{re.escape(str(path))}:{number}: not UTF-8 at byte [0-9]+ \(got '{value}'\)$"
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


@given(st.binary(max_size=200))
def test_fuzz_with_random_bytes(tmp_path_factory, raw):
    valid_or_conllu_error(raw, tmp_path_factory.getbasetemp() / "fuzz.conllu")


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


@given(st.lists(st.tuples(st.sampled_from("00112345"), st.booleans()), min_size=1, max_size=6))
def test_fuzz_with_random_heads(heads):
    rows = [line(str(i), head=head) + "\n" * (1 + gap) for i, (head, gap) in enumerate(heads, start=1)]
    valid_or_conllu_error("".join(rows))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"form": ["a\tb"]}, r"column FORM cannot be written as CoNLL-U: 'a\\tb' \(word 1\)"),
        ({"form": ["a\nb"]}, "column FORM cannot be written"),
        ({"lemma": [""]}, "column LEMMA cannot be written"),
        ({"misc": ["a\rb"]}, "column MISC cannot be written"),
        ({"deps": [[("0", "ro\tot")]]}, "column DEPS cannot be written"),
        ({"comments": ["no hash"]}, "a comment must be one line that starts with '#' .*'no hash'"),
        ({"comments": ["# a\nb"]}, "a comment must be one line"),
    ],
)
def test_what_cannot_be_written(tmp_path, change, message):
    path = tmp_path / "a.conllu"
    path.write_text("old")
    good = Sentence(["a"], [0], ["root"])
    with pytest.raises(ValueError, match=message):
        write_conllu([good, dataclasses.replace(good, **change)], path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.conllu"]


def test_nothing_to_write_gives_an_empty_file(tmp_path):
    write_conllu([], tmp_path / "a.conllu")
    assert (tmp_path / "a.conllu").read_bytes() == b""
