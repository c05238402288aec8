from __future__ import annotations

import dataclasses
import importlib.util
import random
import re
import sys
from importlib.metadata import PackageNotFoundError

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphdep import Sentence
from graphdep.io import format_conllu, parse_conllu
from graphdep.parsing import enhance, enhance_fingerprint
from graphdep.parsing import enhanced as pybart_rules
from graphdep.parsing.enhanced import PybartConverter
from tests.kit.trees import random_sentence

needs_pybart = pytest.mark.skipif(importlib.util.find_spec("pybart") is None, reason="needs pybart-nlp")


def tree(text: str) -> Sentence:
    """A sentence from lines of word, tag, head and relation."""
    rows = [line.split() for line in text.strip().splitlines()]
    lines = [
        f"{i}\t{w}\t{w}\t_\t{tag}\t_\t{head}\t{rel}\t_\t_" for i, (w, tag, head, rel) in enumerate(rows, 1)
    ]
    return parse_conllu("\n".join(lines))[0]


def graph(sentence: Sentence, level: str) -> dict[str, set[str]]:
    """Per word or copy (``walked'``) its governors and labels, after a trip through CoNLL-U."""
    (done,) = enhance([sentence], level, "pybart")
    assert parse_conllu(format_conllu(done)) == [done]
    assert dataclasses.replace(done, deps=None, empty=[]) == sentence
    name = {"0": "-"} | {str(i): form for i, form in enumerate(done.form, 1)}
    name |= {row[0]: f"{row[1]}{(chr(39)) * int(row[0].split('.')[1])}" for row in done.empty}
    columns = dict(zip(done.form, ("|".join(f"{h}:{label}" for h, label in arcs) for arcs in done.deps)))
    columns |= {name[row[0]]: row[8] for row in done.empty}
    parts = {node: [part.partition(":") for part in column.split("|")] for node, column in columns.items()}
    return {node: {f"{label}({name[head]})" for head, _, label in arcs} for node, arcs in parts.items()}


MARKET = tree("""
    Kim NNP 2 nsubj
    grows VBZ 0 root
    and CC 4 cc
    sells VBZ 2 conj
    beans NNS 4 obj
    , , 7 punct
    peas NNS 5 conj
    or CC 9 cc
    figs NNS 5 conj
    in IN 12 case
    small JJ 12 amod
    towns NNS 4 obl
""")
RELATIVE = tree("""
    the DT 2 det
    boat NN 0 root
    that WDT 6 nsubj
    they PRP 5 nsubj
    say VBP 6 parataxis
    sank VBD 2 acl:relcl
    where WRB 9 advmod
    rocks NNS 9 nsubj
    hide VBP 6 advcl
""")
IN_WHICH = """
    He PRP 2 nsubj
    sat VBD 0 root
    by IN 5 case
    the DT 5 det
    house NN 2 obl
    in IN 7 case
    which WDT 9 obl
    she PRP 9 nsubj
    lives VBZ 5 acl:relcl
"""
STRANDED = """
    He PRP 2 nsubj
    sat VBD 0 root
    by IN 5 case
    the DT 5 det
    house NN 2 obl
    which WDT 8 obl
    she PRP 8 nsubj
    lives VBZ 5 acl:relcl
    in IN 6 case
"""
WHERE = """
    sat VBD 0 root
    by IN 3 case
    house NN 1 obl
    where WRB 6 advmod
    she PRP 6 nsubj
    lives VBZ 3 acl:relcl
"""
TWO_ANTECEDENTS = """
    sat VBD 0 root
    by IN 3 case
    house NN 1 obl
    or CC 5 cc
    garden NN 3 conj
    in IN 7 case
    which WDT 9 obl
    she PRP 9 nsubj
    lives VBZ 3 acl:relcl
"""
WHOSE = """
    sat VBD 0 root
    by IN 3 case
    house NN 1 obl
    whose WP$ 5 nmod:poss
    roof NN 6 nsubj
    leaks VBZ 3 acl:relcl
"""
MOST_OF_WHOM = """
    spoke VBD 0 root
    to IN 3 case
    friends NNS 1 obl
    most JJS 7 nsubj
    of IN 6 case
    whom WP 4 nmod
    left VBD 3 acl:relcl
"""
QUESTION = """
    those DT 6 nsubj
    who WP 3 nsubj
    asked VBD 1 acl:relcl
    whose WP$ 5 nmod:poss
    roof NN 3 obj
    left VBD 0 root
"""
CONTROL = tree("""
    Lee NNP 2 nsubj
    wants VBZ 0 root
    to TO 4 mark
    help VB 2 xcomp
    us PRP 4 obj
    feel VB 4 xcomp
    safe JJ 6 xcomp
""")
PASSIVE = tree("""
    cars NNS 3 nsubj:pass
    were VBD 3 aux:pass
    washed VBN 0 root
    , , 5 punct
    dried VBN 3 conj
    and CC 7 cc
    left VBD 3 conj
""")
PASSIVE_THEN_ACTIVE = tree("""
    he PRP 3 nsubj:pass
    was VBD 3 aux:pass
    told VBN 0 root
    but CC 6 cc
    might MD 6 aux
    forget VB 3 conj
""")
SIGNS = tree("""
    pens NNS 0 root
    & CC 3 cc
    ink NN 1 conj
    / SYM 5 cc
    paper NN 1 conj
    as RB 9 cc
    well RB 6 fixed
    as IN 6 fixed
    glue NN 1 conj
""")


