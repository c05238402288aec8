from __future__ import annotations

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


@pytest.mark.parametrize("number", ["0", "1"])
def test_sentences_out_of_order(tmp_path, number):
    path = write(tmp_path, TEXT.replace("doc 0", "doc 1") + "\n" + TEXT.replace("doc 0", f"doc {number}"))
    with pytest.raises(ValueError, match=rf":7: the sentence's number must be above 1.* \(got '{number}'\)"):
        read_skeletons(path)
