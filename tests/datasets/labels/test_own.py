from __future__ import annotations

from pathlib import Path

import pytest

from graphdep.datasets import OwnLabels
from graphdep.datasets.labels.own import CONLLU, ROLES, WORDS, kind_of, read_own_sentences, with_labels
from graphdep.datasets.labels.words import Column
from graphdep.sentence.intake import Intake

TREES = "1\tShe\t_\tPRON\t_\t_\t2\tnsubj\t_\t_\n2\tsings\t_\tVERB\t_\t_\t0\troot\t_\tA=b\n\n"
# Sentences of two predicates, none and one; *talks* is its own argument.
OF_2009 = """1 Ann Ann Ann NNP NNP _ _ 2 2 SBJ SBJ _ _ A0 A0
2 plans plan plan VBZ VBZ _ _ 0 0 ROOT ROOT Y plan.01 _ _
3 talks talk talk NNS NNS _ _ 2 2 OBJ OBJ Y talk.01 A1 A2

1 It it it PRP PRP _ _ 2 2 SBJ SBJ _ _
2 rains rain rain VBZ VBZ _ _ 0 0 ROOT ROOT _ _

1 Rain rain rain NN NN _ _ 2 2 SBJ SBJ _ _ A0
2 falls fall fall VBZ VBZ _ _ 0 0 ROOT ROOT Y fall.01 _
"""
OF_2008 = """1 Ann Ann NNP NNP Ann Ann NNP 2 SBJ _ A0
2 well-known _ JJ JJ sang sing VBD 0 ROOT sing.01 _
3 _ _ _ _ songs song NNS 2 OBJ _ A1
"""
OF_2012 = """#begin document (a/b); part 000
a/b 0 0 Ann NNP (TOP(S(NP*) - - - ann (PERSON) (ARG0*) (ARG1* -
a/b 0 1 set VBD (VP* set 01 1 ann * (V*) *) (1)
a/b 0 2 out RP (PRT*) - - - ann * (C-V*) * -
a/b 0 3 to TO (S(VP* - - - ann * (ARG2* * -
a/b 0 4 sing VB (VP* sing 01 1 ann * *) (V*) -
a/b 0 5 it PRP (NP*))))))) - - - ann * (ARGM-ADV(ARG1*)) (C-ARG1*) -

a/b 0 0 Yes UH (TOP(INTJ*)) - - - ann * -
#end document
"""
OF_2005 = """Ann (PER*) NNP (NP*) (S* (S1(S(NP*) - - (A0*)
sings * VBZ (VP* * (VP* 01 sing (V*)
songs * NNS *) *) (NP*)))) - - (A1*)

Yes * UH * * (S1(INTJ*)) - -
"""
OF_PROPBANK = """d 0 0 Ann NNP (TOP(S(NP*) Ann - (ARG0*)
d 0 1 sings VBZ (VP*))) sing sing.01 (V*)
"""


@pytest.mark.parametrize("other", ["clear", "as-is"])
def test_the_training_file_decides_the_scheme(tmp_path, other):
    clear = TREES.replace("nsubj", "prep")
    plain = TREES.replace("nsubj", "SBJ") + clear  # both schemes have these labels
    train, test = (clear, plain) if other == "clear" else (plain, clear)
    for name, text in (("train", train * 2), ("test", test)):
        (tmp_path / f"{name}.conllu").write_text(text, encoding="utf-8")
    files = {name: tmp_path / f"{name}.conllu" for name in ("train", "test")} | {
        "val": tmp_path / "test.conllu"
    }
    known = OwnLabels(tmp_path / "a", "train", "chain", **files)
    assert known.decided_scheme == other
    options = {"vocab": known.vocab, "relations": known.relations, "labels": known.labels}
    assert OwnLabels(tmp_path / "b", "test", "chain", **files, **options).decided_scheme == other


def tabs(text: str) -> str:
    return "\n".join(line if line.startswith("#") else line.replace(" ", "\t") for line in text.split("\n"))


