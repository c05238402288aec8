from __future__ import annotations

import dataclasses
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep import Sentence
from graphdep.datasets import OwnLabels
from graphdep.datasets.base.rows import TextRow
from graphdep.datasets.labels.bio import (
    ENCODINGS,
    bio_of,
    encoding_of,
    recoded,
    spans_of,
    with_insides,
)
from graphdep.datasets.labels.own import read_columns, read_doc_bin, read_word_columns, row_mark
from graphdep.datasets.labels.words import Column
from graphdep.io import format_conllu
from graphdep.io.trees import parse_conllu
from graphdep.sentence.intake import Intake

names = st.sampled_from(["ARG0", "ARG1", "C-ARG1", "B-X", "O"])


@st.composite
def some_spans(draw):
    """Disjoint spans in order, and the number of words of the sentence."""
    spans, end = [], 0
    for gap, size in draw(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4)), max_size=6)):
        spans.append((end + gap, end + gap + size, draw(names)))
        end += gap + size
    return spans, end + draw(st.integers(0, 3))


def spans_of_slowly(labels):
    """The spans of labels, by the start and the length of each."""

    def begins(i):
        inside = labels[i] not in (None, "O")
        return inside and (labels[i][0] == "B" or i == 0 or (labels[i - 1] or "O")[2:] != labels[i][2:])

    spans = []
    for start in range(len(labels)):
        if begins(start):
            end = start + 1
            while end < len(labels) and labels[end] == f"I-{labels[start][2:]}":
                end += 1
            spans.append((start, end, labels[start][2:]))
    return spans


@given(some_spans())
def test_labels_of_spans_have_these_spans(case):
    spans, length = case
    labels = bio_of(reversed(spans), length)
    assert len(labels) == length
    assert spans_of(labels) == spans


@given(st.lists(st.sampled_from([None, "O", "B-X", "I-X", "B-Y", "I-Y"]), max_size=8))
def test_spans_of(labels):
    assert spans_of(labels) == spans_of_slowly(labels)
    assert spans_of(bio_of(spans_of(labels), len(labels))) == spans_of(labels)


def test_a_label_that_does_not_continue_begins_a_span():
    for labels, spans in [
        ([], []),
        (["I-X", "I-X"], [(0, 2, "X")]),
        (["B-X", "I-Y"], [(0, 1, "X"), (1, 2, "Y")]),
        (["B-X", "O", "I-X"], [(0, 1, "X"), (2, 3, "X")]),
        (["B-X", None, "I-X"], [(0, 1, "X"), (2, 3, "X")]),
        (["B-X", "B-X", "I-X"], [(0, 1, "X"), (1, 3, "X")]),
    ]:
        assert spans_of(labels) == spans


def test_labels_that_are_not_of_spans():
    for label in ["X", "B-", "I", "", "E-X", "b-X", "BX", "o"]:
        with pytest.raises(ValueError, match=rf"must be O, B-LABEL or I-LABEL \(got '{label}', word 2\)"):
            spans_of(["O", label])


def test_inside_labels_are_added():
    assert with_insides(["O", "B-B", "B-A", "I-B"]) == ("O", "B-B", "B-A", "I-B", "I-A")
    assert with_insides(["B-A", "I-A"]) == ("B-A", "I-A")
    assert with_insides(["O", "I-A"]) == ("O", "I-A")


@given(st.lists(st.sampled_from(["O", "B-A", "I-A", "B-B", "I-B", None]), max_size=6))
def test_iob2_is_what_spans_write(labels):
    """Labels are valid if each part between unscored words is what its spans are written as."""
    parts = [[]]
    for label in labels:
        parts = [*parts, []] if label is None else [*parts[:-1], [*parts[-1], label]]
    if all(bio_of(spans_of(part), len(part)) == part for part in parts):
        assert recoded(labels, "IOB2") == labels
    else:
        with pytest.raises(ValueError, match=r"^word \d: 'I-.' is invalid here in IOB2; 'B-.' "):
            recoded(labels, "IOB2")


@st.composite
def some_labels(draw):
    """Labels in IOB2, with None for some words."""
    spans, length = draw(some_spans())
    labels = bio_of(spans, length)
    gaps = [word for word in range(length) if labels[word] == "O" and draw(st.booleans())]
    return [None if word in gaps else label for word, label in enumerate(labels)]


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(some_labels())
def test_the_same_spans_in_every_encoding(encoding, labels):
    other = recoded(labels, "IOB2", encoding)
    assert recoded(other, encoding) == labels
    assert [label is None for label in other] == [label is None for label in labels]
    found = encoding_of([other])
    assert recoded(other, found) == labels
    if any(label and label[0] in "ESLU" for label in other):
        assert found == encoding