@needs_pybart
@pytest.mark.parametrize("level", ["enhanced", "enhanced++"])
def test_shared_governors_and_subjects_and_labels(level):
    found = graph(MARKET, level)
    assert found["Kim"] == {"nsubj(grows)", "nsubj(sells)"}
    assert found["sells"] == {"conj:and(grows)"}
    assert found["beans"] == {"obj(sells)"}
    assert found["peas"] == {"obj(sells)", "conj:or(beans)"}  # the conjunction of the next one
    assert found["figs"] == {"obj(sells)", "conj:or(beans)"}
    assert found["towns"] == {"obl:in(sells)"}
    assert found["in"] == {"case(towns)"}


@needs_pybart
@pytest.mark.parametrize("level", ["enhanced", "enhanced++"])
def test_relative_clauses_make_cycles(level):
    found = graph(RELATIVE, level)
    assert found["boat"] == {"root(-)", "nsubj(sank)"}
    assert found["sank"] == {"acl:relcl(boat)"}
    assert found["that"] == {"ref(boat)"}
    assert found["hide"] == {"advcl:where(sank)"}


@needs_pybart
@pytest.mark.parametrize("level", ["enhanced", "enhanced++"])
@pytest.mark.parametrize("clause", [IN_WHICH, STRANDED])
def test_a_preposition_of_a_relative_pronoun_is_on_the_arc_of_the_antecedent(clause, level):
    found = graph(tree(clause), level)
    assert found["house"] == {"obl:by(sat)", "obl:in(lives)"}
    assert found["which"] == {"ref(house)"}
    assert found["in"] == {"case(which)"}
    assert found["by"] == {"case(house)"}


@needs_pybart
@pytest.mark.parametrize("level", ["enhanced", "enhanced++"])
def test_the_preposition_of_the_antecedent_is_none_of_the_clause(level):
    found = graph(tree(WHERE), level)
    assert found["house"] == {"obl:by(sat)", "obl(lives)"}
    assert found["where"] == {"ref(house)"}
    found = graph(tree(TWO_ANTECEDENTS), level)
    assert found["house"] == {"obl:by(sat)", "obl:in(lives)"}
    assert found["garden"] == {"obl:by(sat)", "obl:in(lives)", "conj:or(house)"}


@needs_pybart
@pytest.mark.parametrize("level", ["enhanced", "enhanced++"])
def test_relative_pronouns_below_a_word_of_the_clause(level):
    found = graph(tree(WHOSE), level)
    assert found["house"] == {"obl:by(sat)", "nmod:poss(roof)"}
    assert found["whose"] == {"ref(house)"}
    found = graph(tree(MOST_OF_WHOM), level)
    assert found["friends"] == {"obl:to(spoke)", "nmod:of(most)"}
    assert found["whom"] == {"ref(friends)"}
    assert graph(tree(QUESTION), level)["whose"] == {"nmod:poss(roof)"}


@needs_pybart
@pytest.mark.parametrize("level", ["enhanced", "enhanced++"])
def test_subjects_of_open_complements(level):
    found = graph(CONTROL, level)
    assert found["Lee"] == {"nsubj(wants)", "nsubj:xsubj(help)"}
    assert found["us"] == {"obj(help)", "nsubj:xsubj(feel)", "nsubj:xsubj(safe)"}