def read(path: Path, text: str, **options):
    path.write_text(text, encoding="utf-8", newline="")
    return read_own_sentences(path, Column("upos"), Intake(), **options)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (TREES, CONLLU),
        (f"# text = She sings\n{TREES}", CONLLU),
        ("1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_\n", CONLLU),
        ("5\tof\t_\t_\t_\t_\t0\troot\t_\t_\n", CONLLU),
        ("# global.columns = ID FORM UPOS HEAD DEPREL\n1\tShe\tPRON\t0\troot\n", CONLLU),
        (tabs(OF_2009), ROLES),
        (tabs(OF_2008), ROLES),
        (OF_2012, ROLES),
        (tabs(OF_2012), ROLES),
        (OF_2005, ROLES),
        ("Yes UH -\n\nAnn NNP - (A0*)\nsings VBZ sing (V*)\n", ROLES),
        (OF_PROPBANK, ROLES),
        ("Ann B-PER\nsings O\n", WORDS),
        ("1\tA\nCD\tB\n", WORDS),
        ("a b c d e f g h i j\n", WORDS),
        ("a - -\nb - -\n", WORDS),
    ],
)
@pytest.mark.parametrize("suffix", [".conll", ".txt", ".tsv", ".train"])
def test_the_kind_of_a_file_depends_on_its_content(tmp_path, text, kind, suffix):
    path = tmp_path / f"x{suffix}"
    path.write_text(text, encoding="utf-8")
    assert kind_of(path) == kind


def test_trees_have_the_same_examples_with_any_suffix(tmp_path):
    one, other = (read(tmp_path / name, TREES) for name in ("x.conllu", "x.tsv"))
    assert [(e.words, e.labels, e.tree) for e in one.examples] == [
        (e.words, e.labels, e.tree) for e in other.examples
    ]
    assert other.examples[0].labels == ["PRON", "VERB"]


def test_control_characters_of_trees_are_blanks(tmp_path, caplog):
    [example, _] = read(tmp_path / "x.conllu", TREES.replace("sings", "s\x07ing\x85s", 1) + TREES).examples
    assert example.words[1] == example.tree.form[1] == "s ing s"
    line = TREES[: TREES.index("sings")].count("\n") + 1
    what = f"2 control characters read as a blank, the first on line {line}"
    assert f"{tmp_path / 'x.conllu'}: {what}" in caplog.messages


def test_word_numbers_are_not_words(tmp_path):
    rows = "1\tShe\tPRON\t2\tnsubj\n2\tsings\tVERB\t0\troot\n"
    with pytest.raises(ValueError, match="x.conll:1: the first column counts words, .*global.columns"):
        read(tmp_path / "x.conll", rows)
    [example] = read(tmp_path / "y.conll", f"# global.columns = ID FORM UPOS HEAD DEPREL\n{rows}").examples
    assert (example.words, example.labels, example.tree.head) == (["She", "sings"], ["PRON", "VERB"], [2, 0])


def test_an_unused_key_is_refused(tmp_path, parser):
    trees, words = tmp_path / "trees.txt", tmp_path / "words.txt"
    trees.write_text(TREES.replace("She", "It") + TREES, encoding="utf-8")
    words.write_text("Ann N\nsings V\n", encoding="utf-8")
    own = {"parser": parser, "train": words, "val": words}
    for options in ({"key": "upos"}, {"absent": "X"}, {"mark_key": "misc:A"}):
        name = next(iter(options))
        with pytest.raises(ValueError, match=f"'{name}' is for files of CoNLL-U.*words.txt is one of words"):
            OwnLabels(tmp_path, **own, **options)
    assert OwnLabels(tmp_path, **own | {"train": trees, "val": trees}, key="upos").labels == ("PRON", "VERB")


@pytest.mark.parametrize("document", ["-DOCSTART- -X- O O", "-DOCSTART-\t-X-\tO\tO", "-DOCSTART-"])
@pytest.mark.parametrize("separator", [" ", "\t"])
def test_document_lines_with_any_separator(tmp_path, document, separator):
    rows = "Ann NNP B-NP I-PER\nsings VBZ B-VP O\n".replace(" ", separator)
    found = read(tmp_path / "x.conll", f"{document}\n\n{rows}{document}\n{rows}")
    assert [(e.words, e.labels) for e in found.examples] == [(["Ann", "sings"], ["I-PER", "O"])] * 2
    assert found.counts == {"comments": 2}


