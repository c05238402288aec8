from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep import ConlluError
from graphdep.datasets.labels.propbank import read_up

FORMS = ("Ann", "wants", "to", "sing")
TREE = ["2\tnsubj", "0\troot", "4\tmark", "2\txcomp"]
ROLESETS = ("_", "want.01", "_", "sing.01")
LABELS = [("ARG0", "ARG0"), ("V", "_"), ("_", "_"), ("ARG1", "V")]


def conllu(number):
    return f"{number + 1}\t{FORMS[number]}\t_\t_\t_\t_\t{TREE[number]}"


def text_of(rows):
    return "".join(f"{row}\n" for row in rows)


LONG = text_of("\t".join([conllu(n), "_\tSpaceAfter=No", ROLESETS[n], *LABELS[n]]) for n in range(4))
SHORT = text_of(
    "\t".join([conllu(n), "_" if ROLESETS[n] == "_" else "Y", ROLESETS[n], *LABELS[n]]) for n in range(4)
)
NAMES = (
    "# global.columns = ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC UP:PRED UP:ARGHEADS UP:ARGSPANS\n"
)
LISTED = NAMES + text_of(
    "\t".join([conllu(n), "_\t_", ROLESETS[n], heads, "_"])
    for n, heads in enumerate(["_", "ARG0:1|V:2|ARG1:4", "_", "ARG0:1|V:4"])
)
BARE = text_of("\t".join([conllu(n), "_\t_\t_\t"]) for n in range(4))


def write(folder, text):
    path = folder / "en-up-dev.conllu"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("text", [LONG, SHORT, LISTED], ids=["long", "short", "listed"])
def test_read_up(tmp_path, text):
    (sentence,) = read_up(write(tmp_path, text))
    assert sentence.tree.form == list(FORMS)
    assert sentence.tree.head == [2, 0, 4, 2]
    first, second = sentence.predicates
    offset = 1 if text is LISTED else 0
    assert (first.word, first.line, first.roleset) == (1, 2 + offset, "want.01")
    assert first.labels == ("ARG0", "V", "_", "ARG1")
    assert (second.word, second.line, second.roleset) == (3, 4 + offset, "sing.01")
    assert second.labels == ("ARG0", "_", "_", "V")
    assert (sentence.second_roles, sentence.annotated) == (0, True)
    assert sentence.tree.misc == (["SpaceAfter=No"] * 4 if text is LONG else None)


def test_sentences_without_predicates(tmp_path):
    short = text_of(f"{conllu(n)}\t_\t_" for n in range(4))
    assert [len(one.predicates) for one in read_up(write(tmp_path, f"{BARE}\n{LONG}\n \n{BARE}"))] == [
        0,
        2,
        0,
    ]
    assert [len(one.predicates) for one in read_up(write(tmp_path, f"{short}\n{SHORT}"))] == [0, 2]
    assert not read_up(write(tmp_path, BARE.replace("_\t_\t_\t\n", "_\t_\t\t\n")))[0].predicates


def test_sentences_that_say_so_are_not_annotated(tmp_path):
    found = read_up(write(tmp_path, f"# sent_id = x\n# propbank = no-up\n{BARE}\n{LONG}"))
    assert [one.annotated for one in found] == [False, True]


def test_ranges_and_empty_nodes(tmp_path):
    lines = LONG.splitlines()
    lines.insert(2, "3-4\ttosing\t" + "\t".join("_" * 8))
    lines.insert(1, "1.1\tvery\t_\t_\t_\t_\t_\t_\t2:dep\t_\t\t")
    (sentence,) = read_up(write(tmp_path, text_of(lines)))
    assert len(sentence.tree) == 4
    assert len(sentence.tree.multiword) == len(sentence.tree.empty) == 1
    assert [(one.word, one.line) for one in sentence.predicates] == [(1, 3), (3, 6)]
    lines = SHORT.splitlines()
    lines.insert(2, "3-4\ttosing\t" + "\t".join("_" * 9))
    assert len(read_up(write(tmp_path, text_of(lines)))[0].tree.multiword) == 1


def test_of_two_roles_the_first_counts(tmp_path):
    text = LISTED.replace("ARG0:1|V:4", "ARG0:1|ARG1:1|A:b:2")
    (sentence,) = read_up(write(tmp_path, text))
    assert sentence.second_roles == 1
    assert sentence.predicates[1].labels == ("ARG0", "A:b", "_", "_")


@given(st.lists(st.lists(st.sampled_from(["_", "ARG0", "V"]), min_size=4, max_size=4), max_size=4))
def test_columns_belong_to_predicates_in_their_order(tmp_path_factory, columns):
    rolesets = [f"be.0{n}" if n < len(columns) else "_" for n in range(4)]
    rows = [[conllu(n), "_\t_", rolesets[n], *(column[n] for column in columns)] for n in range(4)]
    path = write(tmp_path_factory.getbasetemp(), text_of(map("\t".join, rows)))
    (sentence,) = read_up(path)
    assert [list(one.labels) for one in sentence.predicates] == columns
    assert [one.word for one in sentence.predicates] == list(range(len(columns)))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("0\troot", "1\troot", r":\d: .*"),
        ("2\twants", "3\twants", r":2: .*"),
        ("\twants", "\t", r":2: column FORM is empty"),
        ("4\tsing", "4", r":4: HEAD must be a word id"),
    ],
)
def test_damaged_trees(tmp_path, old, new, message):
    path = write(tmp_path, LONG.replace(old, new))
    with pytest.raises(ConlluError, match=re.escape(str(path)) + message):
        read_up(path)
