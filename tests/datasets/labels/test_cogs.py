from __future__ import annotations

import logging
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.loader import DataLoader

from graphdep import Vocab
from graphdep.datasets import COGS
from graphdep.datasets.labels.cogs import MisfitError, Node, is_form, original, predicates, variable_free

FREE = [
    ("A cook saw Mila in a room .", "see ( agent = cook , theme = Mila )", "in_distribution"),
    ("The cook in a room sang .", "sing ( agent = * cook ( nmod . in = room ) )", "in_distribution"),
    ("cook", "cook", "primitive"),
    ("shark", "shark", "primitive"),
    ("Mila wanted to sing .", "want ( agent = Mila , xcomp = sing ( agent = Mila ) )", "exposure_example_x"),
]
FREE[0] = ("A cook saw Mila .", *FREE[0][1:])
GEN = [
    ("The shark sang .", "sing ( agent = * shark )", "prim_to_subj"),
    ("Mila said that a cook sang .", "say ( agent = Mila , ccomp = sing ( agent = cook ) )", "cp_recursion"),
]
INDEXED = [
    ("The cook in a room sang .",
     "* cook ( x _ 1 ) ; cook . nmod . in ( x _ 1 , x _ 4 ) AND room ( x _ 4 ) "
     "AND sing . agent ( x _ 5 , x _ 1 )",
     "in_distribution"),
]  # fmt: skip
# Only the nouns with a modifier.
MODIFIED = {"nominals": "modified"}


def write(folder: Path, **files) -> Path:
    folder.mkdir(exist_ok=True)
    for name, rows in files.items():
        text = "".join("\t".join(row) + "\n" for row in rows)
        (folder / f"{name.replace('_', '-')}.tsv").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def files(tmp_path, sang) -> Path:
    return write(tmp_path / "files", varfree_train=FREE, varfree_gen=GEN, dev=INDEXED, test=INDEXED)


@pytest.fixture
def sang(monkeypatch):
    """Adds the verb *sing*, which the published corpus does not have."""
    from graphdep.datasets.labels import cogs as cogs_words

    monkeypatch.setitem(cogs_words._IRREGULAR, "sing", "sang sung")


def labels(dataset: COGS) -> list[tuple[int, dict[int, str]]]:
    """The marked word of each example, and its roles by word index."""
    marks = [data.mark[data.word >= 0].argmax().item() for data in dataset]
    named = [{p: dataset.labels[y] for p, y in enumerate(data.y.tolist())} for data in dataset]
    return [(m, {p: n for p, n in some.items() if n != "O"}) for m, some in zip(marks, named)]


def test_roles(tmp_path, files, caplog):
    train, test = (
        COGS(tmp_path / "c", split, "chain", raw_from=files, **MODIFIED) for split in ("train", "test")
    )
    assert train.labels == ("O", "agent", "nmod.in", "theme", "xcomp")
    assert labels(train) == [
        (2, {1: "agent", 3: "theme"}),
        (5, {1: "agent"}),
        (1, {4: "nmod.in"}),
        (0, {}),
        (0, {}),
        (1, {0: "agent", 3: "xcomp"}),
        (3, {0: "agent"}),
    ]
    assert train.group.tolist() == [1, 2, 2, 3, 4, 5, 5]
    assert train.types == ("exposure_example_x", "in_distribution", "primitive")
    assert train.type_id.tolist() == [1, 1, 1, 2, 2, 0, 0]
    # Training does not have "ccomp", which is counted and wrong.
    assert [data.y.tolist() for data in test][1] == [1, 0, 0, 0, 0, -1, 0]
    assert (test.types, test.type_id.tolist()) == (("cp_recursion", "prim_to_subj"), [1, 0, 0])
    assert test.describe()["unknown_labels"] == 1
    assert "shark" in train.vocab
    about = train.describe()
    assert (about["sentences"], about["primitives"], about["left_out_sentences"]) == (3, 2, 0)
    assert COGS(tmp_path / "c", "test", "chain", **MODIFIED).types == test.types  # from the processed file
    assert pickle.loads(pickle.dumps(test)).types == test.types
    assert next(iter(DataLoader(test, batch_size=3))).type_id.shape == (3,)
    assert not caplog.records