@pytest.mark.parametrize(
    ("labels", "encoding"),
    [("I-PER B-PER O", "IOB1"), ("S-PER S-PER O", "BIOES"), ("U-PER U-PER O", "BILOU")],
)
def test_spans_are_read_in_every_encoding_and_reported(tmp_path, parser, labels, encoding):
    path = tmp_path / "x.conll"
    rows = "\n".join(f"{word} {label}" for word, label in zip("Ann Bob sing".split(), labels.split()))
    path.write_text(f"{rows}\n\nIt O\n", encoding="utf-8")
    dataset = OwnLabels(tmp_path / "root", train=path, val=path, parser=parser, scheme="bio")
    assert dataset.labels == ("O", "B-PER", "I-PER")
    assert [data.y.tolist() for data in dataset] == [[1, 1, 0], [0]]
    assert f"2 spans converted from {encoding} to IOB2" in dataset.describe()["note"]


def test_roles_at_heads(tmp_path):
    found = read(tmp_path / "x.conll", tabs(OF_2009))
    assert [(e.labels, e.mark, e.group) for e in found.examples] == [
        (["A0", "O", "A1"], 1, 0),
        (["A0", "O", "A2"], 2, 0),
        (["A0", "O"], 1, 2),
    ]
    tree = found.examples[0].tree
    assert (tree.head, tree.deprel, tree.xpos) == ([2, 0, 2], ["SBJ", "ROOT", "OBJ"], ["NNP", "VBZ", "NNS"])
    assert found.counts == {"comments": 0, "sentences_without_predicate": 1, "inner_roles": 0}
    assert "1 sentence without a predicate left out" in found.notes
    assert read(tmp_path / "x.conll", tabs(OF_2009), outside="_").examples[0].labels == ["A0", "_", "A1"]
    blind = "".join(
        "\t".join(["_" if n in (8, 10) else cell for n, cell in enumerate(line.split(" "))]) + "\n"
        for line in OF_2009.split("\n")[:-1]
    )
    assert read(tmp_path / "x.conll", blind).examples[0].tree.deprel == ["SBJ", "ROOT", "OBJ"]


def test_roles_of_split_words(tmp_path):
    [example] = read(tmp_path / "x.conll", tabs(OF_2008)).examples
    assert example.words == ["Ann", "sang", "songs"]
    assert (example.labels, example.mark) == (["A0", "O", "A1"], 1)
    assert (example.tree.head, example.tree.deprel) == ([2, 0, 2], ["SBJ", "ROOT", "OBJ"])


def test_roles_as_spans(tmp_path):
    found = read(tmp_path / "x.gold_conll", OF_2012, constituents=True)
    assert [(e.labels, e.mark, e.group) for e in found.examples] == [
        (["B-ARG0", None, None, "B-ARG2", "I-ARG2", "B-ARGM-ADV"], 1, 0),
        (["B-ARG1", "I-ARG1", "O", "O", None, "B-C-ARG1"], 4, 0),
    ]
    assert found.examples[0].words == ["Ann", "set", "out", "to", "sing", "it"]
    assert found.counts == {"comments": 2, "sentences_without_predicate": 1, "inner_roles": 1}
    assert found.examples[0].constituents[:3] == [("S", 0, 6), ("NP", 0, 1), ("VP", 1, 6)]
    for text in (OF_2005, OF_2005.replace(" ", "  ")):
        found = read(tmp_path / "x.txt", text, constituents=True)
        [example] = found.examples
        assert (example.labels, example.mark) == (["B-A0", None, "B-A1"], 1)
        assert example.constituents == [("S", 0, 3), ("NP", 0, 1), ("VP", 1, 3), ("NP", 2, 3)]
        assert found.counts["sentences_without_predicate"] == 1
    [example] = read(tmp_path / "x.gold_skel", OF_PROPBANK).examples
    assert (example.words, example.labels) == (["Ann", "sings"], ["B-ARG0", None])