@needs_pybart
@pytest.mark.parametrize("level", ["enhanced", "enhanced++"])
def test_a_shared_subject_is_passive_where_its_verb_is(level):
    found = graph(PASSIVE, level)
    assert found["cars"] == {"nsubj:pass(washed)", "nsubj:pass(dried)", "nsubj:pass(left)"}
    assert found["were"] == {"aux:pass(washed)"}  # is not shared as an arc
    assert graph(PASSIVE_THEN_ACTIVE, level)["he"] == {"nsubj:pass(told)", "nsubj(forget)"}


@needs_pybart
def test_labels_take_words_alone():
    found = graph(SIGNS, "enhanced")
    assert [found[word] for word in ("ink", "paper", "glue")] == [
        {"conj(pens)"}, {"conj(pens)"}, {"conj:as_well_as(pens)"}
    ]  # fmt: skip


# -- what enhanced++ adds ----------------------------------------------------------------------------------

BUNCH = tree("a DT 2 det\nbunch NN 5 nsubj\nof IN 4 case\nfriends NNS 2 nmod\ncame VBD 0 root")
BOTH = tree("both DT 5 nsubj\nof IN 4 case\nthe DT 4 det\ntwins NNS 1 nmod\nwon VBD 0 root")
LOTS = tree("we PRP 2 nsubj\nsaw VBD 0 root\nlots NNS 2 obj\nof IN 5 case\nsnow NN 3 nmod")


@needs_pybart
def test_quantificational_modifiers():
    found = graph(BUNCH, "enhanced++")
    assert found["friends"] == {"nsubj(came)"}
    assert found["a"] == {"det:qmod(friends)"}
    assert found["bunch"] == found["of"] == {"fixed(a)"}
    found = graph(BOTH, "enhanced++")
    assert found["twins"] == {"nsubj(won)"}
    assert found["both"] == {"det:qmod(twins)"}
    assert found["of"] == found["the"] == {"fixed(both)"}
    found = graph(LOTS, "enhanced++")
    assert found["snow"] == {"obj(saw)"}
    assert found["lots"] == {"det:qmod(snow)"}
    assert found["of"] == {"fixed(lots)"}


PARTITIVES = tree("""
    Some DT 8 nsubj
    of IN 3 case
    them PRP 1 nmod
    and CC 5 cc
    many JJ 1 conj
    of IN 7 case
    us PRP 5 nmod
    left VBD 0 root
""")
TWO_PREPOSITIONS = tree("""
    it PRP 2 nsubj
    sat VBD 0 root
    in IN 4 case
    front NN 2 obl
    of IN 6 case
    us PRP 4 nmod
    but CC 8 cc
    close RB 4 conj
    to IN 10 case
    them PRP 8 obl
""")


@needs_pybart
def test_a_conjunct_that_another_word_takes_the_place_of_keeps_its_conjunction():
    found = graph(PARTITIVES, "enhanced++")
    assert found["them"] == {"nsubj(left)"}
    assert found["us"] == {"nsubj(left)", "conj:and(them)"}
    assert found["Some"] == {"det:qmod(them)"}
    assert found["many"] == {"det:qmod(us)"}
    assert graph(PARTITIVES, "enhanced")["many"] == {"nsubj(left)", "conj:and(Some)"}
    found = graph(TWO_PREPOSITIONS, "enhanced++")
    assert found["us"] == {"obl:in_front_of(sat)"}
    assert found["them"] == {"obl:close_to(sat')"}
    assert found["sat'"] == {"conj:but(sat)"}


@needs_pybart
def test_prepositions_of_several_words():
    text = (
        "cats NNS 2 nsubj\nran VBD 0 root\nout IN 6 case\nof IN 6 case\nour PRP$ 6 nmod:poss\nbarn NN 2 obl"
    )
    found = graph(tree(text), "enhanced++")
    assert found["barn"] == {"obl:out_of(ran)"}
    assert found["out"] == {"case(barn)"}
    assert found["of"] == {"fixed(out)"}
    text = "he PRP 2 nsubj\nsat VBD 0 root\nin IN 4 case\nfront NN 2 obl\nof IN 6 case\nus PRP 4 nmod"
    found = graph(tree(text), "enhanced++")
    assert found["us"] == {"obl:in_front_of(sat)"}
    assert found["in"] == {"case(us)"}
    assert found["front"] == found["of"] == {"fixed(in)"}
    text = "it PRP 3 nsubj\nis VBZ 3 cop\nclose JJ 0 root\nto IN 5 case\nhome NN 3 obl"
    found = graph(tree(text), "enhanced++")
    assert found["home"] == {"root(-)"}
    assert found["it"] == {"nsubj(home)"}
    assert found["close"] == {"case(home)"}
    assert found["to"] == {"fixed(close)"}


