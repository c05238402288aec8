from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphdep import Sentence
from graphdep.sentence import check_tree, parse_deps
from graphdep.sentence.sentence import join_sentences, split_words, truncate
from tests.kit.strategies import enhanced_sentences, sentences
from tests.kit.trees import goes_round


def row(number: str, form: str = "x", deps: str = "_") -> tuple[str, ...]:
    return (number, form, "_", "_", "_", "_", "_", "_", deps, "_")


def is_tree_naive(head: Sequence[int]) -> bool:
    """From every word the root is reached, and one word hangs on it."""
    return not goes_round(head) and list(head).count(0) == 1


@given(st.lists(st.integers(0, 6), min_size=6, max_size=6))
def test_check_tree_agrees_with_a_naive_test(head):
    if is_tree_naive(head):
        check_tree(head)
    else:
        with pytest.raises(ValueError, match=r"word|root"):
            check_tree(head)


def test_depth_counts_arcs_to_the_root(example):
    assert example.depth == [2, 2, 1, 3, 2, 4, 4, 3, 2]
    assert len(example) == 9


@given(st.data())
def test_depth_is_one_more_than_the_governors(sentences, data):
    sentence = data.draw(sentences(max_words=20, plain=True, multiroot=True))
    depth = sentence.depth
    assert all(depth[i] == (depth[h - 1] + 1 if h else 1) for i, h in enumerate(sentence.head))


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ([], "'form' is empty"),
        ([2, 1], "no root: no word has head 0"),
        ([0, 0, 1], r"words \[1, 2\] all have head 0: more than one root \(allow it with multiroot=True\)"),
        ([0, 5], r"word 2: head 5 is out of range 0\.\.2"),
        ([0, -1], r"word 2: head -1 is out of range 0\.\.2"),
        ([0, 2], r"word 2: head 2 closes a cycle through words \[2\]"),
        ([0, 3, 4, 2], r"word 2: head 3 closes a cycle through words \[2, 3, 4\]"),
        ([0, "1"], "word 2: head must be an integer .*'1'"),
        ([0, True], "word 2: head must be an integer .*True"),
        ([0, 1.0], r"word 2: head must be an integer .*1\.0"),
    ],
)
def test_bad_heads_are_named(head, message):
    with pytest.raises(ValueError, match=message):
        Sentence(["w"] * len(head), head, ["dep"] * len(head))


def test_several_roots_only_where_asked_for():
    sentence = Sentence(["a", "b"], [0, 0], ["root", "root"], multiroot=True)
    assert sentence.depth == [1, 1]


@pytest.mark.parametrize("name", ["head", "deprel", "lemma", "misc", "deps"])
def test_columns_of_another_length(name):
    columns = {"form": ["a", "b"], "head": [0, 1], "deprel": ["root", "obj"]}
    columns[name] = columns.get(name, ["_", "_"])[:1]
    with pytest.raises(ValueError, match=f"'{name}' has 1 entries for 2 words"):
        Sentence(**columns)


@pytest.mark.parametrize(("form", "deprel"), [("", "obj"), ("b", "")])
def test_empty_values(form, deprel):
    with pytest.raises(ValueError, match="word 2: form and deprel must not be empty"):
        Sentence(["a", form], [0, 1], ["root", deprel])


@pytest.mark.parametrize("number", ["1-1", "2-1", "0-1", "1-3", "x"])
def test_a_bad_range(number):
    with pytest.raises(ValueError, match=f"'multiword' row .*'{number}'"):
        Sentence(["a", "b"], [0, 1], ["root", "obj"], multiword=[row(number)])


def test_overlapping_ranges_and_short_rows():
    rest = {"form": list("abcd"), "head": [0, 1, 1, 1], "deprel": ["root", "x", "x", "x"]}
    with pytest.raises(ValueError, match="'multiword' row .*no range after word 2"):
        Sentence(**rest, multiword=[row("1-2"), row("2-3")])
    with pytest.raises(ValueError, match="not ten columns"):
        Sentence(**rest, multiword=[("1-2", "x")])
    with pytest.raises(ValueError, match="not ten columns"):
        Sentence(**rest, empty=[("1.1", "x")])