def test_both_forms_of_a_sentence(tmp_path, files):
    free = COGS(tmp_path / "c", "val", "chain", raw_from=files, **MODIFIED)
    assert labels(free) == [(5, {1: "agent"}), (1, {4: "nmod.in"})]
    folder = write(tmp_path / "indexed", train=INDEXED, dev=INDEXED, gen=INDEXED, test=INDEXED)
    for split in COGS.splits:
        dataset = COGS(tmp_path / "d", split, "chain", form="original", raw_from=folder, **MODIFIED)
        assert labels(dataset) == labels(free)


def test_all_nouns(tmp_path, files):
    dataset = COGS(tmp_path / "c", "train", "chain", raw_from=files)
    assert labels(dataset)[:6] == [
        (2, {1: "agent", 3: "theme"}),
        (1, {}),
        (3, {}),
        (5, {1: "agent"}),
        (1, {4: "nmod.in"}),
        (4, {}),
    ]


def test_a_drawn_validation_split(tmp_path, sang, caplog):
    rows = [("A cook saw Mila .", FREE[0][1], "in_distribution")] * 40 + FREE[2:]
    folder = write(tmp_path / "files", varfree_train=rows, varfree_gen=GEN)
    with caplog.at_level(logging.WARNING, "graphdep"):
        train, val = (
            COGS(tmp_path / "c", split, "chain", raw_from=folder, **MODIFIED) for split in ("train", "val")
        )
    assert caplog.text.count("has no dev.tsv, so 'val' is a tenth of the training sentences") == 2
    assert (len(train), len(val)) == (36 + 4, 4)
    assert val.types == ("in_distribution",)
    assert not set(train.group.tolist()) & set(val.group.tolist())
    assert sorted({*train.group.tolist(), *val.group.tolist()}) == list(range(1, 44))
    caplog.clear()
    assert len(COGS(tmp_path / "c", "test", "chain", **MODIFIED)) == 3
    assert not caplog.records
    write(tmp_path / "c" / "raw", dev=INDEXED)  # the processed split is not used
    assert len(COGS(tmp_path / "c", "train", "chain", **MODIFIED)) == 44
    assert len(COGS(tmp_path / "c", "val", "chain", **MODIFIED)) == 2


def test_sentences_that_do_not_match_their_forms(tmp_path, files, caplog):
    write(files, varfree_gen=[*GEN, *[("Mila slept .", "sing ( agent = Mila )", "prim_to_subj")] * 7])
    with caplog.at_level(logging.WARNING, "graphdep"):
        dataset = COGS(tmp_path / "c", "test", "chain", raw_from=files, **MODIFIED)
    named = "varfree-gen.tsv:3: 'slept' is not a form of 'sing'; varfree-gen.tsv:4"
    assert f"COGS (test): 7 sentences are left out: {named}" in caplog.text
    assert "and 2 others" in caplog.text
    assert dataset.describe()["left_out_sentences"] == 7
    assert f"; 7 sentences are left out, as {named}" in dataset.describe()["note"]
    assert len(dataset) == 3


def test_missing_files(tmp_path, files):
    with pytest.raises(FileNotFoundError, match=r"^train\.tsv is not in"):
        COGS(tmp_path / "c", parser="chain", form="original", raw_from=files)
    with pytest.raises(FileNotFoundError, match=r"^dev\.tsv or varfree-train\.tsv is not in"):
        COGS(tmp_path / "d", "val", parser="chain", labels=("O", "agent"), vocab=Vocab())


PATH = Path("gen.tsv")


def shown(node: Node):
    """A node as plain values."""
    return (node.lemma, [(role, shown(filler)) for role, filler in node.roles])


def written(tree) -> str:
    lemma, roles = tree
    inner = " , ".join(f"{role.replace('.', ' . ')} = {written(filler)}" for role, filler in roles)
    return f"{lemma} ( {inner} )" if roles else lemma


LEMMAS = st.sampled_from(["cook", "Mila", "meet", "tv"])
TREES = st.recursive(
    st.tuples(LEMMAS, st.just([])),
    lambda inner: st.tuples(
        LEMMAS,
        st.lists(st.tuples(st.sampled_from(["agent", "ccomp", "nmod.in"]), inner), min_size=1, max_size=3),
    ),
    max_leaves=12,
)


@given(TREES)
def test_a_form_is_the_tree_that_was_written(tree):
    assert shown(variable_free(PATH, 1, written(tree))) == tree