def test_every_encoding_word_by_word():
    spans = [(0, 1, "A"), (1, 4, "A"), (4, 6, "B"), (7, 8, "B")]
    labels = bio_of(spans, 8)
    for encoding, written in [
        ("IOB2", "B-A B-A I-A I-A B-B I-B O B-B"),
        ("IOB1", "I-A B-A I-A I-A I-B I-B O I-B"),
        ("BIOES", "S-A B-A I-A E-A B-B E-B O S-B"),
        ("BILOU", "U-A B-A I-A L-A B-B L-B O U-B"),
    ]:
        assert recoded(labels, "IOB2", encoding) == written.split()
        assert encoding_of([written.split(), ["O"]]) == encoding


def test_labels_in_wrong_places():
    for encoding, written, word in [
        ("BIOES", "S-A E-A", 1),
        ("BIOES", "B-A O E-A", 1),
        ("BIOES", "B-A I-A B-B E-B", 2),
        ("BIOES", "I-A E-A", 1),
        ("BILOU", "U-A B-A", 2),
        ("BILOU", "B-A L-B", 1),
    ]:
        with pytest.raises(ValueError, match=rf"^word {word}: '.*' is invalid here in {encoding}; "):
            recoded(written.split(), encoding)
    # A file of IOB1 may have one invalid sentence, as the training file of CoNLL-2003.
    assert encoding_of([["I-A"], ["I-B"], ["B-A", "O"]]) == "IOB1"
    assert recoded(["B-A", "I-A", "I-B"], "IOB1") == ["B-A", "I-A", "B-B"]
    assert encoding_of([["E-A"], ["U-A"]]) == "IOB2"


SENTENCE = Sentence(
    ["A", "dog", "barks"],
    [2, 3, 0],
    ["det", "nsubj", "root"],
    lemma=["a", "dog", "bark"],
    upos=["DET", "NOUN", "VERB"],
    xpos=["_", "NN", "VBZ"],
    feats=["_", "Number=Sing", "Number=Sing|Person=3"],
    misc=["Begin=Yes", "SpaceAfter=No|Sense=a=b", "Flag|Sense=|Begin=No"],
)


def test_labels():
    for key, expected in [
        ("upos", ["DET", "NOUN", "VERB"]),
        ("xpos", [None, "NN", "VBZ"]),
        ("lemma", ["a", "dog", "bark"]),
        ("deprel", ["det", "nsubj", "root"]),
        ("feats", [None, "Number=Sing", "Number=Sing|Person=3"]),
        ("feats:Number", [None, "Sing", "Sing"]),
        ("feats:Person", [None, None, "3"]),
        ("misc:Begin", ["Yes", None, "No"]),
        ("misc:Sense", [None, "a=b", None]),
        ("misc:Flag", [None, None, None]),
        ("misc:flag", [None, None, None]),
    ]:
        assert Column(key).labels(SENTENCE) == expected
        filled = ["none" if label is None else label for label in expected]
        assert Column(key, absent="none").labels(SENTENCE) == filled


def test_a_missing_column():
    bare = Sentence(["a", "b"], [0, 1], ["root", "dep"])
    assert Column("upos").labels(bare) == Column("misc:Begin").labels(bare) == [None, None]


def test_wrong_columns():
    for key in ["", "form", "head", "misc", "misc:", "upos:X", "xpos:", "deps", "UPOS"]:
        message = r"'key' must be one of upos, xpos, deprel, lemma, feats, feats:KEY, misc:KEY .got|no key '"
        with pytest.raises(ValueError, match=message):
            Column(key)


def test_a_wrong_label_of_words_without_the_key():
    with pytest.raises(ValueError, match=r"'absent'.*control"):
        Column("upos", "a\0")


def test_labels_are_written_and_everything_else_is_kept():
    for key, absent, column, expected in [
        ("upos", None, "upos", ["X", "Y", "Z"]),
        ("upos", "Y", "upos", ["X", "_", "Z"]),
        ("feats:Case", None, "feats", ["Case=X", "Case=Y|Number=Sing", "Case=Z|Number=Sing|Person=3"]),
        ("feats:Number", "Z", "feats", ["Number=X", "Number=Y", "Person=3"]),
        ("misc:Begin", "X", "misc", ["_", "SpaceAfter=No|Sense=a=b|Begin=Y", "Flag|Sense=|Begin=Z"]),
    ]:
        written = Column(key, absent).write(SENTENCE, ["X", "Y", "Z"])
        assert getattr(written, column) == expected
        assert dataclasses.replace(written, **{column: getattr(SENTENCE, column)}) == SENTENCE
        assert parse_conllu(format_conllu(written)) == [written]
        assert Column(key, absent).labels(written) == ["X", "Y", "Z"]