@pytest.mark.parametrize(
    "numbers", [["3.1"], ["1.2"], ["1"], ["1.0"], ["2.1", "1.1"], ["1.1", "1.1"], ["1.1", "1.3"]]
)
def test_a_bad_empty_node(numbers):
    with pytest.raises(ValueError, match=f"'empty' row .*'{numbers[-1]}'|'empty' row .*'{numbers[0]}'"):
        Sentence(["a", "b"], [0, 1], ["root", "obj"], empty=[row(n) for n in numbers])


@pytest.mark.parametrize("arc", [("3", "obj"), ("x", "obj"), ("1", ""), ("1", "a|b"), ("1.1", "obj")])
def test_a_bad_enhanced_arc(arc):
    with pytest.raises(ValueError, match="word 2: enhanced arc"):
        Sentence(["a", "b"], [0, 1], ["root", "obj"], deps=[[], [arc]])


def test_a_bad_enhanced_arc_of_an_empty_node():
    with pytest.raises(ValueError, match=r"word 1\.1: enhanced arc '7':'obj'"):
        Sentence(["a"], [0], ["root"], empty=[row("1.1", deps="7:obj")])


def test_enhanced_graphs_may_have_cycles_and_several_governors():
    Sentence(["a", "b"], [0, 1], ["root", "obj"], deps=[[("2", "x"), ("0", "root")], [("1", "y")]])


def test_frozen(example):
    with pytest.raises(dataclasses.FrozenInstanceError):
        example.head = [0]


def test_equality_is_by_value(example):
    assert example == dataclasses.replace(example)
    assert example != dataclasses.replace(example, lemma=["_"] * 9)


def test_text_from_the_comment_or_from_the_tokens(example):
    assert example.text == "I 'd like to reserve a hotel room ."
    assert dataclasses.replace(example, comments=["# text_en = no", "# text = Yes = no"]).text == "Yes = no"
    misc = ["SpaceAfter=No", *["_"] * 6, "Gloss=x|SpaceAfter=No", "_"]
    assert dataclasses.replace(example, misc=misc).text == "I'd like to reserve a hotel room."


def test_text_takes_multiword_tokens_whole():
    rows = [(*row("1-2", "don't")[:9], "SpaceAfter=No"), row("4-5", "du")]
    sentence = Sentence(list("abcde"), [0, 1, 1, 1, 1], ["root"] + ["dep"] * 4, multiword=rows)
    assert sentence.text == "don'tc du"


def test_chain():
    sentence = Sentence.chain(["a", "b", "c"])
    assert sentence.head == [0, 1, 2]
    assert sentence.deprel == ["root", "dep", "dep"]
    with pytest.raises(ValueError, match="'form' is empty"):
        Sentence.chain([])


@pytest.mark.parametrize("shape", ["chain", "reversed", "star"])
def test_a_very_long_sentence_needs_no_recursion(shape):
    size = 20_000
    head = {"chain": list(range(size)), "reversed": [*range(2, size + 1), 0], "star": [0] + [1] * (size - 1)}[
        shape
    ]
    sentence = Sentence(["w"] * size, head, ["dep"] * size)
    assert max(sentence.depth) == (2 if shape == "star" else size)


def test_a_very_long_cycle_is_reported_in_short():
    head = [0, *range(3, 100_001), 2]
    with pytest.raises(ValueError, match="closes a cycle") as error:
        Sentence(["w"] * 100_000, head, ["dep"] * 100_000)
    assert len(str(error.value)) < 200
    with pytest.raises(ValueError, match="more than one root") as error:
        Sentence(["w"] * 100_000, [0] * 100_000, ["dep"] * 100_000)
    assert len(str(error.value)) < 200


def test_enhanced_arcs_are_those_of_words_then_of_empty_nodes():
    deps = [[("1.1", "nsubj"), ("0", "root")], [("1", "obj")]]
    sentence = Sentence(
        ["a", "b"], [0, 1], ["root", "obj"], deps=deps, empty=[row("1.1", deps="2:conj:and|0:root")]
    )
    assert sentence.enhanced_arcs == [
        ("1.1", "1", "nsubj"),
        ("0", "1", "root"),
        ("1", "2", "obj"),
        ("2", "1.1", "conj:and"),
        ("0", "1.1", "root"),
    ]