@given(TREES, st.data())
def test_a_form_that_lacks_a_bracket_is_refused(tree, data):
    tokens = written(tree).split()
    brackets = [place for place, token in enumerate(tokens) if token in "()"]
    if brackets:
        del tokens[data.draw(st.sampled_from(brackets))]
        with pytest.raises(ValueError, match=r"^gen\.tsv:4: "):
            variable_free(PATH, 4, " ".join(tokens))


def test_articles_and_depth():
    form = "like ( agent = * cook ( nmod . in = * room ) , theme = tv )"
    assert shown(variable_free(PATH, 1, form)) == (
        "like",
        [("agent", ("cook", [("nmod.in", ("room", []))])), ("theme", ("tv", []))],
    )
    node = variable_free(PATH, 1, "see ( ccomp = " * 5000 + "see" + " )" * 5000)
    for _ in range(5000):
        ((_, node),) = node.roles
    assert node.lemma == "see"


def test_variables():
    form = (
        "* cook ( x _ 1 ) ; want . agent ( x _ 2 , x _ 1 ) AND want . xcomp ( x _ 2 , x _ 4 ) AND "
        "see . agent ( x _ 4 , x _ 1 ) AND see . theme ( x _ 4 , Mila ) "
        "AND cook . nmod . in ( x _ 1 , x _ 7 ) AND room ( x _ 7 )"
    )
    root = original(PATH, 1, form)
    cook = ("cook", [("nmod.in", ("room", []))])
    assert shown(root) == (
        "want",
        [("agent", cook), ("xcomp", ("see", [("agent", cook), ("theme", ("Mila", []))]))],
    )
    assert (root.word, root.roles[0][1].word, root.roles[1][1].roles[1][1].word) == (2, 1, None)


class Spoken:
    """A part of a sentence: its words, its logical form in both notations, its roles and its top word."""

    def __init__(self, words, free, terms, arcs, top):
        self.words, self.free, self.terms, self.arcs, self.top = words, free, terms, arcs, top

    def at(self, start):
        return [(p + start, role, f + start) for p, role, f in self.arcs], self.top + start


NOUN_PHRASES = st.deferred(
    lambda: (
        st.builds(name, st.sampled_from(["Mila", "Ben"]))
        | st.builds(noun, st.sampled_from(["a", "the"]), st.sampled_from(["cook", "TV"]), st.none() | PLACES)
    )
)
PLACES = st.deferred(
    lambda: st.tuples(st.sampled_from(["in", "beside"]), NOUN_PHRASES.filter(lambda n: n.terms))
)


def name(word):
    return Spoken([word], word, lambda start: ([], word), [], 0)


def noun(article, word, place):
    lemma, star = word.lower(), "* " * (article == "the")
    words, free, arcs = [article, word], star + lemma, []
    inner = None
    if place:
        preposition, inner = place
        if inner.free[0].isupper():
            return noun(article, word, None)
        words += [preposition, *inner.words]
        free += f" ( nmod . {preposition} = {inner.free} )"
        below, top = inner.at(3)
        arcs = [(1, f"nmod.{preposition}", top), *below]

    def terms(start):
        own = [f"{star}{lemma} ( x _ {start + 1} )"]
        if inner is not None:
            more, filler = inner.terms(start + 3)
            own += [f"{lemma} . nmod . {place[0]} ( x _ {start + 1} , {filler} )", *more]
        return own, f"x _ {start + 1}"

    return Spoken(words, free, terms, arcs, 1)


def clause(subject, verb, lemma, role, complement):
    """Subject and verb with an object, a clause after *that*, or an infinitive after *to*."""
    start = len(subject.words)
    between = {"ccomp": ["that"], "xcomp": ["to"]}.get(role, [])
    inner = complement if role != "xcomp" else None
    words = [*subject.words, verb, *between, *(["sing"] if role == "xcomp" else complement.words)]
    arcs, top = subject.at(0)
    arcs = [(start, "agent", top), *arcs]
    free = f"{lemma} ( agent = {subject.free} , {role} = "
    first = start + 1 + len(between)
    if inner is None:
        free += f"sing ( agent = {subject.free} ) )"
        arcs += [(start, "xcomp", first), (first, "agent", top)]
    else:
        below, filler = inner.at(first)
        arcs += [(start, role, filler), *below]
        free += f"{inner.free} )"

    def terms(base):
        own, agent = subject.terms(base)
        found = [f"{lemma} . agent ( x _ {base + start} , {agent} )", *own]
        if inner is None:
            return [
                *found,
                f"{lemma} . xcomp ( x _ {base + start} , x _ {base + first} )",
                f"sing . agent ( x _ {base + first} , {agent} )",
            ], f"x _ {base + start}"
        more, filler = inner.terms(base + first)
        return [*found, f"{lemma} . {role} ( x _ {base + start} , {filler} )", *more], f"x _ {base + start}"

    return Spoken(words, free, terms, arcs, start)