def test_the_label_of_absent_keys_is_not_written():
    for key in ["upos", "misc:Begin"]:
        with pytest.raises(ValueError, match=f"'key' '{key}': no label can be '_': _ is none"):
            Column(key).write(SENTENCE, ["X", "_", "Z"])
        assert Column(key, "_").write(SENTENCE, ["X", "_", "Z"]) == Column(key).write(
            SENTENCE, ["X", None, "Z"]
        )


def test_classes_are_sorted_by_name():
    assert Column("misc:Begin").classes([SENTENCE]) == ("No", "Yes")
    assert Column("upos").classes([SENTENCE, SENTENCE]) == ("DET", "NOUN", "VERB")
    assert Column("misc:Begin", "Maybe").classes([SENTENCE]) == ("Maybe", "No", "Yes")


def test_keys_without_classes():
    for key, absent, message in [
        (
            "misc:Beginn",
            None,
            r"'misc:Beginn': no word .* has it \(did you mean 'misc:Begin'\?\)",
        ),
        ("misc:Zzz", None, "has it; the keys of MISC are Begin, SpaceAfter, Sense"),
        ("misc:Zzz", "No", "no word of the training split has it; the keys"),
        ("feats:Sense", None, "the keys of FEATS are Number, Person"),
        ("feats:Number", None, r"that have it are 'Sing'; with absent=LABEL \(--set absent=LABEL\)"),
        ("feats:Number", "Sing", "that have it are 'Sing'"),
    ]:
        with pytest.raises(ValueError, match=message):
            Column(key, absent).classes([SENTENCE])


def test_columns_without_classes():
    bare = Sentence(["a", "b"], [0, 1], ["root", "dep"])
    with pytest.raises(ValueError, match="'key' 'xpos': no word of the training split has it$"):
        Column("xpos").classes([bare])
    with pytest.raises(ValueError, match="its column MISC has no key"):
        Column("misc:A").classes([bare])
    with pytest.raises(ValueError, match="control character"):
        Column("lemma").classes([dataclasses.replace(bare, lemma=["a\x85", "b"])])


# Words have no blank, tab or control character; the label "_" means none.
WORDS = st.text(st.characters(blacklist_categories=("Cc", "Cs", "Zs", "Zl", "Zp")), min_size=1, max_size=5)
LABELS = st.one_of(st.none(), WORDS.filter(lambda label: label != "_"))
SENTENCES = st.lists(st.lists(st.tuples(WORDS, LABELS), min_size=1, max_size=4), min_size=1, max_size=4)


def found(path: Path) -> list[list[tuple[str, str | None]]]:
    return [list(zip(one.words, one.labels)) for one in read_word_columns(read_columns(path))]


def slow(text: str) -> list[list[tuple[str, str | None]]]:
    """The words and labels of a file without comments, by paragraphs."""
    blocks = re.split(r"\n(?:[ ]*\n)+", text.strip("\n "))
    cells = [[re.split(r"\t| +", line.strip(" ")) for line in block.split("\n")] for block in blocks]
    return [[(row[0], None if row[-1] == "_" else row[-1]) for row in rows] for rows in cells]


@pytest.mark.parametrize("between", ["\t", " ", "  "])
@given(SENTENCES)
def test_written_files_are_read(tmp_path_factory, between, sentences):
    path = tmp_path_factory.mktemp("columns") / "x.tsv"
    rows = [[(w, label) for w, label in one if not w.startswith(("#", "-DOCSTART-"))] for one in sentences]
    rows = [one for one in rows if one] or [[("a", "b")]]
    lines = ["".join(f"{word}{between}{label or '_'}\n" for word, label in one) for one in rows]
    path.write_text("\n".join(lines), encoding="utf-8", newline="")
    assert found(path) == rows == slow(path.read_text(encoding="utf-8"))


def test_four_columns_and_documents(tmp_path):
    path = tmp_path / "x.conll"
    path.write_text(
        "-DOCSTART- -X- -X- O\n\nAnn NNP B-NP B-PER\nsings VBZ B-VP O\n-DOCSTART- -X- -X- O\n"
        "# # B-NP O\n1 CD B-NP O\n\n\n\n# sent_id = 5\nBob NNP B-NP B-PER\n# # B-NP O\n"
    )
    file = read_columns(path)
    examples, skipped = read_word_columns(file), file.skipped
    assert [list(one.words) for one in examples] == [["Ann", "sings"], ["#", "1"], ["Bob", "#"]]
    assert [list(one.labels) for one in examples] == [["B-PER", "O"], ["O", "O"], ["B-PER", "O"]]
    assert skipped == 3
    assert [one.place for one in examples] == [f"{path}:{line}" for line in (3, 6, 12)]


