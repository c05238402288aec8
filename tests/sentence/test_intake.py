"""A user's trees: one rule for their scheme and for those that are no trees, by whatever door."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stanza.utils.conll import CoNLL

from graphdep import ConlluError, Sentence, to_data
from graphdep.io import parse_conllu, read_conllu
from graphdep.parsing.parser import ChainParser
from graphdep.sentence import Intake, as_sentences, check_tree, is_clear, join_sentences
from graphdep.sentence.clear import ud1_to_ud
from graphdep.sentence.intake import attached, is_own, needs_tree
from graphdep.sentence.tree import Raw, tree_fault

CLEAR = (["Look", "at", "it"], [0, 1, 2], ["ROOT", "prep", "pobj"])
UD1 = (["She", "saw", "it"], [2, 0, 2], ["nsubj", "root", "dobj"])
UD2 = (["She", "saw", "it"], [2, 0, 2], ["nsubj", "root", "obj"])
STANFORD = (["She", "is", "at", "home"], [3, 3, 0, 3], ["nsubj", "cop", "root", "pobj"])
SUD = (["She", "saw", "it"], [2, 0, 2], ["subj", "root", "comp:obj"])


def as_dict(form, head, deprel):
    return {"form": form, "head": head, "deprel": deprel}


def numbered(form, head, deprel):
    return enumerate(zip(form, head, deprel), 1)


def as_words(*tree):
    return [{"id": i, "text": w, "head": h, "deprel": d} for i, (w, h, d) in numbered(*tree)]


def as_conllu(*tree):
    rows = ("\t".join((str(i), w, *"____", str(h), d, *"__")) for i, (w, h, d) in numbered(*tree))
    return "\n".join(rows) + "\n\n"


def through_conllu(tree, **options):
    return parse_conllu(as_conllu(*tree), **options)[0]


def through_stanza(tree, **options):
    return Sentence.from_stanza(CoNLL.conll2doc(input_str=as_conllu(*tree)), **options)[0]


def through_token_list(tree, **options):
    conllu = pytest.importorskip("conllu", reason="conllu is not installed")
    return Sentence.from_conllu(conllu.parse(as_conllu(*tree))[0], **options)


DOORS = {
    "dict": lambda tree, **options: Sentence.from_dict(as_dict(*tree), **options),
    "words": lambda tree, **options: Sentence.from_dict(as_words(*tree), **options),
    "as_sentences": lambda tree, **options: as_sentences([as_dict(*tree)], intake=Intake(**options))[0],
    "conllu": through_conllu,
    "stanza": through_stanza,
    "token list": through_token_list,
}
each_door = pytest.mark.parametrize("door", DOORS.values(), ids=[*DOORS])


@each_door
def test_the_scheme_is_decided_alike(door):
    for tree in (UD1, UD2, STANFORD, SUD):
        made = door(tree)
        assert (made.form, made.head, made.deprel) == tree
    made = door(CLEAR)
    assert (made.head, made.deprel) == ([0, 3, 1], ["root", "case", "obl"])
    assert door(CLEAR, scheme="as-is").deprel == CLEAR[2]
    assert door(UD1, scheme="ud1").deprel == UD2[2]
    assert door(UD1, scheme="clear").deprel == UD2[2]
    assert door(UD2, scheme="clear").deprel == door(UD2, scheme="ud1").deprel == UD2[2]
    with pytest.raises(ValueError, match="'scheme' must be one of auto, as-is, clear, ud1"):
        door(CLEAR, scheme="keep")


def test_arcs_that_a_conversion_leaves_out_are_said(caplog):
    text = as_conllu(*CLEAR).replace("ROOT\t_", "ROOT\t0:ROOT").replace("prep\t_", "prep\t1:prep")
    [tree] = parse_conllu(text)
    assert (tree.deprel, tree.deps) == (["root", "case", "obl"], None)
    assert "the arcs in DEPS of 1 tree are left out" in caplog.text


def test_all_trees_that_come_together_are_of_one_scheme():
    both = [as_dict(*CLEAR), as_dict(*UD1)]
    assert [sentence.deprel[-1] for sentence in as_sentences(both)] == ["obl", "obj"]
    mixed = [*both, as_dict(*SUD)]  # labels that CLEAR does not have: another scheme
    assert [sentence.deprel[-1] for sentence in as_sentences(mixed)] == ["pobj", "dobj", "comp:obj"]
    intake = Intake()
    as_sentences(both, intake=intake)
    assert intake.counts() == {"trees": 2, "bad_trees": {}, "converted": {"clear": 2}}
    assert intake.note().startswith("2 trees converted from CLEAR")
    given = Sentence(*UD1)
    assert as_sentences([given, as_dict(*CLEAR)])[0] is given


@pytest.mark.parametrize(
    ("labels", "right"),
    [
        (["nsubj", "ROOT", "dobj"], False),
        (["nsubj", "ROOT", "dobj", "prep"], True),
        (["nsubj", "ROOT", "dative"], True),
        (["nsubj", "root", "cop", "pobj"], False),
        (["nsubj", "root", "mwe", "prep"], False),
        ([], False),
    ],
)
def test_which_labels_are_clear_s(labels, right):
    assert is_clear(labels) == right


def test_version_1_of_ud():
    form = ["Ann", ",", "Bob", "and", "Eve", "were", "not", "seen", "at", "home"]
    head = [8, 1, 1, 1, 1, 8, 8, 0, 10, 8]
    deprel = ["nsubjpass", "punct", "conj", "cc", "conj", "auxpass", "neg", "root", "case", "nmod"]
    tags = ["NNP", ",", "NNP", "CC", "NNP", "VBD", "RB", "VBN", "IN", "NN"]
    made = ud1_to_ud(Sentence(form, head, deprel, xpos=tags))
    assert made.head == [8, 3, 1, 5, 1, 8, 8, 0, 10, 8]
    assert made.deprel == [
        *("nsubj:pass", "punct", "conj", "cc", "conj", "aux:pass", "advmod", "root", "case", "obl")
    ]


BAD = {
    "several roots": ([0, 1, 0, 3], [0, 1, 1, 3]),
    "cycle": ([0, 3, 2, 1], [0, 1, 2, 1]),
    "head outside of the sentence": ([2, 0, 9, 1], [2, 0, 2, 1]),
    "no root": ([2, 3, 1, 1], [0, 3, 1, 1]),
}
each_fault = pytest.mark.parametrize(
    ("kind", "head", "mended"), [(k, *v) for k, v in BAD.items()], ids=[*BAD]
)


def raw(head, place=""):
    return Raw({"form": ["a", "b", "c", "d"], "head": head, "deprel": ["root", "x", "y", "z"]}, place)


@each_fault
def test_what_becomes_of_governors_that_are_no_tree(kind, head, mended):
    good = [2, 0, 2, 3]
    raws = [raw(good, "f:1"), raw(head, "f:2"), raw(head, "f:3")]
    with pytest.raises(
        ValueError, match=rf"^f:2: .*; 2 of 3 sentences are not trees: {kind} \(2\); bad_trees="
    ):
        Intake().sentences(raws)
    expected = {"attach": mended, "parse": [0, 1, 2, 3]}
    for policy in ("attach", "parse", "skip"):
        intake = Intake(bad_trees=policy, parser=ChainParser())
        first, *others = intake.sentences(raws)
        assert first.head == good
        assert [other and other.head for other in others] == [expected.get(policy)] * 2
        assert intake.counts()["bad_trees"] == {kind: 2}
        assert "2 of 3 trees are bad" in intake.note()
    assert Intake(bad_trees="attach").sentences([raw(head)])[0].deprel == ["root", "x", "y", "z"]


@given(st.lists(st.integers(-2, 9), min_size=1, max_size=8))
def test_what_is_attached_is_a_tree(head):
    made = attached(head)
    check_tree(made)
    if tree_fault(head) is None:
        assert made == head
    roots = [word for word, governor in enumerate(head, 1) if governor == 0]
    if roots:
        assert made[roots[0] - 1] == 0


@each_door
def test_a_door_refuses_or_mends(door):
    bad = (["a", "b"], [0, 0], ["root", "root"])
    with pytest.raises(ValueError, match="more than one root"):
        door(bad)
    assert door(bad, bad_trees="attach").head == [0, 1]
    assert door(bad, bad_trees="parse", parser=ChainParser()).deprel == ["root", "dep"]


def test_a_file_is_read_in_one_pass(tmp_path):
    bad = (["a", "b"], [0, 0], ["root", "root"])
    path = tmp_path / "a.conllu"
    path.write_text(as_conllu(*UD2) + as_conllu(*bad) + as_conllu(*bad))
    with pytest.raises(
        ConlluError, match=r"a.conllu:5: .*2 of 3 sentences are not trees: several roots \(2\)"
    ):
        read_conllu(path)
    assert [s.head for s in read_conllu(path, bad_trees="skip")] == [[2, 0, 2]]
    assert [s.head for s in read_conllu(path, multiroot=True)] == [[2, 0, 2], [0, 0], [0, 0]]


@pytest.mark.parametrize("head", [[1, -1, 1], [1, 1, 1], [-1, 0, 1]])
def test_heads_that_count_from_0(head):
    """The message has no advice that makes another tree of them."""
    given = as_dict(["a", "b", "c"], head, ["x"] * 3)
    with pytest.raises(ValueError, match=": heads count from 1, and 0 is the root$"):
        Sentence.from_dict(given)
    with pytest.raises(ValueError, match="heads count from 1, and 0 is the root"):
        Sentence(*given.values())


def test_arcs_of_the_user_s_stay_with_a_tree_that_is_converted():
    made = Sentence.from_dict({**as_dict(*CLEAR), "edges": [[1, 3, "theme"]]})
    assert (made.head, made.deps) == ([0, 3, 1], [[], [], [("1", "theme")]])


def test_options_that_cannot_be():
    with pytest.raises(ValueError, match="'bad_trees' must be one of error, attach, parse, skip"):
        Intake(bad_trees="drop")
    with pytest.raises(ValueError, match="bad_trees='parse' needs a parser"):
        Intake(bad_trees="parse")
    with pytest.raises(ValueError, match="leaves out the only sentence"):
        Sentence.from_dict({"form": ["a"], "head": [2], "deprel": ["x"]}, bad_trees="skip")


def test_columns_stay_with_a_tree_that_is_mended():
    given = {**as_dict(["a", "b"], [0, 0], ["root", "x"]), "upos": ["X", "Y"], "text": "a  b"}
    made = Sentence.from_dict(given, bad_trees="attach")
    assert (made.upos, made.comments, made.deprel) == (["X", "Y"], ["# text = a b"], ["root", "x"])
    assert to_data(dataclasses.replace(made)).num_nodes == 3


def test_a_parser_s_trees_are_of_no_scheme_of_the_user_s():
    """They neither decide it nor are converted; labels that are missing decide nothing."""
    bad = as_dict(["a", "b"], [0, 0], ["_", "_"])
    intake = Intake(bad_trees="parse", parser=ChainParser())
    clear, parsed = as_sentences([as_dict(*CLEAR), bad], intake=intake)
    assert (clear.head, parsed.head, parsed.deprel) == ([0, 3, 1], [0, 1], ["root", "dep"])
    assert intake.counts() == {"trees": 2, "bad_trees": {"several roots": 1}, "converted": {"clear": 1}}
    assert [is_own(tree) for tree in (clear, parsed, join_sentences([clear, parsed]))] == [True, False, False]


def test_no_file_says_whose_a_tree_is():
    said = {**as_dict(["a"], [0], ["root"]), "comments": ["# tree_from = chain"], "tree_from": "chain"}
    made = Sentence.from_dict(said)
    assert is_own(made)
    assert not needs_tree(made)
    with pytest.raises(ValueError, match="'tree_from' must be one of None, parser, chain"):
        Sentence(["a"], [0], ["root"], tree_from="me")


@pytest.mark.parametrize(
    "word", [{"x": "a", "deprel": "root"}, {"text": None, "deprel": "root"}, {"word": "a"}]
)
def test_a_word_without_form_or_label_is_refused(word):
    with pytest.raises(ValueError, match="word 1: no '(form|deprel)' among the keys"):
        Sentence.from_dict([{**word, "head": 0}])