OVER_AND_THROUGH = tree("""
    she PRP 2 nsubj
    walked VBD 0 root
    over IN 5 case
    the DT 5 det
    bridge NN 2 obl
    and CC 9 cc
    through IN 9 case
    a DT 9 det
    park NN 5 conj
""")
TO_AND_FROM = tree("""
    she PRP 2 nsubj
    cycles VBZ 0 root
    to IN 6 case
    and CC 5 cc
    from IN 3 conj
    work NN 2 obl
""")
THREE = tree("""
    trips NNS 0 root
    to IN 3 case
    Rome NNP 1 nmod
    , , 6 punct
    from IN 6 case
    Oslo NNP 3 conj
    or CC 9 cc
    via IN 9 case
    Bonn NNP 3 conj
""")
ONE_PREPOSITION = tree("""
    thanks NNS 0 root
    for IN 4 case
    your PRP$ 4 nmod:poss
    time NN 1 nmod
    and CC 6 cc
    help NN 4 conj
""")


@needs_pybart
def test_conjoined_prepositional_phrases_copy_their_governor():
    found = graph(OVER_AND_THROUGH, "enhanced++")
    assert found["bridge"] == {"obl:over(walked)"}
    assert found["park"] == {"obl:through(walked')"}
    assert found["walked'"] == {"conj:and(walked)"}
    assert found["she"] == {"nsubj(walked)", "nsubj(walked')"}
    (done,) = enhance([OVER_AND_THROUGH], "enhanced++", "pybart")
    assert [(row[0], row[1], row[2], row[4], row[9]) for row in done.empty] == [
        ("2.1", "walked", "walked", "VBD", "CopyOf=2")
    ]
    found = graph(THREE, "enhanced++")
    assert found["Rome"] == {"nmod:to(trips)"}
    assert found["Oslo"] == {"nmod:from(trips')"}
    assert found["Bonn"] == {"nmod:via(trips'')"}
    assert found["trips'"] == found["trips''"] == {"conj:or(trips)"}


@needs_pybart
def test_conjoined_prepositions_copy_their_governor():
    found = graph(TO_AND_FROM, "enhanced++")
    assert found["work"] == {"obl:to(cycles)", "obl:from(cycles')"}
    assert found["cycles'"] == {"conj:and(cycles)"}


@needs_pybart
def test_one_preposition_of_two_nouns_copies_nothing():
    found = graph(ONE_PREPOSITION, "enhanced++")
    assert found == graph(ONE_PREPOSITION, "enhanced")
    assert found["help"] == {"nmod:for(thanks)", "conj:and(time)"}


@needs_pybart
@pytest.mark.parametrize("sentence", [BUNCH, BOTH, LOTS, OVER_AND_THROUGH, TO_AND_FROM, THREE])
def test_enhanced_alone_adds_none_of_that(sentence):
    (done,) = enhance([sentence], "enhanced", "pybart")
    assert done.empty == []
    basic = {(word, head) for word, head in enumerate(sentence.head)}
    arcs = [(word, int(head), label) for word, pairs in enumerate(done.deps) for head, label in pairs]
    assert basic <= {arc[:2] for arc in arcs}
    assert not any(label in ("det:qmod", "fixed") for *_, label in arcs)


# -- whatever the input ------------------------------------------------------------------------------------

LABELS = (
    "nsubj obj obl nmod nmod:poss conj cc case mark xcomp advcl acl acl:relcl aux:pass det fixed advmod "
    "parataxis"
)
FORMS = (
    "of in front out the a bunch both to and from who whose which where by walked dog [COPY] _ | 3.1".split()
)
TAGS = ["NN", "VB", "IN", "WRB", "JJ", "_"]


def random_parse(seed: int, words: int) -> Sentence:
    source = random.Random(seed)
    shape = random_sentence(source, words, multiroot=True)
    labels = [source.choice(LABELS.split()) if head else "root" for head in shape.head]
    tags = source.choice([None, [source.choice(TAGS) for _ in labels]])
    form = [source.choice(FORMS) for _ in labels]
    return dataclasses.replace(shape, form=form, deprel=labels, xpos=tags)


parses = st.builds(random_parse, st.integers(0, 2**32), st.integers(1, 9))