CLAUSES = st.deferred(
    lambda: (
        st.builds(clause, NOUN_PHRASES, st.just("saw"), st.just("see"), st.just("theme"), NOUN_PHRASES)
        | st.builds(clause, NOUN_PHRASES, st.just("wanted"), st.just("want"), st.just("xcomp"), NOUN_PHRASES)
        | st.builds(clause, NOUN_PHRASES, st.just("said"), st.just("say"), st.just("ccomp"), CLAUSES)
    )
)


@given(CLAUSES)
def test_both_forms_give_the_roles_that_were_spoken(spoken):
    words = [*spoken.words, "."]
    words[0] = words[0].capitalize()
    expected: dict[int, dict[int, str]] = {}
    for predicate, role, filler in spoken.arcs:
        expected.setdefault(predicate, {})[filler] = role
    terms, _ = spoken.terms(0)
    for root in (variable_free(PATH, 1, spoken.free), original(PATH, 1, " AND ".join(terms))):
        found = predicates(words, root)
        assert {word: roles for word, roles in found if roles} == expected
        content = [i for i, w in enumerate(words) if w.lower() not in "a the that to in beside .".split()]
        assert sorted(word for word, _ in found) == content


def roles(sentence, form):
    return {
        word: found for word, found in predicates(sentence.split(), variable_free(PATH, 1, form)) if found
    }


def test_passive_and_twice_the_same_word():
    assert roles(
        "Ben was given a cook by Ben .", "give ( recipient = Ben , theme = cook , agent = Ben )"
    ) == {2: {0: "recipient", 4: "theme", 6: "agent"}}


def test_misfits():
    for sentence, form, message in [
        ("Mila saw the cook .", "see ( agent = Mila )", "'cook' is not in the form"),
        ("Mila saw .", "see ( agent = Mila , theme = * cook )", "'cook' has no word left"),
        ("Mila sang the cook .", "see ( agent = Mila , theme = * cook )", "'sang' is not a form of 'see'"),
        ("Ben saw the cook .", "see ( agent = Mila , theme = * cook )", "'Ben' is not a form of 'Mila'"),
        (
            "Mila wanted to sing .",
            "want ( agent = Mila , xcomp = sing ( agent = Ben ) )",
            "the agent of 'sing'",
        ),
        (
            "Mila wanted to sing .",
            "want ( agent = Mila , xcomp = sing )",
            "the agent of 'sing' is not the 'mila'",
        ),
        (
            "The cook was wanted to sing .",
            "want ( theme = * cook , xcomp = sing ( agent = * cook ) )",
            "has no agent",
        ),
    ]:
        with pytest.raises(MisfitError, match=message):
            roles(sentence, form)


def test_the_places_of_variables_are_checked():
    words = "A cook saw a cook .".split()
    form = (
        "cook ( x _ {} ) AND see . agent ( x _ 2 , x _ {} ) "
        "AND see . theme ( x _ 2 , x _ {} ) AND cook ( x _ {} )"
    )
    right, wrong = (original(PATH, 1, form.format(a, a, b, b)) for a, b in ((1, 4), (4, 1)))
    assert dict(predicates(words, right))[2] == {1: "agent", 4: "theme"}
    with pytest.raises(MisfitError, match="'cook' is not a form of 'cook'"):
        predicates(words, wrong)
    twice = "cook ( x _ 1 ) AND see . agent ( x _ 2 , x _ 1 ) AND see . theme ( x _ 2 , x _ 1 )"
    with pytest.raises(MisfitError, match="'cook' fills two roles"):
        predicates(words, original(PATH, 1, twice))


def test_forms_of_verbs():
    for word, lemma, expected in [
        ("walk", "walk", True),
        ("walked", "walk", True),
        ("liked", "like", True),
        ("tried", "try", True),
        ("napped", "nap", True),
        ("ate", "eat", True),
        ("eaten", "eat", True),
        ("walks", "walk", False),
        ("eated", "eat", True),
        ("heard", "hear", True),
        ("saw", "say", False),
        ("like", "lik", False),
    ]:
        assert is_form(word, lemma) == expected