def test_tags_of_hashes_with_tabs(tmp_path):
    path = tmp_path / "x.tsv"
    path.write_text("# newdoc\n# text = a b\n#fun\tO\nNew York\tB-LOC\n", encoding="utf-8")
    assert found(path) == [[("#fun", "O"), ("New York", "B-LOC")]]
    assert read_columns(path).skipped == 2


OF_SPACY = ["Ann", "Dow", "\n", "sings", "It", "rains"]
HEADS = [1, 3, 1, 3, 5, 5]
DEPS = ["compound", "nsubj", "", "ROOT", "expl", "ROOT"]
TAGS = ["NNP", "NNP", "_SP", "VBZ", "PRP", "VBZ"]


@pytest.fixture
def doc_bin(tmp_path):
    spacy = pytest.importorskip("spacy")
    from spacy.tokens import Doc, DocBin

    vocab = spacy.blank("xx").vocab
    entities = ["B-PER", "I-PER", "O", "O", "", "O"]
    parsed = Doc(vocab, words=OF_SPACY, heads=HEADS, deps=DEPS, tags=TAGS, ents=entities)
    plain = Doc(vocab, words=["Bob", "sleeps"], tags=["NNP", "VBZ"], ents=["B-PER", "O"])
    DocBin(docs=[parsed, plain], store_user_data=False).to_disk(tmp_path / "x.spacy")
    return tmp_path / "x.spacy"


def test_trees_and_columns(doc_bin):
    examples = read_doc_bin(doc_bin, Column("xpos"), Intake())
    assert [list(one.words) for one in examples] == [
        ["Ann", "Dow", "sings"],
        ["It", "rains"],
        ["Bob", "sleeps"],
    ]
    assert [list(one.labels) for one in examples] == [["NNP", "NNP", "VBZ"], ["PRP", "VBZ"], ["NNP", "VBZ"]]
    assert [one.tree and one.tree.head for one in examples] == [[2, 3, 0], [2, 0], None]
    assert examples[0].tree.deprel == ["compound", "nsubj", "root"]
    assert examples[2].place == f"{doc_bin}: document 2"


def test_trees_of_the_clear_scheme_are_converted_as_from_spacy_does(tmp_path):
    spacy = pytest.importorskip("spacy")
    from spacy.tokens import Doc, DocBin

    words, heads = ["She", "gave", "him", "books", "in", "parks"], [1, 1, 1, 1, 1, 4]
    deps = ["nsubj", "ROOT", "dative", "dobj", "prep", "pobj"]
    doc = Doc(spacy.blank("xx").vocab, words=words, heads=heads, deps=deps, tags=[*"ABCDEF"])
    DocBin(docs=[doc] * 2, store_user_data=False).to_disk(tmp_path / "x.spacy")
    intake = Intake()
    first, _ = read_doc_bin(tmp_path / "x.spacy", Column("xpos"), intake)
    [tree] = Sentence.from_spacy(doc)
    assert (first.tree.head, first.tree.deprel) == (tree.head, tree.deprel)
    assert intake.counts()["converted"] == {"clear": 2}


def test_entities(doc_bin, tmp_path, parser):
    dataset = OwnLabels(tmp_path / "root", train=doc_bin, val=doc_bin, scheme="bio", parser=parser)
    assert dataset.labels == ("O", "B-PER", "I-PER")
    assert [data.y.tolist() for data in dataset] == [[1, 2, 0], [-100, 0], [1, 0]]
    assert dataset.describe()["own_trees"] == 2


def test_files_of_other_formats(tmp_path):
    pytest.importorskip("spacy")
    (tmp_path / "x.spacy").write_bytes(b"no")
    with pytest.raises(ValueError, match=r"x.spacy: no DocBin of spaCy, or damaged"):
        read_doc_bin(tmp_path / "x.spacy", None, Intake())


def test_without_spacy(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(ImportError, match=r"x.spacy: a DocBin needs spacy, .* graphdep\[spacy\]"):
        read_doc_bin(tmp_path / "x.spacy", None, Intake())


def test_a_row_without_a_mark_is_unchanged():
    row = TextRow(Path("a.jsonl"), 1, {"words": ["It", "rains"]})
    assert row_mark(row, ["It", "rains"]) is None
    assert row.values == {"words": ["It", "rains"]}