@needs_pybart
@settings(max_examples=25, deadline=None)
@given(st.lists(parses, min_size=1, max_size=3), st.sampled_from(["enhanced", "enhanced++"]))
def test_any_tree(sentences, level):
    done = enhance(sentences, level, "pybart")
    assert done == [enhance([sentence], level, "pybart")[0] for sentence in sentences]
    for sentence, result in zip(sentences, done):
        kept = [line for line in result.comments if not line.startswith("# basic_deps")]
        assert dataclasses.replace(result, deps=None, empty=[], comments=kept) == sentence
        assert parse_conllu(format_conllu(result), multiroot=True)[0].deps == result.deps
        assert not any("[" in label for pairs in result.deps for _, label in pairs)


@needs_pybart
def test_one_word_and_none():
    assert enhance([]) == []
    (done,) = enhance([Sentence(["Yes"], [0], ["root"])], engine="pybart")
    assert done.deps == [[("0", "root")]]


@needs_pybart
def test_sentences_with_a_graph_stay_as_they_are():
    other = dataclasses.replace(THREE, deps=[[("0", "root")]] + [[] for _ in THREE.form[1:]])
    done = enhance([BUNCH, other], "enhanced++", "pybart")
    assert done[1] is other
    assert done[0].deps != BUNCH.deps


@needs_pybart
def test_a_sentence_that_the_rules_fail_on_keeps_its_basic_arcs(monkeypatch, caplog):
    convert = PybartConverter.__call__

    def refuse(self, sentence):
        if "boom" in sentence.deprel:
            raise RuntimeError("no such\nlabel")
        return convert(self, sentence)

    monkeypatch.setattr(PybartConverter, "__call__", refuse)
    bad = Sentence(["ah", "oh"], [2, 0], ["boom", "root"])
    first, second, third = enhance([BUNCH, bad, bad], "enhanced++", "pybart")
    assert first == enhance([BUNCH], "enhanced++", "pybart")[0]
    assert second == third
    assert second.deps == [[("2", "boom")], [("0", "root")]]
    assert second.comments == ["# basic_deps = RuntimeError: no such label"]
    assert caplog.messages == [
        "2 of 3 sentences kept their basic arcs (the first: sentence 2, 'ah oh': RuntimeError: no such label)"
    ]


@needs_pybart
def test_empty_nodes_without_arcs_are_no_graph_to_build_on(caplog):
    row = ("1.1", "x", "_", "_", "_", "_", "_", "_", "_", "_")
    (done,) = enhance([dataclasses.replace(BUNCH, empty=[row])], engine="pybart")
    assert done.empty == [row]
    assert "the sentence has 1 empty nodes already" in caplog.text


@needs_pybart
def test_rules_that_do_not_come_to_an_end(monkeypatch, caplog):
    monkeypatch.setattr(pybart_rules.load_pybart().Convert, "convert_sentence", lambda *_: 10**6)
    (done,) = enhance([BUNCH], "enhanced++", "pybart")
    assert done.deps[0] == [("2", "det")]
    assert "have not come to an end after 25 rounds" in caplog.text


@needs_pybart
def test_pybart_itself_is_not_imported():
    enhance([BUNCH], "enhanced++", "pybart")  # else it would ask for spaCy
    assert "pybart" not in sys.modules


@needs_pybart
def test_the_fingerprint_names_what_changes_the_graphs(monkeypatch):
    assert re.fullmatch(r"pybart-[\d.]+/rules-\d+", enhance_fingerprint("pybart"))
    before = enhance_fingerprint("pybart")
    monkeypatch.setattr(sys.modules["graphdep.parsing.enhanced"], "RULES_VERSION", 10**6)
    assert enhance_fingerprint("pybart") != before


def test_the_fingerprint_without_the_package(monkeypatch):
    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(sys.modules["graphdep.parsing.enhanced"], "version", missing)
    assert enhance_fingerprint("pybart") is None


def test_rules_of_graphdep_need_no_package(no_pybart):
    for level in ("enhanced", "enhanced++"):
        (done,) = enhance([BUNCH], level)
        assert done.deps is not None
    assert enhance([BUNCH]) == [done]  # the default works wherever graphdep is installed
    assert re.fullmatch(r"ud-rules-\d+", enhance_fingerprint())


def test_without_the_package(no_pybart):
    with pytest.raises(ImportError, match=r"take engine 'rules', .* or install graphdep\[enhanced\]"):
        enhance([BUNCH], "enhanced++", "pybart")
    done = dataclasses.replace(BUNCH, deps=[[("2", "det")], [("5", "nsubj")], [], [], []])
    assert enhance([done], "enhanced++", "pybart") == [done]


def test_unknown_options():
    with pytest.raises(ValueError, match=r"'level' must be one of .* \(got 'basic'\)"):
        enhance([], level="basic")