def test_without_deps_enhanced_arcs_are_those_of_empty_nodes():
    assert Sentence(["a"], [0], ["root"]).enhanced_arcs == []
    alone = Sentence(["a"], [0], ["root"], empty=[row("1.1", deps="1:conj")])
    assert alone.enhanced_arcs == [("1", "1.1", "conj")]


def chain_up(sentence: Sentence, word: int) -> list[int]:
    """The governors of a word (counted from 1), nearest first, without 0."""
    path = []
    while sentence.head[word - 1] != 0:
        word = sentence.head[word - 1]
        path.append(word)
    return path


sides = st.sampled_from(["right", "left"])


def kept_words(sentence: Sentence, max_words: int, side: str) -> list[int]:
    """The words that are kept, counted from 1."""
    words = range(1, len(sentence) + 1)
    return [*(words[:max_words] if side == "right" else words[-max_words:])]


@given(sentences(max_words=12), st.integers(1, 14), sides)
def test_truncate_gives_one_tree_of_the_words_at_one_end(sentence, max_words, side):
    cut = truncate(sentence, max_words, side)  # a Sentence checks that it is one tree
    if len(sentence) <= max_words:
        assert cut is sentence
        return
    kept = kept_words(sentence, max_words, side)
    assert cut.form == [sentence.form[word - 1] for word in kept]
    assert cut.head.count(0) == 1
    orphans = [word for word in kept if not set(chain_up(sentence, word)) & {*kept}]
    for place, word in enumerate(kept):
        above = [ancestor for ancestor in chain_up(sentence, word) if ancestor in kept]
        if above:
            expected = kept.index(above[0]) + 1
        else:
            expected = 0 if word == orphans[0] else kept.index(orphans[0]) + 1
        assert cut.head[place] == expected
        is_new_root = cut.head[place] == 0 and sentence.head[word - 1] != 0
        assert cut.deprel[place] == ("root" if is_new_root else sentence.deprel[word - 1])


@given(sentences(max_words=10, multiroot=True), st.integers(1, 10), sides)
def test_truncate_keeps_trees_apart(sentence, max_words, side):
    """Each tree that has a word left has one root, which is its own or the first that lost it."""

    def root_of(word):
        return word if sentence.head[word - 1] == 0 else root_of(sentence.head[word - 1])

    cut = truncate(sentence, max_words, side)
    kept = kept_words(sentence, max_words, side)
    tree = {place: root_of(word) for place, word in enumerate(kept, start=1)}
    roots = [place for place, head in enumerate(cut.head, start=1) if head == 0]
    assert sorted(tree[place] for place in roots) == sorted(set(tree.values()))
    assert all(head == 0 or tree[place] == tree[head] for place, head in enumerate(cut.head, start=1))
    for place in roots:
        assert kept[place - 1] == tree[place] or (tree[place] not in kept and cut.deprel[place - 1] == "root")


def test_a_root_that_stays_keeps_its_relation():
    sentence = Sentence(["a", "b", "c"], [0, 3, 0], ["dep", "det", "root"], multiroot=True)
    cut = truncate(sentence, 2)
    assert (cut.head, cut.deprel) == ([0, 0], ["dep", "root"])


def test_graphs_that_do_not_reach_each_word_get_no_arcs_of_the_tree():
    words, tree = list("abcde"), ([2, 0, 2, 2, 2], ["det", "root", "obj", "det", "obj"])
    own = Sentence(words, *tree, deps=[[], [], [("1", "knows")], [("5", "q")], []])
    assert truncate(own, 4).deps == [[], [], [("1", "knows")], []]
    joined = join_sentences([own, Sentence(["f", "g"], [2, 0], ["nsubj", "root"])])
    assert joined.deps == [*own.deps, [], []]
    full = Sentence(words, *tree, deps=[[(str(head), label)] for head, label in zip(*tree)])
    assert truncate(full, 4, "left").deps == [[("0", "root")], [("1", "obj")], [("1", "det")], [("1", "obj")]]


