from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep.datasets.labels.propbank import read_skeletons

ROWS = [
    "doc 0 0 [WORD] PRP (TOP(S(NP*) - - (ARG0* *",
    "doc 0 1 [WORD] PRP * - - *) (ARG1*)",
    "doc 0 2 [WORD] VBZ (VP* give give.01 (V*) *",
    "doc 0 3 [WORD] RP *) - - (C-V*) *",
    "doc 0 4 [WORD] VB *)) try try.01 * (V*)",
]
TEXT = "\n".join(ROWS) + "\n"


def write(folder, text):
    path = folder / "doc.xml.gold_skel"
    path.write_text(text, encoding="utf-8")
    return path


def test_read_skeletons(tmp_path):
    text = "\n \n" + TEXT.replace(" ", "   ") + "\n\n" + "doc 3 0 [WORD] UH (TOP*) - -\n"
    first, second = read_skeletons(write(tmp_path, text))
    assert (first.number, first.line, len(first)) == (0, 3, 5)
    assert first.tags == ("PRP", "PRP", "VBZ", "RP", "VB")
    assert first.parse == ("(TOP(S(NP*)", "*", "(VP*", "*)", "*))")
    give, attempt = first.predicates
    assert (give.word, give.line, give.roleset) == (2, 5, "give.01")
    assert give.spans == ((0, 2, "ARG0"), (2, 3, "V"), (3, 4, "C-V"))
    assert (attempt.word, attempt.line, attempt.roleset) == (4, 7, "try.01")
    assert attempt.spans == ((1, 2, "ARG1"), (4, 5, "V"))
    assert (second.number, second.line, second.predicates) == (3, 10, ())


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3), st.sampled_from(["ARG0", "R-ARG1"])), max_size=5)
)
def test_spans_of_a_column(tmp_path_factory, parts):
    spans, cells, end = [(0, 1, "V")], ["(V*)"], 1
    for gap, size, label in parts:
        spans.append((end + gap, end + gap + size, label))
        cells += ["*"] * gap + ["*"] * size
        cells[end + gap] = f"({label}*"
        end += gap + size
        cells[end - 1] += ")"
    rows = [f"doc 0 {i} [WORD] X * - {'be.01' if i == 0 else '-'} {cell}" for i, cell in enumerate(cells)]
    (sentence,) = read_skeletons(write(tmp_path_factory.getbasetemp(), "\n".join(rows)))
    assert sentence.predicates[0].spans == tuple(spans)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (TEXT, "", ":1: the file is empty"),
        (
            "doc 0 0 [WORD] PRP (TOP(S(NP*) - - (ARG0* *",
            "doc 0 0 [WORD] PRP (TOP(S(NP*)",
            ":1: 6 columns instead of 8",
        ),
        (" - - *) (ARG1*)", " - - *)", r":2: 9 columns instead of 10, as the first row has"),
        ("0 3 [WORD]", "0 2 [WORD]", r":4: sentence and token must be numbers, here 0 and 3 \(got '0 2'\)"),
        ("0 3 [WORD]", "1 3 [WORD]", r":4: sentence and token must be numbers, .* \(got '1 3'\)"),
        ("doc 0", "doc -1", r":1: sentence and token must be numbers, .* \(got '-1 0'\)"),
        ("give.01", "-", r":1: 1 predicates in the sentence, but 2 columns"),
        ("RP *) - -", "RP *) - up.01", r":5: 3 predicates .*, but 2 columns for them \(got 'try.01'\)"),
        ("- - (ARG0* *", "- - (ARG0 *", r":1: column 9 must have \*, \(LABEL\*\) .* \(got '\(ARG0'\)"),
        ("- - (ARG0* *", "- - ARG0 *", r":1: column 9 must have .* \(got 'ARG0'\)"),
        ("- - (ARG0* *", "- - (* *", r":1: column 9 must have .* \(got '\(\*'\)"),
        ("- - (ARG0* *", "- - (A*(B* *", r":1: column 9 must have .* \(got '\(A\*\(B\*'\)"),
        ("- - (ARG0* *", "- - * *", r":2: column 9 must have .* \(got '\*\)'\)"),
        ("- - *) ", "- - * ", r":3: column 9 must have .* \(got '\(V\*\)'\)"),
        ("(C-V*) *", "* (C-V*", r":5: column 10 must have .*"),
        ("(C-V*)", "(C-V*", r":4: column 9 has a span C-V that does not end"),
        ("(V*)\n", "*\n", ":1: column 10 has no span V"),
    ],
)
def test_damaged_files(tmp_path, old, new, message):
    assert old in TEXT
    path = write(tmp_path, TEXT.replace(old, new))
    with pytest.raises(ValueError, match=re.escape(str(path)) + message):
        read_skeletons(path)


@pytest.mark.parametrize("number", ["0", "1"])
def test_sentences_out_of_order(tmp_path, number):
    path = write(tmp_path, TEXT.replace("doc 0", "doc 1") + "\n" + TEXT.replace("doc 0", f"doc {number}"))
    with pytest.raises(ValueError, match=rf":7: the sentence's number must be above 1.* \(got '{number}'\)"):
        read_skeletons(path)