def test_constituents_of_a_file_are_added_to_the_trees_of_the_parser(tmp_path, parser):
    path = tmp_path / "x.gold_conll"
    path.write_text(OF_2012, encoding="utf-8")
    parser.gives_constituents = True
    options = {"train": path, "val": path, "parser": parser, "scheme": "bio"}
    dataset = OwnLabels(tmp_path / "root", **options, limit=1, constituents=True)
    assert dataset[0].phrase_type.numel() == 8
    assert dataset[0].governor_index.tolist() == [0, *range(6)]
    assert dataset.describe()["own_trees"] == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (tabs(OF_2009).replace("Y\ttalk", "_\ttalk"), r"1: 1 predicates in the sentence, but 2 columns"),
        (tabs(OF_2009).replace("\tA0\tA0", "\tA0"), r"2: 16 columns instead of 15"),
        (tabs(OF_2009).replace("3\ttalks", "4\ttalks"), "3: word id out of order"),
        (
            tabs(OF_2009).replace("\t2\t2\tSBJ\tSBJ\t_\t_\tA0\tA0", "\t7\t7\tSBJ\tSBJ\t_\t_\tA0\tA0"),
            "1: word 1: head 7 is",
        ),
        (OF_2012.replace("(V*) *)", "* *)"), "2: column 12 has no span V"),
        (OF_2012.replace("(ARG0*)", "(ARG0*"), "2: column 12 has a span ARG0 that does not end"),
        (OF_2012.replace("(ARG0*)", "ARG0"), "2: column 12 must have"),
        (OF_2012.replace("(TOP(S", "(TOP(S("), "2"),
    ],
)
def test_damaged_roles(tmp_path, text, message):
    with pytest.raises(ValueError, match=f"x.conll:{message}"):
        read(tmp_path / "x.conll", text, constituents=True)


@pytest.mark.parametrize(
    "text",
    [
        "_\tNOUN\n" * 20,
        "1\t_\t_\t_\tN\tN\t_\t_\t0\t0\tR\tR\t_\t_\n",
        "d 0 0 [WORD] NN (TOP(S*)) a a.01 (V*)\n",
    ],
)
def test_withheld_words_are_refused(tmp_path, text):
    with pytest.raises(ValueError, match=r"x.conll: \d+ of \d+ words are _ or \[WORD\]: .* withheld"):
        read(tmp_path / "x.conll", text)


@pytest.mark.parametrize("text", [tabs(OF_2009), tabs(OF_2008), OF_2012, tabs(OF_2012), OF_2005, OF_PROPBANK])
def test_columns_with_their_own_labels_are_the_file(tmp_path, text):
    path = tmp_path / "x.conll"
    text = text.replace("(ARGM-ADV(ARG1*))", "(ARGM-ADV*)").replace("(ARGM-ADV\t(ARG1*))", "(ARGM-ADV*)")
    found = read(path, text)
    assert with_labels(path, found, [example.labels for example in found.examples], "O") == text
    other = [["O"] * len(example) for example in found.examples]
    path.write_text(with_labels(path, found, other, "O"), encoding="utf-8")
    again = read_own_sentences(path, Column("upos"), Intake())
    assert [(e.words, e.mark) for e in again.examples] == [(e.words, e.mark) for e in found.examples]
    assert not any(label not in ("O", None) for example in again.examples for label in example.labels)


def test_a_file_of_words_gets_a_second_column(tmp_path):
    for text, expected in [
        ("Ann\n\nsings\n", "Ann N\n\nsings _\n"),
        ("Ann X\n\nsings  Y\n", "Ann N\n\nsings  _\n"),
        ("-DOCSTART- -X- O\n\nAnn\tX\tO\n\nsings\tY\tO\n", "-DOCSTART- -X- O\n\nAnn\tX\tN\n\nsings\tY\t_\n"),
    ]:
        found = read(tmp_path / "x.conll", text, labelled=False)
        assert with_labels(tmp_path / "x.conll", found, [["N"], [None]], "O") == expected