def test_truncate_cuts_the_other_columns():
    sentence = Sentence(
        ["He", "did", "n't", "see", "her", "go"],
        [4, 4, 4, 0, 4, 4],
        ["nsubj", "aux", "advmod", "root", "obj", "xcomp"],
        lemma=["he", "do", "not", "see", "she", "go"],
        upos=["PRON", "AUX", "PART", "VERB", "PRON", "VERB"],
        misc=["_", "_", "_", "_", "_", "SpaceAfter=No"],
        comments=["# sent_id = 7", "# text = He didn't see her go"],
        multiword=[("2-3", "didn't", *["_"] * 8)],
    )
    cut = truncate(sentence, 3)
    assert (cut.head, cut.deprel) == ([0, 1, 1], ["root", "aux", "advmod"])
    assert (cut.lemma, cut.upos, cut.xpos) == (["he", "do", "not"], ["PRON", "AUX", "PART"], None)
    assert cut.comments == ["# sent_id = 7"]
    assert cut.multiword == sentence.multiword
    assert cut.text == "He didn't"
    half = truncate(sentence, 2)
    assert half.multiword == []
    assert half.text == "He did"
    left = truncate(sentence, 5, "left")
    assert (left.head, left.lemma) == ([3, 3, 0, 3, 3], ["do", "not", "see", "she", "go"])
    assert left.misc == ["_", "_", "_", "_", "SpaceAfter=No"]
    assert left.multiword == [("1-2", "didn't", *["_"] * 8)]
    assert left.text == "didn't see her go"
    assert truncate(sentence, 4, "left").multiword == []


@settings(max_examples=200)
@given(enhanced_sentences(max_words=10), st.integers(1, 7), sides, st.booleans())
def test_truncate_keeps_the_arcs_of_what_is_left_and_none_twice(sentence, max_words, side, above):
    """Besides, where all words had arcs, a word that moved or has none left has the one of its tree."""
    if above:  # each word also has those that its governors' governors would give it
        ways = [[*map(str, chain_up(sentence, word + 1) or [0])] for word in range(len(sentence))]
        arcs = [[(head, label) for head in way] for way, label in zip(ways, sentence.deprel)]
        deps = [[*dict.fromkeys(own + more)] for own, more in zip(sentence.deps, arcs)]
        sentence = dataclasses.replace(sentence, deps=deps)
    cut = truncate(sentence, max_words, side)
    first = 0 if side == "right" else max(0, len(sentence) - max_words)
    words = kept_words(sentence, max_words, side)

    def moved(number: str) -> str | None:
        """What the root, a word or an empty node is called now; ``None`` where it was cut."""
        word, _, place = number.partition(".")
        if number == "0":
            return number
        if int(word) not in words and not (word == "0" and first == 0):
            return None
        new = str(int(word) - first) if word != "0" else "0"
        return f"{new}.{place}" if place else new

    own = {str(word) for word in range(len(cut) + 1)} | {row[0] for row in cut.empty}
    for place, word in enumerate(words):
        arcs = cut.deps[place]
        assert len(set(arcs)) == len(arcs)
        assert {head for head, _ in arcs} <= own
        left = [(moved(head), label) for head, label in sentence.deps[word - 1] if moved(head)]
        basic = (str(cut.head[place]), cut.deprel[place])
        stays = moved(str(sentence.head[word - 1])) == basic[0]
        needed = all(sentence.deps) and not (stays and left)
        assert arcs == left + [basic] * (needed and basic not in left)
    left = [(moved(row[0]), row) for row in sentence.empty if moved(row[0])]
    for (number, old), new in zip(left, cut.empty, strict=True):
        arcs = [(moved(head), label) for head, label in parse_deps(old[8]) if moved(head)]
        assert new == (number, *old[1:8], "|".join(map(":".join, arcs)) or "_", old[9])


def test_truncate_long_chain():
    assert truncate(Sentence.chain(["a"] * 5000), 4999).head == list(range(4999))
    backwards = Sentence(["a"] * 5000, [*range(2, 5001), 0], ["dep"] * 5000)
    assert truncate(backwards, 3).head == [2, 3, 0]
    assert truncate(Sentence.chain(["a"] * 5000), 3, "left").head == [0, 1, 2]


def test_truncate_errors():
    with pytest.raises(ValueError, match=r"'max_words' must be at least 1 \(got 0\)"):
        truncate(Sentence.chain(["a"]), 0)
    with pytest.raises(ValueError, match=r"'side' must be one of right, left \(got 'top'\)"):
        truncate(Sentence.chain(["a"]), 1, "top")


def test_a_copy_names_its_word_after_a_cut():
    rows = [(f"4.{n}", *"_" * 7, "2:conj", f"CopyOf={word}") for n, word in ((1, 4), (2, 1))]
    deps = [[("2", "a")], [("0", "root")], [("2", "b")], [("2", "b")]]
    sentence = Sentence(list("abcd"), [2, 0, 2, 2], ["a", "root", "b", "b"], deps=deps, empty=rows)
    cut = truncate(sentence, 3, side="left")
    assert [(row[0], row[9]) for row in cut.empty] == [("3.1", "CopyOf=3"), ("3.2", "_")]


@given(st.data())
def test_parts_of_a_word_hang_from_its_first(sentences, data):
    sentence = data.draw(sentences(multiroot=True))
    sizes = data.draw(st.lists(st.integers(1, 3), min_size=len(sentence), max_size=len(sentence)))
    parts = [[f"{word}.{part}" for part in range(size)] for word, size in enumerate(sizes)]
    cut = split_words(sentence, parts)
    assert cut.form == [form for own in parts for form in own]
    place = [cut.form.index(own[0]) for own in parts]
    for word, own in enumerate(parts):
        first, rest = place[word], range(place[word] + 1, place[word] + len(own))
        governor = sentence.head[word]
        assert cut.head[first] == (place[governor - 1] + 1 if governor else 0)
        assert cut.deprel[first] == sentence.deprel[word]
        assert [(cut.head[part], cut.deprel[part]) for part in rest] == [(first + 1, "goeswith")] * len(rest)
        for name in ("upos", "xpos", "feats"):
            column = getattr(sentence, name)
            assert column is None or getattr(cut, name)[first : first + len(own)] == [column[word]] * len(own)
    ends = [*place, len(cut)]
    if sentence.constituents is not None:
        assert cut.constituents == [(x, ends[start], ends[end]) for x, start, end in sentence.constituents]
    assert [row[1:] for row in cut.multiword] == [row[1:] for row in sentence.multiword]
    assert len(cut.enhanced_arcs) == len(sentence.enhanced_arcs) + (
        len(cut) - len(sentence) if sentence.deps is not None else 0
    )
    if len(cut) == len(sentence):
        assert cut == dataclasses.replace(sentence, form=cut.form)


def test_a_word_in_parts():
    sentence = Sentence(
        ["I", "can", "not", "go"],
        [4, 4, 4, 0],
        ["nsubj", "aux", "advmod", "root"],
        lemma=["I", "can", "not", "go"],
        deps=[[("4", "nsubj"), ("2.1", "x")], [("4", "aux")], [("4", "advmod")], [("0", "root")]],
        multiword=[("2-3", "cannot", *["_"] * 8)],
        empty=[("2.1", "e", *["_"] * 6, "4:dep", "CopyOf=3")],
        misc=["_", "_", "_", "SpaceAfter=No"],
    )
    cut = split_words(sentence, [["I"], ["c", "an"], ["not"], ["g", "o"]])
    assert cut.head == [5, 5, 2, 5, 0, 5]
    assert cut.lemma == ["I", "can", "_", "not", "go", "_"]
    assert cut.misc == ["_", "SpaceAfter=No", "_", "_", "SpaceAfter=No", "SpaceAfter=No"]
    assert cut.deps[:3] == [[("5", "nsubj"), ("3.1", "x")], [("5", "aux")], [("2", "goeswith")]]
    assert cut.multiword == [("2-4", "cannot", *["_"] * 8)]
    assert cut.empty == [("3.1", "e", *["_"] * 6, "5:dep", "CopyOf=4")]
    for parts, message in [([["I"]], "'parts' has 1 entries for 4 words"), ([[]] * 4, "'parts' must have")]:
        with pytest.raises(ValueError, match=message):
            split_words(sentence, parts)
